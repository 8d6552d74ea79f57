"""The logarithm of the gamma function and its first two derivatives as instructions, for vectors.

Right of 1, up to 2.5, gammaln(x) is (x - 1)*(x - 2)*P(x), digamma(x) is (x - r)*P(x)/x with its root r, and
polygamma(1, x) is P(x)/x**2; beyond, they are Stirling's formula in s = x - 1/2, log(s) + P(1/s**2)/s**2 and
1/s + P(1/s**2)/s**3. The polynomials are the beginnings of Chebyshev series, of arguments between -1 and 1.
Numbers up to 1 have the values of x + 1, less log(x), 1/x or 1/x**2, and those left of 0 the values of 1 - x,
reflected.

The errors are at most 6 units in the last place right of 0; left of it so many of the larger one of the
result and the value at 1 - x, as in SciPy, whose errors are larger near zeros. Outside of loops over entries,
SciPy's functions are called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from funcgrad.compiler.native.inline_exponential import polynomial
from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number, real
from funcgrad.compiler.native.scipy_exports import call_special
from funcgrad.compiler.native.vector_functions import call_c

_NEAR = (
    0.4501393121092563, -0.089611189968932, 0.02504275154916468, -0.008038388459641508,
    0.002776898454723434, -0.001002895676186692, 0.0003729600120617922, -0.00014156848439131141,
    5.4551200385285276e-05, -2.1263258904460157e-05, 8.363647290279612e-06,
    -3.3139417304264067e-06, 1.32054920517161e-06, -5.290268949215845e-07, 2.141644100019268e-07,
    -8.670878394108688e-08, 3.316714653588271e-08, -1.327773255439779e-08, 7.4851741695743e-09,
    -3.204405889775924e-09, -6.187109733634849e-11, 8.366272141707197e-11, 4.890993179107782e-10,
    -2.1154600341103195e-10,
)  # fmt: skip
_FAR = (
    -0.04137386969674543, 0.00028263408147365517, -9.410638995991494e-06, 6.633397209810252e-07,
    -7.44580090291077e-08, 1.1494398494730267e-08, -2.237204144729148e-09, 5.19221131253858e-10,
    -1.3847125753581783e-10, 4.131082761962481e-11, -1.3199812383294601e-11, 4.543793659571746e-12,
    -2.204557784938054e-12, 1.0050071540168995e-12, 6.359250393406077e-14, -1.01950466347839e-13,
    -2.108982056486738e-13, 1.1719202659896096e-13,
)  # fmt: skip
_DIGAMMA = (
    1.5018206299710242, 0.2154282137678362, -0.028853116594893095, 0.0055351422686482615,
    -0.0012296151411402617, 0.00029474893791526976, -7.38473205224901e-05, 1.901688860583771e-05,
    -4.985102615612108e-06, 1.3224399383842216e-06, -3.5367168894229477e-07, 9.50910375063773e-08,
    -2.5673144366053795e-08, 6.994337795354838e-09, -1.9000966393524305e-09, 4.770508553875457e-10,
    -1.284376678293989e-10, 5.456091998069571e-11, -1.5148672969292277e-11,
)  # fmt: skip
_DIGAMMA_FAR = (
    0.04080860153379813, -0.0008102596884366847, 4.3073156653690466e-05, -4.047713991825505e-06,
    5.551780996757044e-07, -9.959166103776478e-08, 2.1814593297904554e-08, -5.5747190090658044e-09,
    1.6098764058006726e-09, -5.135298905424957e-10, 1.7982926035554955e-10, -6.774404916034765e-11,
    2.2818490343484057e-11, -8.134304047982206e-12, 9.051335385454262e-12, -5.380099206978981e-12,
    -2.1323494211813623e-12, 1.6874805270480866e-12, 1.341152696652131e-12, -8.281578513304378e-13,
)  # fmt: skip
_TRIGAMMA = (
    2.3400619765498503, 0.7151706285846734, 0.012945086582421257, -0.004650791958908755,
    0.0016228145641568289, -0.0005521298099659266, 0.00018377259249412713, -6.000745616650569e-05,
    1.9268738688457918e-05, -6.097013029320933e-06, 1.9044963310102547e-06, -5.881416039819937e-07,
    1.7965585824960464e-07, -5.442535057036574e-08, 1.6571660503658283e-08, -4.956706801566688e-09,
    1.291298603921174e-09, -3.759137639873755e-10, 1.9458767457347236e-10, -5.7906985499993866e-11,
)  # fmt: skip
_TRIGAMMA_FAR = (
    -0.07999668369072288, 0.0030687461271327304, -0.00023415265597223858, 2.794028708633908e-05,
    -4.555864371562115e-06, 9.333258164325792e-07, -2.273581763525601e-07, 6.342848270938964e-08,
    -1.973629805778227e-08, 6.717883500081413e-09, -2.452033038245017e-09, 9.514032536406579e-10,
    -4.272198112473072e-10, 2.0005201894332883e-10, -2.6580183352383415e-11,
    -7.425237135638591e-12, -7.260372648705849e-11, 5.239308801176971e-11, 2.965215873625639e-11,
    -2.28944323406789e-11, -1.1401512777557735e-11, 7.675722726800295e-12,
)  # fmt: skip
_SINE = (
    0.8067004676006325, -0.18134231363720965, 0.011603383893656519, -0.0003477319073308143,
    6.034146142665593e-06, -6.82684611360597e-08, 5.433443243927913e-10, -3.2077170489575597e-12,
    1.4604931415041366e-14,
)  # fmt: skip
_COTANGENT = (
    0.5504097966458958, -0.4931208488670257, -0.04943565224391102, -0.006740246709706688,
    -0.0009543090509084605, -0.0001360710615142146, -1.943059346688121e-05, -2.775538762878795e-06,
    -3.9649714749594966e-07, -5.664442768666887e-08, -8.092142766275176e-09,
    -1.153079675591085e-09, -1.6465997899303702e-10, -2.5483147804445925e-11,
    -3.6592153800921315e-12,
)  # fmt: skip
_LIMIT = 2.5
"""Up to here the first polynomial of each function counts."""
_ROOT, _ROOT_REST = 1.4616321449683622, 9.549995429965697e-17
"""The root of digamma right of 0, and what its double precision leaves out."""
_HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)


class _Argument(NamedTuple):
    """A number of 1 or more in the place of x, and how x is related to it."""

    value: Number
    is_left: Number
    """Whether the number is 1 - x."""
    is_small: Number
    """Whether it is 1 + x."""
    is_far: Number
    shifted: Number
    """The number less 1/2."""
    place: Number
    """The argument of the polynomials near 1."""


def gammaln(w: LLVMWriter, x: Number) -> Number:
    """log(abs(gamma(x))) of a `float64`."""
    if not w.over_entries:
        return call_special(w, "gammaln", x)
    one = real(1.0)
    at = _argument(w, x)
    small = w.select(at.is_small, x, one)
    log = call_c(w, "log", w.select(at.is_far, at.shifted, small))
    inverse = w.binary("fdiv", one, at.shifted)
    series = _fused(w, inverse, _far(w, _FAR, inverse), real(_HALF_LOG_TAU))
    far = _fused(w, at.shifted, w.binary("fsub", log, one), series)
    above = w.select(at.is_small, x, w.binary("fsub", at.value, one))
    factors = w.binary("fmul", above, w.binary("fsub", above, one))
    near = _fused(w, factors, polynomial(w, _NEAR, at.place), w.negative(log))
    right = w.select(at.is_far, far, near)
    rest = _beside_integer(w, x)
    sine = w.binary("fmul", rest, _beside(w, _SINE, rest))
    turned = w.negative(call_c(w, "log", w.intrinsic("fabs", sine)))
    found = w.select(at.is_left, w.binary("fsub", turned, right), right)
    # At whole numbers left of 0 both terms may be infinite; -0.0 at 1 and 2 becomes 0.0.
    is_pole = w.binary("and", at.is_left, w.compare("oeq", rest, real(0.0)))
    found = w.select(is_pole, real(math.inf), w.binary("fadd", found, real(0.0)))
    return w.select(w.compare("oeq", x, real(-math.inf)), x, found)


def psi(w: LLVMWriter, x: Number) -> Number:
    """The derivative of gammaln of a `float64`."""
    if not w.over_entries:
        return call_special(w, "psi", x)
    at = _argument(w, x)
    log = call_c(w, "log", at.shifted)
    inverse = w.binary("fdiv", real(1.0), w.select(at.is_far, at.shifted, at.value))
    square = _square(w, inverse)
    far = _fused(w, square, _far(w, _DIGAMMA_FAR, inverse), log)
    apart = w.binary("fsub", w.binary("fsub", at.value, real(_ROOT)), real(_ROOT_REST))
    near = w.binary("fmul", w.binary("fmul", apart, inverse), polynomial(w, _DIGAMMA, at.place))
    right = w.select(at.is_far, far, near)
    rest = _beside_integer(w, x)
    cotangent = _beside(w, _COTANGENT, rest)
    above = w.select(at.is_left, cotangent, real(-1.0))
    quotient = w.binary("fdiv", above, w.select(at.is_left, rest, x))
    corrected = w.binary("fadd", right, quotient)
    is_whole = w.binary("and", at.is_left, w.compare("oeq", rest, real(0.0)))
    is_changed = w.binary("or", at.is_left, at.is_small)
    found = w.select(is_changed, corrected, right)
    return w.select(is_whole, real(math.nan), found)


def trigamma(w: LLVMWriter, x: Number) -> Number:
    """The second derivative of gammaln of a `float64`, everywhere, since SciPy exports none."""
    at = _argument(w, x)
    inverse = w.binary("fdiv", real(1.0), w.select(at.is_far, at.shifted, at.value))
    square = _square(w, inverse)
    series = w.binary("fmul", square, _far(w, _TRIGAMMA_FAR, inverse))
    far = _fused(w, inverse, series, inverse)
    near = w.binary("fmul", square, polynomial(w, _TRIGAMMA, at.place))
    right = w.select(at.is_far, far, near)
    rest = _beside_integer(w, x)
    sine = w.binary("fmul", rest, _beside(w, _SINE, rest))
    pole = w.binary("fdiv", real(1.0), _square(w, w.select(at.is_left, sine, x)))
    left = w.binary("fsub", pole, right)
    found = w.select(at.is_small, w.binary("fadd", pole, right), right)
    found = w.select(at.is_left, left, found)
    return w.select(w.compare("oeq", x, real(-math.inf)), real(math.inf), found)


GAMMA: Mapping[str, Callable[[LLVMWriter, Number], Number]] = MappingProxyType(
    {"gammaln": gammaln, "psi": psi, "trigamma": trigamma}
)
"""By SciPy's names: functions of a `float64` that are written out in loops over entries."""


def _argument(w: LLVMWriter, x: Number) -> _Argument:
    w.chained = "double"
    one = real(1.0)
    is_left = w.compare("olt", x, real(0.0))
    value = w.select(is_left, w.binary("fsub", one, x), x)
    is_small = w.compare("olt", value, one)
    value = w.select(is_small, w.binary("fadd", x, one), value)
    shifted = w.binary("fsub", value, real(0.5))
    low, scale = real((1.0 + _LIMIT) / (1.0 - _LIMIT)), real(2.0 / (_LIMIT - 1.0))
    place = _fused(w, value, scale, low)
    is_far = w.compare("ogt", value, real(_LIMIT))
    return _Argument(value, is_left, is_small, is_far, shifted, place)


def _far(w: LLVMWriter, coefficients: tuple[float, ...], inverse: Number) -> Number:
    """The polynomial in 1/s**2."""
    scale = real(2.0 * (_LIMIT - 0.5) ** 2)
    return polynomial(w, coefficients, _fused(w, _square(w, inverse), scale, real(-1.0)))


def _beside_integer(w: LLVMWriter, x: Number) -> Number:
    """The difference between -x and the integer next to it."""
    y = w.negative(x)
    return w.binary("fsub", y, w.intrinsic("rint", y))


def _beside(w: LLVMWriter, coefficients: tuple[float, ...], rest: Number) -> Number:
    """The polynomial in the square of that."""
    return polynomial(w, coefficients, _fused(w, _square(w, rest), real(8.0), real(-1.0)))


def _square(w: LLVMWriter, x: Number) -> Number:
    return w.binary("fmul", x, x)


def _fused(w: LLVMWriter, x: Number, y: Number, z: Number) -> Number:
    return w.intrinsic("fmuladd", x, y, z)
