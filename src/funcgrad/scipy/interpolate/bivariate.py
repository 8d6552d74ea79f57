"""Splines on rectangles, in the points and in the values on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.interpolate as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import composed, number, real
from funcgrad.scipy.interpolate.bspline import antiderivative_of, value_at
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

    def integral(
        self, xa: npt.ArrayLike, xb: npt.ArrayLike, ya: npt.ArrayLike, yb: npt.ArrayLike
    ) -> Any:
        """The integral over a rectangle, as far as it is within the data's."""
        if self.own is not None and not holds_expr([xa, xb, ya, yb]):
            return self.own.integral(xa, xb, ya, yb)
        along_x, along_y = self._integrals(0, xa, xb), self._integrals(1, ya, yb)
        return along_x @ self._coefficients() @ along_y

    def _integrals(self, axis: int, a: npt.ArrayLike, b: npt.ArrayLike) -> Any:
        """The integral of each spline of the basis along an axis."""
        t, k = self.tck[axis], self.degrees[axis]
        ends = np.stack([real("RectBivariateSpline", end).reshape(()) for end in (a, b)])
        inside = np.clip(ends, t[k], t[-k - 1])
        low, high = value_at(*antiderivative_of((t, np.eye(t.size - k - 1), k), 1), inside, 0)
        return high - low

    def _coefficients(self) -> Any:
        return self.tck[2].reshape(
            [t.size - k - 1 for t, k in zip(self.tck[:2], self.degrees, strict=True)]
        )

    def _weights(self, axis: int, q: Array, order: int) -> Any:
        """The weight of each coefficient along an axis, by points; those outside are moved to the edge."""
        t, k = self.tck[axis], self.degrees[axis]
        inside = np.clip(q, t[k], t[-k - 1])
        return value_at(t, np.eye(t.size - k - 1), k, inside, order)


@composed(_scipy, host=True)
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


class NdBSpline:
    """As `scipy.interpolate.NdBSpline`, also in the coefficients and the points.
    The knots are plain.

    >>> import funcgrad as fg
    >>> spline = NdBSpline((np.arange(6.0), np.arange(6.0)), np.eye(3), 2)
    >>> round(fg.grad(lambda x: spline(np.stack([x, 2.5])))(2.5), 12)
    0.0
    """

    def __init__(
        self,
        t: Sequence[npt.ArrayLike],
        c: npt.ArrayLike,
        k: Any,
        *,
        extrapolate: bool | None = None,
    ) -> None:
        if holds_expr(list(t)):
            raise fail(
                TypeError,
                "NdBSpline: expected plain knots, but got traced ones; write BSpline, which takes such",
            )
        self.own = None if holds_expr(c) else _scipy.NdBSpline(t, c, k, extrapolate=extrapolate)
        degrees = (int(k),) * len(t) if np.ndim(k) == 0 else tuple(map(int, k))
        self.t, self.k = tuple(np.asarray(knots, float) for knots in t), degrees
        self.c = number("NdBSpline", c)
        self.extrapolate = True if extrapolate is None else bool(extrapolate)

    @classmethod
    def of_scipy(cls, own: Any) -> NdBSpline:
        """SciPy's spline as one that takes traced points, too."""
        made = cls.__new__(cls)
        made.own, made.t, made.c = own, own.t, own.c
        made.k = tuple(map(int, own.k))
        made.extrapolate = own.extrapolate
        return made

    def __call__(
        self, xi: npt.ArrayLike, *, nu: Sequence[int] | None = None, extrapolate: bool | None = None
    ) -> Any:
        """The spline, or a partial derivative, at points with their coordinates along the last axis."""
        if self.own is not None and not holds_expr(xi):
            return self.own(xi, nu=nu, extrapolate=extrapolate)
        q = real("NdBSpline", xi)
        orders = [0] * len(self.t) if nu is None else [int(order) for order in nu]
        if q.shape[-1:] != (len(self.t),) or len(orders) != len(self.t):
            raise fail(
                ValueError,
                f"NdBSpline: expected points and orders of {len(self.t)} coordinates, but got {q.shape} and "
                f"{nu}",
            )
        points, found = q.reshape(-1, len(self.t)), self.c
        inside: Any = True
        for axis, (t, k, order) in enumerate(zip(self.t, self.k, orders, strict=True)):
            at, size = points[:, axis], t.size - k - 1
            found = found[:size] if axis == 0 else found[:, :size]
            weights = value_at(t, np.eye(size), k, at, order)
            inside = np.logical_and(inside, np.logical_and(at >= t[k], at <= t[size]))
            subscripts = "pi,i...->p..." if axis == 0 else "pi,pi...->p..."
            found = np.einsum(subscripts, weights, found)
        if not (self.extrapolate if extrapolate is None else extrapolate):
            found = np.where(inside.reshape((-1, *[1] * (found.ndim - 1))), found, np.nan)
        return found.reshape((*q.shape[:-1], *found.shape[1:]))
