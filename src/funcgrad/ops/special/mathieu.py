"""Mathieu functions: differentiated in the angle or the argument, by their equation, and not in q."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.special_function import SeveralResults, result_of, special_function
from funcgrad.typing import Array

mathieu_a: Op = special_function("mathieu_a", None, "q")
mathieu_b: Op = special_function("mathieu_b", None, "q")


def _with_slope(
    ufunc: str, value_of: Op, rate: float, curvature: Callable[..., Any]
) -> tuple[Op, Op, SeveralResults]:
    """A function, its derivative by ``rate`` times the argument, and SciPy's function of both results.

    By Mathieu's equation the second derivative is ``curvature(value_of(m, q), q, rate*x)`` times it.
    """

    def in_x(z: Array, m: Array, q: Array, x: Array) -> Any:
        return rate * slope(m, q, x)

    def of_slope(z: Array, m: Array, q: Array, x: Array) -> Any:
        return rate * curvature(value_of(m, q), q, rate * x) * value(m, q, x)

    value = result_of(ufunc, 0, "y", None, "q", in_x)
    slope = result_of(ufunc, 1, "slope", None, "q", of_slope)
    return value, slope, SeveralResults((value, slope))


def _angular(ufunc: str, value_of: Op) -> tuple[Op, Op, SeveralResults]:
    """A function of an angle in degrees, and its derivative by the angle in radians."""
    return _with_slope(
        ufunc, value_of, math.pi / 180.0, lambda a, q, x: 2.0 * q * np.cos(2.0 * x) - a
    )


def _modified(ufunc: str, value_of: Op) -> tuple[Op, Op, SeveralResults]:
    """A modified function, of a hyperbolic angle."""
    return _with_slope(ufunc, value_of, 1.0, lambda a, q, x: a - 2.0 * q * np.cosh(2.0 * x))


mathieu_cem_y, mathieu_cem_slope, mathieu_cem = _angular("mathieu_cem", mathieu_a)
mathieu_sem_y, mathieu_sem_slope, mathieu_sem = _angular("mathieu_sem", mathieu_b)
mathieu_modcem1_y, mathieu_modcem1_slope, mathieu_modcem1 = _modified("mathieu_modcem1", mathieu_a)
mathieu_modcem2_y, mathieu_modcem2_slope, mathieu_modcem2 = _modified("mathieu_modcem2", mathieu_a)
mathieu_modsem1_y, mathieu_modsem1_slope, mathieu_modsem1 = _modified("mathieu_modsem1", mathieu_b)
mathieu_modsem2_y, mathieu_modsem2_slope, mathieu_modsem2 = _modified("mathieu_modsem2", mathieu_b)
