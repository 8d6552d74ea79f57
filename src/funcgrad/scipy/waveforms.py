"""Waveforms of `scipy.signal` whose formula for equal frequencies has no slope in one of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.signal as _scipy
from scipy.special import exprel

from funcgrad.expr.registry import functions
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real, unreplaced
from funcgrad.typing import Array, ArrayLike

_SCIPYS_PHASE = unreplaced(_scipy._waveforms._chirp_phase)


def chirp_phase(
    t: ArrayLike,
    f0: Array,
    t1: Array,
    f1: Array,
    method: str = "linear",
    vertex_zero: bool = True,
) -> Any:
    """As SciPy's ``_chirp_phase``, also for two frequencies that are equal."""
    bends = method[:3] in ("lo", "log", "hyp")
    if not bends or not holds_expr([f0, f1]) or f0 != f1:
        given = (t, f0, t1, f1, method, vertex_zero)
        return functions["call_adopted"](_SCIPYS_PHASE, given, {})
    time = real("chirp", t)
    turns = 2 * math.pi * f0 * time
    if method[0] == "l":
        return turns * exprel(np.log(f1 / f0) * time / t1)
    return turns / exprel(np.log1p((f0 - f1) * time / (f1 * t1)))
