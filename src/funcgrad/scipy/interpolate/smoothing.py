"""Smoothing splines, whose knots and penalty FITPACK chooses by the data.

A smoothing spline has the least jumps of its derivative of order k at the knots among those whose errors
have a sum of squares s: its coefficients minimize ``sum((w * (y - B c))**2) + exp(v) * sum((D c)**2)``, and v
is such that the first sum is s. FITPACK's knots are abscissae of the data. Which ones is a choice, without a
derivative; the penalty v has that of the solution of its equation. Data on a grid are fitted along one axis,
and the coefficients then along the other, with one penalty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.interpolate as _scipy
from scipy.linalg import qr
from scipy.optimize import brentq
from scipy.special import expit

from funcgrad.expr import concrete
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import nondifferentiable, real, solution, with_value
from funcgrad.scipy.interpolate.through_data import basis_at, knots_through, least_squares
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike


class Abscissae(NamedTuple):
    """The coordinates of data along an axis, the ends of the interval there, and the degree of the spline."""

    x: Array
    first: Any
    last: Any
    k: int

    @classmethod
    def within(cls, x: Array, ends: Sequence[Any], k: int) -> Abscissae:
        """Coordinates in the interval between the ends; None is the first, or the last, coordinate."""
        first, last = [x[i] if end is None else end for i, end in zip((0, -1), ends, strict=True)]
        return cls(x, first, last, k)

    def knots(self, inner: Array) -> Any:
        """The knots of a spline with these inside of the interval."""
        sides = [np.repeat(np.reshape(end, 1), self.k + 1) for end in (self.first, self.last)]
        return np.concatenate([sides[0], inner, sides[1]])


class Smoother(NamedTuple):
    """A function of SciPy's that fits a smoothing spline, with the settings that are no data.

    ``fit(z, w, s, nest, *axes)`` returns the knots along each of the `Abscissae`, and the coefficients,
    which have one more axis if there is one axis of abscissae.
    """

    fit: Callable[..., tuple[list[Array], Array]]
    k: tuple[int, ...]
    nest: int | None = None


class _Kind(NamedTuple):
    """What SciPy has chosen: the places of the inner knots among the abscissae, and whether it penalizes.

    Places are None for the knots of an interpolating spline. ``is_exact`` says that s is 0, ``is_finite``
    that the coefficients are finite.
    """

    places: tuple[tuple[int, ...] | None, ...]
    shape: tuple[int, ...]
    is_penalized: bool
    is_exact: bool
    is_finite: bool


def smoothing_spline(
    who: str, smoother: Smoother, axes: Sequence[Abscissae], z: Array, w: Array | None, s: ArrayLike
) -> tuple[list[Any], Any]:
    """The knots along each axis and the coefficients of the spline that SciPy fits with s > 0.

    Its value is SciPy's. The derivative is that of the exact solution with the same knots: SciPy's own has a
    sum of squares that differs from s by up to 0.001*s, and this difference stays.
    """
    weights: Any = np.ones(z.shape[:1]) if w is None else w
    total = real(who, s)
    data = [z, weights, total]
    for axis in axes:
        data += [axis.x, real(who, axis.first), real(who, axis.last)]
    shapes = tuple([part.shape for part in data])
    whole: Any = np.concatenate([lift_fully(part.reshape(-1)) for part in data])
    kind: _Kind = concrete(whole, who, _choice(smoother, shapes))
    if kind.is_exact and holds_expr(s):
        raise value_error(
            f"{who}: expected a traced s > 0, but got 0, where slopes in s are infinite; write s=0",
        )
    knots = [_knots(axis, chosen) for axis, chosen in zip(axes, kind.places, strict=True)]
    size = int(np.prod(kind.shape))
    own = nondifferentiable(
        who, _fitted(smoother, shapes), whole, like=lambda _: np.zeros(size + 1)
    )
    v = None
    if kind.is_penalized:
        places = [axis.x for axis in axes]

        def excess(v: Array, z: Array, w: Array, s: Array, *given: Array) -> Any:
            at, t = given[: len(axes)], given[len(axes) :]
            found = _penalized(at, t, smoother.k, z, w, v)
            return np.sum(np.square(_errors(at, t, smoother.k, z, w, found))) - s

        v = solution(own[size], excess, z, weights, total, *places, *knots)
    found = _penalized([axis.x for axis in axes], knots, smoother.k, z, weights, v)
    if not kind.is_finite:
        found = np.nan * found
    return knots, with_value(own[:size].reshape(kind.shape), found)


def _knots(axis: Abscissae, places: tuple[int, ...] | None) -> Any:
    if places is None:
        return knots_through(axis.x, axis.k, axis.first, axis.last)
    return axis.knots(axis.x[np.array(places, int)])


def _penalized(
    places: Sequence[Array],
    knots: Sequence[Array],
    degrees: Sequence[int],
    z: Array,
    w: Array,
    v: Array | None,
) -> Any:
    """The coefficients that are least in squares, with the penalty exp(v) or without one."""
    found = z
    for i, (x, t, k) in enumerate(zip(places, knots, degrees, strict=True)):
        has_jumps = v is not None and t.shape[0] > 2 * k + 2
        penalty = np.exp(v / 2) * jumps(t, k) if v is not None and has_jumps else None
        weights = None if i else w
        found = np.moveaxis(
            least_squares(x, np.moveaxis(found, i, 0), t, k, weights, penalty), 0, i
        )
    return found


def _errors(
    places: Sequence[Array],
    knots: Sequence[Array],
    degrees: Sequence[int],
    z: Array,
    w: Array,
    c: Array,
) -> Any:
    """The weighted errors of the spline with these coefficients."""
    found: Any = c
    for i, (x, t, k) in enumerate(zip(places, knots, degrees, strict=True)):
        found = _along(basis_at(t, k, x), found, i)
    return w[:, None] * (z - found)


def jumps(t: Array, k: int) -> Any:
    """The matrix of inner knots by coefficients: jumps of the derivative of order k, in FITPACK's scale.

    Inner knots are simple. Each of k + 2 splines of the basis has a jump at a knot.
    """
    count = t.shape[0] - 2 * k - 2
    at, size = t[k + 1 : k + 1 + count], t.shape[0] - k - 1
    found: Any = np.zeros((count, size))
    for first in range(k + 2):
        near = [t[i : i + count] for i in range(first, first + k + 2)]
        jump = near[-1] - near[0]
        for place, other in enumerate(near, first):
            if place != k + 1:
                jump = jump / (at - other)
        found = found + jump[:, None] * np.eye(count, size, first)
    return found * ((t[size] - t[k]) / (count + 1)) ** k


# -- SciPy's choices -----------------------------------------------------------------------------------
class _Fit(NamedTuple):
    """SciPy's spline of plain data."""

    axes: list[Abscissae]
    knots: list[Array]
    z: Array
    w: Array
    s: float
    c: Array


def _fit(smoother: Smoother, shapes: tuple[tuple[int, ...], ...], whole: Array) -> _Fit:
    sizes = [int(np.prod(shape)) for shape in shapes]
    parts = np.split(np.asarray(whole, float), np.cumsum(sizes)[:-1])
    z, w, s, *rest = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
    axes = [
        Abscissae(x, float(first), float(last), k)
        for x, first, last, k in zip(rest[::3], rest[1::3], rest[2::3], smoother.k, strict=True)
    ]
    knots, c = smoother.fit(z, w, float(s), smoother.nest, *axes)
    return _Fit(axes, knots, z, w, float(s), c)


@lru_cache(maxsize=256)
def _choice(smoother: Smoother, shapes: tuple[tuple[int, ...], ...]) -> Callable[[Array], _Kind]:
    """The reading of what SciPy chooses, the same function for the same settings: guards compare it."""

    def choice(whole: Array) -> _Kind:
        fit = _fit(smoother, shapes, whole)
        places: list[tuple[int, ...] | None] = []
        for (x, _, _, k), t in zip(fit.axes, fit.knots, strict=True):
            inner = t[k + 1 : -k - 1]
            found = np.searchsorted(x, inner)
            is_among = np.array_equal(x[np.minimum(found, x.size - 1)], inner)
            places.append(tuple(found.tolist()) if is_among else None)
        is_penalized = _log_penalty(fit) is not None
        is_finite = bool(np.all(np.isfinite(fit.c)))
        return _Kind(tuple(places), fit.c.shape, is_penalized, fit.s == 0, is_finite)

    return choice


@lru_cache(maxsize=256)
def _fitted(smoother: Smoother, shapes: tuple[tuple[int, ...], ...]) -> Callable[[Array], Array]:
    """SciPy's coefficients and the logarithm of the penalty, which SciPy does not return."""

    def fitted(whole: Array) -> Array:
        fit = _fit(smoother, shapes, whole)
        penalty = _log_penalty(fit)
        return np.append(fit.c, -np.inf if penalty is None else penalty)

    return fitted


def _log_penalty(fit: _Fit) -> float | None:
    """The v whose spline has the sum of squares of SciPy's; None if it is that of least squares.

    Both sums of squares are sums over the same modes, of a generalized singular value decomposition of the
    matrices of the data and of the jumps along each axis. So their shares are found once.
    """
    has_knots = [t.size > 2 * axis.k + 2 for axis, t in zip(fit.axes, fit.knots, strict=True)]
    if not any(has_knots) or not np.all(np.isfinite(fit.c)):
        return None
    places, degrees = [axis.x for axis in fit.axes], [axis.k for axis in fit.axes]
    target = np.sum(np.square(_errors(places, fit.knots, degrees, fit.z, fit.w, fit.c)))
    right = shares = fit.w[:, None] * fit.z
    modes, ratios = [], []
    for i, (x, t, k) in enumerate(zip(places, fit.knots, degrees, strict=True)):
        basis = _scipy.BSpline.design_matrix(x, t, k).toarray()
        found, ratio = _modes(basis if i else fit.w[:, None] * basis, jumps(t, k))
        shares = _along(found.T, shares, i)
        modes.append(found)
        ratios.append(np.expand_dims(ratio, 1 - i))
    fitted = shares
    for i, found in enumerate(modes):
        fitted = _along(found, fitted, i)
    least = np.sum(np.square(right - fitted))
    if target - least <= 1e-10 * target:
        return None

    def excess(v: float) -> float:
        left: Any = 0.0  # the share of each mode that is an error
        for ratio in ratios:
            own = expit(v + ratio)
            left = own + (1 - own) * left
        return float(least + np.sum(np.square(left * shares)) - target)

    ends = np.concatenate([-ratio[np.isfinite(ratio)] for ratio in ratios])
    return float(brentq(excess, np.min(ends) - 40, np.max(ends) + 40, xtol=1e-14))


def _modes(matrix: Array, penalty: Array) -> tuple[Array, Array]:
    """Orthonormal modes of the data, and the logarithm of the penalty of each beside its data."""
    q, r = qr(matrix, mode="economic")
    joint, _ = qr(np.concatenate([r, penalty]), mode="economic")
    u, cosine, right = np.linalg.svd(joint[: len(r)])
    sine = np.linalg.norm(joint[len(r) :] @ right.T, axis=0)
    with np.errstate(divide="ignore"):
        return q @ u, 2 * (np.log(sine) - np.log(cosine))


def _along(matrix: Array, x: Array, axis: int) -> Any:
    return np.moveaxis(matrix @ np.moveaxis(x, axis, 0), 0, axis)
