"""One gradient function called again and again: what it remembers of a trace never shows but in the time."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.trace.derive import derived
from tests.default_slice import one_in

X = np.array([0.3, -0.7, 1.1])
SHARED = np.array([1.0, 2.0, 3.0])
EQUAL = np.array([1.0, 2.0, 3.0])
OTHER = np.array([3.0, 1.0, 2.0])

# Pairs that differ by little: by an operation, a parameter, a constant, its dtype, the sign of a zero, what
# is shared, what is captured, the operands' order, or whether the argument is reached at all.
VARIANTS = [
    lambda x: np.sum(np.sin(x) * x),
    lambda x: np.sum(np.cos(x) * x),
    lambda x: np.sum(np.sin(x) * np.sin(x)),
    lambda x: (lambda s: np.sum(s * s))(np.sin(x)),
    lambda x: np.sum(x * 2.0),
    lambda x: np.sum(x * 3.0),
    lambda x: np.sum(x * 2),
    lambda x: np.sum(x * np.float32(2)),
    lambda x: np.sum(np.copysign(1.0, x * 0.0 + 0.0) * x),
    lambda x: np.sum(np.copysign(1.0, x * 0.0 + -0.0) * x),
    lambda x: np.sum(np.sum(np.outer(x, x), axis=0) * SHARED),
    lambda x: np.sum(np.sum(np.outer(x, x), axis=1) * SHARED),
    lambda x: np.sum(x * SHARED) + np.sum(x**2 * SHARED),
    lambda x: np.sum(x * SHARED) + np.sum(x**2 * EQUAL),
    lambda x: np.sum(x * SHARED) + np.sum(x**2 * OTHER),
    lambda x: np.sum(x * OTHER) + np.sum(x**2 * SHARED),
    lambda x: np.sum(x * X),
    lambda x: np.sum(x / SHARED),
    lambda x: np.sum(SHARED / x),
    lambda x: np.sum(np.concatenate([SHARED, x]) ** 2),
    lambda x: np.sum(np.concatenate([SHARED[:2], x]) ** 2),
    lambda x: x[0] * x[1],
    lambda x: x[0] * x[2],
    lambda x: x[0],
    lambda x: np.sum(x if x[0] > 0 else -x),
]


@pytest.fixture(scope="module")
def slopes():
    return [fg.grad(f)(X) for f in VARIANTS]


@pytest.mark.parametrize("first", one_in(3, range(len(VARIANTS))))
def test_traces_that_differ_by_little_are_told_apart(first, slopes):
    now = first
    df = fg.grad(lambda x: VARIANTS[now](x))
    for second in range(len(VARIANTS)):
        for now in (first, second):
            np.testing.assert_array_equal(df(X), slopes[now])


def test_shapes_dtypes_and_structures_may_change_from_call_to_call():
    df = fg.grad(lambda p: sum(np.sum(leaf**2) for leaf in p))
    for p in (
        [1.0, 2.0],
        [1.0],
        [X],
        [X[:2], 3.0],
        [X.astype(np.float32)],
        [X],
        (1.0, X),
        [1.0, X],
    ):
        slopes = df(p)
        assert type(slopes) is type(p)
        for slope, leaf in zip(slopes, p, strict=True):
            np.testing.assert_array_equal(slope, 2 * leaf)
            assert np.asarray(slope).dtype == np.asarray(leaf).dtype


def test_a_length_that_only_the_argument_tells():
    df = fg.grad(np.sum)
    for length in (3, 2, 2, 3):
        np.testing.assert_array_equal(df(np.arange(float(length))), np.ones(length))


def test_a_captured_array_counts_with_what_it_holds_at_the_call():
    buffer = np.ones(3)
    df = fg.grad(lambda x: np.sum(x * buffer))
    for factor in (1.0, 2.0, 3.0):
        buffer[:] = factor
        np.testing.assert_array_equal(df(X), np.full(3, factor))


def test_an_argument_may_be_the_array_that_is_captured():
    x = X.copy()
    df = fg.grad(lambda v: np.sum(v**2 * x))
    np.testing.assert_array_equal(df(x), 2 * x * x)
    np.testing.assert_array_equal(df(OTHER), 2 * OTHER * x)
    np.testing.assert_array_equal(df(x), 2 * x * x)


def test_what_does_not_reach_the_argument_is_said_at_every_call():
    df = fg.grad(lambda x: np.float64(1.0) * 2.0)
    for _ in range(3):
        with pytest.warns(UserWarning, match="does not depend on the arguments") as said:
            assert df(1.0) == 0.0
        assert said[0].filename == __file__


def test_a_traced_value_that_outlived_its_call_is_said_at_every_call():
    kept = []
    fg.grad(lambda x: kept.append(x) or x)(5.0)
    df = fg.grad(lambda x: x * kept[0])
    for _ in range(3):
        with pytest.warns(UserWarning, match="outlived the call"):
            assert df(1.0) == 5.0


def test_the_same_function_on_numbers_and_inside_other_traces():
    df = fg.grad(lambda x: x**3)
    for _ in range(2):
        assert df(2.0) == 12.0
        assert fg.grad(df)(2.0) == 12.0
        assert fg.grad(lambda x: df(x) * x)(2.0) == 36.0
        assert fg.jit(df)(2.0) == 12.0
        np.testing.assert_array_equal(fg.vmap(df)(X), 3 * X**2)
        assert repr(df(fg.var("t"))) == "3*t**2"


def test_a_function_that_closes_over_a_traced_value():
    # The inner function is one for all calls, on numbers and on values of the trace around it.
    y = 2.0
    inner = fg.grad(lambda x: x * x * y)
    assert inner(3.0) == 12.0

    def outer(value):
        nonlocal y
        y = value
        return inner(3.0) * inner(value)

    assert fg.grad(outer)(2.0) == pytest.approx(6 * 3 * 4 * 2)
    y = 5.0
    assert inner(3.0) == 30.0


def test_a_trace_like_the_last_is_not_searched_for():
    df = fg.grad(lambda x: np.sum(np.tanh(x * SHARED)))
    df(X)  # of which no trace is recorded, since it may be the only call
    expected = df(X)
    before = derived.cache_info()
    for _ in range(3):
        np.testing.assert_array_equal(df(X), expected)
    assert derived.cache_info() == before


# -- numbers that change from call to call ---------------------------------------------------------
NUMBERS = [3.7, 3.8, -4.1, 0.0, 5.5, 1.0, -1.0, np.inf, 0.5, 2.0, -0.0, 7.0, 8.0, 1e-200, 3.9]
PROGRAMS = {
    "square": lambda x, s: np.sum((x - s) ** 2),
    "product": lambda x, s: np.sum(np.sin(s * x)) * s,
    "norm": lambda x, s: np.sqrt(np.sum(x**2) / s),
    "softplus": lambda x, s: np.sum(np.log(s + s * np.exp(1000 * x))),
    "quotient": lambda x, s: np.sum((np.exp(s * x) - np.exp(-2.5 * x)) / np.exp(s * x)),
    "power": lambda x, s: np.sum(x**s),
    "base": lambda x, s: np.sum(s**x),
    "where": lambda x, s: np.sum(np.where(x > 0, np.sqrt(s * x), 0.0)),
    "clip": lambda x, s: np.sum(np.clip(x, -s, s) ** 2),
}


def derivations():
    return derived.cache_info().misses


def test_a_number_that_changes_is_an_input():
    slope = fg.grad(lambda x, t: np.sum((x - t) ** 2) * t)
    x = np.array([1.0, 2.0])
    for t in (0.3, 0.4, 0.6):
        slope(x, t)
    before = derivations()
    for t in (0.7, 1.3, -0.6, 11.0, -0.7, 12.0):
        np.testing.assert_allclose(slope(x, t), 2 * (x - t) * t, rtol=1e-14)
    assert derivations() <= before + 2  # that of the first negative number


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("x", [[0.0, 0.0], [1e-3, 2.0], [-1.5, 1e160]])
def test_derivatives_do_not_depend_on_earlier_numbers(name, x):
    f, x = PROGRAMS[name], np.array(x)
    both = fg.value_and_grad(f)
    for s in NUMBERS:
        for found, wanted in zip(both(x, s), fg.value_and_grad(f)(x, s), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_a_form_that_is_stable_for_a_number_is_kept():
    slope = fg.grad(lambda x, s: np.sqrt(np.sum(x**2) / s))
    for s in (3.7, 3.8, 3.9, 4.1):
        np.testing.assert_array_equal(slope(np.zeros(2), s), [0.0, 0.0])


def test_numbers_that_come_to_be_opposite_have_their_stable_form():
    ratio = fg.value_and_grad(
        lambda x, a, b: (np.exp(a * x) - np.exp(b * x)) / (np.exp(a * x) + np.exp(b * x))
    )
    for a, b in ((1.3, -0.7), (1.4, -0.8), (1.5, -1.5), (1.6, -0.9)):
        value, _ = ratio(3.0, a, b)
        assert value == pytest.approx(np.tanh((a - b) * 1.5))
    assert ratio(800.0, 1.5, -1.5) == (1.0, 0.0)


def test_jacobians_remember_a_trace_and_numbers_that_change():
    table = fg.jacobian(lambda x, t: np.sin(x) * t)
    x = np.array([0.3, 1.1])
    for t in (0.3, 0.4, 0.6):
        table(x, t)
    before = derivations()
    for t in (0.7, 1.3, 11.0):
        np.testing.assert_allclose(table(x, t), np.diag(np.cos(x) * t), rtol=1e-14)
    assert derivations() == before


def test_hessians_remember_a_trace_and_numbers_that_change():
    second = fg.hessian(lambda x, t: np.sum(np.sin(x) * t * x[0]))
    x = np.array([0.3, 1.1])
    for t in (0.3, 0.4, 0.6):
        second(x, t)
    before = derived.cache_info().hits + derivations()
    found = [second(x, t) for t in (0.7, 0.7, 1.3, 11.0)]
    assert derived.cache_info().hits + derivations() == before
    for t, table in zip((0.7, 0.7, 1.3, 11.0), found, strict=True):
        nested = fg.jacfwd(fg.jacrev(lambda x, t=t: np.sum(np.sin(x) * t * x[0])))
        np.testing.assert_allclose(table, nested(x), rtol=1e-14)


def test_results_of_a_jacobian_may_change_in_number():
    count = [1]
    table = fg.jacobian(lambda x: [x * (k + 3.0) for k in range(count[0])])
    for n in (1, 3, 2, 1, 2):
        count[0] = n
        assert table(0.5) == [k + 3.0 for k in range(n)]
