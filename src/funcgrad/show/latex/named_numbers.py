"""Numbers that a formula has a name for: fractions of pi, e, roots and logarithms of whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from funcgrad.show.latex.latex_operations import ATOM, CALL, PRODUCT, UNARY
from funcgrad.show.written import Written

_LARGEST_DENOMINATOR = 12
_NAMED: Mapping[float, Written] = MappingProxyType(
    {
        float(np.e): Written("e", ATOM),
        float(np.sqrt(2)): Written(r"\sqrt{2}", ATOM),
        float(np.sqrt(3)): Written(r"\sqrt{3}", ATOM),
        float(np.sqrt(np.pi)): Written(r"\sqrt{\pi}", ATOM),
        float(1 / np.sqrt(np.pi)): Written(r"\frac{1}{\sqrt{\pi}}", UNARY),
        float(2 / np.sqrt(np.pi)): Written(r"\frac{2}{\sqrt{\pi}}", UNARY),
        float(np.sqrt(2 * np.pi)): Written(r"\sqrt{2 \pi}", ATOM),
        float(1 / np.sqrt(2 * np.pi)): Written(r"\frac{1}{\sqrt{2 \pi}}", UNARY),
        float(np.log(2)): Written(r"\log\left(2\right)", CALL),
        float(np.log(10)): Written(r"\log\left(10\right)", CALL),
        float(1 / np.log(2)): Written(r"\frac{1}{\log\left(2\right)}", UNARY),
        float(1 / np.log(10)): Written(r"\frac{1}{\log\left(10\right)}", UNARY),
        float(0.5 * np.log(2 * np.pi)): Written(r"\frac{\log\left(2 \pi\right)}{2}", UNARY),
    }
)


def named_number(value: float) -> Written | None:
    r"""A number by its name, if it is the double nearest to one; None of others.

    >>> print(named_number(np.pi / 2).text)
    \frac{\pi}{2}
    """
    if not 1e-3 < abs(value) < 1e3:
        return None
    if value in _NAMED:
        return _NAMED[value]
    ratio = Fraction(value / np.pi).limit_denominator(_LARGEST_DENOMINATOR)
    above, below = abs(ratio.numerator), ratio.denominator
    if not above or above * np.pi / below != abs(value):
        return None
    sign, pi = "-" * (ratio < 0), r"\pi" if above == 1 else rf"{above} \pi"
    if below > 1:
        return Written(rf"{sign}\frac{{{pi}}}{{{below}}}", UNARY)
    return Written(sign + pi, UNARY if sign else ATOM if above == 1 else PRODUCT)
