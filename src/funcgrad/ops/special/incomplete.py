"""Incomplete gamma and beta functions in all arguments, and their inverses.

The derivatives in the shape parameters are incomplete integrals of logarithms, each an operation whose
derivatives are integrals of the same kind: `incomplete_moments` computes them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special import gamma_numerics, incomplete_moments
from funcgrad.ops.special.polygamma import polygamma
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.ops.special.special_function import (
    derivative_family,
    inverse_partials,
    numeric_function,
    special_function,
)
from funcgrad.typing import Array, FunctionLibrary


# -- densities -----------------------------------------------------------------------------------
def _gamma_density(a: Array, x: Array) -> Any:
    inside = (x > 0) & (x < np.inf)
    value = gamma_numerics.gamma_log_density(a, np.where(inside, x, 1.0), -1)

    def at_ends() -> Any:
        infinite = (a < 1) & (a > 0)
        edge = np.where(infinite, np.inf, np.where(a == 1, 1.0, 0.0))
        return np.where(x == np.inf, 0.0, np.where(x == 0, edge, np.nan))

    return gamma_numerics.where_taken(inside, lambda: value, at_ends)


def _times_log(z: Array, deviation: Array) -> Any:
    """A density times a logarithm, which is infinite at the ends: 0 where the density is."""
    return np.where(z == 0, 0.0, z * deviation)


def _gamma_density_in_shape(z: Array, a: Array, x: Array) -> Any:
    """At a shape of 0, where the logarithm is infinite, by the density of a + 1, times a/x."""
    none = (a == 0) & (x > 0) & (x < np.inf)
    b, t = np.where(none, a, 0.0) + 1.0, np.where(none, x, 1.0)
    start = gamma_density(b, t) * (1.0 + (b - 1.0) * gamma_deviation(b, t)) / t
    return np.where(none, start, _times_log(z, gamma_deviation(a, x)))


def _gamma_density_slope(z: Array, a: Array, x: Array) -> Any:
    at_zero = gamma_density(a - 1.0, x) - z
    return np.where(x == 0, at_zero, z * (a - 1.0 - x) / np.where(x == 0, 1.0, x))


gamma_deviation: Op = numeric_function(
    "gamma_deviation",
    gamma_numerics.log_minus_digamma_at,
    lambda z, a, x: -polygamma(1, a),
    lambda z, a, x: 1.0 / x,
    mpmath=lambda mp, a, x: mp.log(x) - mp.digamma(a),
)
gamma_density: Op = numeric_function(
    "gamma_density",
    _gamma_density,
    _gamma_density_in_shape,
    _gamma_density_slope,
    mpmath=lambda mp, a, x: x ** (a - 1) * mp.exp(-x) * mp.rgamma(a),
)


def _beta_density(a: Array, b: Array, x: Array) -> Any:
    inside = (x > 0) & (x < 1)
    t = np.where(inside, x, 0.5)
    value = gamma_numerics.beta_log_density(a, b, t, 1.0 - t) / (t * (1.0 - t))
    tiny = t < 1e-100
    if np.any(tiny):
        special = scipy_special("betainc")
        log = special.xlogy(a - 1.0, np.where(tiny, t, 1.0)) - special.betaln(a, b)
        value = np.where(tiny, np.exp(log), value)

    def at_ends() -> Any:
        first, second = np.where(x == 0, a, b), np.where(x == 0, b, a)
        edge = np.where(first == 1, second, np.where((first < 1) & (first > 0), np.inf, 0.0))
        return np.where((x == 0) | (x == 1), edge, np.nan)

    return gamma_numerics.where_taken(inside, lambda: value, at_ends)


def _beta_density_in_shape(z: Array, a: Array, b: Array, x: Array, y: Array) -> Any:
    """At a shape of 0 by the density of a + 1, times a/(a + b)/x, as that of the gamma distribution."""
    none = (a == 0) & (b > 0) & (x > 0) & (y > 0)
    c, d = np.where(none, a, 0.0), np.where(none, b, 1.0)
    t, s, total = np.where(none, x, 0.5), np.where(none, y, 0.5), c + d
    moved = d / total + c * beta_deviation(c + 1.0, d, t, s)
    start = beta_density(c + 1.0, d, t) * moved / (total * t)
    return np.where(none, start, _times_log(z, beta_deviation(a, b, x, y)))


def _beta_density_slope(z: Array, a: Array, b: Array, x: Array) -> Any:
    end = (x == 0) | (x == 1)
    t = np.where(end, 0.5, x)
    inside = z * ((a - 1.0) * (1.0 - t) - (b - 1.0) * t) / (t * (1.0 - t))
    limit = (a + b - 1.0) * (beta_density(a - 1.0, b, x) - beta_density(a, b - 1.0, x))
    limit = np.where(np.isinf(z), np.where(x == 0, -z, z), limit)
    return np.where(end, limit, inside)


beta_deviation: Op = numeric_function(
    "beta_deviation",
    gamma_numerics.beta_deviation,
    lambda z, a, b, x, y: polygamma(1, a + b) - polygamma(1, a),
    lambda z, a, b, x, y: polygamma(1, a + b),
    lambda z, a, b, x, y: 1.0 / x,
    # y is 1 - x, given for its digits: the value is a function of x alone.
    lambda z, a, b, x, y: np.zeros_like(y),
    mpmath=lambda mp, a, b, x, y: mp.log(x) - mp.digamma(a) + mp.digamma(a + b),
)
beta_density: Op = numeric_function(
    "beta_density",
    _beta_density,
    lambda z, a, b, x: _beta_density_in_shape(z, a, b, x, 1.0 - x),
    lambda z, a, b, x: _beta_density_in_shape(z, b, a, 1.0 - x, x),
    _beta_density_slope,
    mpmath=lambda mp, a, b, x: x ** (a - 1) * (1 - x) ** (b - 1) / mp.beta(a, b),
)


# -- moments -------------------------------------------------------------------------------------
def _gamma_moment_a(z: Array, a: Array, x: Array, *, order: int, upper: bool) -> Any:
    def slope(upper: bool) -> Any:
        rest = order * polygamma(1, a) * gamma_moment(a, x, order - 1, upper)
        return gamma_moment(a, x, order + 1, upper) - rest

    if order != 1:
        return slope(upper)
    # The complete moment is 0: on the side of the mean with the smaller moments nothing cancels.
    below = gamma_deviation(a, x) <= 0
    return np.where(below != upper, slope(upper), -slope(not upper))


def _gamma_moment_x(z: Array, a: Array, x: Array, *, order: int, upper: bool) -> Any:
    slope = gamma_density(a, x) * gamma_deviation(a, x) ** order
    return -slope if upper else slope


def _mp_gamma_moment(mp: FunctionLibrary, a: Array, x: Array, order: int, upper: bool) -> Any:
    """By the recurrence of the edge in the shape, with numerical derivatives of the integral."""

    def moment(a: Array, x: Array, order: int) -> Any:
        if order == 0:
            return mp.gammainc(a, x, regularized=True) if upper else _mp_gammainc(mp, a, x)
        slope = mp.diff(lambda a: moment(a, x, order - 1), a)
        rest = (order - 1) * mp.psi(1, a) * moment(a, x, order - 2) if order > 1 else 0
        return slope + rest

    return np.frompyfunc(lambda a, x: moment(a, x, order), 2, 1)(a, x)


def _mp_gammainc(mp: FunctionLibrary, a: Array, x: Array) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


gamma_moment_op: Op = derivative_family(
    "gamma_moment",
    incomplete_moments.gamma_log_moment,
    _gamma_moment_a,
    _gamma_moment_x,
    mpmath=_mp_gamma_moment,
)


def gamma_moment(a: Array, x: Array, order: int, upper: bool) -> Any:
    """The integral of the gamma density times (log(t) - digamma(a))**order below x, or above it."""
    if order == 0:
        return gammaincc(a, x) if upper else gammainc(a, x)
    return gamma_moment_op(a, x, order=order, upper=upper)


def _beta_moment_in(place: int) -> Any:
    """In a shape: the power of its own logarithm rises, and the means of both logarithms move."""

    def slope_in(
        z: Array, a: Array, b: Array, x: Array, *, orders: tuple[int, int], upper: bool
    ) -> Any:
        joint = polygamma(1, a + b)
        own = joint - polygamma(1, b if place else a)
        up = (orders[0] + (place == 0), orders[1] + (place == 1))

        def slope(upper: bool) -> Any:
            total = beta_moment(a, b, x, up, upper)
            for k in (0, 1):
                if orders[k]:
                    down = (orders[0] - (k == 0), orders[1] - (k == 1))
                    moved = own if k == place else joint
                    total = total + orders[k] * moved * beta_moment(a, b, x, down, upper)
            return total

        if sum(orders) != 1:
            return slope(upper)
        # The complete moment is 0: of two parts, the one with less probability does not cancel.
        below = betainc(a, b, x) < 0.5
        return np.where(below != upper, slope(upper), -slope(not upper))

    return slope_in


def _beta_moment_x(
    z: Array, a: Array, b: Array, x: Array, *, orders: tuple[int, int], upper: bool
) -> Any:
    first = beta_deviation(a, b, x, 1.0 - x) ** orders[0]
    slope = beta_density(a, b, x) * first * beta_deviation(b, a, 1.0 - x, x) ** orders[1]
    return -slope if upper else slope


def _mp_beta_moment(
    mp: FunctionLibrary, a: Array, b: Array, x: Array, orders: tuple[int, int], upper: bool
) -> Any:
    """By the recurrences of the edges in the shapes, with numerical derivatives of the integral."""

    def moment(a: Array, b: Array, x: Array, first: int, second: int) -> Any:
        if first < 0 or second < 0:
            return mp.mpf(0)
        if first == second == 0:
            ends = (x, 1) if upper else (0, x)
            return mp.betainc(a, b, *ends, regularized=True)
        joint = mp.psi(1, a + b)
        if first:
            slope = mp.diff(lambda a: moment(a, b, x, first - 1, second), a)
            slope -= second * joint * moment(a, b, x, first - 1, second - 1)
            own = (first - 1) * (mp.psi(1, a) - joint)
            return slope + own * moment(a, b, x, first - 2, second)
        slope = mp.diff(lambda b: moment(a, b, x, 0, second - 1), b)
        own = (second - 1) * (mp.psi(1, b) - joint)
        return slope + own * moment(a, b, x, 0, second - 2)

    return np.frompyfunc(lambda a, b, x: moment(a, b, x, *orders), 3, 1)(a, b, x)


beta_moment_op: Op = derivative_family(
    "beta_moment",
    incomplete_moments.beta_log_moment,
    _beta_moment_in(0),
    _beta_moment_in(1),
    _beta_moment_x,
    mpmath=_mp_beta_moment,
)


def beta_moment(a: Array, b: Array, x: Array, orders: tuple[int, int], upper: bool) -> Any:
    """The integral of the beta density times powers of log(t) and log(1 - t), less their means."""
    if orders == (0, 0):
        return betaincc(a, b, x) if upper else betainc(a, b, x)
    return beta_moment_op(a, b, x, orders=orders, upper=upper)


# -- the functions -------------------------------------------------------------------------------
def gamma_shape_slope(a: Array, x: Array, upper: bool) -> Any:
    """The derivative of `gammainc` or `gammaincc` in a; below 1 by the function of a + 1 (DLMF 8.8.5)."""
    small = (a >= 0) & (a < 1)
    raised = np.where(small, a + 1.0, a)
    inside = small & (x > 0) & (x < np.inf)
    b, t = np.where(inside, raised, 2.0), np.where(inside, x, 1.0)
    step = np.where(inside, gamma_density(b, t) * gamma_deviation(b, t), 0.0)
    return gamma_moment(raised, x, 1, upper) + (-step if upper else step)


_TINY_SHAPE = 1e-2


def beta_shape_slope(a: Array, b: Array, x: Array, place: int, upper: bool) -> Any:
    """The derivative of `betainc` or `betaincc` in a shape; for a tiny one, by the functions of that shape
    plus 1 (DLMF 8.17.20 and 21). For a tiny b, these would cancel if a were large."""
    y = 1.0 - x
    own, other = (b, a) if place else (a, b)
    tiny = (own >= 0) & (own < _TINY_SHAPE) & (other > 0)
    if place:
        tiny = tiny & (a < 100.0)
    raised = np.where(tiny, own + 1.0, own)
    shapes = (other, raised) if place else (raised, other)
    inside = tiny & (x > 0) & (x < 1)
    t, s = np.where(inside, x, 0.5), np.where(inside, y, 0.5)
    near, far = (s, t) if place else (t, s)
    rise = beta_density(*shapes, t) * far / (a + b)
    step = rise * (beta_deviation(raised, other, near, far) - 1.0 / (a + b))
    step = np.where(inside, step if (place == 1) == upper else -step, 0.0)
    moment: Any = beta_moment
    return moment(*shapes, x, orders=(1 - place, place), upper=upper) + step


gammainc: Op = special_function(
    "gammainc",
    lambda z, a, x: gamma_shape_slope(a, x, False),
    lambda z, a, x: gamma_density(a, x),
    mpmath=_mp_gammainc,
    sympy=lambda sp, a, x: sp.lowergamma(a, x) / sp.gamma(a),
    jax="gammainc",
    torch="gammainc",
)
gammaincc: Op = special_function(
    "gammaincc",
    lambda z, a, x: gamma_shape_slope(a, x, True),
    lambda z, a, x: -gamma_density(a, x),
    mpmath=lambda mp, a, x: mp.gammainc(a, x, regularized=True),
    sympy=lambda sp, a, x: sp.uppergamma(a, x) / sp.gamma(a),
    jax="gammaincc",
    torch="gammaincc",
)
gammaincinv: Op = special_function("gammaincinv", *inverse_partials(lambda: gammainc, 2, 1))
gammainccinv: Op = special_function("gammainccinv", *inverse_partials(lambda: gammaincc, 2, 1))
betainc: Op = special_function(
    "betainc",
    lambda z, a, b, x: beta_shape_slope(a, b, x, 0, False),
    lambda z, a, b, x: beta_shape_slope(a, b, x, 1, False),
    lambda z, a, b, x: beta_density(a, b, x),
    mpmath=lambda mp, a, b, x: mp.betainc(a, b, 0, x, regularized=True),
    jax="betainc",
)
betaincc: Op = special_function(
    "betaincc",
    lambda z, a, b, x: beta_shape_slope(a, b, x, 0, True),
    lambda z, a, b, x: beta_shape_slope(a, b, x, 1, True),
    lambda z, a, b, x: -beta_density(a, b, x),
    mpmath=lambda mp, a, b, x: mp.betainc(a, b, x, 1, regularized=True),
)


def _beta_inverse_partials(upper: bool) -> list[Callable[..., Any]]:
    """Near 1, where the inverse x has few digits of 1 - x, those of 1 - x, the mirrored inverse."""
    usual = inverse_partials(lambda: betaincc if upper else betainc, 3, 2)
    mirrored = inverse_partials(lambda: betainc if upper else betaincc, 3, 2)

    def rule(place: int, z: Array, a: Array, b: Array, y: Array) -> Any:
        near = z > 0.5
        rest = (betaincinv if upper else betainccinv)(b, a, y)
        below = usual[place](np.where(near, 0.5, z), a, b, y)
        above = mirrored[(1, 0, 2)[place]](np.where(near, rest, 0.5), b, a, y)
        return np.where(near, -above, below)

    return [partial(rule, place) for place in range(3)]


betaincinv: Op = special_function("betaincinv", *_beta_inverse_partials(False))
betainccinv: Op = special_function("betainccinv", *_beta_inverse_partials(True))
btdtria: Op = special_function("btdtria", *inverse_partials(lambda: betainc, 3, 0))
btdtrib: Op = special_function("btdtrib", *inverse_partials(lambda: betainc, 3, 1))
