"""Derivatives of eigenvectors and singular vectors, vector by vector, by reduced resolvents.

With da a change of the matrix a, the vector v_j of the eigenvalue w_j moves by R_j da v_j. Here R_j is the
reduced resolvent, the inverse of w_j - a on the other eigenvectors. It is a function of a and w_j alone, and
so is the projector P_j onto v_j: with M = da - dw_j,

    dR_j = R_j M R_j - R_j^2 M P_j - P_j M R_j^2,    dP_j = R_j M P_j + P_j M R_j.

So the derivative of column j, to any order, needs no derivative of another vector, which need not have one.
A sum over the columns (`columns_product`) omits a column that is exactly 0 on one side, also if the other one
is NaN: a vector that a function does not use does not count.

Singular vectors are eigenvectors: (u_j, v_j) is that of [[0, a], [a^H, 0]] for s_j, and (u_j, -v_j) for -s_j.
Of a real matrix, these two do not turn into each other, and R_j leaves out both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.entrywise import formula_op
from funcgrad.ops.base.matrix_stacks import as_column, as_row, eye_like, mH, mT
from funcgrad.ops.elementwise.arithmetic import determined_product, determined_quotient
from funcgrad.ops.elementwise.selection import mask, stopped
from funcgrad.typing import Array


def differences(s: Array, size: int) -> Any:
    """s_j - s_i, and 0 where it is as small as the rounding error of a decomposition of ``size`` rows."""
    return significant(as_row(s) - as_column(s), s, size)


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


# -- sums over columns -----------------------------------------------------------------------------
def _nonzero(x: Array) -> Any:
    return np.any(x != 0, axis=-2, keepdims=True)


def _columns_product(x: Array, y: Array) -> Any:
    return np.matmul(mask(_nonzero(y), x), mT(mask(_nonzero(x), y)))


def _by_left_columns(z: Array, x: Array, y: Array) -> LinearMap:
    return Structural(lambda v: columns_product(v, y), lambda g: at_columns(g, y))


def _by_right_columns(z: Array, x: Array, y: Array) -> LinearMap:
    return Structural(lambda v: columns_product(x, v), lambda g: at_columns(mT(g), x))


columns_product = formula_op(
    "columns_product",
    _columns_product,
    lambda x, y: ArrayType((*x.shape[:-1], y.shape[-2]), np.result_type(x.dtype, y.dtype)),
    (_by_left_columns, _by_right_columns),
)
"""x @ y^T, without the columns that are 0 in x or in y."""


def _by_matrix(z: Array, a: Array, x: Array) -> LinearMap:
    return Structural(lambda v: at_columns(v, x), lambda g: columns_product(g, x))


def _by_columns(z: Array, a: Array, x: Array) -> LinearMap:
    return Structural(lambda v: at_columns(a, v), lambda g: at_columns(mT(a), g))


at_columns = formula_op(
    "at_columns",
    lambda a, x: np.matmul(a, x),
    lambda a, x: ArrayType((*a.shape[:-1], x.shape[-1]), np.result_type(a.dtype, x.dtype)),
    (_by_matrix, _by_columns),
)
"""a @ x, whose transpose is a sum over the columns of x."""


# -- the matrix whose eigenvectors they are --------------------------------------------------------
# ``split`` is the number of rows of a general matrix, whose singular vectors are in question, and None for a
# square matrix with eigenvectors.
def _halves(x: Array, split: int | None) -> tuple[Any, Any]:
    return x[..., :split, :], x[..., split:, :]


def moved(a: Array, x: Array, split: int | None) -> Any:
    """The matrix, or [[0, a], [a^H, 0]], times columns."""
    if split is None:
        return at_columns(a, x)
    top, bottom = _halves(x, split)
    return np.concatenate([at_columns(a, bottom), at_columns(mH(a), top)], axis=-2)


def moved_back(g: Array, x: Array, split: int | None) -> Any:
    """The transpose of `moved` in the matrix: sums over columns."""
    if split is None:
        return columns_product(g, x)
    (g_top, g_bottom), (top, bottom) = _halves(g, split), _halves(x, split)
    return columns_product(g_top, bottom) + mH(columns_product(g_bottom, top))


def transposed(a: Array, split: int | None) -> Any:
    """The matrix that transposes of `moved` belong to: its left vectors are the right ones of a."""
    if split is None:
        return mT(a)
    return a.conj()


def _summed(x: Array, y: Array) -> Any:
    """The sum of x*y over each column."""
    return np.sum(determined_product(x, y), axis=-2)


# -- projectors ------------------------------------------------------------------------------------
def _projected(a: Array, w: Array, v: Array, y: Array, x: Array, split: int | None) -> Any:
    return v * np.sum(y * x, axis=-2, keepdims=True)


def _projected_by_matrix(
    z: Array, a: Array, w: Array, v: Array, y: Array, x: Array, split: int | None
) -> LinearMap:
    """dP_j = R_j da P_j + P_j da R_j."""
    turned = resolved(a, w, v, y, x, split=split)
    back = (transposed(a, split), w, y, v)

    def forward(da: Any) -> Any:
        first = resolved(a, w, v, y, moved(da, z, split), split=split)
        return first + projected(a, w, v, y, moved(da, turned, split), split=split)

    def backward(g: Any) -> Any:
        first = moved_back(resolved(*back, g, split=split), z, split)
        return first + moved_back(projected(*back, g, split=split), turned, split)

    return Structural(forward, backward)


def _projected_by_columns(
    z: Array, a: Array, w: Array, v: Array, y: Array, x: Array, split: int | None
) -> LinearMap:
    return Structural(
        lambda dx: projected(a, w, v, y, dx, split=split),
        lambda g: projected(transposed(a, split), w, y, v, g, split=split),
    )


def _type(
    a: ArrayType, w: ArrayType, v: ArrayType, y: ArrayType, x: ArrayType, split: int | None
) -> ArrayType:
    return ArrayType(x.shape, np.result_type(v.dtype, x.dtype))


projected = formula_op(
    "projected", _projected, _type, (_projected_by_matrix, None, None, None, _projected_by_columns)
)
"""P_j x_j for each column j of x: v_j (y_j . x_j), with the left vectors in the columns of y."""


# -- reduced resolvents ----------------------------------------------------------------------------
def _resolved(a: Array, w: Array, v: Array, y: Array, x: Array, split: int | None) -> Any:
    if split is None:
        turned = np.matmul(mT(y), x)
        return np.matmul(v, off_diagonal(turned, differences(w, w.shape[-1])))
    m, n = a.shape[-2:]
    (top, bottom), (u, v), (u_left, v_left) = (_halves(z, split) for z in (x, v, y))
    in_top, in_bottom = np.matmul(mT(u_left), top), np.matmul(mT(v_left), bottom)
    alike = off_diagonal(in_top + in_bottom, differences(w, max(m, n)))
    sums = significant(as_row(w) + as_column(w), w, max(m, n))
    # The vectors of a real matrix keep their norms, and so do not turn into those of -s_j.
    apart = (off_diagonal if a.dtype.kind == "f" else determined_quotient)(in_top - in_bottom, sums)
    found = [np.matmul(u, alike + apart), np.matmul(v, alike - apart)]
    if m != n:  # the longer vectors turn also out of the space of the others
        k = 0 if m > n else 1
        outside = (
            (top - np.matmul(u, 2 * in_top)) if m > n else bottom - np.matmul(v, 2 * in_bottom)
        )
        row = np.broadcast_to(significant(as_row(w), w, max(m, n)), outside.shape)
        found[k] = found[k] + determined_quotient(outside, row)
    return np.concatenate(found, axis=-2)


def _mirrored(x: Array, split: int) -> Any:
    """(u, v) as (u, -v), which turns the vectors of s_j into those of -s_j."""
    top, bottom = _halves(x, split)
    return np.concatenate([top, -bottom], axis=-2)


def _resolved_by_matrix(
    z: Array, a: Array, w: Array, v: Array, y: Array, x: Array, split: int | None
) -> LinearMap:
    """dR_j = R_j da R_j - dw_j R_j^2 - R_j^2 da P_j - P_j da R_j^2.

    Where R_j leaves out the vector of -s_j, too, the last two terms have their mirror images.
    """
    at, back = (a, w, v, y), (transposed(a, split), w, y, v)
    twice, along = resolved(*at, z, split=split), projected(*at, x, split=split)
    if split is not None and a.dtype.kind == "f":
        other_twice = resolved(*at, _mirrored(z, split), split=split)
        other_along = projected(*at, _mirrored(x, split), split=split)

    def forward(da: Any) -> Any:
        slopes = _summed(y, moved(da, v, split))
        inner = moved(da, z, split) - resolved(*at, moved(da, along, split), split=split)
        outer = projected(*at, moved(da, twice, split), split=split)
        if split is not None and a.dtype.kind == "f":
            turned = resolved(*at, moved(da, other_along, split), split=split)
            inner = inner - _mirrored(turned, split)
            turned = projected(*at, moved(da, other_twice, split), split=split)
            outer = outer + _mirrored(turned, split)
        return resolved(*at, inner, split=split) - determined_product(twice, as_row(slopes)) - outer

    def backward(g: Any) -> Any:
        once = resolved(*back, g, split=split)
        slopes = determined_product(y, as_row(_summed(g, twice)))
        found = (
            moved_back(once, z, split)
            - moved_back(slopes, v, split)
            - moved_back(resolved(*back, once, split=split), along, split)
            - moved_back(projected(*back, g, split=split), twice, split)
        )
        if split is not None and a.dtype.kind == "f":
            first = resolved(*back, _mirrored(once, split), split=split)
            second = projected(*back, _mirrored(g, split), split=split)
            found = found - moved_back(first, other_along, split)
            found = found - moved_back(second, other_twice, split)
        return found

    return Structural(forward, backward)


def _resolved_by_columns(
    z: Array, a: Array, w: Array, v: Array, y: Array, x: Array, split: int | None
) -> LinearMap:
    return Structural(
        lambda dx: resolved(a, w, v, y, dx, split=split),
        lambda g: resolved(transposed(a, split), w, y, v, g, split=split),
    )


resolved = formula_op(
    "resolved", _resolved, _type, (_resolved_by_matrix, None, None, None, _resolved_by_columns)
)
"""R_j x_j for each column j of x; NaN if that turns v_j into another vector of an equal eigenvalue."""


# -- vectors ---------------------------------------------------------------------------------------
def _turning_edge(z: Array, a: Array, w: Array, v: Array, y: Array) -> LinearMap:
    left = turning(mT(a), w, y, v)
    return Structural(
        lambda da: resolved(a, w, z, left, moved(da, z, None), split=None),
        lambda g: moved_back(resolved(mT(a), w, left, z, g, split=None), z, None),
    )


turning = formula_op(
    "turning", lambda a, w, v, y: v, lambda a, w, v, y: v, (_turning_edge, None, None, None)
)
"""Eigenvectors of a square matrix, whose derivatives keep y_j . v_j as it is."""
