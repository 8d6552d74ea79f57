"""``statistics`` for adopted code: on plain numbers its own functions, on traced values sums of them.

`statistics.median` and its kin sort, and need no other form.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import numpy as np

from funcgrad.adoption.stand_ins.math_ import exact_sum, fsum
from funcgrad.adoption.stand_ins.number_functions import any_traced
from funcgrad.arrays.float_subclass import TracedFloat, numbers_of
from funcgrad.expr.registry import functions
from funcgrad.ops.shape import as_pythons
from funcgrad.ops.special.error_functions import ndtri
from funcgrad.typing import Array


def _where_traced(traced: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    own = getattr(statistics, name or traced.__name__)

    @wraps(own)
    def function(*args: object, **kwargs: object) -> Any:
        lists = [_listed(arg) for arg in args]
        named = {key: _listed(arg) for key, arg in kwargs.items()}
        held = [
            item
            for arg in (*lists, *named.values())
            for item in (arg if isinstance(arg, list) else [arg])
        ]
        return (traced if any_traced(*held) else own)(*lists, **named)

    return function


def _listed(arg: object) -> object:
    """A list of the items, since iterators are read once; numbers, such as a mean, stay."""
    is_number = getattr(arg, "shape", None) == ()
    return list(arg) if isinstance(arg, Iterable) and not is_number else arg


def _counted(data: Any, least: int, name: str) -> int:
    if len(data) < least:
        raise statistics.StatisticsError(f"{name} requires at least {least} data points")
    return len(data)


def _in_class_of(items: Iterable[Any], value: Any) -> Any:
    """A number as `statistics` returns it: of the subclass of ``float`` that the items are of, if any."""
    kinds = dict.fromkeys([type(x) for x in items if isinstance(x, float | TracedFloat)])
    own = [functions["original_class"](kind) for kind in kinds if kind not in (float, np.float64)]
    if not own:
        return value
    lowest = max(own, key=lambda kind: len(kind.__mro__))
    for kind in own:
        if not issubclass(lowest, kind):
            raise TypeError(f"don't know how to coerce {lowest.__name__} and {kind.__name__}")
    return functions["redirect"](lowest)(value)


@_where_traced
def mean(data: Any) -> Any:
    return _in_class_of(data, exact_sum(data) / _counted(data, 1, "mean"))


@_where_traced
def fmean(data: Iterable[Any], weights: Iterable[Any] | None = None) -> Any:
    if weights is None:
        return fsum(data) / _counted(data, 1, "fmean")
    weights = list(weights)
    return fsum([x * w for x, w in zip(data, weights, strict=True)]) / fsum(weights)


@_where_traced
def geometric_mean(data: Iterable[Any]) -> Any:
    return np.exp(fsum([np.log(x) for x in data]) / _counted(data, 1, "geometric_mean"))


@_where_traced
def harmonic_mean(data: Any, weights: Any = None) -> Any:
    if _counted(data, 1, "harmonic_mean") == 1 and weights is None:
        return data[0]
    shares = [1] * len(data) if weights is None else list(weights)
    parts = [w / x for w, x in zip(shares, data, strict=True)]
    return _in_class_of(parts, fsum(shares) / exact_sum(parts))


def normal_quantile(p: Array, mu: Array, sigma: Array) -> Any:
    """The compiled function of `statistics.NormalDist.inv_cdf`, of traced values, too."""
    if not any_traced(p, mu, sigma):
        return vars(statistics)["_normal_dist_inv_cdf"](p, mu, sigma)
    return mu + sigma * ndtri(p)


def _squares(data: Any, center: Any) -> list[Any]:
    """The squares of the deviations; from a center that is given, by the operators of the data's class."""
    if center is None:
        data = numbers_of(data)
        center = exact_sum(data) / len(data)
    return [(d := x - center) * d for x in data]


@_where_traced
def pvariance(data: Any, mu: Array | None = None) -> Any:
    squares = _squares(data, mu)
    found = exact_sum(squares) / _counted(data, 1, "pvariance")
    return _in_class_of(data if mu is None else squares, found)


@_where_traced
def variance(data: Any, xbar: Array | None = None) -> Any:
    squares = _squares(data, xbar)
    found = exact_sum(squares) / (_counted(data, 2, "variance") - 1)
    return _in_class_of(data if xbar is None else squares, found)


def _root(variance: Array) -> Any:
    """The root of a mean square, whose slope at 0 is 0, as that of a norm."""
    return as_pythons(np.where(variance == 0, 0.0, np.sqrt(variance)))


@_where_traced
def pstdev(data: Iterable[Any], mu: Array | None = None) -> Any:
    return _root(exact_sum(_squares(data, mu)) / _counted(data, 1, "pstdev"))


@_where_traced
def stdev(data: Iterable[Any], xbar: Array | None = None) -> Any:
    return _root(exact_sum(_squares(data, xbar)) / (_counted(data, 2, "stdev") - 1))


def _mean_and_deviation(data: Any) -> Any:
    data = numbers_of(data)
    return as_pythons(fmean(data)), stdev(data)


mean_and_deviation = _where_traced(_mean_and_deviation, "_mean_stdev")
"""The function of `statistics.NormalDist.from_samples`, of traced values, too."""


def __getattr__(name: str) -> Any:
    try:
        found = getattr(statistics, name)
    except AttributeError:
        raise AttributeError(f"module 'statistics' has no attribute {name!r}") from None
    return functions["redirect"](found)
