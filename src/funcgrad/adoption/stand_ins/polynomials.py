"""What NumPy's polynomials ask of the values of coefficients, for adopted code.

NumPy cuts zeros off. One that is differentiated has a derivative, and one of a mapped value may be none in
another example: such coefficients are all kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.polynomial import polyutils

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr
from funcgrad.expr.registry import functions
from funcgrad.numpy.creation import array
from funcgrad.ops.shape import holds_expr
from funcgrad.source import fail
from funcgrad.typing import Array


def trimseq(seq: Array) -> Array:
    """As NumPy's, a series without zeros at its end."""
    if _is_differentiated(seq):
        return seq
    try:
        return polyutils.trimseq(seq)
    except TypeError:
        if not holds_expr(seq):
            raise
        return seq


def initialize(
    self: np.poly1d, c_or_r: Array | np.poly1d, r: bool = False, variable: str | None = None
) -> None:
    """As `numpy.poly1d`, without zeros at the front."""
    given: Any = c_or_r
    if isinstance(given, np.poly1d) or not holds_expr(given):
        np.poly1d.__init__(self, given, r, variable)
        return
    given = array(given, ndmin=1)
    given = np.poly(given) if r else given
    if given.ndim > 1:
        raise fail(ValueError, "Polynomial must be 1d only.")
    if not _is_differentiated(given):
        try:
            np.poly1d.__init__(self, given, variable=variable)
            return
        except TypeError:  # a mapped value
            pass
    np.poly1d.__init__(self, [0.0], variable=variable)
    vars(self)["coeffs"] = given


def _is_differentiated(coefficients: Array) -> bool:
    value = plain_value(coefficients)
    return isinstance(value, Expr) and bool(value.traced) and bool(functions["is_varied"](value))
