"""Newton's method for quantiles, from SciPy's: slopes are taken at a quantile that has all digits.

SciPy's searches and formulas give some quantiles to few digits: that of the right tail is as a rule the one
at 1 - q. The slope of a distribution function there would have fewer still.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.scipy.stats.standard import Standard, stated
from funcgrad.typing import Array

_STEPS = 40


def polished(
    own: Callable[..., Any], standard: Standard, right: bool, q: Array, *shapes: Array
) -> Any:
    """SciPy's quantile ``own`` after Newton's steps on the logarithm of the smaller tail.

    ``right`` says that q is the probability above. Values are plain, and inside of the support.
    """
    given = np.broadcast_arrays(*[np.asarray(item, float) for item in (q, *shapes)])
    share, *held = [item.reshape(-1) for item in given]
    with np.errstate(all="ignore"):
        found = np.asarray(own(q, *shapes), float).reshape(-1)
        first, last = [np.broadcast_to(end, share.shape) for end in standard.support(*held)]
        x = np.clip(found, np.nextafter(first, last), np.nextafter(last, first))
        left = np.arange(x.size)
        for _ in range(_STEPS):
            if not left.size:
                break
            before, own_shapes = x[left], [shape[left] for shape in held]
            moved, is_exact = _newton(standard, right, before, share[left], own_shapes)
            # No farther than halfway to an end.
            low, high = [0.5 * (before + end[left]) for end in (first, last)]
            x[left] = np.minimum(np.maximum(moved, low), high)
            left = left[~is_exact & (np.abs(x[left] - before) > 4e-16 * np.abs(before))]
    return x.reshape(given[0].shape)[()]


def _newton(
    standard: Standard, right: bool, x: Array, share: Array, shapes: list[Array]
) -> tuple[Array, Array]:
    """Where a step of Newton's leads, and whether the probability is q to all digits."""
    small = share < 0.5
    goal = np.where(small, np.log(share), np.log1p(-share))
    tails = [stated(side)(x, *shapes) for side in (standard.logcdf, standard.logsf)]
    log = np.where(small != right, *tails)
    step = np.exp(log - standard.density(x, *shapes)) * (goal - log)
    moved = np.where(np.isfinite(step), x + np.where(small != right, step, -step), x)
    return moved, np.abs(goal - log) <= 4e-15 * (1 - goal)
