"""Series and DataFrames that hold traced columns: what pandas computes in C, and stores of traced values.

All else is pandas' code over the columns (`funcgrad.tables.traced_columns`). A column of plain numbers
becomes a traced one when a traced value is stored in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas
from pandas import DataFrame, MultiIndex, Series

from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.arrays.reference import Reference, plain_value
from funcgrad.expr import Expr
from funcgrad.source import type_error
from funcgrad.tables.groups import traced_groups
from funcgrad.tables.row_functions import (
    of_pair,
    of_pairs_of_columns,
    row_correlations,
    row_covariances,
)
from funcgrad.tables.row_views import RowView, note_row, refuse_written
from funcgrad.tables.series_statistics import StatisticsOfSeries
from funcgrad.tables.table_arrays import ArraysOfTables, TableDtypes
from funcgrad.tables.table_operands import (
    AT,
    COPIES,
    IAT,
    ILOC,
    LOC,
    aligned_for_dot,
    all_numbers,
    array_source,
    as_operand,
    column_or_value,
    columns_of_data,
    expr_of,
    has_traced_values,
    held_column,
    is_held,
    is_list_of_bools,
    is_shared,
    known_key,
    plain_of,
    refuse_shared,
    storing_method,
    with_traced_arguments,
)
from funcgrad.tables.table_operators import InPlaceOperators, OperatorsOfFrames
from funcgrad.tables.traced_columns import ArrayOfColumn, ScalarOfColumn, TracedColumn
from funcgrad.tables.windows import traced_windows, weighted_windows


class _Table(ArraysOfTables, TableDtypes, InPlaceOperators, RowView):
    """The methods that Series and DataFrames of traced columns have in common."""

    _funcgrad_original: Any = None
    """The object that was there before the function was called, whose values these are."""
    _funcgrad_is_view = False
    """Whether a store would reach another object, before pandas 3, which the columns do not know."""

    @property
    def _mgr(self) -> Any:
        if self._funcgrad_written:
            refuse_written(self._funcgrad_written)
        return vars(self if self._funcgrad_original is None else self._funcgrad_original)["_mgr"]

    @_mgr.setter
    def _mgr(self, manager: Any) -> None:
        vars(self if self._funcgrad_original is None else self._funcgrad_original)["_mgr"] = manager

    _funcgrad_source: Callable[[], Any] | None = None
    """The array of which it was made, by a weak reference: a store would reach it before pandas 3."""

    def _funcgrad_refuse_view(self) -> None:
        """Refuse a store that would reach another object, as pandas 2 does it for rows and arrays."""
        of_array = self._funcgrad_source is not None and self._funcgrad_source() is not None
        kind = Series if isinstance(self, Series) else DataFrame
        refuse_shared(kind.__name__, not COPIES and (self._funcgrad_is_view or of_array))

    _funcgrad_operators = frozenset(("matmul",))
    """The operators that an expression at their left leaves to these classes."""

    @property
    def loc(self) -> Any:
        return LOC("loc", self)

    @property
    def iloc(self) -> Any:
        return ILOC("iloc", self)

    @property
    def at(self) -> Any:
        return AT("at", self)

    @property
    def iat(self) -> Any:
        return IAT("iat", self)

    def __getitem__(self, key: object) -> Any:
        return super().__getitem__(known_key(key))

    def _funcgrad_of_user(self) -> Any:
        """The object as one of pandas' own class, for code that is not traced."""
        table: Any = self
        own: Any = Series if isinstance(self, Series) else DataFrame
        made = own._from_mgr(self._mgr, table.axes)
        made.__dict__.update({k: v for k, v in vars(self).items() if k in ("_name", "_attrs")})
        return made

    @staticmethod
    def _funcgrad_of_pandas(value: Any, from_outside: bool = False) -> Any:
        """An object of pandas as one of these classes, of the same values; anything else as it is."""
        for own, kind in ((Series, TracedSeries), (DataFrame, TracedFrame)):
            if type(value) is own:
                getattr(value, "_item_cache", {}).clear()
                made = kind._from_mgr(value._mgr, value.axes)
                left_out = own._accessors | {"_mgr"}  # pandas 2 keeps accessors that were made
                made.__dict__.update({k: v for k, v in vars(value).items() if k not in left_out})
                if from_outside:
                    vars(made)["_funcgrad_original"] = value
                return made
        return value

    def rolling(self, *args: object, **kwargs: object) -> Any:
        return traced_windows(super().rolling(*args, **kwargs), TracedSeries)  # type: ignore[misc]

    def expanding(self, *args: object, **kwargs: object) -> Any:
        return traced_windows(super().expanding(*args, **kwargs), TracedSeries)  # type: ignore[misc]

    def groupby(self, *args: object, **kwargs: object) -> Any:
        args, kwargs = known_key(args), {name: known_key(key) for name, key in kwargs.items()}
        return traced_groups(super().groupby(*args, **kwargs), TracedSeries)  # type: ignore[misc]

    def ewm(
        self,
        com: object = None,
        span: object = None,
        halflife: object = None,
        alpha: object = None,
        **how: object,
    ) -> Any:
        given = {"com": com, "span": span, "halflife": halflife, "alpha": alpha}
        return weighted_windows(super().ewm, TracedSeries, given, how)  # type: ignore[misc]


class TracedSeries(_Table, StatisticsOfSeries, Series):  # type: ignore[misc]  # pandas need not be installed
    """A Series whose column may be traced."""

    _funcgrad_stands_for = Series

    __module__ = "pandas"

    __pandas_priority__ = 3500

    def __init__(
        self, data: Any = None, index: Any = None, *args: object, **kwargs: object
    ) -> None:
        if isinstance(data, dict) and has_traced_values(data):
            keys = index if index is not None else list(data)
            data, index = [data.get(key, np.nan) for key in keys], keys
        if not isinstance(data, Series | DataFrame):
            given = data
            data = column_or_value(data, 1 if index is None else len(index))
            if not COPIES and isinstance(given, Expr | Reference) and np.ndim(data) == 1:
                if isinstance(given, Reference) and isinstance(data, TracedColumn):
                    data = TracedColumn(None, ArrayOfColumn(given), slice(None))
                else:
                    object.__setattr__(self, "_funcgrad_source", array_source(given))
                    data = data.copy() if isinstance(data, np.ndarray) else data
        super().__init__(data, index, *args, **kwargs)

    @property
    def _constructor(self) -> Any:
        return TracedSeries

    @property
    def _constructor_expanddim(self) -> Any:
        return TracedFrame

    def _constructor_from_mgr(self, mgr: object, axes: object) -> Any:
        if self._constructor is not TracedSeries:
            return super()._constructor_from_mgr(mgr, axes)
        made = TracedSeries._from_mgr(mgr, axes=axes)
        object.__setattr__(made, "_name", None)
        return made

    def _constructor_expanddim_from_mgr(self, mgr: object, axes: object) -> Any:
        return TracedFrame._from_mgr(mgr, axes=axes)

    def _funcgrad_hold(self, key: object = None, name: str | None = None) -> None:
        """Make the column one that takes traced values."""
        self._funcgrad_refuse_view()
        if self.dtype == "traced":
            return
        parent = None if COPIES else self._get_cacher()
        if parent is not None:  # a column, whose stores reach the frame before pandas 3
            parent._funcgrad_hold((slice(None), self.name), "loc")
            made = parent.iloc[:, parent.columns.get_loc(self.name)]
        else:
            refuse_shared(
                "Series", self._funcgrad_original is not None or is_shared(self._mgr.blocks[0])
            )
            made = TracedSeries(held_column(self._values, self.name), index=self.index)
        object.__setattr__(self, "_mgr", made._mgr)

    def __setitem__(self, key: object, value: object) -> None:
        key = known_key(key)
        self._funcgrad_refuse_view()
        if has_traced_values(value):
            self._funcgrad_hold()
            value = as_operand(value)
        super().__setitem__(key, value)

    def dot(self, other: object) -> Any:
        if not has_traced_values(self) and not has_traced_values(other):
            return super().dot(other)
        left = self
        if isinstance(other, Series | DataFrame):
            left, other = aligned_for_dot(self, self.index, other, other.index)
        found = np.dot(expr_of(left), expr_of(other))
        return TracedSeries(found, other.columns) if isinstance(other, DataFrame) else found

    def __matmul__(self, other: object) -> Any:
        return self.dot(other)

    def __rmatmul__(self, other: object) -> Any:
        return self.dot(np.transpose(plain_value(other)))

    def cov(self, other: object, min_periods: int | None = None, ddof: int = 1) -> Any:
        if not has_traced_values(self) and not has_traced_values(other):
            return super().cov(other, min_periods, ddof)
        return self._with(other, row_covariances, min_periods, ddof)

    def corr(
        self, other: object, method: object = "pearson", min_periods: int | None = None
    ) -> Any:
        if not has_traced_values(self) and not has_traced_values(other):
            return super().corr(other, method, min_periods)
        if method != "pearson":
            return plain_of(self).corr(plain_of(other), method, min_periods)
        return self._with(other, row_correlations, min_periods)

    def _with(
        self, other: object, pair: Callable[..., Any], min_periods: int | None, *ddof: int
    ) -> Any:
        x, y = self.align(other, join="inner")
        return of_pair(pair, expr_of(x), expr_of(y), min_periods, *ddof)

    def transform(self, func: Any, axis: object = 0, *args: object, **kwargs: object) -> Any:
        """As pandas' method, which calls a function on the entries, or, if that fails, on the Series."""
        if callable(func) and has_traced_values(self) and len(self):
            try:
                func(float(plain_of(self).iloc[0]), *args, **kwargs)
            except Exception:  # pandas catches all, too
                return func(self, *args, **kwargs)
        return super().transform(func, axis, *args, **kwargs)

    def map(self, func: Any = None, *args: object, **kwargs: object) -> Any:
        func = kwargs.pop("arg", func)
        is_table = isinstance(func, dict) and has_traced_values(func)
        return super().map(TracedSeries(func) if is_table else func, *args, **kwargs)

    def unique(self) -> Any:
        found = super().unique()
        return found.expr if isinstance(found, TracedColumn) else found

    def mode(self, dropna: bool = True) -> Any:
        if not has_traced_values(self):
            return super().mode(dropna)
        order = ordered_as(self).reset_index(drop=True)
        first = [
            order.isna().idxmax() if np.isnan(x) else (order == x).idxmax()
            for x in order.mode(dropna)
        ]
        return self.iloc[first].reset_index(drop=True)

    def rank(self, *args: object, **kwargs: object) -> Any:
        return (
            ordered_as(self).rank(*args, **kwargs)
            if has_traced_values(self)
            else super().rank(*args, **kwargs)
        )

    def nlargest(self, n: int = 5, keep: object = "first") -> Any:
        if not has_traced_values(self):
            return super().nlargest(n, keep)
        return self.iloc[ordered_as(self).reset_index(drop=True).nlargest(n, keep).index]

    def nsmallest(self, n: int = 5, keep: object = "first") -> Any:
        if not has_traced_values(self):
            return super().nsmallest(n, keep)
        return self.iloc[ordered_as(self).reset_index(drop=True).nsmallest(n, keep).index]


class TracedFrame(OperatorsOfFrames, _Table, DataFrame):  # type: ignore[misc]
    """A DataFrame whose columns may be traced."""

    _funcgrad_stands_for = DataFrame

    __module__ = "pandas"

    def set_index(self, keys: object, **kwargs: Any) -> Any:
        return super().set_index(known_key(keys), **kwargs)

    __pandas_priority__ = 4500

    def __init__(
        self,
        data: Any = None,
        index: Any = None,
        columns: Any = None,
        dtype: object = None,
        copy: object = None,
    ) -> None:
        given, of_array = data, not COPIES and isinstance(data, Expr | Reference)
        if of_array:
            object.__setattr__(self, "_funcgrad_source", array_source(given))
        names: Any = None
        if has_traced_values(data) and not isinstance(data, Series | DataFrame):
            data, by_place = columns_of_data(data, index)
            columns, names = (None, columns) if by_place else (columns, None)
        if isinstance(given, MutableArray):
            data = column_or_value(data, None)
        super().__init__(plain_value(data), index, columns, dtype, of_array or copy)
        if names is not None:
            self.columns = names

    @property
    def _constructor(self) -> Any:
        return TracedFrame

    @property
    def _constructor_sliced(self) -> Any:
        return TracedSeries

    def _constructor_from_mgr(self, mgr: object, axes: object) -> Any:
        if self._constructor is not TracedFrame:
            return super()._constructor_from_mgr(mgr, axes)
        return TracedFrame._from_mgr(mgr, axes=axes)

    def _constructor_sliced_from_mgr(self, mgr: object, axes: object) -> Any:
        if self._constructor_sliced is not TracedSeries:
            return super()._constructor_sliced_from_mgr(mgr, axes)
        made = TracedSeries._from_mgr(mgr, axes=axes)
        object.__setattr__(made, "_name", None)
        return made

    def _reduce(self, *args: Any, **kwargs: Any) -> Any:
        # Along rows, pandas makes a Series of its own class.
        return self._funcgrad_of_pandas(super()._reduce(*args, **kwargs))

    def _ixs(self, i: int, axis: int = 0) -> Any:
        found = super()._ixs(i, axis)
        if axis == 0:
            note_row(self, found, i)
        return found

    def xs(self, key: object, *args: object, **how: object) -> Any:
        found = super().xs(key, *args, **how)
        if not COPIES and isinstance(found, TracedSeries) and found.index is self.columns:
            note_row(self, found, self.index.get_loc(key))
        return found

    def transpose(self, *args: object, **kwargs: object) -> Any:
        found = super().transpose(*args, **kwargs)
        vars(found)["_funcgrad_is_view"] = True
        return found

    @classmethod
    def _from_arrays(cls, arrays: Any, *args: object, **kwargs: object) -> Any:
        made = [TracedColumn(array) if isinstance(array, Expr) else array for array in arrays]
        return super()._from_arrays(made, *args, **kwargs)

    def _funcgrad_hold(self, key: Any = None, name: str | None = None) -> None:
        """Make the columns that a key selects ones that take traced values."""
        chosen = key[1] if isinstance(key, tuple) and len(key) == 2 else slice(None)
        places = np.arange(self.shape[1])
        try:
            labeled = Series(places, self.columns)
            found = places[chosen] if name in ("iloc", "iat") else labeled.loc[chosen]
        except (KeyError, IndexError):  # a new column
            return
        self._funcgrad_refuse_view()
        known = getattr(self, "_item_cache", {})
        for place in np.atleast_1d(found).tolist():
            block = self._mgr.blocks[self._mgr.blknos[place]]
            if isinstance(block.values, TracedColumn):
                continue
            shared = not COPIES and (self._is_copy is not None or is_shared(block, len(known)))
            refuse_shared("DataFrame", self._funcgrad_original is not None or shared)
            column = known.get(self.columns[place])  # what pandas 2 has given for it
            refuse_shared("Series", column is not None and is_held(column._mgr.blocks[0].values))
            self.isetitem(
                place, held_column(np.array(self._mgr.iget_values(place)), self.columns[place])
            )
            if column is not None:
                object.__setattr__(column, "_mgr", self._mgr.iget(place))

    def __setitem__(self, key: object, value: object) -> None:
        key = known_key(key)
        self._funcgrad_refuse_view()
        if has_traced_values(value):
            if isinstance(key, np.ndarray | Series | DataFrame) or is_list_of_bools(key):
                self._funcgrad_hold()
            value = as_operand(value)
            if isinstance(value, ScalarOfColumn) and not isinstance(
                key, np.ndarray | Series | DataFrame
            ):
                value = TracedColumn(np.broadcast_to(value.expr, (len(self),)))
        super().__setitem__(key, value)

    def assign(self, **columns: Any) -> Any:
        kept = {name: (lambda _, x=x: x) for name, x in columns.items() if isinstance(x, Expr)}
        return super().assign(**{**columns, **kept})  # pandas calls what can be called

    def eval(self, expr: str, *args: Any, **kwargs: Any) -> Any:
        level = kwargs.pop("level", 0) + 1  # names are looked up in the caller's frame
        engine = kwargs.pop("engine", None) or "python"
        return super().eval(expr, *args, level=level, engine=engine, **kwargs)

    def insert(
        self, loc: int, column: object, value: object, allow_duplicates: object = False
    ) -> None:
        value = column_or_value(value, len(self))
        super().insert(loc, column, value, allow_duplicates)

    def dot(self, other: object) -> Any:
        if not has_traced_values(self) and not has_traced_values(other):
            return super().dot(other)
        left = self
        if isinstance(other, Series | DataFrame):
            left, other = aligned_for_dot(self, self.columns, other, other.index)
        found = np.dot(expr_of(left), expr_of(other))
        if found.ndim == 1:
            return TracedSeries(found, self.index)
        names = other.columns if isinstance(other, DataFrame) else None
        return TracedFrame(found, self.index, names)

    def __matmul__(self, other: object) -> Any:
        return self.dot(other)

    def __rmatmul__(self, other: object) -> Any:
        return self.T.dot(np.transpose(plain_value(other))).T

    def cov(self, min_periods: object = None, ddof: int = 1, numeric_only: bool = False) -> Any:
        if not has_traced_values(self):
            return super().cov(min_periods, ddof, numeric_only)
        return self._of_pairs(row_covariances, min_periods, numeric_only, ddof)

    def corr(
        self, method: object = "pearson", min_periods: int = 1, numeric_only: bool = False
    ) -> Any:
        if not has_traced_values(self):
            return super().corr(method, min_periods, numeric_only)
        if method != "pearson":
            return plain_of(self).corr(method, min_periods, numeric_only)
        return self._of_pairs(row_correlations, min_periods, numeric_only)

    def _of_pairs(
        self, pair: Callable[..., Any], min_periods: object, numeric_only: bool, *ddof: int
    ) -> Any:
        frame = self.select_dtypes("number") if numeric_only else self
        found = of_pairs_of_columns(pair, frame.to_numpy(), min_periods, *ddof)
        return TracedFrame(found, frame.columns, frame.columns)

    def describe(
        self, percentiles: Any = None, include: object = None, exclude: object = None
    ) -> Any:
        if not has_traced_values(self) or include is not None or exclude is not None:
            return super().describe(percentiles, include, exclude)
        numbers = self.select_dtypes("number").items()
        return pandas.concat([column.describe(percentiles) for _, column in numbers], axis=1)

    def rank(self, *args: object, **kwargs: object) -> Any:
        if not has_traced_values(self):
            return super().rank(*args, **kwargs)
        axis = args[0] if args else kwargs.pop("axis", 0)
        if axis in (1, "columns"):
            return self.T.rank(0, *args[1:], **kwargs).T
        return DataFrame.rank(self._ordered(), 0, *args[1:], **kwargs)

    def clip(
        self, lower: Any = None, upper: Any = None, *, axis: object = None, **kwargs: object
    ) -> Any:
        if not has_traced_values([self, lower, upper]):
            return super().clip(lower, upper, axis=axis, **kwargs)

        def bound(given: Any, name: object) -> Any:
            by_name = isinstance(given, DataFrame) or (
                isinstance(given, Series) and axis in (1, "columns")
            )
            return given[name] if by_name else given

        return self.apply(
            lambda column: column.clip(bound(lower, column.name), bound(upper, column.name))
        )

    def idxmax(self, *args: object, **kwargs: object) -> Any:
        return DataFrame.idxmax(
            self._ordered() if has_traced_values(self) else self, *args, **kwargs
        )

    def idxmin(self, *args: object, **kwargs: object) -> Any:
        return DataFrame.idxmin(
            self._ordered() if has_traced_values(self) else self, *args, **kwargs
        )

    def _ordered(self) -> Any:
        made = {i: ordered_as(column) for i, (_, column) in enumerate(self.items())}
        frame = TracedFrame(made, self.index)
        frame.columns = self.columns
        return frame

    def nlargest(self, n: int, columns: object, keep: object = "first") -> Any:
        return self._extreme("nlargest", n, columns, keep)

    def nsmallest(self, n: int, columns: object, keep: object = "first") -> Any:
        return self._extreme("nsmallest", n, columns, keep)

    def _extreme(self, name: str, n: int, columns: object, keep: Any) -> Any:
        order = self._ordered().reset_index(drop=True) if has_traced_values(self) else self
        found = getattr(DataFrame, name)(order, n, columns, keep)
        return self.iloc[found.index] if has_traced_values(self) else found

    def apply(
        self,
        func: Callable[..., Any],
        axis: object = 0,
        raw: bool = False,
        result_type: object = None,
        args: Sequence[object] = (),
        **kwargs: object,
    ) -> Any:
        how: dict[str, Any] = {"axis": axis, "raw": raw, "result_type": result_type, "args": args}
        if (
            axis not in (1, "columns")
            or not callable(func)
            or not has_traced_values(self)
            or not len(self)
        ):
            return super().apply(func, **how, **kwargs)
        rows = [self.iloc[place] for place in range(len(self))]
        found = [func(expr_of(row) if raw else row, *args, **kwargs) for row in rows]
        if all([isinstance(row, Series) for row in found]):
            return pandas.concat(found, axis=1).T.set_axis(self.index)
        if result_type == "expand":
            return TracedFrame(found, self.index)
        if result_type is not None or any([np.ndim(item) for item in found]):
            raise type_error(
                "apply: expected a number or a Series for each row of a traced table; write "
                "pd.Series([...]) in the function, or result_type='expand'",
            )
        return TracedSeries(found, self.index)

    def stack(self, *args: object, **kwargs: object) -> Any:
        others = args or kwargs.keys() - {"future_stack"}
        if not has_traced_values(self) or not all_numbers(self) or others:
            return super().stack(*args, **kwargs)
        labels = MultiIndex.from_product([self.index, self.columns])
        found = TracedSeries(self.to_numpy().ravel(), labels)
        return found if COPIES or kwargs.get("future_stack") else found.dropna()


def ordered_as(series: Any) -> Any:
    """A Series of plain numbers in the order of the values: equal ones where they are equal."""
    values = series.array
    values = values.order() if isinstance(values, TracedColumn) else values
    return TracedSeries(values, series.index, name=series.name)


# -- methods with traced arguments ---------------------------------------------------------------
TracedSeries.clip = with_traced_arguments(Series, "clip")
TracedSeries.update = storing_method(Series.update)
TracedFrame.update = storing_method(DataFrame.update)
for _name in ("fillna", "where", "mask", "shift", "replace", "reindex", "combine_first"):
    setattr(TracedSeries, _name, with_traced_arguments(Series, _name))
    setattr(TracedFrame, _name, with_traced_arguments(DataFrame, _name))
