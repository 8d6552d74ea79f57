"""Exponential, trigonometric and Fresnel integrals, the dilogarithm, and integrals of Bessel functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.bessel import i0, j0, jv, k0, modstruve, struve, y0
from funcgrad.ops.special.special_function import (
    by_mpmath,
    power_series,
    removable,
    special_function,
)
from funcgrad.typing import Array

exp1: Op = special_function(
    "exp1",
    lambda z, x: -np.exp(-x) / x,
    mpmath="e1",
    sympy=lambda sp, x: sp.expint(1, x),
    jax="exp1",
)
expi: Op = special_function("expi", lambda z, x: np.exp(x) / x, mpmath="ei", sympy="Ei", jax="expi")
expn: Op = special_function(
    "expn",
    by_mpmath("expn", 0),
    lambda z, n, x: np.where(
        n >= 1, -expn(np.maximum(n - 1, 0), x), -np.exp(-x) * (1.0 + x) / (x * x)
    ),
    mpmath="expint",
    sympy="expint",
)


def _spence_slope(x: Array) -> Any:
    """log(x)/(1 - x), by its series near 1."""
    near = np.abs(x - 1.0) < 0.5
    away = np.where(near, 2.0, x)
    series = power_series(np.where(near, x - 1.0, 0.0), _LOG1P_SERIES)
    return np.where(near, series, np.log(away) / (1.0 - away))


_LOG1P_SERIES = [(-1.0) ** (k + 1) / (k + 1) for k in range(60)]
spence: Op = special_function(
    "spence",
    lambda z, x: _spence_slope(x),
    mpmath=lambda mp, x: mp.re(mp.polylog(2, 1 - x)),
    jax="spence",
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


sici_si: Op = special_function(
    "sici_si", lambda z, x: np.sinc(x / math.pi), ufunc="sici", part=0, mpmath="si", sympy="Si"
)
sici_ci: Op = special_function(
    "sici_ci", lambda z, x: np.cos(x) / x, ufunc="sici", part=1, mpmath="ci", sympy="Ci"
)
shichi_shi: Op = special_function(
    "shichi_shi", lambda z, x: _sinhc(x), ufunc="shichi", part=0, mpmath="shi", sympy="Shi"
)
shichi_chi: Op = special_function(
    "shichi_chi", lambda z, x: np.cosh(x) / x, ufunc="shichi", part=1, mpmath="chi", sympy="Chi"
)


def sici(x: Array) -> tuple[Any, ...]:
    """The sine and the cosine integral. As `scipy.special.sici`."""
    return sici_si(x), sici_ci(x)


def shichi(x: Array) -> tuple[Any, ...]:
    """The hyperbolic sine and cosine integral. As `scipy.special.shichi`."""
    return shichi_shi(x), shichi_chi(x)


# -- Fresnel integrals ---------------------------------------------------------------------------
fresnel_s: Op = special_function(
    "fresnel_s",
    lambda z, x: np.sin(0.5 * math.pi * x * x),
    ufunc="fresnel",
    part=0,
    mpmath="fresnels",
    sympy="fresnels",
)
fresnel_c: Op = special_function(
    "fresnel_c",
    lambda z, x: np.cos(0.5 * math.pi * x * x),
    ufunc="fresnel",
    part=1,
    mpmath="fresnelc",
    sympy="fresnelc",
)


def fresnel(z: Array) -> tuple[Any, ...]:
    """The Fresnel integrals S and C. As `scipy.special.fresnel`."""
    return fresnel_s(z), fresnel_c(z)


# -- integrals of Bessel functions ---------------------------------------------------------------
iti0k0_i: Op = special_function("iti0k0_i", lambda z, x: i0(x), ufunc="iti0k0", part=0)
iti0k0_k: Op = special_function("iti0k0_k", lambda z, x: k0(x), ufunc="iti0k0", part=1)
itj0y0_j: Op = special_function("itj0y0_j", lambda z, x: j0(x), ufunc="itj0y0", part=0)
itj0y0_y: Op = special_function("itj0y0_y", lambda z, x: y0(x), ufunc="itj0y0", part=1)
_BESSEL_SERIES = [1.0 / (4.0**k * math.factorial(k) ** 2) for k in range(1, 12)]
it2i0k0_i: Op = special_function(
    "it2i0k0_i",
    lambda z, x: x * removable(x * x, _BESSEL_SERIES, _i0_quotient, 1.0),
    ufunc="it2i0k0",
    part=0,
)
it2i0k0_k: Op = special_function("it2i0k0_k", lambda z, x: -k0(x) / x, ufunc="it2i0k0", part=1)
it2j0y0_j: Op = special_function(
    "it2j0y0_j",
    lambda z, x: (
        x
        * removable(
            x * x, [c * (-1.0) ** k for k, c in enumerate(_BESSEL_SERIES)], _j0_quotient, 1.0
        )
    ),
    ufunc="it2j0y0",
    part=0,
)
it2j0y0_y: Op = special_function("it2j0y0_y", lambda z, x: -y0(x) / x, ufunc="it2j0y0", part=1)
itstruve0: Op = special_function("itstruve0", lambda z, x: struve(0.0, x))
itmodstruve0: Op = special_function("itmodstruve0", lambda z, x: modstruve(0.0, x))
_STRUVE_SERIES = [
    c
    for k in range(6)
    for c in (2 / math.pi * (-1) ** k / math.prod(range(1, 2 * k + 2, 2)) ** 2, 0.0)
]


def _struve_quotient(x: Array) -> Any:
    """struve(0, x)/x, by its power series (DLMF 11.2.1) near 0."""
    return removable(x, _STRUVE_SERIES, lambda u: struve(0.0, u) / u, 0.5)


it2struve0: Op = special_function("it2struve0", lambda z, x: -_struve_quotient(x))


def _i0_quotient(square: Array) -> Any:
    return (i0(np.sqrt(square)) - 1.0) / square


def _j0_quotient(square: Array) -> Any:
    return (1.0 - j0(np.sqrt(square))) / square


def iti0k0(x: Array) -> tuple[Any, ...]:
    """The integrals of I0 and K0 from 0 to x. As `scipy.special.iti0k0`."""
    return iti0k0_i(x), iti0k0_k(x)


def itj0y0(x: Array) -> tuple[Any, ...]:
    """The integrals of J0 and Y0 from 0 to x. As `scipy.special.itj0y0`."""
    return itj0y0_j(x), itj0y0_y(x)


def it2i0k0(x: Array) -> tuple[Any, ...]:
    """The integrals of (I0(t) - 1)/t from 0 to x and of K0(t)/t beyond. As `scipy.special.it2i0k0`."""
    return it2i0k0_i(x), it2i0k0_k(x)


def it2j0y0(x: Array) -> tuple[Any, ...]:
    """The integrals of (1 - J0(t))/t from 0 to x and of Y0(t)/t beyond. As `scipy.special.it2j0y0`."""
    return it2j0y0_j(x), it2j0y0_y(x)


def _besselpoly_slope(z: Array, a: Array, lmb: Array, nu: Array) -> Any:
    """The derivative of a**(-lmb - 1) times the integral of u**lmb*J(2u) from 0 to a."""
    zero = a == 0
    s = np.where(zero, 1.0, a)
    start = np.where(nu == 1, 1.0 / (lmb + 2.0), 0.0)
    return np.where(zero, start, (jv(nu, 2.0 * s) - (lmb + 1.0) * z) / s)


besselpoly: Op = special_function("besselpoly", _besselpoly_slope, "lmb", "nu")


# -- modified Fresnel integrals ------------------------------------------------------------------
def _modified_fresnel(name: str, part: int, sign: float) -> Op:
    """The integral of exp(sign*i*t*t) from x on (part 0), or that times its asymptotic phase (part 1)."""
    phase = complex(math.sqrt(0.5), -sign * math.sqrt(0.5)) / math.sqrt(math.pi)

    def slope(z: Array, x: Array) -> Any:
        return -np.exp(sign * 1j * x * x) if part == 0 else -phase - 2j * sign * x * z

    return special_function(name, slope, ufunc=name[:-2], part=part)


modfresnelp_f: Op = _modified_fresnel("modfresnelp_f", 0, 1.0)
modfresnelp_k: Op = _modified_fresnel("modfresnelp_k", 1, 1.0)
modfresnelm_f: Op = _modified_fresnel("modfresnelm_f", 0, -1.0)
modfresnelm_k: Op = _modified_fresnel("modfresnelm_k", 1, -1.0)


def modfresnelp(x: Array) -> tuple[Any, ...]:
    """The modified Fresnel integrals F+ and K+. As `scipy.special.modfresnelp`."""
    return modfresnelp_f(x), modfresnelp_k(x)


def modfresnelm(x: Array) -> tuple[Any, ...]:
    """The modified Fresnel integrals F- and K-. As `scipy.special.modfresnelm`."""
    return modfresnelm_f(x), modfresnelm_k(x)
