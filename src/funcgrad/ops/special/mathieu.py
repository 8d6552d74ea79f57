"""Mathieu functions, by their equation and their Fourier series; the modified ones not in q."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special import mathieu_numerics
from funcgrad.ops.special.special_function import (
    SeveralResults,
    derivative_family,
    result_of,
    special_function,
)
from funcgrad.typing import Array

mathieu_characteristic: Op = derivative_family(
    "mathieu_characteristic",
    mathieu_numerics.characteristic,
    None,
    lambda z, m, q, *, odd, order: mathieu_characteristic(m, q, odd=odd, order=order + 1),
    mpmath=None,
)
"""The derivative of an order in q of a characteristic value."""

mathieu_coefficient: Op = derivative_family(
    "mathieu_coefficient",
    mathieu_numerics.coefficient,
    None,
    lambda z, m, q, k, *, odd, order: mathieu_coefficient(m, q, k, odd=odd, order=order + 1),
    None,
    mpmath=None,
)
"""The derivative of an order in q of a Fourier coefficient."""

mathieu_a: Op = special_function(
    "mathieu_a", None, lambda z, m, q: mathieu_characteristic(m, q, odd=False, order=1)
)
mathieu_b: Op = special_function(
    "mathieu_b", None, lambda z, m, q: mathieu_characteristic(m, q, odd=True, order=1)
)


# -- functions of an angle ---------------------------------------------------------------------------
_RATE = math.pi / 180.0


def _angular_in_q(z: Array, *args: Array, odd: bool, order: int, slope: int) -> Any:
    return mathieu_angular(*args, odd=odd, order=order + 1, slope=slope)


def _angular_in_x(z: Array, *args: Array, odd: bool, order: int, slope: int) -> Any:
    return _RATE * mathieu_angular(*args, odd=odd, order=order, slope=slope + 1)


mathieu_angular: Op = derivative_family(
    "mathieu_angular", mathieu_numerics.angular, None, _angular_in_q, _angular_in_x, mpmath=None
)
"""The derivative of orders in q and, by the angle in radians, of a function of an angle in degrees."""


def _angular(ufunc: str, value_of: Op, odd: bool) -> tuple[Op, Op, SeveralResults]:
    """A function of an angle in degrees, and its derivative by the angle in radians."""

    def in_q(order: int) -> Callable[..., Any]:
        return lambda z, m, q, x: mathieu_angular(m, q, x, odd=odd, order=1, slope=order)

    def of_slope(z: Array, m: Array, q: Array, x: Array) -> Any:
        curvature = 2.0 * q * np.cos(2.0 * _RATE * x) - value_of(m, q)
        return _RATE * curvature * value(m, q, x)

    value: Op = result_of(ufunc, 0, "y", None, in_q(0), lambda z, m, q, x: _RATE * slope(m, q, x))
    slope: Op = result_of(ufunc, 1, "slope", None, in_q(1), of_slope)
    return value, slope, SeveralResults((value, slope))


def _modified(ufunc: str, value_of: Op) -> tuple[Op, Op, SeveralResults]:
    """A modified function, of a hyperbolic angle, and its derivative."""

    def of_slope(z: Array, m: Array, q: Array, x: Array) -> Any:
        return (value_of(m, q) - 2.0 * q * np.cosh(2.0 * x)) * value(m, q, x)

    value: Op = result_of(ufunc, 0, "y", None, "q", lambda z, m, q, x: slope(m, q, x))
    slope: Op = result_of(ufunc, 1, "slope", None, "q", of_slope)
    return value, slope, SeveralResults((value, slope))


mathieu_cem_y, mathieu_cem_slope, mathieu_cem = _angular("mathieu_cem", mathieu_a, False)
mathieu_sem_y, mathieu_sem_slope, mathieu_sem = _angular("mathieu_sem", mathieu_b, True)
mathieu_modcem1_y, mathieu_modcem1_slope, mathieu_modcem1 = _modified("mathieu_modcem1", mathieu_a)
mathieu_modcem2_y, mathieu_modcem2_slope, mathieu_modcem2 = _modified("mathieu_modcem2", mathieu_a)
mathieu_modsem1_y, mathieu_modsem1_slope, mathieu_modsem1 = _modified("mathieu_modsem1", mathieu_b)
mathieu_modsem2_y, mathieu_modsem2_slope, mathieu_modsem2 = _modified("mathieu_modsem2", mathieu_b)
