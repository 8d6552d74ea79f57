"""Concrete values: what Python's questions are answered by.

A traced expression knows the values of its leaves at this call. Its own is computed when Python first
asks (``if x > 0``, ``float(x)``, an index, a format), and kept; what records questions is told.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from opcode import opmap
from types import FrameType
from typing import Any

import numpy as np

from funcgrad.expr.cell import Cell, set_value, subexpressions
from funcgrad.expr.operations import functions
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.source import fail, written


class Questions:
    """Python's questions, answered by the concrete value under a transform."""

    __slots__ = ()

    def __bool__(self: Any) -> bool:
        # A dict or a set compares what has one hash: equal formulas are equal, whatever their values.
        if not self.traced and self.op.name in ("equal", "not_equal"):
            x, y = self.args
            if x.key == y.key and _has_input(x):
                return bool(self.op.name == "equal")
        return bool(concrete(self, "bool()", bool))

    def __float__(self: Any) -> float:
        if _is_stored(sys._getframe(1)):
            raise assignment()
        return float(concrete(self, "float()", float))

    def __int__(self: Any) -> int:
        if _is_stored(sys._getframe(1)):
            raise assignment()
        return int(concrete(self, "int()", int))

    def __complex__(self: Any) -> complex:
        if _is_stored(sys._getframe(1)):
            raise assignment()
        return complex(concrete(self, "complex()", complex))

    def __index__(self: Any) -> int:
        return int(concrete(self, "an index", operator.index))

    def item(self: Any) -> Any:
        """The concrete value as a Python number, under a transform."""
        return concrete(self, "item()", _item)

    def __format__(self: Any, spec: str) -> str:
        return format(concrete(self, "a format", _item), spec) if spec else str(self)


_STORE = opmap["STORE_SUBSCR"]


def _is_stored(frame: FrameType) -> bool:
    """Whether ``array[i] = x`` or ``array.fill(x)`` asks for a number, which would cut the gradient."""
    if frame.f_code.co_code[frame.f_lasti] == _STORE:
        return True
    return ".fill(" in written(frame).partition("(")[0] + "("


def assignment() -> Any:
    """The refusal of an assignment to an item of an expression, or of an expression to an item."""
    return fail(
        TypeError,
        "item assignment: expected a value that can change, but an expression is immutable, and "
        "a NumPy array does not hold one; write x = x.at[i].set(v) instead of x[i] = v, with x an "
        "expression, or build the array by np.stack([...])",
    )


def _itself(value: Any) -> Any:
    return value


def _item(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def concrete(root: Cell, asker: str, reading: Callable[[Any], Any] = _itself) -> Any:
    """What Python reads off the value that a traced expression has at this call.

    The value is computed when it is first asked for, and kept. What records questions is told.
    """
    answer = reading(_value(root, asker))
    traced = root.traced
    if traced is not False and traced is not True:
        traced.record(root, reading, answer)
    return answer


def _value(root: Cell, asker: str) -> Any:
    stack = [root]
    while stack:
        expr = stack[-1]
        if hasattr(expr, "_value"):
            stack.pop()
            continue
        if expr.op is INPUT:
            raise _no_value(expr if root.traced else root, asker)
        pending = [arg for arg in expr.args if not hasattr(arg, "_value")]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        set_value(expr, _step(expr))
    return root._value


def _step(expr: Cell) -> Any:
    if expr.op is CONSTANT:
        return expr.params[0][1].array
    with np.errstate(all="ignore"):
        return expr.op.run(*[arg._value for arg in expr.args], **dict(expr.params))


def _has_input(root: Cell) -> bool:
    return any(expr.op is INPUT for expr in subexpressions(root))


def _no_value(expr: Cell, asker: str) -> Any:
    text = functions["text"](expr)
    return fail(
        TypeError,
        f"{asker}: expected a number, but {_shorten(text)} has none, since it stands for any value; "
        "choose with fg.cond or np.where(condition, a, b); a function that is differentiated with "
        "grad(f), and neither mapped nor a loop's, knows its values",
    )


def _shorten(text: str) -> str:
    line = text.splitlines()[-1]
    return repr(line if len(line) <= 40 else line[:37] + "...")
