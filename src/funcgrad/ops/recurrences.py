"""Running products and running extremes, and the linear recurrences that their derivatives are.

With z[i] = x[i]*z[i-1] is dz[i] = x[i]*dz[i-1] + z[i-1]*dx[i], which divides by nothing: zeros do no harm.
The differential of a running maximum is kept until an entry reaches it: dz[i] = dx[i] where it is
exceeded, and the mean of dx over the n entries that tie, dz[i-1]*(n-1)/n + dx[i]/n.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import Diagonal, LinearMap, Structural
from funcgrad.ops.base.arguments import slice_axis
from funcgrad.ops.base.axes import on_moved_axes, scanned, shifted
from funcgrad.ops.base.columns import TORCH_FORMS, Columns, running
from funcgrad.ops.base.op import Op
from funcgrad.ops.base.promotion import numpy_dtype
from funcgrad.ops.elementwise.selection import mask
from funcgrad.typing import Array

# Numbers in a row below which Python's numbers take less time than NumPy's calls for a row; and the rows
# from which BLAS does for fewer numbers in each than the last, whose import takes as long as many calls.
_FEW = 16
_MANY_ROWS, _FEW_FOR_BLAS = 4096, 128


def _recurrence_run(a: Array, b: Array, axis: int) -> Any:
    z = np.array(b, np.result_type(a, b))
    rows, slopes = np.moveaxis(z, axis, 0), np.moveaxis(a, axis, 0)
    if len(rows) >= _MANY_ROWS and z.size < _FEW_FOR_BLAS * len(rows) and slopes.dtype == z.dtype:
        solver = _bidiagonal_solver().get(z.dtype.char)
        if solver is not None:
            for k in np.ndindex(rows.shape[1:]):
                _in_blocks(slopes[:, *k], rows[:, *k], solver)
            return z
    if z.size:
        _step_by_step(slopes, rows)
    return z


def _step_by_step(slopes: Array, rows: Array) -> None:
    """A recurrence in place of its terms."""
    if rows.size < _FEW * len(rows) and rows.dtype == slopes.dtype == np.float64:
        lanes = [_of_numbers(slopes[:, *k], rows[:, *k]) for k in np.ndindex(rows.shape[1:])]
        rows[...] = np.stack(lanes, axis=-1).reshape(rows.shape)
        return
    resets = slopes == 0
    has_reset = bool(resets.any())
    for i in range(1, len(rows)):
        rows[i] += slopes[i] * (np.where(resets[i], 0, rows[i - 1]) if has_reset else rows[i - 1])


def _in_blocks(slopes: Array, z: Array, solver: Any) -> None:
    """A recurrence in place of its terms, by bidiagonal systems of so many equations as caches hold.

    BLAS takes a z of 0 for one that leaves no trace, whatever the slope, and not a slope of 0.
    """
    band = np.zeros((2, _MANY_ROWS), z.dtype, order="F")
    for start in range(0, len(z), _MANY_ROWS):
        a, part = slopes[start : start + _MANY_ROWS], z[start : start + _MANY_ROWS]
        if start and a[0]:
            part[0] += a[0] * z[start - 1]
        below = np.negative(a[1:], out=band[1, : len(part) - 1])
        found = solver(1, band[:, : len(part)], part, lower=1, diag=1)
        if np.all(np.isfinite(below)) and np.all(np.isfinite(found)):
            part[...] = found
        else:
            _step_by_step(a, part)


@lru_cache(maxsize=1)
def _bidiagonal_solver() -> dict[str, Any]:
    """BLAS's routines for triangular matrices of few diagonals, by dtype; none without SciPy."""
    try:
        from scipy.linalg import blas
    except ImportError:
        return {}
    return {kind: getattr(blas, f"{name}tbsv") for kind, name in zip("fdFD", "sdcz", strict=True)}


def _of_numbers(a: Array, b: Array) -> list[float]:
    start, *rest = b.tolist()
    pairs = zip(a[1:].tolist(), rest, strict=True)
    return list(accumulate(pairs, _next_number, initial=start))


def _next_number(z: float, pair: tuple[float, float]) -> float:
    slope, moved = pair
    return slope * (z if slope else 0.0) + moved


def _recurrence_decomposed(a: Array, b: Array, axis: int) -> Any:
    """In log2(n) steps on whole arrays, of which each joins the maps of so many places into one."""
    length, step = np.shape(b)[axis], 1
    while step < length:
        start, after, before = slice(None, step), slice(step, None), slice(None, length - step)
        slope = slice_axis(a, axis, after)
        kept = mask(slope != 0, slice_axis(b, axis, before))
        moved = slice_axis(b, axis, after) + slope * kept
        b = np.concatenate([slice_axis(b, axis, start), moved], axis=axis)
        a = np.concatenate(
            [slice_axis(a, axis, start), slope * mask(slope != 0, slice_axis(a, axis, before))],
            axis=axis,
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
    rows = "[z.append(a[i]*np.where(a[i] == 0, 0, z[-1]) + b[i] if i else b[0]) for i in range(len(b))]"
    return f"(lambda a, b, z: ({rows}, np.stack(z, {axis}))[1])({a}, {b}, [])"


def _two_each(z: Expr) -> int:
    return 2 * running(z)


cumprod_op = Op(
    name="cumprod",
    run=lambda x, axis: np.multiply.accumulate(
        x, axis
    ),  # as `numpy.cumprod`, in a quarter of its time
    infer=lambda type, axis: ArrayType(type.shape, numpy_dtype(np.cumprod, type.dtype)),
    batch=on_moved_axes("cumprod"),
    edges=(_running_product_edge,),
    columns=Columns(
        decompose=lambda x, axis: scanned(
            np.multiply, x.astype(numpy_dtype(np.cumprod, x.dtype)), axis
        ),
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
"""z[i] = a[i]*z[i-1] + b[i] along an axis; z[0] = b[0], whatever a[0] is, and so is z[i] = b[i] where a[i]
is 0, though z[i-1] is infinite or no number."""


# -- running extremes ----------------------------------------------------------------------------
def _running_extreme_edge(z: Array, x: Array, *, axis: int) -> LinearMap:
    """A z that no entry before has reached starts anew; entries that tie share their mean."""
    count, reached = _ties(z, x, axis)

    def share(v: Array) -> Any:
        return mask(reached, v / count)

    kept = np.where(reached, 1 - 1 / count, 1).astype(count.dtype)
    return _solved(kept, axis) @ Structural(share, share)


def _ties(z: Array, x: Array, axis: int) -> tuple[Any, Any]:
    """The number of entries up to each that tie for the extreme up to there; and whether each does."""
    reached = (x == z) | (x != x)
    first = z != shifted(z, 1, axis, np.zeros_like)
    total = np.cumsum(reached, axis=axis)
    before = running_maximum_op(mask(reached & first, total - 1), axis=axis)
    return (total - before).astype(np.real(z).dtype), reached


def _running_extreme(name: str, ufunc: np.ufunc) -> Op:
    return Op(
        name=name,
        run=lambda x, axis: ufunc.accumulate(x, axis=axis),
        infer=lambda type, axis: type,
        batch=on_moved_axes(name),
        edges=(_running_extreme_edge,),
        columns=Columns(
            decompose=lambda x, axis: scanned(ufunc, x, axis),
            flops=running,
            machine=f"scan_forms:{name}",
            numpy=f"np.{ufunc.__name__}.accumulate({{0}}, axis={{axis}})",
            sparsity="scanned",
            fresh=True,
            shown=False,
        ),
    )


running_maximum_op = _running_extreme("running_maximum", np.maximum)
running_minimum_op = _running_extreme("running_minimum", np.minimum)
