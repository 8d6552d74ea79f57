"""Trees of containers: taken apart into leaves, and put together again with the same types.

Lists, tuples, named tuples and dicts are `optree`'s, other containers `tree_nodes`'. Leaves that are
no numbers are static (`static`): they keep their places, and transforms do not see them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.float_subclass import TracedFloat
from funcgrad.arrays.reference import Reference, plain_value
from funcgrad.arrays.subclassed_array import SubclassedArray
from funcgrad.expr import Expr
from funcgrad.source import type_error
from funcgrad.trace.masked_trees import is_masked
from funcgrad.trace.static import is_static_value, static
from funcgrad.trace.tree_nodes import NAMESPACE, flatten_function, own_children


class Tree(NamedTuple):
    """A tree taken apart: its leaves, and how to put others in their place."""

    leaves: list[Any]
    rebuild: Callable[[Sequence[Any]], Any]
    paths: list[str]

    def without(self, fixed: Callable[[Any], bool]) -> Tree:
        """The tree with the leaves for which ``fixed`` holds where they are, and the others as its leaves."""
        stays = [fixed(leaf) for leaf in self.leaves]
        if True not in stays:
            return self

        def rebuild(leaves: Sequence[Any]) -> Any:
            rest = iter(leaves)
            pairs = zip(self.leaves, stays, strict=True)
            return self.rebuild([leaf if kept else next(rest) for leaf, kept in pairs])

        moving = [i for i, kept in enumerate(stays) if not kept]
        return Tree([self.leaves[i] for i in moving], rebuild, [self.paths[i] for i in moving])


_first: Callable[[Sequence[Any]], Any] = itemgetter(0)


def flatten(tree: Any, name: str = "") -> Tree:
    """A tree's leaves, in order, with the names of their places: dicts by sorted keys.

    Static leaves are left out. Every field of a dataclass that holds numbers is a part of its own,
    whatever ``__post_init__`` computed it from.

    >>> flatten({"b": [1.0, 2.0], "a": "text"}).leaves
    [1.0, 2.0]
    """
    if _is_plain(tree):
        return Tree([tree], _first, [name])
    if _is_cell(tree):
        return Tree([plain_value(tree)], _first, [name])
    kind = type(tree)
    if (kind is list or kind is tuple) and _EXACTLY.issuperset(map(type, tree)):
        return Tree(list(tree), kind, [f"{name}_{i}" for i in range(len(tree))])
    found = flatten_with_static(tree, name)
    if _EXACTLY.issuperset(map(type, found.leaves)):
        return found
    return found.without(is_static_value)


def flatten_with_static(tree: Any, name: str = "") -> Tree:
    """A tree's leaves with the static ones among them, as they are part of a signature.

    >>> flatten_with_static({"b": [1.0, 2.0], "a": "text"}).leaves
    ['text', 1.0, 2.0]
    """
    if _is_plain(tree):
        return Tree([tree], _first, [name])
    try:
        return _taken_apart(tree, name)
    except RecursionError:
        refuse_cycle(tree)
        raise


def _taken_apart(tree: Any, name: str) -> Tree:
    if _is_plain(tree):
        return Tree([tree], _first, [name])
    if _is_cell(tree):
        return Tree([plain_value(tree)], _first, [name])
    items: Sequence[Any]
    put: Callable[[Sequence[Any]], Any]
    kind = type(tree)
    if kind is tuple or kind is list or (kind is dict and not tree):  # most, without the library
        items, put = tuple(tree), kind
        names = [f"{name}_{i}" for i in range(len(items))]
    elif (parts := own_children(tree)) is None:
        import optree

        paths, items, spec = optree.tree_flatten_with_path(
            tree, is_leaf=_is_own, namespace=NAMESPACE
        )
        if len(items) == 1 and items[0] is tree:
            return Tree([tree], _first, [name])
        names = [name + "".join(f"_{step}" for step in path) for path in paths]
        put = spec.unflatten
    else:
        items, put = parts.children, parts.put
        names = [f"{name}_{label}" if label else name for label in parts.labels]
    if _EXACTLY.issuperset(map(type, items)):
        return Tree(list(items), put, names)
    inner = [_taken_apart(item, label) for item, label in zip(items, names, strict=True)]

    def rebuild(leaves: Sequence[Any]) -> Any:
        rest = iter(leaves)
        return put([part.rebuild([next(rest) for _ in part.leaves]) for part in inner])

    return Tree(
        [leaf for part in inner for leaf in part.leaves],
        rebuild,
        [path for part in inner for path in part.paths],
    )


def refuse_cycle(tree: object) -> None:
    """Raise TypeError if a container contains itself: such a tree has no end."""
    above: dict[int, object] = {}
    done: dict[int, object] = {}
    waiting = [(tree, False)]
    while waiting:
        item, is_left = waiting.pop()
        if is_left:
            done[id(item)] = above.pop(id(item))
        elif id(item) in above:
            raise type_error(
                f"expected a tree of numbers and arrays, but got {type(item).__name__}, which contains "
                "itself; hand over the numbers in it alone, or capture it in the function",
            ) from None
        elif id(item) not in done and (parts := _inside(item)):
            above[id(item)] = item
            waiting += [(item, True), *[(part, False) for part in parts]]


def _inside(item: object) -> Sequence[Any]:
    if isinstance(item, dict):
        return list(item.values())
    if isinstance(item, list | tuple):
        return item
    own = None if _is_plain(item) else own_children(item)
    return () if own is None else own.children


def is_flag(leaf: object) -> bool:
    """Whether a leaf is a bool, or an array or an expression of bools, which no derivative is taken in.

    >>> is_flag(True), is_flag(1.0)
    (True, False)
    """
    return isinstance(leaf, bool) or (
        isinstance(leaf, Expr | np.ndarray | np.generic) and leaf.dtype.kind == "b"
    )


def flatten_numbers(tree: object, name: str = "") -> Tree:
    """The leaves of `flatten` without the flags of a container, which stay where they are.

    >>> flatten_numbers({"w": 2.0, "flag": True}).leaves
    [2.0]
    """
    if _is_plain(tree):
        return Tree([tree], _first, [name])
    found = flatten(tree, name)
    return found if _is_cell(tree) else found.without(is_flag)


def leaves_of(tree: object) -> list[Any]:
    """The leaves that `flatten_with_static` finds, without the names of their places: a tenth of the time.

    Flags that are fields of a class are marked as static.

    >>> leaves_of({"b": [1.0, 2.0], "a": 3.0})
    [3.0, 1.0, 2.0]
    """
    try:
        return _leaves(tree)
    except RecursionError:
        refuse_cycle(tree)
        raise


def _leaves(tree: object) -> list[Any]:
    if _is_plain(tree):
        return [tree]
    if _is_cell(tree):
        return [plain_value(tree)]
    items = _items(tree)
    if _EXACTLY.issuperset(map(type, items)):
        return list(items)
    found: list[Any] = []
    for item in items:
        if item is tree or _is_plain(item):
            found.append(item)
        else:
            found.extend(_leaves(item))
    return found


def masked_part(tree: object) -> Any:
    """A masked array of adopted code in a tree; None if there is none."""
    waiting = [tree]
    for item in waiting:
        if type(item) in _CERTAIN:
            continue
        if is_masked(type(item)):
            return item
        if not _is_plain(item) and not _is_cell(item):
            parts = _items(item)
            waiting.extend([part for part in parts if part is not item])
    return None


def _items(tree: Any) -> Sequence[Any]:
    """The parts of a container, in order; or its leaves, where `optree` finds them.

    (Which takes 30 us for a hundred numbers, asking for each whether it is a container; a look 2.)
    """
    kind = type(tree)
    if kind is tuple or kind is list:
        parts: Sequence[Any] = tree
        return parts
    if kind is dict and all([type(key) is str for key in tree]):
        return [tree[key] for key in sorted(tree)]
    own = own_children(tree)
    if own is not None:
        if own.has_fields:
            return [static(item) if type(item) is bool else item for item in own.children]
        return own.children
    import optree

    return optree.tree_leaves(tree, is_leaf=_is_own, namespace=NAMESPACE)


_PLAIN = (Expr, float, int, complex, np.ndarray, np.generic)
_CERTAIN = frozenset((Expr, float, int, complex, np.ndarray, np.float64))
_EXACTLY = frozenset((Expr, float, int, bool, complex, np.ndarray))


def _is_own(item: object) -> bool:
    kind: Any = type(item)
    # Most are plain, and the rest takes longer to tell.
    return not (_is_plain(item) or _is_cell(item)) and flatten_function(kind) is not None


def _is_plain(tree: object) -> bool:
    """Whether a value is a leaf by its class; the mask of a masked array is a leaf beside its data."""
    kind = type(tree)
    return kind in _CERTAIN or (isinstance(tree, _PLAIN) and not is_masked(kind))


def _is_cell(tree: object) -> bool:
    """Whether a value is an array that can be written, without a class of its own, such as that of masked
    ones, whose parts are leaves."""
    return isinstance(tree, Reference) and not isinstance(tree, SubclassedArray | TracedFloat)
