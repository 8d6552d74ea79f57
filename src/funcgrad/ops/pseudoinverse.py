"""The pseudoinverse, with its derivative at constant rank."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from funcgrad.arrays.reference import unwrapped
from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.matrix_stacks import (
    cheapest_product,
    hermitian_from,
    matrices,
    mH,
    mT,
    svd_flops,
)
from funcgrad.ops.base.op import Op, same_on_batch
from funcgrad.ops.base.untaken_paths import matrix_or_identity
from funcgrad.ops.elementwise.selection import stopped
from funcgrad.ops.singular_value_functions import singular_value_function_op
from funcgrad.typing import Array


def _pinv_edge(z: Array, a: Array, *, rcond: float, hermitian: bool) -> LinearMap:
    if rcond > 1e-8:  # singular values that are not 0 may be cut off
        return _truncated(a, rcond)
    return _of_full_rank(z, a)


def _of_full_rank(z: Array, a: Array) -> LinearMap:
    """At constant rank (Golub and Pereyra 1973): -z da z and what turns the row and column spaces.

    The products are taken in the order that costs least: none is as large as the square of the longer side.
    """
    zh, zt, at = mH(z), mT(z), mT(a)
    zc = np.conj(z)

    def along(v: Array) -> Any:
        inside = cheapest_product((z, v, z))
        return _turned(mH(v), (z, zh), (a, z), (z, a), (zh, z)) - inside

    def back(g: Array) -> Any:
        inside = cheapest_product((zt, g, zt))
        return mH(_turned(g, (zc, zt), (zt, at), (at, zt), (zt, zc))) - inside

    return Structural(along, back)


_Pair: TypeAlias = tuple[Array, Array]


def _turned(w: Array, p: _Pair, q: _Pair, r: _Pair, s: _Pair) -> Any:
    """P @ w @ (1 - Q) + (1 - R) @ w @ S, of products of two matrices each."""
    columns, rows = (*p, w), (w, *s)
    return (
        cheapest_product(columns)
        - cheapest_product((*columns, *q))
        + cheapest_product(rows)
        - cheapest_product((*r, *rows))
    )


def _truncated(a: Array, rcond: float) -> LinearMap:
    """That of v*f(s) @ u^H, where f(s) is 1/s, and 0 for the singular values that are cut off."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    kept = s > rcond * np.max(s, axis=-1, keepdims=True, initial=0.0)
    inverse = np.where(kept, 1.0 / np.where(kept, s, 1.0), 0.0).astype(s.dtype)
    slopes = (-(inverse**2), 2.0 * inverse**3)
    operands = (a, u, s, vh, inverse, *slopes, stopped(inverse))
    edge = singular_value_function_op.edge(0)
    assert edge is not None
    return edge(None, *operands, form="columns", adjoint=True)


def _pinv_flops(z: Expr) -> int:
    """By the thin SVD, and the product of its scaled factors."""
    *stack, m, n = z.args[0].shape
    return math.prod(stack) * (svd_flops(m, n) + 2 * m * n * min(m, n) + n * min(m, n))


pinv_op: Op = Op(
    name="pinv",
    run=lambda a, rcond, hermitian: np.linalg.pinv(a, rcond, hermitian),
    infer=lambda a, **_: ArrayType((*a.shape[:-2], a.shape[-1], a.shape[-2]), a.dtype),
    edges=(_pinv_edge,),
    batch=same_on_batch(lambda: pinv_op),
    columns=Columns(
        fresh=True,
        flops=_pinv_flops,
        numpy="np.linalg.pinv({0}, {rcond}, {hermitian})",
        libraries={
            "any": lambda xp, a, rcond, hermitian: xp.linalg.pinv(
                a, rtol=rcond, hermitian=hermitian
            )
        },
        untaken=matrix_or_identity,
    ),
)


def pinv(
    a: Array, rcond: Any = None, hermitian: bool = False, *, rtol: object = np._NoValue
) -> Any:
    """As `numpy.linalg.pinv`, with the derivative at constant rank.

    Where the rank changes, the pseudoinverse jumps, and has no derivative.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.pinv(a)[0, 0])(np.array([[2.0], [0.0]]))
    array([[-0.25],
           [ 0.  ]])
    """
    a = matrices("pinv", a, square=hermitian)
    if rcond is None and rtol is None:  # the array standard's, where NumPy is given rtol=None
        rcond = max(a.shape[-2:]) * np.finfo(a.dtype).eps
    elif rcond is None:
        rcond = 1e-15 if rtol is np._NoValue else rtol
    if hermitian:
        a = hermitian_from("L").apply(a)
    rcond = concrete_value(unwrapped(rcond), "rcond")  # in which the derivative is 0
    return pinv_op(a, rcond=float(rcond), hermitian=bool(hermitian))
