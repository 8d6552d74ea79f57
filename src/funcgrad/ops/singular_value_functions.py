"""Functions of matrices by a function of each singular value; second derivatives between equal ones.

u*f(s) @ v^H is a block of a function of the hermitian matrix h = [[0, a], [a^H, 0]]: the odd function f of
its eigenvalues s and -s, whose vectors are (u, v)/sqrt(2) and (u, -v)/sqrt(2), and of 0 if a is not square.
So the second derivative is a block of that in `funcgrad.ops.spectral_functions`, which has no quotient by the
difference of equal values. The value and the first derivative are those of the thin decomposition.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.entrywise import formula_op
from funcgrad.ops.base.matrix_stacks import mH, mT
from funcgrad.ops.decompositions import singular_complement_op
from funcgrad.ops.elementwise import selection
from funcgrad.ops.matrix_functions import (
    by_general_matrix,
    quotients_of,
    scaling,
    singular_product,
    singular_type,
)
from funcgrad.ops.spectral_functions import spectral_slope_op
from funcgrad.typing import Array


# -- vectors beside the singular ones --------------------------------------------------------------
def _transported_edge(z: Array, a: Array, u: Array, s: Array, vh: Array, n: Array) -> LinearMap:
    """They turn out of their space by -a^+H da^H n on the left, and by -a^+ da n on the right."""
    inverse = 1.0 / s
    slopes = (-(inverse**2), 2.0 * inverse**3)
    # The adjoint of the pseudoinverse, of full rank.
    back = singular_value_function_op(
        a, u, s, vh, inverse, *slopes, selection.stopped(inverse), form="columns", adjoint=False
    )
    is_complex = a.dtype.kind == "c"

    def left(da: Array) -> Any:
        return -np.matmul(back, np.matmul(mH(da), z))

    def left_back(g: Array) -> Any:
        found = -np.matmul(z, np.matmul(mT(g), back))
        return np.conj(found) if is_complex else np.real(found)

    def right(da: Array) -> Any:
        return -np.matmul(mH(back), np.matmul(da, z))

    def right_back(g: Array) -> Any:
        found = -np.matmul(mT(mH(back)), np.matmul(g, mT(z)))
        return found if is_complex else np.real(found)

    m, columns = np.shape(a)[-2:]
    return Structural(left, left_back) if m > columns else Structural(right, right_back)


transported = formula_op(
    "transported",
    lambda a, u, s, vh, n: n,
    lambda a, u, s, vh, n: n,
    (_transported_edge, None, None, None, None),
)
"""The vectors n beside the singular ones, if all that reads them stays as it is where they are rotated."""


# -- the hermitian matrix --------------------------------------------------------------------------
class _Doubled(NamedTuple):
    """h, its eigenvalues and vectors, and f with two slopes of it at these."""

    h: Any
    w: Any
    v: Any
    d: Any
    s: Any
    t: Any
    x: Any


def _embedded(a: Array) -> Any:
    m, n = np.shape(a)[-2:]
    stack = np.shape(a)[:-2]
    top = np.concatenate([np.zeros((*stack, m, m), a.dtype), a], axis=-1)
    return np.concatenate([top, _bottom(mH(a), n)], axis=-2)


def _bottom(a: Array, n: int) -> Any:
    return np.concatenate([a, np.zeros((*np.shape(a)[:-1], n), a.dtype)], axis=-1)


def _doubled(
    a: Array, u: Array, s: Array, vh: Array, d: Array, p: Array, q: Array, x: Array
) -> _Doubled:
    m, n = np.shape(a)[-2:]
    half = math.sqrt(0.5)
    top, bottom = half * u, half * mH(vh)
    vectors = [np.concatenate(pair, axis=-2) for pair in ((top, bottom), (top, -bottom))]
    outside = [np.zeros((*np.shape(s)[:-1], abs(m - n)), s.dtype)]
    if m != n:
        beside = transported(a, u, s, vh, singular_complement_op(a))
        none = np.zeros((*np.shape(a)[:-2], min(m, n), abs(m - n)), a.dtype)
        parts = (beside, none) if m > n else (none, beside)
        vectors.append(np.concatenate(parts, axis=-2))
    # The slope at 0 is read beside a singular value of 0 alone.
    has_slope = m != n and min(m, n) > 0
    at_zero = np.broadcast_to(p[..., -1:], outside[0].shape) if has_slope else outside[0]

    def odd(y: Array) -> Any:
        return np.concatenate([y, -y, *outside], axis=-1)

    slopes = np.concatenate([p, p, at_zero], axis=-1)
    v = np.concatenate(vectors, axis=-1)
    return _Doubled(_embedded(a), odd(s), v, odd(d), slopes, odd(q), odd(x))


def _block(x: Array, m: int) -> Any:
    return x[..., :m, m:]


# -- the function ----------------------------------------------------------------------------------
# The operands are a, u, s, v^H and d, p, q, x: the values d = f(s) have the slopes p and q, and x has their
# numbers, as in `spectral_function_op`. Those of the derivative have e, along which it is, between the two.
def _function(*operands: Array, form: str, adjoint: bool) -> Any:
    a, u, s, vh, d, p, _, _ = operands
    return singular_product(a, u, s, vh, d, p, form, adjoint)


def _type(*operands: ArrayType, form: str, adjoint: bool) -> ArrayType:
    a, u, s, vh, _, p, _, x = operands
    return singular_type(a, u, s, vh, x, p, form, adjoint)


def _function_by_matrix(z: Array, *operands: Array, form: str, adjoint: bool) -> LinearMap:
    matrix, values = operands[:4], operands[4:]
    if not adjoint:
        return _linear(operands[0], matrix, values)
    found = _linear(operands[0], matrix, tuple([np.conj(y) for y in values]))
    return Structural(lambda da: mH(found.apply(da)), lambda g: found.transpose(mH(g)))


def _linear(e: Array, matrix: tuple[Any, ...], values: tuple[Any, ...]) -> LinearMap:
    """The derivative along e, as a map of e."""
    is_complex = any([y.dtype.kind == "c" for y in values])
    real, imag = ([part(y) for y in values] for part in (np.real, np.imag))

    def backward(g: Array) -> Any:
        g = np.conj(g)
        back = singular_slope_op(*matrix, g, *real)
        if is_complex:
            back = back + singular_slope_op(*matrix, -1j * g, *imag)
        return np.conj(back) if e.dtype.kind == "c" else np.real(back)

    return Structural(lambda de: singular_slope_op(*matrix, de, *values), backward)


def _function_by_values(z: Array, *operands: Array, form: str, adjoint: bool) -> LinearMap:
    _, u, _, vh, *_, x = operands
    return scaling(mH(vh), mH(u), x) if adjoint else scaling(u, vh, x)


singular_value_function_op = formula_op(
    "singular_value_function",
    _function,
    _type,
    (_function_by_matrix, *[None] * 6, _function_by_values),
)
"""u*x @ v^H, or v*x @ u^H, as a function of the matrix and of x."""


# -- its derivative --------------------------------------------------------------------------------
def _slope(*operands: Array) -> Any:
    a, u, s, vh, e, d, p, _, _ = operands
    return by_general_matrix(a, u, s, vh, d, p, quotients_of(s, d, p)).apply(e)


def _slope_type(*operands: ArrayType) -> ArrayType:
    a, u, _, _, e, *_, x = operands
    return ArrayType(a.shape, np.result_type(u.dtype, e.dtype, x.dtype))


def _slope_by_matrix(z: Array, *operands: Array) -> LinearMap:
    return _through_doubled(0, _embedding(operands[0]), operands)


def _slope_by_change(z: Array, *operands: Array) -> LinearMap:
    return _linear(operands[4], operands[:4], operands[5:])


def _slope_by_values(z: Array, *operands: Array) -> LinearMap:
    """By x where it is no function of the singular values: then p and q are 0."""
    a, _, s, *_ = operands
    k = np.shape(s)[-1]
    beside = np.zeros((*np.shape(s)[:-1], sum(np.shape(a)[-2:]) - 2 * k), s.dtype)
    odd = Structural(
        lambda dx: np.concatenate([dx, -dx, beside.astype(dx.dtype)], axis=-1),
        lambda g: g[..., :k] - g[..., k : 2 * k],
    )
    return _through_doubled(7, odd, operands)


def _embedding(a: Array) -> LinearMap:
    m, is_complex = np.shape(a)[-2], a.dtype.kind == "c"

    def backward(g: Array) -> Any:
        lower = g[..., m:, :m]
        found = _block(g, m) + mH(lower)
        return found if is_complex else np.real(found)

    return Structural(_embedded, backward)


def _through_doubled(place: int, change: LinearMap, operands: tuple[Array, ...]) -> LinearMap:
    """The derivative of the block of the hermitian function's derivative along e, by an operand of it."""
    a, u, s, vh, e, *values = operands
    m, n = np.shape(a)[-2:]
    at = _doubled(a, u, s, vh, *values)
    inner = (at.h, at.w, at.v, _embedded(e), at.d, at.s, at.t, at.x)
    edge = spectral_slope_op.edge(place)
    assert edge is not None
    whole = edge(spectral_slope_op(*inner), *inner)
    known = _where_smooth(s, values[0], max(m, n))

    def backward(g: Array) -> Any:
        g = g * known
        top = np.zeros((*np.shape(g)[:-1], m), g.dtype)
        padded = np.concatenate([top, g], axis=-1)
        below = np.zeros((*np.shape(g)[:-2], n, m + n), g.dtype)
        return change.transpose(whole.transpose(np.concatenate([padded, below], axis=-2)))

    return Structural(lambda v: _block(whole.apply(change.apply(v)), m) * known, backward)


def _where_smooth(s: Array, d: Array, size: int) -> Any:
    """1, and NaN beside a singular value of 0 with another value than 0, where the odd function jumps."""
    if not np.shape(s)[-1]:
        return np.ones((*np.shape(s)[:-1], 1, 1), s.dtype)
    least, small = [
        size * float(np.finfo(s.dtype).eps) * np.max(np.abs(y), axis=-1, keepdims=True)
        for y in (s, d)
    ]
    jumps = np.any((s <= least) & (np.abs(d) > small), axis=-1)[..., None, None]
    return selection.stopped(np.where(jumps, np.asarray(np.nan, s.dtype), np.ones((), s.dtype)))


singular_slope_op = formula_op(
    "singular_slope",
    _slope,
    _slope_type,
    (_slope_by_matrix, *[None] * 3, _slope_by_change, *[None] * 3, _slope_by_values),
)
"""The derivative of `singular_value_function_op` along e."""
