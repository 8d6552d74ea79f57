"""Products with logarithms that are 0 where their factor is 0, terms of entropies, and power transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.exponential import sigmoid
from funcgrad.ops.special.special_function import removable, special_function
from funcgrad.typing import Array

xlogy: Op = special_function(
    "xlogy",
    lambda z, x, y: _where_finite(np.log, x, y, y > 0, 1.0),
    lambda z, x, y: _ratio(x, y, _is_absent(x, y, y > 0)),
    mpmath=lambda mp, x, y: x * mp.log(y) if x else mp.mpf(0),
    sympy=lambda sp, x, y: x * sp.log(y),
    jax="xlogy",
    torch="xlogy",
    native="(0.0 if {0} == 0.0 and {1} == {1} else {0} * log({1}))",
)
xlog1py: Op = special_function(
    "xlog1py",
    lambda z, x, y: _where_finite(np.log1p, x, y, y > -1, 0.0),
    lambda z, x, y: _ratio(x, 1.0 + y, _is_absent(x, y, y > -1)),
    mpmath=lambda mp, x, y: x * mp.log1p(y) if x else mp.mpf(0),
    sympy=lambda sp, x, y: x * sp.log(1 + y),
    jax="xlog1py",
    torch="xlog1py",
    native="(0.0 if {0} == 0.0 and {1} == {1} else {0} * log1p({1}))",
)
entr: Op = special_function(
    "entr",
    lambda z, x: np.where(x < 0, np.nan, -np.log(np.where(x < 0, 1.0, x)) - 1.0),
    mpmath=lambda mp, x: -x * mp.log(x) if x else mp.mpf(0),
    sympy=lambda sp, x: -x * sp.log(x),
    jax="entr",
    torch="entr",
    native="(-{0} * log({0}) if {0} > 0.0 else 0.0 if {0} == 0.0 else -1e999 if {0} < 0.0 else {0})",
    interval=lambda iv, x: iv.negative(iv.xlogx(lambda x: -entr.run(x), x)),
)
rel_entr: Op = special_function(
    "rel_entr",
    lambda z, x, y: _log_ratio(x, y) + 1.0,
    lambda z, x, y: np.where((x == 0) & (y == 0), 0.0, -x / y),
    mpmath=lambda mp, x, y: x * mp.log(x / y) if x else mp.mpf(0),
    sympy=lambda sp, x, y: x * sp.log(x / y),
    jax="rel_entr",
)
kl_div: Op = special_function(
    "kl_div",
    lambda z, x, y: _log_ratio(x, y),
    lambda z, x, y: _kl_slope(x, y),
    mpmath=lambda mp, x, y: (x * mp.log(x / y) if x else mp.mpf(0)) - x + y,
    sympy=lambda sp, x, y: x * sp.log(x / y) - x + y,
    jax="kl_div",
)


def _where_finite(log: Callable[..., Any], x: Array, y: Array, inside: Array, unit: float) -> Any:
    """The logarithm, and 0 where x is 0 and it is not finite: the product does not depend on x there."""
    absent = _is_absent(x, y, inside)
    return np.where(absent, 0.0, log(np.where(absent, unit, y)))


def _is_absent(x: Array, y: Array, inside: Array) -> Any:
    """Whether x is 0 beside a logarithm that is not finite."""
    return (x == 0) & ~np.isnan(y) & ~(inside & (y < np.inf))


def _ratio(x: Array, y: Array, absent: Array) -> Any:
    """x/y, which has a slope in x where x is 0, too, unless the product is constant there."""
    return np.where(absent, 0.0, x / np.where(absent, 1.0, y))


def _kl_slope(x: Array, y: Array) -> Any:
    """1 - x/y, in the form that keeps the digits of a small difference, and those of a small x/y."""
    slope = np.where(2.0 * x > y, (y - x) / y, 1.0 - x / y)
    return np.where((x == 0) & (y == 0), 1.0, slope)


def _log_ratio(x: Array, y: Array) -> Any:
    """log(x/y), with the digits of x - y where they are close; NaN outside the domain.

    At the origin it is taken as -1, with which x*log(x/y) has slopes 0 there.
    """
    inside = (x >= 0) & (y > 0)
    p, q = np.where(inside, x, 1.0), np.where(inside, y, 1.0)
    close = (p > 0.5 * q) & (p < 2.0 * q)
    value = np.where(close, np.log1p(np.where(close, p - q, 0.0) / q), np.log(p) - np.log(q))
    at_zero = np.where(x == 0, -1.0, np.where(x > 0, np.inf, np.nan))
    return np.where(inside, value, np.where(y == 0, at_zero, np.nan))


# -- the logistic function's relatives -----------------------------------------------------------
logit: Op = special_function(
    "logit",
    lambda z, x: 1.0 / (x * (1.0 - x)),
    mpmath=lambda mp, x: mp.log(x / (1 - x)),
    sympy=lambda sp, x: sp.log(x / (1 - x)),
    jax="logit",
    torch="logit",
    native=(
        "(log1p((2.0 * {0} - 1.0) / (1.0 - {0})) if 0.3 <= {0} and {0} <= 0.65"
        " else log({0} / (1.0 - {0})))"
    ),
    interval=lambda iv, x: iv.monotone(logit.run, x, domain=(0.0, 1.0)),
)
log_expit: Op = special_function(
    "log_expit",
    lambda z, x: sigmoid(-x),
    mpmath=lambda mp, x: -mp.log1p(mp.exp(-x)),
    sympy=lambda sp, x: -sp.log(1 + sp.exp(-x)),
    native="(({0} if {0} < 0.0 else -0.0) - log1p(exp(-abs({0}))))",
    interval=lambda iv, x: iv.monotone(log_expit.run, x, values=(-math.inf, 0.0)),
)

# -- power transforms ----------------------------------------------------------------------------
boxcox: Op = special_function(
    "boxcox",
    lambda z, x, power: np.power(x, power - 1.0),
    lambda z, x, power: power_slope(np.log(x), power),
    mpmath=lambda mp, x, power: mp.expm1(power * mp.log(x)) / power if power else mp.log(x),
)
boxcox1p: Op = special_function(
    "boxcox1p",
    lambda z, x, power: np.exp((power - 1.0) * np.log1p(x)),
    lambda z, x, power: power_slope(np.log1p(x), power),
    mpmath=lambda mp, x, power: mp.expm1(power * mp.log1p(x)) / power if power else mp.log1p(x),
)
inv_boxcox: Op = special_function(
    "inv_boxcox",
    lambda z, y, power: _inverse_slope(y, power),
    lambda z, y, power: z * _inverse_power_slope(y, power),
    mpmath=lambda mp, y, power: (1 + power * y) ** (1 / power) if power else mp.exp(y),
)
inv_boxcox1p: Op = special_function(
    "inv_boxcox1p",
    lambda z, y, power: _inverse_slope(y, power),
    lambda z, y, power: inv_boxcox(y, power) * _inverse_power_slope(y, power),
    mpmath=lambda mp, y, power: (1 + power * y) ** (1 / power) - 1 if power else mp.expm1(y),
)
powm1: Op = special_function(
    "powm1",
    lambda z, x, y: np.where((x == 0) & (y == 0), 0.0, y * np.power(x, y - 1.0)),
    lambda z, x, y: np.where((x == 0) & (y > 0), 0.0, np.power(x, y) * np.log(x)),
    mpmath=lambda mp, x, y: mp.powm1(x, y),
)
_HALF_SQUARE = [(k + 1) / math.factorial(k + 2) for k in range(20)]
_LOG_SLOPE = [(-1.0) ** (k + 1) * (k + 1) / (k + 2) for k in range(60)]


def power_slope(log: Array, power: Array) -> Any:
    """The derivative of (exp(power*log) - 1)/power in the power."""

    def formula(t: Array) -> Any:
        # With one exponential, since the difference of two that overflow is NaN.
        return ((t - 1.0) * np.exp(t) + 1.0) / (t * t)

    slope = log * log * removable(power * log, _HALF_SQUARE, formula, 1.0)
    return np.where(np.isneginf(log) & (power > 0), 1.0 / power**2, slope)


def _inverse_slope(y: Array, power: Array) -> Any:
    """The derivative of (1 + power*y)**(1/power) in y, which has a slope in a power of 0, too."""
    value, base = inv_boxcox(y, power), 1.0 + power * y
    inside = (base > 0) & (base < np.inf)
    quotient = value / np.where(
        inside, base, 1.0
    )  # the power by 1 - power has few digits for a large one
    return np.where(inside, quotient, np.power(np.where(inside, 1.0, value), 1.0 - power))


def _inverse_power_slope(y: Array, power: Array) -> Any:
    """The derivative of log(1 + power*y)/power in the power."""

    def formula(t: Array) -> Any:
        return (t / (1.0 + t) - np.log1p(t)) / (t * t)

    return y * y * removable(power * y, _LOG_SLOPE, formula, 0.5)
