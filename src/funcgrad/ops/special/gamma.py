"""The gamma function, quotients of it, and differences of the digamma function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special import gamma_numerics
from funcgrad.ops.special.polygamma import digamma, gammaln, polygamma
from funcgrad.ops.special.special_function import (
    by_mpmath,
    derivative_family,
    numeric_function,
    special_function,
)
from funcgrad.source import value_error
from funcgrad.typing import Array

complex_digamma: Op = special_function(
    "complex_digamma", by_mpmath("complex_digamma", 0), ufunc="psi", mpmath="digamma"
)


def any_digamma(x: Array) -> Any:
    """`digamma` of real or of complex numbers."""
    return complex_digamma(x) if np.iscomplexobj(x) else digamma(x)


digamma_difference: Op = numeric_function(
    "digamma_difference",
    gamma_numerics.digamma_difference,
    lambda z, x, d: polygamma_difference(x, d, order=1),
    lambda z, x, d: polygamma(1, x + d),
    mpmath=lambda mp, x, d: mp.digamma(x + d) - mp.digamma(x),
)


polygamma_difference: Op = derivative_family(
    "polygamma_difference",
    gamma_numerics.polygamma_difference,
    lambda z, x, d, *, order: polygamma_difference(x, d, order=order + 1),
    lambda z, x, d, *, order: polygamma(order + 1, x + d),
    mpmath=lambda mp, x, d, *, order: np.frompyfunc(
        lambda x, d: mp.psi(order, x + d) - mp.psi(order, x), 2, 1
    )(x, d),
)

gamma: Op = special_function(
    "gamma",
    lambda z, x: z * any_digamma(x),
    mpmath="gamma",
    sympy="gamma",
    jax="gamma",
    latex=r"\Gamma",
)
loggamma: Op = special_function(
    "loggamma", lambda z, x: any_digamma(x), mpmath="loggamma", sympy="loggamma"
)
gammasgn: Op = special_function("gammasgn", None, mpmath=lambda mp, x: mp.sign(mp.gamma(x)))
rgamma: Op = special_function(
    "rgamma", lambda z, x: _rgamma_slope(z, x), mpmath="rgamma", sympy=lambda sp, x: 1 / sp.gamma(x)
)


def _rgamma_slope(z: Array, x: Array) -> Any:
    """-z*digamma(x); left of 1/2, where digamma has poles, the derivative of gamma(1 - x)*sin(pi*x)/pi."""
    if np.iscomplexobj(x):
        return -z * complex_digamma(x)
    left = x < 0.5
    y, whole = np.where(left, x, 0.0), np.round(np.where(left, x, 0.0))
    angle, parity = math.pi * (y - whole), 1.0 - 2.0 * (whole % 2.0)
    turned = np.cos(angle) - digamma(1.0 - y) * np.sin(angle) / math.pi
    right = np.where(left | (x == np.inf), 0.5, x)
    return np.where(left, parity * gamma(1.0 - y) * turned, -z * digamma(right))


def _turn(x: Array) -> tuple[Any, Any]:
    """sin(pi*x) and cos(pi*x), exact at integers."""
    whole = np.round(x)
    parity, angle = 1.0 - 2.0 * (whole % 2.0), math.pi * (x - whole)
    return parity * np.sin(angle), parity * np.cos(angle)


def _binom_slope_at_zero(z: Array, n: Array, k: Array, argument: int) -> Any:
    """The derivative where 1/gamma(n - k + 1) or 1/gamma(k + 1) is 0, for n below -1."""
    first, second = rgamma(k + 1.0), rgamma(n - k + 1.0)
    slope = gamma(n + 1.0) * first * _rgamma_slope(second, n - k + 1.0)
    if argument == 0:
        return slope + z * digamma(n + 1.0)
    return gamma(n + 1.0) * second * _rgamma_slope(first, k + 1.0) - slope


def _binom_slope(z: Array, n: Array, k: Array, argument: int) -> Any:
    """By digamma; left of k = 0 and right of k = n, where it has poles, by its reflection (DLMF 5.5.4)."""
    low = (n > -1.0) & (k < -0.75)
    high = (n > -1.0) & (n - k < -0.75)
    chosen = low | high if argument else high
    away = np.where(chosen, np.where(low, -k, k - n), 1.0)
    top, count = np.where(chosen, n, 0.0), np.where(chosen, 0.0, k)
    rest = np.where(chosen, 1.0, n)
    zero = (z == 0) & (n < -1.0)
    at_zero = _binom_slope_at_zero(z, np.where(zero, n, 0.5), np.where(zero, k, 0.5), argument)
    turned = _turn(away)[1] * beta(top + 1.0, away)
    if argument == 0:
        usual = digamma_difference(rest - count + 1.0, count)
        usual = np.where(zero, at_zero, z * usual)
        return np.where(chosen, z * digamma_difference(away, top + 1.0 - away) - turned, usual)
    usual = z * digamma_difference(count + 1.0, rest - 2.0 * count)
    reflected = z * digamma_difference(away, top + 1.0) - turned
    found = np.where(chosen, np.where(low, reflected, -reflected), usual)
    return np.where(zero, at_zero, found)


def _poch_slope(z: Array, x: Array, m: Array) -> Any:
    """The derivative in x by digamma; where it has poles, at x < 1/4, by the derivative of 1/gamma, or by
    the reflection of digamma where the poles of the two gamma functions may coincide (DLMF 5.5.4).
    """
    left = (x < 0.25) & (x > -170.0) & (m > -170.0)
    over, under = left & (x + m >= 0.5), left & (x + m < 0.5)
    a, b = np.where(over, x, 0.0), np.where(over, m, 1.0)
    across = z * digamma(a + b) + gamma(a + b) * _rgamma_slope(rgamma(a), a)
    c, d = np.where(under, x, 0.0), np.where(under, m, 0.25)
    # At an integer d the sine is 0, but not its derivative in d; if c is one, too, the quotient is 0/0.
    both = (d == np.round(d)) & (c == np.round(c))
    d_turned = np.where(both, 0.25, d)
    apart = gamma(c + d_turned) * gamma(1.0 - c) * _turn(d_turned)[0] / _turn(c + d_turned)[0]
    below = z * digamma_difference(1.0 - c, -d) + np.where(both, 0.0, apart)
    e, f = np.where(left, 1.0, x), np.where(left, 1.0, m)
    return np.where(over, across, np.where(under, below, z * digamma_difference(e, f)))


# -- quotients -----------------------------------------------------------------------------------
def _beta_slope(z: Array, a: Array, b: Array) -> Any:
    """The derivative in a; at the zeros, where a + b is 0 or a negative integer, that of 1/gamma(a + b)."""
    zero = (z == 0) & (a + b <= 0)
    c, d = np.where(zero, a, 0.5), np.where(zero, b, 0.5)
    across = gamma(c) * gamma(d) * _rgamma_slope(rgamma(c + d), c + d) + z * digamma(c)
    return np.where(zero, across, -z * digamma_difference(np.where(zero, 1.0, a), b))


beta: Op = special_function(
    "beta",
    lambda z, a, b: _beta_slope(z, a, b),
    lambda z, a, b: _beta_slope(z, b, a),
    mpmath="beta",
    sympy="beta",
    jax="beta",
    latex=r"\mathrm{B}",
)
betaln: Op = special_function(
    "betaln",
    lambda z, a, b: -digamma_difference(a, b),
    lambda z, a, b: -digamma_difference(b, a),
    mpmath=lambda mp, a, b: mp.log(abs(mp.beta(a, b))),
    sympy=lambda sp, a, b: sp.log(sp.Abs(sp.beta(a, b))),
    jax="betaln",
)
binom: Op = special_function(
    "binom",
    lambda z, n, k: _binom_slope(z, n, k, 0),
    lambda z, n, k: _binom_slope(z, n, k, 1),
    mpmath="binomial",
    sympy="binomial",
)
poch: Op = special_function(
    "poch",
    lambda z, x, m: _poch_slope(z, x, m),
    lambda z, x, m: z * digamma(x + m),
    mpmath="rf",
    sympy="rf",
    jax="poch",
)


def multigammaln(a: Array, d: int) -> Any:
    """The logarithm of the multivariate gamma function. As `scipy.special.multigammaln`.

    Raises ValueError if d is not a positive integer.
    """
    if int(d) != d or d < 1:
        raise value_error(f"multigammaln: expected a dimension of 1 or more, but got {d!r}")
    total: Any = 0.25 * d * (d - 1) * math.log(math.pi)
    for j in range(int(d)):
        total = total + gammaln(a - 0.5 * j)
    return total


# -- as SciPy writes them in Python ----------------------------------------------------------------
def factorial(n: Array, exact: bool = False, extend: str = "zero") -> Any:
    """The gamma function at n + 1, and 0 below 0. As `scipy.special.factorial`, NaN at the pole -1."""
    found = np.where(np.equal(n, -1), math.nan, gamma(n + 1.0))
    return found if extend == "complex" else np.where(n < 0, 0.0, found)


def comb(N: Array, k: Array, *, exact: bool = False, repetition: bool = False) -> Any:
    """The number of ways to choose k of N. As `scipy.special.comb`."""
    top = N + k - 1 if repetition else N
    return np.where((k <= N) & (N >= 0) & (k >= 0) | repetition, binom(top, k), 0.0)


def perm(N: Array, k: Array, exact: bool = False) -> Any:
    """The number of ways to arrange k of N. As `scipy.special.perm`."""
    return np.where((k <= N) & (N >= 0) & (k >= 0), poch(N - k + 1.0, k), 0.0)
