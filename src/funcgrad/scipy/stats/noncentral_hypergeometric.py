"""Fisher's noncentral hypergeometric distribution: of M objects n are of the first kind, of which the odds to
be among N that are drawn are those of the others times a factor.

All functions are sums over the support, in logarithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops.special.polygamma import gammaln
from funcgrad.scipy import special
from funcgrad.scipy.stats.standard import Standard
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


def _valid(M: Array, n: Array, N: Array, odds: Array) -> Any:
    return np.logical_and(_counted(M, n, N), odds > 0)


def _log_weight(x: Array, M: Array, n: Array, N: Array, odds: Array) -> Any:
    """The logarithm of the number of draws with x of the first kind, times the odds of each."""
    first = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    y, others = N - x, M - n
    second = gammaln(others + 1) - gammaln(y + 1) - gammaln(others - y + 1)
    return first + second + x * np.log(odds)


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


def _log_sum(x: Array, shapes: tuple[Any, ...], upper: bool | None) -> Any:
    """The logarithm of the weights up to x, or above it, or of all."""
    places, held, beside = _places(shapes)
    if upper is not None:
        last = np.expand_dims(x, -1)
        held = np.logical_and(held, places > last if upper else places <= last)
    return special.logsumexp(np.where(held, _log_weight(places, *beside), -np.inf), axis=-1)


def _density(x: Array, *shapes: Array) -> Any:
    return _log_weight(x, *shapes) - _log_sum(x, shapes, None)


def _side(x: Array, shapes: tuple[Any, ...], upper: bool) -> Any:
    """The logarithm of a side: by the other one where that is small."""
    whole = _log_sum(x, shapes, None)
    own, other = [_log_sum(x, shapes, side) - whole for side in (upper, not upper)]
    return np.where(own < other, own, np.log1p(-np.exp(np.where(own < other, -1.0, other))))


nchypergeom_fisher = Standard(
    density=_density,
    logcdf=lambda x, *shapes: _side(x, shapes, False),
    logsf=lambda x, *shapes: _side(x, shapes, True),
    support=_support,
    valid=_valid,
)
