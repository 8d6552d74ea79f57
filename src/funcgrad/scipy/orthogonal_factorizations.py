"""Hessenberg's form, RQ, products with the factor of QR, its updates, and bases of range and null space.

Values are SciPy's. Vectors are determined up to signs, or phases, which are SciPy's and have no derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.elementwise.arithmetic import determined_quotient
from funcgrad.scipy.composition import (
    as_single,
    composed,
    floating,
    nondifferentiable,
    nondifferentiable_parts,
    number,
    with_phases,
    with_value,
)
from funcgrad.scipy.external_function import with_pushforward
from funcgrad.scipy.matrix_equations import in_one_dtype, square_matrix
from funcgrad.source import type_error, value_error
from funcgrad.transforms.control_flow.loops import scan
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy, host=True)
_kept = composed(_scipy, single=True, host=True)


def _adjoint(a: Array) -> Any:
    return np.conj(a.T)


# -- Hessenberg's form -------------------------------------------------------------------------------
def _reduced_slope(a: Array, both: Array, da: Array) -> Any:
    """With q = exp(w): x = q^H da q = w h - h w + dh, and w is antihermitian, with nothing in column 0."""
    h, q = both[0], both[1]
    x = _adjoint(q) @ da @ q
    w = _turns(h, x)
    return np.stack([np.triu(x - w @ h + h @ w, -1), q @ w])


_reduced = with_pushforward(
    "hessenberg",
    lambda a: np.stack(_scipy.hessenberg(a, calc_q=True)),
    lambda a: ArrayType((2, *a.shape), a.dtype),
    _reduced_slope,
)
"""Hessenberg's form and its vectors, of at least three rows."""


def _turns(h: Array, x: Array) -> Any:
    """w, column by column: nothing of w h - h w - x is left below the diagonal under the main one."""
    n, is_complex = h.shape[0], h.dtype.kind == "c"
    unit, below = np.eye(n), np.tril(np.ones((n, n)), -1)
    steps = {
        "x": x.T[:-1],
        "known": (np.triu(h)).T[:-1],
        "divisor": np.diagonal(h, -1),
        "place": unit[:-1],
        "next": unit[1:],
        "below": below.T[1:],
    }

    def step(w: Array, at: Mapping[str, Array]) -> tuple[Any, None]:
        column = at["x"] + h @ (w @ at["place"]) - w @ at["known"]
        divisor = at["divisor"] * np.ones(n)
        turned = determined_quotient(column * at["below"], divisor)
        w = w + np.outer(turned, at["next"]) - np.outer(at["next"], np.conj(turned))
        if is_complex:  # the entries below the diagonal are real
            turn = 1j * np.imag(determined_quotient(column * at["next"], divisor))
            w = w + np.outer(turn, at["next"])
        return w, None

    return scan(step, 0 * x, steps)[0]


@_kept
def hessenberg(a: ArrayLike, calc_q: bool = False, **_: object) -> Any:
    """As `scipy.linalg.hessenberg`.

    Where an entry below the diagonal is 0, the vectors after it are not
    determined: the derivative is NaN, except where they do not turn.

    >>> import funcgrad as fg
    >>> a = np.array([[1.0, 2.0, 0.0], [3.0, 1.0, 1.0], [4.0, 0.0, 2.0]])
    >>> fg.grad(lambda a: hessenberg(a)[1, 0])(a)[:, 0]
    array([ 0. , -0.6, -0.8])
    """
    matrix = square_matrix("hessenberg", number("hessenberg", a))
    if matrix.shape[0] <= 2:
        return (matrix, np.eye(matrix.shape[0])) if calc_q else matrix
    both = _reduced(matrix)
    return (both[0], both[1]) if calc_q else both[0]


@_composed
def cossin(X: object, **options: object) -> Any:
    """As `scipy.linalg.cossin` of plain matrices; a traced one is refused."""
    raise type_error(
        "cossin: expected a plain matrix, since the vectors beside the angles are determined up to a "
        "rotation only, but got a traced one; write np.linalg.svd of its blocks: the singular values of "
        "x[:p, :q] are the cosines, those of x[p:, :q] the sines, and their vectors are those of cossin",
    )


# -- RQ, and products with the factor of QR ----------------------------------------------------------
@_kept
def rq(a: ArrayLike, mode: str = "full", **_: object) -> Any:
    """As `scipy.linalg.rq`.

    The last rows, as many as there are columns, must be independent. The
    rows of q beside them are arbitrary, so that a matrix with more columns
    than rows takes the modes 'economic' and 'r'.
    """
    matrix: Any = number("rq", a)
    m, n = matrix.shape
    if mode not in ("economic", "r") and (mode != "full" or m < n):
        raise value_error(
            f"rq: expected mode 'economic' or 'r' for traced values, but got {mode!r}; the rows of q beside "
            "those that span the rows of a are arbitrary, and have no derivative",
        )
    # With the rows in reverse, the adjoint is q^H r^H, with r^H turned by half a turn.
    left, right = np.linalg.qr(_adjoint(matrix)[:, ::-1])
    r, q = _adjoint(right)[::-1, ::-1], _adjoint(left)[::-1]
    own_r, own_q = nondifferentiable_parts("rq", lambda a: _scipy.rq(a, mode="economic"), 2, matrix)
    q = with_phases(q, own_q, axis=1)
    r = with_value(own_r, np.triu(matrix @ _adjoint(q), r.shape[1] - m))
    if mode == "r":
        return np.concatenate([np.zeros((m, n - m)), r], axis=1) if m < n else r
    return r, with_value(own_q, q)


@_kept
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: str = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    **_: object,
) -> Any:
    matrix, factor = number("qr_multiply", a), number("qr_multiply", c)
    if mode not in ("left", "right"):
        raise value_error(f"qr_multiply: expected mode 'left' or 'right', but got {mode!r}")
    q, r, *order = pivoted_qr(matrix) if pivoting else np.linalg.qr(matrix)
    q = np.conj(q) if conjugate else q
    inside = [q.shape[1], q.shape[0]][mode == "right"]
    if factor.shape[-1 if mode == "right" or factor.ndim < 2 else 0] != inside:
        raise value_error(
            f"qr_multiply: expected shapes that fit {'Q @ c' if mode == 'left' else 'c @ Q'}, but got "
            f"{matrix.shape} and {factor.shape}",
        )
    run = lambda a, c: _scipy.qr_multiply(a, c, mode, pivoting, conjugate)  # noqa: E731
    own = nondifferentiable_parts("qr_multiply", run, 2, matrix, factor)
    product = q @ factor if mode == "left" else factor @ q
    return (with_value(own[0], product), with_value(own[1], r), *order)


def pivoted_qr(a: Array) -> tuple[Any, Any, Any]:
    """The reduced factors of a matrix whose columns are exchanged as LAPACK does, and the order."""
    order = nondifferentiable(
        "qr_order", lambda a: _scipy.qr(a, mode="r", pivoting=True)[1].astype(np.int32), a
    )
    q, r = np.linalg.qr(lift_fully(a)[:, order])
    return q, r, order


# -- bases of the range and the null space -------------------------------------------------------------
def _rank(name: str, a: ArrayLike, rcond: float | None) -> int:
    """The number of singular values above SciPy's bound for a's precision: it is read from the values."""
    values = np.linalg.svdvals(number(name, a))
    given = floating(name, a)
    relative = np.finfo(given.dtype).eps * max(given.shape) if rcond is None else rcond
    return int(by_value(np.sum(values > np.max(values, initial=0.0) * relative), name))


@_composed
def orth(A: ArrayLike, rcond: float | None = None) -> Any:
    """As `scipy.linalg.orth`.

    Vectors of equal singular values are arbitrary within their space, and have
    the derivative NaN; ``A @ pinv(A)`` is the projector onto the range.
    """
    whole: Any = number("orth", A)
    matrix, rank = whole, _rank("orth", A, rcond)
    if rcond is not None and rank < min(whole.shape):  # what is cut off need not be 0
        matrix = whole @ np.linalg.pinv(whole, rcond) @ whole
    u, s, vh = np.linalg.svd(matrix, full_matrices=False)
    if rank < s.shape[0]:  # singular vectors in a basis of the range
        columns = stop_gradient(_adjoint(vh[:rank]) / s[:rank])
        basis = np.linalg.qr(matrix @ columns)[0]
        u = basis @ np.linalg.svd(_adjoint(basis) @ matrix, full_matrices=False)[0]
    dtype = whole.dtype

    def run(a: Array) -> Any:
        return _scipy.svd(a, full_matrices=False)[0][:, :rank].astype(dtype)

    own = nondifferentiable("orth", run, floating("orth", A))
    return as_single(with_value(own, with_phases(u[:, :rank], own)), A)


@_composed
def null_space(
    A: ArrayLike, rcond: float | None = None, *, lapack_driver: str = "gesdd", **_: object
) -> Any:
    """As `scipy.linalg.null_space`.

    One vector has its derivative. Several are arbitrary within their space.
    They have one in reverse mode, for what their rotation does not change, if
    the rows of A are independent, and NaN otherwise; ``eye(n) - pinv(A) @ A``
    is the projector onto their space, with all derivatives.
    """
    matrix = number("null_space", A)
    rank = _rank("null_space", A, rcond)
    m, n = matrix.shape
    dtype = matrix.dtype

    def run(a: Array) -> Any:
        return _scipy.svd(a, lapack_driver=lapack_driver)[2][rank:].T.conj().astype(dtype)

    own = nondifferentiable("null_space", run, floating("null_space", A))
    if n - rank == 1:  # the vector whose product with itself, as it is here, is 1
        found = np.linalg.pinv(np.concatenate([matrix, _adjoint(own)]))[:, -1:]
        found = found / np.linalg.norm(found)
    elif rank == m:
        beside = _adjoint(np.linalg.svd(matrix).Vh[m:])
        found = np.matmul(beside, stop_gradient(np.matmul(_adjoint(beside), own)))
    else:
        square = np.pad(matrix, ((0, max(n - m, 0)), (0, 0)))
        found = with_phases(_adjoint(np.linalg.svd(square, full_matrices=False)[2][rank:]), own)
    return as_single(with_value(own, found), A)


# -- updates of a QR factorization ----------------------------------------------------------------
# The factors are those of the new matrix, with SciPy's signs, and so is their derivative. The given factors
# are those of a matrix: q has orthonormal columns, and r is upper triangular. Phases of complex factors are
# SciPy's choice, and have no derivative.
def _updated(name: str, a: Array, run: Callable[..., Any], *given: Array) -> tuple[Any, Any]:
    """Those of the matrix a, whose value is SciPy's ``run`` of the given arrays."""
    own_q, own_r = nondifferentiable_parts(name, run, 2, *given)
    rows, columns = a.shape[0], own_q.shape[1]
    beside = columns - min(a.shape)
    if beside > 1:
        raise value_error(
            f"{name}: expected at most one column of q beside those that span the new matrix of shape "
            f"{a.shape}, but got {beside}, which are arbitrary and have no derivative; start from "
            "qr(a, mode='economic')",
        )
    # One column beside the others is orthogonal to them all.
    whole = np.concatenate([a, own_q[:, -1:]], axis=1) if beside == 1 else a
    q = with_phases(np.linalg.qr(whole)[0], own_q)
    found = np.triu(np.conj(q.T) @ a)
    return with_value(own_q, q), with_value(own_r, found[: min(rows, columns)])


@_kept
def qr_delete(
    Q: ArrayLike, R: ArrayLike, k: int, p: int = 1, which: str = "row", **_: object
) -> Any:
    q, r = in_one_dtype("qr_delete", Q, R)
    first, count = [int(by_value(item, "qr_delete")) for item in (k, p)]
    run = lambda q, r: _scipy.qr_delete(q, r, first, count, which)  # noqa: E731
    axis = 0 if which == "row" else 1
    a = q @ r
    start = first % a.shape[axis]
    left = np.delete(np.arange(a.shape[axis]), np.arange(start, start + count))
    return _updated("qr_delete", np.take(a, left, axis), run, q, r)


@_kept
def qr_insert(
    Q: ArrayLike,
    R: ArrayLike,
    u: ArrayLike,
    k: int,
    which: str = "row",
    rcond: float | None = None,
    **_: object,
) -> Any:
    q, r, new = in_one_dtype("qr_insert", Q, R, u)
    place = int(by_value(k, "qr_insert"))
    run = lambda q, r, u: _scipy.qr_insert(q, r, u, place, which, rcond)  # noqa: E731
    axis = 0 if which == "row" else 1
    a = q @ r
    more = np.expand_dims(new, axis) if new.ndim == 1 else new
    start = place % a.shape[axis] if place < 0 else place
    before, after = np.split(a, [start], axis)
    return _updated("qr_insert", np.concatenate([before, more, after], axis), run, q, r, new)


@_kept
def qr_update(Q: ArrayLike, R: ArrayLike, u: ArrayLike, v: ArrayLike, **_: object) -> Any:
    q, r, left, right = in_one_dtype("qr_update", Q, R, u, v)
    beside = lift_fully(right)
    moved = np.outer(left, np.conj(beside)) if left.ndim == 1 else left @ np.conj(beside.T)
    return _updated("qr_update", q @ r + moved, _scipy.qr_update, q, r, left, right)
