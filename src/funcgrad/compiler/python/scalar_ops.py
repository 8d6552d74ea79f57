"""How operations on numbers are written in Python over `math`: one template for each, by operands' kind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat, Step
from funcgrad.graph import CONSTANT, INPUT

# By the kind of the operands: f float64, i int64, b bool. An operand that a template names twice gets a
# name first. A side of `where` may be left out, since what it would raise is not selected.
_WRAP = "((({} + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000)"  # as int64 does
_COMPARE = {
    name: f"({{0}} {symbol} {{1}})"
    for name, symbol in {
        "less": "<",
        "less_equal": "<=",
        "greater": ">",
        "greater_equal": ">=",
        "equal": "==",
        "not_equal": "!=",
    }.items()
}
_SELECT = {
    "where": "({1} if {0} else {2})",
    "positive": "{0}",
    "real": "{0}",
    "conjugate": "{0}",
    "stop_gradient": "{0}",
    "reshape": "{0}",
    "transpose": "{0}",
    "broadcast_to": "{0}",
}
_MATH = (
    "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan sinh cosh tanh "
    "fmod hypot copysign isfinite isinf isnan"
)
_RENAMED = {
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
    "arctan2": "atan2",
    "deg2rad": "radians",
    "rad2deg": "degrees",
}
_BINARY = ("fmod", "hypot", "copysign", "arctan2")


def _call(name: str) -> str:
    called = _RENAMED.get(name, name)
    return f"{called}({{0}}, {{1}})" if name in _BINARY else f"{called}({{0}})"


TEMPLATES: dict[str, dict[str, str]] = {
    "f": {
        **_COMPARE,
        **_SELECT,
        **{name: _call(name) for name in (*_MATH.split(), *_RENAMED)},
        "add": "({0} + {1})",
        "subtract": "({0} - {1})",
        "multiply": "({0} * {1})",
        "divide": "({0} / {1})",
        "negative": "(-{0})",
        "remainder": "({0} % {1})",
        "floor_divide": "floor_divide({0}, {1})",
        "power": "(pow({0}, {1}) if {1} != 0.5 else sqrt({0}))",  # which differ at -0 and -inf
        "reciprocal": "(1.0 / {0})",
        "square": "({0} * {0})",
        "absolute": "abs({0})",
        "fabs": "abs({0})",
        "mask": "({1} if {0} else 0.0)",
        "sign": "(1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else 0.0 if {0} == 0.0 else {0})",
        "maximum": "({0} if {0} > {1} or {0} != {0} else {1})",
        "minimum": "({0} if {0} < {1} or {0} != {0} else {1})",
        "fmax": "({0} if {0} >= {1} or {1} != {1} else {1})",
        "fmin": "({0} if {0} <= {1} or {1} != {1} else {1})",
        "logaddexp": "logaddexp({0}, {1})",
        "logaddexp2": "logaddexp2({0}, {1})",
        "sigmoid": "(1.0 / (1.0 + exp(-{0})) if {0} >= -709.0 else sigmoid({0}))",
        "softplus": "({0} + log1p(exp(-{0})) if {0} > 0.0 else log1p(exp({0})))",
        "xlogx": "({0} * log({0}) if {0} != 0.0 else {0} * 0.0)",
        # Python rounds to integers, which have no -0.
        "floor": "copysign(floor({0}), {0})",
        "ceil": "copysign(ceil({0}), {0})",
        "trunc": "copysign(trunc({0}), {0})",
        "rint": "copysign(round({0}), {0})",
        "signbit": "(copysign(1.0, {0}) < 0.0)",
        "logical_and": "({0} != 0.0 and {1} != 0.0)",
        "logical_or": "({0} != 0.0 or {1} != 0.0)",
        "logical_xor": "(({0} != 0.0) != ({1} != 0.0))",
        "logical_not": "({0} == 0.0)",
        "to float64": "{0}",
        "to int64": "to_integer({0})",
        "to bool": "({0} != 0.0)",
    },
    "i": {
        **_COMPARE,
        **_SELECT,
        "add": _WRAP.format("{0} + {1}"),
        "subtract": _WRAP.format("{0} - {1}"),
        "multiply": _WRAP.format("{0} * {1}"),
        "negative": _WRAP.format("-{0}"),
        "absolute": _WRAP.format("abs({0})"),
        "square": _WRAP.format("{0} * {0}"),
        "remainder": "({0} % {1})",
        "floor_divide": _WRAP.format("{0} // {1}"),
        "mask": "({1} if {0} else 0)",
        "sign": "(({0} > 0) - ({0} < 0))",
        "maximum": "({0} if {0} >= {1} else {1})",
        "minimum": "({0} if {0} <= {1} else {1})",
        "bitwise_and": "({0} & {1})",
        "bitwise_or": "({0} | {1})",
        "bitwise_xor": "({0} ^ {1})",
        "invert": "(~{0})",
        "logical_and": "({0} != 0 and {1} != 0)",
        "logical_or": "({0} != 0 or {1} != 0)",
        "logical_xor": "(({0} != 0) != ({1} != 0))",
        "logical_not": "({0} == 0)",
        "to float64": "float({0})",
        "to int64": "{0}",
        "to bool": "({0} != 0)",
    },
    "b": {
        **_COMPARE,
        **_SELECT,
        **dict.fromkeys(("add", "maximum", "bitwise_or", "logical_or"), "({0} or {1})"),
        **dict.fromkeys(("multiply", "minimum", "bitwise_and", "logical_and"), "({0} and {1})"),
        **dict.fromkeys(("bitwise_xor", "logical_xor"), "({0} is not {1})"),
        **dict.fromkeys(("invert", "logical_not"), "(not {0})"),
        "mask": "({1} and {0})",
        "to float64": "(1.0 if {0} else 0.0)",
        "to int64": "(1 if {0} else 0)",
        "to bool": "{0}",
    },
}

# Powers by a constant, where products are as exact as `pow` and raise nothing.
_POWERS = {
    -1.0: "(1.0 / {0})",
    0.5: "sqrt({0})",
    1.0: "{0}",
    2.0: "({0} * {0})",
    3.0: "({0} * {0} * {0})",
}
TYPES = {np.dtype("float64"): "float", np.dtype("int64"): "int", np.dtype("bool"): "bool"}


# -- functions that generated code calls ------------------------------------------------------------
def _logaddexp(x: float, y: float) -> float:
    if x == y:
        return x + _LN2
    if x > y:
        return x + math.log1p(math.exp(y - x))
    return y + math.log1p(math.exp(x - y))


def _logaddexp2(x: float, y: float) -> float:
    if x == y:
        return x + 1.0
    if x > y:
        return x + _LOG2E * math.log1p(math.exp2(y - x))
    return y + _LOG2E * math.log1p(math.exp2(x - y))


_LN2, _LOG2E = math.log(2.0), 1.0 / math.log(2.0)


def _sigmoid(x: float) -> float:
    """For what lies left of where exp(-x) overflows."""
    return x if x != x else 0.0 if x < -709.782712893384 else 1.0 / (1.0 + math.exp(-x))


def _floor_divide(x: float, y: float) -> float:
    if math.isinf(x) or math.isinf(y):
        raise ValueError("floor_divide: left to NumPy")
    return x // y


def _to_integer(x: float) -> int:
    if not -9.2e18 < x < 9.2e18:
        raise ValueError("astype: left to NumPy")
    return int(x)


BOUND: dict[str, Any] = {
    **{name: getattr(math, name) for name in dir(math) if not name.startswith("_")},
    "logaddexp": _logaddexp,
    "logaddexp2": _logaddexp2,
    "sigmoid": _sigmoid,
    "floor_divide": _floor_divide,
    "to_integer": _to_integer,
}


# -- the template of a step ------------------------------------------------------------------------
def template_of(flat: Flat, step: Step) -> str | None:
    """How a step is written; None where it is no number, or left to NumPy."""
    op, shape, dtype = step.op, step.type.shape, step.type.dtype
    if shape or dtype not in TYPES:
        return None
    if op is INPUT:
        return ""
    if op is CONSTANT:
        return _literal(step.constant.item())
    of = flat.steps[step.operands[-1]].type.dtype
    name = op.name
    if name == "astype":
        name = f"to {dtype}"
    elif name == "power" and of.kind == "f":
        exponent = flat.steps[step.operands[1]]
        if exponent.op is CONSTANT:
            return _POWERS.get(exponent.constant.item(), "pow({0}, {1})")
    return TEMPLATES.get(of.kind, {}).get(name)


def _literal(value: float | bool) -> str:
    text = repr(abs(value)) if isinstance(value, float) else repr(value).lstrip("-")
    negative = math.copysign(1.0, value) < 0  # of a nan, too
    return f"(-{text})" if negative else text
