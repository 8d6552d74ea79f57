"""The densities of `scipy.stats.gaussian_kde`, for SciPy's compiled code: all else is SciPy's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.stats import _kde

from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import holds_expr, unwrapped
from funcgrad.scipy import special
from funcgrad.typing import Array

_LOG_TAU = math.log(2 * math.pi)


def _log_density(data: Array, weights: Array, points: Array, factor: Array) -> Any:
    """The logarithm of the density at points, for the factor of a kernel's covariance."""
    white = [np.linalg.solve(factor, np.transpose(part)) for part in (data, points)]
    off = white[0][:, :, None] - white[1][:, None, :]
    constant = data.shape[1] / 2 * _LOG_TAU + np.sum(np.log(np.diagonal(factor)))
    logs = -np.sum(off * off, axis=0) / 2 - constant
    # Weights may be 0, where their logarithm has no slope, or negative.
    return special.logsumexp(logs, axis=0, b=weights)[:, None]


class _Estimate:
    """SciPy's function by its precision, as its compiled code has it."""

    writes = True  # adopted code calls it as it is

    def __init__(self, own: Mapping[str, Callable[..., Any]], by_log: Callable[..., Any]) -> None:
        self.own, self.by_log = own, by_log

    def __getitem__(self, precision: str) -> Callable[..., Any]:
        def estimate(*args: Any) -> Any:
            if not holds_expr(args):
                return mutable(self.own[precision](*unwrapped(args)))
            return mutable(self.by_log(_log_density(*unwrapped(args[:4]))))

        return estimate


density_estimate = _Estimate(_kde.gaussian_kernel_estimate, np.exp)
log_density_estimate = _Estimate(_kde.gaussian_kernel_estimate_log, lambda log: log)
