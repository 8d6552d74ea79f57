"""Bessel, Hankel, spherical Bessel, Kelvin, Struve and Airy functions.

Derivatives in the argument are functions of the neighboring orders; those in a real order are mpmath's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.gamma import rgamma
from funcgrad.ops.special.special_function import by_mpmath, removable, special_function
from funcgrad.source import fail
from funcgrad.typing import Array, FunctionLibrary


def _neighbors(op: Callable[[], Op], below: float, above: float) -> Callable[..., Any]:
    """The derivative in the argument: a sum of those of the order below and the order above, halved."""

    def slope(z: Array, v: Array, x: Array) -> Any:
        return 0.5 * (below * op()(v - 1.0, x) + above * op()(v + 1.0, x))

    return slope


def _scaled(sign: float) -> Callable[..., Any]:
    """The derivative of an exponentially scaled modified function, whose neighbors cancel far out.

    There it is that of Hankel's asymptotic series (DLMF 10.40), whose terms decrease until the 25th.
    """

    def slope(z: Array, v: Array, x: Array) -> Any:
        op = ive if sign < 0 else kve
        near = 0.5 * (op(v - 1.0, x) + op(v + 1.0, x))
        near = near - np.sign(np.real(x)) * z if sign < 0 else z - near
        if np.iscomplexobj(x):
            return near
        size = np.abs(x)
        far = size > 60.0 + v * v
        t = 1.0 / np.where(far, size, 1.0)
        w = np.where(far, v, 0.0)
        total: Any = 0.0
        for k in range(25, 0, -1):
            term = sign * (4.0 * w * w - (2 * k - 1) ** 2) * t / (8.0 * k)
            total = term * (2 * k + 1 + total)
        factor = math.sqrt(0.125 / math.pi) if sign < 0 else math.sqrt(math.pi / 8.0)
        series = -factor * t * np.sqrt(t) * (1.0 + total)
        # Of integer order, the function at -x is that at x with the sign of the order's parity.
        mirrored = np.where(x < 0, -np.cos(math.pi * w), 1.0) if sign < 0 else 1.0
        return np.where(far, series * mirrored, near)

    return slope


jv: Op = special_function(
    "jv", by_mpmath("jv", 0), _neighbors(lambda: jv, 1.0, -1.0), mpmath="besselj", sympy="besselj"
)
jve_of_real: Op = special_function(
    "jve_of_real",
    by_mpmath("jv", 0),
    _neighbors(lambda: jve_of_real, 1.0, -1.0),
    ufunc="jve",
    mpmath="besselj",
)
yv: Op = special_function(
    "yv", by_mpmath("yv", 0), _neighbors(lambda: yv, 1.0, -1.0), mpmath="bessely", sympy="bessely"
)
iv: Op = special_function(
    "iv", by_mpmath("iv", 0), _neighbors(lambda: iv, 1.0, 1.0), mpmath="besseli", sympy="besseli"
)
kv: Op = special_function(
    "kv", by_mpmath("kv", 0), _neighbors(lambda: kv, -1.0, -1.0), mpmath="besselk", sympy="besselk"
)
ive: Op = special_function(
    "ive",
    by_mpmath("ive", 0),
    _scaled(-1.0),
    mpmath=lambda mp, v, x: mp.exp(-abs(mp.re(x))) * mp.besseli(v, x),
)
kve: Op = special_function(
    "kve",
    by_mpmath("kve", 0),
    _scaled(1.0),
    mpmath=lambda mp, v, x: mp.exp(x) * mp.besselk(v, x),
)
yn: Op = special_function(
    "yn", None, lambda z, n, x: 0.5 * (yn(n - 1, x) - yn(n + 1, x)), mpmath="bessely"
)
kn: Op = special_function(
    "kn", None, lambda z, n, x: -0.5 * (kn(n - 1, x) + kn(n + 1, x)), mpmath="besselk"
)
hankel1: Op = special_function(
    "hankel1",
    by_mpmath("hankel1", 0),
    _neighbors(lambda: hankel1, 1.0, -1.0),
    mpmath="hankel1",
    sympy="hankel1",
)
hankel2: Op = special_function(
    "hankel2",
    by_mpmath("hankel2", 0),
    _neighbors(lambda: hankel2, 1.0, -1.0),
    mpmath="hankel2",
    sympy="hankel2",
)
hankel1e: Op = special_function(
    "hankel1e",
    by_mpmath("hankel1e", 0),
    lambda z, v, x: 0.5 * (hankel1e(v - 1.0, x) - hankel1e(v + 1.0, x)) - 1j * z,
    mpmath=lambda mp, v, x: mp.hankel1(v, x) * mp.exp(mp.mpc(0, -1) * x),
)
hankel2e: Op = special_function(
    "hankel2e",
    by_mpmath("hankel2e", 0),
    lambda z, v, x: 0.5 * (hankel2e(v - 1.0, x) - hankel2e(v + 1.0, x)) + 1j * z,
    mpmath=lambda mp, v, x: mp.hankel2(v, x) * mp.exp(mp.mpc(0, 1) * x),
)
j0: Op = special_function(
    "j0", lambda z, x: -j1(x), mpmath="j0", sympy=lambda sp, x: sp.besselj(0, x), torch="bessel_j0"
)
j1: Op = special_function(
    "j1",
    lambda z, x: 0.5 * (j0(x) - jv(2.0, x)),
    mpmath="j1",
    sympy=lambda sp, x: sp.besselj(1, x),
    torch="bessel_j1",
)
y0: Op = special_function(
    "y0",
    lambda z, x: -y1(x),
    mpmath=lambda mp, x: mp.bessely(0, x),
    sympy=lambda sp, x: sp.bessely(0, x),
    torch="bessel_y0",
)
y1: Op = special_function(
    "y1",
    lambda z, x: y0(x) - z / x,
    mpmath=lambda mp, x: mp.bessely(1, x),
    sympy=lambda sp, x: sp.bessely(1, x),
    torch="bessel_y1",
)
i0: Op = special_function(
    "i0",
    lambda z, x: i1(x),
    mpmath=lambda mp, x: mp.besseli(0, x),
    sympy=lambda sp, x: sp.besseli(0, x),
    jax="i0",
    torch="i0",
)
i1: Op = special_function(
    "i1",
    lambda z, x: 0.5 * (i0(x) + iv(2.0, x)),
    mpmath=lambda mp, x: mp.besseli(1, x),
    sympy=lambda sp, x: sp.besseli(1, x),
    jax="i1",
    torch="i1",
)
k0: Op = special_function(
    "k0",
    lambda z, x: -k1(x),
    mpmath=lambda mp, x: mp.besselk(0, x),
    sympy=lambda sp, x: sp.besselk(0, x),
    torch="modified_bessel_k0",
)
k1: Op = special_function(
    "k1",
    lambda z, x: -k0(x) - z / x,
    mpmath=lambda mp, x: mp.besselk(1, x),
    sympy=lambda sp, x: sp.besselk(1, x),
    torch="modified_bessel_k1",
)
i0e: Op = special_function(
    "i0e",
    lambda z, x: _scaled(-1.0)(z, np.zeros_like(x), x),
    mpmath=lambda mp, x: mp.exp(-abs(x)) * mp.besseli(0, x),
    jax="i0e",
    torch="i0e",
)
i1e: Op = special_function(
    "i1e",
    lambda z, x: _scaled(-1.0)(z, np.ones_like(x), x),
    mpmath=lambda mp, x: mp.exp(-abs(x)) * mp.besseli(1, x),
    jax="i1e",
    torch="i1e",
)
k0e: Op = special_function(
    "k0e",
    lambda z, x: _scaled(1.0)(z, np.zeros_like(x), x),
    mpmath=lambda mp, x: mp.exp(x) * mp.besselk(0, x),
)
k1e: Op = special_function(
    "k1e",
    lambda z, x: _scaled(1.0)(z, np.ones_like(x), x),
    mpmath=lambda mp, x: mp.exp(x) * mp.besselk(1, x),
)


# -- spherical functions -------------------------------------------------------------------------
def _spherical(kind: str, below: float, above: float) -> Op:
    """A spherical function of integer order, which is not differentiated in it."""

    def slope(z: Array, n: Array, x: Array) -> Any:
        lower = below * n * op(np.maximum(n - 1, 0), x)
        return (lower + above * (n + 1) * op(n + 1, x)) / (2 * n + 1)

    def by_mp(mp: FunctionLibrary, n: object, x: Array) -> Any:
        return mp.sqrt(mp.pi / (2 * x)) * getattr(mp, f"bessel{kind}")(n + mp.mpf(1) / 2, x)

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


struve: Op = special_function(
    "struve",
    by_mpmath("struve", 0),
    lambda z, v, x: 0.5 * (struve(v - 1.0, x) - struve(v + 1.0, x) + _struve_term(v, x)),
    mpmath="struveh",
)
modstruve: Op = special_function(
    "modstruve",
    by_mpmath("modstruve", 0),
    lambda z, v, x: 0.5 * (modstruve(v - 1.0, x) + modstruve(v + 1.0, x) + _struve_term(v, x)),
    mpmath="struvel",
)


# -- Airy and Kelvin functions -------------------------------------------------------------------
def _airy(name: str, part: int, mpmath: str, order: int, slope: Callable[..., Any]) -> Op:
    return special_function(
        name,
        slope,
        ufunc="airy",
        part=part,
        mpmath=lambda mp, x: getattr(mp, mpmath)(x, derivative=order),
    )


airy_ai: Op = _airy("airy_ai", 0, "airyai", 0, lambda z, x: airy_aip(x))
airy_aip: Op = _airy("airy_aip", 1, "airyai", 1, lambda z, x: x * airy_ai(x))
airy_bi: Op = _airy("airy_bi", 2, "airybi", 0, lambda z, x: airy_bip(x))
airy_bip: Op = _airy("airy_bip", 3, "airybi", 1, lambda z, x: x * airy_bi(x))


def airy(z: Array) -> tuple[Any, ...]:
    """Ai, Ai', Bi and Bi'. As `scipy.special.airy`."""
    return airy_ai(z), airy_aip(z), airy_bi(z), airy_bip(z)


airye_ai: Op = special_function(
    "airye_ai",
    lambda z, x: airye_aip(x) + np.sqrt(x) * airye_ai(x),
    ufunc="airye",
    part=0,
    mpmath=lambda mp, x: mp.airyai(x) * mp.exp(2 * x * mp.sqrt(x) / 3),
)
airye_aip: Op = special_function(
    "airye_aip",
    lambda z, x: x * airye_ai(x) + np.sqrt(x) * airye_aip(x),
    ufunc="airye",
    part=1,
    mpmath=lambda mp, x: mp.airyai(x, derivative=1) * mp.exp(2 * x * mp.sqrt(x) / 3),
)
airye_bi: Op = special_function(
    "airye_bi",
    lambda z, x: airye_bip(x) - np.sqrt(np.maximum(x, 0.0)) * airye_bi(x),
    ufunc="airye",
    part=2,
    mpmath=lambda mp, x: mp.airybi(x) * mp.exp(-2 * mp.re(x * mp.sqrt(x)) / 3),
)
airye_bip: Op = special_function(
    "airye_bip",
    lambda z, x: x * airye_bi(x) - np.sqrt(np.maximum(x, 0.0)) * airye_bip(x),
    ufunc="airye",
    part=3,
    mpmath=lambda mp, x: mp.airybi(x, derivative=1) * mp.exp(-2 * mp.re(x * mp.sqrt(x)) / 3),
)


def airye(z: Array) -> tuple[Any, ...]:
    """Ai, Ai', Bi and Bi', scaled, at real numbers. As `scipy.special.airye`."""
    if np.iscomplexobj(z):
        raise fail(
            TypeError,
            "airye: expected real numbers, but got complex ones, at which the scale of Bi has no complex "
            "derivative; write airy(z) and scale by exp",
        )
    return airye_ai(z), airye_aip(z), airye_bi(z), airye_bip(z)


def _airy_integral(name: str, part: int, sign: float, mpmath: str) -> Op:
    own = airy_ai if mpmath == "airyai" else airy_bi
    return special_function(
        name,
        lambda z, x: own(sign * x),
        ufunc="itairy",
        part=part,
        mpmath=lambda mp, x: sign * getattr(mp, mpmath)(sign * x, derivative=-1),
    )


itairy_ai: Op = _airy_integral("itairy_ai", 0, 1.0, "airyai")
itairy_bi: Op = _airy_integral("itairy_bi", 1, 1.0, "airybi")
itairy_ain: Op = _airy_integral("itairy_ain", 2, -1.0, "airyai")
itairy_bin: Op = _airy_integral("itairy_bin", 3, -1.0, "airybi")


def itairy(x: Array) -> tuple[Any, ...]:
    """The integrals of Ai and Bi from 0 to x, and of Ai(-t) and Bi(-t). As `scipy.special.itairy`."""
    return itairy_ai(x), itairy_bi(x), itairy_ain(x), itairy_bin(x)


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


def _real(name: str, z: Array) -> Array:
    if np.iscomplexobj(z):
        raise fail(
            TypeError,
            f"{name}: expected real numbers, but got complex ones, at which exp(-abs(z.imag)) has no complex "
            f"derivative; write {name[:-1]}",
        )
    return z
