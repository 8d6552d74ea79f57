"""Operations on floats as calls of Python's ``math``, each as source."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Never

import numpy as np

from funcgrad.compiler.python.scalar_ops import scalar_template, use_of
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.arithmetic import negative
from funcgrad.show.naming import array_of
from funcgrad.show.python.python_numpy import IDENTITIES, INFIX, unknown, written_between
from funcgrad.show.written import ATOM, UNARY, Written, parenthesized
from funcgrad.source import value_error
from funcgrad.typing import Array


def math_writer(names: Mapping[str, str]) -> Callable[[Expr, list[Written]], Written]:
    """What writes a node, given what its operands are written as; ``names`` are those of variables."""

    def write(expr: Expr, parts: list[Written]) -> Written:
        if expr.op is INPUT:
            return Written(names[str(expr.params[0][1])], ATOM)
        if expr.op is CONSTANT:
            return _math_number(array_of(expr))
        operation: Op = expr.op
        if operation.name in IDENTITIES:
            return parts[0]
        if operation is negative:
            return Written("-" + parenthesized(parts[0], UNARY), UNARY)
        if operation.infix and operation.infix.symbol in INFIX and expr.args[0].dtype.kind == "f":
            return written_between(operation.infix, *parts)
        template = scalar_template(operation, use_of(expr))
        if template is None:
            raise unknown(operation.name, "math")
        return Written(_filled(template, parts), ATOM - 1)

    return write


def _filled(template: str, parts: list[Written]) -> str:
    """A template with its operands; if it names a long one twice, they become arguments of a function."""
    counts = [template.count(f"{{{k}}}") for k in range(len(parts))]
    if any([n > 1 and not _is_short(part.text) for n, part in zip(counts, parts, strict=True)]):
        names = [f"x{k}" for k in range(len(parts))]
        body, given = template.format(*names), ", ".join([part.text for part in parts])
        return f"(lambda {', '.join(names)}: {body})({given})"

    def operand(found: re.Match[str]) -> str:
        part = parts[int(found[1] or found[2])]
        return part.text if found[1] else parenthesized(part, ATOM - 1)

    return _OPERAND.sub(operand, template)


# An operand between parentheses, commas or the words of a condition, which needs no parentheses; any other.
_OPERAND = re.compile(
    r"(?:(?<=\()|(?<=, )|(?<= if )|(?<= else ))\{(\d)\}(?=\)|, | if | else )|\{(\d)\}"
)


def _is_short(text: str) -> bool:
    return text.isidentifier() or text.replace(".", "", 1).isdigit()


def _math_number(array: Array) -> Written:
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
    raise value_error(
        f"to_python: expected float64 scalars for module='math', but got {expr.type}; leave it out",
    )
