"""Values as the tables of traced columns take them, and what their stores may reach."""

from __future__ import annotations

import gc
import operator
import sys
from collections.abc import Callable, Sized
from numbers import Number
from typing import Any
from weakref import ref

import numpy as np
import pandas
from pandas import DataFrame, Series
from pandas.core.indexing import _AtIndexer, _iAtIndexer, _iLocIndexer, _LocIndexer
from pandas.core.internals.blocks import Block

from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.arrays.reference import Reference, holds_expr, plain_value
from funcgrad.expr import Expr, const
from funcgrad.expr.concrete import concrete_value
from funcgrad.source import type_error, with_name
from funcgrad.tables.row_views import mark_written
from funcgrad.tables.traced_columns import ScalarOfColumn, TracedColumn

COPIES = int(pandas.__version__.partition(".")[0]) >= 3
"""Whether pandas copies on write: a store changes one object alone."""


# -- values as pandas takes them -------------------------------------------------------------------
def stacked_expr(data: Any) -> Any:
    """An expression of an array or of nested lists with traced numbers."""
    if isinstance(data, np.ndarray) and data.dtype == object:
        data = data.tolist()
    if isinstance(data, list | tuple):
        return np.stack([stacked_expr(item) for item in data])
    return np.nan if data is None else plain_value(data)


def has_traced_values(value: object) -> bool:
    """Whether a value, or what lists, dicts, and objects of pandas hold, is traced."""
    if isinstance(value, Series):
        return bool(value.dtype == "traced")
    if isinstance(value, DataFrame):
        return any([dtype == "traced" for dtype in value.dtypes])
    if isinstance(value, dict):
        return any([has_traced_values(item) for item in value.values()])
    if isinstance(value, list | tuple):
        return any([has_traced_values(item) for item in value])
    if type(value) is np.ndarray and value.dtype == object:
        return any([isinstance(item, Expr) for item in value.flat])
    return isinstance(value, TracedColumn | ScalarOfColumn) or bool(holds_expr(value))


def as_operand(value: object) -> Any:
    """A traced number as a scalar of pandas', a list or an array as a column or a table."""
    kept = Series | DataFrame | TracedColumn | ScalarOfColumn
    if isinstance(value, kept) or not has_traced_values(value):
        return plain_value(value)
    if isinstance(value, dict):
        return {key: as_operand(item) for key, item in value.items()}
    if isinstance(value, list | tuple) and not holds_expr([x for x in value if np.ndim(x) == 0]):
        return [as_operand(item) for item in value]
    made = stacked_expr(value)
    if not made.ndim:
        return ScalarOfColumn(made)
    return TracedColumn(made) if made.ndim == 1 else columns_frame(made)


def columns_frame(table: Any) -> Any:
    """A DataFrame of an expression of two axes."""
    return DataFrame({place: TracedColumn(table[:, place]) for place in range(table.shape[1])})


def column_or_value(value: object, count: int | None) -> Any:
    """A column for an object of this length; a number fills it."""
    if not has_traced_values(value) or isinstance(value, Series | dict | TracedColumn):
        if isinstance(value, MutableArray) and not COPIES:
            value.setflags(write=False)  # pandas 2 would see the store
            return np.asarray(value)
        return plain_value(value)
    if isinstance(value, list | tuple | np.ndarray) and not all(map(_is_number, value)):
        made = np.empty(len(value), object)  # texts, arrays and other objects beside numbers
        for place, item in enumerate(value):
            made[place] = plain_value(item)
        return made
    made = stacked_expr(value)
    if made.ndim == 0 and count is not None:
        made = np.broadcast_to(made, (count,))
    return TracedColumn(made) if made.ndim == 1 else made


def _is_number(value: object) -> bool:
    is_one = isinstance(value, Number | Expr | Reference | np.ndarray | np.generic)
    return is_one and np.ndim(value) == 0  # type: ignore[arg-type]


def expr_of(value: object) -> Any:
    """The expression, or the array, of an object of pandas or of anything else."""
    return value.to_numpy() if isinstance(value, Series | DataFrame) else plain_value(value)


# -- stores --------------------------------------------------------------------------------------
def _storing(kind: Any) -> Any:
    """The class of an indexer whose stores make traced columns where traced values go."""

    class Storing(kind):  # type: ignore[misc]
        def __getitem__(self, key: object) -> Any:
            return super().__getitem__(known_key(key))

        def __setitem__(self, key: object, value: object) -> None:
            key = known_key(key)
            self.obj._funcgrad_refuse_view()
            if not COPIES and self.obj.ndim == 2:
                mark_written(self.obj, key, self.name)
            if has_traced_values(value):
                self._add_column(key)
                self.obj._funcgrad_hold(key, self.name)
                if self.name in ("loc", "at") and np.isscalar(key) and key not in self.obj.index:
                    self._add(key, value)
                    return
                value = as_operand(value)
            elif isinstance(value, Reference):
                value = np.array(plain_value(value))  # pandas takes it for an array of an extension
            super().__setitem__(key, value)

        def _add_column(self, key: object) -> None:
            """A column of NaN for a store to a label that no column has."""
            if self.obj.ndim == 1 or type(key) is not tuple or self.name not in ("loc", "at"):
                return
            label = key[-1]
            if len(key) == 2 and np.isscalar(label) and label not in self.obj.columns:
                self.obj[label] = np.nan

        def _add(self, key: object, value: Any) -> None:
            """Store a value, or a row, at a new label."""
            obj = self.obj
            if obj.ndim == 1:
                further = obj._constructor(TracedColumn(np.stack([stacked_expr(value)])), [key])
                object.__setattr__(obj, "_mgr", pandas.concat([obj, further])._mgr)
                return
            is_row = isinstance(value, dict | list | tuple) or np.ndim(value) == 1
            row = obj._constructor_sliced(value, obj.columns) if is_row else as_operand(value)
            super().__setitem__(key, row)

    return with_name(Storing, kind.__name__)


LOC, ILOC, AT, IAT = map(_storing, (_LocIndexer, _iLocIndexer, _AtIndexer, _iAtIndexer))


def held_column(values: Any, name: object) -> TracedColumn:
    """A column of plain numbers as one that takes traced values."""
    dtype = values.dtype
    if dtype.kind == "f" or (dtype.kind in "iu" and not COPIES) or dtype.kind == "O":
        try:
            return TracedColumn(const(np.asarray(values, float)))
        except (TypeError, ValueError):
            pass
    raise type_error(
        f"store: expected a column of floats for a traced value, but {name!r} has the dtype {dtype}; write "
        ".astype(float) first",
    )


def refuse_shared(name: str, shared: bool) -> None:
    if shared:
        raise type_error(
            f"store: a traced value cannot be stored in a {name} that shares its values with another one, "
            f"or is from outside the function; write to a copy, as in copied = {name.lower()}.copy()",
        )


def array_source(array: Any) -> Callable[[], Any]:
    """A weak reference to an array that can be written; an expression may always be one of the user's."""
    return ref(array) if isinstance(array, Reference) else lambda: array


def is_shared(block: Any, columns: int = 0) -> bool:
    """Whether the array of a block may be that of another object, too, before pandas 3, but for columns."""
    if COPIES:
        return False
    values = block.values
    base = values if values.base is None else values.base
    if not isinstance(base, np.ndarray):
        return True
    del values
    # It is counted for the block, or the array that is a view of it, the name, and the call.
    return sys.getrefcount(base) > 3 + columns


def is_held(values: object) -> bool:
    """Whether the array of a block is that of another block, too."""
    if sys.getrefcount(values) <= 3:  # it is counted for the block, the name, and the call
        return False
    return len([item for item in gc.get_referrers(values) if isinstance(item, Block)]) > 1


def columns_of_data(data: Any, index: Sized | None) -> tuple[Any, bool]:
    """The columns by name or, of arrays and rows, by place, as the second item tells."""
    if isinstance(data, list) and data and all([isinstance(row, dict) for row in data]):
        names = {name: None for row in data for name in row}
        data = {name: [row.get(name, np.nan) for row in data] for name in names}
    if isinstance(data, list) and data and all([isinstance(row, Series) for row in data]):
        return pandas.concat(data, axis=1).T, False
    if isinstance(data, dict):
        made = {name: column_or_value(item, None) for name, item in data.items()}
        lengths = [len(item) for item in made.values() if np.ndim(item) == 1]
        count = len(index) if index is not None else lengths[0] if lengths else None
        return {name: column_or_value(item, count) for name, item in made.items()}, False
    are_rows = isinstance(data, list | tuple) and all(
        [isinstance(row, list | tuple) for row in data]
    )
    if are_rows and len({len(row) for row in data}) == 1:
        columns = enumerate(zip(*data, strict=True))
        return {i: column_or_value([*column], len(data)) for i, column in columns}, True
    table = stacked_expr(data)
    if table.ndim == 1:
        return TracedColumn(table), False
    return {place: TracedColumn(table[:, place]) for place in range(table.shape[1])}, True


def known_key(key: Any, kinds: str = "biu") -> Any:
    """A key in which masks and places that depend on traced values are those of this call."""
    if type(key) in (tuple, list):
        parts = [known_key(item, kinds) for item in key]
        return type(key)(parts) if any(map(operator.is_not, parts, key)) else key
    value = plain_value(key)
    if not isinstance(value, Expr) or value.dtype.kind not in kinds:
        return value
    return concrete_value(value, "an index of pandas")


def is_list_of_bools(key: object) -> bool:
    return isinstance(key, list) and bool(key) and all([isinstance(item, bool) for item in key])


def all_numbers(frame: Any) -> bool:
    return all(
        [dtype == "traced" or getattr(dtype, "kind", "O") in "fiub" for dtype in frame.dtypes]
    )


def aligned_for_dot(left: Any, index: Any, right: Any, other: Any) -> tuple[Any, Any]:
    common = index.union(other)
    if len(common) > len(index) or len(common) > len(other):
        raise ValueError("matrices are not aligned")
    over = {"columns": common} if isinstance(left, DataFrame) else {"index": common}
    return left.reindex(**over), right.reindex(index=common)


# -- methods with traced arguments ---------------------------------------------------------------
def with_traced_arguments(kind: Any, name: str) -> Any:
    """The method, in which a traced argument makes the columns traced that it is stored in."""
    function = getattr(kind, name)

    def method(self: Any, *args: object, **kwargs: object) -> Any:
        if has_traced_values([*args, *kwargs.values()]):
            args = tuple([as_operand(known_key(value, "b")) for value in args])
            kwargs = {key: as_operand(known_key(value, "b")) for key, value in kwargs.items()}
            if not kwargs.get("inplace"):
                self = self.copy()
            self._funcgrad_hold()
        return function(self, *args, **kwargs)

    return with_name(method, name)


def storing_method(function: Callable[..., None]) -> Any:
    """The method that stores its argument in the object."""

    def method(self: Any, other: Any, *args: object, **kwargs: object) -> None:
        if has_traced_values(other):
            if isinstance(self, Series) and isinstance(other, dict | list):
                other = self._constructor(other)
            names = (
                getattr(other, "columns", other) if isinstance(other, DataFrame | dict) else None
            )
            known = None if names is None else [name for name in names if name in self]
            self._funcgrad_hold(None if known is None else (slice(None), known))
        function(self, as_operand(other), *args, **kwargs)

    return method


def plain_of(table: Any) -> Any:
    """An object of pandas of the values at this call, for what has no derivative."""
    if isinstance(table, DataFrame):
        made = DataFrame({i: plain_of(column) for i, (_, column) in enumerate(table.items())})
        made.columns = table.columns
        return made
    values = table.array
    values = concrete_value(values.expr, "pandas") if isinstance(values, TracedColumn) else values
    return Series(values, table.index, name=table.name)
