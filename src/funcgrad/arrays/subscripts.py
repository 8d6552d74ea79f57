"""``a[i]`` and ``a[i] = v`` of arrays that can be written: views, copies, entries, and stores into them."""

from __future__ import annotations

from operator import index as to_integer
from typing import Any

import numpy as np

from funcgrad.arrays.lens import IndexLens
from funcgrad.arrays.reference import (
    Place,
    Reference,
    assign,
    check_store,
    current,
    dtype_of,
    expression_of,
    holds_expr,
    is_numeric,
    layout_of,
    lengths_of,
    lent_value,
    make_expression,
    plain_value,
    read_at,
    root_of,
    state_of,
    store_at,
    unwrapped,
    view_of,
    wrapped,
    writable,
)
from funcgrad.arrays.values import converted, fitted_value
from funcgrad.expr import Expr, concrete
from funcgrad.expr.registry import functions
from funcgrad.source import fail

_PLAIN = (int, slice, type(None), type(...))


def read_index(index: Any) -> tuple[Any, bool, Any]:
    """An index without cells; whether it is basic, so that it gives a view; and a like one of numbers."""
    items = index if type(index) is tuple else (index,)
    plain_items = []
    probe = []
    basic = True
    for given in items:
        item = current(given) if isinstance(given, Reference) else given
        kind = type(item)
        if kind is slice:
            item = slice(
                *[None if b is None else to_integer(plain_value(b)) for b in _bounds(item)]
            )
        elif kind is Expr:
            if item.type.shape or item.type.dtype.kind not in "iu":
                basic = False
            else:
                plain_items.append(item)
                probe.append(0)
                continue
        elif kind not in _PLAIN and not isinstance(item, np.integer):
            basic = False
            if kind is list and holds_expr(unwrapped(item)):
                item = functions["array"](unwrapped(item))
            elif kind is list:
                item = np.asarray(unwrapped(item)) if item else np.empty(0, int)
        elif isinstance(item, np.integer):
            item = int(item)
        plain_items.append(item)
        probe.append(item)
    if type(index) is tuple:
        return tuple(plain_items), basic, tuple(probe)
    return plain_items[0], basic, probe[0]


def _bounds(part: slice) -> tuple[Any, Any, Any]:
    return part.start, part.stop, part.step


def as_place(index: Any, shape: tuple[int, ...]) -> Place | None:
    """The place that an index of integers alone names, each from the start; else None."""
    items = index if type(index) is tuple else (index,)
    if not items or len(items) > len(shape):
        return None
    for item in items:
        if type(item) is not int:
            return None
    place = tuple([i + n if i < 0 else i for i, n in zip(items, shape, strict=False)])
    for axis, (i, n) in enumerate(zip(place, shape, strict=False)):
        if not 0 <= i < n:
            raise fail(
                IndexError,
                f"index {items[axis]} is out of bounds for axis {axis} with size {n}",
            )
    return place


def get_item(cell: Any, index: Any) -> Any:
    """``cell[index]``: a view for a basic index, as in NumPy; else a copy; an entry is a scalar."""
    if type(index) is slice and type(cell._value) is Expr:
        return view_of(cell, IndexLens(index, index))
    index, basic, probe = read_index(index)
    if not basic:
        return _chosen(cell, index)
    shape = lengths_of(cell)
    place = as_place(index, shape)
    if place is None or len(place) < len(shape):
        if is_numeric(cell):
            return _of_numbers(cell, index, probe, place)
        if _names_entry(index, len(shape)):
            return functions["getitem"](current(cell), index)
        return view_of(cell, IndexLens(index, probe), None, place)
    state = cell._state
    if state is None or state.base is None:
        return read_at(cell, place)
    if state.place is not None:
        return read_at(root_of(cell), state.place + place)
    value = current(cell)
    return value[place] if isinstance(value, np.ndarray) else functions["getitem"](value, place)


def _names_entry(index: Any, ndim: int) -> bool:
    """Whether a basic index, some of it traced, names one entry."""
    items = index if type(index) is tuple else (index,)
    return len(items) == ndim and all([type(item) is int or type(item) is Expr for item in items])


def _of_numbers(cell: Any, index: Any, probe: Any, place: Place | None) -> Any:
    """A basic index into numbers; one that is traced makes an expression of them."""
    if holds_expr(index):
        if _names_entry(index, len(lengths_of(cell))):
            return functions["getitem"](lent_value(cell), index)
        make_expression(root_of(cell))
        return view_of(cell, IndexLens(index, probe))
    found = current(cell)[index]
    if not isinstance(found, np.ndarray):
        return found
    return view_of(cell, IndexLens(index, probe), None, place)


def _chosen(cell: Any, index: Any) -> Any:
    """Entries that arrays choose, copied."""
    value = current(cell)
    if isinstance(value, np.ndarray) and not holds_expr(index):
        return wrapped(cell, value[index])
    chosen = wrapped(cell, functions["getitem"](lent_value(cell), index))
    if isinstance(chosen, Reference) and len(chosen._value.shape) > 1 and not holds_expr(index):
        like = layout_of(cell)
        state_of(chosen).layout = lambda: like[index]
    return chosen


def set_item(cell: Any, index: Any, value: Any) -> None:
    """``cell[index] = value``."""
    index, basic, probe = read_index(index)
    if isinstance(value, Reference):
        state = value._state
        same = state is not None and state.base is cell and _is_same(state.lens, index)
        if same and basic:
            return  # what ``a[i] += v`` stores back has been stored already
    value = unwrapped(value)
    if not holds_expr(value) and not holds_expr(index):
        buffer = writable(cell)
        if buffer is not None:
            buffer[index] = value
            return
    if not basic:
        store_chosen(cell, index, value)
        return
    whole = lengths_of(cell)
    place = as_place(index, whole)
    shape = np.shape(layout_of(cell)[probe]) if place is None else whole[len(place) :]
    value = fitted_value(value, shape, dtype_of(cell))
    state = cell._state
    if place is not None and (state is None or state.base is None):
        store_at(cell, place, value)
    elif place is not None and state is not None and state.place is not None:
        store_at(root_of(cell), state.place + place, value)
    else:
        check_store(cell, value)
        assign(cell, functions["index_update"](expression_of(cell), index, value, "set"))


def _is_same(lens: Any, index: Any) -> bool:
    if not isinstance(lens, IndexLens):
        return False
    mine = lens.index if type(lens.index) is tuple else (lens.index,)
    theirs = index if type(index) is tuple else (index,)
    return len(mine) == len(theirs) and all(
        [
            a is b or (type(a) is type(b) is not Expr and a == b)
            for a, b in zip(mine, theirs, strict=True)
        ]
    )


def store_chosen(cell: Any, index: Any, value: Any) -> None:
    """Store into the entries that arrays of integers, or a mask, choose: the last one named wins."""
    whole = expression_of(cell)
    mask = index[0] if type(index) is tuple and len(index) == 1 else index
    if isinstance(mask, Expr) and mask.dtype.kind == "b":
        filled = _masked(whole, mask, value)
        if filled is not None:
            assign(cell, filled)
            return
    places = np.arange(whole.size).reshape(whole.shape)[_known(index)]
    value = fitted_value(value, places.shape, whole.dtype)
    flat = updated(functions["reshape"](whole, (-1,)), places, value)
    assign(cell, functions["reshape"](flat, whole.shape))


def updated(flat: Any, places: Any, value: Any) -> Any:
    """Entries with others in their places; of a place that is named several times, the last value."""
    named, first = np.unique(places.ravel()[::-1], return_index=True)
    if named.size != places.size:
        value = functions["reshape"](value, (-1,))[places.size - 1 - first]
        places = named
    return functions["index_update"](flat, places, value, "set")


def _known(index: Any) -> Any:
    """An index with the values of traced arrays in their place."""
    if type(index) is tuple:
        return tuple([_known(item) for item in index])
    return concrete(index, "the index of a store") if isinstance(index, Expr) else index


def _masked(whole: Any, mask: Any, value: Any) -> Any:
    """The array with one value where a mask holds: none need ask where that is."""
    value = converted(value, whole.dtype)
    if value.size != 1 or whole.shape[: mask.ndim] != mask.shape:
        return None
    mask = functions["reshape"](mask, mask.shape + (1,) * (whole.ndim - mask.ndim))
    return functions["where"](mask, functions["reshape"](value, ()), whole)
