"""Layered graph layout: operands above their users, few crossings, straight edges.

The method is Sugiyama's: layers by longest paths (`arrange`), an order in each with few crossings
(`layer_order`), and places that keep long edges straight (`horizontal_placement`). An edge that passes
layers has a point in each; the text of an edge is such a point that has a size, so texts and nodes never
overlap. It knows positions and sizes, and nothing of programs. It takes time linear in the points, but for
logarithms.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from funcgrad.fold import folded
from funcgrad.show.drawing.horizontal_placement import horizontal_places
from funcgrad.show.drawing.layer_order import ordered_layers

Point: TypeAlias = tuple[float, float]
Size: TypeAlias = tuple[float, float]

GAP_X, GAP_Y, MARGIN = 18.0, 34.0, 14.0
TEXT_GAP = 16.0  # between a node and the text of an edge
BEND = 4.0  # the width kept free for an edge that passes a layer
STEEPEST = 0.07  # of the horizontal way of an edge that is added to the gap that it crosses
CLOSEST = 1e-3  # points of an edge are at least this far apart
PORT = 14.0  # between the tips of edges at a node, at most


class Layout(NamedTuple):
    """The center of each node, the points of each edge (operand first), the center of its text, the size."""

    centers: list[Point]
    routes: list[list[Point]]
    texts: list[Point | None]
    width: float
    height: float


def arrange(
    parents: Sequence[tuple[int, ...]],
    sizes: Sequence[Size],
    texts: Sequence[Size | None] = (),
    ordered: Collection[int] = (),
) -> Layout:
    """A layout of a graph whose nodes come in topological order, operands above their users.

    ``texts`` has the size of the text of each edge, or None, in the order of ``parents``. At nodes that are
    ``ordered``, edges arrive in the order of operands, from left to right; at others without crossings.

    >>> plan = arrange([(), (0,), (1, 0)], [(40.0, 20.0)] * 3)
    >>> [y for x, y in plan.centers]
    [24.0, 79.4, 134.8]
    """
    edges = [(p, i) for i, of in enumerate(parents) for p in of]
    texts = list(texts) or [None] * len(edges)
    levels = _levels(parents, 2 if any(texts) else 1)
    points = _points(edges, levels, sizes, texts)
    layers = ordered_layers(points.layers, points.up, points.down)
    widths = [width for width, _ in points.sizes]
    xs = horizontal_places(layers, points.up, points.down, widths, points.bends, GAP_X)
    left = min([x - w / 2 for x, w in zip(xs, widths, strict=True)])
    xs = [x - left + MARGIN for x in xs]
    bands = _bands(layers, points, xs)
    places = [
        (xs[p], (bands[level][0] + bands[level][1]) / 2) for p, level in enumerate(points.levels)
    ]
    routes = _routes(points, places, bands, ordered)
    right = max([x + w / 2 for x, w in zip(xs, widths, strict=True)])
    return Layout(
        places[: len(parents)],
        routes,
        [None if at is None else places[at] for at in points.texts],
        right + MARGIN,
        bands[-1][1] + MARGIN,
    )


def _levels(parents: Sequence[tuple[int, ...]], step: int) -> list[int]:
    """The layer of each node: below all operands, and not further from its users than it must be."""
    levels: list[int] = []
    for of in parents:
        levels.append(max([levels[p] + step for p in of], default=0))
    users: list[list[int]] = [[] for _ in parents]
    for i, of in enumerate(parents):
        for p in of:
            users[p].append(i)
    free: list[bool] = []  # what operands, all of their own, can follow
    for of in parents:
        free.append(all([free[p] and len(set(users[p])) == 1 for p in of]))
    for i in reversed(range(len(parents))):
        # With fewer operands than users, a step down shortens more edges than it lengthens.
        if users[i] and (free[i] or len(set(parents[i])) < len(set(users[i]))):
            levels[i] = min([levels[user] for user in users[i]]) - step
    lowest = min(levels)
    return [level - lowest for level in levels]


class _Points(NamedTuple):
    """Nodes, then the points of long edges: sizes, layers, neighbors, and the chain of each edge."""

    sizes: list[Size]
    levels: list[int]
    layers: list[list[int]]
    up: list[list[int]]
    down: list[list[int]]
    bends: list[bool]
    chains: list[list[int]]
    texts: list[int | None]


def _points(
    edges: Sequence[tuple[int, int]],
    levels: Sequence[int],
    sizes: Sequence[Size],
    texts: Sequence[Size | None],
) -> _Points:
    all_sizes, all_levels = list(sizes), list(levels)
    chains, at = [], []
    for (p, i), text in zip(edges, texts, strict=True):
        between = range(levels[p] + 1, levels[i])
        first = len(all_sizes)
        chains.append([p, *range(first, first + len(between)), i])
        all_levels += between
        all_sizes += [(BEND, 0.0)] * len(between)
        at.append(len(all_sizes) - 1 if text else None)
        if text:
            all_sizes[-1] = text
    count = len(all_sizes)
    up: list[list[int]] = [[] for _ in range(count)]
    down: list[list[int]] = [[] for _ in range(count)]
    for chain in chains:
        for a, b in pairwise(chain):
            down[a].append(b)
            up[b].append(a)
    layers: list[list[int]] = [[] for _ in range(max(all_levels) + 1)]
    for point in _first_order(len(sizes), up):
        layers[all_levels[point]].append(point)
    bends = [point >= len(sizes) for point in range(count)]
    return _Points(all_sizes, all_levels, layers, up, down, bends, chains, at)


def _first_order(nodes: int, up: Sequence[Sequence[int]]) -> list[int]:
    """All points, each after its operands in their order, from the last node: a depth-first post-order."""
    order: dict[int, None] = {}
    roots = list(reversed(range(nodes)))
    folded(roots, lambda point, _: None, order, lambda point: tuple(up[point]), lambda point: point)
    return list(order)


def _bands(
    layers: Sequence[Sequence[int]], points: _Points, xs: Sequence[float]
) -> list[tuple[float, float]]:
    """The top and the bottom of each layer; the gap is larger where edges go far to the side."""
    gap = GAP_Y if not any(points.texts) else TEXT_GAP
    bands = []
    top = MARGIN
    for layer in layers:
        bottom = top + max([points.sizes[p][1] for p in layer], default=0.0)
        bands.append((top, bottom))
        far = max([abs(xs[p] - xs[q]) for p in layer for q in points.down[p]], default=0.0)
        top = bottom + gap + min(STEEPEST * far, 2 * GAP_Y)
    return bands


def _routes(
    points: _Points,
    places: Sequence[Point],
    bands: Sequence[tuple[float, float]],
    ordered: Collection[int],
) -> list[list[Point]]:
    """The points of each edge: straight through the layers that it passes, and side by side at its ends."""
    tips = _ports(points, places, ordered)
    routes = []
    for edge, chain in enumerate(points.chains):
        first, last = chain[0], chain[-1]
        bottom = places[first][1] + points.sizes[first][1] / 2
        route = [(places[first][0], bottom), (places[first][0], bands[points.levels[first]][1])]
        for p in chain[1:-1]:
            top, below = bands[points.levels[p]]
            route += [(places[p][0], top), (places[p][0], below)]
        top = places[last][1] - points.sizes[last][1] / 2
        route += [(tips[edge], bands[points.levels[last]][0]), (tips[edge], top)]
        kept = [route[0]]
        for point in route[1:-1]:
            if kept[-1][1] + CLOSEST < point[1] < route[-1][1] - CLOSEST:
                kept.append(point)
        routes.append([*kept, route[-1]])
    return routes


def _ports(points: _Points, places: Sequence[Point], ordered: Collection[int]) -> list[float]:
    """The x of the tip of each edge: on top of its node, in the order of operands or of arrival."""
    arriving: dict[int, list[tuple[float, int]]] = {}
    for edge, chain in enumerate(points.chains):
        node = chain[-1]
        side = 0.0 if node in ordered else places[chain[-2]][0]
        arriving.setdefault(node, []).append((side, edge))
    tips = [0.0] * len(points.chains)
    for node, found in arriving.items():
        room = min(PORT, (points.sizes[node][0] - 12.0) / len(found))
        for k, (_, edge) in enumerate(sorted(found)):
            tips[edge] = places[node][0] + (k - (len(found) - 1) / 2) * room
    return tips
