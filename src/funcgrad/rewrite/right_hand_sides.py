"""Right-hand sides of laws as operations: a law is run once for each combination of types, on symbols.

The operations are then made for the bindings of a match, without the law's own code, which looks up each
operation and infers its types. The pattern variables ``c`` and ``d`` are numbers: what a law computes of
these alone is computed by Python, and becomes a constant.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.expr import Expr, rebuild, scalar, subexpressions, symbol
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, ArrayType
from funcgrad.ops.base.op import Op, fit
from funcgrad.ops.elementwise import arithmetic
from funcgrad.rewrite.constant_values import value_of

NUMBERS = ("c", "d")
"""The variables that stand for constants."""

_ON_NUMBERS: Mapping[Op, Callable[..., Any]] = MappingProxyType(
    {
        arithmetic.add: operator.add,
        arithmetic.multiply: operator.mul,
        arithmetic.divide: operator.truediv,
        arithmetic.negative: operator.neg,
    }
)

Operations: TypeAlias = tuple[tuple[Expr, tuple[int, ...]], ...]
"""Operations on symbols, and the positions of their operands."""


class RightHandSide(NamedTuple):
    """A right-hand side as operations on positions: bindings have the first, then numbers, then rows."""

    numbers: tuple[tuple[Callable[..., Any], tuple[int, ...]], ...]
    """Arithmetic on numbers, and the positions of its operands."""
    constants: tuple[int, ...]
    """The positions of the numbers that become constants."""
    dtype: np.dtype[Any]
    """That of these constants."""
    rows: Operations
    result: int


class LawResult(NamedTuple):
    """A right-hand side for the bindings of one match."""

    rows: Operations
    values: list[Any]
    """The expressions that have the positions before those of the rows."""
    result: int

    def expression(self) -> Expr:
        """The law's result."""
        values = list(self.values)
        for expr, places in self.rows:
            values.append(rebuild(expr, tuple([values[i] for i in places])))
        found: Expr = values[self.result]
        return found


def right_hand_side(
    right: Callable[..., Any], names: Sequence[str], type: ArrayType, *types: ArrayType
) -> RightHandSide:
    """The operations of ``right``, given the types of the node and of the bindings that are no numbers."""
    others = iter(types)
    of_number = ArrayType((), type.dtype)
    symbols = [symbol(name, of_number if name in NUMBERS else next(others)) for name in names]
    made = right(*symbols)
    root = fit(made if isinstance(made, Expr) else scalar(made, type.dtype), type)
    numeric = dict(zip(map(id, symbols), [name in NUMBERS for name in names], strict=True))
    folded([root], _is_numeric, numeric)
    places = dict(zip(map(id, symbols), range(len(names)), strict=True))
    numbers: list[tuple[Callable[..., Any], tuple[int, ...]]] = []

    def number(expr: Expr, operands: tuple[int, ...]) -> int:
        compute = _ON_NUMBERS[expr.op] if operands else value_of(expr).item
        numbers.append((compute, operands))
        return len(names) + len(numbers) - 1

    folded([expr for expr in subexpressions(root) if numeric[id(expr)]], number, places)
    first = len(names) + len(numbers)
    rows: list[tuple[Expr, tuple[int, ...]]] = []

    def row(expr: Expr, operands: tuple[int, ...]) -> int:
        rows.append((expr, operands))
        return first + len(rows) - 1

    (result,) = folded([root], row, places)
    used = {place for _, operands in rows for place in operands} | {result}
    numbered = [k for k in range(first) if k >= len(names) or names[k] in NUMBERS]
    constants = tuple([k for k in numbered if k in used])
    return RightHandSide(tuple(numbers), constants, type.dtype, tuple(rows), result)


def _is_numeric(expr: Expr, operands: tuple[bool, ...]) -> bool:
    """Whether an operation is on numbers and literals alone."""
    are_numbers = [
        known or arg.op is CONSTANT for arg, known in zip(expr.args, operands, strict=True)
    ]
    return expr.op in _ON_NUMBERS and any(operands) and all(are_numbers)


def law_result(found: RightHandSide, bindings: Sequence[Any]) -> tuple[LawResult, list[Any]] | None:
    """A right-hand side for bindings, and the constants that it computes; None if Python cannot."""
    values = list(bindings)
    try:
        for compute, places in found.numbers:
            values.append(compute(*[values[i] for i in places]))
    except ArithmeticError:  # a constant over 0, or one that Python cannot hold
        return None
    computed = []
    for place in found.constants:
        values[place] = constant = _rounded(values[place], found.dtype)
        computed.append(constant.params[0][1].array.item())
    return LawResult(found.rows, values, found.result), computed


def _rounded(value: object, dtype: np.dtype[Any]) -> Expr:
    """A number as a constant of a dtype, in which it may be infinite."""
    if dtype.char in "dD":
        return scalar(value, dtype)
    with np.errstate(over="ignore"):
        return scalar(value, dtype)
