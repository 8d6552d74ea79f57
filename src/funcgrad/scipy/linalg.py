"""``scipy.linalg`` for traced values: functions that ``numpy.linalg`` has, and compositions of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import (
    banded_matrices,
    functions_of_eigenvalues,
    matrix_equations,
    matrix_exponentials,
    matrix_factorizations,
    matrix_powers,
    orthogonal_factorizations,
    schur_forms,
    special_matrices,
)
from funcgrad.scipy.composition import (
    composed,
    floating,
    number,
    with_phases,
    with_places_of,
    without_derivative,
)
from funcgrad.scipy.matrix_equations import one_triangle
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.scipy.stacks import over_stacks
from funcgrad.source import type_error, value_error
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)


def _conjugated(a: Array) -> Any:
    return np.conj(np.swapaxes(a, -1, -2))


_STRUCTURES: Mapping[str, Callable[[Any, bool], Any]] = {
    **dict.fromkeys(("gen", "general", "banded"), lambda a, lower: a),
    **dict.fromkeys(("sym", "symmetric"), lambda a, lower: one_triangle(a, lower, False)),
    **dict.fromkeys(("her", "hermitian", "pos", "positive definite"), one_triangle),
    "diagonal": lambda a, lower: np.tril(np.triu(a)),
    "tridiagonal": lambda a, lower: np.tril(np.triu(a, -1), 1),
    "upper triangular": lambda a, lower: np.triu(a),
    "lower triangular": lambda a, lower: np.tril(a),
}
"""The matrices that LAPACK takes for a by ``assume_a``: it reads a part of the entries."""


def _assumed(who: str, a: Array, assume_a: str | None, lower: bool) -> Any:
    if assume_a not in (None, *_STRUCTURES):
        raise value_error(
            f"{who}: expected assume_a among {', '.join(_STRUCTURES)}, but got {assume_a!r}",
        )
    return a if assume_a is None else _STRUCTURES[assume_a](a, lower)


@_composed
def solve(
    a: Array,
    b: Array,
    lower: bool = False,
    assume_a: str | None = None,
    transposed: bool = False,
    **_: object,
) -> Any:
    matrix = _assumed("solve", np.atleast_2d(floating("solve", a)), assume_a, lower)
    b = np.atleast_1d(floating("solve", b))
    if matrix.size == 1 and b.ndim < 3 and b.shape[0] != 1:  # SciPy divides by the one entry
        return np.linalg.solve(matrix, b.reshape(1, -1)).reshape(b.shape)
    return np.linalg.solve(np.swapaxes(matrix, -1, -2) if transposed else matrix, b)


@_composed
def inv(a: Array, assume_a: str | None = None, lower: bool = False, **_: object) -> Any:
    return np.linalg.inv(_assumed("inv", floating("inv", a), assume_a, lower))


@_composed
def det(a: Array, **_: object) -> Any:
    return np.linalg.det(number("det", a))  # SciPy's is in double precision


@_composed
def norm(a: Array, ord: Any = None, axis: Any = None, keepdims: bool = False, **_: object) -> Any:
    found: Any = np.linalg.norm(a, ord, axis, keepdims)
    # LAPACK's and BLAS's norms come back in double precision.
    by_lapack = ord in (None, 2) if np.ndim(a) == 1 else np.ndim(a) == 2 and ord in (1, np.inf)
    return found.astype(float) if by_lapack and axis is None and not keepdims else found


@_composed
def pinv(
    a: Array,
    rtol: float | None = None,
    atol: float | None = None,
    return_rank: bool = False,
    **_: object,
) -> Any:
    a = floating("pinv", a)
    relative = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
    if atol is None and not return_rank:
        return np.linalg.pinv(a, relative)
    u, values, vh = np.linalg.svd(a, full_matrices=False)
    kept = values > (atol or 0.0) + relative * np.max(values, axis=-1, keepdims=True, initial=0.0)
    if atol is None:
        found = np.linalg.pinv(a, relative)
    else:
        inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
        found = _conjugated(vh) * inverse[..., None, :] @ _conjugated(u)
    return (found, np.sum(kept, axis=-1)) if return_rank else found


@_composed
def cholesky(a: Array, lower: bool = False, **_: object) -> Any:
    a = np.atleast_2d(a)
    if lower:
        return np.linalg.cholesky(a)
    return _conjugated(np.linalg.cholesky(_conjugated(a)))


@_composed
def cho_factor(a: Array, lower: bool = False, **_: object) -> Any:
    a = np.atleast_2d(a)  # LAPACK leaves the other triangle as it is.
    return cholesky(a, lower) + (np.triu(a, 1) if lower else np.tril(a, -1)), lower


@with_places_of(_scipy.cho_solve)
def cho_solve(c_and_lower: tuple[Array, bool], b: Array, **kwargs: object) -> Any:
    """As `scipy.linalg.cho_solve`."""
    factor, lower = c_and_lower
    if not holds_expr([factor, b]):
        return _scipy.cho_solve(c_and_lower, b, **kwargs)
    if np.ndim(b) == 1 and np.ndim(factor) > 2:  # one vector beside a stack
        return cho_solve(c_and_lower, b[:, None])[..., 0]
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
        eye = np.eye(a.shape[-1], dtype=a.dtype)
        part = part * (1 - eye) + eye
    if trans in (1, "T", 2, "C"):
        part = np.swapaxes(part, -1, -2)
    return np.linalg.solve(np.conj(part) if trans in (2, "C") else part, b)


@_composed
def eigh(
    a: Array,
    b: Array | None = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    type: int = 1,
    subset_by_index: Sequence[int] | None = None,
    **options: object,
) -> Any:
    # With b = l @ l^H, each problem with b is one without it (as LAPACK's hegst).
    interval: Any = options.pop("subset_by_value", None)
    if interval is not None:
        kept: dict[str, Any] = {"lower": lower, "type": type, **options}
        w = eigh(a, b, eigvals_only=True, **kept)
        chosen = np.logical_and(w > interval[0], w <= interval[1])
        if eigvals_only:
            return w[chosen]
        v = eigh(a, b, **kept)[1][:, chosen]
        own = {**kept, "subset_by_value": interval}
        return w[chosen], with_phases(v, _own_eigenvectors(own, lift_fully(v).type, a, b))
    left, inner = None, a
    if b is not None:
        left, inner = np.linalg.cholesky(one_triangle(b, lower)), one_triangle(a, lower)
        if type == 1:
            half = np.linalg.solve(left, inner)
            inner = np.linalg.solve(left, _conjugated(half))
        else:
            inner = _conjugated(left) @ inner @ left
    triangle: Any = "U" if b is None and not lower else "L"
    first, last = (0, inner.shape[-1] - 1) if subset_by_index is None else subset_by_index
    if eigvals_only:
        return np.linalg.eigvalsh(inner, triangle)[..., first : last + 1]
    w, v = np.linalg.eigh(inner, triangle)
    w, v = w[..., first : last + 1], v[..., first : last + 1]
    if left is not None:
        v = left @ v if type == 3 else np.linalg.solve(_conjugated(left), v)
    own = {"lower": lower, "type": type, "subset_by_index": subset_by_index}
    own["driver"] = options.get("driver")
    return w, with_phases(v, _own_eigenvectors(own, lift_fully(v).type, a, b))


def _own_eigenvectors(options: dict[str, Any], type: ArrayType, a: Array, b: Array | None) -> Any:
    """SciPy's eigenvectors, by another driver than NumPy's, without a derivative."""

    def run(*matrices: Array) -> Any:
        return _scipy.eigh(*matrices, **options)[1].astype(type.dtype)

    return without_derivative("eigenvectors", run, type, *([a] if b is None else [a, b]))


def _order_of_columns(v: Array, own: Array) -> Any:
    """The places in v of the columns of another matrix of the same eigenvectors, with other phases."""
    overlap = np.abs(np.swapaxes(v.conj(), -1, -2) @ own)
    order = np.argmax(overlap, axis=-2)
    places = np.arange(order.shape[-1])  # vectors of equal eigenvalues may be any
    return np.where((np.sort(order, axis=-1) == places).all(axis=-1, keepdims=True), order, places)


_columns_as = primitive(
    _order_of_columns,
    out=lambda v, _: ArrayType(v.shape[:-1], np.dtype(np.int64)),
    name="order_of_columns",
)


@_hosted
def eigvals(
    a: Array, b: Array | None = None, homogeneous_eigvals: bool = False, **options: object
) -> Any:
    if homogeneous_eigvals and b is not None:
        own = lambda a, b: _scipy.eigvals(a, b, homogeneous_eigvals=True)  # noqa: E731
        return schur_forms.homogeneous_eigenvalues("eigvals", own, a, b)
    w = np.linalg.eigvals(a) + 0j if b is None else eig(a, b)[0]
    return _over_one(w) if homogeneous_eigvals else w


def _over_one(w: Array) -> Any:
    return np.stack([w, np.ones_like(w)], axis=-2)


@_hosted
def eig(
    a: Array,
    b: Array | None = None,
    left: bool = False,
    right: bool = True,
    homogeneous_eigvals: bool = False,
    **options: object,
) -> Any:
    if not (left or right):
        return eigvals(a, b, homogeneous_eigvals=homogeneous_eigvals, **options)
    if b is not None and not right:
        raise type_error(
            "eig: expected right=True beside left=True for two matrices, since SciPy's left vectors alone "
            "have no norm that is defined; write _, vl, _ = eig(a, b, left=True, right=True)",
        )
    w: Any = None
    vectors: list[Any] = []
    if right:
        w, v = np.linalg.eig(a if b is None else np.linalg.solve(b, a))
        if b is not None:
            w, v = _as_scipys(w, v, a, b, is_left=False)
        vectors = [v]
    if left:  # v^H a = w v^H b
        adjoint = _conjugated(a) if b is None else np.linalg.solve(_conjugated(b), _conjugated(a))
        of_left, v = _as_scipys(*np.linalg.eig(adjoint), a, b, is_left=True)
        w = np.conj(of_left) if w is None else w
        vectors = [v, *vectors]
    if homogeneous_eigvals and b is not None:
        own = lambda a, b: _scipy.eig(a, b, left, right, homogeneous_eigvals=True)[0]  # noqa: E731
        return (schur_forms.homogeneous_eigenvalues("eig", own, a, b), *vectors)
    return (_over_one(w + 0j) if homogeneous_eigvals else w + 0j, *vectors)


def _as_scipys(w: Array, v: Array, a: Array, b: Array | None, is_left: bool) -> tuple[Any, Any]:
    """Eigenvalues and vectors in the order of SciPy's, with the phases of these."""
    type = lift_fully(v).type

    def run(*matrices: Array) -> Any:
        return _scipy.eig(*matrices, left=is_left, right=not is_left)[1].astype(type.dtype)

    own = without_derivative("eigenvectors", run, type, *([a] if b is None else [a, b]))
    order = _columns_as(stop_gradient(v), own)
    w, v = np.take_along_axis(w, order, -1), np.take_along_axis(v, order[..., None, :], -1)
    return w, with_phases(v, own)


@_hosted
def eigvalsh(
    a: Array, b: Array | None = None, *, lower: bool = True, type: int = 1, **options: Any
) -> Any:
    return eigh(a, b, lower=lower, eigvals_only=True, type=type, **options)


@_composed
def svd(a: Array, full_matrices: bool = True, compute_uv: bool = True, **_: object) -> Any:
    if not compute_uv:
        return np.linalg.svdvals(a)
    return tuple(np.linalg.svd(a, full_matrices))


@_hosted
def svdvals(a: Array, **_: object) -> Any:
    return np.linalg.svdvals(a)


@_composed
def qr(a: Array, mode: str = "full", pivoting: bool = False, **_: object) -> Any:
    rows, columns = a.shape[-2:]
    if mode not in ("full", "economic", "r"):
        raise value_error(
            f"qr: expected mode 'full', 'economic' or 'r' for traced values, but got {mode!r}",
        )
    q, r, *order = orthogonal_factorizations.pivoted_qr(a) if pivoting else np.linalg.qr(a)
    if mode != "economic":  # r with as many rows as a
        margins = [(0, 0)] * (a.ndim - 2) + [(0, max(rows - columns, 0)), (0, 0)]
        r = np.pad(r, margins)
    if mode == "r":
        return (r, *order)
    if mode == "full" and rows > columns:
        beside = np.linalg.qr(a[..., order[0]] if pivoting else a, "complete").Q[..., columns:]
        q = np.concatenate([q, beside], axis=-1)
    return (q, r, *order)


@_hosted
def lstsq(a: Array, b: Array, cond: float | None = None, **options: object) -> Any:
    if cond is None:
        dtype = np.result_type(floating("lstsq", a).dtype, floating("lstsq", b).dtype)
        cond = float(np.finfo(dtype).eps)
    driver = options.get("lapack_driver")
    if driver == "gelsy":  # which has neither residues nor singular values
        rank, near = _by_columns(a, b, cond)
        x = np.linalg.lstsq(near, b)[0]
        return x, np.zeros(0, x.dtype), rank, None
    if driver == "gelss" and cond >= 1:  # every singular value counts as 0
        a = np.zeros_like(a)
    x, residues, rank, values = np.linalg.lstsq(a, b, cond)
    # SciPy's residue of a vector is a number.
    return x, residues[0] if np.ndim(b) == 1 and residues.size else residues, rank, values


def _by_columns(a: Array, b: Array, cond: float) -> tuple[Any, Any]:
    """The rank by pivots of QR, as "gelsy" finds it, and a projected onto as many columns of its own."""
    matrix: Any = number("lstsq", a)

    def run(a: Array, b: Array) -> Any:
        rank = _scipy.lstsq(a, b, cond, lapack_driver="gelsy")[2]
        kept = np.zeros(a.shape[1], bool)
        kept[_scipy.qr(a, mode="r", pivoting=True)[1][:rank]] = True
        return kept

    type = ArrayType(matrix.shape[1:], np.dtype(bool))
    kept = without_derivative(
        "pivot_columns", run, type, floating("lstsq", a), floating("lstsq", b)
    )
    columns = np.where(kept, matrix, 0)
    projected = columns @ np.linalg.pinv(columns) @ matrix
    return np.count_nonzero(kept), np.where(np.all(kept), matrix, projected)


lstsq = over_stacks("lstsq", lstsq)
_LATER = (
    matrix_equations,
    matrix_factorizations,
    matrix_powers,
    functions_of_eigenvalues,
    orthogonal_factorizations,
    schur_forms,
    banded_matrices,
    matrix_exponentials,
    special_matrices,
)
globals().update(
    {
        name: over_stacks(name, value)
        for module in _LATER
        for name, value in vars(module).items()
        if name[0] != "_" and getattr(_scipy, name, value) is not value
    }
)

__getattr__ = partial(attribute_of, _scipy)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_scipy)})
