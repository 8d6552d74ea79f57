"""Arrays that a function reaches and did not make: its closure's and its globals'.

A body of a loop or a branch is traced once, and runs any number of times. A store into an array from outside
would happen at the trace, not at each iteration; so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr
from funcgrad.source import code_names, fail

COMPARED = 1 << 20
"""Bytes up to which an array is compared. (A copy of 1 MiB takes about 0.1 ms.)"""


class OuterArrays:
    """The arrays that a function reaches, with the numbers that they hold before it is traced."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self._held = [(name, array, _content(array)) for name, array in _outer_arrays(f)]

    def check(self, who: str) -> None:
        """Raises TypeError if the numbers of an array have changed; those of a plain array are restored."""
        for name, array, before in self._held:
            if _content(array) != before:
                if isinstance(array, np.ndarray) and array.dtype.kind != "O":
                    array[...] = np.frombuffer(before, array.dtype).reshape(array.shape)
                raise fail(
                    TypeError,
                    f"{who}: expected a function without effects, but it stores into {name!r}, an array "
                    "from outside of it; it is traced once, for all of its runs, so that the store would "
                    "happen once; return the value: as part of the carry, or as an output",
                )


def _content(array: object) -> bytes:
    value = plain_value(array)
    return bytes(value.key) if isinstance(value, Expr) else np.asarray(value).tobytes()


def _outer_arrays(f: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The arrays that f, and the functions in its closure, name; each with its name."""
    waiting: list[Any] = [f]
    met: set[int] = set()
    while waiting:
        function = waiting.pop()
        if id(function) in met:
            continue
        met.add(id(function))
        if isinstance(function, partial):
            waiting.append(function.func)
        elif isinstance(function, MethodType):
            waiting.append(function.__func__)
        if not isinstance(function, FunctionType):
            continue
        for name, value in _named_values(function):
            if isinstance(value, np.ndarray | MutableArray):
                if id(value) not in met and value.nbytes <= COMPARED:
                    met.add(id(value))
                    yield name, value
            elif isinstance(value, FunctionType | MethodType | partial):
                waiting.append(value)


def _named_values(f: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # empty as yet
            continue
    for name in sorted(code_names(f.__code__)):
        value = f.__globals__.get(name)
        if isinstance(value, np.ndarray | MutableArray):
            yield name, value
