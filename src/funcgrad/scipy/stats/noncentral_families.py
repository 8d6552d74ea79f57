"""The noncentral chi-square, F and t distributions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from funcgrad.ops.special.noncentral import (
    chi_square_shift,
    chndtr,
    f_mixture,
    mixture_shift,
    ncfdtr,
    noncentral_chi_square,
    noncentral_t,
    noncentral_t_shift,
)
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.stats.log_tails import only_where
from funcgrad.scipy.stats.standard import (
    OF_CONTINUOUS,
    Formula,
    Standard,
    changed,
    half_line,
    log_where_small,
)
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

_HOSTED = OF_CONTINUOUS - {"logcdf", "logsf"}
"""SciPy's logarithms of tails underflow."""


def _is_positive(*shapes: Array) -> Any:
    """Whether all shapes but the last, the noncentrality, are positive."""
    *degrees, nc = shapes
    valid = np.logical_and(nc >= 0, np.isfinite(nc))
    for degree in degrees:
        valid = np.logical_and(valid, degree > 0)
    return valid


# -- chi-square ----------------------------------------------------------------------------------------
def _chi_density(x: Array, df: Array, nc: Array) -> Any:
    """Of a large argument of the Bessel function by its asymptotic series: the mixture has many terms there,
    and loses digits."""
    end = x == 0
    place = np.where(end, 1.0, x)
    far = np.sqrt(nc) * np.sqrt(place) > 1e3 + (df / 2 - 1) ** 2
    near = _chi_mixture(np.where(far, 1.0, place), df, np.where(far, 1.0, nc))
    usual = only_where(far, near, _chi_asymptote, (1e20, 1.0, 1.0), place, df, nc)
    return np.where(end, _chi_start(np.where(end, x, 1.0), df, nc), usual)


def _chi_start(x: Array, df: Array, nc: Array) -> Any:
    """At 0, to the second order."""
    a, w = df / 2, nc * x / 4
    series = w / a - w * w / (2 * a * a * (a + 1)) - (x + nc) / 2
    return special.xlogy(a - 1, x) - a * math.log(2) - gammaln(a) + series


def _chi_asymptote(x: Array, df: Array, nc: Array) -> Any:
    z = np.sqrt(nc) * np.sqrt(x)
    series: Any = 1.0
    for k in range(18, 0, -1):
        series = 1 - ((df - 2) ** 2 - (2 * k - 1) ** 2) / (8 * k * z) * series
    power = (df / 4 - 0.5) * (np.log(x) - np.log(nc)) - np.log(8 * math.pi * z) / 2
    return power - (np.sqrt(x) - np.sqrt(nc)) ** 2 / 2 + np.log(series)


def _chi_mixture(x: Array, df: Array, nc: Array) -> Any:
    shift = stop_gradient(chi_square_shift(x, df, nc))
    return np.log(noncentral_chi_square(x, df, nc, shift, order=0, kind="density")) - shift


def _chi_side(kind: str) -> Formula:
    return lambda x, df, nc: noncentral_chi_square(x, df, nc, np.zeros_like(x), order=0, kind=kind)


def _log_by_series(below: Formula, above: Formula) -> Formula:
    """The logarithm of a distribution function, of which SciPy's value has few digits far to the left."""
    return lambda x, *shapes: log_where_small(below(x, *shapes), above(x, *shapes))


ncx2 = Standard(
    density=_chi_density,
    cdf=lambda x, df, nc: chndtr(x, df, nc),
    sf=_chi_side("sf"),
    logcdf=_log_by_series(_chi_side("cdf"), _chi_side("sf")),
    support=half_line,
    valid=_is_positive,
    hosted=_HOSTED,
)


# -- the root of chi-square ----------------------------------------------------------------------------
def _rice_density(x: Array, b: Array) -> Any:
    """By the scaled Bessel function where its argument is large: neither form cancels."""
    large = x * b > 1
    place, shift = np.where(large, x, 2.0), np.where(large, b, 2.0)
    far = np.log(special.i0e(place * shift)) - (place - shift) ** 2 / 2
    place, shift = np.where(large, 0.0, x), np.where(large, 0.0, b)
    near = np.log(special.i0(place * shift)) - (place * place + shift * shift) / 2
    return np.log(x) + np.where(large, far, near)


rice = changed(
    ncx2,
    to=lambda x, b: x * x,
    log_slope=lambda x, b: math.log(2) + np.log(x),
    back=lambda y, b: np.sqrt(y),
    shapes=lambda b: (2.0 * np.ones_like(b), b * b),
    valid=lambda b: np.logical_and(b >= 0, np.isfinite(b)),
)
rice = replace(rice, density=_rice_density, hosted=frozenset(("cdf", "ppf", "isf")))


# -- F -------------------------------------------------------------------------------------------------
def _f_density(x: Array, dfn: Array, dfd: Array, nc: Array) -> Any:
    near = (dfn + dfd) * (dfn + 2 * nc) * x < 6e-5 * dfd
    place = np.where(near, 1.0, x)
    shift = stop_gradient(mixture_shift(0.5 * dfn, 0.5 * dfd, 0.5 * nc, dfn * place / dfd))
    log = np.log(f_mixture(dfn, dfd, nc, place, "density", shift=shift)) - shift
    return np.where(near, _f_start(np.where(near, x, 0.0), dfn, dfd, nc), log - np.log(place))


def _f_start(x: Array, dfn: Array, dfd: Array, nc: Array) -> Any:
    """Next to 0, by the power series of the logarithm of Kummer's function: the mixture is that of the log
    odds, of which the slope in x cancels."""
    a, b, y = dfn / 2, (dfn + dfd) / 2, dfn * x / dfd
    w = nc / 2 * y / (1 + y)
    first, second, third = b / a, (b + 1) / (a + 1), (b + 2) / (a + 2)
    spread = first * (second - first)
    skew = first * (second * third - 3 * second * first + 2 * first**2)
    series = w * (first + w * (spread / 2 + w * skew / 6)) - b * np.log1p(y) - nc / 2
    return a * np.log(dfn / dfd) + special.xlogy(a - 1, x) - special.betaln(a, dfd / 2) + series


def _f_stats(dfn: Array, dfd: Array, nc: Array) -> Any:
    """By the cumulants of the numerator, and the moments of the denominator's reciprocal."""
    cumulants = [2.0**k * math.factorial(k) * (dfn + (k + 1) * nc) for k in range(4)]
    raw: list[Any] = [1.0]
    for n in range(1, 5):
        terms = [math.comb(n - 1, k) * cumulants[k] * raw[n - 1 - k] for k in range(n)]
        raw.append(sum(terms[1:], terms[0]))
    scale: Any = 1.0
    for n in range(1, 5):
        scale = scale * dfd / (dfn * (dfd - 2 * n))
        raw[n] = raw[n] * scale
    spread = (dfn + nc) ** 2 + (dfn + 2 * nc) * (dfd - 2)
    variance = 2 * (dfd / (dfn * (dfd - 2))) ** 2 * spread / (dfd - 4)
    return of_moments(raw[1], variance, raw[3], raw[4])


def of_moments(first: Array, variance: Array, third: Array, fourth: Array) -> Any:
    """The mean, variance, skewness and excess kurtosis, from the third and fourth raw moment."""
    second = variance + first**2
    skewness = (third - 3 * first * second + 2 * first**3) / variance**1.5
    central = fourth - 4 * first * third + 6 * first**2 * second - 3 * first**4
    return first, variance, skewness, central / variance**2 - 3


def _f_side(kind: str) -> Formula:
    return lambda x, dfn, dfd, nc: f_mixture(dfn, dfd, nc, x, kind)


ncf = Standard(
    stats=_f_stats,
    density=_f_density,
    cdf=lambda x, dfn, dfd, nc: ncfdtr(dfn, dfd, nc, x),
    sf=_f_side("sf"),
    logcdf=_log_by_series(_f_side("cdf"), _f_side("sf")),
    support=half_line,
    valid=_is_positive,
    hosted=_HOSTED,
)


# -- Student's t ---------------------------------------------------------------------------------------
def _t_log(x: Array, df: Array, nc: Array, slope: int) -> Any:
    """The logarithm of the density (slope 1) or of the distribution function (0)."""
    shift = stop_gradient(noncentral_t_shift(df, nc, x, slope=slope, power=slope))
    return np.log(noncentral_t(df, nc, x, shift, order=0, slope=slope, power=slope)) - shift


def _t_cdf(x: Array, df: Array, nc: Array) -> Any:
    return noncentral_t(df, nc, x, np.zeros_like(x), order=0, slope=0, power=0)


def _t_logcdf(x: Array, df: Array, nc: Array) -> Any:
    """By the complement where that is the smaller one."""
    right = stop_gradient(x) > nc
    tail = _t_cdf(-np.where(right, x, nc), df, -nc)
    return np.where(right, np.log1p(-tail), _t_log(np.where(right, nc, x), df, nc, 0))


def _t_stats(df: Array, nc: Array) -> Any:
    """By the moments of the numerator, and those of the denominator's reciprocal (Hogben et al. 1961)."""
    ratio = np.sqrt(0.5 * df) / special.poch(0.5 * df - 0.5, 0.5)
    variance = df / (df - 2) + nc**2 * (df / (df - 2) - ratio**2)
    third = (nc**3 + 3 * nc) * ratio * df / (df - 3)
    fourth = (nc**4 + 6 * nc**2 + 3) * df**2 / ((df - 2) * (df - 4))
    return of_moments(nc * ratio, variance, third, fourth)


nct = Standard(
    stats=_t_stats,
    density=lambda x, df, nc: _t_log(x, df, nc, 1),
    cdf=_t_cdf,
    sf=lambda x, df, nc: _t_cdf(-x, df, -nc),
    logcdf=_t_logcdf,
    logsf=lambda x, df, nc: _t_logcdf(-x, df, -nc),
    valid=lambda df, nc: np.logical_and(df > 0, np.isfinite(nc)),
    hosted=_HOSTED,
)
