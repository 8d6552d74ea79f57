"""Orthogonal distance regression of `scipy.odr`: values are ODRPACK's, derivatives those of the solution."""

import warnings

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

with warnings.catch_warnings():  # scipy.odr is deprecated
    warnings.simplefilter("ignore")
    odr = pytest.importorskip("scipy.odr")

X = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
Y = np.array([1.1, 2.9, 5.2, 7.1, 8.7, 11.3])
EXACT = {"job": 10, "sstol": 1e-15, "partol": 1e-15, "maxit": 200}
pytestmark = pytest.mark.filterwarnings("ignore:`scipy.odr`:DeprecationWarning")


def curve(beta, x):
    return beta[0] * x + beta[1] + 0.1 * beta[0] ** 2 * np.sin(x)


def two_curves(beta, x):
    return np.stack([beta[0] * x[0] + beta[1] * x[1] + beta[2], beta[0] + beta[2] * np.sin(x[0])])


def numbers(o):
    sums = [o.res_var, o.sum_square, o.sum_square_delta, o.sum_square_eps]
    given = [o.beta, o.sd_beta, o.cov_beta, o.delta, o.eps, o.xplus, o.y, sums]
    return np.concatenate([np.ravel(np.asarray(item)) for item in given])


def fit(t, kind="Data", both=False, options=(), **weights):
    given = {name: weight(t) for name, weight in weights.items()}
    if both:
        x, y = np.stack([X, X**2]), np.stack([Y, Y**1.1])
        model, start = odr.Model(two_curves), [1.0, 2.0, 0.5]
    else:
        x, y, start = 1.01 * X, Y, [1.0, 2.0]
        model = odr.Model(lambda beta, x: curve(beta, x) + 0.1 * t * x)
    data = getattr(odr, kind)(x + 0.01 * t * np.cos(x), y + t * np.sin(y), **given)
    return odr.ODR(data, model, beta0=start, **{**EXACT, **dict(options)}).run()


CASES = [
    {},
    {"we": lambda t: 2 + t, "wd": lambda t: 1 + t},
    {"wd": lambda t: 2 + t * X, "options": {"ifixx": [1, 0, 1, 1, 1, 1]}},
    {"we": lambda t: 2 + t * X, "options": {"job": 12}},
    {"options": {"ifixb": [1, 0]}},
    {"kind": "RealData", "sx": lambda t: 0.3 + 0.1 * t, "sy": lambda t: 0.2 + 0.01 * t * X},
    {"both": True, "we": lambda t: np.array([[2.0, 0.3 + t], [0.3 + t, 1.0]])},
    {"both": True, "wd": lambda t: np.array([1.0, 2 + t]), "options": {"ifixx": [1, 0]}},
    {
        "both": True,
        "we": lambda t: np.array([2.0, 0.3 + t]),
        "wd": lambda t: 2.0 + np.stack([X, t * X]),
    },
    {"both": True, "kind": "RealData", "covx": lambda t: np.array([[2.0, t], [t, 1.0]])},
]


@pytest.mark.parametrize("case", one_in(5, CASES))
def test_fits_are_odrpacks_and_derivatives_are_differences(case):
    def weighted(t):
        found = numbers(fit(t, **case))
        return np.sum(found * np.cos(np.arange(found.size)))

    traced = fg.jvp(lambda t: numbers(fit(t, **case)), (0.0,), (1.0,))
    np.testing.assert_allclose(traced[0], numbers(fit(0.0, **case)), rtol=1e-4, atol=1e-5)

    def exact(t):  # solved further than SciPy does
        return fg.jvp(weighted, (t,), (1.0,))[0]

    slope = (exact(1e-4) - exact(-1e-4)) / 2e-4
    np.testing.assert_allclose(fg.grad(weighted)(0.0), slope, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(fg.jvp(weighted, (0.0,), (1.0,))[1], slope, rtol=1e-6, atol=1e-6)
    if case not in CASES[1::4]:  # the second order is slow
        return
    grad = fg.grad(weighted)
    compiled = fg.jit(grad)
    second = (compiled(1e-4) - compiled(-1e-4)) / 2e-4
    np.testing.assert_allclose(fg.grad(grad)(0.0), second, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(fg.jvp(grad, (0.0,), (1.0,))[1], second, rtol=1e-5, atol=1e-5)


def test_slopes_of_a_line_are_those_of_odrpacks_fits():
    def line(y):
        return odr.ODR(odr.Data(X, y), odr.unilinear, **EXACT).run().beta

    h = 1e-3
    differences = [(line(Y + h * e) - line(Y - h * e)) / (2 * h) for e in np.eye(6)]
    np.testing.assert_allclose(fg.jacobian(line)(Y), np.stack(differences, 1), atol=1e-5)
    rows = np.stack([Y, 2 * Y])
    np.testing.assert_allclose(fg.vmap(line)(rows), [line(Y), line(2 * Y)], atol=1e-6)


def test_the_function_takes_further_arguments_of_the_model():
    def slope(a):
        model = odr.Model(lambda b, x, a, _: a * b[0] * x + b[1], extra_args=(a, "name"))
        return odr.ODR(odr.Data(X, Y), model, beta0=[1.0, 1.0]).run().beta[0]

    def of_function(a):
        return odr.odr(lambda b, x: a * b[0] * x + b[1], [1.0, 1.0], Y, X)[0][0]

    expected = -slope(1.1) / 1.1
    np.testing.assert_allclose(fg.grad(slope)(1.1), expected, rtol=1e-6)
    np.testing.assert_allclose(fg.grad(of_function)(1.1), expected, rtol=1e-6)


def test_other_fits_are_refused_with_what_to_write():
    def implicit(a):
        model = odr.Model(lambda b, x: x[0] ** 2 + x[1] ** 2 - b[0], implicit=True)
        return odr.ODR(odr.Data(a * np.stack([X, Y]), 1), model, beta0=[1.0]).run().beta[0]

    def of_delta(a):
        model = odr.Model(lambda b, x: b[0] * x)
        fit = odr.ODR(odr.Data(a * X, Y), model, beta0=[1.0], delta0=0.1 + 0 * X, job=1000)
        return fit.run().beta[0]

    with pytest.raises(TypeError, match=r"explicit model.*write scipy.optimize.minimize"):
        fg.grad(implicit)(1.0)
    with pytest.raises(TypeError, match=r"delta0.*leave them out"):
        fg.grad(of_delta)(1.0)
