"""Distribution functions of `scipy.special`, and their inverses: by incomplete gamma and beta functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.special.error_functions import ndtri
from funcgrad.ops.special.incomplete import (
    betainc,
    betaincc,
    betainccinv,
    betaincinv,
    gamma_density,
    gamma_shape_slope,
    gammainc,
    gammaincc,
    gammainccinv,
)
from funcgrad.ops.special.special_function import (
    in_precision_of_data,
    inverse_partials,
    special_function,
)
from funcgrad.typing import Array


# -- gamma, chi-square and Poisson ---------------------------------------------------------------
def _gdtr(name: str, sign: float) -> Op:
    upper = sign < 0
    return special_function(
        name,
        # At 0 the density is infinite for a shape below 1, and else has a slope.
        lambda z, a, b, x: mask((x != 0) | (b >= 1), sign * x * gamma_density(b, a * x)),
        lambda z, a, b, x: gamma_shape_slope(b, a * x, upper),
        lambda z, a, b, x: sign * a * gamma_density(b, a * x),
        mpmath=lambda mp, a, b, x: (
            mp.gammainc(b, a * x, regularized=True)
            if upper
            else mp.gammainc(b, 0, a * x, regularized=True)
        ),
    )


gdtr: Op = _gdtr("gdtr", 1.0)
gdtrc: Op = _gdtr("gdtrc", -1.0)
gdtria: Op = special_function("gdtria", *inverse_partials(lambda: gdtr, 3, 0))
gdtrib: Op = special_function("gdtrib", *inverse_partials(lambda: gdtr, 3, 1))
gdtrix: Op = special_function("gdtrix", *inverse_partials(lambda: gdtr, 3, 2))


@in_precision_of_data
def chdtr(v: Array, x: Array) -> Any:
    """The chi-square distribution function. As `scipy.special.chdtr`."""
    return gammainc(0.5 * v, 0.5 * x)


@in_precision_of_data
def chdtrc(v: Array, x: Array) -> Any:
    """The chi-square survival function. As `scipy.special.chdtrc`."""
    return gammaincc(0.5 * v, 0.5 * x)


@in_precision_of_data
def chdtri(v: Array, p: Array) -> Any:
    """The inverse of `chdtrc` in x. As `scipy.special.chdtri`."""
    return 2.0 * gammainccinv(0.5 * v, p)


def chdtriv(p: Array, x: Array) -> Any:
    """The inverse of `chdtr` in v. As `scipy.special.chdtriv`."""
    return 2.0 * gdtrib(1.0, p, 0.5 * x)


def _above_count(k: Array) -> Any:
    """The least whole number above a count, and NaN for a negative one."""
    return np.where(k < 0, math.nan, np.floor(k) + 1.0)


@in_precision_of_data
def pdtri(k: Array, y: Array) -> Any:
    """The inverse of `pdtr` in m, not differentiated in the count. As `scipy.special.pdtri`."""
    return gammainccinv(_above_count(k), np.where(y < 1, y, math.nan))


@in_precision_of_data
def pdtr(k: Array, m: Array) -> Any:
    """The Poisson distribution function, not differentiated in the count. As `scipy.special.pdtr`."""
    return gammaincc(_above_count(k), m)


@in_precision_of_data
def pdtrc(k: Array, m: Array) -> Any:
    """The Poisson survival function, not differentiated in the count. As `scipy.special.pdtrc`."""
    return gammainc(_above_count(k), m)


# -- binomial ----------------------------------------------------------------------------------
def _whole(n: Array) -> Any:
    """A number of trials: SciPy truncates it. At a whole one the derivative is that for real numbers."""
    return np.where(n == np.trunc(n), n, np.trunc(n))


@in_precision_of_data
def bdtr(k: Array, n: Array, p: Array) -> Any:
    """The binomial distribution function, not differentiated in the count. As `scipy.special.bdtr`."""
    n = _whole(n)
    found = betaincc(_above_count(k), n - np.floor(k), p)
    return np.where(np.floor(k) == n, np.where((p >= 0) & (p <= 1), 1.0, math.nan), found)


@in_precision_of_data
def bdtrc(k: Array, n: Array, p: Array) -> Any:
    """The binomial survival function, not differentiated in the count. As `scipy.special.bdtrc`."""
    n, count = _whole(n), np.floor(k)
    below = k < 0  # where all that is drawn is above the count
    known, shape = (count == n) | below, np.where(below, 0.0, count)
    found = betainc(shape + 1.0, n - shape, p)
    sure = np.where(below, 1.0, 0.0)
    return np.where(known, np.where((p >= 0) & (p <= 1), sure, math.nan), found)


@in_precision_of_data
def bdtri(k: Array, n: Array, y: Array) -> Any:
    """The inverse of `bdtr` in p, not differentiated in the count. As `scipy.special.bdtri`."""
    return betainccinv(np.floor(k) + 1.0, _whole(n) - np.floor(k), y)


@in_precision_of_data
def nbdtri(k: Array, n: Array, y: Array) -> Any:
    """The inverse of `nbdtr` in p, not differentiated in k. As `scipy.special.nbdtri`."""
    return betaincinv(_whole(n), np.floor(k) + 1.0, y)


def _negative_binomial(k: Array, n: Array) -> tuple[Any, Any]:
    """n and the number of failures plus 1; NaN where SciPy's value is NaN."""
    n = _whole(n)
    finite = (n > 0) & (n < np.inf)
    return np.where(finite, n, np.nan), np.where((k > -1) & (k < np.inf), np.trunc(k), np.nan) + 1.0


@in_precision_of_data
def nbdtr(k: Array, n: Array, p: Array) -> Any:
    """The negative binomial distribution function, not differentiated in k. As `scipy.special.nbdtr`."""
    return betainc(*_negative_binomial(k, n), p)


@in_precision_of_data
def nbdtrc(k: Array, n: Array, p: Array) -> Any:
    """The negative binomial survival function, not differentiated in k. As `scipy.special.nbdtrc`."""
    return betaincc(*_negative_binomial(k, n), p)


# -- normal --------------------------------------------------------------------------------------
def nrdtrimn(p: Array, std: Array, x: Array) -> Any:
    """The mean of a normal variable below x with probability p. As `scipy.special.nrdtrimn`."""
    return np.where((p > 0) & (p < 1) & (std > 0), x - std * ndtri(p), np.nan)


def nrdtrisd(mn: Array, p: Array, x: Array) -> Any:
    """The deviation of a normal variable below x with probability p. As `scipy.special.nrdtrisd`."""
    return np.where((p > 0) & (p < 1), (x - mn) / ndtri(p), np.nan)


# -- the cosine distribution ---------------------------------------------------------------------
def _cosine_density(x: Array) -> Any:
    return mask(np.abs(x) < math.pi, np.cos(0.5 * x) ** 2 / math.pi)


cosine_cdf: Op = special_function(
    "cosine_cdf",
    lambda z, x: _cosine_density(x),
    ufunc="_cosine_cdf",
    mpmath=lambda mp, x: (mp.pi + x + mp.sin(x)) / (2 * mp.pi) if abs(x) < mp.pi else mp.mpf(x > 0),
)
cosine_invcdf: Op = special_function(
    "cosine_invcdf", lambda z, p: 1.0 / _cosine_density(z), ufunc="_cosine_invcdf"
)
