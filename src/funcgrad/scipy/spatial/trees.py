"""Trees of points of `scipy.spatial`: distances to neighbors, in the points and in the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.spatial as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import SciPyWrapper, nondifferentiable, real
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike


def _of_pairs(name: str) -> Callable[..., Any]:
    """A method of SciPy's trees whose results do not move with the distance up to which pairs are found."""

    def method(self: KDTree, *args: Any, **kwargs: Any) -> Any:
        who = f"{type(self).__name__}.{name}"
        if holds_expr([*args[3:4], kwargs.get("weights")]) and name == "count_neighbors":
            raise type_error(
                f"{who}: expected plain weights, but got traced ones; write the sum "
                "np.sum(np.outer(v, w) * (scipy.spatial.distance.cdist(x, y) <= r))",
            )
        run, *given = [
            item._own_for(name) if isinstance(item, KDTree) else by_value(item, who)
            for item in (self, *args)
        ]
        named = {key: by_value(item, who) for key, item in kwargs.items() if key != "other"}
        if "other" in kwargs:
            given = [kwargs["other"]._own_for(name), *given]
        return getattr(run, name)(*given, **named)

    method.__name__, method.__qualname__ = name, f"KDTree.{name}"
    method.__doc__ = (
        f"As SciPy's method, for plain points; {name} is constant in a traced distance."
    )
    return method


class KDTree(SciPyWrapper, of=_scipy.KDTree):
    """As `scipy.spatial.KDTree`, whose `query` takes traced points and data."""

    data: Any
    _plain_part, _takes = "points", "; query takes them"

    def _set_traced(self, data: ArrayLike, *args: object, **kwargs: object) -> None:
        name = type(self).__name__
        self.data = real(name, data)
        if self.data.ndim != 2:
            raise value_error(
                f"{name}: expected points in the rows of a matrix, but got {self.data.shape}",
            )
        self.n, self.m = self.data.shape
        self._made = args, kwargs

    def _set_own(self, own: Any) -> None:
        self.own, self.data = own, own.data

    def _own_for(self, name: str) -> Any:
        """SciPy's tree; refused for traced points, for which there is none."""
        return self.own if self.own is not None else self.__getattr__(name)

    count_neighbors = _of_pairs("count_neighbors")
    query_ball_point = _of_pairs("query_ball_point")
    query_ball_tree = _of_pairs("query_ball_tree")
    query_pairs = _of_pairs("query_pairs")
    sparse_distance_matrix = _of_pairs("sparse_distance_matrix")

    def query(
        self,
        x: ArrayLike,
        k: object = 1,
        eps: float = 0,
        p: float = 2,
        distance_upper_bound: float = np.inf,
        workers: int = 1,
    ) -> Any:
        """As SciPy's method, in the points and the data; which neighbors are near is constant."""
        rest = (k, eps, p, distance_upper_bound, workers)
        if self.own is not None and not holds_expr(x):
            return self.own.query(x, *rest)
        points = real(f"{type(self).__name__}.query", x)
        run, given = self._places(rest, points)

        def like(_: Array) -> Any:  # in a periodic box, SciPy refuses data from outside
            return self._kind(np.zeros((self.n, self.m))).query(np.zeros(points.shape), *rest)[1]

        found = nondifferentiable("query", run, given, like=like)
        near = lift_fully(self.data)[np.minimum(found, self.n - 1)]
        box = self._periods()
        if box is not None:  # SciPy moves points into the box, too
            period = np.where(box > 0, box, np.inf)
            points = points - np.floor(points / period) * box
        away = (points[..., None, :] if found.ndim == points.ndim else points) - near
        if box is not None:  # the nearest of the images
            away = away - np.rint(away / period) * box
        # SciPy's place of a missing neighbor is the number of points.
        return np.where(found < self.n, np.linalg.norm(away, p, axis=-1), np.inf), found

    def _periods(self) -> Any:
        """The lengths of the periodic box in each dimension, 0 where there is none; None without a box."""
        if self.own is not None:
            return self.own.boxsize
        args, kwargs = self._made
        box = args[4] if len(args) > 4 else kwargs.get("boxsize")
        return None if box is None else np.broadcast_to(np.asarray(box, float), (self.m,))

    def _places(self, rest: tuple[Any, ...], points: Array) -> tuple[Callable[..., Any], Any]:
        """SciPy's query for the places of the neighbors, and what it is given."""
        if self.own is not None:
            return (lambda x: self.own.query(x, *rest)[1]), points
        args, kwargs = self._made

        def places(both: Array) -> Any:
            data, x = both[: self.data.size], both[self.data.size :]
            tree = self._kind(data.reshape(self.data.shape), *args, **kwargs)
            return tree.query(x.reshape(points.shape), *rest)[1]

        return places, np.concatenate([self.data.reshape(-1), points.reshape(-1)])


class cKDTree(KDTree, of=_scipy.cKDTree):  # noqa: N801  # SciPy's name
    """As `scipy.spatial.cKDTree`, whose `query` takes traced points and data."""
