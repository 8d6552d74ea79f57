"""``numpy.polynomial.polyutils`` for adopted code: what it asks of coefficients."""

from __future__ import annotations

from numpy.polynomial import polyutils

from funcgrad.ops.shape import holds_expr
from funcgrad.typing import Array


def trimseq(seq: Array) -> Array:
    """As NumPy's, a series without zeros at its end; of a traced one, whose zeros have derivatives, all."""
    return seq if holds_expr(seq) else polyutils.trimseq(seq)
