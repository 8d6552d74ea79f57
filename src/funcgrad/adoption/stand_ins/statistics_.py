"""``statistics`` for adopted code: on plain numbers its own functions, on traced values sums of them.

`statistics.median` and its kin sort, and need no other form.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from funcgrad.adoption.stand_ins.math_ import exact_sum, fsum
from funcgrad.adoption.stand_ins.number_functions import any_traced
from funcgrad.expr.registry import functions
from funcgrad.ops.shape import as_pythons
from funcgrad.ops.special.error_functions import ndtri
from funcgrad.typing import Array


def _where_traced(traced: Callable[..., Any]) -> Callable[..., Any]:
    own = getattr(statistics, traced.__name__)

    @wraps(own)
    def function(*args: object, **kwargs: object) -> Any:
        # Iterators are read once.
        lists = [list(arg) if isinstance(arg, Iterable) else arg for arg in args]
        held = [
            item
            for arg in (*lists, *kwargs.values())
            for item in (arg if isinstance(arg, Sequence) else [arg])
        ]
        return (traced if any_traced(*held) else own)(*lists, **kwargs)

    return function


def _counted(data: Any, least: int, name: str) -> int:
    if len(data) < least:
        raise statistics.StatisticsError(f"{name} requires at least {least} data points")
    return len(data)


@_where_traced
def mean(data: Any) -> Any:
    return exact_sum(data) / _counted(data, 1, "mean")


@_where_traced
def fmean(data: Iterable[Any], weights: Iterable[Any] | None = None) -> Any:
    if weights is None:
        return fsum(data) / _counted(data, 1, "fmean")
    return fsum([w * x for w, x in zip(list(weights), data, strict=True)]) / fsum(list(weights))


@_where_traced
def geometric_mean(data: Iterable[Any]) -> Any:
    return np.exp(fsum([np.log(x) for x in data]) / _counted(data, 1, "geometric_mean"))


@_where_traced
def harmonic_mean(data: Any, weights: Any = None) -> Any:
    _counted(data, 1, "harmonic_mean")
    shares = [1] * len(data) if weights is None else list(weights)
    return fsum(shares) / exact_sum([w / x for w, x in zip(shares, data, strict=True)])


def normal_quantile(p: Array, mu: Array, sigma: Array) -> Any:
    """The compiled function of `statistics.NormalDist.inv_cdf`, of traced values, too."""
    if not any_traced(p, mu, sigma):
        return vars(statistics)["_normal_dist_inv_cdf"](p, mu, sigma)
    return mu + sigma * ndtri(p)


def _squares(data: Any, center: Any) -> Any:
    middle = exact_sum(data) / len(data) if center is None else center
    return exact_sum([(x - middle) ** 2 for x in data])


@_where_traced
def pvariance(data: Iterable[Any], mu: Array | None = None) -> Any:
    return _squares(data, mu) / _counted(data, 1, "pvariance")


@_where_traced
def variance(data: Iterable[Any], xbar: Array | None = None) -> Any:
    return _squares(data, xbar) / (_counted(data, 2, "variance") - 1)


@_where_traced
def pstdev(data: Iterable[Any], mu: Array | None = None) -> Any:
    return as_pythons(np.sqrt(_squares(data, mu) / _counted(data, 1, "pstdev")))


@_where_traced
def stdev(data: Iterable[Any], xbar: Array | None = None) -> Any:
    return as_pythons(np.sqrt(_squares(data, xbar) / (_counted(data, 2, "stdev") - 1)))


def _products(x: Any, y: Any) -> Any:
    a, b = fsum(x) / len(x), fsum(y) / len(y)
    return fsum([(p - a) * (q - b) for p, q in zip(x, y, strict=True)])


@_where_traced
def covariance(x: Iterable[Any], y: Iterable[Any]) -> Any:
    return _products(x, y) / (_counted(x, 2, "covariance") - 1)


@_where_traced
def correlation(x: Iterable[Any], y: Iterable[Any]) -> Any:
    _counted(x, 2, "correlation")
    return _products(x, y) / np.sqrt(_products(x, x) * _products(y, y))


@_where_traced
def linear_regression(x: Sequence[Any], y: Sequence[Any], /, *, proportional: bool = False) -> Any:
    _counted(x, 2, "linear_regression")
    if proportional:
        xy, xx = [fsum([p * q for p, q in zip(x, z, strict=True)]) for z in (y, x)]
        return statistics.LinearRegression(xy / xx, 0.0)
    slope = _products(x, y) / _products(x, x)
    return statistics.LinearRegression(slope, fsum(y) / len(y) - slope * fsum(x) / len(x))


def __getattr__(name: str) -> Any:
    try:
        found = getattr(statistics, name)
    except AttributeError:
        raise AttributeError(f"module 'statistics' has no attribute {name!r}") from None
    return functions["redirect"](found)
