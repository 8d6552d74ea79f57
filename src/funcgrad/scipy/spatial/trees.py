"""Trees of plain points of `scipy.spatial`: the distances of traced points to their neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.spatial as _scipy

from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import OfPlainData, nondifferentiable, real
from funcgrad.source import fail
from funcgrad.typing import Array


class KDTree(OfPlainData):
    """As `scipy.spatial.KDTree`, whose `query` takes traced points."""

    _kind: Any = _scipy.KDTree

    def __init__(self, data: npt.ArrayLike, *args: object, **kwargs: object) -> None:
        name = type(self).__name__
        if holds_expr(data):
            raise fail(
                TypeError,
                f"{name}: expected plain points, but got traced ones; write np.sort or np.min of "
                "scipy.spatial.distance.cdist(x, data)",
            )
        super().__init__(self._kind(data, *args, **kwargs))

    def query(
        self,
        x: npt.ArrayLike,
        k: Any = 1,
        eps: float = 0,
        p: float = 2,
        distance_upper_bound: float = np.inf,
        workers: int = 1,
    ) -> Any:
        """As SciPy's method, in the points; which neighbors are near is a constant."""
        rest = (k, eps, p, distance_upper_bound, workers)
        if not holds_expr(x):
            return self.own.query(x, *rest)
        points = real(f"{type(self).__name__}.query", x)

        def places(x: Array) -> Any:
            return self.own.query(x, *rest)[1]

        found = nondifferentiable("query", places, points)
        near = lift_fully(self.own.data)[np.minimum(found, self.own.n - 1)]
        away = (points[..., None, :] if found.ndim == points.ndim else points) - near
        # SciPy's place of a missing neighbor is the number of points.
        return np.where(found < self.own.n, np.linalg.norm(away, p, axis=-1), np.inf), found


class cKDTree(KDTree):  # noqa: N801  # SciPy's name
    """As `scipy.spatial.cKDTree`, whose `query` takes traced points."""

    _kind: Any = _scipy.cKDTree
