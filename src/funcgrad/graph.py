"""Programs as data: content-addressed nodes, terms, and their canonical topological order.

A *node* has an operation (``op``), the keys of its operands (``parents``), static attributes (``params``)
and the type of its value (``type``). Its *key* is a digest of these four, so equal subprograms have equal
keys in every process. A *graph* is a persistent map from key to node that is closed under parents; a
*pointed* graph is anything with a ``graph`` and a ``key``, the root. A *term* holds its operands
themselves (``args``), as terms; its key is computed when it is first read.

The invariant: a key determines the whole program below it. All walks over operands are here and in
`funcgrad.fold`; they are iterative, since a chain may be a million nodes long. This module knows no
arithmetic.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np

from funcgrad.gc_pause import Paused

try:
    from _blake2 import blake2b  # which hashlib hands out, too, but loads OpenSSL first
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from pyrsistent import PMap, PSet

Params: TypeAlias = tuple[tuple[str, Any], ...]
_NO_NAMES: Mapping[Key, str] = MappingProxyType({})


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

    >>> print(ArrayType((3, 4), np.dtype("float32")))
    float32[3, 4]
    >>> print(ArrayType((), np.dtype(float)))
    float64
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


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """As `numpy.broadcast_shapes`; an axis of unknown length, -1, is one of a stack of a `while_loop`.

    >>> broadcast_shapes((2, -1, 3), (-1, 1))
    (2, -1, 3)
    """
    if not any([-1 in shape for shape in shapes]):
        return np.broadcast_shapes(*shapes)
    ndim = max(map(len, shapes))
    aligned = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    joined = []
    for lengths in zip(*aligned, strict=True):
        known = set(lengths) - {1, -1}
        if len(known) > 1:
            raise ValueError(f"shapes {shapes} do not broadcast")
        joined.append(next(iter(known), min(lengths)))
    return tuple(joined)


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
    """An operation; the graph reads only its name."""

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
        # Identities differ between processes: the content is stored.
        return _frozen, (self.array,)


def _frozen(array: np.ndarray[Any, Any]) -> Constant:
    copy = np.array(array, copy=True)
    copy.flags.writeable = False
    return Constant(copy)


class Node(NamedTuple):
    """One step of a program: immutable, and without metadata.

    >>> import funcgrad as fg
    >>> x = fg.var("x", 3)
    >>> (x * 2).graph[x]
    Node(x: float64[3])
    """

    op: Operation
    parents: tuple[Key, ...]
    params: Params
    type: ArrayType

    @property
    def name(self) -> str:
        """The variable's name, of an input node; else the name of the operation."""
        return _name(self)

    @property
    def value(self) -> np.ndarray[Any, Any]:
        """The read-only array of a constant node."""
        return _value(self)

    def __repr__(self) -> str:
        return f"Node({self.formula()}: {self.type})"

    def formula(self, names: Mapping[Key, str] = _NO_NAMES) -> str:
        """The operation on its operands: keys, or the names that are given for
        them.
        """
        if self.op is CONSTANT:
            array = self.value
            return str(array) if array.size == 1 else self.op.name
        if self.op is INPUT:
            return self.name
        operands = [names.get(key, repr(key)) for key in self.parents]
        shown = [f"{key}={value}" for key, value in self.params if key != "scope"]
        text = f"{self.name}({', '.join([*operands, *shown])})"
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_LONGEST = 80  # characters of a node's formula


def _name(step: Node | Term) -> str:
    return str(step.params[0][1]) if step.op is INPUT else str(step.op.name)


def _value(step: Node | Term) -> np.ndarray[Any, Any]:
    if step.op is not CONSTANT:
        which = f"input {_name(step)!r}" if step.op is INPUT else repr(step.op.name)
        raise AttributeError(
            f"only a constant node has a value, but this is {which}; write e(x=2.0) for a value at x = 2"
        )
    array: np.ndarray[Any, Any] = step.params[0][1].array.view()
    array.flags.writeable = False
    return array


Graph: TypeAlias = "PMap[Key, Node]"


class Pointed(Protocol):
    """A rooted graph: a graph and the key of its root."""

    @property
    def graph(self) -> Graph: ...
    @property
    def key(self) -> Key: ...


def address(op: Operation, parents: Iterable[bytes], params: Params, type: ArrayType) -> Key:
    """The key of a node: a 128-bit BLAKE2b digest of its name, params, type and parents' keys."""
    digest = _begin(op, params, type)
    for parent in parents:
        digest.update(parent)
    return Key(digest.digest())


def _begin(op: Operation, params: Params, type: ArrayType) -> Any:
    """The digest of op, params and type, before the operands' keys: the same in every process."""
    return blake2b(f"{op.name}|{params!r}|{type.shape}{type.dtype.str}|".encode(), digest_size=16)


_begun = lru_cache(maxsize=8192)(_begin)


def _are_small(params: Params) -> bool:
    """Whether a cache may keep params: a function among them may hold large matrices."""
    return not params or all([type(value) in _SMALL for _, value in params])


_SMALL = frozenset((bool, float, int, str, tuple, type(None)))


# -- terms ---------------------------------------------------------------------------------------
class Term:
    """An operation applied to terms. It reads as its node does: ``name``, ``value``, ``parents``."""

    __slots__ = ("_key", "args", "op", "params", "type")

    op: Any
    args: tuple[Any, ...]
    params: Params
    type: ArrayType
    _key: Key | None

    @property
    def key(self) -> Key:
        """The content address of the root: equal for equal programs, in every process."""
        key = self._key
        if key is None:
            with Paused():
                return _compute_key(self)
        return key

    @property
    def parents(self) -> tuple[Key, ...]:
        """The keys of the operands."""
        return tuple([arg.key for arg in self.args])

    @property
    def name(self) -> str:
        """The variable's name, of an input; else the name of the operation."""
        return _name(self)

    @property
    def value(self) -> np.ndarray[Any, Any]:
        """The read-only array of a constant."""
        return _value(self)


# A term refuses assignment; its key is written past that, by the slot itself.
_slots: Any = Term
_set_key = _slots._key.__set__


def _compute_key(root: Term) -> Key:
    stack: list[Any] = [root]
    pop = stack.pop
    while stack:
        term = pop()
        if term is None:  # above a term whose operands have keys
            _add_key(pop())
        elif term._key is None:
            stack += (term, None)
            stack += term.args
    return root._key or _add_key(root)


def _add_key(term: Term) -> Key:
    # As `address`, but the digest of the operation is cached. A constant's is not: most occur once.
    begun = _begun if term.op is not CONSTANT and _are_small(term.params) else _begin
    digest = begun(term.op, term.params, term.type).copy()
    for arg in term.args:
        digest.update(arg._key)
    key = Key(digest.digest())
    _set_key(term, key)
    return key


T = TypeVar("T", bound=Term)
Item = TypeVar("Item")
Operands: TypeAlias = Callable[[Any], Sequence[Any]]
"""The operands of a term that a walk visits: all, or fewer, where it stops early."""


def subexpressions(*roots: T, operands: Operands | None = None) -> list[T]:
    """The terms below and at the roots, each object once, operands first.

    ``operands`` gives the operands to visit, of each term that is visited: all ``args`` if it is None.
    """
    result: list[T] = []
    done: set[int] = set()
    stack: list[Any] = list(reversed(roots))
    pop = stack.pop
    while stack:
        term = pop()
        if term is None:  # above a term whose operands are done
            result.append(pop())
        elif id(term) not in done:
            done.add(id(term))
            args = term.args if operands is None else operands(term)
            if args:
                stack += (term, None)
                stack += args[::-1]
            else:
                result.append(term)
    return result


def by_key(*roots: T, operands: Operands | None = None) -> dict[Key, T]:
    """The terms below and at the roots by their keys, each key once, in the canonical order.

    As `subexpressions`, but only the first of equal terms is listed.
    """
    if operands is not None:
        for root in roots:
            _compute_key(root)
    found: dict[Key, T] = {}
    stack: list[Any] = list(reversed(roots))
    pop = stack.pop
    while stack:
        term = pop()
        if term is None:  # above a term whose operands are done
            term = pop()
            found.setdefault(term._key or _add_key(term), term)
        elif term._key not in found:
            stack += (term, None)
            stack += (term.args if operands is None else operands(term))[::-1]
    return found


def has_more_nodes(roots: Iterable[T], most: int) -> bool:
    """Whether programs have more terms than so many, of which no more are visited."""
    seen: set[int] = set()
    waiting = list(roots)
    while waiting and len(seen) <= most:
        term = waiting.pop()
        if id(term) not in seen:
            seen.add(id(term))
            waiting.extend(term.args)
    return len(seen) > most


def nearest_terms(roots: Iterable[T], count: int, operands: Operands | None = None) -> list[T]:
    """So many terms of programs at most, each object once, breadth first from the roots.

    ``operands`` gives the operands to visit, all if it is None.
    """
    found: dict[int, T] = {}
    waiting = deque(roots)
    while waiting and len(found) < count:
        term = waiting.popleft()
        if id(term) not in found:
            found[id(term)] = term
            waiting.extend(term.args if operands is None else operands(term))
    return list(found.values())


def unnested(root: Item, operands: Callable[[Item], Sequence[Item]]) -> Iterator[Item]:
    """The parts of an item in order, those of nested items in their place, repeated parts repeated.

    ``operands`` gives the parts of a nested item, and an empty sequence for an atomic item.

    >>> list(unnested((1, (2, 3), 1), lambda item: item if isinstance(item, tuple) else ()))
    [1, 2, 3, 1]
    """
    stack = [root]
    while stack:
        item = stack.pop()
        parts = operands(item)
        if parts:
            stack.extend(reversed(parts))
        else:
            yield item


def dependent(terms: Iterable[Term], keys: Iterable[Key]) -> set[Key]:
    """The given keys, and the keys of terms that depend on them; ``terms`` has operands first."""
    found = set(keys)
    for term in terms:
        if any([arg.key in found for arg in term.args]):
            found.add(term.key)
    return found


# -- orders --------------------------------------------------------------------------------------
def is_pointed(expr: object) -> bool:
    """Whether this is one rooted graph."""
    # (The graph of a term is assembled when it is read.)
    return isinstance(expr, Term) or (hasattr(expr, "graph") and hasattr(expr, "key"))


def steps_of(roots: Sequence[Pointed], who: str = "fold") -> dict[Key, Node | Term]:
    """The steps below and at the roots in the canonical order: terms of terms, else nodes.

    Raises TypeError if a root has no graph or no key.
    """
    if all([isinstance(root, Term) for root in roots]):
        terms: Any = roots
        return by_key(*terms)
    found: dict[Key, Node | Term] = {}
    for root in roots:
        found |= nodes(root, who)
    return found


def nodes(expr: Pointed, who: str = "fold") -> dict[Key, Node]:
    """The graph as a plain dict in the canonical order; a term's persistent map is not made."""
    if isinstance(expr, Term):
        with Paused():
            return {
                key: Node(term.op, tuple([arg.key for arg in term.args]), term.params, term.type)
                for key, term in by_key(expr).items()
            }
    if not is_pointed(expr):
        several = isinstance(expr, list | tuple)
        hint = f"call {who} for each of several" if several else "make one of var('x')"
        raise TypeError(
            f"{who}: expected an expression, or what has a graph and a key, but got "
            f"{type(expr).__name__}; {hint}"
        )
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


def children(expr: Pointed) -> dict[Key, tuple[Key, ...]]:
    """Each node's users, in topological order; a child that uses it twice is named twice."""
    found: dict[Key, list[Key]] = {}
    for key in steps_of([expr], "children"):
        found[key] = []
        for parent in expr.graph[key].parents:
            found[parent].append(key)
    return {key: tuple(users) for key, users in found.items()}


def ancestors(expr: Pointed, keys: Sequence[Key]) -> PSet[Key]:
    """The nodes of ``expr`` that depend on one of ``keys``, those included."""
    from pyrsistent import pset

    reached = set(keys)
    graph = nodes(expr)
    for key, node in graph.items():
        if not reached.isdisjoint(node.parents):
            reached.add(key)
    return pset(reached & graph.keys())
