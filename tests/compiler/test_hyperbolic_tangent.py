"""The hyperbolic tangent and its derivative in machine code."""

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.ops.elementwise.trigonometric import sech_squared

pytest.importorskip("llvmlite")

SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 1e-300, 1e-8, 0.625, -0.625, 20.0, 400.0, -800.0]
SPECIAL += [np.nextafter(0.625, 0), np.finfo(float).max, np.inf, -np.inf, np.nan]


def points():
    rng = np.random.default_rng(0)
    parts = [rng.uniform(-1, 1, 600), rng.uniform(-20, 20, 400), 10.0 ** rng.uniform(-30, 0, 100)]
    return np.concatenate(parts)


def ulps(found, exact, x, dtype):
    """The largest distance from the exact values, in units in their last place."""
    most = 0.0
    with mp.workdps(40):
        for value, at in zip(found, x.tolist(), strict=True):
            want = exact(mp.mpf(at))
            unit = float(np.spacing(np.abs(dtype(float(want)))))
            most = max(most, float(abs(mp.mpf(float(value)) - want) / unit))
    return most


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_errors(dtype):
    x = points().astype(dtype)
    found, slope = fg.jit(lambda x: (np.tanh(x), sech_squared(x)), native=True)(x)
    assert found.dtype == slope.dtype == dtype
    assert ulps(found, mp.tanh, x, dtype) <= 3
    assert ulps(slope, lambda x: mp.sech(x) ** 2, x, dtype) <= 8
    alone = fg.jit(np.tanh, native=True)(x)
    assert ulps(alone, mp.tanh, x, dtype) <= 3


@pytest.mark.parametrize("size", [1, len(SPECIAL), 8 * len(SPECIAL)])
def test_special_values(size):
    x = np.resize(SPECIAL, size)
    found = fg.jit(np.tanh, native=True)(x)
    np.testing.assert_array_max_ulp(found[np.isfinite(x)], np.tanh(x)[np.isfinite(x)], 4)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(x))
    np.testing.assert_array_equal(found[np.isinf(x)], np.sign(x[np.isinf(x)]))
    np.testing.assert_array_equal(np.signbit(found), np.signbit(x))


def test_the_slope_is_not_lost_far_out():
    x = np.array([0.1, 1.0, 25.0, 300.0, -25.0])
    found = fg.jit(fg.grad(lambda x: np.sum(np.tanh(x))), native=True)(x)
    np.testing.assert_allclose(found, sech_squared.run(x), rtol=1e-14)
