"""Elementwise operations: one line each, the value's ufunc and one partial derivative an argument.

In a partial, ``z`` is the output and ``x, y`` are the inputs. Where a function has a kink, ties share
equally (``maximum(x, x)``), and ``abs`` and ``sign`` give 0 at 0. What is not differentiable has no
partial. `mask` cuts a cotangent off where its condition is false, before it can meet an inf.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from funcgrad.expr import Expr, const
from funcgrad.graph import ArrayType
from funcgrad.linear import Diagonal, Identity, LinearMap, Quotient, Structural
from funcgrad.ops.base.columns import (
    EMPTY,
    Columns,
    Form,
    ScalarUse,
    any_kind,
    by_truth,
    function,
)
from funcgrad.ops.base.op import (
    Elementwise,
    Infix,
    Op,
    astype,
    differentiable,
    elementwise,
    lift_fully,
    same_on_batch,
)
from funcgrad.ops.base.promotion import ufunc_loop
from funcgrad.source import fail
from funcgrad.typing import Array

# -- arithmetic ----------------------------------------------------------------------------------
# Integers of Python wrap as those of int64 do.
_WRAPPED = "((({} + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000)"
_BOTH, _EITHER, _DIFFER = "({0} and {1})", "({0} or {1})", "({0} is not {1})"
_SAME, _NEGATED = Identity(), Structural(np.negative, np.negative)


def _negation(z: Array, *inputs: Any) -> LinearMap:
    return _NEGATED


def _identity(z: Array, *inputs: Any) -> LinearMap:
    return _SAME


def _linear(
    name: str,
    ufunc: np.ufunc,
    *edges: Any,
    infix: tuple[str, int] | None = None,
    notation: Any = None,
    columns: Columns = EMPTY,
) -> Op:
    return Elementwise(
        columns=columns,
        notation=notation,
        name=name,
        run=ufunc,
        infer=partial(ufunc_loop, ufunc),  # type: ignore[arg-type]
        edges=edges,
        infix=infix and Infix(*infix),
    )


add = _linear(
    "add",
    np.add,
    _identity,
    _identity,
    infix=("+", 10),
    columns=Columns(
        scalar={"f": "({0} + {1})", "i": _WRAPPED.format("{0} + {1}"), "b": _EITHER},
        mpmath=lambda mp, x, y: x + y,
        sympy=lambda sp, x, y: x + y,
        interval=by_truth("either", "add"),
        latex=Form("infix", "+", 10),
    ),
)
subtract = _linear(
    "subtract",
    np.subtract,
    _identity,
    _negation,
    infix=("-", 10),
    columns=Columns(
        scalar={"f": "({0} - {1})", "i": _WRAPPED.format("{0} - {1}")},
        mpmath=lambda mp, x, y: x - y,
        sympy=lambda sp, x, y: x - y,
        interval="subtract",
        latex=Form("infix", "-", 10),
    ),
)
negative = _linear(
    "negative",
    np.negative,
    _negation,
    columns=Columns(
        scalar={"f": "(-{0})", "i": _WRAPPED.format("-{0}")},
        mpmath=lambda mp, x: -x,
        sympy=lambda sp, x: -x,
        interval="negative",
        latex=Form("negative"),
    ),
)
positive = _linear(
    "positive",
    np.positive,
    _identity,
    columns=Columns(
        scalar=any_kind("{0}"),
        mpmath=lambda mp, x: x,
        sympy=lambda sp, x: x,
        interval=lambda iv, x: iv.monotone(np.positive, x, iv.EXACT),
        latex=Form("wrapped", "@", 100),
    ),
)
multiply = elementwise(
    "multiply",
    np.multiply,
    lambda z, x, y: y,
    lambda z, x, y: x,
    infix=("*", 20),
    columns=Columns(
        scalar={"f": "({0} * {1})", "i": _WRAPPED.format("{0} * {1}"), "b": _BOTH},
        mpmath=lambda mp, x, y: x * y,
        sympy=lambda sp, x, y: x * y,
        interval=by_truth("both", "multiply"),
        latex=Form("product"),
    ),
)
divide = elementwise(
    "divide",
    np.divide,
    lambda z, x, y: Quotient(y),
    lambda z, x, y: Diagonal(z / y) @ _NEGATED,
    infix=("/", 20),
    columns=Columns(
        scalar="({0} / {1})",
        mpmath=lambda mp, x, y: x / y,
        sympy=lambda sp, x, y: x / y,
        interval="divide",
        latex=Form("fraction"),
    ),
)
# Powers by a constant for which a product or a root is as exact as `pow`, and raises nothing.
_POWERS = {
    -1.0: "(1.0 / {0})",
    0.5: "math.sqrt({0})",
    1.0: "{0}",
    2.0: "({0} * {0})",
    3.0: "({0} * {0} * {0})",
}


def _power_template(use: ScalarUse) -> str | None:
    if use.kind != "f":
        return None
    exponent = use.constants[1]
    if exponent is not None:
        return _POWERS.get(exponent, "math.pow({0}, {1})")
    return "(math.pow({0}, {1}) if {1} != 0.5 else math.sqrt({0}))"  # which differ at -0 and -inf


power = elementwise(
    "power",
    np.power,
    # At y = 0 the power is constant in x, but its slope is not in y; at x = 0 and y > 0 it is constant in y.
    lambda z, x, y: mask((x != 0) | (y != 0), y * x ** (y - 1)),
    lambda z, x, y: mask((x != 0) | (y <= 0), log(x) * z),
    infix=("**", 40),
    columns=Columns(
        scalar=_power_template,
        mpmath=lambda mp, x, y: x**y,
        sympy=lambda sp, x, y: x**y,
        interval="power",
        latex=Form("power"),
        numpy="np.power({all})",
    ),
)
remainder = elementwise(
    "remainder",
    np.remainder,
    lambda z, x, y: np.ones_like(z),
    lambda z, x, y: -np.floor_divide(x, y),
    infix=("%", 20),
    columns=Columns(
        scalar={"f": "({0} % {1})", "i": "({0} % {1})"},
        mpmath=lambda mp, x, y: x - mp.floor(x / y) * y,
        sympy="Mod",
        interval="remainder",
    ),
)
fmod = elementwise(
    "fmod",
    np.fmod,
    lambda z, x, y: np.ones_like(z),
    lambda z, x, y: -np.trunc(x / y),
    columns=function(
        "fmod",
        operands=2,
        mpmath=lambda mp, x, y: x - (mp.floor(x / y) if x / y > 0 else mp.ceil(x / y)) * y,
        interval="fmod",
    ),
)
reciprocal = elementwise(
    "reciprocal",
    np.reciprocal,
    lambda z, x: -z * z,
    columns=Columns(
        decompose=lambda x: 1 / x, interval="reciprocal", latex=Form("wrapped", r"\frac{1}{@}", 30)
    ),
)
square = elementwise(
    "square",
    np.square,
    lambda z, x: 2 * x,
    columns=Columns(
        decompose=lambda x: x * x,
        mpmath=lambda mp, x: x * x,
        interval=lambda iv, x: iv.even(np.square, x, iv.CORRECT, 0.0),
        latex=Form("squared"),
    ),
)

# -- exponentials, logarithms, roots --------------------------------------------------------------
# Python's numbers, which leave float32 as it is.
_LN2, _LN10 = math.log(2), math.log(10)
exp = elementwise(
    "exp",
    np.exp,
    lambda z, x: z,
    columns=function(
        "exp",
        mpmath="exp",
        sympy="exp",
        interval=lambda iv, x: iv.monotone(np.exp, x, values=(0.0, math.inf)),
        latex="\\exp",
    ),
)
exp2 = elementwise(
    "exp2",
    np.exp2,
    lambda z, x: _LN2 * z,
    columns=function(
        "exp2",
        mpmath=lambda mp, x: mp.mpf(2) ** x,
        sympy=lambda sp, x: sp.Integer(2) ** x,
        interval=lambda iv, x: iv.monotone(np.exp2, x, values=(0.0, math.inf)),
        decompose=lambda x: const(2.0) ** x,
        latex=Form("wrapped", "2^{@}", 40),
    ),
)
expm1 = elementwise(
    "expm1",
    np.expm1,
    lambda z, x: exp(x),
    columns=function(
        "expm1",
        mpmath="expm1",
        interval=lambda iv, x: iv.monotone(np.expm1, x, values=(-1.0, math.inf)),
        decompose=lambda x: exp(x) - 1,
    ),
)
log: Op = elementwise(
    "log",
    np.log,
    lambda z, x: Quotient(x),
    columns=function(
        "log",
        mpmath="log",
        sympy="log",
        interval=lambda iv, x: iv.monotone(np.log, x, domain=(0.0, math.inf)),
        latex="\\log",
    ),
)
log2 = elementwise(
    "log2",
    np.log2,
    lambda z, x: Quotient(x) @ Diagonal(1 / _LN2),
    columns=function(
        "log2",
        mpmath=lambda mp, x: mp.log(x) / mp.log(2),
        sympy=lambda sp, x: sp.log(x, 2),
        interval=lambda iv, x: iv.monotone(np.log2, x, domain=(0.0, math.inf)),
        decompose=lambda x: log(x) / log(const(2.0)),
        latex=r"\log_{2}",
    ),
)
log10 = elementwise(
    "log10",
    np.log10,
    lambda z, x: Quotient(x) @ Diagonal(1 / _LN10),
    columns=function(
        "log10",
        mpmath="log10",
        sympy=lambda sp, x: sp.log(x, 10),
        interval=lambda iv, x: iv.monotone(np.log10, x, domain=(0.0, math.inf)),
        decompose=lambda x: log(x) / log(const(10.0)),
        latex=r"\log_{10}",
    ),
)
log1p = elementwise(
    "log1p",
    np.log1p,
    lambda z, x: Quotient(1 + x),
    columns=function(
        "log1p",
        mpmath="log1p",
        interval=lambda iv, x: iv.monotone(np.log1p, x, domain=(-1.0, math.inf)),
        decompose=lambda x: log(1 + x),
    ),
)
sqrt = elementwise(
    "sqrt",
    np.sqrt,
    lambda z, x: Quotient(z) @ Diagonal(0.5),
    columns=function(
        "sqrt",
        mpmath="sqrt",
        sympy="sqrt",
        interval=lambda iv, x: iv.monotone(
            np.sqrt, x, iv.CORRECT, (0.0, math.inf), (0.0, math.inf)
        ),
        latex=Form("wrapped", r"\sqrt{@}"),
    ),
)
cbrt = elementwise(
    "cbrt",
    np.cbrt,
    lambda z, x: Quotient(3 * z**2),
    columns=function(
        "cbrt",
        mpmath=lambda mp, x: mp.sign(x) * mp.cbrt(abs(x)),
        sympy="cbrt",
        interval=lambda iv, x: iv.monotone(np.cbrt, x),
        latex=Form("wrapped", r"\sqrt[3]{@}"),
    ),
)


def _mp_logaddexp(mp: Any, x: Array, y: Array) -> Any:
    top, low = (x, y) if x >= y else (y, x)
    if top == low and not mp.isfinite(top):
        return top
    return top + mp.log1p(mp.exp(low - top))


logaddexp = elementwise(
    "logaddexp",
    np.logaddexp,
    lambda z, x, y: _weight(x, y),
    lambda z, x, y: _weight(y, x),
    columns=Columns(
        scalar=(
            "({0} + 0.6931471805599453 if {0} == {1} else {0} + math.log1p(math.exp({1} - {0})) if {0} > {1}"
            " else {1} + math.log1p(math.exp({0} - {1})))"
        ),
        mpmath=_mp_logaddexp,
        sympy=lambda sp, x, y: sp.log(sp.exp(x) + sp.exp(y)),
        interval=lambda iv, x, y: iv.log_sum(np.logaddexp, x, y),
    ),
)
logaddexp2 = elementwise(
    "logaddexp2",
    np.logaddexp2,
    lambda z, x, y: _weight(_LN2 * x, _LN2 * y),
    lambda z, x, y: _weight(_LN2 * y, _LN2 * x),
    columns=Columns(
        scalar=(
            "({0} + 1.0 if {0} == {1} else {0} + 1.4426950408889634 * math.log1p(math.exp2({1} - {0}))"
            " if {0} > {1} else {1} + 1.4426950408889634 * math.log1p(math.exp2({0} - {1})))"
        ),
        mpmath=lambda mp, x, y: _mp_logaddexp(mp, x * mp.log(2), y * mp.log(2)) / mp.log(2),
        sympy=lambda sp, x, y: sp.log(sp.Integer(2) ** x + sp.Integer(2) ** y, 2),
        interval=lambda iv, x, y: iv.log_sum(np.logaddexp2, x, y),
        decompose=lambda x, y: (
            logaddexp(x * log(const(2.0)), y * log(const(2.0))) / log(const(2.0))
        ),
    ),
)


def _weight(x: Array, y: Array) -> Any:
    # exp(x)/(exp(x) + exp(y)), and a half where both are the same infinity. (As exp(x - z) its own
    # derivative would lose what rounds z to x.)
    return sigmoid(mask((x != y) | (np.abs(x) < np.inf), x - y))


# -- trigonometric and hyperbolic ----------------------------------------------------------------
sin = elementwise(
    "sin",
    np.sin,
    lambda z, x: cos(x),
    columns=function(
        "sin",
        mpmath="sin",
        sympy="sin",
        interval=lambda iv, x: iv.wave(np.sin, x, np.pi / 2, -np.pi / 2),
        latex="\\sin",
    ),
)
cos: Op = elementwise(
    "cos",
    np.cos,
    lambda z, x: -sin(x),
    columns=function(
        "cos",
        mpmath="cos",
        sympy="cos",
        interval=lambda iv, x: iv.wave(np.cos, x, 0.0, np.pi),
        latex="\\cos",
    ),
)
tan = elementwise(
    "tan",
    np.tan,
    lambda z, x: 1 + z**2,
    columns=function("tan", mpmath="tan", sympy="tan", interval="tan", latex="\\tan"),
)
arcsin = elementwise(
    "arcsin",
    np.arcsin,
    lambda z, x: Quotient(sqrt(1 - x**2)),
    columns=function(
        "asin",
        mpmath="asin",
        sympy="asin",
        interval=lambda iv, x: iv.monotone(np.arcsin, x, domain=(-1.0, 1.0)),
        latex="\\arcsin",
    ),
)
arccos = elementwise(
    "arccos",
    np.arccos,
    lambda z, x: -1 / sqrt(1 - x**2),
    columns=function(
        "acos",
        mpmath="acos",
        sympy="acos",
        interval=lambda iv, x: iv.monotone(
            np.arccos, x, domain=(-1.0, 1.0), values=(0.0, math.inf), rising=False
        ),
        latex="\\arccos",
    ),
)
arctan = elementwise(
    "arctan",
    np.arctan,
    lambda z, x: Quotient(1 + x**2),
    columns=function(
        "atan",
        mpmath="atan",
        sympy="atan",
        interval=lambda iv, x: iv.monotone(np.arctan, x),
        latex="\\arctan",
    ),
)
sinh = elementwise(
    "sinh",
    np.sinh,
    lambda z, x: cosh(x),
    columns=function(
        "sinh",
        mpmath="sinh",
        sympy="sinh",
        interval=lambda iv, x: iv.monotone(np.sinh, x),
        latex="\\sinh",
    ),
)
cosh: Op = elementwise(
    "cosh",
    np.cosh,
    lambda z, x: sinh(x),
    columns=function(
        "cosh",
        mpmath="cosh",
        sympy="cosh",
        interval=lambda iv, x: iv.even(np.cosh, x, iv.NEAR, 1.0),
        latex="\\cosh",
    ),
)
tanh = elementwise(
    "tanh",
    np.tanh,
    lambda z, x: 1 - z**2,
    columns=function(
        "tanh",
        mpmath="tanh",
        sympy="tanh",
        interval=lambda iv, x: iv.monotone(np.tanh, x, values=(-1.0, 1.0)),
        latex="\\tanh",
    ),
)
arcsinh = elementwise(
    "arcsinh",
    np.arcsinh,
    lambda z, x: Quotient(sqrt(x**2 + 1)),
    columns=function(
        "asinh",
        mpmath="asinh",
        sympy="asinh",
        interval=lambda iv, x: iv.monotone(np.arcsinh, x),
        latex=r"\operatorname{arsinh}",
    ),
)
# Two roots, since one of the product would be of the other sign left of the imaginary axis.
arccosh = elementwise(
    "arccosh",
    np.arccosh,
    lambda z, x: Quotient(sqrt(x - 1) * sqrt(x + 1)),
    columns=function(
        "acosh",
        mpmath="acosh",
        sympy="acosh",
        interval=lambda iv, x: iv.monotone(
            np.arccosh, x, domain=(1.0, math.inf), values=(0.0, math.inf)
        ),
        latex=r"\operatorname{arcosh}",
    ),
)
arctanh = elementwise(
    "arctanh",
    np.arctanh,
    lambda z, x: Quotient(1 - x**2),
    columns=function(
        "atanh",
        mpmath="atanh",
        sympy="atanh",
        interval=lambda iv, x: iv.monotone(np.arctanh, x, domain=(-1.0, 1.0)),
        latex=r"\operatorname{artanh}",
    ),
)
# At the origin neither direction is preferred, and the derivative is taken as 0.
arctan2 = elementwise(
    "arctan2",
    np.arctan2,
    lambda z, x, y: mask((x != 0) | (y != 0), y / (x**2 + y**2)),
    lambda z, x, y: mask((x != 0) | (y != 0), -x / (x**2 + y**2)),
    columns=function("atan2", operands=2, mpmath="atan2", sympy="atan2", interval="arctan2"),
)
hypot = elementwise(
    "hypot",
    np.hypot,
    lambda z, x, y: mask(z != 0, x / z),
    lambda z, x, y: mask(z != 0, y / z),
    columns=function(
        "hypot",
        operands=2,
        mpmath="hypot",
        sympy=lambda sp, x, y: sp.sqrt(x**2 + y**2),
        interval="hypot",
    ),
)
deg2rad = elementwise(
    "deg2rad",
    np.deg2rad,
    lambda z, x: np.full_like(x, np.pi / 180),
    columns=function(
        "radians",
        mpmath=lambda mp, x: x * mp.pi / 180,
        sympy=lambda sp, x: x * sp.pi / 180,
        interval=lambda iv, x: iv.monotone(np.deg2rad, x),
        decompose=lambda x: x * arccos(const(-1.0)) / const(180.0),
    ),
)
rad2deg = elementwise(
    "rad2deg",
    np.rad2deg,
    lambda z, x: np.full_like(x, 180 / np.pi),
    columns=function(
        "degrees",
        mpmath=lambda mp, x: x * 180 / mp.pi,
        sympy=lambda sp, x: x * 180 / sp.pi,
        interval=lambda iv, x: iv.monotone(np.rad2deg, x),
        decompose=lambda x: x * const(180.0) / arccos(const(-1.0)),
    ),
)


# -- kinks: ties share equally -------------------------------------------------------------------
def _routed(wins: Any, first: bool) -> Any:
    """The edge of one operand of maximum or minimum: all to the winner, half to each at a tie."""

    def edge(z: Any, x: Array, y: Array) -> LinearMap:
        a, b = (x, y) if first else (y, x)
        return Diagonal(mask(wins(a, b), np.where(a == b, np.full_like(z, 0.5), np.ones_like(z))))

    return edge


def _with_nan(wins: np.ufunc) -> Any:
    """`maximum` and `minimum` choose what is none, and so does their derivative."""
    return lambda a, b: wins(a, b) | (a != a)


def _over_nan(wins: np.ufunc) -> Any:
    """`fmax` and `fmin` choose what is a number."""
    return lambda a, b: wins(a, b) | np.isnan(b)


def _extremum(name: str, ufunc: np.ufunc, wins: Any, columns: Columns) -> Op:
    return _linear(name, ufunc, _routed(wins, True), _routed(wins, False), columns=columns)


maximum = _extremum(
    "maximum",
    np.maximum,
    _with_nan(np.greater_equal),
    columns=Columns(
        scalar={
            "f": "({0} if {0} > {1} or {0} != {0} else {1})",
            "i": "({0} if {0} >= {1} else {1})",
            "b": _EITHER,
        },
        mpmath=lambda mp, x, y: mp.nan if mp.isnan(x) or mp.isnan(y) else x if x >= y else y,
        sympy="Max",
        interval=lambda iv, x, y: iv.corners(np.maximum, x, y, iv.EXACT),
        latex=r"\max",
    ),
)
minimum = _extremum(
    "minimum",
    np.minimum,
    _with_nan(np.less_equal),
    columns=Columns(
        scalar={
            "f": "({0} if {0} < {1} or {0} != {0} else {1})",
            "i": "({0} if {0} <= {1} else {1})",
            "b": _BOTH,
        },
        mpmath=lambda mp, x, y: mp.nan if mp.isnan(x) or mp.isnan(y) else x if x <= y else y,
        sympy="Min",
        interval=lambda iv, x, y: iv.corners(np.minimum, x, y, iv.EXACT),
        latex=r"\min",
    ),
)
fmax = _extremum(
    "fmax",
    np.fmax,
    _over_nan(np.greater_equal),
    columns=Columns(
        scalar="({0} if {0} >= {1} or {1} != {1} else {1})",
        mpmath=lambda mp, x, y: y if mp.isnan(x) or y > x else x,
        sympy="Max",
        interval=lambda iv, x, y: iv.corners(np.fmax, x, y, iv.EXACT),
        decompose=lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, maximum(x, y))),
    ),
)
fmin = _extremum(
    "fmin",
    np.fmin,
    _over_nan(np.less_equal),
    columns=Columns(
        scalar="({0} if {0} <= {1} or {1} != {1} else {1})",
        mpmath=lambda mp, x, y: y if mp.isnan(x) or y < x else x,
        sympy="Min",
        interval=lambda iv, x, y: iv.corners(np.fmin, x, y, iv.EXACT),
        decompose=lambda x, y: np.where(np.isnan(x), y, np.where(np.isnan(y), x, minimum(x, y))),
    ),
)


def relu(x: npt.ArrayLike) -> Any:
    """The larger of x and 0, entry by entry; half the derivative flows at 0, as in `maximum`."""
    return maximum(x, 0)


def sign(x: object) -> Any:
    """As `numpy.sign`; of complex values x / abs(x), which is not constant, and 0 at 0."""
    x = lift_fully(x)
    return mask(x != 0, x / absolute(x)) if x.dtype.kind == "c" else sign_op(x)


def _absolute_edge(z: Array, x: Array) -> LinearMap:
    if x.dtype.kind != "c":
        return Diagonal(np.sign(x))
    u = mask(z != 0, np.conjugate(x) / z)
    return Structural(lambda v: np.real(u * v), lambda g: g * u)


absolute = _linear(
    "absolute",
    np.absolute,
    _absolute_edge,
    notation="abs({})".format,
    columns=Columns(
        scalar={"f": "abs({0})", "i": _WRAPPED.format("abs({0})")},
        mpmath=lambda mp, x: abs(x),
        sympy="Abs",
        interval="absolute",
        latex=Form("wrapped", r"\left|@\right|", 100),
    ),
)
fabs = elementwise(
    "fabs",
    np.fabs,
    lambda z, x: np.sign(x),
    columns=Columns(
        scalar="abs({0})",
        decompose=lambda x: absolute(x),
        latex=Form("wrapped", r"\left|@\right|", 100),
    ),
)
sign_op = elementwise(
    "sign",
    np.sign,
    None,
    columns=Columns(
        scalar={
            "f": "(1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else 0.0 if {0} == 0.0 else {0})",
            "i": "(({0} > 0) - ({0} < 0))",
        },
        mpmath="sign",
        sympy="sign",
        interval=lambda iv, x: iv.monotone(np.sign, x, iv.EXACT),
        latex=r"\operatorname{sgn}",
    ),
)
copysign = elementwise(
    "copysign",
    np.copysign,
    lambda z, x, y: np.sign(x) * np.copysign(np.ones_like(y), y),
    None,
    columns=function(
        "copysign",
        operands=2,
        mpmath=lambda mp, x, y: -abs(x) if y < 0 or np.signbit(float(y)) else abs(x),
        interval="copysign",
    ),
)


# -- complex parts -------------------------------------------------------------------------------
def _part_loop(dtype: npt.DTypeLike) -> tuple[np.dtype[Any], np.dtype[Any]]:
    own = np.dtype(dtype)
    return own, np.empty(0, own).real.dtype


def _real_edge(z: Array, x: Array) -> LinearMap:
    if x.dtype.kind != "c":
        return Identity()
    return Structural(np.real, lambda g: g + np.zeros_like(x))


def _imag_edge(z: Array, x: Array) -> LinearMap:
    if x.dtype.kind != "c":
        return Diagonal(np.zeros_like(x))
    return Structural(np.imag, lambda g: g * x.dtype.type(-1j))


def _part(name: str, run: Any, edge: Any, columns: Columns = EMPTY) -> Op:
    infer: Any = _part_loop
    return Elementwise(name=name, run=run, infer=infer, edges=(edge,), columns=columns)


real = _part(
    "real",
    np.real,
    _real_edge,
    columns=Columns(
        scalar=any_kind("{0}"),
        mpmath=lambda mp, x: x.real,
        sympy="re",
        interval="same",
        latex=r"\operatorname{Re}",
        numpy="np.real({0})[()]",
    ),
)
imag = _part(
    "imag",
    np.imag,
    _imag_edge,
    columns=Columns(
        mpmath=lambda mp, x: x.imag,
        sympy="im",
        interval="zero",
        latex=r"\operatorname{Im}",
        numpy="np.imag({0})[()]",
    ),
)
conjugate = _linear(
    "conjugate",
    np.conjugate,
    lambda z, x: Structural(np.conjugate, np.conjugate),
    columns=Columns(
        scalar=any_kind("{0}"),
        mpmath="conj",
        sympy="conjugate",
        interval="same",
        latex=Form("wrapped", r"\overline{@}"),
    ),
)


# -- selection -----------------------------------------------------------------------------------
def _where_loop(condition: Array, x: object, y: object) -> tuple[np.dtype[Any], ...]:
    if isinstance(x, type) and isinstance(y, type):
        x, y = np.dtype(x), np.dtype(y)
    dtype = ufunc_loop(np.add, x, y)[0]
    return np.dtype(bool), dtype, dtype, dtype


def _mask_loop(condition: Array, x: Array) -> tuple[np.dtype[Any], ...]:
    dtype = np.dtype(x)
    return np.dtype(bool), dtype, dtype


def _masked(negate: bool) -> Any:
    def edge(z: Array, condition: Array, *inputs: Any) -> LinearMap:
        chosen = np.logical_not(condition) if negate else condition
        return Structural(lambda v: mask(chosen, v), lambda g: mask(chosen, g))

    return edge


_where_infer: Any = _where_loop
where = Elementwise(
    name="where",
    run=np.where,
    infer=_where_infer,
    edges=(None, _masked(False), _masked(True)),
    columns=Columns(
        scalar=any_kind("({1} if {0} else {2})"),
        mpmath=lambda mp, p, x, y: x if p else y,
        sympy=lambda sp, p, x, y: sp.Piecewise((x, p), (y, True)),
        interval="where",
        latex=Form("cases"),
        numpy="np.where({all})[()]",
    ),
)


def _mask_run(condition: Array, x: Array) -> Any:
    return np.where(condition, x, np.zeros((), np.result_type(x)))[()]


_mask_infer: Any = _mask_loop


def _mask_source(expr: Expr, texts: Sequence[str]) -> str:
    zero = f'np.zeros((), "{expr.dtype.str}")'
    return f"np.where({texts[0]}, {texts[1]}, {zero})[()]"


mask: Op = Elementwise(
    name="mask",
    run=_mask_run,
    infer=_mask_infer,
    edges=(None, _masked(False)),
    notation=lambda c, x: f"where({c}, {x}, 0)",
    columns=Columns(
        scalar={"f": "({1} if {0} else 0.0)", "i": "({1} if {0} else 0)", "b": "({1} and {0})"},
        mpmath=lambda mp, p, x: x if p else 0,
        sympy=lambda sp, p, x: sp.Piecewise((x, p), (0, True)),
        interval="mask",
        latex=Form("cases"),
        numpy=_mask_source,
        libraries={"any": lambda xp, p, x: xp.where(p, x, xp.zeros_like(x))},
    ),
)


# -- functions with stable forms of their own ----------------------------------------------------
@lru_cache(maxsize=8)
def largest_exponent(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A number whose exponential is so large in a real dtype that 1 + exp(x) is exp(x), but is finite."""
    return np.array(np.floor(np.log(np.finfo(dtype).max)) - 1, dtype)


def _sigmoid(x: Array) -> Any:
    dtype = np.result_type(x)
    if dtype.kind == "c":
        with np.errstate(over="ignore"):  # where exp overflows the quotient is 0, as it should be
            return 1.0 / (1.0 + np.exp(-x))
    # Of exp(-x), which overflows first, tiny values could not be made.
    e = np.exp(np.minimum(x, largest_exponent(dtype)))
    return e / (1.0 + e)


def _softplus(x: Array) -> Any:
    try:
        return np.logaddexp(x, 0.0)
    except TypeError:
        raise _complex_softplus() from None


def _complex_softplus() -> Any:
    return fail(
        TypeError, "softplus: expected real values, but got others; write np.log(1 + np.exp(x))"
    )


def _xlogx(x: Array) -> Any:
    return x * np.log(np.where(x == 0, np.ones((), np.result_type(x)), x))


def _sigmoid_source(expr: Expr, texts: Sequence[str]) -> str:
    (x,) = texts
    if expr.dtype.kind == "c":
        return f"1.0/(1.0 + np.exp(-({x})))"
    most = largest_exponent(expr.dtype).item()
    return f"(lambda e: e/(1.0 + e))(np.exp(np.minimum({x}, {most!r})))"


sigmoid = elementwise(
    "sigmoid",
    _sigmoid,
    lambda z, x: z * (1 - z),
    like=np.exp,
    columns=Columns(
        scalar="(1.0 / (1.0 + math.exp(-{0})) if {0} >= -709.0 else math.exp({0}))",
        mpmath=lambda mp, x: 1 / (1 + mp.exp(-x)),
        sympy=lambda sp, x: 1 / (1 + sp.exp(-x)),
        interval=lambda iv, x: iv.monotone(_sigmoid, x, values=(0.0, 1.0)),
        decompose=lambda x: 1 / (1 + exp(-x)),
        latex=r"\sigma",
        numpy=_sigmoid_source,
    ),
)


def _of_reals(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], ...]:
    if np.dtype(dtype).kind == "c":
        raise _complex_softplus()
    return ufunc_loop(np.exp, dtype)


softplus = elementwise(
    "softplus",
    _softplus,
    lambda z, x: sigmoid(x),
    loop=_of_reals,
    columns=Columns(
        scalar="({0} + math.log1p(math.exp(-{0})) if {0} > 0.0 else math.log1p(math.exp({0})))",
        interval=lambda iv, x: iv.monotone(_softplus, x, values=(0.0, math.inf)),
        decompose=lambda x: logaddexp(x, 0.0),
        numpy="np.logaddexp({0}, 0.0)",
    ),
)
xlogx = elementwise(
    "xlogx",
    _xlogx,
    lambda z, x: np.log(x) + 1,
    like=np.exp,
    columns=Columns(
        scalar="({0} * math.log({0}) if {0} != 0.0 else {0} * 0.0)",
        mpmath=lambda mp, x: x * mp.log(x) if x else x,
        sympy=lambda sp, x: x * sp.log(x),
        interval=lambda iv, x: iv.xlogx(_xlogx, x),
        decompose=lambda x: x * log(np.where(x == 0, np.ones_like(x), x)),
        numpy="(lambda x: x*np.log(np.where(x == 0, np.ones_like(x), x)))({0})",
    ),
)


def _sinc_run(x: Array, order: int = 0) -> Any:
    """The ``order``-th derivative of sin(u)/u at u = pi x, times pi**order."""
    u = np.pi * np.asarray(x)
    small = np.abs(u) <= max(1, order)
    # Away from 0 by u*s_n + n*s_(n-1) = sin(u + n*pi/2), which loses no digits for |u| > n.
    safe = np.where(small, 1.0, u)
    far = np.sin(safe) / safe
    for n in range(1, order + 1):
        far = (np.sin(safe + n * np.pi / 2) - n * far) / safe
    # Near 0 by the power series of sin(u)/u, differentiated term by term.
    near, term = np.zeros_like(u), np.where(small, u, 0.0)
    for k in range(_first(order), order + 40, 2):
        coefficient = (-1) ** (k // 2) / (k + 1)
        near = near + coefficient * term ** (k - order) / _factorial(k - order)
    value = np.where(small, near, far) * np.pi**order
    return value.astype(np.result_type(x))[()]


def _first(order: int) -> int:
    return order + order % 2


def _factorial(n: int) -> float:
    return float(np.prod(np.arange(1, n + 1, dtype=float)))


def _sinc_edge(z: Array, x: Array, *, order: int) -> LinearMap:
    return Diagonal(sinc_derivative(x, order=order + 1))


def _sinc_type(type: ArrayType, order: int) -> ArrayType:
    return ArrayType(type.shape, ufunc_loop(np.sin, type.dtype)[-1])


def _mp_sinc(mp: Any, x: Array, order: int) -> Any:
    return np.frompyfunc(lambda v: _mp_sinc_of(mp, v, order), 1, 1)(x)


def _mp_sinc_of(mp: Any, x: Array, order: int) -> Any:
    """By u*s_n + n*s_(n-1) = sin(u + n*pi/2) at u = pi*x, with as many more bits as that loses."""
    if not mp.isfinite(x):
        return x * 0
    if not x:
        return mp.mpf((-1) ** (order // 2)) / (order + 1) * mp.pi**order if order % 2 == 0 else x
    lost = order * (max(-int(mp.mag(x)), 0) + order.bit_length() + 4)
    with mp.extraprec(lost + 10):
        u = mp.pi * x
        value = mp.sinpi(x) / u
        for n in range(1, order + 1):
            value = (mp.sinpi(x + mp.mpf(n) / 2) - n * value) / u
        return value * mp.pi**order


def _sinc_source(expr: Expr, texts: Sequence[str]) -> str | None:
    if dict(expr.params)["order"] != 0 or expr.dtype != float:
        return None
    return f"np.sinc({texts[0]})"


def _sinc_in(xp: Any, x: Array, order: int) -> Any:
    """`_sinc_run` with the functions of an array library."""
    u = np.pi * x
    small = xp.abs(u) <= max(1, order)
    safe = xp.where(small, xp.ones_like(u), u)
    far = xp.sin(safe) / safe
    for n in range(1, order + 1):
        far = (xp.sin(safe + n * np.pi / 2) - n * far) / safe
    near, term = xp.zeros_like(u), xp.where(small, u, xp.zeros_like(u))
    divisor = 1.0
    for k in range(order + 40):
        power = k - order
        divisor *= max(power, 1)
        if power >= 0 and k % 2 == 0:
            near = near + (-1) ** (k // 2) / (k + 1) / divisor * term**power
    return xp.where(small, near, far) * np.pi**order


sinc_derivative: Op = Op(
    name="sinc",
    run=_sinc_run,
    infer=_sinc_type,
    edges=(_sinc_edge,),
    batch=same_on_batch(lambda: sinc_derivative),
    columns=Columns(
        mpmath=_mp_sinc,
        interval=lambda iv, x, order: iv.sinc(_sinc_run, x, order),
        entrywise=True,
        numpy=_sinc_source,
        libraries={"any": _sinc_in},
    ),
)


def sinc(x: object) -> Any:
    """sin(pi x)/(pi x), whose derivatives of every order are exact at 0 too."""
    x = lift_fully(x)
    return sinc_derivative(x if differentiable(x.dtype) else astype(x, dtype=_FLOAT), order=0)


_FLOAT = np.dtype(float)


def _same_loop(dtype: npt.DTypeLike) -> tuple[np.dtype[Any], np.dtype[Any]]:
    return np.dtype(dtype), np.dtype(dtype)


def _copied(x: Array) -> Any:
    return np.array(x)[()]


_stopped_infer: Any = _same_loop
stopped = Elementwise(
    name="stop_gradient",
    run=_copied,
    infer=_stopped_infer,
    edges=(None,),
    columns=Columns(
        scalar=any_kind("{0}"),
        mpmath=lambda mp, x: x,
        sympy=lambda sp, x: x,
        interval="same",
        numpy="{0}",
    ),
)


class Comparison(Elementwise):
    """A comparison: a Python integer that the other operand's integer dtype cannot hold is compared exactly.

    As in NumPy, ``x == 256`` is False for x of dtype uint8. No x equals such an integer, and all of them
    lie on one side of it; so an infinity of its sign stands for it.
    """

    def __call__(self, *args: Any, **params: Any) -> Any:
        try:
            return super().__call__(*args, **params)
        except OverflowError:
            if not any([type(arg) is Expr and arg.dtype.kind in "iu" for arg in args]):
                raise
            return super().__call__(
                *[math.copysign(math.inf, arg) if type(arg) is int else arg for arg in args]
            )


def _comparison(
    name: str, ufunc: np.ufunc, symbol: str, latex: str, relation: str, compare: Any
) -> Op:
    return Comparison(
        name=name,
        run=ufunc,
        infer=partial(ufunc_loop, ufunc),  # type: ignore[arg-type]
        edges=(None, None),
        infix=Infix(symbol, 5),
        columns=Columns(
            scalar=any_kind(f"({{0}} {symbol} {{1}})"),
            mpmath=compare,
            sympy=relation,
            interval=name,
            latex=Form("infix", latex, 5),
        ),
    )


# -- not differentiable: no edge, so no gradient flows --------------------------------------------
# (Python rounds to integers, which have no -0.)
floor = elementwise(
    "floor",
    np.floor,
    None,
    columns=Columns(
        scalar="math.copysign(math.floor({0}), {0})",
        mpmath="floor",
        sympy="floor",
        interval=lambda iv, x: iv.monotone(np.floor, x, iv.EXACT),
        latex=Form("wrapped", r"\left\lfloor @\right\rfloor ", 100),
    ),
)
ceil = elementwise(
    "ceil",
    np.ceil,
    None,
    columns=Columns(
        scalar="math.copysign(math.ceil({0}), {0})",
        mpmath="ceil",
        sympy="ceiling",
        interval=lambda iv, x: iv.monotone(np.ceil, x, iv.EXACT),
        latex=Form("wrapped", r"\left\lceil @\right\rceil ", 100),
    ),
)
trunc = elementwise(
    "trunc",
    np.trunc,
    None,
    columns=Columns(
        scalar="math.copysign(math.trunc({0}), {0})",
        mpmath=lambda mp, x: mp.floor(x) if x > 0 else mp.ceil(x),
        interval=lambda iv, x: iv.monotone(np.trunc, x, iv.EXACT),
    ),
)
rint = elementwise(
    "rint",
    np.rint,
    None,
    columns=Columns(
        scalar="math.copysign(round({0}), {0})",
        mpmath=lambda mp, x: mp.nint(x) if mp.isfinite(x) else x,
        interval=lambda iv, x: iv.monotone(np.rint, x, iv.EXACT),
    ),
)
floor_divide = elementwise(
    "floor_divide",
    np.floor_divide,
    None,
    None,
    infix=("//", 20),
    columns=Columns(
        scalar={"f": "floor_divide({0}, {1})", "i": _WRAPPED.format("{0} // {1}")},
        mpmath=lambda mp, x, y: mp.floor(x / y),
        sympy=lambda sp, x, y: sp.floor(x / y),
        interval="floor_divide",
    ),
)
less = _comparison("less", np.less, "<", r"\lt", "Lt", lambda mp, x, y: x < y)
less_equal = _comparison("less_equal", np.less_equal, "<=", r"\le", "Le", lambda mp, x, y: x <= y)
greater = _comparison("greater", np.greater, ">", r"\gt", "Gt", lambda mp, x, y: x > y)
greater_equal = _comparison(
    "greater_equal", np.greater_equal, ">=", r"\ge", "Ge", lambda mp, x, y: x >= y
)
equal = _comparison("equal", np.equal, "==", "=", "Eq", lambda mp, x, y: x == y)
not_equal = _comparison("not_equal", np.not_equal, "!=", r"\ne", "Ne", lambda mp, x, y: x != y)
logical_and = elementwise(
    "logical_and",
    np.logical_and,
    None,
    None,
    columns=Columns(
        scalar={"f": "({0} != 0.0 and {1} != 0.0)", "i": "({0} != 0 and {1} != 0)", "b": _BOTH},
        mpmath=lambda mp, x, y: bool(x) and bool(y),
        sympy="And",
        interval="both",
        latex=Form("infix", r"\land", 3),
    ),
)
logical_or = elementwise(
    "logical_or",
    np.logical_or,
    None,
    None,
    columns=Columns(
        scalar={"f": "({0} != 0.0 or {1} != 0.0)", "i": "({0} != 0 or {1} != 0)", "b": _EITHER},
        mpmath=lambda mp, x, y: bool(x) or bool(y),
        sympy="Or",
        interval="either",
        latex=Form("infix", r"\lor", 2),
    ),
)
logical_xor = elementwise(
    "logical_xor",
    np.logical_xor,
    None,
    None,
    columns=Columns(
        scalar={
            "f": "(({0} != 0.0) != ({1} != 0.0))",
            "i": "(({0} != 0) != ({1} != 0))",
            "b": _DIFFER,
        },
        mpmath=lambda mp, x, y: bool(x) != bool(y),
        sympy="Xor",
        interval="differ",
    ),
)
logical_not = elementwise(
    "logical_not",
    np.logical_not,
    None,
    columns=Columns(
        scalar={"f": "({0} == 0.0)", "i": "({0} == 0)", "b": "(not {0})"},
        mpmath=lambda mp, x: not x,
        sympy="Not",
        interval="neither",
        latex=r"\lnot",
    ),
)
bitwise_and = elementwise(
    "bitwise_and",
    np.bitwise_and,
    None,
    None,
    infix=("&", 8),
    columns=Columns(
        scalar={"i": "({0} & {1})", "b": _BOTH},
        sympy={"b": "And"},
        interval=by_truth("both", lambda iv, x, y: iv.certain(np.bitwise_and, x, y)),
        latex={"b": Form("infix", r"\land", 3)},
    ),
)
bitwise_or = elementwise(
    "bitwise_or",
    np.bitwise_or,
    None,
    None,
    infix=("|", 6),
    columns=Columns(
        scalar={"i": "({0} | {1})", "b": _EITHER},
        sympy={"b": "Or"},
        interval=by_truth("either", lambda iv, x, y: iv.certain(np.bitwise_or, x, y)),
        latex={"b": Form("infix", r"\lor", 2)},
    ),
)
bitwise_xor = elementwise(
    "bitwise_xor",
    np.bitwise_xor,
    None,
    None,
    infix=("^", 7),
    columns=Columns(
        scalar={"i": "({0} ^ {1})", "b": _DIFFER},
        sympy={"b": "Xor"},
        interval=by_truth("differ", lambda iv, x, y: iv.certain(np.bitwise_xor, x, y)),
    ),
)
invert = elementwise(
    "invert",
    np.invert,
    None,
    columns=Columns(
        scalar={"i": "(~{0})", "b": "(not {0})"}, sympy={"b": "Not"}, interval={"b": "neither"}
    ),
)
isfinite = elementwise(
    "isfinite",
    np.isfinite,
    None,
    columns=function("isfinite", mpmath="isfinite", interval="isfinite"),
)
isinf = elementwise(
    "isinf",
    np.isinf,
    None,
    columns=function("isinf", mpmath="isinf", interval=lambda iv, x: iv.neither(iv.isfinite(x))),
)
isnan = elementwise(
    "isnan", np.isnan, None, columns=function("isnan", mpmath="isnan", interval="zero")
)
signbit = elementwise(
    "signbit",
    np.signbit,
    None,
    columns=Columns(
        scalar="(math.copysign(1.0, {0}) < 0.0)",
        mpmath=lambda mp, x: bool(np.signbit(float(x))),
        interval="signbit",
    ),
)
