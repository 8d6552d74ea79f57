"""Peaks of a signal: their places are constants, and their heights, prominences and widths move with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.expr import concrete
from funcgrad.graph import ArrayType
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import (
    composed,
    floating,
    nondifferentiable,
    real,
    refuse_given,
    without_derivative,
)
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)


@_hosted
def peak_prominences(x: ArrayLike, peaks: ArrayLike, wlen: int | None = None) -> Any:
    """As `scipy.signal.peak_prominences`; the places of the bases are constants."""
    signal, at = real("peak_prominences", x), np.asarray(peaks, int)

    def bases(x: Array) -> Any:
        return np.stack(_scipy.peak_prominences(x.astype(float), at, wlen)[1:])

    left, right = nondifferentiable("bases", bases, signal)
    return signal[at] - np.maximum(signal[left], signal[right]), left, right


def _crossings(x: Array, heights: Array, peaks: Array, left: Array, right: Array) -> Any:
    """The places at or below each height that are next to a peak, not beyond its bases."""
    found = []
    for height, peak, first, last in zip(heights, peaks, left, right, strict=True):
        i = j = int(peak)
        while first < i and height < x[i]:
            i -= 1
        while j < last and height < x[j]:
            j += 1
        found.append((i, j))
    return np.array(found, int).reshape(-1, 2).T


@_hosted
def peak_widths(
    x: ArrayLike,
    peaks: ArrayLike,
    rel_height: float = 0.5,
    prominence_data: tuple[Any, ...] | None = None,
    wlen: int | None = None,
) -> Any:
    """As `scipy.signal.peak_widths`: widths, heights, and both ends by linear
    interpolation.
    """
    signal, at = real("peak_widths", x), np.asarray(peaks, int)
    prominences, left, right = prominence_data or peak_prominences(signal, at, wlen)
    heights = signal[at] - real("peak_widths", prominences) * real("peak_widths", rel_height)
    count = ArrayType((2, at.size), np.dtype(int))
    given = (signal, heights, at, left, right)
    before, after = without_derivative("crossings", _crossings, count, *given)

    def share(outside: Array, inside: Array) -> Any:
        """How far the height lies from the first place on the way to the second."""
        low, high = signal[outside], signal[inside]
        below = low < heights
        return np.where(below, (heights - low) / np.where(below, high - low, 1.0), 0.0)

    first = before + share(before, np.minimum(before + 1, signal.shape[0] - 1))
    last = after - share(after, np.maximum(after - 1, 0))
    return last - first, heights, first, last


@_hosted
def find_peaks(x: ArrayLike, **options: Any) -> Any:
    """As `scipy.signal.find_peaks`: places of peaks are constants.

    Their heights, thresholds, prominences and widths move with the signal.
    Options are constants, too.
    """
    signal, options = floating("find_peaks", x), by_value(options, "find_peaks")
    refuse_given("find_peaks", plateau_size=options.get("plateau_size"))

    def places(x: Array) -> Any:
        return _scipy.find_peaks(x, **options)[0]

    peaks = concrete(signal, "find_peaks", places) if holds_expr(signal) else places(signal)
    heights, found = signal[peaks], {}
    if options.get("height") is not None:
        found["peak_heights"] = heights
    if options.get("threshold") is not None:
        found["left_thresholds"] = heights - signal[peaks - 1]
        found["right_thresholds"] = heights - signal[peaks + 1]
    if options.get("prominence") is not None or options.get("width") is not None:
        names = ("prominences", "left_bases", "right_bases")
        parts = peak_prominences(signal, peaks, options.get("wlen"))
        found |= dict(zip(names, parts, strict=True))
    if options.get("width") is not None:
        names = ("widths", "width_heights", "left_ips", "right_ips")  # type: ignore[assignment]
        rows = peak_widths(signal, peaks, options.get("rel_height", 0.5), parts)
        found |= dict(zip(names, rows, strict=True))
    return peaks, found
