"""Operations on numbers as Python source over `math`: the reader of the column ``scalar``."""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.expr import Expr, symbol
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.base.columns import ScalarUse
from funcgrad.ops.base.op import Elementwise, Op, infer_type

TYPES = {
    np.dtype("float64"): "float",
    np.dtype("complex128"): "complex",
    np.dtype("int64"): "int",
    np.dtype("bool"): "bool",
}
_NO_PARAMS: Mapping[str, Any] = {}
_KINDS: dict[str, np.dtype[Any]] = {dtype.kind: dtype for dtype in TYPES}


# -- templates -------------------------------------------------------------------------------------
def scalar_template(op: Op, use: ScalarUse) -> str | None:
    """Source over `math` with the operands as ``{0}``, ``{1}``; None if the operation has none.

    >>> from funcgrad.ops.elementwise import arithmetic, trigonometric
    >>> scalar_template(trigonometric.hypot, ScalarUse("f", {}, (None, None)))
    'math.hypot({0}, {1})'
    >>> scalar_template(arithmetic.square, ScalarUse("f", {}, (None,)))
    '({0} * {0})'
    """
    row = op.columns.scalar
    if row is None:
        return _decomposed(op, use.kind, len(use.constants))
    if callable(row):
        return row(use)
    if isinstance(row, str):
        return row if use.kind == "f" else None
    return row.get(use.kind)


@lru_cache(maxsize=1024)
def _decomposed(op: Op, kind: str, operands: int) -> str | None:
    """The template of the decomposition; None if there is none of the operation's own type."""
    decompose, dtype = op.columns.decompose, _KINDS.get(kind)
    if decompose is None or dtype is None or not isinstance(op, Elementwise):
        return None
    inputs = [symbol(f"{{{k}}}", ArrayType((), np.dtype(dtype))) for k in range(operands)]
    expr = decompose(*inputs)
    return _folded(expr) if expr.type == infer_type(op, inputs, ()) else None


def _folded(root: Expr) -> str | None:
    def step(expr: Expr, texts: tuple[str | None, ...]) -> str | None:
        if expr.op is INPUT:
            return str(expr.params[0][1])
        if expr.op is CONSTANT:
            written = literal(expr.params[0][1].array.item())
            return written.replace("nan", "math.nan").replace("inf", "math.inf")
        template = scalar_template(expr.op, use_of(expr))
        return template and (None if None in texts else template.format(*texts))

    return folded([root], step)[0]


def use_of(expr: Expr) -> ScalarUse:
    """The use of an operation on numbers that an expression is."""
    constants = [x.params[0][1].array.item() if x.op is CONSTANT else None for x in expr.args]
    return ScalarUse(expr.args[-1].dtype.kind, dict(expr.params), tuple(constants))


# -- functions that generated code calls ------------------------------------------------------------
def _floor_divide(x: float, y: float) -> float:
    if math.isinf(x) or math.isinf(y):
        raise ValueError("floor_divide: left to NumPy")
    return x // y


def _to_integer(x: float) -> int:
    if not -9.2e18 < x < 9.2e18:
        raise ValueError("astype: left to NumPy")
    return int(x)


def _divide(x: complex, y: complex) -> complex:
    """A quotient step by step as NumPy's: Python's differs in the last place."""
    a, b, c, d = x.real, x.imag, y.real, y.imag
    if abs(c) >= abs(d):
        ratio = d / c
        scale = 1.0 / (c + d * ratio)
        return complex((a + b * ratio) * scale, (b - a * ratio) * scale)
    ratio = c / d
    scale = 1.0 / (d + c * ratio)
    return complex((a * ratio + b) * scale, (b * ratio - a) * scale)


def _root(x: complex) -> complex:
    """NumPy's square root: that of `cmath` differs in the last place."""
    if not cmath.isfinite(x):
        raise ValueError("sqrt: left to NumPy")
    return complex(np.sqrt(x))


BOUND: dict[str, Any] = {
    **{f"c{name}": getattr(cmath, name) for name in dir(cmath) if not name.startswith("_")},
    **{name: getattr(math, name) for name in dir(math) if not name.startswith("_")},
    "floor_divide": _floor_divide,
    "to_integer": _to_integer,
    "cdivide": _divide,
    "csqrt": _root,
}


# -- the template of a step ------------------------------------------------------------------------
def template_of(flat: Flat, step: FlatStep) -> str | None:
    """How a step is written, `math`'s functions by their names; None if it is left to NumPy."""
    op, shape, dtype = step.op, step.type.shape, step.type.dtype
    if shape or dtype not in TYPES:
        return None
    if op is INPUT:
        return ""
    if op is CONSTANT:
        return literal(step.constant.item())
    operands = [flat.steps[k] for k in step.operands]
    kind = operands[-1].type.dtype.kind
    if not callable(op.columns.scalar):
        return _plain_template(op, kind, len(operands))
    constants = tuple([x.constant.item() if x.op is CONSTANT else None for x in operands])
    template = scalar_template(op, ScalarUse(kind, dict(step.params), constants))
    return template and unqualified(template)


@lru_cache(maxsize=1024)
def _plain_template(op: Op, kind: str, operands: int) -> str | None:
    template = scalar_template(op, ScalarUse(kind, _NO_PARAMS, (None,) * operands))
    return template and unqualified(template)


def unqualified(template: str) -> str:
    """A template with `math`'s functions by their names and `cmath`'s as C's, ``cexp``, as in `BOUND`."""
    return template.replace("math.", "")


def native_template(op: Op, use: ScalarUse) -> str | None:
    """The source of a use of an operation for machine code; None if there is none.

    >>> from funcgrad.ops.elementwise import arithmetic
    >>> native_template(arithmetic.floor, ScalarUse("f", {}, (None,)))
    'np_floor({0})'
    """
    row = (op.columns.native or {}).get(use.kind)
    if row is not None:
        return row(use) if callable(row) else row
    text = scalar_template(op, use)
    return text and unqualified(text)


def literal(value: Any) -> str:
    """A number as source that keeps its sign, of a zero and of a nan too."""
    if isinstance(value, complex):
        re, im = value.real, value.imag
        if cmath.isfinite(value) and "-0.0" not in (str(re), str(im)) and (re or im >= 0):
            return f"({value!r})"  # which Python folds; of -2j the real part would be -0
        return f"complex({literal(re)}, {literal(im)})"
    text = repr(abs(value)) if isinstance(value, float) else repr(value).lstrip("-")
    negative = math.copysign(1.0, value) < 0
    return f"(-{text})" if negative else text
