"""Integrals for the noncentral t distribution and its derivatives in all parameters.

Over s, a chi variable divided by the root of df, the normal distribution function of t*s - nc is integrated:
the integrand is positive and log-concave, and is integrated to both sides of its maximum. Plain NumPy in
double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.special.gamma_numerics import gamma_log_density, log1p_minus, log_minus_digamma_at
from funcgrad.ops.special.incomplete_moments import half_line_rule
from funcgrad.ops.special.noncentral_numerics import bell_polynomial, evaluated
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.typing import Array


def integral(
    df: Array, nc: Array, t: Array, shift: Array, *, order: int, slope: int, power: int
) -> Any:
    """The integral over s, a chi variable over the root of df, of s**power times the normal distribution
    function or a derivative of it (``slope``) at t*s - nc, times exp(shift); its derivative in df.
    """
    with np.errstate(all="ignore"):
        df, nc, t, shift = np.broadcast_arrays(df, nc, t, shift)
        valid = (df > 0) & np.isfinite(df) & np.isfinite(nc) & np.isfinite(t)
        given = [np.where(valid, x, 1.0).reshape(-1) for x in (df, nc, t, shift)]
        mirror = (order > 0) & (slope == 0) & (given[2] > given[1])
        given[1:3] = [np.where(mirror, -x, x) for x in given[1:3]]
        found = np.where(mirror, -1.0, 1.0) * _integral(
            *given, order=order, slope=slope, power=power
        )
        smooth = (given[0] > 1e3) & (np.abs(given[2]) < 0.03 * np.sqrt(given[0]))
        if order and np.any(smooth):
            held = [
                np.where(smooth, x, y) for x, y in zip(given, (1e4, 0.0, 1.0, 0.0), strict=True)
            ]
            small = _near_normal(*held, order=order, slope=slope, power=power)
            found = np.where(smooth, np.where(mirror, -small, small), found)
        ends = np.where((df > 0) & ~np.isnan(nc) & ~np.isnan(t), 0.0, math.nan)
        return np.where(valid, found.reshape(df.shape), ends)[()]


def _integral(
    df: Array, nc: Array, t: Array, shift: Array, *, order: int, slope: int, power: int
) -> Any:
    log_ndtr = scipy_special("log_ndtr").log_ndtr

    def exponent(w: Array) -> Any:
        """The logarithm of the integrand over w = log(s), but for a polynomial and a constant."""
        s = np.exp(w)
        z = t * s - nc
        normal = log_ndtr(z) if slope == 0 else -0.5 * z * z
        return normal + power * w + _log_density(df, w)

    mode = _log_mode(df, nc, t, slope, power)
    top = exponent(mode)
    nodes, weights = half_line_rule()
    total: Any = 0.0
    for direction in (-1.0, 1.0):
        scale = _width(exponent, mode, direction)
        w = mode + direction * scale * nodes
        value = np.exp(exponent(w) - top)
        value = np.where(value > 0, value * _factor(df, nc, t, w, order, slope), 0.0)
        total = total + scale * np.sum(weights * value, axis=0)
    return _constant(df) * np.exp(top + shift) * total


def _log_mode(df: Array, nc: Array, t: Array, slope: int, power: int) -> Any:
    """Where the integrand over log(s) is largest: it is log-concave in s."""
    size = np.hypot(t, np.sqrt(df))
    lead = nc * (t / size)
    s = (lead + np.hypot(lead, 2.0 * np.sqrt(df + power))) / (2.0 * size)
    if slope:
        return np.log(s)
    low, high = np.minimum(s, np.sqrt((df + power) / df)), np.maximum(s, np.sqrt((df + power) / df))
    low, high = np.log(low) - 1.0, np.log(high) + 1.0
    log_ndtr = scipy_special("log_ndtr").log_ndtr
    for _ in range(60):
        middle = 0.5 * (low + high)
        s = np.exp(middle)
        z = t * s - nc
        hazard = np.exp(-0.5 * z * z - 0.5 * math.log(2.0 * math.pi) - log_ndtr(z))
        rising = t * s * hazard + df + power - df * s * s > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return 0.5 * (low + high)


def _width(exponent: Callable[[Array], Any], mode: Array, direction: float) -> Any:
    """How far from its maximum the integrand falls by a factor of e."""
    top = exponent(mode) - 1.0
    low, high = np.full_like(mode, -30.0), np.full_like(mode, 10.0)  # of the logarithm
    for _ in range(50):
        middle = 0.5 * (low + high)
        near = exponent(mode + direction * np.exp(middle)) > top
        low, high = np.where(near, middle, low), np.where(near, high, middle)
    return np.exp(0.5 * (low + high))


def _factor(df: Array, nc: Array, t: Array, w: Array, order: int, slope: int) -> Any:
    """The polynomials in the score and in the place that the integrand has."""
    factor = _derivative_factor(df, w, order)
    if slope == 0:
        return factor
    return factor * _hermite(t * np.exp(w) - nc, slope - 1)


def _hermite(z: Array, order: int) -> Any:
    """The derivative of an order of the normal density, over its exponential."""
    polynomial = np.polynomial.hermite_e.hermeval(z, [0.0] * order + [1.0])
    return (-1.0) ** order * polynomial / math.sqrt(2.0 * math.pi)


def _derivative_factor(df: Array, w: Array, order: int) -> Any:
    """The derivative of an order in df of the density of s, over the density: by its score."""
    psi, half = scipy_special("polygamma").polygamma, 0.5 * df
    score = 0.5 * (log_minus_digamma_at(half, half) + _log_minus_square(w))

    def cumulant(i: int, _: int) -> Any:
        power = (-1.0) ** i * math.factorial(i - 2) / half ** (i - 1.0)
        return 0.5**i * (power - psi(i - 1, half))

    return evaluated(bell_polynomial(order, 0, cumulant), score)


_TERMS = 40


def _near_normal(
    df: Array, nc: Array, t: Array, shift: Array, *, order: int, slope: int, power: int
) -> Any:
    """The derivative in a large df, by the Taylor series in s - 1.

    Of it, a constant and a multiple of s*s - 1 have the same mean for every df: without them nothing cancels.
    """
    z = t - nc
    normal = np.exp(-0.5 * z * z)
    series = [
        _hermite(z, k - 1) * normal if k else scipy_special("ndtr").ndtr(z)
        for k in range(slope, slope + _TERMS)
    ]
    scaled = [c * t**k / math.factorial(k) for k, c in enumerate(series)]
    terms = [
        sum(math.comb(power, j) * scaled[k - j] for j in range(min(power, k) + 1))
        for k in range(_TERMS)
    ]
    terms[2] = terms[2] - 0.5 * terms[1]
    nodes, weights = half_line_rule()
    total: Any = 0.0
    for direction in (-1.0, 1.0):
        w = direction * nodes / np.sqrt(df)
        move, value = np.expm1(w), 0.0
        for term in terms[:1:-1]:
            value = value * move + term
        value = value * move * move * _derivative_factor(df, w, order)
        total = total + np.sum(weights * np.exp(_log_density(df, w)) * value, axis=0)
    return np.exp(shift) * _constant(df) * total / np.sqrt(df)


def _log_minus_square(w: Array) -> Any:
    """log(s*s) - s*s + 1 for w = log(s)."""
    rise, near = np.expm1(2.0 * w), np.abs(w) < 0.1
    return np.where(near, log1p_minus(np.where(near, rise, 0.0)), 2.0 * w - rise)


def _log_density(df: Array, w: Array) -> Any:
    """The logarithm of the density of log(s), but for a constant."""
    return 0.5 * df * _log_minus_square(w)


def _constant(df: Array) -> Any:
    return 2.0 * gamma_log_density(0.5 * df, 0.5 * df)


def shift_of_largest(df: Array, nc: Array, t: Array, *, slope: int, power: int) -> Any:
    """The shift with which the largest value of the integrand is about 1."""
    with np.errstate(all="ignore"):
        mode = _log_mode(df, nc, t, slope, power)
        z = t * np.exp(mode) - nc
        normal = scipy_special("log_ndtr").log_ndtr(z) if slope == 0 else -0.5 * z * z
        found = -(normal + power * mode + _log_density(df, mode))
        return np.where(np.isfinite(found), found, 0.0)[()]
