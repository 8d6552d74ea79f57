"""Linear systems as a compiled program solves them: a matrix is factored once for all of its systems.

The slope of a solution solves a system with the transposed matrix, whose factors are the same (LAPACK's getrf
and getrs). So a solution and its slope take half of the time.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import TupleType
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.matrix_stacks import lu_flops
from funcgrad.ops.base.op import Op
from funcgrad.ops.shape import transpose_op
from funcgrad.ops.solve import solve_op

_LEAST = 32
"""The rows from which factoring takes longer than a call."""


def by_factors(expr: Expr) -> Any:
    """The solution by factors that other systems may share; None for stacks and small matrices."""
    a, b = expr.args
    if a.ndim != 2 or a.shape[-1] < _LEAST or a.dtype.char not in "fdFD" or not _has_scipy():
        return None
    transposed = a.op is transpose_op
    factors = lu_factors_op(a.args[0] if transposed else a)
    return solve_by_factors_op(factors, b, transposed=transposed)


@lru_cache(maxsize=1)
def _has_scipy() -> bool:
    return find_spec("scipy") is not None


def _factored(a: Any) -> tuple[Any, ...]:
    """LU's factors and pivots; the matrix itself, if it may be triangular or banded."""
    if a[0, -1] == 0 or a[-1, 0] == 0:
        return (np.array(a),)
    factor, _ = _routines(a.dtype.char)
    lu, pivots, failed = factor(a)
    if failed > 0:
        raise np.linalg.LinAlgError("Singular matrix")
    return lu, pivots


def _solved(factors: tuple[Any, ...], b: Any, transposed: bool) -> Any:
    if len(factors) == 1:
        return solve_op.run(factors[0].T if transposed else factors[0], b)
    lu, pivots = factors
    _, solve = _routines(lu.dtype.char)
    return np.ascontiguousarray(solve(lu, pivots, b, trans=int(transposed))[0])


@lru_cache(maxsize=4)
def _routines(kind: str) -> tuple[Any, Any]:
    """LAPACK's routines that factor a matrix of a dtype, and solve by its factors."""
    from scipy.linalg import lapack

    name = dict(zip("fdFD", "sdcz", strict=True))[kind]
    return getattr(lapack, f"{name}getrf"), getattr(lapack, f"{name}getrs")


def _solve_flops(z: Expr) -> int:
    n, columns = z.shape
    return 2 * n * n * columns


lu_factors_op: Op = Op(
    name="lu_factors",
    run=_factored,
    infer=lambda a: TupleType((a,)),  # type: ignore[arg-type, return-value]
    edges=(None,),
    columns=Columns(fresh=True, flops=lambda z: lu_flops(z.args[0].shape[-1])),
)
solve_by_factors_op: Op = Op(
    name="solve_by_factors",
    run=_solved,
    infer=lambda factors, b, transposed: b,
    edges=(None, None),
    columns=Columns(fresh=True, flops=_solve_flops),
)
