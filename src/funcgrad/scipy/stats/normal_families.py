"""Distributions that are made of the normal one: parts of it, skewed ones, Wald's, double Pareto's."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from funcgrad.ops.special.error_functions import skewnorm_cdf
from funcgrad.ops.special.incomplete_moments import half_line_rule
from funcgrad.scipy import special
from funcgrad.scipy.stats.base_families import norm
from funcgrad.scipy.stats.ends_at_infinity import fixed_at_infinity
from funcgrad.scipy.stats.log_tails import only_where
from funcgrad.scipy.stats.standard import (
    Standard,
    any_real,
    by_smaller_side,
    half_line,
    log1mexp,
    log_share,
    log_where_small,
    stated,
)
from funcgrad.transforms.grad import elementwise_grad, stop_gradient
from funcgrad.typing import Array

_LOG_ROOT_TAU = math.log(2 * math.pi) / 2
_ROOT_TWO = math.sqrt(2)
_ONE: Any = 1.0


# -- the normal distribution on a part of the line -----------------------------------------------
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def log_narrow_mass(center: Array, half: Array) -> Any:
    """That of a short interval, by Gauss and Legendre's rule."""
    moves = np.expand_dims(half, -1) * _NODES
    values = np.exp(-moves * (np.expand_dims(center, -1) + moves / 2))
    return norm.density(center) + np.log(half) + np.log(np.sum(values * _WEIGHTS, axis=-1))


def log_mass(a: Array, b: Array) -> Any:
    """The logarithm of the normal probability of the interval from a to b."""
    a, b = fixed_at_infinity(a), fixed_at_infinity(b)
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    narrow = np.logical_and(high - low < 1, (high - low) * (1 + np.abs(high)) < 4)
    above = special.log_ndtr(high)
    wide = above + log1mexp(above - special.log_ndtr(np.where(narrow, low - 1, low)))
    center, half = np.where(narrow, (low + high) / 2, -0.5), np.where(narrow, (high - low) / 2, 0.5)
    return np.where(narrow, log_narrow_mass(center, half), wide)


truncnorm = Standard(
    density=lambda x, a, b: norm.density(fixed_at_infinity(x)) - log_mass(a, b),
    logcdf=lambda x, a, b: log_share(log_mass(a, x), log_mass(x, b), log_mass(a, b)),
    logsf=lambda x, a, b: log_share(log_mass(x, b), log_mass(a, x), log_mass(a, b)),
    support=lambda a, b: (a, b),
    valid=lambda a, b: a < b,
)


def moments_of_truncnorm(self: object, a: Array, b: Array, moments: str = "mv") -> tuple[Any, ...]:
    """SciPy's method `truncnorm._stats`, in which an end at infinity does not move."""
    a, b = fixed_at_infinity(a), fixed_at_infinity(b)
    ends = [np.where(np.isinf(end), 0.0, end) for end in (a, b)]
    of_a, of_b = [np.exp(truncnorm.density(end, a, b)) for end in (a, b)]

    def difference(first: Array, second: Array) -> Any:
        return of_a * first - of_b * second

    m1 = of_a - of_b
    m2 = 1 + difference(*ends)
    m3 = 2 * m1 + difference(ends[0] ** 2, ends[1] ** 2)
    m4 = 3 * m2 + difference(ends[0] ** 3, ends[1] ** 3)
    variance = 1 + difference(ends[0] - m1, ends[1] - m1)
    skewness = (m3 + m1 * (-3 * m2 + 2 * m1**2)) / variance**1.5
    kurtosis = (m4 + m1 * (-4 * m3 + 3 * m1 * (2 * m2 - m1**2))) / variance**2 - 3
    return m1, variance, skewness, kurtosis


halfnorm = Standard(
    density=lambda x: norm.density(x) + math.log(2),
    cdf=lambda x: special.erf(x / _ROOT_TWO),
    sf=lambda x: special.erfc(x / _ROOT_TWO),
    logsf=lambda x: np.where(
        x < 0.5,
        np.log1p(-special.erf(np.minimum(x, 0.5) / _ROOT_TWO)),
        special.log_ndtr(-x) + math.log(2),
    ),
    ppf=lambda q: _ROOT_TWO * special.erfinv(q),
    isf=lambda q: -special.ndtri(q / 2),
    support=half_line,
)


def _log_ndtr_move(z: Array, u: Array) -> Any:
    """log(ndtr(z + u)/ndtr(z)), far to the left without the squares, which cancel."""
    left = np.logical_and(z < -1, z + u < -1)
    here, there = np.where(left, z, -1.0), np.where(left, z + u, -1.0)
    ratio = special.erfcx(-there / _ROOT_TWO) / special.erfcx(-here / _ROOT_TWO)
    far = -u * (here + u / 2) + np.log(ratio)
    return np.where(left, far, special.log_ndtr(z + u) - special.log_ndtr(z))


def _skewnorm_left_tail(x: Array, a: Array) -> Any:
    """log(cdf) where the density falls to the left: its integral over what it falls by."""
    z = a * x
    rate = np.exp(norm.density(z) - special.log_ndtr(z)) * np.abs(a) - x
    nodes, weights = half_line_rule()
    moves = stop_gradient(1 / np.expand_dims(rate, -1)) * nodes[:, 0]
    place, shape = np.expand_dims(x, -1), np.expand_dims(a, -1)
    values = np.exp(moves * (place - moves / 2) + _log_ndtr_move(shape * place, -shape * moves))
    total = np.sum(values * weights[:, 0], axis=-1) * stop_gradient(1 / rate)
    return skewnorm.density(x, a) + np.log(total)


def _skewnorm_logcdf(x: Array, a: Array) -> Any:
    falling = np.logical_and(x < 0, np.minimum(x, a * x) < -1)
    place = np.where(falling, 0.0, x)
    usual = log_where_small(skewnorm_cdf(place, a), skewnorm_cdf(-place, -a))
    return only_where(falling, usual, _skewnorm_left_tail, (-1.0, 1.0), x, a)


skewnorm = Standard(
    density=lambda x, a: norm.density(x) + math.log(2) + special.log_ndtr(a * x),
    cdf=skewnorm_cdf,
    sf=lambda x, a: skewnorm_cdf(-x, -a),
    logcdf=_skewnorm_logcdf,
    logsf=lambda x, a: _skewnorm_logcdf(-x, -a),
    valid=any_real,
)


# -- the absolute value of a normal variable, and its sum with an exponential one -------------------
def _foldnorm_logcdf(x: Array, c: Array) -> Any:
    """The normal probability between -x - c and x - c."""
    narrow = x * (1 + c) < 0.5
    half, wide = np.where(narrow, x, 0.1), np.where(narrow, 1.0, x)
    return np.where(narrow, log_narrow_mass(-c, half), log_mass(-wide - c, wide - c))


foldnorm = by_smaller_side(
    density=lambda x, c: norm.density(x - c) + np.log1p(np.exp(-2 * c * x)),
    logcdf=_foldnorm_logcdf,
    logsf=lambda x, c: np.logaddexp(special.log_ndtr(c - x), special.log_ndtr(-x - c)),
    support=half_line,
    valid=lambda c: c >= 0,
)


def _log_mills(z: Array) -> Any:
    """The logarithm of the complement of the normal distribution function over the density."""
    right = z > 0
    far = np.log(special.erfcx(np.where(right, z, 0.0) / _ROOT_TWO)) + math.log(math.pi / 2) / 2
    near = np.where(right, 0.0, z)
    return np.where(right, far, special.log_ndtr(-near) - norm.density(near))


def _exponnorm_share(x: Array, K: Array) -> Any:
    """The logarithm of K times the density."""
    rate = 1 / K
    left = x < rate
    place = np.where(left, x, rate)
    falling = norm.density(place) + _log_mills(rate - place)
    place = np.where(left, rate, x)
    return np.where(left, falling, rate * (rate / 2 - place) + special.log_ndtr(place - rate))


def _mills_decay(z: Array) -> Any:
    """By how much `_log_mills` falls with z: the density over the normal tail, less z, without loss."""
    right = z > 0
    u = np.where(right, z, 1.0) / _ROOT_TWO
    far = elementwise_grad(special.erfcx)(u) / special.erfcx(u) / -_ROOT_TWO
    near = np.where(right, 0.0, z)
    return np.where(right, far, np.exp(norm.density(near) - special.log_ndtr(-near)) - near)


def _exponnorm_gap(x: Array, rate: Array) -> Any:
    """By how much the logarithm of K times the density is below that of the normal distribution function.

    The fall of Mills' ratio from -x to 1/K - x: of a short step by Gauss and Legendre's rule.
    """

    def of_short_step(x: Array, rate: Array) -> Any:
        moves = np.expand_dims(rate, -1) * (_NODES + 1) / 2
        decay = _mills_decay(moves - np.expand_dims(x, -1))
        return rate / 2 * np.sum(decay * _WEIGHTS, axis=-1)

    short = rate < 0.1 * (1 + np.maximum(-x, 0.0))
    left, step = x < 0, np.where(short, 1.0, rate)
    below = np.where(left, np.where(short, -1.0, x), -1.0)
    above = np.where(left, 1.0, np.where(short, 1.0, x))
    tail = _log_mills(-below) - _log_mills(step - below)
    usual = np.where(left, tail, special.log_ndtr(above) - _exponnorm_share(above, 1 / step))
    return only_where(short, usual, of_short_step, (0.0, 0.1), x, rate)


def _exponnorm_logcdf(x: Array, K: Array) -> Any:
    """A difference of two terms: left of 0, with the density as a factor."""
    left = x < 0
    place = np.where(left, x, -1.0)
    below = norm.density(place) + _log_mills(-place)
    normal = special.log_ndtr(np.where(left, 1.0, x))
    return np.where(left, below, normal) + log1mexp(_exponnorm_gap(x, 1 / K))


def _exponnorm_density(x: Array, K: Array) -> Any:
    """Of a small K by the asymptotic series of Mills' ratio, whose product with 1/K is nearly 1."""
    far = x < 1 / K - 30
    place, scale = np.where(far, x, 0.0), np.where(far, K, 0.01)
    square = (scale / (1 - scale * place)) ** 2
    series: Any = 0.0
    for k in range(11, 0, -1):
        series = -square * (2 * k - 1) * (1 + series)
    near = norm.density(place) - np.log1p(-scale * place) + np.log1p(series)
    place, scale = np.where(far, 0.0, x), np.where(far, 1.0, K)
    return np.where(far, near, _exponnorm_share(place, scale) - np.log(scale))


exponnorm = by_smaller_side(
    density=_exponnorm_density,
    logcdf=_exponnorm_logcdf,
    logsf=lambda x, K: np.logaddexp(special.log_ndtr(-x), _exponnorm_share(x, K)),
)


# -- Wald's distribution -------------------------------------------------------------------------
def _invgauss_density(x: Array, mu: Array) -> Any:
    return -_LOG_ROOT_TAU - 1.5 * np.log(x) - ((x / mu - 1) / np.sqrt(np.abs(x))) ** 2 / 2  # -0.0


def _invgauss_logcdf(x: Array, mu: Array) -> Any:
    root, share = np.sqrt(x), x / mu  # mu may be infinite
    first = special.log_ndtr((share - 1) / root)
    second = 2 / mu + special.log_ndtr(-(share + 1) / root)
    return first + np.log1p(np.exp(second - first))


def _invgauss_tail(x: Array, mu: Array) -> Any:
    """log(sf) far out: the integral of the density over the logarithm of the place, less that of x."""
    decay = x / mu / mu / 2
    rate = stop_gradient(decay + 0.5)
    nodes, weights = half_line_rule()
    moves = nodes[:, 0] / np.expand_dims(rate, -1)
    exponent = -np.expand_dims(decay, -1) * np.expm1(np.minimum(moves, 700.0)) - moves / 2
    exponent = exponent - np.expm1(-moves) / np.expand_dims(2 * x, -1)
    total = np.sum(np.exp(exponent) * weights[:, 0], axis=-1)
    return _invgauss_density(x, mu) + np.log(x) - np.log(rate) + np.log(total)


def _invgauss_by_mass(x: Array, mu: Array) -> Any:
    """log(sf) of a large mean: by the normal probability between two points that are close."""
    root, share = np.sqrt(x), x / mu
    first, last = (share - 1) / root, (share + 1) / root
    excess = np.expm1(2 / mu) * np.exp(special.log_ndtr(-last))
    return np.log(np.exp(log_mass(first, last)) - excess)


def _invgauss_logsf(x: Array, mu: Array) -> Any:
    right = x > 2
    far = np.logical_and(right, x / mu / mu > 1)
    place, mean = np.where(right, 1.0, x), np.where(right, 1.0, mu)
    root, share = np.sqrt(place), place / mean
    first = special.log_ndtr(-(share - 1) / root)
    second = 2 / mean + special.log_ndtr(-(share + 1) / root)
    near = first + log1mexp(first - second)
    middle = np.logical_and(right, np.logical_not(far))
    found = only_where(middle, near, _invgauss_by_mass, (3.0, 100.0), x, mu)
    return only_where(far, found, _invgauss_tail, (3.0, 1.0), x, mu)


invgauss = by_smaller_side(
    density=_invgauss_density,
    logcdf=_invgauss_logcdf,
    logsf=_invgauss_logsf,
    support=half_line,
)
wald = by_smaller_side(
    density=lambda x: _invgauss_density(x, _ONE),
    logcdf=lambda x: _invgauss_logcdf(x, _ONE),
    logsf=lambda x: _invgauss_logsf(x, _ONE),
    support=half_line,
)


# -- the double Pareto lognormal distribution -----------------------------------------------------
def _dpareto_parts(x: Array, u: Array, s: Array, a: Array, b: Array) -> tuple[Any, Any, Any]:
    z = (np.log(x) - u) / s
    return z, _log_mills(a * s - z), _log_mills(b * s + z)


def _dpareto_density(x: Array, u: Array, s: Array, a: Array, b: Array) -> Any:
    z, first, second = _dpareto_parts(x, u, s, a, b)
    rates = np.log(a) + np.log(b) - np.log(a + b) - np.log(x)
    return rates + norm.density(z) + np.logaddexp(first, second)


def _dpareto_side(z: Array, own: Array, near: Array, far: Array, a: Array, b: Array) -> Any:
    """The logarithm of a side, from logarithms of Mills' ratio: a sum of positive terms."""
    difference = np.log(b) + own + log1mexp(np.maximum(own - near, 1e-300))
    total = np.logaddexp(difference, np.log(a) + np.logaddexp(own, far))
    return norm.density(z) - np.log(a + b) + total


def _dpareto_logcdf(x: Array, u: Array, s: Array, a: Array, b: Array) -> Any:
    z, first, second = _dpareto_parts(x, u, s, a, b)
    return _dpareto_side(z, _log_mills(-z), first, second, a, b)


def _dpareto_logsf(x: Array, u: Array, s: Array, a: Array, b: Array) -> Any:
    z, first, second = _dpareto_parts(x, u, s, a, b)
    return _dpareto_side(z, _log_mills(z), second, first, b, a)


def _dpareto_cdf(x: Array, u: Array, s: Array, a: Array, b: Array) -> Any:
    """Far to the left a power, whose slope may have digits where it underflows."""
    left = (np.log(x) - u) / s + b * s < -40
    power = np.exp(b * (b * s * s / 2 - u)) * a / (a + b) * np.where(left, x, 1.0) ** b
    return np.where(left, power, stated(_dpareto.cdf)(np.where(left, np.exp(u), x), u, s, a, b))


_dpareto = by_smaller_side(
    density=_dpareto_density,
    logcdf=_dpareto_logcdf,
    logsf=_dpareto_logsf,
    support=half_line,
    valid=lambda u, s, a, b: np.logical_and(s > 0, np.logical_and(a > 0, b > 0)),
)
dpareto_lognorm = replace(
    _dpareto,
    cdf=_dpareto_cdf,
    sf=lambda x, *shapes: np.where(
        x < 1e-100, 1 - _dpareto_cdf(x, *shapes), stated(_dpareto.sf)(x, *shapes)
    ),
)


# -- the inverse of a normal variable, and of Wald's -----------------------------------------------
def _alpha_logsf(x: Array, a: Array) -> Any:
    """The normal probability between a - 1/x and a."""
    narrow = np.logical_and(x > 1, (1 + np.abs(a)) < 4 * x)
    half = 1 / (2 * np.where(narrow, x, 1.0))
    short = log_narrow_mass(np.where(narrow, a, 0.0) - half, half)
    wide = log_mass(np.where(narrow, a - 1, a - 1 / np.where(narrow, 1.0, x)), a)
    return np.where(narrow, short, wide) - special.log_ndtr(a)


alpha = by_smaller_side(
    density=lambda x, a: norm.density(a - 1 / x) - 2 * np.log(x) - special.log_ndtr(a),
    logcdf=lambda x, a: special.log_ndtr(a - 1 / x) - special.log_ndtr(a),
    logsf=_alpha_logsf,
    support=half_line,
)


def _recipinvgauss_logsf(x: Array, mu: Array) -> Any:
    root = np.sqrt(x)
    share = 1 / (mu * root)
    first = special.log_ndtr(share - root)
    return first + np.log1p(np.exp(2 / mu + special.log_ndtr(-share - root) - first))


def _recipinvgauss_density(x: Array, mu: Array) -> Any:
    return -_LOG_ROOT_TAU - np.log(x) / 2 - ((x - 1 / mu) / np.sqrt(np.abs(x))) ** 2 / 2


def _recipinvgauss_logcdf(x: Array, mu: Array) -> Any:
    """Next to 0 the density over its relative slope."""
    far = x * mu * mu < 1e-20
    place = np.where(far, x, 1.0)
    tail = _recipinvgauss_density(place, mu) + 2 * np.log(place * mu) + math.log(2)
    return np.where(far, tail, _invgauss_logsf(1 / np.where(far, 1.0, x), mu))


recipinvgauss = by_smaller_side(
    density=_recipinvgauss_density,
    logcdf=_recipinvgauss_logcdf,
    logsf=_recipinvgauss_logsf,
    support=half_line,
)


# -- the normal distribution with a power law on the left ----------------------------------------
def _crystal_parts(x: Array, beta: Array, m: Array) -> tuple[Any, Any, Any, Any, Any]:
    """Whether x is in the power law; the logarithms of the integrals of the two pieces and of their sum; and
    that of the power law's fall from the joint at -beta.
    """
    left = x <= -beta
    law = np.log(m) - np.log(beta) - np.log(m - 1) - beta * beta / 2
    bell = _LOG_ROOT_TAU + special.log_ndtr(beta)
    fall = np.log1p(np.where(left, -beta - x, 0.0) * (beta / m))
    return left, law, bell, np.logaddexp(law, bell), fall


def _crystalball_density(x: Array, beta: Array, m: Array) -> Any:
    left, _, _, whole, fall = _crystal_parts(x, beta, m)
    place = np.where(left, beta, x)
    return -place * place / 2 - np.where(left, m * fall, 0.0) - whole


def _crystalball_logcdf(x: Array, beta: Array, m: Array) -> Any:
    left, law, _, whole, fall = _crystal_parts(x, beta, m)
    bell = _LOG_ROOT_TAU + log_mass(-beta, np.where(left, 1.0, x))
    return np.where(left, law - (m - 1) * fall, np.logaddexp(law, bell)) - whole


def _crystalball_logsf(x: Array, beta: Array, m: Array) -> Any:
    _, law, bell, whole, fall = _crystal_parts(x, beta, m)
    left = x < -beta  # at the joint the fall is 0, and the logarithm infinite
    near = law + log1mexp((m - 1) * np.where(left, fall, 1.0))
    far = _LOG_ROOT_TAU + special.log_ndtr(-np.where(left, 0.0, x))
    return np.where(left, np.logaddexp(bell, near), far) - whole


crystalball = by_smaller_side(
    density=_crystalball_density,
    logcdf=_crystalball_logcdf,
    logsf=_crystalball_logsf,
    valid=lambda beta, m: np.logical_and(beta > 0, m > 1),
)
