"""``scipy.cluster.hierarchy`` for traced values: the heights of merges, whose order is a choice.

A height is the distance of one pair of observations, or a sum of the distances of all pairs with weights of
the two clusters: those of an average, or, on squared distances, those of the distance between two centers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.cluster.hierarchy as _scipy

from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import (
    composed,
    flat_root,
    real,
    with_captured_metric,
    with_value,
    without_derivative,
)
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.scipy.spatial import distance
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)
_METHODS = ("single", "complete", "average", "weighted", "centroid", "median", "ward")


def _whole(shape: tuple[int, ...], dtype: type = int) -> ArrayType:
    return ArrayType(shape, np.dtype(dtype))


# -- clusters of a tree, by plain values -----------------------------------------------------------------
def _members(tree: Array) -> list[Any]:
    """The observations of each cluster: first those of one observation, then one for each merge."""
    count = len(tree) + 1
    found = [np.array([k]) for k in range(count)]
    for row in tree:
        found.append(np.concatenate([found[int(row[0])], found[int(row[1])]]))
    return found


def _weights(tree: Array, halved: bool) -> Any:
    """The weight of each observation in each cluster: the same for all, or half of each part's."""
    count = len(tree) + 1
    found = np.zeros((2 * count - 1, count))
    found[:count] = np.eye(count)
    for k, row in enumerate(tree):
        parts = found[int(row[0])], found[int(row[1])]
        shares = [0.5, 0.5] if halved else [np.count_nonzero(part) for part in parts]
        found[count + k] = (shares[0] * parts[0] + shares[1] * parts[1]) / sum(shares)
    return found


def _pairs(tree: Array, square: Array, farthest: bool) -> Any:
    """For each merge, the nearest or the farthest pair of observations of its two clusters."""
    members, found = _members(tree), []
    for row in tree:
        first, second = members[int(row[0])], members[int(row[1])]
        apart = square[np.ix_(first, second)]
        place = np.argmax(apart) if farthest else np.argmin(apart)
        i, j = np.unravel_index(place, apart.shape)
        found.append((first[i], second[j]))
    return np.array(found).reshape(-1, 2)


# -- heights -------------------------------------------------------------------------------------------
def _heights(tree: Array, square: Array, method: str) -> Any:
    """The heights of the merges of a tree, by the matrix of distances between observations."""
    count = square.shape[0]
    if method in ("single", "complete"):
        pairs = without_derivative(
            "pairs",
            lambda t, d: _pairs(t, d, method == "complete"),
            _whole((count - 1, 2)),
            tree,
            square,
        )
        return square[pairs[:, 0], pairs[:, 1]]
    halved = method in ("weighted", "median")
    weights = without_derivative(
        "weights", lambda t: _weights(t, halved), _whole((2 * count - 1, count), float), tree
    )
    centers = method in ("centroid", "median", "ward")
    apart = square * square if centers else square
    first, second = [weights[tree[:, k].astype(int)] for k in range(2)]
    between = np.sum((first @ apart) * second, axis=1)
    if not centers:
        return between
    within = np.sum((weights @ apart) * weights, axis=1) / 2
    between = between - sum([within[tree[:, k].astype(int)] for k in range(2)])
    if method == "ward":
        sizes = [1 / np.sum(part * part, axis=1) for part in (first, second)]
        between = between * (2 * sizes[0] * sizes[1] / (sizes[0] + sizes[1]))
    return flat_root(np.maximum(between, 0.0))


@with_captured_metric
@_hosted
def linkage(
    y: ArrayLike,
    method: str = "single",
    metric: str | Callable[..., Any] = "euclidean",
    optimal_ordering: bool = False,
) -> Any:
    """As `scipy.cluster.hierarchy.linkage`: which clusters are merged is constant.

    >>> import funcgrad as fg
    >>> fg.grad(lambda x: linkage(x[:, None], "complete")[-1, 2])(np.array([0.0, 1.0, 5.0]))
    array([-1.,  0.,  1.])
    """
    data: Any = lift_fully(real("linkage", y))
    if method not in _METHODS:
        raise value_error(
            f"linkage: expected a method among {', '.join(_METHODS)}, but got {method!r}",
        )
    condensed = data if data.ndim == 1 else distance.pdist(data, metric)
    square = distance.squareform(condensed)

    def own(y: Array, condensed: Array) -> Any:
        named = metric if isinstance(metric, str) else "euclidean"
        given = y if y.ndim == 1 or named == metric else condensed
        return _scipy.linkage(given, method, named, optimal_ordering)

    tree = without_derivative(
        "linkage", own, _whole((square.shape[0] - 1, 4), float), data, condensed
    )
    heights = with_value(tree[:, 2], _heights(tree, square, method))
    return np.concatenate([tree[:, :2], heights[:, None], tree[:, 3:]], axis=1)


# -- functions of a tree ---------------------------------------------------------------------------------
@_hosted
def cophenet(Z: ArrayLike, Y: ArrayLike | None = None) -> Any:
    """As `scipy.cluster.hierarchy.cophenet`: the heights at which observations meet."""
    tree: Any = lift_fully(real("cophenet", Z))
    count = tree.shape[0] + 1

    def merges(tree: Array) -> Any:
        """For each pair of observations, the merge that joins them."""
        members, found = _members(tree), np.zeros((count, count), int)
        for k, row in enumerate(tree):
            first, second = members[int(row[0])], members[int(row[1])]
            found[np.ix_(first, second)] = found[np.ix_(second, first)] = k
        return found[np.triu_indices(count, 1)]

    meeting = without_derivative("cophenet", merges, _whole((count * (count - 1) // 2,)), tree)
    heights = tree[:, 2][meeting]
    if Y is None:
        return heights
    given = real("cophenet", Y)
    off, other = heights - np.mean(heights), given - np.mean(given)
    return np.sum(off * other) / np.sqrt(np.sum(off**2) * np.sum(other**2)), heights


@_composed
def maxdists(Z: ArrayLike) -> Any:
    """As `scipy.cluster.hierarchy.maxdists`: the greatest height below each merge."""
    tree: Any = lift_fully(real("maxdists", Z))
    count = tree.shape[0] + 1

    def greatest(tree: Array) -> Any:
        found: list[int] = []
        for k, row in enumerate(tree):
            below = [found[int(part) - count] for part in row[:2] if part >= count]
            found.append(max([k, *below], key=lambda m: tree[m, 2]))
        return np.array(found)

    return tree[:, 2][without_derivative("maxdists", greatest, _whole((count - 1,)), tree)]


@_hosted
def inconsistent(Z: ArrayLike, d: int = 2) -> Any:
    tree: Any = lift_fully(real("inconsistent", Z))
    count = tree.shape[0] + 1

    def near(tree: Array) -> Any:
        """For each merge, the merges at most d - 1 levels below it."""
        found = np.eye(count - 1)
        for k in range(count - 1):
            level = [k]
            for _ in range(d - 1):
                level = [int(part) - count for m in level for part in tree[m, :2] if part >= count]
                found[k, level] = 1.0
        return found

    members = without_derivative("inconsistent", near, _whole((count - 1, count - 1), float), tree)
    numbers = np.sum(members, axis=1)
    means = members @ tree[:, 2] / numbers
    off = members * (tree[:, 2] - means[:, None])
    spread = flat_root(np.sum(off**2, axis=1) / np.maximum(numbers - 1, 1))
    flat = spread == 0
    ratio = np.where(flat, 0.0, (tree[:, 2] - means) / np.where(flat, 1.0, spread))
    found = np.stack([means, spread, numbers, ratio], axis=1)
    own = lambda tree: _scipy.inconsistent(tree, d)  # noqa: E731
    return with_value(
        without_derivative("inconsistent", own, _whole((count - 1, 4), float), tree), found
    )


@_composed
def fcluster(
    Z: ArrayLike,
    t: float,
    criterion: str = "inconsistent",
    depth: int = 2,
    R: Array | None = None,
    monocrit: Array | None = None,
) -> Any:
    """As `scipy.cluster.hierarchy.fcluster`: the cluster of each observation, which is constant."""
    tree: Any = lift_fully(real("fcluster", Z))
    bound: Any = lift_fully(real("fcluster", t))
    beside = [item for item in (R, monocrit) if item is not None]

    def labels(tree: Array, bound: Array, *beside: Array) -> Any:
        rest = iter(beside)
        more = [None if item is None else next(rest) for item in (R, monocrit)]
        return _scipy.fcluster(tree, float(bound), criterion, depth, *more)

    type = _whole((tree.shape[0] + 1,), np.int32)
    return without_derivative("fcluster", labels, type, tree, bound, *beside)


@with_captured_metric
@_hosted
def optimal_leaf_ordering(
    Z: ArrayLike, y: ArrayLike, metric: str | Callable[..., Any] = "euclidean"
) -> Any:
    """As `scipy.cluster.hierarchy.optimal_leaf_ordering`: the heights of the tree; the order is constant."""
    tree: Any = lift_fully(real("optimal_leaf_ordering", Z))
    data: Any = lift_fully(real("optimal_leaf_ordering", y))
    condensed = data if data.ndim == 1 else distance.pdist(data, metric)
    own, type = _scipy.optimal_leaf_ordering, _whole(tree.shape, float)
    ordered = without_derivative("optimal_leaf_ordering", own, type, tree, condensed)
    return np.concatenate([ordered[:, :2], tree[:, 2:3], ordered[:, 3:]], axis=1)


@_composed
def leaves_list(Z: ArrayLike) -> Any:
    """As `scipy.cluster.hierarchy.leaves_list`: the observations from left to right, which are constant."""
    tree: Any = lift_fully(real("leaves_list", Z))
    type = _whole((tree.shape[0] + 1,), np.int32)
    return without_derivative("leaves_list", _scipy.leaves_list, type, tree)


__getattr__ = partial(attribute_of, _scipy)
