"""Python's errors of arithmetic, which traced values do not raise: they give inf or NaN, as NumPy does.

A function that handles such an error would return something else on numbers. So it is warned of where what it
returns is not finite.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr, concrete
from funcgrad.source import warn

_ERRORS = frozenset(
    {"ArithmeticError", "Exception", "OverflowError", "ValueError", "ZeroDivisionError"}
)


def handles_errors(code: CodeType) -> bool:
    """Whether code names an error of arithmetic, and handles errors."""
    return bool(code.co_exceptiontable) and not _ERRORS.isdisjoint(code.co_names)


def warn_of_not_finite(code: CodeType, result: object) -> None:
    """Warn if a function that handles errors of arithmetic returns a traced number that is not finite."""
    value = plain_value(result)
    if type(value) is not Expr or value.shape or value.dtype.kind != "f" or not value.traced:
        return
    try:
        finite = concrete(value, "isfinite", _is_finite)
    except Exception:  # a mapped value has none, and an operation may refuse its operands
        return
    if not finite:
        handled = " or ".join(sorted(_ERRORS.intersection(code.co_names)))
        warn(
            f"{code.co_name}: handles {handled}, which traced values do not raise, and returns a number that "
            "is not finite; write the condition, if x == 0, in the place of the handler"
        )


def _is_finite(value: Any) -> bool:
    return bool(np.isfinite(value))
