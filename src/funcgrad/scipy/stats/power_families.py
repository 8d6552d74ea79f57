"""Continuous distributions of which a side is a power of that of another one, or of a power of its variable.

All are stated by logarithms that stay finite far out, where powers underflow and overflow. Methods without
a formula here, such as moments, are SciPy's.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from funcgrad.ops.elementwise.exponential import softplus
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.stats.base_families import expon, gamma, norm
from funcgrad.scipy.stats.changed_families import levy, log1p_power
from funcgrad.scipy.stats.standard import (
    Formula,
    Standard,
    by_smaller_side,
    changed,
    half_line,
    log1mexp,
    mirrored,
    one_or_other,
    stated,
    whole_line,
)
from funcgrad.typing import Array


def _log_rest(log_side: Array, power: Array, log_rest: Array) -> Any:
    """log(1 - s**power) from log(s) and log(1 - s)."""
    far = log_rest + np.log(np.maximum(power, 1.0)) < -40
    near = log1mexp(-power * np.where(far, -1.0, log_side))
    return np.where(far, np.log(power) + log_rest, near)


def _from_left(row: Standard, left: Formula) -> Standard:
    """A distribution on the half line with its function on the left, whose slope may have digits where it
    underflows."""

    def function(name: str, by_left: Formula) -> Formula:
        usual = getattr(row, name)

        def chosen(x: Array, *shapes: Array) -> Any:
            near = left(np.where(x < 1, x, 0.5), *shapes)
            small = np.logical_and(x < 1, near < 0.25)
            return np.where(small, by_left(near), usual(np.where(small, 1.0, x), *shapes))

        return chosen

    return replace(
        row,
        cdf=function("cdf", lambda p: p),
        sf=function("sf", lambda p: 1 - p),
        logsf=function("logsf", lambda p: np.log1p(-np.where(p < 0.25, p, 0.0))),
    )


# -- powers of the logistic distribution ---------------------------------------------------------
genlogistic = by_smaller_side(
    density=lambda x, c: np.log(c) - x - (c + 1) * softplus(-x),
    logcdf=lambda x, c: -c * softplus(-x),
    logsf=lambda x, c: _log_rest(-softplus(-x), c, -softplus(x)),
)


def _log_of_two_powers(x: Array, rise: Array, c: Array, d: Array) -> Any:
    """(rise - 1)*log(x) - (d + 1)*log(1 + x**c), where rise is c*d: the terms cancel where x is large."""
    large = x > 1
    low, high = np.where(large, 1.0, x), np.where(large, x, 1.0)
    near = special.xlogy(rise - 1, low) - (d + 1) * np.log1p(low**c)
    far = -(c + 1) * np.log(high) - (d + 1) * np.log1p(high**-c)
    return np.where(large, far, near)


burr = _from_left(
    changed(
        genlogistic,
        to=lambda x, c, d: c * np.log(x),
        log_slope=lambda x, c, d: np.log(c) - np.log(x),
        back=lambda y, c, d: np.exp(y / c),
        shapes=lambda c, d: (d,),
        density=lambda x, c, d: np.log(c) + np.log(d) + _log_of_two_powers(x, c * d, c, d),
    ),
    lambda x, c, d: x ** (c * d) * np.exp(-d * np.log1p(x**c)),
)
burr12 = _from_left(
    changed(
        genlogistic,
        to=lambda x, c, d: -c * np.log(x),
        log_slope=lambda x, c, d: np.log(c) - np.log(x),
        back=lambda y, c, d: np.exp(-y / c),
        shapes=lambda c, d: (d,),
        decreasing=True,
        density=lambda x, c, d: (
            np.log(c) + np.log(d) + special.xlogy(c - 1, x) - (d + 1) * log1p_power(x, c)
        ),
    ),
    lambda x, c, d: -np.expm1(-d * np.log1p(x**c)),
)


def _mielke_logcdf(x: Array, k: Array, s: Array) -> Any:
    """-k/s*log(1 + x**-s): of a small x by k*log(x), so that the slope in s does not cancel."""
    large = x > 1
    low, high = np.where(large, 1.0, x), np.where(large, x, 1.0)
    near = k * np.log(low) - k / s * np.log1p(low**s)
    return np.where(large, -k / s * np.log1p(high**-s), near)


def _mielke_logsf(x: Array, k: Array, s: Array) -> Any:
    """Where x is large, by the logistic distribution, whose tail does not underflow."""
    large = x > 1
    near = log1mexp(-_mielke_logcdf(np.where(large, 0.5, x), k, s))
    far = stated(genlogistic.logsf)(s * np.log(np.where(large, x, 2.0)), k / s)
    return np.where(large, far, near)


mielke = _from_left(
    by_smaller_side(
        density=lambda x, k, s: np.log(k) + _log_of_two_powers(x, k, s, k / s),
        logcdf=_mielke_logcdf,
        logsf=_mielke_logsf,
        support=half_line,
    ),
    lambda x, k, s: x**k * np.exp(-k / s * np.log1p(x**s)),
)


def _kappa3_density(x: Array, a: Array) -> Any:
    low, high = np.where(x <= 1, x, 1.0), np.where(x <= 1, 1.0, x)
    far = a * np.log(high) + np.log1p(a * high**-a)
    return np.log(a) - (a + 1) / a * np.where(x <= 1, np.log(a + low**a), far)


kappa3 = changed(
    genlogistic,
    to=lambda x, a: a * np.log(x) - np.log(a),
    log_slope=lambda x, a: np.log(a) - np.log(x),
    back=lambda y, a: np.exp((y + np.log(a)) / a),
    shapes=lambda a: (1 / a,),
    density=_kappa3_density,
)

# -- powers of the normal distribution -----------------------------------------------------------
powernorm = by_smaller_side(
    density=lambda x, c: np.log(c) + norm.density(x) + (c - 1) * special.log_ndtr(-x),
    logcdf=lambda x, c: _log_rest(special.log_ndtr(-x), c, special.log_ndtr(x)),
    logsf=lambda x, c: c * special.log_ndtr(-x),
)
powerlognorm = changed(
    powernorm,
    to=lambda x, c, s: np.log(x) / s,
    log_slope=lambda x, c, s: -np.log(x) - np.log(s),
    back=lambda y, c, s: np.exp(s * y),
    shapes=lambda c, s: (c,),
)

# -- powers of the variable of the exponential distribution --------------------------------------
_power_of_expon = by_smaller_side(
    density=lambda x, a: np.log(a) + (a - 1) * log1mexp(x) - x,
    logcdf=lambda x, a: a * log1mexp(x),
    logsf=lambda x, a: _log_rest(log1mexp(x), a, -x),
    support=half_line,
    start=lambda log_x, a: a * log_x,
)


def _exponweib_left(x: Array, a: Array, c: Array) -> Any:
    """x**(a*c) times the power of a number near 1."""
    y = x**c
    ratio = np.where(y < 1e-20, 1.0, -np.expm1(-y) / np.where(y < 1e-20, 1.0, y))
    return x ** (a * c) * ratio**a


def _exponweib_density(x: Array, a: Array, c: Array) -> Any:
    y = x**c
    tiny = y < 1e-20
    place = np.where(tiny, 1.0, x)
    usual = (a - 1) * log1mexp(np.where(tiny, 1.0, y)) + special.xlogy(c - 1, place) - y
    return np.log(a) + np.log(c) + np.where(tiny, special.xlogy(a * c - 1, x), usual)


exponweib = _from_left(
    changed(
        _power_of_expon,
        to=lambda x, a, c: x**c,
        log_slope=lambda x, a, c: np.log(c) + special.xlogy(c - 1, x),
        back=lambda y, a, c: y ** (1 / c),
        shapes=lambda a, c: (a,),
        log_to=lambda x, a, c: c * np.log(x),
        density=_exponweib_density,
    ),
    _exponweib_left,
)
invweibull = changed(
    expon,
    to=lambda x, c: x**-c,
    log_slope=lambda x, c: np.log(c) - (c + 1) * np.log(x),
    back=lambda y, c: y ** (-1 / c),
    decreasing=True,
    log_to=lambda x, c: -c * np.log(x),
)
exponpow = changed(
    expon,
    to=lambda x, b: np.expm1(x**b),
    log_slope=lambda x, b: np.log(b) + special.xlogy(b - 1, x) + x**b,
    back=lambda y, b: np.log1p(y) ** (1 / b),
    log_to=lambda x, b: b * np.log(x),
)

# -- powers of the variable of the gamma distribution --------------------------------------------
moyal = changed(
    gamma,
    to=lambda x: np.exp(-x) / 2,
    log_slope=lambda x: -x - math.log(2),
    back=lambda y: -np.log(2 * y),
    shapes=lambda: (np.float64(0.5),),
    support=whole_line,
    decreasing=True,
    log_to=lambda x: -x - math.log(2),
    density=lambda x: -(x + np.exp(-x)) / 2 - math.log(2 * math.pi) / 2,
)
levy_l = mirrored(levy, lambda: (-math.inf, 0.0))
halfgennorm = changed(
    gamma,
    to=lambda x, b: x**b,
    log_slope=lambda x, b: np.log(b) + special.xlogy(b - 1, x),
    back=lambda y, b: y ** (1 / b),
    shapes=lambda b: (1 / b,),
    log_to=lambda x, b: b * np.log(x),
    density=lambda x, b: np.log(b) - gammaln(1 / b) - x**b,
)


def _power_of_gamma(decreasing: bool) -> Standard:
    return changed(
        gamma,
        to=lambda x, a, c: x**c,
        log_slope=lambda x, a, c: np.log(np.abs(c)) + special.xlogy(c - 1, x),
        back=lambda y, a, c: y ** (1 / c),
        shapes=lambda a, c: (a,),
        log_to=lambda x, a, c: c * np.log(x),
        decreasing=decreasing,
    )


gengamma = replace(
    one_or_other(lambda a, c: c > 0, _power_of_gamma(False), _power_of_gamma(True)),
    density=lambda x, a, c: np.log(np.abs(c)) + special.xlogy(c * a - 1, x) - x**c - gammaln(a),
    valid=lambda a, c: np.logical_and(a > 0, c != 0),
)
