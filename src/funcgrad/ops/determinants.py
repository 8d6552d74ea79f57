"""Determinants: `det`, which is differentiable at singular matrices, too, and `slogdet`.

The derivative of det(a) is the matrix of cofactors, and not det(a) a^-T, which a singular matrix lacks.
Up to 3 rows cofactors are polynomials, written out; so every derivative is right at every matrix. From 4
rows on `_cofactor_edge` says how far it is at singular ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.linalg._linalg import SlogdetResult

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.matrix_stacks import (
    eye_like,
    lu_flops,
    matrices,
    matrix_flops,
    mH,
    mT,
    real_dtype,
    svd_flops,
    wide,
)
from funcgrad.ops.base.mpmath_matrices import cofactors, determinant, each_matrix
from funcgrad.ops.base.op import Op, same_on_batch
from funcgrad.ops.base.untaken_paths import matrix_or_identity
from funcgrad.ops.decompositions import svd_op
from funcgrad.ops.solve import inv_op
from funcgrad.ops.tuples import pick_op
from funcgrad.typing import Array, FunctionLibrary


def _number_type(a: ArrayType) -> ArrayType:
    return ArrayType(a.shape[:-2], a.dtype)


def _logabsdet_edge(z: Array, a: Array) -> LinearMap:
    slope = mT(inv_op(a))
    return Structural(
        lambda v: np.real(np.sum(slope * v, axis=(-2, -1))), lambda g: wide(g) * slope
    )


def _detphase_edge(z: Array, a: Array) -> LinearMap:
    """A complex sign turns by Im tr(a^-1 da); a real one is flat."""
    slope = mT(inv_op(a))
    turned = z * 1j

    def backward(g: Array) -> Any:
        # Re(g z i Im(t)) = Re(-i Re(g z i) t)
        return wide(-1j * np.real(g * turned)) * slope

    return Structural(lambda v: turned * np.imag(np.sum(slope * v, axis=(-2, -1))), backward)


def _mp_sign(mp: FunctionLibrary, *a: Any) -> Any:
    return mp.sign(determinant(mp, *a))


def _mp_log(mp: FunctionLibrary, *a: Any) -> Any:
    size = abs(determinant(mp, *a))
    return mp.log(size) if size else -mp.inf


def _of_slogdet(
    name: str,
    part: int,
    edge: Callable[..., LinearMap] | None,
    infer: Callable[[ArrayType], ArrayType],
    machine: str,
    mpmath: Callable[..., Any],
) -> Op:
    """One of the two results of `numpy.linalg.slogdet`."""
    op: Op = Op(
        name=name,
        run=lambda a: np.linalg.slogdet(a)[part],
        infer=infer,
        edges=(edge,),
        batch=same_on_batch(lambda: op),
        columns=Columns(
            machine=machine,
            flops=matrix_flops(lu_flops),
            numpy=f"np.linalg.slogdet({{0}})[{part}]",
            mpmath=each_matrix(mpmath, to_number=True),
            libraries={"any": lambda xp, a: xp.linalg.slogdet(a)[part]},
            untaken=matrix_or_identity,
        ),
    )
    return op


detsign_op: Op = _of_slogdet("detsign", 0, None, _number_type, "matrix_forms:detsign", _mp_sign)
detphase_op: Op = _of_slogdet(
    "detphase", 0, _detphase_edge, _number_type, "matrix_forms:detsign", _mp_sign
)
logabsdet_op: Op = _of_slogdet(
    "logabsdet",
    1,
    _logabsdet_edge,
    lambda a: ArrayType(a.shape[:-2], real_dtype(a.dtype)),
    "matrix_forms:logabsdet",
    _mp_log,
)


def _sign(a: Array) -> Any:
    return (detphase_op if a.dtype.kind == "c" else detsign_op)(a)


def slogdet(a: Array) -> Any:
    """As `numpy.linalg.slogdet`: (0, -inf) at a singular matrix, where the gradient raises `LinAlgError`.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.slogdet(a)[1])(np.diag([2.0, 4.0]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    a = matrices("slogdet", a)
    return SlogdetResult(_sign(a), logabsdet_op(a))


def _det_edge(z: Array, a: Array) -> LinearMap:
    slope = _cofactors(a)
    return Structural(lambda v: np.sum(slope * v, axis=(-2, -1)), lambda g: wide(g) * slope)


det_op: Op = Op(
    name="det",
    run=lambda a: np.linalg.det(a),
    infer=_number_type,
    edges=(_det_edge,),
    batch=same_on_batch(lambda: det_op),
    columns=Columns(
        machine="matrix_forms:det",
        flops=matrix_flops(lu_flops),
        numpy="np.linalg.det({all})",
        mpmath=each_matrix(determinant, to_number=True),
        libraries={"any": lambda xp, a: xp.linalg.det(a)},
    ),
)


def det(a: Array) -> Any:
    """As `numpy.linalg.det`; its derivative is that of the polynomial, at singular matrices as elsewhere.

    >>> import funcgrad as fg
    >>> fg.grad(np.linalg.det)(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array([[ 4., -2.],
           [-2.,  1.]])
    """
    return det_op(matrices("det", a))


# -- cofactors -----------------------------------------------------------------------------------
def _cofactors(a: Array) -> Any:
    """The matrix of cofactors: what det(a) changes by with each entry."""
    match np.shape(a)[-1]:
        case 0 | 1:
            return np.ones_like(a)
        case 2:
            # [[a, b], [c, d]] -> [[d, -c], [-b, a]]
            return np.flip(np.flip(a, -1), -2) * np.array([[1, -1], [-1, 1]], real_dtype(a.dtype))
        case 3:
            first, second, third = (a[..., i, :] for i in range(3))
            rows = [_crossed(second, third), _crossed(third, first), _crossed(first, second)]
            return np.stack(rows, axis=-2)
    return cofactor_op(a)


def _crossed(x: Array, y: Array) -> Any:
    """The vector products along the last axis."""
    return np.stack(
        [
            x[..., 1] * y[..., 2] - x[..., 2] * y[..., 1],
            x[..., 2] * y[..., 0] - x[..., 0] * y[..., 2],
            x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0],
        ],
        axis=-1,
    )


def _cofactor_run(a: Array) -> Any:
    """det(a) a^-T of matrices so far from singular that a quarter of the digits is lost at most, and others
    `_scaled_cofactors`.
    """
    size, limits = np.linalg.det(a), np.finfo(a.dtype)
    usual = np.isfinite(size) & (abs(size) > limits.tiny * largest_condition(a.dtype, a.shape[-1]))
    if not usual.any():
        return _scaled_cofactors(a)
    inverse, regular = _inverses(a, usual)
    found = np.where(regular, size, 0)[..., None, None] * np.swapaxes(inverse, -1, -2)
    if not regular.all():
        found[~regular] = _scaled_cofactors(a[~regular])
    return found


def largest_condition(dtype: np.dtype[Any], rows: int) -> float:
    """The largest condition number, in Frobenius norms, that leaves three quarters of the digits."""
    return float(np.finfo(dtype).eps ** -0.25 * rows**0.5)


def _inverses(a: Array, usual: Array) -> tuple[Array, Array]:
    """The inverses of usual matrices, and which of them are far from singular."""
    safe = (
        a
        if usual.all()
        else np.where(usual[..., None, None], a, np.eye(a.shape[-1], dtype=a.dtype))
    )
    inverse = np.linalg.inv(safe)
    with np.errstate(over="ignore"):
        condition = _frobenius(a) * _frobenius(inverse)
    return inverse, usual & (condition < largest_condition(a.dtype, a.shape[-1]))


def _frobenius(a: Array) -> Any:
    """As `numpy.linalg.norm`, which takes several times as long for small matrices."""
    return np.sqrt(np.add.reduce(np.square(abs(a)), axis=(-2, -1)))


def _scaled_cofactors(a: Array) -> Any:
    """Cofactors of matrices whose rows and columns are scaled to about 1, times powers of two.

    None overflows or underflows but by its own size. Those of a matrix that holds an infinity,
    or what is no number, are no numbers.
    """
    finite = np.all(np.isfinite(a), axis=(-2, -1), keepdims=True)
    b = np.where(finite, a, 0).astype(np.result_type(a, np.float64))
    rows = _exponents(b, -1)
    b = _times_power_of_two(b, -rows)
    columns = _exponents(b, -2)
    b = _times_power_of_two(b, -columns)
    found, power = _cofactors_and_power(b)
    power = power + np.sum(rows - 0.0, axis=(-2, -1)) + np.sum(columns - 0.0, axis=(-2, -1))
    found = _times_power_of_two(found, power[..., None, None] - rows - columns)
    with np.errstate(over="ignore", under="ignore"):
        return np.where(finite, found, np.nan).astype(a.dtype)


def _exponents(a: Array, axis: int) -> Any:
    """The exponents of the largest entries along an axis, which is kept."""
    return np.frexp(np.max(np.maximum(abs(a.real), abs(a.imag)), axis=axis, keepdims=True))[1]


def _times_power_of_two(a: Array, exponents: Array) -> Array:
    power = np.clip(exponents, -5000, 5000).astype(np.int32)
    with np.errstate(over="ignore", under="ignore"):
        found = np.empty(np.broadcast_shapes(np.shape(a), np.shape(power)), a.dtype)
        found.real = np.ldexp(a.real, power)
        if a.dtype.kind == "c":
            found.imag = np.ldexp(a.imag, power)
    return found


def _cofactors_and_power(a: Array) -> tuple[Array, Array]:
    """Cofactors divided by a power of two of each matrix, with its exponent."""
    with np.errstate(divide="ignore"):
        sign, size = np.linalg.slogdet(a)
    inverse, regular = _inverses(a, np.isfinite(size))
    size = np.where(regular, size / np.log(2), 0)
    power = np.array(np.rint(size))  # array: a store follows, also into one of no axes
    found = (sign * np.exp2(size - power))[..., None, None] * np.swapaxes(inverse, -1, -2)
    if not np.all(regular):
        found[~regular], power[~regular] = _by_singular_values(a[~regular])
    return found, power


def _by_singular_values(a: Array) -> tuple[Array, Array]:
    """det(u) det(v) u (products of the others' singular values) v: no division, so for any rank."""
    u, s, v = np.linalg.svd(a)
    with np.errstate(divide="ignore"):
        others = np.sum(
            np.where(np.eye(s.shape[-1], dtype=bool), 0, np.log2(s)[..., None, :]), axis=-1
        )
    power = np.rint(np.max(others, axis=-1))
    power = np.where(np.isfinite(power), power, 0)
    factor = np.exp2(others - power[..., None]) * (np.linalg.det(u) * np.linalg.det(v))[..., None]
    return np.matmul(u.conj() * factor[..., None, :], v.conj()), power


# Beyond this condition number the derivative of cofactors is taken by singular values.
_FAR_FROM_SINGULAR = 1e4


def _cofactor_edge(z: Array, a: Array) -> LinearMap:
    """The second derivative of det, which is symmetric.

    They go through the inverse, but near a singular matrix through the decomposition. So of a singular
    matrix of 4 rows and more the second derivative of det is right; the third and those above it are
    where the matrix is real and its singular values differ.
    """
    node = svd_op(a)
    u, s, v = (pick_op(node, index=i) for i in range(3))
    regular = wide(s[..., -1] * _FAR_FROM_SINGULAR > s[..., 0])
    slope = mT(inv_op(np.where(regular, a, eye_like(a))))
    others = _others_than_two(s)
    sign = wide(_sign(u) * _sign(v))

    def by_inverse(x: Array) -> Any:
        return z * wide(np.sum(slope * x, axis=(-2, -1))) - np.matmul(np.matmul(z, mT(x)), slope)

    def by_values(x: Array) -> Any:
        turned = np.matmul(np.matmul(mH(u), x), mH(v))
        diagonal = np.sum(turned * eye_like(turned), axis=-1)
        moved = np.matmul(others, np.expand_dims(diagonal, -1)) * eye_like(turned)
        moved = moved - others * mT(turned)
        return sign * np.matmul(np.matmul(mT(mH(u)), moved), mT(mH(v)))

    def along(x: Array) -> Any:
        return np.where(regular, by_inverse(x), by_values(x))

    return Structural(along, along)


def _others_than_two(s: Array) -> Any:
    """For each two of the values the product of all others, and 0 on the diagonal."""
    n = np.shape(s)[-1]
    i, j, k = np.ogrid[:n, :n, :n]
    every = np.where((k == i) | (k == j), np.ones((), s.dtype), np.expand_dims(s, (-3, -2)))
    return np.prod(every, axis=-1) * (1 - np.eye(n, dtype=s.dtype))


def _cofactor_flops(n: int) -> int:
    """By the SVD, the determinants of its two factors, and their product."""
    return svd_flops(n, n) + 2 * lu_flops(n) + 2 * n**3


def _cofactors_source(expr: Expr, texts: Sequence[str]) -> str:
    others = "np.where(np.eye(s.shape[-1], dtype=bool), s.dtype.type(1), s[..., None, :])"
    sign = "(np.linalg.det(u)*np.linalg.det(v))[..., None, None]"
    product = f"((u.conj()*np.prod({others}, axis=-1)[..., None, :]) @ v.conj())"
    return f"(lambda u, s, v: {sign}*{product})(*np.linalg.svd({texts[0]}))"


def _cofactors_in(xp: FunctionLibrary, a: Array) -> Any:
    """The cofactors by singular values, with the functions of an array library."""
    u, s, v = xp.linalg.svd(a, full_matrices=False)
    n = s.shape[-1]
    others = [
        xp.prod(xp.concatenate([s[..., :i], s[..., i + 1 :]], axis=-1), axis=-1) for i in range(n)
    ]
    sign = (xp.linalg.det(u) * xp.linalg.det(v))[..., None, None]
    return sign * xp.matmul(xp.conj(u) * xp.stack(others, axis=-1)[..., None, :], xp.conj(v))


cofactor_op: Op = Op(
    name="cofactors",
    run=_cofactor_run,
    infer=lambda a: a,
    edges=(_cofactor_edge,),
    batch=same_on_batch(lambda: cofactor_op),
    columns=Columns(
        machine="matrix_forms:cofactors",
        flops=matrix_flops(_cofactor_flops),
        numpy=_cofactors_source,
        mpmath=each_matrix(cofactors),
        libraries={"any": _cofactors_in},
    ),
)
