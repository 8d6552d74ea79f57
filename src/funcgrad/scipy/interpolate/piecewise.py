"""Piecewise polynomials, in their coefficients, breakpoints and the points where they are evaluated."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import scipy.interpolate as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import number, real, taken
from funcgrad.source import fail
from funcgrad.typing import Array


class OfScipy(Protocol):
    """A piecewise polynomial of SciPy's."""

    c: Array
    x: Array
    axis: int
    extrapolate: Any

    def __call__(self, x: npt.ArrayLike, nu: int = 0, extrapolate: object = None) -> Any: ...


def along(flat: Array, axis: int) -> Any:
    """A vector as an array that broadcasts along its first axis with arrays of more axes."""
    return flat.reshape((-1, *[1] * axis))


def points_at(axis: int, ndim: int, value: Array) -> Any:
    """Values at points, whose ndim axes come first, with these axes in the place of the data's axis."""
    if not axis:
        return value
    order = [*range(ndim, ndim + axis), *range(ndim), *range(ndim + axis, value.ndim)]
    return np.transpose(value, order)


class PPoly:
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
    own: OfScipy | None
    """SciPy's object, if the coefficients are plain: it is evaluated at plain points."""

    def __init__(
        self, c: npt.ArrayLike, x: npt.ArrayLike, extrapolate: object = None, axis: int = 0
    ) -> None:
        if not holds_expr([c, x]):
            self._set_own(_scipy.PPoly(c, x, extrapolate, axis))
            return
        coefficients = np.moveaxis(number("PPoly", c), (axis, axis + 1), (0, 1))
        self._set(coefficients, real("PPoly", x), extrapolate, axis)

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

    @classmethod
    def of_scipy(cls, own: OfScipy) -> Self:
        """SciPy's piecewise polynomial as one that takes traced points, too."""
        made = cls.__new__(cls)
        made._set_own(own)
        return made

    @classmethod
    def from_spline(cls, tck: Any, extrapolate: object = None) -> Self:
        """As SciPy's method."""
        return cls.of_scipy(_scipy.PPoly.from_spline(tck, extrapolate))

    def __getattr__(self, name: str) -> Any:
        own = None if name.startswith("__") else self.__dict__.get("own")
        if own is None:
            raise fail(
                AttributeError,
                f"piecewise polynomial: expected plain data for {name}, but got traced data; evaluation, "
                "derivative, antiderivative and integrate take traced data",
            )
        return getattr(own, name)

    def __call__(self, x: npt.ArrayLike, nu: int = 0, extrapolate: object = None) -> Any:
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
        # Breakpoints may fall, too.
        rising = np.where(x[0] < x[-1], 1.0, -1.0)
        place = np.searchsorted(rising * x, rising * q, side="right")
        place = np.clip(place - 1, 0, x.shape[0] - 2)
        off = along(q - taken(x, place), c.ndim - 2)
        degree = c.shape[0] - 1
        value: Any = np.zeros((1, *c.shape[2:]))
        for m in range(degree + 1 - nu):
            factor = np.prod([float(degree - m - j) for j in range(nu)])
            value = value * off + factor * taken(c[m], place)
        value = value + np.zeros((*q.shape, *c.shape[2:]))
        if extrapolate is False:
            inside = np.logical_and(rising * (q - x[0]) >= 0, rising * (q - x[-1]) <= 0)
            value = np.where(along(inside, c.ndim - 2), value, np.nan)
        return value

    def derivative(self, nu: int = 1) -> Self:
        """The derivative of order nu."""
        if nu < 0:
            return self.antiderivative(-nu)
        own = None if self.own is None else self.own.derivative(nu)  # type: ignore[attr-defined]
        degree = self.c.shape[0] - 1
        if nu > degree:
            c = 0 * self.c[:1]
        else:
            factors = [
                np.prod([float(degree - m - j) for j in range(nu)]) for m in range(degree + 1 - nu)
            ]
            c = self.c[: degree + 1 - nu] * np.reshape(factors, (-1, *[1] * (self.c.ndim - 1)))
        return self._like(c, self.extrapolate, own)

    def antiderivative(self, nu: int = 1) -> Self:
        """The antiderivative of order nu, 0 at the first breakpoint."""
        found = self
        for _ in range(nu):
            found = found._antiderivative()
        return found

    def _antiderivative(self) -> Self:
        own = None if self.own is None else self.own.antiderivative()  # type: ignore[attr-defined]
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

    def integrate(self, a: npt.ArrayLike, b: npt.ArrayLike, extrapolate: object = None) -> Any:
        """The integral from a to b, also in the limits."""
        if self.own is not None and not holds_expr([a, b]):
            return self.own.integrate(a, b, extrapolate)  # type: ignore[attr-defined]
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if isinstance(extrapolate, str):
            raise fail(
                TypeError,
                "integrate: expected extrapolate to be True or False for traced values, but got 'periodic'",
            )
        primitive = self.antiderivative()
        return primitive(b, extrapolate=extrapolate) - primitive(a, extrapolate=extrapolate)
