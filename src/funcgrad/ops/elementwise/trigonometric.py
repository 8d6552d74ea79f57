"""Trigonometric and hyperbolic functions, their inverses, and `hypot`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr, const
from funcgrad.linear import Quotient
from funcgrad.ops.base.columns import Columns, function
from funcgrad.ops.base.op import Op, elementwise
from funcgrad.ops.elementwise.declare import common_function
from funcgrad.ops.elementwise.exponential import exp, sqrt
from funcgrad.ops.elementwise.magnitude import make_complex
from funcgrad.ops.elementwise.selection import mask
from funcgrad.typing import Array, FunctionLibrary

sin = common_function(
    np.sin,
    lambda z, x: cos(x),
    lambda iv, x: iv.wave(np.sin, x, np.pi / 2, -np.pi / 2),
    entry_time=9.0,
)
cos: Op = common_function(
    np.cos, lambda z, x: -sin(x), lambda iv, x: iv.wave(np.cos, x, 0.0, np.pi), entry_time=9.0
)


def _tanh_slope(z: Array, x: Array) -> Any:
    """1 - z**2 for z = tanh(x), also where a complex z is next to -1 or 1."""
    far = np.abs(np.real(x)) > 1
    place = np.where(far, x, 1.0)
    e = exp(np.where(np.real(place) < 0, 2 * place, -2 * place))
    return np.where(far, 4 * e / (1 + e) ** 2, 1 - z**2)


tan = common_function(
    np.tan, lambda z, x: _tanh_slope(1j * z, 1j * x) if np.iscomplexobj(x) else 1 + z**2, "tan"
)


def _root(x: Array) -> Any:
    """sqrt(1 - x**2); of complex numbers, on the side of the cuts that the sign of a zero tells.

    A sum would lose that sign, which a difference has.
    """
    return _root_of_product(-(x - 1), x - -1) if x.dtype.kind == "c" else sqrt(1 - x**2)


def _root_of_product(a: Array, b: Array) -> Any:
    """The root of a product of complex numbers, or the product of roots where that overflows."""
    far = np.abs(a) > 1e15
    apart = sqrt(np.where(far, a, 1.0)) * sqrt(np.where(far, b, 1.0))
    return np.where(far, apart, sqrt(np.where(far, 1.0, a) * np.where(far, 1.0, b)))


arcsin = common_function(
    np.arcsin,
    lambda z, x: Quotient(_root(x)),
    lambda iv, x: iv.monotone(np.arcsin, x, domain=(-1.0, 1.0)),
)
arccos = common_function(
    np.arccos,
    lambda z, x: -1 / _root(x),
    lambda iv, x: iv.monotone(
        np.arccos, x, domain=(-1.0, 1.0), values=(0.0, math.inf), rising=False
    ),
)
arctan = common_function(
    np.arctan, lambda z, x: Quotient(1 + x**2), lambda iv, x: iv.monotone(np.arctan, x)
)

# -- hyperbolic ------------------------------------------------------------------------------------
sinh = common_function(np.sinh, lambda z, x: cosh(x), lambda iv, x: iv.monotone(np.sinh, x))
cosh: Op = common_function(
    np.cosh, lambda z, x: sinh(x), lambda iv, x: iv.even(np.cosh, x, iv.NEAR, 1.0)
)
tanh = common_function(
    np.tanh,
    lambda z, x: _tanh_slope(z, x) if np.iscomplexobj(x) else 1 - z**2,
    lambda iv, x: iv.monotone(np.tanh, x, values=(-1.0, 1.0)),
    entry_time=1.7,
)


def _sech_squared(x: Array) -> Any:
    if np.result_type(x).kind == "c":
        x = np.where(np.real(x) < 0.0, -x, x)
        far = np.real(x) > 20.0  # where the rest of 2*cosh(x) = exp(x) + exp(-x) is rounded away
        return np.square(np.where(far, 2.0 * np.exp(-x), 1.0 / np.cosh(np.where(far, 0.0, x))))
    e = np.exp(-2.0 * np.abs(x))
    return np.square(2.0 / (1.0 + e)) * e


def _sech_squared_source(z: Expr, texts: Sequence[str]) -> str:
    (x,) = texts
    if z.dtype.kind != "c":
        return f"(lambda e: np.square(2.0/(1.0 + e))*e)(np.exp(-2.0*np.abs({x})))"
    chosen = "np.where(far, 2.0*np.exp(-x), 1.0/np.cosh(np.where(far, 0.0, x)))"
    right = f"(lambda x: np.where(np.real(x) < 0.0, -x, x))({x})"
    return f"np.square((lambda x, far: {chosen})(*(lambda x: (x, np.real(x) > 20.0))({right})))"


# The derivative of tanh: 1 - tanh(x)**2 would be 0 from 20 on, and 1/cosh(x)**2 overflows within.
sech_squared = elementwise(
    "sech_squared",
    _sech_squared,
    lambda z, x: -2 * np.tanh(x) * z,
    like=np.exp,
    columns=Columns(
        scalar="((2.0 / (1.0 + math.exp(-2.0 * abs({0})))) ** 2 * math.exp(-2.0 * abs({0})))",
        decompose=lambda x: np.square(1 / cosh(x)),
        mpmath=lambda mp, x: mp.sech(x) ** 2,
        latex=r"\operatorname{sech}^{2}",
        numpy=_sech_squared_source,
        transcendental=True,
        entry_time=3.0,
        vm=True,
    ),
)


def _imaginary_root(x: Array) -> Any:
    """sqrt(1 + x**2), as that of 1 + 1j*x times 1 - 1j*x if they are complex."""
    if not np.iscomplexobj(x):
        return np.hypot(x, 1.0)
    re, im = np.real(x), np.imag(x)
    return _root_of_product(make_complex(1 - im, re), make_complex(1 + im, -re))


arcsinh = common_function(
    np.arcsinh,
    lambda z, x: Quotient(_imaginary_root(x)),
    lambda iv, x: iv.monotone(np.arcsinh, x),
    r"\operatorname{arsinh}",
    vm=False,
)
# Two roots, since one of the product would be of the other sign left of the imaginary axis.
arccosh = common_function(
    np.arccosh,
    lambda z, x: Quotient(sqrt(x - 1) * sqrt(x - -1 if np.iscomplexobj(x) else x + 1)),
    lambda iv, x: iv.monotone(np.arccosh, x, domain=(1.0, math.inf), values=(0.0, math.inf)),
    r"\operatorname{arcosh}",
    vm=False,
)
arctanh = common_function(
    np.arctanh,
    lambda z, x: Quotient(1 - x**2),
    lambda iv, x: iv.monotone(np.arctanh, x, domain=(-1.0, 1.0)),
    r"\operatorname{artanh}",
    vm=False,
)


def _over_square(part: Array, x: Array, y: Array) -> Any:
    """part/(x**2 + y**2), also where a square overflows or underflows; 0 at the origin and at infinity."""
    r = np.hypot(x, y)
    return mask((x != 0) | (y != 0), mask(r != np.inf, part / r / r))


# -- two operands, and units of angles -------------------------------------------------------------
def _mp_arctan2(mp: FunctionLibrary, y: Array, x: Array) -> Any:
    if mp.isnan(x) or mp.isnan(y):
        return mp.nan
    return mp.atan2(mp.sign(y), mp.sign(x)) if mp.isinf(x) and mp.isinf(y) else mp.atan2(y, x)


# At the origin neither direction is preferred, and the derivative is taken as 0.
arctan2 = elementwise(
    "arctan2",
    np.arctan2,
    lambda z, x, y: _over_square(y, x, y),
    lambda z, x, y: _over_square(-x, x, y),
    columns=function(
        "atan2",
        operands=2,
        entry_time=9.0,
        mpmath=_mp_arctan2,
        sympy="atan2",
        interval="arctan2",
        vm=True,
    ),
)


def _mp_hypot(mp: FunctionLibrary, x: Array, y: Array) -> Any:
    return mp.inf if mp.isinf(x) or mp.isinf(y) else mp.hypot(x, y)


hypot = elementwise(
    "hypot",
    np.hypot,
    lambda z, x, y: mask(z != 0, x / z),
    lambda z, x, y: mask(z != 0, y / z),
    columns=function(
        "hypot",
        operands=2,
        entry_time=9.0,
        mpmath=_mp_hypot,
        sympy=lambda sp, x, y: sp.sqrt(x**2 + y**2),
        interval="hypot",
        vm=True,
    ),
)
deg2rad = elementwise(
    "deg2rad",
    np.deg2rad,
    lambda z, x: np.full_like(x, np.pi / 180),
    columns=function(
        "radians",
        mpmath=lambda mp, x: x * mp.pi / 180,
        sympy=lambda sp, x: x * sp.pi / 180,
        interval=lambda iv, x: iv.monotone(np.deg2rad, x),
        decompose=lambda x: x * arccos(const(-1.0)) / const(180.0),
    ),
)
rad2deg = elementwise(
    "rad2deg",
    np.rad2deg,
    lambda z, x: np.full_like(x, 180 / np.pi),
    columns=function(
        "degrees",
        mpmath=lambda mp, x: x * 180 / mp.pi,
        sympy=lambda sp, x: x * 180 / sp.pi,
        interval=lambda iv, x: iv.monotone(np.rad2deg, x),
        decompose=lambda x: x * const(180.0) / arccos(const(-1.0)),
    ),
)
