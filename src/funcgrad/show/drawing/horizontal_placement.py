"""Horizontal coordinate assignment: long edges are straight, and boxes do not overlap.

After Brandes and Köpf, *Fast and simple horizontal coordinate assignment* (2001). Points are aligned with
the medians of their neighbors into vertical blocks, in four ways: from above or below, leaning left or
right; blocks are packed; and each point takes the mean of the two middle ones of its four places, so that
all gaps hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Layers = Sequence[Sequence[int]]
Near = Sequence[Sequence[int]]


def horizontal_places(
    layers: Layers, up: Near, down: Near, widths: Sequence[float], bends: Sequence[bool], gap: float
) -> list[float]:
    """The x of each point, with ``gap`` at least between the points of a layer.

    ``up`` and ``down`` are the neighbors of each point in the layers above and below; ``bends`` tells which
    points are parts of a long edge, which is kept straight where possible.

    >>> horizontal_places(
    ...     [[0, 1], [2]], [[], [], [0, 1]], [[2], [2], []], [10.0] * 3, [False] * 3, 10.0
    ... )
    [0.0, 20.0, 10.0]
    """
    crossed = _crossed(layers, up, bends)
    plans = []
    upward = layers[::-1]
    for near, rows in ((up, layers), (down, upward)):
        for leaning in (1, -1):
            ordered = [row if leaning > 0 else list(reversed(row)) for row in rows]
            roots = _aligned(ordered, near, crossed)
            xs = _packed(ordered, roots, widths, gap)
            plans.append([leaning * x for x in xs])
    xs = _balanced(plans, widths)
    for rows in (layers, upward) * 2:
        _shift_into_line(rows, up, down, widths, bends, gap, xs)
    return xs


def _shift_into_line(
    rows: Layers,
    up: Near,
    down: Near,
    widths: Sequence[float],
    bends: Sequence[bool],
    gap: float,
    xs: list[float],
) -> None:
    """Move nodes to the mean of their neighbors as far as there is room beside the others of the layer."""
    for row in rows:
        for k, point in enumerate(row):
            near = [*up[point], *down[point]]
            if bends[point] or not near:
                continue
            x = sum([xs[q] for q in near]) / len(near)
            if k + 1 < len(row):
                x = min(x, xs[row[k + 1]] - (widths[point] + widths[row[k + 1]]) / 2 - gap)
            if k:
                x = max(x, xs[row[k - 1]] + (widths[point] + widths[row[k - 1]]) / 2 + gap)
            xs[point] = x


def _crossed(layers: Layers, up: Near, bends: Sequence[bool]) -> set[tuple[int, int]]:
    """The edges, either way round, that cross a straight part of a long edge: they are not aligned."""
    found: set[tuple[int, int]] = set()
    for above, below in pairwise(layers):
        at = {point: k for k, point in enumerate(above)}
        left, waiting = 0, []
        for place, point in enumerate(below):
            waiting.append(point)
            inner = [at[q] for q in up[point] if bends[point] and bends[q]]
            if not inner and place < len(below) - 1:
                continue
            right = inner[0] if inner else len(above) - 1
            for lower in waiting:
                for q in up[lower]:
                    if not left <= at[q] <= right:
                        found |= {(q, lower), (lower, q)}
            left, waiting = right, []
    return found


def _aligned(rows: Layers, near: Near, crossed: set[tuple[int, int]]) -> list[int]:
    """The first point of the block of each point, the rows being visited from the first."""
    roots = list(range(len(near)))
    for before, row in pairwise(rows):
        at = {point: k for k, point in enumerate(before)}
        last = -1
        for point in row:
            places = sorted([at[q] for q in near[point]])
            middle = len(places)
            for place in dict.fromkeys(places[(middle - 1) // 2 : middle // 2 + 1]):
                if last < place and (before[place], point) not in crossed:
                    roots[point] = roots[before[place]]
                    last = place
                    break
    return roots


def _packed(rows: Layers, roots: Sequence[int], widths: Sequence[float], gap: float) -> list[float]:
    """The x of each point, of blocks packed to the left and then as far right as their neighbors let them."""
    rooms: dict[int, dict[int, float]] = {root: {} for root in roots}
    waits = dict.fromkeys(rooms, 0)
    for row in rows:
        for a, b in pairwise(row):
            right = rooms[roots[a]]
            waits[roots[b]] += roots[b] not in right
            right[roots[b]] = max(right.get(roots[b], 0.0), (widths[a] + widths[b]) / 2 + gap)
    xs = dict.fromkeys(rooms, 0.0)
    order = [root for root, count in waits.items() if not count]
    for root in order:  # grows while it is read
        for other, room in rooms[root].items():
            xs[other] = max(xs[other], xs[root] + room)
            waits[other] -= 1
            if not waits[other]:
                order.append(other)
    for root in reversed(order):
        if rooms[root]:
            xs[root] = min([xs[other] - room for other, room in rooms[root].items()])
    return [xs[root] for root in roots]


def _balanced(plans: Sequence[Sequence[float]], widths: Sequence[float]) -> list[float]:
    """The mean of the middle two of four places, the plans being shifted onto the narrowest."""
    edges = []
    for xs in plans:
        left = min([x - w / 2 for x, w in zip(xs, widths, strict=True)])
        edges.append((left, max([x + w / 2 for x, w in zip(xs, widths, strict=True)])))
    low, high = min(edges, key=lambda edge: edge[1] - edge[0])
    shifts = [high - right if k % 2 else low - left for k, (left, right) in enumerate(edges)]
    result = []
    for places in zip(*plans, strict=True):
        _, a, b, _ = sorted([x + shift for x, shift in zip(places, shifts, strict=True)])
        result.append((a + b) / 2)
    return result
