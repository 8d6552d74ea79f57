"""Reductions of groups and windows of a traced column: each is a row of a matrix, in which NaN is skipped.

The functions of `ROW_FUNCTIONS` take `ColumnRows` and return one number a row, as pandas' functions of
these names do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pandas import Series

from funcgrad.expr.concrete import concrete_value

_Places = npt.NDArray[np.intp]
_Mask = npt.NDArray[np.bool_]


FLAT_MOMENTS: Mapping[str, float] = MappingProxyType(
    {name: float(getattr(Series(np.ones(4)), name)()) for name in ("skew", "kurt")}
)
"""The skewness and the kurtosis of equal values, which have changed from version to version of pandas."""


class ColumnRows(NamedTuple):
    """Entries of a column, one row a group or a window."""

    values: Any
    """An expression whose rows are the last axis; rows of fewer entries are filled with others."""
    known: _Mask
    """Where an entry belongs to its row, and is not NaN."""
    inside: _Mask
    """Where an entry belongs to its row."""

    @property
    def counts(self) -> npt.NDArray[np.float64]:
        """The number of known entries of each row."""
        found: npt.NDArray[np.float64] = self.known.sum(axis=-1).astype(float)
        return found

    def filled(self, value: float) -> Any:
        """The entries with another value in the place of those that do not count."""
        return self.values if self.known.all() else np.where(self.known, self.values, value)


def missing_of(expr: Any) -> _Mask:
    """Where the values of an expression are NaN."""
    return np.asarray(concrete_value(np.isnan(expr), "an array of pandas"))


def whole_row(expr: Any) -> ColumnRows:
    """A column as the only row, without an axis of rows."""
    values = expr if len(expr) else np.full(1, np.nan)
    known = ~missing_of(values)
    return ColumnRows(values, known, np.ones_like(known))


def window_rows(expr: Any, start: _Places, end: _Places) -> ColumnRows:
    """The entries from ``start`` to before ``end``, one row a pair."""
    return _rows(expr, start, np.maximum(end - start, 0), np.arange(len(expr)))


def group_rows(expr: Any, ids: _Places, count: int) -> ColumnRows:
    """The entries of each group, by the number of its group, which is -1 for entries of none."""
    order = np.argsort(ids, kind="stable")[int((ids < 0).sum()) :]
    sizes = np.bincount(ids[ids >= 0], minlength=count)
    return _rows(expr, np.cumsum(sizes) - sizes, sizes, order)


def _rows(expr: Any, start: _Places, sizes: _Places, order: _Places) -> ColumnRows:
    steps = np.arange(max(int(sizes.max(initial=0)), 1))
    inside = steps < sizes[:, np.newaxis]
    if not order.size:
        expr, order = np.zeros(1), np.zeros(1, np.intp)
    places = order[np.minimum(start[:, np.newaxis] + steps, order.size - 1)]
    return ColumnRows(expr[places], inside & ~missing_of(expr)[places], inside)


def reduced_rows(
    name: str, rows: ColumnRows, *, fewest: float = 0, skipna: bool = True, **how: object
) -> Any:
    """One number a row, by the name of pandas' function; NaN of rows with fewer known entries."""
    found = ROW_FUNCTIONS[name](rows, **how)
    unknown = rows.counts < fewest
    if not skipna:
        unknown = unknown | (rows.inside & ~rows.known).any(axis=-1)
    return np.where(unknown, np.nan, found) if unknown.any() else found


def _at_least(counts: Any, fewest: int, found: Any) -> Any:
    few = counts < fewest
    return np.where(few, np.nan, found) if few.any() else found


def _sum(rows: ColumnRows) -> Any:
    return np.sum(rows.filled(0.0), axis=-1)


def _mean(rows: ColumnRows) -> Any:
    counts = rows.counts
    return _at_least(counts, 1, _sum(rows) / np.maximum(counts, 1))


def _apart(rows: ColumnRows) -> Any:
    """The distances of the entries from the mean of their row, 0 for those that do not count."""
    total = np.sum(rows.filled(0.0), axis=-1, keepdims=True)
    mean = total / np.maximum(rows.counts, 1)[..., np.newaxis]
    return rows._replace(values=rows.values - mean).filled(0.0)


def _var(rows: ColumnRows, ddof: int = 1) -> Any:
    counts, squares = rows.counts, np.sum(_apart(rows) ** 2, axis=-1)
    return _at_least(counts, ddof + 1, squares / np.maximum(counts - ddof, 1))


def _std(rows: ColumnRows, ddof: int = 1) -> Any:
    return np.sqrt(_var(rows, ddof))


def _median(rows: ColumnRows) -> Any:
    return np.median(rows.values, axis=-1) if rows.known.all() else _quantile(rows, 0.5)


def _quantile(rows: ColumnRows, quantile: float, interpolation: str = "linear") -> Any:
    place = quantile * np.maximum(rows.counts - 1, 0)
    below, above = np.floor(place), np.ceil(place)
    part: Any = {
        "linear": place - below,
        "lower": 0.0,
        "higher": 1.0,
        "midpoint": 0.5,
        "nearest": np.round(place) - below,
    }[interpolation]
    ordered = np.sort(rows.filled(np.inf), axis=-1)
    first, last = [_picked(ordered, end.astype(int)) for end in (below, above)]
    same, between = below == above, (1 - part) * first + part * last
    return _at_least(rows.counts, 1, np.where(same, first, between) if same.any() else between)


def _skew(rows: ColumnRows, flat_value: float = FLAT_MOMENTS["skew"]) -> Any:
    count, apart = np.maximum(rows.counts, 3), _apart(rows)
    second, third = np.sum(apart**2, axis=-1), np.sum(apart**3, axis=-1)
    flat = second < 1e-14
    bias = count * np.sqrt(count - 1) / (count - 2)
    found = bias * third / np.where(flat, 1.0, second) ** 1.5
    return _at_least(rows.counts, 3, np.where(flat, flat_value, found))


def _kurt(rows: ColumnRows, flat_value: float = FLAT_MOMENTS["kurt"]) -> Any:
    count, apart = np.maximum(rows.counts, 4), _apart(rows)
    second, fourth = np.sum(apart**2, axis=-1), np.sum(apart**4, axis=-1)
    flat, below = second < 1e-14, (count - 2) * (count - 3)
    ratio = count * (count + 1) * (count - 1) / below * fourth / np.where(flat, 1.0, second) ** 2
    found = ratio - 3 * (count - 1) ** 2 / below
    return _at_least(rows.counts, 4, np.where(flat, flat_value, found))


def _first(rows: ColumnRows) -> Any:
    return _at_least(rows.counts, 1, _picked(rows.values, np.argmax(rows.known, axis=-1)))


def _last(rows: ColumnRows) -> Any:
    last = rows.known.shape[-1] - 1 - np.argmax(rows.known[..., ::-1], axis=-1)
    return _at_least(rows.counts, 1, _picked(rows.values, last))


def _picked(values: Any, places: Any) -> Any:
    """The entry of each row at its place."""
    return np.take_along_axis(values, places[..., np.newaxis], -1)[..., 0]


def known_in_both(first: ColumnRows, second: ColumnRows) -> tuple[ColumnRows, ColumnRows]:
    """ColumnRows of two columns, in which an entry counts if it is known in both."""
    known = first.known & second.known
    return first._replace(known=known), second._replace(known=known)


def row_covariances(first: ColumnRows, second: ColumnRows, ddof: int = 1) -> Any:
    """The covariance of each pair of rows."""
    first, second = known_in_both(first, second)
    products = np.sum(_apart(first) * _apart(second), axis=1)
    return _at_least(first.counts, ddof + 1, products / np.maximum(first.counts - ddof, 1))


def row_correlations(first: ColumnRows, second: ColumnRows) -> Any:
    """The correlation of each pair of rows."""
    first, second = known_in_both(first, second)
    scale = np.sqrt(_var(first) * _var(second))
    return row_covariances(first, second) / np.where(scale == 0, np.nan, scale)


def of_pair(pair: Callable[..., Any], x: Any, y: Any, min_periods: int | None, *ddof: int) -> Any:
    """The covariance or the correlation of two columns."""
    start, end = np.zeros(1, np.intp), np.full(1, len(x))
    rows = [window_rows(values, start, end) for values in (x, y)]
    few = (rows[0].known & rows[1].known).sum() < max(min_periods or 0, 1)
    return np.nan if few else pair(*rows, *ddof)[0]


def of_pairs_of_columns(
    pair: Callable[..., Any], values: Any, min_periods: object, *ddof: int
) -> Any:
    """The matrix of covariances, or of correlations, of the columns of a table."""
    length, count = values.shape
    if not missing_of(values).any() and length > 1:
        if pair is row_covariances:
            found = np.cov(values, rowvar=False, ddof=ddof[0])
        else:
            found = np.corrcoef(values, rowvar=False)
        return np.reshape(found, (count, count))
    known = concrete_value(np.isfinite(values), "pandas")  # pandas leaves out infinities, too
    first, second = np.divmod(np.arange(count**2), count)
    inside = np.ones((count**2, length), bool)
    rows = [ColumnRows(values.T[places], known.T[places], inside) for places in (first, second)]
    few = (rows[0].known & rows[1].known).sum(axis=1) < (min_periods or 1)
    found = np.where(few, np.nan, pair(*rows))  # pandas does without ddof here
    return np.reshape(found, (count, count))


ROW_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "sum": _sum,
        "prod": lambda rows: np.prod(rows.filled(1.0), axis=-1),
        "mean": _mean,
        "var": _var,
        "std": _std,
        "sem": lambda rows, ddof=1: _std(rows, ddof) / np.sqrt(np.maximum(rows.counts, 1)),
        "min": lambda rows: _at_least(rows.counts, 1, np.min(rows.filled(np.inf), axis=-1)),
        "max": lambda rows: _at_least(rows.counts, 1, np.max(rows.filled(-np.inf), axis=-1)),
        "median": _median,
        "quantile": _quantile,
        "skew": _skew,
        "kurt": _kurt,
        "first": _first,
        "last": _last,
    }
)
"""Functions of rows, by pandas' names."""


# -- exponential weights -------------------------------------------------------------------------
def linear_recurrence(factors: Any, terms: Any) -> Any:
    """``y[i] = factors[i] * y[i - 1] + terms[i]``, with 0 before the first, by doubling.

    >>> linear_recurrence(np.full(4, 0.5), np.ones(4))
    array([1.   , 1.5  , 1.75 , 1.875])
    """
    step, count = 1, len(terms)
    while step < count:
        before = np.concatenate([np.zeros(step), terms[:-step]])
        terms = terms + factors * before
        factors = factors * np.concatenate([np.zeros(step), factors[:-step]])
        step *= 2
    return terms


class Weights(NamedTuple):
    """The weights of exponentially weighted means, at the observations."""

    old: Any
    """The weight of the mean before an observation, which is 0 at the first."""
    new: Any
    """The weight of the observation: 1 less the other."""

    def mean(self, values: Any) -> Any:
        """The mean at each observation."""
        first = values[:1]  # so that the mean of equal values is theirs
        return first + linear_recurrence(self.old, self.new * (values - first))

    def covariance(self, x: Any, y: Any, bias: bool) -> Any:
        """The covariance at each observation; without bias, NaN at the first."""
        mean_x, mean_y = self.mean(x), self.mean(y)
        moves = _differences(mean_x) * _differences(mean_y)
        apart = (x - mean_x) * (y - mean_y)
        found = linear_recurrence(self.old, self.old * moves + self.new * apart)
        if bias:
            return found
        left = 1 - linear_recurrence(self.old**2, self.new**2)
        return np.where(left > 0, found / np.where(left > 0, left, 1.0), np.nan)


def _differences(values: Any) -> Any:
    return np.concatenate([np.zeros(1), values[1:] - values[:-1]])


def exponential_weights(decays: Any, alpha: object, adjust: bool) -> Weights:
    """The weights at observations, from the factor by which older ones lose weight at each."""
    if adjust:
        total = linear_recurrence(decays, np.ones(len(decays)))
        new = 1 / total
        return Weights(1 - new, new)
    first = np.arange(len(decays)) == 0
    new = np.where(first, 1.0, alpha / (decays + alpha))
    return Weights(np.where(first, 0.0, decays / (decays + alpha)), new)
