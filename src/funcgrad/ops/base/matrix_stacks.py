"""What the rules of linear algebra are made of: stacks of matrices, in the last two axes.

Transposes are plain, without conjugation, as everywhere; a rule that conjugates is linear over the reals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.op import differentiable, lift_fully
from funcgrad.ops.shape import astype
from funcgrad.source import fail, type_error
from funcgrad.typing import Array


def mT(x: Array) -> Any:
    """Each matrix transposed."""
    return np.swapaxes(x, -1, -2)


def mH(x: Array) -> Any:
    """Each matrix transposed and conjugated."""
    return mT(x).conj()


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of a complex dtype; a real one is its own."""
    return np.finfo(dtype).dtype


def eye_like(x: Array) -> Any:
    """The identity matrix as wide as x, in the dtype of its parts."""
    return np.eye(np.shape(x)[-1], dtype=real_dtype(x.dtype))


def as_row(s: Array) -> Any:
    """Each vector as a matrix of one row."""
    return np.expand_dims(s, -2)


def as_column(s: Array) -> Any:
    """Each vector as a matrix of one column."""
    return np.expand_dims(s, -1)


def wide(z: Array) -> Any:
    """One number a matrix, with two axes more, to multiply matrices with."""
    return np.expand_dims(z, (-2, -1))


def between(left: Array, right: Array) -> LinearMap:
    """X -> left @ X @ right."""
    return Structural(
        lambda v: np.matmul(np.matmul(left, v), right),
        lambda g: np.matmul(np.matmul(mT(left), g), mT(right)),
    )


def cheapest_product(parts: Sequence[Any]) -> Any:
    """The product of matrices, or of stacks, in the order that costs least: by a table of all ranges."""
    count = len(parts)
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(count)}
    for width in range(1, count):
        for i in range(count - width):
            j = i + width
            best[i, j] = min(
                (
                    best[i, k][0]
                    + best[k + 1, j][0]
                    + parts[i].shape[-2] * parts[k].shape[-1] * parts[j].shape[-1],
                    k,
                )
                for k in range(i, j)
            )
    product = {(i, i): part for i, part in enumerate(parts)}
    pending = [(0, count - 1)]
    while pending:
        i, j = pending[-1]
        halves = [] if i == j else [(i, best[i, j][1]), (best[i, j][1] + 1, j)]
        missing = [half for half in halves if half not in product]
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        if halves:
            product[i, j] = np.matmul(product[halves[0]], product[halves[1]])
    return product[0, count - 1]


def hermitian_from(triangle: str) -> LinearMap:
    """What LAPACK takes a matrix for, of which it reads one triangle: real on the diagonal.

    Its transpose puts what reaches both triangles into the one that was read.
    """
    cut = np.tril if triangle == "L" else np.triu
    strict = -1 if triangle == "L" else 1

    def forward(v: Array) -> Any:
        half = cut(v, strict)
        return half + mH(half) + np.tril(np.triu(np.real(v)))

    return Structural(forward, lambda g: cut(g + mH(g), strict) + np.real(g) * eye_like(g))


def matrices(name: str, x: object, *, square: bool = True) -> Any:
    """An argument as a stack of float matrices."""
    x = lift_fully(x)
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise fail(
            np.linalg.LinAlgError,  # NumPy's, which code handles as the sign of a system without a solution
            f"{name}: expected {kind} in the last two axes, but got {x.type}; "
            + ("give a vector a second axis" if x.ndim < 2 else "see lstsq and pinv for others"),
        )
    if not differentiable(x.dtype):
        return astype(x, float)
    if x.dtype.char not in "fdFD":
        raise type_error(
            f"{name}: expected single or double precision, which LAPACK has, but got {x.type}; "
            "convert it with astype(float)",
        )
    return x


# -- flops: Golub and Van Loan, Matrix Computations, 4th edition ---------------------------------
def matrix_flops(count: Callable[[int], int]) -> Callable[[Expr], int]:
    """The flops of an operation on stacks of square matrices, from those of one with n rows."""

    def flops(z: Expr) -> int:
        *stack, n, _ = z.args[0].shape
        return math.prod(stack) * count(n)

    return flops


def lu_flops(n: int) -> int:
    """The flops of an LU factorization with pivots (section 3.4)."""
    return 2 * n**3 // 3


def svd_flops(m: int, n: int) -> int:
    """The flops of a thin SVD with both factors, by Golub and Reinsch (section 8.6)."""
    long, short = max(m, n), min(m, n)
    return 14 * long * short**2 + 8 * short**3
