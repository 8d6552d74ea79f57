"""Interpolants of scattered data: linear on triangles, and by the nearest point."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.interpolate as _scipy
from scipy.spatial import Delaunay

from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import SciPyWrapper, number, real, taken, without_derivative
from funcgrad.scipy.interpolate.polynomial_pieces import along
from funcgrad.source import type_error, value_error
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.typing import Array, ArrayLike


class OnTriangles(SciPyWrapper):
    """A wrapper of SciPy's interpolants on triangles between plain points, also in the values."""

    values: Any
    fill_value: Any
    """Outside of the triangles: it may be traced."""

    def _set_values(self, points: Any, values: ArrayLike, fill_value: Any) -> Any:
        """Keep the values; plain ones, for SciPy's object, are returned."""
        who = type(self).__name__
        if holds_expr(points):
            raise type_error(
                f"{who}: expected plain points, since triangles between them change by jumps, but got traced "
                "ones; traced values, and traced places to interpolate at, have derivatives",
            )
        self.values = number(who, values) if holds_expr(values) else values
        self.fill_value = number(who, fill_value) if holds_expr(fill_value) else fill_value
        return np.zeros(np.shape(self.values)) if holds_expr(values) else values

    def _set_own(self, own: Any) -> None:
        self.own, self.values = own, own.values.reshape((-1, *own.values_shape))
        self.fill_value = own.fill_value

    def _filled(self, inside: Array, value: Any) -> Any:
        """Values at points, with the one outside of the triangles in its places."""
        return np.where(along(inside, value.ndim - 1), value, self.fill_value)


class LinearNDInterpolator(OnTriangles):
    """As `scipy.interpolate.LinearNDInterpolator`, also in the values and the
    points x.

    The triangles are those of plain data; the search for the one around x has
    derivative 0.

    >>> import funcgrad as fg
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> plane = LinearNDInterpolator(corners, [1.0, 3.0, 6.0])
    >>> [round(slope, 12) for slope in fg.grad(plane, (0, 1))(0.2, 0.3)]
    [2.0, 5.0]
    """

    def __init__(
        self, points: Any, values: ArrayLike, fill_value: Any = np.nan, rescale: bool = False
    ) -> None:
        plain = self._set_values(points, values, fill_value)
        fill = np.nan if holds_expr(fill_value) else fill_value
        self.own = _scipy.LinearNDInterpolator(points, plain, fill, rescale)

    def __call__(self, *args: Any, simplex_tolerance: float = 1.0) -> Any:
        """The interpolant at points, whose coordinates are along the last axis, or given one by one."""
        own: Any = self.own
        if not holds_expr([self.values, self.fill_value, *args]):
            # SciPy has the argument since version 1.18.
            options = {} if simplex_tolerance == 1 else {"simplex_tolerance": simplex_tolerance}
            return own(*args, **options)
        q = coordinates("LinearNDInterpolator", args, own.tri.ndim)
        flat = q.reshape(-1, own.tri.ndim)
        if own.scale is not None:  # the points were shifted and scaled
            flat = (flat - own.offset) / own.scale
        found, shares = barycentric_in(own.tri, flat, simplex_tolerance)
        at_corners = taken(
            number("LinearNDInterpolator", self.values), taken(own.tri.simplices, found)
        )
        value = np.einsum("pc,pc...->p...", shares, at_corners)
        value = self._filled(found >= 0, value)
        return value.reshape((*q.shape[:-1], *value.shape[1:]))


def coordinates(who: str, args: tuple[Any, ...], size: int | None = None) -> Any:
    """Points whose coordinates are along the last axis, or given one by one; one alone is one of a list."""
    given = args[0] if len(args) == 1 else args
    if isinstance(given, tuple):
        return real(who, np.stack(np.broadcast_arrays(*given), axis=-1))
    q = real(who, given)
    if size is not None and q.shape[-1:] != (size,):
        raise value_error(
            f"{who}: expected {size} coordinates along the last axis, but got {q.shape}",
        )
    return q if q.ndim > 1 else q[None]


def barycentric_in(tri: Delaunay, q: Array, simplex_tolerance: float = 1.0) -> tuple[Any, Any]:
    """The simplex around each point, -1 of none, and the barycentric coordinates in it."""
    size = tri.ndim
    tolerance = 100 * np.finfo(float).eps * simplex_tolerance
    find_simplex = partial(tri.find_simplex, tol=tolerance)
    found = primitive(find_simplex, out=_one_each, name="find_simplex")(lift_fully(q))
    transform = taken(tri.transform, found)
    share = np.sum(transform[:, :size] * (q - transform[:, size])[:, None, :], axis=-1)
    return found, np.concatenate([share, 1 - np.sum(share, axis=-1, keepdims=True)], axis=-1)


def _one_each(points: ArrayType) -> ArrayType:
    return ArrayType(points.shape[:1], np.dtype(np.int32))


class NearestNDInterpolator(SciPyWrapper, of=_scipy.NearestNDInterpolator):
    """As `scipy.interpolate.NearestNDInterpolator`, in the values; which point is
    nearest has derivative 0.
    """

    values: Any

    def _set_traced(
        self,
        x: ArrayLike,
        y: ArrayLike,
        rescale: bool = False,
        tree_options: dict[str, Any] | None = None,
    ) -> None:
        self.values, self._made = y, (x, rescale, tree_options)

    def _set_own(self, own: Any) -> None:
        self.own, self.values = own, own.values

    def __call__(self, *args: ArrayLike, **options: object) -> Any:
        """The value at the nearest point; NaN where ``distance_upper_bound`` excludes all."""
        own: Any = self.own
        if own is not None and not holds_expr(args):
            return own(*args, **options)
        q = coordinates("NearestNDInterpolator", args)
        flat = q.reshape(-1, q.shape[-1])

        def places(q: Array, *points: Array) -> Any:
            """The place of the nearest point, -1 of none."""
            indices, interpolant = np.arange(len(points[0]) if points else len(own.values)), own
            if points:
                _, rescale, tree_options = self._made
                interpolant = _scipy.NearestNDInterpolator(
                    points[0], indices, rescale, tree_options
                )
            distance, found = interpolant.tree.query(interpolant._scale_x(q), **options)
            return np.where(np.isfinite(distance), found, -1)

        given = [] if own is not None else [coordinates("NearestNDInterpolator", self._made[:1])]
        out = ArrayType(flat.shape[:1], np.dtype(np.int64))
        found = without_derivative("nearest", places, out, flat, *given)
        values = number("NearestNDInterpolator", self.values)
        value = taken(values, np.where(found < 0, 0, found))
        value = np.where(along(found >= 0, value.ndim - 1), value, np.nan)
        return value.reshape((*q.shape[:-1], *value.shape[1:]))
