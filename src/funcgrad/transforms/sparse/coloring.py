"""Greedy colorings: groups of columns that one product recovers, in time linear in the nonzeros.

Columns that share no row can be computed together: a *coloring* of them (at distance 2 in the graph of
rows and columns). A symmetric matrix needs fewer colors: an entry may be recovered from its column or row,
so a *star coloring* of its graph suffices (Powell and Toint; Gebremedhin, Manne and Pothen, 2005).

The set of colors next to a row is the bits of a Python integer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

Colors: TypeAlias = "np.ndarray[Any, np.dtype[np.intp]]"


def columns(pattern: Any) -> Colors:
    """A color for each column of a CSR pattern, such that each row has each color at most once.

    Columns are colored in order, which is best for bands. If that takes more colors than the longest row has
    entries, they are also colored by decreasing density, and the better of the two is returned.

    >>> import numpy as np, scipy.sparse as sp
    >>> columns(sp.csr_array(np.eye(6) + np.eye(6, k=1)))
    array([0, 1, 0, 1, 0, 1])
    """
    by_column = pattern.tocsc()
    least = longest(pattern)
    if least == pattern.shape[1]:
        return np.arange(least)
    lists = _lists(by_column)
    return _better(lambda order: _distinct(lists, pattern.shape[0], order), by_column, least)


def star(pattern: object) -> Colors:
    """A color for each column of a symmetric CSR pattern, such that each path of four has three.

    >>> import numpy as np, scipy.sparse as sp
    >>> arrow = np.eye(6) + np.eye(1, 6) + np.eye(1, 6).T
    >>> star(sp.csr_array(arrow))
    array([0, 1, 1, 1, 1, 1])
    """
    lists = [[i for i in near if i != j] for j, near in enumerate(_lists(pattern))]
    return _better(lambda order: _star(lists, order), pattern, 1)


def longest(pattern: Any) -> int:
    """The largest number of entries in a row, a lower bound on the colors of columns."""
    return int(np.diff(pattern.indptr).max(initial=0))


def count(colors: Colors) -> int:
    """The number of colors."""
    return int(colors.max(initial=-1)) + 1


def _lists(compressed: Any) -> list[list[int]]:
    indices, bounds = compressed.indices.tolist(), compressed.indptr.tolist()
    return [indices[i:j] for i, j in pairwise(bounds)]


def _better(color: Callable[[Iterable[int]], list[int]], compressed: Any, least: int) -> Colors:
    lengths = np.diff(compressed.indptr)
    first = np.array(color(range(lengths.size)), int)
    if count(first) <= least:
        return first
    second = np.array(color(np.argsort(-lengths, kind="stable").tolist()), int)
    return first if count(first) <= count(second) else second


def _free(taken: int) -> int:
    """The lowest color whose bit is not set."""
    return (~taken & (taken + 1)).bit_length() - 1


def _distinct(lists: list[list[int]], rows: int, order: Iterable[int]) -> list[int]:
    colors = [0] * len(lists)
    met = [0] * rows  # the colors in each row
    for j in order:
        taken = 0
        for i in lists[j]:
            taken |= met[i]
        colors[j] = _free(taken)
        bit = 1 << colors[j]
        for i in lists[j]:
            met[i] |= bit
    return colors


def _star(lists: list[list[int]], order: Iterable[int]) -> list[int]:
    # A vertex may have the color of another at distance 2 only if the one between has a lower color.
    colors = [-1] * len(lists)
    met = [0] * len(lists)  # the colors of each vertex's neighbors
    for v in order:
        taken = 0
        for w in lists[v]:
            bit = 1 << colors[w] if colors[w] >= 0 else 0
            taken |= (met[w] & (bit - 1)) | bit if bit else met[w]
        colors[v] = _free(taken)
        bit = 1 << colors[v]
        for w in lists[v]:
            met[w] |= bit
    return colors
