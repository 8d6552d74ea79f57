"""What an expression holds, and the walks over it: orders, keys and nodes.

A `Cell` remembers the node it adds and the cells it builds upon. Its key and its persistent map are
assembled once, when something first asks, and kept; so is its value, where it has one. Every walk is
iterative: a chain may be a million nodes long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any, Protocol, TypeVar

import numpy as np

from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, ArrayType, Graph, Key, Node, Params, begin


class TraceContext(Protocol):
    """What the expressions of one trace carry: the arrays that it has copied, and its log of questions."""

    arrays: dict[int, tuple[np.ndarray[Any, Any], Any]]
    """The arrays copied (`funcgrad.ops.base.array_capture`), by id, each with its constant."""
    records: bool
    """Whether questions are recorded. Of two contexts in one operation, the result carries such a one."""

    def record(self, asked: Any, reading: Callable[[Any], Any], answer: Any) -> None:
        """Told of a question that Python asked a traced value: the value, how it was read, the answer."""

    def derived(self, program: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Told of what was derived of a trace inside: the outputs of a program on these inputs."""


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
    traced: TraceContext | None
    label: str | None
    source: tuple[CodeType, int] | None
    # What is kept once it has been asked for; a key is None and a graph and a value absent until then.
    _key: Any
    _graph: Graph
    _value: Any
    _simple: bool

    @property
    def key(self) -> Key:
        """The content address of the root: equal for equal programs, in every process."""
        key: Key | None = self._key
        if key is None:
            with Paused():
                return _compute_key(self)
        return key

    @property
    def graph(self) -> Graph:
        """The persistent map from key to node, closed under parents: what the root is made of."""
        try:
            return self._graph
        except AttributeError:
            from pyrsistent import pmap

            with Paused():
                graph = pmap(self.nodes())
                _set_graph(self, graph)
            return graph

    def order(self) -> list[Key]:
        """The graph's keys in the canonical order, parents first."""
        with Paused():
            return list(by_key(self))

    def nodes(self) -> dict[Key, Node]:
        """The graph as a plain dict in the canonical order."""
        with Paused():
            return {key: node(cell) for key, cell in by_key(self).items()}

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
    return expr._simple


def mark_simple(expr: Cell) -> None:
    """Remember that the laws leave an expression as it is."""
    _set_simple(expr, True)


# -- walking -------------------------------------------------------------------------------------
C = TypeVar("C", bound=Cell)


def subexpressions(*roots: C) -> list[C]:
    """The expressions below and at the roots, each object once, parents first."""
    result: list[C] = []
    done: set[int] = set()
    stack: list[Any] = list(reversed(roots))
    pop = stack.pop
    while stack:
        expr = pop()
        if expr is None:  # above an expression whose operands are done
            result.append(pop())
        elif id(expr) not in done:
            done.add(id(expr))
            args = expr.args
            if args:
                stack += (expr, None)
                stack += args[::-1]
            else:
                result.append(expr)
    return result


def by_key(root: C) -> dict[Key, C]:
    """The expressions below and at the root by their keys, each key once, in the canonical order.

    As `subexpressions`, but for equal ones.
    """
    found: dict[Key, C] = {}
    stack: list[Any] = [root]
    pop = stack.pop
    while stack:
        expr = pop()
        if expr is None:  # above an expression whose operands are done
            expr = pop()
            found.setdefault(expr._key or _add_key(expr), expr)
        elif expr._key not in found:
            stack += (expr, None)
            stack += expr.args[::-1]
    return found


def node(expr: Cell) -> Node:
    """The node that an expression adds."""
    return Node(expr.op, tuple([arg.key for arg in expr.args]), expr.params, expr.type)


_begun = lru_cache(maxsize=8192)(begin)


def _compute_key(root: Cell) -> Key:
    stack: list[Any] = [root]
    pop = stack.pop
    while stack:
        expr = pop()
        if expr is None:  # above an expression whose operands have keys
            _add_key(pop())
        elif expr._key is None:
            stack += (expr, None)
            stack += expr.args
    key: Key = root._key
    return key


def _add_key(expr: Cell) -> Key:
    # As `address`, but that what stands for the operation is digested once. A constant's is not kept:
    # there may be many, each met once.
    begun = begin if expr.op is CONSTANT else _begun
    digest = begun(expr.op, expr.params, expr.type).copy()
    for arg in expr.args:
        digest.update(arg._key)
    key = Key(digest.digest())
    _set_key(expr, key)
    return key
