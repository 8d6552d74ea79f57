"""``a[i]`` and ``a[i] = v`` of arrays that can be written: views, copies, entries, and stores into them."""

from __future__ import annotations

from functools import reduce
from operator import index as to_integer
from typing import Any

import numpy as np

from funcgrad.arrays.lens import IndexLens
from funcgrad.arrays.reference import (
    Reference,
    assign,
    check_store,
    current,
    expression_of,
    holds_expr,
    is_exported,
    is_numeric,
    is_outside,
    layout_of,
    lengths_of,
    lent_value,
    make_expression,
    plain_value,
    read_only,
    root_of,
    state_of,
    unwrapped,
    view_of,
    wrapped,
    writable,
)
from funcgrad.arrays.selections import (
    Selection,
    mask_of_places,
    selected,
    selection_of,
    stored_by_mask,
)
from funcgrad.arrays.values import array_held_by, converted, number_held_by, unlabeled
from funcgrad.expr import Expr
from funcgrad.expr.registry import functions

_PLAIN = (int, slice, type(None), type(...))


def read_index(index: object) -> tuple[Any, bool, Any]:
    """An index without cells; whether it is basic, so that it gives a view; and the same index of numbers."""
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


def _as_mask(cell: Reference, index: object) -> Any:
    """The mask in the place of what `numpy.nonzero` gives of it."""
    first = index[0] if type(index) is tuple and index else index
    if selection_of(first) is None:
        return index
    mask = mask_of_places(index, lengths_of(cell))
    return index if mask is None else mask


def get_item(cell: Any, index: Any) -> Any:
    """``cell[index]``: a view for a basic index, as in NumPy; else a copy; an entry is a scalar."""
    if has_traced_bounds(index):
        part = _moving_view(cell, index)
        if part is not None:
            return part
    if type(index) is slice and type(cell._funcgrad_value) is Expr:
        return view_of(cell, IndexLens(index, index))
    given, index = index, _as_mask(cell, index)
    if given is not index and is_numeric(cell):
        return selected(cell, index, given)
    index, basic, probe = read_index(index)
    if not basic:
        return _chosen(cell, index)
    if is_numeric(cell):
        return _of_numbers(cell, index, probe)
    if _names_entry(index, len(lengths_of(cell))):
        return functions["getitem"](current(cell), index)
    return view_of(cell, IndexLens(index, probe))


def has_traced_bounds(index: object) -> bool:
    """Whether an index has a slice with an expression for a bound."""
    items = index if type(index) is tuple else (index,)
    return any(
        [type(i) is slice and (type(i.start) is Expr or type(i.stop) is Expr) for i in items]
    )


def _moving_view(cell: Any, index: Any, is_stored: bool = False) -> Any:
    """A view for an index with slices whose bounds vary, but not their lengths; None for another one."""
    found = functions["moving_slices"](index, lengths_of(cell))
    if found is None:
        return None
    rest, moves = found
    part = get_item(cell, rest)
    root = root_of(part)
    if is_numeric(part):
        outside = is_outside(part, [move.places for move in moves])
        if outside and is_stored:
            for move in moves:
                check_store(part, move.places)
        if outside or is_exported(root._funcgrad_state):
            chosen = reduce(
                functions["getitem"], [move.subscript for move in moves], lent_value(part)
            )
            return None if is_stored else read_only(part, chosen)
        make_expression(root)
    for move in moves:
        like = (*move.subscript[:-1], move.like)
        part = view_of(part, IndexLens(move.subscript, like))
    return part


def _names_entry(index: object, ndim: int) -> bool:
    """Whether a basic index, some of it traced, names one entry."""
    items = index if type(index) is tuple else (index,)
    return len(items) == ndim and all([type(item) is int or type(item) is Expr for item in items])


def _of_numbers(cell: Reference, index: object, probe: object) -> Any:
    """A basic index into numbers; one that is traced makes an expression of them."""
    if holds_expr(index):
        if _names_entry(index, len(lengths_of(cell))):
            return functions["getitem"](lent_value(cell), index)
        root = root_of(cell)
        parts = index if type(index) is tuple else (index,)
        if is_exported(root._funcgrad_state) or is_outside(cell, parts):
            return read_only(cell, functions["getitem"](lent_value(cell), index))
        make_expression(root)
        return view_of(cell, IndexLens(index, probe))
    found = current(cell)[index]
    if not isinstance(found, np.ndarray):
        return found
    return view_of(cell, IndexLens(index, probe))


def _chosen(cell: Any, index: Any) -> Any:
    """Entries that arrays choose, copied."""
    if holds_expr(index):
        found = selected(cell, index)
        if found is not None:
            return found
    value = current(cell)
    if isinstance(value, np.ndarray) and not holds_expr(index):
        return wrapped(cell, value[index])
    chosen = wrapped(cell, functions["getitem"](lent_value(cell), index))
    if (
        isinstance(chosen, Reference)
        and len(chosen._funcgrad_value.shape) > 1
        and not holds_expr(index)
    ):
        like = layout_of(cell)
        state_of(chosen).layout = lambda: like[index]
    return chosen


def set_item(cell: Any, index: Any, value: Any) -> None:
    """``cell[index] = value``."""
    if has_traced_bounds(index):
        part = _moving_view(cell, index, is_stored=True)
        if part is not None:
            set_item(part, ..., value)
            return
    index, basic, _ = read_index(_as_mask(cell, index))
    if isinstance(value, Reference):
        state = value._funcgrad_state
        same = state is not None and state.base is cell and _is_same(state.lens, index)
        if same and basic:
            return  # what ``a[i] += v`` stores back has been stored already
    selection = selection_of(value)
    if selection is not None and store_selection(cell, index, selection):
        return
    value = unwrapped(number_held_by(array_held_by(unlabeled(value))))
    if not holds_expr(value) and not holds_expr(index):
        buffer = writable(cell)
        if buffer is not None:
            buffer[index] = value
            return
    store_chosen(cell, index, value)


def _is_same(lens: object, index: object) -> bool:
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


def store_selection(cell: Reference, index: object, selection: Selection) -> bool:
    """Store entries through the mask that chose them; False if the index is another one."""
    whole = expression_of(cell)
    filled = stored_by_mask(whole, index, selection, whole.dtype)
    if filled is None:
        return False
    assign(cell, filled)
    return True


def store_chosen(cell: Any, index: Any, value: Any) -> None:
    """Store into the entries that an index chooses: of an entry that is named twice, the last value."""
    check_store(cell, value)
    whole = expression_of(cell)
    filled = stored_by_mask(whole, index, value, whole.dtype)
    if filled is None:
        filled = functions["index_update"](whole, index, converted(value, whole.dtype), "set")
    assign(cell, filled)
