"""Splines on rectangles, in the points and in the values on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.interpolate as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import composed, real
from funcgrad.scipy.interpolate.bspline import value_at
from funcgrad.source import fail
from funcgrad.typing import Array


class RectBivariateSpline:
    """As `scipy.interpolate.RectBivariateSpline`, also in the values z and the
    points.

    Traced values z need ``s=0``: the spline is then a product of splines
    through the values along both axes.

    >>> import funcgrad as fg
    >>> grid = np.arange(4.0)
    >>> spline = RectBivariateSpline(grid, grid, np.outer(grid**2, grid))
    >>> round(fg.grad(lambda x: spline.ev(x, 2.0))(1.5), 12)
    6.0
    """

    def __init__(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        z: Any,
        bbox: Any = (None, None, None, None),
        kx: int = 3,
        ky: int = 3,
        s: float | None = 0,
        **options: Any,
    ) -> None:
        plain = not holds_expr([x, y, z, *bbox, s])
        if plain:
            self.own = _scipy.RectBivariateSpline(x, y, z, list(bbox), kx, ky, s, **options)
            self.tck, self.degrees = self.own.tck, self.own.degrees
            return
        if holds_expr([x, y, *bbox, s]) or s != 0 or any([end is not None for end in bbox]):
            raise fail(
                TypeError,
                "RectBivariateSpline: expected plain x and y, bbox=None and s=0 beside traced values z, "
                "since FITPACK chooses the knots; write RegularGridInterpolator, which takes a traced grid",
            )
        self.own = None
        (tx, cx), (ty, cy) = (
            _scipy.make_interp_spline(at, np.eye(np.size(at)), k).tck[:2]
            for at, k in ((np.asarray(x), kx), (np.asarray(y), ky))
        )
        self.tck, self.degrees = (tx, ty, (cx @ real("RectBivariateSpline", z) @ cy.T)), (kx, ky)

    @classmethod
    def of_scipy(cls, own: Any) -> RectBivariateSpline:
        """SciPy's spline as one that takes traced points, too."""
        made = cls.__new__(cls)
        made.own, made.tck, made.degrees = own, own.tck, own.degrees
        return made

    def __getattr__(self, name: str) -> Any:
        own = None if name.startswith("__") else self.__dict__.get("own")
        if own is None:
            raise AttributeError(
                f"RectBivariateSpline: {name!r} is an attribute of plain values alone"
            )
        return getattr(own, name)

    def __call__(
        self, x: npt.ArrayLike, y: npt.ArrayLike, dx: int = 0, dy: int = 0, grid: bool = True
    ) -> Any:
        """The spline, or a partial derivative, on the grid of x and y, or at pairs of them."""
        if self.own is not None and not holds_expr([x, y]):
            return self.own(x, y, dx, dy, grid)
        x, y = real("RectBivariateSpline", x), real("RectBivariateSpline", y)
        if grid:
            along_x, along_y = (
                self._weights(0, x.reshape(-1), dx),
                self._weights(1, y.reshape(-1), dy),
            )
            return along_x @ self._coefficients() @ along_y.T
        x, y = np.broadcast_arrays(x, y)
        along_x, along_y = self._weights(0, x.reshape(-1), dx), self._weights(1, y.reshape(-1), dy)
        return np.sum(along_x @ self._coefficients() * along_y, axis=1).reshape(x.shape)

    def ev(self, xi: npt.ArrayLike, yi: npt.ArrayLike, dx: int = 0, dy: int = 0) -> Any:
        """The spline, or a partial derivative, at pairs of coordinates."""
        return self(xi, yi, dx, dy, grid=False)

    def _coefficients(self) -> Any:
        return self.tck[2].reshape(
            [t.size - k - 1 for t, k in zip(self.tck[:2], self.degrees, strict=True)]
        )

    def _weights(self, axis: int, q: Array, order: int) -> Any:
        """The weight of each coefficient along an axis, by points; those outside are moved to the edge."""
        t, k = self.tck[axis], self.degrees[axis]
        inside = np.clip(q, t[k], t[-k - 1])
        return value_at(t, np.eye(t.size - k - 1), k, inside, order)


@composed(_scipy)
def bisplev(
    x: npt.ArrayLike, y: npt.ArrayLike, tck: Sequence[Any], dx: int = 0, dy: int = 0
) -> Any:
    """As `scipy.interpolate.bisplev`, in the points and the coefficients.

    >>> import funcgrad as fg
    >>> tck = RectBivariateSpline(*[np.arange(4.0)] * 2, np.eye(4)).tck
    >>> round(fg.grad(lambda x: bisplev(x, 1.0, [*tck, 3, 3]))(1.0), 12)
    -0.5
    """
    knots_x, knots_y, coefficients, *degrees = tck
    spline = RectBivariateSpline.__new__(RectBivariateSpline)
    spline.own, spline.degrees = None, tuple(degrees)
    spline.tck = knots_x, knots_y, real("bisplev", coefficients)
    values = spline(x, y, dx, dy)
    if values.shape[0] > 1:
        return values
    return values[0] if values.shape[1] > 1 else values[0, 0]
