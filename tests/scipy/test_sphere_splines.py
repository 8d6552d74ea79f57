"""Splines on the sphere: values are SciPy's, slopes differences, in points and in values on a grid."""

import numpy as np
import pytest
import scipy
import scipy.interpolate as si

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

THETA, PHI = np.linspace(0.25, 2.9, 7), np.linspace(-3.0, 2.9, 8)
VALUES = np.sin(THETA)[:, None] * np.cos(PHI) + 0.1 * np.cos(np.arange(56.0)).reshape(7, 8)
FLAT = [part.ravel() for part in np.meshgrid(THETA, PHI + 3.0, indexing="ij")]
GRID = si.RectSphereBivariateSpline(THETA, PHI, VALUES)
SMOOTH = si.SmoothSphereBivariateSpline(*FLAT, VALUES.ravel(), s=10.0)
FITTED = si.LSQSphereBivariateSpline(
    *FLAT, VALUES.ravel(), np.array([1.5]), np.array([1.0, 3.0, 5.0])
)
READS_UNWRITTEN = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 18)
"""Whether SciPy's own coefficients, with ``pole_continuity``, depend on memory that it has not written."""
IN_POINTS = {
    "points": lambda q: GRID.ev(q, 2 * q - 1),
    "a grid": lambda q: GRID(q, [0.4, 1.7]),
    "a partial derivative": lambda q: GRID.ev(q, 1.0, dtheta=1),
    "smoothing": lambda q: SMOOTH(q, 1.0 + q, grid=False),
    "given knots": lambda q: FITTED.ev(q, 1.0 + q),
}
IN_VALUES = {
    "plain": {},
    "values at the poles": {"pole_values": [0.3, -0.2], "pole_exact": True},
    "continuous poles": {"pole_continuity": True, "pole_flat": (True, False)},
}


@pytest.mark.parametrize("case", IN_POINTS)
def test_slopes_in_points(case):
    check_function(IN_POINTS[case], np.array([0.43, 1.12, 2.41]), value_rtol=1e-13, hessian=False)


@pytest.mark.parametrize("case", one_in(2, IN_VALUES))
def test_slopes_in_values_on_a_grid(case):
    if "pole_continuity" in IN_VALUES[case] and READS_UNWRITTEN:
        pytest.skip("SciPy's plain values may be NaN")

    def f(values):
        spline = si.RectSphereBivariateSpline(THETA, PHI, values, **IN_VALUES[case])
        return spline.ev([0.05, 0.7, 1.9], [0.3, -1.0, 2.0])

    check_function(f, VALUES, value_rtol=1e-13, hessian=False)


def test_what_is_refused():
    for kind in (si.SmoothSphereBivariateSpline, si.LSQSphereBivariateSpline):
        with pytest.raises(TypeError, match=f"{kind.__name__}: expected plain data"):
            fg.grad(lambda r, kind=kind: kind(*FLAT, r, [1.5], [1.0]).ev(1.0, 1.0))(VALUES.ravel())
    with pytest.raises(TypeError, match="without smoothing"):
        fg.grad(lambda r: si.RectSphereBivariateSpline(THETA, PHI, r, s=1.0).ev(1.0, 1.0))(VALUES)
    with pytest.raises(ValueError, match="requested theta out of bounds"):
        fg.grad(lambda q: GRID.ev(q, 1.0))(3.5)
