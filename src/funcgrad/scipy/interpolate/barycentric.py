"""Rational interpolants in barycentric form, with derivatives at their nodes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.interpolate as _scipy
from scipy.linalg import eigvals

from funcgrad.arrays.reference import unwrapped
from funcgrad.expr import concrete
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import floating, taken, with_phases, with_value, without_derivative
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike


def barycentric(x: Array, nodes: Array, weights: Array, values: Array) -> Any:
    """The quotient of the sums of w/(x - nodes)*values and of w/(x - nodes) (Berrut and Trefethen, 2004).

    Both sums are taken times the distance of x to the nearest node: they are smooth there, too. ``x`` is a
    vector, and ``values`` a matrix with a row a node.
    """
    apart = x[:, None] - nodes
    nearest = np.argmin(np.real(stop_gradient(apart * np.conj(apart))), axis=1)
    here = nearest[:, None] == np.arange(nodes.shape[0])
    others = np.where(here, 0.0, weights / np.where(here, 1.0, apart))
    distance = (x - taken(nodes, nearest))[:, None]
    total = np.sum(others, axis=1, keepdims=True)
    at_node, weight = taken(values, nearest), taken(weights, nearest)[:, None]
    rise = others @ values - total * at_node
    return at_node + distance * rise / (weight + distance * total)


def evaluate_polynomial(interpolator: Any, x: Array) -> Any:
    """As `BarycentricInterpolator._evaluate`."""
    values = interpolator.yi
    return barycentric(x, interpolator.xi, interpolator.wi, values) if x.size else values[:0]


def evaluate_rational(interpolator: Any, z: ArrayLike) -> Any:
    """As the call of a `FloaterHormannInterpolator` or of `AAA`."""
    x = floating("FloaterHormannInterpolator", z)
    values, weights = interpolator._support_values, interpolator.weights
    rows = values.reshape(values.shape[0], -1)
    flat = np.ravel(x)
    far = np.isinf(flat)
    inside = np.where(far, interpolator._support_points[0], flat)
    found = barycentric(inside, interpolator._support_points, weights, rows)
    with np.errstate(divide="ignore", invalid="ignore"):
        limit = np.sum(weights[:, None] * rows, axis=0) / np.sum(weights)
    found = np.where(far[:, None], limit, found).reshape(x.shape + values.shape[1:])
    return np.moveaxis(found, 0, interpolator._axis) if x.ndim else found


# -- AAA -----------------------------------------------------------------------------------------------
@lru_cache(maxsize=64)
def _fit(rtol: float | None, max_terms: int, cleanup_tol: float | None) -> Callable[[Array], Any]:
    """The plain interpolant of the points and the values in one vector."""

    def fit(given: Array) -> Any:
        z, f = np.split(given, 2)
        clean = {"clean_up": False} if cleanup_tol is None else {"clean_up_tol": cleanup_tol}
        return _scipy.AAA(z, f, rtol=rtol, max_terms=max_terms, **clean)

    return fit


@lru_cache(maxsize=64)
def _choice(fit: Callable[[Array], Any]) -> Callable[[Array], Any]:
    """Whether the columns are scaled before the fit, and which points are support points."""

    def choice(given: Array) -> Any:
        (z, f), found = np.split(given, 2), fit(given)
        places = np.array([int(np.flatnonzero(z == at)[0]) for at in found.support_points])
        overlaps = []
        for scaled in (False, True):
            weights = _weights(z, f, places, scaled)
            overlaps.append(abs(np.vdot(weights, found.weights)) / np.linalg.norm(weights))
        return np.array([int(overlaps[1] > overlaps[0] * (1 + 1e-12)), *places])

    return choice


def _weights(z: Array, f: Array, places: Array, scaled: bool) -> Any:
    """The weights of support points for which the linearized errors at the other points are least."""
    count = len(places)
    others = np.setdiff1d(np.arange(z.shape[0]), places)
    loewner = (f[others][:, None] - f[places]) / (z[others][:, None] - z[places])
    scale: Any = np.linalg.norm(loewner, axis=0) if scaled else 1.0
    matrix = np.pad(loewner / scale, ((0, max(count - len(others), 0)), (0, 0)))
    return np.conj(np.linalg.svd(matrix, full_matrices=False)[2][-1]) / scale


def weights_of_aaa(
    interpolator: _scipy.AAA, z: Array, f: Array, rtol: float | None, max_terms: int
) -> Any:
    """As `AAA._compute_weights`: which points are support points is read from the values."""
    if not holds_expr([z, f]):
        return _compute_weights(interpolator, *unwrapped([z, f]), rtol, max_terms)
    interpolator._points, interpolator._values = lift_fully(z), lift_fully(f)
    interpolator._search = rtol, max_terms
    return _chosen(interpolator, None)


def clean_up(interpolator: _scipy.AAA, cleanup_tol: float = 1e-13) -> int:
    """As `AAA.clean_up`."""
    if not holds_expr([interpolator._points, interpolator._values]):
        return int(_clean_up(interpolator, cleanup_tol))
    before = interpolator._support_points.shape[0]
    points, values, weights = _chosen(interpolator, cleanup_tol)
    interpolator._support_points, interpolator._support_values = points, values
    interpolator.weights = weights
    return int(before - points.shape[0])


def _chosen(interpolator: _scipy.AAA, cleanup_tol: float | None) -> tuple[Any, Any, Any]:
    """The support points, their values and their weights."""
    z, f = interpolator._points, interpolator._values
    fit = _fit(*interpolator._search, cleanup_tol)
    whole: Any = np.concatenate([z, f])
    scaled, *places = [int(item) for item in concrete(whole, "AAA", _choice(fit))]
    found = _weights(z, f, np.array(places), bool(scaled))
    run = lambda given: fit(given).weights.astype(found.dtype)  # noqa: E731
    own = without_derivative("AAA", run, lift_fully(found).type, whole)
    found = found * stop_gradient(np.linalg.norm(own) / np.linalg.norm(found))
    return z[places], f[places], with_value(own, with_phases(found, own, axis=-1))


# -- poles and roots ------------------------------------------------------------------------------------
def poles(interpolator: Any) -> Any:
    """As the method of `AAA` or `FloaterHormannInterpolator`: the zeros of the sum of w/(x - nodes)."""
    weights = interpolator.weights
    if not holds_expr([interpolator._support_points, weights]):
        return _poles(interpolator)
    return _zeros(interpolator._support_points, weights)


def roots(interpolator: Any) -> Any:
    """As the method of `AAA` or `FloaterHormannInterpolator`: the zeros of the sum of w*f/(x - nodes)."""
    values, points = interpolator._support_values, interpolator._support_points
    if not holds_expr([points, interpolator.weights, values]) or values.ndim > 1:
        return _roots(interpolator)
    return _zeros(points, interpolator.weights * values)


def _zeros(nodes: Array, weights: Array) -> Any:
    """SciPy's zeros of the sum of weights/(x - nodes), with the derivatives of Newton steps from there."""
    z: Any = lift_fully(nodes)
    w: Any = lift_fully(weights)
    given: Any = np.stack([z + 0 * w, w + 0 * z])
    (count,) = concrete(given, "AAA", lambda given: np.array([len(_plain_zeros(given))]))
    out = ArrayType((int(count),), np.result_type(given.dtype, np.complex64))
    own = without_derivative("zeros", _plain_zeros, out, given)
    size = 1 + np.max(np.abs(stop_gradient(z)))
    far = np.abs(own) > 1e8 * size  # zeros at infinity, but for rounding
    x = np.where(far, 2 * size, own)
    # A weight of 0 has its zero at the node: the nearest node's term is multiplied by the distance from it.
    places = np.argmin(np.abs(stop_gradient(x)[:, None] - stop_gradient(z)), axis=1)
    near = places[:, None] == np.arange(z.shape[0])
    for _ in range(2):  # the first gives the first derivative, and both those up to the third order
        inverse = np.where(near, 0.0, 1 / np.where(near, 1.0, x[:, None] - z))
        away, others = x - z[places], inverse @ w
        x = x - (w[places] + away * others) / (others - away * ((inverse * inverse) @ w))
    return with_value(own, np.where(far, own, x))


def _plain_zeros(given: Array) -> Any:
    nodes, weights = given
    arrow = np.zeros((len(nodes) + 1,) * 2, given.dtype)
    arrow[0, 1:], arrow[1:, 0] = weights, 1
    np.fill_diagonal(arrow[1:, 1:], nodes)
    ends = np.eye(len(arrow), dtype=given.dtype)
    ends[0, 0] = 0
    found = eigvals(arrow, ends)
    return found[np.isfinite(found)]


# The methods of SciPy's that plain values take.
_compute_weights, _clean_up = _scipy.AAA._compute_weights, _scipy.AAA.clean_up
_poles, _roots = _scipy.AAA.poles, _scipy.AAA.roots
