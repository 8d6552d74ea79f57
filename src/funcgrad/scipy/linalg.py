"""``scipy.linalg`` for traced values: functions that ``numpy.linalg`` has, and compositions of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import (
    banded_systems,
    matrix_equations,
    matrix_exponentials,
    matrix_factorizations,
    special_matrices,
)
from funcgrad.scipy.composition import composed, refuse
from funcgrad.typing import Array

_composed = composed(_scipy)


@_composed
def solve(a: Array, b: Array, lower: bool = False, transposed: bool = False, **_: object) -> Any:
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


@_composed
def inv(a: Array, **_: object) -> Any:
    return np.linalg.inv(a)


@_composed
def det(a: Array, **_: object) -> Any:
    return np.linalg.det(a)


@_composed
def norm(a: Array, ord: Any = None, axis: Any = None, keepdims: bool = False, **_: Any) -> Any:
    return np.linalg.norm(a, ord, axis, keepdims)


@_composed
def pinv(a: Array, *, return_rank: bool = False, **_: object) -> Any:
    refuse("pinv", return_rank=return_rank)
    return np.linalg.pinv(a)


@_composed
def cholesky(a: Array, lower: bool = False, **_: object) -> Any:
    left = np.linalg.cholesky(a)
    return left if lower else np.conj(np.swapaxes(left, -1, -2))


@_composed
def cho_factor(a: Array, lower: bool = False, **_: object) -> Any:
    return cholesky(a, lower), lower


def cho_solve(c_and_lower: tuple[Array, bool], b: Array, **kwargs: object) -> Any:
    """As `scipy.linalg.cho_solve`."""
    factor, lower = c_and_lower
    if not holds_expr([factor, b]):
        return _scipy.cho_solve(c_and_lower, b, **kwargs)
    left, right = (0, "C") if lower else ("C", 0)
    return solve_triangular(factor, solve_triangular(factor, b, left, lower), right, lower)


@_composed
def solve_triangular(
    a: Array,
    b: Array,
    trans: object = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    **_: object,
) -> Any:
    part = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        eye = np.eye(a.shape[-1])
        part = part * (1 - eye) + eye
    if trans in (1, "T", 2, "C"):
        part = np.swapaxes(part, -1, -2)
    return np.linalg.solve(np.conj(part) if trans in (2, "C") else part, b)


def _hermitian(a: Any, lower: bool) -> Any:
    """The hermitian matrix one of whose triangles is that of a."""
    low = np.tril(a) if lower else np.conj(np.swapaxes(np.triu(a), -1, -2))
    return low + np.conj(np.swapaxes(np.tril(low, -1), -1, -2))


@_composed
def eigh(
    a: Array,
    b: Array | None = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    type: int = 1,
    **options: object,
) -> Any:
    # With b = l @ l^H, each problem with b is one without it (as LAPACK's hegst).
    refuse("eigh", **{k: v for k, v in options.items() if "subset" in k})
    if b is None:
        triangle: Any = "L" if lower else "U"
        if eigvals_only:
            return np.linalg.eigvalsh(a, triangle)
        return tuple(np.linalg.eigh(a, triangle))
    left, inner = np.linalg.cholesky(_hermitian(b, lower)), _hermitian(a, lower)
    adjoint = np.conj(np.swapaxes(left, -1, -2))
    if type == 1:
        half = np.linalg.solve(left, inner)
        inner = np.linalg.solve(left, np.conj(np.swapaxes(half, -1, -2)))
    else:
        inner = adjoint @ inner @ left
    if eigvals_only:
        return np.linalg.eigvalsh(inner)
    w, v = np.linalg.eigh(inner)
    return w, left @ v if type == 3 else np.linalg.solve(adjoint, v)


@_composed
def eigvals(a: Array, b: Array | None = None, **options: object) -> Any:
    refuse("eigvals", homogeneous_eigvals=options.get("homogeneous_eigvals"))
    return np.linalg.eigvals(a if b is None else np.linalg.solve(b, a)) + 0j


@_composed
def eig(
    a: Array, b: Array | None = None, left: bool = False, right: bool = True, **options: object
) -> Any:
    refuse("eig", left=left, homogeneous_eigvals=options.get("homogeneous_eigvals"))
    if not right:
        return eigvals(a, b)
    w, v = np.linalg.eig(a if b is None else np.linalg.solve(b, a))
    return w + 0j, v


@_composed
def eigvalsh(
    a: Array, b: Array | None = None, *, lower: bool = True, type: int = 1, **options: object
) -> Any:
    return eigh(a, b, lower=lower, eigvals_only=True, type=type, **options)


@_composed
def svd(a: Array, full_matrices: bool = True, compute_uv: bool = True, **_: Any) -> Any:
    if not compute_uv:
        return np.linalg.svdvals(a)
    return tuple(np.linalg.svd(a, full_matrices))


@_composed
def svdvals(a: Array, **_: object) -> Any:
    return np.linalg.svdvals(a)


@_composed
def qr(a: Array, mode: str = "full", pivoting: bool = False, **_: object) -> Any:
    refuse("qr", pivoting=pivoting)
    form: Any = {"full": "complete", "economic": "reduced", "r": "r"}[mode]
    found: Any = np.linalg.qr(a, form)
    return (found,) if mode == "r" else tuple(found)


@_composed
def lstsq(a: Array, b: Array, **_: object) -> Any:
    return np.linalg.lstsq(a, b)


_LATER = (
    matrix_equations,
    matrix_factorizations,
    banded_systems,
    matrix_exponentials,
    special_matrices,
)
globals().update(
    {
        name: value
        for module in _LATER
        for name, value in vars(module).items()
        if name[0] != "_" and getattr(_scipy, name, value) is not value
    }
)
globals().update(
    {
        name: value
        for name, value in vars(_scipy).items()
        if name[0] != "_" and name not in globals()
    }
)


def __getattr__(name: str) -> Any:
    return getattr(_scipy, name)
