"""Null spaces of the slopes of equations and objectives, whose solutions have no derivative, or not all.

If dF/dx is singular up to rounding, a solution of dF/dx w = g is made of rounding errors. At a minimum that
is not strict, as of fewer data than parameters, the search chooses one of many; a result that is the same at
all of them still has a derivative. In reverse mode the cotangent tells: that of such a result has no part in
the null space of the Hessian, and the solution of least norm is the derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.entrywise import spread_unbatched
from funcgrad.ops.base.matrix_stacks import matrix_flops
from funcgrad.ops.base.op import Op
from funcgrad.ops.shape import zeros_like
from funcgrad.source import fail
from funcgrad.typing import Array


def determined_slope(who: str, kind: str, slope: Any, cotangent: Any = None) -> Any:
    """dF/dx, on whose null space an identity is added if the cotangent has no part there.

    ``kind`` is "argmin" if F is the gradient of an objective. Raises LinAlgError when it runs, if dF/dx is
    singular otherwise, or there is no cotangent.
    """
    if cotangent is None:
        cotangent = np.full(slope.shape[:-1], np.nan, slope.dtype)
    return slope + null_space_shift_op(slope, cotangent, kind=kind, who=who)


def _run(slope: Any, cotangent: Any, *, kind: str, who: str) -> Any:
    found = np.zeros_like(slope)
    for index in np.ndindex(*slope.shape[:-2]):
        if not np.all(np.isfinite(slope[index])):
            continue
        if kind == "argmin":
            found[index] = _on_null_space(who, slope[index], cotangent[index])
        else:
            _check_regular(who, slope[index])
    return found


def _check_regular(who: str, slope: Array) -> None:
    if not len(slope):
        return
    scaled = slope
    for axis in (0, 1):  # the units of equations and unknowns do not matter
        sizes = np.maximum.reduce(np.abs(scaled), axis=axis, keepdims=True)
        scaled = scaled / np.where(sizes > 0, sizes, 1.0)
    try:
        condition = _largest_sum(scaled) * _largest_sum(np.linalg.inv(scaled))
    except np.linalg.LinAlgError:
        condition = np.inf
    if not condition < 1.0 / np.finfo(slope.dtype).eps:
        raise fail(
            np.linalg.LinAlgError,
            f"{who}: expected a derivative of the residual in x that is not singular, but got one that is "
            "singular up to rounding at the solution, which so has no derivative; write equations that "
            "determine every unknown",
        )


def _largest_sum(matrix: Array) -> Any:
    """The 1-norm: `numpy.linalg.norm` and `cond` take several times as long for small matrices."""
    return np.add.reduce(np.abs(matrix), axis=0).max()


def _on_null_space(who: str, hessian: Array, cotangent: Array) -> Any:
    """Zeros, or the matrix that is the identity on the null space, in units in which curvatures are 1."""
    count = len(hessian)
    curvatures = np.abs(np.diag(hessian))
    units = np.where(curvatures > 0, np.sqrt(curvatures), 1.0)
    scaled = hessian / np.multiply.outer(units, units)
    least = 8 * count * np.finfo(hessian.dtype).eps
    try:
        np.linalg.cholesky(scaled - least * np.eye(count, dtype=hessian.dtype))
    except np.linalg.LinAlgError:  # of a minimum that is not strict, or of another stationary point
        values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    else:
        return np.zeros_like(hessian)
    null = vectors[:, np.abs(values) <= least]
    given = cotangent / units
    if np.linalg.norm(null.T @ given) <= 1e-8 * np.linalg.norm(given):
        return (null @ null.T) * np.multiply.outer(units, units)
    if not null.size:
        return np.zeros_like(hessian)
    raise fail(
        np.linalg.LinAlgError,
        f"{who}: expected an objective that determines all {count} entries of x, but it determines "
        f"{count - null.shape[1]} up to rounding, so the solution depends on the search and has no slope; "
        "add a term such as 1e-3 * np.sum((x - x0) ** 2), or differentiate in reverse mode (fg.grad) a "
        "result that is the same at all minima (a minimum at a kink, as of np.abs, has no curvature)",
    )


def _batch(size: int, batched: Sequence[bool], *operands: Array, **params: Any) -> Any:
    return null_space_shift_op(*spread_unbatched(size, batched, operands), **params)


null_space_shift_op: Op = Op(
    name="null_space_shift",
    run=_run,
    infer=lambda slope, cotangent, *, kind, who: slope,
    edges=(None, None),
    batch=_batch,
    columns=Columns(
        decompose=lambda slope, cotangent, *, kind, who: zeros_like(slope),  # unchecked
        flops=matrix_flops(lambda n: n**3 // 3),
    ),
)
