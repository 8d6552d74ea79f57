"""Continuous distributions that others are changed variables of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.elementwise.exponential import softplus
from funcgrad.ops.special.gamma_numerics import log1p_square
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.stats.log_tails import log_betainc, log_gammainc, log_gammaincc
from funcgrad.scipy.stats.standard import (
    Standard,
    half_line,
    log1mexp,
    log_where_small,
    symmetric,
    unit_interval,
)
from funcgrad.typing import Array

_LOG_ROOT_TAU = math.log(2 * math.pi) / 2

norm = symmetric(
    density=lambda x: -x * x / 2 - _LOG_ROOT_TAU,
    cdf=special.ndtr,
    logcdf=special.log_ndtr,
    ppf=special.ndtri,
)

expon = Standard(
    density=lambda x: -x,
    cdf=lambda x: -np.expm1(-x),
    sf=lambda x: np.exp(-x),
    logcdf=log1mexp,
    logsf=lambda x: -x,
    ppf=lambda q: -np.log1p(-q),
    isf=lambda q: -np.log(q),
    support=half_line,
    start=lambda log_x: log_x,
)

logistic = symmetric(
    density=lambda x: -x - 2 * softplus(-x),
    cdf=special.expit,
    logcdf=special.log_expit,
    ppf=special.logit,
)


def below(x: Array) -> Any:
    """-abs(x), with the slope of x at 0."""
    return np.where(x > 0, -x, x)


laplace = symmetric(
    density=lambda x: -np.abs(x) - math.log(2),
    cdf=lambda x: np.where(x > 0, 1 - np.exp(below(x)) / 2, np.exp(below(x)) / 2),
    logcdf=lambda x: np.where(x > 0, np.log1p(-np.exp(below(x)) / 2), x - math.log(2)),
    ppf=lambda q: np.where(q > 0.5, -np.log(2 * (1 - q)), np.log(2 * q)),
)

gamma = Standard(
    density=lambda x, a: special.xlogy(a - 1, x) - x - gammaln(a),
    cdf=lambda x, a: special.gammainc(a, x),
    sf=lambda x, a: special.gammaincc(a, x),
    logcdf=lambda x, a: log_gammainc(a, x),
    logsf=lambda x, a: log_gammaincc(a, x),
    ppf=lambda q, a: special.gammaincinv(a, q),
    isf=lambda q, a: special.gammainccinv(a, q),
    support=half_line,
    start=lambda log_x, a: a * log_x - gammaln(a + 1),
    log_quantile=lambda log_q, a: (log_q + gammaln(a + 1)) / a,
)

erlang = gamma

beta = Standard(
    density=lambda x, a, b: (
        special.xlog1py(b - 1, -x) + special.xlogy(a - 1, x) - special.betaln(a, b)
    ),
    cdf=lambda x, a, b: special.betainc(a, b, x),
    sf=lambda x, a, b: special.betaincc(a, b, x),
    logcdf=lambda x, a, b: log_betainc(a, b, x, 1 - x),
    logsf=lambda x, a, b: log_betainc(b, a, 1 - x, x),
    support=unit_interval,
)

uniform = Standard(
    density=lambda x: 0 * x,
    cdf=lambda x: x,
    sf=lambda x: 1 - x,
    ppf=lambda q: q,
    isf=lambda q: 1 - q,
    support=unit_interval,
)


def _cauchy_cdf(x: Array) -> Any:
    return np.arctan2(1.0, -x) / math.pi


def _cauchy_logcdf(x: Array) -> Any:
    far = x < -1e9
    tail = -np.log(-math.pi * np.where(far, x, -1.0))
    near = np.where(far, 0.0, x)
    return np.where(far, tail, log_where_small(_cauchy_cdf(near), _cauchy_cdf(-near)))


def _cauchy_ppf(q: Array) -> Any:
    middle = np.abs(q - 0.5) < 0.25
    near = np.tan(math.pi * np.where(middle, q - 0.5, 0.0))  # the median is 0, as SciPy's
    tail = -1 / np.tan(math.pi * np.where(middle, 0.25, np.minimum(q, 1 - q)))
    return np.where(middle, near, np.where(q < 0.5, tail, -tail))


cauchy = symmetric(
    density=lambda x: -math.log(math.pi) - log1p_square(x),
    cdf=_cauchy_cdf,
    logcdf=_cauchy_logcdf,
    ppf=_cauchy_ppf,
)
