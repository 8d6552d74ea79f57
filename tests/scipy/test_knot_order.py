"""Interpolants at abscissae and knots out of order: SciPy's errors, also where these are traced."""

import numpy as np
import pytest
import scipy.interpolate as si

import funcgrad as fg
from funcgrad.scipy.interpolate import CubicSpline

X, Y = np.array([0.0, 1.0, 2.5, 3.0, 4.0]), np.array([1.0, 2.0, 0.5, 3.0, 1.0])
OUT_OF_ORDER = X[[0, 2, 1, 3, 4]]


MESSAGES = r"increasing|in a non-decreasing order|ascending"


def clamped(x):
    return np.concatenate([x[:1], x[:1], x[:1], x, x[-1:], x[-1:], x[-1:]])


INTERPOLANTS = {
    "cubic": lambda x: si.CubicSpline(x, Y)(1.7),
    "hermite": lambda x: si.CubicHermiteSpline(x, Y, Y)(1.7),
    "pchip": lambda x: si.PchipInterpolator(x, Y)(1.7),
    "akima": lambda x: si.Akima1DInterpolator(x, Y)(1.7),
    "interpolating": lambda x: si.make_interp_spline(x, Y)(1.7),
    "linear": lambda x: si.make_interp_spline(x, Y, k=1)(1.7),
    "univariate": lambda x: si.InterpolatedUnivariateSpline(x, Y)(1.7),
    "B-spline": lambda x: si.BSpline(clamped(x), np.arange(7.0), 3)(1.7),
    "pieces": lambda x: si.PPoly(np.ones((3, 4)), x)(1.7),
    "grid": lambda x: si.RegularGridInterpolator((x,), Y)([1.7])[0],
}


@pytest.mark.parametrize("name", INTERPOLANTS)
def test_abscissae_out_of_order_raise_the_error_of_scipy(name):
    f = INTERPOLANTS[name]
    with pytest.raises(ValueError, match=MESSAGES):
        f(OUT_OF_ORDER)
    for how in (fg.grad(f), fg.jit(f), fg.jit(fg.grad(f)), fg.jacfwd(f)):
        assert np.all(np.isfinite(how(X)))
        with pytest.raises(ValueError, match=MESSAGES):
            how(OUT_OF_ORDER)
        assert np.all(
            np.isfinite(how(X))
        )  # of a jitted function whose last path has raised the error


@pytest.mark.parametrize("name", INTERPOLANTS)
def test_an_example_out_of_order_is_nan_and_others_are_right(name):
    f = INTERPOLANTS[name]
    slopes = fg.vmap(fg.grad(f))(np.stack([X, OUT_OF_ORDER]))
    np.testing.assert_allclose(slopes[0], fg.grad(f)(X), rtol=1e-12)
    assert np.all(np.isnan(slopes[1]))


def test_splines_in_the_body_of_a_loop_stay_as_they_are():
    def total(x):
        return fg.scan(lambda s, q: (s + si.CubicSpline(x * s, Y)(q), None), 1.0, X[:2])[0]

    h = 1e-6
    slope = [(total(X + h * e) - total(X - h * e)) / (2 * h) for e in np.eye(5)]
    np.testing.assert_allclose(fg.grad(total)(X), slope, rtol=1e-6, atol=1e-6)


def test_a_formula_of_abscissae_is_not_asked():
    x = fg.var("x", 5)
    assert CubicSpline(x, Y)(1.7)(x=X) == pytest.approx(si.CubicSpline(X, Y)(1.7), rel=1e-12)
