"""Functions of hermitian matrices, by a function of each eigenvalue; second derivatives between equal ones.

In the basis of the eigenvectors, the first derivative multiplies with the divided differences f[w_i, w_j].
The second one adds f[w_i, w_j, w_k] times entry (i, j) of one change and (j, k) of the other. Where
eigenvalues are equal, the differences are f' and f''/2. All of the derivative is by the matrix. That of third
order differentiates the formula, and is NaN between equal eigenvalues.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.entrywise import formula_op
from funcgrad.ops.base.matrix_stacks import as_column, as_row, mH, mT
from funcgrad.ops.elementwise.arithmetic import determined_quotient
from funcgrad.ops.matrix_functions import nearness, product_by_values, quotients_of, scaling
from funcgrad.ops.reduced_resolvents import off_diagonal
from funcgrad.typing import Array


def _to_basis(v: Array, x: Any) -> Any:
    return np.matmul(mH(v), np.matmul(x, v))


def _from_basis(v: Array, x: Any) -> Any:
    return np.matmul(v, np.matmul(x, mH(v)))


# -- the function ----------------------------------------------------------------------------------
# The values d = f(w) have the slopes s and t, and x has their numbers. Where f is fixed, x does not move.
# Where the values do not depend on the matrix, x is d, and s and t are 0.
def _function(
    a: Array, w: Array, v: Array, d: Array, s: Array, t: Array, x: Array, form: str
) -> Any:
    return product_by_values(v, mH(v), d, form)


def _function_by_matrix(
    z: Array, a: Array, w: Array, v: Array, d: Array, s: Array, t: Array, x: Array, form: str
) -> LinearMap:
    def forward(da: Any) -> Any:
        return spectral_slope_op(a, w, v, da, d, s, t, x)

    def backward(g: Any) -> Any:
        back = mT(spectral_slope_op(a, w, v, mT(g), d, s, t, x))
        return back if a.dtype.kind == "c" else np.real(back)

    return Structural(forward, backward)


def _function_by_values(
    z: Array, a: Array, w: Array, v: Array, d: Array, s: Array, t: Array, x: Array, form: str
) -> LinearMap:
    return scaling(v, mH(v), x)


spectral_function_op = formula_op(
    "spectral_function",
    _function,
    lambda a, w, v, d, s, t, x, form: ArrayType(a.shape, np.result_type(v.dtype, x.dtype)),
    (_function_by_matrix, None, None, None, None, None, _function_by_values),
)
"""v*x @ v^H, as a function of the matrix and of x."""


# -- its derivative --------------------------------------------------------------------------------
def _slope(a: Array, w: Array, v: Array, e: Array, d: Array, s: Array, t: Array, x: Array) -> Any:
    return _from_basis(v, quotients_of(w, d, s) * _to_basis(v, e))


def _second_quotients(w: Array, p: Array, s: Array, t: Array) -> Any:
    """f[w_i, w_i, w_j] from p, the matrix of f[w_i, w_j]."""
    distance, rise = as_row(w) - as_column(w), p - as_column(s)
    mean = (2 * as_column(t) + as_row(t)) / 6
    size = np.maximum(np.abs(as_row(w)), np.abs(as_column(w)))
    slopes = np.maximum(np.abs(as_row(s)), np.abs(as_column(s)))
    # Below this distance a mean of second slopes is more accurate than the quotient.
    close = float(np.finfo(w.dtype).eps) ** 0.25
    near = np.abs(distance) <= close * size
    rest = np.abs(rise - mean * distance)
    near = near & (rest <= close * np.abs(rise) + 100 * nearness(w) ** 2 * slopes)
    quotient = determined_quotient(rise, np.where(near, np.ones_like(distance), distance))
    return np.where(near, mean, quotient)


def _slope_by_matrix(
    z: Array, a: Array, w: Array, v: Array, e: Array, d: Array, s: Array, t: Array, x: Array
) -> LinearMap:
    p = quotients_of(w, d, s)
    twice = _second_quotients(w, p, s, t)
    distance = as_column(w) - as_row(w)
    close = nearness(w)
    near = np.abs(distance) <= close * np.maximum(np.abs(as_row(w)), np.abs(as_column(w)))
    rise = np.abs(as_column(d) - as_row(d) - p * distance)
    near = near & (rise <= close * np.maximum(np.abs(as_row(d)), np.abs(as_column(d))))
    # Eigenvalues about 0 of a larger matrix, where f is smooth: a quotient would have its rounding errors.
    largest, steepest = (
        np.max(np.abs(y), axis=(-2, -1), keepdims=True, initial=0.0) for y in (as_row(w), p)
    )
    smooth = np.abs(p - 0.5 * (as_column(s) + as_row(s))) <= close * steepest
    near = near | ((np.abs(distance) <= close * largest) & smooth)

    def ordered(first: Any, second: Any) -> Any:
        """The sum over j of f[w_i, w_j, w_k]*first_ij*second_jk."""
        apart = np.matmul(p * first, second) - np.matmul(first, p * second)
        mean = 0.5 * (np.matmul(twice * first, second) + np.matmul(first, mT(twice) * second))
        apart = determined_quotient(apart, np.where(near, np.ones_like(distance), distance))
        return np.where(near, mean, apart)

    def both(first: Any, second: Any) -> Any:
        return ordered(first, second) + ordered(second, first)

    turned = _to_basis(v, e)

    def backward(g: Any) -> Any:
        u = v.conj()
        back = _from_basis(u, both(mT(turned), _to_basis(u, g)))
        return back if a.dtype.kind == "c" else np.real(back)

    return Structural(lambda da: _from_basis(v, both(turned, _to_basis(v, da))), backward)


def _slope_by_change(
    z: Array, a: Array, w: Array, v: Array, e: Array, d: Array, s: Array, t: Array, x: Array
) -> LinearMap:
    def backward(g: Any) -> Any:
        back = mT(spectral_slope_op(a, w, v, mT(g), d, s, t, x))
        return back if e.dtype.kind == "c" else np.real(back)

    return Structural(lambda de: spectral_slope_op(a, w, v, de, d, s, t, x), backward)


def _slope_by_values(
    z: Array, a: Array, w: Array, v: Array, e: Array, d: Array, s: Array, t: Array, x: Array
) -> LinearMap:
    """By x where it is no function of the eigenvalues: then s and t are 0."""
    none = np.zeros_like(s)

    def backward(g: Any) -> Any:
        shares = _to_basis(v.conj(), g) * _to_basis(v, e)
        found = off_diagonal(shares + mT(shares), as_row(w) - as_column(w))
        back = np.sum(found, axis=-2)
        return back if x.dtype.kind == "c" else np.real(back)

    return Structural(lambda dx: spectral_slope_op(a, w, v, e, dx, none, none, dx), backward)


spectral_slope_op = formula_op(
    "spectral_slope",
    _slope,
    lambda a, w, v, e, d, s, t, x: ArrayType(a.shape, np.result_type(v.dtype, e.dtype, x.dtype)),
    (_slope_by_matrix, None, None, _slope_by_change, None, None, None, _slope_by_values),
)
"""The derivative of `spectral_function_op` along e."""
