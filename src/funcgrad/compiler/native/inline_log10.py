"""log10 and cbrt as instructions, put into vectors in loops over entries: exact where results are whole.

log10(x) is k*log10(2) + log(m)/log(10), where x = 2**k*m and m is between the roots of 1/2 and 2, with
log(m) = f - f**2/2 + s*(f**2/2 + s**2*P(s**2)) for f = m - 1 and s = f/(2 + f). Its parts are added up in
about twice the precision. cbrt is C's vector function, after a step of Newton's method whose residual has no
rounding. The errors are at most 0.6 units in the last place of log10 and 1.3 of cbrt. Outside of loops over
entries, C's functions are called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from funcgrad.compiler.native.inline_exponential import polynomial
from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number, integer, real
from funcgrad.compiler.native.vector_functions import call_c

_SERIES = (
    0.6666666666666666, 0.4000000000000088, 0.2857142857080112, 0.2222222239222216,
    0.18181795590761907, 0.15386242164348365, 0.13268712289333262, 0.13087217031578988,
)  # fmt: skip
_LOG10_2 = float.fromhex("0x1.34413509f8000p-2"), -8.532344317057107e-14
"""log10(2) in two parts; a product of the first with k is exact."""
_ONE_OVER_LOG10 = 0.4342944819032518, 1.098319650216765e-17
_ROOT_OF_HALF = 0x3FE6A09E667F3BCD
"""The bits of the root of 1/2."""
_INTEGERS, _INTEGER_BITS = 1.5 * 2.0**52, 0x4338000000000000
"""A number whose last bits count integers, and its bits."""
_TINY, _MORE = 2.0**-1000, 54


def log10(w: LLVMWriter, x: Number) -> Number:
    """The logarithm to the base 10 of a `float64`."""
    if not w.over_entries:
        return call_c(w, "log10", x)
    w.chained = "double"
    is_tiny = w.compare("olt", x, real(_TINY))
    scaled = w.select(is_tiny, w.binary("fmul", x, real(2.0**_MORE)), x)
    bits = w.cast("bitcast", scaled, "i64")
    k = w.binary("ashr", w.binary("sub", bits, integer(_ROOT_OF_HALF)), integer(52))
    m = w.cast("bitcast", w.binary("sub", bits, w.binary("shl", k, integer(52))), "double")
    counted = w.cast("bitcast", w.binary("add", k, integer(_INTEGER_BITS)), "double")
    exponent = w.binary("fsub", counted, real(_INTEGERS))
    less = w.select(is_tiny, real(float(_MORE)), real(0.0))
    exponent = w.binary("fsub", exponent, less)
    high, low = _log(w, w.binary("fsub", m, real(1.0)))
    factor, rest = [real(part) for part in _ONE_OVER_LOG10]
    product = w.binary("fmul", high, factor)
    small = _fused(w, high, factor, w.negative(product))
    small = _fused(w, high, rest, _fused(w, low, factor, small))
    small = _fused(w, exponent, real(_LOG10_2[1]), small)
    whole = w.binary("fmul", exponent, real(_LOG10_2[0]))
    total = w.binary("fadd", whole, product)
    lost = w.binary("fadd", w.binary("fsub", whole, total), product)
    found = w.binary("fadd", total, w.binary("fadd", small, lost))
    is_positive = w.compare("ogt", x, real(0.0))
    beyond = w.select(w.compare("oeq", x, real(0.0)), real(-math.inf), real(math.nan))
    found = w.select(w.compare("olt", x, real(math.inf)), found, x)
    return w.select(is_positive, found, beyond)


def _log(w: LLVMWriter, f: Number) -> tuple[Number, Number]:
    """log(1 + f) as the sum of two numbers."""
    s = w.binary("fdiv", f, w.binary("fadd", f, real(2.0)))
    square = w.binary("fmul", s, s)
    series = w.binary("fmul", square, polynomial(w, _SERIES, square))
    half = w.binary("fmul", real(0.5), f)
    term = w.binary("fmul", half, f)
    rounded = _fused(w, half, f, w.negative(term))
    high = w.binary("fsub", f, term)
    lost = w.binary("fsub", w.binary("fsub", w.binary("fsub", f, high), term), rounded)
    return high, _fused(w, s, w.binary("fadd", term, series), lost)


def cbrt(w: LLVMWriter, x: Number) -> Number:
    """The cube root of a `float64`."""
    root = call_c(w, "cbrt", x)
    if not w.over_entries:
        return root
    square = w.binary("fmul", root, root)
    rounded = _fused(w, root, root, w.negative(square))
    residual = _fused(w, root, rounded, _fused(w, root, square, w.negative(x)))
    step = w.binary("fdiv", residual, w.binary("fmul", real(3.0), square))
    found = w.binary("fsub", root, step)
    return w.select(w.compare("ord", found, found), found, root)


WHOLE_AT_POWERS: Mapping[str, Callable[[LLVMWriter, Number], Number]] = MappingProxyType(
    {"log10": log10, "cbrt": cbrt}
)
"""By C's names: functions of a `float64` that are written out in loops over entries."""


def _fused(w: LLVMWriter, x: Number, y: Number, z: Number) -> Number:
    return w.intrinsic("fma", x, y, z)
