"""Updates that name an entry several times: the product or the extremum of its old value and the new ones.

Entries with about the same number of values are the rows of a table, which one reduction along its rows
updates. So ties share the derivative equally, as in `numpy.max`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.source import fail
from funcgrad.typing import Array

_REDUCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"maximum": np.max, "minimum": np.min, "multiply": np.prod}
)


def _neutral(how: str, dtype: Any) -> Any:
    """What changes no entry."""
    if how == "multiply":
        return 1
    if dtype.kind == "b":
        return how == "minimum"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if how == "maximum" else limits.max
    return -np.inf if how == "maximum" else np.inf


def repeated_update(x: Any, places: Array, values: Array, how: str) -> Any:
    """A vector whose entries at places are reduced with all values that are given for them."""
    if how not in _REDUCTIONS or (how != "multiply" and x.dtype.kind == "c"):
        raise fail(
            ValueError,
            f"at[...].{how}: expected each entry to be named once, but an index is repeated; "
            "set, add, multiply, and min and max of real numbers say what repetition means",
        )
    order = np.argsort(places, kind="stable")
    named, starts, counts = np.unique(places[order], return_index=True, return_counts=True)
    widths = 2 ** np.ceil(np.log2(counts)).astype(int)
    for width in np.unique(widths).tolist():
        rows = np.flatnonzero(widths == width)
        given = np.arange(width) < counts[rows, None]
        slots = starts[rows, None] + np.where(given, np.arange(width), 0)
        entries = np.where(given, values[order[slots]], np.asarray(_neutral(how, x.dtype), x.dtype))
        table = np.concatenate([x[named[rows]][:, None], entries], axis=1)
        reduced = _REDUCTIONS[how](table, axis=1)
        x = x.at[named[rows]].set(reduced.astype(x.dtype))
    return x
