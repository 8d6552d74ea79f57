"""The layout of a tall drawing in columns, which are read from left to right.

A drawing is cut between its layers, where few edges pass, and the pieces stand side by side. An edge that
passes a cut goes through the gutter to the right of its column, and enters the next column from above.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import pairwise

from funcgrad.show.drawing.layered_layout import MARGIN, Layout, Point, Size

TALLEST = 1400.0  # pixels of a drawing in one column
SLIMMEST = 2.0  # times its width that a drawing in one column may be high if it is that tall
SHAPE = 1.2  # the height of a drawing in columns to its width, about
REACH = 0.25  # of a column's height by which it may be shorter or longer for a better cut
MOST_PASSING = 6  # edges of different nodes that pass a cut
LANE = 7.0  # between edges side by side in a gutter


def in_columns(plan: Layout, sizes: Sequence[Size], texts: Sequence[Size | None] = ()) -> Layout:
    """The layout in as many columns as give it the shape of a page; itself if it is not tall.

    ``sizes`` are those of the nodes, and ``texts`` those of the texts of edges, as `arrange` took them.

    >>> from funcgrad.show.drawing.layered_layout import arrange
    >>> sizes = [(60.0, 40.0)] * 50
    >>> chain = arrange([(), *[(i,) for i in range(49)]], sizes)
    >>> tall = in_columns(chain, sizes)
    >>> (chain.width, chain.height), (tall.width, round(tall.height))
    ((88.0, 3694.0), (563.0, 708))
    """
    texts = list(texts) or [None] * len(plan.texts)
    if plan.height <= max(TALLEST, SLIMMEST * plan.width):
        return plan
    boxes = [
        *zip(plan.centers, sizes, strict=True),
        *[(at, size) for at, size in zip(plan.texts, texts, strict=True) if at and size],
    ]
    cuts = _cuts(plan, boxes)
    if not cuts:
        return plan
    gutters = [_lanes(plan, cut) for cut in cuts]
    # The room for edges above and below columns.
    sides = LANE * max([len(lanes) for lanes in gutters])
    head = MARGIN + sides
    shifts, rights, right = [], [], 0.0
    for k, (low, high) in enumerate(_extents(plan, boxes, cuts)):
        left = right + MARGIN + (LANE * len(gutters[k - 1]) if k else 0.0)
        right = left + high - low + MARGIN
        shifts.append((left - low, head - (cuts[k - 1] if k else MARGIN)))
        rights.append(right)
    bottoms = [cut + shifts[k][1] for k, cut in enumerate(cuts)]

    def moved(at: Point) -> Point:
        dx, dy = shifts[bisect(cuts, at[1])]
        return at[0] + dx, at[1] + dy

    def rerouted(route: Sequence[Point]) -> Iterator[Point]:
        yield moved(route[0])
        for before, point in pairwise(route):
            for k in range(bisect(cuts, before[1]), bisect(cuts, point[1])):
                lane = gutters[k].index(route[0])
                out = bottoms[k] + LANE * (lane + 1)
                into = head - LANE * (len(gutters[k]) - lane)
                gutter = rights[k] + LANE * lane
                yield before[0] + shifts[k][0], out
                yield gutter, out
                yield gutter, into
                yield point[0] + shifts[k + 1][0], into
            yield moved(point)

    height = max([*bottoms, plan.height - MARGIN + shifts[-1][1]])
    return Layout(
        [moved(at) for at in plan.centers],
        [list(rerouted(route)) for route in plan.routes],
        [at and moved(at) for at in plan.texts],
        rights[-1],
        height + sides + MARGIN,
    )


def _cuts(plan: Layout, boxes: Sequence[tuple[Point, Size]]) -> list[float]:
    """Heights between layers that cut a drawing into columns of about equal height, where few edges pass."""
    columns = math.ceil(math.sqrt(plan.height / (SHAPE * (plan.width + MARGIN))))
    passing = {gap: len(_lanes(plan, gap)) for gap in _gaps(boxes)}
    length = plan.height / columns
    cuts = []
    for k in range(1, columns):
        near = [
            (count, abs(gap - k * length), gap)
            for gap, count in passing.items()
            if abs(gap - k * length) < REACH * length and count <= MOST_PASSING
        ]
        cuts += [min(near)[2]] if near else []
    return cuts


def _gaps(boxes: Sequence[tuple[Point, Size]]) -> Iterator[float]:
    """The middles of the gaps between layers: heights at which there is no box."""
    bottom = math.inf
    for top, below in sorted([(y - h / 2, y + h / 2) for (_, y), (_, h) in boxes]):
        if top > bottom:
            yield (top + bottom) / 2
        bottom = below if bottom == math.inf else max(bottom, below)


def _lanes(plan: Layout, cut: float) -> list[Point]:
    """Where the edges begin that pass a cut, from the right: the order in which they reach the gutter."""
    at: dict[Point, float] = {}
    for route in plan.routes:
        if route[0][1] < cut < route[-1][1]:
            at[route[0]] = next(a[0] for a, b in pairwise(route) if a[1] < cut <= b[1])
    return sorted(at, key=at.__getitem__, reverse=True)


def _extents(
    plan: Layout, boxes: Sequence[tuple[Point, Size]], cuts: Sequence[float]
) -> list[tuple[float, float]]:
    """The left and the right end of each column."""
    xs: list[list[float]] = [[] for _ in range(len(cuts) + 1)]
    for (x, y), (width, _) in boxes:
        xs[bisect(cuts, y)] += [x - width / 2, x + width / 2]
    for route in plan.routes:
        for x, y in route:
            xs[bisect(cuts, y)].append(x)
    return [(min(of), max(of)) for of in xs]
