"""The distributions of Kolmogorov's and Smirnov's statistics, and their inverses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.partial_derivatives import partial_derivative
from funcgrad.ops.special.special_function import special_function
from funcgrad.typing import Array, FunctionLibrary


def _kolmogorov_slope(x: Array) -> Any:
    """The derivative of Kolmogorov's survival function: by its series, or by that of the theta function."""
    inside = (x > 0.02) & (x < 20.0)  # elsewhere it is less than the least number
    small = x < 0.82
    s = np.where(inside & small, x, 0.5)
    low: Any = 0.0
    for k in (1, 3, 5, 7):
        rate = (k * math.pi) ** 2 / 8
        low = low - math.sqrt(2 * math.pi) * np.exp(-rate / (s * s)) * (2 * rate / s**2 - 1) / s**2
    t = np.where(inside & ~small, x, 1.0)
    high: Any = 0.0
    for k in range(1, 7):
        high = high + 8.0 * (-1) ** k * k * k * t * np.exp(-2.0 * k * k * t * t)
    return np.where(inside, np.where(small, low, high), 0.0)


kolmogorov: Op = special_function(
    "kolmogorov",
    lambda z, x: _kolmogorov_slope(x),
    mpmath=lambda mp, x: (
        -2 * mp.nsum(lambda k: (-1) ** int(k) * mp.exp(-2 * k * k * x * x), [1, mp.inf], method="d")
    ),
)
kolmogorov_cdf: Op = special_function(
    "kolmogorov_cdf",
    lambda z, x: -_kolmogorov_slope(x),
    ufunc="_kolmogc",
    mpmath=lambda mp, x: (
        1
        + 2
        * mp.nsum(lambda k: (-1) ** int(k) * mp.exp(-2 * k * k * x * x), [1, mp.inf], method="d")
    ),
)
kolmogi: Op = special_function("kolmogi", lambda z, p: 1.0 / _kolmogorov_slope(z))


def _mp_smirnov(mp: FunctionLibrary, n: Array, d: Array) -> Any:
    """By the sum over the places at which the distributions may be d apart."""
    count, total = int(n), mp.mpf(0)
    for j in range(int(mp.floor(count * (1 - d))) + 1):
        total += (
            mp.binomial(count, j)
            * (d + mp.mpf(j) / count) ** (j - 1)
            * (1 - d - mp.mpf(j) / count) ** (count - j)
        )
    return d * total


smirnov_slope: Op = special_function(
    "smirnov_slope",
    None,
    lambda z, n, d: partial_derivative("smirnov", (0, 2), n, d),
    ufunc="_smirnovp",
    mpmath=lambda mp, n, d: mp.diff(lambda d: _mp_smirnov(mp, n, d), d),
)
smirnov: Op = special_function(
    "smirnov", None, lambda z, n, d: smirnov_slope(n, d), mpmath=_mp_smirnov
)
smirnov_cdf: Op = special_function(
    "smirnov_cdf",
    None,
    lambda z, n, d: -smirnov_slope(n, d),
    ufunc="_smirnovc",
    mpmath=lambda mp, n, d: 1 - _mp_smirnov(mp, n, d),
)
smirnovi: Op = special_function("smirnovi", None, lambda z, n, p: 1.0 / smirnov_slope(n, z))
