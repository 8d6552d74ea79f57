"""Spheroidal wave functions, differentiated in the coordinate by their equation, and not in c.

SciPy's radial functions of the second kind do not solve the equation to three digits, and are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.special_function import SeveralResults, result_of, special_function
from funcgrad.typing import Array

pro_cv: Op = special_function("pro_cv", None, None, "c")
obl_cv: Op = special_function("obl_cv", None, None, "c")


def _angular_curvature(sign: float) -> Callable[..., Any]:
    """S'' by S' and S, for c squared with a sign."""

    def curvature(value: Array, m: Array, c: Array, x: Array, s: Array, slope: Array) -> Any:
        rest = (1.0 - x) * (1.0 + x)
        return (2.0 * x * slope - (value - sign * c * c * x * x - m * m / rest) * s) / rest

    return curvature


def _radial_curvature(sign: float) -> Callable[..., Any]:
    """R'' by R' and R, for x squared less the sign."""

    def curvature(value: Array, m: Array, c: Array, x: Array, r: Array, slope: Array) -> Any:
        rest = (x - 1.0) * (x + 1.0) if sign > 0 else x * x + 1.0
        return ((value - c * c * x * x + sign * m * m / rest) * r - 2.0 * x * slope) / rest

    return curvature


def _function(ufunc: str, value_of: Op, curvature: Callable[..., Any]) -> Any:
    """A function and its derivative, and SciPy's function of both results."""

    def of_slope(z: Array, m: Array, n: Array, c: Array, x: Array) -> Any:
        return curvature(value_of(m, n, c), m, c, x, value(m, n, c, x), z)

    value: Op = result_of(ufunc, 0, "s", None, None, "c", lambda z, m, n, c, x: slope(m, n, c, x))
    slope: Op = result_of(ufunc, 1, "slope", None, None, "c", of_slope)
    return value, slope, SeveralResults((value, slope))


pro_ang1_s, pro_ang1_slope, pro_ang1 = _function("pro_ang1", pro_cv, _angular_curvature(1.0))
obl_ang1_s, obl_ang1_slope, obl_ang1 = _function("obl_ang1", obl_cv, _angular_curvature(-1.0))
pro_rad1_s, pro_rad1_slope, pro_rad1 = _function("pro_rad1", pro_cv, _radial_curvature(1.0))
obl_rad1_s, obl_rad1_slope, obl_rad1 = _function("obl_rad1", obl_cv, _radial_curvature(-1.0))
