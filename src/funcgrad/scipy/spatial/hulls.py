"""`ConvexHull` and `Delaunay` of traced points: volumes, areas and planes, of facets that are a choice."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.spatial as _scipy

from funcgrad.expr import concrete
from funcgrad.graph import ArrayType
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import SciPyWrapper, flat_root, real, with_value, without_derivative
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike


class _OfPoints(SciPyWrapper):
    """What Qhull makes of points: its own object of plain ones, and of traced ones what moves with them.

    Which points a facet or a simplex has is read from the values.
    """

    _plain_part = "points"
    _choices: tuple[str, ...]
    """The attributes that are choices, the same for all near points."""

    def _set_traced(self, points: ArrayLike, *args: object, **kwargs: object) -> None:
        name = type(self).__name__
        self.points: Any = real(name, points)
        if self.points.ndim != 2:
            raise value_error(
                f"{name}: expected points in the rows of a matrix, but got {self.points.shape}",
            )
        self.npoints, self.ndim = self.points.shape
        options = dict(kwargs)
        self._make: Callable[[Array], Any] = lambda value: self._kind(value, *args, **options)
        self._key = (self._kind, args, tuple(sorted(options.items())))

    def __getattr__(self, name: str) -> Any:
        if name in self._choices and self.own is None:
            return concrete(self.points, type(self).__name__, _reading(*self._key, name))
        return super().__getattr__(name)


@lru_cache(maxsize=256)
def _reading(kind: Any, args: Any, options: Any, name: str) -> Callable[[Array], Any]:
    return lambda points: getattr(kind(points, *args, **dict(options)), name)


class ConvexHull(_OfPoints, of=_scipy.ConvexHull):
    """As `scipy.spatial.ConvexHull`: ``volume``, ``area`` and ``equations`` of traced
    points.

    >>> import funcgrad as fg
    >>> square = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    >>> fg.grad(lambda p: ConvexHull(p).volume)(square)
    array([[-0.5, -1. ],
           [ 0.5, -1. ],
           [ 0.5,  1. ],
           [-0.5,  1. ]])
    """

    _choices = ("simplices", "vertices", "neighbors", "coplanar", "nsimplex", "good")

    def _edges(self) -> tuple[Any, Any]:
        """A point inside, and the corners of the facets as seen from there."""
        inside = np.mean(self.points[self.vertices], axis=0)
        return inside, self.points[self.simplices] - inside

    @property
    def volume(self) -> Any:
        """The volume, in two dimensions the area."""
        if self.own is not None:
            return self.own.volume
        found = np.sum(np.abs(np.linalg.det(self._edges()[1]))) / math.factorial(self.ndim)
        return with_value(self._number("volume"), found)

    @property
    def area(self) -> Any:
        """The area of the surface, in two dimensions the length of the outline."""
        if self.own is not None:
            return self.own.area
        _, corners = self._edges()
        sides = corners[:, 1:] - corners[:, :1]
        square = np.linalg.det(sides @ np.swapaxes(sides, -1, -2))
        roots = flat_root(np.maximum(square, 0.0))  # a facet may be without area
        found = np.sum(roots) / math.factorial(self.ndim - 1)
        return with_value(self._number("area"), found)

    def _number(self, name: str) -> Any:
        """SciPy's volume or area."""
        run = lambda points: float(getattr(self._make(points), name))  # noqa: E731
        return without_derivative(name, run, 1.0, self.points)

    @property
    def equations(self) -> Any:
        """The normal of each facet, outward, and its offset."""
        if self.own is not None:
            return self.own.equations
        inside, corners = self._edges()
        ones = np.ones((*corners.shape[:2], 1))
        normals = np.linalg.solve(corners, ones)[..., 0]
        size = np.linalg.norm(normals, axis=1, keepdims=True)
        offsets = -(1 + normals @ inside)[:, None]
        return np.concatenate([normals, offsets], axis=1) / size


class Delaunay(_OfPoints, of=_scipy.Delaunay):
    """As `scipy.spatial.Delaunay`: ``points`` and ``transform`` of traced points."""

    _choices = (
        *("simplices", "neighbors", "coplanar", "convex_hull", "vertex_to_simplex", "nsimplex"),
        "vertex_neighbor_vertices",
    )

    @property
    def transform(self) -> Any:
        """For each simplex, the matrix of barycentric coordinates and the last corner."""
        if self.own is not None:
            return self.own.transform
        corners = self.points[self.simplices]
        sides = np.swapaxes(corners[:, :-1] - corners[:, -1:], -1, -2)
        return np.concatenate([np.linalg.inv(sides), corners[:, -1:]], axis=1)

    def find_simplex(
        self, xi: ArrayLike, bruteforce: bool = False, tol: float | None = None
    ) -> Any:
        """As SciPy's method, without a derivative."""
        if self.own is not None and not holds_expr(xi):
            return self.own.find_simplex(xi, bruteforce, tol)
        at: Any = real("find_simplex", xi)
        make = None if self.own is not None else self._make

        def find(x: Array, *points: Array) -> Any:
            made = self.own if make is None else make(*points)
            return made.find_simplex(x, bruteforce, tol)

        given = [at] if make is None else [at, self.points]
        out = ArrayType(at.shape[:-1], np.dtype(np.int32))
        return without_derivative("find_simplex", find, out, *given)
