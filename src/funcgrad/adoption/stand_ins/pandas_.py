"""``pandas`` for adopted code: Series and DataFrames of traced arrays, and questions for NaN.

Their columns hold expressions (`funcgrad.tables.traced_columns`), as those of arguments do.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pandas

from funcgrad.adoption.modules import ModuleView
from funcgrad.adoption.pandas_accessors import adopt_accessors
from funcgrad.adoption.redirect import redirect
from funcgrad.adoption.stand_ins.traced_classes import stand_in_for
from funcgrad.arrays.reference import holds_expr, plain_value
from funcgrad.numpy.creation import asarray
from funcgrad.source import type_error
from funcgrad.tables.table_operands import has_traced_values, plain_of
from funcgrad.tables.traced_tables import TracedFrame, TracedSeries


def isna(obj: object) -> Any:
    """As `pandas.isna`, also of traced arrays."""
    return np.isnan(asarray(obj)) if holds_expr(obj) else pandas.isna(plain_value(obj))


def notna(obj: object) -> Any:
    """As `pandas.notna`, also of traced arrays."""
    return ~isna(obj)


def _cut(x: object, bins: object, *args: object, **kwargs: object) -> Any:
    """As `pandas.cut`, also of a traced Series: the bins in which its values lie have no derivative."""
    return _made(pandas.cut(_plain(x), bins, *args, **kwargs))


def _qcut(x: Any, q: object, labels: object = None, *args: object, **kwargs: object) -> Any:
    """As `pandas.qcut`, also of a traced Series, if the labels are not its quantiles."""
    if labels is None and has_traced_values(x):
        raise type_error(
            "qcut: expected labels for a traced Series, since intervals carry no derivative; write "
            "labels=False",
        )
    return _made(pandas.qcut(_plain(x), q, labels, *args, **kwargs))


def _plain(x: object) -> Any:
    return plain_of(TracedSeries(x)) if has_traced_values(x) else x


def _made(value: object) -> Any:
    """The Series and DataFrames that a function of pandas has made, as ones that take traced columns."""
    if type(value) is tuple or type(value) is list:
        return type(value)([_made(item) for item in value])
    return of_pandas(value)


def _making(function: Callable[..., Any]) -> Any:
    """A function of pandas that makes objects which take traced columns."""

    @functools.wraps(function)
    def making(*args: object, **kwargs: object) -> Any:
        return _made(function(*args, **kwargs))

    return making


of_pandas = TracedSeries._funcgrad_of_pandas
adopt_accessors(redirect)
globals().update({"cut": _cut, "qcut": _qcut})
Series, DataFrame = (
    stand_in_for(pandas.Series, TracedSeries),
    stand_in_for(pandas.DataFrame, TracedFrame),
)
isnull, notnull = isna, notna


def _of_core(value: object) -> Any:
    """The stand-in for an attribute of ``pandas.core``, or of a module in it; itself if it has none."""
    if isinstance(value, ModuleType) and value.__name__.startswith("pandas.core."):
        return ModuleView(value, _of_core)
    named = {pandas.Series: Series, pandas.DataFrame: DataFrame}
    return named.get(value, value) if isinstance(value, type) else value


core = ModuleView(pandas.core, _of_core)
globals().update(
    {
        name: _making(value) if isinstance(value, FunctionType) else value
        for name, value in vars(pandas).items()
        if name not in globals()
    }
)


def __getattr__(name: str) -> Any:
    return getattr(pandas, name)
