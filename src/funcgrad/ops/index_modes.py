"""Indices out of bounds in ``x.at[index]``: the last entry stands for them, or one entry more."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.expr import Expr


def within_bounds(x: Any, index: Any, mode: str, fill: Any = 0) -> tuple[Any, Any]:
    """An array and an index within its bounds.

    Except in mode "clip", the array has an entry more along each axis with
    an index that may be out of bounds: what is out of bounds is there.
    """
    items = [_as_array(item) for item in (index if isinstance(index, tuple) else (index,))]
    taken = [_axes(item) for item in items]
    rest = len(x.shape) - sum(taken)
    axis, widths = 0, [(0, 0)] * len(x.shape)
    for k, item in enumerate(items):
        if item is not None and taken[k] == 1 and _is_integer(item):
            items[k], may_be_beyond = _moved(item, x.shape[axis], mode)
            widths[axis] = (0, int(may_be_beyond))
        axis += rest if item is Ellipsis else taken[k]
    if any([after for _, after in widths]):
        x = np.pad(x, widths, constant_values=fill)
    return x, tuple(items)


def default_fill(dtype: Any) -> Any:
    """JAX's entry out of bounds: NaN, the least integer, the largest one without a sign, or True."""
    if dtype.kind in "fc":
        return np.nan
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).max if dtype.kind == "u" else np.iinfo(dtype).min


def _as_array(item: Any) -> Any:
    if item is None or item is Ellipsis or isinstance(item, slice | Expr):
        return item
    return np.asarray(item)


def _axes(item: Any) -> int:
    """The number of axes that an index of one item stands for; an ellipsis stands for the others."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, slice):
        return 1
    return len(item.shape) if item.dtype.kind == "b" else 1


def _is_integer(item: Any) -> bool:
    return not isinstance(item, slice) and item.dtype.kind in "iu"


def _moved(places: Any, length: int, mode: str) -> tuple[Any, bool]:
    """Places within bounds, and whether the entry behind the last is among them."""
    places = np.where(places < 0, places + length, places)
    if mode == "clip":
        return np.clip(places, 0, length - 1), False
    beyond = np.logical_or(places < 0, places >= length)
    return np.where(beyond, length, places), isinstance(beyond, Expr) or bool(np.any(beyond))
