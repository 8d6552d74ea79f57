"""Laws of scattered entries: sums and products act on the entries, not on the zeros between them.

The cotangent of an array of which a slice is read is zero elsewhere. Entries that are not read may be
infinite or NaN, and reach no gradient: no factor meets the zeros.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops import indexing, reduction, shape
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise import arithmetic
from funcgrad.ops.stores import index_add_op
from funcgrad.rewrite import store_laws


def scattered_product(expr: Expr) -> Expr | None:
    """scatter(v)*y = scatter(v*y[i]), for an index that gives a view.

    So an entry of y that is not chosen may be infinite or NaN, and costs nothing. The scattered array may
    have been moved, or be a sum of such, whose entries are side by side.
    """
    for place, (x, y) in enumerate((expr.args, expr.args[::-1])):
        if place and expr.op is arithmetic.divide:
            return None
        moves: list[Expr] = []
        while x.op in UNMOVES and len(moves) < _MOST_MOVES:
            moves.append(x)
            x = x.args[0]
        scattered = _as_scattered(x)
        if scattered is None or y.op is indexing.scatter_op:
            continue
        for move in moves:
            y = UNMOVES[move.op](move, y)
        v, params = scattered.args[0], dict(scattered.params)
        chosen = indexing.getitem_op(y, spec=params["spec"], shape=v.shape)
        entries = expr.op(chosen, v) if place else expr.op(v, chosen)
        found: Expr = indexing.scatter_op(entries, **params)
        for move in reversed(moves):
            found = move.op(found, **dict(move.params))
        return found
    return None


UNMOVES: dict[Op, Callable[[Expr, Expr], Expr]] = {
    shape.reshape_op: lambda move, y: shape.reshape(y, move.args[0].shape),
    shape.transpose_op: lambda move, y: shape.transpose(y, np.argsort(dict(move.params)["axes"])),
}
"""The inverse of a move, of which each entry stays one, applied to another array."""
_MOST_MOVES = 4


def part_of_scattered(expr: Expr) -> Expr | None:
    """f(scatter(v)) = scatter(f(v)), for casts and parts of complex numbers, which are 0 at 0."""
    x = _as_scattered(expr.args[0])
    if x is None:
        return None
    return indexing.scatter_op(expr.op(x.args[0], **dict(expr.params)), **dict(x.params))  # type: ignore[no-any-return]


def _as_scattered(x: Expr) -> Expr | None:
    """An expression that adds entries into zeros, or a sum of such, as one."""
    if x.op in ADDITIONS and any([arg.op in SCATTERED for arg in x.args]):
        return store_laws.as_one_scatter(x)
    return x if _is_scattered(x) else None


ADDITIONS = (arithmetic.add, index_add_op)
"""Operations that add up scattered entries."""
SCATTERED = (indexing.scatter_op, index_add_op)


def scattered_contraction(expr: Expr) -> Expr | None:
    """a @ scatter(v) = a[..., i] @ v, and scatter(v) @ b = v @ b[i], for a slice i of the summed axis."""
    a, b = expr.args
    if b.ndim <= 2 and (chosen := _scattered_slice(b)) is not None:
        return a[(*_WHOLE * (a.ndim - 1), chosen)] @ b.args[0]  # type: ignore[no-any-return]
    if a.ndim == 1 and (chosen := _scattered_slice(a)) is not None:
        return a.args[0] @ b[(*_WHOLE * (b.ndim - 2), chosen)]  # type: ignore[no-any-return]
    return None


_WHOLE = (slice(None),)


def _scattered_slice(x: Expr) -> slice | None:
    """The slice of the first axis to which entries are scattered, if the others are whole."""
    if not _is_scattered(x):
        return None
    spec = dict(x.params)["spec"]
    if len(spec) != 1 or not isinstance(spec[0], tuple) or spec[0][0] != "slice":
        return None
    return slice(*spec[0][1:])


def scattered_total(expr: Expr) -> Expr | None:
    """sum(scatter(v)) = sum(v), over all axes and for an index that gives a view."""
    (x,) = expr.args
    if not _is_scattered(x) or expr.shape:
        return None
    v = x.args[0]
    return reduction.sum_op(v, axis=tuple(range(v.ndim))) if v.ndim else v


def joined_scatters(expr: Expr) -> Expr | None:
    """scatter(x) + scatter(y) = scatter(x + y) for one index, also within a sum with an array."""
    for first, second in (expr.args, expr.args[::-1]):
        if not _is_scattered(first):
            continue
        terms = second.args if second.op is arithmetic.add else ()
        for term, rest in ((second, None), *zip(terms, terms[::-1], strict=True)):
            if _is_scattered(term) and term.params == first.params:
                added = indexing.scatter_op(first.args[0] + term.args[0], **dict(first.params))
                return added if rest is None else rest + added  # type: ignore[no-any-return]
    return None


def _is_scattered(expr: Expr) -> bool:
    """Whether an expression adds entries into zeros by an index that gives a view."""
    return expr.op is indexing.scatter_op and len(expr.args) == 1
