"""Rows of a DataFrame before pandas 3: they may be views, of which a store into the frame changes entries.

Whether pandas makes a view depends on how the frame keeps its columns, which traced columns do not tell. So
an entry that such a store may have changed is refused where the row is read.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from pandas import DataFrame

from funcgrad.source import type_error


class RowView:
    """A Series that may be a row: its entries may be read, but for those that a store may have changed."""

    _funcgrad_written: frozenset[Any] = frozenset()
    """The labels of the entries that a store into the frame may have changed."""
    _funcgrad_place = 0
    """The number of the row in its frame."""

    def _as_taken(self) -> Any:
        made: Any = type(self)
        manager = vars(self)["_mgr"]
        return made._from_mgr(manager, manager.axes)

    def __getitem__(self, key: object) -> Any:
        if self._funcgrad_written and np.isscalar(key) and key not in self._funcgrad_written:
            return self._as_taken()[key]
        return super().__getitem__(key)  # type: ignore[misc]  # of pandas' class

    def __getattr__(self, name: str) -> Any:
        if self._funcgrad_written and name not in self._funcgrad_written:
            return getattr(self._as_taken(), name)
        return super().__getattr__(name)  # type: ignore[misc]  # of pandas' class


def note_row(frame: object, row: object, place: int) -> None:
    """Keep a weak reference to a row that was taken of a frame."""
    vars(row).update(_funcgrad_is_view=True, _funcgrad_place=place)
    vars(frame).setdefault("_funcgrad_rows", WeakValueDictionary())[id(row)] = row


def mark_written(frame: DataFrame, key: object, name: str) -> None:
    """Note in the rows that were taken which entries a store by an indexer, ``loc`` or so, writes."""
    rows = list(vars(frame).get("_funcgrad_rows", {}).values())
    if not rows:
        return
    count = len(frame.columns)
    numbered = DataFrame(np.arange(frame.size).reshape(frame.shape), frame.index, frame.columns)
    try:
        cells = np.ravel(np.asarray(getattr(numbered, name)[key]))
    except (KeyError, IndexError):  # a new row or column
        return
    for row in rows:
        own = cells[cells // count == row._funcgrad_place] % count
        vars(row)["_funcgrad_written"] = row._funcgrad_written.union(frame.columns[own])


def refuse_written(labels: frozenset[Any]) -> None:
    """Refuse to read a row of which entries may be older than those of its frame."""
    raise type_error(
        f"a row of a DataFrame was read after a store into the frame, at {sorted(map(str, labels))}; before "
        "pandas 3 the row may have the old values or the new ones: write row = row.copy() before the store, "
        "or take the row after it",
    )
