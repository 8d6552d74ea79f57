"""The generalized inverse Gaussian and the generalized hyperbolic distribution.

The modified Bessel function of their constants and densities is an integral of a positive function over the
real line, of which the trapezoidal rule has all digits, and so have its derivatives in the order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.ops.special.mixture_ranges import (
    inverse_gaussian_reach,
    normal_mixture_end,
    normal_mixture_start,
)
from funcgrad.scipy import special
from funcgrad.scipy.stats.log_tails import last_axis
from funcgrad.scipy.stats.standard import Formula, Standard, by_smaller_side, half_line, probability
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

_STEPS = np.arange(601.0)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
_LOG_ROOT_TAU = math.log(2 * math.pi) / 2


def log_bessel_k(p: Array, b: Array) -> Any:
    """log(kv(p, b)); of a large argument by the asymptotic series."""
    far = b > 1e9 * (1 + p * p)
    place = np.where(far, b, 1.0)
    series = math.log(math.pi / 2) / 2 - np.log(place) / 2 - place
    return np.where(
        far,
        series + np.log1p((4 * p * p - 1) / (8 * place)),
        _log_bessel_integral(p, np.where(far, 1.0, b)),
    )


def _log_bessel_integral(p: Array, b: Array) -> Any:
    """Around its maximum the integrand is exp(-rest*(cosh(v) - 1) - p*(exp(v) - 1 - v))."""
    # Not abs(p), whose second derivative is not that of an even function.
    order = np.where(p < 0, -p, p)
    size = np.hypot(order, b)
    rest = b * (b / (size + order))
    held, bound = stop_gradient(np.maximum(order, 1e-300)), stop_gradient(np.maximum(rest, 1e-300))
    reach, root = np.arccosh(1 + 45 / bound), np.sqrt(90 / held)
    left = np.minimum(reach, 1.3 * root + 50 / held)
    right = np.minimum(reach, np.minimum(root, np.log1p(45 / held) + 1.5))
    step = (left + right) / (len(_STEPS) - 1)
    v = last_axis(step) * _STEPS - last_axis(left)
    fall = last_axis(rest) * 2 * np.sinh(v / 2) ** 2 + last_axis(order) * (np.expm1(v) - v)
    total = np.sum(np.exp(-fall), axis=-1) * step / 2
    return order * np.arcsinh(order / b) - size + np.log(total)


# -- generalized inverse Gaussian ---------------------------------------------------------------------
def _inverse_log_density(x: Array, inverse: Array, w: Array, p: Array, b: Array) -> Any:
    """By x, 1/x and log(x)."""
    return (p - 1) * w - b * (x + inverse) / 2 - math.log(2) - log_bessel_k(p, b)


def _inverse_tail(own: Sequence[Array], p: Array, b: Array) -> Any:
    """The logarithm of the probability below x, left of the maximum of the density of log(x)."""
    x, inverse, w = own
    # Far out exp(-b/(2*x)) alone counts, and the integral would overflow.
    far = x * (1 + np.abs(p)) < 1e-18 * b
    outermost = _inverse_log_density(x, inverse, w, p, b) + math.log(2) - np.log(b) + 2 * w
    x, inverse, w = np.where(far, 1.0, x), np.where(far, 1.0, inverse), np.where(far, 0.0, w)
    reach = last_axis(stop_gradient(inverse_gaussian_reach(w, p, b)))
    v = reach * _NODES
    # cosh(w - v) - cosh(w), without a difference of large terms.
    rise = 2 * np.sinh(v / 2) * np.sinh(v / 2 - last_axis(w))
    values = np.exp(-last_axis(p) * v - last_axis(b) * rise)
    total = np.log(np.sum(values * _WEIGHTS, axis=-1) * reach[..., 0])
    return np.where(far, outermost, total + w + _inverse_log_density(x, inverse, w, p, b))


def _inverse_sides(x: Array, p: Array, b: Array) -> tuple[Any, Any, Any]:
    """Whether x is left of the maximum, and the logarithm of the side that it is on; 1/x has the order -p."""
    inverse, w = 1 / x, np.log(x)
    middle = np.arcsinh(p / b)
    mode = np.exp(middle)
    left = w < middle
    own, turned = (x, inverse, w), (inverse, x, -w)
    inner = (mode, 1 / mode, middle)
    held = [np.where(left, one, other) for one, other in zip(own, inner, strict=True)]
    below = _inverse_tail(held, p, b)
    inner = (1 / mode, mode, -middle)
    held = [np.where(left, other, one) for one, other in zip(turned, inner, strict=True)]
    above = _inverse_tail(held, -p, b)
    return left, below, above


def _inverse_side(log: bool, upper: bool) -> Formula:
    def function(x: Array, p: Array, b: Array) -> Any:
        left, below, above = _inverse_sides(x, p, b)
        small = np.logical_not(left) if upper else left
        own, other = (above, below) if upper else (below, above)
        if log:
            return np.where(small, own, np.log1p(-probability(other)))
        return np.where(small, probability(own), 1 - probability(other))

    return function


geninvgauss = Standard(
    density=lambda x, p, b: _inverse_log_density(x, 1 / x, np.log(x), p, b),
    cdf=_inverse_side(log=False, upper=False),
    sf=_inverse_side(log=False, upper=True),
    logcdf=_inverse_side(log=True, upper=False),
    logsf=_inverse_side(log=True, upper=True),
    support=half_line,
    valid=lambda p, b: np.logical_and(np.isfinite(p), b > 0),
)


# -- generalized hyperbolic ---------------------------------------------------------------------------
def _hyperbolic_density(x: Array, p: Array, a: Array, b: Array) -> Any:
    gamma = np.sqrt((a - b) * (a + b))
    size = np.hypot(1.0, x)
    constant = p * np.log(gamma) - (p - 0.5) * np.log(a) - _LOG_ROOT_TAU - log_bessel_k(p, gamma)
    return constant + b * x + log_bessel_k(p - 0.5, a * size) + (p - 0.5) * np.log(size)


_MIXED = np.arange(301.0)


def _hyperbolic_mixture(x: Array, p: Array, a: Array, b: Array) -> Any:
    """The logarithm of the probability below x: normal ones of mean b*v and variance v, mixed over log(v)."""
    gamma = np.sqrt((a - b) * (a + b))
    held = [stop_gradient(item) for item in (x, p, a, b)]
    start, end = normal_mixture_start(*held), normal_mixture_end(*held)
    step = (end - start) / 300
    w = last_axis(start) + last_axis(step) * _MIXED
    normal = special.log_ndtr(last_axis(x) * np.exp(-w / 2) - last_axis(b) * np.exp(w / 2))
    square = last_axis(gamma * gamma)
    exponent = last_axis(p) * w - (np.exp(-w) + square * np.exp(w)) / 2 + normal
    constant = p * np.log(gamma) - math.log(2) - log_bessel_k(p, gamma)
    return constant + np.log(step) + special.logsumexp(exponent, axis=-1)


def _hyperbolic_tail(x: Array, p: Array, a: Array, b: Array) -> Any:
    """log(cdf); far to the left the density over its decay."""
    far = x * (a + b) < -1e13 * (1 + p * p) * (1 + 1 / (a + b))
    near = _hyperbolic_mixture(np.where(far, 0.0, x), p, a, b)
    place = np.where(far, x, -1.0)
    series = np.log(a + b - (p - 1) / place)
    return np.where(far, _hyperbolic_density(place, p, a, b) - series, near)


genhyperbolic = by_smaller_side(
    density=_hyperbolic_density,
    logcdf=_hyperbolic_tail,
    logsf=lambda x, p, a, b: _hyperbolic_tail(-x, p, a, -b),
    valid=lambda p, a, b: np.logical_and(np.isfinite(p), np.abs(b) < a),
)


def _of_half_order(function: Formula) -> Formula:
    return lambda x, a, b: function(x, np.float64(-0.5), a, b)


norminvgauss = by_smaller_side(
    density=_of_half_order(_hyperbolic_density),
    logcdf=_of_half_order(_hyperbolic_tail),
    logsf=lambda x, a, b: _of_half_order(_hyperbolic_tail)(-x, a, -b),
    valid=lambda a, b: np.logical_and(a > 0, np.abs(b) < a),
)
