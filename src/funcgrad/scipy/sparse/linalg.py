"""``scipy.sparse.linalg`` for traced values: solutions of systems.

The derivative solves the transposed system with the same method. Dense matrices may be traced, and so may the
entries of sparse ones; other operators are constant. All other names lead to SciPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
import scipy.sparse as _sparse
import scipy.sparse.linalg as _scipy

from funcgrad.arrays.reference import exported, plain_value
from funcgrad.arrays.values import by_value
from funcgrad.expr.registry import functions
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import (
    SciPyWrapper,
    floating,
    real,
    refuse,
    settings_by_value,
    with_places_of,
    with_value,
)
from funcgrad.scipy.external_function import with_pullback
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.scipy.sparse.exponential_action import exponentials_at_times as exponentials_at_times
from funcgrad.scipy.sparse.exponential_action import funm_multiply_krylov as funm_multiply_krylov
from funcgrad.scipy.sparse.exponential_action import taylor_steps as taylor_steps
from funcgrad.scipy.sparse.partial_spectra import dense_of, is_traced_operator
from funcgrad.scipy.sparse.partial_spectra import eigs as eigs
from funcgrad.scipy.sparse.partial_spectra import eigsh as eigsh
from funcgrad.scipy.sparse.partial_spectra import lobpcg as lobpcg
from funcgrad.scipy.sparse.partial_spectra import svds as svds
from funcgrad.scipy.sparse.sparse_arguments import of_arguments
from funcgrad.scipy.sparse.sparse_patterns import sum_at
from funcgrad.scipy.sparse.traced_sparse import (
    SparseMatrix,
    SparseOperand,
    TracedSparse,
    has_traced,
)
from funcgrad.source import fail, type_error, value_error
from funcgrad.transforms.custom.implicit import implicit_root
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

Solver = Callable[[Any, Array], Any]
"""A function of a matrix, or of another constant operator, and a right side to the solution."""


def _constant(name: str, matrix: Any) -> Any:
    """The operator over arrays of NumPy's: adopted code sees its parts as arrays that take stores."""
    if has_traced(matrix):
        raise type_error(
            f"{name}: expected a constant matrix, but got a traced one; write np.linalg.solve or "
            "np.linalg.lstsq of the dense matrix, which are differentiated in it, too",
        )
    matrix = _as_operator(matrix)
    if isinstance(matrix, _scipy.LinearOperator):
        return matrix
    if not _sparse.issparse(matrix):
        return np.asarray(plain_value(matrix))
    if matrix.format not in ("csc", "csr"):
        return matrix
    parts = [np.asarray(plain_value(getattr(matrix, k))) for k in ("data", "indices", "indptr")]
    return getattr(_sparse, f"{matrix.format}_matrix")(tuple(parts), shape=matrix.shape)


def _as_operator(matrix: Any) -> Any:
    """An object that has `shape` and ``matvec`` as SciPy's operator; anything else as it is."""
    is_operator = hasattr(matrix, "matvec") and hasattr(matrix, "shape")
    return _scipy.aslinearoperator(matrix) if is_operator else matrix


def _transposed(matrix: Any) -> Any:
    return matrix.T.asformat(matrix.format) if _sparse.issparse(matrix) else matrix.T


def _right_side(name: str, shape: tuple[int, ...], b: ArrayLike, square: bool) -> Any:
    right = lift_fully(floating(name, b))
    if right.shape[:1] != shape[:1] or (square and shape[0] != shape[1]):
        raise value_error(
            f"{name}: expected a {'square ' * square}matrix and a right side with as many rows, but got "
            f"{shape} and {right.shape}",
        )
    return right


def _solved(name: str, solve: Solver, matrix: Any, b: ArrayLike, square: bool = True) -> Any:
    """The solution, which is linear in the right side: its transpose solves the transposed system."""
    if isinstance(matrix, TracedSparse) and square:
        return _of_traced_entries(name, solve, matrix, b)
    matrix = _constant(name, matrix)
    right = _right_side(name, matrix.shape, b, square)
    right = right.astype(np.result_type(right.dtype, matrix.dtype or float))
    runs = [partial(solve, item) for item in (matrix, _transposed(matrix))]
    return _linear(name, runs, right, matrix.shape)


def _of_traced_entries(name: str, solve: Solver, matrix: TracedSparse, b: ArrayLike) -> Any:
    """The solution of a system with a sparse matrix, in its entries and in the right side."""
    right, entries = _right_side(name, matrix.shape, b, True), lift_fully(matrix.entries)
    dtype = np.result_type(right.dtype, entries.dtype, np.float64)
    places = matrix.rows, matrix.columns

    def solution(k: int) -> Callable[..., Any]:
        """That of the system itself, or of the transposed one."""
        rows, columns = places[k], places[1 - k]

        def run(entries: Array, b: Array) -> Any:
            held = _sparse.csc_matrix((np.asarray(entries), (rows, columns)), shape=matrix.shape)
            return np.asarray(solve(held, np.asarray(b))).reshape(b.shape)

        def pullback(entries: Array, b: Array, x: Array, g: Array) -> tuple[Any, ...]:
            w = pair[1 - k](entries, g)
            terms = w[rows] * x[columns]
            return -(terms if terms.ndim == 1 else np.sum(terms, axis=1)), w

        def pushforward(entries: Array, b: Array, x: Array, d: Array, db: Array) -> Any:
            terms = d.reshape(-1, *[1] * (x.ndim - 1)) * x[columns]
            return pair[k](entries, db - sum_at(terms, rows, matrix.shape[0]))

        return with_pullback(name, run, lambda _, b: b, pullback, pushforward)

    pair = [solution(0), solution(1)]
    return pair[0](entries.astype(dtype), right.astype(dtype))


def _linear(
    name: str, runs: Sequence[Callable[[Array], Any]], b: Array, shape: tuple[int, ...]
) -> Any:
    """The first of two linear functions, each the transpose of the other, of b."""

    def solution(k: int) -> Callable[..., Any]:
        def out(b: ArrayType) -> ArrayType:
            return ArrayType((shape[1 - k], *b.shape[1:]), b.dtype)

        return with_pullback(
            name,
            lambda b: np.asarray(runs[k](np.asarray(b))),
            out,
            lambda b, x, g: (pair[1 - k](g),),
            lambda b, x, db: pair[k](db),
        )

    pair = [solution(0), solution(1)]
    return pair[0](b)


# -- direct solutions ------------------------------------------------------------------------------
def spsolve(A: SparseMatrix, b: SparseOperand, *args: object, **kwargs: object) -> Any:
    """As `scipy.sparse.linalg.spsolve`, in the matrix and the right side."""
    if not has_traced([A, b]):
        return _scipy.spsolve(A, b, *args, **kwargs)
    if isinstance(b, TracedSparse) or _sparse.issparse(b):
        found = spsolve(A, b.toarray(), *args, **kwargs)
        return of_arguments(found, None, *_form_of(A)) if found.ndim == 2 else found
    if np.ndim(b) == 2 and np.shape(b)[1] == 1:
        return spsolve(A, np.reshape(b, -1), *args, **kwargs)

    def solve(matrix: Array, b: Array) -> Array:
        stored = matrix if _sparse.issparse(matrix) else _sparse.csc_matrix(matrix)
        return np.asarray(_scipy.spsolve(stored, b, *args, **kwargs)).reshape(b.shape)

    return (_of_traced_matrix if holds_expr(A) else _solved)("spsolve", solve, A, b)


def _form_of(matrix: SparseMatrix) -> tuple[str, str]:
    """The format and the kind of SciPy's sparse solution of a system with this matrix."""
    if isinstance(matrix, TracedSparse):
        kind = matrix.kind
    else:
        kind = "matrix" if isinstance(matrix, _sparse.spmatrix) else "array"
    format = getattr(matrix, "format", "csc")
    return (format if format in ("csc", "csr") else "csc"), kind


@with_places_of(_scipy.spsolve_triangular)
def spsolve_triangular(A: SparseMatrix, b: ArrayLike, lower: bool = True, **options: Any) -> Any:
    """As `scipy.sparse.linalg.spsolve_triangular`, in the right side."""
    if isinstance(A, TracedSparse):
        return _solved_triangle(A, b, lower, options)
    if not holds_expr([A, b]):
        return _scipy.spsolve_triangular(A, b, lower, **options)
    name, kept = "spsolve_triangular", {"unit_diagonal": options.get("unit_diagonal", False)}
    matrix = _constant(name, A)
    right = _right_side(name, matrix.shape, b, True)
    right = right.astype(np.result_type(right.dtype, matrix.dtype))
    if (_sparse.triu(matrix, 1) if lower else _sparse.tril(matrix, -1)).count_nonzero():
        raise value_error(
            f"{name}: expected a {'lower' if lower else 'upper'} triangular matrix, since SciPy reads all "
            "entries, but got one with others; write scipy.sparse.tril or triu of it, or spsolve",
        )
    runs = [
        partial(_scipy.spsolve_triangular, item, lower=below, **kept)
        for item, below in ((matrix, lower), (_transposed(matrix), not lower))
    ]
    return _linear(name, runs, right, matrix.shape)


def _solved_triangle(A: TracedSparse, b: ArrayLike, lower: bool, options: Any) -> Any:
    name = "spsolve_triangular"
    if options.get("unit_diagonal", False):
        raise type_error(
            f"{name}: expected plain entries for unit_diagonal=True, but got traced ones; write "
            "A.setdiag(np.ones(n)), and leave out unit_diagonal",
        )
    beside = A.rows < A.columns if lower else A.rows > A.columns
    if not A.exact:  # SciPy has dropped the zeros of a matrix that was dense
        beside = np.logical_and(beside, by_value(A.entries != 0, name))
        A = import_module("funcgrad.scipy.sparse").__dict__["tril" if lower else "triu"](A)
    if np.any(beside):
        raise value_error(
            f"{name}: expected a {'lower' if lower else 'upper'} triangular matrix, but got one with other "
            "entries; write scipy.sparse.tril or triu of it, or spsolve",
        )
    return spsolve(A.tocsc(), b)


class SuperLU(SciPyWrapper):
    """As `scipy.sparse.linalg.SuperLU`, whose solutions take traced right sides, too."""

    def solve(self, rhs: ArrayLike, trans: str = "N") -> Any:
        """As SciPy's method, in the right side."""
        if not holds_expr(rhs):
            return self.own.solve(exported(rhs), trans)
        right = _right_side("SuperLU.solve", self.own.shape, rhs, True)
        right = right.astype(self.own.solve(np.zeros(right.shape[0], right.dtype)).dtype)
        if trans == "H":
            return np.conj(self.solve(np.conj(right), "T"))
        runs = [partial(self.own.solve, trans=way) for way in ("NT" if trans == "N" else "TN")]
        return _linear("solve", runs, right, self.own.shape)


@dataclass(frozen=True)
class FactorsOfTraced:
    """A factorized matrix with traced entries, whose solutions are those of `spsolve`."""

    matrix: TracedSparse

    @property
    def shape(self) -> tuple[int, int]:
        """That of the matrix."""
        return self.matrix.shape

    def solve(self, rhs: ArrayLike, trans: str = "N") -> Any:
        """As SciPy's method."""
        if trans == "H":
            return np.conj(self.solve(np.conj(rhs), "T"))
        return spsolve(self.matrix if trans == "N" else self.matrix.T, rhs)


def splu(A: SparseMatrix, *args: object, **kwargs: object) -> SuperLU | FactorsOfTraced:
    """As `scipy.sparse.linalg.splu`."""
    if isinstance(A, TracedSparse):
        return FactorsOfTraced(A)
    return SuperLU.of_scipy(_scipy.splu(_constant("splu", A), *args, **kwargs))


def spilu(A: Array, *args: object, **kwargs: object) -> SuperLU:
    """As `scipy.sparse.linalg.spilu`."""
    return SuperLU.of_scipy(_scipy.spilu(_constant("spilu", A), *args, **kwargs))


def factorized(A: Array) -> Callable[[ArrayLike], Any]:
    """As `scipy.sparse.linalg.factorized`: a function from right sides to solutions."""
    return splu(A).solve


# -- iterations ------------------------------------------------------------------------------------
def _iterative(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)

    @wraps(own)
    def function(A: Array, b: ArrayLike, x0: object = None, **options: object) -> Any:
        # A solution has no derivative in a preconditioner.
        options = {
            key: by_value(value, key) if key in ("M", "M1", "M2") and holds_expr(value) else value
            for key, value in settings_by_value(options).items()
        }
        A = _as_operator(A)
        if holds_expr(options.get("shift")):  # of minres
            A = _shifted(A, options.pop("shift"))
        if callable(A) and not hasattr(A, "shape"):
            raise type_error(
                f"{name}: expected a matrix or an operator, but got a function; write "
                "scipy.sparse.linalg.LinearOperator((n, n), matvec=f), and rtol for JAX's tol",
            )
        of_traced = is_traced_operator(A)
        if not (of_traced or has_traced([A, b, x0])):
            return own(A, b, x0, **options)

        def solve(matrix: Array, b: Array) -> Any:
            x, info = own(matrix, b, **options)
            if info:
                raise fail(RuntimeError, f"{name}: expected convergence, but SciPy reports {info}")
            return x

        if of_traced:
            return _of_traced_operator(name, solve, A, b), 0
        if holds_expr(A):
            return _of_traced_matrix(name, solve, A, b), 0
        return _solved(name, solve, A, b), 0

    function.__doc__ = f"As `scipy.sparse.linalg.{name}`, in the matrix and the right side."
    return function


def _shifted(A: Array, shift: Any) -> _scipy.LinearOperator:
    """The operator A less a traced number, times the identity matrix."""

    def product(x: Array) -> Any:
        return A @ x - shift * x

    return functions["redirect"](_scipy.LinearOperator)(A.shape, product, dtype=float)


def _of_traced_matrix(name: str, solve: Solver, a: Array, b: ArrayLike) -> Any:
    """The solution of a system with a dense matrix, by the same method for its derivative."""
    matrix, right = lift_fully(floating(name, a)), _right_side(name, np.shape(a), b, True)
    dtype = np.result_type(matrix.dtype, right.dtype)

    def run(a: Array, b: Array) -> Any:
        return np.asarray(solve(np.asarray(a), np.asarray(b))).reshape(b.shape)

    def pullback(a: Array, b: Array, x: Array, g: Array) -> tuple[Any, ...]:
        w = found(a.T, g)
        return -(w.reshape(len(a), -1) @ x.reshape(len(a), -1).T), w

    def pushforward(a: Array, b: Array, x: Array, da: Array, db: Array) -> Any:
        return found(a, db - da @ x)

    found = with_pullback(name, run, lambda _, b: b, pullback, pushforward)
    return found(matrix.astype(dtype), right.astype(dtype))


def _of_traced_operator(
    name: str, solve: Solver, operator: _scipy.LinearOperator, b: ArrayLike
) -> Any:
    """The solution of a system that is known by its products, in what these depend on.

    The derivative solves the system with the matrix of the products.
    """
    adopted = functions["redirect"](operator)
    right = np.ravel(real(name, b))

    def solver(residual: Callable[[Array], Array], x0: Array) -> Any:
        start = residual(np.zeros(len(x0)))
        products = _scipy.LinearOperator(
            operator.shape, lambda v: residual(np.ravel(v)) - start, dtype=float
        )
        if name in _BY_TRANSPOSES:
            return solve(products @ np.eye(len(x0)), -start)
        return solve(products, -start)

    def residual(x: Array, b: Array) -> Any:
        return plain_value(adopted.matvec(x)) - b

    return implicit_root(residual, solver)(np.zeros(operator.shape[1]), right)


def aslinearoperator(A: SparseOperand) -> Any:
    """As `scipy.sparse.linalg.aslinearoperator`, of matrices that may be traced."""
    if not has_traced(A):
        return functions["redirect"](_scipy.aslinearoperator(plain_value(A)))
    kind = functions["redirect"](_scipy.LinearOperator)
    return kind(A.shape, A.__matmul__, A.conj().T.__matmul__, dtype=A.dtype)


_BY_TRANSPOSES = ("bicg", "qmr")
_ITERATIVE = (
    *("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr"),
)
globals().update({name: _iterative(name) for name in _ITERATIVE})


def _least_squares(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)
    expected = signature(own)

    @wraps(own)
    def function(A: Any, b: ArrayLike, *args: object, **kwargs: object) -> Any:
        if not has_traced([A, b, *args, *kwargs.values()]):
            return own(A, b, *args, **kwargs)
        options = settings_by_value(expected.bind(A, b, *args, **kwargs).arguments)
        options = {k: v for k, v in options.items() if k not in ("A", "b")}
        if not has_traced([A, b, *options.values()]):
            return own(A, b, **options)
        refuse(name, x0=options.get("x0"))
        if holds_expr([*options.values()]):
            raise type_error(f"{name}: expected plain options, but got a traced one")
        in_matrix = isinstance(A, TracedSparse) or holds_expr(A)
        matrix = real(name, dense_of(name, A)) if in_matrix else _constant(name, A)
        right = np.ravel(real(name, b))

        def part(k: int) -> Any:
            def run(*given: Array) -> Any:
                return own(given[0] if in_matrix else matrix, np.asarray(given[-1]), **options)[k]

            def out(*_: ArrayType) -> ArrayType:
                shape = matrix.shape[1:] if k in (0, _VARIANCES) else ()
                return ArrayType(shape, np.dtype(int if k in _COUNTS else float))

            # A norm has no derivative here: it is an error where one is asked for.
            given = [matrix, right] if in_matrix else [right]
            fixed = k == 0 or k in _COUNTS
            return primitive(run, out=out, name=name)(
                *[stop_gradient(x) if fixed else x for x in given]
            )

        if in_matrix:
            solution = with_value(part(0), _exact(matrix, right, options.get("damp", 0.0)))
        else:
            solution = _solved(
                name, lambda m, b: own(m, b, **options)[0], matrix, right, square=False
            )
        return solution, *[part(k) for k in range(1, _RESULTS[name])]

    function.__doc__ = f"As `scipy.sparse.linalg.{name}`, in the matrix and the right side."
    return function


def _exact(matrix: Array, right: Array, damp: float) -> Any:
    """The least squares solution that the iterations come near to."""
    if damp:
        rows = damp * np.eye(matrix.shape[1])
        matrix = np.concatenate([matrix, rows])
        right = np.concatenate([right, np.zeros(len(rows))])
    return np.linalg.lstsq(matrix, right, rcond=None)[0]


_RESULTS, _COUNTS, _VARIANCES = {"lsqr": 10, "lsmr": 8}, (1, 2), 9
"""The sizes of the results, and the places of whole numbers and of lsqr's variances in them."""
lsqr, lsmr = map(_least_squares, _RESULTS)


def norm(x: SparseOperand, ord: Any = None, axis: Any = None) -> Any:
    """As `scipy.sparse.linalg.norm`."""
    if not isinstance(x, TracedSparse):
        return _scipy.norm(x, ord, axis)
    if ord in (None, "fro", "f") and axis is None:
        return np.linalg.norm(x.entries)
    return np.linalg.norm(x.toarray(), ord, axis)


def inv(A: SparseMatrix) -> Any:
    """As `scipy.sparse.linalg.inv`; of traced entries a matrix with an entry at every place."""
    if not isinstance(A, TracedSparse):
        return _scipy.inv(A)
    return of_arguments(np.linalg.inv(A.toarray()), None, A.format, A.kind)


def _exponential(A: SparseMatrix) -> Any:
    """As `scipy.sparse.linalg.expm`; of traced entries a matrix with an entry at every place."""
    if not isinstance(A, TracedSparse):
        return _scipy.expm(A)
    dense = import_module("funcgrad.scipy.linalg").expm(A.toarray())
    return of_arguments(dense, None, A.format, A.kind)


globals()["expm"] = _exponential

__getattr__ = partial(attribute_of, _scipy)
