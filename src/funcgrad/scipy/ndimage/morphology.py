"""Morphology by footprints and structures: extremes of the shifted copies of the image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.ndimage as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import floating, nondifferentiable, number, writes
from funcgrad.scipy.ndimage.filters import as_scipy_chose, neighbors
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
    compiled = _scipy._filters._nd_image.min_or_max_filter
    if not holds_expr([input, structure, cval]):
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
    expected: Any = np.min(around, axis=0) if minimum else np.max(around, axis=0)

    def run(image: Array, cval: Array, *weights: Array) -> Any:
        found = np.empty_like(image)
        offsets = np.ascontiguousarray(weights[0]) if weights else None
        compiled(image, shape, offsets, found, mode, cval, origins, minimum)
        return found

    image = floating("morphology", input)
    weights = [] if structure is None else [number("morphology", structure)]
    own = nondifferentiable("morphology", run, image, cval, *weights).astype(expected.dtype)
    output[...] = as_scipy_chose(own, around, expected)
