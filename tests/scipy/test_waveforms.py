"""Chirps whose frequencies are equal: SciPy has a formula of its own for them, without a slope in one."""

import numpy as np
import pytest
from scipy import signal

import funcgrad as fg

TIMES = np.array([0.0, 0.31, 0.72, 1.9])
CHIRPS = {
    f"{method}, in {name}": (method, place)
    for method in ("logarithmic", "hyperbolic")
    for name, place in (("the first", 0), ("the second", 1))
}


@pytest.mark.parametrize("case", CHIRPS)
def test_slopes_at_equal_frequencies(case):
    method, place = CHIRPS[case]

    def swept(f):
        first, second = (f, 1.0) if place == 0 else (1.0, f)
        return signal.chirp(TIMES, first, 2.0, second, method)

    h = 1e-3
    near, far = [(swept(1 + k * h) - swept(1 - k * h)) / (2 * k * h) for k in (1, 2)]
    slope = (4 * near - far) / 3
    value, tangent = fg.jvp(swept, (1.0,), (1.0,))
    np.testing.assert_allclose(value, swept(1.0), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(tangent, slope, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(fg.jit(fg.jacobian(swept))(1.0), tangent, rtol=1e-14)
    bend = (swept(1 + h) - 2 * swept(1.0) + swept(1 - h)) / h**2
    second = fg.jacobian(fg.jacobian(swept))(1.0)
    np.testing.assert_allclose(second, bend, rtol=2e-4, atol=1e-4)
