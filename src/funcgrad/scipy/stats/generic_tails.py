"""Logarithms of tails as SciPy computes them for distributions without a formula of their own.

SciPy searches for the median to choose a side; the sides themselves tell which one is smaller.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.scipy.stats.standard import log_where_small
from funcgrad.typing import Array


def _log(small: Array, other: Array) -> Any:
    """The logarithm of a probability; that of 0, as outside of a support, has no slope."""
    none = small == 0
    return np.where(none, -np.inf, log_where_small(np.where(none, 0.25, small), other))


def log_cdf(distribution: Any, x: Array, *shapes: Array) -> Any:
    """For `scipy.stats.rv_continuous._logcdf`."""
    with np.errstate(divide="ignore"):
        return _log(distribution._cdf(x, *shapes), distribution._sf(x, *shapes))


def log_sf(distribution: Any, x: Array, *shapes: Array) -> Any:
    """For `scipy.stats.rv_continuous._logsf`."""
    with np.errstate(divide="ignore"):
        return _log(distribution._sf(x, *shapes), distribution._cdf(x, *shapes))
