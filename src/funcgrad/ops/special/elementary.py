"""Elementary functions that `scipy.special` has beside those of NumPy's, and the losses of Huber."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.special_function import removable, special_function
from funcgrad.typing import Array

_DEGREE = math.pi / 180.0

cosm1: Op = special_function(
    "cosm1",
    lambda z, x: -np.sin(x),
    mpmath=lambda mp, x: -2 * mp.sin(x / 2) ** 2,
    sympy=lambda sp, x: sp.cos(x) - 1,
)
exp10: Op = special_function(
    "exp10",
    lambda z, x: math.log(10.0) * z,
    mpmath=lambda mp, x: mp.mpf(10) ** x,
    sympy=lambda sp, x: sp.Integer(10) ** x,
)


def log_of_one_minus_exp(x: Array) -> Any:
    """log(1 - exp(x)) for x < 0."""
    near = x > -math.log(2.0)
    close, far = np.where(near, x, -1.0), np.where(near, -1.0, x)
    return np.where(near, np.log(-np.expm1(close)), np.log1p(-np.exp(far)))


def _exprel_slope(z: Array, x: Array) -> Any:
    """The derivative of (exp(x) - 1)/x, which is ((x - 1)*exp(x) + 1)/x**2."""

    def formula(u: Array) -> Any:
        return (np.maximum(u, -1e3) * np.exp(u) - np.expm1(u)) / u / u

    far = x > 50.0
    distant = np.where(far, x, 50.0)
    near = removable(np.where(far, 0.0, x), _EXPREL_SERIES, formula, 2.0)
    return np.where(far, np.exp(distant - np.log(distant)) * (1.0 - 1.0 / distant), near)


_EXPREL_SERIES = [(k + 1) / math.factorial(k + 2) for k in range(28)]
exprel: Op = special_function(
    "exprel", _exprel_slope, mpmath=lambda mp, x: mp.expm1(x) / x if x else mp.mpf(1)
)
sindg: Op = special_function(
    "sindg", lambda z, x: _DEGREE * cosdg(x), mpmath=lambda mp, x: mp.sin(x * mp.pi / 180)
)
cosdg: Op = special_function(
    "cosdg", lambda z, x: -_DEGREE * sindg(x), mpmath=lambda mp, x: mp.cos(x * mp.pi / 180)
)
tandg: Op = special_function(
    "tandg", lambda z, x: _DEGREE / cosdg(x) ** 2, mpmath=lambda mp, x: mp.tan(x * mp.pi / 180)
)
cotdg: Op = special_function(
    "cotdg", lambda z, x: -_DEGREE / sindg(x) ** 2, mpmath=lambda mp, x: mp.cot(x * mp.pi / 180)
)
radian: Op = special_function(
    "radian",
    lambda z, d, m, s: _DEGREE + 0.0 * z,
    lambda z, d, m, s: _DEGREE / 60.0 + 0.0 * z,
    lambda z, d, m, s: _DEGREE / 3600.0 + 0.0 * z,
    mpmath=lambda mp, d, m, s: (d + m / 60 + s / 3600) * mp.pi / 180,
)

# -- losses --------------------------------------------------------------------------------------
huber: Op = special_function(
    "huber",
    lambda z, delta, r: np.maximum(np.abs(r) - delta, 0.0),
    lambda z, delta, r: np.clip(r, -delta, delta),
    mpmath=lambda mp, delta, r: r * r / 2 if abs(r) <= delta else delta * (abs(r) - delta / 2),
)
pseudo_huber: Op = special_function(
    "pseudo_huber",
    lambda z, delta, r: _pseudo_huber_slope(delta, r),
    lambda z, delta, r: _pseudo_huber_force(delta, r),
    mpmath=lambda mp, delta, r: delta**2 * (mp.sqrt(1 + (r / delta) ** 2) - 1),
)


def _pseudo_huber_force(delta: Array, r: Array) -> Any:
    """r/sqrt(1 + (r/delta)**2): for a large r by tanh, whose own slope does not cancel."""
    u = r / delta
    return np.where(np.abs(u) > 1.0, delta * np.tanh(np.arcsinh(u)), r / np.hypot(1.0, u))


def _pseudo_huber_slope(delta: Array, r: Array) -> Any:
    """h - 2*delta + delta**2/h with h = sqrt(delta**2 + r**2): (h - delta)**2/h."""
    h = np.hypot(delta, r)
    rest = r * (r / (h + delta))
    return rest * (rest / h)
