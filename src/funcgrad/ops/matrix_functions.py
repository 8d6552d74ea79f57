"""Functions of a hermitian matrix that a program writes by its eigenvalues: v*f(w) @ v^H.

The eigenvectors of equal eigenvalues have no derivative, but the function has one: in the basis of the
eigenvectors, entry (i, j) of da is multiplied with (f(w_j) - f(w_i))/(w_j - w_i), and with f'(w) where the
eigenvalues are equal (Daleckii and Krein). The simplifier recognizes such products (`rewrite.matrix_laws`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.matrix_stacks import eye_like, hermitian_from, mH, mT
from funcgrad.ops.base.op import Op, spread
from funcgrad.ops.elementwise.selection import mask
from funcgrad.typing import Array

_NEAR = np.finfo(float).eps ** (1 / 3)
"""Below this relative distance of eigenvalues a mean of slopes is more accurate than the quotient."""


def _product(a: Array, w: Array, v: Array, d: Array, s: Array, form: str, triangle: str) -> Any:
    """The product as it was written: with scaled columns, scaled rows, or a diagonal matrix."""
    row, column, back = np.expand_dims(d, -2), np.expand_dims(d, -1), mH(v)
    if form == "columns":
        return np.matmul(v * row, back)
    if form == "rows":
        return np.matmul(v, column * back)
    middle = row * eye_like(row)
    if form == "left diagonal":
        return np.matmul(np.matmul(v, middle), back)
    return np.matmul(v, np.matmul(middle, back))


def _quotients(w: Array, d: Array, s: Array) -> Any:
    """(d_j - d_i)/(w_j - w_i) off the diagonal, and the mean of slopes for eigenvalues that are near."""
    w_i, w_j = np.expand_dims(w, -1), np.expand_dims(w, -2)
    distance = w_j - w_i
    size = np.maximum(np.abs(w_j), np.abs(w_i))
    near = np.abs(distance) <= _NEAR * size
    rise = np.expand_dims(d, -2) - np.expand_dims(d, -1)
    mean = 0.5 * (np.expand_dims(s, -2) + np.expand_dims(s, -1))
    quotient = np.where(near, mean, rise / np.where(near, np.ones_like(distance), distance))
    return mask(1 - eye_like(quotient) != 0, quotient)


def _by_matrix(
    z: Array, a: Array, w: Array, v: Array, d: Array, s: Array, form: str, triangle: str
) -> LinearMap:
    quotients = _quotients(w, d, s)
    read = hermitian_from(triangle)

    def forward(da: Any) -> Any:
        turned = np.matmul(mH(v), np.matmul(read.apply(da), v))
        return np.matmul(v, np.matmul(quotients * turned, mH(v)))

    def backward(g: Any) -> Any:
        turned = quotients * np.matmul(mT(v), np.matmul(g, mT(mH(v))))
        back = np.matmul(mT(mH(v)), np.matmul(turned, mT(v)))
        return read.transpose(back if a.dtype.kind == "c" else np.real(back))

    return Structural(forward, backward)


def _by_values(
    z: Array, a: Array, w: Array, v: Array, d: Array, s: Array, form: str, triangle: str
) -> LinearMap:
    def backward(g: Any) -> Any:
        found = np.sum(np.matmul(mT(v), g) * mH(v), axis=-1)
        return found if d.dtype.kind == "c" else np.real(found)

    return Structural(lambda v_: np.matmul(v * np.expand_dims(v_, -2), mH(v)), backward)


def _type(
    a: ArrayType, w: ArrayType, v: ArrayType, d: ArrayType, s: ArrayType, **_: str
) -> ArrayType:
    return ArrayType(a.shape, np.result_type(v.dtype, d.dtype))


def _batch(size: int, batched: Sequence[bool], *operands: Array, **params: Any) -> Any:
    each = [
        x if is_batched else spread(x, size)
        for x, is_batched in zip(operands, batched, strict=True)
    ]
    return hermitian_function_op(*each, **params)


hermitian_function_op: Op = Op(
    name="hermitian_function",
    run=_product,
    infer=_type,
    edges=(_by_matrix, None, None, _by_values, None),
    batch=_batch,
    columns=Columns(decompose=_product, shown=False),
)
