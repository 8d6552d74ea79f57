"""Patterns of sparse matrices: a canonical `scipy.sparse.csr_array` of the places of entries, from 1 on."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as _scipy

from funcgrad.ops.base.op import lift_fully
from funcgrad.typing import Array


def numbered_pattern(rows: Array, columns: Array, shape: tuple[int, int]) -> Any:
    """The pattern with entries at these places, which are in order and distinct."""
    return _scipy.csr_array((np.arange(1, len(rows) + 1), (rows, columns)), shape=shape)


def renumbered(held: object) -> tuple[Any, Any]:
    """The entries that a moved matrix of places holds, and its pattern, renumbered anew."""
    pattern = _scipy.csr_array(held)
    pattern.sort_indices()
    taken = pattern.data - 1
    pattern.data = np.arange(1, len(taken) + 1)
    return taken, pattern


def sum_at(terms: Array, places: Array, size: int) -> Any:
    """An array of a length with the terms added at their places."""
    whole: Any = lift_fully(np.zeros((size, *terms.shape[1:]), terms.dtype))
    return whole.at[places].add(terms)


def summed(entries: Array, places: Array, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Entries at places of a dense matrix, those of equal places added; and their pattern."""
    distinct, inverse = np.unique(places, return_inverse=True)
    rows, columns = np.divmod(distinct, max(shape[1], 1))
    pattern = numbered_pattern(rows, columns, shape)
    if len(distinct) == len(places):
        return entries[np.argsort(inverse)], pattern
    return sum_at(entries, inverse, len(distinct)), pattern
