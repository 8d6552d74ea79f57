"""The relativistic distribution of Breit and Wigner."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.special.gamma_numerics import log1p_square
from funcgrad.scipy.stats.standard import by_smaller_side, half_line
from funcgrad.typing import Array


def _factor(rho: Array) -> Any:
    return 2 / math.pi * np.sqrt(2 / (1 + np.sqrt(1 + 1 / rho / rho)))


def _log_height(rho: Array) -> Any:
    """The logarithm of the density at its peak."""
    return np.log(_factor(rho)) + np.log1p(1 / rho / rho) / 2


def _density(x: Array, rho: Array) -> Any:
    far = x > 1e50 * (1 + rho)
    held = np.where(far, rho, x)
    near = log1p_square((held - rho) * ((held + rho) / rho))
    power = 4 * np.log(np.where(far, x, 1.0)) - 2 * np.log(rho)
    return _log_height(rho) - np.where(far, power, near)


def _cdf(x: Array, rho: Array) -> Any:
    root = np.sqrt(-1 + 1j / rho) * np.arctan(x / np.sqrt(-rho * (rho + 1j)))
    return _factor(rho) * np.imag(root)


def _logsf(x: Array, rho: Array) -> Any:
    """Right of the peak by the series of the density in 1/x**2, of which each term is integrated."""
    size = np.sqrt(rho * np.sqrt(1 + rho * rho))
    far = x > 3 * size
    place = np.where(far, x, 3 * size)
    ratio = (rho / place) ** 2
    square = (rho / place * np.hypot(rho, 1.0) / place) ** 2
    before, term, total = np.zeros_like(ratio), np.ones_like(ratio), np.full_like(ratio, 1 / 3)
    for k in range(1, 20):
        before, term = term, 2 * ratio * term - square * before
        total = total + term / (2 * k + 3)
    tail = _log_height(rho) + 2 * np.log(rho) - 3 * np.log(place) + np.log(total)
    return np.where(far, tail, np.log1p(-_cdf(np.where(far, rho, x), rho)))


rel_breitwigner = by_smaller_side(
    density=_density,
    logcdf=lambda x, rho: np.log(_cdf(x, rho)),
    logsf=_logsf,
    support=half_line,
)
