"""Quantiles with all digits, at which the slopes of SciPy's own are taken.

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

    ``right`` says that q is the probability above. Values are plain. Next to an end of the support it is one
    inside; where the steps do not end, it is SciPy's.
    """
    given = [np.asarray(item, float) for item in (q, *shapes)]
    share, *held = [item[()] for item in np.broadcast_arrays(*given)]
    small, below = share < 0.5, (share < 0.5) != right
    with np.errstate(all="ignore"):
        goal = np.where(small, np.log(share), np.log1p(-share))
        found = np.asarray(own(q, *shapes), float)[()]
        first, last = standard.support(*held)
        x = np.clip(found, np.nextafter(first, last), np.nextafter(last, first))
        for _ in range(_STEPS):
            tails = [stated(side)(x, *held) for side in (standard.logcdf, standard.logsf)]
            log = np.where(below, *tails)
            step = np.exp(log - standard.density(x, *held)) * (goal - log)
            moved = np.where(np.isfinite(step), x + np.where(below, step, -step), x)
            # No farther than halfway to an end.
            moved = np.minimum(np.maximum(moved, 0.5 * (x + first)), 0.5 * (x + last))
            moves, x = np.abs(moved - x), moved
            if np.all((moves <= 4e-16 * np.abs(x)) | (np.abs(goal - log) <= 4e-15 * (1 - goal))):
                break
        return np.where(moves <= 1e-6 * np.abs(x), x, found)[()]
