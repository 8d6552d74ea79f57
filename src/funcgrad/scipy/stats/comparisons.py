"""Tests and fits of `scipy.stats` that SciPy computes in compiled code: Shapiro's, Siegel's, Dunnett's.

And divergences of powers, for which SciPy has other formulas at the powers 1, 0 and -1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import _ansari_swilk_statistics, _multicomp, _stats_mstats_common, _stats_py

from funcgrad.arrays.reference import unwrapped
from funcgrad.expr.registry import functions
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import special
from funcgrad.scipy.composition import in_place_of, real, unreplaced, with_value, without_derivative
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.typing import Array

# -- Shapiro and Wilk -----------------------------------------------------------------------------------
_SMALL_MEAN = (0.544, -0.39978, 0.025054, -6.714e-4)
_SMALL_SPREAD = (1.3822, -0.77857, 0.062767, -0.0020322)
_MEAN = (-1.5861, -0.31082, -0.083751, 0.0038915)
_SPREAD = (-0.4803, -0.082676, 0.0030302)


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    return float(sum([c * x**k for k, c in enumerate(coefficients)]))


def _significance(w: Array, count: int) -> Any:
    """The p-value of the statistic (Royston 1995)."""
    if count == 3:
        return np.maximum(6 / math.pi * (np.arcsin(np.sqrt(w)) - math.asin(math.sqrt(0.75))), 0.0)
    y = np.log(1 - w)
    if count <= 11:
        gamma = 0.459 * count - 2.273
        y = -np.log(gamma - y)
        mean, spread = [_polynomial(c, count) for c in (_SMALL_MEAN, _SMALL_SPREAD)]
    else:
        size = math.log(count)
        mean, spread = [_polynomial(c, size) for c in (_MEAN, _SPREAD)]
    return special.ndtr(-(y - mean) / math.exp(spread))


@in_place_of(_ansari_swilk_statistics.swilk)
def swilk(x: Array, a: Array, init: int) -> Any:
    """As SciPy's `swilk`: the statistic of sorted data, its p-value, and a fault."""
    data: Any = lift_fully(x)
    count = data.shape[0]
    weights = np.zeros(count // 2)
    _ansari_swilk_statistics.swilk(np.arange(float(count)), weights, 0)
    run = lambda x: np.array(_ansari_swilk_statistics.swilk(x, weights.copy(), 1), float)  # noqa: E731
    own = without_derivative("swilk", run, ArrayType((3,), np.dtype(float)), data)
    middle = [np.zeros(1)] if count % 2 else []
    whole = np.concatenate([-weights, *middle, weights[::-1]])
    off = data - np.mean(data)
    w = with_value(own[0], np.sum(whole * data) ** 2 / np.sum(off * off))
    return w, with_value(own[1], _significance(w, count)), 0


# -- Siegel's slope --------------------------------------------------------------------------------------
@in_place_of(getattr(_stats_mstats_common, "siegelslopes_pythran", None))  # until SciPy 1.17
def siegel_slope(y: Array, x: Array, method: str) -> Any:
    """As SciPy's: the median, over points, of the median slope to the others, and the intercept."""
    data: Any = lift_fully(y)
    at: Any = lift_fully(x)
    across, up = at[:, None] - at, data[:, None] - data
    equal = across == 0
    slopes = np.nanmedian(np.where(equal, np.nan, up / np.where(equal, 1.0, across)), axis=1)
    slope = np.nanmedian(slopes)
    if method == "hierarchical":
        return slope, np.median(data - slope * at)
    crossed = data * at[:, None] - data[:, None] * at
    rest = np.where(equal, np.nan, crossed / np.where(equal, 1.0, across))
    return slope, np.nanmedian(np.nanmedian(rest, axis=1))


# -- Dunnett -----------------------------------------------------------------------------------------------
def dunnett_significance(
    rho: Array, df: int, statistic: Array, alternative: str, rng: np.random.Generator | None = None
) -> Any:
    """As SciPy's p-values, which it integrates at random: they have no derivative, but an error for it."""
    if not holds_expr([rho, statistic]):
        return _significance_of_dunnett(*unwrapped([rho, df, statistic]), alternative, rng)
    count: Any = lift_fully(statistic)
    found = primitive(
        lambda rho, statistic: _significance_of_dunnett(rho, df, statistic, alternative, rng),
        out=lambda *_: count,
        name="dunnett_pvalue",
    )
    return found(lift_fully(rho), count)


_significance_of_dunnett = _multicomp._pvalue_dunnett


# -- divergences of powers ---------------------------------------------------------------------------------
def divergence_of_power(
    f_obs: Array, f_exp: Array | None, ddof: Array, axis: Any, lambda_: Any, sum_check: bool = True
) -> Any:
    """As SciPy's ``_power_divergence``, also in a power of 1, 0 or -1.

    Near -1 it is 2/power * sum(expected * boxcox(ratio, power + 1)), since both sums are equal.
    """
    given = (f_obs, f_exp, ddof, axis, lambda_)
    found = functions["call_adopted"](_SCIPYS_DIVERGENCE, given, {"sum_check": sum_check})
    if not holds_expr(lambda_) or not (lambda_ == 0 or lambda_ == 1 or lambda_ == -1):
        return found
    observed = real("power_divergence", f_obs)
    mean = np.mean(observed, axis=axis, keepdims=True)
    expected = mean if f_exp is None else real("power_divergence", f_exp)
    ratio = observed / expected
    if lambda_ == -1:
        terms = expected * special.boxcox(ratio, lambda_ + 1) / lambda_
    else:
        some = ratio > 0
        terms = observed * special.boxcox(np.where(some, ratio, 1.0), lambda_) / (lambda_ + 1)
        terms = np.where(some, terms, 0.0)
    statistic = with_value(found.statistic, 2 * np.sum(terms, axis=axis))
    count = terms.size if axis is None else terms.shape[axis]
    chance = special.chdtrc(count - 1 - ddof, statistic)
    return type(found)(statistic, with_value(found.pvalue, chance))


_SCIPYS_DIVERGENCE = unreplaced(_stats_py._power_divergence)
