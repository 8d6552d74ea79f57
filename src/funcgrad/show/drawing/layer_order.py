"""Crossing reduction: the order of the points in each layer, by sweeps over medians and by exchanges.

After Gansner, Koutsofios, North and Vo, *A technique for drawing directed graphs* (1993), section 3: each
layer is sorted by the medians of its neighbors in the layer before, down and up in turn; then neighboring
points change places where that saves crossings; and the best order met is kept.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

MOST_SWEEPS = 24
PATIENCE = 4  # sweeps without improvement before the last
MOST_PASSES = 4  # of exchanges after each sweep
POINT_BUDGET = 100_000  # points that sweeps visit, about, so that large drawings take linear time


def ordered_layers(
    layers: Sequence[Sequence[int]], up: Sequence[Sequence[int]], down: Sequence[Sequence[int]]
) -> list[list[int]]:
    """The points of each layer in an order with few crossings.

    ``up`` and ``down`` give the neighbors of each point in the layer above and below. The first order is the
    one that is given; of orders with equally few crossings the first that is met is kept.

    >>> ordered_layers([[0, 1], [2, 3]], [[], [], [1], [0]], [[3], [2], [], []])
    [[0, 1], [3, 2]]
    """
    current = [list(layer) for layer in layers]
    best, fewest = [list(layer) for layer in current], crossings(current, down)
    sweeps = max(4, min(MOST_SWEEPS, POINT_BUDGET // max(1, len(up))))
    idle = 0
    for sweep in range(sweeps):
        if not fewest or idle == PATIENCE:
            break
        _sort_by_medians(current, up if sweep % 2 == 0 else down, sweep)
        _transpose(current, up, down)
        count = crossings(current, down)
        idle += 1
        if count < fewest:
            best, fewest, idle = [list(layer) for layer in current], count, 0
    return best


def crossings(layers: Sequence[Sequence[int]], down: Sequence[Sequence[int]]) -> int:
    """How many pairs of edges between neighboring layers cross."""
    at = _positions(layers)
    return sum(
        [
            _inversions(at[q] for p in layer for q in sorted(down[p], key=at.__getitem__))
            for layer in layers
        ]
    )


def _inversions(values: Iterable[int]) -> int:
    count = 0
    seen: list[int] = []
    for value in values:
        place = bisect_right(seen, value)
        count += len(seen) - place
        seen.insert(place, value)
    return count


def _positions(layers: Sequence[Sequence[int]]) -> dict[int, int]:
    return {point: k for layer in layers for k, point in enumerate(layer)}


def _sort_by_medians(layers: list[list[int]], near: Sequence[Sequence[int]], sweep: int) -> None:
    """Sort each layer by the medians of neighbors in the one before; points without stay where they are."""
    downward = sweep % 2 == 0
    numbers = range(1, len(layers)) if downward else range(len(layers) - 2, -1, -1)
    for number in numbers:
        at = {point: k for k, point in enumerate(layers[number - 1 if downward else number + 1])}
        layer = layers[number]
        weights = {
            point: _median(sorted([at[q] for q in near[point]])) for point in layer if near[point]
        }
        # Equal medians change places in every other pair of sweeps, which leads out of local minima.
        moving = [
            point for point in (reversed(layer) if sweep % 4 > 1 else layer) if point in weights
        ]
        moving.sort(key=weights.__getitem__)
        following = iter(moving)
        layers[number] = [next(following) if point in weights else point for point in layer]


def _median(values: Sequence[int]) -> float:
    """The median; of an even number of values, between the middle two, nearer to the denser side."""
    middle = len(values) // 2
    if len(values) % 2:
        return float(values[middle])
    if len(values) == 2:
        return (values[0] + values[1]) / 2
    left, right = values[middle - 1] - values[0], values[-1] - values[middle]
    if not left + right:
        return (values[middle - 1] + values[middle]) / 2
    return (values[middle - 1] * right + values[middle] * left) / (left + right)


def _transpose(
    layers: list[list[int]], up: Sequence[Sequence[int]], down: Sequence[Sequence[int]]
) -> None:
    """Exchange neighboring points where that saves crossings, in a few passes over all layers."""
    at = _positions(layers)
    for _ in range(MOST_PASSES):
        exchanged = False
        for layer in layers:
            for k in range(len(layer) - 1):
                a, b = layer[k], layer[k + 1]
                if sum([_saved(a, b, near, at) for near in (up, down) if near[a] and near[b]]) > 0:
                    layer[k], layer[k + 1] = b, a
                    at[a], at[b] = k + 1, k
                    exchanged = True
        if not exchanged:
            return


def _saved(a: int, b: int, near: Sequence[Sequence[int]], at: dict[int, int]) -> int:
    """How many crossings fewer the edges of two neighbors have if these change places."""
    of_b = sorted([at[q] for q in near[b]])
    return sum([_sign_sum(at[q], of_b) for q in near[a]])


def _sign_sum(value: int, others: Sequence[int]) -> int:
    """The others that are smaller, less those that are larger."""
    return sum([(other < value) - (other > value) for other in others])
