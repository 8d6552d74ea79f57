"""Rolling, expanding and exponential windows of traced columns.

Pandas' own Python code runs, which finds the bounds of the windows, over the functions of this module in the
place of those of ``pandas._libs.window.aggregations``, which read plain numbers. They have the same names,
and leave plain arrays to pandas'.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from pandas import Series, notna
from pandas._libs.window import aggregations

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value
from funcgrad.source import type_error
from funcgrad.tables.row_functions import (
    FLAT_MOMENTS,
    exponential_weights,
    linear_recurrence,
    missing_of,
    reduced_rows,
    row_correlations,
    row_covariances,
    window_rows,
)
from funcgrad.tables.table_operands import has_traced_values, stacked_expr
from funcgrad.tables.traced_columns import TracedColumn

_Bounds = npt.NDArray[np.intp]


_CENTERS_OF_MASS: dict[str, Callable[[Any], Any]] = {
    "com": lambda com: com,
    "span": lambda span: (span - 1) / 2,
    "halflife": lambda halflife: 1 / (1 - np.exp(np.log(0.5) / halflife)) - 1,
    "alpha": lambda alpha: (1 - alpha) / alpha,
}
"""The center of mass of exponential weights, by the parameter that is given."""


def weighted_windows(
    ewm: Callable[..., Any], series: type[Series], given: dict[str, Any], how: dict[str, Any]
) -> Any:
    """Exponential windows by pandas' method, of which one parameter may be traced."""
    plain = {name: concrete_value(plain_value(value), "ewm") for name, value in given.items()}
    made = traced_windows(ewm(**plain, **how), series)
    for name, value in given.items():
        if has_traced_values(value):
            made._com = _CENTERS_OF_MASS[name](stacked_expr(value))
    return made


def traced_windows(windows: Any, series: Any) -> Any:
    """An object of windows, of the class whose functions know traced columns."""
    kind: Any = type(windows)
    windows.__class__ = _class_of_windows(kind, series)
    return windows


@lru_cache(maxsize=64)
def _class_of_windows(kind: Any, series: Any) -> Any:
    if "_funcgrad_series" in vars(kind):
        return kind
    space: dict[str, Any] = {"_funcgrad_series": series, "__module__": kind.__module__}
    for base in reversed(kind.__mro__):
        space |= {
            name: _over_functions(function)
            for name, function in vars(base).items()
            if isinstance(function, FunctionType) and _aggregates(function.__code__)
        }
    if hasattr(kind, "_generate_cython_apply_func"):
        space["_generate_cython_apply_func"] = _apply_function
    if hasattr(kind, "cov"):
        space |= {name: _pairwise(space.get(name, getattr(kind, name))) for name in ("cov", "corr")}
    space["_prep_values"] = lambda self, values: kind._prep_values(
        self, getattr(values, "array", values)
    )
    made: Any = type(kind.__name__, (kind,), space)
    return made


def _aggregates(code: CodeType) -> bool:
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return "window_aggregations" in code.co_names or any([_aggregates(code) for code in inner])


def _over_functions(function: FunctionType) -> FunctionType:
    """The function over those of this module."""
    home = function.__globals__ | {"window_aggregations": _FUNCTIONS, "notna": _known}
    made = FunctionType(
        function.__code__, home, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _pairwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """The method of pairs of columns, whose result is a table of the class of traced ones."""

    def method(self: Any, *args: object, **kwargs: object) -> Any:
        return self._funcgrad_series._funcgrad_of_pandas(function(self, *args, **kwargs))

    return method


def _known(values: Any) -> Any:
    return ~missing_of(values) if isinstance(values, Expr) else notna(values)


def _apply_function(
    self: Any, args: tuple[Any, ...], kwargs: dict[str, Any], raw: bool, function: Any
) -> Callable[..., Any]:
    """As pandas' method: the function of the bounds that calls the user's function on each window."""

    def apply(values: Any, begin: _Bounds, end: _Bounds, fewest: int) -> Any:
        known = np.isfinite(values) if isinstance(values, np.ndarray) else ~missing_of(values)
        counts = np.concatenate([[0], np.cumsum(known)])
        column = TracedColumn(values) if isinstance(values, Expr) else values
        windows = values if raw else self._funcgrad_series(column, index=self._on)
        found = [
            plain_value(function((windows if raw else windows.iloc)[i:j], *args, **kwargs))
            if counts[j] - counts[i] >= fewest
            else np.nan
            for i, j in zip(begin, np.maximum(begin, end), strict=True)
        ]
        traced = any([isinstance(x, Expr) for x in found])
        return TracedColumn(np.stack(found)) if traced else np.array(found, float)

    return apply


# -- the functions of pandas._libs.window.aggregations -------------------------------------------
def _of_traced(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def aggregate(values: Any, *args: object, **kwargs: object) -> Any:
        if not any([isinstance(x, Expr) for x in (values, *args, *kwargs.values())]):
            return getattr(aggregations, name)(values, *args, **kwargs)
        return TracedColumn(function(_plain_or_expr(values), *args, **kwargs))

    return aggregate


def _plain_or_expr(values: Any) -> Any:
    return np.asarray(values) if not isinstance(values, Expr) else values


def _rolled(name: str) -> Callable[..., Any]:
    def roll(
        values: Any, start: _Bounds, end: _Bounds, minp: int, *args: object, **how: Any
    ) -> Any:
        how |= {"ddof": args[0]} if args else {}
        if name in FLAT_MOMENTS:
            how["flat_value"] = _flat_moment(name)
        return reduced_rows(name, window_rows(values, start, end), fewest=minp, **how)

    return roll


@lru_cache(maxsize=2)
def _flat_moment(name: str) -> float:
    """The moment of a window of equal values, as this version of pandas has it."""
    return float(getattr(Series(np.ones(4)).rolling(4), name)().iloc[-1])


def _roll_quantile(
    values: Any, start: _Bounds, end: _Bounds, minp: int, quantile: float, interpolation: str
) -> Any:
    rows = window_rows(values, start, end)
    return reduced_rows(
        "quantile", rows, fewest=minp, quantile=quantile, interpolation=interpolation
    )


def _roll_pair(
    pair: Callable[..., Any], x: Any, y: Any, start: _Bounds, end: _Bounds, minp: int, *ddof: int
) -> Any:
    rows = [window_rows(values, start, end) for values in (x, y)]
    few = (rows[0].known & rows[1].known).sum(axis=1) < minp
    return np.where(few, np.nan, pair(*rows, *ddof))


def _ewm(
    values: Any,
    start: _Bounds,
    end: _Bounds,
    minp: int,
    com: float | Expr,
    adjust: bool,
    ignore_na: bool,
    deltas: object = None,
    normalize: bool = True,
) -> Any:
    known = ~missing_of(values)
    if deltas is not None and not adjust:
        raise type_error("ewm: expected adjust=True with times, of traced values")
    alpha = 1 / (1 + com)
    if not normalize:
        factors = np.where(known | (not ignore_na), 1 - alpha, 1.0)
        found = linear_recurrence(factors, np.where(known, values, 0.0))
        return np.where(np.cumsum(known) < minp, np.nan, found)
    weights, places = _weights(known, alpha, adjust, ignore_na, deltas)
    return _spread(weights.mean(values[places]), known, minp)


def _ewmcov(
    x: Any,
    start: _Bounds,
    end: _Bounds,
    minp: int,
    y: Any,
    com: float | Expr,
    adjust: bool,
    ignore_na: bool,
    bias: bool,
) -> Any:
    known = ~(missing_of(x) | missing_of(y))
    weights, places = _weights(known, 1 / (1 + com), adjust, ignore_na)
    return _spread(weights.covariance(x[places], y[places], bias), known, minp)


def _weights(
    known: npt.NDArray[np.bool_],
    alpha: float | Expr,
    adjust: bool,
    ignore_na: bool,
    deltas: object = None,
) -> Any:
    """The weights at the observations, and their places."""
    places = np.flatnonzero(known)
    steps = np.ones(len(known)) if deltas is None else np.concatenate([[1.0], deltas])
    since = steps[places] if ignore_na else np.diff(np.cumsum(steps)[places], prepend=0.0)
    return exponential_weights((1 - alpha) ** since, alpha, adjust), places


def _spread(found: Any, known: npt.NDArray[np.bool_], minp: int) -> Any:
    """The values at observations, which hold until the next."""
    seen = np.cumsum(known)
    if not known.any():
        return np.full(len(known), np.nan)
    return np.where(seen < max(minp, 1), np.nan, found[np.maximum(seen - 1, 0)])


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*args: object, **kwargs: object) -> Any:
        raise type_error(
            f"{name}: expected a function of windows that funcgrad knows, but got a traced column; write it "
            "by apply(f, raw=True) with a function f of the array of a window",
        )

    return refuse


_KNOWN: dict[str, Callable[..., Any]] = {
    "roll_sum": _rolled("sum"),
    "roll_mean": _rolled("mean"),
    "roll_var": _rolled("var"),
    "roll_min": _rolled("min"),
    "roll_max": _rolled("max"),
    "roll_median_c": _rolled("median"),
    "roll_skew": _rolled("skew"),
    "roll_kurt": _rolled("kurt"),
    "roll_first": _rolled("first"),
    "roll_last": _rolled("last"),
    "roll_quantile": _roll_quantile,
    "roll_cov": partial(_roll_pair, row_covariances),
    "roll_corr": partial(_roll_pair, row_correlations),
    "ewm": _ewm,
    "ewmcov": _ewmcov,
}
_FUNCTIONS = SimpleNamespace(
    **{
        name: _of_traced(name, _KNOWN.get(name) or _refused(name))
        for name in {*vars(aggregations), *_KNOWN}
        if name.startswith(("roll", "ewm"))
    }
)
