"""`scipy.linalg.funm`: a function of a matrix that is given as a function of its eigenvalues."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.expr import symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import differentiable, lift_fully
from funcgrad.ops.eigenvectors import eig_op, independent
from funcgrad.ops.shape import holds_expr
from funcgrad.ops.tuples import pick_op
from funcgrad.scipy.composition import as_single, nondifferentiable, number, without_tracing
from funcgrad.scipy.external_function import with_pushforward
from funcgrad.scipy.matrix_equations import square_matrix
from funcgrad.scipy.matrix_powers import complex_type, has_complex_value
from funcgrad.source import value_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import flatten
from funcgrad.trace.trace_body import trace_body
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient
from funcgrad.transforms.jvp import jvp
from funcgrad.transforms.vmap import vmap
from funcgrad.typing import Array, ArrayLike

_Function = Callable[..., Any]


def funm(A: ArrayLike, func: _Function, disp: bool = True) -> Any:
    """As `scipy.linalg.funm`, in the matrix and in what ``func`` captures.

    ``func`` is analytic, and is traced on one eigenvalue. A matrix without as
    many independent eigenvectors as rows has the derivative NaN, and one with
    equal eigenvalues has the second derivative NaN.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: funm(a, np.sin)[0, 1])(np.diag([1.0, 2.0]))
    array([[0.        , 0.06782644],
           [0.        , 0.        ]])
    """
    if not holds_expr(A) and without_tracing(lambda w: func(w + 0j), 0.0, ()):
        return _scipy.funm(A, func, disp=disp)
    matrix = square_matrix("funm", number("funm", A))
    stand_in = symbol("w", ArrayType((), np.dtype(complex)))
    body, captured, _ = trace_body(on_arrays(func), [flatten(0j)], [stand_in])

    def at(w: Array, *captured: Array) -> Any:
        """The function at one eigenvalue, of type complex."""
        return body.inline([lift_fully(item) for item in (w, *captured)])[0] + 0j

    given = [lift_fully(item) for item in captured]

    def own(a: Array, *given: Array) -> Any:
        return _scipy.funm(a, _on_all(at, given), disp=False)[0]

    whole = has_complex_value("funm", own, matrix, *given)
    found = as_single(_of_matrix(at, own, whole)(matrix, *given), A)
    if disp:
        return found
    error = nondifferentiable(
        "funm_error",
        lambda a, *given: float(_scipy.funm(a, _on_all(at, given), disp=False)[1]),
        matrix,
        *given,
    )
    return found, error


def _on_all(at: _Function, captured: Sequence[Any]) -> _Function:
    """The function on a vector of eigenvalues."""
    axes = (0, *[None] * len(captured))
    return lambda w: vmap(at, axes)(w, *captured)


def _of_matrix(at: _Function, own: _Function, is_complex: bool) -> _Function:
    def run(a: Array, *captured: Array) -> Any:
        value = own(a, *captured)
        if not is_complex and np.iscomplexobj(value):
            raise value_error(
                "funm: expected a real matrix with a real result, but it is complex, and a mapped function "
                "or a formula has one type for all values; write funm(a.astype(complex), func)",
            )
        return value.astype(np.result_type(a.dtype, np.complex64) if is_complex else a.dtype)

    out = (lambda a, *_: complex_type(a)) if is_complex else lambda a, *_: a
    # 1, and an error if the value is complex: a derivative alone does not compute the value.
    one = primitive(lambda *given: 1.0 + 0 * run(*given)[0, 0], out=lambda *_: 1.0, name="is_real")

    def slope(a: Array, *others: Any) -> Any:
        """In the basis of eigenvectors, da is multiplied by divided differences (Daleckii and Krein)."""
        count = len(others) // 2 - 1
        captured, (_, da, *moves) = others[:count], others[count:]
        node = eig_op(lift_fully(a))
        w, v = pick_op(node, index=0), independent(pick_op(node, index=1))
        inner = _divided_differences(at, w, captured) * np.linalg.solve(v, da @ v)
        moving = [k for k, item in enumerate(captured) if differentiable(lift_fully(item).dtype)]
        if moving:
            inner = inner + np.diag(_moved(at, w, captured, moves, moving))
        moved = np.linalg.solve(v.T, (v @ inner).T).T
        if not is_complex:
            moved = np.real(moved) * one(*[stop_gradient(item) for item in (a, *captured)])
        return moved

    return with_pushforward("funm", run, out, slope)


def _moved(
    at: _Function, w: Array, captured: Sequence[Any], moves: Sequence[Any], moving: Sequence[int]
) -> Any:
    """The tangent of the function's values at the eigenvalues, by what it captures."""

    def of_one(w: Array) -> Any:
        def changed(*parts: Array) -> Any:
            given = list(captured)
            for k, part in zip(moving, parts, strict=True):
                given[k] = part
            return at(w, *given)

        start, along = [tuple([items[k] for k in moving]) for items in (captured, moves)]
        return jvp(changed, start, along)[1]

    return vmap(of_one)(w)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)


def _divided_differences(at: _Function, w: Array, captured: Sequence[Any]) -> Any:
    """The matrix of (f(w_i) - f(w_j)) / (w_i - w_j), and the mean slope between close eigenvalues."""
    n = w.shape[0]
    first, second = np.broadcast_to(w[:, None], (n, n)), np.broadcast_to(w[None, :], (n, n))
    values = _on_all(at, captured)(w)
    gap, rise = first - second, values[:, None] - values[None, :]
    size = np.maximum(np.abs(first), np.abs(second))
    close = np.abs(gap) <= np.maximum(1e-3 * size, 1e-10 * np.max(np.abs(w), initial=0.0))
    shares = (1 + _NODES)[:, None, None] / 2
    points = np.where(close, second + shares * gap, second)
    slopes = vmap(lambda w: jvp(lambda w: at(w, *captured), (w,), (1.0 + 0j,))[1])(
        points.reshape(-1)
    )
    mean = np.tensordot(_WEIGHTS / 2, slopes.reshape(points.shape), 1)
    # Across a branch cut, the rise is not that of the slopes.
    sizes = np.abs(values[:, None]) + np.abs(values[None, :]) + np.abs(gap * mean)
    smooth = close & ((np.abs(rise - gap * mean) <= 1e-9 * sizes) | (gap == 0))
    return np.where(smooth, mean, rise / np.where(smooth, 1.0, gap))
