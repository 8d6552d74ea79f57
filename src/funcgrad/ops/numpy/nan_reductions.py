"""Reductions that leave out what is not a number; it has no gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops import reduction
from funcgrad.ops.base.arguments import inexact
from funcgrad.ops.base.axes import axis_tuple, keeps_axes
from funcgrad.ops.base.op import differentiable, lift_fully
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.numpy.quantiles import MANY, by_first_axis, entries_at, percents, quantiles_at
from funcgrad.ops.shape import astype, reshape
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, Axes, DTypeLike


def _numbers(x: object, instead: object, where: object = True) -> tuple[Any, Any]:
    """An operand with what is none, or is not chosen, replaced; and where it has numbers."""
    x = lift_fully(x)
    if not differentiable(x.dtype) and where is True:
        return x, np.ones(x.shape, bool)
    known = x == x if where is True else np.broadcast_to((x == x) & where, x.shape)
    return np.where(known, x, np.asarray(instead, x.dtype)[()]), known


def nansum(
    x: Array,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    *,
    keepdims: bool = False,
    initial: object = 0,
    where: object = True,
) -> Any:
    """As `numpy.nansum`."""
    total = reduction.sum(_numbers(x, 0, where)[0], axis, dtype, keepdims)
    return total if type(initial) is int and initial == 0 else initial + total


def nanprod(
    x: Array,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    *,
    keepdims: bool = False,
    initial: object = 1,
    where: object = True,
) -> Any:
    """As `numpy.nanprod`."""
    product = reduction.prod(_numbers(x, 1, where)[0], axis, dtype, keepdims)
    return product if type(initial) is int and initial == 1 else initial * product


def nanmean(
    x: Array,
    axis: Axes = None,
    dtype: DTypeLike | None = None,
    *,
    keepdims: bool = False,
    where: object = True,
) -> Any:
    """As `numpy.nanmean`."""
    kept, known = _numbers(inexact(x, dtype), 0, where)
    return reduction.sum(kept, axis, keepdims=keepdims) / _count(known, kept, axis, keepdims)


def _count(known: Array, x: Array, axis: Axes, keepdims: bool) -> Any:
    return astype(reduction.sum(known, axis, keepdims=keepdims), np.real(x).dtype)


def _extreme(of: np.ufunc, instead: float) -> Callable[..., Any]:
    """`nanmax`, of `numpy.fmax` and -inf, or `nanmin`; entries that tie share the derivative equally."""
    by_entries, plain = (reduction.max, np.max) if of is np.fmax else (reduction.min, np.min)

    def function(
        x: Array,
        axis: Axes = None,
        *,
        keepdims: bool = False,
        initial: object = None,
        where: object = True,
    ) -> Any:
        if where is not True and initial is None:
            raise value_error(
                f"nan{plain.__name__}: expected an initial value for entries that a mask chooses, which "
                "may be none, but got no initial",
            )
        if not differentiable(lift_fully(x).dtype):
            options: Any = {"initial": initial, "where": where} if initial is not None else {}
            return plain(lift_fully(x), axis, keepdims=keepdims, **options)
        kept, known = _numbers(x, instead, where)
        z = by_entries(kept, axis, keepdims)
        z = np.where(reduction.any(known, axis, keepdims), z, np.nan)
        return z if initial is None else of(initial, z)

    function.__name__ = function.__qualname__ = f"nan{plain.__name__}"
    return function


nanmax, nanmin = _extreme(np.fmax, -np.inf), _extreme(np.fmin, np.inf)


def _spread(name: str, plain: Callable[..., Any], of: Callable[[Any], Any]) -> Callable[..., Any]:
    """`nanvar` or `nanstd`, as a function of the standard deviation, which has slope 0 at 0."""

    def function(
        x: Array,
        axis: Axes = None,
        dtype: Any = None,
        *,
        ddof: float = 0,
        keepdims: Any = False,
        where: Any = True,
        mean: Any = None,
        correction: float | None = None,
    ) -> Any:
        ddof = ddof if correction is None else correction
        x = _real_dtype(name, x, dtype)
        if not differentiable(x.dtype):
            return plain(x, axis, dtype, ddof, keepdims, where=where, mean=mean)
        return of(_deviation(inexact(x, dtype), axis, ddof, keepdims, where, mean))

    function.__name__ = function.__qualname__ = name
    return function


nanvar = _spread("nanvar", reduction.var, np.square)
nanstd = _spread("nanstd", reduction.std, lambda size: size)


def _real_dtype(name: str, x: object, dtype: np.dtype[Any]) -> Any:
    x = lift_fully(x)
    if dtype is not None and (np.dtype(dtype).kind != "f" or x.dtype.kind == "c"):
        raise type_error(
            f"{name}: expected a dtype for real entries to be worked out in, but got "
            f"{np.dtype(dtype)} for {x.type}; leave it out, or use astype before",
        )
    return x


def _deviation(
    x: Array, axis: Axes, ddof: float, keepdims: bool, where: object, mean: Array
) -> Any:
    kept, known = _numbers(x, 0, where)
    middle = nanmean(x, axis, keepdims=True, where=where) if mean is None else mean
    centered = mask(known, kept - middle)
    free = _count(known, kept, axis, keepdims) - ddof
    size = reduction.norm(centered, axis=axis, keepdims=keepdims)
    return size / np.sqrt(np.where(free > 0, free, np.nan))


# -- by order ------------------------------------------------------------------------------------
def nanmedian(a: Array, axis: Axes = None, *, keepdims: bool = False) -> Any:
    """As `numpy.nanmedian`; what lies in the middle has the derivative."""
    x = inexact(a)
    if not x.size:
        return nanmean(x, axis, keepdims=keepdims)
    axes = _axes("nanmedian", axis, x)
    entry, count = _ordered_numbers(x, axes)
    low, high = entry(np.stack([np.maximum(count - 1, 0) // 2, count // 2]))
    z = np.where(count % 2, low, (low + high) / 2) + 0  # a mean is no -0.0
    return _kept(np.where(count > 0, z, np.asarray(np.nan, x.dtype)[()]), axes, keepdims)


def nanpercentile(
    a: Array,
    q: float | Array,
    axis: Axes = None,
    *,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """As `numpy.nanpercentile`: see `nanquantile`."""
    return nanquantile(a, percents(q), axis, method=method, keepdims=keepdims)


def nanquantile(
    a: Array,
    q: float | Array,
    axis: Axes = None,
    *,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
) -> Any:
    """As `numpy.nanquantile`, without weights, differentiable in ``a`` and in ``q``: see `quantile`."""
    given = lift_fully(a)
    if given.dtype.kind in "bc":
        raise type_error(f"nanquantile: expected real numbers, but got {given.type}")
    x = inexact(given)
    if not x.size:
        return nanmean(x, axis, keepdims=keepdims)
    axes = _axes("nanquantile", axis, x)
    entry, count = _ordered_numbers(x, axes)
    shares = lift_fully(q)
    wide = np.reshape(shares, shares.shape + (1,) * count.ndim)
    weak = type(q) in (int, float)
    z = quantiles_at("nanquantile", method, entry, count, wide, x.dtype, weak)
    z = np.where(count > 0, z, np.asarray(np.nan, z.dtype)[()])
    return _kept(z, tuple([shares.ndim + i for i in axes]), keepdims)


def _ordered_numbers(x: Array, axes: tuple[int, ...]) -> tuple[Callable[[Any], Any], Any]:
    """The entry at a place in the order of each lane, where what is no number comes last, as a function of
    places, which may have more axes, in front; and how many are numbers.
    """
    entries = by_first_axis(x, axes)
    rows = entries if len(entries) > MANY else np.sort(entries, axis=0)

    def entry(place: Array) -> Any:
        flat = reshape(np.maximum(place, 0), (-1, *rows.shape[1:]))
        found = entries_at(rows, flat) if len(rows) > MANY else np.take_along_axis(rows, flat, 0)
        return reshape(found, np.shape(place))

    return entry, reduction.sum(rows == rows, 0)


def _kept(z: Array, axes: tuple[int, ...], keepdims: bool) -> Any:
    return np.expand_dims(z, axes) if keeps_axes(keepdims) and axes else z


def _axes(name: str, axis: Axes, x: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else tuple(sorted(axis_tuple(name, axis, x)))
