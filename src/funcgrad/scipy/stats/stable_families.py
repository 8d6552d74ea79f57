"""Landau's distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.special.landau import landau_integral
from funcgrad.scipy.stats.standard import Standard, log_where_small
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

_SCALE = math.pi / 2
"""SciPy's variable has this scale, and is moved by its logarithm."""


def _place(x: Array) -> Any:
    return _SCALE * x + math.log(_SCALE)


def _density(x: Array) -> Any:
    """By a shift that keeps the left tail from underflow."""
    y = _place(x)
    shift = stop_gradient(np.exp(-1 - np.maximum(y, -700.0)))
    return np.log(landau_integral(y, shift, order=1, upper=False)) - shift + math.log(_SCALE)


def _side(x: Array, upper: bool) -> Any:
    y = _place(x)
    return landau_integral(y, np.zeros_like(y), order=0, upper=upper)


def _logcdf(x: Array) -> Any:
    y = _place(x)
    left = y < 0
    held = np.where(left, y, 0.0)
    shift = stop_gradient(np.exp(-1 - np.maximum(held, -700.0)))
    tail = np.log(landau_integral(held, shift, order=0, upper=False)) - shift
    return np.where(left, tail, log_where_small(_side(x, False), _side(x, True)))


landau = Standard(
    density=_density,
    cdf=lambda x: _side(x, False),
    sf=lambda x: _side(x, True),
    logcdf=_logcdf,
)
