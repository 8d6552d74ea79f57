"""The powers of Box and Cox and of Yeo and Johnson, and the shape that fits best: optima in the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as _scipy

from funcgrad.expr.registry import functions
from funcgrad.graph import ArrayType
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import special
from funcgrad.scipy.composition import (
    composed,
    floating,
    real,
    refuse_policy,
    unreplaced,
    with_value,
    without_derivative,
)
from funcgrad.scipy.stats.continuous import CONTINUOUS
from funcgrad.scipy.stats.distribution import Continuous
from funcgrad.source import fail, type_error, value_error
from funcgrad.trace.masked_trees import is_masked
from funcgrad.transforms.custom.implicit import implicit_root
from funcgrad.transforms.grad import grad
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy, host=True)
_Function = Callable[..., Any]


def _optimum(who: str, own: _Function, objective: _Function, data: Array) -> Any:
    """SciPy's optimum, with the derivative of the place near it where the objective's slope is 0."""

    def run(data: Array) -> Any:
        found = float(own(data))
        step = 1e-3 * max(1.0, abs(found))
        slopes = [float(grad(objective)(found + s * step, data)) for s in (1, -1)]
        if not slopes[0] * slopes[1] <= 0:
            raise fail(
                np.linalg.LinAlgError,
                f"{who}: expected an optimum inside of its bounds, but got {found} at one of them, which has "
                "no derivative",
            )
        return found

    place = without_derivative(who, run, ArrayType((), np.dtype(float)), data)
    return with_value(place, implicit_root(grad(objective))(place, data))


def _medians(count: int) -> Any:
    """Filliben's medians of uniform order statistics."""
    last = 0.5 ** (1.0 / count)
    inner = (np.arange(2, count) - 0.3175) / (count + 0.365)
    return np.concatenate([[1 - last], inner, [last]])


def _correlation(x: Array, y: Array) -> Any:
    off, other = x - np.mean(x), y - np.mean(y)
    return np.sum(off * other) / np.sqrt(np.sum(off * off) * np.sum(other * other))


def _without_nan(name: str, x: ArrayLike, nan_policy: str) -> Any:
    """Data along one axis by SciPy's policy on NaN."""
    data = real(name, x)
    if nan_policy == "omit":
        return data[~np.isnan(data)]
    if nan_policy == "raise" and np.any(np.isnan(data)):
        raise ValueError("The input contains nan values")  # in SciPy's words
    return data


@_composed
def boxcox_normmax(
    x: ArrayLike,
    brack: tuple[float, ...] | None = None,
    method: str = "pearsonr",
    optimizer: _Function | None = None,
    *,
    ymax: float | None = None,
    nan_policy: str = "propagate",
) -> Any:
    """As `scipy.stats.boxcox_normmax`: the power that makes data normal.

    >>> import funcgrad as fg
    >>> data = np.array([1.0, 2.0, 4.0, 9.0, 12.0])
    >>> slope = fg.grad(lambda t: boxcox_normmax(t * data, method="mle"))(1.0)
    >>> abs(slope) < 1e-6  # a scale leaves the power as it is
    True
    """
    data = _without_nan("boxcox_normmax", x, nan_policy)
    scores = special.ndtri(_medians(data.shape[0]))
    limit = {} if ymax is None else {"ymax": ymax}

    def pearson(power: Array, data: Array) -> Any:
        return -_correlation(scores, special.boxcox(np.sort(data), power))

    def likelihood(power: Array, data: Array) -> Any:
        spread = np.log(np.var(special.boxcox(data, power))) / 2
        return spread - (power - 1) * np.mean(np.log(data))

    objectives = {"pearsonr": pearson, "mle": likelihood}
    if method not in (*objectives, "all"):
        raise value_error(
            f"boxcox_normmax: expected the method 'pearsonr', 'mle' or 'all', but got {method!r}",
        )

    def found(name: str) -> Any:
        own = lambda data: _scipy.boxcox_normmax(data, brack, name, optimizer, **limit)  # noqa: E731
        return _optimum("boxcox_normmax", own, objectives[name], data)

    return np.stack([found(name) for name in objectives]) if method == "all" else found(method)


# -- powers at which SciPy has a formula of its own, without the slope in the power -------------------------
def yeojohnson_power(x: Array, lmbda: Array, xp: object = None) -> Any:
    """As SciPy's ``_yeojohnson_transform``, also in a power of 0 or 2."""
    data = floating("yeojohnson", x)
    up = data >= 0
    return np.where(
        up,
        special.boxcox1p(np.where(up, data, 0.0), lmbda),
        -special.boxcox1p(np.where(up, 0.0, -data), 2 - lmbda),
    )


def _signed_log1p(x: Array) -> Any:
    """sign(x)*log1p(|x|), which has the slope 1 at 0."""
    up = x >= 0
    return np.where(up, np.log1p(np.where(up, x, 0.0)), -np.log1p(np.where(up, 0.0, -x)))


_SCIPYS_LIKELIHOOD, _SCIPYS_SIGNED_LIKELIHOOD, _SCIPYS_MEAN = map(
    unreplaced, (_scipy.boxcox_llf, _scipy.yeojohnson_llf, _scipy.pmean)
)


@_composed
def yeojohnson_llf(
    lmb: Array,
    data: ArrayLike,
    *,
    axis: Any = 0,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """As `scipy.stats.yeojohnson_llf`, also in data of 0."""
    if nan_policy != "propagate" or is_masked(type(data)):
        given = {"axis": axis, "nan_policy": nan_policy, "keepdims": keepdims}
        return functions["call_adopted"](_SCIPYS_SIGNED_LIKELIHOOD, (lmb, data), given)
    x = floating("yeojohnson_llf", data)
    return _likelihood(lmb, _signed_log1p(x), yeojohnson_power(x, lmb), axis, keepdims)


def _likelihood(lmb: Array, logs: Array, moved: Array, axis: Any, keepdims: bool) -> Any:
    """The log-likelihood of a power transform to normal data, whose slopes are exp((lmb - 1)*logs)."""
    spread = np.log(np.var(moved, axis=axis, keepdims=keepdims))
    count = logs.size // max(spread.size, 1)
    return (lmb - 1) * np.sum(logs, axis=axis, keepdims=keepdims) - count / 2 * spread


# Powers up to which SciPy's formulas, which divide by the power, lose digits of the slope in it.
_SMALL = 0.1


def _takes_scipys_formula(power: Array, nan_policy: str) -> bool:
    """Whether SciPy's code has the slope in the power; it alone has policies of NaN."""
    if not holds_expr(power) or abs(power) > _SMALL:
        return True
    return bool(nan_policy != "propagate" and power != 0)


@_composed
def boxcox_llf(
    lmb: Array,
    data: ArrayLike,
    *,
    axis: Any = 0,
    keepdims: bool = False,
    nan_policy: str = "propagate",
) -> Any:
    """As `scipy.stats.boxcox_llf`, also in a power of 0 or near it."""
    if _takes_scipys_formula(lmb, nan_policy):
        given = {"axis": axis, "keepdims": keepdims, "nan_policy": nan_policy}
        return functions["call_adopted"](_SCIPYS_LIKELIHOOD, (lmb, data), given)
    refuse_policy("boxcox_llf", nan_policy)
    x = floating("boxcox_llf", data)
    return _likelihood(lmb, np.log(x), special.boxcox(x, lmb), axis, keepdims)


@_composed
def pmean(
    a: ArrayLike,
    p: Array,
    *,
    axis: Any = 0,
    dtype: Any = None,
    weights: Any = None,
    nan_policy: str = "propagate",
    keepdims: bool = False,
) -> Any:
    """As `scipy.stats.pmean`, also in a power of 0 or near it."""
    if _takes_scipys_formula(p, nan_policy):
        given = {"axis": axis, "dtype": dtype, "weights": weights}
        given |= {"nan_policy": nan_policy, "keepdims": keepdims}
        return functions["call_adopted"](_SCIPYS_MEAN, (a, p), given)
    refuse_policy("pmean", nan_policy)
    x = floating("pmean", a)
    moved: Any = special.boxcox(x, p)
    mean = np.average(moved, **{"axis": axis, "weights": weights, "keepdims": keepdims})
    return special.inv_boxcox(mean, p)


@_composed
def yeojohnson_normmax(
    x: ArrayLike, brack: tuple[float, ...] | None = None, *, nan_policy: str = "propagate"
) -> Any:
    data = _without_nan("yeojohnson_normmax", x, nan_policy)

    def likelihood(power: Array, data: Array) -> Any:
        rest = np.mean(_signed_log1p(data))
        return np.log(np.var(yeojohnson_power(data, power))) / 2 - (power - 1) * rest

    own = lambda data: _scipy.yeojohnson_normmax(data, brack)  # noqa: E731
    return _optimum("yeojohnson_normmax", own, likelihood, data)


@_composed
def ppcc_max(
    x: ArrayLike, brack: tuple[float, ...] = (0.0, 1.0), dist: str | Continuous = "tukeylambda"
) -> Any:
    """As `scipy.stats.ppcc_max`: the shape whose quantiles correlate best
    with the data.
    """
    data = real("ppcc_max", x)
    name = dist if isinstance(dist, str) else dist.name
    medians = _medians(data.shape[0])

    def fit(shape: Array, data: Array) -> Any:
        if name == "tukeylambda":
            quantiles = special.boxcox(medians, shape) - special.boxcox(1 - medians, shape)
        else:
            quantiles = Continuous(name, CONTINUOUS[name]).ppf(medians, shape)
        return -_correlation(quantiles, np.sort(data))

    if name not in (*CONTINUOUS, "tukeylambda"):
        raise type_error(
            f"ppcc_max: expected a distribution whose ppf takes traced values, but got {name!r}",
        )
    if holds_expr(brack):
        raise type_error("ppcc_max: expected a plain bracket, but got a traced one")
    own = lambda data: _scipy.ppcc_max(data, brack, dist)  # noqa: E731
    return _optimum("ppcc_max", own, fit, data)
