"""Intervals as pairs of float64 arrays, and how they are rounded outward."""

from __future__ import annotations

from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from funcgrad.typing import Array

Bounds: TypeAlias = tuple[Any, Any]

_TINY = float(np.finfo(float).tiny)
EPS = float(np.finfo(float).eps)
ULPS = 8  # NumPy's own functions are within 4 of the exact value
_LARGEST = float(np.finfo(float).max)

EXACT, CORRECT, NEAR = 0, 1, ULPS
"""Units in the last place by which a computed value may be off."""


def outward(lo: Array, hi: Array, ulps: int) -> Bounds:
    """An interval that holds the exact one, of ends that may be off by so many units."""
    if ulps == EXACT:
        return lo, hi
    if ulps == CORRECT:
        return np.nextafter(lo, -np.inf), np.nextafter(hi, np.inf)
    return widened(lo, hi, ulps * np.abs(lo) * EPS, ulps * np.abs(hi) * EPS)


def widened(lo: Array, hi: Array, below: Array, above: Array) -> Bounds:
    """An interval with errors taken off its ends; what underflowed or overflowed included."""
    # inf - inf: an end that overflowed is at least the largest float.
    low = np.where(np.isinf(lo), np.where(lo > 0, _LARGEST, lo), lo - below - _TINY)
    high = np.where(np.isinf(hi), np.where(hi < 0, -_LARGEST, hi), hi + above + _TINY)
    return np.nextafter(low, -np.inf), np.nextafter(high, np.inf)


def within(x: Bounds, least: float, most: float) -> Bounds:
    """The part of an interval in a range: of a function's values, all of it; NaN where empty."""
    lo, hi = np.maximum(x[0], least), np.minimum(x[1], most)
    empty = lo > hi
    return np.where(empty, np.nan, lo), np.where(empty, np.nan, hi)


def hull(values: list[Any]) -> Bounds:
    """The least interval that holds what a function gives at corners."""
    # 0*inf and inf/inf at a corner: what is near is enclosed by the other corners and 0.
    known = [np.where(np.isnan(v), 0.0, v) for v in values]
    return reduce(np.minimum, known), reduce(np.maximum, known)


def nan_where(condition: Array, x: Bounds) -> Bounds:
    """An interval, or none at all where a condition holds."""
    return np.where(condition, np.nan, x[0]), np.where(condition, np.nan, x[1])


def undefined(*xs: Bounds) -> Any:
    """Whether one of the intervals is none at all."""
    return reduce(np.logical_or, [np.isnan(end) for x in xs for end in x])


def size_of(end: Any) -> Any:
    """The size of an end, 0 where it is infinite."""
    return np.where(np.isfinite(end), np.abs(end), 0.0)
