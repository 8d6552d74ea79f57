"""Ends of intervals at infinity: they do not move with the parameters of a distribution.

Where a parameter moves, ``(-inf - loc) / scale`` stays at infinity. Its slope by the chain rule is infinite
times the slope of the tail, 0, which is NaN. So an end at infinity is a constant here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import special
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array


def fixed_at_infinity(end: Array) -> Any:
    """The ends of intervals, without slopes where they are infinite."""
    return np.where(np.isinf(end), stop_gradient(end), end) if holds_expr(end) else end


def _formula(tail: Callable[[Array], Any]) -> Callable[..., Any]:
    """A method of SciPy's `StandardNormal` or `Logistic`, by which intervals of others are computed, too."""

    def method(self: object, x: Array, **parameters: object) -> Any:
        return tail(fixed_at_infinity(x))

    return method


normal_cdf_formula = _formula(special.ndtr)
normal_ccdf_formula = _formula(lambda x: special.ndtr(-x))
normal_logcdf_formula = _formula(special.log_ndtr)
normal_logccdf_formula = _formula(lambda x: special.log_ndtr(-x))
# SciPy's 0.25 / cosh(x / 2)**2 has the slope inf / inf far out.
logistic_pdf_formula = _formula(lambda x: special.expit(x) * special.expit(-x))
logistic_cdf_formula = _formula(special.expit)
logistic_ccdf_formula = _formula(lambda x: special.expit(-x))
logistic_logcdf_formula = _formula(special.log_expit)
logistic_logccdf_formula = _formula(lambda x: special.log_expit(-x))
