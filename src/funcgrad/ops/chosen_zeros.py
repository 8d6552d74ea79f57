"""Zeros that a choice puts in the place of values, such as ``maximum(x, 0)``, as factors below a root.

The slope of ``sqrt(u * h)`` in h is u times an infinite number where u is 0. If u is a zero that was chosen,
or a constant, the product is 0 whatever h is, and so is its slope. There u is masked: mask(chosen, g * u),
and not 0 * inf. So are zeros of a factor that the variables of the derivative do not reach. Another zero that
was computed stays as it is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT
from funcgrad.ops.elementwise.arithmetic import add, divide, multiply, negative, power, subtract
from funcgrad.ops.elementwise.exponential import cbrt, sqrt
from funcgrad.ops.elementwise.extrema import maximum, minimum
from funcgrad.ops.elementwise.selection import mask, where
from funcgrad.ops.reduction import sum_op

STEEP = frozenset((cbrt, power, sqrt))
"""Operations whose slope at 0 may be infinite."""
_LINEAR = frozenset((add, divide, multiply, negative, subtract, sum_op))
_NONE: Mapping[int, tuple[Expr, ...]] = MappingProxyType({})
_NO_IDS: frozenset[int] = frozenset()


def masked_factors(
    exprs: Iterable[Expr], varied: Container[int] | None = None
) -> Mapping[int, tuple[Expr, ...]]:
    """The products and quotients below roots that have chosen zeros as factors, by identity.

    Each has the values that its edges read, with masks: itself, and its operands. Operands come before users.
    ``varied`` has the identities of what depends on the variables of a derivative: the zeros of other factors
    are those of constants.
    """
    order = list(exprs)
    if not any([expr.op in STEEP for expr in order]):
        return _NONE
    inside: set[int] = set()
    for expr in reversed(order):
        if expr.op in STEEP:
            inside.add(id(expr.args[0]))
        elif id(expr) in inside and expr.args and _passes_zeros(expr):
            inside.update(map(id, expr.args))
    constants = _NO_IDS if varied is None else _constant_factors(order, varied)
    chosen: dict[int, Expr] = {}
    found: dict[int, tuple[Expr, ...]] = {}
    for expr in order:
        if id(expr) not in inside:
            continue
        condition = _chosen(expr, chosen)
        if condition is None and id(expr) in constants:
            condition = np.not_equal(expr, 0)
        if condition is not None:
            chosen[id(expr)] = condition
        if expr.op is multiply or expr.op is divide:
            values = (expr, *expr.args) if expr.op is divide else expr.args
            masked = [mask(chosen[id(x)], x) if id(x) in chosen else x for x in values]
            if any([a is not b for a, b in zip(masked, values, strict=True)]):
                found[id(expr)] = tuple(masked) if expr.op is divide else (expr, *masked)
    return found


def _constant_factors(order: Sequence[Expr], varied: Container[int]) -> Set[int]:
    """The factors below steep roots that the variables do not reach, where they reach others, by identity."""
    below: set[int] = set()
    found: set[int] = set()
    for expr in reversed(order):
        if id(expr) not in varied:
            continue
        if _is_steep(expr):
            below.add(id(expr.args[0]))
        elif id(expr) in below and expr.args and expr.op is not sum_op and _passes_zeros(expr):
            below.update(map(id, expr.args))
            if expr.op is multiply or expr.op is divide:
                factors = expr.args if expr.op is multiply else expr.args[:1]
                found.update([id(x) for x in factors if id(x) not in varied])
    return {id(expr) for expr in order if id(expr) in found and expr.op is not CONSTANT}


def _is_steep(expr: Expr) -> bool:
    """Whether the slope of an operation at 0 is infinite, or may be."""
    if expr.op is not power:
        return expr.op in STEEP
    exponent = expr.args[1]
    while exponent.args and exponent.op.hidden:
        exponent = exponent.args[0]
    return exponent.op is not CONSTANT or bool(np.any(exponent.params[0][1].array < 1))


def is_choice_of_zero(expr: Expr) -> bool:
    """Whether an expression is a choice between values and zero."""
    if expr.op is where:
        return any(map(_is_zero, expr.args[1:]))
    return expr.op is mask or (expr.op in (maximum, minimum) and any(map(_is_zero, expr.args)))


def is_factored(expr: Expr) -> bool:
    """Whether an expression is 0 where its first operand is, or one of two factors."""
    return expr.op in (multiply, divide, negative) or expr.op.hidden or expr.op.moves


def _chosen(expr: Expr, known: Mapping[int, Expr]) -> Any:
    """The condition where a value is no zero of a choice or of a constant; None if it has no such zeros."""
    op, args = expr.op, expr.args
    if op is CONSTANT:
        return None if expr.params[0][1].array.all() else np.not_equal(expr, 0)
    if op is where:
        condition, x, y = args
        return condition if _is_zero(y) else np.logical_not(condition) if _is_zero(x) else None
    if op is mask:
        return args[0]
    if op is maximum or op is minimum:
        falls_short = np.less_equal if op is maximum else np.greater_equal
        for x, other in (args, args[::-1]):
            if _is_zero(other):
                return np.logical_not(falls_short(x, 0))  # a NaN is chosen
        return None
    if op is multiply:
        return next((known[id(x)] for x in args if id(x) in known), None)
    if not args or id(args[0]) not in known:
        return None
    condition = known[id(args[0])]
    if op is divide or op is negative or op in STEEP:
        return condition
    if op.hidden or op.moves:
        moved: Any = op(condition, **dict(expr.params)) if op.moves else condition
        return moved if moved.shape == expr.shape else np.broadcast_to(moved, expr.shape)
    return None


def _passes_zeros(expr: Expr) -> bool:
    return expr.op in _LINEAR or expr.op.hidden or expr.op.moves


def _is_zero(expr: Expr) -> bool:
    while expr.args and expr.op.hidden:
        expr = expr.args[0]
    return expr.op is CONSTANT and not expr.params[0][1].array.any()
