"""Aliases for annotations: what rules and NumPy functions take and return."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
"""An array, or an expression in its place: rules are plain NumPy, which dispatches on expressions."""

Axis: TypeAlias = int | None
"""One axis, or None for all entries."""

Axes: TypeAlias = int | tuple[int, ...] | None
"""An axis, several, or None for all."""


class FunctionLibrary(Protocol):
    """A library whose functions are read as attributes: ``jax.numpy``, ``torch``, a context of mpmath."""

    def __getattr__(self, name: str, /) -> Any: ...
