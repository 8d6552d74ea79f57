"""Methods of SciPy's base classes of distributions: what they do to the formulas of a distribution.

SciPy clips probabilities of discrete distributions to the interval from 0 to 1. Rounded to 1, one would be at
the kink of the clip, with half of its slope.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.scipy.composition import real
from funcgrad.scipy.stats.standard import log_where_small
from funcgrad.source import with_name
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike


def _clipped(x: Array) -> Any:
    """The probability within its bounds; its slope is that of x."""
    return x - stop_gradient(x - np.clip(x, 0.0, 1.0))


def _method(name: str) -> Callable[..., Any]:
    is_mass = name == "_pmf"

    def method(distribution: Any, k: ArrayLike, *args: ArrayLike, **kwds: ArrayLike) -> Any:
        given, loc, _ = distribution._parse_args(*args, **kwds)
        shapes = [real(name, item) for item in given]
        place = real(name, k) - real(name, loc)
        first, last = distribution._get_support(*shapes)
        valid = distribution._argcheck(*shapes)
        above = place > last if is_mass else place >= last
        inside = np.logical_and(place >= first, np.logical_not(above))
        if is_mass:
            inside = np.logical_and(inside, distribution._nonzero(place, *shapes))
        inside = np.logical_and(inside, np.isfinite(place))
        found = _clipped(getattr(distribution, name)(np.where(inside, place, first), *shapes))
        below, beyond = {"_pmf": (0.0, 0.0), "_cdf": (0.0, 1.0), "_sf": (1.0, 0.0)}[name]
        value = np.where(inside, found, np.where(above, beyond, below))
        return np.where(np.logical_and(valid, np.logical_not(np.isnan(place))), value, np.nan)

    return with_name(method, name[1:])


mass_of_discrete, cdf_of_discrete, sf_of_discrete = _method("_pmf"), _method("_cdf"), _method("_sf")
"""For `scipy.stats.rv_discrete.pmf`, `cdf` and `sf`."""


# -- logarithms of tails of distributions without a formula of their own --------------------------
# SciPy searches for the median to choose a side; the sides themselves tell which one is smaller.
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
