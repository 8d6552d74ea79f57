"""Polynomials on intervals: SciPy's compiled code of `PPoly`, `BPoly` and `NdPPoly`, for traced values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.interpolate as _scipy
from scipy.interpolate import _interpnd, _ppoly

from funcgrad.expr import concrete
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import (
    in_place_of,
    real,
    solution,
    storing,
    taken,
    without_derivative,
    writes,
)
from funcgrad.typing import Array, ArrayLike


def along(flat: Array, axis: int) -> Any:
    """A vector as an array that broadcasts along its first axis with arrays of more axes."""
    return flat.reshape((-1, *[1] * axis))


def points_at(axis: int, ndim: int, value: Array) -> Any:
    """Values at points, whose ndim axes come first, with these axes in the place of the data's axis."""
    if not axis:
        return value
    order = [*range(ndim, ndim + axis), *range(ndim), *range(ndim + axis, value.ndim)]
    return np.transpose(value, order)


def interval_of(x: Array, q: Array) -> Any:
    """The place of the interval around each point, the first or the last one outside; x may fall, too."""
    rising = np.where(x[0] < x[-1], 1.0, -1.0)
    place = np.searchsorted(rising * x, rising * q, side="right")
    return np.clip(place - 1, 0, x.shape[0] - 2)


def inside(x: Array, q: Array) -> Any:
    """Whether points lie between the first and the last breakpoint."""
    rising = np.where(x[0] < x[-1], 1.0, -1.0)
    return np.logical_and(rising * (q - x[0]) >= 0, rising * (q - x[-1]) <= 0)


# -- evaluation ------------------------------------------------------------------------------------------
@storing(_ppoly.evaluate_bernstein)
def evaluate_bernstein(c: Array, x: Array, xp: Array, nu: int, extrapolate: bool) -> Any:
    """Polynomials in Bernstein's basis, with axes of powers, intervals and values, at points."""
    given: Any = [lift_fully(part) for part in (c, x, xp)]
    c, x, q = given
    for _ in range(nu):
        degree = c.shape[0] - 1
        c = degree * np.diff(c, axis=0) / np.diff(x)[:, None] if degree else 0 * c
    place = interval_of(x, q)
    start = taken(x, place)
    share = along((q - start) / (taken(x, place + 1) - start), 1)
    k = c.shape[0] - 1
    found = sum(
        [
            math.comb(k, j) * share**j * (1 - share) ** (k - j) * taken(c[j], place)
            for j in range(k + 1)
        ]
    )
    return found if extrapolate else np.where(along(inside(x, q), 1), found, np.nan)


@storing(_ppoly.evaluate_nd)
def evaluate_nd(
    c: Array, xs: tuple[Array, ...], ks: Array, xp: Array, dx: Array, extrapolate: bool
) -> Any:
    """Polynomials of several variables: the axes of c are those of powers, of intervals and of values."""
    counts, orders = [int(k) for k in ks], [int(n) for n in dx]
    q: Any = lift_fully(xp)
    grids: Any = [lift_fully(x) for x in xs]
    places = tuple([interval_of(x, q[:, j]) for j, x in enumerate(grids)])
    sizes = [x.shape[0] - 1 for x in grids]
    pieces = lift_fully(c).reshape((*counts, *sizes, -1))
    found = pieces[(*[slice(None)] * len(counts), *places)]
    for j, (x, place) in enumerate(zip(grids, places, strict=True)):
        off = along(q[:, j] - taken(x, place), found.ndim - len(counts) + j - 1)
        found = horner(found, off, orders[j])
    if not extrapolate:
        within = np.all(np.stack([inside(x, q[:, j]) for j, x in enumerate(grids)]), axis=0)
        found = np.where(along(within, 1), found, np.nan)
    return found


def horner(c: Array | Sequence[Array], off: Array, nu: int) -> Any:
    """The derivative of order nu of a polynomial whose powers fall along the first axis."""
    degree = len(c) - 1
    value: Any = 0 * off if nu <= degree else 0 * c[0]
    for m in range(degree + 1 - nu):
        value = value * off + math.perm(degree - m, nu) * c[m]
    return value


@writes
def fix_continuity(c: Array, x: Array, order: int) -> None:
    """Set the powers up to an order of each piece so that it goes on as the one before it does."""
    if not holds_expr([c, x]):
        _ppoly.fix_continuity(c, x, order)
        return
    found: Any = lift_fully(c)
    width = along(np.diff(lift_fully(x))[:-1], 1)
    degree = found.shape[0] - 1
    for power in range(order, -1, -1):
        higher = found[: degree - power, :-1]
        rise: Any = 0 * higher[0]
        for m in range(degree - power):
            rise = (rise + math.comb(degree - m, power) * higher[m]) * width
        row = np.concatenate(
            [found[degree - power, :1], found[degree - power, :1] + np.cumsum(rise, axis=0)]
        )
        found = np.concatenate([found[: degree - power], row[None], found[degree - power + 1 :]])
    c[...] = found


@in_place_of(_interpnd._ndim_coords_from_arrays)
def coordinates_of(points: ArrayLike | tuple[ArrayLike, ...], ndim: int | None = None) -> Any:
    """Points whose coordinates are along the last axis, of an array or of a tuple of them."""
    if isinstance(points, tuple) and len(points) == 1:
        points = points[0]
    if isinstance(points, tuple):
        return np.stack(np.broadcast_arrays(*[real("points", item) for item in points]), axis=-1)
    found = real("points", points)
    return found.reshape(-1, 1 if ndim is None else ndim) if found.ndim == 1 else found


# -- roots -------------------------------------------------------------------------------------------------
@lru_cache(maxsize=8)
def _solver(discontinuity: bool, extrapolate: bool) -> Callable[..., Any]:
    """The roots, and for each the breakpoint where the sign jumps, -1 of none, by y, x and c in a vector."""

    def run(given: Array, degree: int) -> Any:
        count = (len(given) - 2) // (degree + 2)
        y, x, c = given[0], given[1 : count + 2], given[count + 2 :].reshape(degree + 1, count)
        found = _scipy.PPoly(c, x).solve(y, discontinuity, extrapolate)
        ends = np.array([np.polyval(c[:, i], x[i + 1] - x[i]) for i in range(count)]) - y
        jumps = 1 + np.flatnonzero(ends[:-1] * (c[-1, 1:] - y) < 0)
        jump = [next((int(j) for j in jumps if x[j] == root), -1) for root in found]
        return np.stack([found, np.asarray(jump, float)])

    return run


def solved(c: Array, x: Array, y: Array, discontinuity: bool, extrapolate: bool) -> Any:
    """The points where a piecewise polynomial is y: those of SciPy, moved as the data move."""
    degree, run = c.shape[0] - 1, _solver(discontinuity, extrapolate)
    whole: Any = np.concatenate(
        [lift_fully(y).reshape(1), lift_fully(x), lift_fully(c).reshape(-1)]
    )
    count = concrete(whole, "solve", _counter(run, degree))
    out = ArrayType((2, count), np.dtype(float))
    found = without_derivative("roots", lambda given: run(given, degree), out, whole)
    roots, jumps = found[0], found[1].astype(int)
    known = np.isnan(roots)
    place = interval_of(x, roots)

    def residual(q: Array, c: Array, x: Array, y: Array) -> Any:
        value = horner(taken(c.T, place).T, q - taken(x, place), 0) - y
        at_jump = q - taken(x, np.where(jumps < 0, 0, jumps))
        return np.where(known, q, np.where(jumps < 0, value, at_jump))

    moved = solution(np.where(known, 0.0, roots), residual, c, x, y)
    return np.where(known, np.nan, moved)


@lru_cache(maxsize=64)
def _counter(run: Callable[..., Any], degree: int) -> Callable[[Array], int]:
    return lambda given: int(run(given, degree).shape[1])
