"""Factorizations of `scipy.linalg`: LU, LDL and polar, and a matrix that is balanced."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import (
    as_single,
    composed,
    nondifferentiable,
    nondifferentiable_parts,
    number,
    taken,
    with_value,
)
from funcgrad.scipy.external_function import with_pullback, with_pushforward
from funcgrad.scipy.matrix_equations import (
    in_one_dtype,
    of_real_form,
    one_triangle,
    real_form,
    square_matrix,
    sylvester,
)
from funcgrad.source import value_error
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy, host=True)
_kept = composed(_scipy, single=True, host=True)


# -- LU ---------------------------------------------------------------------------------------------------
def _order_of_pivots(pivots: Array, rows: int | None = None) -> Any:
    """The order of rows after the exchanges that LAPACK reports."""
    order = np.arange(len(pivots) if rows is None else rows)
    for k, other in enumerate(pivots):
        order[[k, int(other)]] = order[[int(other), k]]
    return order


def _orders_of_pivots(pivots: Array) -> Any:
    order = np.empty(pivots.shape, np.int64)
    for place in np.ndindex(*pivots.shape[:-1]):
        order[place] = _order_of_pivots(pivots[place])
    return order


def _whole_numbers(type: ArrayType) -> ArrayType:
    return ArrayType(type.shape[-1:], np.dtype(np.int64))


_order = primitive(
    lambda a: _order_of_pivots(_scipy.lu_factor(a)[1], len(a)),
    out=lambda a: ArrayType(a.shape[:1], np.dtype(np.int64)),
    name="lu_order",
)
_pivots = primitive(
    lambda a: _scipy.lu_factor(a)[1].astype(np.int32),
    out=lambda a: ArrayType((min(a.shape),), np.dtype(np.int32)),
    name="lu_pivots",
)
_exchanged = primitive(
    _orders_of_pivots,
    out=lambda pivots: ArrayType(pivots.shape, np.dtype(np.int64)),
    name="lu_exchanges",
)


def _eliminated_pullback(a: Array, z: Array, g: Array) -> tuple[Any, ...]:
    """With w = inv(l) da and f = tril(w inv(u), -1): dl = l f and du = w - f u.

    The last column of f is 0, so the last pivot may be: only the block of u before it is inverted.
    """
    (left, right), upper, last = _triangles(z), np.triu(g), z.shape[0] - 1
    lower = np.tril(left.T @ np.tril(g, -1) - upper @ right.T, -1)[:, :last]
    through = np.linalg.solve(right[:last, :last], lower.T).T
    return (np.linalg.solve(left.T, upper + np.pad(through, ((0, 0), (0, 1)))),)


_eliminated = with_pullback(
    "lu", lambda a: _scipy.lu_factor(a)[0], lambda a: a, _eliminated_pullback
)


def _triangles(packed: Array) -> tuple[Any, Any]:
    rows, columns = packed.shape[-2:]
    k = min(rows, columns)
    left = packed if k == columns else packed[..., :k]
    right = packed if k == rows else packed[..., :k, :]
    return np.tril(left, -1) + np.eye(rows, k), np.triu(right)


def _factored(who: str, a: ArrayLike) -> tuple[Any, Any]:
    """The rows' order, and both triangles in one matrix.

    The square part of a matrix that is not square must not be singular.
    """
    matrix = number(who, a)
    order = _order(lift_fully(matrix))
    rows, k = matrix[order], min(matrix.shape)
    packed = _eliminated(rows[:k, :k])
    left, right = _triangles(packed)
    if rows.shape[0] > k:
        packed = np.concatenate([packed, np.linalg.solve(right.T, rows[k:].T).T])
    if rows.shape[1] > k:
        packed = np.concatenate([packed, np.linalg.solve(left, rows[:, k:])], axis=1)
    return order, packed


@_kept
def lu(a: ArrayLike, permute_l: bool = False, p_indices: bool = False, **_: object) -> Any:
    """As `scipy.linalg.lu`.

    The square part of a matrix that is not square must not be singular.
    """
    order, packed = _factored("lu", a)
    left, right = _triangles(packed)
    back = np.argsort(order)
    if permute_l:
        return left[back], right
    place = back.astype(np.int32) if p_indices else taken(np.eye(packed.shape[0]), back)
    return place, left, right


@_kept
def lu_factor(a: ArrayLike, **_: object) -> Any:
    """As `scipy.linalg.lu_factor`.

    The square part of a matrix that is not square must not be singular.
    """
    _, packed = _factored("lu_factor", a)
    return packed, _pivots(lift_fully(number("lu_factor", a)))


@_composed
def lu_solve(lu_and_piv: tuple[Any, Any], b: ArrayLike, trans: int = 0, **_: object) -> Any:
    packed, right = in_one_dtype("lu_solve", lu_and_piv[0], b)
    left, upper = _triangles(square_matrix("lu_solve", packed, stacked=True))
    columns: Any = right[:, None] if right.ndim == 1 else right
    stack = np.broadcast_shapes(packed.shape[:-2], columns.shape[:-2])
    columns = lift_fully(np.broadcast_to(columns, (*stack, *columns.shape[-2:])))
    order: Any = _exchanged(lift_fully(lu_and_piv[1]))
    order = np.broadcast_to(order, (*stack, order.shape[-1]))[..., None]
    if trans == 0:
        moved = np.take_along_axis(columns, order, -2)
        found = np.linalg.solve(upper, np.linalg.solve(left, moved))
    else:
        if trans == 2:
            left, upper = np.conj(left), np.conj(upper)
        left, upper = [np.swapaxes(part, -1, -2) for part in (left, upper)]
        found = np.linalg.solve(left, np.linalg.solve(upper, columns))
        found = np.take_along_axis(found, np.argsort(order, axis=-2), -2)
    return as_single(found[..., 0] if right.ndim == 1 else found, lu_and_piv[0], b)


# -- Bunch and Kaufman's L D L^T --------------------------------------------------------------------
@lru_cache(maxsize=4)
def _ldl_of(lower: bool, hermitian: bool) -> Callable[..., Any]:
    """Both factors, the rows of the first in the order that makes it triangular."""

    def run(a: Array) -> Any:
        factor, middle, order = _scipy.ldl(a, lower, hermitian)
        return np.stack([factor[order], middle])

    order_of = primitive(
        lambda a: _scipy.ldl(a, lower, hermitian)[2].astype(np.int64),
        out=_whole_numbers,
        name="ldl_order",
    )

    def adjoint(a: Array) -> Any:
        return np.conj(a.T) if hermitian else a.T

    def slope(a: Array, both: Array, da: Array) -> Any:
        """With p = l^-1 da l^-H: its diagonal blocks are dd, and dl = l x where x d is what is below them."""
        left, middle = both[0], both[1]
        order = order_of(stop_gradient(lift_fully(a)))
        moved = one_triangle(da, lower, hermitian)[order][:, order]
        half = np.linalg.solve(left, moved)
        p = adjoint(np.linalg.solve(left, adjoint(half)))
        block = (middle != 0) | (np.eye(middle.shape[0]) == 1)
        outside = np.where(block, 0.0, np.tril(p) if lower else np.triu(p))
        # A block of zeros is the last one, and divides nothing.
        zero = ~np.any(middle != 0, axis=0)
        x = np.linalg.solve((middle + np.diag(zero)).T, outside.T).T
        x = x + np.where(zero & (outside != 0), np.nan, 0.0)
        return np.stack([left @ x, np.where(block, p, 0.0)])

    factors = with_pushforward("ldl", run, lambda a: ArrayType((2, *a.shape), a.dtype), slope)

    def found(a: Array) -> tuple[Any, Any, Any]:
        order = order_of(stop_gradient(lift_fully(a)))
        both = factors(a)
        return both[0][np.argsort(order)], both[1], order

    return found


@_kept
def ldl(A: ArrayLike, lower: bool = True, hermitian: bool = True, **_: object) -> Any:
    """As `scipy.linalg.ldl`; the order and the size of the blocks are constant."""
    return _ldl_of(lower, hermitian)(square_matrix("ldl", np.atleast_2d(number("ldl", A))))


# -- polar --------------------------------------------------------------------------------------------------
def _polar_pullback(a: Array, u: Array, g: Array) -> tuple[Any, ...]:
    """With p = u.T a: du = u w and p w + w p = u.T da - da.T u, and a part that leaves the columns' span."""
    p = u.T @ a
    p = (p + p.T) / 2
    turned = u.T @ g
    inside = u @ sylvester(p, p, turned - turned.T)
    return (inside + np.linalg.solve(p, (g - u @ turned).T).T,)


_orthogonal_factor = with_pullback(
    "polar", lambda a: _scipy.polar(a)[0], lambda a: a, _polar_pullback
)


@_kept
def polar(a: ArrayLike, side: str = "right") -> Any:
    """As `scipy.linalg.polar`."""
    matrix: Any = number("polar", a)
    if matrix.ndim != 2:
        raise value_error(f"polar: expected a matrix, but got shape {matrix.shape}")
    is_wide = matrix.shape[0] < matrix.shape[1]
    u = _unitary_factor(matrix.T).T if is_wide else _unitary_factor(matrix)
    adjoint = np.conj(u.T)
    p = adjoint @ matrix if side == "right" else matrix @ adjoint
    return u, (p + np.conj(p.T)) / 2


def _unitary_factor(matrix: Any) -> Any:
    if matrix.dtype.kind != "c":
        return _orthogonal_factor(matrix)
    own = nondifferentiable("polar", lambda a: _scipy.polar(a)[0], matrix)
    return with_value(own, of_real_form(_orthogonal_factor(real_form(matrix))))


# -- balance ----------------------------------------------------------------------------------------
@_kept
def matrix_balance(
    A: ArrayLike, permute: bool = True, scale: bool = True, separate: bool = False, **_: object
) -> Any:
    """As `scipy.linalg.matrix_balance`; scales and the order are constant."""
    a: Any = square_matrix("matrix_balance", np.atleast_2d(number("matrix_balance", A)))
    run = lambda a: _scipy.matrix_balance(a, permute, scale, separate=True)[1]  # noqa: E731
    scales, order = nondifferentiable_parts("matrix_balance", run, 2, a)
    rows = lift_fully(a)[order][:, order]
    balanced = rows * (scales / scales[:, None])
    if separate:
        return balanced, (scales, order)
    return balanced, np.diag(scales)[np.argsort(order)]
