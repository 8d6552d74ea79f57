"""FITPACK's functions: evaluation, derivatives and integrals of a spline, and splines through data.

A spline is a tuple of its knots, coefficients and degree, or a `BSpline`; a curve has a list of coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np
import scipy.interpolate as _scipy

from funcgrad.expr.scope_order import next_in_order
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import composed, number, real, refuse
from funcgrad.scipy.host_call import host_value
from funcgrad.scipy.interpolate.bspline import (
    BSpline,
    antiderivative_of,
    derivative_of,
    spline_integral,
    value_at,
    with_knot,
)
from funcgrad.scipy.interpolate.knot_order import expect_rising
from funcgrad.scipy.interpolate.piecewise import PPoly
from funcgrad.scipy.interpolate.smoothing import Abscissae, Smoother, smoothing_spline
from funcgrad.scipy.interpolate.through_data import (
    basis_at,
    knots_through,
    least_squares,
    make_interp_spline,
)
from funcgrad.source import as_of_numbers, type_error, value_error, with_name
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)
Tck = tuple[Any, Any, int]
"""The knots, the coefficients and the degree of a spline."""


def _known(tck: Tck | BSpline) -> Any:
    """The knots, the coefficients and the degree; a matrix of coefficients is a curve, as to FITPACK."""
    if not isinstance(tck, tuple | list):
        return tck.t, tck.c, tck.k
    t, c, k = tck
    return t, list(c) if len(getattr(c, "shape", ())) > 1 else c, k


def _of_spline(traced: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function of plain values; one of its arguments is a spline, ``tck``."""
    own = getattr(_scipy, traced.__name__)
    parameters = signature(own)

    def function(*args: object, **kwargs: object) -> Any:
        given = parameters.bind(*args, **kwargs).arguments
        tck = _known(given["tck"])
        if not holds_expr([*(given | {"tck": None}).values(), *tck]):
            if not isinstance(given["tck"], BSpline):
                return own(*args, **kwargs)
            plain = own(**given | {"tck": given["tck"].own})
            return BSpline.of_scipy(plain) if isinstance(plain, _scipy.BSpline) else plain
        made, begun = isinstance(given["tck"], BSpline | _scipy.BSpline), next_in_order()
        named = given | {"tck": tuple(tck)}
        found = traced(**named)
        if isinstance(found, tuple):  # a spline, by few operations
            return BSpline(*found) if made else found
        return host_value(own, named, found, begun)

    function.__signature__ = parameters  # type: ignore[attr-defined]  # adopted code looks for tuples by it
    return with_name(function, traced.__name__, traced.__doc__)


def _coefficients(tck: Tck) -> Tck:
    t, k = real("spline", tck[0]), int(tck[2])
    return t, number("spline", tck[1])[: t.shape[0] - k - 1], k


def _is_curve(c: object) -> bool:
    return isinstance(c, list | tuple) and len(c) > 0 and np.ndim(c[0]) > 0


def _padded(tck: Tck, mode: str = "constant") -> Tck:
    """FITPACK's coefficients, as many as there are knots: with zeros, or the last one ("edge")."""
    t, c, k = tck
    margins = [(0, t.shape[0] - c.shape[0]), *[(0, 0)] * (c.ndim - 1)]
    return t, np.pad(c, margins, mode), k  # type: ignore[call-overload]


@_of_spline
def splev(x: ArrayLike, tck: Tck, der: int = 0, ext: int = 0) -> Any:
    """As `scipy.interpolate.splev`, also in the points, the knots and the
    coefficients.
    """
    if _is_curve(tck[1]):
        return [splev(x, (tck[0], c, tck[2]), der, ext) for c in tck[1]]
    if ext == 2:
        raise type_error("splev: expected ext to be 0, 1 or 3 for traced values, but got 2")
    t, c, k = _coefficients(tck)
    q = real("splev", x)
    first, last = t[k], t[-k - 1]
    inside = np.clip(q, first, last) if ext == 3 and not der else q  # as FITPACK
    found = value_at(t, c, k, inside.reshape(-1), der).reshape((*q.shape, *c.shape[1:]))
    if ext == 1:
        within = np.logical_and(q >= first, q <= last)
        found = np.where(within.reshape((*q.shape, *[1] * (c.ndim - 1))), found, 0.0)
    return found


@_of_spline
def splder(tck: Tck, n: int = 1) -> Any:
    """As `scipy.interpolate.splder`."""
    if n == 0:
        return tck
    return splantider(tck, -n) if n < 0 else _padded(derivative_of(_coefficients(tck), n))


@_of_spline
def splantider(tck: Tck, n: int = 1) -> Any:
    """As `scipy.interpolate.splantider`."""
    return splder(tck, -n) if n <= 0 else _padded(antiderivative_of(_coefficients(tck), n), "edge")


@_of_spline
def insert(x: ArrayLike, tck: Tck, m: int = 1, per: object = 0) -> Any:
    """As `scipy.interpolate.insert`: the same spline with a further knot at x, m
    times.
    """
    refuse("insert", per=per or None)
    if _is_curve(tck[1]):
        found = [insert(x, (tck[0], c, tck[2]), m) for c in tck[1]]
        return found[0][0], [c for _, c, _ in found], tck[2]
    return _padded(with_knot(_coefficients(tck), x, m))


@_of_spline
def splint(a: ArrayLike, b: ArrayLike, tck: Tck, full_output: int = 0) -> Any:
    """As `scipy.interpolate.splint`: the spline is 0 outside of its interval.

    >>> import funcgrad as fg
    >>> fg.grad(lambda b: splint(0.0, b, ([0.0, 0.0, 2.0, 2.0], np.array([1.0, 4.0]), 1)))(0.5)
    1.75
    """
    if full_output:
        raise type_error("splint: full_output=1 is not supported with traced values")
    if _is_curve(tck[1]):
        return [splint(a, b, (tck[0], c, tck[2])) for c in tck[1]]
    return spline_integral(_coefficients(tck), a, b, "splint")


@_of_spline
def spalde(x: ArrayLike, tck: Tck) -> Any:
    """As `scipy.interpolate.spalde`: all derivatives at a point, or a
    list of them at points.
    """
    if _is_curve(tck[1]):
        return [spalde(x, (tck[0], c, tck[2])) for c in tck[1]]
    t, c, k = _coefficients(tck)
    q = np.atleast_1d(real("spalde", x))
    found = np.stack([value_at(t, c, k, q, order) for order in range(k + 1)], axis=1)
    return list(found) if q.shape[0] > 1 else found[0]


@_of_spline
def sproot(tck: Tck, mest: int = 10) -> Any:
    """As `scipy.interpolate.sproot`: the zeros of a cubic spline in its interval."""
    if _is_curve(tck[1]):
        return [sproot((tck[0], c, tck[2]), mest) for c in tck[1]]
    t, c, k = _coefficients(tck)
    if k != 3:
        raise value_error(f"sproot: expected a cubic spline, but got degree {k}")
    every = PPoly.from_spline((t, c, k))  # also beyond the interval of the spline
    within = PPoly(every.c[:, k : len(t) - 1 - k], every.x[k : len(t) - k])
    return within.roots(discontinuity=False, extrapolate=False)


# -- splines through data ------------------------------------------------------------------------------
@_hosted
def splrep(
    x: ArrayLike,
    y: ArrayLike,
    w: ArrayLike | None = None,
    xb: Array | float | None = None,
    xe: Array | float | None = None,
    k: int = 3,
    *,
    t: ArrayLike | None = None,
    s: Array | float | None = None,
    per: int = 0,
    full_output: int = 0,
    task: int = 0,
    quiet: int = 1,
) -> Any:
    """As `scipy.interpolate.splrep`, in the data, the weights and the sum of
    squares s.

    With ``s > 0`` FITPACK's knots are a choice among the abscissae, and
    its sum of squares differs from s by up to 0.001*s. The derivative is
    that of the exact solution with these knots, where the difference is
    constant.

    >>> import funcgrad as fg
    >>> x = np.arange(6.0)
    >>> slope = fg.grad(lambda s: splev(2.5, splrep(x, np.abs(x - 2), s=s)))
    >>> round(slope(0.1), 3)
    0.696
    """
    refuse("splrep", full_output=full_output or None, task=task if task > 0 else None)
    if per:
        return _periodic(x, y, w, {"xb": xb, "xe": xe, "k": k, "t": t, "s": s, "task": task})
    at, values, weights = (
        real("splrep", x),
        real("splrep", y),
        w if w is None else real("splrep", w),
    )
    if t is not None:
        return _padded(with_knots(at, values, weights, real("splrep", t), k, (xb, xe)))
    if s is None:
        s = 0 if w is None else _usual(at.shape[0])
    if not holds_expr(s) and s == 0:
        return _padded(interpolating(at, values, k, (xb, xe)))
    return _padded(smoothed("splrep", _by_splrep, at, values, weights, s, (xb, xe), k))


def _usual(count: int) -> float:
    """FITPACK's s for weights that are the inverse of standard deviations."""
    return float(count - np.sqrt(2 * count))


def smoothed(
    who: str,
    fit: Callable[..., tuple[list[Array], Array]],
    x: Array,
    y: Array,
    w: Array | None,
    s: Array | float,
    ends: tuple[Any, Any],
    k: int,
    nest: int | None = None,
) -> Tck:
    """The smoothing spline of SciPy's in one variable; y may have columns."""
    axes = [Abscissae.within(x, ends, k)]
    rows = y.reshape(y.shape[0], -1)
    (t,), c = smoothing_spline(who, Smoother(fit, (k,), nest), axes, rows, w, s)
    return t, c.reshape((-1, *y.shape[1:])), k


def _by_splrep(y: Array, w: Array, s: float, _: object, at: Abscissae) -> tuple[list[Array], Array]:
    t, c, _ = _scipy.splrep(at.x, y[:, 0], w, at.first, at.last, at.k, s=s)
    return [t], c[: t.size - at.k - 1, None]


def _periodic(x: ArrayLike, y: ArrayLike, w: object, options: dict[str, Any]) -> Tck:
    """The coefficients of a periodic spline with fixed knots are linear in the values."""
    smooth = options["s"] not in (0, None) or (options["s"] is None and w is not None)
    if holds_expr([x, w, *options.values()]) or (smooth and options["t"] is None):
        raise type_error(
            "splrep: expected traced values y alone, with s=0 or knots t, for a periodic spline, since "
            "FITPACK chooses knots by the values; write s=0, or CubicSpline(x, y, bc_type='periodic')",
        )
    values = real("splrep", y)
    tables = [_scipy.splrep(x, row, w, per=1, **options) for row in np.eye(values.shape[0])]
    return tables[0][0], np.stack([table[1] for table in tables], axis=1) @ values, tables[0][2]


def interpolating(x: Array, y: Array, k: int, bbox: tuple[Any, Any] = (None, None)) -> Tck:
    """The spline through y at x with FITPACK's knots."""
    expect_rising("x must be strictly increasing if s = 0", x)
    first, last = [x[i] if end is None else end for i, end in zip((0, -1), bbox, strict=True)]
    t = knots_through(x, k, first, last)
    return t, np.linalg.solve(basis_at(t, k, x), y), k


def with_knots(
    x: Array, y: Array, w: Array | None, inner: Array, k: int, ends: tuple[Any, Any]
) -> Tck:
    """The spline with the least sum of squares and these knots inside of the interval."""
    t = Abscissae.within(x, ends, k).knots(inner)
    return t, least_squares(x, y, t, k, w), k


@_hosted
def splprep(
    x: Sequence[ArrayLike],
    w: ArrayLike | None = None,
    u: ArrayLike | None = None,
    ub: Array | float | None = None,
    ue: Array | float | None = None,
    k: int = 3,
    task: int = 0,
    s: Array | float | None = None,
    t: ArrayLike | None = None,
    full_output: int = 0,
    nest: int | None = None,
    per: int = 0,
    quiet: int = 1,
) -> Any:
    """As `scipy.interpolate.splprep`: a curve through, or near, the points x. The
    derivative is as that of `splrep`.
    """
    refuse(
        "splprep", full_output=full_output or None, per=per or None, task=task if task > 0 else None
    )
    points = np.stack([real("splprep", row) for row in x]).T
    at = chord_lengths(points) if u is None else real("splprep", u)
    ends = (None, None) if u is None else (ub, ue)
    weights = None if w is None else real("splprep", w)
    s = _usual(at.shape[0]) if s is None else s
    if t is not None and task == -1:
        inner = real("splprep", t)[k + 1 : -k - 1]
        tck = with_knots(at, points, weights, inner, k, ends)
    elif not holds_expr(s) and s == 0:
        tck = interpolating(at, points, k, ends)
    else:
        tck = smoothed("splprep", _by_splprep, at, points, weights, s, ends, k, nest)
    return (tck[0], list(tck[1].T), k), at


def chord_lengths(points: Array) -> Any:
    """The share of each point in the length of the polygon through the points."""
    chords = np.linalg.norm(np.diff(points, axis=0), axis=1)
    lengths = np.cumsum(chords)
    return np.concatenate([np.zeros(1), lengths]) / lengths[-1]


def _by_splprep(
    y: Array, w: Array, s: float, nest: int | None, at: Abscissae
) -> tuple[list[Array], Array]:
    (t, c, _), _ = _scipy.splprep(list(y.T), w, at.x, at.first, at.last, at.k, s=s, nest=nest)
    return [t], np.transpose(c)


# -- SciPy's smoothing splines in Python -----------------------------------------------------------------
def _at_traced_points(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes splines: those of plain data take traced points, too."""

    @wraps(function)
    def of_data(*args: Any, **kwargs: Any) -> Any:
        made = function(*args, **kwargs)
        spline, *rest = made if isinstance(made, tuple) else (made,)
        if isinstance(spline, _scipy.BSpline):
            spline = BSpline.of_scipy(spline)
        return (spline, *rest) if rest else spline

    return of_data


@_at_traced_points
@_composed
def make_splrep(
    x: ArrayLike,
    y: ArrayLike,
    *,
    w: ArrayLike | None = None,
    xb: Array | float | None = None,
    xe: Array | float | None = None,
    k: int = 3,
    s: Array | float = 0,
    t: ArrayLike | None = None,
    nest: int | None = None,
    bc_type: str | None = None,
) -> BSpline:
    """As `scipy.interpolate.make_splrep`. The derivative is as that of `splrep`."""
    at, values = real("make_splrep", x), real("make_splrep", y)
    return _made("make_splrep", at, values, (w, xb, xe, k, s, t, nest, bc_type))


@_at_traced_points
@_composed
def make_splprep(
    x: Sequence[ArrayLike],
    *,
    w: ArrayLike | None = None,
    u: ArrayLike | None = None,
    ub: Array | float | None = None,
    ue: Array | float | None = None,
    k: int = 3,
    s: Array | float = 0,
    t: ArrayLike | None = None,
    nest: int | None = None,
    bc_type: str | None = None,
) -> tuple[BSpline, Any]:
    """As `scipy.interpolate.make_splprep`. The derivative is as that of `splrep`."""
    points = np.stack([real("make_splprep", row) for row in x]).T
    at = chord_lengths(points) if u is None else real("make_splprep", u)
    found = _made("make_splprep", at, points, (w, ub, ue, k, s, t, nest, bc_type))
    found.axis = 1
    return found, at


def _made(who: str, x: Array, y: Array, options: tuple[Any, ...]) -> BSpline:
    w, first, last, k, s, t, nest, bc_type = options
    if not holds_expr(s) and s == 0:
        if t is not None or w is not None or nest is not None:
            raise as_of_numbers(ValueError("s==0 is for interpolation only"))
        return make_interp_spline(x, y, k=k, bc_type=bc_type)
    if bc_type == "periodic" or t is not None:
        raise type_error(
            f"{who}: expected neither knots t nor a periodic spline beside traced values with s > 0; write "
            "make_lsq_spline with given knots, or CubicSpline(x, y, bc_type='periodic')",
        )
    weights = None if w is None else real(who, w)
    return BSpline(*smoothed(who, _by_make_splprep, x, y, weights, s, (first, last), k, nest))


def _by_make_splprep(
    y: Array, w: Array, s: float, nest: int | None, at: Abscissae
) -> tuple[list[Array], Array]:
    ends = {"ub": at.first, "ue": at.last}
    made, _ = _scipy.make_splprep(list(y.T), w=w, u=at.x, **ends, k=at.k, s=s, nest=nest)
    return [made.t], made.c
