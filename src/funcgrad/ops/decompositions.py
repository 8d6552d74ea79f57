"""Decompositions of matrices: `eigh`, `svd` and `qr`, whose value is a tuple.

Singular vectors, eigenvectors and factors are determined up to phases, and within a space that several
equal values share, up to a rotation. Derivatives are right for what does not depend on that choice. Vectors
of equal values turn into each other at an infinite rate: a tangent or cotangent that turns them makes NaN,
and one that is exactly 0 makes 0, so that functions of the values alone have their derivatives.
A product v*f(w) @ v^H or u*f(s) @ v^H has a derivative also between equal values: the simplifier makes one
operation of it (`funcgrad.ops.matrix_functions`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.linalg._linalg import EighResult, QRResult, SVDResult

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import LinearMap, Parts, Structural
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.entrywise import batched_as_stacks
from funcgrad.ops.base.matrix_stacks import (
    as_column,
    as_row,
    eye_like,
    hermitian_from,
    matrices,
    matrix_flops,
    mH,
    mT,
    real_dtype,
    svd_flops,
)
from funcgrad.ops.base.op import Op, same_on_batch
from funcgrad.ops.base.untaken_paths import matrix_or_identity
from funcgrad.ops.elementwise.arithmetic import determined_product, determined_quotient
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.reduced_resolvents import (
    columns_product,
    moved,
    moved_back,
    resolved,
    significant,
    transposed,
)
from funcgrad.ops.solve import solve_op
from funcgrad.ops.tuples import pick_op
from funcgrad.source import value_error
from funcgrad.typing import Array


def _part(z: object, index: int) -> Any:
    return pick_op(z, index=index)


def _on_diagonal(s: Array) -> Any:
    """The diagonal matrices of vectors."""
    return as_row(s) * eye_like(as_row(s))


def _diagonal(x: Array) -> Any:
    """The diagonals of matrices, whose other entries may be NaN."""
    return np.sum(mask(eye_like(x) != 0, x), axis=-1)


# -- eigh ----------------------------------------------------------------------------------------
def _eigh_type(a: ArrayType, triangle: str) -> Any:
    return TupleType((ArrayType(a.shape[:-1], real_dtype(a.dtype)), a))


def _eigh_edge(z: Array, a: Array, *, triangle: str) -> LinearMap:
    """dw_j = v_j^H da v_j, and v_j turns by the reduced resolvent (`funcgrad.ops.reduced_resolvents`)."""
    w, v = _part(z, 0), _part(z, 1)
    left, read = mT(mH(v)), hermitian_from(triangle)
    whole = read.apply(a)

    def forward(da: Array) -> Parts:
        change = moved(read.apply(da), v, None)
        slopes = np.real(np.sum(determined_product(left, change), axis=-2))
        return Parts({0: slopes, 1: resolved(whole, w, v, left, change, split=None)})

    def backward(g: Parts) -> Any:
        terms = []
        if 0 in g.of:
            terms.append(columns_product(determined_product(left, as_row(g.of[0])), v))
        if 1 in g.of:
            turned = resolved(mT(whole), w, left, v, g.of[1], split=None)
            terms.append(columns_product(turned, v))
        return reduce(add, terms) if terms else None

    def folded(g: Parts) -> Any:
        back = backward(g)
        return None if back is None else read.transpose(back)

    return Structural(forward, folded)


eigh_op: Op = Op(
    name="eigh",
    run=lambda a, triangle: tuple(np.linalg.eigh(a, triangle)),
    infer=_eigh_type,
    edges=(_eigh_edge,),
    batch=same_on_batch(lambda: eigh_op),
    notation=lambda x, triangle: f"eigh({x})" if triangle == "L" else f"eigh({x}, {triangle!r})",
    columns=Columns(
        flops=matrix_flops(lambda n: 9 * n**3),
        latex=Form("hermitian"),
        numpy="np.linalg.eigh({0}, {triangle})",
        libraries={"any": lambda xp, a, triangle: tuple(xp.linalg.eigh(a, triangle))},
        untaken=matrix_or_identity,
    ),
)


def eigh(a: Array, UPLO: str = "L") -> Any:
    """As `numpy.linalg.eigh`. One triangle is read, as ``UPLO`` says, and so the gradient lies there.

    Eigenvectors of equal eigenvalues have no derivative: a function that uses it has the derivative NaN.
    Eigenvalues are equal if their difference is within the rounding error of the largest one.
    The derivative of each such eigenvalue is along the vector that LAPACK chose, and sums over them are
    right to first order.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.eigh(a)[0][1])(np.diag([1.0, 3.0]))
    array([[0., 0.],
           [0., 1.]])
    """
    triangle = str(UPLO).upper()
    if triangle not in ("L", "U"):
        raise value_error(f"eigh: expected UPLO 'L' or 'U', but got {UPLO!r}")
    node = eigh_op(matrices("eigh", a), triangle=triangle)
    return EighResult(_part(node, 0), _part(node, 1))


def eigvalsh(a: Array, UPLO: str = "L") -> Any:
    """As `numpy.linalg.eigvalsh`; as the first of `eigh`."""
    return eigh(a, UPLO).eigenvalues


# -- svd -----------------------------------------------------------------------------------------
def _svd_type(a: ArrayType) -> Any:
    *stack, m, n = a.shape
    k = min(m, n)
    return TupleType(
        (
            ArrayType((*stack, m, k), a.dtype),
            ArrayType((*stack, k), real_dtype(a.dtype)),
            ArrayType((*stack, k, n), a.dtype),
        )
    )


def _svd_edge(z: Array, a: Array) -> LinearMap:
    """ds_j = Re(u_j^H da v_j), and (u_j, v_j) turns by the reduced resolvent of [[0, a], [a^H, 0]].

    Phases are put into u, as in Townsend 2016. See `funcgrad.ops.reduced_resolvents`.
    """
    u, s, v = _part(z, 0), _part(z, 1), mH(_part(z, 2))
    m, n = np.shape(a)[-2:]
    u_left, v_left = mT(mH(u)), mT(mH(v))
    both = np.concatenate([u, v], axis=-2)
    left = 0.5 * np.concatenate([u_left, v_left], axis=-2)
    is_complex = a.dtype.kind == "c"
    twice = significant(2 * s, s, max(m, n))

    def forward(da: Array) -> Parts:
        change = moved(da, both, m)
        along = np.sum(determined_product(u_left, change[..., :m, :]), axis=-2)
        turned = resolved(a, s, both, left, change, split=m)
        if is_complex:
            phase = determined_quotient(1j * np.imag(along), twice)
            turned = turned + determined_product(both, as_row(phase))
        return Parts({0: turned[..., :m, :], 1: np.real(along), 2: mH(turned[..., m:, :])})

    def backward(g: Parts) -> Any:
        terms = []
        if 1 in g.of:
            terms.append(columns_product(determined_product(u_left, as_row(g.of[1])), v))
        if 0 in g.of or 2 in g.of:
            gu = g.of.get(0, np.zeros_like(u))
            gv = mH(g.of[2]) if 2 in g.of else np.zeros_like(v)
            gz = np.concatenate([gu, gv], axis=-2)
            turned = resolved(transposed(a, m), s, left, both, gz, split=m)
            terms.append(moved_back(turned, both, m))
            if is_complex:
                phase = determined_quotient(np.sum(determined_product(gz, both), axis=-2), twice)
                row = as_row(1j * np.imag(phase))
                terms.append(columns_product(determined_product(u_left, row), v))
        return reduce(add, terms) if terms else None

    return Structural(forward, backward)


def _svd_flops(z: Expr) -> int:
    *stack, m, n = z.args[0].shape
    return math.prod(stack) * svd_flops(m, n)


svd_op: Op = Op(
    name="svd",
    run=lambda a: tuple(np.linalg.svd(a, full_matrices=False)),
    infer=_svd_type,
    edges=(_svd_edge,),
    batch=same_on_batch(lambda: svd_op),
    columns=Columns(
        flops=_svd_flops,
        numpy="np.linalg.svd({0}, full_matrices=False)",
        libraries={"any": lambda xp, a: tuple(xp.linalg.svd(a, full_matrices=False))},
        untaken=matrix_or_identity,
    ),
)


# The vectors beside the singular ones, which complete the thinner space to a basis, are a basis n of a null
# space. It turns out of that by dn = -w (y^H da n)/s, and within it at will. So a function of several vectors
# that their rotation does not change has its derivative in reverse mode, and one that it changes is an error.
# Tangents of several vectors are NaN, but for those of n @ n^H, which the simplifier recognizes.
def _complement(a: Array, xp: Any = np) -> Any:
    m, n = a.shape[-2:]
    u, _, vh = xp.linalg.svd(a)
    return u[..., n:] if m > n else xp.conj(xp.swapaxes(vh[..., m:, :], -1, -2))


def _complement_text(z: Expr, operands: Sequence[str]) -> str:
    m, n = z.args[0].shape[-2:]
    if m > n:
        return f"np.linalg.svd({operands[0]})[0][..., {n}:]"
    return f"np.conj(np.swapaxes(np.linalg.svd({operands[0]})[2][..., {m}:, :], -1, -2))"


def _complement_type(a: ArrayType) -> ArrayType:
    *stack, m, n = a.shape
    return ArrayType((*stack, max(m, n), abs(m - n)), a.dtype)


def _complement_edge(z: Array, a: Array) -> LinearMap:
    m, n = np.shape(a)[-2:]
    is_left, size = m > n, max(m, n)
    u, s, vh = [_part(svd_op(a), i) for i in range(3)]
    w, y = (u, mH(vh)) if is_left else (mH(vh), u)
    is_determined = abs(m - n) == 1 and a.dtype.kind != "c"  # up to its sign

    def over_values(x: Any) -> Any:
        column = as_column(significant(s, s, size))
        return determined_quotient(x, np.broadcast_to(column, np.shape(x)))

    def forward(da: Any) -> Any:
        change = np.matmul(mH(da) if is_left else da, z)
        found = -np.matmul(w, over_values(np.matmul(mH(y), change)))
        return found if is_determined else found + np.nan

    def backward(g: Any) -> Any:
        # Where nothing uses the vectors, neither do second derivatives.
        vectors = mT(mask(np.any(g != 0, axis=(-2, -1), keepdims=True), z))
        turned = np.matmul(over_values(np.matmul(mT(w), g)), vectors)
        found = -np.matmul(mT(mH(y)), turned)
        return (mH(found) if is_left else found) + (0.0 if is_determined else rotation(vectors, g))

    def rotation(vectors: Any, g: Any) -> Any:
        """0 for a function that a rotation of the vectors does not change, and an error for others."""
        length = np.sqrt(np.sum(np.abs(g) ** 2, axis=(-2, -1), keepdims=True))
        rate = rotation_rate_op(np.matmul(vectors, g), length, rows=size)
        return np.sum(rate, axis=(-2, -1), keepdims=True)

    return Structural(forward, backward)


def _rotation_rate(inner: Array, length: Array, rows: int) -> Any:
    bound = rows * np.finfo(inner.dtype).eps * length
    if np.any(np.abs(inner - mH(inner)) > bound):
        raise ValueError(
            "svd, qr: expected a function that does not depend on which vectors are chosen beside those of "
            "the matrix, as full_matrices=True, mode='full' and null_space add them, but it does, so it has "
            "no derivative; write full_matrices=False or mode='economic', or the projector eye(m) - u @ u.T"
        )
    return np.zeros(inner.shape, inner.dtype)


rotation_rate_op: Op = Op(
    name="rotation_rate",
    run=_rotation_rate,
    infer=lambda inner, length, rows: inner,
    edges=(None, None),
    batch=batched_as_stacks(lambda: rotation_rate_op),
    columns=Columns(
        decompose=lambda inner, length, rows: np.zeros_like(inner),
        shown=False,
        flops=lambda z: 3 * z.size,
    ),
)
"""Cotangents of vectors, times these: 0 if that is hermitian but for rounding errors, else an error."""


singular_complement_op: Op = Op(
    name="singular_complement",
    run=_complement,
    infer=_complement_type,
    edges=(_complement_edge,),
    batch=same_on_batch(lambda: singular_complement_op),
    columns=Columns(
        flops=_svd_flops,
        numpy=_complement_text,
        libraries={"any": lambda xp, a: _complement(a, xp)},
    ),
)


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """As `numpy.linalg.svd`.

    Vectors of equal singular values, and vectors of a singular value of 0, have no derivative: a function
    that uses it has the derivative NaN. A singular value of 0 has the derivative of u^H a v. Of the vectors
    that ``full_matrices`` adds, a single real one has a derivative. Several have one in reverse mode, for
    what their rotation does not change, such as a projector.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.svd(a, full_matrices=False)[1][0])(np.array([[3.0], [4.0]]))
    array([[0.6],
           [0.8]])
    """
    a = matrices("svd", a, square=hermitian)
    if hermitian:
        return _hermitian_svd(a) if compute_uv else np.sort(np.abs(eigvalsh(a)), axis=-1)[..., ::-1]
    node = svd_op(a)
    if not compute_uv:
        return _part(node, 1)
    u, values, vh = [_part(node, i) for i in range(3)]
    if full_matrices and a.shape[-2] > a.shape[-1]:
        u = np.concatenate([u, singular_complement_op(a)], axis=-1)
    elif full_matrices and a.shape[-2] < a.shape[-1]:
        vh = np.concatenate([vh, mH(singular_complement_op(a))], axis=-2)
    return SVDResult(u, values, vh)


def _hermitian_svd(a: Array) -> Any:
    """By eigenvalues and vectors, as in NumPy."""
    values, vectors = eigh(a)
    falling = np.argsort(np.abs(values), axis=-1)[..., ::-1]
    values = np.take_along_axis(values, falling, axis=-1)
    u = np.take_along_axis(vectors, as_row(falling), axis=-1)
    return SVDResult(u, np.abs(values), mH(u * as_row(np.sign(values))))


def svdvals(a: object, /) -> Any:
    """As `numpy.linalg.svdvals`: the singular values, falling."""
    return svd(a, compute_uv=False)


# -- qr ------------------------------------------------------------------------------------------
qr_complement_op: Op = Op(
    name="qr_complement",
    run=lambda a: np.linalg.qr(a, "complete")[0][..., a.shape[-1] :],
    infer=_complement_type,
    edges=(_complement_edge,),
    batch=same_on_batch(lambda: qr_complement_op),
    columns=Columns(
        flops=lambda z: _qr_flops(z),
        numpy=lambda z, texts: (
            f"np.linalg.qr({texts[0]}, 'complete')[0][..., {z.args[0].shape[-1]}:]"
        ),
        libraries={"any": lambda xp, a: xp.linalg.qr(a, mode="complete")[0][..., a.shape[-1] :]},
    ),
)
"""The orthonormal vectors beside the columns of matrices with more rows than columns."""


def _qr_type(a: ArrayType) -> Any:
    return TupleType((a, ArrayType((*a.shape[:-2], a.shape[-1], a.shape[-1]), a.dtype)))


def _qr_edge(z: Array, a: Array) -> LinearMap:
    """With y = da r^-1 and x = q^H y: q turns by what of x is not upper triangular (Walter 2010)."""
    q, r = _part(z, 0), _part(z, 1)
    is_complex = a.dtype.kind == "c"

    def turn(x: Array) -> Any:
        low = np.tril(x, -1)
        rest = _on_diagonal(np.imag(_diagonal(x)) * 1j) if is_complex else 0
        return low - mH(low) + rest

    def turn_back(g: Array) -> Any:
        rest = _on_diagonal(np.imag(_diagonal(g)) * 1j) if is_complex else 0
        return np.tril(g - mH(g), -1) + rest

    def forward(da: Array) -> Parts:
        y = mT(solve_op(mT(r), mT(da)))
        x = np.matmul(mH(q), y)
        rest = x - turn(x)
        return Parts({0: y - np.matmul(q, rest), 1: np.matmul(rest, r)})

    def backward(g: Parts) -> Any:
        rest = []
        if 0 in g.of:
            rest.append(-np.matmul(mT(q), g.of[0]))
        if 1 in g.of:
            rest.append(np.matmul(g.of[1], mT(r)))
        if not rest:
            return None
        gx = reduce(add, rest) - turn_back(reduce(add, rest))
        back = mT(mH(q))
        if 0 not in g.of:  # (The system of the small matrix is the small one.)
            return np.matmul(back, mT(solve_op(r, mT(gx))))
        return mT(solve_op(r, mT(np.matmul(back, gx) + g.of[0])))

    return Structural(forward, backward)


def _qr_flops(z: Expr) -> int:
    """By Householder's reflections, for k = min(m, n): 2k²(max(m, n) - k/3) for r, and 2k²(m - k/3) for q."""
    *stack, m, n = z.args[0].shape
    k = min(m, n)
    return math.prod(stack) * (2 * k * k * (3 * max(m, n) - k) + 2 * k * k * (3 * m - k)) // 3


qr_op: Op = Op(
    name="qr",
    run=lambda a: tuple(np.linalg.qr(a)),
    infer=_qr_type,
    edges=(_qr_edge,),
    batch=same_on_batch(lambda: qr_op),
    columns=Columns(
        flops=_qr_flops,
        numpy="np.linalg.qr({0})",
        libraries={"any": lambda xp, a: tuple(xp.linalg.qr(a))},
        untaken=matrix_or_identity,
    ),
)


def qr(a: Any, mode: str = "reduced") -> Any:
    """As `numpy.linalg.qr` with mode 'reduced', 'complete' or 'r'.

    The first columns, as many as there are rows, must be independent: the derivative divides by r. Those
    that 'complete' adds have derivatives as those that `svd` adds.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.qr(a)[1][0, 0])(np.array([[3.0], [4.0]]))
    array([[-0.6],
           [-0.8]])
    """
    a = matrices("qr", a, square=False)
    m, n = a.shape[-2:]
    if mode not in ("reduced", "r", "complete"):
        raise value_error(
            f"qr: expected mode 'reduced', 'complete' or 'r', but got {mode!r}; LAPACK's form has no "
            "derivatives here",
        )
    node = qr_op(a[..., :, :m] if m < n else a)
    q, r = _part(node, 0), _part(node, 1)
    if m < n:
        r = np.concatenate([r, np.matmul(mH(q), a[..., :, m:])], axis=-1)
    elif mode == "complete" and m > n:
        q = np.concatenate([q, qr_complement_op(a)], axis=-1)
        r = np.concatenate([r, np.zeros((*a.shape[:-2], m - n, n), a.dtype)], axis=-2)
    return r if mode == "r" else QRResult(q, r)
