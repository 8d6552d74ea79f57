"""Matrices of `scipy.linalg` that are made of their entries, as gathers of traced values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.scipy.composition import composed, number
from funcgrad.source import value_error
from funcgrad.typing import ArrayLike

_composed, _kept = composed(_scipy), composed(_scipy, single=True)
_hosted = composed(_scipy, host=True)


@_kept
def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Any:
    column = np.atleast_1d(number("toeplitz", c))
    row = np.conj(column) if r is None else np.atleast_1d(number("toeplitz", r))
    stack = np.broadcast_shapes(column.shape[:-1], row.shape[:-1])
    column, row = [np.broadcast_to(part, (*stack, part.shape[-1])) for part in (column, row)]
    values = np.concatenate([column[..., ::-1], row[..., 1:]], axis=-1)
    rows, columns = np.arange(column.shape[-1]), np.arange(row.shape[-1])
    return values[..., column.shape[-1] - 1 - rows[:, None] + columns]


@_kept
def circulant(c: ArrayLike) -> Any:
    column = number("circulant", c)
    places = np.arange(column.shape[-1])
    return column[..., (places[:, None] - places) % column.shape[-1]]


@_kept
def companion(a: ArrayLike) -> Any:
    coefficients = number("companion", a)
    n = coefficients.shape[-1]
    if n < 2:
        raise value_error(f"companion: expected at least two coefficients, but got {n}")
    first = -coefficients[..., 1:] / coefficients[..., :1]
    below = np.broadcast_to(np.eye(n - 2, n - 1), (*first.shape[:-1], n - 2, n - 1))
    return np.concatenate([first[..., None, :], below], axis=-2)


@_kept
def block_diag(*arrs: ArrayLike) -> Any:
    """As `scipy.linalg.block_diag`: matrices, stacks of them, vectors, numbers."""
    wide: list[Any] = [np.atleast_2d(number("block_diag", block)) for block in arrs]
    stack = np.broadcast_shapes(*[block.shape[:-2] for block in wide])
    total = sum([block.shape[-1] for block in wide])
    rows, start = [], 0
    for block in wide:
        height, width = block.shape[-2:]
        left, right = np.zeros((*stack, height, start)), (*stack, height, total - start - width)
        inner = np.broadcast_to(block, (*stack, height, width))
        rows.append(np.concatenate([left, inner, np.zeros(right)], axis=-1))
        start += width
    return np.concatenate(rows, axis=-2)


@_hosted
def solve_toeplitz(c_or_cr: object, b: ArrayLike, **_: object) -> Any:
    pair = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return np.linalg.solve(toeplitz(*pair), number("solve_toeplitz", b))
