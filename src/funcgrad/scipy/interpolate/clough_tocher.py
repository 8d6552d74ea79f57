"""Piecewise cubic interpolation on triangles (Clough and Tocher), in the values and the points."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as _scipy
from scipy.sparse import coo_array
from scipy.spatial import Delaunay

from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import number, taken, with_value, without_derivative
from funcgrad.scipy.interpolate.scattered import OnTriangles, barycentric_in, coordinates
from funcgrad.scipy.sparse.linalg import splu
from funcgrad.typing import Array, ArrayLike


class CloughTocher2DInterpolator(OnTriangles):
    """As `scipy.interpolate.CloughTocher2DInterpolator`, also in the values
    and the points x.

    The triangles are those of plain data. SciPy estimates the gradients at the
    vertices by iteration, up to ``tol``; their derivatives are those of the
    limit.
    """

    def __init__(
        self,
        points: ArrayLike,
        values: ArrayLike,
        fill_value: ArrayLike = np.nan,
        tol: float = 1e-6,
        maxiter: int = 400,
        rescale: bool = False,
    ) -> None:
        self._options = {
            "fill_value": np.nan if holds_expr(fill_value) else fill_value,
            "tol": tol,
            "maxiter": maxiter,
            "rescale": rescale,
        }
        plain = self._set_values(points, values, fill_value)
        self.own = _scipy.CloughTocher2DInterpolator(points, plain, **self._options)

    def __call__(self, *args: ArrayLike, **options: float) -> Any:
        """The interpolant at points, whose coordinates are along the last axis, or given one by one."""
        own: Any = self.own
        if not holds_expr([self.values, self.fill_value, *args]):
            return own(*args, **options)
        q = coordinates("CloughTocher2DInterpolator", args, 2)
        flat = q.reshape(-1, 2)
        if own.scale is not None:  # the points were shifted and scaled
            flat = (flat - own.offset) / own.scale
        values: Any = lift_fully(number("CloughTocher2DInterpolator", self.values))
        rows = values.reshape(values.shape[0], -1)
        known = not holds_expr(self.values)
        gradients: Any = own.grad if known else _gradients(own.tri, rows)
        found, shares = barycentric_in(own.tri, flat)
        gradients = lift_fully(gradients)
        value = _cubic(own.tri, found, shares, rows, gradients)
        if not known:
            value = with_value(self._own_value(flat, rows), value)
        value = self._filled(found >= 0, value)
        return value.reshape((*q.shape[:-1], *values.shape[1:]))

    def _own_value(self, q: Array, rows: Array) -> Any:
        """SciPy's value, with the gradients of its iteration."""
        options = {**self._options, "rescale": False}

        def run(q: Array, rows: Array) -> Any:
            return _scipy.CloughTocher2DInterpolator(self.own.tri, rows, **options)(q)

        out = ArrayType((q.shape[0], rows.shape[1]), rows.dtype)
        return without_derivative("clough_tocher", run, out, q, rows)


def _gradients(tri: Delaunay, values: Array) -> Any:
    """The gradients at the vertices, by values: those for which the curvature along the edges is least."""
    starts, ends = tri.vertex_neighbor_vertices
    first = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    edge = tri.points[ends] - tri.points[first]
    cube = np.sum(edge * edge, axis=1) ** 1.5
    weight = edge[:, :, None] * edge[:, None, :] / cube[:, None, None]
    count = len(tri.points)
    entries = []
    for factor, column in ((4, first), (2, ends)):
        row = 2 * first[:, None, None] + np.arange(2)[:, None] + np.zeros(2, int)
        other = 2 * column[:, None, None] + np.arange(2) + np.zeros((2, 1), int)
        entries.append((factor * weight.ravel(), row.ravel(), other.ravel()))
    data, rows, columns = [np.concatenate(parts) for parts in zip(*entries, strict=True)]
    matrix = coo_array((data, (rows, columns)), shape=(2 * count, 2 * count)).tocsc()
    rise = 6 * (values[ends] - values[first])[:, None, :] * (edge / cube[:, None])[:, :, None]
    right = lift_fully(np.zeros((count, 2, values.shape[1]), values.dtype)).at[first].add(rise)
    found = splu(matrix).solve(right.reshape(2 * count, -1))
    return np.transpose(found.reshape(count, 2, -1), (0, 2, 1))


def _cubic(tri: Delaunay, place: Array, b: Array, values: Array, gradients: Array) -> Any:
    """The cubic on the third of a triangle in which a point lies, by Bernstein's coefficients.

    Its slope across each edge is linear in the direction to the center of the triangle beyond it.
    """
    corners = taken(tri.simplices, place)
    points = taken(tri.points, corners)
    f = [taken(values, corners[:, i]) for i in range(3)]
    slope = [taken(gradients, corners[:, i]) for i in range(3)]
    g = [taken(part, place)[:, None] for part in _directions(tri)]

    def third(i: int, j: int) -> Any:
        """The coefficient beside corner i on the edge to corner j."""
        edge = (points[:, j] - points[:, i])[:, None, :]
        return f[i] + np.sum(slope[i] * edge, axis=-1) / 3

    near = {(i, j): third(i, j) for i in range(3) for j in range(3) if i != j}
    inner = [(f[i] + near[i, (i + 1) % 3] + near[i, (i + 2) % 3]) / 3 for i in range(3)]
    across = []
    for i in range(3):  # beside the edge from corner j to corner k
        j, k = (i + 1) % 3, (i + 2) % 3
        along_edge = f[k] - 3 * near[k, j] + 3 * near[j, k] - f[j]
        across.append(
            (g[i] * along_edge - f[j] + 2 * near[j, k] - near[k, j] + inner[k] + inner[j]) / 2
        )
    second = [(across[(i + 1) % 3] + across[(i + 2) % 3] + inner[i]) / 3 for i in range(3)]
    least = np.min(b, axis=1, keepdims=True)
    s, rest = [(b[:, i : i + 1] - least) for i in range(3)], 3 * least
    total = rest**3 * sum(second) / 3
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        total = total + s[i] ** 3 * f[i] + 3 * s[i] ** 2 * (s[j] * near[i, j] + s[k] * near[i, k])
        total = total + 3 * rest * s[i] * (s[i] * inner[i] + rest * second[i])
        total = total + 6 * s[j] * s[k] * rest * across[i]
    return total


def _directions(tri: Delaunay) -> list[Any]:
    """For each corner of all triangles, the direction across the other edge, by its share along that edge."""
    found = []
    centers = np.mean(tri.points[tri.simplices], axis=1)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        beyond = tri.neighbors[:, i]
        shift = centers[beyond] - tri.transform[:, 2]
        two = np.einsum("sij,sj->si", tri.transform[:, :2], shift)
        c = np.concatenate([two, 1 - two.sum(axis=1, keepdims=True)], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (2 * c[:, k] + c[:, j] - 1) / (2 - 3 * c[:, k] - 3 * c[:, j])
        found.append(np.where(beyond < 0, -0.5, share))
    return found
