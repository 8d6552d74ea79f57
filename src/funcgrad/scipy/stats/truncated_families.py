"""Continuous distributions on an interval that cuts another one off: each side is a quotient of integrals.

The integrals are stated by the distances from the ends, each with its own digits, and the smaller side is
computed. Methods without a formula here, such as moments, are SciPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from funcgrad.scipy import special
from funcgrad.scipy.stats.extreme_values import log1p_ratio
from funcgrad.scipy.stats.log_tails import log_gammainc, log_gammaincc
from funcgrad.scipy.stats.standard import (
    Formula,
    Standard,
    by_smaller_side,
    log1mexp,
    stated,
    unit_interval,
)
from funcgrad.typing import Array


def _log_quotient(x: Array, y: Array) -> Any:
    """log(x/y) for x >= y > 0, with the digits of x - y where they are close."""
    close = x < 2 * y
    near = np.log1p(np.where(close, x - y, 0.0) / y)
    return np.where(close, near, np.log(np.where(close, 1.0, x)) - np.log(np.where(close, 1.0, y)))


def _of_shares(below: Formula, above: Formula, row: Standard) -> Standard:
    """A row of logarithms with the probabilities below and above, each with digits where it is the smaller.

    The larger one is 1 less the smaller itself, and not the exponential of its logarithm, which has no digits
    of a second derivative next to an end, where a probability grows linearly.
    """

    def side(own: Formula, other: Formula) -> Formula:
        def function(x: Array, *shapes: Array) -> Any:
            small, large = own(x, *shapes), other(x, *shapes)
            return np.where(small < large, small, 1 - large)

        return function

    def log_side(log: Formula, own: Formula, other: Formula) -> Formula:
        def function(x: Array, *shapes: Array) -> Any:
            rest = other(x, *shapes)
            is_small = own(x, *shapes) < rest
            return np.where(is_small, log(x, *shapes), np.log1p(-np.where(is_small, 0.0, rest)))

        return function

    return replace(
        row,
        cdf=side(below, above),
        sf=side(above, below),
        logcdf=log_side(stated(row.logcdf), below, above),
        logsf=log_side(stated(row.logsf), above, below),
    )


# -- parts of the exponential distribution -------------------------------------------------------
def _decayed(length: Array, rate: Array) -> tuple[Any, Any]:
    """The integral of exp(-rate*s) over s from 0 to a length, as a factor and the logarithm of another one.

    The rate has any sign.
    """
    fall = rate * length
    slow = np.abs(fall) < 1
    slight = length * special.exprel(-np.where(slow, fall, 0.0))
    steep = -np.expm1(-np.abs(fall)) / np.abs(np.where(slow, 1.0, rate))
    return np.where(slow, slight, steep), np.where(fall <= -1, -fall, 0.0)


def _decaying(
    parts: Callable[..., tuple[Any, Any, Any, Any]], log_slope: Formula, **row: Any
) -> Standard:
    """A distribution with a density of exp(-rate*s), where ``parts`` gives s, the distance from the other
    end, that between the ends and the rate, and ``log_slope`` is log(ds/dx).
    """

    def shares(x: Array, *shapes: Array) -> list[tuple[Any, Any]]:
        near, far, whole, rate = parts(x, *shapes)
        all_of, all_log = _decayed(whole, rate)
        sides = _decayed(near, rate), _decayed(far, rate)
        moves = -all_log, -rate * near - all_log
        return [(part / all_of, log + move) for (part, log), move in zip(sides, moves, strict=True)]

    def probability_of(side: int) -> Formula:
        def function(x: Array, *shapes: Array) -> Any:
            share, log = shares(x, *shapes)[side]
            return share * np.exp(log)

        return function

    def log_of(side: int) -> Formula:
        def function(x: Array, *shapes: Array) -> Any:
            share, log = shares(x, *shapes)[side]
            return np.log(share) + log

        return function

    def density(x: Array, *shapes: Array) -> Any:
        near, _, whole, rate = parts(x, *shapes)
        factor, log = _decayed(whole, rate)
        return log_slope(x) - rate * near - np.log(factor) - log

    logs = Standard(density=density, logcdf=log_of(0), logsf=log_of(1), **row)
    return _of_shares(probability_of(0), probability_of(1), logs)


truncexpon = _decaying(
    lambda x, b: (x, b - x, b, 1.0),
    lambda x: 0.0,
    support=lambda b: (0.0, b),
)
truncpareto = _decaying(
    lambda x, b, c: (np.log(x), _log_quotient(c, x), np.log(c), b),
    lambda x: -np.log(x),
    support=lambda b, c: (1.0, c),
    valid=lambda b, c: np.logical_and(b != 0, c > 1),
)
loguniform = _of_shares(
    lambda x, a, b: _log_quotient(x, a) / _log_quotient(b, a),
    lambda x, a, b: _log_quotient(b, x) / _log_quotient(b, a),
    Standard(
        density=lambda x, a, b: -np.log(x) - np.log(_log_quotient(b, a)),
        logcdf=lambda x, a, b: np.log(_log_quotient(x, a)) - np.log(_log_quotient(b, a)),
        logsf=lambda x, a, b: np.log(_log_quotient(b, x)) - np.log(_log_quotient(b, a)),
        support=lambda a, b: (a, b),
        valid=lambda a, b: np.logical_and(a > 0, b > a),
    ),
)
reciprocal = loguniform


# -- Bradford's distribution: log(1 + c*x) is uniform --------------------------------------------
def _bradford_rest(x: Array, c: Array) -> Any:
    rest = (1 - x) / (1 + c * x)
    return rest * log1p_ratio(c * rest) / log1p_ratio(c)


bradford = _of_shares(
    lambda x, c: x * log1p_ratio(c * x) / log1p_ratio(c),
    _bradford_rest,
    Standard(
        density=lambda x, c: -np.log1p(c * x) - np.log(log1p_ratio(c)),
        logcdf=lambda x, c: np.log(x) + np.log(log1p_ratio(c * x)) - np.log(log1p_ratio(c)),
        logsf=lambda x, c: np.log(_bradford_rest(x, c)),
        support=unit_interval,
    ),
)


# -- Weibull's distribution between two ends -----------------------------------------------------
def _power_gap(x: Array, y: Array, c: Array) -> Any:
    """x**c - y**c for x >= y >= 0: as it stands where that does not cancel, for the slope in y."""
    apart = x**c > 3 * y**c
    start, end = np.where(apart, 1.0, y), np.where(apart, 1.0, x)
    close = start**c * np.expm1(c * _log_quotient(end, start))
    return np.where(apart, np.where(apart, x, 1.0) ** c - np.where(apart, y, 0.0) ** c, close)


def _weibull_part(c: Array, x: Array, y: Array) -> Any:
    """1 - exp(y**c - x**c), for x >= y; without a slope where the exponential underflows."""
    gap = _power_gap(x, y, c)
    whole = gap > 745
    return np.where(whole, 1.0, -np.expm1(-np.where(whole, 1.0, gap)))


def _log_weibull_part(c: Array, x: Array, y: Array) -> Any:
    return log1mexp(_power_gap(x, y, c))


def _weibull_rest(x: Array, c: Array, a: Array, b: Array) -> Any:
    share = _weibull_part(c, b, x) / _weibull_part(c, b, a)
    return np.exp(-_power_gap(x, a, c)) * share


truncweibull_min = _of_shares(
    lambda x, c, a, b: _weibull_part(c, x, a) / _weibull_part(c, b, a),
    _weibull_rest,
    Standard(
        density=lambda x, c, a, b: (
            np.log(c) + special.xlogy(c - 1, x) - _power_gap(x, a, c) - _log_weibull_part(c, b, a)
        ),
        logcdf=lambda x, c, a, b: _log_weibull_part(c, x, a) - _log_weibull_part(c, b, a),
        logsf=lambda x, c, a, b: (
            _log_weibull_part(c, b, x) - _power_gap(x, a, c) - _log_weibull_part(c, b, a)
        ),
        support=lambda c, a, b: (a, b),
        valid=lambda c, a, b: np.logical_and(np.logical_and(a >= 0, b > a), c > 0),
    ),
)


# -- the ARGUS distribution: chi**2*(1 - x**2)/2 has a gamma distribution of shape 3/2, cut off ---
_POINTS, _DOUBLE_WEIGHTS = np.polynomial.legendre.leggauss(24)
_NODES, _WEIGHTS = (_POINTS + 1) / 2, _DOUBLE_WEIGHTS / 2
_SHAPE: Any = np.float64(1.5)


def _log_moment(m: Array) -> Any:
    """The logarithm of the integral of s**2*exp(-m*s**2) over s from 0 to 1."""
    small = m < 1
    near = np.expand_dims(np.where(small, m, 0.0), -1)
    series = np.log(np.sum(np.exp(-near * _NODES**2) * (_NODES**2 * _WEIGHTS), axis=-1))
    away = np.where(small, 1.0, m)
    usual = log_gammainc(_SHAPE, away) - 1.5 * np.log(away)
    return np.where(small, series, usual + math.log(math.pi) / 2 - math.log(4))


def _argus_density(x: Array, chi: Array) -> Any:
    k = chi * chi / 2
    root = (np.log1p(-x) + np.log1p(x)) / 2
    return np.log(x) + root - k * (1 - x) * (1 + x) - _log_moment(k)


def _argus_logsf(x: Array, chi: Array) -> Any:
    k = chi * chi / 2
    rest = (1 - x) * (1 + x)
    return 1.5 * np.log(rest) + _log_moment(k * rest) - _log_moment(k)


def _argus_logcdf(x: Array, chi: Array) -> Any:
    """Near 0 by Gauss and Legendre's rule, farther out by the difference of gamma distributions."""
    k = chi * chi / 2
    short = np.logical_and(x < 0.75, k * x * x < 1)
    place = np.where(short, x, 0.5)
    square = np.expand_dims(place * place, -1) * _NODES
    rate = np.expand_dims(np.where(short, k, 1.0), -1)
    inner = np.sum(np.sqrt(1 - square) * np.exp(rate * square) * _WEIGHTS, axis=-1)
    near = 2 * np.log(place) - math.log(2) + np.log(inner) - np.where(short, k, 0.0)
    rest = np.where(short, 1.0, k * (1 - x) * (1 + x))
    tail = log_gammaincc(_SHAPE, rest)
    whole = np.where(short, 4.0, k)
    far = tail + log1mexp(tail - log_gammaincc(_SHAPE, whole)) - log_gammainc(_SHAPE, whole)
    return np.where(short, near - _log_moment(k), far)


argus = by_smaller_side(
    density=_argus_density,
    logcdf=_argus_logcdf,
    logsf=_argus_logsf,
    support=unit_interval,
)
