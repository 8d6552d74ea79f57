"""A few eigenvalues or singular values of a large matrix, in its traced entries.

The iterations of SciPy have no derivative with the few vectors that they find: that of a vector needs all of
them. So these functions factorize the dense matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import scipy.sparse as _scipy_sparse
import scipy.sparse.linalg as _scipy

from funcgrad.arrays.reference import plain_value
from funcgrad.expr.registry import functions
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import linalg
from funcgrad.scipy.composition import floating, with_places_of
from funcgrad.scipy.sparse.traced_sparse import SparseOperand, TracedSparse, has_traced
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array

_LARGEST = 4096
"""Rows and columns beyond which no dense matrix is made."""


def is_traced_operator(operator: object) -> bool:
    """Whether this is an operator whose products have traced values, which its function has captured."""
    if not isinstance(operator, _scipy.LinearOperator):
        return False
    adopted = functions["redirect"](operator)
    return holds_expr(plain_value(adopted.matvec(np.zeros(operator.shape[1]))))


def _with_matrix(A: Any) -> Any:
    """The dense matrix of an operator whose products have traced values; anything else as it is."""
    if not is_traced_operator(A) or max(A.shape) > _LARGEST:
        return A
    return plain_value(functions["redirect"](A).matmat(np.eye(A.shape[1])))


def dense_of(name: str, A: SparseOperand) -> Any:
    """The dense matrix of one with traced entries, if it is of a size for which one is made."""
    if max(A.shape) > _LARGEST:
        raise value_error(
            f"{name}: expected traced entries of at most {_LARGEST} rows and columns, since the derivative "
            f"needs all vectors, but got {A.shape}; write fg.stop_gradient for a matrix that is constant",
        )
    return A.toarray() if isinstance(A, TracedSparse) or _scipy_sparse.issparse(A) else A


@with_places_of(_scipy.eigsh)
def eigsh(
    A: SparseOperand,
    k: int = 6,
    M: SparseOperand | None = None,
    sigma: float | None = None,
    which: str = "LM",
    *args: object,
    return_eigenvectors: bool = True,
    mode: str = "normal",
    **options: object,
) -> Any:
    """As `scipy.sparse.linalg.eigsh`, with the signs of `numpy.linalg.eigh` where entries are traced."""
    A = _with_matrix(A)
    if not has_traced([A, M, sigma, *args]):
        options |= {"return_eigenvectors": return_eigenvectors, "mode": mode}
        return _scipy.eigsh(A, k, M, sigma, which, *args, **options)
    if mode not in ("normal", "cayley") or has_traced([sigma, *args]):
        raise type_error(
            "eigsh: expected traced A and M and a plain sigma in mode 'normal' or 'cayley', but got "
            f"mode {mode!r} or other traced arguments; write scipy.linalg.eigh(A, M) of dense matrices",
        )
    if M is None:
        values, vectors = np.linalg.eigh(dense_of("eigsh", A))
    else:
        values, vectors = linalg.eigh(dense_of("eigsh", A), dense_of("eigsh", M))
    shifted = values
    if sigma is not None:
        shifted = ((values + sigma) if mode == "cayley" else 1.0) / (values - sigma)
    if which == "BE" and vectors.dtype.kind == "c":
        raise value_error("eigsh: expected a real matrix for which='BE', but got a complex one")
    chosen = _chosen(shifted, k, which)
    if return_eigenvectors:
        return values[chosen], vectors[:, chosen]
    found = values[chosen]
    if sigma is not None or which in ("LA", "BE"):
        return found
    # Without vectors, ARPACK ends with the value that it has sought first.
    return found[::-1] if which == "SA" else found[np.argsort(np.abs(found) * _SIGNS[which])]


_SIGNS = {"LM": 1.0, "SM": -1.0}


def _chosen(values: Any, k: int, which: str) -> Any:
    """The places of k values that are kept, in their order."""
    if which == "BE":
        order = np.argsort(values)
        return np.sort(np.concatenate([order[: k // 2], order[len(values) - k + k // 2 :]]))
    keys = {"LM": -np.abs(values), "SM": np.abs(values), "LA": -values, "SA": values}
    if which not in keys:
        raise ValueError(f"which must be one of LM, SM, LA, SA, or BE, but got {which!r}")
    return np.sort(np.argsort(keys[which])[:k])


@with_places_of(_scipy.eigs)
def eigs(
    A: SparseOperand,
    k: int = 6,
    M: SparseOperand | None = None,
    sigma: complex | None = None,
    which: str = "LM",
    *args: object,
    return_eigenvectors: bool = True,
    **options: object,
) -> Any:
    """As `scipy.sparse.linalg.eigs`; where entries are traced, with the phases of `numpy.linalg.eig`, in the
    order of ``which``.
    """
    A = _with_matrix(A)
    if not has_traced([A, M, sigma, *args]):
        options |= {"return_eigenvectors": return_eigenvectors}
        return _scipy.eigs(A, k, M, sigma, which, *args, **options)
    if has_traced([sigma, *args]):
        raise type_error(
            "eigs: expected traced A and M and a plain sigma, but got other traced arguments; write "
            "scipy.linalg.eig(A, M) of dense matrices"
        )
    matrices = [floating("eigs", dense_of("eigs", item)) for item in (A, M) if item is not None]
    values, vectors = linalg.eig(*matrices)

    shifted = values if sigma is None else 1.0 / (values - sigma)
    if which not in _SORTED_BY:
        raise ValueError(f"which must be one of {', '.join(_SORTED_BY)}, but got {which!r}")
    # ARPACK, which begins with a random vector, has an order that changes from run to run.
    chosen = np.argsort(_SORTED_BY[which](shifted), kind="stable")[:k]
    return (values[chosen], vectors[:, chosen]) if return_eigenvectors else values[chosen]


_SORTED_BY: dict[str, Callable[[Any], Any]] = {
    "LM": lambda values: -np.abs(values),
    "SM": np.abs,
    "LR": lambda values: -np.real(values),
    "SR": np.real,
    "LI": lambda values: -np.abs(np.imag(values)),
    "SI": lambda values: np.abs(np.imag(values)),
}


def lobpcg(A: Any, X: Array, B: SparseOperand | None = None, *args: object, **options: Any) -> Any:
    """As `scipy.sparse.linalg.lobpcg`; where entries are traced, the exact pairs, as those of `eigsh`."""
    A = _with_matrix(A)
    if _has_traced_results(A, X):
        raise type_error(
            "lobpcg: expected a function or an operator whose products are plain, but got traced ones; "
            "write A @ np.eye(n), the matrix, which may be traced"
        )
    if not has_traced([A, B]):
        return _scipy.lobpcg(A, X, B, *args, **options)
    count = np.shape(X)[1]
    given = signature(_scipy.lobpcg).bind(A, X, B, *args, **options).arguments
    others = {key: value for key, value in given.items() if key not in ("A", "X", "B")}
    histories = [others.get(key) for key in ("retLambdaHistory", "retResidualNormsHistory")]
    if has_traced([X, *others.values()]) or others.get("Y") is not None or any(histories):
        raise type_error(
            "lobpcg: expected traced A and B and plain first vectors, without Y and histories; write "
            "scipy.linalg.eigh(A, B) of dense matrices"
        )
    matrices = [floating("lobpcg", dense_of("lobpcg", item)) for item in (A, B) if item is not None]
    order = slice(None, -1 - count, -1) if others.get("largest", True) else slice(count)
    values, vectors = linalg.eigh(*matrices)
    return values[order], vectors[:, order]


def _has_traced_results(A: Any, X: Array) -> bool:
    """Whether a function that stands for a matrix has traced results."""
    if not isinstance(A, FunctionType | MethodType):
        return is_traced_operator(A)
    return holds_expr(plain_value(functions["redirect"](A)(np.zeros(np.shape(X)))))


@with_places_of(_scipy.svds)
def svds(
    A: SparseOperand,
    k: int = 6,
    ncv: object = None,
    tol: object = 0,
    which: str = "LM",
    v0: object = None,
    maxiter: object = None,
    return_singular_vectors: Any = True,
    **options: object,
) -> Any:
    """As `scipy.sparse.linalg.svds`, with the signs of `numpy.linalg.svd` where entries are traced."""
    A = _with_matrix(A)
    if not has_traced(A):
        rest = (ncv, tol, which, v0, maxiter, return_singular_vectors)
        return _scipy.svds(A, k, *rest, **options)
    dense = dense_of("svds", A)
    if return_singular_vectors is False:
        return _kept(np.linalg.svd(dense, compute_uv=False), k, which)
    u, s, vh = np.linalg.svd(dense, full_matrices=False)
    found = np.transpose(_kept(np.transpose(u), k, which)), _kept(s, k, which), _kept(vh, k, which)
    left, right = (return_singular_vectors in (True, side) for side in ("u", "vh"))
    return found[0] if left else None, found[1], found[2] if right else None


def _kept(x: Any, k: int, which: str) -> Any:
    """The k largest or smallest of what is in falling order, in rising order."""
    if which not in ("LM", "SM"):
        raise ValueError(f"which must be LM or SM, but got {which!r}")
    return x[:k][::-1] if which == "LM" else x[-k:][::-1]
