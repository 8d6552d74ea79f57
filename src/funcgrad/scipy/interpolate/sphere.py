"""Splines on the sphere, in the points; those through values on a grid in the values, too."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import scipy.interpolate as _scipy

from funcgrad.expr.concrete import known_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import nondifferentiable, real, with_value
from funcgrad.scipy.interpolate.bivariate import FittedSurface
from funcgrad.source import type_error
from funcgrad.typing import Array, ArrayLike

_MOST_VALUES = 2048
"""Values on a grid whose matrix of coefficients is made."""


class _SphereSurface(FittedSurface):
    """A spline of colatitudes and longitudes."""

    def _set_traced(self, *args: Any, **kwargs: Any) -> None:
        raise type_error(
            f"{type(self).__name__}: expected plain data, but got traced ones; traced points have "
            "derivatives; write RectSphereBivariateSpline(u, v, r) without smoothing, which takes traced "
            "values r, or RBFInterpolator(points, r) with points in space",
        )

    def __call__(
        self, theta: ArrayLike, phi: ArrayLike, dtheta: int = 0, dphi: int = 0, grid: bool = True
    ) -> Any:
        """The spline, or a partial derivative, on the grid of both, or at pairs of them."""
        known = known_value(lift_fully(theta)) if holds_expr(theta) else np.asarray(theta)
        if known is not None and np.any((known < 0) | (known > np.pi)):
            raise ValueError("requested theta out of bounds.")
        return super().__call__(theta, phi, dtheta, dphi, grid)

    def ev(self, theta: ArrayLike, phi: ArrayLike, dtheta: int = 0, dphi: int = 0) -> Any:
        """The spline, or a partial derivative, at pairs of coordinates."""
        return self(theta, phi, dtheta, dphi, grid=False)


class SmoothSphereBivariateSpline(_SphereSurface, of=_scipy.SmoothSphereBivariateSpline):
    """As `scipy.interpolate.SmoothSphereBivariateSpline`, also in the points."""


class LSQSphereBivariateSpline(_SphereSurface, of=_scipy.LSQSphereBivariateSpline):
    """As `scipy.interpolate.LSQSphereBivariateSpline`, also in the points."""


class RectSphereBivariateSpline(_SphereSurface, of=_scipy.RectSphereBivariateSpline):
    """As `scipy.interpolate.RectSphereBivariateSpline`, also in the points, and
    in the values for s = 0.

    >>> import funcgrad as fg
    >>> theta, phi = np.linspace(0.3, 2.8, 5), np.linspace(0.0, 5.0, 6)
    >>> values = np.outer(np.sin(theta), np.cos(phi))
    >>> spline = RectSphereBivariateSpline(theta, phi, values)
    >>> round(fg.grad(lambda t: spline.ev(t, 0.0))(1.5), 1)
    0.1
    """

    def _set_traced(
        self, u: ArrayLike, v: ArrayLike, r: ArrayLike, *more: Any, **options: Any
    ) -> None:
        smoothing = more[0] if more else options.get("s", 0.0)
        if holds_expr([u, v, *more, *options.values()]) or smoothing or np.size(r) > _MOST_VALUES:
            super()._set_traced()
        values = real(type(self).__name__, r)
        rows = tuple(np.ravel(u).tolist()), tuple(np.ravel(v).tolist())
        how = (*rows, values.shape, _hashable(more), _hashable(sorted(options.items())))
        (tu, tv, fixed), matrix = _affine(*how)
        own = nondifferentiable(type(self).__name__, _coefficients(*how), values)
        self.degrees, self.fp, self.v0 = (3, 3), np.zeros(()), rows[1][0]
        self.tck = tu, tv, with_value(own, fixed + matrix @ values.reshape(-1))


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


@lru_cache(maxsize=16)
def _coefficients(*how: Any) -> Any:
    u, v, shape, more, options = how

    def run(r: Array) -> Any:
        made = _scipy.RectSphereBivariateSpline(u, v, r.reshape(shape), *more, **dict(options))
        return made.tck[2]

    return run


@lru_cache(maxsize=4)
def _affine(*how: Any) -> tuple[Any, Any]:
    """The spline of values 0, and the matrix of the coefficients of others: FITPACK's are affine."""
    u, v, shape, more, options = how
    made = _scipy.RectSphereBivariateSpline(u, v, np.zeros(shape), *more, **dict(options))
    run, count = _coefficients(*how), int(np.prod(shape))
    columns = [run(row) - made.tck[2] for row in np.eye(count)]
    return made.tck, np.stack(columns, axis=1)
