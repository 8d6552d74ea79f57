"""Poles, residues and roots of rational interpolants in barycentric form, those of `AAA` among them."""

import numpy as np
import pytest
import scipy.interpolate

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

X = np.linspace(-1.0, 1.0, 30)


def near(x):
    """Those near 0, since others are determined by rounding, in an order of their own."""
    kept = x[np.abs(x) < 1.0]
    kept = kept[np.argsort(np.real(kept) + 1e-3 * np.imag(kept))]
    return np.stack([np.real(kept), np.imag(kept)])


CASES = {
    "poles": lambda t: near(scipy.interpolate.AAA(X, np.tan(t * 5 * X)).poles()),
    "poles in points": lambda t: near(scipy.interpolate.AAA(t * X, np.tan(5 * t**2 * X)).poles()),
    "residues": lambda t: near(scipy.interpolate.AAA(X, 1 / (2 + t * X)).residues() / 4),
    "roots": lambda t: near(scipy.interpolate.AAA(X, np.exp(t * X) - 1.2).roots()),
    "complex poles": lambda t: near(
        scipy.interpolate.AAA(X, 1 / (0.1 * t + X * X + 0.1 * X)).poles()
    ),
    "roots of Floater and Hormann's": lambda t: near(
        scipy.interpolate.FloaterHormannInterpolator(X, np.cos(3 * t * X), d=5).roots()
    ),
    "poles of Floater and Hormann's": lambda t: near(
        0.3
        * scipy.interpolate.FloaterHormannInterpolator(
            np.arange(5.0) + t * np.sin(np.arange(5.0)), X[:5], d=1
        ).poles()
    ),
}


@pytest.mark.skipif(not hasattr(scipy.interpolate, "AAA"), reason="SciPy before 1.15")
@pytest.mark.parametrize("case", one_in(2, CASES))
def test_poles_and_roots_are_scipys_and_move_with_the_data(case):
    is_smooth = (
        "Hormann" in case
    )  # the weights of AAA have one derivative beside singular values of 0
    check_function(CASES[case], 0.7, vmap=False, value_rtol=1e-12, rtol=1e-5, hessian=is_smooth)
    assert np.asarray(fg.jit(CASES[case])(0.7)).size > 0


@pytest.mark.skipif(not hasattr(scipy.interpolate, "AAA"), reason="SciPy before 1.15")
def test_a_root_at_a_support_point_moves_with_the_value_there():
    def f(t):
        return near(scipy.interpolate.AAA(X, np.tan(X - X[0]) - t).roots())

    value, slope = fg.jvp(f, (0.0,), (1.0,))
    np.testing.assert_array_equal(value, f(0.0))
    np.testing.assert_allclose(slope, (f(1e-5) - f(-1e-5)) / 2e-5, rtol=1e-8)
    np.testing.assert_allclose(fg.jacrev(f)(0.0), slope, rtol=1e-12)


@pytest.mark.skipif(not hasattr(scipy.interpolate, "AAA"), reason="SciPy before 1.15")
@pytest.mark.parametrize("name", ["poles", "roots", "residues", "__call__"])
def test_rational_interpolants_in_single_precision(name):
    x = np.linspace(0.0, 1.0, 12, dtype=np.float32)

    def f(x):
        found = scipy.interpolate.AAA(x, np.tan(x) + x[1], rtol=1e-3)
        return getattr(found, name)(*([x] if name == "__call__" else []))

    value, slope = fg.jvp(f, (x,), (x,))
    assert value.dtype == slope.dtype == fg.jit(f)(x).dtype == f(x).dtype
    np.testing.assert_allclose(value, f(x), rtol=1e-5)
