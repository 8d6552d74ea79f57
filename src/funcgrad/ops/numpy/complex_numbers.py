"""Angles, NumPy's questions about complex numbers, and `numpy.emath`, whose functions leave the reals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.elementwise import arithmetic, exponential, trigonometric
from funcgrad.ops.elementwise.selection import mask, stopped
from funcgrad.ops.shape import astype, holds_expr
from funcgrad.typing import Array


def angle(z: object, deg: bool = False) -> Any:
    """As `numpy.angle`: the argument of a complex number."""
    z = lift_fully(z)
    if z.dtype.kind == "c":
        radians = np.arctan2(np.imag(z), np.real(z))
    else:
        radians = np.arctan2(0, stopped(z))  # 0 or pi, whatever the slope of z
    return radians * (180.0 / math.pi) if deg else radians


def unwrap(p: object, discont: Any = None, axis: int = -1, *, period: Any = 2 * math.pi) -> Any:
    """As `numpy.unwrap`: p plus multiples of the period, which are constant."""
    x = lift_fully(p)
    if x.dtype.kind != "f" or not functions["is_varied"](x) or holds_expr([discont, period]):
        return NotImplemented  # NumPy's own code runs
    fixed = stopped(x)
    difference = mask(np.isfinite(fixed), x - fixed)  # 0, with the derivative of x
    return np.unwrap(fixed, discont, axis, period=period) + difference


def isreal(x: object) -> Any:
    """As `numpy.isreal`."""
    return np.imag(lift_fully(x)) == 0


def iscomplex(x: object) -> Any:
    """As `numpy.iscomplex`."""
    return np.imag(lift_fully(x)) != 0


# -- numpy.emath -----------------------------------------------------------------------------------
def _extended(function: Callable[..., Any], outside: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function of the complex numbers if a real entry is outside of its real domain.

    That is read from the values of all entries together, as in NumPy: the dtype depends on it.
    """

    def on_domain(x: object, *others: object, **p: object) -> Any:
        x = lift_fully(x)
        if x.dtype.kind != "c" and bool(np.any(outside(x))):
            x = astype(x, np.result_type(x.dtype, np.complex64))
        # NumPy makes an array of a number, which then does not give way to the dtype of x.
        return function(x, *map(lift_fully, (*others, *p.values())))

    return on_domain


def _negative(x: Array) -> Any:
    return x < 0


def _beyond_one(x: Array) -> Any:
    return np.abs(x) > 1


EMATH: Mapping[Any, Callable[..., Any]] = MappingProxyType(
    {
        np.emath.sqrt: _extended(exponential.sqrt, _negative),
        np.emath.log: _extended(exponential.log, _negative),
        np.emath.log2: _extended(exponential.log2, _negative),
        np.emath.log10: _extended(exponential.log10, _negative),
        np.emath.power: _extended(arithmetic.power, _negative),
        np.emath.arccos: _extended(trigonometric.arccos, _beyond_one),
        np.emath.arcsin: _extended(trigonometric.arcsin, _beyond_one),
        np.emath.arctanh: _extended(trigonometric.arctanh, _beyond_one),
    }
)
"""What stands in for the functions of `numpy.emath`."""
