"""``copy`` for adopted code: arrays of a deep copy take traced values, since nothing else holds them."""

from __future__ import annotations

import copy as _copy
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import mutable


def deepcopy(x: object, memo: dict[int, Any] | None = None, *rest: object) -> Any:
    """As `copy.deepcopy`; where there are arrays, a second copy holds one cell for each, by the memo of the
    first.

    So all that hold an array, also tuples, hold the same cell. A `__deepcopy__` of the user's runs twice.
    """
    if memo is not None:  # part of a copy
        return _copy.deepcopy(x, memo, *rest)
    copies: dict[int, Any] = {}
    made = _copy.deepcopy(x, copies)
    cells = {
        key: mutable(part)
        for key, part in copies.items()
        if type(part) is np.ndarray and not part.dtype.hasobject
    }
    return _copy.deepcopy(x, cells) if cells else made


globals().update({name: value for name, value in vars(_copy).items() if name not in globals()})
