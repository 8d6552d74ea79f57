"""Banded matrices in SciPy's form of diagonals: systems of equations, Cholesky factors and eigenvalues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import as_single, composed, nondifferentiable, number
from funcgrad.scipy.external_function import with_pullback
from funcgrad.scipy.matrix_equations import in_one_dtype, one_triangle
from funcgrad.source import value_error, with_name
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)


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


def _adjoint_bands(bands: Array, lower: bool) -> Any:
    """The adjoint of a triangular matrix that is given by its diagonals: an upper one of a lower one."""
    width, rows = bands.shape[0] - 1, np.conj(bands)
    if lower:
        return np.stack([_shifted(rows[k], k) for k in range(width, -1, -1)])
    return np.stack([_shifted(rows[width - k], -k) for k in range(width + 1)])


def _lower_triangle(bands: Array, lower: bool) -> Any:
    """The lower triangle, or the conjugate of the upper one, of a matrix that is given by its diagonals."""
    n, width = bands.shape[1], bands.shape[0] - 1
    if lower:
        return sum([np.diag(bands[k, : n - k], -k) for k in range(width + 1)])
    return sum([np.diag(np.conj(bands[width - k, k:]), -k) for k in range(width + 1)])


def _run_banded(ab: Array, b: Array) -> Any:
    width = ab.shape[0] // 2
    return _scipy.solve_banded((width, width), ab, b)


def _banded_pullback(ab: Array, b: Array, x: Array, g: Array) -> tuple[Any, ...]:
    w, width = _banded(_transposed_bands(ab), g), ab.shape[0] // 2
    # Entry (j + r - width, j) of the matrix stands in row r and column j.
    rows = [-np.sum(_shifted(w, width - r) * x, axis=1) for r in range(2 * width + 1)]
    return np.stack(rows), w


def _banded_pushforward(ab: Array, b: Array, x: Array, dab: Array, db: Array) -> Any:
    width = ab.shape[0] // 2
    rows = [_shifted(dab[r][:, None] * x, r - width) for r in range(2 * width + 1)]
    return _banded(ab, db - sum(rows[1:], rows[0]))


# As many diagonals above the main one as below, so that the transposed system is of the same kind.
_banded = with_pullback(
    "solve_banded", _run_banded, lambda ab, b: b, _banded_pullback, _banded_pushforward
)


@_composed
def solve_banded(l_and_u: tuple[int, int], ab: ArrayLike, b: ArrayLike, **_: object) -> Any:
    bands, right = in_one_dtype("solve_banded", ab, b)
    l, u = l_and_u
    if bands.ndim != 2 or bands.shape != (l + u + 1, right.shape[0]):
        raise value_error(
            f"solve_banded: expected diagonals of shape {(l + u + 1, right.shape[0])}, but got "
            f"{bands.shape}",
        )
    width = max(l, u)
    bands = np.pad(bands, ((width - u, width - l), (0, 0)))
    if not right.size:
        return as_single(right, ab, b)
    found = _banded(bands, right.reshape(right.shape[0], -1))
    return as_single(found.reshape(right.shape), ab, b)


@_hosted
def solveh_banded(ab: ArrayLike, b: ArrayLike, lower: bool = False, **_: object) -> Any:
    bands, right = in_one_dtype("solveh_banded", ab, b)
    width = bands.shape[0] - 1
    if bands.dtype.kind == "c":  # of the diagonal LAPACK reads the real parts
        rows = [bands[k] for k in range(width + 1)]
        main = 0 if lower else width
        rows[main] = np.real(rows[main])
        bands = np.stack(rows)
    adjoint = _adjoint_bands(bands, lower)
    full = np.concatenate([adjoint[:-1], bands] if lower else [bands, adjoint[1:]])
    return as_single(solve_banded((width, width), full, right), ab, b)


@_hosted
def cho_solve_banded(cb_and_lower: tuple[ArrayLike, bool], b: ArrayLike, **_: object) -> Any:
    """As `scipy.linalg.cho_solve_banded`.

    >>> import funcgrad as fg
    >>> fg.grad(lambda c: cho_solve_banded((c, False), [1.0])[0])(np.array([[2.0]]))
    array([[-0.25]])
    """
    factor, lower = cb_and_lower
    bands, right = in_one_dtype("cho_solve_banded", factor, b)
    width, adjoint = bands.shape[0] - 1, _adjoint_bands(bands, lower)
    left, upper = (bands, adjoint) if lower else (adjoint, bands)
    found = solve_banded((0, width), upper, solve_banded((width, 0), left, right))
    return as_single(found, factor, b)


@_hosted
def cholesky_banded(ab: ArrayLike, lower: bool = False, **_: object) -> Any:
    """As `scipy.linalg.cholesky_banded`, by the whole matrix.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: cholesky_banded(a)[0, 0])(np.array([[4.0]]))
    array([[0.25]])
    """
    bands = number("cholesky_banded", ab)
    width, n = bands.shape[0] - 1, bands.shape[1]
    factor = np.linalg.cholesky(one_triangle(_lower_triangle(bands, lower), lower=True))
    # In the corners, which stand for no entry of the matrix, SciPy leaves what it is given.
    rows = []
    for row in range(width + 1):
        k = row if lower else width - row
        band = np.diagonal(factor, -k)
        parts = [band, bands[row, n - k :]] if lower else [bands[row, :k], np.conj(band)]
        rows.append(np.concatenate(parts))
    return as_single(np.stack(rows), ab)


# -- eigenvalues ----------------------------------------------------------------------------------
def _eigenvalues(
    name: str, whole: Array, vectors: bool, given: tuple[Any, ...], options: Any
) -> Any:
    """Those of the lower triangle of a matrix; eigenvectors have the signs of SciPy's ``name``."""
    w, v = np.linalg.eigh(whole) if vectors else (np.linalg.eigvalsh(whole), None)
    select, interval = options.get("select", "a"), options.get("select_range")
    chosen = kept = options
    if holds_expr(interval):
        chosen = options | {"select_range": tuple([by_value(end, name) for end in interval])}
    first, last = interval if select in ("i", "index", 2) else (0, whole.shape[0] - 1)
    if select in ("v", "value", 1):
        inside = by_value(np.logical_and(w > interval[0], w <= interval[1]), name)
        first, last = int(np.argmax(inside)), int(np.argmax(inside) + np.sum(inside)) - 1
        kept = options | {"select": "i", "select_range": (first, last)}
    w = w[first : last + 1]
    if v is None:
        return w
    v = v[:, first : last + 1]

    def own(v: Array, *given: Array) -> Any:
        theirs = getattr(_scipy, name)(*given, **chosen)[1]
        if theirs.shape != v.shape:  # an eigenvalue is at an end of the interval, but for rounding
            theirs = getattr(_scipy, name)(*given, **kept)[1]
        overlap = np.sum(np.conj(v) * theirs, axis=0)
        return np.where(overlap == 0, 1.0, overlap / np.abs(overlap))

    signs = nondifferentiable("signs", own, v, *given) if first <= last else 1.0
    return w, v * signs


def _of_diagonals(name: str) -> Callable[..., Any]:
    def function(d: ArrayLike, e: ArrayLike, **options: Any) -> Any:
        main, beside = number(name, d, "fiub"), number(name, e, "fiub")
        vectors = name == "eigh_tridiagonal" and not options.pop("eigvals_only", False)
        whole = np.diag(main) + np.diag(beside, -1)
        return as_single(_eigenvalues(name, whole, vectors, (main, beside), options), d, e)

    return _hosted(with_name(function, name))


def _of_bands(name: str) -> Callable[..., Any]:
    def function(a_band: ArrayLike, lower: bool = False, **options: Any) -> Any:
        bands = number(name, a_band)
        vectors = name == "eig_banded" and not options.pop("eigvals_only", False)
        options["lower"] = lower
        found = _eigenvalues(name, _lower_triangle(bands, lower), vectors, (bands,), options)
        return as_single(found, a_band)

    return _hosted(with_name(function, name))


eigh_tridiagonal, eigvalsh_tridiagonal = map(
    _of_diagonals, ("eigh_tridiagonal", "eigvalsh_tridiagonal")
)
eig_banded, eigvals_banded = map(_of_bands, ("eig_banded", "eigvals_banded"))


# -- questions -------------------------------------------------------------------------------------
def _question(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)

    def function(a: ArrayLike, **options: object) -> Any:
        found = nondifferentiable(name, lambda a: own(np.asarray(a), **options), number(name, a))
        return tuple(found) if found.ndim else found

    return _composed(with_name(function, name))


bandwidth, ishermitian, issymmetric = map(_question, ("bandwidth", "ishermitian", "issymmetric"))
