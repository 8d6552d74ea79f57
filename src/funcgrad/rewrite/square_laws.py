"""Laws on powers: even powers of abs, hypot and norm have no kink, and small whole powers are products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops import indexing, reduction, shape
from funcgrad.ops.base import op
from funcgrad.ops.elementwise import arithmetic, magnitude, trigonometric
from funcgrad.rewrite.constant_values import value_of

_MOVES = (shape.reshape_op, op.broadcast_to, shape.transpose_op, indexing.getitem_op)


def square_of_size(expr: Expr) -> Expr | None:
    """abs(x)**2 = x**2, hypot(x, y)**2 = x**2 + y**2, norm(x)**2 = sum(x**2), also of complex x."""
    found: Expr | None = _squared(expr.args[0])
    return found


def even_power_of_size(expr: Expr) -> Expr | None:
    """abs(x)**4 = (x**2)**2; likewise other even powers, and those of hypot and norm."""
    x, exponent = expr.args
    k = value_of(exponent)
    if k is None or not (np.isfinite(k) and k.real > 0 and k % 2 == 0):
        return None
    found = _squared(x)
    return None if found is None else found ** (k / 2).item()


_PRODUCTS: dict[float, Callable[[Any], Any]] = {
    3.0: lambda x: np.square(x) * x,
    4.0: lambda x: np.square(np.square(x)),
    -2.0: lambda x: np.square(1 / x),
}
_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
_FEW = 8
"""Of fewer entries a call of NumPy's takes as long as their powers."""


def product_of_power(expr: Expr) -> Expr | None:
    """x**3 = x**2*x, x**4 = (x**2)**2 and x**-2 = (1/x)**2, of real arrays.

    `numpy.power` takes 100 ns for a negative number, where a product takes 0.3.
    """
    x, exponent = expr.args
    k = value_of(exponent) if expr.dtype in _DTYPES and x.type == expr.type else None
    if k is None or expr.size < _FEW or k not in _PRODUCTS:
        return None
    found: Expr = _PRODUCTS[k](x)
    return found


def _squared(x: Expr) -> Any:
    """The square of a size without its root; a constant factor and moves of its entries come out."""
    if x.dtype.kind != "f":
        return None
    if x.op in _MOVES:
        inner = _squared(x.args[0])
        return None if inner is None else x.op(inner, *x.args[1:], **dict(x.params))
    if x.op in (arithmetic.multiply, arithmetic.divide):
        return _squared_with_factor(x)
    if x.op is magnitude.absolute:
        return _absolute_square(x.args[0])
    if x.op is trigonometric.hypot:
        return np.square(x.args[0]) + np.square(x.args[1])
    if x.op is reduction.norm_op:
        return reduction.sum_op(_absolute_square(x.args[0]), **dict(x.params))
    return None


def _squared_with_factor(x: Expr) -> Any:
    left, right = x.args
    if x.op is arithmetic.multiply and value_of(left) is not None:
        left, right = right, left
    factor, inner = value_of(right), _squared(left)
    if factor is None or inner is None or not 1e-100 < abs(factor) < 1e100:
        return None
    square = np.square(factor).item()
    return inner / square if x.op is arithmetic.divide else inner * square


def _absolute_square(x: Expr) -> Any:
    if x.dtype.kind != "c":
        return np.square(x)
    return np.real(np.conjugate(x) * x)
