"""Errors of arithmetic, which operators of traced values do not raise: they give inf or NaN, as NumPy does.

(Quotients, and functions of `math`, raise them where a handler waits: `funcgrad.expr.division_errors`,
`funcgrad.adoption.stand_ins.math_`. NumPy's numbers raise none of Python's errors.) A function that
handles such an error would return something else on numbers. So it is warned of where what it
returns is not finite, or is computed with a number that is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr, concrete
from funcgrad.expr.reported_class import is_numpys_number
from funcgrad.graph import subexpressions
from funcgrad.ops.base.op import columns_of
from funcgrad.source import USERS, handles, warn

_OF_ARRAYS = frozenset({"FloatingPointError", "RuntimeWarning"})
"""What NumPy raises under `numpy.errstate` and under a filter of warnings, of arrays, too."""
_ERRORS = _OF_ARRAYS.union(
    {
        *("ArithmeticError", "BaseException", "Exception"),
        *("OverflowError", "ValueError", "ZeroDivisionError"),
    }
)
_MOST_NODES = 50
"""The operations of one call that are looked at: those of a loop are many."""


def handles_errors(code: CodeType) -> bool:
    """Whether code of the user's handles errors of arithmetic; NumPy's numbers, in SciPy's, raise none."""
    return not USERS[code.co_filename] and (handles(code, _ERRORS) or traps_errors(code))


@lru_cache(maxsize=1024)
def traps_errors(code: CodeType) -> bool:
    """Whether code traps errors of arithmetic: NumPy raises them, or hands them to a function or a list."""
    words: set[object] = set()
    for item in code.co_consts:
        words.update(item if isinstance(item, tuple) else (item,))
    return any(
        [
            not names.isdisjoint(code.co_names) and not options.isdisjoint(words)
            for names, options in _TRAPS
        ]
    )


_TRAPS = (
    (frozenset({"errstate", "seterr", "seterrcall"}), frozenset({"call", "log", "raise"})),
    (frozenset({"catch_warnings"}), frozenset({"error", "record"})),
)
"""The functions that set what NumPy does at such errors, and their options by which code is told."""


def warn_of_not_finite(code: CodeType, args: Sequence[object], result: object) -> None:
    """Warn if a function that handles errors of arithmetic returns a traced number that is not finite.

    So it is if a number between its arguments and its result is not.
    """
    given = {id(plain_value(arg)) for arg in args}
    for item in result if isinstance(result, list | tuple) else (result,):
        value = plain_value(item)
        if type(value) is not Expr or value.dtype.kind != "f" or not value.traced:
            continue
        is_numpys = bool(value.shape) or is_numpys_number(value)
        if is_numpys and _OF_ARRAYS.isdisjoint(code.co_names) and not traps_errors(code):
            continue
        how = _how_not_finite(value, given)
        if how:
            named = sorted(_ERRORS.intersection(code.co_names))
            handled = " or ".join(named) or (
                "floating-point errors" if traps_errors(code) else "errors"
            )
            warn(
                f"{code.co_name}: handles {handled}, which traced values do not raise, and {how} a number "
                "that is not finite; write the condition, if x == 0, in the place of the handler"
            )
            return


def _how_not_finite(value: Expr, given: set[int]) -> str:
    try:
        if not concrete(value, "isfinite", _is_finite):
            return "returns"
        for node in _operations(value, given):
            if not concrete(node, "isfinite", _is_finite):
                return "computes with"
    except Exception:  # a mapped value has none, and an operation may refuse its operands
        return ""
    return ""


def _operations(value: Expr, given: set[int]) -> list[Expr]:
    """The numbers below a value, and above those given, of operations that may raise an error on numbers."""
    left = _MOST_NODES

    def operands(expr: Expr) -> tuple[Expr, ...]:
        nonlocal left
        left -= 1
        return () if id(expr) in given or left < 0 else expr.args

    return [
        node
        for node in subexpressions(value, operands=operands)
        if not node.shape and node.args and id(node) not in given and _may_raise(node)
    ]


def _may_raise(node: Expr) -> bool:
    columns = columns_of(node)
    return columns.transcendental or node.op.name in ("divide", "sqrt", "power", "reciprocal")


def _is_finite(value: Any) -> bool:
    return bool(np.all(np.isfinite(value)))
