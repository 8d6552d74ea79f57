"""Ranks, which are constants: statistics that SciPy makes of them follow in adopted code."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import scipy.stats as _scipy

from funcgrad.scipy.composition import composed, decided, floating


@composed(_scipy)
def rankdata(a: npt.ArrayLike, **options: object) -> Any:
    """As `scipy.stats.rankdata`."""
    return decided("ranks", lambda a: _scipy.rankdata(a, **options), floating("rankdata", a))
