"""`UnivariateSpline` and its like: splines that FITPACK has fitted, in the data and the points."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

import numpy as np
import scipy.interpolate as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import SciPyWrapper, real
from funcgrad.scipy.interpolate.bspline import antiderivative_of, derivative_of
from funcgrad.scipy.interpolate.fitpack import (
    Tck,
    interpolating,
    smoothed,
    spalde,
    splev,
    splint,
    sproot,
    with_knots,
)
from funcgrad.scipy.interpolate.smoothing import Abscissae
from funcgrad.source import with_name
from funcgrad.typing import Array, ArrayLike

_MODES: dict[Any, int] = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


class FittedSpline(SciPyWrapper):
    """A spline of FITPACK, also in its coefficients and the points.

    ``own`` is SciPy's object, if the data are plain.
    """

    _eval_args: tuple[Any, Any, int]
    ext: Any
    _residual: Any

    def _set_own(self, own: _scipy.UnivariateSpline) -> None:
        self.own, self._eval_args, self.ext = own, own._eval_args, own.ext

    @classmethod
    def of_traced(cls, tck: Tck, ext: int | str, residual: Array | None = None) -> FittedSpline:
        """A spline with traced coefficients."""
        made = cls.__new__(cls)
        made.own, made._eval_args, made._residual = None, tck, residual
        made.ext = _MODES.get(ext, ext)
        return made

    def __call__(self, x: ArrayLike, nu: int = 0, ext: int | str | None = None) -> Any:
        """The value, or the derivative of order nu, at the points x."""
        if self.own is not None and not holds_expr(x):
            return self.own(x, nu, ext)
        ext = self.ext if ext is None else ext
        return splev(x, self._eval_args, nu, _MODES.get(ext, ext))

    def derivative(self, n: int = 1) -> FittedSpline:
        """The derivative of order n."""
        if self.own is not None:
            return FittedSpline.of_scipy(self.own.derivative(n))
        return FittedSpline.of_traced(
            derivative_of(self._eval_args, n), 1 if self.ext == 3 else self.ext
        )

    def antiderivative(self, n: int = 1) -> FittedSpline:
        """The antiderivative of order n, 0 at the first knot."""
        if self.own is not None:
            return FittedSpline.of_scipy(self.own.antiderivative(n))
        return FittedSpline.of_traced(antiderivative_of(self._eval_args, n), self.ext)

    def integral(self, a: ArrayLike, b: ArrayLike) -> Any:
        """The integral from a to b, where the spline is 0 outside of its interval."""
        return splint(a, b, self._eval_args)

    def derivatives(self, x: ArrayLike) -> Any:
        """All derivatives at the point x."""
        return spalde(x, self._eval_args)

    def roots(self) -> Any:
        """The zeros of a cubic spline in its interval."""
        return self.own.roots() if self.own is not None else sproot(self._eval_args)

    def get_knots(self) -> Any:
        """The knots inside of the interval, and its ends."""
        t, _, k = self._eval_args
        return self.own.get_knots() if self.own is not None else t[k : t.shape[0] - k]

    def get_coeffs(self) -> Any:
        """The coefficients."""
        return self.own.get_coeffs() if self.own is not None else self._eval_args[1]

    def get_residual(self) -> Any:
        """The weighted sum of the squares of the errors at the data."""
        return self.own.get_residual() if self.own is not None else self._residual


def _fitted(name: str) -> Any:
    own = getattr(_scipy, name)

    class Fitted(FittedSpline, of=own):
        def _set_traced(self, *args: object, **kwargs: object) -> None:
            bound = signature(own).bind(*args, **kwargs)
            bound.apply_defaults()
            vars(self).update(vars(_of_traced_data(name, **bound.arguments)))

    doc = "in the points and in\nthe data. The derivative is as that of `splrep`."
    return with_name(Fitted, name, f"As `scipy.interpolate.{name}`, {doc}")


def _of_traced_data(
    name: str,
    x: ArrayLike,
    y: ArrayLike,
    t: ArrayLike | None = None,
    w: ArrayLike | None = None,
    bbox: Sequence[Any] = (None, None),
    k: int = 3,
    s: float | None = 0,
    ext: int | str = 0,
    check_finite: bool = False,
) -> FittedSpline:
    abscissae, values, ends = real(name, x), real(name, y), (bbox[0], bbox[1])
    weights = None if w is None else real(name, w)
    if t is not None:
        tck = with_knots(abscissae, values, weights, real(name, t), k, ends)
    elif not holds_expr(s) and s == 0:
        tck = interpolating(abscissae, values, k, ends)
    else:
        smoothness = abscissae.shape[0] if s is None else s
        tck = smoothed(name, _by_univariate, abscissae, values, weights, smoothness, ends, k)
    errors = values - splev(abscissae, tck)
    residual = np.sum(np.square(errors if weights is None else weights * errors))
    return FittedSpline.of_traced(tck, ext, residual)


def _by_univariate(
    y: Array, w: Array, s: float, _: object, at: Abscissae
) -> tuple[list[Array], Array]:
    made = _scipy.UnivariateSpline(at.x, y[:, 0], w, bbox=[at.first, at.last], k=at.k, s=s)
    t, c, _ = made._eval_args
    return [t], c[: t.size - at.k - 1, None]


UnivariateSpline = _fitted("UnivariateSpline")
InterpolatedUnivariateSpline = _fitted("InterpolatedUnivariateSpline")
LSQUnivariateSpline = _fitted("LSQUnivariateSpline")
