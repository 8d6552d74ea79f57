"""Densities and digamma differences that keep their digits for large and for nearly equal arguments.

Plain NumPy in double precision, on arrays that broadcast. Large arguments are computed by Stirling's series
and the deviance form of Loader, "Fast and accurate computation of binomial probabilities" (2000).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.typing import Array

LARGE = 16.0
"""From here on Stirling's series have all digits."""

STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def where_taken(test: Array, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """np.where of two results, each of the whole shape, of which one that no entry takes is not computed."""
    if not np.any(test):
        return second()
    return first() if np.all(test) else np.where(test, first(), second())


def log1p_square(x: Array) -> Any:
    """log(1 + x*x), also where the square overflows."""
    far = np.abs(x) > 1e9
    near = np.where(far, 0.0, x)
    return np.where(far, 2 * np.log(np.abs(np.where(far, x, 1.0))), np.log1p(near * near))


def log1p_minus(u: Array) -> Any:
    """log(1 + u) - u, which cancels in this form near 0."""
    near = np.abs(u) < 0.4
    small = np.where(near, u, 0.0)
    r = small / (2.0 + small)
    y = r * r
    total: Any = 0.0
    for k in range(23, 1, -2):
        total = (total + 2.0 / k) * y
    away = np.where(near, 0.0, u)
    return np.where(near, r * (total - small), np.log1p(away) - away)


def _log_minus(ratio: Array, excess: Array) -> Any:
    """log(ratio) - excess, where excess is ratio - 1, with the digits of a ratio that is close to 0."""
    far = excess < -0.5
    return np.where(far, np.log(ratio) - excess, log1p_minus(np.where(far, 0.0, excess)))


def expm1_minus(u: Array) -> Any:
    """exp(u) - 1 - u, which cancels in this form near 0."""
    near = np.abs(u) < 0.5
    small = np.where(near, u, 0.0)
    total: Any = 0.0
    for k in range(17, 1, -1):
        total = (total + 1.0) * small / k
    return np.where(near, total * small, np.expm1(np.minimum(u, 709.0)) - u)


def _series(coefficients: Sequence[float], inverse: Array) -> Any:
    total: Any = 0.0
    for c in reversed(coefficients):
        total = total * inverse * inverse + c
    return total


def stirling_error(a: Array) -> Any:
    """log gamma(a) - ((a - 1/2)*log(a) - a + log(2*pi)/2), for large a."""
    return _series(STIRLING, 1.0 / a) / a


def _log_minus_digamma(a: Array) -> Any:
    """log(a) - digamma(a), for large a."""
    return (0.5 + _series(_DIGAMMA, 1.0 / a) / a) / a


def excess_difference(a: Array, d: Array) -> Any:
    """The difference of digamma(a) - log(a) between a + d and a, for large a and a + d."""
    total: Any = 0.0
    ratio = np.log1p(d / a)
    for k in range(len(_DIGAMMA), 0, -1):
        total = total - _DIGAMMA[k - 1] * a ** (-2.0 * k) * np.expm1(-2.0 * k * ratio)
    return d / (2.0 * a * (a + d)) + total


def digamma_difference(a: Array, d: Array) -> Any:
    """digamma(a + d) - digamma(a), with the digits of d where d is small."""
    return polygamma_difference(a, d, 0)


def polygamma_difference(a: Array, d: Array, order: int) -> Any:
    """The difference of the polygamma function of an order between a + d and a, with the digits of d."""
    special = scipy_special("polygamma")
    psi = special.psi if order == 0 else lambda x: special.polygamma(order, x)
    end = a + d
    first, second = psi(a), psi(end)
    found = np.asarray(second - first)
    # Where neither the sum of the arguments nor the difference cancels, it has all digits.
    close = (np.abs(d) < a / 4) | (16 * np.abs(found) < np.abs(first) + np.abs(second))
    if np.any(close):
        close = close & (a > 0) & (end > 0)
        b, e = [np.broadcast_to(x, found.shape)[close] for x in (a, d)]
        by_series = _difference_by_series(b, e, order)
        found[close] = np.where(np.isfinite(by_series), by_series, found[close])
    left = (a < 0) & (end <= 0) if np.any(a < 0) else np.False_
    return np.where(left, _reflected_difference(a, d, order), found) if np.any(left) else found


def _difference_by_series(a: Array, d: Array, order: int) -> Any:
    """`polygamma_difference` of positive arguments: of large ones, by the recurrence."""
    sign, power, large = (-1.0) ** order * math.factorial(order), order + 1.0, LARGE + 2 * order
    low = np.minimum(a, a + d)
    steps = np.arange(max(np.ceil(large - np.min(low, initial=large)), 0.0))[:, None]
    taken = low + steps < large
    x = np.where(taken, a + steps, a)
    rise = _power_difference(x, d, -power) if order else -d / (x * (x + d))
    total = -np.sum(np.where(taken, sign * rise, 0.0), axis=0)
    return total + _difference_for_large(a + np.count_nonzero(taken, axis=0), d, order)


def _power_difference(a: Array, d: Array, power: float) -> Any:
    """(a + d)**power - a**power."""
    return a**power * np.expm1(power * np.log1p(d / a))


def _difference_for_large(a: Array, d: Array, order: int) -> Any:
    if order == 0:
        return np.log1p(d / a) + excess_difference(a, d)
    total = math.factorial(order - 1) * _power_difference(a, d, -order)
    total = total + 0.5 * math.factorial(order) * _power_difference(a, d, -order - 1.0)
    for k, c in enumerate(_DIGAMMA, 1):
        rising = math.prod(range(2 * k, 2 * k + order))
        total = total + c * rising * _power_difference(a, d, -2.0 * k - order)
    return (-1.0) ** (order + 1) * total


def trigamma_excess(a: Array) -> Any:
    """trigamma(a) - 1/a, for large a."""
    total: Any = 0.0
    for k in range(len(_DIGAMMA), 0, -1):
        total = total + 2.0 * k * _DIGAMMA[k - 1] * a ** (-2.0 * k - 1.0)
    return 0.5 / (a * a) + total


def trigamma_excess_difference(a: Array, d: Array) -> Any:
    """The difference of trigamma(a) - 1/a between a + d and a, for large a and a + d."""
    total: Any = 0.0
    for k in range(len(_DIGAMMA), 0, -1):
        total = total + 2.0 * k * _DIGAMMA[k - 1] * _power_difference(a, d, -2.0 * k - 1.0)
    return 0.5 * _power_difference(a, d, -2.0) + total


def _reflected_difference(a: Array, d: Array, order: int) -> Any:
    """`polygamma_difference` left of 0: that of 1 - a, and a difference of derivatives of the cotangent (DLMF
    5.5.4 and 5.15.6)."""
    left = (a < 0) & (a + d <= 0)
    b, e = np.where(left, a, -0.5), np.where(left, d, 0.0)
    mirrored = (-1.0) ** order * polygamma_difference(1.0 - b, -e, order)
    first, second, turned = sin_pi(b), sin_pi(b + e), sin_pi(e)
    # The cotangents are equal at an integer d, also at their poles.
    first, second = [np.where(turned == 0, 1.0, each) for each in (first, second)]
    cotangents = math.pi * turned / (second * first)
    if order == 0:
        return mirrored + cotangents
    if order == 1:
        return mirrored - math.pi * cotangents * sin_pi(2.0 * b + e) / (first * second)
    polygamma = scipy_special("polygamma").polygamma
    return polygamma(order, b + e) - polygamma(order, b)


def sin_pi(x: Array) -> Any:
    """sin(pi*x), exact at integers."""
    whole = np.round(x)
    return (1.0 - 2.0 * np.remainder(whole, 2.0)) * np.sin(math.pi * (x - whole))


def log_minus_digamma_at(a: Array, x: Array) -> Any:
    """log(x) - digamma(a), with the digits of x - a where a is large."""
    large = a >= LARGE

    def by_series() -> Any:
        b = np.where(large, a, LARGE)
        y = np.where(large, x, b)
        excess = (y - b) / b
        log = np.where(excess < -0.5, np.log(y / b), np.log1p(excess))
        return log + _log_minus_digamma(b)

    def direct() -> Any:
        return np.log(np.where(large, 1.0, x)) - scipy_special("psi").psi(np.where(large, 1.0, a))

    return where_taken(large, by_series, direct)


def gamma_log_density(a: Array, x: Array, power: int = 0) -> Any:
    """x**a*exp(-x)/gamma(a), the density of the logarithm of a gamma variable; times x**power."""
    special = scipy_special("gammainc")
    large = (a >= LARGE) & np.isfinite(a)

    def by_series() -> Any:
        b = np.where(large, a, LARGE)
        y = np.where(large, x, b)
        exponent = b * _log_minus(y / b, (y - b) / b) - stirling_error(b) + special.xlogy(power, y)
        return np.exp(exponent) * np.sqrt(b / (2.0 * math.pi))

    def direct() -> Any:
        s, t = np.where(large, 1.0, a), np.where(large, 1.0, x)
        return np.exp(special.xlogy(s + power, t) - t) * special.rgamma(s)

    return where_taken(large, by_series, direct)


def beta_deviation(a: Array, b: Array, x: Array, y: Array) -> Any:
    """log(x) - digamma(a) + digamma(a + b), where y = 1 - x."""
    large = a >= LARGE

    def by_series() -> Any:
        c = np.where(large, a, LARGE)
        excess = np.where(large, (b * x - a * y) / c, 0.0)
        ratio = np.where(large, x * (a + b) / c, 1.0)
        log = np.where(np.abs(excess) > 0.5, np.log(ratio), np.log1p(excess))
        return log + excess_difference(c, b)

    def direct() -> Any:
        log_x = np.where(y < 0.5, np.log1p(-y), np.log(x))
        return log_x + digamma_difference(np.where(large, 1.0, a), np.where(large, 0.0, b))

    return where_taken(large, by_series, direct)


def beta_log_density(a: Array, b: Array, x: Array, y: Array) -> Any:
    """x**a*y**b/beta(a, b), where y = 1 - x: the density of the log odds of a beta variable."""
    special = scipy_special("betainc")
    many, few = np.maximum(a, b), np.minimum(a, b)
    large = (many >= LARGE) & np.isfinite(many)

    def by_series() -> Any:
        p, q = np.where(a >= b, x, y), np.where(a >= b, y, x)
        both = large & (few >= LARGE)
        return where_taken(both, lambda: balanced(p, q, both), lambda: lopsided(p, q, both))

    def balanced(p: Array, q: Array, both: Array) -> Any:
        c, d = np.where(both, many, LARGE), np.where(both, few, LARGE)
        n, gap = c + d, d * p - c * q
        exponent = c * _log_minus(n * p / c, gap / c) + d * _log_minus(n * q / d, -gap / d)
        errors = stirling_error(c) + stirling_error(d) - stirling_error(n)
        return np.exp(exponent - errors) * np.sqrt(c * (d / n) / (2.0 * math.pi))

    def lopsided(p: Array, q: Array, both: Array) -> Any:
        m, s = np.where(large, many, LARGE), np.where(large & ~both, few, 1.0)
        log_p = np.where(q < 0.5, np.log1p(-q), np.log(p))
        ratio = (m - 0.5) * np.log1p(s / m) - s + stirling_error(m + s) - stirling_error(m)
        return np.exp(m * log_p + ratio + special.xlogy(s, (m + s) * q)) * special.rgamma(s)

    def direct() -> Any:
        u, v = np.where(large, 1.0, a), np.where(large, 1.0, b)
        return np.exp(special.xlogy(u, x) + special.xlogy(v, y)) / special.beta(u, v)

    return where_taken(large, by_series, direct)
