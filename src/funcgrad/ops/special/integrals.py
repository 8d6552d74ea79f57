"""Exponential, trigonometric and Fresnel integrals, the dilogarithm, and integrals of Bessel functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.special.bessel import i0, j0, jv, k0, modstruve, struve, y0
from funcgrad.ops.special.gamma import rgamma
from funcgrad.ops.special.special_function import (
    SeveralResults,
    by_mpmath,
    power_series,
    removable,
    result_of,
    special_function,
)
from funcgrad.typing import Array, FunctionLibrary

exp1: Op = special_function(
    "exp1",
    lambda z, x: -np.exp(-x) / x,
    mpmath="e1",
    sympy=lambda sp, x: sp.expint(1, x),
    jax="exp1",
)
expi: Op = special_function("expi", lambda z, x: np.exp(x) / x, mpmath="ei", sympy="Ei", jax="expi")


def _expn_slope_in_order(z: Array, n: Array, x: Array) -> Any:
    """Of a whole order; SciPy truncates others, and is constant between whole ones."""
    return mask(n == np.trunc(n), by_mpmath("expn", 0)(z, n, x))


def _expn_slope(z: Array, n: Array, x: Array) -> Any:
    """By the order below, for the order 0 by their recurrence (DLMF 8.19.12); each moves with the order."""
    whole = np.where(n == np.trunc(n), n, np.trunc(n))
    falls = whole >= 1
    lower = expn(np.where(falls, whole, 1) - 1, x)
    return -np.where(falls, lower, (np.exp(-x) + (1 - whole) * z) / x)


expn: Op = special_function(
    "expn", _expn_slope_in_order, _expn_slope, mpmath="expint", sympy="expint"
)


def _spence_slope(x: Array) -> Any:
    """log(x)/(1 - x), by its series near 1."""
    near = np.abs(x - 1.0) < 0.5
    away = np.where(near, 2.0, x)
    series = power_series(np.where(near, x - 1.0, 0.0), _LOG1P_SERIES)
    return np.where(near, series, np.log(away) / (1.0 - away))


def _mp_spence(mp: FunctionLibrary, x: Array) -> Any:
    found = mp.polylog(2, 1 - x)
    return found if isinstance(x, mp.mpc) else mp.re(found)


_LOG1P_SERIES = [(-1.0) ** (k + 1) / (k + 1) for k in range(60)]
spence: Op = special_function(
    "spence", lambda z, x: _spence_slope(x), mpmath=_mp_spence, jax="spence"
)


# -- trigonometric and hyperbolic integrals ------------------------------------------------------
def _odd_series(sign: float) -> list[float]:
    return [sign**k / math.factorial(2 * k + 1) for k in range(14)]


def _sinhc(x: Array) -> Any:
    """sinh(x)/x."""

    def formula(square: Array) -> Any:
        root = np.sqrt(square)
        return np.sinh(root) / root

    return removable(x * x, _odd_series(1.0), formula, 1.0)


def _sinc(x: Array) -> Any:
    """sin(x)/x, far out without a quotient by pi, which has no digits of a large sine's argument."""
    far = np.abs(x) > 1
    away = np.where(far, x, 1.0)
    return np.where(far, np.sin(away) / away, np.sinc(np.where(far, 0.0, x) / math.pi))


sici_si: Op = result_of("sici", 0, "si", lambda z, x: _sinc(x), mpmath="si", sympy="Si")
sici_ci: Op = result_of("sici", 1, "ci", lambda z, x: np.cos(x) / x, mpmath="ci", sympy="Ci")
sici = SeveralResults((sici_si, sici_ci))
shichi_shi: Op = result_of("shichi", 0, "shi", lambda z, x: _sinhc(x), mpmath="shi", sympy="Shi")
shichi_chi: Op = result_of(
    "shichi", 1, "chi", lambda z, x: np.cosh(x) / x, mpmath="chi", sympy="Chi"
)
shichi = SeveralResults((shichi_shi, shichi_chi))


# -- Fresnel integrals ---------------------------------------------------------------------------
def _fresnel(part: int, result: str, function: np.ufunc) -> Op:
    name = f"fresnel{result}"
    return result_of(
        "fresnel",
        part,
        result,
        lambda z, x: function(0.5 * math.pi * x * x),
        mpmath=name,
        sympy=name,
    )


fresnel_s, fresnel_c = _fresnel(0, "s", np.sin), _fresnel(1, "c", np.cos)
fresnel = SeveralResults((fresnel_s, fresnel_c))


# -- integrals of Bessel functions ---------------------------------------------------------------
iti0k0_i: Op = result_of("iti0k0", 0, "i", lambda z, x: i0(x))
iti0k0_k: Op = result_of("iti0k0", 1, "k", lambda z, x: k0(x))
iti0k0 = SeveralResults((iti0k0_i, iti0k0_k))
itj0y0_j: Op = result_of("itj0y0", 0, "j", lambda z, x: j0(x))
itj0y0_y: Op = result_of("itj0y0", 1, "y", lambda z, x: y0(x))
itj0y0 = SeveralResults((itj0y0_j, itj0y0_y))
_I0_SERIES = [1.0 / (4.0**k * math.factorial(k) ** 2) for k in range(1, 12)]
_J0_SERIES = [c * (-1.0) ** k for k, c in enumerate(_I0_SERIES)]
it2i0k0_i: Op = result_of(
    "it2i0k0", 0, "i", lambda z, x: x * removable(x * x, _I0_SERIES, _i0_quotient, 1.0)
)
it2i0k0_k: Op = result_of("it2i0k0", 1, "k", lambda z, x: -k0(x) / x)
it2i0k0 = SeveralResults((it2i0k0_i, it2i0k0_k))
it2j0y0_j: Op = result_of(
    "it2j0y0", 0, "j", lambda z, x: x * removable(x * x, _J0_SERIES, _j0_quotient, 1.0)
)
it2j0y0_y: Op = result_of("it2j0y0", 1, "y", lambda z, x: -y0(x) / x)
it2j0y0 = SeveralResults((it2j0y0_j, it2j0y0_y))
itstruve0: Op = special_function("itstruve0", lambda z, x: struve(0.0, x))
itmodstruve0: Op = special_function("itmodstruve0", lambda z, x: modstruve(0.0, x))
_STRUVE_SERIES = [
    c
    for k in range(6)
    for c in (2 / math.pi * (-1) ** k / math.prod(range(1, 2 * k + 2, 2)) ** 2, 0.0)
]


it2struve0: Op = special_function(
    "it2struve0", lambda z, x: -removable(x, _STRUVE_SERIES, lambda u: struve(0.0, u) / u, 0.5)
)


def _i0_quotient(square: Array) -> Any:
    return (i0(np.sqrt(square)) - 1.0) / square


def _j0_quotient(square: Array) -> Any:
    return (1.0 - j0(np.sqrt(square))) / square


def _besselpoly_slope(z: Array, a: Array, lmb: Array, nu: Array) -> Any:
    """The derivative of a**(-lmb - 1) times the integral of u**lmb*J(2u) from 0 to a: for a small a, where
    the two terms cancel, by the power series.
    """
    small = np.abs(a) < 1.0
    away = np.where(small, 1.0, a)
    return np.where(
        small,
        _besselpoly_series(np.where(small, a, 0.5), lmb, nu),
        (jv(nu, 2.0 * away) - (lmb + 1.0) * np.where(small, 0.0, z)) / away,
    )


def _besselpoly_series(a: Array, lmb: Array, nu: Array) -> Any:
    """The derivative, term by term; J of a negative whole order is that of the positive one with a sign."""
    mirrored = (nu < 0) & (nu == np.trunc(nu))
    order = np.where(mirrored, -nu, nu)
    total: Any = 0.0
    for k in range(14):
        power = order + 2.0 * k
        factor = (-1.0) ** k / math.factorial(k) * power / (lmb + power + 1.0)
        lowered = np.power(a, np.where(power == 0, 1.0, power) - 1.0)
        total = total + factor * rgamma(order + k + 1.0) * lowered
    return np.where(mirrored & (nu % 2 == 1), -total, total)


besselpoly: Op = special_function("besselpoly", _besselpoly_slope, "lmb", "nu")


# -- modified Fresnel integrals ------------------------------------------------------------------
def _modified_fresnel(ufunc: str, sign: float) -> tuple[Op, Op]:
    """The integral of exp(sign*i*t*t) from x on, and that times its asymptotic phase."""
    phase = complex(math.sqrt(0.5), -sign * math.sqrt(0.5)) / math.sqrt(math.pi)
    integral = result_of(ufunc, 0, "f", lambda z, x: -np.exp(sign * 1j * x * x))
    scaled = result_of(ufunc, 1, "k", lambda z, x: -phase - 2j * sign * x * z)
    return integral, scaled


modfresnelp_f, modfresnelp_k = _modified_fresnel("modfresnelp", 1.0)
modfresnelp = SeveralResults((modfresnelp_f, modfresnelp_k))
modfresnelm_f, modfresnelm_k = _modified_fresnel("modfresnelm", -1.0)
modfresnelm = SeveralResults((modfresnelm_f, modfresnelm_k))
