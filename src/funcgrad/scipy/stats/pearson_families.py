"""Pearson's distribution of type 3, whose log density is smooth where the skew is 0."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats as _scipy

from funcgrad.ops.special.gamma_numerics import STIRLING
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.ops.special.special_function import removable
from funcgrad.scipy.composition import nondifferentiable, with_value
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
