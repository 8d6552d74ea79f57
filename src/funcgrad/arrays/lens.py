"""Lenses: how a view reads its entries out of its base, and how a store through it changes the base.

NumPy itself says what is a view: a function that is applied to an array of the same strides gives an
array that shares its memory, or a copy. A view's lens follows from the places of its entries in the base,
which the same function gives, applied to the numbers of the entries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from funcgrad.expr.registry import functions, operation_table
from funcgrad.typing import Array


class Lens(Protocol):
    """A view of a base: laws ``get(put(x, v)) = v`` and ``put(x, get(x)) = x``."""

    def look(self, array: np.ndarray[Any, Any]) -> Any:
        """NumPy's own view of an array of numbers."""

    def lay(self, like: np.ndarray[Any, Any]) -> Any:
        """The view's layout, from the base's."""

    def get(self, x: Any) -> Any:
        """The view's expression, from the base's."""

    def put(self, x: object, v: object) -> Any:
        """The base's expression after the view's became v."""


class IndexLens:
    """The entries that a basic index selects."""

    __slots__ = ("index", "probe")

    def __init__(self, index: Any, probe: Any) -> None:
        self.index = index
        self.probe = probe
        """The index with numbers in the place of traced integers."""

    def lay(self, like: np.ndarray[Any, Any]) -> Any:
        return like[self.probe]

    def look(self, array: np.ndarray[Any, Any]) -> Any:
        return array[self.index]

    def get(self, x: Any) -> Any:
        return functions["getitem"](x, self.index)

    def put(self, x: object, v: object) -> Any:
        return functions["index_update"](x, self.index, v, "set")


class FunctionLens:
    """The view that a function of NumPy's makes, such as ``a.T`` or ``np.reshape(a, shape)``."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        shape: tuple[int, ...],
        like: np.ndarray[Any, Any] | None = None,
    ) -> None:
        self.look = self.lay = function
        self._shape = shape
        self._like = like
        """An array laid out as the base is, where that is not in C order."""

    @cached_property
    def _numbers(self) -> Array:
        """The places of the base's entries in C order, laid out as the base is."""
        size = int(np.prod(self._shape, dtype=int))
        found = np.arange(size).reshape(self._shape)
        if self._like is None:
            return found
        laid_out = _with_steps_of(self._like, found.dtype)
        laid_out[...] = found
        return laid_out

    @cached_property
    def _places(self) -> Array:
        """The places of the view's entries among those of the base, numbered in C order."""
        return np.asarray(self.look(self._numbers))

    @cached_property
    def _axes(self) -> tuple[int, ...] | None:
        """The order of the base's axes in the view, where that is all that differs."""
        places, ndim = self._places, len(self._shape)
        size = int(np.prod(self._shape, dtype=int))
        if places.ndim != ndim or size in (0, 1) or places.size != size or 1 in self._shape:
            return None
        if not np.may_share_memory(places, self._numbers):
            return None  # of a copy, strides do not tell where the entries come from
        steps = self._numbers.strides
        if places.flat[0] != 0:
            return None
        if sorted(places.strides) != sorted(steps) or len(set(steps)) != ndim:
            return None
        axes = tuple([steps.index(step) for step in places.strides])
        same = all([places.shape[i] == self._shape[axis] for i, axis in enumerate(axes)])
        return axes if same else None

    @cached_property
    def _steps(self) -> tuple[int, ...] | None:
        """The steps between the places along each axis, where the view has some entries several times."""
        places, numbers = self._places, self._numbers
        if self._like is not None or places.size <= numbers.size:
            return None
        if not np.may_share_memory(places, numbers) or min(places.strides) < 0:
            return None
        return tuple([step // places.itemsize for step in places.strides])

    @cached_property
    def _in_order(self) -> bool:
        places = self._places
        size = int(np.prod(self._shape, dtype=int))
        return places.size == size and bool(np.array_equal(places.ravel(), np.arange(size)))

    def get(self, x: Any) -> Any:
        if self._in_order:
            return functions["reshape"](x, self._places.shape)
        if self._axes is not None:
            return functions["transpose"](x, self._axes)
        flat = functions["reshape"](x, (-1,))
        if self._steps is not None:
            start = int(self._places.flat[0])
            return functions["strided_view"](flat, self._places.shape, self._steps, start)
        return functions["getitem"](flat, self._places)

    def put(self, x: object, v: object) -> Any:
        if self._in_order:
            return functions["reshape"](v, self._shape)
        if self._axes is not None:
            return functions["transpose"](v, tuple(int(i) for i in np.argsort(self._axes)))
        flat = functions["reshape"](x, (-1,))
        changed = functions["index_update"](flat, self._places, v, "set")
        return functions["reshape"](changed, self._shape)


def _with_steps_of(like: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A new array whose strides are those of another one, negative ones and gaps included."""
    steps = [stride // like.itemsize for stride in like.strides]
    repeated = [step == 0 and n > 1 for step, n in zip(steps, like.shape, strict=True)]
    if any(repeated) or any([stride % like.itemsize for stride in like.strides]) or not like.size:
        return np.empty_like(like, dtype)
    ends = [step * (n - 1) for step, n in zip(steps, like.shape, strict=True)]
    first = -sum([min(end, 0) for end in ends])
    buffer = np.empty(1 + sum([abs(end) for end in ends]), dtype)
    strides = [step * dtype.itemsize for step in steps]
    return np.lib.stride_tricks.as_strided(buffer[first:], like.shape, strides)


class PartLens(NamedTuple):
    """The real or the imaginary part of complex numbers."""

    imaginary: bool

    def look(self, array: np.ndarray[Any, Any]) -> Any:
        return array.imag if self.imaginary else array.real

    def lay(self, like: np.ndarray[Any, Any]) -> Any:
        return self.look(like)

    def get(self, x: Any) -> Any:
        return functions["imag" if self.imaginary else "real"](x)

    def put(self, x: Any, v: Any) -> Any:
        real, imag = (functions["real"](x), v) if self.imaginary else (v, functions["imag"](x))
        return _complex_of(real, imag, x.dtype)


def _complex_of(real: object, imag: object, dtype: np.dtype[Any]) -> Any:
    made: Any = operation_table.ops["make_complex"]
    return functions["astype"](made(real, imag), dtype)


class PairsLens(NamedTuple):
    """Pairs of real numbers as complex ones, or complex numbers as such pairs, along the last axis."""

    dtype: np.dtype[Any]

    def look(self, array: np.ndarray[Any, Any]) -> Any:
        return array.view(self.dtype)

    def lay(self, like: np.ndarray[Any, Any]) -> Any:
        return self.look(like)

    def get(self, x: Any) -> Any:
        return _joined_pairs(x, self.dtype) if self.dtype.kind == "c" else _split_pairs(x)

    def put(self, x: Any, v: Any) -> Any:
        return _split_pairs(v) if self.dtype.kind == "c" else _joined_pairs(v, x.dtype)


def _joined_pairs(x: Any, dtype: np.dtype[Any]) -> Any:
    pairs = functions["reshape"](x, (*x.shape[:-1], x.shape[-1] // 2, 2))
    real, imag = [functions["getitem"](pairs, (..., k)) for k in (0, 1)]
    return _complex_of(real, imag, dtype)


def _split_pairs(x: Any) -> Any:
    parts = functions["stack"]([functions["real"](x), functions["imag"](x)], axis=-1)
    return functions["reshape"](parts, (*x.shape[:-1], 2 * x.shape[-1]))


def are_pairs(one: np.dtype[Any], other: np.dtype[Any]) -> bool:
    """Whether numbers of one of two dtypes are pairs of those of the other."""
    real, whole = (one, other) if one.kind == "f" else (other, one)
    return real.kind == "f" and whole.kind == "c" and 2 * real.itemsize == whole.itemsize
