"""Entries that a mask of unknown values chooses: ``a[mask]`` whose length is not asked for.

How many entries a traced mask chooses is a question to Python. A store back through the same mask,
``a[mask] = f(a[mask])``, does not depend on the answer: it is ``where(mask, f(a), a)``. So ``a[mask]`` is
kept in two forms until one is needed: *whole*, of all entries, and *chosen*, which asks for the mask's
values. Operations on entries keep both; anything else takes the chosen ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.reference import (
    COPIED,
    Reference,
    check_store,
    current,
    lent_value,
    sibling,
    state_of,
    unwrapped,
)
from funcgrad.arrays.values import converted
from funcgrad.expr import Expr, constant_of, same
from funcgrad.expr.concrete import has_known_value
from funcgrad.expr.registry import functions
from funcgrad.graph import Constant


class Selection:
    """Entries that a mask chooses, in both forms; each is computed when it is first read."""

    def __init__(
        self,
        mask: Expr,
        after: int,
        whole: Callable[[], Any],
        chosen: Callable[[], Any],
        is_plain: bool = False,
    ) -> None:
        self.mask = mask
        self.is_plain = is_plain
        """Whether the chosen entries are plain numbers, as places are."""
        self.after = after
        """The number of axes behind those of the mask."""
        self.axis: int | None = None
        """Of what `numpy.nonzero` gives, the axis whose places these are."""
        self._whole = whole
        self._chosen = chosen

    @cached_property
    def whole(self) -> Any:
        return self._whole()

    @cached_property
    def chosen(self) -> Any:
        return self._chosen()

    @property
    def ndim(self) -> int:
        """The number of axes of the chosen entries."""
        return int(np.ndim(self.whole)) - self.mask.ndim + 1

    def fits(self, other: Selection) -> bool:
        """Whether the entries of both stand side by side."""
        return self.after == other.after and same(self.mask, other.mask)

    def is_by(self, mask: object, shape: tuple[int, ...]) -> bool:
        """Whether the entries are those that a mask chooses of an array of a shape."""
        return (
            is_mask(mask)
            and self.after == 0
            and same(self.mask, mask)
            and np.shape(self.whole) == shape
        )


class MaskedIndex(NamedTuple):
    """An index with one mask: the part of the array that the mask chooses from."""

    mask: Expr
    before: int
    """The number of axes before those of the mask."""
    part: Any
    """The index of the part, without the mask; None for the whole array."""

    def of(self, x: Expr) -> Any:
        return x if self.part is None else functions["getitem"](x, self.part)

    def put(self, x: Expr, value: Expr) -> Any:
        return value if self.part is None else functions["index_update"](x, self.part, value, "set")

    def spread(self, ndim: int) -> Any:
        """The mask, shaped to be broadcast with a part of so many axes."""
        after = ndim - self.before - self.mask.ndim
        shape = (1,) * self.before + self.mask.shape + (1,) * after
        return functions["reshape"](self.mask, shape)


def masked_index(index: object, shape: tuple[int, ...]) -> MaskedIndex | None:
    """An index as read by `read_index` with one traced mask, beside slices or before integers; None for any
    other, and for a mask of another shape than its axes."""
    items: list[Any] = list(index) if type(index) is tuple else [index]
    places = [k for k, item in enumerate(items) if is_mask(item)]
    if len(places) != 1 or any([item is None or isinstance(item, bool) for item in items]):
        return None
    mask = items[places[0]]
    rest = len(shape) - mask.ndim - sum([not is_mask(i) and i is not Ellipsis for i in items])
    for place in [k for k, item in enumerate(items) if item is Ellipsis]:
        items[place : place + 1] = [slice(None)] * rest
    place = next(k for k, item in enumerate(items) if is_mask(item))
    sliced = [type(item) is slice for item in items]
    before = sum(sliced[:place])
    integers = len(items) - 1 - sum(sliced)
    if rest < 0 or (before and integers) or shape[place : place + mask.ndim] != mask.shape:
        return None
    items[place : place + 1] = [slice(None)] * mask.ndim
    plain = all([type(item) is slice and item == slice(None) for item in items])
    return MaskedIndex(mask, before, None if plain else tuple(items))


def is_mask(item: object) -> bool:
    """Whether an item of an index is a traced mask."""
    return type(item) is Expr and item.type.dtype.kind == "b" and bool(item.type.shape)


def as_mask(condition: Any) -> Any:
    """A traced condition as truth values, since its entries may be numbers, as in ``1 & (x > 0)``."""
    is_traced = isinstance(condition, Expr) and condition.dtype != np.bool_
    return condition != 0 if is_traced else condition


# -- reading -------------------------------------------------------------------------------------
def selected(cell: Reference, index: object, places: object = None) -> Any:
    """``cell[index]`` for a mask whose values would be asked for; None for any other index.

    Of an array of numbers at the ``places`` where the mask holds, the chosen entries are plain numbers.
    """
    value = current(cell)
    masked = masked_index(index, value.shape)
    if masked is None or not is_asked_for(masked.mask):
        return None
    numbers = value
    if isinstance(value, np.ndarray):
        numbers = value.copy() if value.nbytes <= COPIED else lent_value(cell)
        value = constant_of(Constant(numbers, captured=True))

    def chosen() -> Any:
        if places is None:
            return functions["getitem"](value, index)
        return numbers[unwrapped(places)]

    after = _ndim_of_part(masked, value.ndim) - masked.before - masked.mask.ndim
    made = Selection(masked.mask, after, lambda: masked.of(value), chosen, places is not None)
    return cell_of_selection(cell, made)


def is_asked_for(mask: Expr) -> bool:
    """Whether a mask's values are no part of the program: of one example of many, or recorded by jit."""
    return (mask.traced is not None and mask.traced.records) or not has_known_value(mask)


def _ndim_of_part(masked: MaskedIndex, ndim: int) -> int:
    return ndim if masked.part is None else ndim - sum([type(i) is not slice for i in masked.part])


def cell_of_selection(cell: Reference, selection: Selection) -> Any:
    """An array like another one, with the entries of a selection."""
    made = sibling(cell, None)
    state_of(made).selection = selection
    return made


def selection_of(item: object) -> Selection | None:
    """The selection that an array is; None of any other array, and of one whose entries were stored to."""
    if not isinstance(item, Reference) or item._funcgrad_state is None:
        return None
    found: Selection | None = item._funcgrad_state.selection
    return found


def mask_of_places(index: object, shape: tuple[int, ...]) -> Expr | None:
    """The mask that chooses the same entries of an array as a result of `numpy.nonzero`; None of any other
    index, and of a mask of another shape."""
    items = index if type(index) is tuple else (index,)
    found = [selection_of(item) for item in items]
    first = found[0] if found else None
    if first is None or len(items) != first.mask.ndim or shape[: len(items)] != first.mask.shape:
        return None
    for k, part in enumerate(found):
        if part is None or part.axis != k or not part.fits(first):
            return None
    return first.mask


# -- operations ----------------------------------------------------------------------------------
def on_selections(function: Callable[..., Any], operands: Sequence[Any]) -> Any:
    """An entrywise function of selections by one mask, and of numbers; None where its operands are others."""
    made = _combined(function, operands)
    return None if made is None else cell_of_selection(next(filter(selection_of, operands)), made)


def update_selection(
    cell: Reference, function: Callable[..., Any], operands: Sequence[Any]
) -> bool:
    """Put an entrywise function of selections into one of them; False if it needs the mask's values."""
    selection = selection_of(cell)
    made = _combined(function, operands)
    if selection is None or made is None or state_of(cell).viewed or not selection.fits(made):
        return False
    like, value = selection.whole, made.whole
    if value.shape != like.shape or value.dtype != like.dtype:
        return False
    check_store(cell, value)
    cell._funcgrad_value = None
    state_of(cell).selection = made
    return True


def _combined(function: Callable[..., Any], operands: Sequence[Any]) -> Selection | None:
    parts = [selection_of(item) or _beside(item) for item in operands]
    found = [part for part in parts if isinstance(part, Selection)]
    first = found[0]
    for part in parts:
        if isinstance(part, Selection):
            if not first.fits(part):
                return None
        elif part is None or np.ndim(part) > first.after + (np.size(part) == 1):
            return None

    def on(form: str) -> Callable[[], Any]:
        return lambda: function(
            *[getattr(part, form) if isinstance(part, Selection) else part for part in parts]
        )

    plain = all([not isinstance(part, Expr) and getattr(part, "is_plain", True) for part in parts])
    return Selection(first.mask, first.after, on("whole"), on("chosen"), plain)


def _beside(item: object) -> Any:
    """An operand beside selections as it is now: numbers, expressions and arrays; None for anything else."""
    value = current(item) if isinstance(item, Reference) else item
    if isinstance(value, np.ndarray):
        return value.copy()
    return value if isinstance(value, Expr | int | float | complex | np.number | np.bool_) else None


# -- storing -------------------------------------------------------------------------------------
def stored_by_mask(whole: Expr, index: object, value: Any, dtype: np.dtype[Any]) -> Any:
    """An array with a value stored where a mask holds, without the mask's values; None where they are needed.

    The value is a selection by the same mask, or one that is the same for all entries of the mask.
    """
    masked = masked_index(index, whole.shape)
    if masked is None:
        return None
    part = masked.of(whole)
    after = part.ndim - masked.before - masked.mask.ndim
    if isinstance(value, Selection):
        if value.after != after or not same(value.mask, masked.mask):
            return None
        value = converted(value.whole, dtype)
        if np.broadcast_shapes(value.shape, part.shape) != part.shape:
            return None
    else:
        value = converted(value, dtype)
        if value.ndim > after and value.size != 1:
            return None
        if value.ndim > after:
            value = functions["reshape"](value, ())
    return masked.put(whole, functions["where"](masked.spread(part.ndim), value, part))
