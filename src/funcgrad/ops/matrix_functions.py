"""Functions of matrices that a program writes by eigenvalues, v*f(w) @ v^H, or singular values, u*f(s) @ v^H.

The eigenvectors of equal eigenvalues have no derivative, but the function has one: in the basis of the
eigenvectors, entry (i, j) of da is multiplied with (f(w_j) - f(w_i))/(w_j - w_i), and with f'(w) where the
eigenvalues are equal (Daleckii and Krein). The same holds of the singular vectors of equal singular values.
The simplifier recognizes such products (`rewrite.matrix_laws`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.entrywise import formula_op
from funcgrad.ops.base.matrix_stacks import (
    as_column,
    as_row,
    eye_like,
    hermitian_from,
    mH,
    mT,
    real_dtype,
    svd_flops,
)
from funcgrad.ops.base.op import Op, same_on_batch
from funcgrad.ops.base.untaken_paths import matrix_or_identity
from funcgrad.ops.decompositions import svd_op
from funcgrad.ops.elementwise.arithmetic import determined_quotient
from funcgrad.ops.elementwise.selection import mask, stopped
from funcgrad.ops.reduced_resolvents import significant
from funcgrad.ops.tuples import pick_op
from funcgrad.typing import Array


def nearness(w: Array) -> float:
    """The relative distance of eigenvalues below which a mean of slopes is better than the quotient."""
    eps = float(np.finfo(w.dtype).eps)
    return float(eps ** (1 / 3))


def product_by_values(left: Array, right: Array, d: Array, form: str) -> Any:
    """left*d @ right as it was written: with scaled columns, scaled rows, or a diagonal matrix.

    "columns[1:3]" is of these vectors alone; the values of the others are 0.
    """
    form, _, bounds = form.rstrip("]").partition("[")
    if bounds:
        chosen = slice(*[int(bound) for bound in bounds.split(":")])
        left, right, d = left[..., chosen], right[..., chosen, :], d[..., chosen]
    if form == "plain":
        return np.matmul(left, right)
    row, column = as_row(d), as_column(d)
    if form == "columns":
        return np.matmul(left * row, right)
    if form == "rows":
        return np.matmul(left, column * right)
    middle = row * eye_like(row)
    if form == "left diagonal":
        return np.matmul(np.matmul(left, middle), right)
    return np.matmul(left, np.matmul(middle, right))


def quotients_of(w: Array, d: Array, s: Array) -> Any:
    """(d_j - d_i)/(w_j - w_i), and the mean of slopes for values that are near, as on the diagonal.

    Values that were scaled each by a number of its own may differ by more than their slopes tell: then the
    quotient is taken however near they are.
    """
    distance = as_row(w) - as_column(w)
    rise = as_row(d) - as_column(d)
    mean = 0.5 * (as_row(s) + as_column(s))
    sizes = [np.maximum(np.abs(x)[..., None, :], np.abs(x)[..., :, None]) for x in (w, d)]
    rest = np.abs(rise - mean * distance)
    eps, close = float(np.finfo(w.dtype).eps), nearness(w)
    near = np.abs(distance) <= close * sizes[0]
    near = near & (rest <= close * np.abs(rise) + 16 * eps * sizes[1])
    near = near | (np.isnan(mean) & (distance == 0))  # a function without a slope
    quotient = determined_quotient(rise, np.where(near, np.ones_like(distance), distance))
    return np.where(near, mean, quotient)


def _quotients(w: Array, d: Array, s: Array) -> Any:
    quotients = quotients_of(w, d, s)
    return mask(1 - eye_like(quotients) != 0, quotients)


# -- hermitian matrices ----------------------------------------------------------------------------
def _hermitian_product(
    a: Array, w: Array, v: Array, d: Array, s: Array, form: str, triangle: str
) -> Any:
    return product_by_values(v, mH(v), d, form)


def _by_matrix(
    z: Array, a: Array, w: Array, v: Array, d: Array, s: Array, form: str, triangle: str
) -> LinearMap:
    quotients = _quotients(w, d, s)
    read = hermitian_from(triangle)

    def forward(da: Any) -> Any:
        turned = np.matmul(mH(v), np.matmul(read.apply(da), v))
        return np.matmul(v, np.matmul(quotients * turned, mH(v)))

    def backward(g: Any) -> Any:
        turned = quotients * np.matmul(mT(v), np.matmul(g, mT(mH(v))))
        back = np.matmul(mT(mH(v)), np.matmul(turned, mT(v)))
        return read.transpose(back if a.dtype.kind == "c" else np.real(back))

    return Structural(forward, backward)


def _by_values(
    z: Array, a: Array, w: Array, v: Array, d: Array, s: Array, form: str, triangle: str
) -> LinearMap:
    return scaling(v, mH(v), d)


def scaling(left: Array, right: Array, d: Array) -> LinearMap:
    """left*d @ right, as a map of d."""

    def backward(g: Any) -> Any:
        found = np.sum(np.matmul(mT(left), g) * right, axis=-1)
        return found if d.dtype.kind == "c" else np.real(found)

    return Structural(lambda v: np.matmul(left * as_row(v), right), backward)


def _type(
    a: ArrayType, w: ArrayType, v: ArrayType, d: ArrayType, s: ArrayType, **_: str
) -> ArrayType:
    return ArrayType(a.shape, np.result_type(v.dtype, d.dtype))


hermitian_function_op = formula_op(
    "hermitian_function", _hermitian_product, _type, (_by_matrix, None, None, _by_values, None)
)


# -- singular values -------------------------------------------------------------------------------
def singular_product(
    a: Array, u: Array, s: Array, vh: Array, d: Array, t: Array, form: str, adjoint: bool
) -> Any:
    return product_by_values(*_sides(u, vh, adjoint), d, form)


def _sides(u: Array, vh: Array, adjoint: bool) -> tuple[Any, Any]:
    return (mH(vh), mH(u)) if adjoint else (u, vh)


def _skew(x: Array) -> Any:
    return x - mH(x)


def _whole(x: Array) -> Any:
    return x


def _scaled(
    x: Array, d: Array, s: Array, t: Array, *, part: Callable[[Array], Any] = _whole
) -> Any:
    """x*d/s, or a part of it; that of x*t where d and s are 0; 0/0 is 0, and NaN is any other x*d/0."""
    is_zero = np.broadcast_to((s == 0) & (d == 0), np.shape(x))
    quotient = determined_quotient(part(x * d), np.broadcast_to(s, np.shape(x)))
    return quotient + mask(is_zero, part(x * t))


def _denominators(s: Array, d: Array, size: int) -> Any:
    """The singular values, and 0 for one that is a rounding error where d is none, as at a jump at 0."""
    if not s.shape[-1]:
        return s
    jumps = np.abs(d) > np.sqrt(np.finfo(s.dtype).eps) * np.max(np.abs(d), axis=-1, keepdims=True)
    return np.where(jumps, significant(s, s, size), s)


def by_general_matrix(
    a: Array, u: Array, s: Array, vh: Array, d: Array, t: Array, quotients: Array
) -> LinearMap:
    """With x = u^H da v: its hermitian part is multiplied with (d_j - d_i)/(s_j - s_i), the rest with
    (d_j + d_i)/(s_j + s_i), and what of da lies outside the spaces of u and v with d/s (Noferini 2017).
    """
    m, n = np.shape(a)[-2:]
    s = _denominators(s, d, max(m, n))
    row = tuple(as_row(y) for y in (d, s, t))
    column = tuple(as_column(y) for y in (d, s, t))
    pairs = (row[0] + column[0], row[1] + column[1], 0.5 * (row[2] + column[2]))
    v, u_back, v_back = mH(vh), mT(mH(u)), mT(mH(vh))

    def forward(da: Any) -> Any:
        right = np.matmul(da, v)
        x = np.matmul(mH(u), right)
        inner = 0.5 * (quotients * (x + mH(x)) + _scaled(_skew(x), *pairs))
        found = np.matmul(u, np.matmul(inner, vh))
        if m > n:
            found = found + np.matmul(_scaled(right - np.matmul(u, x), *row), vh)
        if n > m:
            outside = np.matmul(mH(u), da) - np.matmul(x, vh)
            found = found + np.matmul(u, _scaled(outside, *column))
        return found

    def backward(g: Any) -> Any:
        right = np.matmul(g, mT(vh))
        x = np.matmul(mT(u), right)
        alike = quotients * x
        inner = 0.5 * (alike + mH(alike) + _scaled(x, *pairs, part=_skew))
        found = np.matmul(u_back, np.matmul(inner, mT(v)))
        if m > n:
            outside = _scaled(right, *row)
            outside = outside - np.matmul(u_back, np.matmul(mT(u), outside))
            found = found + np.matmul(outside, mT(v))
        if n > m:
            outside = _scaled(np.matmul(mT(u), g), *column)
            outside = outside - np.matmul(np.matmul(outside, mT(vh)), v_back)
            found = found + np.matmul(u_back, outside)
        return found if a.dtype.kind == "c" else np.real(found)

    return Structural(forward, backward)


def _by_general_matrix(
    z: Array, a: Array, u: Array, s: Array, vh: Array, d: Array, t: Array, form: str, adjoint: bool
) -> LinearMap:
    if adjoint:
        d, t = np.conj(d), np.conj(t)
    found = by_general_matrix(a, u, s, vh, d, t, _quotients(s, d, t))
    if not adjoint:
        return found
    return Structural(lambda da: mH(found.apply(da)), lambda g: found.transpose(mH(g)))


def _by_singular_values(
    z: Array, a: Array, u: Array, s: Array, vh: Array, d: Array, t: Array, form: str, adjoint: bool
) -> LinearMap:
    return scaling(*_sides(u, vh, adjoint), d)


def singular_type(
    a: ArrayType,
    u: ArrayType,
    s: ArrayType,
    vh: ArrayType,
    d: ArrayType,
    t: ArrayType,
    form: str,
    adjoint: bool,
) -> ArrayType:
    *stack, m, n = a.shape
    return ArrayType((*stack, *((n, m) if adjoint else (m, n))), np.result_type(u.dtype, d.dtype))


singular_function_op = formula_op(
    "singular_function",
    singular_product,
    singular_type,
    (_by_general_matrix, None, None, None, _by_singular_values, None),
)


# -- norms -----------------------------------------------------------------------------------------
_REDUCTIONS = {"nuc": "sum", "2": "max", "-2": "min"}


def _norm_run(a: Array, order: str) -> Any:
    reduce = getattr(np, _REDUCTIONS[order])
    return reduce(np.linalg.svd(a, compute_uv=False), axis=-1)


def _shares(s: Array, size: int, order: str) -> tuple[Any, Any, Any]:
    """The singular values, those that are equal to the norm made equal, with their weights and the slopes of
    these: none, and NaN where several share the norm."""
    ones = np.ones_like(s)
    if order == "nuc":
        return s, ones, 0.0 * ones
    values = stopped(s)
    largest = np.max(values, axis=-1, keepdims=True)
    extreme = largest if order == "2" else np.min(values, axis=-1, keepdims=True)
    chosen = np.abs(values - extreme) <= size * np.finfo(s.dtype).eps * largest
    count = np.sum(mask(chosen, ones), axis=-1, keepdims=True)
    several = np.broadcast_to(count > 1, np.shape(s)) & chosen
    return (
        np.where(several, extreme, s),
        mask(chosen, ones / count),
        np.where(several, np.nan, 0.0 * ones),
    )


def _norm_edge(z: Array, a: Array, *, order: str) -> LinearMap:
    """The derivative is u*d @ v^H, which is a function of the matrix."""
    u, s, vh = (pick_op(svd_op(a), index=k) for k in range(3))
    s, d, t = _shares(s, max(np.shape(a)[-2:]), order)
    form = "plain" if order == "nuc" else "columns"
    along = singular_function_op(a, u, s, vh, d, t, form=form, adjoint=False).conj()

    def forward(da: Array) -> Any:
        return np.real(np.sum(along * da, axis=(-2, -1)))

    return Structural(forward, lambda g: np.expand_dims(g, (-2, -1)) * along)


singular_norm_op: Op = Op(
    name="singular_norm",
    run=_norm_run,
    infer=lambda a, order: ArrayType(a.shape[:-2], real_dtype(a.dtype)),
    edges=(_norm_edge,),
    batch=same_on_batch(lambda: singular_norm_op),
    notation=lambda x, order: f"matrix_norm({x}, ord={repr(order) if order == 'nuc' else order})",
    columns=Columns(
        flops=lambda z: math.prod(z.args[0].shape[:-2]) * svd_flops(*z.args[0].shape[-2:]),
        numpy=lambda expr, texts: _norm_source(dict(expr.params)["order"], texts[0]),
        libraries={
            "any": lambda xp, a, order: getattr(xp, _REDUCTIONS[order])(
                xp.linalg.svd(a, compute_uv=False), axis=-1
            ),
            "torch": lambda torch, a, order: getattr(
                torch, _REDUCTIONS[order] if order == "nuc" else f"a{_REDUCTIONS[order]}"
            )(torch.linalg.svdvals(a), dim=-1),
        },
        untaken=matrix_or_identity,
    ),
)
"""The sum of the singular values (order "nuc"), the largest one ("2") or the least one ("-2"), of matrices.

Equal values share the derivative. Its own derivative is NaN there, unless all are added.
"""


def _norm_source(order: str, text: str) -> str:
    return f"np.{_REDUCTIONS[order]}(np.linalg.svd({text}, compute_uv=False), axis=-1)"
