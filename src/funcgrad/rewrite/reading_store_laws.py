"""Display-only rewrites of small arrays that are filled entry by entry: see `funcgrad.rewrite.reading_laws`.

Code such as ``out = np.zeros(2); out[0] = x; out[1] = y`` reads as ``array([x, y])``.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.expr import Expr, const, scalar
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT
from funcgrad.ops import indexing, shape
from funcgrad.ops.base import op
from funcgrad.ops.base.index_spec import restore
from funcgrad.ops.base.op import Elementwise
from funcgrad.ops.stores import index_set_op
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.reading_array_laws import MOST_ENTRIES, ReadingLaw
from funcgrad.typing import Array

MOST_FILLED = 16
"""The entries of an array beyond which it is not written out."""


def _filled(expr: Expr) -> Expr | None:
    """array([0, 0]).at[0].set(x) = array([x, 0]), and with ``add``: an array whose entries are known."""
    x, v, *arrays = expr.args
    if arrays or v.dtype != expr.dtype or not _is_written_out(expr):
        return None
    places = np.arange(x.size).reshape(x.shape)[restore(dict(expr.params)["spec"], ())]
    entries, values = entries_of(x), entries_of(v) or _entries_read(v)
    if entries is None or values is None:
        return None
    stored = _stored(entries, places, values, v.shape)
    if expr.op is not index_set_op:
        chosen = set(np.ravel(places).tolist())
        stored = [
            _sum(x, y) if i in chosen else x
            for i, (x, y) in enumerate(zip(entries, stored, strict=True))
        ]
    return _array_of(stored, expr.shape)


def _entry_by_entry(expr: Expr) -> Expr | None:
    """array([x, 0]) + array([0, y]) = array([x, y]), if no entry has two operands that are not constant."""
    if not expr.ndim or not _is_written_out(expr) or expr.dtype.kind != "f":
        return None
    stacked = [x.args[0] if x.op is indexing.scatter_op else x for x in expr.args]
    if not any([x.op is shape.concatenate_op for x in stacked]):
        return None
    operands = [entries_of(x) if x.type == expr.type else None for x in expr.args]
    if None in operands:
        return None
    pairs = list(zip(*[entries or () for entries in operands], strict=True))
    known = [sum([value_of(x) is None for x in pair]) for pair in pairs]
    alike = any([value_of(x) is not None for x in expr.args])
    whole = min(known) > 0 and (alike or len(expr.args) == 1) and expr.size > 1
    if max(known) > 1 or whole:
        return None
    return _array_of([expr.op(*pair) for pair in pairs], expr.shape)


def _joined_entries(expr: Expr) -> Expr | None:
    """concatenate([array([x, y]), v[0:1]]) = array([x, y, v[0]])."""
    is_stack = all([x.op in (shape.reshape_op, op.broadcast_to) for x in expr.args])
    if expr.ndim != 1 or is_stack or not _is_written_out(expr):
        return None
    parts = [entries_of(x) or _only_entry(x) for x in expr.args]
    if None in parts or all([x.op is CONSTANT for x in expr.args]):
        return None
    return _array_of([entry for part in parts for entry in part or ()], expr.shape)


def _only_entry(x: Expr) -> list[Expr] | None:
    """The entry of an array of one, through the operations on arrays of one that it is made of."""
    if x.size != 1:
        return None

    def entry(x: Expr, operands: tuple[Expr, ...]) -> Expr:
        return x.op(*operands, **dict(x.params)) if operands else shape.reshape(x, ())  # type: ignore[no-any-return]

    def operands(x: Expr) -> tuple[Expr, ...]:
        return x.args if isinstance(x.op, Elementwise) and x.shape else ()

    return folded([x], entry, operands=operands)


def _row_of_slice(expr: Expr) -> Expr | None:
    """reshape(x[i:i + 1], x.shape[1:]) = x[i]."""
    (x,) = expr.args
    if x.op is not indexing.getitem_op or len(x.args) != 1 or expr.shape != x.shape[1:]:
        return None
    spec, inner = dict(x.params)["spec"], x.args[0]
    if len(spec) != 1 or not isinstance(spec[0], tuple) or expr.shape != inner.shape[1:]:
        return None
    start, stop, _ = slice(*spec[0][1:]).indices(inner.shape[0])
    return inner[start] if stop - start == 1 else None


def _moved_entries(expr: Expr) -> Expr | None:
    """array([[x, y], [z, w]]).T = array([[x, z], [y, w]])."""
    (x,) = expr.args
    entries = entries_of(x) if expr.ndim == 2 and _is_written_out(expr) else None
    if entries is None:
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


def _determinant_in_two(expr: Expr) -> Expr | None:
    """det(array([[x, y], [z, w]])) = x*w - y*z."""
    (a,) = expr.args
    entries = entries_of(a) if a.shape == (2, 2) and a.op is not CONSTANT else None
    if entries is None:
        return None
    x, y, z, w = entries
    found: Expr = x * w - y * z
    return found


def _moved_constants(expr: Expr) -> Expr | None:
    """concatenate([[1], [2]]) = [1, 2], and zeros((2, 2)).at[:, 0].add([1, 2]) = array([[1, 0], [2, 0]]).

    An axis of length 1 that is added to what is stacked stays.
    """
    is_row = expr.op is shape.reshape_op and 1 in expr.shape
    if not expr.args or is_row or not expr.shape or not all(map(_is_constant_row, expr.args)):
        return None
    entries = entries_of(expr) if _is_written_out(expr) else None
    return None if entries is None else _array_of(entries, expr.shape)


def _is_constant_row(x: Expr) -> bool:
    """Whether an array is a constant, or one that is reshaped to be stacked."""
    inner = x.args[0] if x.op is shape.reshape_op else x
    return _is_constant(inner)


def _of_constants(expr: Expr) -> Expr | None:
    """array([1, 2]) - array([0, 1]) = array([1, 1]), also where one is repeated."""
    if not _is_written_out(expr) or not expr.shape or not all(map(_is_constant_row, expr.args)):
        return None
    operands = [entries_of(x) or () for x in expr.args]
    values = [[value_of(entry) for entry in entries] for entries in operands]
    arrays = [
        np.array(own, x.dtype).reshape(x.shape) for own, x in zip(values, expr.args, strict=True)
    ]
    with np.errstate(all="ignore"):
        found = expr.op.run(*arrays, **dict(expr.params)) + expr.dtype.type(0)  # no -0.0
    return _constant(found) if np.all(np.isfinite(found)) else None


def _is_constant(x: Expr) -> bool:
    """Whether an array of a few entries is a constant, or one that is repeated; a number alike is neither."""
    inner = x.args[0] if x.op is op.broadcast_to else x
    return inner.op is CONSTANT and inner.size <= MOST_FILLED and value_of(x) is None


def _is_written_out(expr: Expr) -> bool:
    return 0 < expr.size <= MOST_FILLED and min(expr.shape, default=1) > 0


def entries_of(x: Expr) -> list[Expr] | None:
    """The entries of a small array in C order, if it is a constant or made of its entries."""
    return folded([x], _entries, operands=_moved)[0]


_MOVES = (
    *(shape.concatenate_op, shape.reshape_op, shape.transpose_op),
    *(indexing.getitem_op, op.broadcast_to),
)


def _moved(x: Expr) -> tuple[Expr, ...]:
    """The operands of which an array has entries: all but those of a number, or of an index by arrays."""
    alone = x.op in (indexing.getitem_op, indexing.scatter_op) and len(x.args) > 1
    small = bool(x.shape) and _is_written_out(x)
    return x.args if small and not alone and x.op in (*_MOVES, indexing.scatter_op) else ()


def _entries(x: Expr, parts: tuple[list[Expr] | None, ...]) -> list[Expr] | None:
    if x.op is CONSTANT and x.size <= MOST_FILLED:
        array = x.params[0][1].array
        return [scalar(value, x.dtype) for value in array.ravel().tolist()]
    if not parts or None in parts:
        return None if x.shape else [x]
    values = [entry for part in parts for entry in part or ()]
    if x.op is indexing.scatter_op:
        places = np.arange(x.size).reshape(x.shape)[restore(dict(x.params)["spec"], ())]
        zeros = [scalar(0, x.dtype)] * x.size
        return _stored(zeros, places, values, x.args[0].shape)
    starts = itertools.accumulate([arg.size for arg in x.args], initial=0)
    operands = [
        start + np.arange(arg.size).reshape(arg.shape)
        for start, arg in zip(starts, x.args, strict=False)
    ]
    return [values[i] for i in np.ravel(x.op.run(*operands, **dict(x.params))).tolist()]


def _stored(
    entries: Sequence[Expr], places: Any, values: Sequence[Expr], lengths: tuple[int, ...]
) -> list[Expr]:
    """The entries after values, broadcast from their shape, are stored at some places."""
    sources = np.broadcast_to(np.arange(len(values)).reshape(lengths), np.shape(places))
    found = list(entries)
    for place, k in zip(np.ravel(places).tolist(), np.ravel(sources).tolist(), strict=True):
        found[place] = values[k]
    return found


def _entries_read(v: Expr) -> list[Expr] | None:
    """The entries of a row that is stored as a whole."""
    return [v[k] for k in range(v.size)] if v.ndim == 1 and v.size <= MOST_FILLED else None


def _sum(x: Expr, y: Expr) -> Expr:
    if value_of(x) == 0:
        return y
    return x if value_of(y) == 0 else operator.add(x, y)


def _array_of(entries: Sequence[Expr], lengths: tuple[int, ...]) -> Expr:
    """The array of entries in C order, as `numpy.array` makes it of nested lists."""
    values = [value_of(x) for x in entries]
    if all([value is not None for value in values]):
        return _constant(np.array(values, entries[0].dtype).reshape(lengths))
    items: list[Any] = list(entries)
    for length in lengths[:0:-1]:
        rows = range(0, len(items), length)
        items = [shape.stack(items[k : k + length]) for k in rows]
    return shape.stack(items) if lengths else items[0]  # type: ignore[no-any-return]


def _constant(array: Array) -> Expr:
    """A constant; one with axes of length 1, which are those of a row that is stacked, has them added."""
    inner = tuple([n for n in array.shape if n != 1])
    whole = const(np.reshape(array, inner))
    return whole if inner == array.shape else shape.reshape(whole, array.shape)


STORE_READING: Mapping[str, tuple[ReadingLaw, ...]] = MappingProxyType(
    {
        "index_set": (_filled,),
        "index_add": (_filled,),
        "add": (_of_constants, _entry_by_entry),
        "subtract": (_of_constants, _entry_by_entry),
        "multiply": (_of_constants, _entry_by_entry),
        "negative": (_of_constants, _entry_by_entry),
        "transpose": (_moved_constants, _moved_entries),
        "getitem": (_moved_constants, _entries_of_filled),
        "reshape": (_moved_constants, _reshaped_entries, _row_of_slice),
        "concatenate": (_moved_constants, _joined_entries),
        "scatter_add": (_moved_constants,),
        "sum": (_sum_of_entries,),
        "det": (_determinant_in_two,),
    }
)
