"""Continuous distributions of extreme values and of excesses over a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.special.polygamma import gammaln
from funcgrad.ops.special.special_function import removable
from funcgrad.scipy import special
from funcgrad.scipy.stats.base_families import expon
from funcgrad.scipy.stats.standard import any_real, by_smaller_side, changed, log1mexp, whole_line
from funcgrad.typing import Array


def log1p_ratio(u: Array) -> Any:
    """log(1 + u)/u, with its limit and its derivatives at 0."""
    small = np.abs(u) < 0.03
    away = np.where(small, 1.0, u)
    series: Any = 0.0
    near = np.where(small, u, 0.0)
    for k in range(12, -1, -1):
        series = (-1.0) ** k / (k + 1) + near * series
    return np.where(small, series, np.log1p(away) / away)


def pareto_exponent(x: Array, c: Array) -> Any:
    """log(1 + c*x)/c, also where the product overflows."""
    large = c * x > 1e16
    usual = x * log1p_ratio(np.where(large, 1.0, c * x))
    shape, place = np.where(large, c, 1.0), np.where(large, x, 1.0)
    return np.where(large, (np.log(np.abs(shape)) + np.log(np.abs(place))) / shape, usual)


def pareto_quantile(y: Array, c: Array) -> Any:
    """(exp(c*y) - 1)/c, the inverse of `pareto_exponent`; its slope, exp(c*y), does not cancel."""
    slow = np.abs(c * y) < 1
    near = y * special.exprel(np.where(slow, c * y, 0.0))
    return np.where(slow, near, np.expm1(c * y) / np.where(slow, 1.0, c))


def log_unless_flat(exponent: Array, flat: Array, log: Callable[[Array], Any]) -> Any:
    """A log density, which is 0 at the end of the support for the shape with which it is flat there."""
    at_end = np.logical_and(flat, exponent == np.inf)
    return np.where(at_end, 0.0, log(np.where(at_end, 1.0, exponent)))


def _pareto_support(c: Array) -> Any:
    return 0.0, np.where(c < 0, -1 / np.where(c < 0, c, -1.0), np.inf)


def _extreme_support(c: Array) -> Any:
    ends = 1 / np.where(c == 0, 1.0, c)
    return np.where(c < 0, ends, -np.inf), np.where(c > 0, ends, np.inf)


genpareto = changed(
    expon,
    to=pareto_exponent,
    log_slope=lambda x, c: -c * pareto_exponent(x, c),
    back=pareto_quantile,
    support=_pareto_support,
    valid=any_real,
    density=lambda x, c: log_unless_flat(pareto_exponent(x, c), c == -1, lambda y: -(1 + c) * y),
)

gumbel_r = changed(
    expon,
    to=lambda x: np.exp(-x),
    log_slope=lambda x: -x,
    back=lambda y: -np.log(y),
    support=whole_line,
    decreasing=True,
    log_to=lambda x: -x,
)


# -- moments of the generalized extreme value distribution ----------------------------------------
def _zeta_series(first: int, weight: Callable[[int], float]) -> list[float]:
    """The coefficients of the sum of zeta(k)*(-c)**k*weight(k)/k from a power on, by which it is divided."""
    orders = range(first, first + 60)
    return [float(special.zeta(k)) * (-1) ** k * weight(k) / k for k in orders]


_GAMMA_SERIES = [-np.euler_gamma, *_zeta_series(2, lambda k: 1)]
"""The power series of log(gamma(1 + c))/c."""
_RATIO_SERIES = [_zeta_series(2, lambda k, n=n: n**k - n) for n in (2, 3, 4)]  # type: ignore[misc]
"""Those of log(gamma(1 + n*c)/gamma(1 + c)**n)/c**2."""
_THIRD_SERIES = _zeta_series(3, lambda k: 3**k - 3 * 2**k + 3)
_FOURTH_SERIES = _zeta_series(4, lambda k: 4**k - 4 * 3**k + 6 * 2**k - 4)
"""Those of the differences of these in the third and fourth central moment."""
_REST_SERIES = [1 / math.factorial(k + 2) for k in range(20)]
"""That of (exp(u) - 1 - u)/u**2."""


def _extreme_stats(c: Array) -> tuple[Any, ...]:
    """Of (1 - y**c)/c for an exponential variable y, by series where c is small.

    The moments of y**c are gamma(1 + n*c), those over powers of the first exp(c**2*ratio).
    """

    def log_ratio(c: Array, n: int) -> Any:
        return (gammaln(1 + n * c) - n * gammaln(1 + c)) / (c * c)

    def third(c: Array) -> Any:
        return (log_ratio(c, 3) - 3 * log_ratio(c, 2)) / c

    def fourth(c: Array) -> Any:
        return (log_ratio(c, 4) - 4 * log_ratio(c, 3) + 6 * log_ratio(c, 2)) / (c * c)

    def rest(k: Array) -> Any:
        return (
            k * k * removable(c * c * k, _REST_SERIES, lambda u: (np.expm1(u) - u) / (u * u), 0.5)
        )

    first = removable(c, _GAMMA_SERIES, lambda c: gammaln(1 + c) / c, 0.1)
    ratios = [
        removable(c, series, lambda c, n=n: log_ratio(c, n), 0.1)  # type: ignore[misc]
        for n, series in zip((2, 3, 4), _RATIO_SERIES, strict=True)
    ]
    spread = ratios[0] * special.exprel(c * c * ratios[0])
    two, three, four = [rest(k) for k in ratios]
    skew = removable(c, _THIRD_SERIES, third, 0.1) + c * (three - 3 * two)
    tails = removable(c, _FOURTH_SERIES, fourth, 0.1) + four - 4 * three + 6 * two
    mean = -first * special.exprel(c * first)
    variance = np.exp(2 * c * first) * spread
    return mean, variance, -skew / spread**1.5, tails / spread**2 - 3


genextreme = changed(
    gumbel_r,
    to=lambda x, c: pareto_exponent(x, -c),
    log_slope=lambda x, c: c * pareto_exponent(x, -c),
    back=lambda y, c: pareto_quantile(y, -c),
    support=_extreme_support,
    valid=any_real,
    density=lambda x, c: log_unless_flat(
        pareto_exponent(x, -c), c == 1, lambda y: (c - 1) * y - np.exp(-y)
    ),
    stats=_extreme_stats,
)


# -- the four-parameter kappa distribution -------------------------------------------------------
def _kappa_exponent(x: Array, h: Array, k: Array) -> tuple[Any, Any]:
    """-log(z) for z = (1 - k*x)**(1/k), and -log(cdf) = -log(1 - h*z)/h, with their limits at 0."""
    log = pareto_exponent(x, -k)
    far = np.logical_and(h < 0, np.log(np.where(h < 0, -h, 1.0)) - log > 40)
    shape, place = np.where(far, -h, 1.0), np.where(far, log, 0.0)
    near = pareto_exponent(np.exp(-np.where(far, 0.0, log)), np.where(far, 1.0, -h))
    return log, np.where(far, (np.log(shape) - place) / shape, near)


def _kappa_density(x: Array, h: Array, k: Array) -> Any:
    log, exponent = _kappa_exponent(x, h, k)
    return log_unless_flat(exponent, h == 1, lambda y: (h - 1) * y) + log_unless_flat(
        log, k == 1, lambda y: (k - 1) * y
    )


def _kappa_logsf(x: Array, h: Array, k: Array) -> Any:
    log, exponent = _kappa_exponent(x, h, k)
    far = exponent < 1e-20
    return np.where(far, -log, log1mexp(np.where(far, 1.0, exponent)))


def _kappa_support(h: Array, k: Array) -> Any:
    first = np.log(np.where(h > 0, h, 1.0))
    start = np.where(k < 0, 1 / np.where(k < 0, k, -1.0), -np.inf)
    start = np.where(h > 0, first * special.exprel(-k * first), start)
    return start, np.where(k > 0, 1 / np.where(k > 0, k, 1.0), np.inf)


kappa4 = by_smaller_side(
    density=_kappa_density,
    logcdf=lambda x, h, k: -_kappa_exponent(x, h, k)[1],
    logsf=_kappa_logsf,
    ppf=lambda q, h, k: -special.boxcox(-special.boxcox(q, h), k),
    isf=lambda q, h, k: -special.boxcox(-special.boxcox1p(-q, h), k),
    support=_kappa_support,
    valid=any_real,
)
