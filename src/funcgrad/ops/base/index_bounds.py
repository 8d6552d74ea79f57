"""Whether traced indices are within an array, where code handles the error of one that is not.

A program raises the error of an index as it runs, behind the handlers of the code that was traced. So where
code on the way handles IndexError, whether an index is within the array is a question, as `if i < n` is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.expr.concrete import has_known_value
from funcgrad.ops.base.index_spec import Spec
from funcgrad.source import as_of_numbers, may_be_handled

_ERRORS = frozenset(("IndexError", "LookupError", "Exception", "BaseException"))
"""The errors of indices, as handlers name them."""


def within_bounds_if_handled(x: Expr, spec: Spec, arrays: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The indices, whose error is raised here if a handler may wait for it, and else as the program runs.

    Of the examples of a batch, those whose index is out of bounds have the index 0, so that what others
    compute raises no error.
    """
    if not any([a.traced for a in arrays]) or not may_be_handled(_ERRORS):
        return arrays
    return tuple([_within(a, *place) for a, place in zip(arrays, _places(x, spec), strict=True)])


def _within(index: Expr, axis: int, length: int) -> Any:
    if not index.traced:
        return index
    good = (index >= -length) & (index < length)
    if not np.all(good):
        raise as_of_numbers(
            IndexError(f"index is out of bounds for axis {axis} with size {length}")
        )
    return index if has_known_value(index) else np.where(good, index, 0)


def _places(x: Expr, spec: Spec) -> list[tuple[int, int]]:
    """The axis, and its length, of each array of an index."""
    skipped = x.ndim - sum([item not in ("new", "...") for item in spec])
    found: list[tuple[int, int]] = []
    axis = 0
    for item in spec:
        if item == "array":
            found.append((axis, x.shape[axis]))
        axis += skipped if item == "..." else item != "new"
    return found
