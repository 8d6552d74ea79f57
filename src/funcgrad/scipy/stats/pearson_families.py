"""Pearson's distribution of type 3, which is smooth where the skew is 0, and SciPy takes the normal one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as _scipy
from scipy.special import ndtri
from scipy.stats import _continuous_distns

from funcgrad.expr.registry import functions
from funcgrad.ops.special.gamma_numerics import STIRLING
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.ops.special.special_function import removable
from funcgrad.scipy.composition import nondifferentiable, unreplaced, with_value
from funcgrad.typing import Array

_SQUARE = [(-1.0) ** (k + 1) / (k + 2) for k in range(60)]
"""The power series of (log(1 + u) - u)/u**2."""


def _log_constant(half: Array) -> Any:
    """log(a**(a - 1/2)*exp(-a)/gamma(a)) for a = 1/half**2: Stirling's series, in powers of ``half``."""
    square = half * half
    near = square < 1 / 16
    low = np.where(near, square, 0.0)
    series: Any = 0.0
    for c in reversed(STIRLING):
        series = series * low * low + c
    a = 1 / np.where(near, 1.0, square)
    far = (a - 0.5) * np.log(a) - a - gammaln(a)
    return np.where(near, -series * low - math.log(2 * math.pi) / 2, far)


def pearson3_logpdf(_: object, x: Array, skew: Array) -> Any:
    """SciPy's method `pearson3._logpdf`, with the slopes of one formula for all skews."""
    own = nondifferentiable("pearson3", _scipy.pearson3.logpdf, x, skew)
    half = skew / 2
    u = half * x
    inside = u > -1
    wide = u > 1  # where squares overflow far out
    place = np.where(np.logical_and(inside, ~wide), u, 0.0)
    curve = removable(place, _SQUARE, lambda u: (np.log1p(u) - u) / (u * u), 0.5)
    middle = np.where(np.logical_and(inside, ~wide), x, 0.0) ** 2 * curve - np.log1p(place)
    y, h, log = np.where(wide, x, 1.0), np.where(wide, half, 1.0), np.log1p(np.where(wide, u, 1.0))
    found = np.where(wide, (log / h - y) / h - log, middle) + _log_constant(half)
    return with_value(own, np.where(inside, found, 0.0))


_MOST_NORMAL = 1.6e-5
"""The skew below which SciPy takes the normal distribution."""


def _in_normal_range(skew: Array) -> Any:
    return np.where(np.abs(skew) < _MOST_NORMAL, skew, 0.0)


def _edgeworth(x: Array, skew: Array) -> Any:
    """Edgeworth's terms of the distribution function up to skew**2, where SciPy leaves them out."""
    small, square = _in_normal_range(skew), x * x
    third = x * (square - 3)
    fifth = x * (square * (square - 10) + 15)
    density = np.exp(-square / 2) / math.sqrt(2 * math.pi)
    return -density * small * ((square - 1) / 6 + small * (third / 16 + fifth / 72))


def _cornish_fisher(q: Array, skew: Array) -> Any:
    """The terms of the quantile up to skew**2, by the expansion of Cornish and Fisher."""
    small, z = _in_normal_range(skew), ndtri(q)
    square = z * z
    return small * ((square - 1) / 6 + small * z * ((square - 3) / 16 - (2 * square - 5) / 36))


def _with_slopes_in_skew(name: str, terms: Callable[..., Any], sign: float = 1.0) -> Any:
    own = getattr(_continuous_distns.pearson3_gen, name)
    scipys = unreplaced(own)

    def method(distribution: object, x: Array, skew: Array) -> Any:
        found = functions["call_adopted"](scipys, (distribution, x, skew), {})
        return with_value(found, sign * terms(x, skew))

    method.__doc__ = f"SciPy's method `pearson3.{name}`, with the slopes in a skew of 0."
    return method


pearson3_cdf = _with_slopes_in_skew("_cdf", _edgeworth)
pearson3_sf = _with_slopes_in_skew("_sf", _edgeworth, -1.0)
pearson3_ppf = _with_slopes_in_skew("_ppf", _cornish_fisher)
