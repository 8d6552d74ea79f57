"""Dispatch of operators between an expression and an instance of another class.

The class may have the reflected operator, go first by ``__array_priority__``, or take ufuncs over by
``__array_ufunc__``; or NumPy converts the instance to an array.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.expr.node import ExprBase
from funcgrad.expr.registry import functions
from funcgrad.expr.reported_class import is_numpys_number
from funcgrad.source import USERS


def has_own_operators(value: object, beside: Any, name: str) -> bool:
    """Whether a value's reflected operator takes an expression: a polynomial's, or that of a user's class."""
    kind = type(value)
    if getattr(kind, "__array_ufunc__", _ABSENT) is None:  # NumPy's protocol
        return True
    if name in getattr(kind, "_funcgrad_operators", ()):
        return True
    if isinstance(value, np.poly1d):
        return not beside.shape  # NumPy makes an array of an array and a poly1d
    if beside.shape and issubclass(kind, int | float | complex):
        return getattr(value, "__array_priority__", 0.0) > 0  # otherwise a number to NumPy's arrays
    if _own_reflected(kind, name):  # Fraction's takes none
        # A number leaves the operator to any such class, an array to one that is no array to NumPy.
        is_no_array = not hasattr(kind, "__array_ufunc__") or overrides_ufuncs(value)
        is_left = not hasattr(kind, "__array__") or (not beside.shape and is_no_array)
        return is_left or goes_first(value, name)
    return any([base.__module__.startswith(_OF_SPARSE) for base in kind.__mro__])


def _own_reflected(kind: type, name: str) -> bool:
    """Whether a user's class defines the reflected operator of a name, or one that is adopted."""
    own = getattr(kind, REFLECTED.get(name) or _OTHER_OPERATORS.get(name, ""), None)
    if type(own) is not FunctionType:
        return False
    return not USERS[own.__code__.co_filename] or hasattr(kind, "__funcgrad_original__")


def goes_first(value: Any, name: str) -> bool:
    """Whether an array leaves an operator to an instance of a user's class by its ``__array_priority__``.

    NumPy asks for it where the class is without ``__array_ufunc__``.
    """
    kind = type(value)
    if not hasattr(kind, "__array_priority__") or hasattr(kind, "__array_ufunc__"):
        return False
    return bool(value.__array_priority__ > 0) and _own_reflected(kind, name)


def is_array_beside(self: Any, other: object, name: str) -> bool:
    """Whether NumPy converts an instance of a user's class to an array, though the class has the operator.

    Beside an array it converts each whose class does not go first; beside one of its numbers, sequences and
    instances with ``__array__``.
    """
    kind = type(other)
    if hasattr(kind, "__array_ufunc__") or hasattr(kind, "_funcgrad_operators"):
        return False
    if not _own_reflected(kind, name) or goes_first(other, name):
        return False
    if self.shape:
        return True
    is_sequence = hasattr(kind, "__len__") and hasattr(kind, "__getitem__")
    is_array = is_sequence or hasattr(kind, "__array__")
    return is_array and name != "matmul" and is_numpys_number(self)


_OF_SPARSE = ("scipy.sparse.", "funcgrad.scipy.sparse.")
"""Modules of matrices whose operators go first."""


def leaves_to_number(self: Any, other: object, name: str) -> bool:
    """Whether other is an instance of a user's subclass of Python's numbers, whose operator goes first.

    NumPy's arrays and scalars take such an instance for the number that it is.
    """
    kind: Any = type(other)
    known = _OF_PYTHON.get(self.type.dtype.kind, ())
    if self.shape or not issubclass(getattr(kind, "_funcgrad_number", kind), known):
        return False
    own = getattr(type(other), REFLECTED.get(name) or _OTHER_OPERATORS.get(name, ""), None)
    if type(own) is not FunctionType or USERS[own.__code__.co_filename]:
        return False
    return not is_numpys_number(self)  # which walks over the expression


_OF_PYTHON: Mapping[str, tuple[type, ...]] = {
    "i": (int, float, complex),
    "f": (float, complex),
    "c": (complex,),
}
"""The numbers to whose subclasses Python leaves an operator of a number first, by the kind of its dtype."""
_OTHER_OPERATORS = {"divmod": "__rdivmod__", "equal": "__eq__", "not_equal": "__ne__"}


def overrides_ufuncs(value: object) -> bool:
    """Whether NumPy leaves a ufunc, and an array's operator, to a value: an instance of a user's class."""
    kind = type(value)
    if kind in _WITHOUT_OVERRIDES or getattr(kind, "__array_ufunc__", None) is None:
        return False
    if isinstance(value, ExprBase | np.ndarray | np.generic):
        return False
    if getattr(kind, "_funcgrad_overrides", False):
        return True
    # The arrays of other libraries, such as CuPy's, are operands, which are refused with advice.
    return not kind.__module__.startswith("funcgrad.") and functions["remedy_of"](value) is None


_WITHOUT_OVERRIDES = frozenset({int, float, complex, bool, list, tuple, np.ndarray, np.float64})

REFLECTED = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "divide": "__rtruediv__",
    "floor_divide": "__rfloordiv__",
    "remainder": "__rmod__",
    "power": "__rpow__",
    "matmul": "__rmatmul__",
    "bitwise_and": "__rand__",
    "bitwise_or": "__ror__",
    "bitwise_xor": "__rxor__",
    "lshift": "__rlshift__",
    "rshift": "__rrshift__",
    "less": "__gt__",
    "less_equal": "__ge__",
    "greater": "__lt__",
    "greater_equal": "__le__",
}
"""The methods by which the right operand answers."""
_ABSENT = object()
