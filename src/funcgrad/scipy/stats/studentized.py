"""The distribution of the studentized range: the range of k normal variables over a chi variable.

Both integrals are of positive functions, of which the trapezoidal rule has all digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.special.mixture_ranges import studentized_end, studentized_start
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.stats.log_tails import last_axis
from funcgrad.scipy.stats.standard import Standard, half_line
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

_STEP = 0.2
_Z = np.arange(-8.4, 8.5, _STEP)
_NORMAL = np.exp(-_Z * _Z / 2) / math.sqrt(2 * math.pi) * _STEP
_COUNT = 400
_LARGEST = 1e10
"""With more degrees of freedom, the chi variable is a constant in double precision."""


def _ranges(r: Array) -> tuple[Any, Any]:
    """The normal distribution function at the largest value, and the logarithm of the range's share of it."""
    top = special.ndtr(_Z)
    ratio = special.ndtr(_Z - r) / top
    small = r < 1
    # Of a short range, by the density at its middle, which does not cancel.
    near = np.where(small, r, 1.0)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    moves = last_axis(near) * ((nodes + 1) / 2)
    density = np.exp(moves * (last_axis(_Z) - moves / 2)) * (weights / 2)
    mass = near * np.sum(density, axis=-1) * np.exp(-_Z * _Z / 2) / math.sqrt(2 * math.pi)
    return top, np.where(small, np.log(mass / top), np.log1p(-np.where(small, 0.5, ratio)))


def _range_cdf(r: Array, k: Array) -> Any:
    top, log_share = _ranges(last_axis(r))
    power = last_axis(k) - 1
    return k * np.sum(_NORMAL * np.exp(power * (np.log(top) + log_share)), axis=-1)


def _range_sf(r: Array, k: Array) -> Any:
    top, log_share = _ranges(last_axis(r))
    power = last_axis(k) - 1
    rest = -np.expm1(power * log_share)
    return k * np.sum(_NORMAL * np.exp(power * np.log(top)) * rest, axis=-1)


def _range_density(r: Array, k: Array) -> Any:
    r = last_axis(r)
    top, log_share = _ranges(r)
    power = last_axis(k) - 2
    other = np.exp(-((_Z - r) ** 2) / 2) / math.sqrt(2 * math.pi)
    values = _NORMAL * other * np.exp(power * (np.log(top) + log_share))
    return k * (k - 1) * np.sum(values, axis=-1)


def _mixed(function: Any, kind: int) -> Any:
    """The mean of a function of q*s over the chi variable s over the root of df."""

    def mean(q: Array, k: Array, df: Array) -> Any:
        df = np.minimum(df, _LARGEST)
        held = [stop_gradient(item) for item in (q, k, df)]
        start, end = (run(*held, float(kind)) for run in (studentized_start, studentized_end))
        step = (end - start) / (_COUNT - 1)
        w = last_axis(start) + last_axis(step) * np.arange(float(_COUNT))
        half = df / 2
        constant = half * np.log(half) - half - gammaln(half) + math.log(2) + np.log(step)
        log = last_axis(constant) - last_axis(half) * (np.expm1(2 * w) - 2 * w)
        values = function(last_axis(q) * np.exp(w), last_axis(k))
        return np.sum(np.exp(log + w if kind == 2 else log) * values, axis=-1)

    return mean


_density = _mixed(_range_density, 2)

studentized_range = Standard(
    density=lambda q, k, df: np.log(_density(q, k, df)),
    cdf=_mixed(_range_cdf, 0),
    sf=_mixed(_range_sf, 1),
    support=half_line,
    valid=lambda k, df: np.logical_and(k > 1, df > 0),
)
