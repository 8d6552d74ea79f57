"""Operators and ufuncs of Series and DataFrames whose columns may be traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pandas import DataFrame, Series

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr
from funcgrad.tables.table_operands import as_operand, expr_of, has_traced_values


class InPlaceOperators:
    """Operators in place, which make the columns traced that a traced operand is stored in."""


def _in_place(name: str) -> Callable[[Any, object], Any]:
    def operator(self: Any, other: object) -> Any:
        if has_traced_values(other):
            self._funcgrad_hold()
        return getattr(super(InPlaceOperators, self), name)(as_operand(other))

    return operator


for _name in ("__iadd__", "__isub__", "__imul__", "__itruediv__", "__ipow__"):
    setattr(InPlaceOperators, _name, _in_place(_name))


class OperatorsOfFrames:
    """Operators and ufuncs of a DataFrame and arrays of two axes, or other tables."""

    def _arith_method(self, other: object, op: object) -> Any:
        return super()._arith_method(beside(self, other), op)  # type: ignore[misc]

    def _cmp_method(self, other: object, op: object) -> Any:
        return super()._cmp_method(beside(self, other), op)  # type: ignore[misc]

    def _flex_arith_method(self, other: object, *args: object, **kwargs: object) -> Any:
        return super()._flex_arith_method(beside(self, other), *args, **kwargs)  # type: ignore[misc]

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> Any:
        compares = all([loop.endswith("?") for loop in ufunc.types])
        is_other = method != "__call__" or kwargs or compares or ufunc.signature is not None
        one = len(inputs) == ufunc.nout == 1
        of_series = any([isinstance(x, Series) for x in inputs])
        if is_other or one or of_series or not has_traced_values(list(inputs)):
            return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)  # type: ignore[misc]
        operands = _aligned(inputs)
        like = next(x for x in operands if isinstance(x, DataFrame))
        kind: Any = type(self)
        found: Any = ufunc(*map(expr_of, operands))
        if ufunc.nout == 1:
            return kind(found, like.index, like.columns)
        return tuple([kind(values, like.index, like.columns) for values in found])


def _aligned(inputs: Sequence[object]) -> list[Any]:
    """The operands of a ufunc, with the labels of all tables among them where these differ."""
    tables = [x for x in inputs if isinstance(x, DataFrame)]
    index, columns = tables[0].index, tables[0].columns
    for table in tables[1:]:
        if not (table.index.equals(index) and table.columns.equals(columns)):
            index, columns = index.union(table.index), columns.union(table.columns)
    return [
        x.reindex(index=index, columns=columns) if isinstance(x, DataFrame) else x for x in inputs
    ]


def beside(frame: Any, other: object) -> Any:
    """An operand of a DataFrame: a traced array of two axes as a table or a row, as pandas takes one."""
    if isinstance(other, Series | DataFrame):
        return other
    value = plain_value(other)
    if not isinstance(value, Expr) or value.ndim != 2:
        return value if isinstance(value, np.ndarray) and value.ndim == 2 else other
    rows, columns = value.shape
    if rows == 1 and columns == frame.shape[1] and frame.shape[0] != 1:
        return value[0]
    if rows != frame.shape[0] or columns not in (1, frame.shape[1]):
        return np.empty(value.shape)  # which pandas refuses
    table = np.broadcast_to(value, frame.shape)
    return type(frame)(table, frame.index, frame.columns)
