"""Bessel, Hankel, spherical Bessel, Kelvin, Struve and Airy functions.

Derivatives in the argument are functions of the neighboring orders; those in a real order are mpmath's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops.base.columns import LibraryRow
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.selection import stopped
from funcgrad.ops.special.gamma import rgamma
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.ops.special.special_function import (
    SeveralResults,
    by_mpmath,
    numeric_function,
    of_last_argument,
    power_series,
    removable,
    result_of,
    special_function,
)
from funcgrad.source import type_error
from funcgrad.typing import Array, FunctionLibrary


def _bessel(name: str, mpmath: str, below: float, above: float) -> Op:
    """A function whose derivative in the argument is half a sum over the orders below and above."""

    def slope(z: Array, v: Array, x: Array) -> Any:
        return 0.5 * (below * op(v - 1.0, x) + above * op(v + 1.0, x))

    op = of_last_argument(name, slope, mpmath=mpmath, sympy=mpmath)
    return op


def _neighbors(sign: float) -> Callable[..., Any]:
    def mean(z: Array, v: Array, x: Array) -> Any:
        op = ive if sign < 0 else kve
        return 0.5 * (op(v - 1.0, x) + op(v + 1.0, x))

    return mean


def _scaled(
    sign: float, mean: Callable[..., Any], order: float | None = None
) -> Callable[..., Any]:
    """The derivative of an exponentially scaled modified function, whose neighbors cancel far out.

    There it is that of Hankel's asymptotic series (DLMF 10.40). ``mean`` is that of the neighbors.
    The order is an operand if it is not given, which is at most 2.
    """

    def slope(z: Array, *given: Array) -> Any:
        x = given[-1]
        v: Any = given[0] if order is None else order
        near = mean(z, v, x)
        if sign > 0:  # At 0 both terms are infinite.
            near = np.where(np.isinf(near), -near, z - near)
        if np.iscomplexobj(x):
            return near
        if sign < 0:
            near = near - np.sign(x) * z
        size = np.abs(x) if sign < 0 else x
        far = size > 60.0 + v * v
        t = 1.0 / np.where(far, size, 1.0)
        factor = math.sqrt(0.125 / math.pi) if sign < 0 else math.sqrt(math.pi / 8.0)
        parity: Any
        if order is None:
            w = np.where(far, v, 0.0)
            total, parity = _asymptotic_sum(sign, w, t), np.cos(math.pi * w)
        else:
            total, parity = _short_sum(sign, order, t), math.cos(math.pi * order)
        series = -factor * t**1.5 * total
        # Of integer order, the function at -x is that at x with the sign of the order's parity.
        mirrored = np.where(x < 0, -parity * series, series) if sign < 0 else series
        return np.where(far, mirrored, near)

    return slope


def _asymptotic_sum(sign: float, v: Array, t: Array) -> Any:
    """The sum of the series in t, at most 1/(60 + v**2), whose terms decrease until the 25th."""
    total: Any = 0.0
    for k in range(25, 0, -1):
        term = sign * (4.0 * v * v - (2 * k - 1) ** 2) * t / (8.0 * k)
        total = term * (2 * k + 1 + total)
    return 1.0 + total


def _short_sum(sign: float, order: float, t: Array) -> Any:
    """The same of a number, at most 2, of which the terms after the 13th are below 1e-17."""
    ratios = [sign * (4.0 * order**2 - (2 * k - 1) ** 2) / (8.0 * k) for k in range(1, 14)]
    products = accumulate(ratios, operator.mul, initial=1.0)
    return power_series(t, [(2 * k + 1) * product for k, product in enumerate(products)])


jv: Op = _bessel("jv", "besselj", 1.0, -1.0)
yv: Op = _bessel("yv", "bessely", 1.0, -1.0)
iv: Op = _bessel("iv", "besseli", 1.0, 1.0)
kv: Op = _bessel("kv", "besselk", -1.0, -1.0)
hankel1: Op = _bessel("hankel1", "hankel1", 1.0, -1.0)
hankel2: Op = _bessel("hankel2", "hankel2", 1.0, -1.0)
jve_of_real: Op = special_function(
    "jve_of_real",
    by_mpmath("jv", 0),
    lambda z, v, x: 0.5 * (jve_of_real(v - 1.0, x) - jve_of_real(v + 1.0, x)),
    ufunc="jve",
    real=True,
    mpmath="besselj",
)
ive: Op = of_last_argument(
    "ive",
    _scaled(-1.0, _neighbors(-1.0)),
    mpmath=lambda mp, v, x: mp.exp(-abs(mp.re(x))) * mp.besseli(v, x),
)
kve: Op = of_last_argument(
    "kve", _scaled(1.0, _neighbors(1.0)), mpmath=lambda mp, v, x: mp.exp(x) * mp.besselk(v, x)
)
# SciPy truncates the orders of these two.
yn: Op = special_function(
    "yn",
    None,
    lambda z, n, x: 0.5 * (yn(np.trunc(n) - 1, x) - yn(np.trunc(n) + 1, x)),
    mpmath="bessely",
)
kn: Op = special_function(
    "kn",
    None,
    lambda z, n, x: -0.5 * (kn(np.trunc(n) - 1, x) + kn(np.trunc(n) + 1, x)),
    mpmath="besselk",
)
hankel1e: Op = of_last_argument(
    "hankel1e",
    lambda z, v, x: 0.5 * (hankel1e(v - 1.0, x) - hankel1e(v + 1.0, x)) - 1j * z,
    mpmath=lambda mp, v, x: mp.hankel1(v, x) * mp.exp(mp.mpc(0, -1) * x),
)
hankel2e: Op = of_last_argument(
    "hankel2e",
    lambda z, v, x: 0.5 * (hankel2e(v - 1.0, x) - hankel2e(v + 1.0, x)) + 1j * z,
    mpmath=lambda mp, v, x: mp.hankel2(v, x) * mp.exp(mp.mpc(0, 1) * x),
)


def _of_whole_order(name: str, slope: Callable[..., Any], **libraries: Any) -> Op:
    """The function of order 0 or 1, such as j0."""
    function, order = f"bessel{name[0]}", int(name[1])

    def row(library: FunctionLibrary, x: Any) -> Any:
        return getattr(library, function)(order, x)

    return special_function(name, slope, mpmath=row, sympy=row, **libraries)


def _of_order_two(
    name: str, slope: Callable[..., Any], ufunc: str, mpmath: LibraryRow, lower: Callable[[], Any]
) -> Op:
    """The function of order 2 by those of 0 and 1, which cost a tenth of SciPy's for any order."""
    sign = -1.0 if name[0] == "j" else 1.0
    series = [sign**k / math.factorial(k) / math.factorial(k + 2) / 4 ** (k + 1) for k in range(12)]

    def formula(x: Any, first: Any, second: Any) -> Any:
        far = sign * np.where(np.isinf(first), first, first - 2.0 * second / x)
        size = np.abs(x)
        near = np.where(size < 2.0, size, 0.0)
        total = near**2 * power_series(near**2, series)
        return np.where(size < 2.0, total * np.exp(-near) if name[-1] == "e" else total, far)

    def run(x: Array) -> Any:
        special = scipy_special(name)
        return formula(x, *[getattr(special, name.replace("2", order))(x) for order in "01"])

    return numeric_function(
        name,
        run,
        slope,
        mpmath=mpmath,
        numpy=f"scipy.special.{ufunc}(2, {{0}})",
        decompose=lambda x: formula(x, *[function(x) for function in lower()]),
        inlined="funcgrad.ops.special.bessel:by_lower_orders",
    )


def by_lower_orders(node: Expr) -> Any:
    """The formula of a function of order 2, which shares those of order 0 and 1; in double precision."""
    (x,) = node.args
    return node.op.columns.decompose(x.astype(np.float64)).astype(node.dtype)


j0: Op = _of_whole_order("j0", lambda z, x: -j1(x), torch="bessel_j0")
j1: Op = _of_whole_order("j1", lambda z, x: 0.5 * (j0(x) - j2(x)), torch="bessel_j1")
j2: Op = _of_order_two(
    "j2",
    lambda z, x: 0.5 * (j1(x) - jv(3.0, x)),
    "jv",
    lambda mp, x: mp.besselj(2, x),
    lambda: (j0, j1),
)
y0: Op = _of_whole_order("y0", lambda z, x: -y1(x), torch="bessel_y0")
y1: Op = _of_whole_order("y1", lambda z, x: y0(x) - z / x, torch="bessel_y1")
i0: Op = _of_whole_order("i0", lambda z, x: i1(x), native="i0({0})", jax="i0", torch="i0")
i1: Op = _of_whole_order(
    "i1", lambda z, x: 0.5 * (i0(x) + i2(x)), native="i1({0})", jax="i1", torch="i1"
)
i2: Op = _of_order_two(
    "i2",
    lambda z, x: 0.5 * (i1(x) + iv(3.0, x)),
    "iv",
    lambda mp, x: mp.besseli(2, x),
    lambda: (i0, i1),
)
k0: Op = _of_whole_order("k0", lambda z, x: -k1(x), torch="modified_bessel_k0")
k1: Op = _of_whole_order("k1", lambda z, x: -k0(x) - z / x, torch="modified_bessel_k1")


def _scaled_of_whole_order(name: str, mean: Callable[..., Any], **columns: Any) -> Op:
    order, sign = float(name[1]), -1.0 if name[0] == "i" else 1.0

    def by_mp(mp: FunctionLibrary, x: Any) -> Any:
        if sign < 0:
            return mp.exp(-abs(x)) * mp.besseli(order, x)
        return mp.exp(x) * mp.besselk(order, x)

    slope = _scaled(sign, lambda z, v, x: mean(z, x), order)
    if order == 2:
        return _of_order_two(name, slope, "ive", by_mp, lambda: (i0e, i1e))
    return special_function(name, slope, mpmath=by_mp, **columns)


i0e: Op = _scaled_of_whole_order(
    "i0e", lambda z, x: i1e(x), native="i0e({0})", jax="i0e", torch="i0e"
)
i1e: Op = _scaled_of_whole_order(
    "i1e", lambda z, x: 0.5 * (i0e(x) + i2e(x)), native="i1e({0})", jax="i1e", torch="i1e"
)
i2e: Op = _scaled_of_whole_order("i2e", lambda z, x: 0.5 * (i1e(x) + ive(3.0, x)))
k0e: Op = _scaled_of_whole_order("k0e", lambda z, x: k1e(x))
k1e: Op = _scaled_of_whole_order("k1e", lambda z, x: k0e(x) + z / x)


# -- spherical functions -------------------------------------------------------------------------
def _spherical(kind: str, below: float, above: float) -> Op:
    """A spherical function of integer order, which is not differentiated in it."""

    def slope(z: Array, n: Array, x: Array) -> Any:
        lower = below * n * op(np.maximum(n - 1, 0), x)
        return (lower + above * (n + 1) * op(n + 1, x)) / (2 * n + 1)

    def by_mp(mp: FunctionLibrary, n: object, x: Array) -> Any:
        # Roots of negative numbers are on the branch of the Bessel function, so that the quotient is real.
        value = getattr(mp, f"bessel{kind}")(n + mp.mpf(1) / 2, x) / mp.sqrt(x) * mp.sqrt(mp.pi / 2)
        return value if mp.im(x) else mp.re(value)

    name = f"spherical_{kind}n"
    op = special_function(name, None, slope, ufunc=f"_{name}", mpmath=by_mp)
    return op


spherical_j: Op = _spherical("j", 1.0, -1.0)
spherical_y: Op = _spherical("y", 1.0, -1.0)
spherical_i: Op = _spherical("i", 1.0, 1.0)
spherical_k: Op = _spherical("k", -1.0, -1.0)


# -- Struve functions ----------------------------------------------------------------------------
def _struve_term(v: Array, x: Array) -> Any:
    """(x/2)**v/(sqrt(pi)*gamma(v + 3/2))."""
    return np.power(0.5 * x, v) * rgamma(v + 1.5) / math.sqrt(math.pi)


def _struve(name: str, mpmath: str, above: float) -> Op:
    def slope(z: Array, v: Array, x: Array) -> Any:
        """Far out by the order below alone: the order above and the power cancel (DLMF 11.4)."""
        far = np.abs(x) > 1.0
        near = np.where(far, 0.5 * np.sign(x), x)
        around = op(v - 1.0, near) + above * op(v + 1.0, near) + _struve_term(v, near)
        return np.where(far, op(v - 1.0, x) - v * z / np.where(far, x, 1.0), 0.5 * around)

    op = of_last_argument(name, slope, mpmath=mpmath)
    return op


struve: Op = _struve("struve", "struveh", -1.0)
modstruve: Op = _struve("modstruve", "struvel", 1.0)


# -- Airy and Kelvin functions -------------------------------------------------------------------
def _airy(part: int, result: str, mpmath: str, order: int, slope: Callable[..., Any]) -> Op:
    def by_mp(mp: FunctionLibrary, x: Any) -> Any:
        return getattr(mp, mpmath)(x, derivative=order)

    return result_of("airy", part, result, slope, mpmath=by_mp)


airy_ai: Op = _airy(0, "ai", "airyai", 0, lambda z, x: airy_aip(x))
airy_aip: Op = _airy(1, "aip", "airyai", 1, lambda z, x: x * airy_ai(x))
airy_bi: Op = _airy(2, "bi", "airybi", 0, lambda z, x: airy_bip(x))
airy_bip: Op = _airy(3, "bip", "airybi", 1, lambda z, x: x * airy_bi(x))
airy = SeveralResults((airy_ai, airy_aip, airy_bi, airy_bip))


def _scaled_airy(part: int, result: str, order: int, slope: Callable[..., Any]) -> Op:
    """Ai times exp(2/3*x**1.5), or Bi by the inverse of its absolute value, or a derivative so scaled."""

    def by_mp(mp: FunctionLibrary, x: Any) -> Any:
        exponent = 2 * x * mp.sqrt(x) / 3
        if result[0] == "a":
            return mp.airyai(x, derivative=order) * mp.exp(exponent)
        return mp.airybi(x, derivative=order) * mp.exp(-mp.re(exponent))

    return result_of("airye", part, result, slope, mpmath=by_mp, real=True)


def _airy_coefficients(prime: bool, sign: float) -> list[float]:
    """Those of the series in 1/zeta for zeta = 2/3*x**1.5 (DLMF 9.7.2)."""
    found, u = [1.0], 1.0
    for k in range(1, 13):
        u *= sign * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1))
        found.append(u * (6 * k + 1) / (1 - 6 * k) if prime else u)
    return found


def _far_airy_slope(factor: float, power: float, series: list[float], usual: Any) -> Any:
    """From 20 on, where the two terms of the ``usual`` slope cancel, that of the asymptotic series."""
    terms = [c * (power - 1.5 * k) * 1.5**k for k, c in enumerate(series)]

    def slope(z: Array, x: Array) -> Any:
        far = x > 20.0
        y = np.where(far, x, 20.0)
        distant = factor * y ** (power - 1.0) * power_series(y**-1.5, terms)
        return np.where(far, distant, usual(z, np.where(far, 20.0, x)))

    return slope


_AI, _BI = 0.5 / math.sqrt(math.pi), 1.0 / math.sqrt(math.pi)
_AIRY_SLOPES = [
    _far_airy_slope(factor, power, _airy_coefficients(power > 0, sign), usual)
    for factor, power, sign, usual in (
        (_AI, -0.25, -1.0, lambda z, x: airye_aip(x) + np.sqrt(x) * airye_ai(x)),
        (-_AI, 0.25, -1.0, lambda z, x: x * airye_ai(x) + np.sqrt(x) * airye_aip(x)),
        (_BI, -0.25, 1.0, lambda z, x: airye_bip(x) - _root(x) * airye_bi(x)),
        (_BI, 0.25, 1.0, lambda z, x: x * airye_bi(x) - _root(x) * airye_bip(x)),
    )
]
airye_ai: Op = _scaled_airy(0, "ai", 0, _AIRY_SLOPES[0])
airye_aip: Op = _scaled_airy(1, "aip", 1, _AIRY_SLOPES[1])
airye_bi: Op = _scaled_airy(2, "bi", 0, _AIRY_SLOPES[2])
airye_bip: Op = _scaled_airy(3, "bip", 1, _AIRY_SLOPES[3])


def _root(x: Array) -> Any:
    return np.sqrt(np.maximum(x, 0.0))


def airye(z: Array) -> tuple[Any, ...]:
    """Ai, Ai', Bi and Bi', scaled, at real numbers. As `scipy.special.airye`."""
    if np.iscomplexobj(z):
        raise type_error(
            "airye: expected real numbers, but got complex ones, at which the scale of Bi has no complex "
            "derivative; write airy(z) and scale by exp",
        )
    return airye_ai(z), airye_aip(z), airye_bi(z), airye_bip(z)


def _airy_integral(part: int, result: str, own: Op, sign: float) -> Op:
    def by_mp(mp: FunctionLibrary, x: Any) -> Any:
        return sign * getattr(mp, own.name.replace("_", ""))(sign * x, derivative=-1)

    return result_of("itairy", part, result, lambda z, x: own(sign * x), mpmath=by_mp)


itairy_ai: Op = _airy_integral(0, "ai", airy_ai, 1.0)
itairy_bi: Op = _airy_integral(1, "bi", airy_bi, 1.0)
itairy_ain: Op = _airy_integral(2, "ain", airy_ai, -1.0)
itairy_bin: Op = _airy_integral(3, "bin", airy_bi, -1.0)
itairy = SeveralResults((itairy_ai, itairy_bi, itairy_ain, itairy_bin))


def _second(x: Array, slope: Array, other: Array, series: Sequence[float]) -> Any:
    """The second derivative of a Kelvin function by their equation (DLMF 10.61).

    ``series`` is that of slope/x.
    """
    return other - removable(x, series, lambda u: slope / u, 1.0)


_BERP_SERIES = [
    c
    for k in range(5)
    for c in (
        0.0,
        0.0,
        (-1) ** (k + 1) * (k + 1) / math.factorial(2 * k + 2) ** 2 / 4 ** (2 * k + 1),
        0.0,
    )
]
_BEIP_SERIES = [
    c
    for k in range(5)
    for c in ((-1) ** k * (k + 0.5) / math.factorial(2 * k + 1) ** 2 / 16**k, 0.0, 0.0, 0.0)
]
"""The power series of berp(x)/x and beip(x)/x (DLMF 10.65)."""


ber: Op = special_function("ber", lambda z, x: berp(x), mpmath=lambda mp, x: mp.ber(0, x))
bei: Op = special_function("bei", lambda z, x: beip(x), mpmath=lambda mp, x: mp.bei(0, x))
ker: Op = special_function("ker", lambda z, x: kerp(x), mpmath=lambda mp, x: mp.ker(0, x))
kei: Op = special_function("kei", lambda z, x: keip(x), mpmath=lambda mp, x: mp.kei(0, x))
berp: Op = special_function("berp", lambda z, x: _second(x, z, -bei(x), _BERP_SERIES))
beip: Op = special_function("beip", lambda z, x: _second(x, z, ber(x), _BEIP_SERIES))
kerp: Op = special_function("kerp", lambda z, x: -kei(x) - z / x)
keip: Op = special_function("keip", lambda z, x: ker(x) - z / x)


def kelvin(x: Array) -> tuple[Any, ...]:
    """Ber + i bei, ker + i kei, and their derivatives. As `scipy.special.kelvin`."""
    real = (ber(x), ker(x), berp(x), kerp(x))
    imaginary = (bei(x), kei(x), beip(x), keip(x))
    return tuple([a + 1j * b for a, b in zip(real, imaginary, strict=True)])


def jve(v: Array, z: Array) -> Any:
    """`jv` of real numbers, whose scaling factor is 1. As `scipy.special.jve`, NaN at huge orders.

    Raises TypeError for complex numbers, at which the scaled function has no complex derivative.
    """
    return jve_of_real(v, _real("jve", z))


def yve(v: Array, z: Array) -> Any:
    """`yv` of real numbers, whose scaling factor is 1. As `scipy.special.yve`.

    Raises TypeError for complex numbers, at which the scaled function has no complex derivative.
    """
    return yv(v, _real("yve", z))


def any_ive(v: Array, z: Array) -> Any:
    """`iv` times exp(-abs(z.real)). As `scipy.special.ive`.

    The operation holds that factor constant at complex numbers, at which it has no complex derivative.
    """
    if not np.iscomplexobj(z):
        return ive(v, z)
    size = np.abs(np.real(z))
    return ive(v, z) * np.exp(stopped(size) - size)


def _real(name: str, z: Array) -> Array:
    if np.iscomplexobj(z):
        raise type_error(
            f"{name}: expected real numbers, but got complex ones, at which exp(-abs(z.imag)) has no complex "
            f"derivative; write {name[:-1]}",
        )
    return z
