"""How functions made of others read what they are given: operands, parts of them, further arguments.

Nothing here stands in for a function of NumPy's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad.ops.base.op import differentiable, lift_fully
from funcgrad.ops.shape import astype
from funcgrad.source import type_error


def inexact(x: object, dtype: Any = None) -> Any:
    """An operand as floating-point or complex numbers, or in the given dtype."""
    x = lift_fully(x)
    if dtype is None and not differentiable(x.dtype):
        dtype = float
    if dtype is not None and not differentiable(np.dtype(dtype)):
        raise type_error(
            f"mean, var or std: expected a floating-point or complex dtype, but got "
            f"{np.dtype(dtype)}; use astype after",
        )
    return x if dtype is None else astype(x, dtype)


def slice_axis(x: Any, axis: int, part: slice) -> Any:
    """A part of an operand along an axis."""
    return x[(slice(None),) * axis + (part,)]


_NUMPYS_NAMES = {"dim": "axis", "keepdim": "keepdims", "unbiased": "ddof"}


def refuse_other_libraries_names(name: str, given: Iterable[str]) -> None:
    """Refuse names of arguments that are another library's, and say which are NumPy's."""
    theirs = [key for key in given if key in _NUMPYS_NAMES]
    if theirs:
        named = ", ".join([f"{_NUMPYS_NAMES[key]}= instead of {key}=" for key in theirs])
        raise type_error(
            f"{name}: expected NumPy's names, but got {', '.join(theirs)}; write {named}"
        )
