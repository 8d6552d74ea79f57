"""Display-only rewrites of guards against NaN and infinities: see `funcgrad.rewrite.reading_laws`.

SciPy's distributions ask of each point whether it is finite and in the support. Of finite operands,
``where(x > -inf, exp(-x**2/2), 0)`` is its second operand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from types import MappingProxyType

import numpy as np

from funcgrad.expr import Expr, rebuild, scalar
from funcgrad.fold import folded
from funcgrad.graph import Key, subexpressions, unnested
from funcgrad.ops.base import op
from funcgrad.ops.base.op import Elementwise, columns_of
from funcgrad.ops.elementwise import exponential, logic, selection
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.monomials import monomial, unbroadcast
from funcgrad.rewrite.reading_array_laws import ReadingLaw


def _truth(value: bool, expr: Expr) -> Expr:
    return op.broadcast_to(scalar(value, expr.dtype), shape=expr.shape)  # type: ignore[no-any-return]


def _is_finite(expr: Expr) -> Expr | None:
    """isfinite(x) is True, isnan(x) and isinf(x) are False."""
    return _truth(expr.op is logic.isfinite, expr)


def _beside_infinity(expr: Expr) -> Expr | None:
    """x > -inf, x <= inf and x != inf are True; x >= inf is False."""
    values = [value_of(arg) for arg in expr.args]
    infinite = [value is not None and np.isinf(value) for value in values]
    if infinite == [False, True]:
        return _truth(bool(expr.op.run(0.0, values[1])), expr)
    return _truth(bool(expr.op.run(values[0], 0.0)), expr) if infinite == [True, False] else None


# -- what underflows -----------------------------------------------------------------------------
_UNDERFLOW = -745.2
"""exp of less is 0."""


def _exponential_of_none(expr: Expr) -> Expr | None:
    """exp(where(p, x, -inf)) = where(p, exp(x), 0)."""
    (x,) = expr.args
    if x.op is not selection.where or value_of(x.args[2]) != -np.inf or x.args[1].type != x.type:
        return None
    return selection.mask(x.args[0], exponential.exp(x.args[1]))  # type: ignore[no-any-return]


def _underflow(expr: Expr) -> Expr | None:
    """where(x > -746, y*exp(x), 0) = y*exp(x); of several conditions, the others are left."""
    p, value = expr.args
    own = _conditions(p)
    kept = [q for q in own if not _underflows(q, value)]
    if len(kept) == len(own) or value.type != expr.type:
        return None
    return selection.mask(_all_of(kept, p), value) if kept else value


def _underflows(p: Expr, value: Expr) -> bool:
    """Whether a value is 0 by underflow where a condition does not hold."""
    least = value_of(p.args[1]) if p.op is logic.greater else None
    if least is None or least > _UNDERFLOW or value.dtype.kind != "f":
        return False
    factors = {unbroadcast(base).key: k for base, k in monomial(value).powers.values()}
    own = monomial(exponential.exp(p.args[0])).powers.values()
    return all([factors.get(unbroadcast(base).key, 0) * k > 0 for base, k in own])


# -- what a condition chooses --------------------------------------------------------------------
_MOST_COPIED = 40
"""Nodes of a value in which choices are made: other users of these keep the nodes that they share."""


def _chosen_in_mask(expr: Expr) -> Expr | None:
    """where(p, exp(where(p, x, y)), 0) = where(p, exp(x), 0)."""
    p, value = expr.args
    new = _chosen(value, p, 1)
    return None if new is None else selection.mask(p, new)


def _chosen_in_where(expr: Expr) -> Expr | None:
    """where(p, exp(where(p, x, y)), cos(where(p, x, y))) = where(p, exp(x), cos(y))."""
    p, *values = expr.args
    new = [_chosen(value, p, k) for k, value in enumerate(values, start=1)]
    if new == [None, None]:
        return None
    return expr.op(p, *[x if y is None else y for x, y in zip(values, new, strict=True)])  # type: ignore[no-any-return]


def _chosen(value: Expr, p: Expr, side: int) -> Expr | None:
    """A value that is chosen where a condition holds (``side`` 1) or does not (2), with fewer choices."""
    scalar_condition = unbroadcast(p).shape == ()
    below = _arguments if scalar_condition else _entries
    own = _conditions(p) if side == 1 else [unbroadcast(p)]
    known = {q.key for q in own}
    inside = subexpressions(value, operands=below)
    if len(inside) > _MOST_COPIED:
        return None
    if not any([_is_choice(x) and _is_decided(x, known, side) for x in inside]):
        return None

    def step(x: Expr, operands: tuple[Expr, ...]) -> Expr:
        x = rebuild(x, operands or x.args)
        return _less(x, known, side) if operands and _is_choice(x) else x

    (new,) = folded([value], step, operands=below)
    return None if new.key == value.key else new


def _is_choice(x: Expr) -> bool:
    return x.op in (selection.where, selection.mask) and x.args[1].type == x.type


def _is_decided(x: Expr, known: set[Key], side: int) -> bool:
    own = _conditions(x.args[0]) if side == 1 else [unbroadcast(x.args[0])]
    return any([q.key in known for q in own])


def _less(x: Expr, known: set[Key], side: int) -> Expr:
    """A choice in which some conditions hold, or the one does not."""
    p, *values = x.args
    if not _is_decided(x, known, side):
        return x
    if side == 2:
        other = values[1] if x.op is selection.where else zeros_for(x)
        return other if other.type == x.type else x
    kept = [q for q in _conditions(p) if q.key not in known]
    return x.op(_all_of(kept, p), *values) if kept else values[0]


def zeros_for(like: Expr) -> Expr:
    """Zeros of the shape and dtype of an expression."""
    return op.broadcast_to(scalar(0, like.dtype), shape=like.shape)  # type: ignore[no-any-return]


def _arguments(x: Expr) -> tuple[Expr, ...]:
    return x.args


def _entries(x: Expr) -> tuple[Expr, ...]:
    """The operands of a node, if each entry is computed from those in its place alone."""
    if not x.args or any([arg.shape != x.shape for arg in x.args]):
        return ()
    return x.args if isinstance(x.op, Elementwise) or columns_of(x).entrywise else ()


def _conditions(p: Expr) -> list[Expr]:
    """The conditions that hold together, each as it is before it is broadcast."""
    return [unbroadcast(q) for q in unnested(unbroadcast(p), conjuncts)]


def conjuncts(p: Expr) -> tuple[Expr, ...]:
    """The two conditions that hold together; none of another condition."""
    return p.args if p.op in (logic.bitwise_and, logic.logical_and) else ()


def _all_of(conditions: Sequence[Expr], like: Expr) -> Expr:
    return op.broadcast_to(reduce(logic.logical_and, conditions), shape=like.shape)  # type: ignore[no-any-return]


_COMPARISON = (_beside_infinity,)
GUARD_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "isfinite": (_is_finite,),
        "isnan": (_is_finite,),
        "isinf": (_is_finite,),
        "less": _COMPARISON,
        "less_equal": _COMPARISON,
        "greater": _COMPARISON,
        "greater_equal": _COMPARISON,
        "equal": _COMPARISON,
        "not_equal": _COMPARISON,
        "exp": (_exponential_of_none,),
        "mask": (_underflow, _chosen_in_mask),
        "where": (_chosen_in_where,),
    }
)
"""The laws by operation."""
