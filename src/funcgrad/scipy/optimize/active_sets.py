"""Solutions of `scipy.optimize` that SciPy finds by choosing: what it chose is a constant of the derivative.

The entries of a solution that are at a bound, the blocks of equal values, and the pairs of an assignment are
SciPy's; with them, the solution is a formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize as _scipy

from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import composed, nondifferentiable, real, without_derivative
from funcgrad.scipy.host_call import host_value
from funcgrad.scipy.optimize.solver_arguments import converged_result, ends_of
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)


@_hosted
def nnls(A: ArrayLike, b: ArrayLike, **options: object) -> Any:
    """As `scipy.optimize.nnls`: least squares on the entries that are positive."""
    matrix, right = real("nnls", A), real("nnls", b)
    right = right[:, 0] if right.ndim == 2 and right.shape[1] == 1 else right

    def positive(matrix: Array, right: Array) -> Array:
        found: Array = _scipy.nnls(matrix, right, **options)[0] > 0
        return found

    free = nondifferentiable("positive", positive, matrix, right)
    size = matrix.shape[1]
    # An entry at its bound solves x = 0, in a row of its own.
    rows = np.concatenate([matrix * free, np.diag(1.0 - free)])
    x = np.linalg.lstsq(rows, np.concatenate([right, np.zeros(size)]))[0] * free
    return x, np.linalg.norm(matrix @ x - right)


@_composed
def lsq_linear(
    A: ArrayLike, b: ArrayLike, bounds: Any = (-np.inf, np.inf), **options: object
) -> Any:
    """As `scipy.optimize.lsq_linear`: least squares on the entries that are
    between their bounds.
    """
    matrix: Any = np.atleast_2d(real("lsq_linear", A))
    right: Any = np.atleast_1d(real("lsq_linear", b))
    size = matrix.shape[1]
    ends = ends_of(bounds)
    low, high = [np.broadcast_to(real("lsq_linear", end), (size,)) for end in ends]

    def solved(matrix: Array, right: Array, low: Array, high: Array) -> Any:
        found = _scipy.lsq_linear(matrix, right, (low, high), **options)
        # SciPy's interior method stops next to a bound: the least value along the entry is beyond it.
        slope, bend = matrix.T @ (matrix @ found.x - right), np.sum(matrix**2, axis=0)
        least = found.x - slope / np.where(bend > 0, bend, 1.0)
        beyond = np.where(least < low, -1, np.where(least > high, 1, 0))
        return np.stack([found.x, np.where(found.active_mask == 0, beyond, found.active_mask)])

    out = ArrayType((2, size), np.dtype(float))
    start, mask = without_derivative("active", solved, out, matrix, right, low, high)
    held = np.where(mask < 0, np.where(mask < 0, low, 0.0), np.where(mask > 0, high, 0.0))
    free = mask == 0
    held = np.where(free, start, held)
    rows = np.concatenate([matrix * free, np.diag(1.0 - free)])
    rest = np.concatenate([right - matrix @ held, np.zeros(size)])
    x = held + np.where(free, np.linalg.lstsq(rows, rest)[0], 0.0)
    mask = mask.astype(int)
    left = matrix @ x - right
    return converged_result(x, fun=left, cost=np.sum(left**2) / 2, active_mask=mask)


@_composed
def isotonic_regression(
    y: ArrayLike, *, weights: ArrayLike | None = None, increasing: bool = True
) -> Any:
    """As `scipy.optimize.isotonic_regression`: the means of blocks; ``x`` alone."""
    values = real("isotonic_regression", y)
    scales = np.ones(values.shape) if weights is None else real("isotonic_regression", weights)

    def labels(values: Array, scales: Array) -> Any:
        found = _scipy.isotonic_regression(values, weights=scales, increasing=increasing)
        return np.cumsum(np.diff(found.x, prepend=found.x[:1]) != 0)

    blocks = nondifferentiable("blocks", labels, values, scales + np.zeros(values.shape))
    total, count = [
        lift_fully(np.zeros(values.shape)).at[blocks].add(item)[blocks]
        for item in (scales * values, scales + 0 * values)
    ]
    given = {"y": y, "weights": weights, "increasing": increasing}
    return _scipy.OptimizeResult(x=host_value(_isotonic, given, total / count))


def _isotonic(**given: object) -> Any:
    return _scipy.isotonic_regression(**given).x


@_composed
def linear_sum_assignment(cost_matrix: ArrayLike, maximize: bool = False) -> Any:
    """As `scipy.optimize.linear_sum_assignment`: places, which are constants."""

    def pairs(cost: Array) -> Any:
        return np.stack(_scipy.linear_sum_assignment(cost, maximize))

    rows, columns = nondifferentiable(
        "assignment", pairs, real("linear_sum_assignment", cost_matrix)
    )
    return rows, columns
