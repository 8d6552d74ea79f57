"""Rows of a DataFrame before pandas 3: they may be views, of which a store into the frame changes entries.

Whether pandas makes a view depends on how the frame keeps its columns, which traced columns do not tell. So
an entry that such a store may have changed is refused where the row is read.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np
from pandas import DataFrame

from funcgrad.source import fail


class RowView:
    """A Series that may be a row: its entries may be read, but for those that a store may have changed."""

    written: frozenset[Any] = frozenset()
    """The labels of the entries that a store into the frame may have changed."""

    def _as_taken(self) -> Any:
        made: Any = type(self)
        manager = vars(self)["_mgr"]
        return made._from_mgr(manager, manager.axes)

    def __getitem__(self, key: object) -> Any:
        if self.written and np.isscalar(key) and key not in self.written:
            return self._as_taken()[key]
        return super().__getitem__(key)  # type: ignore[misc]  # of pandas' class

    def __getattr__(self, name: str) -> Any:
        if self.written and name not in self.written:
            return getattr(self._as_taken(), name)
        return super().__getattr__(name)  # type: ignore[misc]  # of pandas' class


def note_row(frame: object, row: object, place: int) -> None:
    """Keep a weak reference to a row that was taken of a frame."""
    vars(row)["is_view"] = True
    vars(frame).setdefault("_rows_taken", []).append((ref(row), place))


def mark_written(frame: DataFrame, key: object, name: str) -> None:
    """Note in the rows that were taken which entries a store by an indexer, ``loc`` or so, writes."""
    taken = [(row(), place) for row, place in vars(frame).get("_rows_taken", ())]
    live = [(row, place) for row, place in taken if row is not None]
    if not live:
        return
    count = len(frame.columns)
    numbered = DataFrame(np.arange(frame.size).reshape(frame.shape), frame.index, frame.columns)
    try:
        cells = np.ravel(np.asarray(getattr(numbered, name)[key]))
    except (KeyError, IndexError):  # a new row or column
        return
    for row, place in live:
        own = cells[cells // count == place] % count
        vars(row)["written"] = row.written.union(frame.columns[own])


def refuse_written(labels: frozenset[Any]) -> None:
    """Refuse to read a row of which entries may be older than those of its frame."""
    raise fail(
        TypeError,
        f"a row of a DataFrame was read after a store into the frame, at {sorted(map(str, labels))}; before "
        "pandas 3 the row may have the old values or the new ones: write row = row.copy() before the store, "
        "or take the row after it",
    )
