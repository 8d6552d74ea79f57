"""B-splines, in their coefficients, knots and the points, and splines through data, in the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.interpolate as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import OfPlainData, composed, number, real, taken
from funcgrad.scipy.interpolate.piecewise import along, points_at
from funcgrad.source import fail
from funcgrad.typing import Array

_composed = composed(_scipy)


def spline_weights(who: str, x: Array, degree: int, q: Array) -> Any:
    """The spline of a degree through data at x is these weights, points times data, applied to the data."""
    if holds_expr(x):
        raise fail(
            TypeError,
            f"{who}: expected a plain grid for splines of degree {degree}, but it is traced; write "
            "CubicSpline, which is differentiated in its abscissae",
        )
    own = _scipy.make_interp_spline(x, np.eye(x.shape[0]), degree)
    return value_at(own.t, own.c, degree, q, 0)


class BSpline:
    """As `scipy.interpolate.BSpline`, also in the knots, the coefficients and the
    points.

    >>> import funcgrad as fg
    >>> fg.grad(BSpline([0.0, 0.0, 2.0, 2.0], [1.0, 4.0], 1))(0.5)
    1.5
    """

    def __init__(
        self,
        t: npt.ArrayLike,
        c: npt.ArrayLike,
        k: int,
        extrapolate: object = True,
        axis: int = 0,
    ) -> None:
        plain = not holds_expr([t, c])
        self.own = _scipy.BSpline(t, c, k, extrapolate, axis) if plain else None
        self.t: Array = real("BSpline", t) if self.own is None else self.own.t
        self.c: Array = (
            np.moveaxis(number("BSpline", c), axis, 0) if self.own is None else self.own.c
        )
        self.k, self.extrapolate, self.axis = int(k), extrapolate, axis % self.c.ndim

    @staticmethod
    def of_scipy(own: Any) -> BSpline:
        """SciPy's B-spline as one that takes traced points, too."""
        made = BSpline.__new__(BSpline)
        made.own, made.t, made.c, made.k = own, own.t, own.c, own.k
        made.extrapolate, made.axis = own.extrapolate, own.axis
        return made

    @classmethod
    def construct_fast(
        cls, t: Array, c: Array, k: int, extrapolate: object = True, axis: int = 0
    ) -> BSpline:
        """As SciPy's: of coefficients whose first axis is that of the knots."""
        made = cls(t, c, k, extrapolate)
        made.axis = axis
        return made

    @staticmethod
    def basis_element(t: npt.ArrayLike, extrapolate: object = True) -> BSpline:
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
            raise fail(
                TypeError,
                "BSpline.design_matrix: expected plain points and knots, since sparse matrices hold no "
                "traced values; write BSpline(t, np.eye(n), k)(x) for a dense one",
            )
        return _scipy.BSpline.design_matrix(x, t, k, extrapolate)

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """The knots, the coefficients and the degree."""
        return self.t, self.c, self.k

    def __getattr__(self, name: str) -> Any:
        own = None if name.startswith("__") else self.__dict__.get("own")
        if own is None:
            raise fail(
                AttributeError,
                f"BSpline: expected plain knots and coefficients for {name}, but got traced ones; evaluation "
                "takes traced ones: spline(x, nu) is the derivative of order nu",
            )
        return getattr(own, name)

    def __call__(self, x: npt.ArrayLike, nu: int = 0, extrapolate: object = None) -> Any:
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

    def derivative(self, nu: int = 1) -> Any:
        """The derivative of order nu, of plain knots and coefficients a B-spline."""
        if self.own is not None:
            return BSpline.of_scipy(self.own.derivative(nu))
        return lambda x: self(x, nu)


# -- splines through data ---------------------------------------------------------------------------
def _linear_in_data(name: str) -> Callable[..., Any]:
    """A function of SciPy's from data to a B-spline whose coefficients are linear in the values y."""
    own = getattr(_scipy, name)

    def function(x: npt.ArrayLike, y: npt.ArrayLike, *args: Any, **kwargs: Any) -> Any:
        axis = kwargs.pop("axis", 0)
        if not holds_expr([x, y, *args, *kwargs.values()]):
            return BSpline.of_scipy(own(x, y, *args, axis=axis, **kwargs))
        conditions = kwargs.get("bc_type")
        given = not (conditions is None or isinstance(conditions, str))
        if given or conditions == "periodic" or holds_expr([x, *args, *kwargs.values()]):
            raise fail(
                TypeError,
                f"{name}: expected plain abscissae, knots and end conditions given by a name beside traced "
                "values; write CubicSpline, which is differentiated in all of its arguments",
            )
        values = np.moveaxis(number(name, y), axis, 0)
        basis = own(x, np.eye(values.shape[0]), *args, **kwargs)
        spline = BSpline(basis.t, np.tensordot(basis.c, values, 1), basis.k)
        spline.axis = axis % values.ndim
        return spline

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.interpolate.{name}`, in y and the points, too."
    return function


make_interp_spline = _linear_in_data("make_interp_spline")
make_lsq_spline = _linear_in_data("make_lsq_spline")


class FittedSpline(OfPlainData):
    """A spline that FITPACK has fitted to plain data: SciPy's object, also in the points."""

    def __call__(self, x: npt.ArrayLike, nu: int = 0, ext: int | str | None = None) -> Any:
        """The value, or the derivative of order nu, at the points x."""
        if not holds_expr(x):
            return self.own(x, nu, ext)
        ext = self.own.ext if ext is None else ext
        return splev(x, self.own._eval_args, nu, _MODES.get(ext, ext))

    def derivative(self, n: int = 1) -> FittedSpline:
        """The derivative of order n."""
        return FittedSpline(self.own.derivative(n))


_MODES: dict[Any, int] = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


def _fitted(name: str) -> Callable[..., FittedSpline]:
    own = getattr(_scipy, name)

    def function(*args: Any, **kwargs: Any) -> FittedSpline:
        if holds_expr([*args, *kwargs.values()]):
            raise fail(
                TypeError,
                f"{name}: expected plain data, since FITPACK chooses the knots by them; write "
                "make_interp_spline or make_lsq_spline, which take traced values",
            )
        return FittedSpline(own(*args, **kwargs))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.interpolate.{name}`, also in the points."
    function.of_scipy = FittedSpline  # type: ignore[attr-defined]
    return function


UnivariateSpline = _fitted("UnivariateSpline")
InterpolatedUnivariateSpline = _fitted("InterpolatedUnivariateSpline")
LSQUnivariateSpline = _fitted("LSQUnivariateSpline")


def of_plain_data(name: str, remedy: str) -> Callable[..., Any]:
    """A function of SciPy's compiled code, with an error for traced values that says what to write."""
    own = getattr(_scipy, name)

    def function(*args: Any, **kwargs: Any) -> Any:
        if holds_expr([*args, *kwargs.values()]):
            raise fail(
                TypeError, f"{name}: expected plain values, but got traced ones; write {remedy}"
            )
        return own(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.interpolate.{name}`, of plain values."
    return function


@composed(_scipy)
def splrep(
    x: npt.ArrayLike, y: npt.ArrayLike, w: npt.ArrayLike | None = None, **options: Any
) -> Any:
    """As `scipy.interpolate.splrep`, in the values y, if the knots do not depend
    on them: with ``s=0``, or with knots t.
    """
    plain = not holds_expr([x, w, *options.values()])
    smooth = options.get("s", None if w is None else "by the weights")
    fixed = plain and (options.get("t") is not None or smooth in (0, None))
    if not fixed or options.get("full_output"):
        raise fail(
            TypeError,
            "splrep: expected traced values y alone, with s=0 or knots t, since FITPACK chooses knots by "
            "the values; write s=0, or make_lsq_spline with given knots",
        )
    values = real("splrep", y)
    tables = [_scipy.splrep(x, row, w, **options) for row in np.eye(values.shape[0])]
    return tables[0][0], np.stack([table[1] for table in tables], axis=1) @ values, tables[0][2]


splprep = of_plain_data("splprep", "make_interp_spline(u, points)")
splint = of_plain_data("splint", "the difference of PPoly.from_spline(tck).antiderivative()")
sproot = of_plain_data("sproot", "scipy.optimize.brentq of splev")


def _plain_or(traced: Callable[..., Any]) -> Callable[..., Any]:
    own = getattr(_scipy, traced.__name__)

    def function(x: Array, tck: Any, der: int = 0, ext: int = 0) -> Any:
        given = (tck.t, tck.c, tck.k) if hasattr(tck, "tck") else tck
        if not holds_expr([x, *given]):
            return own(x, tck, der, ext)
        return traced(x, given, der, ext)

    function.__name__ = function.__qualname__ = traced.__name__
    function.__doc__ = traced.__doc__
    return function


@_plain_or
def splev(x: npt.ArrayLike, tck: tuple[Any, ...], der: int = 0, ext: int = 0) -> Any:
    """As `scipy.interpolate.splev`, also in the points, the knots and the
    coefficients.
    """
    t, c, k = real("splev", tck[0]), real("splev", tck[1]), int(tck[2])
    q = real("splev", x)
    first, last = t[k], t[-k - 1]
    inside = np.clip(q, first, last) if ext == 3 and not der else q  # as FITPACK
    value = value_at(t, c[: t.shape[0] - k - 1], k, inside.reshape(-1), der).reshape(q.shape)
    if ext == 1:
        value = np.where(np.logical_and(q >= first, q <= last), value, 0.0)
    if ext == 2:
        raise fail(TypeError, "splev: expected ext to be 0, 1 or 3 for traced values, but got 2")
    return value


def value_at(t: Array, c: Array, k: int, q: Array, nu: int) -> Any:
    """By de Boor's recurrence, on the derivative's coefficients."""
    for _ in range(nu):
        if k == 0:
            return along(0.0 * q, c.ndim - 1) * c[:1]
        spread = t[k + 1 : c.shape[0] + k] - t[1 : c.shape[0]]
        spread = np.where(spread == 0, 1.0, spread)
        c, t, k = k * (c[1:] - c[:-1]) / along(spread, c.ndim - 1), t[1:-1], k - 1
    place = np.clip(np.searchsorted(t, q, side="right") - 1, k, c.shape[0] - 1)
    d = [taken(c, place - k + j) for j in range(k + 1)]
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            left, right = taken(t, place - k + j), taken(t, place + 1 + j - r)
            share = along((q - left) / (right - left), c.ndim - 1)
            d[j] = (1 - share) * d[j - 1] + share * d[j]
    return d[k]
