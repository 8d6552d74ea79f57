"""Ranges in which integrands of distributions are not negligible: constants, found by search."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.ops.special.special_function import numeric_function
from funcgrad.typing import Array

_FALL = 46.0
"""What is smaller than the largest value by a factor of exp(46) is negligible."""


def _reach(w: Array, p: Array, b: Array) -> Any:
    """How far left of w the density of log(x) falls to a negligible value."""
    shape = np.shape(w + p + b)
    low, high = np.full(shape, -60.0), np.full(shape, 8.0)  # bounds of its logarithm
    for _ in range(60):
        middle = 0.5 * (low + high)
        v = np.exp(middle)
        fall = p * v + 2.0 * b * np.sinh(0.5 * v) * np.sinh(0.5 * v - w)
        near = fall < _FALL
        low, high = np.where(near, middle, low), np.where(near, high, middle)
    return np.exp(high)


inverse_gaussian_reach: Op = numeric_function(
    "inverse_gaussian_reach", _reach, None, None, None, mpmath=None
)


def _mixture_exponent(x: Array, p: Array, a: Array, b: Array) -> Callable[[Array], Any]:
    log_ndtr = scipy_special("log_ndtr").log_ndtr
    square = (a - b) * (a + b)

    def exponent(w: Array) -> Any:
        normal = log_ndtr(x * np.exp(-0.5 * w) - b * np.exp(0.5 * w))
        return p * w - 0.5 * (np.exp(-w) + square * np.exp(w)) + normal

    return exponent


def _search(exponent: Callable[[Array], Any], shape: tuple[int, ...]) -> tuple[Any, Any]:
    """The ends: by a grid over all numbers that have an exponential, refined around the maximum."""
    low, high = np.full((*shape, 1), -700.0), np.full((*shape, 1), 700.0)
    for _ in range(6):
        grid = low + (high - low) * np.linspace(0.0, 1.0, 401)
        values = np.nan_to_num(exponent(grid), nan=-math.inf)
        kept = values > np.max(values, axis=-1, keepdims=True) - _FALL
        first, last = np.argmax(kept, axis=-1), 400 - np.argmax(kept[..., ::-1], axis=-1)
        first, last = np.maximum(first - 1, 0)[..., None], np.minimum(last + 1, 400)[..., None]
        low, high = (np.take_along_axis(grid, place, -1) for place in (first, last))
    return low[..., 0], high[..., 0]


def _mixture_range(end: bool) -> Callable[..., Any]:
    def run(*args: Array) -> Any:
        exponent = _mixture_exponent(*[arg[..., None] for arg in np.broadcast_arrays(*args)])
        return _search(exponent, np.broadcast(*args).shape)[end]

    return run


normal_mixture_start: Op = numeric_function(
    "normal_mixture_start", _mixture_range(False), None, None, None, None, mpmath=None
)
normal_mixture_end: Op = numeric_function(
    "normal_mixture_end", _mixture_range(True), None, None, None, None, mpmath=None
)


def _studentized_range(end: bool) -> Callable[..., Any]:
    """An end of the range for the logarithm of a chi variable; the kinds are the distribution function of
    the studentized range (0), its complement (1), and the density (2)."""

    def run(*args: Array) -> Any:
        q, k, df, kind = [arg[..., None] for arg in np.broadcast_arrays(*args)]

        def exponent(w: Array) -> Any:
            chi = 0.5 * df * (2.0 * w - np.expm1(2.0 * w))
            below = (k - np.where(kind == 2, 2.0, 1.0)) * np.minimum(np.log(q) + w, 0.0)
            above = -0.25 * (q * np.exp(w)) ** 2
            own = np.where(kind == 0, below, np.where(kind == 1, above, below + above))
            return chi + own + np.where(kind == 2, w, 0.0)

        found = _search(exponent, np.broadcast(*args).shape)
        return found[end]

    return run


studentized_start: Op = numeric_function(
    "studentized_start", _studentized_range(False), None, None, None, None, mpmath=None
)
studentized_end: Op = numeric_function(
    "studentized_end", _studentized_range(True), None, None, None, None, mpmath=None
)


def _wallenius_range(end: bool) -> Callable[..., Any]:
    """An end of the range for the logarithm of the time of draws: x of the first kind, y of the others."""

    def run(*args: Array) -> Any:
        x, y, rest, odds = [arg[..., None] for arg in np.broadcast_arrays(*args)]

        def exponent(w: Array) -> Any:
            time = np.exp(w)
            drawn = x * np.log(-np.expm1(-odds * time)) + y * np.log(-np.expm1(-time))
            return w - rest * time + np.where(x + y > 0, drawn, 0.0)

        return _search(exponent, np.broadcast(*args).shape)[end]

    return run


wallenius_start: Op = numeric_function(
    "wallenius_start", _wallenius_range(False), None, None, None, None, mpmath=None
)
wallenius_end: Op = numeric_function(
    "wallenius_end", _wallenius_range(True), None, None, None, None, mpmath=None
)
