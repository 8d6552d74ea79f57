"""Quotients and functions of complex numbers in machine code: NumPy's steps, and C's functions.

C takes and returns the two parts of a `double complex` in registers, as LLVM does those of a structure of two
numbers; Windows' compilers do not.
"""

from __future__ import annotations

import cmath
import math
import sys

from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number, UnsupportedError, real

_WIDE = "{ double, double }"

# By their names: how an absolute value compares with infinity, and how the answers of the parts are joined.
_TESTS = {"cisnan": ("uno", "or"), "cisinf": ("oeq", "or"), "cisfinite": ("one", "and")}


def quotient(w: LLVMWriter, x: Number, y: Number) -> Number:
    """A quotient by Smith's algorithm, as NumPy's: scaled by the larger part of the divisor."""
    (a, b), (c, d) = w.parts(x), w.parts(y)
    sizes = [w.intrinsic("fabs", part) for part in (c, d)]
    first = w.compare("oge", *sizes)
    large, small = w.select(first, c, d), w.select(first, d, c)
    near, far = w.select(first, a, b), w.select(first, b, a)
    ratio = w.binary("fdiv", small, large)
    scale = w.binary("fadd", large, w.binary("fmul", small, ratio))
    scale = w.binary("fdiv", real(1.0, scale.type), scale)
    re = w.binary("fadd", near, w.binary("fmul", far, ratio))
    turned = w.binary("fmul", near, ratio)
    im = w.select(first, w.binary("fsub", b, turned), w.binary("fsub", turned, a))
    zero = real(0.0, c.type)
    by_zero = w.binary("and", *[w.compare("oeq", size, zero) for size in sizes])
    re, im = [
        w.select(by_zero, w.binary("fdiv", part, sizes[0]), w.binary("fmul", found, scale))
        for part, found in ((a, re), (b, im))
    ]
    return w.joined(re, im)


def attribute(w: LLVMWriter, name: str, x: Number) -> Number:
    """An attribute of a complex number, or what a method without operands returns.

    Raises:
        UnsupportedError: it is neither a part nor the conjugate.
    """
    re, im = w.parts(x)
    found = {"real": re, "imag": im}.get(name)
    if found is not None:
        return found
    if name != "conjugate":
        raise UnsupportedError(f"{name} of a complex number")
    return w.joined(re, w.negative(im))


def call(w: LLVMWriter, name: str, x: Number) -> Number:
    """A test of a complex number, or a function of C's.

    Raises:
        UnsupportedError: C has no such function that can be called.
    """
    parts = w.parts(x)
    if name in _TESTS:
        predicate, joined = _TESTS[name]
        infinite = real(math.inf, parts[0].type)
        return w.binary(
            joined, *[w.compare(predicate, w.intrinsic("fabs", part), infinite) for part in parts]
        )
    if not (name[0] == "c" and hasattr(cmath, name[1:])) or sys.platform == "win32":
        raise UnsupportedError(f"{name} of a complex number")
    wide = [part if part.type == "double" else w.cast("fpext", part, "double") for part in parts]
    found = w.call(name, _WIDE, *wide)
    return found if x.type == _WIDE else w.each_part(lambda y: w.cast("fptrunc", y, "float"), found)
