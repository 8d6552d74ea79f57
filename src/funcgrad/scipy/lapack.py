"""``scipy.linalg.lapack`` for traced values: factors, inverses and solutions of real matrices in float64.

The functions take and return what SciPy's do. ``info`` is that of LAPACK at this call, a question of Python:
code that adds to the diagonal until a matrix is positive definite does so as on numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg.lapack as _lapack

from funcgrad.expr import concrete
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import linalg
from funcgrad.scipy.matrix_equations import one_triangle
from funcgrad.source import type_error
from funcgrad.typing import Array


def _over_lapack(function: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function on plain arrays, and the composition of operations on traced ones."""
    name = function.__name__
    own = getattr(_lapack, name)

    @wraps(function)
    def called(*args: Any, **options: Any) -> Any:
        if not holds_expr([*args, *options.values()]):
            return own(*args, **options)
        _refuse_complex(name, [*args, *options.values()])
        given = {
            key: _in_double(value)
            for key, value in options.items()
            if not key.startswith("overwrite")
        }
        return function(*map(_in_double, args), **given)

    return called


def _in_double(value: Any) -> Any:
    """An argument as the functions of double precision take it."""
    return value.astype(float) if getattr(value, "dtype", None) == np.float32 else value


def _refuse_complex(name: str, values: Sequence[Array]) -> None:
    if any([np.iscomplexobj(value) for value in values]):
        raise type_error(
            f"{name}: expected real arrays, but got complex ones; write scipy.linalg's cholesky, solve, "
            "solve_triangular or lu_factor",
        )


def _info(name: str, a: Array, *args: object, **options: object) -> int:
    """LAPACK's ``info`` for a matrix.

    Raises TypeError where its values are not known, as in the body of a loop.
    """
    own = getattr(_lapack, name)

    def reading(value: npt.NDArray[Any]) -> int:
        return int(own(value, *args, **options)[-1])

    return int(concrete(lift_fully(a), name, reading))


def _triangle(a: Array, lower: object) -> Any:
    return np.tril(a) if lower else np.triu(a)


def _beside(triangle: Array, a: Array, lower: object) -> Any:
    """A triangle, with the entries of ``a`` on the other side, which LAPACK leaves as they are."""
    return triangle + (np.triu(a, 1) if lower else np.tril(a, -1))


@_over_lapack
def dpotrf(a: Array, lower: int = 0, clean: int = 1) -> tuple[Any, int]:
    """The Cholesky factor of a matrix; NaN where it has none, where LAPACK's is a part of one."""
    info = _info("dpotrf", a, lower=lower)
    if info:
        return a * np.nan, info
    factor = linalg.cholesky(one_triangle(a, lower, hermitian=False), bool(lower))
    return (factor if clean else _beside(factor, a, lower)), info


@_over_lapack
def dpotri(c: Array, lower: int = 0) -> tuple[Any, int]:
    """The inverse of a matrix from its Cholesky factor, in one triangle."""
    info = _info("dpotri", c, lower=lower)
    if info:
        return c, info
    inverse = linalg.cho_solve((c, bool(lower)), np.eye(c.shape[0]))
    return _beside(_triangle(inverse, lower), c, lower), info


@_over_lapack
def dpotrs(c: Array, b: Array, lower: int = 0) -> tuple[Any, int]:
    """The solution of a system from the Cholesky factor of its matrix."""
    return linalg.cho_solve((c, bool(lower)), b), 0


@_over_lapack
def dposv(a: Array, b: Array, lower: int = 0) -> tuple[Any, Any, int]:
    """The Cholesky factor of a matrix, and the solution of a system."""
    factor, info = dpotrf(a, lower, 0)
    return factor, (b if info else linalg.cho_solve((factor, bool(lower)), b)), info


@_over_lapack
def dtrtrs(
    a: Array, b: Array, lower: int = 0, trans: int = 0, unitdiag: int = 0, lda: int | None = None
) -> tuple[Any, int]:
    """The solution of a system whose matrix is triangular."""
    zeros = np.zeros(np.shape(a)[0])
    info = _info("dtrtrs", a, zeros, lower=lower, trans=trans, unitdiag=unitdiag)
    return (
        (b, info)
        if info
        else (linalg.solve_triangular(a, b, trans, bool(lower), bool(unitdiag)), info)
    )


@_over_lapack
def dgetrf(a: Array) -> tuple[Any, Any, int]:
    """The triangular factors of a square matrix, which may be singular, and the rows that were exchanged."""
    return *linalg.lu_factor(a), _info("dgetrf", a)


@_over_lapack
def dgetrs(lu: Array, piv: Array, b: Array, trans: int = 0) -> tuple[Any, int]:
    """The solution of a system from the triangular factors of its matrix."""
    return linalg.lu_solve((lu, piv), b, trans), 0


@_over_lapack
def dgesv(a: Array, b: Array) -> tuple[Any, Any, Any, int]:
    """The triangular factors of a square matrix, and the solution of a system."""
    lu, piv, info = dgetrf(a)
    return lu, piv, b if info else linalg.lu_solve((lu, piv), b), info


def get_lapack_funcs(
    names: str | Sequence[str], arrays: Sequence[Any] = (), dtype: Any = None, ilp64: object = False
) -> Any:
    """As `scipy.linalg.get_lapack_funcs`: for traced arrays, functions of this module."""
    if not holds_expr(list(arrays)):
        return _lapack.get_lapack_funcs(names, arrays, dtype, ilp64)
    _refuse_complex("get_lapack_funcs", arrays)
    if isinstance(names, str):
        return _own(names)
    return [_own(name) for name in names]


def _own(name: str) -> Any:
    found = globals().get(f"d{name}")
    if found is None:
        raise type_error(
            f"get_lapack_funcs: expected names of functions that take traced values, but got {name!r}; write "
            "scipy.linalg's cholesky, solve, solve_triangular, lu_factor, qr, eigh or svd",
        )
    return found
