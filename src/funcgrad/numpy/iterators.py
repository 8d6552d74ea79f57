"""NumPy's iterators over several arrays, which are written in C, for traced values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from funcgrad.arrays.reference import Reference, holds_expr
from funcgrad.numpy.creation import asarray
from funcgrad.source import fail


class broadcast:  # noqa: N801  # as NumPy names it
    """As `numpy.broadcast`: the shape of arrays that are broadcast together, and
    their entries in turn.

    >>> import funcgrad as fg
    >>> both = broadcast(fg.var("x", 3), np.ones((2, 1)))
    >>> both.shape, both.size
    ((2, 3), 6)
    """

    def __init__(self, *args: object) -> None:
        arrays = [asarray(item) for item in args]
        self.shape: tuple[int, ...] = np.broadcast_shapes(*[item.shape for item in arrays])
        self.ndim = self.nd = len(self.shape)
        self.size = int(np.prod(self.shape, dtype=int))
        self.numiter = len(arrays)
        self.index = 0
        """The number of the next tuple of entries."""
        self._rows = [np.broadcast_to(item, self.shape).reshape(-1) for item in arrays]

    def reset(self) -> None:
        """Start again from the first entries."""
        self.index = 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        if self.index >= self.size:
            raise StopIteration
        self.index += 1
        return tuple([row[self.index - 1] for row in self._rows])


def nditer(op: Any, *args: Any, **kwargs: Any) -> Any:
    """As `numpy.nditer`, of numbers: it is refused for traced values, whose
    buffers it would read.
    """
    if holds_expr(op):
        raise fail(
            TypeError,
            "nditer: expected numbers, but got traced values; write for i in np.ndindex(x.shape): x[i], or "
            "np.broadcast(x, y) for several arrays",
        )
    return np.nditer(_buffers(op), *args, **kwargs)


def _buffers(op: object) -> Any:
    """The arrays of NumPy's that hold the numbers: what the iterator stores reaches them."""
    if isinstance(op, Reference):
        return np.asarray(op)
    return [_buffers(item) for item in op] if isinstance(op, list | tuple) else op
