"""Updates of a QR factorization: `qr_insert`, `qr_delete` and `qr_update` of `scipy.linalg`.

The factors are those of the new matrix, with SciPy's signs, and so is their derivative. The given factors are
those of a matrix: q has orthonormal columns, and r is upper triangular. Phases of complex factors are SciPy's
choice, and have no derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import (
    composed,
    nondifferentiable_parts,
    with_phases,
    with_value,
)
from funcgrad.scipy.matrix_equations import in_one_dtype
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike

_kept = composed(_scipy, single=True, host=True)


def _factors(name: str, a: Array, run: Callable[..., Any], *given: Array) -> tuple[Any, Any]:
    """Those of the matrix a, whose value is SciPy's ``run`` of the given arrays."""
    own_q, own_r = nondifferentiable_parts(name, run, 2, *given)
    rows, columns = a.shape[0], own_q.shape[1]
    beside = columns - min(a.shape)
    if beside > 1:
        raise value_error(
            f"{name}: expected at most one column of q beside those that span the new matrix of shape "
            f"{a.shape}, but got {beside}, which are arbitrary and have no derivative; start from "
            "qr(a, mode='economic')",
        )
    # One column beside the others is orthogonal to them all.
    whole = np.concatenate([a, own_q[:, -1:]], axis=1) if beside == 1 else a
    q = with_phases(np.linalg.qr(whole)[0], own_q)
    found = np.triu(np.conj(q.T) @ a)
    return with_value(own_q, q), with_value(own_r, found[: min(rows, columns)])


@_kept
def qr_delete(
    Q: ArrayLike, R: ArrayLike, k: int, p: int = 1, which: str = "row", **_: object
) -> Any:
    q, r = in_one_dtype("qr_delete", Q, R)
    first, count = [int(by_value(item, "qr_delete")) for item in (k, p)]
    run = lambda q, r: _scipy.qr_delete(q, r, first, count, which)  # noqa: E731
    axis = 0 if which == "row" else 1
    a = q @ r
    start = first % a.shape[axis]
    left = np.delete(np.arange(a.shape[axis]), np.arange(start, start + count))
    return _factors("qr_delete", np.take(a, left, axis), run, q, r)


@_kept
def qr_insert(
    Q: ArrayLike,
    R: ArrayLike,
    u: ArrayLike,
    k: int,
    which: str = "row",
    rcond: float | None = None,
    **_: object,
) -> Any:
    q, r, new = in_one_dtype("qr_insert", Q, R, u)
    place = int(by_value(k, "qr_insert"))
    run = lambda q, r, u: _scipy.qr_insert(q, r, u, place, which, rcond)  # noqa: E731
    axis = 0 if which == "row" else 1
    a = q @ r
    more = np.expand_dims(new, axis) if new.ndim == 1 else new
    start = place % a.shape[axis] if place < 0 else place
    before, after = np.split(a, [start], axis)
    return _factors("qr_insert", np.concatenate([before, more, after], axis), run, q, r, new)


@_kept
def qr_update(Q: ArrayLike, R: ArrayLike, u: ArrayLike, v: ArrayLike, **_: object) -> Any:
    q, r, left, right = in_one_dtype("qr_update", Q, R, u, v)
    beside = lift_fully(right)
    moved = np.outer(left, np.conj(beside)) if left.ndim == 1 else left @ np.conj(beside.T)
    return _factors("qr_update", q @ r + moved, _scipy.qr_update, q, r, left, right)
