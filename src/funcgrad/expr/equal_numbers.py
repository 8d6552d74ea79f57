"""Comparisons by which code may look up a result: a differentiated value that is equal to plain numbers.

An object that keeps its last result, and the argument that it belongs to, gives plain numbers for a traced
argument of the same value (``if np.array_equal(x, self.x): return self.value``). They have no derivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.expr.node import ExprBase
from funcgrad.expr.registry import functions
from funcgrad.source import warn


def warn_of_equal_numbers(root: Any, answer: bool, known_value: Any) -> None:
    """Warn if a truth value tells that a differentiated value is equal to numbers that are no special ones.

    Special are whole numbers, and arrays of one number: a function may have a branch for these.
    """
    compared = root
    while compared.op.name in _REDUCTIONS:
        compared = compared.args[0]
    if compared.op.name != ("equal" if answer else "not_equal"):
        return
    sides = [_before_broadcast(side) for side in compared.args]
    varied = [bool(side.traced) and functions["is_varied"](side) for side in sides]
    if sum(varied) != 1:
        return
    numbers = known_value(sides[varied.index(False)])
    if numbers is None or compared.shape != np.shape(numbers) or _is_special(np.asarray(numbers)):
        return
    warn(
        "a value that is differentiated is compared with numbers that are equal: if the code looks up what "
        "it has computed of these, that has no derivative; have it forget the numbers before, or keep nothing"
    )


_REDUCTIONS = frozenset(("all", "any", "reshape"))


def _before_broadcast(side: ExprBase) -> Any:
    """An operand without the conversions of shape and dtype that NumPy does by itself."""
    while getattr(side.op, "hidden", False) and side.op.name != "leaf":
        side = side.args[0]
    return side


def _is_special(numbers: Any) -> bool:
    if numbers.dtype.kind != "f" or not numbers.size:
        return True
    if numbers.size == 1:
        return bool(numbers == np.rint(numbers))
    return bool(np.all(numbers == numbers.flat[0]))
