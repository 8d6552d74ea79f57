"""Stores into arguments that a trace would lose: into arrays that the caller or another argument has, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.lens import Lens
from funcgrad.arrays.reference import Reference, root_of
from funcgrad.expr import Expr
from funcgrad.ops.base.op import example, leaf
from funcgrad.source import fail
from funcgrad.trace.outer_arrays import reached
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
        for item in (_with_cells(arg, *cells[i]) if i in cells else [(name, arg, cell)])
    )
    return [
        GivenArray(name, own, cell, cell._funcgrad_value)
        for name, own, cell in found
        if isinstance(cell, Reference)
    ]


def named_arrays(arg: Any, tree: Tree) -> list[tuple[str, Any]]:
    """The leaves of a flattened argument with their names; an array as the caller has it."""
    if len(tree.leaves) == 1 and isinstance(arg, np.ndarray | Reference):
        return [(tree.paths[0], arg)]
    return list(zip(tree.paths, tree.leaves, strict=True))


def _with_cells(arg: Any, tree: Tree, cells: Sequence[Any]) -> Iterator[tuple[str, Any, Any]]:
    for (name, own), cell in zip(named_arrays(arg, tree), cells, strict=True):
        yield name, own, cell


def is_stored_into(cell: Any, before: Any) -> bool:
    """Whether a value that a function is given is an array into which it has stored."""
    return isinstance(cell, Reference) and cell._funcgrad_value is not before


def refuse_shared_stores(f: Callable[..., Any], given: Sequence[GivenArray]) -> None:
    """Raise TypeError if a function has stored into an array that is another argument, too, or is captured.

    The traces whose leaves stand for such arrays are told.
    """
    stored = [i for i, item in enumerate(given) if is_stored_into(item.cell, item.value)]
    if stored:
        for i in stored:
            _tell_trace(given[i].value)
        refuse_stored(f, [(item.name, item.own) for item in given], stored)


def refuse_stored(
    f: Callable[..., Any], given: Sequence[tuple[str, Any]], stored: Iterable[int]
) -> None:
    """`refuse_shared_memory` for the arguments with these numbers, beside the arrays that f reaches."""
    outside = [pair for pair in reached(f) if isinstance(pair[1], np.ndarray)]
    refuse_shared_memory(getattr(f, "__name__", "function"), given, stored, outside)


def refuse_shared_memory(
    who: str,
    given: Sequence[tuple[str, Any]],
    stored: Iterable[int],
    outside: Sequence[tuple[str, Any]],
) -> None:
    """Raise TypeError if a stored argument shares memory with another one, or with an array from outside.

    ``given`` has the arguments with their names, and ``stored`` the numbers of those that are stored into.
    """
    for i in sorted(stored):
        name, own = given[i]
        # The copy of an expression is the expression.
        copy = f"{name} + 0" if type(own) is Expr else f"{name}.copy()"
        for other, array in [*given[:i], *given[i + 1 :]]:
            if _is_shared(own, array):
                raise fail(
                    TypeError,
                    f"{who}: expected arguments that share no memory, but got one array as {name} and as "
                    f"{other}, and the function stores into {name}, which NumPy would see in both; give "
                    f"{copy} in one place",
                )
        for other, array in outside:
            if _is_shared(own, array):
                raise fail(
                    TypeError,
                    f"{who}: expected an argument that shares no memory with what the function captures, but "
                    f"got one array as {name} and as {other}, and the function stores into {name}, which "
                    f"NumPy would see in both; give {copy}",
                )
        _tell_trace(own)


def _tell_trace(value: Any) -> None:
    """Have the trace whose leaf a value is note that the array that it stands for is stored into."""
    while isinstance(value, Reference):
        state = value._funcgrad_state
        base = None if state is None else state.base
        value = value._funcgrad_value if base is None else base
    while type(value) is Expr and value.op is example:
        (value,) = value.args
    if type(value) is Expr and value.op is leaf:
        (_, scope), (_, place), *_ = value.params
        if scope is not None:
            scope.stored.add(place)


def refuse_stores(
    who: str, f: Callable[..., Any], cells: Sequence[Any], before: Sequence[Any]
) -> None:
    """Raise TypeError if a function has stored into one of its arguments, which had the values ``before``."""
    for cell, value in zip(cells, before, strict=True):
        if is_stored_into(cell, value):
            raise fail(
                TypeError,
                f"{who}: expected a function that stores into arrays of its own, but "
                f"{getattr(f, '__name__', 'it')} stores into an argument, which its caller would not see; "
                "write y = y.copy() first, and store into that",
            )


# What NumPy may do to find out whether two views with steps have an entry in common.
_MOST_WORK = 10_000


def _is_shared(one: Any, other: Any) -> bool:
    if isinstance(one, Reference) and isinstance(other, Reference) and one is not other:
        root = root_of(one)
        if root_of(other) is not root:
            return False
        memory = np.empty(root.shape, root.dtype)
        one, other = _view_of(memory, one), _view_of(memory, other)
    if type(one) is np.ndarray and type(other) is np.ndarray:
        try:
            return np.shares_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:  # it is an error then, too
            return True
    # Expressions and other libraries' arrays: each stands for one array of the caller's.
    return one is other and bool(getattr(one, "shape", ()))


def _view_of(memory: Any, cell: Reference) -> Any:
    """The view of an array that a cell is of its base."""
    lenses: list[Lens] = []
    while cell._funcgrad_state is not None and cell._funcgrad_state.base is not None:
        if cell._funcgrad_state.lens is not None:
            lenses.append(cell._funcgrad_state.lens)
        cell = cell._funcgrad_state.base
    return reduce(lambda array, lens: lens.look(array), reversed(lenses), memory)
