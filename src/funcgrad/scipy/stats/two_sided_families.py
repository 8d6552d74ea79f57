"""Continuous distributions that are put together of two halves at 0."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from funcgrad.ops.elementwise.exponential import softplus
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy.stats.base_families import below, cauchy, gamma
from funcgrad.scipy.stats.changed_families import weibull_min
from funcgrad.scipy.stats.power_families import halfgennorm
from funcgrad.scipy.stats.standard import (
    Standard,
    completed,
    log1mexp,
    probability,
    stated,
    symmetric,
)
from funcgrad.typing import Array

_HALF = math.log(2)


def _two_half_lines(*shapes: Array) -> tuple[Any, Any]:
    """The support of a distribution whose density may be 0 between its sides."""
    return -math.inf, math.inf


def _two_sided(row: Standard) -> Standard:
    """The distribution of x with either sign, if abs(x) has one on the half line."""
    base = completed(row)
    half, tail, log_tail = stated(base.cdf), stated(base.sf), stated(base.logsf)

    def from_zero(x: Array, *shapes: Array) -> Any:
        """The probability from 0 to x >= 0, with the slope that it has at 0."""
        here = x == 0
        log = base.density(np.where(here, 0.0, 1.0), *shapes)
        density = np.where(log < math.inf, probability(log), math.inf)
        line = np.where(
            density < math.inf, x * np.where(density < math.inf, density, 0.0), np.cbrt(x)
        )
        return np.where(here, line, half(np.where(here, 1.0, x), *shapes))

    def cdf(x: Array, *shapes: Array) -> Any:
        left = x < 0
        below = tail(np.where(left, -x, 1.0), *shapes) / 2
        return np.where(left, below, 0.5 + from_zero(np.where(left, 1.0, x), *shapes) / 2)

    def logcdf(x: Array, *shapes: Array) -> Any:
        left, near = x < 0, np.logical_and(x >= 0, x < 1)
        below = log_tail(np.where(left, -x, 1.0), *shapes) - _HALF
        middle = np.log1p(from_zero(np.where(near, x, 0.5), *shapes)) - _HALF
        above = np.log1p(-tail(np.where(x >= 1, x, 1.0), *shapes) / 2)
        return np.where(left, below, np.where(near, middle, above))

    def density(x: Array, *shapes: Array) -> Any:
        return base.density(np.abs(x), *shapes) - _HALF

    return symmetric(
        density=density, cdf=cdf, logcdf=logcdf, support=_two_half_lines, valid=row.valid
    )


dgamma = _two_sided(gamma)
dweibull = _two_sided(weibull_min)


def _gennorm_density(x: Array, b: Array) -> Any:
    """Of a power above 1 by a size that has a slope at 0: abs(x)**2 has the second derivative 2 there."""
    size = np.where(b > 1, -below(x), np.abs(x))
    return np.log(b) - gammaln(1 / b) - size**b - _HALF


gennorm = replace(_two_sided(halfgennorm), density=_gennorm_density)


# -- Cauchy's distribution with another scale on each side ---------------------------------------
def _skewed_tail(x: Array, a: Array) -> Any:
    return (1 - a) * stated(cauchy.cdf)(x / (1 - a))


def _skewed_cdf(x: Array, a: Array) -> Any:
    left = x < 0
    above = _skewed_tail(np.where(left, -1.0, -x), -a)
    return np.where(left, _skewed_tail(np.where(left, x, -1.0), a), 1 - above)


def _skewed_logcdf(x: Array, a: Array) -> Any:
    left = x < 0
    below = np.log1p(-a) + stated(cauchy.logcdf)(np.where(left, x, -1.0) / (1 - a))
    return np.where(left, below, np.log1p(-_skewed_tail(np.where(left, -1.0, -x), -a)))


skewcauchy = Standard(
    density=lambda x, a: cauchy.density(x / (1 + np.where(x < 0, -a, a))),
    cdf=_skewed_cdf,
    sf=lambda x, a: _skewed_cdf(-x, -a),
    logcdf=_skewed_logcdf,
    logsf=lambda x, a: _skewed_logcdf(-x, -a),
    valid=lambda a: np.abs(a) < 1,
)


# -- Laplace's distribution with another scale on each side --------------------------------------
def _asymmetric_logs(x: Array, log_kappa: Array) -> tuple[Any, Any, Any]:
    """Whether x is left of 0, and the logarithms of the probabilities below such an x and above others."""
    left = x < 0
    below = np.where(left, x, 0.0) * np.exp(-log_kappa) - softplus(-2 * log_kappa)
    return left, below, -np.where(left, 1.0, x) * np.exp(log_kappa) - softplus(2 * log_kappa)


def _asymmetric_cdf(x: Array, log_kappa: Array) -> Any:
    left, below, above = _asymmetric_logs(x, log_kappa)
    return np.where(left, np.exp(below), -np.expm1(above))


def _asymmetric_logcdf(x: Array, log_kappa: Array) -> Any:
    left, below, above = _asymmetric_logs(x, log_kappa)
    return np.where(left, below, log1mexp(-above))


laplace_asymmetric = Standard(
    density=lambda x, kappa: x * np.where(x >= 0, -kappa, 1 / kappa) - np.log(kappa + 1 / kappa),
    cdf=lambda x, kappa: _asymmetric_cdf(x, np.log(kappa)),
    sf=lambda x, kappa: _asymmetric_cdf(-x, -np.log(kappa)),
    logcdf=lambda x, kappa: _asymmetric_logcdf(x, np.log(kappa)),
    logsf=lambda x, kappa: _asymmetric_logcdf(-x, -np.log(kappa)),
)
