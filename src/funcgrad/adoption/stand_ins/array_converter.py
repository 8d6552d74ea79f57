"""``_array_converter``, which NumPy's functions convert their arguments with, for arrays of traced values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from funcgrad.arrays.subclassed_array import SubclassedArray
from funcgrad.numpy.creation import asanyarray
from funcgrad.typing import ArrayLike


class ArrayConverter:
    """The arguments of a function as arrays, and their common dtype as they were given."""

    def __init__(self, *given: ArrayLike) -> None:
        self._given = given
        self._arrays = tuple([asanyarray(item) for item in given])
        self.scalar_input = tuple([not np.ndim(item) for item in given])

    def __getitem__(self, i: int) -> Any:
        return self._arrays[i]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def as_arrays(
        self,
        subok: bool = True,
        pyscalars: Literal["convert", "preserve", "convert_if_no_array"] = "convert_if_no_array",
    ) -> tuple[Any, ...]:
        """The arrays; Python's numbers as they are if ``pyscalars`` says so."""
        weak = [type(item) in (int, float, complex) for item in self._given]
        if pyscalars == "convert" or (pyscalars == "convert_if_no_array" and all(weak)):
            return self._arrays
        return tuple(
            [
                item if is_weak else made
                for item, is_weak, made in zip(self._given, weak, self._arrays, strict=True)
            ]
        )

    def result_type(self, extra_dtype: Any = None, ensure_inexact: bool = False) -> np.dtype[Any]:
        """The common dtype, to which Python's numbers give way."""
        weak = (int, float, complex)
        pairs = zip(self._given, self._arrays, strict=True)
        kinds = [item if type(item) in weak else made.dtype for item, made in pairs]
        further = [] if extra_dtype is None else [extra_dtype]
        return np.result_type(*kinds, *further, *([0.0] if ensure_inexact else []))

    def wrap(self, array: Any, /, to_scalar: bool | None = None) -> Any:
        """The result; a number for an array of no axes if all arguments were numbers."""
        wanted = all(self.scalar_input) if to_scalar is None else to_scalar
        for own in self._arrays:
            if isinstance(own, SubclassedArray):
                return own.__array_wrap__(array)
        return array[()] if wanted and not array.ndim else array
