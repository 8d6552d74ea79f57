"""Exponentials as instructions, for loops whose entries LLVM puts into vectors.

exp(x) is 2**k*exp(r), where k is the integer next to x/log(2) and r = x - k*log(2) (Cody and Waite's
reduction, with log(2) in two parts), and exp(r) = 1 + q with q = r + r**2*P(r), P a minimax polynomial of
Remez's. 2**k is a product of two powers of two, so that a subnormal result is rounded once. expm1 is
2**k*q + (2**k - 1), and tanh(x) = -m/(1 + e) with m = expm1(-2*abs(x)) and e = exp(-2*abs(x)). LLVM computes
r, k and q once for all functions of one number, so tanh and its derivative, e*(2/(1 + e))**2, take one
exponential and one division.

In double and in single precision, the errors are at most 1.1 units in the last place of exp, 2.3 of expm1 and
3 of tanh. All entries of an array go through the same instructions, also those that fill no vector, and
registers keep their contents, which a call of a vector function of C's would overwrite. Outside of loops over
entries, C's functions are called, in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number, real
from funcgrad.compiler.native.vector_functions import call_c


class _Format(NamedTuple):
    """What the reduction needs of a floating-point format."""

    polynomial: tuple[float, ...]
    """The coefficients of P, the lowest first: exp(r) to less than a tenth of a unit in the last place."""
    log2: tuple[float, float]
    """The parts of log(2); a product of the first with k is exact."""
    rounding: float
    """A sum with this number has the units' digit last: its last bits are the integer next to the addend."""
    highest: float
    lowest: float
    """From here on exp is infinite and 0."""
    bits: str
    """The integer with the bits of a number: the fraction's are the last ones, then come the exponent's."""
    fraction: int
    bias: int
    """The exponent of 1.0 in its bits."""


_FORMATS = {
    "double": _Format(
        polynomial=(
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
        ),
        log2=(float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")),
        rounding=1.5 * 2.0**52,
        highest=710.0,
        lowest=-746.0,
        bits="i64",
        fraction=52,
        bias=1023,
    ),
    "float": _Format(
        polynomial=(
            0.5000000058910214,
            0.16666666840834364,
            0.04166631644932093,
            0.008333268202358617,
            0.0013943445073610834,
            0.00019916559079073523,
        ),
        log2=(float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cf8p-20")),
        rounding=1.5 * 2.0**23,
        highest=89.0,
        lowest=-104.0,
        bits="i32",
        fraction=23,
        bias=127,
    ),
}
_ONE_OVER_LOG2 = 1.4426950408889634


class _Reduced(NamedTuple):
    """exp(x) = (1 + q)*first*second, where the last two are powers of two, given by their bits."""

    q: Number
    first: Number
    second: Number


def exp(w: LLVMWriter, x: Number) -> Number:
    """The exponential."""
    if not w.over_entries:
        return _by_c(w, "exp", x)
    q, first, second = _reduced(w, x)
    most = w.binary(
        "fmul", w.binary("fadd", real(1.0, x.type), q), w.cast("bitcast", first, x.type)
    )
    return w.binary("fmul", most, w.cast("bitcast", second, x.type))


def expm1(w: LLVMWriter, x: Number) -> Number:
    """exp(x) - 1, with the sign of a zero."""
    if not w.over_entries:
        return _by_c(w, "expm1", x)
    return w.select(w.compare("oeq", x, real(0.0, x.type)), x, _expm1(w, x))


def _expm1(w: LLVMWriter, x: Number) -> Number:
    form = _FORMATS[x.type]
    q, first, second = _reduced(w, x)
    inverse = w.binary("sub", Number(form.bits, str(2 * form.bias << form.fraction)), second)
    factor = w.cast("bitcast", first, x.type)
    less = w.binary("fsub", factor, w.cast("bitcast", inverse, x.type))
    return w.binary("fmul", _fused(w, q, factor, less), w.cast("bitcast", second, x.type))


def tanh(w: LLVMWriter, x: Number) -> Number:
    """The hyperbolic tangent."""
    if not w.over_entries:
        return _by_c(w, "tanh", x)
    one, two = real(1.0, x.type), real(2.0, x.type)
    y = w.binary("fmul", real(-2.0, x.type), w.intrinsic("fabs", x))
    # (The quotient is that of the derivative.)
    twice = w.binary("fdiv", two, w.binary("fadd", one, exp(w, y)))
    size = w.binary("fmul", w.binary("fmul", real(-0.5, x.type), _expm1(w, y)), twice)
    return w.intrinsic("copysign", size, x)


EXPONENTIALS: Mapping[str, Callable[[LLVMWriter, Number], Number]] = MappingProxyType(
    {"exp": exp, "expm1": expm1, "tanh": tanh}
)
"""By C's names: functions of a real number that are written out in loops over entries."""


def _reduced(w: LLVMWriter, x: Number) -> _Reduced:
    """The reduction of an argument, of which a NaN stays one."""
    form, kind = _FORMATS[x.type], x.type
    w.chained = "double" if w.chained == "double" else kind
    highest, lowest, rounding = [
        real(value, kind) for value in (form.highest, form.lowest, form.rounding)
    ]
    high, low = [real(-part, kind) for part in form.log2]
    x = w.select(w.compare("ogt", x, highest), highest, x)
    x = w.select(w.compare("olt", x, lowest), lowest, x)
    shifted = _fused(w, x, real(_ONE_OVER_LOG2, kind), rounding)
    k = w.binary("fsub", shifted, rounding)
    r = _fused(w, k, low, _fused(w, k, high, x))
    square = w.binary("fmul", r, r)
    q = _fused(w, square, polynomial(w, form.polynomial, r, square), r)
    half = w.cast("bitcast", _fused(w, k, real(0.5, kind), rounding), form.bits)
    rest = w.binary("sub", w.cast("bitcast", shifted, form.bits), half)
    return _Reduced(q, _power_of_two(w, form, half), _power_of_two(w, form, rest))


def polynomial(
    w: LLVMWriter, coefficients: Sequence[float], x: Number, square: Number | None = None
) -> Number:
    """A polynomial, the lowest coefficient first, by Estrin's scheme: its sums wait for each other least."""
    terms, power = [real(c, x.type) for c in coefficients], x
    while len(terms) > 1:
        pairs = [
            _fused(w, high, power, low) for low, high in zip(terms[::2], terms[1::2], strict=False)
        ]
        terms = pairs + terms[2 * len(pairs) :]
        power = square if square and power is x else w.binary("fmul", power, power)
    return terms[0]


def _power_of_two(w: LLVMWriter, form: _Format, integer_bits: Number) -> Number:
    """The bits of 2**k, of an integer whose last bits, an exponent's and its sign's, are those of k."""
    exponent = w.binary("shl", integer_bits, Number(form.bits, str(form.fraction)))
    return w.binary("add", exponent, Number(form.bits, str(form.bias << form.fraction)))


def _fused(w: LLVMWriter, x: Number, y: Number, z: Number) -> Number:
    """x*y + z, rounded once where the processor has an instruction for it."""
    return w.intrinsic("fmuladd", x, y, z)


def _by_c(w: LLVMWriter, name: str, x: Number) -> Number:
    """C's function in double precision, whatever that of the number."""
    wide = x if x.type == "double" else w.cast("fpext", x, "double")
    found = call_c(w, name, wide)
    return found if x.type == "double" else w.cast("fptrunc", found, x.type)
