"""Display-only rewrites of small arrays that are filled entry by entry: see `funcgrad.rewrite.reading_laws`.

Code such as ``out = np.zeros(2); out[0] = x; out[1] = y`` reads as ``array([x, y])``.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.expr import Expr, const, scalar
from funcgrad.graph import CONSTANT
from funcgrad.ops import indexing, shape
from funcgrad.ops.base import op
from funcgrad.ops.base.index_spec import restore
from funcgrad.ops.stores import index_set_op
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.reading_array_laws import MOST_ENTRIES, ReadingLaw

MOST_FILLED = 16
"""The entries of an array beyond which it is not written out."""


def _filled(expr: Expr) -> Expr | None:
    """array([0, 0]).at[0].set(x) = array([x, 0]), and with ``add``: an array whose entries are known."""
    x, v, *arrays = expr.args
    spec = dict(expr.params)["spec"]
    if arrays or v.dtype != expr.dtype or not _is_written_out(expr):
        return None
    places = np.arange(x.size).reshape(x.shape)[restore(spec, ())]
    entries, values = entries_of(x), entries_of(v) or _entries_read(v)
    if entries is None or values is None:
        return None
    spread = np.broadcast_to(np.arange(v.size).reshape(v.shape), np.shape(places))
    entries = list(entries)
    for place, k in zip(np.ravel(places).tolist(), np.ravel(spread).tolist(), strict=True):
        value = values[k]
        entries[place] = value if expr.op is index_set_op else _sum(entries[place], value)
    return _array_of(entries, expr.shape)


def _entry_by_entry(expr: Expr) -> Expr | None:
    """array([x, 0]) + array([0, y]) = array([x, y]), if no entry has two operands that are not constant."""
    if not expr.ndim or not _is_written_out(expr) or expr.dtype.kind != "f":
        return None
    if not any([x.op is shape.concatenate_op for x in expr.args]):
        return None
    operands = [entries_of(x) if x.type == expr.type else None for x in expr.args]
    if None in operands:
        return None
    pairs = list(zip(*[entries or () for entries in operands], strict=True))
    known = [sum([value_of(x) is None for x in pair]) for pair in pairs]
    alike = any([value_of(x) is not None for x in expr.args])
    if max(known) > 1 or (min(known) > 0 and (alike or len(expr.args) == 1)):
        return None
    return _array_of([expr.op(*pair) for pair in pairs], expr.shape)


def _moved_entries(expr: Expr) -> Expr | None:
    """array([[x, y], [z, w]]).T = array([[x, z], [y, w]])."""
    (x,) = expr.args
    entries = entries_of(x) if expr.ndim == 2 and _is_written_out(expr) else None
    if entries is None or x.op is CONSTANT:
        return None
    places = expr.op.run(np.arange(x.size).reshape(x.shape), **dict(expr.params))
    return _array_of([entries[i] for i in np.ravel(places).tolist()], expr.shape)


def _entries_of_filled(expr: Expr) -> Expr | None:
    """array([x, y, z])[1:] = array([y, z]), and one entry of it is that entry."""
    x, *arrays = expr.args
    entries = None if arrays or not _is_written_out(x) else entries_of(x)
    if entries is None or x.op is CONSTANT or not expr.size:
        return None
    places = np.arange(x.size).reshape(x.shape)[restore(dict(expr.params)["spec"], ())]
    return _array_of([entries[i] for i in np.ravel(places).tolist()], expr.shape)


def _reshaped_entries(expr: Expr) -> Expr | None:
    """reshape(array([x, y, z, w]), (2, 2)) = array([[x, y], [z, w]]), and of one entry to no axes, the entry.

    Axes of length 1 are added to what is stacked.
    """
    (x,) = expr.args
    if x.op is not shape.concatenate_op or 1 in expr.shape or not _is_written_out(expr):
        return None
    entries = entries_of(x)
    return None if entries is None else _array_of(entries, expr.shape)


def _sum_of_entries(expr: Expr) -> Expr | None:
    """sum(array([x, y])) = x + y, for a vector of a few entries."""
    (x,) = expr.args
    if expr.shape or x.ndim != 1 or not 0 < x.size <= MOST_ENTRIES or x.dtype != expr.dtype:
        return None
    entries = entries_of(x) if x.op is shape.concatenate_op else None
    return None if entries is None else reduce(_sum, entries)


def _of_constants(expr: Expr) -> Expr | None:
    """array([1, 2]) - array([0, 1]) = array([1, 1])."""
    if not all([x.op is CONSTANT and x.size <= MOST_FILLED for x in expr.args]):
        return None
    with np.errstate(all="ignore"):
        found = expr.op.run(*[x.params[0][1].array for x in expr.args])
    return const(found) if expr.shape and np.all(np.isfinite(found)) else None


def _is_written_out(expr: Expr) -> bool:
    return 0 < expr.size <= MOST_FILLED and min(expr.shape, default=1) > 0


def entries_of(x: Expr) -> Sequence[Expr] | None:
    """The entries of a small array in C order, if it is a constant or made of its entries."""
    if x.op is CONSTANT:
        array = x.params[0][1].array
        return [scalar(value, x.dtype) for value in array.ravel().tolist()]
    if not x.shape:
        return [x]
    if x.op is op.broadcast_to:
        (inner,) = x.args
        entries = entries_of(inner)
        places = np.broadcast_to(np.arange(inner.size).reshape(inner.shape), x.shape)
        return None if entries is None else [entries[i] for i in np.ravel(places).tolist()]
    if x.op is shape.reshape_op:
        return entries_of(x.args[0])
    if x.op is indexing.scatter_op and len(x.args) == 1:
        zeros = op.broadcast_to(scalar(0, x.dtype), shape=x.shape)
        stored = _filled(index_set_op(zeros, x.args[0], spec=dict(x.params)["spec"], unique=True))
        return None if stored is None else entries_of(stored)
    if x.op is shape.concatenate_op and dict(x.params)["axis"] == 0:
        parts = [entries_of(arg) for arg in x.args]
        return None if None in parts else [entry for part in parts for entry in part or ()]
    return None


def _entries_read(v: Expr) -> list[Expr] | None:
    """The entries of a row that is stored as a whole."""
    return [v[k] for k in range(v.size)] if v.ndim == 1 and v.size <= MOST_FILLED else None


def _sum(x: Expr, y: Expr) -> Expr:
    if value_of(x) == 0:
        return y
    return x if value_of(y) == 0 else operator.add(x, y)


def _array_of(entries: Sequence[Expr], lengths: tuple[int, ...]) -> Expr:
    """The array of entries in C order, as `numpy.array` makes it of nested lists."""
    items: list[Any] = list(entries)
    for length in lengths[:0:-1]:
        rows = range(0, len(items), length)
        items = [shape.stack(items[k : k + length]) for k in rows]
    return shape.stack(items) if lengths else items[0]  # type: ignore[no-any-return]


STORE_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "index_set": (_filled,),
        "index_add": (_filled,),
        "add": (_of_constants, _entry_by_entry),
        "subtract": (_of_constants, _entry_by_entry),
        "multiply": (_of_constants, _entry_by_entry),
        "negative": (_of_constants, _entry_by_entry),
        "transpose": (_moved_entries,),
        "getitem": (_entries_of_filled,),
        "reshape": (_reshaped_entries,),
        "sum": (_sum_of_entries,),
    }
)
