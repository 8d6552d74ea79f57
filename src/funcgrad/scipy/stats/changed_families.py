"""Continuous distributions that are others in a changed variable."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from funcgrad.ops.elementwise.exponential import softplus
from funcgrad.ops.special.f_distribution import fdtr_density
from funcgrad.ops.special.gamma_numerics import log1p_square
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.stats.base_families import expon, gamma, laplace, logistic, norm
from funcgrad.scipy.stats.log_tails import log_betainc, only_where
from funcgrad.scipy.stats.standard import (
    Formula,
    Standard,
    changed,
    half_line,
    log1mexp,
    log_where_small,
    mirrored,
    stated,
    unit_interval,
    whole_line,
)
from funcgrad.typing import Array


def _own(*shapes: Array) -> tuple[Array, ...]:
    """The shape parameters of a base distribution that are those of the new one."""
    return shapes


def _positive_scale(a: Array, b: Array) -> Any:
    """The condition on shapes of which only the second must be positive."""
    return b > 0


lognorm = changed(
    norm,
    to=lambda x, s: np.log(x) / s,
    log_slope=lambda x, s: -np.log(x) - np.log(s),
    back=lambda y, s: np.exp(s * y),
)
gibrat = changed(
    norm, to=lambda x: np.log(x), log_slope=lambda x: -np.log(x), back=lambda y: np.exp(y)
)
gumbel_l = changed(
    expon,
    to=lambda x: np.exp(x),
    log_slope=lambda x: x,
    back=np.log,
    support=whole_line,
    log_to=lambda x: x,
)
weibull_min = changed(
    expon,
    to=lambda x, c: x**c,
    log_slope=lambda x, c: np.log(c) + special.xlogy(c - 1, x),
    back=lambda y, c: y ** (1 / c),
    log_to=lambda x, c: c * np.log(x),
)
weibull_max = mirrored(weibull_min, lambda c: (-math.inf, 0.0))


def _of_half_square(base: Standard, **options: Any) -> Standard:
    """The distribution of x such that x*x/2 has the base distribution."""
    return changed(
        base,
        to=lambda x, *own: x * x / 2,
        log_slope=lambda x, *own: np.log(x),
        back=lambda y, *own: np.sqrt(2 * y),
        log_to=lambda x, *own: 2 * np.log(x) - math.log(2),
        back_log=lambda log_y, *own: np.exp((log_y + math.log(2)) / 2),
        **options,
    )


def _of_log(base: Standard, sign: float = 1.0, **options: Any) -> Standard:
    """The distribution of x with shape c, such that ``sign*c*log(x)`` has the base distribution."""
    return changed(
        base,
        to=lambda x, c: sign * c * np.log(x),
        log_slope=lambda x, c: np.log(c) - np.log(x),
        back=lambda y, c: np.exp(sign * y / c),
        decreasing=sign < 0,
        **options,
    )


rayleigh = _of_half_square(expon)
pareto = _of_log(expon, support=lambda b: (1.0, math.inf))
powerlaw = _of_log(
    expon,
    -1.0,
    support=unit_interval,
    # At 0 it is that of the uniform distribution for c = 1; for c < 1, where it has a pole, SciPy has 0.
    density=lambda x, c: np.where(
        (x == 0) & (c < 1), -math.inf, np.log(c) + special.xlogy(c - 1, x)
    ),
    # The slope of the power may have digits where the power underflows.
    cdf=lambda x, c: x**c,
    sf=lambda x, c: np.where(x < 0.5, 1 - x**c, -np.expm1(c * np.log(x))),
    logsf=lambda x, c: np.where(x < 0.5, np.log1p(-(x**c)), log1mexp(-c * np.log(x))),
)
lomax = changed(
    expon,
    to=lambda x, c: c * np.log1p(x),
    log_slope=lambda x, c: np.log(c) - np.log1p(x),
    back=lambda y, c: np.expm1(y / c),
)
gompertz = changed(
    expon,
    to=lambda x, c: c * np.expm1(x),
    log_slope=lambda x, c: np.log(c) + x,
    back=lambda y, c: np.log1p(y / c),
)
maxwell = _of_half_square(
    gamma,
    shapes=lambda: (np.float64(1.5),),
    density=lambda x: math.log(2 / math.pi) / 2 + 2 * np.log(x) - x * x / 2,
)
# The densities of these are written out, since they may be positive at 0, where the slope of ``to`` is not.
chi = _of_half_square(
    gamma,
    shapes=lambda df: (df / 2,),
    density=lambda x, df: (
        math.log(2)
        - 0.5 * math.log(2) * df
        - gammaln(0.5 * df)
        + special.xlogy(df - 1.0, x)
        - 0.5 * x * x
    ),
)
chi2 = changed(
    gamma,
    to=lambda x, df: x / 2,
    log_slope=lambda x, df: -math.log(2),
    back=lambda y, df: 2 * y,
    shapes=lambda df: (df / 2,),
)
nakagami = changed(
    gamma,
    to=lambda x, nu: nu * x * x,
    log_slope=lambda x, nu: np.log(2 * nu) + np.log(x),
    back=lambda y, nu: np.sqrt(y / nu),
    shapes=_own,
    log_to=lambda x, nu: np.log(nu) + 2 * np.log(x),
    back_log=lambda log_y, nu: np.exp((log_y - np.log(nu)) / 2),
    density=lambda x, nu: (
        math.log(2)
        + special.xlogy(nu, nu)
        - gammaln(nu)
        + special.xlogy(2 * nu - 1, x)
        - nu * x * x
    ),
)
# The densities of these are written out: the slope of ``to`` underflows far out.
invgamma = changed(
    gamma,
    to=lambda x, a: 1 / x,
    log_slope=lambda x, a: -2 * np.log(x),
    back=lambda y, a: 1 / y,
    shapes=_own,
    decreasing=True,
    log_to=lambda x, a: -np.log(x),
    density=lambda x, a: -(a + 1) * np.log(x) - gammaln(a) - 1 / x,
)
levy = changed(
    gamma,
    to=lambda x: 1 / (2 * x),
    log_slope=lambda x: -math.log(2) - 2 * np.log(x),
    back=lambda y: 1 / (2 * y),
    shapes=lambda: (np.float64(0.5),),
    decreasing=True,
    log_to=lambda x: -np.log(x) - math.log(2),
    density=lambda x: -math.log(2 * math.pi) / 2 - 1.5 * np.log(x) - 1 / (2 * x),
)
loggamma = changed(
    gamma,
    to=lambda x, c: np.exp(x),
    log_slope=lambda x, c: x,
    back=lambda y, c: np.log(y),
    shapes=_own,
    support=whole_line,
    log_to=lambda x, c: x,
    back_log=lambda log_y, c: log_y,
    density=lambda x, c: c * x - np.exp(x) - gammaln(c),
)


def log1p_power(x: Array, c: Array) -> Any:
    """log(1 + x**c), also where the power overflows."""
    low, high = np.where(x <= 1, x, 1.0), np.where(x <= 1, 1.0, x)
    return np.where(x <= 1, np.log1p(low**c), c * np.log(high) + np.log1p(high**-c))


fisk = _of_log(
    logistic,
    density=lambda x, c: np.log(c) + special.xlogy(c - 1, x) - 2 * log1p_power(x, c),
)
loglaplace = _of_log(
    laplace,
    density=lambda x, c: np.log(c / 2) + special.xlogy(-c * np.sign(x - 1) - 1, x),
    cdf=lambda x, c: np.where(x < 1, x**c / 2, 1 - x**-c / 2),
    sf=lambda x, c: np.where(x < 1, 1 - x**c / 2, x**-c / 2),
    logcdf=lambda x, c: np.where(x < 1, c * np.log(x) - math.log(2), np.log1p(-(x**-c) / 2)),
    logsf=lambda x, c: np.where(x < 1, np.log1p(-(x**c) / 2), -c * np.log(x) - math.log(2)),
)
johnsonsu = changed(
    norm,
    to=lambda x, a, b: a + b * np.arcsinh(x),
    log_slope=lambda x, a, b: np.log(b) - log1p_square(x) / 2,
    back=lambda y, a, b: np.sinh((y - a) / b),
    support=whole_line,
    valid=_positive_scale,
)
johnsonsb = changed(
    norm,
    to=lambda x, a, b: a + b * special.logit(x),
    log_slope=lambda x, a, b: np.log(b) - np.log(x) - np.log1p(-x),
    back=lambda y, a, b: special.expit((y - a) / b),
    support=unit_interval,
    valid=_positive_scale,
)
fatiguelife = changed(
    norm,
    to=lambda x, c: (x - 1) / (c * np.sqrt(x)),
    log_slope=lambda x, c: np.log1p(x) - np.log(2 * c) - 1.5 * np.log(x),
    back=lambda y, c: np.exp(2 * np.arcsinh(c * y / 2)),
)


def _odds_density(x: Array, a: Array, b: Array) -> Any:
    """Of a large x by its reciprocal: log(x) - log(1 + x), the slope in a, cancels there."""
    large = x > 1
    low = np.where(large, 1.0, x)
    high = np.where(large, x, 1.0)
    near = special.xlogy(a - 1, low) - special.xlog1py(a + b, low)
    far = -special.xlog1py(a + b, 1 / high) - (b + 1) * np.log(high)
    return np.where(large, far, near) - special.betaln(a, b)


_of_odds = Standard(
    density=_odds_density,
    # x/(1 + x) loses the digits of a large x, and 1/(1 + x) those of a small one.
    cdf=lambda x, a, b: np.where(
        x > 1, special.betaincc(b, a, 1 / (1 + x)), special.betainc(a, b, x / (1 + x))
    ),
    sf=lambda x, a, b: np.where(
        x > 1, special.betainc(b, a, 1 / (1 + x)), special.betaincc(a, b, x / (1 + x))
    ),
    logcdf=lambda x, a, b: log_betainc(a, b, x / (1 + x), 1 / (1 + x)),
    logsf=lambda x, a, b: log_betainc(b, a, 1 / (1 + x), x / (1 + x)),
    support=half_line,
    start=lambda log_x, a, b: a * log_x - np.log(a) - special.betaln(a, b),
    end=lambda log_x, a, b: -b * log_x - np.log(b) - special.betaln(a, b),
)
betaprime = changed(
    _of_odds,
    to=lambda x, a, b: x,
    log_slope=lambda x, a, b: 0.0,
    back=lambda y, a, b: y,
    shapes=lambda a, b: (a, b),
    log_to=lambda x, a, b: np.log(x),
    density=_of_odds.density,
)


_MANY = 100.0
"""Degrees of freedom beyond which a shape and the odds, which move together, nearly cancel in a slope."""


def _of_many(usual: Array, of_f: Formula, x: Array, dfn: Array, dfd: Array) -> Any:
    """A logarithm by operations on the degrees themselves, where one is large: their slopes keep digits."""
    inside = np.logical_and(x > 0, usual > -300.0)
    many = np.logical_and(np.maximum(dfn, dfd) > _MANY, inside)
    # The usual one, which may be -inf with an infinite slope, is chosen outside of the branch.
    found = only_where(many, np.zeros_like(usual), of_f, (1.0, 1.0, 1.0), x, dfn, dfd)
    return np.where(many, found, usual)


def _f_density(x: Array, dfn: Array, dfd: Array) -> Any:
    ratio = dfn / dfd
    near = x < 1 / ratio
    # The logarithm of 1 + ratio*x, for which the slope of ratio*x may overflow.
    small = np.log1p(ratio * np.where(near, x, 0.0))
    log = np.where(near, small, np.log(dfd + dfn * np.where(near, 1.0, x)) - np.log(dfd))
    usual = (
        dfn / 2 * np.log(ratio)
        + special.xlogy(dfn / 2 - 1, x)
        - (dfn + dfd) / 2 * log
        - special.betaln(dfn / 2, dfd / 2)
    )
    return _of_many(usual, lambda x, n, d: np.log(fdtr_density(n, d, x)), x, dfn, dfd)


def _f_log(usual: Formula | None, small: Formula, other: Formula) -> Formula:
    def by_sides(x: Array, n: Array, d: Array) -> Any:
        return log_where_small(small(n, d, x), other(n, d, x))

    return lambda x, dfn, dfd: _of_many(stated(usual)(x, dfn, dfd), by_sides, x, dfn, dfd)


_of_ratio = changed(
    _of_odds,
    to=lambda x, dfn, dfd: dfn * x / dfd,
    log_slope=lambda x, dfn, dfd: np.log(dfn / dfd),
    back=lambda y, dfn, dfd: dfd * y / dfn,
    shapes=lambda dfn, dfd: (dfn / 2, dfd / 2),
    log_to=lambda x, dfn, dfd: np.log(dfn) - np.log(dfd) + np.log(x),
)
f = replace(
    _of_ratio,
    density=_f_density,
    cdf=lambda x, dfn, dfd: special.fdtr(dfn, dfd, x),
    sf=lambda x, dfn, dfd: special.fdtrc(dfn, dfd, x),
    logcdf=_f_log(_of_ratio.logcdf, special.fdtr, special.fdtrc),
    logsf=_f_log(_of_ratio.logsf, special.fdtrc, special.fdtr),
)


# -- Jones and Faddy's skewed distribution -------------------------------------------------------
def _twice_arsinh(x: Array, a: Array, b: Array) -> Any:
    return 2 * np.arcsinh(x / np.sqrt(a + b))


def _jf_density(x: Array, a: Array, b: Array) -> Any:
    w = _twice_arsinh(x, a, b)
    power = a * w - (a + b) * softplus(w) - special.betaln(a, b)
    return power + math.log(2) - np.log(np.hypot(np.sqrt(a + b), x))


jf_skew_t = changed(
    _of_odds,
    to=lambda x, a, b: np.exp(_twice_arsinh(x, a, b)),
    log_slope=lambda x, a, b: 0.0,
    back=lambda y, a, b: np.sqrt(a + b) * np.sinh(np.log(y) / 2),
    shapes=lambda a, b: (a, b),
    support=whole_line,
    log_to=_twice_arsinh,
    density=_jf_density,
)
