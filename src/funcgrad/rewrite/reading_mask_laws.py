"""Display-only rewrites of masks whose operands are zero elsewhere: see `funcgrad.rewrite.reading_laws`.

Derivatives of entries keep a mask beside each store, since 0 times infinity is NaN. For finite
numbers, `where(zeros(3, bool).at[i].add(True), zeros(3).at[i].add(x), 0)` is its second operand.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.expr import Expr, const, scalar
from funcgrad.graph import CONSTANT, unnested
from funcgrad.ops import indexing, shape
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import arithmetic, logic, selection
from funcgrad.ops.stores import index_add_op, index_set_op
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.reading_array_laws import MOST_ENTRIES, ReadingLaw
from funcgrad.rewrite.reading_complex_laws import is_guarded
from funcgrad.rewrite.reading_guard_laws import conjuncts, zeros_for


def _zero_elsewhere(expr: Expr) -> Expr | None:
    """where(p, x, 0) = x for an x that is 0 where p does not hold, as zeros.at[i].add(y) is beside i."""
    p, x = expr.args
    return x if x.type == expr.type and _vanishes_outside(x, p) else None


def _masked_when_stored(expr: Expr) -> Expr | None:
    """where(zeros.at[i].add(p), zeros.at[i].add(x), 0) = zeros.at[i].add(where(p, x, 0)), stored once."""
    p, x = expr.args
    if x.op is not indexing.scatter_op or p.op is not x.op or len(x.args) > 1:
        return None
    if not _is_moved_alike(p, x):
        return None
    return x.op(selection.mask(p.args[0], x.args[0]), **dict(x.params))  # type: ignore[no-any-return]


def _vanishes_outside(x: Expr, p: Expr) -> bool:
    """Whether x is provably 0 wherever p is False: a proof over the operations of both."""
    goals = [(x, list(unnested(p, _disjuncts)))]
    for value, conditions in goals:  # which grows: each goal is met by itself, or by further ones
        found = _subgoals(value, conditions)
        if found is None:
            return False
        goals += found
    return True


_Goal = tuple[Expr, list[Expr]]


def _subgoals(x: Expr, conditions: list[Expr]) -> list[_Goal] | None:
    """Goals that imply that x is 0 wherever all conditions are False; None if no rule proves it."""
    if any([_always_holds(p) for p in conditions]):
        return []
    if x.dtype.kind == "c" and any([is_guarded(p, x) for p in conditions]):
        return []
    values = [_computed_array(e) for e in (x, *conditions)]
    if all([value is not None for value in values]):
        inside = np.logical_or.reduce([np.broadcast_to(p, x.shape) for p in values[1:]])
        return None if np.any(np.asarray(values[0])[~inside]) else []
    if values[0] is not None and not np.any(values[0]):
        return []
    if x.op is selection.mask and _is_closed(x, conditions):
        return []
    if x.op is selection.mask:
        own, known = list(unnested(x.args[0], _disjuncts)), {p.key for p in conditions}
        return [] if all([p.key in known for p in own]) else [(x.args[1], conditions)]
    if x.op in _SUMS:
        return [(arg, conditions) for arg in x.args]
    if x.op is arithmetic.multiply:
        sparse = [arg for arg in x.args if arg.op in _SPARSE or arg.op is CONSTANT]
        factors = sparse or [x.args[0]]
        return [(factors[0], conditions)]
    moved = [p for p in conditions if p.op is x.op and _is_moved_alike(p, x)]
    if not moved:
        return None
    return [(x.args[0], [q for p in moved for q in unnested(p.args[0], _disjuncts)])]


def _is_closed(x: Expr, conditions: list[Expr]) -> bool:
    """Whether all parts of one of the conditions are among those of nested masks."""
    own = set()
    while x.op is selection.mask:
        own.add(x.args[0].key)
        x = x.args[1]
    return any([all([q.key in own for q in unnested(p, conjuncts)]) for p in conditions])


_SUMS = (arithmetic.add, arithmetic.subtract, arithmetic.negative)
_MOVES = (
    indexing.scatter_op,
    indexing.getitem_op,
    shape.reshape_op,
    shape.transpose_op,
    shape.concatenate_op,
)
_SPARSE = (*_MOVES[:2], selection.mask)


def _is_moved_alike(p: Expr, x: Expr) -> bool:
    """Whether the entries of p and of x are those of their first operands, at the same places."""
    places = [arg.key for arg in x.args[1:]]
    if x.op not in _MOVES or p.params != x.params or p.args[0].shape != x.args[0].shape:
        return False
    return p.shape == x.shape and [arg.key for arg in p.args[1:]] == places


def _disjuncts(p: Expr) -> tuple[Expr, ...]:
    if p.op is op.broadcast_to and p.args[0].op in _EITHER:
        return tuple([op.broadcast_to(q, shape=p.shape) for q in p.args[0].args])
    return p.args if p.op in _EITHER else ()


_EITHER = (logic.bitwise_or, logic.logical_or)


def _always_holds(p: Expr) -> bool:
    value = constant_array(p)
    return value is not None and bool(np.all(value))


def constant_array(expr: Expr) -> Any:
    """The array of a constant or a broadcast constant; None of other expressions."""
    inner = expr.args[0] if expr.op is op.broadcast_to else expr
    if inner.op is not CONSTANT:
        return None
    return np.broadcast_to(inner.params[0][1].array, expr.shape)


def _computed_array(expr: Expr) -> Any:
    """The array of a constant, or of constants stored into one; None of other expressions."""
    if expr.op not in _STORES or expr.size > _MOST_STORED:
        return constant_array(expr)
    arrays = [constant_array(arg) for arg in expr.args]
    if any([array is None for array in arrays]):
        return None
    return np.broadcast_to(expr.op.run(*arrays, **dict(expr.params)), expr.shape)


_STORES = (indexing.scatter_op, index_set_op, index_add_op)


def _small_constant(expr: Expr) -> Expr | None:
    """zeros(3, bool).at[1].add(True) is the constant [False, True, False], for few entries, or equal ones."""
    most = _MOST_STORED if expr.op is indexing.scatter_op else MOST_ENTRIES
    if not 0 < expr.size <= most or not expr.ndim or expr.dtype.kind not in "fb":
        return None
    arrays = [constant_array(arg) for arg in expr.args]
    if any([array is None for array in arrays]):
        return None
    found = np.asarray(expr.op.run(*arrays, **dict(expr.params)), expr.dtype)
    first = found.flat[0]
    if np.array_equal(found, np.full(found.shape, first), equal_nan=expr.dtype.kind == "f"):
        value = scalar(first.item(), expr.dtype)
        return op.broadcast_to(value, shape=expr.shape)  # type: ignore[no-any-return]
    is_few = expr.size <= MOST_ENTRIES and len(str(found.tolist())) <= _LONGEST
    return const(found) if is_few else None


_LONGEST, _MOST_STORED = 40, 10_000
"""Characters of a constant that is written out, and entries of one that may be a repeated number."""


def _nothing_stored(expr: Expr) -> Expr | None:
    """zeros(3, bool).at[i].add(False) = zeros(3, bool); where(zeros(3, bool), x, 0) = zeros(3)."""
    return zeros_for(expr) if value_of(expr.args[0]) == 0 else None


def _where_not(expr: Expr) -> Expr | None:
    """where(~p, x, 0) = where(p, 0, x)."""
    p, x = expr.args
    if p.op is not logic.invert or p.dtype.kind != "b":
        return None
    zero = op.broadcast_to(scalar(0, x.dtype), shape=x.shape)
    return selection.where(p.args[0], zero, x)  # type: ignore[no-any-return]


def _or_never(expr: Expr) -> Expr | None:
    """p | False = p."""
    for p, q in (expr.args, expr.args[::-1]):
        value = constant_array(q)
        if value is not None and not np.any(value) and p.type == expr.type:
            return p
    return None


MASK_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "mask": (
            *(_nothing_stored, _small_constant, _zero_elsewhere, _masked_when_stored),
            _where_not,
        ),
        "logical_or": (_small_constant, _or_never),
        "bitwise_or": (_small_constant, _or_never),
        "scatter_add": (_nothing_stored, _small_constant),
        "getitem": (_small_constant,),
        "any": (_small_constant,),
        "add": (_small_constant,),
        "multiply": (_small_constant,),
    }
)
"""The laws by operation."""
MASK_OF_COMPLEX: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {"mask": (_zero_elsewhere, _masked_when_stored)}
)
"""The laws of complex results, by operation."""
