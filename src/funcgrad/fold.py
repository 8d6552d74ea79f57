"""Everything is a fold: forward over the order, or backward over it, with nothing known of operations.

Forward, ``fold`` gives each node a value from its parents' values. Backward, ``sum_product`` gives
each node the sum over all paths from it to the root of the product along the path, on any semiring.
Evaluation, printing and pushforward are forward folds; backpropagation, path counts and reachability
are backward ones.

The invariant: maps that come out are persistent, and an older one stays valid when a newer one is made.
Inside, a local dict stands for the map under construction; ``accumulate``d versions, which keep every
intermediate map, are the persistent originals and the oracle of the fast ones.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar

from funcgrad.graph import CONSTANT, INPUT, Key, Node, Pointed, nodes

if TYPE_CHECKING:
    from pyrsistent import PMap

T = TypeVar("T")


class Algebra(NamedTuple, Generic[T]):
    """What an input, a constant and an operation become, given what the parents became."""

    input: Callable[[Node], T]
    constant: Callable[[Node], T]
    op: Callable[[Node, tuple[T, ...]], T]


def fold(expr: Pointed, algebra: Algebra[T]) -> T:
    """What the root becomes under ``algebra``: the forward fold.

    ``value(input) = algebra.input(node)``, ``value(constant) = algebra.constant(node)``,
    ``value(node) = algebra.op(node, values of parents)``; each node once, in topological order.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> depth = Algebra(lambda node: 0, lambda node: 0, lambda node, parents: 1 + max(parents))
    >>> fold((x * x + 1) * x, depth)
    3
    """
    return _environment(expr, algebra)[expr.key]


def environment(expr: Pointed, algebra: Algebra[T]) -> PMap[Key, T]:
    """What every node becomes under ``algebra``: the fold before its last step, which picks the root."""
    from pyrsistent import pmap

    return pmap(_environment(expr, algebra))


def _environment(expr: Pointed, algebra: Algebra[T]) -> dict[Key, T]:
    if not all(callable(getattr(algebra, part, None)) for part in Algebra._fields):
        raise TypeError(
            "fold: expected an Algebra, what inputs, constants and operations become, but got "
            f"{type(algebra).__name__}; write Algebra(input, constant, op), three functions"
        )
    values: dict[Key, T] = {}
    for key, node in nodes(expr).items():
        values[key] = become(algebra, node, values)
    return values


def environments(expr: Pointed, algebra: Algebra[T]) -> Iterator[PMap[Key, T]]:
    """The forward fold as a scan: the environment before each step and after the last."""
    from pyrsistent import pmap
    from toolz import accumulate

    graph = nodes(expr)

    def step(values: PMap[Key, T], key: Key) -> PMap[Key, T]:
        return values.set(key, become(algebra, graph[key], values))

    steps: Iterator[PMap[Key, T]] = accumulate(step, graph, pmap())
    return steps


def become(algebra: Algebra[T], node: Node, values: Any) -> T:
    """One step of the forward fold: the node's value, given a mapping with its parents' values."""
    if node.op is INPUT:
        return algebra.input(node)
    if node.op is CONSTANT:
        return algebra.constant(node)
    return algebra.op(node, tuple([values[parent] for parent in node.parents]))


class Edge(NamedTuple):
    """An arc of the graph, from a node (``child``) to one of its operands, by place (``parent``)."""

    child: Key
    place: int
    parent: Key
    node: Node


class Semiring(NamedTuple):
    """Addition, multiplication and its unit; multiplication need not commute.

    Zero is not needed: what no path reaches is absent. ``multiply(above, weight)`` has what was
    summed from the root down to the child on its left, so matrices come in the order of the chain rule.
    """

    add: Callable[[Any, Any], Any]
    multiply: Callable[[Any, Any], Any]
    one: Any


Arcs: TypeAlias = "Callable[[Key], Iterable[tuple[Key, Any]]]"
"""The operands of a node that paths lead to, each with the weight of its arc."""


def _either(a: Any, b: Any) -> Any:
    return a or b


def _both(a: Any, b: Any) -> Any:
    return a and b


# Of functions with names, so that they can be pickled.
COUNTING = Semiring(operator.add, operator.mul, 1)
LONGEST = Semiring(max, operator.add, 0)
REACHABLE = Semiring(_either, _both, True)
MATRICES = Semiring(operator.add, operator.matmul, 1)


def sum_product(expr: Pointed, semiring: Semiring, weight: Callable[[Edge], Any]) -> PMap[Key, Any]:
    """For every node, the sum over all paths from it to the root of the product of their weights.

    ``m(root) = one`` and ``m(s) = sum over edges c -> s of m(c) * weight(c -> s)``, threaded through
    the reversed order: one multiplication an edge, however many paths there are. A weight or a product
    of None means that there is no edge; a node that nothing reaches is absent.
    (Stratos, *All of Backpropagation in Two Pages*, appendix F.2.)

    Counting paths from x to the root of a chain of squarings, where every step doubles them:

    >>> import funcgrad as fg
    >>> x = y = fg.var("x")
    >>> for _ in range(10):
    ...     y = y * y
    >>> sum_product(y, COUNTING, lambda edge: 1)[x]
    1024
    """
    from pyrsistent import pmap

    graph = nodes(expr)
    return pmap(path_sums(reversed(graph), semiring, _arcs(graph, weight)))


def path_sums(backward: Iterable[Key], semiring: Semiring, arcs: Arcs) -> dict[Key, Any]:
    """`sum_product` on a plain dict, over keys from the root on; ``arcs`` are asked for as it comes by."""
    sums: dict[Key, Any] = {}
    add, multiply, one = semiring
    for key in backward:
        if not sums:
            sums[key] = one
        if key in sums:
            above = sums[key]
            for parent, weight in arcs(key):
                term = multiply(above, weight)
                if term is not None:
                    sums[parent] = add(sums[parent], term) if parent in sums else term
    return sums


def _arcs(graph: Mapping[Key, Node], weight: Callable[[Edge], Any]) -> Arcs:
    def arcs(key: Key) -> list[tuple[Key, Any]]:
        node = graph[key]
        weights = [
            (parent, weight(Edge(key, place, parent, node)))
            for place, parent in enumerate(node.parents)
        ]
        return [arc for arc in weights if arc[1] is not None]

    return arcs


def sum_product_steps(
    expr: Pointed, semiring: Semiring, weight: Callable[[Edge], Any]
) -> Iterator[PMap[Key, Any]]:
    """`sum_product` as a scan: the persistent map before each step and after the last.

    The plain reduction over persistent maps, of which `sum_product` is the last element.
    """
    graph = nodes(expr)
    return path_sums_steps(list(reversed(graph)), semiring, _arcs(graph, weight))


def path_sums_steps(
    backward: Sequence[Key], semiring: Semiring, arcs: Arcs
) -> Iterator[PMap[Key, Any]]:
    """`path_sums` as a scan of persistent maps."""
    from pyrsistent import pmap
    from toolz import accumulate

    def step(sums: PMap[Key, Any], key: Key) -> PMap[Key, Any]:
        if key not in sums:
            return sums
        above = sums[key]
        for parent, weight in arcs(key):
            term = semiring.multiply(above, weight)
            if term is not None:
                sums = sums.set(
                    parent, semiring.add(sums[parent], term) if parent in sums else term
                )
        return sums

    start = pmap({backward[0]: semiring.one})
    steps: Iterator[PMap[Key, Any]] = accumulate(step, backward, start)
    return steps
