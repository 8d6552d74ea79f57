"""Arrays of objects that take traced values: NumPy's own would ask an array that is stored for numbers."""

from __future__ import annotations

from collections.abc import Sequence
from sys import _getframe
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.arrays.reference import Reference, holds_expr, unwrapped
from funcgrad.expr import Expr
from funcgrad.expr.registry import functions
from funcgrad.typing import DTypeLike

OVER_OBJECTS = "_funcgrad_over_objects"
"""The attribute of an adopted subclass of NumPy's array by which it makes the class of arrays of objects."""


class ObjectArray(np.ndarray[Any, Any]):
    """An array of objects, as adopted code makes it."""

    __array_priority__ = -1.0  # below a subclass, as NumPy's own array is

    def __setitem__(self, index: Any, value: object) -> None:
        target = np.ndarray.__getitem__(self, index) if _is_traced(value) else None
        if isinstance(target, ObjectArray):
            value = np.broadcast_to(array_of_objects(value, target.ndim), target.shape)
        super().__setitem__(index, value)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if type(self) not in (ObjectArray, HeldObjects):
            return super().__array_wrap__(array, context, return_scalar)
        if not array.ndim:
            return array[()]
        return array.view(ObjectArray if array.dtype.kind == "O" else np.ndarray)

    def __repr__(self) -> str:
        own = type(self) in (ObjectArray, HeldObjects)
        return repr(np.ndarray.view(self, np.ndarray)) if own else super().__repr__()

    def view(self, *of: Any, **named: Any) -> Any:
        """As NumPy's, also of an adopted class."""
        return super().view(
            *map(_over_objects, of), **{k: _over_objects(v) for k, v in named.items()}
        )

    def astype(self, dtype: DTypeLike, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """As NumPy's, of traced entries, too."""
        entries = [] if np.dtype(dtype).kind == "O" else [number_of(item) for item in self.flat]
        if not holds_expr(entries):
            found = super().astype(dtype, *args, **kwargs)
            is_plain = found.dtype.kind != "O" and type(found) in (ObjectArray, HeldObjects)
            return np.ndarray.view(found, np.ndarray) if is_plain else found
        made = functions["reshape"](functions["array"](unwrapped(entries)), self.shape)
        return functions["as_in_adopted_code"](functions["astype"](made, dtype), _getframe(1))

    def mean(  # type: ignore[override]
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        **named: bool,
    ) -> Any:
        """As NumPy's, which would ask a mean that is traced for a number."""
        if out is not None or "where" in named or not _is_traced([*self.flat]):
            return super().mean(axis, dtype, out, **named)
        own: Any = self if dtype is None else self.astype(dtype)
        total = own.sum(axis, **named)
        return total / (self.size / np.size(total))

    def var(  # type: ignore[override]
        self,
        axis: int | tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        ddof: float = 0,
        **named: bool,
    ) -> Any:
        """As NumPy's, which would ask a mean that is traced for a number."""
        if out is not None or "where" in named or not _is_traced([*self.flat]):
            return super().var(axis, dtype, out, ddof, **named)
        own: Any = self if dtype is None else self.astype(dtype)
        apart = own - own.mean(axis, keepdims=True)
        total = (apart * np.conjugate(apart)).sum(axis, **named)
        return total / (self.size / np.size(total) - ddof)

    def __reduce__(self) -> Any:
        own = vars(type(self)).get("__funcgrad_original__", np.ndarray)
        return np.ndarray.view(self, own).__reduce__()


def number_of(item: Any) -> Any:
    """The number of an object of a user's class with ``__float__``; any other value as it is."""
    if isinstance(item, Reference | Expr):
        return item
    of_class = getattr(type(item), "__float__", None)
    return item.__float__() if isinstance(of_class, FunctionType) else item


def _over_objects(kind: Any) -> Any:
    """A class of arrays, over arrays of objects."""
    if kind is np.ndarray:
        return ObjectArray
    return getattr(kind, OVER_OBJECTS)() if hasattr(kind, OVER_OBJECTS) else kind


class HeldObjects(ObjectArray):
    """An array of objects of code that is not adopted: what adopted code reads of it is redirected."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return found if isinstance(found, np.ndarray) else functions["redirect"](found)

    def item(self, *index: Any) -> Any:
        """As NumPy's."""
        return functions["redirect"](super().item(*index))

    def tolist(self) -> Any:
        """As NumPy's."""
        return functions["redirect"](super().tolist())

    def __array_function__(self, *given: Any) -> Any:
        found = super().__array_function__(*given)
        if type(found) is np.ndarray:
            return found.view(HeldObjects) if found.dtype.kind == "O" else found
        return found if isinstance(found, np.ndarray) else functions["redirect"](found)


def is_of_objects(value: object) -> bool:
    """Whether a value is an array of objects with operators: an operation with it is one of each entry."""
    if not isinstance(value, np.ndarray) or value.dtype != object:
        return False
    return not any([item is None or isinstance(item, str) for item in value.flat])


def holds_objects(targets: Sequence[object]) -> bool:
    """Whether the arrays that a ufunc writes into, of which None is a new one, are all arrays of objects."""
    given = [item for item in targets if item is not None]
    is_each = [isinstance(item, np.ndarray) and item.dtype == object for item in given]
    return bool(given) and all(is_each)


def holds_numbers(array: np.ndarray[Any, Any]) -> bool:
    """Whether the entries of an array of objects are numbers, traced ones among them.

    >>> holds_numbers(np.array([1, 2.5], object)), holds_numbers(np.array([1, None]))
    (True, False)
    """
    kinds = (int, float, complex, np.number, Reference, Expr)
    return all(
        [
            isinstance(item, kinds)
            and not getattr(item, "ndim", 0)
            and not isinstance(item, np.timedelta64)  # a number to NumPy's classes
            for item in array.flat
        ]
    )


def as_objects(value: object) -> Any:
    """A traced value as an array of objects, each of which is an entry; anything else as it is."""
    return array_of_objects(value) if _is_traced(value) else value


def _is_traced(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any([_is_traced(item) for item in value])
    return isinstance(value, Reference | Expr)


class _Entry:
    """An entry that NumPy takes for no sequence."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


def array_of_objects(value: object, most: int = 32) -> ObjectArray:
    """As ``np.array(value, dtype=object)``, of so many axes at most: arrays of different shapes are entries.

    >>> array_of_objects([1.0, "a"]).tolist(), array_of_objects([[1, 2], [3]]).tolist()
    ([1.0, 'a'], [[1, 2], [3]])
    """
    whole: dict[int, object] = {}
    made = np.asarray(_entries(value, most, whole), dtype=object)
    found = np.empty(made.shape, object).view(ObjectArray)
    for place in np.ndindex(made.shape):
        entry: Any = made[place]
        if isinstance(entry, _Entry):
            entry = entry.value
        elif id(entry) in whole:
            entry = whole[id(entry)]
        np.ndarray.__setitem__(found, place, entry)
    return found


def _entries(item: object, most: int, whole: dict[int, object]) -> Any:
    """Nested lists of entries; arrays and lists that NumPy may leave whole are noted."""
    made: Any
    whole_item: Any = item
    if most and isinstance(item, list | tuple):
        made = [_entries(part, most - 1, whole) for part in item]
    elif isinstance(item, np.ndarray) and item.ndim <= most:
        return item
    elif isinstance(item, Reference | Expr) and 0 < whole_item.ndim <= most:
        made = np.empty(whole_item.shape, object)
        for place in np.ndindex(made.shape):
            made[place] = _Entry(whole_item[place])
    else:
        return _Entry(item)
    whole[id(made)] = item
    return made
