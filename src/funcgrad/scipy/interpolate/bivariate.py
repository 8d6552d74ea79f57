"""Splines on rectangles, in the points and the data: on a grid, or with given knots."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.interpolate as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.expr.concrete import concrete_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import (
    SciPyWrapper,
    composed,
    nondifferentiable,
    number,
    real,
    with_value,
)
from funcgrad.scipy.interpolate.bspline import spline_integral
from funcgrad.scipy.interpolate.fitpack import interpolating
from funcgrad.scipy.interpolate.knot_order import expect_rising
from funcgrad.scipy.interpolate.smoothing import Abscissae, Smoother, smoothing_spline
from funcgrad.scipy.interpolate.through_data import basis_at
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike


class FittedSurface(SciPyWrapper):
    """A spline in two variables of FITPACK, also in its coefficients and the points.

    ``own`` is SciPy's object, if the data are plain.
    """

    tck: tuple[Any, Any, Any]
    degrees: tuple[int, int]
    fp: Any

    def _set_own(self, own: Any) -> None:
        self.own, self.tck, self.degrees = own, own.tck, own.degrees

    def __call__(
        self, x: ArrayLike, y: ArrayLike, dx: int = 0, dy: int = 0, grid: bool = True
    ) -> Any:
        """The spline, or a partial derivative, on the grid of x and y, or at pairs of them."""
        if self.own is not None and not holds_expr([x, y]):
            return self.own(x, y, dx, dy, grid)
        x, y = real(type(self).__name__, x), real(type(self).__name__, y)
        if not grid:
            x, y = np.broadcast_arrays(x, y)
        along_x, along_y = self._weights(0, x.reshape(-1), dx), self._weights(1, y.reshape(-1), dy)
        if grid:
            return along_x @ self._coefficients() @ along_y.T
        return np.sum(along_x @ self._coefficients() * along_y, axis=1).reshape(x.shape)

    def ev(self, xi: ArrayLike, yi: ArrayLike, dx: int = 0, dy: int = 0) -> Any:
        """The spline, or a partial derivative, at pairs of coordinates."""
        return self(xi, yi, dx, dy, grid=False)

    def integral(self, xa: ArrayLike, xb: ArrayLike, ya: ArrayLike, yb: ArrayLike) -> Any:
        """The integral over a rectangle, as far as it is within the data's."""
        if self.own is not None and not holds_expr([xa, xb, ya, yb]):
            return self.own.integral(xa, xb, ya, yb)
        along_x, along_y = self._integrals(0, xa, xb), self._integrals(1, ya, yb)
        return along_x @ self._coefficients() @ along_y

    def _integrals(self, axis: int, a: ArrayLike, b: ArrayLike) -> Any:
        """The integral of each spline of the basis along an axis."""
        t, k = self.tck[axis], self.degrees[axis]
        return spline_integral((t, np.eye(t.shape[0] - k - 1), k), a, b, type(self).__name__)

    def _coefficients(self) -> Any:
        return self.tck[2].reshape(
            [t.shape[0] - k - 1 for t, k in zip(self.tck[:2], self.degrees, strict=True)]
        )

    def _weights(self, axis: int, q: Array, order: int) -> Any:
        """The weight of each coefficient along an axis, by points; those outside are moved to the edge."""
        t, k = self.tck[axis], self.degrees[axis]
        return basis_at(t, k, np.clip(q, t[k], t[-k - 1]), order)

    def get_knots(self) -> tuple[Any, Any]:
        """The knots along both axes."""
        return self.tck[:2]

    def get_coeffs(self) -> Any:
        """The coefficients, as one row."""
        return self.tck[2]

    def get_residual(self) -> Any:
        """The weighted sum of the squares of the errors at the data."""
        return self.fp


class RectBivariateSpline(FittedSurface, of=_scipy.RectBivariateSpline):
    """As `scipy.interpolate.RectBivariateSpline`, in data and points too.

    With ``s > 0`` knots are a choice among the coordinates, and
    the derivative is as that of `splrep`.

    >>> import funcgrad as fg
    >>> grid = np.arange(4.0)
    >>> spline = RectBivariateSpline(grid, grid, np.outer(grid**2, grid))
    >>> round(fg.grad(lambda x: spline.ev(x, 2.0))(1.5), 12)
    6.0
    """

    def _set_traced(
        self,
        x: ArrayLike,
        y: ArrayLike,
        z: Array,
        bbox: Any = (None, None, None, None),
        kx: int = 3,
        ky: int = 3,
        s: Array | float = 0,
        **options: Any,
    ) -> None:
        who, self.degrees = "RectBivariateSpline", (kx, ky)
        along_x, along_y = [
            Abscissae.within(real(who, at).reshape(-1), ends, k)
            for at, ends, k in ((x, bbox[:2], kx), (y, bbox[2:], ky))
        ]
        expect_rising("x must be strictly increasing", along_x.x)
        expect_rising("y must be strictly increasing", along_y.x)
        values = real(who, z)
        shape = *along_x.x.shape, *along_y.x.shape
        if values.shape != shape:
            raise value_error(f"{who}: expected z of shape {shape}, but got {values.shape}")
        if not holds_expr(s) and s == 0:
            tx, rows, _ = interpolating(along_x.x, values, kx, (along_x.first, along_x.last))
            ty, columns, _ = interpolating(along_y.x, rows.T, ky, (along_y.first, along_y.last))
            c = columns.T
        else:
            smoother = Smoother(_on_grid, (kx, ky), options.get("maxit"))
            (tx, ty), c = smoothing_spline(who, smoother, [along_x, along_y], values, None, s)
        self.tck = tx, ty, c.reshape(-1)
        self.fp = np.sum(np.square(values - self(along_x.x, along_y.x)))


def _on_grid(
    z: Array, _: object, s: float, maxit: int | None, *axes: Abscissae
) -> tuple[list[Array], Array]:
    x, y = axes
    options = {} if maxit is None else {"maxit": maxit}
    bbox = [x.first, x.last, y.first, y.last]
    made = _scipy.RectBivariateSpline(x.x, y.x, z, bbox, x.k, y.k, s, **options)
    tx, ty, c = made.tck
    return [tx, ty], c.reshape(tx.size - x.k - 1, ty.size - y.k - 1)


class LSQBivariateSpline(FittedSurface, of=_scipy.LSQBivariateSpline):
    """As `scipy.interpolate.LSQBivariateSpline`, also in the data, the weights,
    the knots and the points.

    >>> import funcgrad as fg
    >>> x, y = np.repeat(np.arange(4.0), 4), np.tile(np.arange(4.0), 4)
    >>> slope = fg.grad(lambda z: LSQBivariateSpline(x, y, z, [], []).ev(1.5, 2.5))
    >>> round(float(slope(x * y).sum()), 9)
    1.0
    """

    def _set_traced(
        self,
        x: Any,
        y: Any,
        z: Any,
        tx: Any,
        ty: Any,
        w: ArrayLike | None = None,
        bbox: Any = (None, None, None, None),
        kx: int = 3,
        ky: int = 3,
        eps: float | None = None,
    ) -> None:
        who, self.degrees = "LSQBivariateSpline", (int(kx), int(ky))
        x, y, z = [real(who, item).reshape(-1) for item in (x, y, z)]
        weights = np.ones(z.shape) if w is None else real(who, w)
        tx, ty = [
            Abscissae(at, *_interval(at, ends, inner, k), k).knots(inner)
            for at, ends, k, inner in (
                (x, bbox[:2], self.degrees[0], real(who, tx)),
                (y, bbox[2:], self.degrees[1], real(who, ty)),
            )
        ]
        bases = [
            basis_at(t, k, at) for t, k, at in zip((tx, ty), self.degrees, (x, y), strict=True)
        ]
        products = np.einsum("pi,pj->pij", *bases).reshape(z.shape[0], -1)
        matrix = weights[:, None] * products
        if concrete_value(lift_fully(np.linalg.matrix_rank(matrix)), who) < matrix.shape[1]:
            raise _undetermined(matrix.shape[1])
        q, r = np.linalg.qr(matrix)
        found = np.linalg.solve(r, q.T @ (weights * z))
        parts = [x, y, z, weights, tx, ty]
        sizes = tuple([part.shape[0] for part in parts])
        run = _with_given_knots(sizes, self.degrees, by_value(eps, who))
        own = nondifferentiable(who, run, *parts, like=lambda *_: np.zeros(found.shape))
        self.tck = tx, ty, with_value(own, found)
        self.fp = np.sum(np.square(weights * z - matrix @ self.tck[2]))


def _undetermined(count: int) -> ValueError:
    error: ValueError = value_error(
        f"LSQBivariateSpline: expected data that determine all {count} coefficients, but they do not; "
        "give fewer knots, a smaller eps, or more data between them",
    )
    return error


def _interval(at: Array, ends: Array, inner: Array, k: int) -> tuple[Any, Any]:
    """The ends of an interval; those that are None are as SciPy has them.

    The knots there, which FITPACK has yet to set, count as 0, and an end is outside of all knots.
    """
    knots = np.concatenate([inner, np.zeros(1)])
    low, high, least, most = np.min(knots), np.max(knots), np.min(at), np.max(at)
    beyond = (high - low) / (len(inner) + 2 * k + 2)
    first = np.where(low > least, least, low - beyond)
    last = np.where(high < most, most, high + beyond)
    start, stop = ends
    return (first if start is None else start), (last if stop is None else stop)


@lru_cache(maxsize=64)
def _with_given_knots(
    sizes: tuple[int, ...], degrees: tuple[int, int], eps: float
) -> Callable[..., Array]:
    kx, ky = degrees

    def coefficients(x: Array, y: Array, z: Array, w: Array, tx: Array, ty: Array) -> Any:
        bbox = [tx[0], tx[-1], ty[0], ty[-1]]
        inner = tx[kx + 1 : -kx - 1], ty[ky + 1 : -ky - 1]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = _scipy.LSQBivariateSpline(x, y, z, *inner, w, bbox, kx, ky, eps).tck[2]
        if any(["rank deficient" in str(warning.message) for warning in caught]):
            raise _undetermined(found.size)
        return found

    return coefficients


class SmoothBivariateSpline(FittedSurface, of=_scipy.SmoothBivariateSpline):
    """As `scipy.interpolate.SmoothBivariateSpline`, also in the points."""

    def _set_traced(self, *args: Any, **kwargs: Any) -> None:
        raise type_error(
            "SmoothBivariateSpline: expected plain data, since FITPACK moves the knots with them; write "
            "LSQBivariateSpline with given knots, or RBFInterpolator(points, z, smoothing=...)",
        )


@composed(_scipy, host=True)
def bisplev(x: ArrayLike, y: ArrayLike, tck: Sequence[Any], dx: int = 0, dy: int = 0) -> Any:
    """As `scipy.interpolate.bisplev`, in the points and the coefficients.

    >>> import funcgrad as fg
    >>> tck = RectBivariateSpline(*[np.arange(4.0)] * 2, np.eye(4)).tck
    >>> round(fg.grad(lambda x: bisplev(x, 1.0, [*tck, 3, 3]))(1.0), 12)
    -0.5
    """
    knots_x, knots_y, coefficients, *degrees = tck
    spline = FittedSurface.__new__(FittedSurface)
    spline.own, spline.degrees = None, tuple(degrees)
    spline.tck = knots_x, knots_y, real("bisplev", coefficients)
    values = spline(x, y, dx, dy)
    if values.shape[0] > 1:
        return values
    return values[0] if values.shape[1] > 1 else values[0, 0]


class NdBSpline(SciPyWrapper, of=_scipy.NdBSpline):
    """As `scipy.interpolate.NdBSpline`, also in the coefficients and the points.
    The knots are plain.

    >>> import funcgrad as fg
    >>> spline = NdBSpline((np.arange(6.0), np.arange(6.0)), np.eye(3), 2)
    >>> round(fg.grad(lambda x: spline(np.stack([x, 2.5])))(2.5), 12)
    0.0
    """

    def _set_traced(
        self, t: Sequence[ArrayLike], c: ArrayLike, k: Array, *, extrapolate: bool | None = None
    ) -> None:
        if holds_expr(list(t)):
            raise type_error(
                "NdBSpline: expected plain knots, but got traced ones; write BSpline, which takes such",
            )
        self.k = (int(k),) * len(t) if np.ndim(k) == 0 else tuple(map(int, k))
        self.t = tuple(np.asarray(knots, float) for knots in t)
        self.c = number("NdBSpline", c)
        self.extrapolate = True if extrapolate is None else bool(extrapolate)

    def _set_own(self, own: Any) -> None:
        self.own, self.t, self.c, self.extrapolate = own, own.t, own.c, own.extrapolate
        self.k = tuple(map(int, own.k))

    def __call__(
        self, xi: ArrayLike, *, nu: Sequence[int] | None = None, extrapolate: bool | None = None
    ) -> Any:
        """The spline, or a partial derivative, at points with their coordinates along the last axis."""
        if self.own is not None and not holds_expr(xi):
            return self.own(xi, nu=nu, extrapolate=extrapolate)
        q = real("NdBSpline", xi)
        orders = [0] * len(self.t) if nu is None else [int(order) for order in nu]
        if q.shape[-1:] != (len(self.t),) or len(orders) != len(self.t):
            raise value_error(
                f"NdBSpline: expected points and orders of {len(self.t)} coordinates, but got {q.shape} and "
                f"{nu}",
            )
        points, found = q.reshape(-1, len(self.t)), self.c
        inside: Any = True
        for axis, (t, k, order) in enumerate(zip(self.t, self.k, orders, strict=True)):
            at, size = points[:, axis], t.size - k - 1
            found = found[:size] if axis == 0 else found[:, :size]
            inside = np.logical_and(inside, np.logical_and(at >= t[k], at <= t[size]))
            subscripts = "pi,i...->p..." if axis == 0 else "pi,pi...->p..."
            found = np.einsum(subscripts, basis_at(t, k, at, order), found)
        if not (self.extrapolate if extrapolate is None else extrapolate):
            found = np.where(inside.reshape((-1, *[1] * (found.ndim - 1))), found, np.nan)
        return found.reshape((*q.shape[:-1], *found.shape[1:]))
