"""Arithmetic on intervals: functions of numbers.

Most functions are read off what they are: monotone (the values at the ends), monotone in each operand
apart (the values at the corners), even, periodic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.algebras.outward_rounding import (
    CORRECT,
    EPS,
    NEAR,
    Bounds,
    hull,
    nan_where,
    outward,
    size_of,
    undefined,
    widened,
    within,
)


# -- monotone ------------------------------------------------------------------------------------
def monotone(
    run: Callable[..., Any],
    x: Bounds,
    ulps: int = NEAR,
    domain: tuple[float, float] = (-math.inf, math.inf),
    values: tuple[float, float] = (-math.inf, math.inf),
    rising: bool = True,
) -> Bounds:
    """Of a function that rises, or falls, on its domain: its values at the ends."""
    lo, hi = within(x, *domain)
    ends = (run(lo), run(hi)) if rising else (run(hi), run(lo))
    return nan_where(np.isnan(lo), within(outward(*ends, ulps), *values))


def corners(run: Callable[..., Any], x: Bounds, y: Bounds, ulps: int) -> Bounds:
    """Of a function that is monotone in each operand with the other held: its values at the corners."""
    found = outward(*hull([run(a, b) for a in x for b in y]), ulps)
    return nan_where(undefined(x, y), found)


def add(x: Bounds, y: Bounds) -> Bounds:
    return outward(x[0] + y[0], x[1] + y[1], CORRECT)


def subtract(x: Bounds, y: Bounds) -> Bounds:
    return outward(x[0] - y[1], x[1] - y[0], CORRECT)


def negative(x: Bounds) -> Bounds:
    return -x[1], -x[0]


def multiply(x: Bounds, y: Bounds) -> Bounds:
    return corners(np.multiply, x, y, CORRECT)


def divide(x: Bounds, y: Bounds) -> Bounds:
    # A zero end of the divisor is approached from inside: 1/[0, 2] is [1/2, inf].
    low = np.where(y[0] == 0, 0.0, y[0])
    high = np.where(y[1] == 0, -0.0, y[1])
    found = outward(*hull([a / b for a in x for b in (low, high)]), CORRECT)
    across = (y[0] <= 0) & (y[1] >= 0) & ((y[0] < 0) == (y[1] > 0)) & ~((x[0] == 0) & (x[1] == 0))
    lo, hi = np.where(across, -np.inf, found[0]), np.where(across, np.inf, found[1])
    return nan_where(undefined(x, y) | ((y[0] == 0) & (y[1] == 0)), (lo, hi))


def reciprocal(x: Bounds) -> Bounds:
    return divide((np.ones_like(x[0]), np.ones_like(x[0])), x)


# -- even, and powers ----------------------------------------------------------------------------
def absolute(x: Bounds) -> Bounds:
    straddles = (x[0] <= 0) & (x[1] >= 0)
    least = np.where(straddles, 0.0, np.minimum(np.abs(x[0]), np.abs(x[1])))
    return least, np.maximum(np.abs(x[0]), np.abs(x[1]))


def even(run: Callable[..., Any], x: Bounds, ulps: int, least: float) -> Bounds:
    """Of an even function that rises from 0, where it is ``least``."""
    return monotone(run, absolute(x), ulps, values=(least, math.inf))


def power(x: Bounds, y: Bounds) -> Bounds:
    exponent = np.asarray(y[0])
    if not np.array_equal(y[0], y[1]):
        return _general_power(x, y)
    whole = np.isfinite(exponent) & (exponent == np.rint(exponent))
    odd = whole & (np.remainder(exponent, 2) == 1)
    size = absolute(x)
    # |x|**n at the ends, rising or falling with the sign of n.
    ends = np.power(size[0], exponent), np.power(size[1], exponent)
    even_case = within(outward(np.minimum(*ends), np.maximum(*ends), NEAR), 0.0, math.inf)
    odd_case = _odd_power(x, exponent)
    root_case = _general_power(within(x, 0.0, math.inf), y)
    lo, hi = (
        np.select([exponent == 0, odd, whole], [1.0, odd_case[i], even_case[i]], root_case[i])
        for i in (0, 1)
    )
    return lo, hi


def _odd_power(x: Bounds, n: Any) -> Bounds:
    """Rising for n > 0; 1/x**-n for n < 0, whose divisor is exact at 0."""
    size = np.abs(n)
    lo, hi = outward(np.power(x[0], size), np.power(x[1], size), NEAR)
    lo, hi = np.where(x[0] == 0, 0.0, lo), np.where(x[1] == 0, 0.0, hi)
    lo = np.where(x[0] > 0, np.maximum(lo, 0.0), lo)
    hi = np.where(x[1] < 0, np.minimum(hi, 0.0), hi)
    below = reciprocal((lo, hi))
    return np.where(n < 0, below[0], lo), np.where(n < 0, below[1], hi)


def _general_power(x: Bounds, y: Bounds) -> Bounds:
    # At the corners; what is negative has powers at whole exponents alone, of either sign.
    size = absolute(x)
    corners = hull([np.power(a, b) for a in size for b in y])
    # With 0 in both, x**0 is 1 and 0**y is 0, or inf below.
    lo, hi = within(outward(*corners, NEAR), 0.0, math.inf)
    lo = np.where(x[0] < 0, -hi, lo)
    return nan_where(undefined(x, y), (lo, hi))


# -- periodic ------------------------------------------------------------------------------------
def _meets(x: Bounds, first: float, period: float) -> Any:
    """Whether an interval holds a point first + n*period, in doubt yes."""
    a, b = (x[0] - first) / period, (x[1] - first) / period
    doubt = 4 * EPS * (1 + np.maximum(np.abs(a), np.abs(b)))
    unbounded = ~np.isfinite(a) | ~np.isfinite(b)
    return unbounded | (np.floor(b + doubt) >= np.ceil(a - doubt))


def wave(run: Callable[..., Any], x: Bounds, top: float, bottom: float) -> Bounds:
    """Of a function like the sine, which is 1 at ``top`` and -1 at ``bottom``."""
    lo, hi = outward(*hull([run(x[0]), run(x[1])]), NEAR)
    lo = np.where(_meets(x, bottom, 2 * np.pi), -1.0, lo)
    hi = np.where(_meets(x, top, 2 * np.pi), 1.0, hi)
    return nan_where(undefined(x), within((lo, hi), -1.0, 1.0))


def tan(x: Bounds) -> Bounds:
    pole = _meets(x, np.pi / 2, np.pi)
    lo, hi = outward(np.tan(x[0]), np.tan(x[1]), NEAR)
    return nan_where(undefined(x), (np.where(pole, -np.inf, lo), np.where(pole, np.inf, hi)))


def sinc(run: Callable[..., Any], x: Bounds, order: int) -> Bounds:
    # By the mean value theorem: the n-th derivative is at most pi**n/(n+1) in size.
    middle = np.where(np.isfinite(x[0] + x[1]), x[0] / 2 + x[1] / 2, 0.0)
    reach = np.maximum(x[1] - middle, middle - x[0]) * (1 + 4 * EPS)
    limit = np.pi**order / (order + 1) * (1 + 4 * EPS)
    error = reach * np.pi ** (order + 1) / (order + 2) + 64 * EPS * np.pi**order * (order + 1)
    value = run(middle, order=order)
    lo, hi = widened(value, value, error, error)
    return nan_where(undefined(x), within((lo, hi), -limit, limit))


# -- of two operands -----------------------------------------------------------------------------
def log_sum(run: Callable[..., Any], x: Bounds, y: Bounds) -> Bounds:
    """Of `logaddexp` and its like, where terms cancel: the error is relative to the operands."""

    def off(a: object, b: object) -> Any:
        return NEAR * EPS * (1.0 + size_of(a) + size_of(b))

    lo, hi = run(x[0], y[0]), run(x[1], y[1])
    return widened(lo, hi, off(x[0], y[0]), off(x[1], y[1]))


def hypot(x: Bounds, y: Bounds) -> Bounds:
    x, y = absolute(x), absolute(y)
    return within(outward(np.hypot(x[0], y[0]), np.hypot(x[1], y[1]), NEAR), 0.0, math.inf)


def arctan2(y: Bounds, x: Bounds) -> Bounds:
    # An end of -0.0 is the real 0, too: the angle is then either end of the cut.
    ends = (*y, y[0] + 0.0)
    lo, hi = outward(*hull([np.arctan2(a, b) for a in ends for b in x]), NEAR)
    cut = (y[0] < 0) & (y[1] >= 0) & (x[0] < 0)
    most = np.nextafter(np.pi, 4)
    lo, hi = np.where(cut, -most, lo), np.where(cut, most, hi)
    return nan_where(undefined(x, y), within((lo, hi), -most, most))


def remainder(x: Bounds, y: Bounds) -> Bounds:
    found = np.minimum(y[0], 0.0), np.maximum(y[1], 0.0)
    return nan_where(undefined(x, y), found)


def fmod(x: Bounds, y: Bounds) -> Bounds:
    most = np.minimum(absolute(x)[1], absolute(y)[1])
    found = np.where(x[0] < 0, -most, 0.0), np.where(x[1] > 0, most, 0.0)
    return nan_where(undefined(x, y), found)


def floor_divide(x: Bounds, y: Bounds) -> Bounds:
    lo, hi = divide(x, y)
    return np.floor(lo), np.floor(hi)


def copysign(x: Bounds, y: Bounds) -> Bounds:
    lo, hi = absolute(x)
    # Zero may bear either sign.
    above, below = y[0] > 0, y[1] < 0
    return np.where(above, lo, -hi), np.where(below, -lo, hi)


def xlogx(run: Callable[..., Any], x: Bounds) -> Bounds:
    """Falls to -1/e at 1/e, and rises."""
    bottom = 1 / math.e
    x = within(x, 0.0, math.inf)
    values = [run(x[0]), run(x[1])]
    lo, hi = outward(np.minimum(*values), np.maximum(*values), NEAR)
    holds = (x[0] <= bottom * (1 + 4 * EPS)) & (x[1] >= bottom * (1 - 4 * EPS))
    return np.where(holds, np.minimum(lo, -bottom * (1 + 4 * EPS)), lo), hi


def unchanged(x: Bounds) -> Bounds:
    return x


def zero(x: Bounds) -> Bounds:
    return np.zeros_like(x[0]), np.zeros_like(x[0])
