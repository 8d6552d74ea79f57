"""Arrays of Series and DataFrames: those of plain numbers are, in adopted code, arrays that take stores."""

from __future__ import annotations

import sys
from collections.abc import Callable
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
