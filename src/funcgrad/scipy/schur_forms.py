"""Schur's form of a matrix, and of two: `schur`, `qz` and `ordqz`.

The values are SciPy's. The vectors are the orthogonal factor of the eigenvectors, in the order of SciPy's
diagonal. In real forms they are determined up to signs: a block of a pair of complex eigenvalues has equal
entries on its diagonal, and the block of the second matrix beside it is diagonal. In complex forms they are
determined up to phases, in which they do not turn: the product of each with its present value stays real.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import (
    composed,
    floating,
    nondifferentiable,
    with_phases,
    with_value,
    without_derivative,
)
from funcgrad.scipy.matrix_equations import in_one_dtype, square_matrix
from funcgrad.transforms.grad import stop_gradient
from funcgrad.transforms.vmap import vmap
from funcgrad.typing import Array, ArrayLike

_kept = composed(_scipy, single=True, host=True)


def _own(who: str, run: Callable[..., Any], count: int, *given: Array) -> Any:
    """SciPy's triangles and vectors, stacked, without a derivative."""
    out = lambda a, *_: ArrayType((count, *a.shape), a.dtype)  # noqa: E731
    return without_derivative(who, lambda *given: np.stack(run(*given)), out, *given)


def _beside(x: Array, steps: int) -> Any:
    return np.roll(x, steps, axis=-1)


def _pairs(form: Array) -> Any:
    """Which columns are the first of a pair of complex eigenvalues."""
    return np.pad(np.diagonal(form, -1) != 0, (0, 1))


def _eigenvalues(form: Array, second: Array) -> Any:
    """The eigenvalues of a form, in the order of its diagonal; a block of the second matrix is diagonal."""
    scaled = form / np.diagonal(second)
    if form.dtype.kind == "c":
        return np.diagonal(scaled)
    first, d = _pairs(form), np.diagonal(scaled)
    product = np.pad(np.diagonal(scaled, 1) * np.diagonal(scaled, -1), (0, 1))
    half = (d - _beside(d, -1)) / 2
    size = np.sqrt(np.where(first, -(half * half + product), 0.0))
    middle = np.where(first, (d + _beside(d, -1)) / 2, 0.0)
    paired = first | _beside(first, 1)
    real = np.where(paired, middle + _beside(middle, 1), d)
    return real + 1j * (size - _beside(size, 1))


def _eigenvectors(matrix: Array, wanted: Array, first: Array | None) -> Any:
    """Eigenvectors in the order of eigenvalues; of a pair, the real and the imaginary part of one."""
    if not len(matrix):
        return matrix
    w, v = np.linalg.eig(matrix + 0j)
    nearest = np.argmin(np.abs(w[:, None] - wanted), axis=0)
    by_size = np.argsort(np.real(w))[np.argsort(np.argsort(np.real(wanted)))]
    apart = np.all(np.sort(nearest) == np.arange(len(w)))
    v = v[:, np.where(apart, nearest, by_size)]
    if first is None:
        return v
    return np.where(_beside(first, 1), _beside(np.imag(v), 1), np.real(v))


def _turned(z: Array, first: Array, double: tuple[Array, Array], size: Array) -> Any:
    """The columns of each pair turned by half the angle with this sine and cosine, but for a factor.

    The derivative is NaN where both are rounding of numbers of this size, so that any angle would do.
    """
    known = np.where(np.hypot(*stop_gradient(double)) > 1e-13 * stop_gradient(size), 1.0, 0.0)
    sine, cosine = [np.where(first, np.pad(known * x, (0, 1)), k) for k, x in enumerate(double)]
    turns = [known + (1 - known) * (x - stop_gradient(x)) for x in double]
    # 1 or 0 less itself; sqrt has no slope at 0.
    unknown = [np.where(first, np.pad(np.sqrt(x) - known, (0, 1)), 0.0) for x in turns]
    angle = np.arctan2(sine, cosine) / 2 + unknown[0] + unknown[1]
    turn, both = np.sin(angle), angle + _beside(angle, 1)
    return np.cos(both) * z + turn * _beside(z, -1) - _beside(turn, 1) * _beside(z, 1)


def _as_own(z: Array, own: Array) -> Any:
    """The vectors with SciPy's signs, and phases that do not turn."""
    if z.dtype.kind == "c":
        overlap = np.sum(np.conj(z) * own, axis=0)
        return z * (overlap / np.abs(overlap))
    return z @ stop_gradient(np.rint(z.T @ own))


def _block_triangle(form: Array, own: Array) -> Any:
    """A form without what rounding leaves below its blocks."""
    if own.dtype.kind == "c":
        return np.triu(form)
    below = np.diag(np.where(np.diagonal(own, -1) != 0, np.diagonal(form, -1), 0.0), -1)
    return np.triu(form) + below


# -- of one matrix ---------------------------------------------------------------------------------
@_kept
def schur(
    a: ArrayLike, output: str = "real", sort: str | Callable[..., Any] | None = None, **_: object
) -> Any:
    """As `scipy.linalg.schur`, for a matrix with distinct eigenvalues.

    With equal eigenvalues, and a pair of complex ones whose block is a
    multiple of a rotation, the derivative is NaN: the vectors jump.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: schur(a)[0][0, 0])(np.array([[2.0, 1.0], [0.0, 1.0]]))
    array([[1., 0.],
           [1., 0.]])
    """
    given = floating("schur", a)  # signs depend on the precision
    (matrix,) = in_one_dtype("schur", square_matrix("schur", given))
    if output in ("complex", "c"):
        given, matrix = given + np.zeros((), np.complex64), matrix + 0j
    own = _own("schur", lambda a: _scipy.schur(a, output, sort=sort)[:2], 2, given)
    own = own.astype(matrix.dtype)
    first = None if matrix.dtype.kind == "c" else _pairs(own[0])
    wanted = _eigenvalues(own[0], np.eye(len(matrix)))
    z = np.linalg.qr(_eigenvectors(matrix, wanted, first))[0]
    if first is not None and len(matrix) > 1:
        form = z.T @ matrix @ z
        d = np.diagonal(form)
        above, below = np.diagonal(form, 1), np.diagonal(form, -1)
        size = np.abs(above) + np.abs(below) + np.abs(d[1:])
        z = _turned(z, first, (d[1:] - d[:-1], above + below), size)
    z = _as_own(z, own[1])
    form = _block_triangle(np.conj(z.T) @ matrix @ z, own[0])
    found = with_value(own[0], form), with_value(own[1], z)
    if sort is None:
        return found
    count = lambda a: _scipy.schur(a, output, sort=sort)[2]  # noqa: E731
    return *found, nondifferentiable("schur", count, given)


# -- of two ----------------------------------------------------------------------------------------
def _generalized(who: str, run: Callable[..., Any], a: Array, b: Array) -> list[Any]:
    """Both triangles and the vectors on both sides, as ``run`` gives them.

    The right vectors z are the orthogonal factor of the eigenvectors of b^-1 a, the left ones that of b z.
    """
    own = _own(who, run, 4, a, b)
    first = None if a.dtype.kind == "c" else _pairs(own[0])
    v = _eigenvectors(np.linalg.solve(b, a), _eigenvalues(own[0], own[1]), first)
    z = np.linalg.qr(v)[0]
    if first is not None and len(a) > 1:
        r = np.linalg.qr(b @ z)[1]
        d, above = np.diagonal(r), np.diagonal(r, 1)
        double = 2 * d[:-1] * above, d[:-1] ** 2 - above**2 - d[1:] ** 2
        z = _turned(z, first, double, d[:-1] ** 2 + d[1:] ** 2)
    z = _as_own(z, own[3])
    q, r = np.linalg.qr(b @ z)
    phases = np.diagonal(r) / np.abs(np.diagonal(r))  # of a diagonal without a turn
    q = with_phases(q * phases, own[2])
    adjoint = np.conj(q.T)
    found = _block_triangle(adjoint @ a @ z, own[0]), np.triu(adjoint @ b @ z), q, z
    return [with_value(own[k], found[k]) for k in range(4)]


def _pair(who: str, a: ArrayLike, b: ArrayLike, output: str) -> tuple[Any, Any]:
    kind: Any = 0j if output in ("complex", "c") else 0
    first, second = [
        lift_fully(square_matrix(who, item)) + kind for item in in_one_dtype(who, a, b)
    ]
    return first, second


@_kept
def qz(A: ArrayLike, B: ArrayLike, output: str = "real", sort: None = None, **_: object) -> Any:
    """As `scipy.linalg.qz`, for matrices with distinct generalized
    eigenvalues, of which B is not singular.
    """
    run = lambda a, b: _scipy.qz(a, b, output, sort=sort)  # noqa: E731
    return tuple(_generalized("qz", run, *_pair("qz", A, B, output)))


@_kept
def ordqz(
    A: ArrayLike,
    B: ArrayLike,
    sort: str | Callable[..., Any] = "lhp",
    output: str = "real",
    **_: object,
) -> Any:
    """As `scipy.linalg.ordqz`, as `qz`."""
    a, b = _pair("ordqz", A, B, output)

    def run(a: Array, b: Array) -> Any:
        found = _scipy.ordqz(a, b, sort, output)
        return (*found[:2], *found[4:])

    first, second, q, z = _generalized("ordqz", run, a, b)
    # The second triangle has no negative entries on the diagonal.
    alpha, beta = np.diagonal(first) + 0j, np.diagonal(second)
    if a.dtype.kind != "c" and len(a) > 1:
        is_first = _pairs(stop_gradient(first))
        paired = is_first | _beside(is_first, 1)
        scale = np.where(is_first, _scale_of_pairs(first, second), 0.0)
        scale = np.where(paired, scale + _beside(scale, 1), 1.0)
        alpha = np.where(paired, scale * _eigenvalues(first, second), alpha)
        beta = np.where(paired, scale, beta)
    return first, second, alpha, beta, q, z


def _scale_of_pairs(first: Array, second: Array) -> Any:
    """The beta of each pair of complex eigenvalues, which LAPACK's ``lag2`` scales to avoid overflow."""

    def blocks(x: Array) -> tuple[Any, Any, Any, Any]:
        pad = [np.pad(np.diagonal(x, k), (0, abs(k))) for k in (0, 1, -1)]
        return pad[0], pad[1], pad[2], _beside(pad[0], -1)

    a, b = [np.abs(item) for item in blocks(first)], [np.abs(item) for item in blocks(second)]
    a_scale = 1 / np.maximum(a[0] + a[2], a[1] + a[3])
    b_size = np.maximum(b[0], b[3])
    scale = a_scale * b_size
    w = _eigenvalues(first, second) * scale
    least = np.where(np.minimum(a_scale, b_size) <= 1, np.minimum(1.0, scale), 1.0)
    return scale / np.minimum(1.0, np.maximum(np.abs(w.real) + np.abs(w.imag), least) / 2)


# -- pairs of numbers whose quotients are the eigenvalues ------------------------------------------
def homogeneous_eigenvalues(who: str, run: Callable[..., Any], a: Array, b: Array) -> Any:
    """As ``run`` gives them: alpha and beta, the diagonals of the triangles in the order of eigenvalues."""
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if stack:
        rows = [
            np.broadcast_to(x, (*stack, *x.shape[-2:])).reshape(-1, *x.shape[-2:]) for x in (a, b)
        ]
        found = vmap(lambda a, b: homogeneous_eigenvalues(who, run, a, b))(*rows)
        return np.reshape(found, (*stack, *found.shape[1:]))
    own = without_derivative(who, run, ArrayType((2, a.shape[0]), np.dtype(complex)), a, b)
    a, b = lift_fully(a) + 0j, lift_fully(b) + 0j
    v = _eigenvectors(np.linalg.solve(b, a), own[0] / own[1], None)
    z = np.linalg.qr(v)[0]
    q, r = np.linalg.qr(b @ z)
    phases = np.diagonal(r) / np.abs(np.diagonal(r))
    alpha = np.diagonal(np.conj(q.T) @ a @ z) / phases
    return with_value(own, np.stack([alpha, np.abs(np.diagonal(r))]))
