"""Calls of functions that run as programs of another library: taken apart, with their signatures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import optree

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.ops.base.foreign_arrays import remedy_of
from funcgrad.source import fail
from funcgrad.trace.leaves import names_of
from funcgrad.trace.pytree import Tree, _is_own, flatten, own_children
from funcgrad.transforms.jit.signature import Static, exactly


class Kinds(NamedTuple):
    """What a library takes as arrays, and which dtype a Python number has among those of given types."""

    type_of: Callable[[str, Any], ArrayType | None]
    with_numbers: Callable[[Sequence[ArrayType | None], Sequence[Any]], list[ArrayType | None]]


class Call(NamedTuple):
    """A call taken apart: its arguments' leaves, with the types of those that a program takes."""

    trees: list[Tree]
    keywords: list[str]
    leaves: list[Any]
    types: list[ArrayType | None]
    signature: Any

    @property
    def given(self) -> list[Any]:
        """The values that a program takes."""
        return [v for v, t in zip(self.leaves, self.types, strict=True) if t is not None]


class Reader:
    """Takes calls of f apart. ``static`` says which arguments are part of the signature by value."""

    def __init__(self, f: Callable[..., Any], who: str, kinds: Kinds, static: Static) -> None:
        self.f, self.who, self.kinds, self.static = f, who, kinds, static

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call | None:
        """A call taken apart; None where an expression is among the arguments."""
        places, names = self.static.of(self.f, len(args), kwargs)
        parts = [
            *[
                (arg, n, i in places)
                for i, (arg, n) in enumerate(zip(args, names_of(self.f, len(args)), strict=True))
            ],
            *[(kwargs[name], name, name in names) for name in sorted(kwargs)],
        ]
        trees = [
            _single(value, name) if fixed else flatten(value, name) for value, name, fixed in parts
        ]
        leaves = [leaf for tree in trees for leaf in tree.leaves]
        if any([isinstance(leaf, Expr) for leaf in leaves]):
            return None
        known = [fixed for tree, (*_, fixed) in zip(trees, parts, strict=True) for _ in tree.leaves]
        types = [
            None if fixed else self.kinds.type_of(self.who, leaf)
            for leaf, fixed in zip(leaves, known, strict=True)
        ]
        moving = [None if fixed else leaf for leaf, fixed in zip(leaves, known, strict=True)]
        types = self.kinds.with_numbers(types, moving)
        rows = zip(types, leaves, known, strict=True)
        signature = (
            tuple([(name, None if fixed else structure(value)) for value, name, fixed in parts]),
            len(args),
            *[self._static(leaf, fixed) if type is None else type for type, leaf, fixed in rows],
        )
        return Call(trees, sorted(kwargs), leaves, types, signature)

    def _static(self, value: Any, named: bool) -> Any:
        """A value as part of the signature: of an argument that is ``named`` as such, whatever hashes."""
        kind: Any = type(value)
        try:
            hash(value)
        except TypeError:
            what = "static arguments that hash" if named else "arrays, numbers and hashable values"
            raise fail(TypeError, f"{self.who}: expected {what}, but got {kind.__name__}") from None
        if named and remedy_of(value) is not None:  # PyTorch's hash, but by identity
            raise fail(
                TypeError,
                f"{self.who}: expected static arguments that hash by what they are, but got {kind.__name__}; "
                "hand it in as an argument that is not static",
            )
        lasting = isinstance(value, type) or callable(value)
        if not named and not lasting and kind.__hash__ is object.__hash__:
            raise fail(
                TypeError,
                f"{self.who}: expected arrays, numbers, trees of them, and values that hash by what they "
                f"are, but got {kind.__name__}, which may change; make it a dataclass, or let the function "
                "capture it",
            )
        return "static", exactly(value)


def _single(value: Any, name: str) -> Tree:
    """What is not to be taken apart."""
    return Tree([value], lambda leaves: leaves[0], [name])


def structure(tree: Any) -> Any:
    """What two trees share that differ in their leaves alone: hashable.

    >>> structure([1.0, (2.0,)]) == structure([3.0, (4.0,)])
    True
    >>> structure([1.0, (2.0,)]) == structure([1.0, [2.0]])
    False
    """
    parts = own_children(tree)
    if parts is not None:
        labels, items, _ = parts
        return type(tree), tuple(labels), tuple([structure(item) for item in items])
    items, spec = optree.tree_flatten(tree, is_leaf=_is_own)
    if len(items) == 1 and items[0] is tree:
        return None
    return spec, tuple([structure(item) for item in items])
