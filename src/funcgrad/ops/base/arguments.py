"""How functions made of others read what they are given: operands, parts of them, further arguments.

Nothing here stands in for a function of NumPy's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops.base.op import differentiable, lift_fully
from funcgrad.ops.shape import astype
from funcgrad.source import fail


def inexact(x: object, dtype: object = None) -> Any:
    """An operand with values that can be divided, of a dtype where one is asked for."""
    x = lift_fully(x)
    if dtype is None and not differentiable(x.dtype):
        dtype = float
    return x if dtype is None else astype(x, dtype)


def slice_axis(x: Any, axis: int, part: slice) -> Any:
    """A part of an operand along an axis."""
    return x[(slice(None),) * axis + (part,)]


_NUMPYS_NAMES = {"dim": "axis", "keepdim": "keepdims", "unbiased": "ddof", "correction": "ddof"}


def refuse_keywords(name: str, rest: dict[str, Any]) -> None:
    """Refuse what a reduction is given beside the axis, unless it is what NumPy has without it."""
    if not rest:
        return
    given = [key for key, value in rest.items() if value is not None and value is not np._NoValue]
    theirs = [key for key in given if key in _NUMPYS_NAMES]
    if theirs:
        named = ", ".join([f"{_NUMPYS_NAMES[key]}= instead of {key}=" for key in theirs])
        raise fail(
            TypeError, f"{name}: expected NumPy's names, but got {', '.join(theirs)}; write {named}"
        )
    if given:
        raise fail(
            TypeError,
            f"{name}: expected axis and keepdims alone, but got {', '.join(given)}; choose entries "
            "with np.where before reducing",
        )
