"""A spline filter along an axis as an operation, which SciPy runs: coefficients of splines through pixels.

The filter is linear. Its matrix, of SciPy's responses to unit impulses, is symmetric where an image that is
reflected stands beyond the end, or its other end; where it is mirrored at the middle of the last pixel, it is
so but for half the weight of the ends. On short lines SciPy's is not exact, and the matrix is used itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.columns import Columns, each_entry
from funcgrad.ops.base.op import Op
from funcgrad.typing import Array

LONG = 64
"""The pixels of a line from which what lies beyond its ends is exact to the last digit, up to order 5."""

_SYMMETRIC = frozenset(("reflect", "grid-mirror", "nearest", "grid-wrap"))


def _run(x: Array, order: int, axis: int, mode: str) -> Any:
    from scipy.ndimage import spline_filter1d

    return spline_filter1d(x, order, axis, x.dtype, mode)


def by_responses(x: Array, order: int, axis: int, mode: str) -> Any:
    """The filter by the matrix of SciPy's responses to unit impulses."""
    rows = np.moveaxis(x, axis, 0)
    n = rows.shape[0]
    responses = _run(np.eye(n), order, 0, mode)
    flat = responses @ rows.reshape(n, math.prod(rows.shape[1:]))
    return np.moveaxis(flat.reshape(rows.shape), 0, axis)


def _edge(z: Array, x: Array, *, order: int, axis: int, mode: str) -> LinearMap:
    n = np.shape(x)[axis]
    weight = np.ones((n, *(1,) * (np.ndim(x) - 1 - axis)))
    if mode not in _SYMMETRIC:
        weight[[0, -1]] = 0.5

    def along(v: Array) -> Any:
        return spline_filter_op(v, order=order, axis=axis, mode=mode)

    return Structural(along, lambda g: along(g * (1 / weight)) * weight)


spline_filter_op: Op = Op(
    name="spline_filter",
    run=_run,
    infer=lambda type, order, axis, mode: ArrayType(type.shape, type.dtype),
    edges=(_edge,),
    batch=lambda size, batched, x, order, axis, mode: spline_filter_op(
        x, order=order, axis=axis + 1, mode=mode
    ),
    columns=Columns(
        decompose=by_responses,
        flops=each_entry(10),
        numpy="scipy.ndimage.spline_filter1d({0}, {order}, {axis}, mode={mode})",
        fresh=True,
        shown=False,
    ),
)
