"""ZeroDivisionError of a quotient of Python's numbers, where code handles it."""

from __future__ import annotations

from typing import Any

from funcgrad.expr.concrete import has_known_value
from funcgrad.expr.reported_class import is_numpys_number
from funcgrad.source import as_of_numbers, may_be_handled

_OF_PYTHON = (int, float, complex, bool)


_OF_DIVISION = frozenset(("ZeroDivisionError", "ArithmeticError"))
_OF_ANY = _OF_DIVISION | {"Exception", "BaseException"}
"""The errors of a division by zero, as handlers name them."""


def raise_if_by_zero(self: Any, other: Any, divisor: Any) -> None:
    """Raise ZeroDivisionError for a quotient of numbers of Python's by 0, where code handles it.

    Whether it is raised is a question, which is asked of a value that stands for many only if a handler
    names the error. NumPy's numbers raise none.
    """
    if self.traced is None or self.shape or not may_be_handled(_OF_ANY) or is_numpys_number(self):
        return
    if type(other) is type(self):
        if other.shape or is_numpys_number(other):
            return
    elif type(other) not in _OF_PYTHON:
        return
    is_known = type(divisor) is not type(self) or has_known_value(divisor)
    if (is_known or may_be_handled(_OF_DIVISION)) and divisor == 0:
        raise as_of_numbers(ZeroDivisionError("division by zero"))
