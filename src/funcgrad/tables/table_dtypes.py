"""Dtypes of Series and DataFrames of traced columns: NumPy's for all code but pandas' own.

Pandas asks for the dtype to find the functions that know traced columns. Other code asks whether the numbers
are floats, as ``s.dtype == float`` and ``np.issubdtype(s.dtype, np.number)`` do.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from pandas import DataFrame, Series


class TableDtypes:
    """`dtype`, `dtypes` and `select_dtypes`, as of columns of plain numbers."""

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
