"""Medians and quantiles of samples, by NumPy's formulas of the places among the entries in order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.expr.concrete import known_value
from funcgrad.ops.base.arguments import inexact
from funcgrad.ops.base.axes import axes_of, axis_tuple, keeps_axes, nonempty
from funcgrad.ops.base.op import differentiable, lift_fully
from funcgrad.ops.scans_and_sorts import order_statistics_op
from funcgrad.ops.shape import astype, reshape
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike, Axes, Axis


def _axes_or_list(name: str, axis: Any, x: Any) -> tuple[int, ...]:
    """`axes_of`, also for a list, which NumPy's order statistics take, and its reductions do not."""
    return axes_of(name, axis_tuple(name, axis, x) if np.iterable(axis) else axis, x)


def median(
    a: ArrayLike, axis: Axes = None, *, overwrite_input: bool = False, keepdims: bool | None = False
) -> Any:
    """As `numpy.median`; what lies in the middle has the derivative. Nothing is overwritten."""
    a = lift_fully(a)
    axes = _axes_or_list("median", axis, a)
    n = math.prod([a.shape[i] for i in axes])
    middle = [*range((n - 1) // 2, n // 2 + 1)]
    if n > MANY:
        rows = _chosen_rows(a, axes, [*middle, n - 1])
        z = np.mean(rows[:-1], axis=0)
    else:
        rows = _rows("median", a, axes)
        z = np.mean(rows[(len(rows) - 1) // 2 : len(rows) // 2 + 1], axis=0)
    return _reduced(z, rows, axes, 0, keepdims)


MANY = 1024
"""The entries from which those in their places are selected, and not all are sorted."""


def _chosen_rows(a: Any, axes: tuple[int, ...], places: list[int]) -> Any:
    """The entries in these places of their order along a first axis."""
    entries = by_first_axis(a, axes)
    wide = np.reshape(places, (-1, *(1,) * (entries.ndim - 1)))
    return entries_at(entries, np.broadcast_to(wide, (len(places), *entries.shape[1:])))


def entries_at(entries: Any, places: Array) -> Any:
    """The entries of each lane along a first axis that stand in these places of their order."""
    chosen = order_statistics_op(entries, lift_fully(places), axis=0)
    return np.take_along_axis(entries, chosen, 0)


def percentile(
    a: Array,
    q: float | Array,
    axis: Axis = None,
    *,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """As `numpy.percentile`, differentiable in ``a`` and in ``q``: see `quantile`."""
    return _quantile("percentile", a, percents(q), axis, method, keepdims)


def quantile(
    a: Array,
    q: float | Array,
    axis: Axis = None,
    *,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """As `numpy.quantile`, without weights.

    It is differentiable in ``a``, where the entries next to the quantile have the derivative, and in ``q``,
    where it is that of the line to the next entry; methods that choose an entry are constant in ``q``.
    """
    return _quantile("quantile", a, q, axis, method, keepdims)


def percents(q: float | Array) -> Any:
    """Shares of percents; a number of Python's stays one."""
    return q / 100 if type(q) in (int, float) else np.true_divide(q, 100)


def _quantile(
    name: str, a: object, q: ArrayLike, axis: Axis, method: str, keepdims: bool | None
) -> Any:
    a = lift_fully(a)
    if a.dtype.kind == "c":
        raise type_error(f"{name}: expected real entries, but got {a.type}")
    shares = lift_fully(q) if isinstance(q, Expr) else np.asarray(q)
    if not isinstance(q, Expr) and not ((shares >= 0) & (shares <= 1)).all():
        raise value_error(
            f"{name}: expected shares from 0 to 1 (percents to 100), but got {shares}"
        )
    axes = _axes_or_list(name, axis, a)
    n = math.prod([a.shape[i] for i in axes])
    wide = reshape(shares, (*shares.shape, *[1] * (a.ndim - len(axes))))

    def at(entry: Callable[[Any], Any]) -> Any:
        return quantiles_at(name, method, entry, n, wide, a.dtype, type(q) in (int, float))

    if n > MANY and not isinstance(q, Expr):
        wanted: set[int] = {n - 1}
        at(lambda place: _noted(place, n, wanted))
        places = sorted(wanted)
        rows = _chosen_rows(a, axes, places)
        z = at(lambda place: rows[np.searchsorted(places, _known(place, n, shares.shape))])
    else:
        rows = _rows(name, a, axes)
        z = at(lambda place: rows[reshape(place, shares.shape)])
    return _reduced(z, rows, axes, shares.ndim, keepdims)


def _known(place: Array, n: int, shape: tuple[int, ...]) -> Any:
    """Places among n entries, which are no traced values."""
    value: Any = place
    value = known_value(value) if isinstance(value, Expr) else value
    return np.reshape(np.asarray(value) % n, shape)


def _noted(place: Array, n: int, wanted: set[int]) -> Any:
    """Note which places are asked for; the answer stands for any entries."""
    wanted.update(np.ravel(_known(place, n, np.shape(place))).tolist())
    return np.zeros(())


def _rows(name: str, a: Any, axes: tuple[int, ...]) -> Any:
    """The entries in order along a first axis, in the place of the axes that are reduced."""
    entries = by_first_axis(a, axes)
    if len(entries):
        return np.sort(entries, axis=0)
    if name != "median":
        nonempty(name, a, axes)
    # The median of nothing is no number.
    return np.full_like(inexact(a), np.nan, shape=(1, *entries.shape[1:]))


def by_first_axis(a: Any, axes: tuple[int, ...]) -> Any:
    """The entries with one axis in the place of several, the first."""
    kept = tuple(i for i in range(a.ndim) if i not in axes)
    count, lengths = math.prod([a.shape[i] for i in axes]), tuple(a.shape[i] for i in kept)
    return reshape(np.transpose(a, (*axes, *kept)), (count, *lengths))


def _reduced(z: Array, rows: Array, axes: tuple[int, ...], lead: int, keepdims: bool | None) -> Any:
    """NaN where an entry is; sorted, it stands last."""
    if differentiable(rows.dtype):
        z = np.where(rows[-1] == rows[-1], z, rows[-1])
    return np.expand_dims(z, tuple(lead + i for i in axes)) if keeps_axes(keepdims) and axes else z


# -- the places, as NumPy computes them --------------------------------------------------------
def _closest_observation(n: Array, q: Array) -> Any:
    place = n * q - 1 - 0.5
    low = np.floor(place)
    return np.where((place == low) & (low % 2 == 1), low, low + 1)


_ENTRIES: dict[str, Callable[[Any, Any], Any]] = {
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.rint((n - 1) * q),
    "inverted_cdf": lambda n, q: np.ceil(n * q - 1),
    "closest_observation": _closest_observation,
}
"""The place of the entry that a method chooses, among n; the first is at 0."""


def _plotting_position(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


_PLACES: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda n, q: (n - 1) * q,
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "interpolated_inverted_cdf": _plotting_position(0, 1),
    "hazen": _plotting_position(0.5, 0.5),
    "weibull": _plotting_position(0, 0),
    "median_unbiased": _plotting_position(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _plotting_position(3 / 8.0, 3 / 8.0),
}
"""The place between two entries, by the constants of Hyndman and Fan (1996)."""


def quantiles_at(
    name: str,
    method: str,
    entry: Callable[[Any], Any],
    n: int | Array,
    shares: Array,
    dtype: np.dtype[Any],
    weak: bool,
) -> Any:
    """Quantiles of n entries in order, which ``entry`` gives at places; n may be an array.

    If ``weak``, the shares are numbers of Python's, which give way to the dtype of the entries.
    """
    if not isinstance(n, int) and shares.dtype.kind == "f":
        # As a number of Python's, which gives way to the dtype of the shares.
        n = astype(n, shares.dtype)
    if method in _ENTRIES:
        return entry(np.maximum(astype(_ENTRIES[method](n, shares), int), 0))
    if method not in _PLACES:
        known = ", ".join([*_PLACES, *_ENTRIES])
        raise value_error(f"{name}: expected a method among {known}, but got method={method!r}")
    place = lift_fully(_PLACES[method](n, shares))
    if method == "linear" and place.dtype.kind in "iu":
        return entry(place)
    beyond = place >= n - 1
    low = np.where(beyond, -1, np.maximum(np.floor(place), 0))
    part = place - low
    if method == "averaged_inverted_cdf":
        part = astype(np.where(part == 0, 0.5, 1.0), place.dtype)
    elif method == "midpoint":
        part = astype(np.where(place % 1 == 0, 0.0, 0.5), place.dtype)
    rest = 1 - part
    if weak:
        kind = np.result_type(dtype, 1.0) if dtype.kind != "f" else dtype
        part, rest = astype(part, kind), astype(rest, kind)
    first = np.where(beyond, n - 1, low)
    second = np.where(beyond | (place < 0), first, low + 1)
    return _on_line(entry(astype(first, int)), entry(astype(second, int)), part, rest)


def _on_line(below: Array, above: Array, part: Array, rest: Array) -> Any:
    """The number at a part of the way from below to above, computed from the nearer end, as in NumPy."""
    apart = above - below
    return np.where(part >= 0.5, above - apart * rest, below + apart * part)
