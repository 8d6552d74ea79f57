"""``numpy.polynomial.polyutils`` for adopted code: what it asks of coefficients."""

from __future__ import annotations

from numpy.polynomial import polyutils

from funcgrad.typing import Array


def trimseq(seq: Array) -> Array:
    """As NumPy's, a series without zeros at its end; of a mapped one, whose entries differ, all entries."""
    try:
        return polyutils.trimseq(seq)
    except TypeError:
        return seq
