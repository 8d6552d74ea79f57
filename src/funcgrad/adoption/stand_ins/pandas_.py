"""``pandas`` for adopted code: Series and DataFrames of traced arrays, and questions for NaN.

Their columns hold expressions (`funcgrad.trace.pandas_columns`), as those of arguments do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas

from funcgrad.adoption.adopted_classes import ORIGINAL, metaclass_of
from funcgrad.adoption.redirect import redirect
from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.arrays.reference import holds_expr, plain_value
from funcgrad.expr import Expr
from funcgrad.numpy.creation import asarray
from funcgrad.trace.labeled_arrays import column_of

_Metaclass: Any = metaclass_of(type, redirect)


class _OfTraced(_Metaclass):  # type: ignore[misc]
    """The metaclass of a class that makes instances of its base, of traced arrays, too."""

    def __call__(self, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        if "_of_traced" not in vars(self):  # an adopted subclass
            return super().__call__(data, *args, **kwargs)
        make = self._of_traced if holds_expr(data) else self.__mro__[1]
        return make(data, *args, **kwargs)

    def __instancecheck__(self, value: object) -> bool:
        return type.__instancecheck__(_checked(self), value)

    def __subclasscheck__(self, kind: type) -> bool:
        return type.__subclasscheck__(_checked(self), kind)


def _checked(kind: type) -> type:
    return kind.__mro__[1] if "_of_traced" in vars(kind) else kind


def _series(data: Any, index: Any = None, *args: Any, **kwargs: Any) -> Any:
    made = _of_length(_traced_column(data), 1 if index is None else len(index))
    return pandas.Series(made, index, *args, **kwargs)


def _frame(
    data: Any, index: Any = None, columns: Any = None, dtype: Any = None, copy: Any = None
) -> Any:
    if isinstance(data, list) and data and all([isinstance(row, dict) for row in data]):
        names = {name: None for row in data for name in row}
        data = {name: [row.get(name, np.nan) for row in data] for name in names}
    if isinstance(data, dict):
        made = {name: _traced_column(item) for name, item in data.items()}
        lengths = [len(item) for item in made.values() if np.ndim(item) == 1]
        count = len(index) if index is not None else lengths[0] if lengths else None
        if count is not None:
            made = {name: _of_length(item, count) for name, item in made.items()}
        return pandas.DataFrame(made, index, columns, dtype, copy)
    table = _read(asarray(data))
    if table.ndim != 2:
        return pandas.DataFrame(_traced_column(data), index, columns, dtype, copy)
    places = range(table.shape[1])
    frame = pandas.DataFrame({k: column_of(table[:, k]) for k in places}, index, None, dtype, copy)
    if columns is not None:
        frame.columns = columns
    return frame


def _traced_column(data: Any) -> Any:
    """A traced array of one axis, or a list of traced numbers, as a column; anything else as it is."""
    if not holds_expr(data) or isinstance(data, dict):
        return data
    value = _read(asarray(data))
    return column_of(value) if value.ndim == 1 else value


def _of_length(column: Any, count: int) -> Any:
    """A traced number as a column of this length; anything else as it is."""
    is_number = isinstance(column, Expr) and not column.ndim
    return column_of(np.broadcast_to(column, (count,))) if is_number else column


def _read(array: Any) -> Any:
    """The value of an array. Before pandas 3, a column shares the memory of its array, which cannot be
    written any more, since the column would not see it."""
    if isinstance(array, MutableArray) and _SHARES:
        array.setflags(write=False)
    return plain_value(array)


_SHARES = int(pandas.__version__.partition(".")[0]) < 3


def _stand_in(own: type, of_traced: Callable[..., Any]) -> Any:
    space = {"__module__": own.__module__, "__doc__": own.__doc__, ORIGINAL: own}
    return _OfTraced(own.__name__, (own,), space | {"_of_traced": staticmethod(of_traced)})


def isna(obj: Any) -> Any:
    """As `pandas.isna`, also of traced arrays."""
    return np.isnan(asarray(obj)) if holds_expr(obj) else pandas.isna(plain_value(obj))


def notna(obj: Any) -> Any:
    """As `pandas.notna`, also of traced arrays."""
    return ~isna(obj)


Series, DataFrame = _stand_in(pandas.Series, _series), _stand_in(pandas.DataFrame, _frame)
isnull, notnull = isna, notna
globals().update({name: value for name, value in vars(pandas).items() if name not in globals()})


def __getattr__(name: str) -> Any:
    return getattr(pandas, name)
