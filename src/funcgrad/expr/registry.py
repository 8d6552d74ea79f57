"""The table of operations: what expressions know of them.

The operations are declared with `Expr` in hand, so expressions cannot import them. Their table is
handed over once, where the package is assembled (`assemble`), with the function that imports the entries
which few programs need; nothing else is bound late.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import RLock
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.graph import Operation


class OperationTable(NamedTuple):
    """What expressions know of the operations: read-only, filled once."""

    functions: Mapping[str, Callable[..., Any]]
    """Operators and methods, by their NumPy name."""
    ufuncs: Mapping[str, Callable[..., Any]]
    """Ufuncs, NumPy's and SciPy's, by their ``__name__`` (`stand_in_of`)."""
    numpy: Mapping[Any, Callable[..., Any]]
    """The replacement of each ``numpy`` function."""

    @property
    def ops(self) -> Mapping[str, Operation]:
        """Every operation by its name: how stored programs find theirs. Gathered when first read."""
        found: Mapping[str, Operation] = self.functions["all_ops"]()
        return found


class _Table(dict[Any, Any]):
    """A table that is completed when it lacks a key."""

    def __missing__(self, key: object) -> Any:
        complete()
        if key in self:
            return self[key]
        raise KeyError(key)

    def get(self, key: object, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default


_filled = (_Table(), _Table(), _Table())
operation_table = OperationTable(*(MappingProxyType(part) for part in _filled))

# The table's functions and ufuncs as dicts, for the operators: a tenth of what building a sum costs.
functions: Mapping[str, Callable[..., Any]] = _filled[0]
ufuncs: Mapping[str, Callable[..., Any]] = _filled[1]


@lru_cache(maxsize=1024)
def is_scipys(ufunc: np.ufunc) -> bool:
    """Whether a ufunc is SciPy's own, of its public names or of those that its Python code uses."""
    homes = (sys.modules.get("scipy.special"), sys.modules.get("scipy.special._ufuncs"))
    return any([getattr(home, ufunc.__name__, None) is ufunc for home in homes])


@lru_cache(maxsize=1024)
def is_well_known(ufunc: np.ufunc) -> bool:
    """Whether a ufunc is NumPy's or SciPy's own: another package's may bear the same name.

    NumPy's have public names, or are the matrix functions that its linear algebra is made of.
    """
    homes = (np, sys.modules.get("numpy.linalg._umath_linalg"))
    own = any([getattr(home, ufunc.__name__, None) is ufunc for home in homes])
    return own or is_scipys(ufunc)


@lru_cache(maxsize=1024)
def stand_in_of(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """The function of the package in the place of a ufunc; None if it has none."""
    if not is_well_known(ufunc):
        return None
    name = ufunc.__name__
    found = ufuncs.get(name)
    # SciPy's `i0` is another function than NumPy's, which is no ufunc.
    if is_scipys(ufunc) and (found is None or not isinstance(getattr(np, name, ufunc), np.ufunc)):
        found = functions["special_functions"]().get(name, found)
    return found


_further: list[Callable[[], OperationTable]] = []
_completing = RLock()


def assemble(given: OperationTable, further: Callable[[], OperationTable]) -> None:
    """Hand over the table of operations, once; `further` imports and returns the complete one."""
    if functions:
        raise RuntimeError("the table of operations has been handed over already")
    for part, entries in zip(_filled, given, strict=True):
        part.update(entries)
    _further.append(further)


def complete() -> None:
    """Import the operations that few programs need, once."""
    with _completing:
        if _further:
            for part, entries in zip(_filled, _further[0](), strict=True):
                part.update({key: value for key, value in entries.items() if key not in part})
            _further.clear()
