"""Folds over the topological order, forward or backward, for any operations.

Forward, ``fold`` gives each step of a program a value from its operands' values. Backward, ``sum_product``
gives each step the sum over all paths from it to the root of the product along the path, on any semiring.
Evaluation, printing and pushforward are forward folds; backpropagation, path counts and reachability
are backward ones.

`folded` is the forward fold that every pass of the package uses: it works by object identity, so nothing
is hashed, or by key (`folded_by_key`), so equal expressions are visited once. An operand may be left out
of the walk, and a result may be given beforehand.

The invariant: maps that come out are persistent, and an older one stays valid when a newer one is made.
Inside, a local dict stands for the map under construction; ``accumulate``d versions, which keep every
intermediate map, are the persistent originals and the oracle of the fast ones.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeAlias, TypeVar, overload

from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT, Key, Node, Operands, Pointed, Term, is_pointed, steps_of
from funcgrad.node_names import NamedKey, names_of
from funcgrad.source import type_error

if TYPE_CHECKING:
    from pyrsistent import PMap, PVector

T = TypeVar("T")
Item = TypeVar("Item")


# -- the walk ------------------------------------------------------------------------------------
def folded(
    roots: Sequence[Item],
    step: Callable[[Item, tuple[T, ...]], T],
    known: dict[Any, T] | None = None,
    operands: Operands | None = None,
    key: Callable[[Item], Any] = id,
) -> list[T]:
    """The result of each root: ``step(item, results of its operands)``, operands first, each item once.

    ``known`` has results by ``key``: items in it are not visited, and the results of this fold are added
    to it. ``operands`` gives the operands to visit, whose results ``step`` is given: all ``args`` if it is
    None. Items with the same ``key`` are one.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> folded([(x + 1) * x, x], lambda expr, depths: 1 + max(depths, default=0))
    [3, 1]
    """
    results: dict[Any, T] = {} if known is None else known
    stack: list[Any] = list(reversed(roots))
    pop = stack.pop
    while stack:
        item = pop()
        if item is None:  # above an item whose operands have results
            args, item = pop(), pop()
            if len(args) == 2:  # most have: a list would take half as long as the rest
                x, y = args
                results[key(item)] = step(item, (results[key(x)], results[key(y)]))
            else:
                results[key(item)] = step(item, tuple([results[key(arg)] for arg in args]))
        elif key(item) not in results:
            args = item.args if operands is None else operands(item)
            if args:
                stack += (item, args, None)
                stack += args[::-1]
            else:
                results[key(item)] = step(item, ())
    return [results[key(root)] for root in roots]


def folded_by_key(
    roots: Sequence[Item],
    step: Callable[[Item, tuple[T, ...]], T],
    known: dict[Key, T] | None = None,
    operands: Operands | None = None,
) -> list[T]:
    """`folded` by key, so that equal expressions are visited once: ``known`` has results by key."""
    return folded(roots, step, known, operands, operator.attrgetter("key"))


def reaches(
    roots: Iterable[Item],
    is_target: Callable[[Item], bool],
    operands: Callable[[Item], Iterable[Item]],
) -> bool:
    """Whether a search from the roots along operands, depth first, meets a target.

    >>> import funcgrad as fg
    >>> x, y = fg.vars("x y")
    >>> reaches([x * 2 + 1], lambda e: e is y, lambda e: e.args)
    False
    """
    stack, seen = list(roots), set[int]()
    while stack:
        item = stack.pop()
        if id(item) not in seen:
            if is_target(item):
                return True
            seen.add(id(item))
            stack += operands(item)
    return False


# -- the order -----------------------------------------------------------------------------------
NAMED_ORDERS = 10_000
"""The nodes of a program whose order has keys with names; more are not read."""


def toposort(expr: Pointed) -> PVector[Key]:
    """The canonical topological order: depth-first post-order, parents in
    argument order.

    Parents come before children, each node once, the root last. The order is a
    function of structure alone, never of a map's iteration. Keys print as the
    names of their nodes: a variable's, the one that `funcgrad.name` gave, or v
    and its place.

    As a fold: ``visit(order, key) = order if key in order else reduce(visit,
    parents(key), order) + key``. Recursion would end at a thousand nodes, so
    the reduction runs on an explicit stack here; the two lines above, on
    persistent values, are its oracle in the tests.

    Raises TypeError if ``expr`` has no graph or no key.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> y = x * x + x
    >>> toposort(y)
    pvector([x, v1, v2])
    >>> [y.graph[key].name for key in toposort(y)]
    ['x', 'multiply', 'add']
    """
    from pyrsistent import pvector

    with Paused():
        order = steps_of([expr], "toposort")
        if len(order) > NAMED_ORDERS:
            return pvector(order)
        return pvector([NamedKey(key, name) for key, name in names_of(expr).items()])


# -- algebras ------------------------------------------------------------------------------------
class Algebra(NamedTuple, Generic[T]):
    """The value of an input, of a constant, and of an operation given the values
    of its operands.

    Each function takes the expression (a `Node`, if the graph is no
    expression's): its ``op``, ``params`` and ``type``, a ``name``, the keys of
    its ``parents``, the ``value`` of a constant.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> depth = Algebra(lambda e: 0, lambda e: 0, lambda e, of: 1 + max(of))
    >>> fg.fold(x * x + x, depth)
    2
    """

    input: Callable[[Any], T]
    constant: Callable[[Any], T]
    op: Callable[[Any, tuple[T, ...]], T]


@overload
def fold(roots: Pointed, algebra: Algebra[T]) -> T: ...
@overload
def fold(roots: Sequence[Pointed], algebra: Algebra[T]) -> list[T]: ...
def fold(roots: Pointed | Sequence[Pointed], algebra: Algebra[T]) -> T | list[T]:
    """The value of a root, or of each of several, under ``algebra``: the forward
    fold.

    ``value(input) = algebra.input(expr)``,
    ``value(constant) = algebra.constant(expr)``,
    ``value(expr) = algebra.op(expr, values of operands)``; each expression
    once, in topological order.

    Raises TypeError if a root has no graph or no key, or if ``algebra`` is no
    `Algebra`.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> depth = Algebra(lambda e: 0, lambda e: 0, lambda e, of: 1 + max(of))
    >>> fold((x * x + 1) * x, depth)
    3
    >>> fold([x * x, x], depth)
    [1, 0]
    """
    if isinstance(roots, Sequence) and not is_pointed(roots):
        values = values_by_key(roots, algebra)
        return [values[root.key] for root in roots]
    root: Any = roots
    return values_by_key([root], algebra)[root.key]


def values_by_key(roots: Sequence[Pointed], algebra: Algebra[T], who: str = "fold") -> dict[Key, T]:
    """`environment` as a plain dict, in topological order."""
    _check_algebra(who, algebra)
    values: dict[Key, T] = {}
    for key, expr in steps_of(roots, who).items():
        values[key] = _become(algebra, expr, values)
    return values


def environment(expr: Pointed, algebra: Algebra[T]) -> PMap[Key, T]:
    """The value of every step of a program under ``algebra``, as a persistent
    map.

    Raises as `fold`.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> depth = fg.Algebra(lambda e: 0, lambda e: 0, lambda e, of: 1 + max(of))
    >>> fg.environment(x * x + x, depth)
    {x: 0, v1: 1, v2: 2}
    """
    from funcgrad.node_map import node_map

    return node_map(expr, values_by_key([expr], algebra, "environment"))


def environments(expr: Pointed, algebra: Algebra[T]) -> Iterator[PMap[Key, T]]:
    """The forward fold as a scan: the environment before each step and after the
    last.

    Raises as `fold`.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> depth = fg.Algebra(lambda e: 0, lambda e: 0, lambda e, of: 1 + max(of))
    >>> list(fg.environments(x * x, depth))
    [{}, {x: 0}, {x: 0, v1: 1}]
    """
    from toolz import accumulate

    from funcgrad.node_map import node_map

    _check_algebra("environments", algebra)
    program = steps_of([expr], "environments")

    def step(values: PMap[Key, T], key: Key) -> PMap[Key, T]:
        return values.set(key, _become(algebra, program[key], values))

    steps: Iterator[PMap[Key, T]] = accumulate(step, program, node_map(expr, {}))
    return steps


def _check_algebra(who: str, algebra: object) -> None:
    if not all(callable(getattr(algebra, part, None)) for part in Algebra._fields):
        raise type_error(
            f"{who}: expected an Algebra of three functions, but got "
            f"{type(algebra).__name__}; write Algebra(input, constant, op)",
        )


def _become(algebra: Algebra[T], expr: Node | Term, values: Mapping[Key, T]) -> T:
    """One step of the forward fold: the value of an expression, from those of its operands."""
    if expr.op is INPUT:
        return algebra.input(expr)
    if expr.op is CONSTANT:
        return algebra.constant(expr)
    return algebra.op(expr, tuple([values[parent] for parent in expr.parents]))


# -- sums over paths -----------------------------------------------------------------------------
class Edge(NamedTuple):
    """An arc of the graph, from a node (``child``) to one of its operands, by
    position (``parent``).

    ``node`` is the child: the expression, or the `Node` of a graph that is no
    expression's.

    >>> import funcgrad as fg
    >>> x, y = fg.vars("x y")
    >>> def places(edge):
    ...     return f"{edge.node.op.name} {edge.place}"
    >>> fg.sum_product(x * y, fg.Semiring(max, max, ""), places)
    {x: 'multiply 0', y: 'multiply 1', v2: ''}
    """

    child: Key
    place: int
    parent: Key
    node: Any


class Semiring(NamedTuple):
    """Addition, multiplication and its unit; multiplication need not commute.

    Zero is not needed: a node that no path reaches is absent.
    ``multiply(above, weight)`` has the sum from the root down to the child on
    its left, so that matrices are in the order of the chain rule.

    >>> LONGEST
    Semiring(max, add, one=0)
    """

    add: Callable[[Any, Any], Any]
    multiply: Callable[[Any, Any], Any]
    one: Any

    def __repr__(self) -> str:
        add, multiply = [getattr(f, "__name__", repr(f)).strip("_") for f in self[:2]]
        return f"Semiring({add}, {multiply}, one={self.one!r})"


Arcs: TypeAlias = "Callable[[Key], Iterable[tuple[Key, Any]]]"
"""The operands of a node that paths lead to, each with the weight of its arc."""


def _either(a: object, b: object) -> Any:
    return a or b


def _both(a: object, b: object) -> Any:
    return a and b


# Named functions can be pickled.
COUNTING = Semiring(operator.add, operator.mul, 1)
LONGEST = Semiring(max, operator.add, 0)
REACHABLE = Semiring(_either, _both, True)
MATRICES = Semiring(operator.add, operator.matmul, 1)


def sum_product(expr: Pointed, semiring: Semiring, weight: Callable[[Edge], Any]) -> PMap[Key, Any]:
    """For every node, the sum over all paths from it to the root of the product
    of their weights.

    ``m(root) = one`` and
    ``m(s) = sum over edges c -> s of m(c) * weight(c -> s)``, threaded through
    the reversed order: one multiplication an edge, however many paths there
    are. A weight or a product of None means that there is no edge; a node that
    nothing reaches is absent. (Stratos, *All of Backpropagation in Two Pages*,
    appendix F.2.)

    Counting paths from x to the root of a chain of squarings, where every step
    doubles them:

    Raises TypeError if ``expr`` has no graph or no key, ``semiring`` is no
    `Semiring`, or ``weight`` is no function.

    >>> import funcgrad as fg
    >>> x = y = fg.var("x")
    >>> for _ in range(10):
    ...     y = y * y
    >>> sum_product(y, COUNTING, lambda edge: 1)[x]
    1024
    """
    from funcgrad.node_map import node_map

    _check_semiring("sum_product", semiring)
    program = steps_of([expr], "sum_product")
    arcs = _arcs("sum_product", program, weight)
    return node_map(expr, path_sums(reversed(program), semiring, arcs))


def path_sums(
    backward: Iterable[Item], semiring: Semiring, arcs: Callable[[Item], Iterable[tuple[Item, Any]]]
) -> dict[Item, Any]:
    """`sum_product` on a plain dict, over keys or ids, root first; ``arcs(key)`` is called at each step."""
    sums: dict[Item, Any] = {}
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


def _check_semiring(who: str, semiring: object) -> None:
    if not isinstance(semiring, Semiring) or not all(map(callable, semiring[:2])):
        raise type_error(
            f"{who}: expected a Semiring, but got {type(semiring).__name__}; write "
            "Semiring(add, multiply, one), or COUNTING for the number of paths",
        )


def _arcs(who: str, program: Mapping[Key, Node | Term], weight: Callable[[Edge], Any]) -> Arcs:
    if not callable(weight):
        raise type_error(
            f"{who}: expected a function from edges to weights, but got {type(weight).__name__}; "
            f"write lambda edge: {weight!r}",
        )

    def arcs(key: Key) -> list[tuple[Key, Any]]:
        node = program[key]
        weights = [
            (parent, weight(Edge(key, place, parent, node)))
            for place, parent in enumerate(node.parents)
        ]
        return [arc for arc in weights if arc[1] is not None]

    return arcs


def sum_product_steps(
    expr: Pointed, semiring: Semiring, weight: Callable[[Edge], Any]
) -> Iterator[PMap[Key, Any]]:
    """`sum_product` as a scan: the persistent map before each step and after the
    last.

    The plain reduction over persistent maps, of which `sum_product` is the
    last element.

    Raises as `sum_product`.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> list(fg.sum_product_steps(x * x, fg.COUNTING, lambda edge: 1))
    [{v1: 1}, {x: 2, v1: 1}, {x: 2, v1: 1}]
    """
    from funcgrad.node_map import node_map

    _check_semiring("sum_product_steps", semiring)
    program = steps_of([expr], "sum_product_steps")
    arcs = _arcs("sum_product_steps", program, weight)
    start = node_map(expr, {expr.key: semiring.one})
    return path_sums_steps(list(reversed(program)), semiring, arcs, start)


def path_sums_steps(
    backward: Sequence[Key], semiring: Semiring, arcs: Arcs, start: PMap[Key, Any]
) -> Iterator[PMap[Key, Any]]:
    """`path_sums` as a scan of persistent maps from ``start``, which has the root's sum."""
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

    steps: Iterator[PMap[Key, Any]] = accumulate(step, backward, start)
    return steps
