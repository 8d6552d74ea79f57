"""Cubic interpolants of data, in the data and their abscissae: the slopes at the knots, as SciPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.interpolate as _scipy

from funcgrad.scipy.banded_matrices import solve_banded
from funcgrad.scipy.composition import number, real
from funcgrad.scipy.interpolate.knot_order import expect_rising
from funcgrad.scipy.interpolate.piecewise import PPoly
from funcgrad.scipy.interpolate.polynomial_pieces import along
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike


def _data(who: str, x: ArrayLike, y: ArrayLike, axis: int) -> tuple[Array, Array, int]:
    """The abscissae, and the data with their axis first."""
    knots, values = real(who, x), number(who, y)
    axis = axis % values.ndim
    if knots.ndim != 1 or knots.shape[0] < 2 or values.shape[axis] != knots.shape[0]:
        raise value_error(
            f"{who}: expected n >= 2 abscissae and data with n entries along axis {axis}, but got "
            f"{knots.shape} and {values.shape}",
        )
    expect_rising("`x` must be strictly increasing sequence.", knots)
    return knots, np.moveaxis(values, axis, 0), axis


class CubicHermiteSpline(PPoly, of=_scipy.CubicHermiteSpline):
    """As `scipy.interpolate.CubicHermiteSpline`."""

    def _set_traced(  # type: ignore[override]
        self, x: ArrayLike, y: ArrayLike, dydx: ArrayLike, axis: int = 0, extrapolate: object = None
    ) -> None:
        knots, values, axis = _data("CubicHermiteSpline", x, y, axis)
        slopes = np.moveaxis(number("CubicHermiteSpline", dydx), axis, 0)
        if slopes.shape != values.shape:
            raise value_error("The shapes of `y` and `dydx` must be identical.")
        self._set_hermite(knots, values, slopes, extrapolate, axis)

    def _set_hermite(
        self, x: Array, y: Array, slopes: Array, extrapolate: object, axis: int
    ) -> None:
        """The piecewise cubic with these values and slopes at the knots."""
        width = along(np.diff(x), y.ndim - 1)
        chord = np.diff(y, axis=0) / width
        bend = (slopes[:-1] + slopes[1:] - 2 * chord) / width
        c = np.stack([bend / width, (chord - slopes[:-1]) / width - bend, slopes[:-1], y[:-1]])
        self._set(c, x, extrapolate, axis)

    def _set_local(
        self,
        slopes: Callable[[Array, Array], Any],
        x: ArrayLike,
        y: ArrayLike,
        axis: int,
        extrapolate: object,
    ) -> None:
        """The piecewise cubic with slopes at the knots that are those of nearby data."""
        knots, values, axis = _data(type(self).__name__, x, y, axis)
        width = along(np.diff(knots), values.ndim - 1)
        chord = np.diff(values, axis=0) / width
        two = knots.shape[0] == 2
        found = np.concatenate([chord, chord]) if two else slopes(width, chord)
        self._set_hermite(knots, values, found, extrapolate, axis)


# -- splines -----------------------------------------------------------------------------------------
class CubicSpline(CubicHermiteSpline, of=_scipy.CubicSpline):
    """As `scipy.interpolate.CubicSpline`: the spline, also in the data, their
    abscissae and end conditions.

    >>> import funcgrad as fg
    >>> fg.grad(lambda y: CubicSpline([0.0, 1.0, 2.0], y)(0.5))(np.array([0.0, 1.0, 4.0]))
    array([ 0.375,  0.75 , -0.125])
    """

    def _set_traced(  # type: ignore[override]  # each has SciPy's arguments of its own
        self,
        x: ArrayLike,
        y: ArrayLike,
        axis: int = 0,
        bc_type: object = "not-a-knot",
        extrapolate: object = None,
    ) -> None:
        knots, values, axis = _data("CubicSpline", x, y, axis)
        if extrapolate is None:
            extrapolate = "periodic" if _is(bc_type, "periodic") else True
        slopes = _spline_slopes(knots, values, bc_type)
        self._set_hermite(knots, values, slopes, extrapolate, axis)


def _spline_slopes(x: Array, y: Array, bc_type: Any) -> Any:
    width = np.diff(x)
    chord = np.diff(y, axis=0) / along(width, y.ndim - 1)
    if isinstance(bc_type, str) and bc_type == "periodic":
        return _periodic_slopes(width, chord)
    start, end = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    if x.shape[0] == 2:  # as SciPy: a line, but for given slopes
        start, end = [(1, chord[0]) if _is(end, "not-a-knot") else end for end in (start, end)]
    if x.shape[0] == 3 and _is(start, "not-a-knot") and _is(end, "not-a-knot"):
        return _parabola_slopes(width, chord)
    first = _end_row(start, width, chord)
    last = _end_row(end, width[::-1], chord[::-1], -1.0)
    bands, inner = _inner_rows(width, chord, first[:2], last[:2])
    right = np.concatenate([first[2][None], inner, last[2][None]])
    return _solved_by_bands(bands, right)


def _is(condition: object, name: str) -> bool:
    return isinstance(condition, str) and condition == name


def _solved(matrix: Array, right: Array) -> Any:
    return np.linalg.solve(matrix, right.reshape(right.shape[0], -1)).reshape(right.shape)


# Equations up to which a full matrix is as quick.
_FEW = 64


def _solved_by_bands(bands: tuple[Any, Any, Any], right: Array) -> Any:
    """The solution of a tridiagonal system, given the diagonals from the upper to the lower one."""
    upper, main, lower = bands
    if main.shape[0] <= _FEW:
        return _solved(np.diag(upper, 1) + np.diag(main) + np.diag(lower, -1), right)
    blank = np.zeros(1)
    rows = np.stack([np.concatenate([blank, upper]), main, np.concatenate([lower, blank])])
    found = solve_banded((1, 1), rows, right.reshape(right.shape[0], -1))
    return found.reshape(right.shape)


def _inner_rows(
    width: Array, chord: Array, first: tuple[Any, Any], last: tuple[Any, Any]
) -> tuple[tuple[Any, Any, Any], Any]:
    """The diagonals of the matrix, and the right sides of its rows but the first and the last."""
    main = np.concatenate([_one(first[0]), 2 * (width[:-1] + width[1:]), _one(last[0])])
    upper = np.concatenate([_one(first[1]), width[:-1]])
    lower = np.concatenate([width[1:], _one(last[1])])
    before, after = [along(part, chord.ndim - 1) for part in (width[:-1], width[1:])]
    return (upper, main, lower), 3 * (after * chord[:-1] + before * chord[1:])


def _one(value: Array) -> Any:
    return np.reshape(value, (1,))


def _end_row(
    condition: Sequence[Any], width: Array, chord: Array, sign: float = 1.0
) -> tuple[Any, Any, Any]:
    """Two entries of the row of an end, and its right side; of the last end with reversed data."""
    if _is(condition, "not-a-knot"):
        both = width[0] + width[1]
        right = (width[0] + 2 * both) * width[1] * chord[0] + width[0] ** 2 * chord[1]
        return width[1], both, right / both
    names = {"natural": (2, 0.0), "clamped": (1, 0.0)}
    if isinstance(condition, str) and condition not in names:
        raise value_error(
            f"CubicSpline: expected an end condition 'not-a-knot', 'natural', 'clamped', 'periodic' or "
            f"(order, value), but got {condition!r}",
        )
    order, value = names[condition] if isinstance(condition, str) else condition
    value = value + 0 * chord[0]
    if order == 1:
        return np.ones(()), np.zeros(()), value
    if order == 2:
        right = -0.5 * sign * value * width[0] ** 2 + 3 * chord[0] * width[0]
        return 2 * width[0], width[0], right
    raise value_error(f"CubicSpline: expected a derivative of order 1 or 2, but got {order!r}")


def _parabola_slopes(width: Array, chord: Array) -> Any:
    """Three points without end conditions: the parabola through them."""
    second = (chord[1] - chord[0]) / (width[0] + width[1])
    first = chord[0] - width[0] * second
    return np.stack([first, chord[0] + width[0] * second, chord[1] + width[1] * second])


def _periodic_slopes(width: Array, chord: Array) -> Any:
    n = width.shape[0]
    if n == 2:  # three points
        mean = np.sum(chord / along(width, chord.ndim - 1), axis=0) / np.sum(1 / width)
        return np.stack([mean, mean, mean])
    before = np.roll(width, 1)
    eye = np.eye(n)
    matrix = (
        2 * (before + width)[:, None] * eye
        + width[:, None] * np.roll(eye, -1, axis=1)
        + before[:, None] * np.roll(eye, 1, axis=1)
    )
    here, past = [along(part, chord.ndim - 1) for part in (width, before)]
    slopes = _solved(matrix, 3 * (here * np.roll(chord, 1, axis=0) + past * chord))
    return np.concatenate([slopes, slopes[:1]])


# -- local slopes ------------------------------------------------------------------------------------
class PchipInterpolator(CubicHermiteSpline, of=_scipy.PchipInterpolator):
    """As `scipy.interpolate.PchipInterpolator`."""

    def _set_traced(  # type: ignore[override]
        self, x: ArrayLike, y: ArrayLike, axis: int = 0, extrapolate: object = None
    ) -> None:
        self._set_local(_pchip_slopes, x, y, axis, extrapolate)


class Akima1DInterpolator(CubicHermiteSpline, of=_scipy.Akima1DInterpolator):
    """As `scipy.interpolate.Akima1DInterpolator`."""

    def _set_traced(  # type: ignore[override]
        self,
        x: ArrayLike,
        y: ArrayLike,
        axis: int = 0,
        *,
        method: str = "akima",
        extrapolate: object = None,
    ) -> None:
        slopes = partial(_akima_slopes, method=method)
        self._set_local(slopes, x, y, axis, bool(extrapolate))


def _pchip_slopes(width: Array, chord: Array) -> Any:
    """The weighted harmonic mean of the chords, 0 if they differ in sign (Fritsch and Butland 1984)."""
    left, right = chord[:-1], chord[1:]
    flat = np.logical_or(np.sign(left) != np.sign(right), np.logical_or(left == 0, right == 0))
    first, second = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    mean = (first / np.where(flat, 1.0, left) + second / np.where(flat, 1.0, right)) / (
        first + second
    )
    inner = np.where(flat, 0.0, 1 / np.where(flat, 1.0, mean))
    start = _pchip_end(width[0], width[1], chord[0], chord[1])
    end = _pchip_end(width[-1], width[-2], chord[-1], chord[-2])
    return np.concatenate([start[None], inner, end[None]])


def _pchip_end(h0: Array, h1: Array, m0: Array, m1: Array) -> Any:
    """One-sided, of three points, and limited to keep the shape."""
    slope = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = np.logical_and(np.sign(m0) != np.sign(m1), np.abs(slope) > 3 * np.abs(m0))
    limited = np.where(steep, 3 * m0, slope)
    return np.where(np.sign(slope) != np.sign(m0), 0.0, limited)


def _akima_slopes(width: Array, chord: Array, method: str) -> Any:
    if method not in ("akima", "makima"):
        raise value_error(f"Akima1DInterpolator: expected 'akima' or 'makima', but got {method!r}")
    before = 2 * chord[:1] - chord[1:2]
    after = 2 * chord[-1:] - chord[-2:-1]
    m = np.concatenate([2 * before - chord[:1], before, chord, after, 2 * after - chord[-1:]])
    turn = np.abs(np.diff(m, axis=0))
    first, second = turn[2:], turn[:-2]
    if method == "makima":
        mean = np.abs(m[1:] + m[:-1])
        first, second = first + 0.5 * mean[2:], second + 0.5 * mean[:-2]
    total = first + second
    moved = total > 1e-9 * np.max(total)
    share = second / np.where(moved, total, 1.0)
    return np.where(moved, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))
