"""Laws of stores: store-to-load forwarding, and stores that overwrite or extend earlier stores.

Reverse accumulation adds, at each read of entries, an array that is zero elsewhere. Such a sum becomes a
store that adds, whose cost is that of the entries, not of the array.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops import indexing, shape
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import arithmetic
from funcgrad.ops.store_forwarding import constant_entry, forwarded, place_of
from funcgrad.ops.stores import index_add_op, index_set_op


def is_zero(expr: Expr) -> bool:
    """Whether an expression is zeros, as a constant that is repeated."""
    while expr.op is op.broadcast_to:
        expr = expr.args[0]
    if expr.size != 1 or not hasattr(expr, "value") or expr.args:
        return False
    return expr.op.name == "constant" and not np.any(expr.value)


def stored_entry(expr: Expr) -> Expr | None:
    """x.at[i].set(v)[i] = v; x.at[i].set(v)[j] = x[j]; an entry of a constant is a constant."""
    if len(expr.args) != 1:
        return None
    (x,) = expr.args
    place = place_of(dict(expr.params)["spec"], x.shape)
    if place is None:
        return None
    return forwarded(x, place) if x.op is index_set_op else constant_entry(x, place)


def overwritten(expr: Expr) -> Expr | None:
    """x.at[i].set(u).at[i].set(v) = x.at[i].set(v); x.at[i].add(u).at[i].set(v) likewise."""
    x, v, *arrays = expr.args
    if not _is_same_place(x, expr):
        return None
    return index_set_op(x.args[0], v, *arrays, **dict(expr.params))  # type: ignore[no-any-return]


def added_to_zero(expr: Expr) -> Expr | None:
    """x.at[i].set(0).at[i].add(v) = x.at[i].set(v), where an index names an entry once."""
    x, v, *arrays = expr.args
    if not (_is_same_place(x, expr) and is_zero(x.args[1]) and dict(x.params)["unique"]):
        return None
    return index_set_op(x.args[0], v, *arrays, **dict(x.params))  # type: ignore[no-any-return]


def _is_same_place(x: Expr, expr: Expr) -> bool:
    if x.op not in (index_set_op, index_add_op) or x.params[0] != expr.params[0]:
        return False
    ours, theirs = expr.args[2:], x.args[2:]
    return len(ours) == len(theirs) and all([a is b for a, b in zip(ours, theirs, strict=True)])


# Sums of arrays in blocks of more than one part in so many are left: they are as quick, and are fused.
_PARTS = 8


def accumulated(expr: Expr) -> Expr | None:
    """x + zeros.at[i].add(v) = x.at[i].add(v), where the entries are few."""
    for x, term in (expr.args, expr.args[::-1]):
        if term.op is indexing.scatter_op and term.args[0].size * _PARTS <= x.size:
            v, *arrays = term.args
            spec = dict(term.params)["spec"]
            return index_add_op(x, v, *arrays, spec=spec)  # type: ignore[no-any-return]
    return None


class _Block(NamedTuple):
    """Entries from start to stop along an axis, to which a term of a sum adds x; the rest of the sum."""

    axis: int
    start: int
    stop: int
    x: Expr
    rest: Expr | None


def joined(expr: Expr) -> Expr | None:
    """zeros.at[:k].add(x) + zeros.at[k:].add(y) = concatenate([x, y]), also within a sum with an array.

    Such is the cotangent of an array that `numpy.roll` reads.
    """
    for first in _blocks(expr):
        for second in _blocks(first.rest):
            a, b = sorted((first, second), key=lambda block: block.start)
            covers = a.start == 0 and a.stop == b.start and b.stop == expr.shape[a.axis]
            if covers and a.axis == b.axis and a.x.dtype == b.x.dtype == expr.dtype:
                whole: Expr = shape.concatenate([a.x, b.x], axis=a.axis)
                return whole if second.rest is None else second.rest + whole
    return None


def _blocks(expr: Expr | None) -> Iterator[_Block]:
    """The blocks that are the last terms of a sum."""
    if expr is None:
        return
    terms: list[tuple[Expr, Expr, Expr | None]] = []
    if expr.op is indexing.scatter_op and len(expr.args) == 1:
        terms = [(expr, expr.args[0], None)]
    elif expr.op is index_add_op and len(expr.args) == 2:
        terms = [(expr, expr.args[1], expr.args[0])]
    elif expr.op is arithmetic.add:
        pairs = (expr.args, expr.args[::-1])
        terms = [
            (term, term.args[0], rest)
            for term, rest in pairs
            if term.op is indexing.scatter_op and len(term.args) == 1
        ]
    elif expr.op is arithmetic.subtract:
        term, other = expr.args
        if term.op is indexing.scatter_op and len(term.args) == 1:
            terms = [(term, term.args[0], -other)]
    for term, x, rest in terms:
        spec = dict(term.params)["spec"]
        axis = len(spec) - 1
        if not spec or not isinstance(spec[-1], tuple) or spec[:-1] != (_ALL,) * axis:
            continue
        start, stop, step = slice(*spec[-1][1:]).indices(expr.shape[axis])
        wanted = (*expr.shape[:axis], stop - start, *expr.shape[axis + 1 :])
        if step == 1 and start < stop and x.shape == wanted:
            yield _Block(axis, start, stop, x, rest)


_ALL = ("slice", None, None, None)
