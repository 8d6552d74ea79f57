"""Groups of nodes that a drawing shows as one box, so that a program of 2,000 nodes can be read.

A group is a stretch of the canonical order, so the graph of groups is acyclic, too. Stretches are found
in three ways, each used only if the drawing is still too large: a block of operations that repeats, as in
an unrolled loop; the nodes that one call of a user's function made; and, last, parts of about equal size
that are cut where few values are still in use. Folding changes no program: a group is a view of its nodes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT
from funcgrad.show.naming import places

MOST_BOXES = 50
"""The boxes that a reader can take in; larger graphs are folded."""
FEWEST_TIMES = 3  # that a block must repeat
LONGEST_PERIOD = 1000  # operations of a block that repeats
NEAREST = 8  # operands at most this far up the order must agree between repetitions
FEWEST_IN_GROUP = 3  # operations of a call, and inputs with the same users, that are worth a box
KINDS_NAMED = 3  # kinds of operation that a group names

GroupKind: TypeAlias = Literal["node", "repetition", "call", "part", "inputs"]


class Group(NamedTuple):
    """Nodes that are drawn as one box.

    ``members`` are their places in the canonical order; a ``node`` has one. ``title`` says what they are,
    and ``detail`` which operations. The block of a ``repetition`` occurs ``times`` times.
    """

    kind: GroupKind
    title: str
    detail: str
    members: tuple[int, ...]
    times: int = 1


class Folding(NamedTuple):
    """The groups of a drawing in topological order, and for each the groups that it takes operands of."""

    groups: tuple[Group, ...]
    parents: tuple[tuple[int, ...], ...]


def fold_nodes(nodes: Sequence[Expr], most: int | None = MOST_BOXES) -> Folding:
    """The groups that a drawing of ``nodes``, in canonical order, shows: at most about ``most``.

    No more is folded than it takes, and with ``most`` None nothing. To unfold a group, fold its members.

    >>> import funcgrad as fg
    >>> from funcgrad.show.naming import distinct
    >>> y = fg.var("x")
    >>> for _ in range(40):
    ...     y = fg.sin(y) + fg.exp(y)
    >>> for group in fold_nodes(distinct(y, "fold")).groups:
    ...     print(group.kind, group.title, group.detail, len(group.members))
    node x  1
    node sin  1
    node exp  1
    node add  1
    repetition 39 times sin, exp, + 117
    """
    graph = _graph(nodes)
    stretches = [_Stretch(k, k + 1) for k in range(len(graph.operations))]
    folding = _folding(graph, stretches, most)
    for find in (_repetitions, _calls, _parts):
        if most is None or len(folding.groups) <= most:
            break
        found = list(find(graph, stretches, most))
        stretches, folding = _with_fewest(graph, stretches, found, most)
    return folding


class _Stretch(NamedTuple):
    """Consecutive operations, by their ranks among the operations."""

    start: int
    stop: int
    kind: GroupKind = "node"
    title: str = ""
    times: int = 1


class _Graph(NamedTuple):
    """Nodes by place: operands and users; the operations, and how many values are in use before each."""

    nodes: Sequence[Expr]
    args: list[tuple[int, ...]]
    users: list[list[int]]
    operations: list[int]
    rank: dict[int, int]
    live: list[int]


def _graph(nodes: Sequence[Expr]) -> _Graph:
    place = places(list(nodes))
    args = [tuple([place[a.key] for a in e.args if a.key in place]) for e in nodes]
    users: list[list[int]] = [[] for _ in nodes]
    for i, of in enumerate(args):
        for p in dict.fromkeys(of):
            users[p].append(i)
    operations = [i for i, e in enumerate(nodes) if e.args]
    rank = {i: k for k, i in enumerate(operations)}
    change = [0] * (len(operations) + 2)
    for i, k in rank.items():
        change[k + 1] += 1
        change[rank[users[i][-1]] + 1 if users[i] else k + 1] -= 1
    return _Graph(nodes, args, users, operations, rank, list(accumulate(change)))


# -- stretches -----------------------------------------------------------------------------------
def _repetitions(graph: _Graph, stretches: list[_Stretch], most: int) -> Iterator[_Stretch]:
    """Blocks that repeat, without overlap, those that save most first."""
    taken = np.zeros(len(graph.operations), bool)
    for start, length, period in _runs(_tokens(graph)):
        if taken[start : start + length].any():
            continue
        first, times = _best_rotation(graph.live[start : start + length], period)
        stop = start + first + times * period
        taken[start + first : stop] = True
        yield _Stretch(start + first, stop, "repetition", f"{times} times", times)


def _best_rotation(live: list[int], period: int) -> tuple[int, int]:
    """Where the first block begins, so that few values are in use between blocks, and how many follow."""
    shifts = range(min(period, len(live) - FEWEST_TIMES * period + 1))
    times = [(len(live) - shift) // period for shift in shifts]
    first = min(shifts, key=lambda shift: (live[shift], -times[shift], shift))
    return first, times[first]


def _tokens(graph: _Graph) -> Any:
    """A number for each operation: equal if operation, type and nearby operands are."""
    numbers: dict[Any, int] = {}
    found = []
    for k, i in enumerate(graph.operations):
        e = graph.nodes[i]
        near = [min(k - graph.rank[p], NEAREST) if p in graph.rank else 0 for p in graph.args[i]]
        found.append(numbers.setdefault((e.op.name, e.type, *near), len(numbers)))
    return np.array(found)


def _runs(tokens: Sequence[object]) -> list[tuple[int, int, int]]:
    """Start, length and period of stretches that consist of repetitions, those that save most first."""
    found = []
    for period in range(1, min(len(tokens) // 2, LONGEST_PERIOD) + 1):
        equal = np.concatenate([[False], tokens[:-period] == tokens[period:], [False]])
        starts, stops = np.flatnonzero(equal[1:] != equal[:-1]).reshape(-1, 2).T
        long = (stops - starts) >= (FEWEST_TIMES - 1) * period
        for start, stop in zip(starts[long].tolist(), stops[long].tolist(), strict=True):
            found.append((start, stop - start + period, period))
    return sorted(found, key=lambda run: (run[2] - run[1], run[2], run[0]))


def _calls(graph: _Graph, stretches: list[_Stretch], most: int) -> Iterator[_Stretch]:
    """Consecutive nodes that one function of the user's made, if others made the rest; longest first."""
    names = [_function(graph, stretch) for stretch in stretches]
    if len(set(names)) < 2:
        return
    found = []
    for name, run in groupby(zip(names, stretches, strict=True), key=lambda pair: pair[0]):
        of = [stretch for _, stretch in run]
        if name and len(of) >= FEWEST_IN_GROUP:
            found.append(_Stretch(of[0].start, of[-1].stop, "call", name))
    yield from sorted(found, key=lambda s: (s.start - s.stop, s.start))


def _function(graph: _Graph, stretch: _Stretch) -> str:
    """The name of the function that made all nodes of a stretch; empty if there is no such function."""
    sources = [graph.nodes[i].source for i in graph.operations[stretch.start : stretch.stop]]
    names = {source[0].co_name if source else "" for source in sources}
    name = names.pop()
    return "" if names or name.startswith("<") else name


def _parts(graph: _Graph, stretches: list[_Stretch], most: int) -> Iterator[_Stretch]:
    """Parts of about equal size, cut where few values are in use."""
    size = max(2, -(-2 * len(stretches) // most))
    start = 0
    while start < len(stretches):
        middle = start + size
        ends = range(start + size // 2 + 1, min(start + size + size // 2, len(stretches)) + 1)
        cuts = [(graph.live[stretches[end - 1].stop], abs(end - middle), end) for end in ends]
        stop = min(cuts)[2] if cuts else len(stretches)
        if stop - start > 1:
            yield _Stretch(stretches[start].start, stretches[stop - 1].stop, "part")
        start = stop


def _with_fewest(
    graph: _Graph, stretches: list[_Stretch], found: list[_Stretch], most: int
) -> tuple[list[_Stretch], Folding]:
    """The stretches with the first few of those found, as many as it takes to draw at most ``most``."""

    def with_first(count: int) -> list[_Stretch]:
        return _replaced(stretches, sorted(found[:count]))

    def drawn(count: int) -> int:
        return -len(_folding(graph, with_first(count), most).groups)

    count = min(bisect_left(range(len(found) + 1), -most, key=drawn), len(found))
    chosen = with_first(count)
    return chosen, _folding(graph, chosen, most)


def _replaced(stretches: list[_Stretch], found: list[_Stretch]) -> list[_Stretch]:
    """The stretches, those within one that was found replaced by it."""
    result: list[_Stretch] = []
    rest = iter(found)
    following = next(rest, None)
    for stretch in stretches:
        while following is not None and following.stop <= stretch.start:
            following = next(rest, None)
        if following is None or stretch.start < following.start:
            result.append(stretch)
        elif not result or result[-1] is not following:
            result.append(following)
    return result


# -- groups --------------------------------------------------------------------------------------
def _folding(graph: _Graph, stretches: list[_Stretch], most: int | None) -> Folding:
    """The groups of operations, and of the inputs and constants that they use."""
    home: dict[int, int] = {}  # from a node's place to the place that stands for its group
    members: dict[int, list[int]] = {}
    kinds: dict[int, _Stretch] = {}
    for stretch in stretches:
        of = graph.operations[stretch.start : stretch.stop]
        home.update(dict.fromkeys(of, of[0]))
        members[of[0]], kinds[of[0]] = list(of), stretch
    leaves = [i for i, e in enumerate(graph.nodes) if not e.args]
    alone = []
    for i in leaves:
        used_in = dict.fromkeys([home[user] for user in graph.users[i]])
        within = [k for k in used_in if kinds[k].kind != "node"]
        is_constant = graph.nodes[i].op is CONSTANT
        if within and len(within) == len(used_in) and (is_constant or len(within) == 1):
            home[i] = within[0]
            members[within[0]].append(i)
        else:
            alone.append((i, tuple(used_in)))
    order: list[tuple[int, int, int]] = [(k, 1, k) for k in kinds]
    few = most is None or len(alone) <= most // 2
    for of, users in [([i], users) for i, users in alone] if few else _by_users(alone):
        home.update(dict.fromkeys(of, of[0]))
        members[of[0]] = of
        order.append((min([of[0], *users]), 0, of[0]))
    heads = [head for _, _, head in sorted(order)]
    number = {head: k for k, head in enumerate(heads)}
    groups = [_group(graph, sorted(members[head]), kinds.get(head)) for head in heads]
    parents = []
    for head in heads:
        operands = [p for i in sorted(members[head]) for p in graph.args[i]]
        if kinds.get(head, _Stretch(0, 0)).kind != "node":
            outside = [home[p] for p in operands if graph.nodes[p].op is not CONSTANT]
            operands = [p for p in dict.fromkeys(outside) if p != head]
        parents.append(tuple([number[home[p]] for p in operands]))
    return Folding(tuple(groups), tuple(parents))


def _by_users(
    alone: list[tuple[int, tuple[int, ...]]],
) -> Iterable[tuple[list[int], tuple[int, ...]]]:
    """Inputs with the same users together, if they are many."""
    found: dict[tuple[int, ...], list[int]] = {}
    for i, users in alone:
        found.setdefault(users, []).append(i)
    for users, of in found.items():
        yield from [(of, users)] if len(of) >= FEWEST_IN_GROUP else [([i], users) for i in of]


def _group(graph: _Graph, members: list[int], stretch: _Stretch | None) -> Group:
    if len(members) == 1:
        e = graph.nodes[members[0]]
        return Group("node", e.name, "", tuple(members))
    inside = [i for i in members if graph.args[i]]
    if stretch is None or not inside:
        names = [graph.nodes[i].name for i in members]
        return Group(
            "inputs", f"{len(members)} inputs", f"{names[0]} … {names[-1]}", tuple(members)
        )
    block = inside[: len(inside) // stretch.times]
    title = stretch.title or f"{len(inside)} operations"
    return Group(
        stretch.kind,
        title,
        _operations([graph.nodes[i] for i in block]),
        tuple(members),
        stretch.times,
    )


def _operations(nodes: Iterable[Expr]) -> str:
    """The operations that occur, the most frequent first: ``12 *, 11 +, tanh``."""
    counts = Counter([e.op.infix.symbol if e.op.infix else e.op.name for e in nodes])
    named = [f"{n} {name}" if n > 1 else name for name, n in counts.most_common(KINDS_NAMED)]
    return ", ".join([*named, *(["…"] if len(counts) > KINDS_NAMED else [])])
