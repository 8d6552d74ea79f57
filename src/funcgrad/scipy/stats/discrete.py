"""The discrete distributions, a row each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from funcgrad.ops.elementwise.exponential import softplus
from funcgrad.ops.special.gamma_numerics import beta_log_density
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.stats import noncentral_families, noncentral_hypergeometric
from funcgrad.scipy.stats.extreme_values import log1p_ratio
from funcgrad.scipy.stats.log_tails import log_betainc, log_gammainc, log_gammaincc
from funcgrad.scipy.stats.standard import (
    OF_DISCRETE,
    Formula,
    Standard,
    by_smaller_side,
    half_line,
    log1mexp,
    stated,
)
from funcgrad.typing import Array


def _probability(p: Array) -> Any:
    return np.logical_and(p >= 0, p <= 1)


def _whole(n: Array) -> Any:
    return np.logical_and(n >= 0, n == np.floor(n))


def _certain(p: Array) -> Any:
    return np.logical_or(p == 0, p == 1)


def _log_choose(n: Array, k: Array) -> Any:
    """The logarithm of the binomial coefficient for real n."""
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def moments_of_hypergeom(self: object, M: Array, n: Array, N: Array) -> tuple[Any, ...]:
    """SciPy's method `hypergeom._stats`, by formulas in the place of compiled code."""
    M, n, N = 1.0 * M, 1.0 * n, 1.0 * N
    m, left = M - n, M - N
    both = n * N * m * left
    skewness = (M - 2 * n) * (M - 2 * N) / (M - 2) * np.sqrt((M - 1) / both)
    kurtosis = (M - 1) * M * M * (M * (M + 1) - 6 * N * left - 6 * n * m)
    kurtosis = (kurtosis + 6 * both * (5 * M - 6)) / (both * (M - 2) * (M - 3))
    return n * N / M, both / (M * M * (M - 1)), skewness, kurtosis


def _poisson_entropy(mu: Array) -> Any:
    """The mean of -log(mass): a sum, or its asymptotic series, whose next term is below rounding."""
    near = np.where(mu < _FAR, mu, 1.0)
    counts = np.arange(_FAR + 15 * math.sqrt(_FAR))
    logs = special.xlogy(counts, near[..., None]) - gammaln(counts + 1) - near[..., None]
    total = np.sum(np.where(logs > -745.0, -logs * np.exp(logs), 0.0), axis=-1)
    total = np.where(near == 0, special.entr(near), total)  # the slope there is infinite
    far = 1 / np.where(mu < _FAR, _FAR, mu)
    series = -far / 12 - far**2 / 24 - 19 * far**3 / 360
    return np.where(mu < _FAR, total, (math.log(2 * math.pi) + 1 - np.log(far)) / 2 + series)


_FAR = 1000.0
"""A mean beyond which the entropy of Poisson's distribution is its asymptotic series."""

poisson = Standard(
    density=lambda k, mu: special.xlogy(k, mu) - gammaln(k + 1) - mu,
    cdf=lambda k, mu: special.gammaincc(k + 1, mu),
    sf=lambda k, mu: special.gammainc(k + 1, mu),
    logcdf=lambda k, mu: log_gammaincc(k + 1, mu),
    logsf=lambda k, mu: log_gammainc(k + 1, mu),
    support=half_line,
    valid=lambda mu: mu >= 0,
    mass=lambda k, mu: mu**k * np.exp(-mu - gammaln(k + 1)),
    edge=lambda mu: mu == 0,
    entropy=_poisson_entropy,
)

binom = Standard(
    density=lambda k, n, p: _log_choose(n, k) + special.xlogy(k, p) + special.xlog1py(n - k, -p),
    cdf=lambda k, n, p: special.betaincc(k + 1, n - k, p),
    sf=lambda k, n, p: special.betainc(k + 1, n - k, p),
    logcdf=lambda k, n, p: log_betainc(n - k, k + 1, 1 - p, p),
    logsf=lambda k, n, p: log_betainc(k + 1, n - k, p, 1 - p),
    support=lambda n, p: (0.0, n),
    valid=lambda n, p: np.logical_and(_whole(n), _probability(p)),
    mass=lambda k, n, p: np.exp(_log_choose(n, k)) * p**k * (1 - p) ** (n - k),
    edge=lambda n, p: _certain(p),
    exact=lambda k, n, p: beta_log_density(k + 1, n - k + 1, p, 1 - p) / ((n + 1) * p * (1 - p)),
)

bernoulli = Standard(
    density=lambda k, p: special.xlogy(k, p) + special.xlog1py(1 - k, -p),
    cdf=lambda k, p: 1 - p,
    sf=lambda k, p: p,
    support=lambda p: (0.0, 1.0),
    valid=_probability,
    mass=lambda k, p: p**k * (1 - p) ** (1 - k),
    edge=_certain,
    stats=lambda p: (p, p * (1 - p), (1 - 2 * p) / np.sqrt(p * (1 - p)), 1 / (p * (1 - p)) - 6),
)


def _nbinom_stats(n: Array, p: Array) -> Any:
    mean = n * (1 - p) / p
    return mean, mean / p, (2 - p) / np.sqrt(n * (1 - p)), 6 / n + p**2 / (n * (1 - p))


nbinom = Standard(
    density=lambda k, n, p: (
        gammaln(n + k) - gammaln(k + 1) - gammaln(n) + special.xlogy(n, p) + special.xlog1py(k, -p)
    ),
    cdf=lambda k, n, p: special.betainc(n, k + 1, p),
    sf=lambda k, n, p: special.betaincc(n, k + 1, p),
    logcdf=lambda k, n, p: log_betainc(n, k + 1, p, 1 - p),
    logsf=lambda k, n, p: log_betainc(k + 1, n, 1 - p, p),
    support=half_line,
    valid=lambda n, p: np.logical_and(n > 0, np.logical_and(p > 0, p <= 1)),
    mass=lambda k, n, p: np.exp(gammaln(n + k) - gammaln(k + 1) - gammaln(n)) * p**n * (1 - p) ** k,
    edge=lambda n, p: p == 1,
    exact=lambda k, n, p: beta_log_density(n, k + 1, p, 1 - p) / ((n + k) * (1 - p)),
    stats=_nbinom_stats,
)


def _geom_sf(k: Array, p: Array) -> Any:
    """(1 - p)**k, as a power where p is near 1, and so is its slope at 1."""
    near = p > 0.5
    by_log = np.exp(special.xlog1py(k, -np.where(near, 0.5, p)))
    return np.where(near, (1 - np.where(near, p, 0.5)) ** k, by_log)


def _geom_cdf(k: Array, p: Array) -> Any:
    near = p > 0.5
    by_log = -np.expm1(special.xlog1py(k, -np.where(near, 0.5, p)))
    return np.where(near, 1 - (1 - np.where(near, p, 0.5)) ** k, by_log)


geom = Standard(
    density=lambda k, p: special.xlog1py(k - 1, -p) + np.log(p),
    cdf=_geom_cdf,
    sf=_geom_sf,
    logcdf=lambda k, p: np.where(
        p > 0.5,
        np.log1p(-_geom_sf(k, np.where(p > 0.5, p, 1.0))),
        log1mexp(-special.xlog1py(k, -np.where(p > 0.5, 0.5, p))),
    ),
    logsf=lambda k, p: special.xlog1py(k, -p),
    support=lambda p: (1.0, math.inf),
    valid=lambda p: np.logical_and(p > 0, p <= 1),
    mass=lambda k, p: (1 - p) ** (k - 1) * p,
    edge=lambda p: np.logical_or(
        p == 1, p < 0.01
    ),  # small ones cancel in second derivatives of logs
)

planck = Standard(
    density=lambda k, lambda_: np.log(-np.expm1(-lambda_)) - lambda_ * k,
    cdf=lambda k, lambda_: -np.expm1(-lambda_ * (k + 1)),
    logcdf=lambda k, lambda_: log1mexp(lambda_ * (k + 1)),
    logsf=lambda k, lambda_: -lambda_ * (k + 1),
    support=half_line,
    mass=lambda k, lambda_: -np.expm1(-lambda_) * np.exp(-lambda_ * k),
    edge=lambda lambda_: lambda_ < 0.01,
)


def _dlaplace_logcdf(k: Array, a: Array) -> Any:
    left = k < 0
    below = np.where(left, k, 0.0) * a - softplus(-a)
    above = np.where(left, 1.0, k + 1) * a + softplus(-a)
    return np.where(left, below, log1mexp(above))


dlaplace = by_smaller_side(
    density=lambda k, a: log1mexp(a) - softplus(-a) - a * np.abs(k),
    logcdf=_dlaplace_logcdf,
    logsf=lambda k, a: _dlaplace_logcdf(-k - 1, a),
)


def _logser_sf(k: Array, p: Array) -> Any:
    """SciPy's formula: an incomplete beta function whose second parameter is nearly 0."""
    tiny = 1e-100
    return special.betainc(k + 1, tiny, p) * special.beta(k + 1, tiny) / -np.log1p(-p)


logser = Standard(
    density=lambda k, p: special.xlogy(k - 1, p) - np.log(k) - np.log(log1p_ratio(-p)),
    cdf=lambda k, p: 1 - _logser_sf(k, p),
    sf=_logser_sf,
    support=lambda p: (1.0, math.inf),
    valid=lambda p: np.logical_and(p > 0, p < 1),
)


def _boltzmann_share(count: Any, lambda_: Array, N: Array) -> Any:
    """The probability of the first numbers, as many as there are in the count."""
    is_small = lambda_ * N < 1
    low, high = np.where(is_small, lambda_, 0.5 / N), np.where(is_small, 1.0, lambda_)
    near = special.exprel(-low * count) / special.exprel(-low * N) * (count / N)
    return np.where(is_small, near, np.expm1(-high * count) / np.expm1(-high * N))


boltzmann = Standard(
    density=lambda k, lambda_, N: np.log(_boltzmann_share(1.0, lambda_, N)) - lambda_ * k,
    cdf=lambda k, lambda_, N: _boltzmann_share(k + 1, lambda_, N),
    sf=lambda k, lambda_, N: np.exp(-lambda_ * (k + 1)) * _boltzmann_share(N - k - 1, lambda_, N),
    support=lambda lambda_, N: (0.0, N - 1),
    valid=lambda lambda_, N: np.logical_and(lambda_ > 0, np.logical_and(_whole(N), N > 0)),
    mass=lambda k, lambda_, N: _boltzmann_share(1.0, lambda_, N) * np.exp(-lambda_ * k),
    edge=lambda lambda_, N: lambda_ * N < 1,
)


# -- powers of whole numbers -----------------------------------------------------------------------
_TERMS = 20
"""The terms of a sum that are added one by one; the rest is Euler and Maclaurin's series."""
_BERNOULLI = special.bernoulli(16)[2::2] / special.factorial(np.arange(2.0, 17.0, 2.0))


def _log_sum_of_powers(first: Array, last: Array, a: Array) -> Any:
    """The logarithm of the sum of i**-a from i = first to last, for real a."""
    places = np.expand_dims(first, -1) + np.arange(float(_TERMS))
    held = places <= np.expand_dims(last, -1)
    logs = np.log(np.where(held, places, 1.0)) - np.expand_dims(np.log(first), -1)
    near = np.sum(np.where(held, np.exp(-np.expand_dims(a, -1) * logs), 0.0), axis=-1)
    is_far = first + _TERMS <= last
    start = np.where(is_far, first + _TERMS, first)
    stop = np.where(is_far, last, first)
    low, high = [(end / first) ** -a for end in (start, stop)]
    span = np.log(stop / start)
    far = low * start * span * special.exprel((1 - a) * span) + (low + high) / 2
    slope = a * np.ones_like(far)
    for r, number in enumerate(_BERNOULLI, 1):
        far = far + number * slope * (low * start ** (1.0 - 2 * r) - high * stop ** (1.0 - 2 * r))
        slope = slope * (a + 2 * r - 1) * (a + 2 * r)
    return np.log(near + np.where(is_far, far, 0.0)) - a * np.log(first)


def _zipfian_side(first: Array, last: Array, a: Array, n: Array) -> Any:
    holds = first <= last
    part = _log_sum_of_powers(np.where(holds, first, 1.0), np.where(holds, last, 1.0), a)
    return np.where(holds, part - _log_sum_of_powers(np.ones_like(n), n, a), -np.inf)


def _zipfian_stats(a: Array, n: Array) -> Any:
    log_sums = [_log_sum_of_powers(np.ones_like(n), n, a - k) for k in range(5)]
    mean, *raw = [np.exp(item - log_sums[0]) for item in log_sums[1:]]
    return noncentral_families.of_moments(mean, raw[0] - mean**2, raw[1], raw[2])


zipfian = by_smaller_side(
    density=lambda k, a, n: _zipfian_side(k, k, a, n),
    logcdf=lambda k, a, n: _zipfian_side(np.ones_like(k), k, a, n),
    logsf=lambda k, a, n: _zipfian_side(k + 1, n, a, n),
    support=lambda a, n: (1.0, n),
    valid=lambda a, n: np.logical_and(a >= 0, np.logical_and(_whole(n), n > 0)),
    stats=_zipfian_stats,
)


# -- differences of Poisson's counts ---------------------------------------------------------------
def _skellam_density(k: Array, mu1: Array, mu2: Array) -> Any:
    """By the noncentral chi-square distribution, from the side on which k lies, as SciPy's."""
    left = k < 0
    own, other = np.where(left, mu2, mu1), np.where(left, mu1, mu2)
    return math.log(2) + noncentral_families.ncx2.density(2 * own, 2 * (1 + np.abs(k)), 2 * other)


def _skellam_side(below: bool) -> Formula:
    def side(k: Array, mu1: Array, mu2: Array) -> Any:
        left = k < 0
        x, nc = 2 * np.where(left, mu2, mu1), 2 * np.where(left, mu1, mu2)
        degrees = np.where(left, -2 * k, 2 * (k + 1))
        chi = noncentral_families.ncx2
        cdf, sf = stated(chi.cdf)(x, degrees, nc), stated(chi.sf)(x, degrees, nc)
        return np.where(left if below else ~left, cdf, sf)

    return side


skellam = Standard(
    density=_skellam_density,
    cdf=_skellam_side(True),
    sf=_skellam_side(False),
    hosted=OF_DISCRETE,
)

DISCRETE: Mapping[str, Standard] = {
    name: row
    for name, row in [*vars(noncentral_hypergeometric).items(), *globals().items()]
    if isinstance(row, Standard)
}
"""The discrete distributions by their names in SciPy."""
