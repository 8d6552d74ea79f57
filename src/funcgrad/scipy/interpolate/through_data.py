"""B-splines through data: `make_interp_spline` and `make_lsq_spline`, in the data, abscissae and knots."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature
from typing import Any

import numpy as np
import scipy.interpolate as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import number, real
from funcgrad.scipy.interpolate.bspline import BSpline, value_at
from funcgrad.scipy.interpolate.knot_order import expect_rising
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike

BoundaryConditions = str | tuple[Any, ...] | list[Any] | None
"""A name, or for each end a name or pairs of an order and the value of that derivative."""


def knots_through(x: Array, k: int, first: ArrayLike, last: ArrayLike) -> Any:
    """The knots of a spline of degree k through data at x, on the interval from ``first`` to ``last``."""
    half = (k + 1) // 2
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2
    ends = [np.repeat(np.reshape(end, 1), k + 1) for end in (first, last)]
    inside = (
        inner[half : inner.shape[0] - half] if k % 2 else inner[k // 2 : inner.shape[0] - k // 2]
    )
    return np.concatenate([ends[0], inside, ends[1]])


def basis_at(t: Array, k: int, q: Array, nu: int = 0) -> Any:
    """The matrix of points by coefficients, of the derivatives of order nu of a spline."""
    return value_at(t, np.eye(t.shape[0] - k - 1), k, q, nu)


def make_interp_spline(
    x: ArrayLike,
    y: ArrayLike,
    k: int = 3,
    t: ArrayLike | None = None,
    bc_type: BoundaryConditions = None,
    axis: int = 0,
    check_finite: bool = True,
) -> BSpline:
    """As `scipy.interpolate.make_interp_spline`, also in the data, the
    abscissae, the knots and the end conditions.
    """
    if not holds_expr([x, y, t, bc_type]):
        return BSpline.of_scipy(_scipy.make_interp_spline(x, y, k, t, bc_type, axis, check_finite))
    who = "make_interp_spline"
    values = np.moveaxis(number(who, y), axis, 0)
    if not holds_expr([x, t, bc_type]) and (bc_type is None or isinstance(bc_type, str)):
        # Coefficients that are linear in the values.
        count = values.shape[0]
        unit = np.eye(count)
        if bc_type == "periodic":
            unit = np.concatenate([unit[:-1, :-1], unit[:1, :-1]])
            values = values[:-1]
        own = _scipy.make_interp_spline(x, unit, k, t, bc_type)
        knots, coefficients = own.t, np.tensordot(own.c, values, 1)
    else:
        if bc_type == "periodic":
            raise type_error(
                f"{who}: expected plain abscissae for a periodic spline, but got traced ones; write "
                "CubicSpline(x, y, bc_type='periodic'), which is differentiated in them",
            )
        abscissae = real(who, x)
        expect_rising("Expect x to be a 1D strictly increasing sequence.", abscissae)
        if k < 2 and bc_type is None and t is None:
            repeated = [abscissae[:1]] * k
            knots, coefficients = np.concatenate([*repeated, abscissae, abscissae[-1:]]), values
        else:
            given = None if t is None else real(who, t)
            knots, coefficients = _solved(abscissae, values, k, given, bc_type)
    found = BSpline(knots, coefficients, k)
    found.axis = axis % coefficients.ndim
    return found


def spline_weights(x: Array, degree: int, q: Array) -> Any:
    """The spline of a degree through data at x is these weights, points times data, applied to the data."""
    through = make_interp_spline(x, np.eye(x.shape[0]), degree)
    return value_at(through.t, through.c, degree, q, 0)


def _solved(
    x: Array, y: Array, k: int, t: Array | None, bc_type: BoundaryConditions
) -> tuple[Any, Any]:
    """The knots and the coefficients of the spline through y with derivatives given at both ends."""
    pair = (bc_type, bc_type) if bc_type is None or isinstance(bc_type, str) else bc_type
    start, end = [_conditions(item, y) for item in pair]
    if t is None and (start or end):
        t = np.concatenate([np.repeat(x[:1], k), x, np.repeat(x[-1:], k)])
    elif t is None:
        t = knots_through(x, k, x[0], x[-1])
    count = t.shape[0] - k - 1
    if count != x.shape[0] + len(start) + len(end):
        raise value_error(
            f"make_interp_spline: expected {count - x.shape[0]} derivatives at the ends, but got "
            f"{len(start)} and {len(end)}",
        )
    at_start, at_end = [
        [
            (basis_at(t, k, point, order), np.reshape(value, (1, *y.shape[1:])))
            for order, value in rows
        ]
        for rows, point in ((start, x[:1]), (end, x[-1:]))
    ]
    rows = [*at_start, (basis_at(t, k, x), y), *at_end]
    matrix, right = [np.concatenate([row[i] for row in rows]) for i in range(2)]
    return t, np.linalg.solve(matrix, right.reshape(count, -1)).reshape(right.shape)


def _conditions(given: BoundaryConditions, y: Array) -> list[tuple[int, Any]]:
    """The orders and the values of the derivatives at one end."""
    if given is None or (isinstance(given, str) and given == "not-a-knot"):
        return []
    if isinstance(given, str):
        if given not in ("natural", "clamped"):
            raise value_error(
                "make_interp_spline: expected an end condition 'natural', 'clamped', 'not-a-knot' or pairs "
                f"(order, value), but got {given!r}",
            )
        return [(2 if given == "natural" else 1, np.zeros(y.shape[1:]))]
    return [(int(order), number("make_interp_spline", value)) for order, value in given]


def make_lsq_spline(*args: object, **kwargs: object) -> BSpline:
    """As `scipy.interpolate.make_lsq_spline`, also in the data, the
    abscissae, the knots and the weights.
    """
    if not holds_expr([*args, *kwargs.values()]):
        return BSpline.of_scipy(_scipy.make_lsq_spline(*args, **kwargs))
    given = signature(_scipy.make_lsq_spline).bind(*args, **kwargs).arguments
    axis, k = given.get("axis", 0), int(given.get("k", 3))
    values = np.moveaxis(number("make_lsq_spline", given["y"]), axis, 0)
    x, t = real("make_lsq_spline", given["x"]), real("make_lsq_spline", given["t"])
    found = BSpline(t, least_squares(x, values, t, k, given.get("w")), k)
    found.axis = axis % values.ndim
    return found


def generate_knots(
    x: ArrayLike, y: ArrayLike, *, w: ArrayLike | None = None, **options: Any
) -> Iterator[Any]:
    """As `scipy.interpolate.generate_knots`: places among the abscissae,
    which are a choice.
    """
    if holds_expr([x, *options.values()]):
        raise type_error(
            "generate_knots: expected plain abscissae, but got traced ones; give it fg.stop_gradient(x), and "
            "make_lsq_spline the traced ones",
        )
    given = by_value([y, w], "generate_knots")
    return iter(_scipy.generate_knots(x, given[0], w=given[1], **options))


def least_squares(
    x: Array, y: Array, t: Array, k: int, w: ArrayLike | None, penalty: Array | None = None
) -> Any:
    """The coefficients of the spline with the least sum of the squares of w times its errors.

    ``penalty`` is a matrix whose product with the coefficients is added to them.
    """
    matrix, right = basis_at(t, k, x), y.reshape(y.shape[0], -1)
    if w is not None:
        weights = real("weights", w)[:, None]
        matrix, right = weights * matrix, weights * right
    if penalty is not None:
        matrix = np.concatenate([matrix, penalty])
        right = np.pad(right, [(0, penalty.shape[0]), (0, 0)])
    q, r = np.linalg.qr(matrix)
    return np.linalg.solve(r, np.conj(q.T) @ right).reshape((-1, *y.shape[1:]))
