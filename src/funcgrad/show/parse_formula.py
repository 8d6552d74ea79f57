"""Formulas from text: parsed against a whitelist, never evaluated as Python.

Numbers, names, arithmetic, comparisons and calls of the package's elementwise functions, reductions
and contractions. Any other syntax of Python raises a `FormulaError` of one line.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.expr import Expr, const
from funcgrad.ops.numpy.dispatch import formula_functions

LONGEST_FORMULA = 10_000  # characters of a formula
DEEPEST_NESTING = 200  # parts within parts

CONSTANTS = MappingProxyType({"pi": np.pi, "e": np.e, "inf": np.inf})

_BINARY: Mapping[type, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
        ast.Pow: operator.pow,
        ast.MatMult: operator.matmul,
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
    }
)
_UNARY: Mapping[type, Callable[[Any], Any]] = MappingProxyType(
    {ast.USub: operator.neg, ast.UAdd: operator.pos}
)


_SLIPS = (
    (r"(?<![\w.])\d+(?:\.\d*)?[a-zA-Z_]", "; write a product as 2*x"),
    (r"[²³]", "; write a power as x**2"),
    (r"\|", "; write abs(x) for |x|"),
    (r"[^\W\d]\w* +[\w.]", "; write a product as x*y, and a call as sin(x)"),
)
"""Notations that formulas do not have, as patterns, each with the advice of its error."""


class FormulaError(ValueError):
    """A text that is no formula."""


def parse(source: str, variables: Mapping[str, Expr]) -> Expr:
    """The expression of a formula over the given variables.

    >>> import funcgrad as fg
    >>> parse("2*x + sin(pi*x)", {"x": fg.var("x")})
    2*x + sin(3.141592653589793*x)
    """
    if len(source) > LONGEST_FORMULA:
        raise FormulaError(
            f"formula: expected at most {LONGEST_FORMULA} characters, but got {len(source)}"
        )
    if not source.strip():
        raise FormulaError("formula: expected an expression, but got none; write x**2")
    _check_depth(source)
    try:
        tree = ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        hint = next((hint for pattern, hint in _SLIPS if re.search(pattern, source)), "")
        raise FormulaError(
            f"formula: expected an expression, but {_reason(error, source.strip())}{hint}"
        ) from None
    if any(isinstance(node, ast.BitXor) for node in ast.walk(tree)):
        meant = source.strip().replace("^", "**")
        raise FormulaError(f"formula: expected ** for a power, but got ^; write {meant[:60]}")
    with np.errstate(all="ignore"):
        return const(_read(tree.body, variables, 0))


def _reason(error: Exception, text: str) -> str:
    """Python's reason, and the place where a text with invalid syntax stops being an expression."""
    reason = getattr(error, "msg", None) or "it is nested too deeply"
    if reason != "invalid syntax":
        return reason
    column = (getattr(error, "offset", None) or len(text) + 1) - 1
    before, after = text[:column].rstrip()[-20:], text[column:][:20]
    return f"{reason}: {repr(after) if after else 'it ends'} after {before!r}" if before else reason


def names_in(source: str) -> list[str]:
    """The names of the variables of a formula, in the order in which they are met.

    >>> names_in("sin(a*x) + pi")
    ['a', 'x']
    """
    try:
        tree = ast.parse(source.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []  # `parse` says what is wrong
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = [
        node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called
    ]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    return [name for name in dict.fromkeys([node.id for node in found]) if name not in CONSTANTS]


def _check_depth(source: str) -> None:
    depth = deepest = 0
    for character in source:
        depth += (character in "([") - (character in ")]")
        deepest = max(deepest, depth)
    if deepest > DEEPEST_NESTING:
        raise FormulaError(
            f"formula: expected at most {DEEPEST_NESTING} nested parentheses, but got {deepest}"
        )


def _read(node: ast.expr, variables: Mapping[str, Expr], depth: int) -> Any:
    if depth > DEEPEST_NESTING:
        raise FormulaError(
            f"formula: expected at most {DEEPEST_NESTING} nested parts, but got more"
        )
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return _finite(node, float(value) if abs(value) < 1e308 else np.inf)
        case ast.Name(id=name):
            return _named(name, variables)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _finite(node, _UNARY[type(op)](_read(operand, variables, depth + 1)))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            parts = (_read(left, variables, depth + 1), _read(right, variables, depth + 1))
            return _finite(node, _apply(_BINARY[type(op)], parts))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _BINARY:
            parts = (_read(left, variables, depth + 1), _read(right, variables, depth + 1))
            return _apply(_BINARY[type(op)], parts)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return _finite(node, _call(name, [_read(arg, variables, depth + 1) for arg in args]))
    written = ast.unparse(node) if depth < 50 else type(node).__name__
    raise FormulaError(
        "formula: expected numbers, names, arithmetic and calls such as sin(x), "
        f"but got {type(node).__name__}: {written[:60]}{_instead(node)}"
    )


def _instead(node: ast.expr) -> str:
    """What to write for Python that formulas do not have; empty if there is nothing."""
    match node:
        case ast.IfExp():
            return "; write where(condition, a, b)"
        case ast.Call(func=ast.Attribute(attr=name)) if name in formula_functions():
            return f"; write {name}(x)"
    return ""


def _finite(node: ast.expr, value: Any) -> Any:
    """A constant part must be a finite number: 9**9**9**9 is a slip, not a formula."""
    if not isinstance(value, Expr) and not np.all(np.isfinite(value)):
        raise FormulaError(f"formula: expected finite numbers, but got {ast.unparse(node)[:60]}")
    return value


def _apply(function: Callable[..., Any], parts: tuple[Any, ...]) -> Any:
    try:
        return function(*parts)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise FormulaError(f"formula: {str(error).splitlines()[0]}") from None


def _named(name: str, variables: Mapping[str, Expr]) -> Any:
    if name in variables:
        return variables[name]
    if name in CONSTANTS:
        return CONSTANTS[name]
    known = ", ".join(variables) or "none"
    raise FormulaError(
        f"formula: expected a value for {name!r} (given: {known}); write {name}=1.0 after the formula"
    )


def _call(name: str, parts: list[Any]) -> Any:
    functions = formula_functions()
    if name not in functions:
        near = ["log"] if name == "ln" else get_close_matches(name, functions, 1)
        hint = f"; write {near[0]}" if near else ""
        raise FormulaError(
            f"formula: expected a function such as sin or exp, but got {name[:60]!r}{hint}"
        )
    if name in ("max", "min") and len(parts) != 1:
        raise FormulaError(
            f"formula: expected one array in {name}, but got {len(parts)} parts; use {name}imum(x, y)"
        )
    return _apply(functions[name], tuple(parts))
