"""Operations on floats as calls of Python's ``math``, each as source."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Never

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.show.naming import array_of
from funcgrad.show.python.python_numpy import INFIX, unknown
from funcgrad.show.text import ATOM, UNARY, Written, wrap

_SAME: tuple[str, ...] = (
    "exp",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "sin",
    "cos",
    "tan",
)
_SAME += ("sinh", "cosh", "tanh", "hypot", "fabs", "copysign", "fmod")
_RENAMED = {
    "power": "pow",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
}
_RENAMED |= {"arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh"}
_RENAMED |= {"isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan"}
_MATH: Mapping[str, str] = MappingProxyType(
    {name: f"math.{name}({{all}})" for name in _SAME}
    | {name: f"math.{theirs}({{all}})" for name, theirs in _RENAMED.items()}
    | {"deg2rad": "math.radians({0})", "rad2deg": "math.degrees({0})"}
    | {"absolute": "abs({0})", "maximum": "max({0}, {1})", "minimum": "min({0}, {1})"}
    | {"square": "(lambda x: x*x)({0})", "reciprocal": "(1.0/({0}))", "exp2": "(2.0**({0}))"}
    | {"floor": "float(math.floor({0}))", "ceil": "float(math.ceil({0}))"}
    | {"trunc": "float(math.trunc({0}))", "rint": "float(round({0}))"}
    | {"where": "({1} if {0} else {2})", "mask": "({1} if {0} else 0.0)"}
    | {"logical_and": "({0} and {1})", "logical_or": "({0} or {1})", "logical_not": "(not {0})"}
    | {"sign": "(lambda x: float((x > 0) - (x < 0)))({0})", "positive": "(+({0}))"}
    | {"sigmoid": "(0.5*(1.0 + math.tanh(0.5*({0}))))", "stop_gradient": "{0}", "leaf": "{0}"}
    | {"softplus": "(lambda x: max(x, 0.0) + math.log1p(math.exp(-abs(x))))({0})"}
    | {"logaddexp": "(lambda x, y: max(x, y) + math.log1p(math.exp(-abs(x - y))))({all})"}
    | {"xlogx": "(lambda x: x*math.log(x) if x else 0.0)({0})"}
)


def math_writer(names: Mapping[str, str]) -> Callable[[Expr, list[Written]], Written]:
    """What writes a node, given what its operands are written as; ``names`` are those of variables."""

    def write(expr: Expr, parts: list[Written]) -> Written:
        if expr.op is INPUT:
            return Written(names[str(expr.params[0][1])], ATOM)
        if expr.op is CONSTANT:
            return _math_number(array_of(expr))
        operation: Any = expr.op
        if operation.name == "negative":
            return Written("-" + wrap(parts[0], UNARY), UNARY)
        if operation.infix and operation.infix.symbol in INFIX:
            symbol, binding = operation.infix
            outer = binding + 1 if binding <= 5 else binding
            spaced = symbol if symbol in ("*", "/") else f" {symbol} "
            return Written(f"{wrap(parts[0], outer)}{spaced}{wrap(parts[1], binding + 1)}", binding)
        form = _MATH.get(operation.name)
        if form is None:
            raise unknown(operation.name, "math")
        texts = [part.text for part in parts]
        return Written(form.format(*texts, all=", ".join(texts)), ATOM - 1)

    return write


def _math_number(array: Any) -> Written:
    value = array.item()
    if isinstance(value, float) and not math.isfinite(value):
        return Written(f'float("{value}")', ATOM - 1)
    return Written(repr(value), UNARY if repr(value)[0] == "-" else ATOM)


def refuse_arrays(nodes: list[Expr]) -> None:
    """Raise ValueError unless all nodes are float64 or truth values."""
    allowed = (ArrayType((), np.dtype(float)), ArrayType((), np.dtype(bool)))
    for e in nodes:
        if e.type not in allowed:
            _no_scalar(e)


def _no_scalar(expr: Expr) -> Never:
    raise ValueError(
        f"to_python: expected float64 scalars for module='math', but got {expr.type}; leave it out"
    )
