"""The generalized inverse Gaussian and the generalized hyperbolic distribution.

The modified Bessel function of their constants and densities is an integral of a positive function over the
real line, of which the trapezoidal rule has all digits, and so have its derivatives in the order.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.special.mixture_ranges import (
    inverse_gaussian_reach,
    normal_mixture_end,
    normal_mixture_start,
)
from funcgrad.scipy import special
from funcgrad.scipy.stats.standard import Standard, half_line, log1mexp
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

_STEPS = np.arange(601.0)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
_LOG_ROOT_TAU = math.log(2 * math.pi) / 2


def _last_axis(x: Array) -> Any:
    return np.expand_dims(x, -1)


def log_bessel_k(p: Array, b: Array) -> Any:
    """log(kv(p, b)): around its maximum the integrand is exp(-rest*(cosh(v) - 1) - p*(exp(v) - 1 - v))."""
    order = np.where(
        p < 0, -p, p
    )  # not abs(p), whose second derivative is not that of an even function
    size = np.hypot(order, b)
    rest = b * (b / (size + order))
    held, bound = stop_gradient(np.maximum(order, 1e-300)), stop_gradient(np.maximum(rest, 1e-300))
    reach, root = np.arccosh(1 + 45 / bound), np.sqrt(90 / held)
    left = np.minimum(reach, 1.3 * root + 50 / held)
    right = np.minimum(reach, np.minimum(root, np.log1p(45 / held) + 1.5))
    step = (left + right) / (len(_STEPS) - 1)
    v = _last_axis(step) * _STEPS - _last_axis(left)
    fall = _last_axis(rest) * 2 * np.sinh(v / 2) ** 2 + _last_axis(order) * (np.expm1(v) - v)
    total = np.sum(np.exp(-fall), axis=-1) * step / 2
    return order * np.arcsinh(order / b) - size + np.log(total)


# -- generalized inverse Gaussian ---------------------------------------------------------------------
def _inverse_density(x: Array, p: Array, b: Array) -> Any:
    return (p - 1) * np.log(x) - b * (x + 1 / x) / 2 - math.log(2) - log_bessel_k(p, b)


def _inverse_tail(x: Array, p: Array, b: Array) -> Any:
    """The logarithm of the probability below x, left of the maximum of the density of log(x)."""
    # Far out exp(-b/(2*x)) alone counts, and the integral would overflow.
    far = x * (1 + np.abs(p)) < 1e-18 * b
    outermost = _inverse_density(x, p, b) + math.log(2) - np.log(b) + 2 * np.log(x)
    x = np.where(far, 1.0, x)
    w = np.log(x)
    reach = _last_axis(stop_gradient(inverse_gaussian_reach(w, p, b)))
    v = reach * _NODES
    # cosh(w - v) - cosh(w), without a difference of large terms.
    rise = 2 * np.sinh(v / 2) * np.sinh(v / 2 - _last_axis(w))
    values = np.exp(-_last_axis(p) * v - _last_axis(b) * rise)
    total = np.log(np.sum(values * _WEIGHTS, axis=-1) * reach[..., 0])
    return np.where(far, outermost, total + w + _inverse_density(x, p, b))


def _inverse_logcdf(x: Array, p: Array, b: Array) -> Any:
    """By the shorter side; 1/x has the order -p."""
    left = np.log(x) < np.arcsinh(p / b)
    mode = np.exp(np.arcsinh(p / b))
    below = _inverse_tail(np.where(left, x, mode), p, b)
    above = _inverse_tail(1 / np.where(left, mode, x), -p, b)
    return np.where(left, below, np.where(_counts(above), log1mexp(-above), 0.0))


def _inverse_cdf(x: Array, p: Array, b: Array) -> Any:
    log = _inverse_logcdf(x, p, b)
    return np.where(_counts(log), np.exp(log), 0.0)


def _counts(log: Array) -> Any:
    """Whether a probability does not underflow; where it does, its logarithm may have an infinite slope."""
    return log > -1e3


geninvgauss = Standard(
    density=_inverse_density,
    cdf=_inverse_cdf,
    sf=lambda x, p, b: _inverse_cdf(1 / x, -p, b),
    logcdf=_inverse_logcdf,
    logsf=lambda x, p, b: _inverse_logcdf(1 / x, -p, b),
    support=half_line,
    valid=lambda p, b: np.logical_and(np.isfinite(p), b > 0),
)


# -- generalized hyperbolic ---------------------------------------------------------------------------
def _hyperbolic_density(x: Array, p: Array, a: Array, b: Array) -> Any:
    gamma = np.sqrt((a - b) * (a + b))
    size = np.sqrt(1 + x * x)
    constant = p * np.log(gamma) - (p - 0.5) * np.log(a) - _LOG_ROOT_TAU - log_bessel_k(p, gamma)
    return constant + b * x + log_bessel_k(p - 0.5, a * size) + (p - 0.5) * np.log(size)


_MIXED = np.arange(301.0)


def _hyperbolic_mixture(x: Array, p: Array, a: Array, b: Array) -> Any:
    """The logarithm of the probability below x: normal ones of mean b*v and variance v, mixed over log(v)."""
    gamma = np.sqrt((a - b) * (a + b))
    held = [stop_gradient(item) for item in (x, p, a, b)]
    start, end = normal_mixture_start(*held), normal_mixture_end(*held)
    step = (end - start) / 300
    w = _last_axis(start) + _last_axis(step) * _MIXED
    normal = special.log_ndtr(_last_axis(x) * np.exp(-w / 2) - _last_axis(b) * np.exp(w / 2))
    square = _last_axis(gamma * gamma)
    exponent = _last_axis(p) * w - (np.exp(-w) + square * np.exp(w)) / 2 + normal
    constant = p * np.log(gamma) - math.log(2) - log_bessel_k(p, gamma)
    return constant + np.log(step) + special.logsumexp(exponent, axis=-1)


def _hyperbolic_logcdf(x: Array, p: Array, a: Array, b: Array) -> Any:
    """By the smaller side."""
    below, above = _hyperbolic_mixture(x, p, a, b), _hyperbolic_mixture(-x, p, a, -b)
    small = below < above
    return np.where(small, below, log1mexp(-np.where(small, -1.0, above)))


genhyperbolic = Standard(
    density=_hyperbolic_density,
    logcdf=_hyperbolic_logcdf,
    logsf=lambda x, p, a, b: _hyperbolic_logcdf(-x, p, a, -b),
    valid=lambda p, a, b: np.logical_and(np.isfinite(p), np.abs(b) < a),
)
