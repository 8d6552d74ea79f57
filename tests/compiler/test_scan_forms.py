"""Running sums and products, and places of extreme entries in machine code: NumPy's bits."""

import numpy as np
import pytest

from tests.default_slice import one_in

pytest.importorskip("llvmlite")

from funcgrad.compiler.native.native_loop import NativeLoop
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.control.closed_program import body_of
from funcgrad.control.loop import LoopSpec
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.recurrences import recurrence_op

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e308, 5e-324]


def compared(f, *arrays):
    inputs = [symbol(f"i{k}", ArrayType(x.shape, x.dtype)) for k, x in enumerate(arrays)]
    flat = flat_of(body_of(inputs, list(f(*inputs))))
    run = NativeLoop(flat, None, LoopSpec(0, len(inputs), 1), True).function()
    _, found = run([x[None] for x in arrays], 1)
    with np.errstate(all="ignore"):
        wanted = f(*arrays)
    for got, want in zip(found, wanted, strict=True):
        assert (got[0].dtype, got[0].shape) == (want.dtype, want.shape)
        np.testing.assert_array_equal(got[0], want)
        if want.dtype.kind == "f":
            number = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got[0][number]), np.signbit(want[number]))


@pytest.mark.parametrize("dtype", one_in(2, [np.float64, np.float32, np.int64, np.bool_]))
def test_along_every_axis(dtype):
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, (5, 1, 7)).astype(dtype)
    y = rng.normal(size=(9, 40)).astype(dtype) * dtype(0.1) if np.dtype(dtype).kind == "f" else x[0]

    def f(x, y):
        found = [np.cumsum(x, axis=k) for k in range(3)] + [np.cumsum(y, axis=k) for k in range(2)]
        found += [np.cumprod(x, axis=k) for k in range(3)] + [np.cumprod(y, axis=1)]
        for name in ("argmax", "argmin"):
            found += [getattr(np, name)(x, axis=k) for k in range(3)] + [getattr(np, name)(y)]
        return [np.asarray(z) if isinstance(z, np.generic) else z for z in found]

    compared(f, x, y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_special_values(dtype):
    with np.errstate(over="ignore"):
        x = np.array([np.roll(SPECIAL, k) for k in range(7)] + [[np.inf] * 7, [-0.0] * 7]).astype(
            dtype
        )
    along = (np.cumsum, np.cumprod, np.argmax, np.argmin)
    compared(lambda x: [g(x, axis=k) for g in along for k in (0, 1)], x)
    running = (np.maximum.accumulate, np.minimum.accumulate)
    compared(lambda x: [g(x, axis=k) for g in running for k in (0, 1)], x)
    compared(lambda x, y: [recurrence_op(x, y, axis=k) for k in (0, 1)], x, x[::-1])
