"""Derivatives of the F distribution function in its degrees of freedom, which keep their digits where a
degree is large.

With x fixed, the derivative is the integral of the density times its score, the derivative of its
logarithm. A shape and the odds move together and nearly cancel: of the scores, the large terms are taken out.
Complete integrals are 0, so that the shorter side is taken. Plain NumPy in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.special.gamma_numerics import (
    LARGE,
    beta_log_density,
    digamma_difference,
    excess_difference,
    log1p_minus,
    log1p_square,
    stirling_error,
    trigamma_excess,
    trigamma_excess_difference,
)
from funcgrad.ops.special.incomplete_moments import beta_log_moment, beta_side, in_blocks
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.typing import Array


def odds(n: Array, d: Array, x: Array) -> tuple[Array, ...]:
    """The shapes of the beta variable n*x/(d + n*x), that value, and 1 less it."""
    left = n * x < d
    ratio = n * np.where(left, x, 1.0) / d
    inverse = d / n / np.where(left, 1.0, x)
    p = np.where(left, ratio / (1.0 + ratio), 1.0 / (1.0 + inverse))
    q = np.where(left, 1.0 / (1.0 + ratio), inverse / (1.0 + inverse))
    return 0.5 * n, 0.5 * d, p, q


def density(n: Array, d: Array, x: Array) -> Any:
    """The F density."""
    a, b, p, q = odds(n, d, x)
    tiny = np.minimum(p, q) < 1e-100
    if not np.any(tiny):
        return beta_log_density(a, b, p, q) / x
    special = scipy_special("betaln")
    log = special.xlogy(a - 1.0, p) + special.xlogy(b + 1.0, q) - special.betaln(a, b)
    log = log + np.log(n / d)  # finite at 0
    return np.where(tiny, np.exp(log), beta_log_density(a, b, p, q) / x)


def score(n: Array, d: Array, x: Array) -> Any:
    """The derivative of the logarithm of the density in d."""
    a, b, p, q = odds(n, d, x)
    return _score(a, b)(p, q, np.log(q))


def _score(a: Array, b: Array) -> Callable[..., Any]:
    """The score in d = 2*b, of t, 1 - t and log(1 - t): half of log(1 - t) - digamma(b) + digamma(a + b) + v,
    where v = ((a + b)*t - a)/b."""
    large, ratio = b >= LARGE, a / b
    difference = digamma_difference(b, a)
    c = np.where(large, b, LARGE)
    excess = excess_difference(c, a)
    constant = np.where(large, log1p_minus(a / c) + excess, difference - ratio)

    def factor(t: Array, rest: Array, log_rest: Array) -> Any:
        v = t - ratio * rest
        near = np.abs(v) < 0.5
        left = log1p_minus(-np.minimum(t, 0.5)) + ratio * t + constant
        middle = log1p_minus(np.where(near, -v, 0.0)) + excess
        right = np.where(large & near, middle, log_rest + difference + v)
        return 0.5 * np.where(t < 0.5, left, right)

    return factor


def derivative(n: Array, d: Array, x: Array, orders: tuple[int, int]) -> Any:
    """The derivative of these orders in n and d, for a large d; (0, 1), (1, 1) or (0, 2)."""
    return in_blocks(lambda a, b, p, q: _block(a, b, p, q, orders), odds(n, d, x))


def _block(a: Array, b: Array, x: Array, y: Array, orders: tuple[int, int]) -> Array:
    lower = b * x <= a * y
    found = np.full_like(x, np.nan)
    for side, sign in ((lower, 1.0), (~lower, -1.0)):
        if side.any():
            c, d, p, q = (v[side] for v in (a, b, x, y))
            factor = _factor(c, d, p, q, orders, upper=sign < 0)
            order = (c, d, p, q) if sign > 0 else (d, c, q, p)
            found[side] = sign * beta_side(*order, factor)
    return found


def _factor(
    a: Array, b: Array, x: Array, y: Array, orders: tuple[int, int], *, upper: bool
) -> Callable[..., Any]:
    """The score, or what a second derivative has in its place, at moves of the logarithms of t and 1 - t."""
    in_b, in_a = _score(a, b), _score(b, a)
    joint, spread = trigamma_excess(a + b), trigamma_excess_difference(b, a)

    def factor(*moves: Array) -> Any:
        in_t, in_rest = moves[::-1] if upper else moves
        t, rest = x * np.exp(in_t), y * np.exp(in_rest)
        in_d = in_b(t, rest, np.log(y) + in_rest)
        if orders == (0, 1):
            return in_d
        off = b * t - a * rest
        if orders == (0, 2):
            return in_d * in_d + 0.25 * (spread + off / b * (off / b) / (a + b))
        in_n = in_a(rest, t, np.log(x) + in_t)
        return in_n * in_d + 0.25 * (joint - off / a * (off / b) / (a + b))

    return factor


def _by_moments(n: Array, d: Array, x: Array, orders: tuple[int, int]) -> Any:
    """The derivative in n or d by incomplete moments, for smaller degrees of freedom."""
    a, b, p, q = odds(n, d, x)
    small = p < 0.5
    below = beta_log_moment(a, b, np.where(small, p, 0.5), orders, False)
    above = beta_log_moment(b, a, np.where(small, 0.5, q), orders[::-1], True)
    moved = beta_log_density(a, b, p, q) / (n if orders[0] else -d)
    return 0.5 * np.where(small, below, above) + moved


def partial(n: Array, d: Array, x: Array, given: Array | None, orders: tuple[int, int]) -> Any:
    """A derivative in the degrees of freedom: what is ``given``, or that by moments, where none is large."""
    inside = (n > 0) & (d > 0) & (x > 0) & (n < np.inf) & (d < np.inf) & (x < np.inf)
    m, c, t = np.where(inside, n, 1.0), np.where(inside, d, 1.0), np.where(inside, x, 1.0)
    many, few = orders[1] > 0, orders[0] > 0
    in_d = inside & (d >= 2.0 * LARGE) & (4.0 * d >= n) & many
    in_n = inside & (n >= 2.0 * LARGE) & (4.0 * n >= d) & few & ~in_d
    found = np.full(np.shape(m), 0.0)
    found = np.where((n > 0) & (d > 0) & (x >= 0), found, np.nan)
    rest = inside & ~in_d & ~in_n
    if given is not None:
        found = np.where(rest, given, found)
    elif np.any(rest):
        found = np.where(rest, _by_moments(m, c, t, orders), found)
    if np.any(in_d):
        p, q, u = [np.where(in_d, value, 40.0) for value in (m, c, t)]
        found = np.where(in_d, derivative(p, q, u, orders), found)
    if np.any(in_n):
        p, q, u = [np.where(in_n, value, 40.0) for value in (c, m, 1.0 / t)]
        found = np.where(in_n, -derivative(p, q, u, orders[::-1]), found)
    return found[()]


# -- Student's t, whose square has an F distribution ---------------------------------------------------
_FAR = 1e150
"""The square of a larger number overflows."""


def t_density(df: Array, t: Array) -> Any:
    """Student's density: the normal one where df is infinite."""
    normal = df == np.inf
    freedom = np.where(normal, 1.0, df)
    power = -0.5 * (freedom + 1.0) * log1p_square(t / np.sqrt(freedom))
    large = freedom >= 2.0 * LARGE  # where SciPy's beta function has ten digits
    z, few = np.where(large, 0.5 * freedom, LARGE), np.where(large, 1.0, freedom)
    # Stirling's series of log(gamma(z + 1/2)/(gamma(z)*sqrt(z))).
    log = z * log1p_minus(0.5 / z) + stirling_error(z + 0.5) - stirling_error(z)
    factor = np.sqrt(few) * scipy_special("beta").beta(0.5 * few, 0.5)
    found = np.where(large, np.exp(power + log) / np.sqrt(2.0 * np.pi), np.exp(power) / factor)
    return np.where(normal, np.exp(-0.5 * t * t) / np.sqrt(2.0 * np.pi), found)


def t_score(df: Array, t: Array) -> Any:
    """The derivative of the logarithm of the density in df, which falls by log(t) far out."""
    size = np.minimum(np.abs(t), _FAR)
    beyond = np.where(np.abs(t) > _FAR, np.log(np.maximum(np.abs(t), _FAR) / _FAR), 0.0)
    return score(np.ones_like(df), df, size * size) - beyond


def t_in_df(df: Array, t: Array) -> Any:
    """The derivative of the distribution function in df; next to 0 by the density, far out by the tail."""
    df, t = np.broadcast_arrays(df, t)
    size, one = np.abs(t), np.ones_like(df)
    near, far, end = size < 1e-100, size > _FAR, size == np.inf
    s = np.where(near | far, 1.0, size)
    away = 0.5 * np.sign(t) * partial(one, df, s * s, None, (0, 1))
    tilt = t * t_density(df, 0.0 * df) * t_score(df, 0.0 * df)
    out = np.where(far & ~end, t, 1.0)
    rise = 0.5 * (np.log(df) + 1.0 + digamma_difference(0.5 * df, np.asarray(0.5))) - np.log(
        np.abs(out)
    )
    tail = -t_density(df, out) * out / df * (rise - 1.0 / df)
    return np.where(near, tilt, np.where(end, 0.0, np.where(far, tail, away)))
