"""Overlapping windows in machine code: views of an array, and the sums that are their transpose."""

import itertools

import numpy as np
import pytest

from tests.default_slice import one_in

pytest.importorskip("llvmlite")

import funcgrad as fg
from funcgrad.ops.overlapping_windows import added_windows_op, overlapping_windows_op

RNG = np.random.default_rng(0)

WINDOWS = {
    "sliding": ((), 40, (31, 10), (1, 1), 0),
    "every third": ((), 40, (11, 10), (3, 1), 0),
    "turned": ((), 40, (10, 31), (1, 1), 0),
    "backwards": ((), 40, (31, 10), (1, -1), 9),
    "from an entry on": ((), 40, (5, 4), (2, 3), 7),
    "of two axes": ((), 48, (4, 6, 3, 3), (8, 1, 8, 1), 0),
    "of several rows": ((2, 3), 20, (11, 10), (1, 1), 0),
    "single": ((), 5, (1, 5), (1, 1), 0),
}


DTYPES = ["float64", "float32", "complex128", "int64"]


@pytest.mark.parametrize(("name", "dtype"), one_in(3, itertools.product(WINDOWS, DTYPES)))
def test_windows_and_their_sums(name, dtype):
    stack, length, shape, steps, start = WINDOWS[name]
    x = (10 * RNG.standard_normal((*stack, length))).astype(dtype)
    g = (10 * RNG.standard_normal((*stack, *shape))).astype(dtype)

    def both(x, g):
        windows = overlapping_windows_op(x, shape=shape, steps=steps, start=start)
        sums = [
            added_windows_op(v, steps=steps, start=start, length=length)
            for v in (g, np.broadcast_to(g[..., :1], g.shape), np.ones_like(g))
        ]
        return windows, windows + g, *sums

    eps = np.finfo(dtype).eps if dtype != "int64" else 0
    found, want = fg.jit(both, native=True)(x, g), both(fg.const(x), fg.const(g))
    for one, other in zip(found, want, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, fg.evaluate(other), rtol=1e3 * eps, atol=1e3 * eps)


def test_a_state_that_is_read_by_windows():
    """No entry is written before the windows that hold it are read."""

    def step(x, _):
        windows = np.lib.stride_tricks.sliding_window_view(x, 5)
        return np.concatenate([x[:2], np.mean(windows, axis=1), x[-2:]]) * 1.01, None

    def f(x):
        return np.sum(fg.scan(step, x, np.arange(6))[0] ** 2)

    x = RNG.standard_normal(30)
    want = fg.value_and_grad(f)(x)
    value, slope = fg.jit(fg.value_and_grad(f), native=True)(x)
    np.testing.assert_allclose(value, want[0], rtol=1e-13)
    np.testing.assert_allclose(slope, want[1], rtol=1e-12)


def test_stores_into_windows_leave_the_array():
    def f(x):
        windows = np.lib.stride_tricks.sliding_window_view(x, 3) * 1.0
        return windows.at[0].set(0.0), x

    x = RNG.standard_normal(8)
    found, same = fg.jit(lambda x: f(x), native=True)(x)
    want = np.lib.stride_tricks.sliding_window_view(x, 3).copy()
    want[0] = 0
    np.testing.assert_array_equal(found, want)
    np.testing.assert_array_equal(same, x)
