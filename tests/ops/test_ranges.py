"""linspace, logspace and geomspace between traced ends."""

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

ENDS = (np.array([0.3, 2.0]), np.array([1.7, 2.0]))
CALLS = {
    "linspace": lambda x, y: np.linspace(x, y, 5),
    "linspace without its end": lambda x, y: np.linspace(x, y, 4, endpoint=False, axis=-1),
    "linspace of one": lambda x, y: np.linspace(x, y, 1),
    "linspace of none": lambda x, y: np.linspace(x, y, 0),
    "linspace of integers": lambda x, y: np.linspace(x, y, 4, dtype=int),
    "linspace from a number": lambda x, y: np.linspace(0, y, 3),
    "logspace": lambda x, y: np.logspace(x, y, 5, base=2.0),
    "logspace of bases": lambda x, y: np.logspace(0.0, 2.0, 5, base=x),
    "geomspace": lambda x, y: np.geomspace(x, y, 5, axis=1),
    "geomspace below zero": lambda x, y: np.geomspace(-x, -y, 4, endpoint=False),
    "geomspace of one": lambda x, y: np.geomspace(x, y, 1),
}


@pytest.mark.parametrize("name", one_in(3, CALLS))
def test_values_are_numpys_and_derivatives_hold(name):
    f = CALLS[name]
    made, expected = fg.jit(f)(*ENDS), f(*ENDS)
    assert made.dtype == expected.dtype
    np.testing.assert_array_max_ulp(made, expected, 1)
    if expected.dtype.kind == "f" and expected.size:
        fg.check_grads(f, ENDS, order=2)
        np.testing.assert_array_equal(fg.vmap(f)(*[np.stack([e, e]) for e in ENDS])[0], made)


def test_float32_in_float32_out():
    ends = [e.astype(np.float32) for e in ENDS]
    made, expected = fg.jit(CALLS["linspace"])(*ends), CALLS["linspace"](*ends)
    assert made.dtype == expected.dtype == np.float32
    np.testing.assert_array_max_ulp(made, expected, 1)


def test_the_step_and_a_step_that_underflows():
    def f(x):
        values, step = np.linspace(x, 5e-324, 5, retstep=True)
        return values, step

    values, step = fg.jit(f)(0.0)
    np.testing.assert_array_equal(values, np.linspace(0.0, 5e-324, 5))
    assert step == 0.0
    assert fg.grad(lambda x: np.linspace(x, 1.0, 3, retstep=True)[1])(0.0) == -0.5


def test_too_few_samples():
    with pytest.raises(
        ValueError, match="linspace: expected a number of samples of 0 or more, but got -1"
    ):
        fg.grad(lambda x: np.linspace(x, 1.0, -1).sum())(0.0)


ARANGES = [
    ((5,), {"step": 2}),
    ((50,), {"step": 2}),
    ((1,), {"stop": 5}),
    ((1.0,), {"stop": 5, "step": 0.5}),
    ((1, 5), {"step": 2}),
    ((), {"start": 1, "stop": 5}),
    ((), {"stop": 4}),
    ((5.5,), {}),
]


@pytest.mark.parametrize(("args", "named"), ARANGES)
def test_arange_takes_its_ends_by_name(args, named):
    found, expected = fg.adopt(lambda: np.arange(*args, **named))(), np.arange(*args, **named)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_arange_of_a_traced_step_by_name():
    assert fg.grad(fg.adopt(lambda x: np.arange(3.0, step=x).sum()))(1.0) == 3.0


def test_a_range_is_an_operand():
    x = np.array([1.0, 2.0, 3.0])
    for f in (
        lambda x: x * range(3),
        lambda x: np.float_power(x, range(3)),
        lambda x: np.add(range(3), x),
    ):
        value, slope = fg.jvp(f, (x,), (np.ones(3),))
        np.testing.assert_array_equal(value, f(x))
        np.testing.assert_allclose(slope, (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, atol=1e-8)


def test_a_number_that_is_rounded_is_an_integer():
    x = np.arange(5.0)
    f = lambda t: t * x[round(2.3 * t)] + sum(t * k for k in range(round(3.4 * t)))  # noqa: E731
    assert fg.value_and_grad(f)(1.0) == (5.0, 5.0)
    assert fg.jit(f)(1.0) == 5.0


def test_arange_counts_in_the_precision_of_its_ends():
    def places(x):
        return np.arange(
            -x, 5 - x
        )  # its length is 5 in single precision, and more than 5 in double

    x = np.float32(0.37)
    assert places(x).shape == (5,)
    np.testing.assert_array_equal(fg.jit(places)(x), places(x))
    value, slope = fg.jvp(places, (x,), (np.float32(1.0),))
    np.testing.assert_allclose(value, places(x), rtol=1e-7)
    np.testing.assert_array_equal(slope, np.full(5, -1.0))
