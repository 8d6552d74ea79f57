"""Mathieu functions: differentiated in the angle or the argument, by their equation, and not in q."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.special_function import special_function
from funcgrad.typing import Array

mathieu_a: Op = special_function("mathieu_a", None, "q")
mathieu_b: Op = special_function("mathieu_b", None, "q")


def _angular(ufunc: str, value_of: Op, other: Callable[[], Op], part: int) -> Op:
    """A function of an angle in degrees (part 0), or its derivative by the angle in radians (part 1)."""
    name = f"{ufunc}_y" if part == 0 else f"{ufunc}_slope"

    def slope(z: Array, m: Array, q: Array, x: Array) -> Any:
        rate = math.pi / 180.0
        if part == 0:
            return rate * other()(m, q, x)
        return rate * (2.0 * q * np.cos(2.0 * rate * x) - value_of(m, q)) * other()(m, q, x)

    return special_function(name, None, "q", slope, ufunc=ufunc, part=part)


mathieu_cem_y: Op = _angular("mathieu_cem", mathieu_a, lambda: mathieu_cem_slope, 0)
mathieu_cem_slope: Op = _angular("mathieu_cem", mathieu_a, lambda: mathieu_cem_y, 1)
mathieu_sem_y: Op = _angular("mathieu_sem", mathieu_b, lambda: mathieu_sem_slope, 0)
mathieu_sem_slope: Op = _angular("mathieu_sem", mathieu_b, lambda: mathieu_sem_y, 1)


def _radial(ufunc: str, value_of: Op, other: Callable[[], Op], part: int) -> Op:
    """A modified function (part 0), or its derivative (part 1)."""
    name = f"{ufunc}_y" if part == 0 else f"{ufunc}_slope"

    def slope(z: Array, m: Array, q: Array, x: Array) -> Any:
        if part == 0:
            return other()(m, q, x)
        return (value_of(m, q) - 2.0 * q * np.cosh(2.0 * x)) * other()(m, q, x)

    return special_function(name, None, "q", slope, ufunc=ufunc, part=part)


mathieu_modcem1_y: Op = _radial("mathieu_modcem1", mathieu_a, lambda: mathieu_modcem1_slope, 0)
mathieu_modcem1_slope: Op = _radial("mathieu_modcem1", mathieu_a, lambda: mathieu_modcem1_y, 1)
mathieu_modcem2_y: Op = _radial("mathieu_modcem2", mathieu_a, lambda: mathieu_modcem2_slope, 0)
mathieu_modcem2_slope: Op = _radial("mathieu_modcem2", mathieu_a, lambda: mathieu_modcem2_y, 1)
mathieu_modsem1_y: Op = _radial("mathieu_modsem1", mathieu_b, lambda: mathieu_modsem1_slope, 0)
mathieu_modsem1_slope: Op = _radial("mathieu_modsem1", mathieu_b, lambda: mathieu_modsem1_y, 1)
mathieu_modsem2_y: Op = _radial("mathieu_modsem2", mathieu_b, lambda: mathieu_modsem2_slope, 0)
mathieu_modsem2_slope: Op = _radial("mathieu_modsem2", mathieu_b, lambda: mathieu_modsem2_y, 1)


def mathieu_cem(m: Array, q: Array, x: Array) -> tuple[Any, ...]:
    """The even angular function and its derivative. As `scipy.special.mathieu_cem`."""
    return mathieu_cem_y(m, q, x), mathieu_cem_slope(m, q, x)


def mathieu_sem(m: Array, q: Array, x: Array) -> tuple[Any, ...]:
    """The odd angular function and its derivative. As `scipy.special.mathieu_sem`."""
    return mathieu_sem_y(m, q, x), mathieu_sem_slope(m, q, x)


def mathieu_modcem1(m: Array, q: Array, x: Array) -> tuple[Any, ...]:
    """The even modified function of the first kind. As `scipy.special.mathieu_modcem1`."""
    return mathieu_modcem1_y(m, q, x), mathieu_modcem1_slope(m, q, x)


def mathieu_modcem2(m: Array, q: Array, x: Array) -> tuple[Any, ...]:
    """The even modified function of the second kind. As `scipy.special.mathieu_modcem2`."""
    return mathieu_modcem2_y(m, q, x), mathieu_modcem2_slope(m, q, x)


def mathieu_modsem1(m: Array, q: Array, x: Array) -> tuple[Any, ...]:
    """The odd modified function of the first kind. As `scipy.special.mathieu_modsem1`."""
    return mathieu_modsem1_y(m, q, x), mathieu_modsem1_slope(m, q, x)


def mathieu_modsem2(m: Array, q: Array, x: Array) -> tuple[Any, ...]:
    """The odd modified function of the second kind. As `scipy.special.mathieu_modsem2`."""
    return mathieu_modsem2_y(m, q, x), mathieu_modsem2_slope(m, q, x)
