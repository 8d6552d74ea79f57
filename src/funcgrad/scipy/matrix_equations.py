"""Matrix equations of `scipy.linalg`: Sylvester's, Lyapunov's and Riccati's.

>>> import funcgrad as fg
>>> one = np.array([[1.0]])
>>> fg.grad(lambda q: solve_continuous_are(0 * one, one, q, one)[0, 0])(4 * one)
array([[0.25]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.graph import ArrayType
from funcgrad.ops.base.matrix_stacks import hermitian_from
from funcgrad.scipy.composition import composed, number, with_value, without_derivative
from funcgrad.scipy.external_function import with_pullback
from funcgrad.source import value_error, with_name
from funcgrad.typing import Array, ArrayLike

_composed, _kept = composed(_scipy), composed(_scipy, single=True)
_kept_hosted = composed(_scipy, single=True, host=True)


def in_one_dtype(who: str, *values: ArrayLike) -> list[Any]:
    """The arguments in one dtype, that of double precision."""
    items: list[Any] = [number(who, value) for value in values]
    dtype = np.result_type(*[item.dtype for item in items])
    return [item if item.dtype == dtype else item.astype(dtype) for item in items]


def real_form(m: Array) -> Any:
    """The real matrix of twice the size that multiplies, and is transposed, as a complex one is."""
    real_part, imaginary = np.real(m), np.imag(m)
    return np.block([[real_part, -imaginary], [imaginary, real_part]])


def of_real_form(m: Array) -> Any:
    """The complex matrix of a `real_form`."""
    rows, columns = [n // 2 for n in m.shape]
    return m[:rows, :columns] + 1j * m[rows:, :columns]


def square_matrix(who: str, a: Array, stacked: bool = False) -> Any:
    """The matrix, or with ``stacked`` the stack of matrices, if they are square."""
    if (a.ndim < 2 if stacked else a.ndim != 2) or a.shape[-2] != a.shape[-1]:
        raise value_error(f"{who}: expected a square matrix, but got shape {a.shape}")
    return a


def one_triangle(a: Array, lower: object, hermitian: bool = True) -> Any:
    """The Hermitian, or symmetric, matrix that LAPACK reads: one triangle of it."""
    if hermitian:
        return hermitian_from("L" if lower else "U").apply(a)
    below = np.tril(a, -1) if lower else np.swapaxes(np.triu(a, 1), -1, -2)
    return below + np.swapaxes(below, -1, -2) + np.tril(np.triu(a))


# -- Sylvester's and Lyapunov's equations ----------------------------------------------------------------
def _sylvester_pullback(a: Array, b: Array, q: Array, x: Array, g: Array) -> tuple[Any, ...]:
    """a x + x b = q, so w with a.T w + w b.T = g is the cotangent of q."""
    w = sylvester(a.T, b.T, g)
    return -(w @ x.T), -(x.T @ w), w


sylvester: Callable[..., Any] = with_pullback(
    "solve_sylvester",
    _scipy.solve_sylvester,
    lambda a, b, q: q,
    _sylvester_pullback,
    lambda a, b, q, x, da, db, dq: sylvester(a, b, dq - da @ x - x @ db),
)


@_kept
def solve_sylvester(a: ArrayLike, b: ArrayLike, q: ArrayLike) -> Any:
    """As `scipy.linalg.solve_sylvester`: x with a @ x + x @ b = q.

    >>> import funcgrad as fg
    >>> a = np.array([[2.0]])
    >>> fg.grad(lambda q: solve_sylvester(a, a, q)[0, 0])(a)
    array([[0.25]])
    """
    left, right, total = in_one_dtype("solve_sylvester", a, b, q)
    return sylvester(
        square_matrix("solve_sylvester", left), square_matrix("solve_sylvester", right), total
    )


@_kept_hosted
def solve_continuous_lyapunov(a: ArrayLike, q: ArrayLike) -> Any:
    matrix, right = map(np.atleast_2d, in_one_dtype("solve_continuous_lyapunov", a, q))
    return solve_sylvester(matrix, np.conj(matrix.T), right)


solve_lyapunov = solve_continuous_lyapunov


@_composed
def solve_discrete_lyapunov(a: ArrayLike, q: ArrayLike, method: str | None = None) -> Any:
    matrix, right = in_one_dtype("solve_discrete_lyapunov", a, q)
    n = square_matrix("solve_discrete_lyapunov", matrix).shape[0]
    if method == "direct" or (method is None and n < 10):
        system = np.eye(n * n) - np.kron(matrix, np.conj(matrix))
        return np.linalg.solve(system, right.reshape(-1)).reshape(right.shape)
    # By a bilinear transform to a continuous equation.
    eye, adjoint = np.eye(n), np.conj(matrix.T)
    inverse = np.linalg.inv(adjoint + eye)
    b = (adjoint - eye) @ inverse
    c = 2 * np.linalg.solve(matrix + eye, right) @ inverse
    return solve_sylvester(np.conj(b.T), b, -c)


# -- Riccati's equations ---------------------------------------------------------------------------------
def _continuous_pullback(
    a: Array, b: Array, q: Array, r: Array, x: Array, g: Array
) -> tuple[Any, ...]:
    """With k = inv(r) b.T x and c = a - b k, c.T dx + dx c is what da, db, dq and dr add to the equation."""
    k = np.linalg.solve(r, b.T @ x)
    c = a - b @ k
    w = sylvester(c, c.T, (g + g.T) / 2)
    return -2 * (x @ w), 2 * (x @ w @ k.T), -w, -(k @ w @ k.T)


def _discrete_pullback(
    a: Array, b: Array, q: Array, r: Array, x: Array, g: Array
) -> tuple[Any, ...]:
    """With k = inv(r + b.T x b) b.T x a and c = a - b k, dx - c.T dx c is what the others add."""
    k = np.linalg.solve(r + b.T @ x @ b, b.T @ x @ a)
    c = a - b @ k
    w = solve_discrete_lyapunov(c, (g + g.T) / 2)
    return 2 * (x @ c @ w), -2 * (x @ c @ w @ k.T), w, k @ w @ k.T


def _riccati(
    who: str, solve: Callable[..., Any], given: Sequence[Any], beside: Sequence[Any], balanced: bool
) -> Any:
    """The solution for a, b, q and r, ``given``, and, where they are, e and s, ``beside``."""
    matrices = in_one_dtype(who, *[np.atleast_2d(number(who, value)) for value in given])
    extra = [item if item is None else np.atleast_2d(number(who, item)) for item in beside]
    values = partial(_scipys_solution, who, balanced)
    whole = [*matrices, *extra]
    if any([item is not None and item.dtype.kind == "c" for item in whole]):
        forms: list[Any] = [item if item is None else real_form(item) for item in whole]
        return with_value(values(*whole), of_real_form(_real_riccati(solve, values, *forms)))
    return _real_riccati(solve, values, *whole)


def _scipys_solution(who: str, balanced: bool, *whole: Any) -> Any:
    """SciPy's solution, which has no derivative."""
    given = [item for item in whole if item is not None]
    dtype = np.result_type(*[item.dtype for item in given])
    without_mass = whole[4] is None

    def run(*values: Array) -> Any:
        further = (None, *values[4:]) if without_mass else values[4:]
        return getattr(_scipy, who)(*values[:4], *further, balanced=balanced)

    return without_derivative(who, run, lambda a, *_: ArrayType(a.shape, dtype), *given)


def _real_riccati(
    solve: Callable[..., Any],
    values: Callable[..., Any],
    a: Array,
    b: Array,
    q: Array,
    r: Array,
    e: Array | None,
    s: Array | None,
) -> Any:
    if e is None and s is None:
        return solve(a, b, q, r)
    # Those of the matrices a e^-1 - b r^-1 t^T and e^-T q e^-1 - t r^-1 t^T, with t = e^-T s.
    mass = np.eye(a.shape[0]) if e is None else e
    cross = np.zeros(b.shape) if s is None else s
    t = np.linalg.solve(mass.T, cross)
    gain = np.linalg.solve(r, t.T)
    inner = np.linalg.solve(mass.T, np.linalg.solve(mass.T, q.T).T)
    found = solve(np.linalg.solve(mass.T, a.T).T - b @ gain, b, inner - t @ gain, r)
    return with_value(values(a, b, q, r, mass, cross), found)


def _of_riccati(name: str, pullback: Callable[..., tuple[Any, ...]]) -> Callable[..., Any]:
    solve = with_pullback(name, getattr(_scipy, name), lambda a, b, q, r: a, pullback)

    def function(
        a: ArrayLike,
        b: ArrayLike,
        q: ArrayLike,
        r: ArrayLike,
        e: Any = None,
        s: Any = None,
        balanced: bool = True,
        **_: object,
    ) -> Any:
        return _riccati(name, solve, (a, b, q, r), (e, s), balanced)

    return _composed(with_name(function, name, f"As `scipy.linalg.{name}`."))


solve_continuous_are = _of_riccati("solve_continuous_are", _continuous_pullback)
solve_discrete_are = _of_riccati("solve_discrete_are", _discrete_pullback)
