"""``_array_converter``, which NumPy's functions convert their arguments with, for arrays of traced values."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.arrays.subclassed_array import SubclassedArray
from funcgrad.numpy.creation import asanyarray
from funcgrad.typing import ArrayLike


class ArrayConverter:
    """The arguments of a function as arrays: what NumPy's functions that are adopted ask of them."""

    def __init__(self, *given: ArrayLike) -> None:
        self._arrays = tuple([asanyarray(item) for item in given])
        self._are_numbers = not any([np.ndim(item) for item in given])

    def __getitem__(self, i: int) -> Any:
        return self._arrays[i]

    def as_arrays(self, subok: bool = True) -> tuple[Any, ...]:
        """The arrays."""
        return self._arrays

    def wrap(self, array: Any, /, to_scalar: bool | None = None) -> Any:
        """The result; a number for an array of no axes if all arguments were numbers."""
        wanted = self._are_numbers if to_scalar is None else to_scalar
        for own in self._arrays:
            if isinstance(own, SubclassedArray):
                return own.__array_wrap__(array)
        return array[()] if wanted and not array.ndim else array
