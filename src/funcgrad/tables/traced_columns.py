"""A pandas column whose values are an expression, as a traced function is given it in a Series or DataFrame.

Arithmetic, ufuncs, indexing and alignment by labels are pandas'; reductions skip NaN, as pandas' do.
Comparisons and tests for NaN answer with arrays of bools, since their derivative is zero; under jit they
are guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Number
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import optree
from pandas import NA, DataFrame, Index, Series, factorize
from pandas.api.extensions import ExtensionArray, ExtensionDtype
from pandas.api.indexers import check_array_indexer

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr, const
from funcgrad.expr.concrete import concrete_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.subscripts import index_update
from funcgrad.source import type_error, with_name
from funcgrad.tables.row_functions import (
    ROW_FUNCTIONS,
    group_rows,
    missing_of,
    reduced_rows,
    whole_row,
)


class TracedDtype(ExtensionDtype):  # type: ignore[misc]  # pandas need not be installed
    """The dtype of columns that hold expressions."""

    name = "traced"
    type = Expr
    kind = "f"
    na_value = np.nan
    numpy_dtype = np.dtype(float)
    _is_numeric = True

    @classmethod
    def construct_array_type(cls) -> Any:
        """The class of such columns."""
        return TracedColumn

    def _get_common_dtype(self, dtypes: Sequence[Any]) -> Any:
        known = all([dtype == self or getattr(dtype, "kind", "O") in "biuf" for dtype in dtypes])
        return self if known else None


class ScalarOfColumn(Number):
    """A traced number that pandas takes as a scalar."""

    def __init__(self, expr: Any) -> None:
        self.expr = expr

    def __hash__(self) -> int:
        return id(self)


class ArrayOfColumn:
    """An array of the user's whose entries a column shares, as those of a Series before pandas 3."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def expr(self) -> Any:
        """The values."""
        value = plain_value(self.array)
        return value if isinstance(value, Expr) else const(value)

    def __setitem__(self, key: object, value: object) -> None:
        self.array[key] = value


class TracedColumn(np.lib.mixins.NDArrayOperatorsMixin, ExtensionArray):  # type: ignore[misc]
    """A column of a Series or a DataFrame whose values are an expression of one axis."""

    __array_priority__ = 2000
    _funcgrad_overrides = True
    """Whether arrays leave ufuncs and operators to it, as to a class of the user's."""

    def __init__(
        self, expr: Any, base: TracedColumn | ArrayOfColumn | None = None, key: object = None
    ) -> None:
        self._value, self._base, self._key = expr, base, key
        self._is_lent = False

    @property
    def expr(self) -> Any:
        """The values; of a slice, those of the column that it is a view of."""
        return self._value if self._base is None else self._base.expr[self._key]

    # -- pandas' interface ------------------------------------------------------------------------
    @property
    def dtype(self) -> Any:
        return TracedDtype()

    @property
    def nbytes(self) -> int:
        return int(self.expr.size * self.expr.dtype.itemsize)

    def __len__(self) -> int:
        return len(self.expr)

    def __getitem__(self, item: Any) -> Any:
        key = check_array_indexer(self, item)
        if isinstance(key, slice):
            return TracedColumn(None, self, key)
        found = self.expr[key]
        return TracedColumn(found) if found.ndim else found

    def __setitem__(self, key: object, value: object) -> None:
        """Store values, also in the column that a slice is a view of."""
        if self._is_lent:
            raise type_error(
                "a traced column whose values were taken as an array cannot be written, since the array "
                "would not change with it; write s = s.copy() before the store, or s.to_numpy(copy=True)",
            )
        key, value = check_array_indexer(self, key), _expr(value)
        if isinstance(key, np.ndarray) and key.dtype == bool:
            key = np.flatnonzero(key)
        made = index_update(self.expr, key, value, "set")
        if self._base is None:
            self._value = made
        else:
            self._base[self._key] = made

    def view(self, dtype: object = None) -> TracedColumn:
        """The column, in another object that shares its values."""
        return TracedColumn(None, self, slice(None))

    @classmethod
    def _from_sequence(
        cls, scalars: Sequence[Any], *, dtype: object = None, copy: object = False
    ) -> Any:
        entries: list[Any] = list(map(_expr, scalars))
        if not all(
            [
                x is NA or (isinstance(x, Number) or (isinstance(x, Expr) and not x.shape))
                for x in entries
            ]
        ):
            raise TypeError("a traced column holds numbers")
        entries = [np.nan if x is NA else x for x in entries]
        return cls(np.stack([x if isinstance(x, Expr) else np.asarray(x) for x in entries]))

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[TracedColumn]) -> TracedColumn:
        return cls(np.concatenate([column.expr for column in to_concat]))

    def round(self, decimals: int = 0, *args: object, **kwargs: object) -> TracedColumn:
        """The rounded values."""
        return TracedColumn(np.round(self.expr, decimals))

    def isna(self) -> Any:
        """Where the values are NaN."""
        return _answered(np.isnan(self.expr))

    def take(self, indices: object, *, allow_fill: bool = False, fill_value: object = None) -> Any:
        """The values at these places; -1 stands for ``fill_value`` where ``allow_fill`` is set."""
        places = np.asarray(indices, np.intp)
        if not allow_fill or not (places < 0).any():
            return TracedColumn(self.expr[places])
        fill = np.nan if fill_value is None else _expr(fill_value)
        if not len(self):
            return TracedColumn(np.broadcast_to(lift_fully(fill), places.shape))
        return TracedColumn(np.where(places < 0, fill, self.expr[np.maximum(places, 0)]))

    def copy(self) -> TracedColumn:
        """The column itself, in a new object, since an expression never changes."""
        return TracedColumn(self.expr)

    def to_numpy(self, dtype: object = None, copy: bool = False, na_value: object = None) -> Any:
        """The expression, which does not change with stores as NumPy's view does: these are refused then."""
        column: Any = None if copy else self
        while isinstance(column, TracedColumn):
            column._is_lent, column = True, column._base
        return self.expr if dtype is None else self.expr.astype(dtype)

    def astype(self, dtype: npt.DTypeLike, copy: bool = True) -> Any:
        """The column with another dtype of numbers, or an array of objects, the entries."""
        if not isinstance(dtype, ExtensionDtype) and np.dtype(dtype) == object:
            return self.__array__(object)
        return (
            self.copy() if isinstance(dtype, TracedDtype) else TracedColumn(self.expr.astype(dtype))
        )

    def fillna(
        self,
        value: object = None,
        method: str | None = None,
        limit: object = None,
        copy: bool = True,
    ) -> TracedColumn:
        """The column with another value in the place of NaN."""
        if method is not None:  # before pandas 3
            return self._pad_or_backfill(method=method, limit=limit)
        return TracedColumn(np.where(np.isnan(self.expr), _expr(value), self.expr))

    def _pad_or_backfill(
        self, *, method: str, limit: object = None, limit_area: object = None, copy: bool = True
    ) -> TracedColumn:
        known, places = ~self.isna(), np.arange(len(self))
        if known.all():
            return self.copy()
        if limit_area is not None:
            raise type_error(f"{method}: expected no limit_area for a traced column with NaN")
        if method in ("pad", "ffill"):
            near = np.maximum.accumulate(np.where(known, places, -1))
        else:
            near = np.minimum.accumulate(np.where(known, places, len(self))[::-1])[::-1]
            near = np.where(near == len(self), -1, near)
        if limit is not None:
            near = np.where(np.abs(near - places) > limit, -1, near)
        return self.take(near, allow_fill=True)  # type: ignore[no-any-return]

    def _where(self, mask: npt.NDArray[np.bool_], value: object) -> TracedColumn:
        other: Any = _expr(value)
        if np.shape(other) not in ((), (len(self),)):
            raise type_error(
                "where: expected a number or a column beside a traced column; write "
                "s.where(condition, other) for each column",
            )
        return TracedColumn(np.where(mask, self.expr, other))

    def _quantile(self, qs: npt.NDArray[np.float64], interpolation: str) -> TracedColumn:
        method: Any = interpolation
        if missing_of(self.expr).all():
            return TracedColumn(np.nan * np.ones(len(qs)) * np.sum(self.expr))
        return TracedColumn(np.quantile(_known(self.expr), qs, method=method))

    def order(self) -> npt.NDArray[np.float64]:
        """Numbers in the order of the values, equal where they are equal, and NaN where they are.

        Only the order is asked for, so that jitted programs serve all values in it.
        """
        missing = missing_of(self.expr)
        known = np.flatnonzero(~missing)
        order = known[_answered(np.argsort(self.expr[known], kind="stable"))]
        found = np.full(len(self), np.nan)
        if order.size:
            steps = _answered(self.expr[order[1:]] != self.expr[order[:-1]])
            found[order] = np.concatenate([[0], np.cumsum(steps)])
        return found

    def _values_for_argsort(self) -> Any:
        return self.order()

    def factorize(self, use_na_sentinel: bool = True) -> Any:
        """The number of the value of each entry, and the values, in the order of their first entries."""
        codes, _ = factorize(self.order(), use_na_sentinel=use_na_sentinel)
        numbers, first = np.unique(codes, return_index=True)
        return codes, self.take(first[numbers >= 0])

    def unique(self) -> TracedColumn:
        """The values, in the order of their first entries."""
        return self.factorize(use_na_sentinel=False)[1]  # type: ignore[no-any-return]

    def duplicated(self, keep: object = "first") -> npt.NDArray[np.bool_]:
        """Where a value stands once more."""
        return np.asarray(Series(self.order()).duplicated(keep))

    def isin(self, values: Any) -> npt.NDArray[np.bool_]:
        """Where an entry is one of the values."""
        return np.asarray(Series(_answered(self.expr)).isin(_answered(values)))

    def value_counts(self, dropna: bool = True) -> Any:
        """Refused: the values would be labels, which carry no derivative."""
        raise type_error(
            "value_counts: expected plain numbers, since labels carry no derivative; write s.nunique() for "
            "the number of values, or fg.stop_gradient(s)",
        )

    def interpolate(
        self,
        *,
        method: str,
        index: object,
        limit: object,
        limit_direction: str,
        limit_area: object,
        copy: bool,
        **how: object,
    ) -> TracedColumn:
        """The column with NaN between known values on the line between them, as pandas' method."""
        missing = missing_of(self.expr)
        if not missing.any() or missing.all():
            return self.copy()
        if method not in ("linear", "index", "values", "time") or limit is not None:
            raise type_error(
                f"interpolate: expected the linear method without a limit, but got {method!r} and "
                f"limit={limit}; write np.interp",
            )
        places = np.arange(len(self)) if method == "linear" else np.asarray(index, float)
        known = np.flatnonzero(~missing)
        found = np.interp(places, places[known], self.expr[known])
        before, after = np.arange(len(self)) < known[0], np.arange(len(self)) > known[-1]
        unknown = before & (limit_direction == "forward") | after & (limit_direction == "backward")
        if limit_area == "inside":
            unknown = before | after
        elif limit_area == "outside":
            unknown = unknown | ~(before | after) & missing
        return TracedColumn(np.where(unknown, np.nan, found))

    def _groupby_op(
        self,
        *,
        how: str,
        has_dropped_na: bool,
        min_count: int,
        ngroups: int,
        ids: npt.NDArray[np.intp],
        **kwargs: Any,
    ) -> Any:
        if how in _ACCUMULATED:
            return self._accumulated_groups(how, ngroups, ids, **kwargs)
        if how not in ROW_FUNCTIONS:
            groups = Series(_answered(self.expr)).groupby(np.where(ids < 0, np.nan, ids))
            if how == "rank":
                return groups.rank(kwargs.pop("ties_method"), **kwargs).to_numpy()
            if how in ("any", "all"):
                return getattr(groups, how)(**kwargs).reindex(range(ngroups)).to_numpy()
            raise type_error(
                f"{how}: expected another function of groups of a traced column; write it by "
                "groupby(...).apply(f)",
            )
        rows = group_rows(self.expr, ids, ngroups)
        return TracedColumn(reduced_rows(how, rows, fewest=max(min_count, 0), **kwargs))

    def _accumulated_groups(
        self, how: str, ngroups: int, ids: npt.NDArray[np.intp], skipna: bool = True
    ) -> TracedColumn:
        rows, (accumulate, start) = group_rows(self.expr, ids, ngroups), _ACCUMULATED[how]
        found = accumulate(rows.filled(start), axis=1)
        unknown = ~rows.known if skipna else np.maximum.accumulate(~rows.known, axis=1)
        ordered = np.where(unknown, np.nan, found)[rows.inside]
        order = np.argsort(ids, kind="stable")[int((ids < 0).sum()) :]
        places = np.full(len(self), -1)
        places[order] = np.arange(len(order))
        return TracedColumn(ordered).take(places, allow_fill=True)  # type: ignore[no-any-return]

    def _formatter(self, boxed: bool = False) -> Any:
        return repr

    def _reduce(self, name: str, *, skipna: bool = True, keepdims: bool = False, **how: Any) -> Any:
        if name in ("any", "all"):
            holds = _answered(self.expr != 0) & ~(missing_of(self.expr) & skipna)
            return holds.any() if name == "any" else bool((holds | missing_of(self.expr)).all())
        if name not in ROW_FUNCTIONS:
            raise type_error(
                f"{name}: expected another reduction of a traced column; write it by numpy",
            )
        given, row = {"ddof": how["ddof"]} if "ddof" in how else {}, whole_row(self.expr)
        found = ROW_FUNCTIONS[name](row, **given)
        if row.counts < how.get("min_count", 0) or not (skipna or row.known.all()):
            found = np.nan * found
        return TracedColumn(np.reshape(found, 1)) if keepdims else found

    def _accumulate(self, name: str, *, skipna: bool = True, **how: object) -> Any:
        if name not in _ACCUMULATED:
            raise type_error(
                f"{name}: expected cumsum, cumprod, cummax or cummin of a traced column"
            )
        accumulate, start = _ACCUMULATED[name]
        missing = np.isnan(self.expr)
        found = accumulate(np.where(missing, start, self.expr) if skipna else self.expr)
        return TracedColumn(np.where(missing, np.nan, found) if skipna else found)

    # -- NumPy's protocols ------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: object) -> Any:
        if any([isinstance(x, Series | DataFrame | Index) for x in inputs]):
            return NotImplemented
        found = getattr(ufunc, method)(*map(_expr, inputs), **kwargs)
        return tuple(map(_boxed, found)) if isinstance(found, tuple) else _boxed(found)

    def __array_function__(
        self, func: Any, types: Iterable[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        plain, named = optree.tree_map(_expr, (args, kwargs), none_is_leaf=True)  # type: ignore[arg-type]
        return func(*plain, **named)

    def reshape(self, *shape: Any) -> Any:
        """The expression in another shape."""
        return self.expr.reshape(*shape)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: object = None) -> Any:
        if dtype is not None and np.dtype(dtype) == object:
            made = np.empty(len(self), object)
            for i, entry in enumerate(self.expr):
                made[i] = entry
            return made
        raise type_error(
            "array: expected numbers, but got a traced column of pandas; write s.to_numpy(), which is the "
            "expression of its values, or use its methods",
        )


def _of_arrays(name: str) -> Callable[..., Any]:
    def method(self: TracedColumn, *args: object, **kwargs: object) -> Any:
        return getattr(self.expr, name)(*map(_expr, args), **kwargs)

    doc = f"As the method `{name}` of an array, which ``s.values`` is expected to be."
    return with_name(method, name, doc)


for _name in (
    "sum",
    "prod",
    "mean",
    "std",
    "var",
    "min",
    "max",
    "cumsum",
    "cumprod",
    "dot",
    "flatten",
):
    setattr(TracedColumn, _name, _of_arrays(_name))


def _known(expr: Any) -> Any:
    """The values that are not NaN."""
    missing = _answered(np.isnan(expr))
    return expr[~missing] if missing.any() else expr


_ACCUMULATED: Mapping[str, tuple[Callable[..., Any], float]] = MappingProxyType(
    {
        "cumsum": (np.cumsum, 0.0),
        "cumprod": (np.cumprod, 1.0),
        "cummax": (np.maximum.accumulate, -np.inf),
        "cummin": (np.minimum.accumulate, np.inf),
    }
)
"""Pandas' cumulative functions, with what stands for NaN in them."""


def _expr(value: object) -> Any:
    if isinstance(value, Series):
        value = value.array
    if isinstance(value, ExtensionArray) and not isinstance(value, TracedColumn):
        return value.to_numpy()
    return value.expr if isinstance(value, TracedColumn | ScalarOfColumn) else plain_value(value)


def _boxed(value: object) -> Any:
    """A result of one axis as a column; one of bools as an array, which pandas takes as a mask."""
    if not isinstance(value, Expr) or value.ndim != 1:
        return value
    return _answered(value) if value.dtype.kind == "b" else TracedColumn(value)


def _answered(value: object) -> Any:
    return concrete_value(value, "an array of pandas")
