"""Masses that are ratios of rising factorials, whose logarithms keep the digits of a small difference."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops.special.gamma_numerics import STIRLING
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.composition import with_value
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

_STEPS = 16
"""Below this many, an argument is raised by as many, to where Stirling's series has all digits."""


def log_rising(x: Array, m: Array) -> Any:
    """log(gamma(x + m)/gamma(x)) for x > 0 and m >= 0, by one logarithm of the ratio.

    The difference of both gamma functions would have no digits of a small m, nor of the slope at a large x.
    """
    low = x < _STEPS
    start = np.where(low, x + _STEPS, x)
    ratio = np.log1p(m / start)
    found = (start - 0.5) * ratio - m + m * (np.log(start) + ratio)
    for j, c in enumerate(STIRLING, 1):
        power = 1.0 - 2.0 * j
        found = found + c * start**power * np.expm1(power * ratio)
    small = np.where(low, x, 1.0)
    steps: Any = 0.0
    for i in range(_STEPS):
        steps = steps + np.log1p(m / (small + i))
    return found - np.where(low, steps, 0.0)


def _with_own(own: Array, found: Array) -> Any:
    """The value of SciPy's formula, and the slopes of one that keeps their digits."""
    return with_value(stop_gradient(own), found)


def betabinom_logpmf(_: object, x: Array, n: Array, a: Array, b: Array) -> Any:
    """SciPy's method `betabinom._logpmf`."""
    k = np.floor(x)
    own = -np.log(n + 1) - special.betaln(n - k + 1, k + 1)
    own = own + special.betaln(k + a, n - k + b) - special.betaln(a, b)
    ways = log_rising(n - k + 1, k) - gammaln(k + 1)
    return _with_own(own, log_rising(a, k) + log_rising(b, n - k) - log_rising(a + b, n) + ways)


def betanbinom_logpmf(_: object, x: Array, n: Array, a: Array, b: Array) -> Any:
    """SciPy's method `betanbinom._logpmf`."""
    k = np.floor(x)
    own = -np.log(n + k) - special.betaln(n, k + 1)
    own = own + special.betaln(a + n, b + k) - special.betaln(a, b)
    ways = log_rising(n, k) - gammaln(k + 1)
    return _with_own(own, log_rising(a, n) + log_rising(b, k) - log_rising(a + b, n + k) + ways)


def _yulesimon_logsf(k: Array, alpha: Array) -> Any:
    """The logarithm of the probability beyond k, by the smaller rise."""
    is_small = alpha < 1
    low, high = np.where(is_small, alpha, 0.5), np.where(is_small, 2.0, alpha)
    by_alpha = gammaln(1 + low) - log_rising(k + 1, low)
    return np.where(is_small, by_alpha, gammaln(k + 1) - log_rising(1 + high, k))


def yulesimon_cdf(_: object, k: Array, alpha: Array) -> Any:
    """SciPy's method `yulesimon._cdf`."""
    own = 1 - k * special.beta(k, alpha + 1)
    return _with_own(own, -np.expm1(_yulesimon_logsf(k, alpha)))


def yulesimon_sf(_: object, k: Array, alpha: Array) -> Any:
    """SciPy's method `yulesimon._sf`."""
    return _with_own(k * special.beta(k, alpha + 1), np.exp(_yulesimon_logsf(k, alpha)))


def yulesimon_logsf(_: object, k: Array, alpha: Array) -> Any:
    """SciPy's method `yulesimon._logsf`."""
    own = np.log(k) + special.betaln(k, alpha + 1)
    return _with_own(own, _yulesimon_logsf(k, alpha))
