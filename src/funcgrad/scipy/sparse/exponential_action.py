"""Actions of functions of a matrix on vectors, ``f(A) @ b``, for `scipy.sparse.linalg`.

SciPy ends its sums and Krylov spaces as soon as the value is exact. The derivative need not be: at b = 0,
at A = 0, or of a b in an invariant subspace, the first terms are all of the value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg as _scipy
from scipy.sparse.linalg import _expm_multiply as _private

from funcgrad.expr.registry import functions
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.sparse.traced_sparse import TracedSparse, has_traced
from funcgrad.typing import Array

_MORE_TERMS = 8
"""Terms of the exponential's series for derivatives, beside those that SciPy chooses for the value."""


def _is_plain(*operands: object) -> bool:
    return not any([has_traced(x) or holds_expr(x) for x in operands])


def taylor_steps(
    A: Any,
    B: Array,
    t: Any,
    mu: Any,
    m_star: int,
    s: int,
    tol: float | None = None,
    balance: bool = False,
) -> Any:
    """As SciPy's core of `expm_multiply`: s steps by Taylor's series, with all terms of traced values."""
    if _is_plain(A, B, t, mu):
        return _private._expm_multiply_simple_core(A, B, t, mu, m_star, s, tol, balance)
    factor = np.exp(t * mu / float(s))
    total = B
    for _ in range(s):
        term = total
        for j in range(m_star + _MORE_TERMS):
            term = (t / float(s * (j + 1))) * A.dot(term)
            total = total + term
        total = factor * total
    return total


def exponentials_at_times(
    A: Any,
    B: Array,
    start: Any = None,
    stop: Any = None,
    num: int | None = None,
    endpoint: bool | None = None,
    traceA: Any = None,
    **options: bool,
) -> Any:
    """As SciPy's `expm_multiply` at evenly spaced times, of traced values from each time to the next."""
    if _is_plain(A, B, start, stop, traceA):
        return _private._expm_multiply_interval(A, B, start, stop, num, endpoint, traceA, **options)
    given = {"num": num, "endpoint": endpoint}
    chosen: Any = {name: value for name, value in given.items() if value is not None}
    times, step = np.linspace(start, stop, retstep=True, **chosen)

    def after(state: Array, t: Any) -> Any:
        given = {"t": t, "traceA": traceA}
        return functions["call_adopted"](_private._expm_multiply_simple, (A, state), given)

    found = [after(B, times[0])]
    for _ in range(len(times) - 1):
        found.append(after(found[-1], step))
    return np.stack(found), 0


def funm_multiply_krylov(
    f: Callable[[Any], Any], A: Any, b: Array, *, t: Any = 1.0, **options: Any
) -> Any:
    """As `scipy.sparse.linalg.funm_multiply_krylov`; of traced values ``f(t*A) @ b`` of the dense matrix."""
    if _is_plain(A, b, t):
        return _scipy.funm_multiply_krylov(f, A, b, t=t, **options)
    return f(t * _dense(A)) @ b


def _dense(A: Any) -> Any:
    if isinstance(A, TracedSparse) or hasattr(A, "toarray"):
        return A.toarray()
    return A @ np.eye(A.shape[1]) if isinstance(A, _scipy.LinearOperator) else A
