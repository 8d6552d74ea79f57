"""NumPy's view functions on arrays that can be written: NumPy runs on an array of the same layout."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.arrays.lens import FunctionLens, Lens, PartLens
from funcgrad.arrays.reference import (
    Reference,
    current,
    in_c_order,
    layout_of,
    note_export,
    root_of,
    sibling,
    state_of,
    view_of,
    with_each_replaced,
    wrapped,
)
from funcgrad.expr import Expr
from funcgrad.expr.scope_order import next_in_order
from funcgrad.typing import DTypeLike

VIEW_FUNCTIONS: frozenset[Any] = frozenset(
    {
        np.array_split,
        np.atleast_1d,
        np.atleast_2d,
        np.atleast_3d,
        np.broadcast_arrays,
        np.broadcast_to,
        np.diagonal,
        np.dsplit,
        np.expand_dims,
        np.flip,
        np.fliplr,
        np.flipud,
        np.hsplit,
        np.imag,
        np.lib.stride_tricks.sliding_window_view,
        np.linalg.diagonal,
        np.linalg.matrix_transpose,
        np.matrix_transpose,
        np.moveaxis,
        np.ravel,
        np.real,
        np.reshape,
        np.rollaxis,
        np.rot90,
        np.split,
        np.squeeze,
        np.swapaxes,
        np.transpose,
        np.unstack,
        np.vsplit,
    }
)
"""Functions that move entries and, where they can, give a view."""

_BY_STRIDES = frozenset({np.ravel, np.reshape})
"""Those whose answer depends on the layout of their operand."""


def viewed(
    function: Any, call: Callable[[Sequence[Any]], Any], operands: Sequence[Reference]
) -> Any:
    """The result of a view function on arrays; ``call`` is the function of the arrays alone."""
    likes = [layout_of(cell) for cell in operands]
    found = call(likes)
    several = isinstance(found, list | tuple)
    if function in _BY_STRIDES:
        for cell in operands:
            _rely(cell)

    def part(k: int) -> Any:
        like = found[k] if several else found
        place = _shared(like, likes, k)
        base = operands[place]
        if like is likes[place]:
            return base

        def look(array: object) -> Any:
            given = [*likes[:place], array, *likes[place + 1 :]]
            made = call(given)
            return made[k] if several else made

        lens = _lens(function, look, base)
        if not isinstance(like, np.ndarray) or not np.may_share_memory(like, likes[place]):
            value = current(base)
            made = wrapped(base, look(value) if isinstance(value, np.ndarray) else lens.get(value))
            if (
                isinstance(value, Expr)
                and isinstance(like, np.ndarray)
                and not like.flags.c_contiguous
            ):
                state_of(made).layout = like
            return made
        repeated = [step == 0 and n > 1 for step, n in zip(like.strides, like.shape, strict=True)]
        if any(repeated) or like.size > likes[place].size:  # as of windows that overlap
            like.flags.writeable = False  # a store would reach several entries
        return view_of(base, lens, like)

    return type(found)([part(k) for k in range(len(found))]) if several else part(0)


def as_cell(cell: Reference, item: object) -> Any:
    """An operand as a cell like another: numbers that are stored reach an array of NumPy's."""
    if isinstance(item, Reference):
        return item
    made: Any = sibling(cell, item if isinstance(item, Expr) else np.asarray(item))
    if made._funcgrad_value is item and not isinstance(item, Expr):
        note_export(made, weakref.ref(item))
    return made


def _lens(function: Any, look: Callable[[Any], Any], base: Reference) -> Lens:
    like = layout_of(base)
    # The imaginary part of real numbers is zero: it has none of their entries.
    if function is np.imag or (function is np.real and like.dtype.kind == "c"):
        return PartLens(function is np.imag)
    return FunctionLens(look, like.shape, None if like.flags.c_contiguous else like)


def _shared(like: object, likes: Sequence[np.ndarray[Any, Any]], k: int) -> int:
    """The operand of which a result is a view, or whose entries it copies."""
    first = k if k < len(likes) else 0
    places: list[int] = [first, *range(len(likes))]
    if isinstance(like, np.ndarray):
        for place in places:
            if like is likes[place] or np.may_share_memory(like, likes[place]):
                return place
    return first


def _rely(cell: Reference) -> None:
    root = root_of(cell)
    if root._funcgrad_state is not None and root._funcgrad_state.guessed:
        root._funcgrad_state.relied = True


def made_of(
    cell: Reference,
    value: object,
    operands: Sequence[Any],
    again: Callable[[], object] | None = None,
) -> Any:
    """A new expression as a cell, if it is an array, laid out as by `lay_out`."""
    if type(value) is not Expr:
        return wrapped(cell, value)
    shape = value.type.shape
    if not shape:
        return value
    made: Any = object.__new__(type(cell))
    made._funcgrad_value = value
    made._funcgrad_state = None
    made._funcgrad_birth = next_in_order()
    if len(shape) > 1:
        lay_out(made, operands, again)
    return made


def lay_out(
    made: Reference, operands: Sequence[Any], again: Callable[[], object] | None = None
) -> None:
    """Have a new array laid out as NumPy's result would be: as the operands of an entrywise operation.

    ``again`` calls any other function of NumPy's once more, on `zeros_in_place_of`.
    """
    if sum(n > 1 for n in made._funcgrad_value.shape) < 2:
        return
    if all([_is_in_order(item) for item in operands]):
        return
    value = made._funcgrad_value
    if again is None:
        like: Any = _like_operands(operands, value.shape, value.dtype)
    else:
        try:
            with np.errstate(all="ignore"):
                like = again()
        except Exception:  # of values that the function refuses
            like = None
    if not isinstance(like, np.ndarray) or like.shape != value.shape:
        state_of(made).guessed = True
    elif not like.flags.c_contiguous:
        state_of(made).layout = like


def zeros_in_place_of(tree: Any) -> Any:
    """Zeros that are laid out as the arrays among arguments.

    Raises TypeError for a function among them.
    """
    if isinstance(tree, Reference):
        return np.zeros_like(layout_of(tree))
    if isinstance(tree, Expr):
        return np.zeros(tree.shape, tree.dtype)
    if isinstance(tree, tuple | list | dict):
        return with_each_replaced(zeros_in_place_of, tree)
    if callable(tree) and not isinstance(tree, type | np.dtype):
        raise TypeError("a function would be called once more")
    return tree


def _is_in_order(item: object) -> bool:
    if isinstance(item, Reference):
        return in_c_order(item)
    if isinstance(item, np.ndarray):
        return item.flags.c_contiguous
    if isinstance(item, list | tuple):
        return all([_is_in_order(part) for part in item])
    return True


def _like_operands(
    operands: Sequence[Any], shape: object, dtype: DTypeLike | None
) -> np.ndarray[Any, Any]:
    likes = [
        layout_of(item) if isinstance(item, Reference) else np.asarray(zeros_in_place_of(item))
        for item in operands
    ]
    made = np.nditer(
        [*likes, None], flags=["zerosize_ok", "refs_ok"], op_dtypes=[None] * len(likes) + [dtype]
    )
    like: np.ndarray[Any, Any] = made.operands[-1]
    return like if like.shape == shape else np.empty(shape, dtype)
