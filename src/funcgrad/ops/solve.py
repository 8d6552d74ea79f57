"""Linear algebra: `solve`, `inv` and `cholesky`.

Every operation works on stacks of matrices, in the last two axes, so that a batch is a longer stack.
Where NumPy raises `LinAlgError` (a singular matrix in `solve` and `inv`, one that is not positive
definite in `cholesky`), a program that runs does, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.columns import Columns, Form
from funcgrad.ops.base.matrix_stacks import (
    between,
    eye_like,
    hermitian_from,
    lu_flops,
    matrices,
    matrix_flops,
    mH,
    mT,
)
from funcgrad.ops.base.mpmath_matrices import each_matrix
from funcgrad.ops.base.op import Op, lift_fully, same_on_batch, spread
from funcgrad.ops.base.untaken_paths import matrix_or_identity
from funcgrad.ops.shape import astype, broadcast_to, expand_dims, squeeze
from funcgrad.source import as_of_numbers, may_be_handled, value_error
from funcgrad.typing import Array


# -- solve and inv -------------------------------------------------------------------------------
def _solve_left(z: Array, a: Array, b: Array) -> LinearMap:
    """a z = b, so da z + a dz = 0."""
    return Structural(
        lambda v: -solve_op(a, np.matmul(v, z)), lambda g: -np.matmul(solve_op(mT(a), g), mT(z))
    )


def _solve_right(z: Array, a: Array, b: Array) -> LinearMap:
    return Structural(lambda v: solve_op(a, v), lambda g: solve_op(mT(a), g))


def _solve_run(a: Any, b: Any) -> Any:
    # A corner is 0 in a triangular or a banded matrix, and seldom in another.
    if a.ndim == 2 and a.shape[-1] >= _STRUCTURED and (a[0, -1] == 0 or a[-1, 0] == 0):
        found = _by_structure(a, b)
        if found is not None:
            return found
    return np.linalg.solve(a, b)


_STRUCTURED, _BANDED = 24, 16
"""The number of rows from which substitution is faster, and that for each diagonal of a banded matrix, with
the search for the structure."""


def _by_structure(a: Any, b: Any) -> Any:
    """The solution for a regular matrix that is triangular or banded, in less operations than LU's n^3."""
    triangular, banded, bandwidth = _lapack().get(a.dtype.char, (None, None, None))
    if triangular is None or b.dtype != a.dtype:
        return None
    if not (np.isfinite(a).all() and np.isfinite(b).all()):  # LU's zeros times these are no numbers
        return None
    below, above = bandwidth(a)
    if not (below and above):
        if a.flags.c_contiguous:  # LAPACK takes it for its transpose
            x, failed = triangular(a.T, b, lower=above != 0, trans=1)
        else:
            x, failed = triangular(a, b, lower=above == 0)
    elif (below + above + 1) * _BANDED <= len(a):
        *_, x, failed = banded(below, above, _bands(a, below, above), b, overwrite_ab=True)
    else:
        return None
    return None if failed else np.ascontiguousarray(x)


def _bands(a: Any, below: int, above: int) -> Any:
    """The diagonals of a matrix as LAPACK takes them, below as many rows as its factors fill."""
    n = len(a)
    bands = np.zeros((2 * below + above + 1, n), a.dtype)
    for k in range(-below, above + 1):
        bands[below + above - k, max(k, 0) : n + min(k, 0)] = np.diagonal(a, k)
    return bands


@lru_cache(maxsize=1)
def _lapack() -> dict[str, Any]:
    """LAPACK's routines and what finds the structure, by dtype; none without SciPy."""
    try:
        from scipy.linalg import bandwidth, lapack
    except ImportError:
        return {}
    return {
        kind: (getattr(lapack, f"{name}trtrs"), getattr(lapack, f"{name}gbsv"), bandwidth)
        for kind, name in zip("fdFD", "sdcz", strict=True)
    }


def _solve_batch(size: int, batched: Sequence[bool], a: Array, b: Array) -> Any:
    if batched[0]:
        return solve_op(a, b if batched[1] else spread(b, size))
    # One matrix for all examples is factored once: the examples are columns beside each other.
    columns = np.moveaxis(b, 0, -2)
    shape = np.shape(columns)
    flat = solve_op(a, np.reshape(columns, (*shape[:-2], shape[-2] * shape[-1])))
    return np.moveaxis(np.reshape(flat, shape), -2, 0)


def _solve_flops(z: Expr) -> int:
    """By LU, and two triangular systems for each column of the right side."""
    a, b = z.args
    stack, n, columns = math.prod(a.shape[:-2]), a.shape[-1], b.shape[-1]
    return stack * (lu_flops(n) + 2 * n * n * columns)


solve_op: Op = Op(
    name="solve",
    run=_solve_run,
    infer=lambda a, b: b,
    edges=(_solve_left, _solve_right),
    batch=_solve_batch,
    columns=Columns(
        flops=_solve_flops,
        machine="matrix_forms:solve",
        inlined="funcgrad.ops.factored_solves:by_factors",
        invariant="funcgrad.ops.factored_solves:by_invariant_factors",
        numpy="np.linalg.solve({all})",
        mpmath=each_matrix(lambda mp, a, b: mp.inverse(a) * b),
        libraries={"any": lambda xp, a, b: xp.linalg.solve(a, b)},
        untaken=matrix_or_identity,
    ),
)


_ERRORS = frozenset(("LinAlgError", "ValueError", "Exception", "BaseException"))
"""The errors of matrices, as handlers name them."""


def _checked_if_handled(a: Any, fits: Callable[[Any], Any], message: str) -> Any:
    """The matrix, whose error is raised here if a handler may wait for it, and else as the program runs.

    Whether it is raised is a question. Of the examples of a batch, those whose matrix does not fit have the
    unit matrix, so that what others compute raises no error.
    """
    if not a.traced or not may_be_handled(_ERRORS):
        return a
    good = fits(a)
    if not np.all(good):
        raise as_of_numbers(np.linalg.LinAlgError(message))
    return np.where(good[..., None, None], a, np.eye(a.shape[-1], dtype=a.dtype))


def _regular(a: Any) -> Any:
    return _checked_if_handled(a, lambda a: np.linalg.slogdet(a)[0] != 0, "Singular matrix")


def solve(a: Any, b: Any) -> Any:
    """As `numpy.linalg.solve`: x with a @ x = b, for stacks of matrices and of right sides.

    A singular matrix raises `numpy.linalg.LinAlgError` as the program runs, or here where code handles it.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.linalg.solve(a, np.ones(2))[0])(np.diag([2.0, 4.0]))
    array([[-0.25 , -0.125],
           [-0.   , -0.   ]])
    """
    a, b = matrices("solve", a), lift_fully(b)
    vector = b.ndim == 1
    b = matrices("solve", expand_dims(b, 1) if vector else b, square=False)
    if a.shape[-1] != b.shape[-2]:
        raise value_error(
            "solve: expected a right side with as many rows as the matrix, but got "
            f"{a.type} and {b.type}",
        )
    a, b = _same_stack("solve", a, b)
    x = solve_op(_regular(a), b)
    return squeeze(x, -1) if vector else x


def _same_stack(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    dtype = np.result_type(a.dtype, b.dtype)
    try:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise value_error(
            f"{name}: expected stacks that broadcast, but got {a.type} and {b.type}"
        ) from None
    return _stacked(astype(a, dtype), stack), _stacked(astype(b, dtype), stack)


def _stacked(x: Array, stack: tuple[int, ...]) -> Any:
    shape = (*stack, *x.shape[-2:])
    return x if x.shape == shape else broadcast_to(x, shape)


def _inv_edge(z: Array, a: Array) -> LinearMap:
    """a z = 1, so dz = -z da z."""
    minus = Structural(lambda v: -v, lambda g: -g)
    return minus @ between(z, z)


inv_op: Op = Op(
    name="inv",
    run=lambda a: np.linalg.inv(a),
    infer=lambda a: a,
    edges=(_inv_edge,),
    batch=same_on_batch(lambda: inv_op),
    columns=Columns(
        fresh=True,
        flops=matrix_flops(lambda n: 2 * n**3),
        latex=Form("inverse"),
        machine="matrix_forms:inv",
        numpy="np.linalg.inv({all})",
        mpmath=each_matrix(lambda mp, a: mp.inverse(a)),
        libraries={"any": lambda xp, a: xp.linalg.inv(a)},
        untaken=matrix_or_identity,
    ),
)


def inv(a: object) -> Any:
    """As `numpy.linalg.inv`; a singular matrix raises `numpy.linalg.LinAlgError` as the program runs.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.trace(np.linalg.inv(a)))(np.diag([2.0, 4.0]))
    array([[-0.25  ,  0.    ],
           [ 0.    , -0.0625]])
    """
    return inv_op(_regular(matrices("inv", a)))


# -- cholesky ------------------------------------------------------------------------------------
def _cholesky_edge(z: Array, a: Array) -> LinearMap:
    """z z^H = a, so z^-1 dz is the lower half of z^-1 da z^-H (Smith 1995, Murray 2016)."""

    def lower_half(x: Array) -> Any:
        return np.tril(x, -1) + x * (eye_like(x) / 2)

    def forward(v: Array) -> Any:
        return np.matmul(z, lower_half(solve_op(z, mH(solve_op(z, v)))))

    def backward(g: Array) -> Any:
        half = lower_half(np.matmul(mT(z), g))
        return mT(solve_op(mH(z), mT(solve_op(mT(z), half))))

    return Structural(forward, backward) @ hermitian_from("L")


cholesky_op: Op = Op(
    name="cholesky",
    run=lambda a: np.linalg.cholesky(a),
    infer=lambda a: a,
    edges=(_cholesky_edge,),
    batch=same_on_batch(lambda: cholesky_op),
    columns=Columns(
        fresh=True,
        flops=matrix_flops(lambda n: n**3 // 3),
        machine="matrix_forms:cholesky",
        numpy="np.linalg.cholesky({all})",
        mpmath=each_matrix(lambda mp, a: mp.cholesky(a)),
        libraries={"any": lambda xp, a: xp.linalg.cholesky(a)},
        untaken=matrix_or_identity,
    ),
)


def _has_factor(a: Any) -> bool:
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return True


def _have_factors(a: Any) -> Any:
    stack = a.reshape(-1, *a.shape[-2:])
    return np.array([_has_factor(one) for one in stack], bool).reshape(a.shape[:-2])


has_cholesky_op: Op = Op(
    name="has_cholesky",
    run=_have_factors,  # rounding decides of a matrix that is nearly singular, and so its own factorization
    infer=lambda a: ArrayType(a.shape[:-2], np.dtype(bool)),
    edges=(None,),
    batch=same_on_batch(lambda: has_cholesky_op),
    columns=Columns(
        decompose=lambda a: np.all(np.linalg.eigvalsh(a) > 0, axis=-1),
        flops=matrix_flops(lambda n: n**3 // 3),
        untaken=matrix_or_identity,
    ),
)


def cholesky(a: Array, /, *, upper: bool = False) -> Any:
    """As `numpy.linalg.cholesky`. NumPy reads the lower triangle alone, and so the gradient lies there.

    JAX gives the symmetric gradient of (a + a.T)/2: write that for it. A matrix that is not positive
    definite raises `numpy.linalg.LinAlgError` as the program runs, or here where code handles it.

    >>> import funcgrad as fg
    >>> fg.grad(lambda a: np.sum(np.linalg.cholesky(a)))(np.diag([4.0, 1.0]))
    array([[0.25, 0.  ],
           [0.5 , 0.5 ]])
    """
    matrix = _checked_if_handled(
        matrices("cholesky", a),
        lambda a: has_cholesky_op(mH(a) if upper else a),
        "Matrix is not positive definite",
    )
    return mH(cholesky_op(mH(matrix))) if upper else cholesky_op(matrix)
