"""Indices in batches: what an index of one example is on a batch of examples, whose axis is the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.ops.base.index_spec import Spec
from funcgrad.ops.base.op import spread


def chosen_axes(spec: Spec, ndim: int, arrays: Sequence[Any]) -> tuple[int, int]:
    """Where the axes that index arrays give stand in the result, and how many they are.

    NumPy puts them in the place of the arrays where those stand together, else first; integers
    beside arrays count as arrays.
    """
    count = max([np.ndim(a) for a in arrays])
    chosen = [i for i, item in enumerate(spec) if item == "array" or isinstance(item, int)]
    if chosen != list(range(chosen[0], chosen[-1] + 1)):
        return 0, count
    before = spec[: chosen[0]]
    taken = sum(item not in ("new", "...") for item in spec)
    return sum(ndim - taken if item == "..." else 1 for item in before), count


def batched_index(
    size: int, batched: Sequence[bool], arrays: Sequence[Any]
) -> tuple[list[Any], int]:
    """Index arrays with a first axis for the batch, and how many axes they had without it."""
    counts = [np.ndim(a) - own for a, own in zip(arrays, batched, strict=True)]
    rank = max(counts)
    wide = [
        np.reshape(a, (size, *(1,) * (rank - n), *np.shape(a)[1:])) if own else a
        for a, own, n in zip(arrays, batched, counts, strict=True)
    ]
    return wide, rank


def each_example(size: int, rank: int) -> Any:
    """The index array that takes example i of the batch for entry i of the result."""
    return np.reshape(np.arange(size), (size, *(1,) * rank))


ALL = ("slice", None, None, None)


def batched_entries(
    size: int, batched: Sequence[bool], g: Any, arrays: Sequence[Any], spec: Spec, ndim: int
) -> tuple[Any, Spec, Sequence[Any]]:
    """A batch of what an index of an array of ``ndim`` axes selects, and the index in a batch of such arrays.

    ``batched`` says it of the entries and of each index array.
    """
    own, of_arrays = batched[0], batched[1:]
    g = g if own else spread(g, size)
    if not any(of_arrays):
        if apart(spec, arrays):
            g = np.moveaxis(g, 0, chosen_axes(spec, ndim, arrays)[1])
        return g, (ALL, *spec), arrays
    wide, rank = batched_index(size, of_arrays, arrays)
    place, _ = chosen_axes(spec, ndim, wide)
    g = np.moveaxis(g, range(1 + place, 1 + place + rank), range(1, 1 + rank))
    return g, ("array", *spec), [each_example(size, rank), *wide]


def apart(spec: Spec, arrays: Sequence[Any]) -> bool:
    """Whether index arrays with axes of their own stand apart, so that those come first."""
    chosen = [i for i, item in enumerate(spec) if item == "array" or isinstance(item, int)]
    with_axes = any(np.ndim(a) for a in arrays)
    return with_axes and chosen != list(range(chosen[0], chosen[-1] + 1))
