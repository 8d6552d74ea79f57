"""Functions of numbers: the standard library's own on plain numbers, NumPy's where an argument is traced."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from funcgrad.arrays.float_subclass import without_class
from funcgrad.arrays.reference import plain_value
from funcgrad.arrays.values import number_held_by
from funcgrad.expr import Expr
from funcgrad.ops import shape
from funcgrad.source import as_of_numbers
from funcgrad.typing import Array


def any_traced(*values: object) -> bool:
    """Whether one of some values is traced."""
    return any([isinstance(plain_value(value), Expr) for value in values])


def where_traced(own: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is ``own`` on plain numbers, and ``traced`` where an argument is traced."""

    @wraps(own)
    def function(*args: object, **kwargs: object) -> Any:
        if not any_traced(*args):
            try:
                return own(*args, **kwargs)
            except TypeError:  # an instance of a user's class may hold a traced number
                args = tuple([number_held_by(arg) for arg in args])
                if not any_traced(*args):
                    raise
            except (ValueError, OverflowError) as error:
                as_of_numbers(error)
                raise
        result = traced(*[as_number(arg, own.__name__) for arg in args], **kwargs)
        return shape.as_pythons(result)

    return function


def isclose(a: Array, b: Array, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> Any:
    """As `math.isclose`, of traced values."""
    far = np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)
    return np.equal(a, b) | (np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= far))


def as_number(value: object, asker: str) -> Any:
    """An argument of a function of numbers: an array of one entry is a number, as in Python.

    So is an instance of a subclass of ``float``, without operators of its own.
    """
    value = without_class(plain_value(value))
    if not isinstance(value, Expr | np.ndarray) or not value.ndim:
        return value
    if value.size != 1:
        shown = f"an array of shape {value.shape}"
        raise TypeError(
            f"{asker}: expected a number, but got {shown}; write np.{asker}, if NumPy has it"
        )
    return shape.reshape(value, ())


def functions_by_name(names: str) -> dict[str, Callable[..., Any]]:
    """NumPy's functions by the names given, or ``name=another`` for one that it has under another."""
    pairs = [item.partition("=") for item in names.split()]
    return {name: getattr(np, theirs or name) for name, _, theirs in pairs}
