"""``x[i]`` and ``x.at[i].set(v)`` as users write them: an index is read, and an operation is built."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.arrays.array_subscripts import has_traced_bounds
from funcgrad.expr import Expr, concrete, const
from funcgrad.graph import CONSTANT
from funcgrad.ops.base.index_bounds import within_bounds_if_handled
from funcgrad.ops.base.index_spec import Spec, parse_index, restore, shape_of
from funcgrad.ops.base.op import build_structural, lift_fully
from funcgrad.ops.indexing import getitem_op
from funcgrad.ops.moving_slices import Move, moving_slices
from funcgrad.ops.overlapping_windows import overlapping_windows_op, part_of_windows
from funcgrad.ops.shape import as_numpys, astype, broadcast_to
from funcgrad.ops.store_forwarding import forwarded, place_of
from funcgrad.ops.stores import index_add_op, index_set_op
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike, Index


def getitem(x: ArrayLike, index: object) -> Any:
    """``x[index]``: basic, integer-array and boolean indexing, as in NumPy."""
    if has_traced_bounds(index):
        moving = moving_slices(index, np.shape(x))
        if moving is not None:
            return _moved_part(x, *moving)
    x, spec, arrays = parse_index(index, lift_fully(x))
    exprs = tuple(lift_fully(a, (x,)) for a in arrays)
    shape = shape_of(x, spec, exprs)
    if arrays:
        exprs = within_bounds_if_handled(x, spec, exprs)
    if x.op is index_set_op and not arrays:
        place = place_of(spec, x.shape)
        found = None if place is None else forwarded(x, place)
        if found is not None:
            return found if found.shape else as_numpys(found)
    if x.op is overlapping_windows_op and not arrays:
        found = part_of_windows(x, restore(spec, ()))
        if found is not None:
            return found
    if x.op is getitem_op and not arrays:
        found = _of_places(x, spec, shape)
        if found is not None:
            return found
    return build_structural(getitem_op, (x, *exprs), {"spec": spec, "shape": shape})


def _moved_part(x: ArrayLike, rest: Index, moves: Sequence[Move]) -> Any:
    """What a slice whose bounds vary selects."""
    return reduce(getitem, [move.subscript for move in moves], getitem(x, rest))


def _of_places(x: Expr, spec: Spec, shape: tuple[int, ...]) -> Expr | None:
    """x[i][j] = x[i[j]] for known places i in a vector of which few are chosen, as of sliding windows."""
    if len(x.args) != 2 or dict(x.params)["spec"] != ("array",) or not shape:
        return None
    vector, places = x.args
    if vector.ndim != 1 or places.op is not CONSTANT or 2 * math.prod(shape) > x.size:
        return None
    chosen = const(np.ascontiguousarray(places.value[restore(spec, ())]))
    found: Expr = build_structural(
        getitem_op, (vector, chosen), {"spec": ("array",), "shape": shape}
    )
    return found


def index_get(x: object, index: object, mode: str, fill_value: Any = None) -> Any:
    """``x.at[index].get(mode=mode)``: indices out of bounds are clipped, or read fill_value."""
    whole = lift_fully(x)
    fill = _default_fill(whole.dtype) if fill_value is None else fill_value
    inside, index = _within_bounds(whole, index, mode, fill)
    return inside[index]


def index_update(x: object, index: object, value: Any, how: str, mode: str | None = None) -> Any:
    """``x.at[index].set(value)`` and its kin: a new array, with these entries changed.

    A mode says what indices out of bounds mean: "clip", "drop", or "fill",
    which drops, too.
    """
    whole = lift_fully(x)
    if mode is not None:
        inside, index = _within_bounds(whole, index, mode)
        changed = index_update(inside, index, value, how)
        return changed[tuple([slice(length) for length in whole.shape])]
    if has_traced_bounds(index):
        moving = moving_slices(index, whole.shape)
        if moving is not None:
            return _with_moved_part(whole, *moving, value, how)
    x, spec, arrays = parse_index(index, whole)
    exprs = tuple(lift_fully(a, (x,)) for a in arrays)
    shape = shape_of(x, spec, exprs)
    if arrays:
        exprs = within_bounds_if_handled(x, spec, exprs)
    if how == "apply":
        function, how = value, "set"
        _refuse_repeated(exprs, spec, x)
        value = function(getitem_op(x, *exprs, spec=spec, shape=shape))
    value = _fitted(lift_fully(value, (x,)), whole, shape)
    if how not in ("set", "add"):
        if _repeats(exprs, spec, x):
            places = _places(x, spec, exprs)
            vector = _repeated_update(np.reshape(x, -1), places, np.reshape(value, -1), how)
            return np.reshape(vector, whole.shape)
        old = getitem_op(x, *exprs, spec=spec, shape=shape)
        value = getattr(np, how)(old, value)
    op = index_add_op if how == "add" else index_set_op
    if not x.shape:  # a number: the index has but new axes
        value = np.reshape(value, ())
        return x + value if how == "add" else value
    params: dict[str, Any] = {"spec": spec}
    if op is index_set_op:
        params["unique"] = _is_unique(x, index, spec, exprs)
    changed = build_structural(op, (x, value, *exprs), params)
    return changed if x is whole else np.reshape(changed, whole.shape)


def _fitted(value: Expr, whole: Expr, shape: tuple[int, ...]) -> Any:
    """A value in the dtype of the array and the shape of the entries to which it is assigned."""
    if not np.can_cast(value.dtype, whole.dtype, "same_kind"):
        raise type_error(
            f"at: expected a value of dtype {whole.dtype}, but got {value.dtype}; convert x with astype",
        )
    value = astype(value, whole.dtype)
    lead = value.ndim - len(shape)
    if lead > 0 and value.shape[:lead] == (1,) * lead:  # as NumPy's assignment drops them
        value = lift_fully(np.reshape(value, value.shape[lead:]))
    try:
        return broadcast_to(value, shape)
    except ValueError:
        entries = f"entries of shape {shape}" if shape else "one entry"
        raise value_error(
            f"item assignment: expected a value for the {entries} that the index selects of {whole.type}, "
            f"but got {value.type}; give the value this shape, or select as many entries as it has",
        ) from None


def _with_moved_part(x: Expr, rest: Index, moves: Sequence[Move], value: object, how: str) -> Any:
    """An array whose entries change that a slice whose bounds vary selects."""
    parts = [getitem(x, rest)]
    for move in moves:
        parts.append(getitem(parts[-1], move.subscript))
    updated = index_update(parts.pop(), ..., value, how)
    for part, move in zip(reversed(parts), reversed(moves), strict=True):
        updated = index_update(part, move.subscript, updated, "set")
    return index_update(x, rest, updated, "set")


def _is_unique(x: Expr, index: object, spec: tuple[Any, ...], arrays: tuple[Expr, ...]) -> bool:
    """Whether an index is known to name no entry twice."""
    if not any([a.shape for a in arrays]):
        return True
    dtype = getattr(index, "dtype", None)
    if dtype is not None and dtype.kind == "b":
        return True
    frozen = not (x.traced and x.traced.records)  # else arrays are read again at each call
    if not all([a.op is CONSTANT and (frozen or not a.value.flags.writeable) for a in arrays]):
        return False
    places = np.arange(x.size).reshape(x.shape)[restore(spec, tuple([a.value for a in arrays]))]
    return bool(np.unique(places).size == places.size)


def _places(x: Expr, spec: tuple[Any, ...], arrays: tuple[Expr, ...]) -> Any:
    """The positions that an index names, in the order of its values."""
    values = tuple(concrete(a, "an index of at[]") for a in arrays)
    return np.arange(x.size).reshape(x.shape)[restore(spec, values)].reshape(-1)


def _repeats(arrays: tuple[Expr, ...], spec: tuple[Any, ...], x: Expr) -> bool:
    """Whether an index names an entry twice; single integers, such as a loop's counter, do not."""
    if not any([a.shape for a in arrays]):
        return False
    places = _places(x, spec, arrays)
    return bool(np.unique(places).size < places.size)


def _refuse_repeated(arrays: tuple[Expr, ...], spec: tuple[Any, ...], x: Expr) -> None:
    if _repeats(arrays, spec, x):
        raise value_error(
            "at[...].apply: expected each entry to be named once, but an index is repeated; apply the "
            "function to np.unique(index)",
        )


# -- indices out of bounds -------------------------------------------------------------------------
def _within_bounds(x: Any, index: Any, mode: str, fill: Any = 0) -> tuple[Any, Any]:
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


def _default_fill(dtype: Any) -> Any:
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


# -- entries that are named several times ----------------------------------------------------------
# Those with about as many values are the rows of a table, which one reduction along its rows updates. So ties
# share the derivative equally, as in `numpy.max`.
_REDUCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"maximum": np.max, "minimum": np.min, "multiply": np.prod}
)


def _neutral(how: str, dtype: Any) -> Any:
    """What changes no entry."""
    if how == "multiply":
        return 1
    if dtype.kind == "b":
        return how == "minimum"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if how == "maximum" else limits.max
    return -np.inf if how == "maximum" else np.inf


def _repeated_update(x: Any, places: Array, values: Array, how: str) -> Any:
    """A vector whose entries at places are reduced with all values that are given for them."""
    if how not in _REDUCTIONS or (how != "multiply" and x.dtype.kind == "c"):
        raise value_error(
            f"at[...].{how}: expected each entry to be named once, but an index is repeated; "
            "set, add, multiply, and min and max of real numbers say what repetition means",
        )
    order = np.argsort(places, kind="stable")
    named, starts, counts = np.unique(places[order], return_index=True, return_counts=True)
    widths = 2 ** np.ceil(np.log2(counts)).astype(int)
    for width in np.unique(widths).tolist():
        rows = np.flatnonzero(widths == width)
        given = np.arange(width) < counts[rows, None]
        slots = starts[rows, None] + np.where(given, np.arange(width), 0)
        entries = np.where(given, values[order[slots]], np.asarray(_neutral(how, x.dtype), x.dtype))
        table = np.concatenate([x[named[rows]][:, None], entries], axis=1)
        reduced = _REDUCTIONS[how](table, axis=1)
        x = x.at[named[rows]].set(reduced.astype(x.dtype))
    return x
