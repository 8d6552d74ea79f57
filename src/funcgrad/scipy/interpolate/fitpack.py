"""FITPACK's functions: evaluation, derivatives and integrals of a spline, and splines through data.

A spline is a tuple of its knots, coefficients and degree, or a `BSpline`; a curve has a list of coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.interpolate as _scipy

from funcgrad.expr.scope_order import next_in_order
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import composed, number, real, refuse
from funcgrad.scipy.host_call import host_value
from funcgrad.scipy.interpolate.bspline import (
    BSpline,
    antiderivative_of,
    derivative_of,
    value_at,
    with_knot,
)
from funcgrad.scipy.interpolate.knot_order import expect_rising
from funcgrad.scipy.interpolate.piecewise import PPoly
from funcgrad.scipy.interpolate.through_data import basis_at, knots_through
from funcgrad.source import fail
from funcgrad.typing import Array

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
            return own(*args, **kwargs)
        made, begun = isinstance(given["tck"], BSpline | _scipy.BSpline), next_in_order()
        named = given | {"tck": tuple(tck)}
        found = traced(**named)
        if isinstance(found, tuple):  # a spline, by few operations
            return BSpline(*found) if made else found
        return host_value(own, named, found, begun)

    function.__name__ = function.__qualname__ = traced.__name__
    function.__doc__ = traced.__doc__
    function.__signature__ = parameters  # type: ignore[attr-defined]  # adopted code looks for tuples by it
    return function


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
def splev(x: npt.ArrayLike, tck: Tck, der: int = 0, ext: int = 0) -> Any:
    """As `scipy.interpolate.splev`, also in the points, the knots and the
    coefficients.
    """
    if _is_curve(tck[1]):
        return [splev(x, (tck[0], c, tck[2]), der, ext) for c in tck[1]]
    if ext == 2:
        raise fail(TypeError, "splev: expected ext to be 0, 1 or 3 for traced values, but got 2")
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
def insert(x: npt.ArrayLike, tck: Tck, m: int = 1, per: object = 0) -> Any:
    """As `scipy.interpolate.insert`: the same spline with a further knot at x, m
    times.
    """
    refuse("insert", per=per or None)
    if _is_curve(tck[1]):
        found = [insert(x, (tck[0], c, tck[2]), m) for c in tck[1]]
        return found[0][0], [c for _, c, _ in found], tck[2]
    return _padded(with_knot(_coefficients(tck), x, m))


@_of_spline
def splint(a: npt.ArrayLike, b: npt.ArrayLike, tck: Tck, full_output: int = 0) -> Any:
    """As `scipy.interpolate.splint`: the spline is 0 outside of its interval.

    >>> import funcgrad as fg
    >>> fg.grad(lambda b: splint(0.0, b, ([0.0, 0.0, 2.0, 2.0], np.array([1.0, 4.0]), 1)))(0.5)
    1.75
    """
    if full_output:
        raise fail(TypeError, "splint: full_output=1 is not supported with traced values")
    if _is_curve(tck[1]):
        return [splint(a, b, (tck[0], c, tck[2])) for c in tck[1]]
    t, c, k = _coefficients(tck)
    ends = np.stack([real("splint", end).reshape(()) for end in (a, b)])
    low, high = value_at(*antiderivative_of((t, c, k), 1), np.clip(ends, t[k], t[-k - 1]), 0)
    return high - low


@_of_spline
def spalde(x: npt.ArrayLike, tck: Tck) -> Any:
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
        raise fail(ValueError, f"sproot: expected a cubic spline, but got degree {k}")
    every = PPoly.from_spline((t, c, k))  # also beyond the interval of the spline
    within = PPoly(every.c[:, k : len(t) - 1 - k], every.x[k : len(t) - k])
    return within.roots(discontinuity=False, extrapolate=False)


# -- splines through data ------------------------------------------------------------------------------
@_hosted
def splrep(
    x: npt.ArrayLike, y: npt.ArrayLike, w: npt.ArrayLike | None = None, **options: object
) -> Any:
    """As `scipy.interpolate.splrep`, in the values y, if the knots do not depend
    on them: with ``s=0``, or with knots t; with ``s=0`` in the abscissae, too.
    """
    plain = not holds_expr([w, *options.values()])
    smooth = options.get("s", None if w is None else "by the weights")
    fixed = plain and (options.get("t") is not None or smooth in (0, None))
    if holds_expr(x):
        changed = [options.get(name) for name in ("t", "xb", "xe", "per", "full_output")]
        fixed = fixed and not any([item is not None and item != 0 for item in changed])
    if not fixed or options.get("full_output"):
        raise fail(
            TypeError,
            "splrep: expected traced values y alone, with s=0 or knots t, since FITPACK chooses knots by "
            "the values; write s=0, or make_lsq_spline with given knots",
        )
    values = real("splrep", y)
    if holds_expr(x):
        return _padded(interpolating(real("splrep", x), values, _degree(options)))
    tables = [_scipy.splrep(x, row, w, **options) for row in np.eye(values.shape[0])]
    return tables[0][0], np.stack([table[1] for table in tables], axis=1) @ values, tables[0][2]


def _degree(options: Mapping[str, Any]) -> int:
    return int(options.get("k", 3))


def interpolating(x: Array, y: Array, k: int, bbox: tuple[Any, Any] = (None, None)) -> Tck:
    """The spline through y at x with FITPACK's knots."""
    expect_rising("x must be strictly increasing if s = 0", x)
    first, last = [x[i] if end is None else end for i, end in zip((0, -1), bbox, strict=True)]
    t = knots_through(x, k, first, last)
    return t, np.linalg.solve(basis_at(t, k, x), y), k


@_hosted
def splprep(
    x: Sequence[npt.ArrayLike],
    w: npt.ArrayLike | None = None,
    u: npt.ArrayLike | None = None,
    **options: object,
) -> Any:
    """As `scipy.interpolate.splprep` with ``s=0``: a curve through the points x."""
    k, smooth = _degree(options), options.pop("s", None)
    options.pop("k", None)
    others = {name: value for name, value in options.items() if value is not None and value != 0}
    if smooth != 0 or w is not None or set(others) - {"quiet", "nest"}:
        raise fail(
            TypeError,
            "splprep: expected traced values with s=0 and without other options, since FITPACK chooses knots "
            "by the values; write s=0, or make_lsq_spline(u, points, t)",
        )
    points = np.stack([real("splprep", row) for row in x])
    if u is None:  # by the lengths of the chords
        chords = np.linalg.norm(np.diff(points, axis=1), axis=0)
        lengths = np.cumsum(chords)
        at = np.concatenate([np.zeros(1), lengths]) / lengths[-1]
    else:
        at = real("splprep", u)
    t, c, _ = interpolating(at, points.T, k)
    return (t, list(c.T), k), at
