"""Laws on the slope of abs: sign(x)*f(abs(x)) and even functions of abs(x) have no kink at 0.

Both signs in the derivative of sign(x)*f(abs(x)) are 0 at 0, where that of f is wanted. `absolute_slope`, the
derivative of abs, differs from a sign that a program reads, whose square is 0 at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.fold import folded
from funcgrad.graph import nearest_terms
from funcgrad.ops import indexing, reduction, shape
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import (
    arithmetic,
    exponential,
    extrema,
    logic,
    magnitude,
    selection,
    trigonometric,
)
from funcgrad.rewrite.constant_values import value_of


def product_with_slope(expr: Expr) -> Expr | None:
    """(sign(x)*y + z)*absolute_slope(x) = y + z*absolute_slope(x); likewise for two slopes.

    So is where(x >= 0, y, z)*absolute_slope(x) = where(x >= 0, y, -z): at 0 that of the side chosen.
    """
    for one, other in (expr.args, expr.args[::-1]):
        factors = (one.args, one.args[::-1]) if one.op is arithmetic.multiply else ()
        for sign, rest in ((one, None), *factors):
            slope = _slope(sign)
            x = _sign(sign) if slope is None else slope
            y, z = (
                (None, None)
                if x is None
                else _divided(other, x, _SLOPES if slope is None else _SIGNS)
            )
            if y is not None:
                y = _product(_magnitude(sign), y)
                found = _sum(y if rest is None else _product(y, rest), _product(z, one))
                return found if isinstance(found, Expr) else shape.full_like(expr, found)
    return None


def slope_of_a_side(expr: Expr) -> Expr | None:
    """where(x >= 0, y*absolute_slope(x), z) = where(x >= 0, y, z), and with -y for x <= 0; so is a mask."""
    condition, *values = expr.args
    side = _side(condition.args[0] if condition.op in _MOVES else condition)
    x = _beneath(condition, _ordered) if side else None
    if x is None:
        return None
    found = [_beside_zero(value, x, k * side) for value, k in zip(values, (1, -1), strict=False)]
    if all([value is None for value in found]):
        return None
    sides = [z if y is None else y for y, z in zip(found, values, strict=True)]
    chosen: Expr = expr.op(condition, *sides)
    return chosen


def _beside_zero(value: Expr, x: Expr, side: int) -> Expr | None:
    """A sum of products with the slope of abs(x), or of maximum(x, 0), where x has one sign."""
    conditions, inner = [], value
    while inner.op is selection.mask:
        conditions.append(inner.args[0])
        inner = inner.args[1]
    y, z = _divided(inner, x, _SLOPES)
    y = _negated(y) if side < 0 else y
    if y is None and any([_chooses(p, x, side) for p in conditions]):
        y, z = _divided(inner, x, _TIES)
    if y is None:
        return None
    total = _sum(y, z)
    found: Expr = total if isinstance(total, Expr) else shape.full_like(inner, total)
    for p in reversed(conditions):
        found = selection.mask(p, found)
    return found


def _tie(expr: Expr) -> Expr | None:
    """The x of where(x == 0, 0.5, 1), a factor of the slope of maximum(x, 0)."""
    if expr.op is not selection.where or expr.args[0].op is not logic.equal:
        return None
    (x, zero), *halves = expr.args[0].args, *expr.args[1:]
    is_tie = value_of(zero) == 0 and [value_of(part) for part in halves] == [0.5, 1]
    return x if is_tie else None


def _chooses(condition: Expr, x: Expr, side: int) -> bool:
    """Whether x >= 0, for a side of 1, or x <= 0 is a condition or, beside NaN, a part of it."""
    parts = condition.args if condition.op is logic.bitwise_or else (condition,)
    return any([_side(p) == side and p.args[0] is x for p in parts])


def tie_of_nothing(expr: Expr) -> Expr | None:
    """maximum(x, 0)*y*where(x == 0, 0.5, 1) = maximum(x, 0)*y: a half of 0 is 0, but its slope is half."""
    for one, other in (expr.args, expr.args[::-1]):
        ties = [x for node in _factors(other) if (x := _tie(node)) is not None]
        for x in ties:
            y, z = _divided(other, x, _TIES)
            if z is None and any([_is_nothing_at(node, x) for node in _factors(one)]):
                return _product(y, one)  # type: ignore[no-any-return]
    return None


def _factors(product: Expr) -> Sequence[Expr]:
    return nearest_terms([product], _MOST, lambda node: node.args[: _OF_FACTORS.get(node.op, 0)])


_OF_FACTORS = {
    arithmetic.multiply: 2,
    arithmetic.divide: 1,
    arithmetic.negative: 1,
    arithmetic.square: 1,
}
"""Operations that are 0 where one of so many operands is."""


def _is_nothing_at(expr: Expr, x: Expr) -> bool:
    """Whether an expression is maximum(x, 0) or minimum(x, 0)."""
    if expr.op not in (extrema.maximum, extrema.minimum):
        return False
    return any([a is x and value_of(b) == 0 for a, b in (expr.args, expr.args[::-1])])


def square_of_slope(expr: Expr) -> Expr | None:
    """absolute_slope(x)**2 = 1, as in the second derivative of cos(abs(x))."""
    found: Expr | None = None if _slope(expr.args[0]) is None else shape.ones_like(expr)
    return found


def slope_of_a_size(expr: Expr) -> Expr | None:
    """absolute_slope(abs(x)) = 1, and so of all that is never negative: abs(x**2) is x**2 also beside 0."""
    (x,) = expr.args
    while x.op in _RISING:
        x = x.args[0]
    return shape.ones_like(expr) if x.op in _NEVER_NEGATIVE else None


_NEVER_NEGATIVE = (
    arithmetic.square,
    exponential.exp,
    exponential.sqrt,
    magnitude.absolute,
    magnitude.fabs,
    reduction.norm_op,
    trigonometric.cosh,
    trigonometric.hypot,
)
_RISING = (
    exponential.expm1,
    exponential.log1p,
    trigonometric.arcsinh,
    trigonometric.arctan,
    trigonometric.sinh,
    trigonometric.tanh,
)
"""Functions that rise from 0 at 0."""


_Parts = tuple[Any, Any]
"""The y and z of y*sign(x) + z; None for 0. A y that is a number has no shape."""
_MOST = 16
"""The operations that are looked into."""
_OPENED = {
    arithmetic.multiply: 2,
    arithmetic.divide: 1,
    arithmetic.negative: 1,
    op.astype: 1,
    arithmetic.add: 2,
    arithmetic.subtract: 2,
}
"""Operations, and how many of their operands may have the sign."""


def _opened(node: Expr) -> tuple[Expr, ...]:
    return node.args[: _OPENED.get(node.op, 0)]


def _divided(term: Expr, x: Expr, signed: Mapping[Any, Callable[[Expr], Expr | None]]) -> _Parts:
    """A sum of products as y*sign(x) + z; ``signed`` gives the x of signs, by their operations."""
    near = nearest_terms([term], _MOST, _opened)
    found = [(node, signed[node.op](node)) for node in near if node.op in signed]
    signs = {id(node) for node, own in found if own is not None and _is_same(own, x)}
    if not signs:
        return None, term
    opened = {id(node) for node in near if _is_inexact(node)} - signs

    def operands(node: Expr) -> tuple[Expr, ...]:
        return _opened(node) if id(node) in opened else ()

    def step(node: Expr, parts: tuple[_Parts, ...]) -> _Parts:
        if id(node) in signs:
            return _magnitude(node), None
        return (None, node) if all([y is None for y, _ in parts]) else _parts(node, parts)

    return folded([term], step, operands=operands)[0]


def _is_inexact(node: Expr) -> bool:
    """Whether no whole number takes part, which a cast rounds and whose negative may overflow."""
    return all([part.dtype.kind in "fc" for part in (node, *node.args)])


def _parts(node: Expr, args: tuple[_Parts, ...]) -> _Parts:
    y, z = args[0]
    if node.op is arithmetic.negative:
        return _negated(y), _negated(z)
    if node.op is op.astype:
        return _cast(y, node), _cast(z, node)
    if node.op is arithmetic.divide:
        return y / node.args[1], None if z is None else z / node.args[1]
    v, w = args[1]
    if node.op is arithmetic.subtract:
        v, w = _negated(v), _negated(w)
    if node.op is not arithmetic.multiply:
        return _sum(y, v), _sum(z, w)
    if y is None:
        return _product(v, node.args[0]), _product(w, node.args[0])
    return _product(y, node.args[1]), _product(z, node.args[1])


def _cast(part: Any, like: Expr) -> Any:
    return op.astype(part, **dict(like.params)) if isinstance(part, Expr) else part


def _negated(part: Any) -> Any:
    return None if part is None else -part


def _sum(one: Any, other: Any) -> Any:
    return other if one is None else one if other is None else one + other


def _product(part: Any, factor: Any) -> Any:
    if part is None or _is_one(factor):
        return part
    return factor if _is_one(part) else part * factor


def _is_one(part: Any) -> bool:
    return isinstance(part, float) and part == 1


_MOVES = (shape.reshape_op, op.broadcast_to, shape.transpose_op, indexing.getitem_op)


def _beneath(expr: Expr, operand: Callable[[Expr], Expr | None]) -> Expr | None:
    """An operand of an expression, with the move of its entries."""
    if expr.op not in _MOVES:
        return operand(expr)
    x = operand(expr.args[0])
    found: Expr | None = None if x is None else expr.op(x, *expr.args[1:], **dict(expr.params))
    return found


def _is_same(one: Expr, other: Expr) -> bool:
    """Whether two expressions are equal: those of a simplification are one object, but for new moves."""
    return one is other or (one.op in _MOVES and other.op in _MOVES and one.key == other.key)


def _slope(expr: Expr) -> Expr | None:
    """The x of the slope of abs(x)."""
    return _beneath(
        expr, lambda node: node.args[0] if node.op is magnitude.absolute_slope else None
    )


def _sign(expr: Expr) -> Expr | None:
    """The x of sign(x), copysign(2, x) and where(x < 0, -y, y), also as whole numbers."""
    choice = expr.args[0] if expr.op is op.astype else expr
    if choice.op is selection.where:
        return _ordered(choice.args[0])
    return _beneath(expr, _operand_of_sign)


def _magnitude(expr: Expr) -> Any:
    """The y of a sign, a slope, copysign(y, x) or where(x < 0, -y, y); a number has no shape."""
    if expr.op is magnitude.copysign:
        return float(value_of(expr.args[0]))
    choice = expr.args[0] if expr.op is op.astype else expr
    if choice.op is not selection.where or not _side(choice.args[0]):
        return 1.0
    p, *sides = choice.args
    if choice is not expr:
        sides = [_cast(y, expr) for y in sides]
    signs = (_side(p), -_side(p))
    return np.where(p, *[-y if k < 0 else y for k, y in zip(signs, sides, strict=True)])


def _slope_or_sign(expr: Expr) -> Expr | None:
    x = _slope(expr)
    return _sign(expr) if x is None else x


def _operand_of_sign(expr: Expr) -> Expr | None:
    if expr.op is magnitude.sign_op:
        return expr.args[0]
    size = value_of(expr.args[0]) if expr.op is magnitude.copysign else None
    return expr.args[1] if size is not None and 0 < size < np.inf else None


_SIDES = {logic.less: -1, logic.less_equal: -1, logic.greater: 1, logic.greater_equal: 1}


def _side(condition: Expr) -> int:
    """The sign of x where x >= 0 and the like hold; 0 of another condition."""
    sign = 1
    if condition.op is logic.logical_not:
        sign, condition = -1, condition.args[0]
    side = _SIDES.get(condition.op, 0)
    return sign * side if side and value_of(condition.args[1]) == 0 else 0


def _ordered(condition: Expr) -> Expr | None:
    """The x of x >= 0 and the like."""
    if not _side(condition):
        return None
    return (condition.args[0] if condition.op is logic.logical_not else condition).args[0]


_SLOPES = dict.fromkeys((magnitude.absolute_slope, *_MOVES), _slope)
_SIGNS = dict.fromkeys(
    (*_SLOPES, magnitude.sign_op, magnitude.copysign, selection.where, op.astype), _slope_or_sign
)
_TIES = {selection.where: _tie}
