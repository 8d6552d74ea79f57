"""Distribution functions of `scipy.special`, and their inverses: by incomplete gamma and beta functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.special.error_functions import ndtri
from funcgrad.ops.special.gamma import beta, digamma_difference
from funcgrad.ops.special.incomplete import (
    beta_density,
    beta_moment,
    betainc,
    betaincc,
    betainccinv,
    betaincinv,
    gamma_density,
    gamma_shape_slope,
    gammainc,
    gammaincc,
    gammainccinv,
)
from funcgrad.ops.special.incomplete_moments import fdtr_slope_in_d
from funcgrad.ops.special.special_function import (
    inverse_partials,
    numeric_function,
    special_function,
)
from funcgrad.typing import Array, FunctionLibrary


# -- gamma, chi-square and Poisson ---------------------------------------------------------------
def _gdtr(name: str, sign: float) -> Op:
    upper = sign < 0
    return special_function(
        name,
        lambda z, a, b, x: mask(x != 0, sign * x * gamma_density(b, a * x)),
        lambda z, a, b, x: gamma_shape_slope(b, a * x, upper),
        lambda z, a, b, x: sign * a * gamma_density(b, a * x),
        mpmath=lambda mp, a, b, x: (
            mp.gammainc(b, a * x, regularized=True)
            if upper
            else mp.gammainc(b, 0, a * x, regularized=True)
        ),
    )


gdtr: Op = _gdtr("gdtr", 1.0)
gdtrc: Op = _gdtr("gdtrc", -1.0)
gdtria: Op = special_function("gdtria", *inverse_partials(lambda: gdtr, 3, 0))
gdtrib: Op = special_function("gdtrib", *inverse_partials(lambda: gdtr, 3, 1))
gdtrix: Op = special_function("gdtrix", *inverse_partials(lambda: gdtr, 3, 2))


def chdtr(v: Array, x: Array) -> Any:
    """The chi-square distribution function. As `scipy.special.chdtr`."""
    return gammainc(0.5 * v, 0.5 * x)


def chdtrc(v: Array, x: Array) -> Any:
    """The chi-square survival function. As `scipy.special.chdtrc`."""
    return gammaincc(0.5 * v, 0.5 * x)


def chdtri(v: Array, p: Array) -> Any:
    """The inverse of `chdtrc` in x. As `scipy.special.chdtri`."""
    return 2.0 * gammainccinv(0.5 * v, p)


def chdtriv(p: Array, x: Array) -> Any:
    """The inverse of `chdtr` in v. As `scipy.special.chdtriv`."""
    return 2.0 * gdtrib(1.0, p, 0.5 * x)


def _above_count(k: Array) -> Any:
    """The least whole number above a count, and NaN for a negative one."""
    return np.where(k < 0, math.nan, np.floor(k) + 1.0)


def pdtri(k: Array, y: Array) -> Any:
    """The inverse of `pdtr` in m, not differentiated in the count. As `scipy.special.pdtri`."""
    return gammainccinv(_above_count(k), np.where(y < 1, y, math.nan))


def pdtr(k: Array, m: Array) -> Any:
    """The Poisson distribution function, not differentiated in the count. As `scipy.special.pdtr`."""
    return gammaincc(_above_count(k), m)


def pdtrc(k: Array, m: Array) -> Any:
    """The Poisson survival function, not differentiated in the count. As `scipy.special.pdtrc`."""
    return gammainc(_above_count(k), m)


# -- beta, F, t and binomial ---------------------------------------------------------------------
def _odds(n: Array, d: Array, x: Array) -> tuple[Any, Any]:
    """n*x/(d + n*x) and d/(d + n*x)."""
    total = d + n * x
    return n * x / total, d / total


def _refined(n: Array, d: Array, x: Array, slope: Array) -> Any:
    large = (d >= 32.0) & (d >= n) & (d < np.inf) & (n > 0) & (x > 0) & (x < np.inf)
    given = [np.where(large, value, 32.0) for value in (n, d, x)]
    return np.where(large, fdtr_slope_in_d(*given), slope) if np.any(large) else slope


fdtr_refined: Op = numeric_function(
    "fdtr_refined",
    _refined,
    None,
    None,
    None,
    lambda z, n, d, x, slope: np.ones_like(slope),
    mpmath=lambda mp, n, d, x, slope: slope,
)
"""The slope of `fdtr` in a large d, given with fewer digits: its derivatives are those of what is given."""


def _fdtr_partials(sign: float) -> tuple[Callable[..., Any], ...]:
    """Those of the F distribution function, or of its complement (sign -1)."""

    def density(n: Array, d: Array, x: Array) -> Any:
        """The derivative in log(x)."""
        p, q = _odds(n, d, x)
        small = p < 0.5
        value = np.where(
            small,
            beta_density(0.5 * n, 0.5 * d, np.where(small, p, 0.5)),
            beta_density(0.5 * d, 0.5 * n, np.where(small, 0.5, q)),
        )
        return value * p * q

    def moment(n: Array, d: Array, x: Array, place: int) -> Any:
        p, q = _odds(n, d, x)
        small = p < 0.5
        orders = (1 - place, place)
        below = beta_moment(0.5 * n, 0.5 * d, np.where(small, p, 0.5), orders, False)
        above = beta_moment(0.5 * d, 0.5 * n, np.where(small, 0.5, q), orders[::-1], True)
        return np.where(small, below, above)

    def in_n(z: Array, n: Array, d: Array, x: Array) -> Any:
        slope = 0.5 * moment(n, d, x, 0) + density(n, d, x) / n
        return -sign * fdtr_refined(d, n, 1.0 / x, -slope)

    def in_d(z: Array, n: Array, d: Array, x: Array) -> Any:
        return sign * fdtr_refined(n, d, x, 0.5 * moment(n, d, x, 1) - density(n, d, x) / d)

    def in_x(z: Array, n: Array, d: Array, x: Array) -> Any:
        return sign * density(n, d, x) / x

    return in_n, in_d, in_x


def _mp_fdtr(upper: bool) -> Callable[..., Any]:
    def function(mp: FunctionLibrary, n: Any, d: Any, x: Any) -> Any:
        p = n * x / (d + n * x)
        ends = (p, 1) if upper else (0, p)
        return mp.betainc(n / 2, d / 2, *ends, regularized=True)

    return function


fdtr: Op = special_function("fdtr", *_fdtr_partials(1.0), mpmath=_mp_fdtr(False))
fdtrc: Op = special_function("fdtrc", *_fdtr_partials(-1.0), mpmath=_mp_fdtr(True))
fdtri: Op = special_function("fdtri", *inverse_partials(lambda: fdtr, 3, 2))


def _stdtr_slopes(df: Array, t: Array) -> tuple[Any, Any]:
    """The derivatives of the t distribution function in df and t: t squared has an F distribution."""
    one = np.ones_like(t)
    _, in_d, in_x = _fdtr_partials(1.0)
    near, far = np.abs(t) < 1e-100, np.isinf(t)
    s = np.where(near | far, 1.0, t)
    away = 0.5 * np.sign(s) * in_d(t, one, df, s * s)
    # The F density is infinite at 0: within 1, the t density as such.
    inner = np.abs(t) < 1.0
    outer = np.where(inner | far, 1.0, t)
    slope = np.abs(outer) * in_x(t, one, df, outer * outer)
    center = 1.0 / (np.sqrt(df) * beta(0.5 * df, 0.5))
    tilt = 0.5 * t * center * (digamma_difference(0.5 * df, 0.5) - 1.0 / df)
    in_df = np.where(near, tilt, np.where(far, 0.0, away))
    within = center * np.exp(-0.5 * (df + 1.0) * np.log1p(np.where(inner, t, 0.0) ** 2 / df))
    return in_df, np.where(inner, within, np.where(far, 0.0, slope))


stdtr: Op = special_function(
    "stdtr",
    lambda z, df, t: _stdtr_slopes(df, t)[0],
    lambda z, df, t: _stdtr_slopes(df, t)[1],
    mpmath=lambda mp, df, t: (
        mp.betainc(df / 2, mp.mpf(1) / 2, 0, df / (df + t * t), regularized=True) / 2
        if t < 0
        else 1 - mp.betainc(df / 2, mp.mpf(1) / 2, 0, df / (df + t * t), regularized=True) / 2
    ),
)
stdtrit: Op = special_function("stdtrit", *inverse_partials(lambda: stdtr, 2, 1))
stdtridf: Op = special_function("stdtridf", *inverse_partials(lambda: stdtr, 2, 0))


def bdtr(k: Array, n: Array, p: Array) -> Any:
    """The binomial distribution function, not differentiated in the count. As `scipy.special.bdtr`."""
    found = betaincc(_above_count(k), n - np.floor(k), p)
    return np.where(np.floor(k) == n, np.where((p >= 0) & (p <= 1), 1.0, math.nan), found)


def bdtrc(k: Array, n: Array, p: Array) -> Any:
    """The binomial survival function, not differentiated in the count. As `scipy.special.bdtrc`."""
    found = betainc(np.floor(k) + 1.0, n - np.floor(k), p)
    return np.where(np.floor(k) == n, np.where((p >= 0) & (p <= 1), 0.0, math.nan), found)


def bdtri(k: Array, n: Array, y: Array) -> Any:
    """The inverse of `bdtr` in p, not differentiated in the count. As `scipy.special.bdtri`."""
    return betainccinv(np.floor(k) + 1.0, n - np.floor(k), y)


def nbdtri(k: Array, n: Array, y: Array) -> Any:
    """The inverse of `nbdtr` in p, not differentiated in k. As `scipy.special.nbdtri`."""
    return betaincinv(n, np.floor(k) + 1.0, y)


def _negative_binomial(k: Array, n: Array) -> tuple[Any, Any]:
    """n and the number of failures plus 1; NaN where SciPy's value is NaN."""
    finite = (n > 0) & (n < np.inf)
    return np.where(finite, n, np.nan), np.where((k > -1) & (k < np.inf), np.trunc(k), np.nan) + 1.0


def nbdtr(k: Array, n: Array, p: Array) -> Any:
    """The negative binomial distribution function, not differentiated in k. As `scipy.special.nbdtr`."""
    return betainc(*_negative_binomial(k, n), p)


def nbdtrc(k: Array, n: Array, p: Array) -> Any:
    """The negative binomial survival function, not differentiated in k. As `scipy.special.nbdtrc`."""
    return betaincc(*_negative_binomial(k, n), p)


# -- normal --------------------------------------------------------------------------------------
def nrdtrimn(p: Array, std: Array, x: Array) -> Any:
    """The mean of a normal variable below x with probability p. As `scipy.special.nrdtrimn`."""
    return x - std * ndtri(p)


def nrdtrisd(mn: Array, p: Array, x: Array) -> Any:
    """The deviation of a normal variable below x with probability p. As `scipy.special.nrdtrisd`."""
    return (x - mn) / ndtri(p)
