"""Filters by rank: SciPy chooses a pixel of each neighborhood, and it has the derivative.

Which pixel it is is found beside the graph, so that the gradient reads and adds one pixel for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.ndimage as _scipy

from funcgrad.scipy.composition import composed, floating, nondifferentiable, number
from funcgrad.scipy.ndimage.filters import (
    Output,
    extended,
    filtered_output,
    footprint_of,
    for_all_axes,
)
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy, host=True)


def ranked(
    name: str,
    own: Callable[[Array, Array], Any],
    rank: Callable[[int], int],
    input: ArrayLike,
    chosen: Array,
    options: tuple[Any, Any, Any, Any],
) -> Any:
    """A rank filter: SciPy's function of image and cval, the rank in a neighborhood, and its footprint."""
    output, *how = options
    image, given = number(name, input), floating(name, input)
    value = nondifferentiable(name, own, given, how[1], like=lambda x, _: np.copy(x))
    value = value.astype(image.dtype)
    around = extended(name, image, chosen.shape, *how)
    offsets = np.ravel_multi_index(np.nonzero(chosen), around.shape)
    place = rank(len(offsets))

    def locate(around: Array, value: Array) -> Any:
        return _places(around, value, offsets, place)

    def like(around: Array, value: Array) -> Any:
        return np.zeros(value.shape, int)

    places = nondifferentiable(f"{name} places", locate, around, value, like=like)
    pixels = around.reshape(-1)[np.maximum(places, 0)]
    return filtered_output(np.where(places < 0, value, pixels), input, output)


def _places(around: Array, value: Array, offsets: Array, rank: int) -> Any:
    """The place in the extended image of the entry that SciPy chose of each neighborhood; -1 if not found.

    Of entries that are equal it is the one that a stable sort puts at the rank.
    """
    first: Any = np.ravel_multi_index(tuple(np.indices(value.shape)), around.shape)
    entries = around.reshape(-1)
    found, count = np.full(value.shape, -1), np.zeros(value.shape, int)
    nothing = value != value
    for offset in offsets[::-1]:
        neighbor = entries[first + offset]
        same = (neighbor == value) | (nothing & (neighbor != neighbor))
        np.copyto(found, first + offset, where=same)
        count += same
    tied = count > 1
    if np.any(tied):
        near = first[tied] + offsets[:, None]
        order = np.argsort(entries[near], axis=0, kind="stable")[rank]
        sorted_there = near[order, np.arange(near.shape[1])]
        same = entries[sorted_there] == value[tied]
        found[tied] = np.where(same, sorted_there, found[tied])
    return found


def _rank(
    name: str,
    rank: Callable[[int], int],
    first: Sequence[float],
    input: ArrayLike,
    *,
    size: int | Sequence[int] | None = None,
    footprint: ArrayLike | None = None,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    axes: int | Sequence[int] | None = None,
) -> Any:
    """A filter by its name, the rank in a neighborhood, and what SciPy's function takes before the size."""
    own, image = getattr(_scipy, name), floating(name, input)
    chosen = footprint_of(name, image.ndim if axes is None else np.size(axes), size, footprint)
    whole, *rest = for_all_axes(image, chosen, axes, mode, cval, origin)

    def run(image: Array, cval: Array) -> Any:
        return own(image, *first, size, footprint, None, mode, cval, origin, axes=axes)

    return ranked(name, run, rank, input, whole, (output, *rest))


@_composed
def rank_filter(input: ArrayLike, rank: int, **window: Any) -> Any:
    return _rank("rank_filter", lambda n: rank, (rank,), input, **window)


@_composed
def median_filter(input: ArrayLike, **window: Any) -> Any:
    return _rank("median_filter", lambda n: n // 2, (), input, **window)


@_composed
def percentile_filter(input: ArrayLike, percentile: float, **window: Any) -> Any:
    share = percentile % 100 if percentile < 0 else percentile

    def rank(n: int) -> int:
        return n - 1 if share == 100 else int(n * share / 100)

    return _rank("percentile_filter", rank, (percentile,), input, **window)
