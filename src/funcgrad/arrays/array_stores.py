"""NumPy's functions that change an array in place, for arrays that hold expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from funcgrad.arrays.array_subscripts import store_chosen
from funcgrad.arrays.reference import (
    Reference,
    assign,
    current,
    expression_of,
    layout_of,
    lend,
    unwrapped,
)
from funcgrad.arrays.selections import as_mask, is_asked_for, selection_of
from funcgrad.arrays.values import converted, fitted_value
from funcgrad.expr import Expr, concrete
from funcgrad.expr.concrete import answer_of_path
from funcgrad.expr.registry import functions
from funcgrad.source import type_error
from funcgrad.typing import ArrayLike, Index


def _values(cell: Any, values: Any) -> Any:
    """Values to store, in one axis and of the array's dtype."""
    lend(values)
    return functions["reshape"](
        _as_expr(converted(unwrapped(values), layout_of(cell).dtype)), (-1,)
    )


def _as_expr(value: object) -> Any:
    return value if isinstance(value, Expr) else np.asarray(value)


def _known(value: object, asker: str) -> Any:
    value = unwrapped(value)
    return np.asarray(concrete(value, asker) if isinstance(value, Expr) else value)


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """As `numpy.put`."""
    size = layout_of(a).size
    places = _known(ind, "put").ravel().astype(np.intp)
    if mode == "wrap":
        places = places % size
    elif mode == "clip":
        places = np.clip(places, 0, size - 1)
    values = _values(a, v)
    if places.size == 0 or values.size == 0:
        return
    chosen = values[np.arange(places.size) % values.size]
    store_flat(a, places, chosen)


def store_flat(a: Any, index: Any, value: Any) -> None:
    """Store into entries that are numbered in C order."""
    index = _known(index, "an index of flat") if not isinstance(index, slice) else index
    like = layout_of(a)
    places = np.arange(like.size)[index]
    flat = functions["reshape"](expression_of(a), (-1,))
    stored = fitted_value(value, places.shape, like.dtype)
    changed = functions["index_update"](flat, places, stored, "set")
    assign(a, functions["reshape"](changed, like.shape))


def place(arr: Any, mask: Any, vals: Any) -> None:
    """As `numpy.place`."""
    condition, chosen_already = unwrapped(mask), selection_of(vals)
    mask = as_mask(condition)
    if chosen_already is not None and chosen_already.is_by(mask, layout_of(arr).shape):
        store_where(arr, chosen_already.whole, mask)
        return
    values = _values(arr, vals)
    if _is_like(mask, arr) and values.size == 1:
        store_where(arr, functions["reshape"](values, ()), mask)
        return
    if _is_like(mask, arr) and values.size and isinstance(mask, Expr) and is_asked_for(mask):
        shape = layout_of(arr).shape
        everything: Any = np.all(condition)
        if values.size == mask.size and answer_of_path(everything):
            assign(arr, functions["reshape"](values, shape))
            return
        # The entries that the mask chooses take one value after the other.
        ranks = functions["reshape"](np.cumsum(mask), shape) - 1
        store_where(arr, functions["getitem"](values, ranks % values.size), mask)
        return
    chosen = np.flatnonzero(_known(mask, "place"))
    if chosen.size == 0:
        return
    if values.size == 0:
        raise ValueError("Cannot insert from an empty array!")
    store_flat(arr, chosen, values[np.arange(chosen.size) % values.size])


def putmask(a: Reference, mask: ArrayLike, values: ArrayLike) -> None:
    """As `numpy.putmask`."""
    given, mask = _values(a, values), as_mask(unwrapped(mask))
    if _is_like(mask, a) and given.size in (1, layout_of(a).size):
        shape = () if given.size == 1 else layout_of(a).shape
        store_where(a, functions["reshape"](given, shape), mask)
        return
    chosen = np.flatnonzero(_known(mask, "putmask"))
    if chosen.size and given.size:
        store_flat(a, chosen, given[chosen % given.size])


def _is_like(mask: Any, cell: Reference) -> bool:
    """Whether a mask is one condition for each entry of an array."""
    like = np.shape(mask) == layout_of(cell).shape
    return like and getattr(mask, "dtype", None) == np.bool_


def copyto(
    dst: Reference,
    src: ArrayLike | Reference,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "same_kind",
    where: ArrayLike = True,
) -> None:
    """As `numpy.copyto`."""
    lend(src)
    src = unwrapped(src)
    value = functions["array"](src) if isinstance(src, list | tuple) else src
    dtype = layout_of(dst).dtype
    given = getattr(value, "dtype", None)
    if given is not None and not np.can_cast(given, dtype, casting):
        raise type_error(
            f"copyto: cannot cast from {given} to {dtype} according to the rule {casting!r}",
        )
    store_where(dst, value, unwrapped(where))


def store_where(cell: Any, value: Any, where: Any) -> None:
    """Store a value into an array where a condition holds."""
    shape, dtype = layout_of(cell).shape, layout_of(cell).dtype
    value = fitted_value(value, shape, dtype)
    if where is not True:
        value = functions["where"](where, value, current(cell))
    if not isinstance(value, Expr):
        value = functions["broadcast_to"](value, shape)
    assign(cell, value)


def put_along_axis(arr: Reference, indices: Index, values: ArrayLike, axis: int | None) -> None:
    """As `numpy.put_along_axis`."""
    places = _known(indices, "put_along_axis")
    shape = layout_of(arr).shape
    if axis is None:
        store_flat(arr, places.ravel(), values)
        return
    at = axis % len(shape)
    grids = list(np.ix_(*[np.arange(n) for n in shape]))
    grids[at] = places
    lend(values)
    store_chosen(arr, tuple(grids), unwrapped(values))


def fill_diagonal(a: Reference, val: ArrayLike, wrap: bool = False) -> None:
    """As `numpy.fill_diagonal`."""
    like = layout_of(a)
    marked = np.zeros(like.shape, bool)
    np.fill_diagonal(marked, True, wrap)  # NumPy's own errors
    places = np.flatnonzero(marked)
    values = _values(a, val)
    if places.size and values.size:
        store_flat(a, places, values[np.arange(places.size) % values.size])


IN_PLACE: Mapping[Any, Callable[..., None]] = MappingProxyType(
    {
        np.put: put,
        np.place: place,
        np.putmask: putmask,
        np.copyto: copyto,
        np.put_along_axis: put_along_axis,
        np.fill_diagonal: fill_diagonal,
    }
)
"""What changes an array in place, in the place of each of these functions of NumPy."""


def update_at(ufunc: np.ufunc, a: Reference, indices: Index, values: tuple[Any, ...]) -> None:
    """As `numpy.ufunc.at`: an entry that is named several times is changed as often, in order."""
    like = layout_of(a)
    if ufunc is np.add and values:
        lend(values)
        added = converted(unwrapped(values[0]), like.dtype)
        index = _current_index(indices)
        assign(a, functions["index_update"](expression_of(a), index, added, "add"))
        return
    index = _known_index(indices)
    numbers = np.arange(like.size).reshape(like.shape)
    places = numbers[index]
    lend(values)
    operands = [
        functions["reshape"](
            _as_expr(functions["broadcast_to"](_as_expr(unwrapped(v)), places.shape)), (-1,)
        )
        for v in values
    ]
    flat = places.ravel()
    for chosen in _rounds(flat):
        old = functions["reshape"](current(a), (-1,))[flat[chosen]]
        new = ufunc(old, *[operand[chosen] for operand in operands])
        if not np.can_cast(new.dtype, like.dtype, "same_kind"):
            raise type_error(
                f"{ufunc.__name__}.at: cannot cast from {new.dtype} to {like.dtype} by the rule 'same_kind'",
            )
        store_flat(a, flat[chosen], new)


def _rounds(places: Any) -> list[Any]:
    """The positions of places, so that none is named twice in a round: the first time, the second, …"""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    counts = np.diff(np.concatenate([starts, [places.size]])) if places.size else np.zeros(0, int)
    times = np.arange(places.size) - np.repeat(starts, counts) if places.size else places
    return [np.sort(order[times == k]) for k in range(int(counts.max(initial=0)))]


def _current_index(index: object) -> Any:
    index = unwrapped(index)
    return tuple(map(_current_index, index)) if isinstance(index, tuple) else index


def _known_index(index: object) -> Any:
    index = unwrapped(index)
    if isinstance(index, tuple):
        return tuple([_known_index(item) for item in index])
    return concrete(index, "the index of a store") if isinstance(index, Expr) else index
