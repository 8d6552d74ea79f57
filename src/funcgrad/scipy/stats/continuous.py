"""The continuous distributions: a row each, some of them another distribution in a changed variable."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from funcgrad.ops.elementwise.exponential import softplus
from funcgrad.ops.shape import holds_expr
from funcgrad.ops.special.gamma_numerics import log1p_square
from funcgrad.scipy import special
from funcgrad.scipy.stats import (
    base_families,
    changed_families,
    circular,
    extreme_values,
    goodness_of_fit_families,
    hyperbolic_families,
    noncentral_families,
    normal_families,
    power_families,
    stable_families,
    studentized,
    truncated_families,
    two_sided_families,
)
from funcgrad.scipy.stats.base_families import below, cauchy, logistic
from funcgrad.scipy.stats.extreme_values import (
    log1p_ratio,
    log_unless_flat,
    pareto_exponent,
    pareto_quantile,
)
from funcgrad.scipy.stats.log_tails import log_betainc, log_half_ratio, t_cdf, t_logcdf
from funcgrad.scipy.stats.standard import (
    Standard,
    by_smaller_side,
    changed,
    half_line,
    log_where_small,
    stated,
    symmetric,
    unit_interval,
)
from funcgrad.typing import Array

_LOG_ROOT_TAU = math.log(2 * math.pi) / 2
_ROOT_TWO = math.sqrt(2)
_ONE: Any = 1.0
_THREE: Any = np.float64(3.0)


# -- piecewise ------------------------------------------------------------------------------------
def _triang_density(x: Array, c: Array) -> Any:
    rising = np.where(c == 0, False, x < c)
    return math.log(2) + np.where(
        rising,
        np.log(x) - np.log(np.where(c == 0, 1.0, c)),
        np.where(x == c, 0.0, np.log1p(-x) - np.log1p(-np.where(c == 1, 0.0, c))),
    )


def _triang_rise(x: Array, c: Array) -> Any:
    """The probability from 0 to x < c."""
    return x * x / np.where(c == 0, 1.0, c)


def _triang_rest(x: Array, gap: Array, c: Array, d: Array) -> Any:
    """The probability from x < c to 1, for gap = 1 - x and d = 1 - c; a large x by its distance from 1."""
    rise = _triang_rise(x, c)
    return np.where(x > 0.5, gap * (1 + x) - rise * d, 1 - rise)


def _triang_cdf(x: Array, c: Array) -> Any:
    return np.where(x < c, _triang_rise(x, c), _triang_rest(1 - x, x, 1 - c, c))


def _triang_sf(x: Array, c: Array) -> Any:
    return np.where(x < c, _triang_rest(x, 1 - x, c, 1 - c), _triang_rise(1 - x, 1 - c))


triang = Standard(
    density=_triang_density,
    cdf=_triang_cdf,
    sf=_triang_sf,
    logcdf=lambda x, c: np.where(
        x < c,
        2 * np.log(np.where(x < c, x, 1.0)) - np.log(np.where(c == 0, 1.0, c)),
        log_where_small(_triang_cdf(np.where(x < c, 1.0, x), c), _triang_sf(x, c)),
    ),
    ppf=lambda q, c: np.where(q < c, np.sqrt(c * q), 1 - np.sqrt((1 - c) * (1 - q))),
    isf=lambda q, c: np.where(1 - q < c, np.sqrt(c * (1 - q)), 1 - np.sqrt((1 - c) * q)),
    support=unit_interval,
    valid=lambda c: np.logical_and(c >= 0, c <= 1),
)


def _trapezoid_rise(x: Array, c: Array, d: Array) -> Any:
    """The probability from 0 to x <= d."""
    return np.where(x < c, _triang_rise(x, c), 2 * x - c) / (1 + d - c)


def _trapezoid_cdf(x: Array, y: Array, c: Array, d: Array, left: Array, right: Array) -> Any:
    """Where y = 1 - x, which has the digits of a small one, left = 1 - c and right = 1 - d."""
    falling = x > d
    fall = _trapezoid_rise(np.where(falling, y, 0.5), right, left)
    return np.where(falling, 1 - fall, _trapezoid_rise(x, c, d))


def _trapezoid_logcdf(x: Array, y: Array, c: Array, d: Array, left: Array, right: Array) -> Any:
    rising, falling = x < c, x > d
    inner = np.where(rising, d, x)
    fall = _trapezoid_rise(np.where(falling, y, 0.0), right, left)
    near = 2 * np.log(np.where(rising, x, 1.0)) - np.log(np.where(rising, c, 1.0))
    middle = np.log(np.where(falling, 1.0, 2 * inner - c))
    usual = np.where(rising, near, middle) - np.log(1 + d - c)
    return np.where(falling, np.log1p(-fall), usual)


def _trapezoid_density(x: Array, c: Array, d: Array) -> Any:
    rising, falling = x < c, x > d
    near = np.log(np.where(rising, x, 1.0)) - np.log(np.where(rising, c, 1.0))
    far = np.log1p(-np.where(falling, x, 0.0)) - np.log1p(-np.where(falling, d, 0.0))
    return math.log(2) - np.log(1 + d - c) + near + far


trapezoid = Standard(
    density=_trapezoid_density,
    cdf=lambda x, c, d: _trapezoid_cdf(x, 1 - x, c, d, 1 - c, 1 - d),
    sf=lambda x, c, d: _trapezoid_cdf(1 - x, x, 1 - d, 1 - c, d, c),
    logcdf=lambda x, c, d: _trapezoid_logcdf(x, 1 - x, c, d, 1 - c, 1 - d),
    logsf=lambda x, c, d: _trapezoid_logcdf(1 - x, x, 1 - d, 1 - c, d, c),
    support=unit_interval,
    valid=lambda c, d: np.logical_and(np.logical_and(c >= 0, d >= c), d <= 1),
)


# -- Student's t ----------------------------------------------------------------------------------
def _t_density(x: Array, df: Array) -> Any:
    """In the middle by log1p(u)/u, whose slope in a large df does not cancel, where u = x**2/df."""
    middle = np.abs(x) < np.sqrt(df)
    place = np.where(middle, x, 0.0)
    u = place * (place / df)
    near = place * place / 2 * log1p_ratio(u) + np.log1p(u) / 2
    far = (df + 1) / 2 * log1p_square(np.where(middle, 1.0, x / np.sqrt(df)))
    return log_half_ratio(df / 2) - _LOG_ROOT_TAU - np.where(middle, near, far)


def _or_normal(of_t: Callable[..., Any], normal: Callable[[Array], Any]) -> Callable[..., Any]:
    """A function of Student's t distribution, which is the normal one where df is infinite."""

    def function(x: Array, df: Array) -> Any:
        limit = df == np.inf
        if not holds_expr(limit) and not np.any(limit):
            return of_t(x, df)
        return np.where(limit, normal(x), of_t(x, np.where(limit, 1.0, df)))

    return function


t = symmetric(
    density=_or_normal(_t_density, lambda x: -x * x / 2 - _LOG_ROOT_TAU),
    cdf=_or_normal(t_cdf, special.ndtr),
    logcdf=_or_normal(t_logcdf, special.log_ndtr),
    hosted=frozenset(("cdf", "sf")),
)


# -- on an interval --------------------------------------------------------------------------------
def _rdist_cdf(x: Array, c: Array) -> Any:
    """By the shorter one of the distances from the ends."""
    left = x < 0
    below = special.betainc(c / 2, c / 2, (1 + np.where(left, x, 0.0)) / 2)
    above = special.betaincc(c / 2, c / 2, (1 - np.where(left, 0.0, x)) / 2)
    return np.where(left, below, above)


def _rdist_ppf(q: Array, c: Array) -> Any:
    """By the distance from the nearer end."""
    left = q < 0.5
    distance = 2 * special.betaincinv(c / 2, c / 2, np.where(left, q, 1 - q))
    return np.where(left, distance - 1, 1 - distance)


rdist = symmetric(
    density=lambda x, c: (
        special.xlog1py(c / 2 - 1, x)
        + special.xlog1py(c / 2 - 1, -x)
        - (c - 1) * math.log(2)
        - special.betaln(c / 2, c / 2)
    ),
    cdf=_rdist_cdf,
    logcdf=lambda x, c: log_betainc(c / 2, c / 2, (1 + x) / 2, (1 - x) / 2),
    ppf=_rdist_ppf,
    support=lambda c: (-1.0, 1.0),
)


semicircular = symmetric(
    density=lambda x: (np.log1p(-x) + np.log1p(x)) / 2 - math.log(math.pi / 2),
    cdf=lambda x: _rdist_cdf(x, _THREE),
    logcdf=lambda x: stated(rdist.logcdf)(x, _THREE),
    ppf=lambda q: _rdist_ppf(q, _THREE),
    support=lambda: (-1.0, 1.0),
)


def _arcsine_halves(x: Array) -> Any:
    """Whether x is left of the middle, and the probability from there to the nearer end."""
    left = x < 0.5
    below = np.arcsin(np.sqrt(np.where(left, x, 0.5)))
    return left, 2 / math.pi * np.where(left, below, np.arcsin(np.sqrt(np.where(left, 0.5, 1 - x))))


def _arcsine_cdf(x: Array) -> Any:
    left, share = _arcsine_halves(x)
    return np.where(left, share, 1 - share)


def _arcsine_sf(x: Array) -> Any:
    left, share = _arcsine_halves(x)
    return np.where(left, 1 - share, share)


def _arcsine_ppf(q: Array) -> Any:
    return np.where(q < 0.5, np.sin(math.pi / 2 * q) ** 2, np.cos(math.pi / 2 * (1 - q)) ** 2)


arcsine = Standard(
    density=lambda x: -math.log(math.pi) - (np.log(x) + np.log1p(-x)) / 2,
    cdf=_arcsine_cdf,
    sf=_arcsine_sf,
    ppf=_arcsine_ppf,
    isf=lambda q: np.where(q < 0.5, np.cos(math.pi / 2 * q) ** 2, _arcsine_ppf(1 - q)),
    support=unit_interval,
)
halfcauchy = Standard(
    density=lambda x: math.log(2) + cauchy.density(x),
    cdf=lambda x: 2 / math.pi * np.arctan(x),
    sf=lambda x: 2 / math.pi * np.arctan2(1.0, x),
    logsf=lambda x: np.where(
        x < 1,
        np.log1p(-2 / math.pi * np.arctan(np.where(x < 1, x, 0.5))),
        math.log(2) + stated(cauchy.logsf)(np.where(x < 1, 1.0, x)),
    ),
    ppf=lambda q: np.tan(math.pi / 2 * q),
    isf=lambda q: 1 / np.tan(math.pi / 2 * q),
    support=half_line,
)


def _folded_sides(x: Array, c: Array) -> tuple[Any, Any]:
    """Two numbers with the quotient tan(pi*cdf), a positive one and one that falls through 0."""
    near, long = x < 1, c < x / 2
    low, high = np.where(near, x, 1.0), np.where(near, 1.0, x)
    # For a small c its square has a slope with digits, and where x and c are close, their difference.
    small, place = np.where(long, c, 0.0), np.where(long, 0.0, c)
    fall = np.where(long, small * small / high - high, (place - high) * ((place + high) / high))
    return (
        np.where(near, 2 * low, 2.0),
        np.where(near, 1 + c * c - low * low, 1 / high + fall),
    )


def _foldcauchy_cdf(x: Array, c: Array) -> Any:
    rise, run = _folded_sides(x, c)
    return np.arctan2(rise, run) / math.pi


def _foldcauchy_sf(x: Array, c: Array) -> Any:
    rise, run = _folded_sides(x, c)
    return np.arctan2(rise, -run) / math.pi


def _foldcauchy_density(x: Array, c: Array) -> Any:
    """By the sum of the two densities; their product cancels where c is small beside x, or x beside c."""
    size = np.hypot(x, c)
    whole = np.hypot(1.0, size)
    mixed = 2 * (x / whole) * (c / whole)
    apart = mixed < 0.5
    product = np.log1p(-(np.where(apart, mixed, 0.0) ** 2))
    here, place = np.where(apart, 0.0, x), np.where(apart, 0.0, c)
    peaks = log1p_square(here - place) + log1p_square(here + place)
    log = log1p_square(size)
    return math.log(2 / math.pi) + np.where(apart, -log - product, log - peaks)


foldcauchy = Standard(
    density=_foldcauchy_density,
    cdf=_foldcauchy_cdf,
    sf=_foldcauchy_sf,
    support=half_line,
    valid=lambda c: c >= 0,
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


genhalflogistic = changed(
    halflogistic,
    to=lambda x, c: pareto_exponent(x, -c),
    log_slope=lambda x, c: c * pareto_exponent(x, -c),
    back=lambda y, c: pareto_quantile(y, -c),
    support=lambda c: (0.0, 1 / c),
    density=lambda x, c: (
        math.log(2)
        + log_unless_flat(pareto_exponent(x, -c), c == 1, lambda y: (c - 1) * y - 2 * softplus(-y))
    ),
)


def _hypsecant_tail(x: Array) -> Any:
    """The probability of the shorter tail, beyond -abs(x)."""
    return 2 / math.pi * np.arctan(np.exp(below(x)))


def _hypsecant_logcdf(x: Array) -> Any:
    far = x < -20
    tail = _hypsecant_tail(np.where(far, 0.0, x))
    near = np.where(x > 0, np.log1p(-tail), np.log(tail))
    return np.where(far, np.log(2 / math.pi) + x, near)


def _hypsecant_ppf(q: Array) -> Any:
    is_low = q < 0.5
    size = np.log(np.tan(math.pi / 2 * np.where(is_low, q, 1 - q)))
    return np.where(is_low, size, -size)


hypsecant = symmetric(
    density=lambda x: -math.log(math.pi) - np.logaddexp(x, -x) + math.log(2),
    cdf=lambda x: np.where(x > 0, 1 - _hypsecant_tail(x), _hypsecant_tail(x)),
    logcdf=_hypsecant_logcdf,
    ppf=_hypsecant_ppf,
)


# -- the relativistic distribution of Breit and Wigner --------------------------------------------
def _resonance_factor(rho: Array) -> Any:
    return 2 / math.pi * np.sqrt(2 / (1 + np.sqrt(1 + 1 / rho / rho)))


def _resonance_log_height(rho: Array) -> Any:
    """The logarithm of the density at its peak."""
    return np.log(_resonance_factor(rho)) + np.log1p(1 / rho / rho) / 2


def _resonance_density(x: Array, rho: Array) -> Any:
    far = x > 1e50 * (1 + rho)
    held = np.where(far, rho, x)
    near = log1p_square((held - rho) * ((held + rho) / rho))
    power = 4 * np.log(np.where(far, x, 1.0)) - 2 * np.log(rho)
    return _resonance_log_height(rho) - np.where(far, power, near)


def _resonance_cdf(x: Array, rho: Array) -> Any:
    root = np.sqrt(-1 + 1j / rho) * np.arctan(x / np.sqrt(-rho * (rho + 1j)))
    return _resonance_factor(rho) * np.imag(root)


def _resonance_logsf(x: Array, rho: Array) -> Any:
    """Right of the peak by the series of the density in 1/x**2, of which each term is integrated."""
    size = np.sqrt(rho * np.sqrt(1 + rho * rho))
    far = x > 3 * size
    place = np.where(far, x, 3 * size)
    ratio = (rho / place) ** 2
    square = (rho / place * np.hypot(rho, 1.0) / place) ** 2
    before, term, total = np.zeros_like(ratio), np.ones_like(ratio), np.full_like(ratio, 1 / 3)
    for k in range(1, 20):
        before, term = term, 2 * ratio * term - square * before
        total = total + term / (2 * k + 3)
    tail = _resonance_log_height(rho) + 2 * np.log(rho) - 3 * np.log(place) + np.log(total)
    return np.where(far, tail, np.log1p(-_resonance_cdf(np.where(far, rho, x), rho)))


rel_breitwigner = by_smaller_side(
    density=_resonance_density,
    logcdf=lambda x, rho: np.log(_resonance_cdf(x, rho)),
    logsf=_resonance_logsf,
    support=half_line,
)


_MODULES = (
    base_families,
    changed_families,
    circular,
    extreme_values,
    goodness_of_fit_families,
    hyperbolic_families,
    noncentral_families,
    normal_families,
    power_families,
    stable_families,
    studentized,
    truncated_families,
    two_sided_families,
)
_NAMES = {name: row for module in _MODULES for name, row in vars(module).items()} | globals()
CONTINUOUS: Mapping[str, Standard] = {
    name: row for name, row in _NAMES.items() if isinstance(row, Standard) and name[0] != "_"
}
"""The continuous distributions by their names in SciPy."""
