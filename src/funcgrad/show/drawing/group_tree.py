"""Groups within groups: `fold_nodes` applied to the members of each group that it found.

A group that is unfolded has about `MOST_BOXES` boxes at most, at every depth.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from funcgrad.expr import Expr
from funcgrad.show.drawing.folding import MOST_BOXES, Group, fold_nodes

MOST_BLOCKS = 20  # repetitions of a block that stand side by side; of more, groups of them


class TreeGroup(NamedTuple):
    """A group: what it is called, and the group around it, -1 if none."""

    title: str
    parent: int


class GroupTree(NamedTuple):
    """The groups, those around others first, and the innermost group of each node, -1 if none."""

    groups: list[TreeGroup]
    of_node: list[int]


def group_tree(nodes: Sequence[Expr]) -> GroupTree:
    """The groups of a program's nodes, which come in canonical order.

    >>> import funcgrad as fg
    >>> from funcgrad.show.naming import distinct
    >>> y = fg.var("x")
    >>> for _ in range(40):
    ...     y = fg.sin(y) + fg.exp(y)
    >>> tree = group_tree(distinct(y, "fold"))
    >>> [(group.title, group.parent) for group in tree.groups[:4]]
    [('39 times sin, exp, +', -1), ('1 to 20', 0), ('21 to 39', 0), ('1 of 39', 1)]
    """
    tree = GroupTree([], [-1] * len(nodes))
    waiting = deque([(tuple(range(len(nodes))), -1)])
    while waiting:
        members, parent = waiting.popleft()
        for group in fold_nodes([nodes[i] for i in members]).groups:
            if group.kind == "node" or len(group.members) == len(members):
                continue
            inner = tuple([members[k] for k in group.members])
            own = _added(tree, f"{group.title} {group.detail}".strip(), parent, inner)
            parts = _blocks(tree, nodes, group, inner, own) if group.times > 1 else [(inner, own)]
            waiting += [(part, at) for part, at in parts if len(part) > MOST_BOXES]
    return tree


def _added(tree: GroupTree, title: str, parent: int, members: Sequence[int]) -> int:
    """The place of a new group, which is now that of its members."""
    tree.groups.append(TreeGroup(title, parent))
    for i in members:
        tree.of_node[i] = len(tree.groups) - 1
    return len(tree.groups) - 1


def _blocks(
    tree: GroupTree, nodes: Sequence[Expr], group: Group, members: Sequence[int], own: int
) -> Iterator[tuple[tuple[int, ...], int]]:
    """The blocks of a repetition as groups, if each has several operations: members and place."""
    operations = [i for i in members if nodes[i].args]
    size = len(operations) // group.times
    if size < 2 or size * group.times != len(operations):
        return
    stretches = range(0, group.times, MOST_BLOCKS) if group.times > MOST_BLOCKS else [0]
    length = MOST_BLOCKS if group.times > MOST_BLOCKS else group.times
    around = {}
    for first in stretches:
        last = min(first + length, group.times)
        within = operations[first * size : last * size]
        title = f"{first + 1} to {last}"
        around[first] = _added(tree, title, own, within) if len(stretches) > 1 else own
    for k in range(group.times):
        block = tuple(operations[k * size : (k + 1) * size])
        parent = around[k - k % length]
        yield block, _added(tree, f"{k + 1} of {group.times}", parent, block)
