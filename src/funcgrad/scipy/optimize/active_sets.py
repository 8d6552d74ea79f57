"""Solutions of `scipy.optimize` that SciPy finds by choosing: what it chose is a constant of the derivative.

The entries of a solution that are at a bound, the blocks of equal values, and the pairs of an assignment are
SciPy's; with them, the solution is a formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.optimize as _scipy

from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import composed, nondifferentiable, real
from funcgrad.typing import Array

_composed = composed(_scipy)


@_composed
def nnls(A: npt.ArrayLike, b: npt.ArrayLike, **options: object) -> Any:
    """As `scipy.optimize.nnls`: least squares on the entries that are positive."""
    matrix, right = real("nnls", A), real("nnls", b)

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
def isotonic_regression(
    y: npt.ArrayLike, *, weights: npt.ArrayLike | None = None, increasing: bool = True
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
    return _scipy.OptimizeResult(x=total / count)


@_composed
def linear_sum_assignment(cost_matrix: npt.ArrayLike, maximize: bool = False) -> Any:
    """As `scipy.optimize.linear_sum_assignment`: places, which are constants."""

    def pairs(cost: Array) -> Any:
        return np.stack(_scipy.linear_sum_assignment(cost, maximize))

    rows, columns = nondifferentiable(
        "assignment", pairs, real("linear_sum_assignment", cost_matrix)
    )
    return rows, columns
