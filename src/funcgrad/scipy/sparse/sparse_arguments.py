"""The arguments of the classes of `scipy.sparse` as matrices with traced entries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from funcgrad.arrays.reference import Reference, unwrapped
from funcgrad.expr.concrete import concrete_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.sparse.sparse_patterns import numbered_pattern, summed
from funcgrad.scipy.sparse.traced_sparse import SparseOperand, TracedSparse, as_entries, traced
from funcgrad.source import type_error


def of_arguments(
    arg: SparseOperand,
    shape: tuple[int, int] | None,
    format: str,
    kind: str,
    dtype: npt.DTypeLike | None = None,
) -> TracedSparse:
    """The matrix that a constructor of SciPy's makes of these arguments."""
    made = _made(arg, shape, format, kind)
    return made if dtype is None else made.astype(dtype)


def _made(
    arg: SparseOperand, shape: tuple[int, int] | None, format: str, kind: str
) -> TracedSparse:
    if isinstance(arg, TracedSparse):
        made: TracedSparse = arg.asformat(format, copy=True)
        made.kind = kind
        return made
    writable = any([isinstance(item, Reference) for item in (arg, *_items(arg))])
    if isinstance(arg, tuple) and len(arg) == 2 and format == "dia":
        entries, rows, columns = _of_diagonals(arg, shape)
    elif isinstance(arg, tuple) and len(arg) == 2:
        entries = as_entries(arg[0])
        rows, columns = [_places(k) for k in arg[1]]
    elif isinstance(arg, tuple) and len(arg) == 3 and format in ("csr", "csc"):
        entries = as_entries(arg[0])
        inner, starts = [_places(k) for k in arg[1:]]
        outer = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        rows, columns = (outer, inner) if format == "csr" else (inner, outer)
        if shape is None:
            fitting = len(starts) - 1, int(inner.max(initial=-1)) + 1
            shape = fitting if format == "csr" else fitting[::-1]
    elif isinstance(arg, tuple) and len(arg) == 3 and format == "bsr":
        entries, rows, columns = _of_blocks(*arg)
    else:
        return _of_dense(arg, shape, format, kind, writable)
    if shape is None:
        shape = int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1
    if rows.size and (
        rows.max() >= shape[0] or columns.max() >= shape[1] or min(rows.min(), columns.min()) < 0
    ):
        raise ValueError(f"expected indices within {shape}, but got others")
    found = summed(entries, rows * shape[1] + columns, shape)
    places = columns * shape[0] + rows if format == "csc" else rows * shape[1] + columns
    is_kept_as_given = format == "coo" or len(arg) == 3
    given = len(places) if is_kept_as_given and np.any(np.diff(places) <= 0) else None
    return TracedSparse(*found, format, kind, writable, given=given)


def _places(given: object) -> npt.NDArray[np.int64]:
    """Coordinates of entries, which traced conditions may have chosen."""
    return np.asarray(concrete_value(unwrapped(given), "a sparse matrix"), np.int64)


def _of_diagonals(
    arg: tuple[SparseOperand, SparseOperand], shape: tuple[int, int] | None
) -> tuple[Any, Any, Any]:
    """The entries of diagonals as SciPy stores them, and their rows and columns."""
    data = as_entries(arg[0])
    data = data.reshape(1, -1) if data.ndim == 1 else data
    below = np.atleast_1d(np.asarray(unwrapped(arg[1])))[:, None]
    columns = np.broadcast_to(np.arange(data.shape[1]), data.shape)
    rows = columns - below
    if shape is None:
        raise ValueError("expected a shape argument")
    held = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    return data[held], rows[held], columns[held]


def _of_blocks(data: SparseOperand, indices: object, indptr: object) -> tuple[Any, Any, Any]:
    """The entries of blocks, and their rows and columns."""
    blocks, (inner, starts) = as_entries(data), [_places(k) for k in (indices, indptr)]
    outer = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    height, width = blocks.shape[1:]
    rows = (outer * height)[:, None, None] + np.arange(height)[:, None]
    columns = (inner * width)[:, None, None] + np.arange(width)
    rows, columns = [np.ravel(k) for k in np.broadcast_arrays(rows, columns)]
    return blocks.reshape(-1), rows, columns


def _of_dense(
    arg: SparseOperand, shape: tuple[int, int] | None, format: str, kind: str, writable: bool
) -> TracedSparse:
    """Of a dense matrix, in which every place has an entry."""
    dense = as_entries(arg)
    if dense.ndim < 2 and kind == "matrix":
        dense = dense.reshape(1, -1)
    if dense.ndim != 2:
        raise type_error(
            f"{format}_{kind}: expected a matrix, (data, (rows, columns)) or (data, indices, indptr) of "
            f"traced entries, but got an array of shape {dense.shape}; write one of these",
        )
    if shape is not None and tuple(shape) != dense.shape:
        raise ValueError(f"inconsistent shapes: {tuple(shape)} != {dense.shape}")
    rows, columns = np.divmod(np.arange(dense.size), max(dense.shape[1], 1))
    pattern = numbered_pattern(rows, columns, dense.shape)
    first = "csr" if format == "bsr" else format  # of which the blocks are made
    made = TracedSparse(dense.reshape(-1), pattern, first, kind, writable, exact=False)
    return made.asformat(format) if format == "bsr" else made


def _items(arg: object) -> Sequence[object]:
    return arg if isinstance(arg, tuple | list) else ()


def blocks_at_places(matrices: Sequence[Any]) -> tuple[Any, list[Any]]:
    """One matrix that holds the entries of several, and for each the places of its entries in that."""
    like = next(m for m in matrices if isinstance(m, TracedSparse))
    entries, held, count = [], [], 0
    for matrix in matrices:
        own = traced(matrix, like)
        moved = own.pattern.copy()
        moved.data = moved.data + count
        entries.append(lift_fully(own.entries))
        held.append(moved)
        count += own.pattern.nnz
    pattern = numbered_pattern(np.zeros(count, int), np.arange(count), (1, count))
    exact = all([m.exact for m in matrices if isinstance(m, TracedSparse)])
    whole = TracedSparse(
        np.concatenate(entries), pattern, like.format, like.kind, like.writable, exact
    )
    return whole, held
