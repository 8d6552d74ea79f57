"""Tall drawings in columns: the shape of a page, nothing on top of anything else, every edge connected."""

import itertools
import re
from itertools import pairwise

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.show.drawing.column_layout import TALLEST, in_columns
from funcgrad.show.drawing.layered_layout import arrange
from tests.default_slice import one_in
from tests.show.test_layered_layout import is_clear, random_graph

BOX = (60.0, 40.0)


def chain(size, skip=0):
    """Each node uses the one before, and one ``skip`` nodes before that."""
    return [
        tuple([p for p in (i - 1, i - 1 - skip) if p >= 0][: 2 if skip else 1]) for i in range(size)
    ]


def hits(a, b, center, size):
    """Whether a line from ``a`` to ``b``, upright or level, passes the inside of a box."""
    (x, y), (w, h) = center, size
    return (
        max(min(a[0], b[0]), x - w / 2 + 0.1) < min(max(a[0], b[0]), x + w / 2 - 0.1)
        or (a[0] == b[0] and abs(a[0] - x) < w / 2 - 0.1)
    ) and (
        max(min(a[1], b[1]), y - h / 2 + 0.1) < min(max(a[1], b[1]), y + h / 2 - 0.1)
        or (a[1] == b[1] and abs(a[1] - y) < h / 2 - 0.1)
    )


@pytest.mark.parametrize("skip", [0, 1, 4])
@pytest.mark.parametrize("size", [30, 50, 200])
def test_a_chain_has_the_shape_of_a_page(size, skip):
    sizes = [BOX] * size
    plan = arrange(chain(size, skip), sizes)
    tall = in_columns(plan, sizes)
    assert plan.height > 3 * plan.width
    assert 0.5 < tall.height / tall.width < 2
    assert is_clear(list(zip(tall.centers, sizes, strict=True)))
    for (x, y), (w, h) in zip(tall.centers, sizes, strict=True):
        assert w / 2 <= x <= tall.width - w / 2
        assert h / 2 <= y <= tall.height - h / 2
    for route in tall.routes:
        assert all(0 < x < tall.width and 0 < y < tall.height for x, y in route)


@pytest.mark.parametrize(
    ("with_texts", "seed"), one_in(3, itertools.product([False, True], range(6)))
)
def test_boxes_and_texts_are_disjoint_and_edges_end_at_their_nodes(seed, with_texts):
    _, sizes, texts = random_graph(80, seed, most=2)
    parents = chain(80, seed)
    edges = [(p, i) for i, of in enumerate(parents) for p in of]
    texts = [texts[k % 50] if with_texts else None for k in range(len(edges))]
    plan = arrange(parents, sizes, texts)
    tall = in_columns(plan, sizes, texts)
    assert tall.height < plan.height
    written = [(at, size) for at, size in zip(tall.texts, texts, strict=True) if at]
    boxes = [*zip(tall.centers, sizes, strict=True), *written]
    assert is_clear(boxes)
    for (p, i), route in zip(edges, tall.routes, strict=True):
        (x, y), (a, b) = tall.centers[p], tall.centers[i]
        assert route[0] == pytest.approx((x, y + sizes[p][1] / 2))
        assert abs(route[-1][0] - a) <= sizes[i][0] / 2
        assert route[-1][1] == pytest.approx(b - sizes[i][1] / 2)
        # In the gutters and around the columns, no edge runs over a box.
        for start, end in pairwise(route):
            if start[1] == end[1] or end[1] < start[1]:
                assert not any(hits(start, end, *box) for box in boxes)


def test_what_is_not_tall_or_cannot_be_cut_stays_as_it_is():
    for parents in (chain(10), [(), *[(0,)] * 30]):
        plan = arrange(parents, [BOX] * len(parents))
        assert plan.height < TALLEST
        assert in_columns(plan, [BOX] * len(parents)) is plan
    strands = [tuple([i - 8] if i >= 8 else []) for i in range(8 * 60)]  # eight edges pass each gap
    plan = arrange(strands, [BOX] * len(strands))
    assert plan.height > 2 * plan.width
    assert in_columns(plan, [BOX] * len(strands)) is plan


@pytest.mark.parametrize("direction", ["down", "right"])
def test_a_picture_of_a_chain_fits_on_a_page(direction):
    y = fg.var("x")
    for k in range(49):
        y = (np.sin, np.exp, np.tanh, np.cos, np.arctan)[k % 5](y)
    svg = fg.to_svg(y, x=0.5, direction=direction)
    width, height = map(int, re.search(r'width="(\d+)" height="(\d+)"', svg).groups())
    assert 0.5 < height / width < 2
    assert max(width, height) < 1600
