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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import LinearMap, Parts, Structural
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.matrix_stacks import (
    eye_like,
    hermitian_from,
    matrices,
    matrix_flops,
    mH,
    mT,
    of_stacks,
    real_dtype,
    svd_flops,
)
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.arithmetic import determined_quotient
from funcgrad.ops.elementwise.selection import mask, stopped
from funcgrad.ops.solve import solve_op
from funcgrad.ops.tuples import pick_op
from funcgrad.source import fail
from funcgrad.typing import Array


def _part(z: object, index: int) -> Any:
    return pick_op(z, index=index)


def _row(s: Array) -> Any:
    return np.expand_dims(s, -2)


def _column(s: Array) -> Any:
    return np.expand_dims(s, -1)


def _on_diagonal(s: Array) -> Any:
    """The diagonal matrices of vectors."""
    return _row(s) * eye_like(_row(s))


def _diagonal(x: Array) -> Any:
    """The diagonals of matrices, whose other entries may be NaN."""
    return np.sum(mask(eye_like(x) != 0, x), axis=-1)


def differences(s: Array, size: int) -> Any:
    """s_j - s_i, and 0 where it is as small as the rounding error of a decomposition of ``size`` rows."""
    return significant(_row(s) - _column(s), s, size)


def significant(x: Array, s: Array, size: int) -> Any:
    """x, and 0 where it is as small as the rounding error of a decomposition of ``size`` rows."""
    if not s.shape[-1]:
        return x
    largest = np.max(np.abs(s), axis=-1, keepdims=True)
    largest = largest[..., None] if np.ndim(x) > np.ndim(s) else largest
    return mask(np.abs(x) > size * np.finfo(s.dtype).eps * stopped(largest), x)


def off_diagonal(x: Array, y: Array) -> Any:
    """x/y, and 0 on the diagonal; where y is 0, it is 0 if x is, and NaN otherwise."""
    return determined_quotient(mask(1 - eye_like(x) != 0, x), y)


def _sum(terms: list[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _multiplied(*factors: npt.ArrayLike) -> Any:
    product = factors[0]
    for factor in factors[1:]:
        product = np.matmul(product, factor)
    return product


# -- eigh ----------------------------------------------------------------------------------------
class EighResult(NamedTuple):
    """Eigenvalues, rising, and eigenvectors in columns."""

    eigenvalues: Any
    eigenvectors: Any


def _eigh_type(a: ArrayType, triangle: str) -> Any:
    return TupleType((ArrayType(a.shape[:-1], real_dtype(a.dtype)), a))


def _eigh_edge(z: Array, a: Array, *, triangle: str) -> LinearMap:
    """With x = v^H da v: dw is its diagonal, and dv = v (x / (w_j - w_i)); 0/0 is 0, and x/0 is NaN."""
    w, v = _part(z, 0), _part(z, 1)
    gaps = differences(w, w.shape[-1])

    def forward(da: Array) -> Parts:
        x = _multiplied(mH(v), da, v)
        return Parts({0: np.real(_diagonal(x)), 1: np.matmul(v, off_diagonal(x, gaps))})

    def backward(g: Parts) -> Any:
        if 1 not in g.of:
            return np.matmul(mT(mH(v)) * _row(g.of[0]), mT(v)) if 0 in g.of else None
        turned = off_diagonal(np.matmul(mT(v), g.of[1]), gaps)
        if 0 in g.of:
            turned = turned + _on_diagonal(g.of[0])
        return _multiplied(mT(mH(v)), turned, mT(v))

    def folded(g: Parts) -> Any:
        back = backward(g)
        return None if back is None else hermitian_from(triangle).transpose(back)

    return Structural(lambda da: forward(hermitian_from(triangle).apply(da)), folded)


eigh_op: Op = Op(
    name="eigh",
    run=lambda a, triangle: tuple(np.linalg.eigh(a, triangle)),
    infer=_eigh_type,
    edges=(_eigh_edge,),
    batch=of_stacks(lambda: eigh_op),
    notation=lambda x, triangle: f"eigh({x})" if triangle == "L" else f"eigh({x}, {triangle!r})",
    columns=Columns(
        flops=matrix_flops(lambda n: 9 * n**3),
        latex=Form("hermitian"),
        numpy="np.linalg.eigh({0}, {triangle})",
        libraries={"any": lambda xp, a, triangle: tuple(xp.linalg.eigh(a, triangle))},
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
        raise fail(ValueError, f"eigh: expected UPLO 'L' or 'U', but got {UPLO!r}")
    node = eigh_op(matrices("eigh", a), triangle=triangle)
    return EighResult(_part(node, 0), _part(node, 1))


def eigvalsh(a: Array, UPLO: str = "L") -> Any:
    """As `numpy.linalg.eigvalsh`; as the first of `eigh`."""
    return eigh(a, UPLO).eigenvalues


# -- svd -----------------------------------------------------------------------------------------
class SVDResult(NamedTuple):
    """Left vectors in columns, singular values, falling, and right vectors in rows."""

    U: Any
    S: Any
    Vh: Any


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
    """With x = u^H da v: ds is its diagonal, and u, v turn so that the rest of x stays 0 (Townsend 2016).

    The hermitian part of x turns u and v alike, by p/(s_j - s_i), and the rest of it turns them apart, by
    q/(s_j + s_i). What of da lies outside the spaces of u and v turns these out of themselves, by its
    quotient with s. Phases are put into u. A quotient 0/0 is 0, and x/0 is NaN.
    """
    u, s, v = _part(z, 0), _part(z, 1), mH(_part(z, 2))
    m, n = np.shape(a)[-2:]
    is_complex = a.dtype.kind == "c"
    apart, together = differences(s, max(m, n)), significant(_row(s) + _column(s), s, max(m, n))
    row = significant(_row(s), s, max(m, n))

    def outside(x: Array, y: Array) -> Any:
        """y less what of it lies in the space of x."""
        return y - _multiplied(x, mH(x), y)

    def outside_back(x: Array, g: Array) -> Any:
        return g - _multiplied(mT(mH(x)), mT(x), g)

    def over(x: Array) -> Any:
        return determined_quotient(x, np.broadcast_to(row, np.shape(x)))

    def forward(da: Array) -> Parts:
        x = _multiplied(mH(u), da, v)
        alike = off_diagonal((x + mH(x)) * 0.5, apart)
        opposed = off_diagonal((x - mH(x)) * 0.5, together)
        du, dv = np.matmul(u, alike + opposed), np.matmul(v, alike - opposed)
        if is_complex:
            du = du + u * over(_row(1j * np.imag(_diagonal(x))))
        if m > n:
            du = du + over(outside(u, np.matmul(da, v)))
        if n > m:
            dv = dv + over(outside(v, np.matmul(mH(da), u)))
        return Parts({0: du, 1: np.real(_diagonal(x)), 2: mH(dv)})

    def backward(g: Parts) -> Any:
        if g.of.keys() == {1}:
            return np.matmul(mT(mH(u)) * _row(g.of[1]), mT(v))
        inner, outer, alike, opposed = [], [], [], []
        if 0 in g.of:
            gu = g.of[0]
            turned = np.matmul(mT(u), gu)
            alike.append(turned)
            opposed.append(turned)
            if is_complex:
                inner.append(_on_diagonal(over(_row(np.imag(_diagonal(turned)) * 1j))[..., 0, :]))
            if m > n:
                outer.append(np.matmul(over(outside_back(u, gu)), mT(v)))
        if 1 in g.of:
            inner.append(_on_diagonal(g.of[1]))
        if 2 in g.of:
            gv = mH(g.of[2])
            turned = np.matmul(mT(v), gv)
            alike.append(turned)
            opposed.append(-turned)
            if n > m:
                outer.append(mH(np.matmul(over(outside_back(v, gv)), mT(u))))
        if alike:
            half = 0.5 * off_diagonal(_sum(alike), apart)
            rest = 0.5 * off_diagonal(_sum(opposed), together)
            inner.append(half + mH(half) + rest - mH(rest))
        if not inner:
            return None
        return _sum([_multiplied(mT(mH(u)), _sum(inner), mT(v)), *outer])

    return Structural(forward, backward)


def _svd_flops(z: Expr) -> int:
    *stack, m, n = z.args[0].shape
    return math.prod(stack) * svd_flops(m, n)


svd_op: Op = Op(
    name="svd",
    run=lambda a: tuple(np.linalg.svd(a, full_matrices=False)),
    infer=_svd_type,
    edges=(_svd_edge,),
    batch=of_stacks(lambda: svd_op),
    columns=Columns(
        flops=_svd_flops,
        numpy="np.linalg.svd({0}, full_matrices=False)",
        libraries={"any": lambda xp, a: tuple(xp.linalg.svd(a, full_matrices=False))},
    ),
)


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """As `numpy.linalg.svd` of a square matrix, or with ``full_matrices=False``.

    Vectors of equal singular values, and vectors of a singular value of 0, have no derivative: a function
    that uses it has the derivative NaN. A singular value of 0 has the derivative of u^H a v.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.svd(a, full_matrices=False)[1][0])(np.array([[3.0], [4.0]]))
    array([[0.6],
           [0.8]])
    """
    a = matrices("svd", a, square=hermitian)
    if hermitian:
        return _hermitian_svd(a) if compute_uv else np.sort(np.abs(eigvalsh(a)), axis=-1)[..., ::-1]
    if full_matrices and compute_uv and a.shape[-1] != a.shape[-2]:
        raise fail(
            ValueError,
            f"svd: expected full_matrices=False for {a.type}, but got True; the vectors beside the "
            "singular ones are arbitrary, and have no derivative",
        )
    node = svd_op(a)
    return SVDResult(*[_part(node, i) for i in range(3)]) if compute_uv else _part(node, 1)


def _hermitian_svd(a: Array) -> Any:
    """By eigenvalues and vectors, as in NumPy."""
    values, vectors = eigh(a)
    falling = np.argsort(np.abs(values), axis=-1)[..., ::-1]
    values = np.take_along_axis(values, falling, axis=-1)
    u = np.take_along_axis(vectors, _row(falling), axis=-1)
    return SVDResult(u, np.abs(values), mH(u * _row(np.sign(values))))


def svdvals(a: object, /) -> Any:
    """As `numpy.linalg.svdvals`: the singular values, falling."""
    return svd(a, compute_uv=False)


# -- qr ------------------------------------------------------------------------------------------
class QRResult(NamedTuple):
    """Orthonormal columns, and an upper triangle."""

    Q: Any
    R: Any


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
        gx = _sum(rest) - turn_back(_sum(rest))
        gy = np.matmul(mT(mH(q)), gx)
        return mT(solve_op(r, mT(gy + g.of[0] if 0 in g.of else gy)))

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
    batch=of_stacks(lambda: qr_op),
    columns=Columns(
        flops=_qr_flops,
        numpy="np.linalg.qr({0})",
        libraries={"any": lambda xp, a: tuple(xp.linalg.qr(a))},
    ),
)


def qr(a: Any, mode: str = "reduced") -> Any:
    """As `numpy.linalg.qr` with mode 'reduced', 'r', or, where it is the same, 'complete'.

    The first columns, as many as there are rows, must be independent: the derivative divides by r.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.qr(a)[1][0, 0])(np.array([[3.0], [4.0]]))
    array([[-0.6],
           [-0.8]])
    """
    a = matrices("qr", a, square=False)
    m, n = a.shape[-2:]
    if mode not in ("reduced", "r", "complete") or (mode == "complete" and m > n):
        raise fail(
            ValueError,
            f"qr: expected mode 'reduced' or 'r', but got {mode!r} for {a.type}; "
            "the columns beside those of a are arbitrary, and have no derivative",
        )
    node = qr_op(a[..., :, :m] if m < n else a)
    q, r = _part(node, 0), _part(node, 1)
    if m < n:
        r = np.concatenate([r, np.matmul(mH(q), a[..., :, m:])], axis=-1)
    return r if mode == "r" else QRResult(q, r)
