"""The distribution function of a normal vector of up to three entries, in the bounds and all parameters."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from funcgrad.ops.special.normal_orthants import bivariate_normal_cdf, trivariate_normal_cdf
from funcgrad.scipy import special
from funcgrad.scipy.composition import real
from funcgrad.source import type_error
from funcgrad.typing import Array, ArrayLike


def normal_cdf(
    x: ArrayLike, center: Array, matrix: Array, lower_limit: ArrayLike | None = None
) -> Any:
    """The probability of a box between the limits, or below x; a sum over its corners."""
    n = center.size
    if n > 3:
        raise type_error(
            f"multivariate_normal.cdf: expected up to three entries with traced values, but got {n}; write "
            "the probability as an integral, or hold the arguments constant with fg.stop_gradient",
        )
    sizes = np.sqrt(np.diagonal(matrix))
    limits = [_standardized(x, center, sizes)]
    if lower_limit is not None:
        limits.append(_standardized(lower_limit, center, sizes))
    total: Any = 0.0
    for corner in itertools.product(range(len(limits)), repeat=n):
        bounds = [limits[k][..., i] for i, k in enumerate(corner)]
        total = total + (-1.0) ** sum(corner) * _below(bounds, matrix / np.outer(sizes, sizes))
    return total


def _standardized(x: ArrayLike, center: Array, sizes: Array) -> Any:
    points = np.atleast_1d(real("multivariate_normal", x))
    points = points.reshape((-1, 1) if points.ndim == 1 and center.size == 1 else points.shape)
    return (points - center) / sizes


def _below(bounds: list[Any], correlations: Array) -> Any:
    if len(bounds) == 1:
        return special.ndtr(bounds[0])
    if len(bounds) == 2:
        return bivariate_normal_cdf(*bounds, correlations[0, 1])
    pairs = [correlations[0, 1], correlations[0, 2], correlations[1, 2]]
    return trivariate_normal_cdf(*bounds, *pairs)
