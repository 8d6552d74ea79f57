"""Running products, and the linear recurrences that their derivatives are.

With z[i] = x[i]*z[i-1] is dz[i] = x[i]*dz[i-1] + z[i-1]*dx[i], which divides by nothing: zeros do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import Diagonal, LinearMap, Structural
from funcgrad.ops.base.arguments import slice_axis
from funcgrad.ops.base.axes import on_moved_axes, scan_products, shifted
from funcgrad.ops.base.columns import TORCH_FORMS, Columns, running
from funcgrad.ops.base.op import Op
from funcgrad.ops.base.promotion import numpy_dtype
from funcgrad.typing import Array

# Numbers in a row below which Python's numbers take less time than NumPy's calls for a row.
_FEW = 16


def _recurrence_run(a: Array, b: Array, axis: int) -> Any:
    z = np.array(b, np.result_type(a, b))
    rows, slopes = np.moveaxis(z, axis, 0), np.moveaxis(a, axis, 0)
    if z.size and z.size < _FEW * len(rows) and z.dtype == slopes.dtype == np.float64:
        lanes = [_of_numbers(slopes[:, *k], rows[:, *k]) for k in np.ndindex(rows.shape[1:])]
        rows[...] = np.stack(lanes, axis=-1).reshape(rows.shape)
        return z
    for i in range(1, len(rows)):
        rows[i] += slopes[i] * rows[i - 1]
    return z


def _of_numbers(a: Array, b: Array) -> list[float]:
    start, *rest = b.tolist()
    pairs = zip(a[1:].tolist(), rest, strict=True)
    return list(accumulate(pairs, lambda z, pair: pair[0] * z + pair[1], initial=start))


def _recurrence_decomposed(a: Array, b: Array, axis: int) -> Any:
    """In log2(n) steps on whole arrays, of which each joins the maps of so many places into one."""
    length, step = np.shape(b)[axis], 1
    while step < length:
        start, after, before = slice(None, step), slice(step, None), slice(None, length - step)
        slope = slice_axis(a, axis, after)
        moved = slice_axis(b, axis, after) + slope * slice_axis(b, axis, before)
        b = np.concatenate([slice_axis(b, axis, start), moved], axis=axis)
        a = np.concatenate(
            [slice_axis(a, axis, start), slope * slice_axis(a, axis, before)], axis=axis
        )
        step *= 2
    return b


def _solved(a: Array, axis: int) -> LinearMap:
    """The linear map from b to z; its transpose is the recurrence from the end."""

    def backward(g: Array) -> Any:
        slopes = shifted(np.flip(a, axis), 1, axis)
        return np.flip(recurrence_op(slopes, np.flip(g, axis), axis=axis), axis)

    return Structural(lambda v: recurrence_op(a, v, axis=axis), backward)


def _running_product_edge(z: Array, x: Array, *, axis: int) -> LinearMap:
    return _solved(x, axis) @ Diagonal(shifted(z, 1, axis))


def _slope_edge(z: Array, a: Array, b: Array, *, axis: int) -> LinearMap:
    return _solved(a, axis) @ Diagonal(shifted(z, 1, axis, np.zeros_like))


def _recurrence_batch(size: int, batched: Sequence[bool], a: Array, b: Array, *, axis: int) -> Any:
    both = np.broadcast_arrays(a, b)  # (One without the batch's axis is repeated.)
    return recurrence_op(*both, axis=axis + 1)


def _recurrence_source(expr: Expr, texts: Sequence[str]) -> str:
    axis = dict(expr.params)["axis"]
    if not expr.shape[axis]:
        return f"({texts[1]})"
    a, b = (f"np.moveaxis({text}, {axis}, 0)" for text in texts)
    rows = "[z.append(a[i]*z[-1] + b[i] if i else b[0]) for i in range(len(b))]"
    return f"(lambda a, b, z: ({rows}, np.stack(z, {axis}))[1])({a}, {b}, [])"


def _two_each(z: Expr) -> int:
    return 2 * running(z)


cumprod_op = Op(
    name="cumprod",
    run=lambda x, axis: np.cumprod(x, axis=axis),
    infer=lambda type, axis: ArrayType(type.shape, numpy_dtype(np.cumprod, type.dtype)),
    batch=on_moved_axes("cumprod"),
    edges=(_running_product_edge,),
    columns=Columns(
        decompose=lambda x, axis: scan_products(x.astype(numpy_dtype(np.cumprod, x.dtype)), axis),
        flops=running,
        machine="scan_forms:cumprod",
        mpmath=lambda mp, x, axis: np.cumprod(x, axis=axis),
        numpy="np.cumprod({0}, axis={axis})",
        libraries={
            "any": lambda xp, x, axis: xp.cumprod(x, axis=axis),
            # As NumPy, which multiplies small integers in wide ones.
            "jax": lambda jnp, x, axis: jnp.cumprod(x, axis=axis, dtype=jnp.prod(x[:0]).dtype),
            "torch": f"{TORCH_FORMS}:cumprod",
        },
        sparsity="scanned",
        fresh=True,
    ),
)
recurrence_op: Op = Op(
    name="recurrence",
    run=_recurrence_run,
    infer=lambda a, b, axis: ArrayType(b.shape, np.result_type(a.dtype, b.dtype)),
    batch=_recurrence_batch,
    edges=(_slope_edge, lambda z, a, b, *, axis: _solved(a, axis)),
    columns=Columns(
        decompose=_recurrence_decomposed,
        flops=_two_each,
        machine="scan_forms:recurrence",
        mpmath=lambda mp, a, b, axis: _recurrence_run(a, b, axis),
        numpy=_recurrence_source,
        sparsity="scanned",
        fresh=True,
        shown=False,
    ),
)
"""z[i] = a[i]*z[i-1] + b[i] along an axis; z[0] = b[0], whatever a[0] is."""
