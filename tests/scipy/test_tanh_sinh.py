"""Integrals by `tanhsinh`, and sums by `nsum`, which has integrals for its remainders."""

import numpy as np
import pytest
import scipy.special
from scipy.integrate import nsum, tanhsinh

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

X = np.array([1.3, 0.7])
INTEGRALS = {
    "an infinite interval": lambda x: (
        tanhsinh(lambda t, p: 1 / t**p, 1.0, np.inf, args=(2 * x,)).integral
    ),
    "the whole line": lambda x: tanhsinh(lambda t: np.exp(-x[0] * t * t), -np.inf, np.inf).integral,
    "limits": lambda x: (
        tanhsinh(lambda t: np.exp(-t * t) * x[1], x, np.array([[2.0], [np.inf]])).integral
    ),
    "limits in the other order": lambda x: tanhsinh(lambda t: t ** x[0], 2 * x[0], x[1]).integral,
    "a singular end": lambda x: tanhsinh(lambda t, p: t ** (p - 1), 0.0, x[1], args=[x]).integral,
    "a loose tolerance": lambda x: (
        tanhsinh(lambda t, p: np.sin(t) ** p, 0.5, 1.0, args=x[0], rtol=1e-3).integral
    ),
    "its logarithm": lambda x: tanhsinh(lambda t: -x[0] * t, 0.0, x[1], log=True).integral,
    "several at once": lambda x: (
        tanhsinh(lambda t: np.stack([t ** x[0], t**2]), 0.0, x[1], preserve_shape=True).integral
    ),
    "several at once, of arguments": lambda x: (
        tanhsinh(
            lambda t, p: np.exp(-p * t), [0.0, 0.5], [[np.inf]], args=(x,), preserve_shape=True
        ).integral
    ),
}
SUMS = {
    "an infinite sum": lambda x: nsum(lambda k, p: 1 / k**p, 1, np.inf, args=(3 * x,)).sum,
    "with steps": lambda x: (
        nsum(lambda k: x[0] / (k * k + x[1]), 1, np.inf, step=2.0, maxterms=1000).sum
    ),
    "over all numbers": lambda x: (
        nsum(lambda k: np.exp(-x[0] * k * k / 50), -np.inf, np.inf, maxterms=100).sum
    ),
    "a finite one": lambda x: nsum(lambda k, p: 1 / k**p, 1, 20, args=(x,)).sum,
}


@pytest.mark.parametrize("name", one_in(4, [*INTEGRALS, *SUMS]))
def test_integrals_and_sums(name):
    f = {**INTEGRALS, **SUMS}[name]
    with np.errstate(all="ignore"):
        check_function(f, X, value_rtol=1e-13, vmap=name not in SUMS)


def test_the_derivatives_are_those_of_the_integral():
    def gamma(p):
        density = lambda t, p: t ** (p - 1) * np.exp(-t)  # noqa: E731
        return tanhsinh(density, 0.0, np.inf, args=(p,)).integral

    value, slope = scipy.special.gamma(2.3), scipy.special.gamma(2.3) * scipy.special.digamma(2.3)
    np.testing.assert_allclose(fg.value_and_grad(gamma)(2.3), (value, slope), rtol=1e-9)
    second = scipy.special.polygamma(1, 2.3) * value + slope**2 / value
    assert fg.grad(fg.grad(gamma))(2.3) == pytest.approx(second, rel=1e-8)


def test_arguments_by_name():
    from funcgrad.scipy.tanh_sinh import tanhsinh  # SciPy before 1.18 has no such keyword

    def area(p):
        density = lambda t, p, c=1.0: c * np.exp(-p * t)  # noqa: E731
        return tanhsinh(density, 0.0, np.inf, args=(p,), kwargs={"c": p**3}).integral

    np.testing.assert_allclose(fg.value_and_grad(area)(2.0), (4.0, 4.0), rtol=1e-9)
    assert area(2.0) == pytest.approx(4.0)


def test_what_is_told_of_the_rule():
    def told(x):
        found = tanhsinh(lambda t: 1 / t**x, np.array([0.0, 1.0]), 2.0, maxlevel=3)
        return {name: found[name] * 1 for name in found if name[0] != "_"}

    with np.errstate(all="ignore"):
        wanted, found = told(1.1), fg.jvp(told, (1.1,), (1.0,))[0]
    assert found.keys() == wanted.keys()
    for name in wanted:
        np.testing.assert_array_equal(found[name], wanted[name])
        assert np.asarray(found[name]).dtype == wanted[name].dtype
