"""B-splines, in their coefficients, knots and the points, and splines through data, in the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import SciPyWrapper, composed, number, real, refuse, taken
from funcgrad.scipy.interpolate.knot_order import expect_rising
from funcgrad.scipy.interpolate.polynomial_pieces import along, points_at
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)


class BSpline(SciPyWrapper, of=_scipy.BSpline):
    """As `scipy.interpolate.BSpline`, also in the knots, the coefficients and the
    points.

    >>> import funcgrad as fg
    >>> fg.grad(BSpline([0.0, 0.0, 2.0, 2.0], [1.0, 4.0], 1))(0.5)
    1.5
    """

    t: Array
    c: Array
    _takes = "; spline(x, nu), the derivative of order nu, takes them"

    def _set_traced(
        self, t: ArrayLike, c: ArrayLike, k: int, extrapolate: object = True, axis: int = 0
    ) -> None:
        self.t = real("BSpline", t)
        self.c = np.moveaxis(number("BSpline", c), axis, 0)
        self.k, self.extrapolate, self.axis = int(k), extrapolate, axis % self.c.ndim
        expect_rising("Knots must be in a non-decreasing order.", self.t, strictly=False)

    def _set_own(self, own: Any) -> None:
        self.own, self.t, self.c, self.k = own, own.t, own.c, own.k
        self.extrapolate, self.axis = own.extrapolate, own.axis

    @classmethod
    def construct_fast(
        cls, t: Array, c: Array, k: int, extrapolate: object = True, axis: int = 0
    ) -> BSpline:
        """As SciPy's: of coefficients whose first axis is that of the knots."""
        made = cls(t, c, k, extrapolate)
        made.axis = axis
        return made

    @staticmethod
    def basis_element(t: ArrayLike, extrapolate: object = True) -> BSpline:
        """As SciPy's: the basis spline from the first to the last knot."""
        if not holds_expr(t):
            return BSpline.of_scipy(_scipy.BSpline.basis_element(t, extrapolate))
        knots = real("BSpline.basis_element", t)
        k = knots.shape[0] - 2
        sides = [np.repeat(knots[:1] - 1, k), knots, np.repeat(knots[-1:] + 1, k)]
        return BSpline(np.concatenate(sides), np.eye(1, 3 * k + 2, k)[0], k, extrapolate)

    @staticmethod
    def design_matrix(x: Array, t: Array, k: int, extrapolate: object = False) -> Any:
        """As SciPy's, of plain points and knots."""
        if holds_expr([x, t]):
            raise type_error(
                "BSpline.design_matrix: expected plain points and knots, but got traced ones; "
                "write BSpline(t, np.eye(n), k)(x), a dense matrix",
            )
        return _scipy.BSpline.design_matrix(x, t, k, extrapolate)

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """The knots, the coefficients and the degree."""
        return self.t, self.c, self.k

    def __call__(self, x: ArrayLike, nu: int = 0, extrapolate: object = None) -> Any:
        """The value, or the derivative of order nu, at the points x; SciPy's own, if all is plain."""
        if self.own is not None and not holds_expr(x):
            return self.own(x, nu, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        points = real("BSpline", x)
        q = points.reshape(-1)
        first, last = self.t[self.k], self.t[self.t.shape[0] - self.k - 1]
        if isinstance(extrapolate, str):  # "periodic"
            q = first + (q - first) % (last - first)
        value = value_at(self.t, self.c[: self.t.shape[0] - self.k - 1], self.k, q, nu)
        if not extrapolate:
            inside = np.logical_and(q >= first, q <= last)
            value = np.where(along(inside, self.c.ndim - 1), value, np.nan)
        return points_at(self.axis, points.ndim, value.reshape((*points.shape, *self.c.shape[1:])))

    def derivative(self, nu: int = 1) -> BSpline:
        """The derivative of order nu."""
        if self.own is not None:
            return BSpline.of_scipy(self.own.derivative(nu))
        return self._like(derivative_of(self._tck(), nu), self.extrapolate)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """The antiderivative of order nu, 0 at the first knot."""
        if self.own is not None:
            return BSpline.of_scipy(self.own.antiderivative(nu))
        # An antiderivative of a periodic function is not periodic.
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self._like(antiderivative_of(self._tck(), nu), extrapolate)

    def integrate(self, a: ArrayLike, b: ArrayLike, extrapolate: object = None) -> Any:
        """The integral from a to b, also in the limits."""
        if self.own is not None and not holds_expr([a, b]):
            return self.own.integrate(a, b, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        t, c, k = antiderivative_of(self._tck(), 1)
        first, last = self.t[self.k], self.t[self.t.shape[0] - self.k - 1]
        # SciPy's integral has an axis of one entry.
        ends = np.stack([real("BSpline.integrate", end).reshape(()) for end in (a, b)])
        if extrapolate == "periodic":
            turns = np.floor((ends - first) / (last - first))
            ends = ends - turns * (last - first)
            whole = np.diff(value_at(t, c, k, np.stack([first, last]), 0), axis=0)
            low, high = value_at(t, c, k, ends, 0)
            found = high - low + (turns[1] - turns[0]) * whole[0]
        else:
            ends = ends if extrapolate else np.clip(ends, first, last)
            low, high = value_at(t, c, k, ends, 0)
            found = high - low
        return found

    def insert_knot(self, x: ArrayLike, m: int = 1) -> BSpline:
        """The same spline with a further knot at x, m times."""
        if self.own is not None and not holds_expr(x):
            return BSpline.of_scipy(self.own.insert_knot(x, m))
        refuse(
            "BSpline.insert_knot",
            extrapolate=None if self.extrapolate in (True, False) else "periodic",
        )
        return self._like(with_knot((self.t, self.c, self.k), x, m), self.extrapolate)

    def _tck(self) -> tuple[Any, Any, int]:
        return self.t, self.c[: self.t.shape[0] - self.k - 1], self.k

    def _like(self, tck: tuple[Any, Any, int], extrapolate: object) -> BSpline:
        made = BSpline.__new__(BSpline)
        made.own, (made.t, made.c, made.k) = None, tck
        made.extrapolate, made.axis = extrapolate, self.axis
        return made


# -- knots and coefficients --------------------------------------------------------------------------
def value_at(t: Array, c: Array, k: int, q: Array, nu: int) -> Any:
    """By de Boor's recurrence, on the derivative's coefficients; an empty interval weighs nothing."""
    if nu > k:
        return along(0.0 * q, c.ndim - 1) * c[:1]
    t, c, k = derivative_of((t, c, k), nu)
    place = np.clip(np.searchsorted(t, q, side="right") - 1, k, c.shape[0] - 1)
    d = [taken(c, place - k + j) for j in range(k + 1)]
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            left, right = taken(t, place - k + j), taken(t, place + 1 + j - r)
            empty = left == right
            width = np.where(empty, 1.0, right - left)
            before, after = [
                along(np.where(empty, 0.0, part / width), c.ndim - 1)
                for part in (right - q, q - left)
            ]
            d[j] = before * d[j - 1] + after * d[j]
    if k:
        return d[k]
    return np.where(along(taken(t, place) == taken(t, place + 1), c.ndim - 1), 0.0, d[0])


def derivative_of(tck: tuple[Any, Any, int], nu: int) -> tuple[Any, Any, int]:
    """The knots, the coefficients and the degree of the derivative of order nu."""
    if nu < 0:
        return antiderivative_of(tck, -nu)
    t, c, k = tck
    if nu > k:
        raise value_error(
            f"derivative: expected an order of at most the degree {k} of the spline, but got {nu}",
        )
    for _ in range(nu):
        spread = t[k + 1 : c.shape[0] + k] - t[1 : c.shape[0]]
        spread = np.where(spread == 0, 1.0, spread)
        c, t, k = k * (c[1:] - c[:-1]) / along(spread, c.ndim - 1), t[1:-1], k - 1
    return t, c, k


def antiderivative_of(tck: tuple[Any, Any, int], nu: int) -> tuple[Any, Any, int]:
    """The knots, the coefficients and the degree of the antiderivative of order nu."""
    if nu < 0:
        return derivative_of(tck, -nu)
    t, c, k = tck
    for _ in range(nu):
        spread = along(t[k + 1 :] - t[: -k - 1], c.ndim - 1)
        rising = np.cumsum(c * spread, axis=0) / (k + 1)
        c = np.concatenate([0 * rising[:1], rising])
        t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
    return t, c, k


def spline_integral(tck: tuple[Any, Any, int], a: ArrayLike, b: ArrayLike, who: str) -> Any:
    """The integral of a spline, which is 0 outside of its interval, from a to b."""
    t, _, k = tck
    ends = np.stack([real(who, end).reshape(()) for end in (a, b)])
    low, high = value_at(*antiderivative_of(tck, 1), np.clip(ends, t[k], t[-k - 1]), 0)
    return high - low


def with_knot(tck: tuple[Any, Any, int], x: ArrayLike, m: int) -> tuple[Any, Any, int]:
    """The knots, the coefficients and the degree with a further knot at x, m times, by Boehm's algorithm."""
    t, c, k = tck
    knot = real("insert", x).reshape(1)
    known, place = by_value([t, knot], "insert")
    last = len(known) - k - 2
    if not (known[k] <= place[0] <= known[last + 1]) or m <= 0:
        raise value_error(
            f"insert: expected m > 0 and a knot within the spline, but got {m} and {place[0]}",
        )
    i = int(np.clip(np.searchsorted(known, place[0], side="right") - 1, k, last))
    for _ in range(m):
        after = np.concatenate([t[: i + 1], knot, t[i + 1 :]])
        low = t[i - k + 1 : i + 1]
        share = along((knot - low) / (after[i + 2 : i + k + 2] - low), c.ndim - 1)
        middle = share * c[i - k + 1 : i + 1] + (1 - share) * c[i - k : i]
        t, c = after, np.concatenate([c[: i - k + 1], middle, c[i:]])
        i = i + 1 if place[0] < known[last + 1] else i
    return t, c, k
