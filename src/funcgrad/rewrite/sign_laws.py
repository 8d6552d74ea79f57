"""Laws on the slope of abs: sign(x)*f(abs(x)) and even functions of abs(x) have no kink at 0.

Both signs in the derivative of sign(x)*f(abs(x)) are 0 at 0, where that of f is wanted. `absolute_slope`, the
derivative of abs, differs from a sign that a program reads, whose square is 0 at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.fold import folded
from funcgrad.graph import nearest_terms
from funcgrad.ops import indexing, shape
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import arithmetic, logic, magnitude, selection
from funcgrad.rewrite.constant_values import value_of


def product_with_slope(expr: Expr) -> Expr | None:
    """(sign(x)*y + z)*absolute_slope(x) = y + z*absolute_slope(x); likewise for two slopes.

    So is where(x >= 0, y, z)*absolute_slope(x) = where(x >= 0, y, -z): at 0 that of the side chosen.
    """
    for one, other in (expr.args, expr.args[::-1]):
        factors = (one.args, one.args[::-1]) if one.op is arithmetic.multiply else ()
        for sign, rest in ((one, None), *factors):
            slope = _slope(sign)
            signed = _with_sign(sign) if slope is None else slope
            if signed is None:
                continue
            x, factor = signed
            y, z = _divided(other, x, _slope if slope is None else _slope_or_sign)
            if y is not None:
                y = _product(factor, y)
                found = _sum(y if rest is None else _product(y, rest), _product(z, one))
                return found if isinstance(found, Expr) else shape.full_like(expr, found)
    return None


def slope_of_a_side(expr: Expr) -> Expr | None:
    """where(x >= 0, y*absolute_slope(x), z) = where(x >= 0, y, z), and with -y for x <= 0; so is a mask."""
    condition, *values = expr.args
    x = _beneath(condition, _ordered)
    if x is None:
        return None
    side = _side(condition.args[0] if condition.op in _MOVES else condition)
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
    y, z = _divided(inner, x, _slope)
    y = _negated(y) if side < 0 else y
    if y is None and any([_chooses(p, x, side) for p in conditions]):
        y, z = _divided(inner, x, _tie)
    if y is None:
        return None
    total = _sum(y, z)
    found: Expr = total if isinstance(total, Expr) else shape.full_like(inner, total)
    for p in reversed(conditions):
        found = selection.mask(p, found)
    return found


def _tie(expr: Expr) -> _Signed | None:
    """The x of where(x == 0, 0.5, 1), a factor of the slope of maximum(x, 0)."""
    if expr.op is not selection.where or expr.args[0].op is not logic.equal:
        return None
    (x, zero), *halves = expr.args[0].args, *expr.args[1:]
    is_tie = value_of(zero) == 0 and [value_of(part) for part in halves] == [0.5, 1]
    return (x, 1.0) if is_tie else None


def _chooses(condition: Expr, x: Expr, side: int) -> bool:
    """Whether x >= 0, for a side of 1, or x <= 0 is a condition or, beside NaN, a part of it."""
    parts = condition.args if condition.op is logic.bitwise_or else (condition,)
    return any([_side(p) == side and p.args[0].key == x.key for p in parts])


def square_of_slope(expr: Expr) -> Expr | None:
    """absolute_slope(x)**2 = 1, as in the second derivative of cos(abs(x))."""
    found: Expr | None = None if _slope(expr.args[0]) is None else shape.ones_like(expr)
    return found


_Parts = tuple[Any, Any]
"""The y and z of y*sign(x) + z; None for 0. A y of 1.0 has no shape."""
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


_Signed = tuple[Expr, Any]
"""The x and y of sign(x)*y; a y of 1.0 has no shape."""


def _divided(term: Expr, x: Expr, read: Callable[[Expr], _Signed | None]) -> _Parts:
    """A sum of products as y*sign(x) + z; ``read`` tells the signs."""
    near = nearest_terms([term], _MOST)
    signs = {
        id(node): signed[1]
        for node in near
        if (signed := read(node)) is not None and signed[0].key == x.key
    }
    if not signs:
        return None, term
    opened = {id(node) for node in near if node.op in _OPENED} - signs.keys()

    def operands(node: Expr) -> tuple[Expr, ...]:
        return node.args[: _OPENED[node.op]] if id(node) in opened else ()

    def step(node: Expr, parts: tuple[_Parts, ...]) -> _Parts:
        if id(node) in signs:
            return signs[id(node)], None
        return (None, node) if all([y is None for y, _ in parts]) else _parts(node, parts)

    return folded([term], step, operands=operands)[0]


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


def _slope(expr: Expr) -> _Signed | None:
    x = _beneath(expr, lambda node: node.args[0] if node.op is magnitude.absolute_slope else None)
    return None if x is None else (x, 1.0)


def _slope_or_sign(expr: Expr) -> _Signed | None:
    return _slope(expr) or _with_sign(expr)


def _with_sign(expr: Expr) -> _Signed | None:
    """sign(x), copysign(1, x), where(x < 0, -y, y), also as whole numbers."""
    x = _beneath(expr, _operand_of_sign)
    if x is not None:
        return x, 1.0
    choice = expr.args[0] if expr.op is op.astype else expr
    x = _ordered(choice.args[0]) if choice.op is selection.where else None
    if x is None:
        return None
    p, *sides = choice.args
    side = _side(p)
    y = np.where(p, *[-y if k < 0 else y for k, y in zip((side, -side), sides, strict=True)])
    return x, _cast(y, expr) if choice is not expr else y


def _operand_of_sign(expr: Expr) -> Expr | None:
    if expr.op is magnitude.sign_op:
        return expr.args[0]
    is_sign = expr.op is magnitude.copysign and value_of(expr.args[0]) == 1
    return expr.args[1] if is_sign else None


_SIDES = {logic.less: -1, logic.less_equal: -1, logic.greater: 1, logic.greater_equal: 1}


def _side(condition: Expr) -> int:
    """The sign of x where x >= 0 and the like hold; 0 of another condition."""
    if condition.op is logic.logical_not:
        return -_side_of_order(condition.args[0])
    return _side_of_order(condition)


def _ordered(condition: Expr) -> Expr | None:
    """The x of x >= 0 and the like."""
    if not _side(condition):
        return None
    return (condition.args[0] if condition.op is logic.logical_not else condition).args[0]


def _side_of_order(condition: Expr) -> int:
    side = _SIDES.get(condition.op, 0)
    return side if side and value_of(condition.args[1]) == 0 else 0
