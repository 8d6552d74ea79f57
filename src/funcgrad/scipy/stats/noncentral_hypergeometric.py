"""Fisher's and Wallenius' noncentral hypergeometric distributions: of M objects n are of the first kind, of
which the odds to be among N that are drawn are those of the others times a factor.

All functions are sums over the support, in logarithms. Wallenius' mass is an integral over the time of draws,
of which the trapezoidal rule has all digits in the logarithm of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.special.mixture_ranges import wallenius_end, wallenius_start
from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.stats.standard import OF_DISCRETE, Formula, Standard, log_share
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array


def _support(M: Array, n: Array, N: Array, odds: Array) -> tuple[Any, Any]:
    return np.maximum(0.0, n + N - M), np.minimum(n, N)


def _counted(M: Array, n: Array, N: Array) -> Any:
    """Whether the counts are whole numbers, of which M is the largest."""
    valid: Any = np.isfinite(M)
    for count in (M, n, N):
        whole = np.logical_and(count >= 0, count == np.floor(count))
        valid = np.logical_and(valid, np.logical_and(whole, count <= M))
    return valid


def _log_choices(x: Array, M: Array, n: Array, N: Array) -> Any:
    """The logarithm of the number of draws with x of the first kind."""
    first = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    y, others = N - x, M - n
    return first + gammaln(others + 1) - gammaln(y + 1) - gammaln(others - y + 1)


def _fisher_log_weight(x: Array, M: Array, n: Array, N: Array, odds: Array) -> Any:
    """The logarithm of the mass, but for the sum of all."""
    return _log_choices(x, M, n, N) + x * np.log(odds)


_STEPS = np.arange(401.0)


def _wallenius_log_mass(x: Array, M: Array, n: Array, N: Array, odds: Array) -> Any:
    """Objects are drawn at times with exponential distributions, of the rates odds and 1, until N are."""
    y = N - x
    left = odds * (n - x) + (M - n - y)
    rest = np.where(left > 0, left, 1.0)  # if all are drawn, the mass is 1
    held = [stop_gradient(item) for item in (x, y, rest, odds)]
    start, end = wallenius_start(*held), wallenius_end(*held)
    step = (end - start) / (len(_STEPS) - 1)
    w = np.expand_dims(start, -1) + np.expand_dims(step, -1) * _STEPS
    x_, y_, rest_, odds_ = [np.expand_dims(item, -1) for item in (x, y, rest, odds)]
    time = np.exp(w)
    drawn = x_ * np.log(-np.expm1(-odds_ * time)) + y_ * np.log(-np.expm1(-time))
    total = special.logsumexp(w - rest_ * time + drawn, axis=-1)
    found = _log_choices(x, M, n, N) + np.log(rest) + np.log(step) + total
    return np.where(left > 0, found, 0.0)


def _places(shapes: tuple[Any, ...]) -> tuple[Any, Any, tuple[Any, ...]]:
    """The support on a last axis, which of the places belong to it, and the parameters beside them.

    The number of places is a constant of the program: a question to traced counts, which jit guards.
    """
    low, high = _support(*shapes)
    largest = np.max(np.where(_counted(*shapes[:3]), high - low, 0.0))
    count = int(stop_gradient(largest)) + 1
    low, high = np.expand_dims(low, -1), np.expand_dims(high, -1)
    x = low + np.arange(float(count))
    held = x <= high
    return np.where(held, x, low), held, tuple([np.expand_dims(shape, -1) for shape in shapes])


def _log_sum(log_weight: Callable[..., Any], x: Array, shapes: tuple[Any, ...], side: str) -> Any:
    """The logarithm of the sum of weights up to x, or above it, or of all."""
    places, held, beside = _places(shapes)
    if side != "all":
        last = np.expand_dims(x, -1)
        held = np.logical_and(held, places > last if side == "sf" else places <= last)
    weights = log_weight(places, *beside)
    return special.logsumexp(np.where(held, weights, -np.inf), axis=-1)


def _side(log_weight: Callable[..., Any], own: str, other: str) -> Callable[..., Any]:
    """The logarithm of a side: by the other one where that is small."""
    return lambda x, *shapes: log_share(
        *[_log_sum(log_weight, x, shapes, side) for side in (own, other, "all")]
    )


def _moments(log_weight: Callable[..., Any]) -> Callable[..., Any]:
    """The mean, the variance, the skewness and the excess kurtosis, as sums over the support."""

    def stats(*shapes: Array) -> Any:
        places, held, beside = _places(shapes)
        weights = np.where(held, log_weight(places, *beside), -np.inf)
        mass = special.softmax(weights, axis=-1)
        mean = np.sum(mass * places, axis=-1)
        off = places - np.expand_dims(mean, -1)
        variance, third, fourth = [np.sum(mass * off**k, axis=-1) for k in (2, 3, 4)]
        return mean, variance, third / variance**1.5, fourth / variance**2 - 3.0

    return stats


def _fisher_density(x: Array, *shapes: Array) -> Any:
    return _fisher_log_weight(x, *shapes) - _log_sum(_fisher_log_weight, x, shapes, "all")


def _of_weights(
    log_weight: Formula, density: Formula, hosted: frozenset[str] = frozenset()
) -> Standard:
    return Standard(
        density=density,
        logcdf=_side(log_weight, "cdf", "sf"),
        logsf=_side(log_weight, "sf", "cdf"),
        stats=_moments(log_weight),
        support=_support,
        valid=lambda M, n, N, odds: np.logical_and(_counted(M, n, N), odds > 0),
        hosted=hosted,
    )


nchypergeom_fisher = _of_weights(_fisher_log_weight, _fisher_density)
nchypergeom_wallenius = _of_weights(_wallenius_log_mass, _wallenius_log_mass, OF_DISCRETE)
