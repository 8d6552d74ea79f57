"""The continuous distributions: a row each, some of them another distribution in a changed variable."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from funcgrad.ops.shape import holds_expr
from funcgrad.ops.special.error_functions import skewnorm_cdf
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.stats import base_families, extreme_values
from funcgrad.scipy.stats.base_families import (
    below,
    cauchy,
    expon,
    gamma,
    laplace,
    logistic,
    norm,
    uniform,
)
from funcgrad.scipy.stats.log_tails import (
    log_betainc,
    log_half_ratio,
    t_cdf,
    t_logcdf,
)
from funcgrad.scipy.stats.standard import (
    Standard,
    any_real,
    changed,
    half_line,
    log1mexp,
    symmetric,
    unit_interval,
    whole_line,
)
from funcgrad.typing import Array

_LOG_ROOT_TAU = math.log(2 * math.pi) / 2
_ROOT_TWO = math.sqrt(2)


def _own(*shapes: Array) -> tuple[Array, ...]:
    """The shape parameters of a base distribution that are those of the new one."""
    return shapes


def _positive_scale(a: Array, b: Array) -> Any:
    """The condition on shapes of which only the second must be positive."""
    return b > 0


# -- the normal distribution on a part of the line -----------------------------------------------
def _log_mass(a: Array, b: Array) -> Any:
    """The logarithm of the normal probability of the interval from a to b."""
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    above = special.log_ndtr(high)
    return above + log1mexp(above - special.log_ndtr(low))


def _log_share(part: Array, rest: Array, whole: Array) -> Any:
    """The logarithm of a part of the whole, by the rest where that is the smaller one."""
    small = part < rest
    return np.where(small, part - whole, np.log1p(-np.exp(np.where(small, -1.0, rest - whole))))


truncnorm = Standard(
    density=lambda x, a, b: norm.density(x) - _log_mass(a, b),
    logcdf=lambda x, a, b: _log_share(_log_mass(a, x), _log_mass(x, b), _log_mass(a, b)),
    logsf=lambda x, a, b: _log_share(_log_mass(x, b), _log_mass(a, x), _log_mass(a, b)),
    support=lambda a, b: (a, b),
    valid=lambda a, b: a < b,
)

halfnorm = Standard(
    density=lambda x: norm.density(x) + math.log(2),
    cdf=lambda x: special.erf(x / _ROOT_TWO),
    sf=lambda x: special.erfc(x / _ROOT_TWO),
    logsf=lambda x: special.log_ndtr(-x) + math.log(2),
    ppf=lambda q: _ROOT_TWO * special.erfinv(q),
    isf=lambda q: -special.ndtri(q / 2),
    support=half_line,
)

skewnorm = Standard(
    density=lambda x, a: norm.density(x) + math.log(2) + special.log_ndtr(a * x),
    cdf=skewnorm_cdf,
    sf=lambda x, a: skewnorm_cdf(-x, -a),
    valid=any_real,
)


# -- Wald's distribution -------------------------------------------------------------------------
def _invgauss_parts(x: Array, mu: Array, sign: float) -> Any:
    root, share = np.sqrt(x), x / mu  # mu may be infinite
    first = special.log_ndtr(sign * (share - 1) / root)
    return first, 2 / mu + special.log_ndtr(-(share + 1) / root)


def _invgauss_logcdf(x: Array, mu: Array) -> Any:
    first, second = _invgauss_parts(x, mu, 1.0)
    return first + np.log1p(np.exp(second - first))


def _invgauss_logsf(x: Array, mu: Array) -> Any:
    first, second = _invgauss_parts(x, mu, -1.0)
    return first + log1mexp(first - second)


invgauss = Standard(
    density=lambda x, mu: (
        -_LOG_ROOT_TAU - 1.5 * np.log(x) - (x / mu - 1) ** 2 / (2 * np.abs(x))
    ),  # -0.0
    logcdf=_invgauss_logcdf,
    logsf=_invgauss_logsf,
    support=half_line,
)


# -- piecewise ------------------------------------------------------------------------------------
def _triang_density(x: Array, c: Array) -> Any:
    rising = np.where(c == 0, False, x < c)
    return math.log(2) + np.where(
        rising,
        np.log(x) - np.log(np.where(c == 0, 1.0, c)),
        np.where(x == c, 0.0, np.log1p(-x) - np.log1p(-np.where(c == 1, 0.0, c))),
    )


triang = Standard(
    density=_triang_density,
    cdf=lambda x, c: np.where(
        x < c, x * x / np.where(c == 0, 1.0, c), 1 - (1 - x) ** 2 / np.where(c == 1, 1.0, 1 - c)
    ),
    sf=lambda x, c: np.where(
        x < c, 1 - x * x / np.where(c == 0, 1.0, c), (1 - x) ** 2 / np.where(c == 1, 1.0, 1 - c)
    ),
    ppf=lambda q, c: np.where(q < c, np.sqrt(c * q), 1 - np.sqrt((1 - c) * (1 - q))),
    isf=lambda q, c: np.where(1 - q < c, np.sqrt(c * (1 - q)), 1 - np.sqrt((1 - c) * q)),
    support=unit_interval,
    valid=lambda c: np.logical_and(c >= 0, c <= 1),
)


# -- Student's t ----------------------------------------------------------------------------------
def _t_density(x: Array, df: Array) -> Any:
    power = (df + 1) / 2 * np.log1p(x * x / df)
    return log_half_ratio(df / 2) - _LOG_ROOT_TAU - power


def _or_normal(of_t: Callable[..., Any], normal: Callable[[Array], Any]) -> Callable[..., Any]:
    """A function of Student's t distribution, which is the normal one where df is infinite."""

    def function(x: Array, df: Array) -> Any:
        limit = df == np.inf
        if not holds_expr(limit) and not np.any(limit):
            return of_t(x, df)
        return np.where(limit, normal(x), of_t(x, np.where(limit, 1.0, df)))

    return function


t = symmetric(
    Standard(
        density=_or_normal(_t_density, lambda x: -x * x / 2 - _LOG_ROOT_TAU),
        cdf=_or_normal(t_cdf, special.ndtr),
        logcdf=_or_normal(t_logcdf, special.log_ndtr),
    )
)


# -- on the circle ---------------------------------------------------------------------------------
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


def _vonmises_density(x: Array, kappa: Array) -> Any:
    # At 0, where i0e has a kink, by its series from the right.
    series = np.exp(-kappa) * (1 + kappa * kappa / 4)
    scaled = np.where(kappa == 0, series, special.i0e(kappa))
    return kappa * special.cosm1(x) - np.log(2 * math.pi * scaled)


def _vonmises_center(x: Array, kappa: Array) -> Any:
    """The integral of the density from 0 to x, for x from -pi to pi, by Gauss and Legendre's rule."""
    end = 12 / np.sqrt(np.maximum(kappa, 1e-300))
    reach = np.clip(x, -end, end)
    angles = np.expand_dims(reach, -1) * ((_NODES + 1) / 2)
    values = np.exp(_vonmises_density(angles, np.expand_dims(kappa, -1)))
    return reach * np.sum(values * (_WEIGHTS / 2), axis=-1)


def _vonmises_cdf(x: Array, kappa: Array) -> Any:
    turns = np.round(x / (2 * math.pi))
    off = x - 2 * math.pi * turns
    return turns + 0.5 + _vonmises_center(off, kappa)


vonmises = symmetric(
    Standard(density=_vonmises_density, cdf=_vonmises_cdf, valid=lambda kappa: kappa >= 0)
)


# -- changed variables -----------------------------------------------------------------------------
lognorm = changed(
    norm,
    to=lambda x, s: np.log(x) / s,
    log_slope=lambda x, s: -np.log(x) - np.log(s),
    back=lambda y, s: np.exp(s * y),
)
gumbel_l = changed(
    expon, to=lambda x: np.exp(x), log_slope=lambda x: x, back=np.log, support=whole_line
)
weibull_min = changed(
    expon,
    to=lambda x, c: x**c,
    log_slope=lambda x, c: np.log(c) + special.xlogy(c - 1, x),
    back=lambda y, c: y ** (1 / c),
)
weibull_max = changed(
    weibull_min,
    to=lambda x, c: -x,
    log_slope=lambda x, c: 0.0,
    back=lambda y, c: -y,
    shapes=_own,
    support=lambda c: (-math.inf, 0.0),
    decreasing=True,
)


def _of_half_square(base: Standard, **options: Any) -> Standard:
    """The distribution of x such that x*x/2 has the base distribution."""
    return changed(
        base,
        to=lambda x, *own: x * x / 2,
        log_slope=lambda x, *own: np.log(x),
        back=lambda y, *own: np.sqrt(2 * y),
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
powerlaw = replace(
    _of_log(expon, -1.0, support=unit_interval),
    # At 0 it is that of the uniform distribution for c = 1; for c < 1, where it has a pole, SciPy has 0.
    density=lambda x, c: np.where(
        (x == 0) & (c < 1), -math.inf, np.log(c) + special.xlogy(c - 1, x)
    ),
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
maxwell = _of_half_square(gamma, shapes=lambda: (np.float64(1.5),))
# The densities of these are written out, since they may be positive at 0, where the slope of ``to`` is not.
chi = replace(
    _of_half_square(gamma, shapes=lambda df: (df / 2,)),
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
nakagami = replace(
    changed(
        gamma,
        to=lambda x, nu: nu * x * x,
        log_slope=lambda x, nu: np.log(2 * nu) + np.log(x),
        back=lambda y, nu: np.sqrt(y / nu),
        shapes=_own,
    ),
    density=lambda x, nu: (
        math.log(2)
        + special.xlogy(nu, nu)
        - gammaln(nu)
        + special.xlogy(2 * nu - 1, x)
        - nu * x * x
    ),
)
invgamma = changed(
    gamma,
    to=lambda x, a: 1 / x,
    log_slope=lambda x, a: -2 * np.log(x),
    back=lambda y, a: 1 / y,
    shapes=_own,
    decreasing=True,
)
_TINY = np.finfo(float).tiny
_LOG_TINY = math.log(_TINY)


def _loggamma_quantile(power: Array, log_q: Array, c: Array) -> Any:
    """By the first term of the series of the distribution function where exp(x) underflows."""
    small = power < _TINY
    return np.where(small, (log_q + gammaln(c + 1)) / c, np.log(np.where(small, 1.0, power)))


loggamma = replace(
    changed(
        gamma,
        to=lambda x, c: np.exp(x),
        log_slope=lambda x, c: x,
        back=lambda y, c: np.log(y),
        shapes=_own,
        support=whole_line,
    ),
    density=lambda x, c: c * x - np.exp(x) - gammaln(c),
    cdf=lambda x, c: np.where(
        x < _LOG_TINY, np.exp(c * x - gammaln(c + 1)), special.gammainc(c, np.exp(x))
    ),
    sf=lambda x, c: np.where(
        x < _LOG_TINY, -np.expm1(c * x - gammaln(c + 1)), special.gammaincc(c, np.exp(x))
    ),
    ppf=lambda q, c: _loggamma_quantile(special.gammaincinv(c, q), np.log(q), c),
    isf=lambda q, c: _loggamma_quantile(special.gammainccinv(c, q), np.log1p(-q), c),
)
levy = changed(
    gamma,
    to=lambda x: 1 / (2 * x),
    log_slope=lambda x: -math.log(2) - 2 * np.log(x),
    back=lambda y: 1 / (2 * y),
    shapes=lambda: (np.float64(0.5),),
    decreasing=True,
)


def _log1p_power(x: Array, c: Array) -> Any:
    """log(1 + x**c), also where the power overflows."""
    low, high = np.where(x <= 1, x, 1.0), np.where(x <= 1, 1.0, x)
    return np.where(x <= 1, np.log1p(low**c), c * np.log(high) + np.log1p(high**-c))


fisk = replace(
    _of_log(logistic),
    density=lambda x, c: np.log(c) + special.xlogy(c - 1, x) - 2 * _log1p_power(x, c),
)
loglaplace = replace(
    _of_log(laplace),
    density=lambda x, c: np.log(c / 2) + special.xlogy(-c * np.sign(x - 1) - 1, x),
)
johnsonsu = changed(
    norm,
    to=lambda x, a, b: a + b * np.arcsinh(x),
    log_slope=lambda x, a, b: np.log(b) - np.log1p(x * x) / 2,
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
    back=lambda y, c: (c * y / 2 + np.sqrt(1 + (c * y / 2) ** 2)) ** 2,
)
betaprime = Standard(
    density=lambda x, a, b: (
        special.xlogy(a - 1, x) - special.xlog1py(a + b, x) - special.betaln(a, b)
    ),
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
)
f = changed(
    betaprime,
    to=lambda x, dfn, dfd: dfn * x / dfd,
    log_slope=lambda x, dfn, dfd: np.log(dfn / dfd),
    back=lambda y, dfn, dfd: dfd * y / dfn,
    shapes=lambda dfn, dfd: (dfn / 2, dfd / 2),
)
wald = changed(
    invgauss,
    to=lambda x: x,
    log_slope=lambda x: 0 * x,
    back=lambda y: y,
    shapes=lambda: (1.0,),
)
rdist = changed(
    base_families.beta,
    to=lambda x, c: (x + 1) / 2,
    log_slope=lambda x, c: -math.log(2),
    back=lambda y, c: 2 * y - 1,
    shapes=lambda c: (c / 2, c / 2),
    support=lambda c: (-1.0, 1.0),
)
arcsine = changed(
    uniform,
    to=lambda x: 2 / math.pi * np.arcsin(np.sqrt(x)),
    log_slope=lambda x: -math.log(math.pi) - (np.log(x) + np.log1p(-x)) / 2,
    back=lambda y: np.sin(math.pi / 2 * y) ** 2,
    support=unit_interval,
)
halfcauchy = Standard(
    density=lambda x: math.log(2) + cauchy.density(x),
    cdf=lambda x: 2 / math.pi * np.arctan(x),
    sf=lambda x: 2 / math.pi * np.arctan2(1.0, x),
    ppf=lambda q: np.tan(math.pi / 2 * q),
    isf=lambda q: 1 / np.tan(math.pi / 2 * q),
    support=half_line,
)
halflogistic = Standard(
    density=lambda x: math.log(2) + logistic.density(x),
    cdf=lambda x: np.tanh(x / 2),
    sf=lambda x: 2 * special.expit(-x),
    logsf=lambda x: np.where(
        x < 1, -np.log1p(np.expm1(np.minimum(x, 1.0)) / 2), math.log(2) + special.log_expit(-x)
    ),
    ppf=lambda q: 2 * np.arctanh(q),
    isf=lambda q: np.where(q < 0.5, -special.logit(q / 2), 2 * np.arctanh(1 - q)),
    support=half_line,
)


def _hypsecant_tail(x: Array) -> Any:
    """The probability of the shorter tail, beyond -abs(x)."""
    return 2 / math.pi * np.arctan(np.exp(below(x)))


def _hypsecant_logcdf(x: Array) -> Any:
    far = x < -20
    tail = _hypsecant_tail(np.where(far, 0.0, x))
    near = np.where(x > 0, np.log1p(-tail), np.log(tail))
    return np.where(far, np.log(2 / math.pi) + x, near)


hypsecant = symmetric(
    Standard(
        density=lambda x: -math.log(math.pi) - np.logaddexp(x, -x) + math.log(2),
        cdf=lambda x: np.where(x > 0, 1 - _hypsecant_tail(x), _hypsecant_tail(x)),
        logcdf=_hypsecant_logcdf,
        ppf=lambda q: np.log(np.tan(math.pi / 2 * q)),
    )
)

_NAMES = {**vars(base_families), **vars(extreme_values), **globals()}
CONTINUOUS: Mapping[str, Standard] = {
    name: row for name, row in _NAMES.items() if isinstance(row, Standard)
}
"""The continuous distributions by their names in SciPy."""
