"""Laws on the slope of abs: sign(x)*f(abs(x)) and even functions of abs(x) have no kink at 0.

Both signs in the derivative of sign(x)*f(abs(x)) are 0 at 0, where that of f is wanted. `absolute_slope`, the
derivative of abs, differs from a sign that a program reads, whose square is 0 at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.expr import Expr
from funcgrad.fold import folded
from funcgrad.graph import nearest_terms
from funcgrad.ops import indexing, shape
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import arithmetic, logic, magnitude, selection
from funcgrad.rewrite.constant_values import value_of


def product_with_slope(expr: Expr) -> Expr | None:
    """(sign(x)*y + z)*absolute_slope(x) = y + z*absolute_slope(x); likewise for two slopes."""
    for one, other in (expr.args, expr.args[::-1]):
        factors = (one.args, one.args[::-1]) if one.op is arithmetic.multiply else ()
        for sign, rest in ((one, None), *factors):
            slope = _slope_of(sign)
            x = _sign_of(sign) if slope is None else slope
            signs = _slope_of if slope is None else _slope_or_sign_of
            y, z = (None, None) if x is None else _divided(other, x, signs)
            if y is not None:
                found = _sum(y if rest is None else _product(y, rest), _product(z, one))
                return found if isinstance(found, Expr) else shape.full_like(expr, found)
    return None


def square_of_slope(expr: Expr) -> Expr | None:
    """absolute_slope(x)**2 = 1, as in the second derivative of cos(abs(x))."""
    found: Expr | None = None if _slope_of(expr.args[0]) is None else shape.ones_like(expr)
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


def _divided(term: Expr, x: Expr, operand: Callable[[Expr], Expr | None]) -> _Parts:
    """A sum of products as y*sign(x) + z; ``operand`` gives the x of a sign."""
    near = nearest_terms([term], _MOST)
    signs = {id(node) for node in near if (own := operand(node)) is not None and own.key == x.key}
    if not signs:
        return None, term
    opened = {id(node) for node in near if node.op in _OPENED} - signs

    def operands(node: Expr) -> tuple[Expr, ...]:
        return node.args[: _OPENED[node.op]] if id(node) in opened else ()

    def step(node: Expr, parts: tuple[_Parts, ...]) -> _Parts:
        if id(node) in signs:
            return 1.0, None
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


def _product(part: Any, factor: Expr) -> Any:
    if part is None:
        return None
    return factor if isinstance(part, float) and part == 1 else part * factor


_MOVES = (shape.reshape_op, op.broadcast_to, shape.transpose_op, indexing.getitem_op)


def _slope_of(expr: Expr) -> Expr | None:
    """The x of the slope of abs(x), with a move of its entries."""
    return _beneath(
        expr, lambda node: node.args[0] if node.op is magnitude.absolute_slope else None
    )


def _sign_of(expr: Expr) -> Expr | None:
    """The x of sign(x), copysign(1, x) and where(x < 0, -1, 1), with a move of its entries."""
    return _beneath(expr, _operand_of_sign)


def _slope_or_sign_of(expr: Expr) -> Expr | None:
    slope = _slope_of(expr)
    return _sign_of(expr) if slope is None else slope


def _beneath(expr: Expr, operand: Callable[[Expr], Expr | None]) -> Expr | None:
    if expr.op not in _MOVES:
        return operand(expr)
    x = operand(expr.args[0])
    found: Expr | None = None if x is None else expr.op(x, *expr.args[1:], **dict(expr.params))
    return found


def _operand_of_sign(expr: Expr) -> Expr | None:
    if expr.op is magnitude.sign_op:
        return expr.args[0]
    if expr.op is magnitude.copysign:
        return expr.args[1] if value_of(expr.args[0]) == 1 else None
    if expr.op is op.astype:
        expr = expr.args[0]
    if expr.op is not selection.where or expr.args[0].op not in _ORDERS:
        return None
    (x, zero), *sides = expr.args[0].args, *expr.args[1:]
    signs = [value_of(side) for side in sides]
    return x if value_of(zero) == 0 and signs == _ORDERS[expr.args[0].op] else None


_ORDERS = {
    logic.less: [-1, 1],
    logic.less_equal: [-1, 1],
    logic.greater: [1, -1],
    logic.greater_equal: [1, -1],
}
