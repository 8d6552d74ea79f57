"""Names of the nodes of a program, for display: a variable's, the one that was given, or v and a number.

Names are no part of a key: a key with a name equals the key without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from funcgrad.graph import INPUT, Key, Pointed, Term, steps_of, subexpressions

MOST_NAMED_KEYS = 1_000
"""The nodes of a graph whose keys have names, for 7 us a node; more are not read."""


class NamedKey(Key):
    """A key that prints as the name of its node.

    >>> NamedKey(bytes(16), "v3"), NamedKey(bytes(16), "v3") == Key(bytes(16))
    (v3, True)
    """

    name: str

    def __new__(cls, key: bytes, name: str = "") -> NamedKey:
        made = super().__new__(cls, key)
        made.name = name
        return made

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class OperandKeys(tuple[Key, ...]):
    """The keys of the operands of a formula, which print as the names of their nodes.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> (x * fg.exp(x)).parents
    (x, v1)
    """

    program: Pointed

    def __new__(cls, keys: Iterable[Key], program: Pointed) -> OperandKeys:
        made = super().__new__(cls, keys)
        made.program = program
        return made

    def __repr__(self) -> str:
        names = names_of(self.program)
        return repr(tuple([NamedKey(key, names[key]) for key in self]))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (tuple(self),)


def labels(*roots: Term) -> dict[Key, str]:
    """The names that `funcgrad.name` gave to nodes below some roots.

    Equal nodes are one: the first name that one of them has is the name of all.
    """
    found: dict[Key, str] = {}
    for term in subexpressions(*roots):
        label = getattr(term, "label", None)
        if label:
            found.setdefault(term.key, label)
    return found


def names_of(program: Pointed) -> dict[Key, str]:
    """A name for each node of a program, in topological order: no two are the same.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> list(names_of(x * x + fg.name(fg.exp(x), "t1")).values())
    ['x', 'v1', 't1', 'v3']
    """
    found: Any = steps_of([program], "names")
    given = labels(program) if isinstance(program, Term) else {}
    given |= {key: step.name for key, step in found.items() if step.op is INPUT}
    given = {key: name for key, name in given.items() if name.isidentifier()}
    stem = "node" if any([re.match(r"v\d+$", name) for name in given.values()]) else "v"
    names: dict[Key, str] = {}
    used: set[str] = set()
    for place, key in enumerate(found):
        name = given.get(key, "")
        names[key] = name if name and name not in used else f"{stem}{place}"
        used.add(names[key])
    return names
