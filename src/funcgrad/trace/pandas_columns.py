"""A pandas column whose values are an expression, as a traced function is given it in a Series or DataFrame.

Arithmetic, ufuncs, indexing and alignment by labels are pandas'; reductions skip NaN, as pandas' do.
Comparisons and tests for NaN answer with arrays of bools, since their derivative is zero; under jit they
are guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import optree
from pandas import DataFrame, Index, Series
from pandas import __version__ as pandas_version
from pandas.api.extensions import ExtensionArray, ExtensionDtype
from pandas.api.indexers import check_array_indexer

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value
from funcgrad.source import fail


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


class TracedColumn(np.lib.mixins.NDArrayOperatorsMixin, ExtensionArray):  # type: ignore[misc]
    """A column of a Series or a DataFrame whose values are an expression of one axis."""

    __array_priority__ = 2000

    def __init__(self, expr: Any) -> None:
        self.expr = expr
        self._is_lent = False

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
        found = self.expr[check_array_indexer(self, item)]
        if not found.ndim:
            return found
        part = TracedColumn(found)
        # Before pandas 3, a store into a slice is one into the column.
        self._is_lent = part._is_lent = self._is_lent or (isinstance(item, slice) and _SHARES)
        return part

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._is_lent:
            raise fail(
                TypeError,
                "a traced column of which a part or the values were taken cannot be written, since these "
                "would not change with it; write s = s.copy() before the store",
            )
        if self.expr.dtype != np.float64:
            raise fail(
                TypeError,
                f"a traced column of {self.expr.dtype} cannot be written; write s.astype(float) before",
            )
        stored = value.to_numpy() if isinstance(value, Series | Index) else _expr(value)
        self.expr = self.expr.at[check_array_indexer(self, key)].set(stored)

    @classmethod
    def _from_sequence(cls, scalars: Sequence[Any], *, dtype: Any = None, copy: Any = False) -> Any:
        return cls(np.stack([np.asarray(x) if not isinstance(x, Expr) else x for x in scalars]))

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[TracedColumn]) -> TracedColumn:
        return cls(np.concatenate([column.expr for column in to_concat]))

    def isna(self) -> Any:
        """Where the values are NaN."""
        return _answered(np.isnan(self.expr))

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> Any:
        """The values at these places; -1 stands for ``fill_value`` where ``allow_fill`` is set."""
        places = np.asarray(indices, np.intp)
        if not allow_fill or not (places < 0).any():
            return TracedColumn(self.expr[places])
        fill = np.nan if fill_value is None else fill_value
        return TracedColumn(np.where(places < 0, fill, self.expr[np.maximum(places, 0)]))

    def copy(self) -> TracedColumn:
        """The column itself, in a new object, since an expression never changes."""
        return TracedColumn(self.expr)

    def to_numpy(self, dtype: Any = None, copy: bool = False, na_value: Any = None) -> Any:
        """The expression."""
        self._is_lent = True
        return self.expr if dtype is None else self.expr.astype(dtype)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """The column with another dtype of numbers, or an array of objects, the entries."""
        if not isinstance(dtype, ExtensionDtype) and np.dtype(dtype) == object:
            return self.__array__(object)
        return (
            self.copy() if isinstance(dtype, TracedDtype) else TracedColumn(self.expr.astype(dtype))
        )

    def fillna(
        self, value: Any = None, method: Any = None, limit: Any = None, copy: bool = True
    ) -> TracedColumn:
        """The column with another value in the place of NaN."""
        if method is not None:  # before pandas 3
            return self._pad_or_backfill(method=method, limit=limit)
        return TracedColumn(np.where(np.isnan(self.expr), value, self.expr))

    def _pad_or_backfill(
        self, *, method: str, limit: Any = None, limit_area: Any = None, copy: bool = True
    ) -> TracedColumn:
        known, places = ~self.isna(), np.arange(len(self))
        if known.all():
            return self.copy()
        if limit is not None or limit_area is not None:
            raise fail(TypeError, f"{method}: expected no limit for a traced column with NaN")
        if method in ("pad", "ffill"):
            near = np.maximum.accumulate(np.where(known, places, -1))
        else:
            near = np.minimum.accumulate(np.where(known, places, len(self))[::-1])[::-1]
            near = np.where(near == len(self), -1, near)
        return self.take(near, allow_fill=True)  # type: ignore[no-any-return]

    def _where(self, mask: npt.NDArray[np.bool_], value: Any) -> TracedColumn:
        return TracedColumn(np.where(mask, self.expr, _expr(value)))

    def _quantile(self, qs: npt.NDArray[np.float64], interpolation: str) -> TracedColumn:
        method: Any = interpolation
        return TracedColumn(np.quantile(_known(self.expr), qs, method=method))

    def _values_for_argsort(self) -> Any:
        return _answered(self.expr)

    def _formatter(self, boxed: bool = False) -> Any:
        return repr

    def _reduce(self, name: str, *, skipna: bool = True, keepdims: bool = False, **how: Any) -> Any:
        function = _SKIPPING.get(name) if skipna else getattr(np, name, None)
        if function is None:
            raise fail(
                TypeError,
                f"{name}: expected another reduction of a traced column; write it by numpy",
            )
        count = how.pop("min_count", 0)
        if how.get("numeric_only"):
            how.pop("numeric_only")
        found = function(self.expr, **{k: v for k, v in how.items() if v is not None})
        if count and int((~self.isna()).sum()) < count:
            found = np.nan * found
        return TracedColumn(np.reshape(found, 1)) if keepdims else found

    def _accumulate(self, name: str, *, skipna: bool = True, **how: Any) -> Any:
        if name not in _ACCUMULATED:
            raise fail(
                TypeError, f"{name}: expected cumsum, cumprod, cummax or cummin of a traced column"
            )
        accumulate, start = _ACCUMULATED[name]
        missing = np.isnan(self.expr)
        found = accumulate(np.where(missing, start, self.expr) if skipna else self.expr)
        return TracedColumn(np.where(missing, np.nan, found) if skipna else found)

    # -- NumPy's protocols ------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
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
        self._is_lent = True
        return self.expr.reshape(*shape)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if dtype is not None and np.dtype(dtype) == object:
            made = np.empty(len(self), object)
            for i, entry in enumerate(self.expr):
                made[i] = entry
            return made
        raise fail(
            TypeError,
            "array: expected numbers, but got a traced column of pandas; write s.to_numpy(), which is the "
            "expression of its values, or use its methods",
        )


def _of_arrays(name: str) -> Callable[..., Any]:
    def method(self: TracedColumn, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.expr, name)(*map(_expr, args), **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As the method `{name}` of an array, which ``s.values`` is expected to be."
    return method


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


def _median(expr: Any) -> Any:
    return np.median(_known(expr))


def _standard_error(expr: Any, ddof: int = 1) -> Any:
    values = _known(expr)
    return np.std(values, ddof=ddof) / np.sqrt(values.size)


def _skewness(expr: Any) -> Any:
    """The third moment over the power 1.5 of the second, without bias, as pandas has it."""
    count, second, third = _central(expr, 3)
    if count < 3:
        return np.nan
    bias = count * np.sqrt(count - 1) / (count - 2)
    return np.where(second == 0, 0.0, bias * third / np.where(second == 0, 1.0, second) ** 1.5)


def _kurtosis(expr: Any) -> Any:
    """The excess of the fourth moment over that of a normal distribution, without bias, as pandas has it."""
    count, second, fourth = _central(expr, 4)
    if count < 4:
        return np.nan
    below = (count - 2) * (count - 3)
    bias = count * (count + 1) * (count - 1) / below
    ratio = bias * fourth / np.where(second == 0, 1.0, second) ** 2
    return np.where(second == 0, 0.0, ratio - 3 * (count - 1) ** 2 / below)


def _central(expr: Any, power: int) -> tuple[int, Any, Any]:
    """The number of values, and the sums of squares and of a power of their distances from the mean.

    Sums of squares that rounding has left count as 0, as they do for pandas.
    """
    values = _known(expr)
    apart = values - np.mean(values)
    second = np.sum(apart**2)
    return values.size, np.where(np.abs(second) < 1e-14, 0.0, second), np.sum(apart**power)


_ACCUMULATED: Mapping[str, tuple[Callable[..., Any], float]] = MappingProxyType(
    {
        "cumsum": (np.cumsum, 0.0),
        "cumprod": (np.cumprod, 1.0),
        "cummax": (np.maximum.accumulate, -np.inf),
        "cummin": (np.minimum.accumulate, np.inf),
    }
)
"""Pandas' cumulative functions, with what stands for NaN in them."""

_SHARES = int(pandas_version.partition(".")[0]) < 3
"""Whether a slice of a Series shares its memory."""

_SKIPPING: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "sum": np.nansum,
        "prod": np.nanprod,
        "mean": np.nanmean,
        "median": _median,
        "min": np.nanmin,
        "max": np.nanmax,
        "std": np.nanstd,
        "var": np.nanvar,
        "sem": _standard_error,
        "skew": _skewness,
        "kurt": _kurtosis,
    }
)
"""Pandas' reductions that skip NaN, as NumPy's functions."""


def _expr(value: Any) -> Any:
    return value.expr if isinstance(value, TracedColumn) else plain_value(value)


def _boxed(value: Any) -> Any:
    """A result of one axis as a column; one of bools as an array, which pandas takes as a mask."""
    if not isinstance(value, Expr) or value.ndim != 1:
        return value
    return _answered(value) if value.dtype.kind == "b" else TracedColumn(value)


def _answered(value: Any) -> Any:
    return concrete_value(value, "an array of pandas")
