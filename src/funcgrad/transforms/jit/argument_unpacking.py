"""Guards and assignments by which an inline cache flattens dicts, lists, tuples and dataclasses.

The guards hold for containers of the same classes, keys and lengths; the assignments within them bind the
leaves in the order of `funcgrad.trace.pytree.leaves_of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from funcgrad.trace.container import TreeNode
from funcgrad.trace.tree_nodes import flatten_function, own_children
from funcgrad.transforms.jit.signature import PLAIN

MOST_LEAVES = 1000
"""The leaves of all arguments beyond which they are taken apart by the general code."""


class UnpackedArguments:
    """The names of the leaves of arguments, and what generated code does to bind them.

    >>> found = UnpackedArguments([{"w": 2.0, "b": [1.0]}, 3.0], ["p", "x"])
    >>> found.leaves
    ['leaf3', 'leaf2', 'x']
    >>> found.tests[1]
    "(part1 := p['b'], leaf2 := p['w'],)"
    """

    def __init__(self, args: Sequence[Any], names: Sequence[str]) -> None:
        self.tests: list[str] = []
        self.objects: dict[str, Any] = {}
        self.leaves: list[str] = []
        """The names of the leaves, in order."""
        self.texts: set[str] = set()
        """The names of those that are texts, which belong to the signature."""
        self.is_known = True
        """Whether all containers are dicts with words for keys, lists, tuples or plain dataclasses."""
        self._count = 0
        for arg, name in zip(args, names, strict=True):
            self._add(arg, name)

    def _add(self, item: Any, name: str) -> None:
        if type(item) in PLAIN:
            self.leaves.append(name)
        elif item is None:
            self.tests.append(f"{name} is None")
        elif type(item) is str:
            text = self._name("text")
            self.objects[text] = item
            self.tests.append(f"type({name}) is str and {name} == {text}")
            self.leaves.append(name)
            self.texts.add(name)
        else:
            self._take_apart(item, name)

    def _take_apart(self, tree: Any, name: str) -> None:
        kind = type(tree)
        items: list[tuple[str, Any]]
        """The subscript or attribute that reads an item, and the item."""
        if kind is dict and all([type(key) is str for key in tree]):
            keys = self._name("keys")
            self.objects[keys] = tuple(tree)
            self.tests.append(f"type({name}) is dict and tuple({name}) == {keys}")
            items = [(f"[{key!r}]", tree[key]) for key in sorted(tree)]
        elif kind is list or kind is tuple:
            self.tests.append(f"type({name}) is {kind.__name__} and len({name}) == {len(tree)}")
            items = [(f"[{k}]", item) for k, item in enumerate(tree)]
        elif _is_plain_named_tuple(kind):
            own = self._name("kind")
            self.objects[own] = kind
            self.tests.append(f"type({name}) is {own} and len({name}) == {len(tree)}")
            items = [(f"[{k}]", item) for k, item in enumerate(tree)]
        elif (parts := _fields_of(tree)) is not None:
            own = self._name("kind")
            self.objects[own] = kind
            self.tests.append(f"type({name}) is {own}")
            items = [
                (f".{label}", item)
                for label, item in zip(parts.labels, parts.children, strict=True)
            ]
        else:
            self.is_known = False
            return
        if self._count + len(items) > MOST_LEAVES:
            self.is_known = False
            return
        names = [self._name("leaf" if type(item) in PLAIN else "part") for _, item in items]
        if items:
            bound = [f"{own} := {name}{read}" for own, (read, _) in zip(names, items, strict=True)]
            self.tests.append(f"({', '.join(bound)},)")
        for own, (_, item) in zip(names, items, strict=True):
            self._add(item, own)

    def _name(self, word: str) -> str:
        self._count += 1
        return f"{word}{self._count - 1}"


def _fields_of(tree: Any) -> TreeNode | None:
    """The fields of an instance of a dataclass, if all are leaves or trees; None of others."""
    kind = type(tree)
    if not is_dataclass(kind) or kind.__getattribute__ is not object.__getattribute__:
        return None
    parts = own_children(tree)
    if parts is None or parts.fixed or parts.labels != [field.name for field in fields(kind)]:
        return None
    return None if bool in map(type, parts.children) else parts


def _is_plain_named_tuple(kind: type) -> bool:
    """Whether instances of a class are named tuples all of whose fields are read as those of a tuple."""
    own = (kind.__getitem__, kind.__len__) if issubclass(kind, tuple) else ()
    plain = own == (tuple.__getitem__, tuple.__len__) and hasattr(kind, "_fields")
    return plain and flatten_function(kind) is None
