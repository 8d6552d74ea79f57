"""``copy`` for adopted code: arrays of a deep copy take traced values, since nothing else holds them."""

from __future__ import annotations

import copy as _copy
from types import MemberDescriptorType, SimpleNamespace
from typing import Any

import numpy as np

from funcgrad.adoption.namespaces import is_kept_class
from funcgrad.arrays.mutable_array import mutable


def deepcopy(x: object, memo: dict[int, Any] | None = None, *rest: object) -> Any:
    """As `copy.deepcopy`."""
    if memo is not None:  # part of a copy, whose arrays the whole one replaces
        return _copy.deepcopy(x, memo, *rest)
    copies: dict[int, Any] = {}
    made = _copy.deepcopy(x, copies)
    cells: dict[int, Any] = {}
    for key, holder in copies.items():
        if key != id(copies):  # where `copy` keeps the originals
            _replace_arrays(holder, cells)
    return _own(made, cells)


def _replace_arrays(holder: Any, cells: dict[int, Any]) -> None:
    """Put cells in the place of the arrays that a list, a dict or an instance holds."""
    if isinstance(holder, list):
        for place, item in enumerate(holder):
            list.__setitem__(holder, place, _own(item, cells))
    elif isinstance(holder, dict):
        for key, item in holder.items():
            dict.__setitem__(holder, key, _own(item, cells))
    elif isinstance(holder, SimpleNamespace) or not is_kept_class(type(holder)):
        _replace_arrays(getattr(holder, "__dict__", None), cells)
        for base in type(holder).__mro__:
            for name, member in vars(base).items():
                item = getattr(holder, name, None) if type(member) is MemberDescriptorType else None
                if type(item) is np.ndarray:
                    member.__set__(holder, _own(item, cells))


def _own(item: object, cells: dict[int, Any]) -> Any:
    """The one cell of an array; any other object as it is."""
    return cells.setdefault(id(item), mutable(item)) if type(item) is np.ndarray else item


globals().update({name: value for name, value in vars(_copy).items() if name not in globals()})
