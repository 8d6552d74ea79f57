"""Programs as data: content-addressed nodes in a persistent map, and their canonical order.

A *node* says what is done (``op``), to what (the keys of its ``parents``), how (``params``), and what
comes out (``type``). Its *key* is a digest of exactly that, so equal subprograms have equal keys in
every process. A *graph* is a persistent map from key to node that is closed under parents; a *pointed*
graph is anything with a ``graph`` and a ``key``, the root.

The invariant that everything else leans on: a key determines the whole program below it.
This module knows no arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

try:
    from _blake2 import blake2b  # which hashlib hands out, too, but loads OpenSSL first
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from pyrsistent import PMap, PSet, PVector

Params: TypeAlias = tuple[tuple[str, Any], ...]


class Key(bytes):
    """The content address of a node: 16 bytes that depend on the program alone.

    >>> Key(bytes(range(16)))
    Key(00010203)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Key({self.hex()[:8]})"

    __str__ = __repr__


class ArrayType(NamedTuple):
    """The shape and dtype of a node's value.

    >>> print(ArrayType((3, 4), np.dtype("float32")), ArrayType((), np.dtype(float)))
    float32[3, 4] float64
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}" if self.shape else str(self.dtype)


class TupleType(NamedTuple):
    """The type of a node whose value is a tuple of arrays, such as that of a loop.

    >>> print(TupleType((ArrayType((3,), np.dtype(float)), ArrayType((), np.dtype(int)))))
    (float64[3], int64)
    """

    parts: tuple[ArrayType, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dtype(self) -> np.dtype[Any]:
        return _OBJECT

    @property
    def ndim(self) -> int:
        return 0

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def __str__(self) -> str:
        return f"({', '.join(str(part) for part in self.parts)})"


_OBJECT = np.dtype(object)


class Operation(Protocol):
    """What the graph needs to know of an operation: that it has a name."""

    @property
    def name(self) -> str: ...


class Source(NamedTuple):
    """The kind of a node without an operation: a variable or a constant."""

    name: str

    def __reduce__(self) -> tuple[Any, ...]:
        return _source, (self.name,)


INPUT = Source("input")
CONSTANT = Source("constant")


def _source(name: str) -> Source:
    # Kinds are compared by identity, so that unpickling must find the two there are.
    return {"input": INPUT, "constant": CONSTANT}[name]


class Constant:
    """An array as the parameter of a constant node, compared by its address, not elementwise.

    A frozen copy is addressed by content. An array captured by reference is addressed by identity,
    since hashing 80 MB on each call would cost more than the gradient; the reference held here keeps
    that identity from being reused.
    """

    __slots__ = ("address", "array", "captured")

    def __init__(self, array: np.ndarray[Any, Any], *, captured: bool = False) -> None:
        self.array = array
        self.captured = captured
        if captured:
            self.address = b"@%x" % id(array)
        elif array.size <= 1:
            self.address = array.tobytes()
        else:
            self.address = blake2b(np.ascontiguousarray(array).data, digest_size=16).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __repr__(self) -> str:
        return f"Constant({self.address.hex()})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Identity does not travel: what is stored is the content.
        return _frozen, (self.array,)


def _frozen(array: np.ndarray[Any, Any]) -> Constant:
    copy = np.array(array, copy=True)
    copy.flags.writeable = False
    return Constant(copy)


class Node(NamedTuple):
    """One step of a program: immutable, and free of anything that is not its meaning."""

    op: Operation
    parents: tuple[Key, ...]
    params: Params
    type: ArrayType

    @property
    def name(self) -> str:
        """The variable's name, of an input node; else the name of the operation."""
        return str(self.params[0][1]) if self.op is INPUT else self.op.name

    @property
    def value(self) -> np.ndarray[Any, Any]:
        """The read-only array of a constant node."""
        if self.op is not CONSTANT:
            raise AttributeError(f"only a constant node has a value, but this is {self.op.name!r}")
        array: np.ndarray[Any, Any] = self.params[0][1].array.view()
        array.flags.writeable = False
        return array


Graph: TypeAlias = "PMap[Key, Node]"


class Pointed(Protocol):
    """A pointed graph: a graph and the key of its root."""

    @property
    def graph(self) -> Graph: ...
    @property
    def key(self) -> Key: ...


def address(op: Operation, parents: Iterable[bytes], params: Params, type: ArrayType) -> Key:
    """The key of a node: a 128-bit BLAKE2b digest of its name, params, type and parents' keys."""
    digest = begin(op, params, type)
    for parent in parents:
        digest.update(parent)
    return Key(digest.digest())


def begin(op: Operation, params: Params, type: ArrayType) -> Any:
    """The digest of what stands for op, params and type: the same in every process."""
    return blake2b(f"{op.name}|{params!r}|{type.shape}{type.dtype.str}|".encode(), digest_size=16)


def toposort(expr: Pointed) -> PVector[Key]:
    """The canonical topological order: depth-first post-order, parents in argument order.

    Parents come before children, each node once, the root last. The order is a function of structure
    alone, never of a map's iteration.

    As a fold: ``visit(order, key) = order if key in order else reduce(visit, parents(key), order) + key``.
    Recursion would end at a thousand nodes, so the reduction runs on an explicit stack here; the two
    lines above, on persistent values, are its oracle in the tests.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> y = x * x + x
    >>> [y.graph[key].name for key in fg.toposort(y)]
    ['x', 'multiply', 'add']
    """
    from pyrsistent import pvector

    own: Callable[[], list[Key]] | None = getattr(expr, "order", None)
    if own is None:
        _check_pointed("toposort", expr)
    return pvector(nodes(expr) if own is None else own())


def _check_pointed(who: str, expr: Any) -> None:
    if not (hasattr(expr, "graph") and hasattr(expr, "key")):
        raise TypeError(
            f"{who}: expected an expression, or what has a graph and a key, but got {type(expr).__name__}"
        )


def nodes(expr: Pointed) -> dict[Key, Node]:
    """The graph as a plain dict in the canonical order; expressions make it without their persistent map."""
    own: Callable[[], dict[Key, Node]] | None = getattr(expr, "nodes", None)
    if own is not None:
        return own()
    _check_pointed("fold", expr)
    graph = dict(expr.graph.items())
    found: dict[Key, Node] = {}
    stack: list[Any] = [expr.key]
    while stack:
        key = stack.pop()
        if key is None:  # above the key whose parents are done
            key = stack.pop()
            found[key] = graph[key]
        elif key not in found:
            stack += (key, None, *reversed(graph[key].parents))
    return found


def reverse_order(expr: Pointed) -> Iterator[Key]:
    """Yield keys root first, each only after all of its children: Kahn's algorithm by child counts.

    Another legal order than `toposort` reversed, for those who meet it in textbooks: a reverse
    reduction gives the same result over either, up to the order of floating-point sums.
    """
    graph = expr.graph
    waiting: dict[Key, int] = {}
    for key in toposort(expr):
        for parent in graph[key].parents:
            waiting[parent] = waiting.get(parent, 0) + 1
    ready = [expr.key]
    while ready:
        key = ready.pop()
        yield key
        for parent in graph[key].parents:
            waiting[parent] -= 1
            if not waiting[parent]:
                ready.append(parent)


def children(expr: Pointed) -> dict[Key, tuple[Key, ...]]:
    """Each node's users, in topological order; a child that uses it twice is named twice."""
    found: dict[Key, list[Key]] = {}
    for key in toposort(expr):
        found[key] = []
        for parent in expr.graph[key].parents:
            found[parent].append(key)
    return {key: tuple(users) for key, users in found.items()}


def ancestors(expr: Pointed, keys: Sequence[Key]) -> PSet[Key]:
    """The nodes of ``expr`` that depend on one of ``keys``, those included: what they reach."""
    from pyrsistent import pset

    reached = set(keys)
    graph = nodes(expr)
    for key, node in graph.items():
        if not reached.isdisjoint(node.parents):
            reached.add(key)
    return pset(reached & graph.keys())
