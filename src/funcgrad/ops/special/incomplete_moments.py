"""Moments of logarithms under incomplete gamma and beta integrals: derivatives in the shape parameters.

The derivative of the regularized incomplete gamma function in its shape a is the incomplete integral of the
density times ``log(t) - digamma(a)``, and that of order k has its k-th power. The factor changes its sign
once, and complete integrals are known, so the side of the point on which it keeps its sign is integrated,
and nothing cancels. Integrals over a half-line are sums of the double exponential rule (Takahasi and Mori,
Publ. RIMS 9, 1974) for integrands that decay exponentially; a plateau before the decay is integrated by
Gauss's rule. Plain NumPy in double precision, on arrays that broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.ops.special.gamma_numerics import (
    beta_deviation,
    beta_log_density,
    expm1_minus,
    gamma_log_density,
    log1p_minus,
    log_minus_digamma_at,
)
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.typing import Array

_BLOCK = 2048


@lru_cache(maxsize=1)
def half_line_rule() -> tuple[Array, Array]:
    """Nodes and weights for integrals from 0 to infinity of what decays exponentially on a scale of 1."""
    step = 0.075
    tau = step * np.arange(-49, 85)[:, None]
    nodes = np.exp(tau - np.exp(-tau))
    return nodes, step * (1.0 + np.exp(-tau)) * nodes


@lru_cache(maxsize=1)
def _unit_interval() -> tuple[Array, Array]:
    """Nodes and weights of Gauss's rule from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(48)
    return 0.5 * (nodes[:, None] + 1.0), 0.5 * weights[:, None]


def in_blocks(run: Callable[..., Array], arrays: Sequence[Array]) -> Any:
    """A function of flat arrays, on some entries at a time: nodes times entries stay in the cache."""
    shape = np.broadcast_shapes(*[np.shape(x) for x in arrays])
    flat = [np.broadcast_to(np.asarray(x, float), shape).reshape(-1) for x in arrays]
    found = np.empty(flat[0].size)
    with np.errstate(all="ignore"):
        for start in range(0, found.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            found[part] = run(*[x[part] for x in flat])
    return found.reshape(shape)[()]


def _complete_moment(cumulant: Callable[[int, int], Array], first: int, second: int) -> Any:
    """The moment of two variables of mean 0 from their joint cumulants: the recurrence of Smith (1995)."""
    if first + second == 0:
        return 1.0
    if first == 0:
        return _complete_moment(lambda i, j: cumulant(j, i), second, 0)
    total: Any = 0.0
    for i in range(first):
        for j in range(second + 1):
            if i + j < first + second - 1:  # the cumulant of order 1 is 0
                weight = math.comb(first - 1, i) * math.comb(second, j)
                rest = _complete_moment(cumulant, i, j)
                total = total + weight * rest * cumulant(first - i, second - j)
    return total


# -- the gamma function --------------------------------------------------------------------------
def gamma_log_moment(a: Array, x: Array, order: int, upper: bool) -> Any:
    """The integral of t**(a - 1)*exp(-t)*(log(t) - digamma(a))**order/gamma(a) over t below or above x."""
    return in_blocks(lambda a, x: _gamma_block(a, x, order, upper), (a, x))


def _gamma_block(a: Array, x: Array, order: int, upper: bool) -> Array:
    valid = (a > 0) & (x >= 0) & np.isfinite(a)
    inside = valid & (x > 0) & np.isfinite(x)
    b, t = np.where(valid, a, 1.0), np.where(inside, x, 1.0)
    deviation = log_minus_digamma_at(b, t)
    lower = deviation <= 0
    part = np.empty_like(t)
    for side, above in ((lower, False), (~lower, True)):
        if side.any():
            part[side] = _gamma_side(b[side], t[side], deviation[side], order, above)
    polygamma = scipy_special("polygamma").polygamma
    total = _complete_moment(lambda i, j: polygamma(i + j - 1, b), order, 0)
    found = np.where(lower != upper, part, total - part)
    edge = np.where((x == 0) == upper, total, 0.0)
    return np.where(inside, found, np.where(valid, edge, np.nan))


def _gamma_side(a: Array, x: Array, deviation: Array, order: int, upper: bool) -> Any:
    """The integral from x to 0, over the logarithm of t/x, or from x to infinity, over t/x."""
    # Below a small x the density of the logarithm decays at its rate at infinity.
    rate = np.abs(a - x) + np.sqrt(x)
    scale = 1.0 / (rate if upper else np.where(x < 1.0, a, rate))
    nodes, weights = half_line_rule()
    u = scale * nodes
    if upper:
        exponent = (a - x) * u + a * log1p_minus(u)
        weights, move = weights / (1.0 + u), np.log1p(u)
    else:
        exponent = (x - a) * u - x * expm1_minus(-u)
        move = -u
    values = np.where(exponent < -745.0, 0.0, np.exp(exponent)) * (deviation + move) ** order
    return gamma_log_density(a, x) * scale * np.sum(weights * values, axis=0)


# -- the beta function ---------------------------------------------------------------------------
def beta_log_moment(a: Array, b: Array, x: Array, orders: tuple[int, int], upper: bool) -> Any:
    """The integral of the beta density times powers of two logarithms, over t below or above x.

    The logarithms are those of t and 1 - t, less their means; ``orders`` are their powers.
    """
    return in_blocks(lambda a, b, x: _beta_block(a, b, x, orders, upper), (a, b, x))


def _beta_block(a: Array, b: Array, x: Array, orders: tuple[int, int], upper: bool) -> Array:
    valid = (a > 0) & (b > 0) & (x >= 0) & (x <= 1) & np.isfinite(a) & np.isfinite(b)
    inside = valid & (x > 0) & (x < 1)
    c, d, t = np.where(valid, a, 1.0), np.where(valid, b, 1.0), np.where(inside, x, 0.5)
    s = 1.0 - t
    first, second = beta_deviation(c, d, t, s), beta_deviation(d, c, s, t)
    # Below the point, the first logarithm is below its mean, or the second one above its own.
    lower = first <= 0 if orders[0] >= orders[1] else second > 0
    part = np.empty_like(t)
    for side, given, powers in (
        (lower, (c, d, t, s, first, second), orders),
        (~lower, (d, c, s, t, second, first), orders[::-1]),
    ):
        if side.any():
            e, f, p, q, *logs = (v[side] for v in given)
            part[side] = beta_side(e, f, p, q, _powers(powers, *logs))
    total = _complete_moment(lambda i, j: _beta_cumulant(c, d, i, j), *orders)
    found = np.where(lower != upper, part, total - part)
    edge = np.where((x == 0) == upper, total, 0.0)
    return np.where(inside, found, np.where(valid, edge, np.nan))


def _beta_cumulant(a: Array, b: Array, first: int, second: int) -> Any:
    polygamma, order = scipy_special("polygamma").polygamma, first + second - 1
    joint = polygamma(order, a + b)
    if first and second:
        return -joint
    return polygamma(order, a if first else b) - joint


def _powers(orders: tuple[int, int], first: Array, second: Array) -> Callable[..., Any]:
    return lambda *moves: (first + moves[0]) ** orders[0] * (second + moves[1]) ** orders[1]


def beta_side(a: Array, b: Array, x: Array, y: Array, factor: Callable[[Array, Array], Any]) -> Any:
    """The integral of a factor times the density from x to 0, over the log odds: u is how far they lie
    below those of x, and the factor is a function of how far the logarithms of t and 1 - t moved.
    """
    slope = b * x - a * y

    def integrand(u: Array) -> Any:
        move = _log_moves(x, y, u)
        exponent = np.where(x <= 0.5, *[slope * u + (a + b) * m for m in _curvatures(x, y, u)])
        exponent = np.where(u > 0.5, a * move[0] + b * move[1], exponent)
        density = np.where(exponent < -745.0, 0.0, np.exp(exponent))
        return density * factor(*move)

    plateau = np.maximum(-np.log(y * np.maximum(a + b, 1.0)), 0.0)
    spread = (a + b) * x * y
    scale = 1.0 / (np.abs(slope) + np.minimum(spread, np.sqrt(spread)))
    plateau = np.where(10.0 * scale < plateau, 0.0, plateau)
    scale = np.where(plateau > 0, 1.0 / np.minimum(a, 1.0), scale)
    nodes, weights = half_line_rule()
    total = scale * np.sum(weights * integrand(plateau + scale * nodes), axis=0)
    if np.any(plateau > 0):
        nodes, weights = _unit_interval()
        flat = np.maximum(plateau - 8.0, 0.0)
        for start, length in ((0.0, flat), (flat, plateau - flat)):
            total = total + length * np.sum(weights * integrand(start + length * nodes), axis=0)
    return beta_log_density(a, b, x, y) * total


def _log_moves(x: Array, y: Array, u: Array) -> tuple[Array, Array]:
    """log(t/x) and log((1 - t)/y) at the log odds that are u less than those of x."""
    shrink = np.log1p(x * np.expm1(-u))
    grow = np.log1p(y * np.expm1(np.minimum(u, 700.0)))
    near = (x <= 0.5) | (u > 600.0)
    shrink = np.where(u > 600.0, np.log(y + x * np.exp(-u)), shrink)
    return np.where(near, -u - shrink, -grow), np.where(near, -shrink, u - grow)


def _curvatures(x: Array, y: Array, u: Array) -> tuple[Array, Array]:
    """-log(1 + x*expm1(-u)) - x*u for u below 1, in a form for small x and one for small y."""
    v = np.minimum(u, 1.0)
    by_x = -log1p_minus(x * np.expm1(-v)) - x * expm1_minus(-v)
    by_y = -log1p_minus(y * np.expm1(v)) - y * expm1_minus(v)
    return by_x, by_y
