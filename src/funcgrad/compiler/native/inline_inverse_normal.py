"""erfinv and ndtri as instructions, for loops whose entries LLVM puts into vectors.

erfinv(x) is x*f(w) with w = -log(1 - x**2), and ndtri(p) is sqrt(2)*(2*p - 1)*f(w) with
w = -log(4*p*(1 - p)), so that no digit of a small p is lost. f is a polynomial in w near 0, and sqrt(w) times
one in 1/(sqrt(w) + 4) beyond: the beginnings of Chebyshev series, of arguments between -1 and 1. The errors
are at most 6 units in the last place. Outside of loops over entries, SciPy's functions are called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from funcgrad.compiler.native.inline_exponential import polynomial
from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number, real
from funcgrad.compiler.native.scipy_exports import call_special
from funcgrad.compiler.native.vector_functions import call_c

_NEAR = (
    1.6536545626831027, 0.7504943200799635, -0.058922567103787134, -0.022604447453450232,
    0.01780836181873851, -0.004137314377403391, -0.0012716922767024804, 0.001232485568550093,
    -0.0002643935887486061, -0.00011688883906368398, 9.336693850145469e-05,
    -1.5027713926607673e-05, -1.12556848303199e-05, 7.1300663740767115e-06, -6.87597660449069e-07,
    -1.059336931327948e-06, 5.455731449441755e-07, -1.0167881522843899e-08,
    -1.0509863560329017e-07, 3.9142671001331085e-08, 9.050516362783658e-09, -8.557984074479201e-09,
    -8.186442916595773e-11, 7.680990475576525e-10,
)  # fmt: skip
_FAR = (
    0.9588035890654623, -0.02213028398640585, -0.003772275322367025, 0.00020141332548194958,
    0.0003866124305669262, 0.0002920138047846439, 0.0002731236872871313, 0.0002377037288982003,
    0.00013723181044831992, 1.8581924054081114e-05, -4.4878935810848815e-05,
    -3.658371813424892e-05, -2.4558037351718744e-06, 1.2448503770627795e-05, 5.733148868536752e-06,
    -2.2115123215441556e-06, -2.2934897613335757e-06, 1.6963633902313634e-07,
    5.947040008754243e-07, 1.5306303025120845e-08, -1.0915055127012118e-07, -5.049350148922051e-09,
    1.1022422969127714e-08, 3.940659714648761e-10,
)  # fmt: skip
_TAIL = (
    0.990936982288714, -0.009886178982266292, -0.003352120750276222, -0.0004591476029170529,
    -5.391903861220275e-05, 2.9519953794043347e-06, 1.8859190439927452e-06, 9.379232062063246e-07,
    1.5888284485331698e-07, 6.300097279755161e-08, 3.2654725452269113e-09, 4.175184405172291e-09,
    -5.77519461431453e-10, 4.124151337301073e-10, -1.720818106064335e-10, 8.095828617313074e-11,
    -2.9966463486320627e-12, -8.022081318913301e-13, -1.387855994270132e-11,
    6.5042081145953995e-12,
)  # fmt: skip
_LIMIT, _ENDS = 6.25, (2.5, 6.1, 27.4)
"""Up to where the first polynomial counts, and the roots between which the next ones do."""


def erfinv(w: LLVMWriter, x: Number) -> Number:
    """The inverse error function of a `float64`."""
    if not w.over_entries:
        return call_special(w, "erfinv", x)
    one = real(1.0)
    outside = w.binary("fmul", w.binary("fsub", one, x), w.binary("fadd", one, x))
    found = w.binary("fmul", x, _quotient(w, outside, (_FAR,)))
    return w.binary("fadd", found, real(0.0))  # SciPy's zeros are positive


def ndtri(w: LLVMWriter, p: Number) -> Number:
    """The inverse of the distribution function of a `float64`."""
    if not w.over_entries:
        return call_special(w, "ndtri", p)
    twice = w.binary("fmul", real(2.0), p)
    outside = w.binary("fmul", twice, w.binary("fsub", real(2.0), twice))
    root = w.binary("fmul", real(math.sqrt(2.0)), w.binary("fsub", twice, real(1.0)))
    return w.binary("fmul", root, _quotient(w, outside, (_FAR, _TAIL)))


def _quotient(w: LLVMWriter, outside: Number, beyond: Sequence[Sequence[float]]) -> Number:
    """erfinv(x)/x where 1 - x**2 is this number."""
    w.chained = "double"
    size = w.negative(call_c(w, "log", outside))
    scale = real(2.0 / _LIMIT)
    found = polynomial(w, _NEAR, w.intrinsic("fmuladd", size, scale, real(-1.0)))
    root = w.intrinsic("sqrt", size)
    inverse = w.binary("fdiv", real(1.0), w.binary("fadd", root, real(4.0)))
    for coefficients, start, stop in zip(beyond, _ENDS, _ENDS[1:], strict=False):
        low, high = 1.0 / (stop + 4.0), 1.0 / (start + 4.0)
        scale, middle = real(2.0 / (high - low)), real((low + high) / (low - high))
        y = w.intrinsic("fmuladd", inverse, scale, middle)
        far = w.binary("fmul", root, polynomial(w, coefficients, y))
        found = w.select(w.compare("ogt", root, real(start)), far, found)
    return found


INVERSES: Mapping[str, Callable[[LLVMWriter, Number], Number]] = MappingProxyType(
    {"erfinv": erfinv, "ndtri": ndtri}
)
"""By SciPy's names: functions of a `float64` that are written out in loops over entries."""
