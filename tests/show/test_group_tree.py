"""Groups within groups: every node in one, each shown in few boxes."""

from collections import Counter

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.show.drawing.folding import MOST_BOXES
from funcgrad.show.drawing.group_tree import group_tree
from funcgrad.show.naming import distinct
from tests.default_slice import one_in
from tests.show.test_folding import LARGE

X, Y = fg.vars("x y")


def unrolled(count):
    expr = X
    for _ in range(count):
        expr = np.sin(expr) * Y + np.exp(-expr)
    return distinct(expr, "test")


@pytest.mark.parametrize("count", [1, 5, 40, 400])
def test_each_level_has_few_boxes_and_parents_come_first(count):
    nodes = unrolled(count)
    tree = group_tree(nodes)
    assert len(tree.of_node) == len(nodes)
    assert all(-1 <= group.parent < i for i, group in enumerate(tree.groups))
    boxes = Counter(group.parent for group in tree.groups)
    boxes.update(at for at, node in zip(tree.of_node, nodes, strict=True) if node.args)
    assert max(boxes.values()) <= MOST_BOXES


def test_a_small_program_has_no_groups():
    assert group_tree(unrolled(5)) == ([], [-1] * 27)


def test_the_blocks_of_a_repetition_are_groups_of_their_own():
    nodes = unrolled(40)
    tree = group_tree(nodes)
    blocks = [i for i, group in enumerate(tree.groups) if " of " in group.title]
    sizes = Counter(tree.of_node)
    assert {sizes[block] for block in blocks} == {5}
    assert tree.groups[blocks[0]].title == f"1 of {len(blocks)}"


@pytest.mark.parametrize("name", one_in(3, LARGE))
def test_groups_within_groups_are_few_and_not_deep(name):
    tree = group_tree(distinct(LARGE[name], "test"))
    depth: list[int] = []
    for group in tree.groups:
        depth.append(1 + (depth[group.parent] if group.parent >= 0 else 0))
    assert max(depth, default=0) <= 8
    assert len(tree.groups) <= len(tree.of_node) / 2
