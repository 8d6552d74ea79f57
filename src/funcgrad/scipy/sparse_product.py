"""The product of a sparse matrix by rows, or of its transpose, with an array, which SciPy computes.

It is linear in the entries of the matrix and in the array, and its transpose in the array is the product with
the transposed matrix, of the same entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.op import Op, lift_fully
from funcgrad.typing import Array

_Shape = tuple[int, int]


def _run(
    data: Array,
    indices: Array,
    starts: Array,
    rows: Array,
    x: Array,
    shape: _Shape,
    transposed: bool,
) -> Any:
    length, width = shape[::-1] if transposed else shape
    # (A program read from a file may have any, and SciPy reads the memory that they point to.)
    _check("columns", indices, shape[1])
    _check("starts of rows", starts, len(data) + 1)
    kernel = _kernel("csc" if transposed else "csr", "matvec" if x.ndim == 1 else "matvecs")
    if kernel is None or indices.dtype != starts.dtype or data.dtype != x.dtype:
        from scipy.sparse import csr_array

        matrix = csr_array((data, indices, starts), shape=shape)
        return (matrix.T if transposed else matrix) @ x
    found = np.zeros((length, *x.shape[1:]), x.dtype)
    kernel(length, width, *x.shape[1:], starts, indices, data, x.ravel(), found.reshape(-1))
    return found


def _check(what: str, places: Array, end: int) -> None:
    # (As unsigned integers, negative ones are large.)
    if places.size and places.view(_UNSIGNED[places.dtype.itemsize]).max() >= end:
        raise IndexError(f"sparse product: expected {what} from 0 to {end - 1}, but got {places}")


_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


@cache
def _kernel(layout: str, product: str) -> Callable[..., None] | None:
    """SciPy's function for the product, which its matrices call; None if this SciPy has none of this name.

    To make the matrix takes five times as long as the product of one of 1,000 entries.
    """
    try:
        from scipy.sparse import _sparsetools
    except ImportError:
        return None
    found: Callable[..., None] | None = getattr(_sparsetools, f"{layout}_{product}", None)
    return found


def _infer(
    data: ArrayType,
    indices: ArrayType,
    starts: ArrayType,
    rows: ArrayType,
    x: ArrayType,
    shape: _Shape,
    transposed: bool,
) -> ArrayType:
    length, width = shape[::-1] if transposed else shape
    lengths = data.shape, indices.shape, starts.shape, rows.shape, x.shape[:1]
    if lengths != (data.shape, data.shape, (shape[0] + 1,), data.shape, (width,)):
        raise ValueError(f"sparse product: expected arrays of a matrix of shape {shape}")
    if not {indices.dtype.kind, starts.dtype.kind, rows.dtype.kind} <= {*"iu"}:
        raise TypeError("sparse product: expected indices that are integers")
    return ArrayType((length, *x.shape[1:]), x.dtype)


def _by_entries(
    data: Array, indices: Array, starts: Array, rows: Array, x: Any, shape: _Shape, transposed: bool
) -> Any:
    """The entries times the rows of x that they meet, added up."""
    length, read, kept = (shape[1], rows, indices) if transposed else (shape[0], indices, rows)
    terms = data.reshape((-1, *[1] * (x.ndim - 1))) * x[read]
    return lift_fully(np.zeros((length, *x.shape[1:]), terms.dtype)).at[kept].add(terms)


def _entries_edge(z: Array, *args: Array, shape: _Shape, transposed: bool) -> LinearMap:
    _, indices, starts, rows, x = args
    read, kept = (rows, indices) if transposed else (indices, rows)

    def forward(v: Array) -> Any:
        return sparse_product_op(v, indices, starts, rows, x, shape=shape, transposed=transposed)

    def backward(g: Array) -> Any:
        products = g[kept] * x[read]
        return np.sum(products, axis=-1) if products.ndim > 1 else products

    return Structural(forward, backward)


def _operand_edge(z: Array, *args: Array, shape: _Shape, transposed: bool) -> LinearMap:
    matrix = args[:-1]

    def forward(v: Array) -> Any:
        return sparse_product_op(*matrix, v, shape=shape, transposed=transposed)

    def backward(g: Array) -> Any:
        return sparse_product_op(*matrix, g, shape=shape, transposed=not transposed)

    return Structural(forward, backward)


def _batch(size: int, batched: Sequence[bool], *args: Array, **params: Any) -> Any:
    if any(batched[:-1]):
        given = [
            [arg[k] if own else arg for arg, own in zip(args, batched, strict=True)]
            for k in range(size)
        ]
        return np.stack([sparse_product_op(*each, **params) for each in given])
    # The examples are columns beside each other.
    columns = np.moveaxis(args[-1], 0, -1)
    flat = columns.reshape(columns.shape[0], -1)
    found = sparse_product_op(*args[:-1], flat, **params)
    return np.moveaxis(found.reshape(found.shape[0], *columns.shape[1:]), -1, 0)


def _source(expr: Expr, texts: Sequence[str]) -> str:
    params = dict(expr.params)
    data, indices, starts, _, x = texts
    matrix = f"scipy.sparse.csr_array(({data}, {indices}, {starts}), shape={params['shape']})"
    return f"({matrix}{'.T' if params['transposed'] else ''} @ {x})"


def _flops(z: Expr) -> int:
    return 2 * z.args[0].size * max(z.size // max(z.shape[0], 1), 1)


sparse_product_op: Op = Op(
    name="sparse_product",
    run=_run,
    infer=_infer,
    edges=(_entries_edge, None, None, None, _operand_edge),
    batch=_batch,
    columns=Columns(decompose=_by_entries, flops=_flops, numpy=_source, fresh=True, shown=False),
)
"""Entries, their columns, where each row starts among them, their rows, and an array of one axis or two; the
entries and the array are floats or complex numbers of one dtype."""
