"""Determinants: `det`, which is differentiable at singular matrices, too, and `slogdet`.

The derivative of det(a) is the matrix of cofactors, and not det(a) a^-T, which a singular matrix lacks.
Up to 3 rows cofactors are polynomials, written out; so every derivative is right at every matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.linalg import inv_op
from funcgrad.ops.op import Op
from funcgrad.ops.stacks import matrices, mT, of_stacks, real_dtype, wide


def _number_type(a: ArrayType) -> ArrayType:
    return ArrayType(a.shape[:-2], a.dtype)


class SlogdetResult(NamedTuple):
    """The sign of a determinant and the logarithm of its size."""

    sign: Any
    logabsdet: Any


def _logabsdet_edge(z: Any, a: Any) -> LinearMap:
    slope = mT(inv_op(a))
    return Structural(
        lambda v: np.real(np.sum(slope * v, axis=(-2, -1))), lambda g: wide(g) * slope
    )


logabsdet_op: Op = Op(
    name="logabsdet",
    run=lambda a: np.linalg.slogdet(a)[1],
    infer=lambda a: ArrayType(a.shape[:-2], real_dtype(a.dtype)),
    edges=(_logabsdet_edge,),
    batch=of_stacks(lambda: logabsdet_op),
)


def _detsign_edge(z: Any, a: Any) -> LinearMap:
    """A real sign is flat; a complex one turns by Im tr(a^-1 da)."""
    if a.dtype.kind != "c":
        return Structural(lambda v: None, lambda g: None)
    slope = mT(inv_op(a))
    turned = z * 1j

    def backward(g: Any) -> Any:
        # Re(g z i Im(t)) = Re(-i Re(g z i) t)
        return wide(-1j * np.real(g * turned)) * slope

    return Structural(lambda v: turned * np.imag(np.sum(slope * v, axis=(-2, -1))), backward)


detsign_op: Op = Op(
    name="detsign",
    run=lambda a: np.linalg.slogdet(a)[0],
    infer=_number_type,
    edges=(_detsign_edge,),
    batch=of_stacks(lambda: detsign_op),
)


def slogdet(a: Any) -> Any:
    """As `numpy.linalg.slogdet`: (0, -inf) at a singular matrix, where the gradient raises `LinAlgError`.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.slogdet(a)[1])(np.diag([2.0, 4.0]))
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    a = matrices("slogdet", a)
    return SlogdetResult(detsign_op(a), logabsdet_op(a))


def _det_edge(z: Any, a: Any) -> LinearMap:
    slope = _cofactors(a)
    return Structural(lambda v: np.sum(slope * v, axis=(-2, -1)), lambda g: wide(g) * slope)


det_op: Op = Op(
    name="det",
    run=lambda a: np.linalg.det(a),
    infer=_number_type,
    edges=(_det_edge,),
    batch=of_stacks(lambda: det_op),
)


def det(a: Any) -> Any:
    """As `numpy.linalg.det`; its derivative is that of the polynomial, at singular matrices as elsewhere.

    >>> import funcgrad as fg
    >>> fg.grad(np.linalg.det)(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array([[ 4., -2.],
           [-2.,  1.]])
    """
    return det_op(matrices("det", a))


# -- cofactors -----------------------------------------------------------------------------------
def _cofactors(a: Any) -> Any:
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


def _crossed(x: Any, y: Any) -> Any:
    """The vector products along the last axis."""
    return np.stack(
        [
            x[..., 1] * y[..., 2] - x[..., 2] * y[..., 1],
            x[..., 2] * y[..., 0] - x[..., 0] * y[..., 2],
            x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0],
        ],
        axis=-1,
    )


def _cofactor_run(a: Any) -> Any:
    """det(u) det(v) u (products of the others' singular values) v: no division, so for any rank."""
    u, s, v = np.linalg.svd(a)
    own = np.eye(s.shape[-1], dtype=bool)
    others = np.prod(np.where(own, s.dtype.type(1), s[..., None, :]), axis=-1)
    sign = (np.linalg.det(u) * np.linalg.det(v))[..., None, None]
    return sign * np.matmul(u.conj() * others[..., None, :], v.conj())


def _cofactor_edge(z: Any, a: Any) -> LinearMap:
    slope = mT(inv_op(a))

    def along(v: Any, slope: Any) -> Any:
        return z * wide(np.sum(slope * v, axis=(-2, -1))) - np.matmul(np.matmul(z, mT(v)), slope)

    return Structural(lambda v: along(v, slope), lambda g: along(g, slope))


cofactor_op: Op = Op(
    name="cofactors",
    run=_cofactor_run,
    infer=lambda a: a,
    edges=(_cofactor_edge,),
    batch=of_stacks(lambda: cofactor_op),
)
