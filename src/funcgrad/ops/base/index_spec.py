"""Indices, read: a static *spec* (integers, slices, new axes) and the integer arrays in it.

Boolean arrays become the integers of their true entries.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from funcgrad.arrays.reference import unwrapped
from funcgrad.expr import Expr, concrete
from funcgrad.expr.concrete import answer_of_path
from funcgrad.graph import CONSTANT, ArrayType
from funcgrad.source import fail, type_error

Spec: TypeAlias = tuple[Any, ...]
"""One entry a position: an int, ``("slice", start, stop, step)``, ``"new"``, ``"..."`` or ``"array"``."""


def restore(spec: Spec, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index that NumPy takes, from a spec and its arrays."""
    rest = iter(arrays)
    special = {"new": None, "...": Ellipsis}
    return tuple(
        slice(*item[1:])
        if isinstance(item, tuple)
        else next(rest)
        if item == "array"
        else special.get(item, item)
        for item in spec
    )


WHOLE = ("slice", None, None, None)
"""The item of a spec that takes all of an axis."""


def items_of_axes(spec: Spec, x: Expr) -> list[Any] | None:
    """The integer or slice of each axis; None if there are new axes, arrays or a length that is not known."""
    if "new" in spec or "array" in spec or -1 in x.shape:
        return None
    rest = [WHOLE] * (x.ndim + ("..." in spec) - len(spec))
    at = spec.index("...") if "..." in spec else len(spec)
    return [*spec[:at], *rest, *spec[at + 1 :]]


def is_reshape(spec: Spec, before: ArrayType, after: ArrayType) -> bool:
    """Whether an index only drops or adds axes of length 1, so that it and its transpose are reshapes.

    >>> is_reshape(("new", 0), ArrayType((1, 3), float), ArrayType((1, 3), float))
    True
    """
    forward = all([not isinstance(item, tuple) or item[3] in (None, 1) for item in spec])
    return before.size == after.size > 0 and "array" not in spec and forward


def parse_index(index: object, x: Expr) -> tuple[Expr, Spec, list[Any]]:
    """An index of x as it is written: the spec and the arrays in it, and the operand that they index.

    That operand is x, with a new axis of length 1 for each boolean scalar: True selects its one entry, and
    False none.
    """
    spec: list[Any] = []
    arrays: list[Any] = []
    items = index if isinstance(index, tuple) else (index,)
    if not _PLAIN_ITEMS.issuperset(map(type, items)):
        items = unwrapped(items)
    for place, item in enumerate(items):
        kind = type(item)  # `isinstance` is slow where it is false of an expression
        if kind is int:
            spec.append(item)
        elif item is None:
            spec.append("new")
        elif item is Ellipsis:
            spec.append("...")
        elif kind is slice:
            bounds = (item.start, item.stop, item.step)
            spec.append(("slice", *[None if b is None else operator.index(b) for b in bounds]))
        elif _is_scalar_boolean(item):
            return parse_index(*_without_scalar_booleans(items, x))
        elif _is_float(item):
            raise _bad_index(item)
        elif kind is not Expr and isinstance(item, _INTEGERS):
            spec.append(int(item))
        elif type(getattr(kind, "__index__", None)) is FunctionType and not _is_array(item):
            spec.append(operator.index(item))  # of a user's class
        else:
            found = as_indices(item)
            if len(found) > 1 or _is_boolean(item):
                _check_boolean(place, x, items)
            spec.extend("array" for _ in found)
            arrays.extend(found)
    return x, tuple(spec), arrays


_PLAIN_ITEMS = frozenset((int, slice, type(None), type(...), np.ndarray, Expr))
"""Types of items that are no arrays that can be written, and hold none."""


def _is_scalar_boolean(item: object) -> bool:
    if isinstance(item, _ARRAYS):
        return item.dtype.kind == "b" and item.shape == ()
    return isinstance(item, _BOOLEANS)


_ARRAYS, _BOOLEANS = (Expr, np.ndarray), (bool, np.bool_)


_INTEGERS = (int, np.integer)


def _without_scalar_booleans(items: tuple[Any, ...], x: Expr) -> tuple[tuple[Any, ...], Expr]:
    """The index with an array in the place of each boolean scalar, and x with the axes for these arrays."""
    widened: list[Any] = []
    replaced: list[Any] = []
    for item in items:
        if _is_scalar_boolean(item):
            widened.append(None)
            known = _truth_values(item) if isinstance(item, Expr) else item
            replaced.append(np.arange(int(known)))
            continue
        replaced.append(item)
        if item is Ellipsis:
            widened.append(item)
        else:
            widened.extend([slice(None)] * _axes_taken(item))
    return tuple(replaced), x[tuple(widened)]


def _is_float(item: npt.ArrayLike) -> bool:
    dtype = getattr(item, "dtype", None)
    return isinstance(item, float) if dtype is None else dtype.kind not in "iub"


def _is_array(item: object) -> bool:
    return isinstance(item, _ARRAYS) or hasattr(type(item), "__array__")


def _is_boolean(item: object) -> bool:
    return (item.dtype if isinstance(item, Expr) else np.asarray(item).dtype).kind == "b"


def _check_boolean(place: int, x: Expr, index: tuple[Any, ...]) -> None:
    """Refuse a boolean index, the one at that place, that is not as long as the axes that it stands for."""
    before, item = 0, index[place]
    if place:
        taken = [_axes_taken(other) for other in index]
        before = sum(taken[:place])
        if any(other is Ellipsis for other in index[:place]):
            before += x.ndim - sum(taken)
    shape = item.shape if isinstance(item, _ARRAYS) else np.shape(item)
    if x.shape[before : before + len(shape)] != shape:
        raise fail(
            IndexError,
            f"getitem: expected a boolean index of the shape of the axes that it chooses from, but "
            f"got shape {shape} at axis {before} of {x.type}",
        )


def _axes_taken(item: Any) -> int:
    if item is None or item is Ellipsis or _is_scalar_boolean(item):
        return 0
    if isinstance(item, (slice, *_INTEGERS)):
        return 1
    return int(np.ndim(item)) if _is_boolean(item) else 1


def _bad_index(item: npt.ArrayLike) -> Any:
    kind = getattr(item, "dtype", type(item))
    is_field = getattr(kind, "kind", "") == "U" or kind is str
    instead = (
        "write an array for each field in the place of a structured one, which holds no traced values"
        if is_field
        else "convert an index with .astype(int)"
    )
    name = "a name" if is_field else getattr(kind, "__name__", kind)
    return type_error(
        f"getitem: expected integers, slices, None, ... or boolean arrays, but got {name}; {instead}",
    )


def as_indices(item: npt.ArrayLike) -> list[Any]:
    """The integer index arrays that an array-like index stands for."""
    if not isinstance(item, Expr):
        item = np.asarray(item)
        if item.size == 0 and item.dtype.kind == "f":
            item = item.astype(int)
    if item.dtype.kind == "b":
        # Which entries are true decides the shape of the result, so the values are concretized.
        chosen = _truth_values(item) if isinstance(item, Expr) else item
        return list(np.nonzero(chosen))
    if item.dtype.kind not in "iu":
        raise _bad_index(item)
    return [item]


def _truth_values(mask: Expr) -> Any:
    """The entries of a mask; the path of a run may answer for a single one."""
    answer = answer_of_path(mask)
    return concrete(mask, "a boolean index") if answer is None else np.full(mask.shape, answer)


@lru_cache(maxsize=4096)
def _basic_shape(shape: tuple[int, ...], spec: Spec) -> tuple[int, ...]:
    return tuple(_probe(shape)[restore(spec, ())].shape)


@lru_cache(maxsize=1024)
def _probe(shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """An array of a shape that takes one byte, to ask NumPy what an index selects."""
    return np.broadcast_to(np.zeros((), bool), shape)


def _are_within(places: npt.NDArray[Any], length: int) -> bool:
    return places.dtype.kind in "iu" and -length <= places.min() and places.max() < length


def shape_of(x: Expr, spec: Spec, arrays: tuple[Expr, ...]) -> tuple[int, ...]:
    """The shape of what an index selects."""
    try:
        if not arrays:
            return _basic_shape(x.shape, spec)
        known = [
            a.params[0][1].array if a.op is CONSTANT else np.zeros(a.shape, a.dtype) for a in arrays
        ]
        whole = spec == ("array",) and x.ndim > 0
        if whole and known[0].size > x.size and _are_within(known[0], x.shape[0]):
            return (*known[0].shape, *x.shape[1:])
        # A stack of an open loop has an axis of unknown length: examples of a batch are chosen before it.
        first = x.shape.index(-1) if -1 in x.shape else x.ndim
        probed = _probe(x.shape[:first])[restore(spec, tuple(known))]
        return (*probed.shape, *x.shape[first:])
    except IndexError as error:
        raise fail(IndexError, f"getitem: {error} (of {x.type})") from None


# -- as text -------------------------------------------------------------------------------------
def _item_text(item: Any, rest: Any) -> str:
    if isinstance(item, tuple):
        start, stop, step = ("" if b is None else str(b) for b in item[1:])
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return next(rest) if item == "array" else {"new": "None"}.get(item, str(item))


def index_text(spec: Spec, arrays: Sequence[str]) -> str:
    """The index as it is written in formulas."""
    rest = iter(arrays)
    return f"[{', '.join(_item_text(item, rest) for item in spec) or '()'}]"


def index_source(spec: Spec, arrays: Sequence[str]) -> str:
    """The index as Python source, for use as an argument."""
    rest = iter(arrays)
    words = {"new": "None", "...": "..."}
    items = []
    for item in spec:
        if isinstance(item, tuple):
            items.append(f"slice({', '.join(map(str, item[1:]))})")
        else:
            items.append(next(rest) if item == "array" else words.get(item, str(item)))
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
