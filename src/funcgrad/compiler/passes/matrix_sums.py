"""A matrix as a sum of vectors along its axes and a loop-invariant matrix.

Laws: (v - C)/e = v/e + -C/e, and the like, where e is a loop-invariant number. Both sides round, not alike.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.fold import folded
from funcgrad.graph import Key
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.elementwise.arithmetic import add, divide, multiply, negative, subtract

_ENTRIES = 64
"""The least entries of a matrix that is worth it."""


class MatrixSum(NamedTuple):
    """Vectors along the axes of a matrix, plus a matrix that is the same at each iteration."""

    vectors: Mapping[int, Any]
    """By axis: that of the entries of a column is 0."""
    matrix: Any = None
    number: Any = None
    """The number that all entries of the matrix are, if there is one."""


def matrix_sum_of(
    x: Expr, changing: Collection[Key], became: Mapping[Key, Expr], leaves: dict[Key, Expr]
) -> MatrixSum | None:
    """A matrix as the sum of vectors and a loop-invariant matrix; None if it is none.

    What it is made of is added to ``leaves``.
    """
    if len(x.shape) != 2 or x.size < _ENTRIES or x.dtype != np.float64:
        return None

    def leaf(expr: Expr) -> MatrixSum | None:
        inner = expr.args[0] if expr.op is broadcast_to else expr
        if expr.key not in changing:
            number = np.reshape(became[inner.key], ()) if inner.size == 1 else None
            new = leaves[expr.key] = became[expr.key]
            return MatrixSum({}, new, number)
        axis = 0 if inner.shape == (x.shape[0], 1) else 1
        if inner.size != x.shape[axis] or inner.shape[-1:] != (inner.size if axis else 1,):
            return None
        new = leaves[inner.key] = became[inner.key]
        return MatrixSum({axis: np.reshape(new, (-1,))})

    def step(expr: Expr, parts: tuple[MatrixSum | None, ...]) -> MatrixSum | None:
        known = [part for part in parts if part is not None]
        if not parts or len(known) < len(parts):
            return None if parts else leaf(expr)
        return _LINEAR[expr.op](*known)

    def operands(expr: Expr) -> tuple[Expr, ...]:
        return expr.args if expr.key in changing and expr.op in _LINEAR else ()

    (found,) = folded([x], step, operands=operands)
    return found if found is not None and found.vectors and found.matrix is not None else None


def _plus(x: MatrixSum, y: MatrixSum) -> MatrixSum:
    vectors = {k: _total(x.vectors.get(k), y.vectors.get(k)) for k in {**x.vectors, **y.vectors}}
    return MatrixSum(vectors, _total(x.matrix, y.matrix))


def _total(x: Any, y: Any) -> Any:
    return y if x is None else x if y is None else x + y


def _each(x: MatrixSum, scaled: Callable[[Any], Any]) -> MatrixSum:
    vectors = {k: scaled(vector) for k, vector in x.vectors.items()}
    return MatrixSum(vectors, None if x.matrix is None else scaled(x.matrix))


def _times(x: MatrixSum, y: MatrixSum) -> MatrixSum | None:
    a, b = (y, x) if y.number is None else (x, y)
    return None if b.number is None else _each(a, lambda part: part * b.number)


def _over(x: MatrixSum, y: MatrixSum) -> MatrixSum | None:
    return None if y.number is None else _each(x, lambda part: part / y.number)


_LINEAR: Mapping[Any, Callable[..., MatrixSum | None]] = {
    add: _plus,
    subtract: lambda x, y: _plus(x, _each(y, operator.neg)),
    negative: lambda x: _each(x, operator.neg),
    multiply: _times,
    divide: _over,
}
