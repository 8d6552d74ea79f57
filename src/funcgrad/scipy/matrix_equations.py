"""Matrix equations, matrix functions and factorizations of `scipy.linalg` that NumPy does not have.

SciPy computes their values. Each has one rule, the transpose of its differential, which calls the function
itself; the other mode and derivatives up to the third order follow from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg as _scipy

from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import composed, number, real, refuse, taken
from funcgrad.source import fail
from funcgrad.transforms.custom.custom_derivatives import custom_vjp
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

_composed = composed(_scipy)

_Pullback = Callable[..., tuple[Any, ...]]
"""A function of the arguments, the value and its cotangent, to the cotangents of the arguments."""


def _ruled(
    name: str, run: Callable[..., Any], out: Callable[..., ArrayType], pullback: _Pullback
) -> Callable[..., Any]:
    """A function of arrays that SciPy computes, with its derivative."""
    value = primitive(run, out=out, name=name)

    @custom_vjp
    def function(*args: Array) -> Any:
        return value(*[lift_fully(arg) for arg in args])

    def forward(*args: Array) -> tuple[Any, Any]:
        found = function(*args)
        return found, (args, found)

    def backward(residuals: Sequence[Array], cotangent: Array) -> tuple[Any, ...]:
        args, found = residuals
        return pullback(*args, found, cotangent)

    function.defvjp(forward, backward)
    return function


def _arrays(who: str, *values: npt.ArrayLike) -> list[Any]:
    """The arguments in one dtype, that of double precision."""
    items: list[Any] = [number(who, value) for value in values]
    dtype = np.result_type(*[item.dtype for item in items])
    return [item if item.dtype == dtype else item.astype(dtype) for item in items]


def _square(who: str, a: Array) -> Any:
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise fail(ValueError, f"{who}: expected a square matrix, but got shape {a.shape}")
    return a


# -- Sylvester's and Lyapunov's equations ----------------------------------------------------------------
def _sylvester_pullback(a: Array, b: Array, q: Array, x: Array, g: Array) -> tuple[Any, ...]:
    """a x + x b = q, so w with a.T w + w b.T = g is the cotangent of q."""
    w = _sylvester(a.T, b.T, g)
    return -(w @ x.T), -(x.T @ w), w


_sylvester = _ruled(
    "solve_sylvester", _scipy.solve_sylvester, lambda a, b, q: q, _sylvester_pullback
)


@_composed
def solve_sylvester(a: npt.ArrayLike, b: npt.ArrayLike, q: npt.ArrayLike) -> Any:
    """As `scipy.linalg.solve_sylvester`: x with a @ x + x @ b = q.

    >>> import funcgrad as fg
    >>> a = np.array([[2.0]])
    >>> fg.grad(lambda q: solve_sylvester(a, a, q)[0, 0])(a)
    array([[0.25]])
    """
    left, right, total = _arrays("solve_sylvester", a, b, q)
    return _sylvester(_square("solve_sylvester", left), _square("solve_sylvester", right), total)


@_composed
def solve_continuous_lyapunov(a: npt.ArrayLike, q: npt.ArrayLike) -> Any:
    """As `scipy.linalg.solve_continuous_lyapunov`."""
    matrix, right = _arrays("solve_continuous_lyapunov", a, q)
    return solve_sylvester(matrix, np.conj(matrix.T), right)


solve_lyapunov = solve_continuous_lyapunov


@_composed
def solve_discrete_lyapunov(a: npt.ArrayLike, q: npt.ArrayLike, method: str | None = None) -> Any:
    """As `scipy.linalg.solve_discrete_lyapunov`."""
    matrix, right = _arrays("solve_discrete_lyapunov", a, q)
    n = _square("solve_discrete_lyapunov", matrix).shape[0]
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
    w = _sylvester(c, c.T, (g + g.T) / 2)
    return -2 * (x @ w), 2 * (x @ w @ k.T), -w, -(k @ w @ k.T)


def _discrete_pullback(
    a: Array, b: Array, q: Array, r: Array, x: Array, g: Array
) -> tuple[Any, ...]:
    """With k = inv(r + b.T x b) b.T x a and c = a - b k, dx - c.T dx c is what the others add."""
    k = np.linalg.solve(r + b.T @ x @ b, b.T @ x @ a)
    c = a - b @ k
    w = solve_discrete_lyapunov(c, (g + g.T) / 2)
    return 2 * (x @ c @ w), -2 * (x @ c @ w @ k.T), w, k @ w @ k.T


_continuous_are = _ruled(
    "solve_continuous_are", _scipy.solve_continuous_are, lambda a, b, q, r: a, _continuous_pullback
)
_discrete_are = _ruled(
    "solve_discrete_are", _scipy.solve_discrete_are, lambda a, b, q, r: a, _discrete_pullback
)


def _riccati(who: str, solve: Callable[..., Any], given: Sequence[Any], e: Any, s: Any) -> Any:
    refuse(who, e=None if e is None else True, s=None if s is None else True)
    return solve(*_arrays(who, *[real(who, value) for value in given]))


@_composed
def solve_continuous_are(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    q: npt.ArrayLike,
    r: npt.ArrayLike,
    e: Any = None,
    s: Any = None,
    balanced: bool = True,
) -> Any:
    """As `scipy.linalg.solve_continuous_are`, for real matrices without e and s.

    >>> import funcgrad as fg
    >>> one = np.array([[1.0]])
    >>> fg.grad(lambda q: solve_continuous_are(0 * one, one, q, one)[0, 0])(4 * one)
    array([[0.25]])
    """
    return _riccati("solve_continuous_are", _continuous_are, (a, b, q, r), e, s)


@_composed
def solve_discrete_are(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    q: npt.ArrayLike,
    r: npt.ArrayLike,
    e: Any = None,
    s: Any = None,
    balanced: bool = True,
) -> Any:
    """As `scipy.linalg.solve_discrete_are`, for real matrices without e and s."""
    return _riccati("solve_discrete_are", _discrete_are, (a, b, q, r), e, s)


# -- matrix functions -----------------------------------------------------------------------------------
def _matrix_function(name: str) -> Callable[..., Any]:
    """A primary matrix function: its derivative is a block of its value at a block matrix (Mathias 1996)."""
    own = getattr(_scipy, name)

    def run(a: Array) -> Any:
        value = own(a)
        if a.dtype.kind == "f" and np.iscomplexobj(value):
            if np.any(np.abs(value.imag) > 1e-12 * (1 + np.abs(value.real))):
                raise fail(
                    ValueError,
                    f"{name}: expected a real matrix with a real result, but it is complex; write "
                    f"{name}(a.astype(complex))",
                )
            value = value.real
        return value

    def pullback(a: Array, x: Array, g: Array) -> tuple[Any, ...]:
        n = a.shape[0]
        upper = np.concatenate([a.T, g], axis=1)
        lower = np.concatenate([0 * a.T, a.T], axis=1)
        return (found(np.concatenate([upper, lower]))[:n, n:],)

    found = _ruled(name, run, lambda a: a, pullback)
    return found


_logm, _sqrtm = _matrix_function("logm"), _matrix_function("sqrtm")


@_composed
def logm(A: npt.ArrayLike) -> Any:
    """As `scipy.linalg.logm`; a real matrix must have a real logarithm."""
    return _logm(_square("logm", number("logm", A)))


@_composed
def sqrtm(A: npt.ArrayLike) -> Any:
    """As `scipy.linalg.sqrtm`; a real matrix must have a real square root."""
    return _sqrtm(_square("sqrtm", number("sqrtm", A)))


# -- LU ---------------------------------------------------------------------------------------------------
def _pivot_order(a: Array) -> Any:
    return _order_of_pivots(_scipy.lu_factor(a)[1])


def _order_of_pivots(pivots: Array) -> Any:
    """The order of rows after the exchanges that LAPACK reports."""
    order = np.arange(len(pivots))
    for k, other in enumerate(pivots):
        order[[k, int(other)]] = order[[int(other), k]]
    return order


def _whole_numbers(type: ArrayType) -> ArrayType:
    return ArrayType(type.shape[-1:], np.dtype(np.int64))


_order = primitive(_pivot_order, out=_whole_numbers, name="lu_order")
_pivots = primitive(
    lambda a: _scipy.lu_factor(a)[1].astype(np.int64), out=_whole_numbers, name="lu_pivots"
)
_exchanged = primitive(_order_of_pivots, out=_whole_numbers, name="lu_exchanges")


def _eliminated_pullback(a: Array, z: Array, g: Array) -> tuple[Any, ...]:
    """With f = inv(l) da inv(u): dl = l tril(f, -1) and du = triu(f) u."""
    left, right = _triangles(z)
    inner = np.tril(left.T @ np.tril(g, -1), -1) + np.triu(np.triu(g) @ right.T)
    half = np.linalg.solve(left.T, inner)
    return (np.linalg.solve(right, half.T).T,)


_eliminated = _ruled("lu", lambda a: _scipy.lu_factor(a)[0], lambda a: a, _eliminated_pullback)


def _triangles(packed: Array) -> tuple[Any, Any]:
    return np.tril(packed, -1) + np.eye(packed.shape[0]), np.triu(packed)


def _factored(who: str, a: npt.ArrayLike) -> tuple[Any, Any]:
    """The rows' order, and both triangles in one matrix."""
    matrix = _square(who, number(who, a))
    order = _order(lift_fully(matrix))
    return order, _eliminated(matrix[order])


@_composed
def lu(
    a: npt.ArrayLike,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """As `scipy.linalg.lu`, for a square matrix."""
    order, packed = _factored("lu", a)
    left, right = _triangles(packed)
    back = np.argsort(order)
    if permute_l:
        return left[back], right
    return (back if p_indices else taken(np.eye(packed.shape[0]), back)), left, right


@_composed
def lu_factor(a: npt.ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """As `scipy.linalg.lu_factor`, for a square matrix."""
    _, packed = _factored("lu_factor", a)
    return packed, _pivots(lift_fully(number("lu_factor", a)))


@_composed
def lu_solve(
    lu_and_piv: tuple[Any, Any],
    b: npt.ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """As `scipy.linalg.lu_solve`."""
    packed, right = _arrays("lu_solve", lu_and_piv[0], b)
    pivots = lift_fully(lu_and_piv[1])
    left, upper = _triangles(packed)
    order = _exchanged(pivots)
    if trans == 0:
        return np.linalg.solve(upper, np.linalg.solve(left, taken(right, order)))
    if trans == 2:
        left, upper = np.conj(left), np.conj(upper)
    found = np.linalg.solve(left.T, np.linalg.solve(upper.T, right))
    return found[np.argsort(order)]


# -- polar --------------------------------------------------------------------------------------------------
def _polar_pullback(a: Array, u: Array, g: Array) -> tuple[Any, ...]:
    """With p = u.T a: du = u w and p w + w p = u.T da - da.T u, and a part that leaves the columns' span."""
    p = u.T @ a
    p = (p + p.T) / 2
    turned = u.T @ g
    inside = u @ _sylvester(p, p, turned - turned.T)
    return (inside + np.linalg.solve(p, (g - u @ turned).T).T,)


_orthogonal_factor = _ruled("polar", lambda a: _scipy.polar(a)[0], lambda a: a, _polar_pullback)


@_composed
def polar(a: npt.ArrayLike, side: str = "right") -> Any:
    """As `scipy.linalg.polar`, for a real matrix with at least as many rows as
    columns.
    """
    matrix: Any = real("polar", a)
    if matrix.ndim != 2 or matrix.shape[0] < matrix.shape[1]:
        raise fail(
            ValueError,
            f"polar: expected a matrix with at least as many rows as columns, but got {matrix.shape}; "
            "write the decomposition of its transpose",
        )
    u = _orthogonal_factor(matrix)
    p = u.T @ matrix if side == "right" else matrix @ u.T
    return u, (p + p.T) / 2


# -- banded systems -------------------------------------------------------------------------------
def _shifted(row: Array, offset: int) -> Any:
    """row[j - offset] at j, and 0 where there is none."""
    n = row.shape[0]
    if abs(offset) >= n:
        return 0 * row
    if offset >= 0:
        return np.concatenate([0 * row[:offset], row[: n - offset]])
    return np.concatenate([row[-offset:], 0 * row[:-offset]])


def _transposed_bands(ab: Array) -> Any:
    """The transposed matrix in diagonal ordered form: the diagonals in reverse order, shifted."""
    width = ab.shape[0] // 2
    return np.stack([_shifted(ab[r], r - width) for r in reversed(range(2 * width + 1))])


def _run_banded(ab: Array, b: Array) -> Any:
    width = ab.shape[0] // 2
    return _scipy.solve_banded((width, width), ab, b)


def _banded_pullback(ab: Array, b: Array, x: Array, g: Array) -> tuple[Any, ...]:
    w, width = _banded(_transposed_bands(ab), g), ab.shape[0] // 2
    # Entry (j + r - width, j) of the matrix stands in row r and column j.
    rows = [-np.sum(_shifted(w, width - r) * x, axis=1) for r in range(2 * width + 1)]
    return np.stack(rows), w


# As many diagonals above the main one as below, so that the transposed system is of the same kind.
_banded = _ruled("solve_banded", _run_banded, lambda ab, b: b, _banded_pullback)


@_composed
def solve_banded(
    l_and_u: tuple[int, int],
    ab: npt.ArrayLike,
    b: npt.ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """As `scipy.linalg.solve_banded`."""
    bands, right = _arrays("solve_banded", ab, b)
    l, u = l_and_u
    if bands.ndim != 2 or bands.shape != (l + u + 1, right.shape[0]):
        raise fail(
            ValueError,
            f"solve_banded: expected diagonals of shape {(l + u + 1, right.shape[0])}, but got "
            f"{bands.shape}",
        )
    width = max(l, u)
    bands = np.pad(bands, ((width - u, width - l), (0, 0)))
    found = _banded(bands, right.reshape(right.shape[0], -1))
    return found.reshape(right.shape)


@_composed
def solveh_banded(
    ab: npt.ArrayLike,
    b: npt.ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """As `scipy.linalg.solveh_banded`."""
    bands, right = _arrays("solveh_banded", ab, b)
    width = bands.shape[0] - 1
    mirrored: Sequence[Any]
    if lower:
        mirrored = [_shifted(np.conj(bands[k]), k) for k in range(width, 0, -1)]
        full = np.stack([*mirrored, *[bands[k] for k in range(width + 1)]])
    else:
        mirrored = [_shifted(np.conj(bands[width - k]), -k) for k in range(1, width + 1)]
        full = np.stack([*[bands[k] for k in range(width + 1)], *mirrored])
    return solve_banded((width, width), full, right)


@_composed
def cho_solve_banded(
    cb_and_lower: tuple[npt.ArrayLike, bool],
    b: npt.ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """As `scipy.linalg.cho_solve_banded`.

    >>> import funcgrad as fg
    >>> fg.grad(lambda c: cho_solve_banded((c, False), [1.0])[0])(np.array([[2.0]]))
    array([[-0.25]])
    """
    factor, lower = cb_and_lower
    bands, right = _arrays("cho_solve_banded", factor, b)
    width = bands.shape[0] - 1
    if lower:
        adjoint = np.stack([_shifted(np.conj(bands[k]), k) for k in range(width, -1, -1)])
        return solve_banded((0, width), adjoint, solve_banded((width, 0), bands, right))
    adjoint = np.stack([_shifted(np.conj(bands[width - k]), -k) for k in range(width + 1)])
    return solve_banded((0, width), bands, solve_banded((width, 0), adjoint, right))


@_composed
def cholesky_banded(
    ab: npt.ArrayLike, overwrite_ab: bool = False, lower: bool = False, check_finite: bool = True
) -> Any:
    """As `scipy.linalg.cholesky_banded`, by the whole matrix.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: cholesky_banded(a)[0, 0])(np.array([[4.0]]))
    array([[0.25]])
    """
    bands = number("cholesky_banded", ab)
    width, n = bands.shape[0] - 1, bands.shape[1]
    matrix: Any = np.zeros((n, n), bands.dtype)
    for k in range(width + 1):
        below = bands[k, : n - k] if lower else np.conj(bands[width - k, k:])
        matrix = matrix + np.diag(below, -k)
        if k:
            matrix = matrix + np.diag(np.conj(below), k)
    factor = np.linalg.cholesky(matrix)
    if lower:
        rows = [np.pad(np.diagonal(factor, -k), (0, k)) for k in range(width + 1)]
    else:
        rows = [np.pad(np.conj(np.diagonal(factor, -k)), (k, 0)) for k in range(width, -1, -1)]
    return np.stack(rows)


# -- Schur's form -----------------------------------------------------------------------------------
_schur_form = primitive(lambda a: _scipy.schur(a)[0], out=lambda a: a, name="schur_form")
_schur_vectors = primitive(lambda a: _scipy.schur(a)[1], out=lambda a: a, name="schur_vectors")


@_composed
def schur(a: npt.ArrayLike, output: str = "real", **options: object) -> Any:
    """As `scipy.linalg.schur`, for a real matrix with real, distinct eigenvalues.

    The vectors are the orthogonal factor of the eigenvectors, in the order of
    SciPy's diagonal. With equal eigenvalues the derivative is NaN, as that of
    the eigenvectors.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: schur(a)[0][0, 0])(np.array([[2.0, 1.0], [0.0, 1.0]]))
    array([[1., 0.],
           [1., 0.]])
    """
    refuse("schur", sort=options.get("sort"))
    matrix: Any = lift_fully(_square("schur", number("schur", a)))
    w, v = np.linalg.eig(matrix)
    if output not in ("real", "r") or matrix.dtype.kind == "c" or w.dtype.kind == "c":
        raise fail(
            TypeError,
            "schur: expected a real matrix with real eigenvalues and output='real' for traced values, since "
            "complex eigenvalues determine the vectors up to a rotation only; write eig, or sqrtm, logm or "
            "expm for a function of the matrix",
        )
    form, vectors = [own(stop_gradient(matrix)) for own in (_schur_form, _schur_vectors)]
    order = np.argsort(w)[np.argsort(np.argsort(np.diagonal(form)))]
    q = np.linalg.qr(v[:, order])[0]
    z = q * np.sign(np.sum(q * vectors, axis=0))
    t = np.triu(z.T @ matrix @ z)
    # The values are SciPy's.
    return form + (t - stop_gradient(t)), vectors + (z - stop_gradient(z))
