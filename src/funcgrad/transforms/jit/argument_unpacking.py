"""Conditions and assignments by which an inline cache takes dicts, lists and tuples of arguments apart.

The conditions hold for containers of the same classes, keys and lengths; the assignments within them bind
the leaves in the order of `funcgrad.trace.pytree.leaves_of`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.transforms.jit.signature import PLAIN

MOST_LEAVES = 64
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
        self.is_known = True
        """Whether all containers are plain dicts with words for keys, lists or tuples."""
        self._count = 0
        for arg, name in zip(args, names, strict=True):
            if type(arg) in PLAIN:
                self.leaves.append(name)
            else:
                self._take_apart(arg, name)

    def _take_apart(self, tree: Any, name: str) -> None:
        kind = type(tree)
        items: list[tuple[Any, Any]]
        if kind is dict and all([type(key) is str for key in tree]):
            keys = self._name("keys")
            self.objects[keys] = tuple(tree)
            self.tests.append(f"type({name}) is dict and tuple({name}) == {keys}")
            items = sorted(tree.items(), key=lambda item: item[0])
        elif kind is list or kind is tuple:
            self.tests.append(f"type({name}) is {kind.__name__} and len({name}) == {len(tree)}")
            items = list(enumerate(tree))
        else:
            self.is_known = False
            return
        if self._count + len(items) > MOST_LEAVES:
            self.is_known = False
            return
        names = [self._name("leaf" if type(item) in PLAIN else "part") for _, item in items]
        if items:
            bound = [
                f"{own} := {name}[{key!r}]" for own, (key, _) in zip(names, items, strict=True)
            ]
            self.tests.append(f"({', '.join(bound)},)")
        for own, (_, item) in zip(names, items, strict=True):
            if type(item) in PLAIN:
                self.leaves.append(own)
            else:
                self._take_apart(item, own)

    def _name(self, word: str) -> str:
        self._count += 1
        return f"{word}{self._count - 1}"
