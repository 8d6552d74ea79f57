"""The distributions of Kolmogorov's and Smirnov's statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.special.goodness_of_fit import kolmogorov_cdf, smirnov_cdf, smirnov_slope
from funcgrad.ops.special.kolmogorov_numerics import kolmogorov_two_sided
from funcgrad.scipy import special
from funcgrad.scipy.stats.standard import Standard, half_line, probability, unit_interval
from funcgrad.typing import Array

_BORDER = 0.82
"""Below it the series of the theta function converges, above it that of exponentials."""


def _rate(k: int) -> float:
    return (k * math.pi) ** 2 / 8


def _large_k_log_series(x: Array, order: int) -> tuple[Any, Any]:
    """The logarithms of the smaller side of the limit, its distribution function or the complement, or, of
    order 1, of its density: each series by its first term; and where it is that for small x."""
    small = x < _BORDER
    s, t = np.where(small, x, 0.5), np.where(small, 1.0, x)
    square = s * s
    low: Any = 0.0
    for k in (1, 3, 5, 7):
        slope = 2 * _rate(k) / square - 1 if order else 1.0
        low = low + np.exp((_rate(1) - _rate(k)) / square) * slope
    high: Any = 0.0
    for k in range(1, 7):
        high = high - (-1.0) ** k * k ** (2 * order) * np.exp(-2.0 * (k * k - 1) * t * t)
    below = math.log(2 * math.pi) / 2 - (1 + order) * np.log(s) - _rate(1) / square + np.log(low)
    above = (math.log(8) + np.log(t) if order else math.log(2)) - 2 * t * t + np.log(high)
    return small, np.where(small, below, above)


def _large_k_logcdf(x: Array) -> Any:
    small, log = _large_k_log_series(x, 0)
    return np.where(small, log, np.log1p(-probability(log)))


def _large_k_logsf(x: Array) -> Any:
    small, log = _large_k_log_series(x, 0)
    return np.where(small, np.log1p(-probability(log)), log)


kstwobign = Standard(
    density=lambda x: _large_k_log_series(x, 1)[1],
    cdf=lambda x: kolmogorov_cdf(x),
    sf=lambda x: special.kolmogorov(x),
    logcdf=_large_k_logcdf,
    logsf=_large_k_logsf,
    isf=lambda q: special.kolmogi(q),
    support=half_line,
)

ksone = Standard(
    density=lambda x, n: np.log(-smirnov_slope(n, x)),
    cdf=lambda x, n: smirnov_cdf(n, x),
    sf=lambda x, n: special.smirnov(n, x),
    isf=lambda q, n: special.smirnovi(n, q),
    support=unit_interval,
    valid=lambda n: np.logical_and(n >= 1, n == np.round(n)),
)
"""It has no derivative in the number of samples."""


def _two_sided(order: int, upper: bool) -> Any:
    return lambda x, n: kolmogorov_two_sided(x, n, order=order, upper=upper)


kstwo = Standard(
    density=lambda x, n: np.log(_two_sided(1, False)(x, n)),
    cdf=_two_sided(0, False),
    sf=_two_sided(0, True),
    support=lambda n: (0.5 / n, 1.0),
    valid=lambda n: np.logical_and(n >= 1, n == np.round(n)),
)
"""It has no derivative in the number of samples."""
