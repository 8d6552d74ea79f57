"""Elliptic integrals, Carlson's symmetric integrals, the Jacobian functions and the arithmetic-geometric
mean.

Derivatives in the parameter m are Carlson's integrals (DLMF 19.25), which do not cancel near m = 0 or at
small amplitudes; those of R_D are mpmath's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.ops.special.special_function import (
    SeveralResults,
    by_mpmath,
    numeric_function,
    result_of,
    special_function,
)
from funcgrad.typing import Array

elliprf: Op = special_function(
    "elliprf",
    lambda z, x, y, w: -elliprd(y, w, x) / 6.0,
    lambda z, x, y, w: -elliprd(x, w, y) / 6.0,
    lambda z, x, y, w: -elliprd(x, y, w) / 6.0,
    mpmath="elliprf",
)


def _inside_slope(name: str, argument: int, *inputs: Array) -> Any:
    """By mpmath; at 0, where the integral is finite and its slope is not, -inf."""
    end = inputs[argument] == 0
    inner = np.where(end, 1.0, inputs[argument])
    found = by_mpmath(name, argument)(None, *inputs[:argument], inner, *inputs[argument + 1 :])
    return np.where(end, -np.inf, found)


def _elliprd_slope(argument: int, z: Array, *inputs: Array) -> Any:
    return _inside_slope("elliprd", argument, *inputs)


elliprd: Op = special_function(
    "elliprd", *[partial(_elliprd_slope, k) for k in range(3)], mpmath="elliprd"
)
elliprc: Op = special_function(
    "elliprc",
    lambda z, x, y: _elliprc_slope(z, x, y, 0),
    lambda z, x, y: _elliprc_slope(z, x, y, 1),
    mpmath="elliprc",
)
elliprg: Op = special_function(
    "elliprg",
    lambda z, x, y, w: _elliprg_slope(y, w, x),
    lambda z, x, y, w: _elliprg_slope(x, w, y),
    lambda z, x, y, w: _elliprg_slope(x, y, w),
    mpmath="elliprg",
)


def _principal_rj(mp: Any, *inputs: Any) -> Any:
    value = mp.elliprj(*inputs)
    return value if any(isinstance(w, mp.mpc) for w in inputs) else mp.re(value)


def _elliprj_slope(argument: int, z: Array, *inputs: Array) -> Any:
    """By mpmath; for the principal value at p < 0, by partial fractions and homogeneity, which do not cancel
    there, as p differs from the other arguments.
    """
    p = inputs[3]
    cut = p < 0 if not any(map(np.iscomplexobj, inputs)) else np.zeros_like(p, bool)
    usual = _inside_slope("elliprj", argument, *inputs[:3], np.where(cut, 1.0, p))
    below = np.where(cut, p, -1.0)
    slopes = [
        (z - elliprd(*inputs[:k], *inputs[k + 1 : 3], inputs[k])) / (2.0 * (below - inputs[k]))
        for k in range(3)
    ]
    if argument < 3:
        return np.where(cut, slopes[argument], usual)
    scaled = [np.where(w == 0, 0.0, w * slope) for w, slope in zip(inputs, slopes, strict=False)]
    return np.where(cut, -(1.5 * z + sum(scaled)) / below, usual)


elliprj: Op = special_function(
    "elliprj", *[partial(_elliprj_slope, k) for k in range(4)], mpmath=_principal_rj
)


def _elliprg_slope(x: Array, y: Array, w: Array) -> Any:
    """The derivative of R_G in w, by its integral (DLMF 19.16.3); at w = 0 it is that of R_F alone.

    If x and y are 0, R_G is half of the square root of w.
    """
    zero, root = w == 0, np.logical_and(x == 0, y == 0)
    single, inside = np.logical_and(root, ~zero), np.where(root, 1.0, x)
    beyond = np.where(zero, 0.0, w * elliprd(inside, y, np.where(zero, 1.0, w)))
    slope = 0.25 * (elliprf(np.where(single, 1.0, x), y, w) - beyond / 3.0)
    return np.where(single, 0.25 / np.sqrt(np.where(single, w, 1.0)), slope)


def _elliprc_slope(z: Array, x: Array, y: Array, argument: int) -> Any:
    """By R_D, as R_C(x, y) is R_F(x, y, y); for the principal value at y < 0, by the differential
    equations of R_C, which do not cancel there.
    """
    cut = y < 0 if not np.iscomplexobj(x) and not np.iscomplexobj(y) else np.zeros_like(y, bool)
    below, above = np.where(cut, y, -1.0), np.where(cut, 1.0, y)
    inner = np.where(cut, x, 1.0)
    if argument == 0:
        value = (1.0 / np.sqrt(inner) - z) / (2.0 * (inner - below))
        return np.where(cut, value, -elliprd(above, above, x) / 6.0)
    value = (below * z - np.sqrt(inner)) / (2.0 * below * (inner - below))
    return np.where(cut, value, -elliprd(x, above, above) / 3.0)


# -- complete integrals --------------------------------------------------------------------------
def _carlson_slope(z: Array, p: Array) -> Any:
    """By the differential equations of K and E; near p = 1, by the series at m = 0."""
    m = 1.0 - p
    small = np.abs(m) < 0.02
    q = np.where(small, 0.5, p)
    series: Any = 0.0
    for k in range(12, 0, -1):
        series = series * m + _D_SERIES[k - 1]
    formula = ellipkm1(q) - (1.0 + q) * legendre_d(q)
    return np.where(small, -series, -formula / (2.0 * q * (1.0 - q)))


def _d_coefficient(k: int) -> float:
    """The coefficient of m**k in (K - E)/m, times k."""
    central = (math.comb(2 * k + 2, k + 1) / 4.0 ** (k + 1)) ** 2
    return 0.5 * math.pi * k * central * (1.0 + 1.0 / (2 * k + 1))


_D_SERIES = [_d_coefficient(k) for k in range(1, 13)]
legendre_d: Op = numeric_function(
    "legendre_d",
    lambda p: scipy_special("ellipk").elliprd(0.0, p, 1.0) / 3.0,
    _carlson_slope,
    mpmath=lambda mp, p: mp.elliprd(0, p, 1) / 3,
)
"""(K(m) - E(m))/m, where p is 1 - m: the complete integral of sin(t)**2/sqrt(1 - m*sin(t)**2)."""

ellipkm1: Op = special_function(
    "ellipkm1",
    lambda z, p: elliprd(np.zeros_like(p), np.ones_like(p), p) / -6.0,  # DLMF 19.4.1 and 19.25.1
    mpmath=lambda mp, p: mp.ellipk(1 - p),
)
ellipk: Op = special_function(
    "ellipk",
    lambda z, m: elliprd(np.zeros_like(m), np.ones_like(m), 1.0 - m) / 6.0,
    mpmath="ellipk",
    sympy="elliptic_k",
)
ellipe: Op = special_function(
    "ellipe", lambda z, m: -0.5 * legendre_d(1.0 - m), mpmath="ellipe", sympy="elliptic_e"
)


# -- incomplete integrals ------------------------------------------------------------------------
def _periodic(phi: Array, m: Array, part: Callable[..., Any], whole: Callable[..., Any]) -> Any:
    """An integral from 0 to phi of a function of sin(t)**2 from the one below a quarter period."""
    turns = np.rint(phi / math.pi)
    rest = phi - turns * math.pi
    return part(np.sin(rest), np.cos(rest), m) + _of_turns(turns, m, whole)


def _of_turns(turns: Array, m: Array, whole: Callable[..., Any]) -> Any:
    """Twice the complete integral, which is infinite at m = 1, times the number of half periods."""
    none = turns == 0
    return np.where(none, 0.0, 2.0 * turns * whole(np.where(none, 0.5, m)))


def _slope_e(z: Array, phi: Array, m: Array) -> Any:
    def part(s: Array, c: Array, m: Array) -> Any:
        return s**3 * elliprd(c * c, 1.0 - m * s * s, np.ones_like(s))

    def whole(m: Array) -> Any:
        return elliprd(np.zeros_like(m), 1.0 - m, np.ones_like(m))

    return -_periodic(phi, m, part, whole) / 6.0


def _slope_k(z: Array, phi: Array, m: Array) -> Any:
    def part(s: Array, c: Array, m: Array) -> Any:
        return s**3 * elliprd(c * c, np.ones_like(s), 1.0 - m * s * s)

    return _periodic(phi, m, part, _whole_k) / 6.0


def _whole_k(m: Array) -> Any:
    return elliprd(np.zeros_like(m), np.ones_like(m), 1.0 - m)


ellipkinc: Op = special_function(
    "ellipkinc",
    lambda z, phi, m: 1.0 / np.sqrt(1.0 - m * np.sin(phi) ** 2),
    _slope_k,
    mpmath="ellipf",
    sympy="elliptic_f",
)
ellipeinc: Op = special_function(
    "ellipeinc",
    lambda z, phi, m: np.sqrt(1.0 - m * np.sin(phi) ** 2),
    _slope_e,
    mpmath="ellipe",
    sympy="elliptic_e",
)


# -- Jacobian functions --------------------------------------------------------------------------
def _amplitude_slope(u: Array, m: Array) -> Any:
    """The derivative of the amplitude in m: the first integral stays u.

    Its sine and cosine are sn and cn, which have more digits than those of the amplitude.
    """
    sn, cn, dn = ellipj_sn(u, m), ellipj_cn(u, m), ellipj_dn(u, m)
    turns = np.rint(ellipj_am(u, m) / math.pi)
    sine = np.where(np.remainder(turns, 2.0) == 1.0, -sn, sn)
    part = sine**3 * elliprd(cn * cn, np.ones_like(sn), dn * dn)
    return -dn * (part + _of_turns(turns, m, _whole_k)) / 6.0


def _jacobi(part: int, result: str, in_u: Callable[..., Any], in_m: Callable[..., Any]) -> Op:
    return result_of(
        "ellipj", part, result, in_u, in_m, mpmath=lambda mp, u, m: mp.ellipfun(result, u, m=m)
    )


ellipj_am: Op = result_of(
    "ellipj", 3, "am", lambda z, u, m: ellipj_dn(u, m), lambda z, u, m: _amplitude_slope(u, m)
)
ellipj_sn: Op = _jacobi(
    0,
    "sn",
    lambda z, u, m: ellipj_cn(u, m) * ellipj_dn(u, m),
    lambda z, u, m: ellipj_cn(u, m) * _amplitude_slope(u, m),
)
ellipj_cn: Op = _jacobi(
    1,
    "cn",
    lambda z, u, m: -ellipj_sn(u, m) * ellipj_dn(u, m),
    lambda z, u, m: -ellipj_sn(u, m) * _amplitude_slope(u, m),
)
ellipj_dn: Op = _jacobi(
    2,
    "dn",
    lambda z, u, m: -m * ellipj_sn(u, m) * ellipj_cn(u, m),
    lambda z, u, m: (
        -ellipj_sn(u, m)
        * (0.5 * ellipj_sn(u, m) + m * ellipj_cn(u, m) * _amplitude_slope(u, m))
        / z
    ),
)
ellipj = SeveralResults((ellipj_sn, ellipj_cn, ellipj_dn, ellipj_am))


# -- the arithmetic-geometric mean ---------------------------------------------------------------
def _agm_slope(z: Array, a: Array, b: Array) -> Any:
    """The derivative in a, of the mean as pi/(2 R_F(0, a**2, b**2)), in terms of b/a; where one of a and b is
    far larger, it is m, the mean is pi*m/(2 log(4 m/s)) for the smaller one s."""
    share = z / a
    small, large = np.abs(a) < 1e-8 * np.abs(b), np.abs(b) < 1e-8 * np.abs(a)
    ratio = np.where(small | large, 1.0, b / a)
    curved = elliprd(np.zeros_like(a), ratio * ratio, np.ones_like(a)) / 3.0
    of_small = share * np.where(small, z / np.where(small, b, 1.0), 0.0)
    of_large = share * (0.5 * math.pi - share)
    usual = np.where(small | large, 0.0, share) ** 2 * curved
    return np.where(small, of_small, np.where(large, of_large, usual)) * (2 / math.pi)


agm: Op = special_function(
    "agm", lambda z, a, b: _agm_slope(z, a, b), lambda z, a, b: _agm_slope(z, b, a), mpmath="agm"
)
