"""``scipy.sparse.linalg`` for traced values: solutions of systems with constant sparse matrices.

The derivative solves the transposed system with the same method. All other names lead to SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as _sparse
import scipy.sparse.linalg as _scipy

from funcgrad.arrays.reference import plain_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import number
from funcgrad.source import fail
from funcgrad.transforms.custom.custom_derivatives import custom_vjp
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.typing import Array

Solver = Callable[[Any, Array], Array]
"""A function of a sparse matrix and a right side to the solution."""


def _on_array(solve: Solver, matrix: Array, b: npt.ArrayLike) -> Array:
    return solve(matrix, np.asarray(b))


def _linear(name: str, solve: Solver, matrix: Any) -> Callable[..., Any]:
    """The solution as a function of the right side; its transpose solves the transposed system."""
    transposed = matrix.T.asformat(matrix.format)
    values = [
        primitive(partial(_on_array, solve, m), out=lambda b: b, name=name)
        for m in (matrix, transposed)
    ]
    pair = [custom_vjp(value) for value in values]
    for k, solution in enumerate(pair):
        solution.defvjp(
            lambda b, value=values[k]: (value(b), ()),
            lambda _, g, other=pair[1 - k]: (other(g),),
        )
    return pair[0]


def _plain(matrix: Any) -> Any:
    """The matrix over arrays of NumPy's: adopted code sees its parts as arrays that take stores."""
    if matrix.format not in ("csc", "csr"):
        return matrix
    parts = [np.asarray(plain_value(getattr(matrix, k))) for k in ("data", "indices", "indptr")]
    return getattr(_sparse, f"{matrix.format}_matrix")(tuple(parts), shape=matrix.shape)


def _solved(name: str, solve: Solver, matrix: Array, b: npt.ArrayLike) -> Any:
    if holds_expr(matrix) or not _sparse.issparse(matrix):
        raise fail(
            TypeError,
            f"{name}: expected a constant sparse matrix, but got {type(matrix).__name__}; write "
            "np.linalg.solve for a dense one",
        )
    right = number(name, b)
    if matrix.shape[0] != matrix.shape[1] or right.shape[:1] != matrix.shape[:1]:
        raise fail(
            ValueError,
            f"{name}: expected a square matrix and a right side with as many rows, but got "
            f"{matrix.shape} and {right.shape}",
        )
    dtype = np.result_type(right.dtype, matrix.dtype)
    return _linear(name, solve, _plain(matrix))(lift_fully(right).astype(dtype))


def spsolve(A: Array, b: npt.ArrayLike, *args: object, **kwargs: object) -> Any:
    """As `scipy.sparse.linalg.spsolve`, in the right side, a vector or a matrix of columns."""
    if not holds_expr([A, b]):
        return _scipy.spsolve(A, b, *args, **kwargs)

    def solve(matrix: Array, b: Array) -> Array:
        return np.asarray(_scipy.spsolve(matrix, b, *args, **kwargs)).reshape(b.shape)

    return _solved("spsolve", solve, A, b)


def factorized(A: Array) -> Callable[[npt.ArrayLike], Any]:
    """As `scipy.sparse.linalg.factorized`: a function from right sides to solutions."""
    own = _scipy.factorized(A)

    def solve(b: npt.ArrayLike) -> Any:
        return spsolve(A, b) if holds_expr(b) else own(b)

    return solve


def _iterative(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)

    @wraps(own)
    def function(A: Array, b: npt.ArrayLike, x0: object = None, **options: object) -> Any:
        if not holds_expr([A, b, x0]):
            return own(A, b, x0, **options)

        def solve(matrix: Array, b: Array) -> Array:
            x, info = own(matrix, b, **options)
            if info:
                raise fail(RuntimeError, f"{name}: expected convergence, but SciPy reports {info}")
            return np.asarray(x)

        return _solved(name, solve, A, b), 0

    function.__doc__ = f"As `scipy.sparse.linalg.{name}`, in the right side."
    return function


globals().update(
    {
        name: _iterative(name)
        for name in ("bicg", "bicgstab", "cg", "cgs", "gmres", "lgmres", "minres", "qmr")
    }
)


def __getattr__(name: str) -> Any:
    return getattr(_scipy, name)
