"""Linear systems as a compiled program solves them: a matrix is factored once for all of its systems.

The slope of a solution solves a system with the transposed matrix, whose factors are the same (LAPACK's getrf
and getrs). So a solution and its slope take half of the time. A matrix that is known to be a triangle, as a
Cholesky factor, has no other factors: it is solved by substitution at once, without a look at its entries; so
are the small ones and those of a stack in machine code, while NumPy solves these as it does all others.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, ArrayType
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.matrix_stacks import lu_flops
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.shape import transpose_op
from funcgrad.ops.solve import cholesky_op, solve_op

_LEAST, _STRUCTURED, _MOST = 32, 96, 512
"""The rows from which factoring takes longer than a call, and than the search for a matrix's structure; those
up to which LU's factors are worth while in a loop whatever the structure."""


def by_factors(expr: Expr) -> Any:
    """The solution by factors that other systems may share; None for stacks and small matrices.

    By a triangle there is one of these, too.
    """
    a, b = expr.args
    if a.dtype.char not in "fdFD" or not has_scipy():
        return None
    triangle = _triangle_of(a)
    if triangle is not None:
        matrix, lower, transposed = triangle if _is_for_numpy(a) else _unmasked(*triangle)
        return substitute_op(matrix, b, lower=lower, transposed=transposed)
    return None if _is_for_numpy(a) else _by_lu(a, b, structured=True)


def _is_for_numpy(a: Any) -> bool:
    """Whether NumPy solves systems with a matrix faster than calls of SciPy's routines do."""
    return bool(a.ndim != 2 or a.shape[-1] < _LEAST)


def by_invariant_factors(expr: Expr) -> Any:
    """The solution by factors that every iteration of a loop shares, for a matrix that does not change in it.

    They pay even for a banded matrix, whose structure each system would look for. None for stacks.
    """
    a, b = expr.args
    if (
        a.ndim != 2
        or not 3 <= a.shape[-1] <= _MOST
        or a.dtype.char not in "fdFD"
        or not has_scipy()
    ):
        return None
    return None if _triangle_of(a) else _by_lu(a, b, structured=False)


def _by_lu(a: Expr, b: Expr, structured: bool) -> Any:
    transposed = a.op is transpose_op
    factors = lu_factors_op(a.args[0] if transposed else a, structured=structured)
    return solve_by_factors_op(factors, b, transposed=transposed, structured=structured)


def _triangle_of(a: Expr) -> tuple[Expr, bool, bool] | None:
    """The triangle that a matrix is, whether a lower one, and whether it is transposed."""
    turned = a.op is transpose_op
    inner = a.args[0] if turned else a
    if turned and dict(a.params)["axes"] != (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2):
        return None
    if inner.op is cholesky_op:
        return inner, True, turned
    if inner.op is not mask or a.ndim != 2:
        return None
    lower = _is_lower(inner.args[0])
    return None if lower is None else (inner, lower, turned)


def _unmasked(matrix: Expr, lower: bool, transposed: bool) -> tuple[Expr, bool, bool]:
    """The same with the matrix of which the triangle is a part."""
    inner = matrix.args[1] if matrix.op is mask else matrix
    if inner is not matrix and inner.op is transpose_op:
        return inner.args[0], not lower, not transposed
    return inner, lower, transposed


def _is_lower(condition: Expr) -> bool | None:
    """Whether a condition holds in the lower triangle alone; False for the upper one, None for others."""
    turned = condition.op is transpose_op
    known = condition.args[0] if turned else condition
    if known.op is not CONSTANT:
        return None
    array = known.params[0][1].array
    triangle = np.tri(len(array), dtype=bool)
    for lower, of in ((True, triangle), (False, triangle.T)):
        if np.array_equal(array, of):
            return lower is not turned
    return None


@lru_cache(maxsize=1)
def has_scipy() -> bool:
    """Whether SciPy is installed, which has LAPACK and BLAS; it is not imported."""
    return find_spec("scipy") is not None


def _factored(a: Any, structured: bool) -> Any:
    """LU's factors by columns, and the pivots as a last row.

    Of a matrix that may be triangular, banded or singular it is the matrix itself, above a row of -1.
    """
    n = len(a)
    found = np.empty((n + 1, n), a.dtype)
    if not (structured and n >= _STRUCTURED and (a[0, -1] == 0 or a[-1, 0] == 0)):
        factor, _ = _routines(a.dtype.char)
        lu, pivots, _ = factor(a)
        # Whether a pivot that rounding may have made is 0, only NumPy's own LAPACK says.
        limits = 4 * n * np.finfo(a.dtype).eps * np.abs(a).max(axis=0)
        if (np.abs(lu.diagonal()) > limits).all():
            found[:n], found[n] = lu.T, pivots
            return found
    found[:n], found[n] = a, -1
    return found


def _solved(factors: Any, b: Any, transposed: bool, structured: bool) -> Any:
    # (In the last row of a ``structured`` one -1 may stand.)
    matrix, pivots = factors[:-1], factors[-1].real
    if pivots[0] < 0:
        return solve_op.run(matrix.T if transposed else matrix, b)
    _, solve = _routines(factors.dtype.char)
    found = solve(matrix.T, pivots.astype(np.int32), b, trans=int(transposed))[0]
    return np.ascontiguousarray(found)


# The columns from which BLAS is faster, though it adds in another order than LAPACK, as SciPy uses it.
_MANY_COLUMNS = 16


def _substituted(a: Any, b: Any, lower: bool, transposed: bool) -> Any:
    if _is_for_numpy(a):
        return solve_op.run(np.swapaxes(a, -1, -2) if transposed else a, b)
    if not (a.diagonal() != 0).all():
        raise np.linalg.LinAlgError("Singular matrix")
    if not a.flags.f_contiguous:  # LAPACK takes an array in C order for its transpose.
        a, lower, transposed = a.T, not lower, not transposed
    few, many = _substitutions(a.dtype.char)
    if b.shape[1] < _MANY_COLUMNS:
        return np.ascontiguousarray(few(a, b, lower=lower, trans=transposed)[0])
    return many(1.0, a, b.T, side=1, lower=lower, trans_a=not transposed).T


@lru_cache(maxsize=4)
def _substitutions(kind: str) -> tuple[Any, Any]:
    """LAPACK's substitution for a dtype, and that of BLAS."""
    from scipy.linalg import blas, lapack

    name = dict(zip("fdFD", "sdcz", strict=True))[kind]
    return getattr(lapack, f"{name}trtrs"), getattr(blas, f"{name}trsm")


@lru_cache(maxsize=4)
def _routines(kind: str) -> tuple[Any, Any]:
    """LAPACK's routines that factor a matrix of a dtype, and solve by its factors."""
    from scipy.linalg import lapack

    name = dict(zip("fdFD", "sdcz", strict=True))[kind]
    return getattr(lapack, f"{name}getrf"), getattr(lapack, f"{name}getrs")


def _solve_flops(z: Expr) -> int:
    return 2 * z.size * z.shape[-2]


def _substitution_flops(z: Expr) -> int:
    return _solve_flops(z) // 2


lu_factors_op: Op = Op(
    name="lu_factors",
    run=_factored,
    infer=lambda a, structured: ArrayType((a.shape[0] + 1, a.shape[0]), a.dtype),
    edges=(None,),
    columns=Columns(
        fresh=True, flops=lambda z: lu_flops(z.shape[-1]), machine="lapack_forms:lu_factors"
    ),
)
solve_by_factors_op: Op = Op(
    name="solve_by_factors",
    run=_solved,
    infer=lambda factors, b, transposed, structured: b,
    edges=(None, None),
    columns=Columns(fresh=True, flops=_solve_flops, machine="lapack_forms:solve_by_factors"),
)
substitute_op: Op = Op(
    name="substitute",
    run=_substituted,
    infer=lambda a, b, lower, transposed: b,
    edges=(None, None),
    columns=Columns(fresh=True, flops=_substitution_flops, machine="lapack_forms:substitute"),
)
