"""Logarithms of the incomplete gamma and beta functions, also where these underflow.

Far out, at least 25 standard deviations from the mean, the functions are the density at the end, divided by
its rate of decay, times an integral near 1 over the exponential distribution, by Laguerre's rule. The density
is in the form of deviances (`ops/special/gamma_numerics.py`), which keeps the digits of large parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from funcgrad.ops.special.gamma_numerics import LARGE, stirling_error
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.stats.standard import log_where_small
from funcgrad.transforms.control_flow.cond import cond
from funcgrad.typing import Array

_TINY = 1e-140
"""Below it the functions are computed by the tail: its square divides a second derivative."""
_LOG_ROOT_TAU = math.log(2 * math.pi) / 2


def _series(ratio: Callable[[Array], Any], terms: int) -> Any:
    """1 + r(0) + r(0) r(1) + ..., for a function r of the place of a term."""
    return 1 + np.sum(np.cumprod(ratio(np.arange(float(terms))), axis=-1), axis=-1)


@cache
def _laguerre() -> tuple[Array, Array]:
    """The points and weights of Laguerre's rule."""
    points, weights = np.polynomial.laguerre.laggauss(32)
    return points, weights


def _log_decay(rate: Array, log_correction: Callable[..., Any], *args: Array) -> Any:
    """The logarithm of the integral of exp(-rate*r + correction(r, *args)) over r > 0."""
    points, weights = _laguerre()
    correction = log_correction(points / last_axis(rate), *[last_axis(arg) for arg in args])
    return np.log(np.sum(weights * np.exp(correction), axis=-1)) - np.log(rate)


def last_axis(x: Array) -> Any:
    """Numbers beside a last axis, of the points of a rule or the terms of a series."""
    return np.expand_dims(x, -1)


def only_where(
    chosen: Array, usual: Array, tail: Callable[..., Any], inner: tuple[float, ...], *args: Array
) -> Any:
    """``tail(*args)`` where entries are chosen, computed only if one is, and ``usual`` elsewhere.

    Other entries of the same arrays are replaced by ``inner``, since the tail may overflow there.
    """

    def far(usual: Array, chosen: Array, *args: Array) -> Any:
        held = [np.where(chosen, arg, stand_in) for arg, stand_in in zip(args, inner, strict=True)]
        return np.where(chosen, tail(*held), usual)

    def near(usual: object, chosen: object, *args: object) -> Any:
        return usual

    return cond(np.any(chosen), far, near, usual, chosen, *np.broadcast_arrays(*args, usual)[:-1])


def _beyond_underflow(
    small: Array, other: Array, tail: Callable[..., Any], inner: tuple[float, ...], *args: Array
) -> Any:
    """log(small), by ``tail`` where it underflows."""
    tiny = np.logical_and(small < _TINY, other > 0.5)
    usual = log_where_small(np.where(tiny, 0.25, small), other)
    return only_where(tiny, usual, tail, inner, *args)


# -- the incomplete gamma functions ----------------------------------------------------------------
def log_gammainc(a: Array, x: Array) -> Any:
    """The logarithm of the regularized lower incomplete gamma function."""
    return _beyond_underflow(
        special.gammainc(a, x), special.gammaincc(a, x), _log_gammainc_tail, (1.5, 1.0), a, x
    )


def _log_gammainc_tail(a: Array, x: Array) -> Any:
    """The integral over r = log(x/t)."""
    decay = _log_decay(a - x, lambda r, x: -x * (np.expm1(-r) + r), x)
    return _log_gamma_density(a, x) + decay


def log_gammaincc(a: Array, x: Array) -> Any:
    """The logarithm of the regularized upper incomplete gamma function."""
    return _beyond_underflow(
        special.gammaincc(a, x), special.gammainc(a, x), _log_gammaincc_tail, (1.5, 1e3), a, x
    )


def _log_gammaincc_tail(a: Array, x: Array) -> Any:
    """The integral over r = log(t/x)."""
    finite = np.where(x < math.inf, x, 2 * a + 1)
    decay = _log_decay(finite - a, lambda r, x: -x * (np.expm1(np.minimum(r, 700.0)) - r), finite)
    return np.where(x < math.inf, _log_gamma_density(a, finite) + decay, -math.inf)


def _log_gamma_density(a: Array, x: Array) -> Any:
    """log(x**a*exp(-x)/gamma(a))."""
    # Far from the mean the direct form has the digits, and so have its slopes.
    large = np.logical_and(a >= LARGE, np.logical_and(x > a / 4, x < 4 * a))
    few, many = np.where(large, 1.0, a), np.where(large, a, LARGE)
    direct = few * np.log(x) - x - gammaln(few)
    place = np.where(large, x, LARGE)
    by_series = many * _deviance(place / many, (place - many) / many) - stirling_error(many)
    return np.where(large, by_series + np.log(many) / 2 - _LOG_ROOT_TAU, direct)


def _deviance(ratio: Array, excess: Array) -> Any:
    """log(ratio) - excess, where excess is ratio - 1."""
    far = excess < -0.5
    log = np.where(far, np.log(np.where(far, ratio, 1.0)), np.log1p(np.where(far, 0.0, excess)))
    return log - excess


# -- the incomplete beta function --------------------------------------------------------------------
def log_betainc(a: Array, b: Array, x: Array, y: Array) -> Any:
    """The logarithm of the regularized incomplete beta function, for y = 1 - x."""
    # Each by the smaller one of x and y, which holds the digits.
    left = x < y
    low, high = np.where(left, x, 0.5), np.where(left, 0.5, y)
    small = np.where(left, special.betainc(a, b, low), special.betaincc(b, a, high))
    other = np.where(left, special.betaincc(a, b, low), special.betainc(b, a, high))
    return _beyond_underflow(small, other, _log_betainc_tail, (1.5, 1.5, 0.25, 0.75), a, b, x, y)


def _log_betainc_tail(a: Array, b: Array, x: Array, y: Array) -> Any:
    """The integral over the difference r of log odds."""

    def correction(r: Array, n: Array, x: Array, y: Array) -> Any:
        low = x < 0.5
        left = np.log1p(np.where(low, x, 0.0) * np.expm1(-r)) + x * r
        right = np.log1p(np.where(low, 0.0, y) * np.expm1(np.minimum(r, 700.0))) - y * r
        return -n * np.where(low, left, right)

    return _log_beta_density(a, b, x, y) + _log_decay(a * y - b * x, correction, a + b, x, y)


def _log_beta_density(a: Array, b: Array, x: Array, y: Array) -> Any:
    """log(x**a*y**b/beta(a, b)), as `gamma_numerics.beta_log_density`."""
    log_x = np.where(y < 0.5, np.log1p(-np.where(y < 0.5, y, 0.5)), np.log(x))
    log_y = np.where(x < 0.5, np.log1p(-np.where(x < 0.5, x, 0.5)), np.log(y))
    first = a >= b
    many, few = np.where(first, a, b), np.where(first, b, a)
    p, q = np.where(first, x, y), np.where(first, y, x)
    log_p, log_q = np.where(first, log_x, log_y), np.where(first, log_y, log_x)
    large = many >= LARGE
    # Far from the mean of q the other form has the digits, and so have its slopes.
    both = np.logical_and(np.logical_and(large, few >= LARGE), (a + b) * q < 4 * few)
    c, d = np.where(both, many, LARGE), np.where(both, few, LARGE)
    n, gap = c + d, d * p - c * q
    deviances = c * _deviance(n * p / c, gap / c) + d * _deviance(n * q / d, -gap / d)
    errors = stirling_error(c) + stirling_error(d) - stirling_error(n)
    balanced = deviances - errors + np.log(c * (d / n)) / 2 - _LOG_ROOT_TAU
    m, s = np.where(large, many, LARGE), np.where(both, 1.0, few)
    ratio = (m - 0.5) * np.log1p(s / m) - s + stirling_error(m + s) - stirling_error(m)
    lopsided = m * log_p + ratio + s * (np.log(m + s) + log_q) - gammaln(s)
    u, v = np.where(large, 1.0, a), np.where(large, 1.0, b)
    direct = u * log_x + v * log_y - special.betaln(u, v)
    return np.where(both, balanced, np.where(large, lopsided, direct))


# -- Student's t ----------------------------------------------------------------------------------------
def log_half_ratio(z: Array) -> Any:
    """log(gamma(z + 1/2)/(gamma(z)*sqrt(z))): a series for large z, where the difference cancels."""
    large = z > 30
    far, near = np.where(large, z, 30.0), np.where(large, 1.0, z)
    inverse = 1 / far
    square = inverse * inverse
    series = inverse * (
        -1 / 8
        + square * (1 / 192 + square * (-1 / 640 + square * (17 / 14336 - square * 31 / 18432)))
    )
    return np.where(large, series, gammaln(near + 0.5) - gammaln(near) - np.log(near) / 2)


def _far_t_tail(x: Array, df: Array, far: Array) -> Any:
    """The logarithm of the tail where the square of x/sqrt(df) has no digits of 1 + its square."""
    log = np.where(far, np.log(np.abs(np.where(far, x, 1.0))) - np.log(df) / 2, 20.0)
    return -df * log - np.log(df) - special.betaln(df / 2, 0.5)


def _held(x: Array, df: Array) -> tuple[Any, Any]:
    """Whether x is that far out, and x where it is not."""
    far = np.abs(x) > 1e9 * np.sqrt(df)
    return far, np.where(far, 0.0, x)


def t_cdf(x: Array, df: Array) -> Any:
    """Student's distribution function, also where its square overflows."""
    far, y = _held(x, df)
    beyond = np.exp(_far_t_tail(x, df, far))
    return np.where(far, np.where(x < 0, beyond, 1 - beyond), _t_cdf_near(y, df))


_CENTER_TERMS = 60


def _t_cdf_near(x: Array, df: Array) -> Any:
    """Around 0, and for a small df, by a series, since SciPy's function has eight digits there."""
    square = x * x
    share = square / (df + square)
    near = np.logical_and(df < 30, np.logical_and(square < 1, share < 0.5))
    around = last_axis(np.where(near, share, 0.0))
    half = last_axis(df / 2)
    series = _series(lambda k: (half + 0.5 + k) / (1.5 + k) * around, _CENTER_TERMS)
    factor = log_half_ratio(df / 2) - (df + 1) / 2 * np.log1p(square / df)
    center = 0.5 + x * np.exp(factor) * series / math.sqrt(2 * math.pi)
    return np.where(near, center, special.stdtr(df, np.where(near, 1.0, x)))


def t_logcdf(x: Array, df: Array) -> Any:
    """The logarithm of Student's distribution function.

    Where it does not underflow for a large df it is that of `stdtr`: in the incomplete beta function the
    slopes of a shape and of the argument cancel.
    """
    far, y = _held(x, df)
    left = np.logical_and(y < -1, np.logical_or(df < 100, y < -20))
    square = np.where(left, y * y, 1.0)
    tail = log_betainc(df / 2, 0.5 + 0 * df, df / (df + square), square / (df + square))
    beyond = _far_t_tail(x, df, far)
    beyond = np.where(x < 0, beyond, np.log1p(-np.exp(beyond)))
    place = np.where(left, 0.0, y)
    near = log_where_small(_t_cdf_near(place, df), _t_cdf_near(-place, df))
    return np.where(far, beyond, np.where(left, tail - math.log(2), near))
