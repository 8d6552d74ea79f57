"""Continuous distributions of extreme values and of excesses over a threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.scipy import special
from funcgrad.scipy.stats.base_families import expon
from funcgrad.scipy.stats.standard import (
    any_real,
    by_smaller_side,
    changed,
    log1mexp,
    whole_line,
)
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


def _unless_flat(exponent: Array, flat: Array, log: Callable[[Array], Any]) -> Any:
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
    density=lambda x, c: _unless_flat(pareto_exponent(x, c), c == -1, lambda y: -(1 + c) * y),
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

genextreme = changed(
    gumbel_r,
    to=lambda x, c: pareto_exponent(x, -c),
    log_slope=lambda x, c: c * pareto_exponent(x, -c),
    back=lambda y, c: pareto_quantile(y, -c),
    support=_extreme_support,
    valid=any_real,
    density=lambda x, c: _unless_flat(
        pareto_exponent(x, -c), c == 1, lambda y: (c - 1) * y - np.exp(-y)
    ),
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
    return _unless_flat(exponent, h == 1, lambda y: (h - 1) * y) + _unless_flat(
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
