"""Persistent maps from the nodes of a program, which print and iterate in topological order, with names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, KeysView, Mapping
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from pyrsistent import PMap, pmap

from funcgrad.graph import Key, Node, Pointed, nodes
from funcgrad.node_names import MOST_NAMED_KEYS, NamedKey, names_of
from funcgrad.printed_text import html_table, one_line

_WIDEST = 88  # characters of a map on one line


class _Rooted(NamedTuple):
    """A graph with its root, whose order and names are those of the map itself."""

    graph: Mapping[Key, Node]
    key: Key


class _Keys(KeysView[Key]):
    """The keys of a map of nodes, in its order: a `PSet`, in their place, prints in another on each run."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"node_keys({list(self)})"


class NodeMap(PMap[Key, Any]):
    """A `pyrsistent.PMap` by node, in topological order.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> fg.sum_product(x * x + x, fg.COUNTING, lambda edge: 1)
    {x: 3, v1: 1, v2: 1}
    >>> (x * x + x).graph
    {x: Node(x: float64), v1: Node(multiply(x, x): float64), v2: Node(add(v1, x): float64)}
    """

    __slots__ = ("_root",)

    _root: Pointed | Key

    def __new__(cls, size: int, buckets: Any, root: Any = None) -> NodeMap:
        made: NodeMap = super().__new__(cls, size, buckets)  # type: ignore[call-arg]
        made._root = root
        return made

    def iteritems(self) -> Iterator[tuple[Key, Any]]:
        values = dict(super().iteritems())
        for key, name in self._names(values).items():
            if key in values:
                named = key if isinstance(key, NamedKey) else NamedKey(key, name)
                yield named, values.pop(key)
        yield from sorted(values.items())  # keys of other programs

    def _names(self, values: Mapping[Key, Any]) -> dict[Key, str]:
        program: Any = self._root
        if isinstance(program, Key):
            if program not in values or not all(map(_is_closed, values.values(), repeat(values))):
                return {}
            program = _Rooted(values, program)
        return names_of(program)

    def keys(self) -> KeysView[Key]:
        return _Keys(self)

    # What is made of a map of nodes is one, too.
    def set(self, key: Key, val: Any) -> NodeMap:
        return _over(self._root, super().set(key, val))

    def remove(self, key: Key) -> NodeMap:
        return _over(self._root, super().remove(key))

    def update_with(self, update_fn: Callable[[Any, Any], Any], *maps: Any) -> NodeMap:
        return _over(self._root, super().update_with(update_fn, *maps))

    def __reduce__(self) -> tuple[Any, ...]:
        return node_map, (self._root, dict(super().iteritems()))

    def __repr__(self) -> str:
        cells = self._cells()
        line = ", ".join([f"{key}: {value}" for key, value in cells])
        if len(line) <= _WIDEST and "\n" not in line:
            return f"{{{line}}}"
        return "{\n" + "".join([f"  {key}: {value},\n" for key, value in cells]) + "}"

    def _repr_html_(self) -> str:
        return html_table(("node", "value"), self._cells())

    def _cells(self) -> list[tuple[str, str]]:
        items = list(self.iteritems())
        names: dict[Key, str] = {key: str(key) for key, _ in items if isinstance(key, NamedKey)}
        return [(str(key), _text(value, names)) for key, value in items]


def _is_closed(value: Any, graph: Mapping[Key, Any]) -> bool:
    """Whether this is a node whose operands are in the graph."""
    return isinstance(value, Node) and all([parent in graph for parent in value.parents])


def node_map(root: Pointed | Key, values: Mapping[Key, Any]) -> NodeMap:
    """A persistent map by the nodes of a program; of a graph itself, ``root`` is the root's key."""
    return _over(root, pmap(values))


def named_graph(program: Pointed) -> NodeMap:
    """The graph of a program; of one that a person can read, all keys are named, those of operands, too.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> y = fg.name(fg.exp(x), "t") * x
    >>> y.graph[y].parents
    (t, x)
    """
    found = nodes(program)
    if len(found) > MOST_NAMED_KEYS:
        return node_map(program.key, found)
    names = {key: NamedKey(key, name) for key, name in names_of(program).items()}
    return node_map(
        names[program.key],
        {
            names[key]: node._replace(parents=tuple([names[parent] for parent in node.parents]))
            for key, node in found.items()
        },
    )


def _over(root: Pointed | Key, found: PMap[Key, Any]) -> NodeMap:
    return NodeMap(len(found), found._buckets, root)


def _text(value: Any, names: Mapping[Key, str]) -> str:
    if isinstance(value, Node):
        return f"Node({value.formula(names)}: {value.type})"
    return one_line(value.item() if isinstance(value, np.float64 | np.int64 | np.bool_) else value)
