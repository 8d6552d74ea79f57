"""Roots and minima of arrays of equations: slopes of solutions that are points of the bracket, too."""

import numpy as np
import pytest

import funcgrad as fg

elementwise = pytest.importorskip("scipy.optimize.elementwise")
C = np.array([1.0, 1.5, 2.0])
SOLUTIONS = {
    "a minimum": (
        lambda s: (
            elementwise.find_minimum(lambda x, c: (x - c) ** 2, (0.0, 1.4, 3.0), args=(C * s,)).x
        ),
        lambda s: C * s,
    ),
    "a minimum in the middle": (
        lambda s: (
            elementwise.find_minimum(lambda x, c: (x - c) ** 2, (0.0, 1.5, 3.0), args=(1.5 * s,)).x
        ),
        lambda s: 1.5 * s,
    ),
    "its value": (
        lambda s: (
            elementwise.find_minimum(lambda x: (x - 1.5 * s) ** 2 + s**2, (0.0, 1.5, 3.0)).f_x
        ),
        lambda s: s**2,
    ),
    "a root": (
        lambda s: elementwise.find_root(lambda x, c: x**3 - c, (0.0, 3.0), args=(C * s,)).x,
        lambda s: np.cbrt(C * s),
    ),
    "a root at an end": (
        lambda s: elementwise.find_root(lambda x: x - 1.5 * s, (1.5, 3.0)).x,
        lambda s: 1.5 * s,
    ),
    "a root beside none": (
        lambda s: elementwise.find_root(lambda x, c: x - c, (0.0, 1.7), args=(C * s,)).x[:2],
        lambda s: C[:2] * s,
    ),
}


@pytest.mark.parametrize("case", SOLUTIONS)
def test_slopes_of_solutions(case):
    solve, exact = SOLUTIONS[case]
    value, slope = fg.jvp(solve, (1.0,), (1.0,))
    np.testing.assert_array_equal(value, solve(1.0))
    wanted = (exact(1.0 + 1e-5) - exact(1.0 - 1e-5)) / 2e-5
    np.testing.assert_allclose(slope, wanted, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(fg.jacobian(solve)(1.0), slope, rtol=1e-12, atol=1e-14)
    bend = fg.jacobian(fg.jacobian(solve))(1.0)
    wanted = (exact(1.001) - 2 * exact(1.0) + exact(0.999)) / 1e-6
    np.testing.assert_allclose(bend, wanted, rtol=1e-5, atol=1e-6)
