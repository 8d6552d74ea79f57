"""Laws of stores: store-to-load forwarding, and stores that overwrite or extend earlier stores.

Reverse accumulation adds, at each read of entries, an array that is zero elsewhere. Such a sum becomes a
store that adds, whose cost is that of the entries, not of the array.
"""

from __future__ import annotations

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops import indexing
from funcgrad.ops.base import op
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
