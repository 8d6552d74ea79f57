"""erfcx, log_ndtr, and erf of single precision, as instructions, for loops put into vectors.

erfcx(t) is a polynomial in (t - 4)/(t + 4), the beginning of a Chebyshev series, over 1 + 2*t, and that of -t
is 2*exp(t**2) less it; log_ndtr is SciPy's formula of it. erf of numbers of single precision is x + x*P(x**2)
near 0 and 1 - exp(Q(x)) beyond, P and Q minimax polynomials. The errors are at most 7 units in the last place
of erfcx right of 0, and 1.3 of erf in single precision; left of 0, and in the right tail of log_ndtr, a
square is rounded before its exponential is taken, as in SciPy. Outside of loops over entries, functions of
SciPy and of C are called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from funcgrad.compiler.native.inline_exponential import exp, polynomial
from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number, real
from funcgrad.compiler.native.scipy_exports import call_special
from funcgrad.compiler.native.vector_functions import call_c

_ERFCX = (
    1.2329951186255526, -0.1396211168405623, 0.015379652102610473, 0.06809705425466908,
    -0.10103906603586531, 0.0937328349990944, -0.06633036582031154, 0.03716751552655567,
    -0.016197733981455194, 0.005031970067657489, -0.000757773707063825, -0.00019925714661091188,
    0.00015062309720018628, -2.4397746422436416e-05, -1.1225101875659178e-05,
    5.706604414895734e-06, 2.9801353803031333e-07, -8.210939042560568e-07, 7.115337800585303e-08,
    1.0633855618594884e-07, -1.6371779763566967e-08, -1.234686604382353e-08,
    1.5738283774192037e-09, 9.311744978232572e-10,
)  # fmt: skip
_ERF = (
    0.12837916612625122, -0.37612631916999817, 0.11283687502145767, -0.026858944445848465,
    0.005199911538511515, -0.0008130055502988398, 8.316926687257364e-05,
)  # fmt: skip
_LOG_ERFC = (
    -0.0001664390874793753, -1.127797245979309, -0.6369760036468506, -0.10411374270915985,
    0.02231524884700775, -0.003065499709919095, 0.00019822070316877216,
)  # fmt: skip
_LIMIT, _ONE = 0.93, 4.0
"""Up to where the first of the last two counts, and from where on erf is 1, in single precision."""


def erfcx(w: LLVMWriter, t: Number) -> Number:
    """exp(t**2)*erfc(t) of a `float64`."""
    if not w.over_entries:
        return call_special(w, "erfcx", t)
    w.chained = "double"
    size, half = w.intrinsic("fabs", t), real(0.5)
    ratio = w.binary("fdiv", real(-8.0), w.binary("fadd", size, real(4.0)))
    total = polynomial(w, _ERFCX, w.binary("fadd", ratio, real(1.0)))
    right = w.binary("fdiv", w.binary("fmul", half, total), w.binary("fadd", half, size))
    growth = w.binary("fmul", real(2.0), exp(w, w.binary("fmul", t, t)))
    return w.select(w.compare("olt", t, real(0.0)), w.binary("fsub", growth, right), right)


def erf(w: LLVMWriter, x: Number) -> Number:
    """The error function of a `float32`, and C's of a `float64`."""
    if x.type == "double":
        return call_c(w, "erf", x)
    if not w.over_entries:
        return w.cast("fptrunc", call_c(w, "erf", w.cast("fpext", x, "double")), "float")
    w.chained = w.chained or "float"
    square, size, most = w.binary("fmul", x, x), w.intrinsic("fabs", x), real(_ONE, "float")
    near = w.intrinsic("fmuladd", x, polynomial(w, _ERF, square), x)
    size = w.select(w.compare("ogt", size, most), most, size)
    beside = w.binary("fsub", real(1.0, "float"), exp(w, polynomial(w, _LOG_ERFC, size)))
    is_far = w.compare("ogt", size, real(_LIMIT, "float"))
    return w.select(is_far, w.intrinsic("copysign", beside, x), near)


def log_ndtr(w: LLVMWriter, x: Number) -> Number:
    """The logarithm of the distribution function of a `float64`, by SciPy's formulas."""
    if not w.over_entries:
        return call_special(w, "log_ndtr", x)
    t, half = w.binary("fmul", x, real(math.sqrt(0.5))), real(-0.5)
    tail = w.binary("fmul", half, call_c(w, "erfc", t))
    scaled = w.binary("fmul", real(0.5), erfcx(w, w.negative(t)))
    left = w.binary("fsub", call_c(w, "log", scaled), w.binary("fmul", t, t))
    is_left = w.compare("olt", t, real(-1.0))
    return w.select(is_left, left, call_c(w, "log1p", tail))


ERF: Mapping[str, Callable[[LLVMWriter, Number], Number]] = MappingProxyType({"erf": erf})
"""By C's name: a function of a real number."""

ERROR_FUNCTIONS: Mapping[str, Callable[[LLVMWriter, Number], Number]] = MappingProxyType(
    {"erfcx": erfcx, "log_ndtr": log_ndtr}
)
"""By SciPy's names: functions of a `float64` that are written out in loops over entries."""
