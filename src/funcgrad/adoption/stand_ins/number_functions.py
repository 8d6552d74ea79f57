"""Functions of numbers: the standard library's own on plain numbers, NumPy's where an argument is traced."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr
from funcgrad.ops import shape


def any_traced(*values: object) -> bool:
    """Whether one of some values is traced."""
    return any([isinstance(plain_value(value), Expr) for value in values])


def where_traced(own: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is ``own`` on plain numbers, and ``traced`` where an argument is traced."""

    @wraps(own)
    def function(*args: object, **kwargs: object) -> Any:
        if not any_traced(*args):
            return own(*args, **kwargs)
        return traced(*[as_number(arg, own.__name__) for arg in args], **kwargs)

    return function


def as_number(value: object, asker: str) -> Any:
    """An argument of a function of numbers: an array of one entry is a number, as in Python."""
    value = plain_value(value)
    if not isinstance(value, Expr | np.ndarray) or not value.ndim:
        return value
    if value.size != 1:
        shown = f"an array of shape {value.shape}"
        raise TypeError(
            f"{asker}: expected a number, but got {shown}; write np.{asker}, if NumPy has it"
        )
    return shape.reshape(value, ())
