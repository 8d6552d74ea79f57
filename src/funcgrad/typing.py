"""Aliases for annotations: what rules and NumPy functions take and return."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""An array, or an expression in its place: rules are plain NumPy, which dispatches on expressions."""

ArrayLike: TypeAlias = npt.ArrayLike
"""What NumPy makes an array of: an array, a number, nested lists."""

DTypeLike: TypeAlias = npt.DTypeLike
"""What NumPy makes a dtype of: a dtype, a class, a name."""

Axis: TypeAlias = int | None
"""One axis, or None for all entries."""

Axes: TypeAlias = int | tuple[int, ...] | None
"""An axis, several, or None for all."""


Index: TypeAlias = int | slice | EllipsisType | Array | Sequence[Any] | None
"""What stands in brackets behind an array: of a basic or an advanced index, an array or lists of them."""


class FunctionLibrary(Protocol):
    """A library whose functions are read as attributes: ``jax.numpy``, ``torch``, a context of mpmath."""

    def __getattr__(self, name: str, /) -> Any: ...


class LibraryArray(Protocol):
    """An array of another library, such as torch or JAX: its attributes and operators are that library's."""

    def __getattr__(self, name: str, /) -> Any: ...
    def __getitem__(self, index: Index, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __add__(self, other: object, /) -> Any: ...
    def __sub__(self, other: object, /) -> Any: ...
    def __mul__(self, other: object, /) -> Any: ...
    def __truediv__(self, other: object, /) -> Any: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __lt__(self, other: object, /) -> Any: ...
    def __ge__(self, other: object, /) -> Any: ...
