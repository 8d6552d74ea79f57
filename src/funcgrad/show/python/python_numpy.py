"""Operations as NumPy's calls, each as Python source."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.base.op import Infix, columns_of
from funcgrad.ops.tuples import pick_op
from funcgrad.rewrite.decompose import decomposed
from funcgrad.show.functions import is_tuple
from funcgrad.show.naming import array_of, operands
from funcgrad.show.python.control_flow_source import Routines, called
from funcgrad.show.written import ATOM, UNARY, Written, parenthesized
from funcgrad.typing import Array

LITERAL = 100  # entries of an array that is written out

INFIX = frozenset(
    ("+", "-", "*", "/", "@", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "//", "%")
)

IDENTITIES = frozenset(("leaf", "name", "stop_gradient"))
"""Operations that are written as their operand."""


def in_numpy(expr: Expr) -> Expr:
    """The program without the operations that are written as simpler ones."""
    (found,) = decomposed([expr], _is_call)
    return found


def _is_call(expr: Expr) -> bool:
    operation: Any = expr.op
    theirs = isinstance(getattr(operation, "run", None), np.ufunc)
    return theirs or operation.name in IDENTITIES or columns_of(expr).numpy is not None


def numpy_writer(
    names: Mapping[str, str], routines: Routines
) -> Callable[[Expr, list[Written]], Written]:
    """What writes a node, given what its operands are written as; ``names`` are those of variables."""

    def write(expr: Expr, parts: list[Written]) -> Written:
        if expr.op is INPUT:
            return Written(names[str(expr.params[0][1])], ATOM)
        if expr.op is CONSTANT:
            return Written(_literal(array_of(expr)), ATOM)
        if expr.op is pick_op and "wiring" in dict(expr.args[0].params):
            return parts[0]
        if is_tuple(expr):
            made = called(expr, [part.text for part in parts], routines)
            if made is not None:
                return Written(made, ATOM - 1)
        return _numpy_call(expr, parts)

    return write


def _numpy_call(expr: Expr, parts: list[Written]) -> Written:
    operation: Any = expr.op
    args = operands(expr)
    if operation.name in IDENTITIES:
        return parts[0]
    if operation.name == "negative":
        return Written("-" + parenthesized(parts[0], UNARY), UNARY)
    if operation.infix and operation.infix.symbol in INFIX:
        return _numpy_infix(operation.infix, args, parts)
    texts = [part.text for part in parts]
    row = columns_of(expr).numpy
    if row == "{0}":
        return parts[0]
    if row is not None:
        text = _filled(row, expr, texts) if isinstance(row, str) else row(expr, texts)
        if text is None:
            raise unknown(operation.name, "NumPy")
        return Written(text, ATOM - 1)
    theirs = getattr(operation.run, "__name__", "")
    if isinstance(operation.run, np.ufunc) and getattr(np, theirs, None) is operation.run:
        return Written(f"np.{theirs}({', '.join(texts)})", ATOM - 1)
    raise _unwritten(expr)


def _unwritten(expr: Expr) -> ValueError:
    params = dict(expr.params)
    if "function" in params:
        return ValueError(
            "to_python: expected operations that NumPy has, but got the primitive "
            f"{params['function'].name!r}; write what comes before and after it as two programs"
        )
    return unknown(params["problem"].who if "problem" in params else expr.op.name, "NumPy")


def _numpy_infix(infix: Infix, args: tuple[Expr, ...], parts: list[Written]) -> Written:
    given = zip(args, reversed(args), parts, strict=True)
    return written_between(infix, *[_weak(arg, other) or part for arg, other, part in given])


def written_between(infix: Infix, left: Written, right: Written) -> Written:
    """Two operands with their operator between them."""
    symbol, binding = infix
    # Comparisons do not associate: a < b < c is another thing in Python.
    outer = binding + 1 if binding <= 5 else binding
    spaced = symbol if symbol in ("*", "/") else f" {symbol} "
    return Written(
        f"{parenthesized(left, outer)}{spaced}{parenthesized(right, binding + 1)}", binding
    )


def _weak(arg: Expr, other: Expr) -> Written | None:
    """A scalar constant beside an operand of its dtype: a plain number, which takes that dtype."""
    if arg.op is not CONSTANT or arg.shape or other.op is CONSTANT or arg.dtype != other.dtype:
        return None
    value = array_of(arg).item()
    exact = type(value) in (float, int) and math.isfinite(value) and arg.dtype.itemsize <= 8
    return Written(repr(value), UNARY if repr(value)[0] == "-" else ATOM) if exact else None


def _literal(array: Array) -> str:
    """An array as source that gives back every bit of it."""
    dtype = array.dtype
    plain = dtype.isnative and (dtype.kind in "iub" or (dtype.kind == "f" and dtype.itemsize <= 8))
    if plain and array.ndim == 0 and np.isfinite(array):
        return f"np.{dtype.type.__name__}({array.item()!r})"
    if plain and 0 < array.size <= LITERAL and np.all(np.isfinite(array)):
        return f'np.array({array.tolist()!r}, "{dtype}")'
    little = array.astype(dtype.newbyteorder("<"), copy=False)
    content = base64.b64encode(little.tobytes()).decode("ascii")
    text = f'np.frombuffer(base64.b64decode("{content}"), "{little.dtype.str}")'
    cast = "" if dtype == little.dtype else f'.astype("{dtype.str}")'
    return f"{text}{cast}.reshape({array.shape})[()]"


def unknown(name: str, module: str) -> ValueError:
    """The error of an operation that a module has not."""
    return ValueError(
        f"to_python: expected operations that {module} has, but got {name!r}; save the program with "
        "to_json instead" + ("" if module == "NumPy" else ", or leave out module='math'")
    )


def _filled(template: str, expr: Expr, texts: list[str]) -> str:
    """A template with ``{0}``, ``{1}`` for operands, ``{all}`` for all, and params by name."""
    params = {key: _param(value) for key, value in expr.params}
    return template.format(*texts, all=", ".join(texts), **params)


def _param(value: object) -> str:
    return f'"{value.str}"' if isinstance(value, np.dtype) else repr(value)
