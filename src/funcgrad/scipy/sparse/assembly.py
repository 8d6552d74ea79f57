"""Functions of `scipy.sparse` that make matrices with traced entries: of diagonals, blocks and products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as _scipy

from funcgrad.arrays.reference import Reference, unwrapped
from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.sparse.sparse_arguments import blocks_at_places, of_arguments
from funcgrad.scipy.sparse.sparse_layout import at_this_call
from funcgrad.scipy.sparse.sparse_patterns import summed
from funcgrad.scipy.sparse.traced_sparse import (
    SparseMatrix,
    SparseOperand,
    TracedSparse,
    has_traced,
    is_sparse,
    traced,
)
from funcgrad.source import with_name
from funcgrad.typing import DTypeLike


# -- diagonals -------------------------------------------------------------------------------------
def _diags_of(kind: str) -> Callable[..., TracedSparse]:
    def function(
        diagonals: SparseOperand,
        offsets: SparseOperand = 0,
        shape: tuple[int, int] | None = None,
        format: str | None = None,
        dtype: DTypeLike | None = None,
    ) -> TracedSparse:
        made = _of_diagonals(diagonals, offsets, shape, kind)
        return _finished(made, format, dtype)

    return function


def _finished(
    made: TracedSparse, format: str | None, dtype: DTypeLike | None = None
) -> TracedSparse:
    """A matrix in the format and the dtype that are asked for."""
    found: TracedSparse = made if format is None else made.asformat(format)
    return found if dtype is None else found.astype(dtype)


def _of_diagonals(
    diagonals: SparseOperand, offsets: SparseOperand, shape: tuple[int, int] | None, kind: str
) -> TracedSparse:
    writable = any([isinstance(item, Reference) for item in (diagonals, *_listed(diagonals))])
    below = unwrapped(offsets)
    if np.ndim(below) == 0:
        first = next(iter(_listed(unwrapped(diagonals))), 0.0)
        diagonals = [diagonals] if np.ndim(first) == 0 else diagonals
        if len(diagonals) != 1:
            raise ValueError("Different number of diagonals and offsets.")
    parts = [_vector(item) for item in _listed(diagonals)]
    places = [int(k) for k in np.atleast_1d(below)]
    if len(parts) != len(places):
        raise ValueError("Different number of diagonals and offsets.")
    size = parts[0].shape[0] + abs(places[0])
    m, n = (size, size) if shape is None else shape
    entries: list[Any] = []
    rows: list[Any] = []
    columns: list[Any] = []
    for part, k in zip(parts, places, strict=True):
        length = min(m + min(k, 0), n - max(k, 0))
        if length < 0:
            raise ValueError(f"Offset {k} (index {len(entries)}) out of bounds")
        if part.shape[0] not in (1, length):
            raise ValueError(
                f"Diagonal length (index {len(entries)}: {part.shape[0]} at offset {k}) does not agree with "
                f"array size ({m}, {n})."
            )
        entries.append(np.broadcast_to(part, (length,)))
        rows.append(np.arange(length) - min(k, 0))
        columns.append(np.arange(length) + max(k, 0))
    at = np.concatenate(rows) * n + np.concatenate(columns)
    return TracedSparse(*summed(np.concatenate(entries), at, (m, n)), "dia", kind, writable)


def _listed(value: SparseOperand) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) or np.ndim(unwrapped(value)) else [value]


def _vector(item: SparseOperand) -> Any:
    array = unwrapped(item)
    if isinstance(array, list | tuple):
        array = functions["array"](array)
    return lift_fully(array).reshape(-1)


def _spdiags(
    data: SparseOperand,
    diags: SparseOperand,
    m: Any = None,
    n: Any = None,
    format: str | None = None,
) -> Any:
    shape = m if n is None else (int(m), int(n))
    return _finished(of_arguments((data, diags), shape, "dia", "matrix"), format)


# -- blocks ----------------------------------------------------------------------------------------
def _of_blocks(name: str, axes: int = 1) -> Callable[..., Any]:
    """A function of blocks in a list, or in rows of them (``axes`` 2)."""
    own = getattr(_scipy, name)

    def assembled(
        blocks: SparseOperand,
        format: str | None = None,
        dtype: DTypeLike | None = None,
        **options: object,
    ) -> Any:
        flat: list[Any] = []

        def collect(item: Any, depth: int) -> Any:
            if depth:
                return [collect(part, depth - 1) for part in item]
            if item is None:
                return None
            flat.append(_matrix(item))
            return len(flat) - 1

        layout = collect(unwrapped(blocks), axes)
        whole, held = blocks_at_places(flat)
        kinds = {m.kind if isinstance(m, TracedSparse) else _kind(m) for m in flat}
        whole.kind = "array" if "array" in kinds else "matrix"

        def replaced(item: SparseOperand) -> Any:
            if isinstance(item, list):
                return [replaced(part) for part in item]
            return item if item is None else held[item]

        made = whole.at_places(own(replaced(layout), format="csr", **options))
        # SciPy has the entries block by block.
        made.format, made.given = "coo", made.pattern.nnz
        return _finished(made, format, dtype)

    return with_name(assembled, name)


def _kind(matrix: SparseMatrix) -> str:
    return "array" if isinstance(matrix, _scipy.sparray) else "matrix"


def _matrix(item: SparseOperand) -> Any:
    """A block as a sparse matrix: a dense one has an entry at every place."""
    if is_sparse(item):
        return item
    if has_traced(item):
        array = (
            unwrapped(item)
            if not isinstance(item, list | tuple)
            else functions["array"](unwrapped(item))
        )
        return of_arguments(
            array.reshape(1, -1) if array.ndim < 2 else array, None, "csr", "matrix"
        )
    return _scipy.csr_matrix(np.atleast_2d(unwrapped(item)))


# -- products of blocks ----------------------------------------------------------------------------
def _kron(A: SparseMatrix, B: SparseMatrix, format: str | None = None) -> TracedSparse:
    a, b = _matrix(A), _matrix(B)
    like = a if isinstance(a, TracedSparse) else b
    x, y = traced(a, like), traced(b, like)
    entries = (lift_fully(x.entries)[:, None] * lift_fully(y.entries)).reshape(-1)
    shape = x.shape[0] * y.shape[0], x.shape[1] * y.shape[1]
    rows = (x.rows[:, None] * y.shape[0] + y.rows).reshape(-1)
    columns = (x.columns[:, None] * y.shape[1] + y.columns).reshape(-1)
    found = summed(entries, rows * shape[1] + columns, shape)
    exact = x.exact and y.exact
    made = TracedSparse(*found, "coo", like.kind, like.writable, exact, given=len(rows))
    return _finished(made, format or "bsr")


def _kronsum(A: SparseMatrix, B: SparseMatrix, format: str | None = None) -> Any:
    a, b = _matrix(A), _matrix(B)
    left = kron(_scipy.eye_array(b.shape[0]), a)
    made: TracedSparse = left + kron(b, _scipy.eye_array(a.shape[0]))
    made.format, made.given = "csr", None
    return _finished(made, format)


def kron(a: SparseMatrix, b: SparseMatrix) -> Any:
    """The Kronecker product of two matrices, either of which could be traced."""
    return _kron(a, b) if has_traced(a) or has_traced(b) else _scipy.kron(a, b)


def _triangle(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)

    def function(A: SparseMatrix, k: int = 0, format: str | None = None) -> Any:
        made = _matrix(A).asformat("csr").rearranged(lambda held: own(held, k, format="csr"))
        made.format = "coo"
        return _finished(made, format)

    return with_name(function, name)


def _find(A: SparseMatrix) -> tuple[Any, Any, Any]:
    rows, columns, places = _scipy.find(A.pattern)
    entries = lift_fully(A.entries)[places - 1]
    held = at_this_call(entries != 0)
    return rows[held], columns[held], A.as_dense(entries[held])


ASSEMBLED: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "block_array": _of_blocks("block_array", 2),
        "block_diag": _of_blocks("block_diag"),
        "bmat": _of_blocks("bmat", 2),
        "diags": _diags_of("matrix"),
        "diags_array": _diags_of("array"),
        "find": _find,
        "hstack": _of_blocks("hstack"),
        "kron": _kron,
        "kronsum": _kronsum,
        "spdiags": _spdiags,
        "tril": _triangle("tril"),
        "triu": _triangle("triu"),
        "vstack": _of_blocks("vstack"),
    }
)
"""Functions that make matrices, for traced arguments."""
