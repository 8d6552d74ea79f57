"""Piecewise polynomials, in their coefficients, breakpoints and the points where they are evaluated."""

from __future__ import annotations

import math
from typing import Any, Protocol, Self

import numpy as np
import scipy.interpolate as _scipy

import funcgrad.numpy as funcgrad_numpy
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import SciPyWrapper, number, real, taken
from funcgrad.scipy.interpolate.bspline import BSpline
from funcgrad.scipy.interpolate.knot_order import expect_rising
from funcgrad.scipy.interpolate.polynomial_pieces import (
    along,
    horner,
    inside,
    interval_of,
    points_at,
    solved,
)
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike


class OfScipy(Protocol):
    """A piecewise polynomial of SciPy's."""

    c: Array
    x: Array
    axis: int
    extrapolate: Any

    def __call__(self, x: ArrayLike, nu: int = 0, extrapolate: object = None) -> Any: ...


class PPoly(SciPyWrapper, of=_scipy.PPoly):
    """As `scipy.interpolate.PPoly`, also in the coefficients, the breakpoints and
    the points.

    The value at q between x[i] and x[i + 1] is the sum of the
    c[m, i] * (q - x[i])**(k - m).

    >>> import funcgrad as fg
    >>> fg.grad(lambda c: PPoly(np.stack([[c], [1.0]]), [0.0, 2.0])(0.5))(3.0)
    0.5
    """

    c: Array
    x: Array
    axis: int
    extrapolate: Any
    _takes = "; evaluation, derivative, antiderivative, integrate, solve and roots take them"

    def _set_traced(
        self, c: ArrayLike, x: ArrayLike, extrapolate: object = None, axis: int = 0
    ) -> None:
        coefficients = np.moveaxis(number("PPoly", c), (axis, axis + 1), (0, 1))
        breakpoints = real("PPoly", x)
        expect_rising("`x` must be strictly increasing or decreasing.", breakpoints, False, True)
        self._set(coefficients, breakpoints, extrapolate, axis)

    def _set(
        self, c: Array, x: Array, extrapolate: object, axis: int, own: OfScipy | None = None
    ) -> None:
        self.c, self.x, self.axis, self.own = c, x, axis, own
        self.extrapolate = True if extrapolate is None else extrapolate

    def _set_own(self, own: Any) -> None:
        self._set(own.c, own.x, own.extrapolate, own.axis, own)

    def _like(self, c: Array, extrapolate: object, own: OfScipy | None) -> Self:
        """The piecewise polynomial with other coefficients."""
        made = type(self).__new__(type(self))
        made._set(c, self.x, extrapolate, self.axis, own)
        return made

    @property
    def _c(self) -> Array:
        return self.c

    @property
    def _x(self) -> Array:
        return self.x

    @staticmethod
    def _asarray(x: Array) -> Array:
        return x

    @classmethod
    def construct_fast(cls, c: Array, x: Array, extrapolate: object = None, axis: int = 0) -> Self:
        """As SciPy's: of coefficients whose first axes are those of the powers and the intervals."""
        made = cls.__new__(cls)
        if holds_expr([c, x]):
            coefficients: Any = lift_fully(c)
            breakpoints: Any = lift_fully(x)
            made._set(coefficients, breakpoints, extrapolate, axis)
        else:
            made._set_own(_scipy.PPoly.construct_fast(c, x, extrapolate, axis))
        return made

    @classmethod
    def from_spline(cls, tck: Any, extrapolate: object = None) -> Self:
        """As SciPy's method."""
        made = hasattr(tck, "tck")
        if made and extrapolate is None:
            extrapolate = tck.extrapolate
        t, c, k = (tck.t, tck.c, tck.k) if made else tck
        if not holds_expr([t, c]):
            return cls.of_scipy(_scipy.PPoly.from_spline((t, c, k), extrapolate))
        knots = real("PPoly.from_spline", t)
        spline = BSpline(knots, number("PPoly.from_spline", c), k)
        rows = [spline(knots[:-1], m) / math.factorial(m) for m in range(k, -1, -1)]
        return cls.construct_fast(np.stack(rows), knots, extrapolate)

    @classmethod
    def from_bernstein_basis(cls, bp: _scipy.BPoly, extrapolate: object = None) -> Self:
        """As SciPy's method."""
        if not holds_expr([bp.c, bp.x]):
            return cls.of_scipy(_scipy.PPoly.from_bernstein_basis(bp, extrapolate))
        c, width = lift_fully(bp.c), np.diff(lift_fully(bp.x))
        k, powers = c.shape[0] - 1, along(width, c.ndim - 2)
        # The power s of the distance has the differences of order s.
        rows = [math.comb(k, s) * np.diff(c, s, axis=0)[0] / powers**s for s in range(k, -1, -1)]
        extrapolate = bp.extrapolate if extrapolate is None else extrapolate
        return cls.construct_fast(np.stack(rows), bp.x, extrapolate, bp.axis)

    def extend(self, c: ArrayLike, x: ArrayLike) -> None:
        """As SciPy's method: more pieces, before or after the others."""
        if self.own is not None and not holds_expr([c, x]):
            self.own.extend(c, x)
            self._set_own(self.own)
            return
        more, points = number("extend", c), real("extend", x)
        if more.ndim != self.c.ndim or points.shape != more.shape[1:2]:
            raise value_error(
                f"extend: expected coefficients like those of shape {self.c.shape}, and as many breakpoints "
                f"as pieces, but got {more.shape} and {points.shape}",
            )
        degree = max(more.shape[0], self.c.shape[0])
        rest = [(0, 0)] * (more.ndim - 1)
        old, new = [
            np.pad(part, [(degree - part.shape[0], 0), *rest])
            for part in (lift_fully(self.c), more)
        ]
        rising = bool(self.x[-1] >= self.x[0])
        after = bool(points[0] >= self.x[-1]) if rising else bool(points[0] <= self.x[-1])
        parts, ends = ([old, new], [self.x, points]) if after else ([new, old], [points, self.x])
        self._set(np.concatenate(parts, 1), np.concatenate(ends), self.extrapolate, self.axis)

    def solve(
        self, y: ArrayLike = 0.0, discontinuity: bool = True, extrapolate: object = None
    ) -> Any:
        """As SciPy's method: the points where the value is y, whose
        number is read from the values.
        """
        if self.own is not None and not holds_expr(y):
            return self.own.solve(y, discontinuity, extrapolate)
        outside = bool(self.extrapolate if extrapolate is None else extrapolate)
        if self.c.ndim != 2:
            raise type_error(
                f"solve: expected one polynomial a piece for traced values, but got {self.c.shape}",
            )
        return solved(self.c, self.x, real("solve", y), bool(discontinuity), outside)

    def roots(self, discontinuity: bool = True, extrapolate: object = None) -> Any:
        """As SciPy's method: the points where the value is 0."""
        return self.solve(0.0, discontinuity, extrapolate)

    # SciPy's classes ask each other for these two since SciPy 1.18.
    @property
    def _xp(self) -> Any:
        return funcgrad_numpy if self.own is None else self.own._xp

    @property
    def _delegate_to(self) -> Any:
        return self if self.own is None else self.own._delegate_to

    def __call__(self, x: ArrayLike, nu: int = 0, extrapolate: object = None) -> Any:
        """The value, or the derivative of order nu, at the points x; SciPy's own, if all is plain."""
        if self.own is not None and not holds_expr(x):
            return self.own(x, nu, extrapolate)
        q = number("piecewise polynomial", x)
        value = self._flat(
            q.reshape(-1), nu, self.extrapolate if extrapolate is None else extrapolate
        )
        rest = self.c.shape[2:]
        return points_at(self.axis, q.ndim, value.reshape((*q.shape, *rest)))

    def _flat(self, q: Array, nu: int, extrapolate: object) -> Any:
        x, c = self.x, self.c
        if isinstance(extrapolate, str):  # "periodic"
            q = x[0] + (q - x[0]) % (x[-1] - x[0])
        place = interval_of(x, q)
        off = along(q - taken(x, place), c.ndim - 2)
        value = horner([taken(row, place) for row in c], off, nu)
        value = value + np.zeros((*q.shape, *c.shape[2:]))
        if extrapolate is False:
            value = np.where(along(inside(x, q), c.ndim - 2), value, np.nan)
        return value

    def derivative(self, nu: int = 1) -> Self:
        """The derivative of order nu."""
        if nu < 0:
            return self.antiderivative(-nu)
        own = None if self.own is None else self.own.derivative(nu)
        degree = self.c.shape[0] - 1
        if nu > degree:
            c = 0 * self.c[:1]
        else:
            factors = [float(math.perm(degree - m, nu)) for m in range(degree + 1 - nu)]
            c = self.c[: degree + 1 - nu] * np.reshape(factors, (-1, *[1] * (self.c.ndim - 1)))
        return self._like(c, self.extrapolate, own)

    def antiderivative(self, nu: int = 1) -> Self:
        """The antiderivative of order nu, 0 at the first breakpoint."""
        if nu < 0:
            return self.derivative(-nu)
        found = self
        for _ in range(nu):
            found = found._antiderivative()
        return found

    def _antiderivative(self) -> Self:
        own = None if self.own is None else self.own.antiderivative()
        degree = self.c.shape[0] - 1
        divisors = np.reshape([float(degree - m + 1) for m in range(degree + 1)], (-1, 1))
        c = self.c / divisors.reshape((-1, *[1] * (self.c.ndim - 1)))
        width = along(np.diff(self.x), c.ndim - 2)
        increment: Any = 0.0
        for m in range(degree + 1):
            increment = (increment + c[m]) * width
        start = np.concatenate([0 * increment[:1], np.cumsum(increment, axis=0)[:-1]])
        c = np.concatenate([c, start[None]])
        # An antiderivative of a periodic function is not periodic.
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self._like(c, extrapolate, own)

    def integrate(self, a: ArrayLike, b: ArrayLike, extrapolate: object = None) -> Any:
        """The integral from a to b, also in the limits."""
        if self.own is not None and not holds_expr([a, b]):
            return self.own.integrate(a, b, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        primitive = self.antiderivative()
        if isinstance(extrapolate, str):  # "periodic"
            first, period = self.x[0], self.x[-1] - self.x[0]
            turns = [np.floor((end - first) / period) for end in (a, b)]
            low, high = (
                primitive(end - count * period) for end, count in zip((a, b), turns, strict=True)
            )
            return high - low + (turns[1] - turns[0]) * primitive(self.x[-1])
        return primitive(b, extrapolate=extrapolate) - primitive(a, extrapolate=extrapolate)
