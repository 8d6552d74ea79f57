"""Quotients next to their limits, and those whose parts underflow: slopes against mpmath."""

import mpmath
import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

FAR = [-1e10, -1e4, -20.0, -0.7, 1e-9, 0.3, 5.0, 40.0, 1e4, 1e10]
OF_EXPONENTIALS = [-700.0, -400.0, -300.0, -30.0, -1.3, 0.7, 5.0, 20.0, 40.0, 100.0, 300.0]
FUNCTIONS = {
    "share": (lambda m, x: x / (1 + x), FAR),
    "share of a square": (lambda m, x: x**2 / (1 + x**2), FAR),
    "Hill": (lambda m, x: x**4 / (3.0**4 + x**4), FAR),
    "softsign": (lambda m, x: x / (1 + abs(x)), FAR),
    "Moebius": (lambda m, x: (x - 1) / (x + 3), FAR),
    "by a root": (lambda m, x: x / m.sqrt(1 + x**2), FAR),
    "by a power": (lambda m, x: (1 + x**2) ** -0.5 * x, FAR),
    "square by a root": (lambda m, x: x**2 / (5 + 3 * x**4) ** 0.5, FAR),
    "by hypot": (lambda m, x: x / m.hypot(x, 2.0), FAR),
    "share of two numbers": (
        lambda m, x: m.exp(x) / (m.exp(x) + 0.5 + m.exp(1.0)),
        OF_EXPONENTIALS,
    ),
    "share and complement": (lambda m, x: m.exp(x) / (m.exp(x) - 1.0), OF_EXPONENTIALS),
    "of a product by hypot": (lambda m, x: 3 * x / m.hypot(1.5, 3 * x), FAR),
    "within": (lambda m, x: m.sin(x**2 / (1 + x**2)), FAR),
    "tanh": (lambda m, x: (m.exp(x) - m.exp(-x)) / (m.exp(x) + m.exp(-x)), OF_EXPONENTIALS),
    "tanh of 2x": (lambda m, x: (m.exp(2 * x) - 1) / (m.exp(2 * x) + 1), OF_EXPONENTIALS[2:]),
    "tanh of -3x": (lambda m, x: (1 - m.exp(3 * x)) / (m.exp(3 * x) + 1), OF_EXPONENTIALS[3:-2]),
    "tanh of a difference": (
        lambda m, x: (m.exp(x) - m.exp(1 - x)) / (m.exp(1 - x) + m.exp(x)),
        OF_EXPONENTIALS[3:],
    ),
    "sinh by cosh": (lambda m, x: m.sinh(x) / m.cosh(x), OF_EXPONENTIALS),
    "coth": (lambda m, x: m.cosh(x) / m.sinh(x), OF_EXPONENTIALS),
    "coth by exponentials": (
        lambda m, x: (m.exp(x) + m.exp(-x)) / (m.exp(x) - m.exp(-x)),
        OF_EXPONENTIALS,
    ),
    "coth of x/2": (lambda m, x: 3 * (m.exp(x) + 1) / (m.exp(x) - 1), OF_EXPONENTIALS),
    "sigmoid": (lambda m, x: m.exp(x) / (m.exp(-x) + m.exp(x)), OF_EXPONENTIALS[1:]),
    "sech": (lambda m, x: 3 / (m.exp(x) + m.exp(-x)), OF_EXPONENTIALS),
    "share of an exponential": (
        lambda m, x: m.exp(x) / (m.exp(x) + 7.5),
        OF_EXPONENTIALS,
    ),
    "heat capacity": (
        lambda m, x: x**2 * m.exp(x) / (m.exp(x) - 1) ** 2,
        OF_EXPONENTIALS[4:],
    ),
    "heat capacity by expm1": (
        lambda m, x: x**4 * m.exp(x) / m.expm1(x) ** 2,
        OF_EXPONENTIALS[4:],
    ),
    "heat capacity by sinh": (
        lambda m, x: x**4 / (4 * m.sinh(x / 2) ** 2),
        OF_EXPONENTIALS[1:],
    ),
    "logistic density": (lambda m, x: m.exp(x) / (1 + m.exp(x)) ** 2, OF_EXPONENTIALS),
    "cubed": (lambda m, x: m.exp(x) / (1 + m.exp(x)) ** 3, OF_EXPONENTIALS[:-1]),
    "of a square": (lambda m, x: 1 / (m.exp(x) * m.exp(x) + 1), OF_EXPONENTIALS),
    "swish": (lambda m, x: x * m.exp(x) / (1 + m.exp(x)), OF_EXPONENTIALS),
    "log of sinh by x": (lambda m, x: m.log(m.sinh(x) / x), OF_EXPONENTIALS[:3]),
    "share of three": (
        lambda m, x: m.exp(x) / (m.exp(x) + m.exp(-x) + 1),
        OF_EXPONENTIALS[3:-1],
    ),
    "sech squared": (lambda m, x: 4 / (m.exp(x) + m.exp(-x)) ** 2, OF_EXPONENTIALS[2:]),
}
IN_REVERSE_MODE = ("sech squared",)
"""Forward mode adds up terms before their factors meet the divisor."""


@pytest.mark.parametrize("name", one_in(2, FUNCTIONS))
def test_slopes_are_as_accurate_as_the_value(name):
    f, places = FUNCTIONS[name]
    of_numpy = lambda x: f(np, x)  # noqa: E731
    with mpmath.workdps(900):
        step = mpmath.mpf(10) ** -250
        exact = [mpmath.diff(lambda t: f(mpmath, t), mpmath.mpf(x), h=step) for x in places]
    expected = np.array(list(map(float, exact)))
    close = {"rtol": 1e-10, "atol": 1e-300}
    for x, slope in zip(places, expected, strict=True):
        np.testing.assert_allclose(fg.grad(of_numpy)(x), slope, **close)
        if name not in IN_REVERSE_MODE:
            np.testing.assert_allclose(fg.jvp(of_numpy, (x,), (1.0,))[1], slope, **close)
    x = np.array(places)
    weights = np.arange(1.0, len(x) + 1)
    found = fg.jit(fg.grad(lambda x: (weights * of_numpy(x)).sum()))(x)
    np.testing.assert_allclose(found, weights * expected, **close)
    if name not in IN_REVERSE_MODE:
        slopes = fg.jvp(of_numpy, (x,), (weights,))[1]
        np.testing.assert_allclose(slopes, weights * expected, **close)


TWICE = (
    "by a root",
    "by hypot",
    "square by a root",
    "heat capacity",
    "heat capacity by expm1",
    "swish",
    "log of sinh by x",
    "sech",
    "tanh",
)


@pytest.mark.parametrize("name", TWICE)
@pytest.mark.parametrize("x", [5.0, 30.0, 300.0])
def test_second_derivatives_are_as_accurate_as_the_value(name, x):
    f, _ = FUNCTIONS[name]
    with mpmath.workdps(900):
        step = mpmath.mpf(10) ** -250
        exact = mpmath.diff(lambda t: f(mpmath, t), mpmath.mpf(x), 2, h=step)
    for second in (fg.grad(fg.grad(lambda x: f(np, x))), fg.hessian(lambda x: f(np, x))):
        np.testing.assert_allclose(second(x), float(exact), rtol=1e-8)


def test_slopes_of_the_entries_of_a_unit_vector_next_to_an_axis():
    unit = lambda x, y, z: x / np.sqrt(x**2 + y**2 + z**2)  # noqa: E731
    x, y, z = 1e7, 2.0, 3.0
    expected = (y**2 + z**2) / x**3
    np.testing.assert_allclose(fg.grad(unit)(x, y, z), expected, rtol=1e-12)
    np.testing.assert_allclose(fg.grad(unit)(y, z, x), 1 / x, rtol=1e-12)
    swapped = fg.jit(fg.grad(lambda z, x: unit(z, y, x)))
    np.testing.assert_allclose(swapped(x, z), expected, rtol=1e-12)


def test_numbers_beside_a_share_may_overflow():
    f = lambda x: (1e200 / np.hypot(x, 1e200)) * (x / np.hypot(x, 1e200))  # noqa: E731
    np.testing.assert_allclose(fg.grad(f)(2.0), 1e-200, rtol=1e-14)
    assert fg.grad(fg.grad(f))(2.0) == 0


@pytest.mark.parametrize("x", [-800.0, 800.0])
def test_the_value_does_not_overflow_where_the_function_has_one(x):
    names = ("tanh", "sigmoid")
    tanh, sigmoid = [fg.jit(lambda x, f=FUNCTIONS[name][0]: f(np, x))(x) for name in names]
    assert (tanh, sigmoid) == (np.sign(x), x > 0)


def test_formulas_of_rational_functions_are_printed_as_before():
    x = fg.var("x")
    assert str(fg.gradient(x / (1 + x), x)) == "1/(x + 1)**2"
    assert str(fg.gradient(3 / (2 * np.exp(x) + 5), x)) == "-6*exp(x)/(2*exp(x) + 5)**2"


@pytest.mark.parametrize("exponent", [np.nan, np.inf, -np.inf])
def test_exponents_that_are_not_finite_are_no_powers(exponent):
    x = fg.var("x")
    with np.errstate(all="ignore"):
        slope = fg.gradient(x + x / (x + 1) ** exponent, x)
        assert np.isnan(slope(x=0.7))


def test_a_term_of_many_factors_beside_a_sum_whose_numbers_cancel():
    def series_by_its_argument(a):
        b, k = a - 1.0, a
        term = total = 1.0 / a
        for _ in range(10):
            k = k + 1.0
            term = term * 1.7 / k
            total = total + term
        return total * (1 / (b + 1.0))

    by_reverse = fg.grad(fg.grad(series_by_its_argument))(2.3)
    by_forward = fg.hessian(series_by_its_argument)(2.3)
    np.testing.assert_allclose(by_forward, by_reverse, rtol=1e-12)
