"""Interpolation on grids: along one axis, and multilinear."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.interpolate as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import (
    SciPyWrapper,
    as_single,
    composed,
    floating,
    number,
    real,
    taken,
)
from funcgrad.scipy.interpolate.cubic import CubicSpline, PchipInterpolator
from funcgrad.scipy.interpolate.knot_order import expect_rising
from funcgrad.scipy.interpolate.polynomial_pieces import along, points_at
from funcgrad.scipy.interpolate.through_data import spline_weights
from funcgrad.source import type_error, value_error
from funcgrad.transforms.vmap import vmap
from funcgrad.typing import Array, ArrayLike

_KINDS = (
    *("linear", "slinear", "nearest", "nearest-up", "previous", "next", "zero"),
    *("quadratic", "cubic"),
)
_STEPS = ("nearest", "nearest-up", "previous", "next")
_SPLINES = {0: "zero", 1: "slinear", 2: "quadratic", 3: "cubic"}
_METHODS = ("linear", "slinear", "nearest", "cubic", "quintic", "pchip")
_DEGREES = {"cubic": 3, "quintic": 5}
"""The degrees of the splines on grids."""


def _cell(grid: Array, q: Array) -> tuple[tuple[Any, Any], Any]:
    """The ends of each point's cell, the end cells reaching to infinity, and the place in it from 0 to 1."""
    if grid.shape[0] == 1:
        place = np.zeros(q.shape, int)
        return (place, place), np.zeros(q.shape)
    place = np.clip(np.searchsorted(grid, q, side="right") - 1, 0, grid.shape[0] - 2)
    left = taken(grid, place)
    return (place, place + 1), (q - left) / (taken(grid, place + 1) - left)


class interp1d(SciPyWrapper, of=_scipy.interp1d):  # noqa: N801
    """As `scipy.interpolate.interp1d`, also in the data, their abscissae and the
    points x.

    ``kind`` is 'linear', 'nearest', 'nearest-up', 'previous', 'next', 'zero',
    'quadratic' (at plain abscissae) or 'cubic'. A traced point outside the
    range gives nan where SciPy raises ValueError for a plain one.

    >>> import funcgrad as fg
    >>> fg.grad(interp1d([0.0, 1.0, 3.0], [0.0, 2.0, 3.0]))(2.0)
    0.5
    """

    def _set_traced(
        self,
        x: ArrayLike,
        y: ArrayLike,
        kind: str | int = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: Any = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        self.fill_value = _without_none(fill_value)
        self.kind = _SPLINES.get(kind, kind) if isinstance(kind, int) else kind
        self._prepare(x, y, axis, assume_sorted)

    def _set_own(self, own: Any) -> None:
        self.own, self.kind, self.fill_value = own, own._kind, _without_none(own.fill_value)
        if self.kind == "spline":
            self.kind = _SPLINES.get(own._spline.k, own._spline.k)

    def _prepare(self, x: Any, y: Any, axis: int, assume_sorted: bool) -> None:
        if self.kind not in _KINDS and not isinstance(self.kind, int):
            raise type_error(
                f"interp1d: expected a kind among {', '.join(_KINDS)}, or a degree, but got {self.kind!r}",
            )
        # SciPy has a line in the dtype of all, and a step in that of the data.
        self.kept = {"linear": (x, y), **dict.fromkeys(_STEPS, (y,))}.get(str(self.kind))
        double = all([floating("interp1d", item).dtype == float for item in (x, y)])
        x, y = real("interp1d", x), number("interp1d", y)
        # SciPy calls NumPy's interp then, whose value at a node does not depend on other nodes.
        self.by_numpy = double and y.ndim == 1 and not isinstance(self.fill_value, str)
        if not assume_sorted:
            order = np.argsort(x, kind="stable")
            x, y = x[order], np.take(y, order, axis=axis)
        self.axis = axis % y.ndim
        self.x, self.y, self._rows = x, y, np.moveaxis(y, axis, 0)

    def __call__(self, x: ArrayLike) -> Any:
        """The interpolant at the points x."""
        own = self.own
        if own is not None:
            if not holds_expr(x):
                return own(x)
            # SciPy has sorted the data.
            self._prepare(own.x, own.y, own.axis, True)
        q = real("interp1d", x)
        value = self._filled(q.reshape(-1))
        if self.kept is not None:
            value = as_single(value, *self.kept, *([x] if self.kind == "linear" else []))
        return points_at(self.axis, q.ndim, value.reshape((*q.shape, *self._rows.shape[1:])))

    def _filled(self, q: Array) -> Any:
        value = self._value(q)
        fill = self.fill_value
        if isinstance(fill, str):  # "extrapolate": a step that does not begin is NaN, as SciPy's
            empty = {"previous": q < self.x[0], "next": q > self.x[-1]}.get(str(self.kind))
            if empty is not None:
                value = np.where(along(empty, self._rows.ndim - 1), np.nan, value)
            return value
        below, above = fill if isinstance(fill, tuple) and len(fill) == 2 else (fill, fill)
        axes = self._rows.ndim - 1
        value = np.where(along(q < self.x[0], axes), below, value)
        return np.where(along(q > self.x[-1], axes), above, value)

    def _value(self, q: Array) -> Any:
        x, y = self.x, self._rows
        if self.kind == "cubic":
            return CubicSpline(x, y)(q) + np.zeros((*q.shape, *y.shape[1:]))
        if self.kind == "quadratic" or isinstance(self.kind, int):
            degree = self.kind if isinstance(self.kind, int) else 2
            return np.tensordot(spline_weights(x, degree, q), y, 1)
        if self.kind == "linear" and self.by_numpy:
            return np.interp(q, x, y)
        if self.kind == "slinear":  # a spline, whose cell is the one on the right of a node
            (first, second), share = _cell(x, q)
            weight = along(share, y.ndim - 1)
            return (1 - weight) * taken(y, first) + weight * taken(y, second)
        if self.kind == "linear":
            # A point on a node belongs to the cell on its left.
            place = np.clip(np.searchsorted(x, q), 1, x.shape[0] - 1) - 1
            left, low = taken(x, place), taken(y, place)
            width = along(taken(x, place + 1) - left, y.ndim - 1)
            return low + (taken(y, place + 1) - low) / width * along(q - left, y.ndim - 1)
        return taken(y, self._nearest(q))

    def _nearest(self, q: Array) -> Any:
        x, last = self.x, self.x.shape[0] - 1
        if self.kind in ("nearest", "nearest-up"):
            middle = (x[1:] + x[:-1]) / 2
            if self.kind == "nearest":
                return np.clip(np.searchsorted(middle, q), 0, last)
            return np.clip(np.searchsorted(middle, q, side="right"), 0, last)
        if self.kind == "next":
            return np.clip(np.searchsorted(x, q, side="left"), 0, last)
        return np.clip(np.searchsorted(x, q, side="right") - 1, 0, last)


def _without_none(fill_value: Any) -> Any:
    """None is NaN, as in an array of numbers."""
    if isinstance(fill_value, tuple):
        return tuple([_without_none(item) for item in fill_value])
    is_none = isinstance(fill_value, np.ndarray) and fill_value.dtype == object
    return fill_value.astype(float) if is_none else np.nan if fill_value is None else fill_value


class RegularGridInterpolator(SciPyWrapper, of=_scipy.RegularGridInterpolator):
    """As `scipy.interpolate.RegularGridInterpolator`, also in the values, the
    grid and the points.

    ``method`` is 'linear', 'slinear', 'nearest', or on a plain grid 'cubic' or
    'quintic', for traced values. SciPy solves for the coefficients of splines
    by iteration, to about 1e-6; here they have all digits. A traced point
    outside the grid gives nan where SciPy raises ValueError for a plain one.
    """

    def _set_traced(
        self,
        points: Sequence[ArrayLike],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: ArrayLike | None = np.nan,
        **options: object,
    ) -> None:
        self.method, self.fill_value = method, fill_value
        self.grid = [real("RegularGridInterpolator", axis) for axis in points]
        for k, axis in enumerate(self.grid):
            expect_rising(
                f"The points in dimension {k} must be strictly ascending or descending",
                axis,
                or_falling=True,
            )
        self.values = floating("RegularGridInterpolator", values)

    def _set_own(self, own: Any) -> None:
        self.own, self.method, self.fill_value = own, own.method, own.fill_value
        self.grid, self.values = list(own.grid), own.values

    def __call__(self, xi: Any, method: str | None = None, **options: Any) -> Any:
        """The interpolant at points, whose coordinates are along the last axis, or in a tuple."""
        if self.own is not None and not holds_expr(xi):
            return self.own(xi, method, **options)
        method = self.method if method is None else method
        if method not in _METHODS or options:
            raise type_error(
                f"RegularGridInterpolator: expected a method among {', '.join(_METHODS)} for traced values, "
                f"but got {method!r}" + "".join(f" and {name}" for name in options),
            )
        if isinstance(xi, tuple):
            xi = np.stack(np.broadcast_arrays(*xi), axis=-1)
        q = real("RegularGridInterpolator", xi)
        if q.shape[-1:] != (len(self.grid),) and not (len(self.grid) == 1 and q.ndim == 1):
            raise value_error(
                f"RegularGridInterpolator: expected points with {len(self.grid)} coordinates along the "
                f"last axis, but got {q.shape}",
            )
        points = q.reshape(-1, len(self.grid))
        grid, values = self._rising()
        if method in _DEGREES:
            found = _spline(grid, values, points, _DEGREES[method])
        elif method == "pchip":
            found = _pchip(grid, values, points)
        else:
            value = _nearest_corner if method == "nearest" else _multilinear
            found = value(grid, values, points)
        rest = values.shape[len(grid) :]
        if self.fill_value is not None:
            outside: Any = False
            for k, axis in enumerate(grid):
                here = np.logical_or(points[:, k] < axis[0], points[:, k] > axis[-1])
                outside = np.logical_or(outside, here)
            found = np.where(along(outside, len(rest)), self.fill_value, found)
        unknown = np.any(np.isnan(points), axis=-1)
        found = np.where(along(unknown, len(rest)), np.nan, found)
        shape = q.shape[:-1] if q.ndim > 1 else (points.shape[0],)
        return found.reshape((*shape, *rest))

    def _rising(self) -> tuple[list[Array], Array]:
        """The grid, and the values, with their axes sorted."""
        grid, values = list(self.grid), self.values
        for k, axis in enumerate(grid):
            if holds_expr(axis) or np.any(axis[1:] < axis[:-1]):
                order = np.argsort(axis, kind="stable")
                grid[k], values = taken(axis, order), np.take(values, order, axis=k)
        return grid, values


@composed(_scipy)
def interpn(points: Sequence[ArrayLike], values: ArrayLike, xi: ArrayLike, **options: Any) -> Any:
    """As `scipy.interpolate.interpn`: the values at xi of a
    `RegularGridInterpolator`.

    >>> import funcgrad as fg
    >>> fg.grad(lambda x: interpn([[0.0, 1.0, 3.0]], [0.0, 2.0, 8.0], x)[0])(np.array([2.0]))
    array([3.])
    """
    return RegularGridInterpolator(points, values, **options)(xi)


def _multilinear(grid: Sequence[Array], values: Array, points: Array) -> Any:
    cells = [_cell(axis, points[:, k]) for k, axis in enumerate(grid)]
    axes = values.ndim - len(grid)
    total: Any = 0.0
    for corner in itertools.product((0, 1), repeat=len(grid)):
        places = [ends[up] for (ends, _), up in zip(cells, corner, strict=True)]
        weight: Any = 1.0
        for (_, share), up in zip(cells, corner, strict=True):
            weight = weight * (share if up else 1 - share)
        total = total + along(weight, axes) * taken(values, tuple(places))
    return total


def _pchip(grid: Sequence[Array], values: Array, points: Array) -> Any:
    """Monotone cubics along the last axis, and then for each point along those before it."""
    last = len(grid) - 1
    found = PchipInterpolator(grid[last], np.moveaxis(values, last, 0))(points[:, last])
    for k in reversed(range(last)):

        def one(y: Array, x: Array, k: int = k) -> Any:
            return PchipInterpolator(grid[k], np.moveaxis(y, k, 0))(x)

        found = vmap(one)(found, points[:, k])
    return found


def _spline(grid: Sequence[Array], values: Array, points: Array, degree: int) -> Any:
    """A product of splines along the axes: each point's weights along each axis in turn."""
    found: Any = None
    for k, axis in enumerate(grid):
        weights = spline_weights(axis, degree, points[:, k])
        if found is None:
            found = np.tensordot(weights, values, 1)
        else:
            found = np.einsum("pi,pi...->p...", weights, found)
    return found


def _nearest_corner(grid: Sequence[Array], values: Array, points: Array) -> Any:
    places = []
    for k, axis in enumerate(grid):
        (low, high), share = _cell(axis, points[:, k])
        places.append(np.where(share <= 0.5, low, high))
    return taken(values, tuple(places))
