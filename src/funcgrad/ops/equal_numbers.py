"""Comparisons by which code may look up a result: a differentiated value that is equal to plain numbers.

An object that keeps its last result, and the argument that it belongs to, gives plain numbers for a traced
argument of the same value (``if np.array_equal(x, self.x): return self.value``). They have no derivative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from funcgrad.expr import Expr
from funcgrad.expr.concrete import known_value
from funcgrad.ops.base.activity import is_varied
from funcgrad.ops.base.op import leaf
from funcgrad.source import warn
from funcgrad.typing import Array


def warn_of_equal_numbers(root: Expr, answer: bool) -> None:
    """Warn if a truth value tells that a differentiated value is equal to numbers that are no special ones.

    A number is special, and so are several that are the same: a function may have a branch for these.
    """
    compared = root
    while compared.op.name in _REDUCTIONS:
        compared = compared.args[-1]  # of `numpy.isclose`, the equality beside the tolerance
    name = compared.op.name
    if name in (_SAME if answer else _OTHER):
        _warn_of_sides(compared.args if name in ("equal", "not_equal") else ())
        for side in compared.args:
            if side.op.name in _DISTANCES:
                _warn_of_sides(_compared_by_distance(side))


_REDUCTIONS = frozenset(("all", "any", "bitwise_or", "reshape"))
_SAME = frozenset(("equal", "less", "less_equal"))
_OTHER = frozenset(("not_equal", "greater", "greater_equal"))
_DISTANCES = frozenset(("absolute", "max", "norm", "power", "sqrt", "square", "sum"))


def _compared_by_distance(side: Expr) -> Sequence[Expr]:
    """The operands of the difference in a distance that is zero."""
    while side.op.name in _DISTANCES:
        side = side.args[0]
    is_zero = side.op.name == "subtract" and not np.any(known_value(side) != 0)
    return side.args if is_zero else ()


def _warn_of_sides(operands: Sequence[Expr]) -> None:
    sides = [_before_broadcast(side) for side in operands]
    varied = [bool(side.traced) and is_varied(side) for side in sides]
    if sum(varied) != 1:
        return
    place = varied.index(False)
    numbers = known_value(sides[place])
    if numbers is None or sides[1 - place].shape != np.shape(numbers):
        return
    if not _is_special(np.asarray(numbers)):
        warn(
            "a value that is differentiated is compared with numbers that are equal: if the code looks up "
            "what it has computed of these, that has no derivative; have it forget the numbers before, or "
            "keep nothing"
        )


def _before_broadcast(side: Expr) -> Expr:
    """An operand without the conversions of shape and dtype that NumPy does by itself."""
    while getattr(side.op, "hidden", False) and side.op is not leaf:
        side = side.args[0]
    return side


def _is_special(numbers: Array) -> bool:
    if numbers.dtype.kind != "f" or numbers.size < 2:
        return True
    return bool(np.all(numbers == numbers.flat[0]))
