"""``pandas.api.types`` for adopted code: questions for the type of a traced value.

pandas asks in compiled code, which looks at the type itself. So it is given a number or an array of zeros of
the same dtype and shape.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from pandas.api import types

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr


def _like(value: object) -> Any:
    """A value of NumPy's of the type of a traced one; anything else as it is."""
    value = plain_value(value)
    if type(value) is not Expr:
        return value
    zero = value.dtype.type()
    return np.broadcast_to(zero, value.shape) if value.shape else zero


def _asked(own: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(own)
    def function(*args: object, **kwargs: object) -> Any:
        return own(*map(_like, args), **{name: _like(value) for name, value in kwargs.items()})

    return function


_NUMBERS = ("is_bool", "is_complex", "is_float", "is_integer", "is_number", "is_scalar")
_ARRAYS = ("is_array_like", "is_list_like")
_DTYPES = ("bool", "complex", "float", "integer", "numeric", "object")
for _name in (*_NUMBERS, *_ARRAYS, *[f"is_{kind}_dtype" for kind in _DTYPES]):
    globals()[_name] = _asked(getattr(types, _name))
