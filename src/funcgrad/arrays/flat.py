"""``a.flat``: the entries of an array that can be written, in C order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcgrad.arrays.array_stores import store_flat
from funcgrad.arrays.array_subscripts import get_item
from funcgrad.arrays.reference import current, holds_expr, layout_of, unwrapped, writable
from funcgrad.expr.registry import functions
from funcgrad.typing import DTypeLike


def _compared(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison of the entries, as of an array."""
    return lambda self, other: compare(self.copy(), other)


class FlatEntries:
    """The entries in one axis: reads give copies, and stores go into the array."""

    __slots__ = ("_next", "base")
    _funcgrad_flat = True
    __eq__ = _compared(operator.eq)
    __ne__ = _compared(operator.ne)
    __lt__ = _compared(operator.lt)
    __le__ = _compared(operator.le)
    __gt__ = _compared(operator.gt)
    __ge__ = _compared(operator.ge)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: Any) -> None:
        self.base = base
        self._next = 0

    def __len__(self) -> int:
        return int(layout_of(self.base).size)

    def __iter__(self) -> Iterator[Any]:
        shape = layout_of(self.base).shape
        return iter([get_item(self.base, place) for place in np.ndindex(shape)])

    def __next__(self) -> Any:
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self[self._next - 1]

    def copy(self) -> Any:
        """The entries in an array of one axis."""
        return self.base.flatten()

    def __array__(self, dtype: DTypeLike | None = None, copy: object = None) -> Any:
        # NumPy's own code asks, which takes no traced values; `array_held_by` asks for a copy.
        return self.copy().__array__(dtype)

    def __getitem__(self, index: Any) -> Any:
        found = self.copy()[index]
        return found.copy() if isinstance(found, type(self.base)) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        index, value = unwrapped(index), unwrapped(value)
        if not holds_expr(index) and not holds_expr(value):
            buffer = writable(self.base)
            if buffer is not None:
                buffer.flat[index] = value
                return
        places = np.arange(layout_of(self.base).size)[_numbers(index)]
        values = functions["reshape"](value, (-1,)) if holds_expr(value) else np.ravel(value)
        if np.ndim(places) == 0:
            store_flat(self.base, np.atleast_1d(places), values[:1])
        elif values.size and places.size:
            # As NumPy does it: the values are repeated.
            store_flat(self.base, places, values[np.arange(places.size) % values.size])


def _numbers(index: Any) -> Any:
    return np.asarray(current(index)) if hasattr(index, "_state") else index
