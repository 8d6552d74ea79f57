"""Refused stores into aliased arguments: the trace would lose them for the caller or another argument."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.lens import Lens
from funcgrad.arrays.reference import Reference, plain_value, root_of
from funcgrad.expr import Expr
from funcgrad.expr.concrete import known_value
from funcgrad.graph import CONSTANT
from funcgrad.ops.base.array_capture import is_unchanged
from funcgrad.ops.base.op import example, leaf
from funcgrad.source import adopted_type_error, type_error
from funcgrad.trace.outer_arrays import reached
from funcgrad.trace.pytree import Tree
from funcgrad.typing import Array


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
    outside = [pair for pair in reached(f) if isinstance(pair[1], np.ndarray | Expr | Reference)]
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
                raise adopted_type_error(
                    f"{who}: expected arguments that share no memory, but got one array as {name} and as "
                    f"{other}, and the function stores into {name}, which NumPy would see in both; give "
                    f"{copy} in one place",
                )
        for other, array in outside:
            if _is_shared(own, array):
                raise adopted_type_error(
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
    for expr in _bases(value) if type(value) is Expr else ():
        if expr.op is leaf:
            (_, scope), (_, place), *_ = expr.params
            if scope is not None:
                scope.stored.add(place)
            return


def refuse_stores(who: str, f: Callable[..., Any], given: Iterable[tuple[Any, Any]]) -> None:
    """Raise TypeError if a function has stored into an argument; each is given with its value before."""
    if any([is_stored_into(cell, value) for cell, value in given]):
        raise store_into_argument(who, f)


def store_into_argument(who: str, f: Callable[..., Any]) -> Any:
    """The error of a function that stores into an argument, which a transform keeps as it is."""
    return adopted_type_error(
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
    one, other = plain_value(one), plain_value(other)
    if type(one) is np.ndarray and type(other) is np.ndarray:
        try:
            return np.shares_memory(one, other, max_work=_MOST_WORK)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:  # it is an error then, too
            return True
    if type(one) is Expr and type(other) is Expr:
        return bool(one.shape and other.shape) and _have_memory_in_common(one, other)
    if type(one) is Expr or type(other) is Expr:
        expr, array = (one, other) if type(one) is Expr else (other, one)
        held = _memory_of(expr) if expr.shape and type(array) is np.ndarray else None
        return held is not None and _is_shared(held, array)
    # Other libraries' arrays: each stands for one array of the caller's.
    return one is other and bool(getattr(one, "shape", ()))


# -- what expressions stand for ----------------------------------------------------------------------
def _bases(x: Expr) -> Iterator[Expr]:
    """The expression, and those whose memory NumPy's array in its place may share, from the nearest on."""
    while True:
        yield x
        if not x.args or not (x.op is example or x.op.columns.may_alias):
            return
        x = x.args[0]


def _looked_at(views: Sequence[Expr], array: Array) -> Any:
    """NumPy's array in the place of the last of several views, each of the one before it, the first of an
    array; the array of a batch in the place of an example, and None if an index has no known value."""
    for view in views:
        if view.op is example:
            return array
        rest = [known_value(arg) for arg in view.args[1:]]
        if any([value is None for value in rest]):
            return None
        array = view.op.run(array, *rest, **dict(view.params))
    return array


def _have_memory_in_common(one: Expr, other: Expr) -> bool:
    """Whether NumPy's arrays in the place of two expressions share memory; also where that is not known."""
    mine, others = list(_bases(one)), list(_bases(other))
    places = {id(x): k for k, x in enumerate(others)}
    common = next((k for k, x in enumerate(mine) if id(x) in places), None)
    if common is None:
        return False
    base = mine[common]
    memory = np.empty(base.shape, base.dtype)
    seen = [
        _looked_at(views[:count][::-1], memory)
        for views, count in ((mine, common), (others, places[id(base)]))
    ]
    return any([array is None for array in seen]) or _is_shared(*seen)


def _memory_of(x: Expr) -> Any:
    """The caller's array, or the part of it, for which an expression stands; None if it stands for none."""
    views = list(_bases(x))
    root = views[-1]
    place = next((k for k, base in enumerate(views) if base.op is leaf), None)
    if place is None or root.op is not CONSTANT:
        return None
    scopes = [base.params[0][1] for base in views if base.op is leaf]
    pairs = [pair for scope in scopes for pair in getattr(scope, "given", ())]
    held = next((array for array, copy in pairs if copy is root), root.params[0][1].array)
    seen = _looked_at(views[-2::-1], held)
    return held if seen is None else seen


def refuse_changed(
    f: Callable[..., Any], leaves: Iterable[Expr], given: Sequence[tuple[Any, Expr]]
) -> None:
    """Raise TypeError: an array for which a leaf stands has other numbers after the run than before it."""
    changed = {id(copy) for array, copy in given if not is_unchanged(array, copy)}
    name = next(x.label for x in leaves if id(x.args[0]) in changed) or "x"
    raise type_error(
        f"{getattr(f, '__name__', 'function')}: expected arguments that keep their numbers, but {name} has "
        "other ones after the run: the function stores into an array that shares memory with it, another "
        f"argument or one that it captures, which NumPy would see in both; give {name}.copy()",
    )


def _view_of(memory: Any, cell: Reference) -> Any:
    """The view of an array that a cell is of its base."""
    lenses: list[Lens] = []
    while cell._funcgrad_state is not None and cell._funcgrad_state.base is not None:
        if cell._funcgrad_state.lens is not None:
            lenses.append(cell._funcgrad_state.lens)
        cell = cell._funcgrad_state.base
    return reduce(lambda array, lens: lens.look(array), reversed(lenses), memory)
