"""Arrays and dtypes of Series and DataFrames: in adopted code, arrays of plain numbers take stores."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
from pandas import DataFrame, Series

from funcgrad.arrays.mutable_array import mutable, shared_argument
from funcgrad.arrays.reference import MARK
from funcgrad.tables.table_operands import all_numbers, has_traced_values


class ArraysOfTables:
    """`values` and `to_numpy`, whose arrays share the numbers of the table: a copy takes traced values."""

    @property
    def values(self: Any) -> Any:
        """As pandas' property."""
        if isinstance(self, DataFrame) or self.dtype == "traced":
            return _as_seen(self._funcgrad_to_numpy(), sys._getframe(1).f_globals)
        return _as_seen(Series.values.fget(self), sys._getframe(1).f_globals)

    def to_numpy(
        self: Any, dtype: object = None, copy: bool = False, *args: object, **kwargs: object
    ) -> Any:
        """As pandas' method."""
        made = self._funcgrad_to_numpy(dtype, copy, *args, **kwargs)
        return _as_seen(made, sys._getframe(1).f_globals, mutable if copy else shared_argument)

    def _funcgrad_to_numpy(self: Any, *args: object, **kwargs: object) -> Any:
        if isinstance(self, Series):
            return Series.to_numpy(self, *args, **kwargs)
        if not has_traced_values(self) or not all_numbers(self):
            return DataFrame.to_numpy(self, *args, **kwargs)
        return np.stack([column.to_numpy() for _, column in self.items()], axis=1)


def _as_seen(
    array: object, asking: dict[str, Any], cell: Callable[[Any], Any] = shared_argument
) -> Any:
    """An array of numbers as the code with these globals is given it."""
    if MARK in asking and isinstance(array, np.ndarray) and array.dtype.kind in "biufc":
        return cell(array)
    return array


class TableDtypes:
    """`dtype`, `dtypes` and `select_dtypes`, as of columns of plain numbers: for all code but pandas' own.

    Pandas asks for the dtype to find the functions that know traced columns. Other code asks whether the
    numbers are floats, as ``s.dtype == float`` and ``np.issubdtype(s.dtype, np.number)`` do.
    """

    @property
    def dtype(self: Any) -> Any:
        """As pandas' property."""
        return _as_told(self, _asker(sys._getframe(1)))

    @property
    def dtypes(self: Any) -> Any:
        """As pandas' property."""
        asking = _asker(sys._getframe(1))
        if isinstance(self, Series):
            return _as_told(self, asking)
        found = DataFrame.dtypes.fget(self)
        if _is_of_pandas(asking) or not (found == "traced").any():
            return found
        told = [_as_told(column, asking) for _, column in self.items()]
        return Series(told, index=found.index, dtype=object)

    def select_dtypes(self: Any, include: Any = None, exclude: Any = None) -> Any:
        """As pandas' method."""
        told = [_as_told(column, "") for _, column in self.items()]
        plain = DataFrame({place: Series([], dtype=dtype) for place, dtype in enumerate(told)})
        return self.iloc[:, list(plain.select_dtypes(include, exclude).columns)].copy()


def _asker(frame: FrameType | None) -> str:
    """The module of the code that asks, also by the `getattr` of adopted code."""
    name = ""
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if not name.startswith("funcgrad.adoption."):
            break
        frame = frame.f_back
    return name


def _as_told(series: Any, asking: str) -> Any:
    """The dtype of a column as the code of a module is told it."""
    own = series._mgr.dtype
    return own if _is_of_pandas(asking) or own != "traced" else series.array.expr.dtype


def _is_of_pandas(asking: str) -> bool:
    return asking.partition(".")[0] in ("pandas", "funcgrad")
