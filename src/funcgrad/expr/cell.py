"""What an expression holds, and the walks over it: orders, keys and nodes.

A `Cell` remembers the node it adds and the cells it builds upon. Its key and its persistent map are
assembled once, when something first asks, and kept; so is its value, where it has one. Every walk is
iterative: a chain may be a million nodes long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any, Protocol, TypeVar

import numpy as np

from funcgrad.collector import Paused
from funcgrad.graph import CONSTANT, ArrayType, Graph, Key, Node, Params, address, encode


class Recorder(Protocol):
    """Told of every question that Python asks a traced value: the value, how it was read, the answer."""

    def record(self, asked: Any, reading: Callable[[Any], Any], answer: Any) -> None: ...


class Cell:
    """A pointed graph: an operation and the cells it is applied to."""

    __slots__ = (
        "_graph",
        "_key",
        "_simple",
        "_value",
        "args",
        "label",
        "op",
        "params",
        "source",
        "traced",
        "type",
    )

    op: Any
    args: tuple[Any, ...]
    params: Params
    type: ArrayType
    traced: bool | Recorder
    label: str | None
    source: tuple[CodeType, int] | None
    # What is kept once it has been asked for; absent until then.
    _key: Key
    _graph: Graph
    _value: Any
    _simple: bool

    @property
    def key(self) -> Key:
        """The content address of the root: equal for equal programs, in every process."""
        try:
            return self._key
        except AttributeError:
            with Paused():
                return _compute_key(self)

    @property
    def graph(self) -> Graph:
        """The persistent map from key to node, closed under parents: what the root is made of."""
        try:
            return self._graph
        except AttributeError:
            from pyrsistent import pmap

            with Paused():
                _compute_key(self)
                graph = pmap({cell._key: node(cell) for cell in subexpressions(self)})
                _set_graph(self, graph)
            return graph

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    @property
    def size(self) -> int:
        return self.type.size


# An expression refuses assignment; what it keeps is written past that, by the slots themselves.
_slots: Any = Cell
_set_key = _slots._key.__set__
_set_graph = _slots._graph.__set__
_set_simple = _slots._simple.__set__
set_value = _slots._value.__set__


# -- what has been worked out already ------------------------------------------------------------
def is_simple(expr: Cell) -> bool:
    """Whether the laws are known to leave an expression as it is: to be run, not read."""
    return hasattr(expr, "_simple")


def mark_simple(expr: Cell) -> None:
    """Remember that the laws leave an expression as it is."""
    _set_simple(expr, True)


# -- walking -------------------------------------------------------------------------------------
C = TypeVar("C", bound=Cell)


def subexpressions(*roots: C) -> list[C]:
    """The expressions below and at the roots, each object once, parents first."""
    result: list[C] = []
    done: set[int] = set()
    stack = list(reversed(roots))
    while stack:
        expr = stack[-1]
        if id(expr) in done:
            stack.pop()
            continue
        size = len(stack)
        for arg in reversed(expr.args):
            if id(arg) not in done:
                stack.append(arg)
        if len(stack) == size:
            stack.pop()
            done.add(id(expr))
            result.append(expr)
    return result


def node(expr: Cell) -> Node:
    """The node that an expression adds."""
    return Node(expr.op, tuple([arg.key for arg in expr.args]), expr.params, expr.type)


_header = lru_cache(maxsize=8192)(encode)


def _compute_key(root: Cell) -> Key:
    stack = [root]
    while stack:
        expr = stack[-1]
        size = len(stack)
        for arg in expr.args:
            if not hasattr(arg, "_key"):
                stack.append(arg)
        if len(stack) == size:
            stack.pop()
            # A constant's header is not kept: there may be many, each met once.
            header = b"" if expr.op is CONSTANT else _header(expr.op, expr.params, expr.type)
            parents = [arg._key for arg in expr.args]
            _set_key(expr, address(expr.op, parents, expr.params, expr.type, header))
    return root._key
