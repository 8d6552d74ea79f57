"""What NumPy's polynomials ask of the values of coefficients, for adopted code."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import polyutils

from funcgrad.ops.shape import holds_expr
from funcgrad.source import fail
from funcgrad.typing import Array


def trimseq(seq: Array) -> Array:
    """As NumPy's, a series without zeros at its end; of a traced one, whose zeros have derivatives, all."""
    return seq if holds_expr(seq) else polyutils.trimseq(seq)


def initialize(
    self: np.poly1d, c_or_r: Array | np.poly1d, r: bool = False, variable: str | None = None
) -> None:
    """As `numpy.poly1d`, without zeros at the front; of traced coefficients, all."""
    given = np.poly(c_or_r) if r and not isinstance(c_or_r, np.poly1d) else c_or_r
    if isinstance(given, np.poly1d) or not holds_expr(given):
        np.poly1d.__init__(self, given, variable=variable)
        return
    coefficients = np.atleast_1d(given)
    if coefficients.ndim > 1:
        raise fail(ValueError, "Polynomial must be 1d only.")
    np.poly1d.__init__(self, [0.0], variable=variable)
    vars(self)["coeffs"] = coefficients
