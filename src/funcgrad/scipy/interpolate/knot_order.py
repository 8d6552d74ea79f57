"""SciPy's errors of abscissae and knots that are out of order: a question to traced ones, as ``if`` is."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.expr.branch_path import PATH
from funcgrad.expr.concrete import has_known_value
from funcgrad.source import as_of_numbers
from funcgrad.typing import Array


def expect_rising(message: str, x: Array, strictly: bool = True, or_falling: bool = False) -> None:
    """Raise ValueError with SciPy's message if an entry is not larger than the one before.

    Without ``strictly`` it may be equal. NaN is in order, since what is computed from it is NaN, and so is a
    formula, of which nothing is known. With ``or_falling`` each may be smaller, and none is NaN.
    """
    before, after = x[:-1], x[1:]
    is_out: Any
    if or_falling:
        rises = np.all(after > before if strictly else after >= before)
        falls = np.all(after < before if strictly else after <= before)
        is_out = np.logical_not(np.logical_or(rises, falls))
    else:
        is_out = np.any(after <= before if strictly else after < before)
    if _may_ask(is_out) and bool(is_out):
        raise as_of_numbers(ValueError(message))


def _may_ask(condition: object) -> bool:
    """Whether a condition has a truth value, or the run has a path for each."""
    if not isinstance(condition, Expr) or has_known_value(condition):
        return True
    return condition.traced is not None and PATH.get() is not None
