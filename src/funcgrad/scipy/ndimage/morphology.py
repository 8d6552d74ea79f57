"""Morphology by footprints and structures: extremes of the shifted copies of the image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.ndimage as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import number, writes
from funcgrad.scipy.ndimage.filters import neighbors
from funcgrad.typing import Array

_MODES = ("nearest", "wrap", "reflect", "mirror", "constant", "grid-wrap", "grid-constant")
"""Extensions of images by SciPy's codes."""


@writes
def min_or_max_filter(
    input: Array,
    footprint: Array,
    structure: Array | None,
    output: Array,
    mode: int,
    cval: float,
    origins: Sequence[int],
    minimum: int,
) -> None:
    """SciPy's compiled function: the least value less the structure, or the largest value with it added."""
    if not holds_expr([input, structure, cval]):
        compiled = _scipy._filters._nd_image.min_or_max_filter
        compiled(input, footprint, structure, output, mode, cval, origins, minimum)
        return
    shape = np.asarray(footprint, bool)
    around: Any = neighbors(
        "morphology", number("morphology", input), shape, _MODES[mode], cval, list(origins)
    )
    if structure is not None:
        offsets = number("morphology", structure).reshape(-1)[np.flatnonzero(shape)]
        offsets = offsets.reshape((-1, *[1] * (around.ndim - 1)))
        around = around - offsets if minimum else around + offsets
    output[...] = np.min(around, axis=0) if minimum else np.max(around, axis=0)
