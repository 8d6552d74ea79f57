"""Stores into arguments that a trace would lose: into arrays that the caller or another argument has, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.reference import Reference
from funcgrad.source import fail
from funcgrad.trace.pytree import Tree


class GivenArray(NamedTuple):
    """An array among the arguments, as the caller has it, and as the function is given it."""

    name: str
    own: Any
    cell: Reference
    value: Any
    """The value of the cell before the function runs."""


def given_arrays(
    names: Sequence[str],
    args: Sequence[Any],
    called: Sequence[Any],
    cells: Mapping[int, tuple[Tree, Sequence[Any]]],
) -> list[GivenArray]:
    """The arrays that a function is given as cells; ``cells`` has those of flattened arguments, by number."""
    found: Iterator[tuple[str, Any, Any]] = (
        item
        for i, (name, arg, cell) in enumerate(zip(names, args, called, strict=True))
        for item in (_of_tree(arg, *cells[i]) if i in cells else [(name, arg, cell)])
    )
    return [
        GivenArray(name, own, cell, cell._funcgrad_value)
        for name, own, cell in found
        if isinstance(cell, Reference)
    ]


def _of_tree(arg: Any, tree: Tree, cells: Sequence[Any]) -> list[tuple[str, Any, Any]]:
    if len(cells) == 1 and isinstance(arg, np.ndarray | Reference):
        return [(tree.paths[0], arg, cells[0])]
    return list(zip(tree.paths, tree.leaves, cells, strict=True))


def refuse_shared_stores(f: Callable[..., Any], given: Sequence[GivenArray]) -> None:
    """Raise TypeError if a function has stored into an array that is another argument, too."""
    for stored in given:
        if stored.cell._funcgrad_value is stored.value:
            continue
        for other in given:
            if other is not stored and _is_shared(stored.own, other.own):
                raise fail(
                    TypeError,
                    f"{getattr(f, '__name__', 'function')}: expected arguments that share no memory, but got "
                    f"one array as {stored.name} and as {other.name}, and the function stores into "
                    f"{stored.name}, which NumPy would see in both; give {stored.name}.copy() in one place",
                )


def refuse_stores(
    who: str, f: Callable[..., Any], cells: Sequence[Any], before: Sequence[Any]
) -> None:
    """Raise TypeError if a function has stored into one of its arguments, which had the values ``before``."""
    for cell, value in zip(cells, before, strict=True):
        if isinstance(cell, Reference) and cell._funcgrad_value is not value:
            raise fail(
                TypeError,
                f"{who}: expected a function that stores into arrays of its own, but "
                f"{getattr(f, '__name__', 'it')} stores into an argument, which its caller would not see; "
                "write y = y.copy() first, and store into that",
            )


# What NumPy may do to find out whether two views with steps have an entry in common.
_MOST_WORK = 10_000


def _is_shared(one: Any, other: Any) -> bool:
    if type(one) is np.ndarray and type(other) is np.ndarray:
        try:
            return np.shares_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:  # it is an error then, too
            return True
    return one is other and isinstance(one, Reference)
