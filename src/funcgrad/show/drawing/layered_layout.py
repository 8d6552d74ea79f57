"""Where the nodes of a small graph go: layers by depth, crossings lowered by sweeps over medians.

The method is Sugiyama's, in its simplest form: an edge that skips layers bends at a point in each, and
a source stands just above the first that uses it. It knows positions and sizes, and nothing of programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float]

GAP_X, GAP_Y, MARGIN = 24.0, 44.0, 14.0
BEND = 8.0  # the width kept free for an edge that passes a layer
SWEEPS = 8


class Layout(NamedTuple):
    """The center of each node, the points of each edge (operand first), and the size of the whole."""

    centers: list[Point]
    routes: list[list[Point]]
    width: float
    height: float


def arrange(parents: Sequence[tuple[int, ...]], sizes: Sequence[tuple[float, float]]) -> Layout:
    """A layout of a graph whose nodes come in topological order.

    >>> plan = arrange([(), (0,), (1, 0)], [(40.0, 20.0)] * 3)
    >>> [y for x, y in plan.centers]
    [24.0, 88.0, 152.0]
    """
    levels = _levels(parents)
    chains, layers, widths = _with_bends(parents, levels, [width for width, _ in sizes])
    near: list[list[int]] = [[] for _ in widths]
    for chain in chains:
        for a, b in pairwise(chain):
            near[a].append(b)
            near[b].append(a)
    level_of = {point: i for i, layer in enumerate(layers) for point in layer}
    _sweep(layers, near, level_of)
    xs = _columns(layers, near, widths)
    tops, height = _rows(layers, sizes)
    centers = [(xs[i], tops[levels[i]]) for i in range(len(parents))]
    routes = [_route(chain, xs, tops, level_of, sizes) for chain in chains]
    right = max(xs[p] + widths[p] / 2 for p in range(len(widths)))
    return Layout(centers, routes, right + MARGIN, height)


def _levels(parents: Sequence[tuple[int, ...]]) -> list[int]:
    levels: list[int] = []
    for of in parents:
        levels.append(1 + max([levels[p] for p in of], default=-1))
    first = [len(parents)] * len(parents)
    for i, of in enumerate(parents):
        for p in of:
            first[p] = min(first[p], levels[i])
    return [
        first[i] - 1 if not of and first[i] <= len(parents) and i != len(parents) - 1 else levels[i]
        for i, of in enumerate(parents)
    ]


def _with_bends(
    parents: Sequence[tuple[int, ...]], levels: list[int], widths: list[float]
) -> tuple[list[list[int]], list[list[int]], list[float]]:
    """Each edge as a chain of points, the points in each layer, and the width of every point."""
    layers: list[list[int]] = [[] for _ in range(max(levels) + 1)]
    for i, level in enumerate(levels):
        layers[level].append(i)
    all_widths = list(widths)
    chains = []
    for i, of in enumerate(parents):
        for p in of:
            chain = [p]
            for level in range(levels[p] + 1, levels[i]):
                chain.append(len(all_widths))
                layers[level].append(len(all_widths))
                all_widths.append(BEND)
            chains.append([*chain, i])
    return chains, layers, all_widths


def _sweep(layers: list[list[int]], near: list[list[int]], level_of: dict[int, int]) -> None:
    """Order each layer by the medians of its neighbors in the one before, up and down in turn."""
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        numbers = range(1, len(layers)) if down else range(len(layers) - 2, -1, -1)
        for number in numbers:
            other = number - 1 if down else number + 1
            at = {point: k for k, point in enumerate(layers[other])}
            own = {point: k for k, point in enumerate(layers[number])}
            weight: dict[int, float] = {}
            for point in layers[number]:
                places = sorted(at[q] for q in near[point] if level_of[q] == other)
                weight[point] = _median(places) if places else float(own[point])
            layers[number].sort(key=lambda point: (weight[point], own[point]))  # used at once


def _median(values: Sequence[float]) -> float:
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def _columns(layers: list[list[int]], near: list[list[int]], widths: list[float]) -> list[float]:
    """The x of each point: where its neighbors are on average, as far as there is room."""
    xs = [0.0] * len(widths)
    for layer in layers:
        x = 0.0
        for point in layer:
            xs[point] = x + widths[point] / 2
            x += widths[point] + GAP_X
    for sweep in range(2 * SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = [
                sum(xs[q] for q in near[p]) / len(near[p]) if near[p] else xs[p] for p in layer
            ]
            for point, x in zip(layer, _spaced(layer, wanted, widths), strict=True):
                xs[point] = x
    left = min(x - w / 2 for x, w in zip(xs, widths, strict=True))
    return [x - left + MARGIN for x in xs]


def _spaced(layer: list[int], wanted: list[float], widths: list[float]) -> list[float]:
    """The places nearest to the wanted ones that keep the order and the gaps: pooled averages."""
    offsets, total = [], 0.0
    for k, point in enumerate(layer):
        total += (widths[layer[k - 1]] + widths[point]) / 2 + GAP_X if k else 0.0
        offsets.append(total)
    pools: list[list[float]] = []  # sum and count of what each pool wants
    for want, offset in zip(wanted, offsets, strict=True):
        pools.append([want - offset, 1.0])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            total, count = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += count
    bases = [total / count for total, count in pools for _ in range(int(count))]
    return [base + offset for base, offset in zip(bases, offsets, strict=True)]


def _rows(
    layers: list[list[int]], sizes: Sequence[tuple[float, float]]
) -> tuple[list[float], float]:
    tops, y = [], MARGIN
    for layer in layers:
        height = max([sizes[p][1] for p in layer if p < len(sizes)], default=0.0)
        tops.append(y + height / 2)
        y += height + GAP_Y
    return tops, y - GAP_Y + MARGIN


def _route(
    chain: list[int],
    xs: list[float],
    tops: list[float],
    level_of: dict[int, int],
    sizes: Sequence[tuple[float, float]],
) -> list[Point]:
    points = [(xs[p], tops[level_of[p]]) for p in chain]
    (x, y), (a, b) = points[0], points[-1]
    points[0] = (x, y + sizes[chain[0]][1] / 2)
    points[-1] = (a, b - sizes[chain[-1]][1] / 2)
    return points
