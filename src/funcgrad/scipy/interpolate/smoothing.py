"""Smoothing splines, whose knots and penalty FITPACK chooses by the data.

A smoothing spline has the least jumps of its derivative of order k at the knots among those whose errors
have a sum of squares s: its coefficients minimize ``sum((w * (y - B c))**2) + exp(v) * sum((D c)**2)``, and v
is such that the first sum is s. FITPACK's knots are abscissae of the data. Which ones is a choice, without a
derivative; the penalty v has that of the solution of its equation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.interpolate as _scipy
from scipy.linalg import qr
from scipy.optimize import brentq
from scipy.special import expit

from funcgrad.expr import concrete
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import nondifferentiable, real, solution, with_value
from funcgrad.scipy.interpolate.through_data import basis_at, knots_through, least_squares
from funcgrad.source import fail
from funcgrad.typing import Array


class Smoother(NamedTuple):
    """A function of SciPy's that fits a smoothing spline, with the settings that are no data.

    ``fit(x, y, w, s, first, last, k, nest)`` returns the knots and the coefficients, a row for each spline of
    the basis.
    """

    fit: Callable[..., tuple[Array, Array]]
    k: int
    nest: int | None = None


class _Kind(NamedTuple):
    """What SciPy has chosen: the places of the inner knots among the abscissae, and whether it penalizes.

    ``places`` is None for the knots of an interpolating spline. ``is_exact`` says that s is 0,
    ``is_finite`` that the coefficients are.
    """

    places: tuple[int, ...] | None
    size: int
    is_penalized: bool
    is_exact: bool
    is_finite: bool


def smoothing_spline(
    who: str,
    smoother: Smoother,
    x: Array,
    y: Array,
    w: Array | None,
    s: npt.ArrayLike,
    ends: tuple[Any, Any] = (None, None),
) -> tuple[Any, Any, int]:
    """The knots, the coefficients and the degree of the spline that SciPy fits with s > 0.

    Its value is SciPy's. The derivative is that of the exact solution with the same knots: SciPy's own has a
    sum of squares that differs from s by up to 0.001*s, and this difference stays.
    """
    k = smoother.k
    weights: Any = np.ones(x.shape) if w is None else w
    first, last = [x[i] if end is None else end for i, end in zip((0, -1), ends, strict=True)]
    rows, total = y.reshape(y.shape[0], -1), real(who, s)
    data = [x, rows, weights, total, real(who, first), real(who, last)]
    shapes = tuple([part.shape for part in data])
    whole: Any = np.concatenate([lift_fully(part.reshape(-1)) for part in data])
    kind: _Kind = concrete(whole, who, _choice(smoother, shapes))
    if kind.is_exact and holds_expr(s):
        raise fail(
            ValueError,
            f"{who}: expected a traced s > 0, but got 0, where slopes in s are infinite; write s=0",
        )
    if kind.places is None:
        t = knots_through(x, k, first, last)
    else:
        inner = x[np.array(kind.places, int)]
        sides = [np.repeat(np.reshape(end, 1), k + 1) for end in (first, last)]
        t = np.concatenate([sides[0], inner, sides[1]])
    size = kind.size * rows.shape[1]
    own = nondifferentiable(
        who, _fitted(smoother, shapes), whole, like=lambda _: np.zeros(size + 1)
    )
    penalty = None
    if kind.is_penalized:

        def error(v: Array, x: Array, y: Array, w: Array, t: Array, s: Array) -> Any:
            found = least_squares(x, y, t, k, w, _root_of_penalty(v, t, k))
            return np.sum(np.square(w[:, None] * (y - basis_at(t, k, x) @ found))) - s

        v = solution(own[size], error, x, rows, weights, t, total)
        penalty = _root_of_penalty(v, t, k)
    found = least_squares(x, rows, t, k, weights, penalty)
    if not kind.is_finite:
        found = np.nan * found
    coefficients = with_value(own[:size].reshape(found.shape), found)
    return t, coefficients.reshape((kind.size, *y.shape[1:])), k


def _root_of_penalty(v: Array, t: Array, k: int) -> Any:
    return np.exp(v / 2) * jumps(t, k)


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
def _split(shapes: tuple[tuple[int, ...], ...], whole: Array) -> list[Array]:
    sizes = [int(np.prod(shape)) for shape in shapes]
    parts = np.split(np.asarray(whole, float), np.cumsum(sizes)[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


@lru_cache(maxsize=256)
def _choice(smoother: Smoother, shapes: tuple[tuple[int, ...], ...]) -> Callable[[Array], _Kind]:
    """The reading of what SciPy chooses, the same function for the same settings: guards compare it."""

    def choice(whole: Array) -> _Kind:
        x, y, w, *rest = _split(shapes, whole)
        k = smoother.k
        t, c = smoother.fit(x, y, w, *rest, k, smoother.nest)
        inner = t[k + 1 : -k - 1]
        places = np.searchsorted(x, inner)
        is_among = np.array_equal(x[np.minimum(places, x.size - 1)], inner)
        penalty = _log_penalty(x, y, w, t, k, c)
        chosen = tuple(places.tolist()) if is_among else None
        is_finite = bool(np.all(np.isfinite(c)))
        is_penalized = is_finite and penalty is not None
        return _Kind(chosen, c.shape[0], is_penalized, bool(rest[0] == 0), is_finite)

    return choice


@lru_cache(maxsize=256)
def _fitted(smoother: Smoother, shapes: tuple[tuple[int, ...], ...]) -> Callable[[Array], Array]:
    """SciPy's coefficients and the logarithm of the penalty, which SciPy does not return."""

    def fitted(whole: Array) -> Array:
        x, y, w, *rest = _split(shapes, whole)
        t, c = smoother.fit(x, y, w, *rest, smoother.k, smoother.nest)
        penalty = _log_penalty(x, y, w, t, smoother.k, c)
        return np.append(c, -np.inf if penalty is None else penalty)

    return fitted


def _log_penalty(x: Array, y: Array, w: Array, t: Array, k: int, c: Array) -> float | None:
    """The v whose spline has the sum of squares of SciPy's; None if it is that of least squares.

    Both sums of squares are sums over the same modes, of a generalized singular value decomposition of the
    matrices of the data and of the jumps. So their shares are found once.
    """
    if t.size == 2 * k + 2 or not np.all(np.isfinite(c)):
        return None
    basis = _scipy.BSpline.design_matrix(x, t, k).toarray()
    target = np.sum(np.square(w[:, None] * (y - basis @ c)))
    q, r = qr(w[:, None] * basis, mode="economic")
    right = q.T @ (w[:, None] * y)
    least = np.sum(np.square(w[:, None] * y - q @ right))
    joint, _ = qr(np.concatenate([r, jumps(t, k)]), mode="economic")
    u, cosine, modes = np.linalg.svd(joint[: len(r)])
    sine = np.linalg.norm(joint[len(r) :] @ modes.T, axis=0)
    share = np.sum(np.square(u.T @ right), axis=1)
    with np.errstate(divide="ignore"):
        ratio = 2 * (np.log(sine) - np.log(cosine))

    def excess(v: float) -> float:
        left = expit(v + ratio)
        return float(least + np.sum(share * left**2) - target)

    if target - least <= 1e-10 * target:
        return None
    ends = -ratio[np.isfinite(ratio)]
    low, high = np.min(ends) - 40, np.max(ends) + 40
    return float(brentq(excess, low, high, xtol=1e-14))
