"""Partial derivatives that SciPy has no function for, computed by mpmath: in orders of Bessel functions and
the like.

mpmath differentiates the column ``mpmath`` of an operation's record with enough digits that none is lost.
That is reliable, and slow: about a millisecond an entry. mpmath is imported when a program runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.arrays.reference import holds_expr
from funcgrad.expr import Expr, operation_table
from funcgrad.graph import ArrayType
from funcgrad.linear import Diagonal, LinearMap
from funcgrad.ops.base.columns import Columns, in_library
from funcgrad.ops.base.entrywise import fit_entrywise, spread_unbatched
from funcgrad.ops.base.op import EdgeRule, Op
from funcgrad.source import fail
from funcgrad.typing import Array, FunctionLibrary

_DIGITS = 40
_MOST_DIGITS = 640
_KEPT = 18
"""Digits that are left of a derivative, beside the value by whose rounding its differences are made."""
_STEP = 1e-35
"""Numbers that are smaller may lie within mpmath's steps of 0."""
_STEEP = 1e30


@lru_cache(maxsize=1)
def _context() -> Any:
    try:
        import mpmath
    except ImportError:
        raise fail(
            ImportError,
            "partial_derivative: expected mpmath, which computes this derivative, but it is not installed; "
            "pip install mpmath",
        ) from None
    context = mpmath.MPContext()
    context.dps = _DIGITS
    return context


def _of_relative_steps(function: Any, points: Sequence[Any], orders: tuple[int, ...]) -> Any:
    """A derivative next to an end of the domain, which steps of the usual size would cross."""
    mp = _context()
    scales = [abs(x) if x and order else mp.one for x, order in zip(points, orders, strict=True)]

    def moved(*steps: Any) -> Any:
        return function(*[x + s * t for x, s, t in zip(points, scales, steps, strict=True)])

    with mp.workdps(10 * _DIGITS):
        slope = mp.diff(moved, (mp.zero,) * len(points), orders)
        return slope / mp.fprod([s**order for s, order in zip(scales, orders, strict=True)])


def _is_beside_pole(function: Any, points: Sequence[Any], orders: tuple[int, ...]) -> bool:
    """Whether an argument is so close to a pole at 0 that steps of the usual size would cross it."""
    near = [order and 0 < abs(x) <= _STEP for x, order in zip(points, orders, strict=True)]
    if not any(near):
        return False
    mp = _context()
    try:
        moved = [mp.zero if is_near else x for x, is_near in zip(points, near, strict=True)]
        return not mp.isfinite(function(*moved))
    except ZeroDivisionError:
        return True


def _derivative(function: Any, points: tuple[Any, ...], orders: tuple[int, ...]) -> Any:
    """With more digits where a function is nearly constant, or where the steps are less than its digits."""
    mp, digits = _context(), _DIGITS
    found, value = mp.diff(function, points, orders), abs(function(*points))
    while digits < _MOST_DIGITS and abs(found) * mp.mpf(10) ** (digits - _KEPT) < value < mp.inf:
        digits *= 2
        with mp.workdps(digits):
            found = mp.diff(function, points, orders)
    return found


def _is_even(function: Any, points: tuple[Any, ...], orders: tuple[int, ...]) -> bool:
    """Whether the function is even in an argument of 0 in which an odd derivative is taken, which is 0.

    Of more and more digits the quotient would never be told from 0. Other arguments that are differentiated
    are moved, too: at one value of them the function may be constant.
    """
    mp = _context()
    moved = tuple(
        [(y * 6 / 7 or mp.one / 9) if order else y for y, order in zip(points, orders, strict=True)]
    )
    for k, (x, order) in enumerate(zip(points, orders, strict=True)):
        if x == 0 and order % 2 and all([_mirrors(function, near, k) for near in {points, moved}]):
            return True
    return False


def _mirrors(function: Any, points: tuple[Any, ...], k: int) -> bool:
    """Whether the function has one value at plus and minus some values of argument k."""
    first, second, third, fourth = [
        function(*points[:k], _context().mpf(t), *points[k + 1 :]) for t in (0.3, -0.3, 0.71, -0.71)
    ]
    return bool(first == second and third == fourth and _context().isfinite(first + third))


def _entry(name: str, orders: tuple[int, ...], values: Sequence[Any]) -> Any:
    """One entry: NaN where the function is not defined or not smooth."""
    mp = _context()
    if not all([np.isfinite(value) for value in values]):
        return math.nan
    row: Any = operation_table.ops[name].columns.mpmath  # type: ignore[attr-defined]
    function: Any = in_library(row, mp, "f")
    points = [mp.convert(value) for value in values]
    try:
        if _is_beside_pole(function, points, orders):
            return _of_relative_steps(function, points, orders)
        if _is_even(function, tuple(points), orders):
            return mp.zero
        found = _derivative(function, tuple(points), orders)
        if abs(found) > _STEEP and not mp.isfinite(function(*points)):
            return math.nan  # the quotient of steps across a pole
        if mp.im(found) == 0 or all([mp.im(x) != 0 or abs(x) > _STEP or x == 0 for x in points]):
            return found
        return _of_relative_steps(function, points, orders)
    except (ZeroDivisionError, ValueError, OverflowError, TypeError):
        return math.nan  # mpmath's Hankel functions at 0 are a TypeError
    except mp.NoConvergence:
        raise ArithmeticError(
            f"{name}: mpmath finds no derivative of orders {orders} at {tuple(values)}: its series does not "
            "converge"
        ) from None


def _run(*args: Array, operation: str, orders: tuple[int, ...]) -> Any:
    arrays = np.broadcast_arrays(*args)
    dtype = np.result_type(*arrays, np.float32)
    wide = complex if dtype.kind == "c" else float
    found = np.empty(arrays[0].shape, dtype)
    for place in np.ndindex(found.shape):
        value = complex(_entry(operation, orders, [wide(array[place]) for array in arrays]))
        real = value.real if value.imag == 0 else math.nan
        found[place] = value if dtype.kind == "c" else real
    return found[()]


def _edge(place: int) -> EdgeRule:
    def edge(z: Array, *args: Array, operation: str, orders: tuple[int, ...]) -> LinearMap:
        more = tuple([order + (k == place) for k, order in enumerate(orders)])
        return Diagonal(partial_derivative(operation, more, *args))

    return edge


def _batch(size: int, batched: Sequence[bool], *args: object, **params: object) -> Any:
    return partial_derivative_op(*spread_unbatched(size, batched, args), **params)


def _mp_row(mp: FunctionLibrary, *args: object, operation: str, orders: tuple[int, ...]) -> Any:
    row: Any = operation_table.ops[operation].columns.mpmath  # type: ignore[attr-defined]
    own: Any = in_library(row, mp, "f")
    return np.frompyfunc(lambda *values: mp.diff(own, values, orders), len(args), 1)(*args)


def _infer(*types: ArrayType, operation: str, orders: tuple[int, ...]) -> ArrayType:
    return ArrayType(types[0].shape, np.result_type(*[each.dtype for each in types], np.float32))


partial_derivative_op: Op = Op(
    name="partial_derivative",
    run=_run,
    infer=_infer,
    edges=_edge,
    batch=_batch,
    notation=lambda *args, operation, orders: (
        f"{operation}_{''.join(map(str, orders))}({', '.join(args)})"
    ),
    columns=Columns(entrywise=True, mpmath=_mp_row),
)


def partial_derivative(operation: str, orders: tuple[int, ...], *args: Any) -> Any:
    """The partial derivative of these orders of an operation, which has a function in mpmath."""
    if not holds_expr(list(args)):
        return _run(*args, operation=operation, orders=orders)
    fitted: tuple[Expr, ...] = fit_entrywise(args)
    return partial_derivative_op(*fitted, operation=operation, orders=orders)
