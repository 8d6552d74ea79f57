"""Linear interpolation between knots: NumPy's `interp`.

At a place x, between the knots i and i + 1, the value is ``fp[i] + slope * (x - xp[i])``; beyond the ends it
is that of the end. It is linear in the levels ``fp``, by the weights 1 - t and t of the two knots. A knot
that moves takes the line with it: the tangent of the value is ``-slope`` times that of the knots at x. So the
maps of both operands are this operation on tangents, and its transpose, which adds entries to the two knots.

At a knot the slope is that to the right of it, at the last one that to the left. Of knots that fall together
the last counts, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural, diagonal
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.entrywise import spread_unbatched
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.indexing import getitem_op, scatter_op
from funcgrad.ops.scans_and_sorts import searchsorted_op
from funcgrad.source import value_error
from funcgrad.typing import Array


# -- values --------------------------------------------------------------------------------------
def _run(x: Array, xp: Array, fp: Array) -> Any:
    if xp.ndim == 1:
        return np.asarray(np.interp(x, xp, fp), x.dtype)
    found = np.empty(x.shape, x.dtype)
    for row in np.ndindex(*xp.shape[:-1]):
        found[row] = np.interp(x[row], xp[row], fp[row])
    return found


def _type(x: ArrayType, xp: ArrayType, fp: ArrayType) -> ArrayType:
    floats = x.dtype.kind == "f" and x.dtype == xp.dtype == fp.dtype
    stacked = xp.ndim and xp.shape == fp.shape and x.shape[: xp.ndim - 1] == xp.shape[:-1]
    if not (floats and stacked and xp.shape[-1] > 1):
        raise value_error(
            f"interp: expected places and vectors of two knots or more, but got {x}, {xp} and {fp}",
        )
    return x


def _batch(size: int, batched: tuple[bool, bool, bool], x: Array, xp: Array, fp: Array) -> Any:
    if xp.ndim == 1 and not (batched[1] or batched[2]):
        return interp_op(x, xp, fp)
    return interp_op(*spread_unbatched(size, batched, (x, xp, fp)))


# -- knots ---------------------------------------------------------------------------------------
def _knots(x: Any, xp: Any) -> Any:
    """The knot before each place: the first or the last but one beyond the ends."""
    return np.clip(searchsorted_op(xp, x, side="right") - 1, 0, xp.shape[-1] - 2)


def _rows(shape: Sequence[int], stacked: int) -> list[Array]:
    """Of each place, the indices of its vector in a stack."""
    return list(np.indices(shape, sparse=True)[:stacked])


def _at(levels: Any, i: Any) -> Any:
    """The entries of a vector, or of each vector in a stack."""
    rows = [np.broadcast_to(row, i.shape) for row in _rows(i.shape, levels.ndim - 1)]
    return getitem_op(levels, *rows, i, spec=("array",) * levels.ndim, shape=i.shape)


def _added(g: Any, i: Any, shape: tuple[int, ...]) -> Any:
    """The sums of entries at knots: the transpose of `_at`."""
    rows = [np.broadcast_to(row, i.shape) for row in _rows(i.shape, len(shape) - 1)]
    return scatter_op(g, *rows, i, spec=("array",) * len(shape), shape=shape)


def _ends(x: Any, levels: Any) -> tuple[Any, Any]:
    """The first and the last entry, beside each place."""
    lead = (*levels.shape[:-1], *(1,) * (x.ndim - levels.ndim + 1))
    return np.reshape(levels[..., 0], lead), np.reshape(levels[..., -1], lead)


# -- derivatives ---------------------------------------------------------------------------------
def _slope(x: Any, xp: Any, fp: Any) -> Any:
    """The slope at each place, 0 beyond the ends."""
    i, (first, last) = _knots(x, xp), _ends(x, xp)
    width = _at(xp, i + 1) - _at(xp, i)
    slope = (_at(fp, i + 1) - _at(fp, i)) / np.where(width == 0, 1.0, width)
    return mask(~((x < first) | (x > last)), slope)


def _spread(g: Any, x: Any, xp: Any) -> Any:
    """Entries added to the two knots beside their places, by the weights of these."""
    i, (first, last) = _knots(x, xp), _ends(x, xp)
    start = _at(xp, i)
    width = _at(xp, i + 1) - start
    inside = (x - start) / np.where(width == 0, 1.0, width)
    t = np.where(x < first, 0.0, np.where(x > last, 1.0, inside))
    return _added(g * (1.0 - t), i, xp.shape) + _added(g * t, i + 1, xp.shape)


def _edge_of_knots(z: Array, x: Array, xp: Array, fp: Array) -> LinearMap:
    slope = _slope(x, xp, fp)
    return Structural(lambda v: -slope * interp_op(x, xp, v), lambda g: _spread(-slope * g, x, xp))


def _edge_of_levels(z: Array, x: Array, xp: Array, fp: Array) -> LinearMap:
    return Structural(lambda v: interp_op(x, xp, v), lambda g: _spread(g, x, xp))


# -- readers -------------------------------------------------------------------------------------
def _decomposed(x: Any, xp: Any, fp: Any) -> Any:
    i, (first, last), (left, right) = _knots(x, xp), _ends(x, xp), _ends(x, fp)
    start, end, below, above = _at(xp, i), _at(xp, i + 1), _at(fp, i), _at(fp, i + 1)
    width = end - start
    slope = (above - below) / np.where(width == 0, 1.0, width)
    up, down = below + slope * (x - start), above + slope * (x - end)
    # From the other knot at the last one, and where an infinity leaves no number.
    z = np.where((x == end) | (up != up), down, up)
    # At a knot the value is its own, however steep it is beside it; between equal infinities it is theirs.
    steep = ~np.isfinite(slope) | (z != z)
    z = np.where(steep & (x == end), above, np.where(steep & (x == start), below, z))
    z = np.where((z != z) & (below == above) & (x == x), below, z)
    return np.where(x < first, left, np.where(x > last, right, z))


def _source(expr: Expr, texts: Sequence[str]) -> str:
    """Of vectors, or vector by vector in stacks."""
    x, xp, _ = expr.args
    if xp.ndim == 1:
        return f"np.interp({', '.join(texts)})"
    count = int(np.prod(x.shape[xp.ndim - 1 :]))
    lengths = (count, xp.shape[-1], xp.shape[-1])
    rows = [f"np.reshape({text}, (-1, {n}))" for text, n in zip(texts, lengths, strict=True)]
    each = f"[np.interp(x, xp, fp) for x, xp, fp in zip({', '.join(rows)})]"
    return f"np.reshape({each}, {x.shape})"


interp_op = Op(
    name="interp",
    run=_run,
    infer=_type,
    edges=(diagonal(lambda z, x, xp, fp: _slope(x, xp, fp)), _edge_of_knots, _edge_of_levels),
    batch=_batch,
    columns=Columns(
        decompose=_decomposed,
        flops=lambda z: z.size * (6 + z.args[1].shape[-1].bit_length()),
        interval=lambda iv, x, xp, fp: iv.piecewise_linear(x, xp, fp),
        inlined=True,
        left_alone=("searchsorted", 100),
        numpy=_source,
        fresh=True,
    ),
)
