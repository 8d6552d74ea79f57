"""Noncentral chi-square and F distributions and their derivatives in all parameters: series of central ones
with Poisson's weights.

A derivative in a shape multiplies a density with a polynomial in its scores, a complete Bell polynomial.
The terms that matter lie around the largest one, whose place is the root of a quadratic equation. Plain
NumPy in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.special.gamma_numerics import (
    beta_deviation,
    beta_log_density,
    gamma_log_density,
    log_minus_digamma_at,
)
from funcgrad.ops.special.incomplete_moments import beta_log_moment, gamma_log_moment
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.typing import Array

Polynomial = dict[tuple[int, int], Any]
"""Coefficients by the powers of two scores."""


def bell_polynomial(first: int, second: int, cumulant: Callable[[int, int], Any]) -> Polynomial:
    """The derivative of these orders of a density, over the density: by the recurrence of Smith (1995).

    ``cumulant`` has the derivatives of the scores; the scores themselves are the variables.
    """
    if first + second == 0:
        return {(0, 0): 1.0}
    if first == 0:
        swapped = bell_polynomial(second, 0, lambda i, j: cumulant(j, i))
        return {(j, i): c for (i, j), c in swapped.items()}
    total: Polynomial = {}
    for i in range(first):
        for j in range(second + 1):
            weight = math.comb(first - 1, i) * math.comb(second, j)
            up, right = first - i, second - j
            move = {(1, 0): (1, 0), (0, 1): (0, 1)}.get((up, right))
            factor = weight if move else weight * cumulant(up, right)
            for (p, q), c in bell_polynomial(i, j, cumulant).items():
                key = (p + move[0], q + move[1]) if move else (p, q)
                total[key] = total.get(key, 0.0) + factor * c
    return total


def evaluated(polynomial: Polynomial, first: Array, second: Array | float = 0.0) -> Any:
    """A polynomial at two scores."""
    return sum(c * first**p * second**q for (p, q), c in polynomial.items())


_BLOCK = 128
"""Entries that are computed at a time, each with all terms of its series."""


def _in_blocks(run: Callable[..., Any], valid: Array, inner: Array, *args: Array) -> Any:
    """A function of flat arrays at valid inner entries; 0 at other valid ones, and NaN elsewhere."""
    found = np.where(valid, 0.0, math.nan)
    chosen = np.flatnonzero(valid & inner)
    flat = [np.broadcast_to(arg, found.shape).reshape(-1)[chosen, None] for arg in args]
    values = np.empty(chosen.size)
    with np.errstate(all="ignore"):
        for start in range(0, chosen.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            values[part] = run(*[x[part] for x in flat])
    np.put(found, chosen, values)
    return found[()]


def _with_whole(found: Any, valid: Array, first: Array, last: Array, kind: str) -> Any:
    """The probability 1 on the side of an end that has it, if a probability is asked for."""
    ends = {"sf": first, "cdf": last}
    return np.where(valid & ends[kind], 1.0, found)[()] if kind in ends else found


def _weights(center: Array, spread: Array, rate: Array) -> tuple[Array, Array]:
    """The places of the terms that matter, and the logarithms of Poisson's weights there."""
    special, reach = scipy_special("gammaln"), 12.0 * np.sqrt(spread) + 40.0
    first = np.maximum(np.floor(center - reach), 0.0)
    j = first + np.arange(np.max(np.ceil(center + reach) - first) + 1.0)
    return j, special.xlogy(j, rate) - rate - special.gammaln(j + 1.0)


def _probability(kind: str, below: Array, parts: Array, shift: Array) -> Any:
    """The distribution function or its complement, by the parts of the side that x lies on, below the center
    or above it: the terms of the series lie around those that matter to this side alone."""
    side = np.sum(parts, axis=-1)
    return np.where(below == (kind == "cdf"), side, np.exp(shift) - side)


# -- chi-square ----------------------------------------------------------------------------------------
def chi_square(x: Array, df: Array, nc: Array, shift: Array, *, order: int, kind: str) -> Any:
    """The derivative of an order in df of the noncentral chi-square density, distribution function ("cdf") or
    its complement ("sf"), times exp(shift); "shift" gives that with which the largest term is 1.
    """
    x, df, nc, shift = np.broadcast_arrays(x, df, nc, shift)
    valid = (df > 0) & (nc >= 0) & np.isfinite(df + nc) & (x >= 0)

    def run(x: Array, df: Array, nc: Array, shift: Array) -> Any:
        a, rate, t = 0.5 * df, 0.5 * nc, 0.5 * x
        center = 0.5 * (np.sqrt(a * a + 4.0 * rate * t) - a)
        j, logs = _weights(center, center, rate)
        shapes, at = np.broadcast_arrays(a + j, t)
        special = scipy_special("gammaincc")
        size = logs + special.xlogy(shapes - 1.0, at) - at - special.gammaln(shapes) + shift
        if kind == "shift":
            return -np.max(size, axis=-1)
        if kind != "density" and order == 0:
            below = t < a + rate
            shares = np.where(below, special.gammainc(shapes, at), special.gammaincc(shapes, at))
            return _probability(kind, below[:, 0], np.exp(logs + shift) * shares, shift[:, 0])
        polynomial = bell_polynomial(order, 0, lambda i, _: -special.polygamma(i - 1, shapes))
        if kind == "density":
            factor = evaluated(polynomial, log_minus_digamma_at(shapes, at))
            plain = np.exp(logs) * gamma_log_density(shapes, at, -1)
            return 0.5 ** (order + 1) * np.sum(
                np.where(shift == 0, plain, np.exp(size)) * factor, axis=-1
            )
        terms = _side(
            polynomial,
            at > shapes,
            np.exp(size),
            lambda p, _, upper, chosen: gamma_log_moment(shapes[chosen], at[chosen], p, upper),
        )
        total = 0.5**order * np.sum(np.exp(logs + shift) * terms, axis=-1)
        return -total if kind == "sf" else total

    # Beyond it all terms underflow, of which there are more than fit in memory.
    beyond = (x > 4.0 * nc + 1e4 * (1.0 + df)) & (shift == 0) & (kind != "shift")
    inner = (x > 0) & (x < np.inf) & ~beyond
    found = _in_blocks(run, valid, inner, x, df, nc, shift)
    return _with_whole(found, valid, x == 0, (x == np.inf) | beyond, kind if order == 0 else "")


def _side(polynomial: Polynomial, above: Array, size: Array, moment: Callable[..., Any]) -> Array:
    """The incomplete integral of a polynomial in the scores, whose complete integral is 0, by the shorter
    side; 0 where the size of a term is negligible beside the others."""
    total = np.zeros(size.shape)
    kept = size > 1e-24 * np.max(size, axis=-1, keepdims=True)
    for upper, sign in ((False, 1.0), (True, -1.0)):
        chosen = kept & (above == upper)
        if np.any(chosen):
            for (p, q), c in polynomial.items():
                coefficient = np.broadcast_to(c, size.shape)[chosen]
                total[chosen] += sign * coefficient * moment(p, q, upper, chosen)
    return total


# -- F -------------------------------------------------------------------------------------------------
def mixture_of_betas(
    a: Array,
    b: Array,
    rate: Array,
    odds: Array,
    shift: Array,
    *,
    orders: tuple[int, int],
    kind: str,
) -> Any:
    """A series of beta distributions of shapes a + j and b with Poisson's weights, at y = odds/(1 + odds).

    The kinds are those of `chi_square`, of which the density is that of the log odds, and "step", by how much
    the distribution function falls from a to a + 1. ``orders`` are those of a derivative in a and b.
    """
    a, b, rate, odds, shift = np.broadcast_arrays(a, b, rate, odds, shift)
    valid = (a > 0) & (b > 0) & (rate >= 0) & (odds >= 0) & np.isfinite(a + b + rate)

    def run(a: Array, b: Array, rate: Array, odds: Array, shift: Array) -> Any:
        inverse = 1.0 / odds
        y = np.where(odds < 1.0, odds / (1.0 + odds), 1.0 / (1.0 + inverse))
        rest = np.where(odds < 1.0, 1.0 / (1.0 + odds), inverse / (1.0 + inverse))
        lead = rate * y - a
        center = 0.5 * (lead + np.sqrt(lead * lead + 4.0 * rate * y * (a + b)))
        j, logs = _weights(center, np.maximum(center, 1.0), rate)
        shapes, c, t, s = np.broadcast_arrays(a + j, b, y, rest)
        special = scipy_special("betaln")
        size = logs + special.xlogy(shapes, t) + special.xlogy(c, s) + shift
        size = size - special.betaln(shapes, c)
        if kind == "shift":
            return -np.max(size, axis=-1)
        if kind in ("cdf", "sf") and orders == (0, 0):
            left, below = t < 0.5, y < (a + rate) / (a + rate + b)
            near, far = np.where(left, t, 0.5), np.where(left, 0.5, s)
            lower = np.where(
                left, special.betainc(shapes, c, near), special.betaincc(c, shapes, far)
            )
            upper = np.where(
                left, special.betaincc(shapes, c, near), special.betainc(c, shapes, far)
            )
            shares = np.where(below, lower, upper)
            return _probability(kind, below[:, 0], np.exp(logs + shift) * shares, shift[:, 0])
        weights = np.exp(logs + shift)
        return np.sum(_beta_terms(weights, size, (shapes, c, t, s), shift, orders, kind), axis=-1)

    inner = (odds > 0) & (odds < np.inf)
    found = _in_blocks(run, valid, inner, a, b, rate, odds, shift)
    value = kind if orders == (0, 0) else ""
    return _with_whole(found, valid, odds == 0, odds == np.inf, value)


def _beta_moment(at: tuple[Array, ...], orders: tuple[int, int], upper: bool) -> Array:
    """`beta_log_moment` at x = 1 - y, by the smaller one, which has digits."""
    total = np.empty(at[0].shape)
    left = at[2] < 0.5
    a, b, x, _ = [v[left] for v in at]
    total[left] = beta_log_moment(a, b, x, orders, upper)
    a, b, _, y = [v[~left] for v in at]
    total[~left] = beta_log_moment(b, a, y, (orders[1], orders[0]), not upper)
    return total


def _beta_terms(
    weights: Array,
    size: Array,
    at: tuple[Array, ...],
    shift: Array,
    orders: tuple[int, int],
    kind: str,
) -> Array:
    a, b, x, y = at
    psi, raised = scipy_special("polygamma").polygamma, a + 1.0 if kind == "step" else a

    def cumulant(i: int, k: int) -> Any:
        joint = psi(i + k - 1, a + b)
        return joint if i and k else joint - psi(i + k - 1, raised if i else b)

    polynomial = bell_polynomial(*orders, cumulant)
    if kind in ("cdf", "sf"):
        terms = _side(
            polynomial,
            x * b > y * a,
            np.exp(size),
            lambda p, q, upper, k: _beta_moment((a[k], b[k], x[k], y[k]), (p, q), upper),
        )
        return weights * terms if kind == "cdf" else -weights * terms
    first, second = beta_deviation(a, b, x, y), beta_deviation(b, a, y, x)
    density = np.where(shift == 0, weights * beta_log_density(a, b, x, y), np.exp(size))
    if kind == "step":
        first, density = first - 1.0 / a, density / a
    product: Array = density * evaluated(polynomial, first, second)
    return product
