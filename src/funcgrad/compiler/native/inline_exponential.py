"""Exponentials as instructions, for loops whose entries LLVM puts into vectors.

exp(x) is 2**k*exp(r), where k is the integer next to x/log(2) and r = x - k*log(2) (Cody and Waite's
reduction, with log(2) in two parts), and exp(r) = 1 + q with q = r + r**2*P(r), P a minimax polynomial of
Remez's. 2**k is a product of two powers of two, so that a subnormal result is rounded once. expm1 is
2**k*q + (2**k - 1), and tanh(x) = -m/(1 + e) with m = expm1(-2*abs(x)) and e = exp(-2*abs(x)). LLVM computes
r, k and q once for all functions of one number, so tanh and its derivative, e*(2/(1 + e))**2, take one
exponential and one division.

The errors are at most 1.1 units in the last place of exp, 2.3 of expm1 and 3 of tanh. All entries of an array
go through the same instructions, also those that fill no vector, and registers keep their contents, which a
call of a vector function of C's would overwrite. Outside of loops over entries, C's functions are called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number, integer, real
from funcgrad.compiler.native.vector_functions import declarations

_P = (
    0.5000000000000011,
    0.16666666666666413,
    0.041666666666530155,
    0.008333333333494461,
    0.0013888888943630114,
    0.00019841269506578688,
    2.480149309890655e-05,
    2.7557586373840165e-06,
    2.763024837921144e-07,
    2.5000061602835666e-08,
)
"""The coefficients of P, the lowest first: exp(r) to 1.1e-17 where abs(r) <= log(2)/2."""
_LOG2_HIGH, _LOG2_LOW = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
"""The parts of log(2); a product of the first with k is exact."""
_ONE_OVER_LOG2 = 1.4426950408889634
_ROUNDING = 1.5 * 2.0**52
"""A sum with this number has the units' digit last: its last bits are the integer next to the addend."""
_HIGHEST, _LOWEST = 710.0, -746.0
"""From here on exp is infinite and 0."""
_BIAS = 1023
"""The exponent of 1.0 in its bits."""


class _Reduced(NamedTuple):
    """exp(x) = (1 + q)*first*second, where the last two are powers of two, given by their bits."""

    q: Number
    first: Number
    second: Number


def exp(w: LLVMWriter, x: Number) -> Number:
    """The exponential of a `float64`."""
    if not w.over_entries:
        return _by_c(w, "exp", x)
    q, first, second = _reduced(w, x)
    most = w.binary("fmul", w.binary("fadd", real(1.0), q), _double(w, first))
    return w.binary("fmul", most, _double(w, second))


def expm1(w: LLVMWriter, x: Number) -> Number:
    """exp(x) - 1 of a `float64`, with the sign of a zero."""
    if not w.over_entries:
        return _by_c(w, "expm1", x)
    return w.select(w.compare("oeq", x, real(0.0)), x, _expm1(w, x))


def _expm1(w: LLVMWriter, x: Number) -> Number:
    q, first, second = _reduced(w, x)
    inverse = w.binary("sub", integer(2 * _BIAS << 52), second)
    less = w.binary("fsub", _double(w, first), _double(w, inverse))
    return w.binary("fmul", _fused(w, q, _double(w, first), less), _double(w, second))


def tanh(w: LLVMWriter, x: Number) -> Number:
    """The hyperbolic tangent of a `float64`."""
    if not w.over_entries:
        return _by_c(w, "tanh", x)
    y = w.binary("fmul", real(-2.0), w.intrinsic("fabs", x))
    # (The quotient is that of the derivative.)
    twice = w.binary("fdiv", real(2.0), w.binary("fadd", real(1.0), exp(w, y)))
    size = w.binary("fmul", w.binary("fmul", real(-0.5), _expm1(w, y)), twice)
    return w.intrinsic("copysign", size, x)


EXPONENTIALS: Mapping[str, Callable[[LLVMWriter, Number], Number]] = MappingProxyType(
    {"exp": exp, "expm1": expm1, "tanh": tanh}
)
"""By C's names: functions of a `float64` that are written out in loops over entries."""


def _reduced(w: LLVMWriter, x: Number) -> _Reduced:
    """The reduction of an argument, of which a NaN stays one."""
    w.latency_bound = True
    x = w.select(w.compare("ogt", x, real(_HIGHEST)), real(_HIGHEST), x)
    x = w.select(w.compare("olt", x, real(_LOWEST)), real(_LOWEST), x)
    shifted = _fused(w, x, real(_ONE_OVER_LOG2), real(_ROUNDING))
    k = w.binary("fsub", shifted, real(_ROUNDING))
    r = _fused(w, k, real(-_LOG2_LOW), _fused(w, k, real(-_LOG2_HIGH), x))
    square = w.binary("fmul", r, r)
    q = _fused(w, square, _polynomial(w, r, square), r)
    half = w.cast("bitcast", _fused(w, k, real(0.5), real(_ROUNDING)), "i64")
    rest = w.binary("sub", w.cast("bitcast", shifted, "i64"), half)
    return _Reduced(q, _power_of_two(w, half), _power_of_two(w, rest))


def _polynomial(w: LLVMWriter, x: Number, square: Number) -> Number:
    """P by Estrin's scheme, whose sums wait for each other least."""
    terms: list[Number] = [real(c) for c in _P]
    power = x
    while len(terms) > 1:
        pairs = [
            _fused(w, high, power, low) for low, high in zip(terms[::2], terms[1::2], strict=False)
        ]
        terms = pairs + terms[2 * len(pairs) :]
        power = square if power is x else w.binary("fmul", power, power)
    return terms[0]


def _power_of_two(w: LLVMWriter, integer_bits: Number) -> Number:
    """The bits of 2**k, of an integer whose last twelve bits are those of k."""
    exponent = w.binary("shl", integer_bits, integer(52))
    return w.binary("add", exponent, integer(_BIAS << 52))


def _double(w: LLVMWriter, bits: Number) -> Number:
    return w.cast("bitcast", bits, "double")


def _fused(w: LLVMWriter, x: Number, y: Number, z: Number) -> Number:
    """x*y + z, rounded once where the processor has an instruction for it."""
    return w.intrinsic("fmuladd", x, y, z)


def _by_c(w: LLVMWriter, name: str, x: Number) -> Number:
    w.declared.update(declarations(name, 1))
    return w.call(name, "double", x)
