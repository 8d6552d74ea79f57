"""Exponentials, logarithms, roots, and stable functions of them, such as `logaddexp` and `sigmoid`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.expr import Expr, const
from funcgrad.linear import Diagonal, Quotient
from funcgrad.ops.base.columns import TORCH_FORMS, Columns, Form, function
from funcgrad.ops.base.op import Op, elementwise
from funcgrad.ops.base.promotion import ufunc_loop
from funcgrad.ops.elementwise.declare import common_function
from funcgrad.ops.elementwise.selection import mask
from funcgrad.source import type_error
from funcgrad.typing import Array, FunctionLibrary

# Python's numbers, which leave float32 as it is.
_LN2, _LN10 = math.log(2), math.log(10)

# -- exponentials ----------------------------------------------------------------------------------
exp = common_function(
    np.exp,
    lambda z, x: z,
    lambda iv, x: iv.monotone(np.exp, x, values=(0.0, math.inf)),
    in_words="exp is its own derivative",
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
        vm=True,
    ),
)

# -- logarithms and roots --------------------------------------------------------------------------
log: Op = common_function(
    np.log, lambda z, x: Quotient(x), lambda iv, x: iv.monotone(np.log, x, domain=(0.0, math.inf))
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
        vm=True,
    ),
)
sqrt = common_function(
    np.sqrt,
    lambda z, x: Quotient(z) @ Diagonal(0.5),
    lambda iv, x: iv.monotone(np.sqrt, x, iv.CORRECT, (0.0, math.inf), (0.0, math.inf)),
    Form("wrapped", r"\sqrt{@}"),
    transcendental=False,
)
cbrt = elementwise(
    "cbrt",
    np.cbrt,
    lambda z, x: Quotient(3 * z**2),
    columns=function(
        "cbrt",
        mpmath=lambda mp, x: mp.sign(x) * mp.cbrt(abs(x)),
        sympy=lambda sp, x: sp.sign(x) * sp.Abs(x) ** sp.Rational(1, 3),
        interval=lambda iv, x: iv.monotone(np.cbrt, x),
        latex=Form("wrapped", r"\sqrt[3]{@}"),
        libraries={"torch": f"{TORCH_FORMS}:cbrt"},
    ),
)


# -- sums of exponentials --------------------------------------------------------------------------
def _mp_logaddexp(mp: FunctionLibrary, x: Array, y: Array) -> Any:
    top, low = (x, y) if x >= y else (y, x)
    if top == low and not mp.isfinite(top):
        return top
    return top + mp.log1p(mp.exp(low - top))


# Without a call in a branch, so that machine code puts them into vectors: the higher operand, and minus the
# distance of the lower one, which is 0 of equal infinities.
_HIGHER = "({0} if {0} > {1} else {1})"
_APART = "(0.0 if {0} == {1} else {1} - {0} if {0} > {1} else {0} - {1})"

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
        native={"f": f"({_HIGHER} + log1p(exp({_APART})))"},
        mpmath=_mp_logaddexp,
        sympy=lambda sp, x, y: sp.log(sp.exp(x) + sp.exp(y)),
        interval=lambda iv, x, y: iv.log_sum(np.logaddexp, x, y),
        transcendental=True,
        entry_time=9.0,
        vm=True,
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
        native={"f": f"({_HIGHER} + 1.4426950408889634 * log1p(exp2({_APART})))"},
        mpmath=lambda mp, x, y: _mp_logaddexp(mp, x * mp.log(2), y * mp.log(2)) / mp.log(2),
        sympy=lambda sp, x, y: sp.log(sp.Integer(2) ** x + sp.Integer(2) ** y, 2),
        interval=lambda iv, x, y: iv.log_sum(np.logaddexp2, x, y),
        decompose=lambda x, y: (
            logaddexp(x * log(const(2.0)), y * log(const(2.0))) / log(const(2.0))
        ),
        transcendental=True,
        entry_time=9.0,
    ),
)


def _weight(x: Array, y: Array) -> Any:
    # exp(x)/(exp(x) + exp(y)), and a half where both are the same infinity. (As exp(x - z) its own
    # derivative would lose what rounds z to x.)
    return sigmoid(mask((x != y) | (np.abs(x) < np.inf), x - y))


# -- functions with stable forms of their own ------------------------------------------------------
@lru_cache(maxsize=8)
def largest_exponent(dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A number whose exponential is so large in a real dtype that 1 + exp(x) is exp(x), but is finite."""
    return np.array(np.floor(np.log(np.finfo(dtype).max)) - 1, dtype)


def _inexact(name: str, x: Array) -> Any:
    """An array of floats or complex numbers, in the precision that `numpy.exp` gives integers."""
    x = np.asarray(x)
    if x.dtype.kind in "fc":
        return x
    if x.dtype.kind not in "biu":
        raise type_error(f"{name}: expected numbers, but got an array of dtype {x.dtype}")
    return x.astype(ufunc_loop(np.exp, x.dtype)[0])


def _sigmoid(x: Array) -> Any:
    x = _inexact("sigmoid", x)
    dtype = x.dtype
    if dtype.kind == "c":
        with np.errstate(over="ignore"):  # where exp overflows the quotient is 0, as it should be
            return 1.0 / (1.0 + np.exp(-x))
    # Of exp(-x), which overflows first, tiny values could not be made.
    e = np.exp(np.minimum(x, largest_exponent(dtype)))
    return e / (1.0 + e)


def _softplus(x: Array) -> Any:
    x = _inexact("softplus", x)
    if x.dtype.kind == "c":
        raise _complex_softplus()
    return np.logaddexp(x, 0.0)


def _complex_softplus() -> Any:
    return type_error("softplus: expected real values, but got others; write np.log(1 + np.exp(x))")


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
        scalar={
            "f": "(1.0 / (1.0 + math.exp(-{0})) if {0} >= -709.0 else math.exp({0}))",
            "c": "(1.0 / (1.0 + cmath.exp(-{0})))",
        },
        native={
            "f": "((1.0 if {0} >= 0.0 else exp(-abs({0}))) / (1.0 + exp(-abs({0}))))",
            "c": "(1.0 / (1.0 + exp(-{0})))",
        },
        mpmath=lambda mp, x: 1 / (1 + mp.exp(-x)),
        sympy=lambda sp, x: 1 / (1 + sp.exp(-x)),
        interval=lambda iv, x: iv.monotone(_sigmoid, x, values=(0.0, 1.0)),
        decompose=lambda x: 1 / (1 + exp(-x)),
        latex=r"\sigma",
        numpy=_sigmoid_source,
        transcendental=True,
        vm=True,
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
        native={"f": "(({0} if {0} > 0.0 else 0.0) + log1p(exp(-abs({0}))))"},
        interval=lambda iv, x: iv.monotone(_softplus, x, values=(0.0, math.inf)),
        decompose=lambda x: logaddexp(x, 0.0),
        numpy="np.logaddexp({0}, 0.0)",
        transcendental=True,
        vm=True,
    ),
)
xlogx = elementwise(
    "xlogx",
    _xlogx,
    lambda z, x: np.log(x) + 1,
    like=np.exp,
    notation=lambda x: f"xlogy({x}, {x})",
    columns=Columns(
        scalar="({0} * math.log({0}) if {0} != 0.0 else {0} * 0.0)",
        native={"f": "({0} * log(1.0 if {0} == 0.0 else {0}))"},
        mpmath=lambda mp, x: x * mp.log(x) if x else x,
        sympy=lambda sp, x: x * sp.log(x),
        interval=lambda iv, x: iv.xlogx(_xlogx, x),
        decompose=lambda x: x * log(np.where(x == 0, np.ones_like(x), x)),
        fresh=True,
        numpy="(lambda x: x*np.log(np.where(x == 0, np.ones_like(x), x)))({0})",
        transcendental=True,
        vm=True,
    ),
)
