"""The error function, the normal distribution and their inverses, and the Faddeeva function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.special_function import numeric_function, special_function
from funcgrad.typing import Array, FunctionLibrary

_ROOT_PI = math.sqrt(math.pi)
_TWO_OVER_ROOT_PI = 2.0 / _ROOT_PI
_ROOT_TAU = math.sqrt(2.0 * math.pi)
_FAR = 10.0
"""From here on the asymptotic series below have all digits."""


def _tail(t: Array) -> Any:
    """The sum of (2k - 1)!! t**k over k from 1 to 13: an asymptotic series for small t."""
    total: Any = 0.0
    for k in range(13, 0, -1):
        total = t * (2 * k - 1) * (1.0 + total)
    return total


def _half_inverse_square(x: Array, far: Array) -> Any:
    distant = np.where(far, x, _FAR)
    return 0.5 / distant / distant


def _dawsn_slope(z: Array, x: Array) -> Any:
    far = np.abs(x) > _FAR
    series = -_tail(_half_inverse_square(x, far))
    if np.iscomplexobj(x):
        # Off the real line dawsn has i/2*sqrt(pi)*exp(-x**2), up or down, beside the series.
        off = np.where(far, x, 0.0)
        series = series - _ROOT_PI * 1j * np.sign(np.imag(off)) * off * np.exp(-off * off)
    return np.where(far, series, 1.0 - 2.0 * x * z)


def _erfcx_slope(z: Array, x: Array) -> Any:
    if np.iscomplexobj(x):
        return 1j * _wofz_slope(z, 1j * x)
    far = x > _FAR
    series = _TWO_OVER_ROOT_PI * _tail(-_half_inverse_square(x, far))
    return np.where(far, series, 2.0 * x * z - _TWO_OVER_ROOT_PI)


def _wofz_slope(w: Array, z: Array) -> Any:
    far = np.abs(z) > _FAR
    series = -1j * _TWO_OVER_ROOT_PI * _tail(_half_inverse_square(z, far))
    # w(z) = 2 exp(-z**2) - w(-z), and the series is that of the upper half plane.
    lower = far & (np.imag(z) < 0)
    below = np.where(lower, z, 0.0)
    beyond = series - np.where(lower, 4.0 * below * np.exp(-below * below), 0.0)
    return np.where(far, beyond, 1j * _TWO_OVER_ROOT_PI - 2.0 * z * w)


_IN_TAILS = 4096
"""Units in the last place: SciPy's values are off by hundreds where exp(-x**2) is tiny."""

erf: Op = special_function(
    "erf",
    lambda z, x: _TWO_OVER_ROOT_PI * np.exp(-(x * x)),
    native="erf({0})",
    mpmath="erf",
    sympy="erf",
    jax="erf",
    torch="erf",
    interval=lambda iv, x: iv.monotone(erf.run, x, values=(-1.0, 1.0)),
)
erfc: Op = special_function(
    "erfc",
    lambda z, x: -_TWO_OVER_ROOT_PI * np.exp(-(x * x)),
    native="erfc({0})",
    mpmath="erfc",
    sympy="erfc",
    jax="erfc",
    torch="erfc",
    interval=lambda iv, x: iv.monotone(erfc.run, x, _IN_TAILS, values=(0.0, 2.0), rising=False),
)
erfcx: Op = special_function(
    "erfcx",
    _erfcx_slope,
    native="erfcx({0})",
    mpmath=lambda mp, x: mp.exp(x * x) * mp.erfc(x),
    sympy=lambda sp, x: sp.exp(x**2) * sp.erfc(x),
    torch="erfcx",
    interval=lambda iv, x: iv.monotone(
        erfcx.run, x, _IN_TAILS, values=(0.0, math.inf), rising=False
    ),
)
erfi: Op = special_function(
    "erfi",
    lambda z, x: _TWO_OVER_ROOT_PI * np.exp(x * x),
    mpmath="erfi",
    sympy="erfi",
    interval=lambda iv, x: iv.monotone(erfi.run, x, _IN_TAILS),
)
dawsn: Op = special_function(
    "dawsn",
    _dawsn_slope,
    mpmath=lambda mp, x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x),
    sympy=lambda sp, x: sp.sqrt(sp.pi) / 2 * sp.exp(-(x**2)) * sp.erfi(x),
)
wofz: Op = special_function(
    "wofz",
    _wofz_slope,
    mpmath=lambda mp, x: mp.exp(-x * x) * mp.erfc(mp.mpc(0, -1) * x),
    sympy=lambda sp, x: sp.exp(-(x**2)) * sp.erfc(-sp.I * x),
)
erfinv: Op = special_function(
    "erfinv",
    lambda z, x: np.exp(z * z) / _TWO_OVER_ROOT_PI,
    native="erfinv({0})",
    mpmath="erfinv",
    sympy="erfinv",
    jax="erfinv",
    torch="erfinv",
    interval=lambda iv, x: iv.monotone(erfinv.run, x, domain=(-1.0, 1.0)),
)
erfcinv: Op = special_function(
    "erfcinv",
    lambda z, x: -np.exp(z * z) / _TWO_OVER_ROOT_PI,
    mpmath=lambda mp, x: _mp_inverse_erfc(mp, x),
)
ndtr: Op = special_function(
    "ndtr",
    lambda z, x: np.exp(-0.5 * (x * x)) / _ROOT_TAU,
    native=f"erfc({-math.sqrt(0.5)!r} * {{0}}) * 0.5",
    mpmath=lambda mp, x: mp.erfc(-x / mp.sqrt(2)) / 2,
    sympy=lambda sp, x: sp.erfc(-x / sp.sqrt(2)) / 2,
    jax="ndtr",
    torch="ndtr",
    latex=r"\Phi",
    interval=lambda iv, x: iv.monotone(ndtr.run, x, _IN_TAILS, values=(0.0, 1.0)),
)
log_ndtr: Op = special_function(
    "log_ndtr",
    lambda z, x: _log_ndtr_slope(x),
    native="log_ndtr({0})",
    mpmath=lambda mp, x: _mp_log_ndtr(mp, x),
    sympy=lambda sp, x: sp.log(sp.erfc(-x / sp.sqrt(2)) / 2),
    jax="log_ndtr",
    torch="log_ndtr",
    interval=lambda iv, x: iv.monotone(log_ndtr.run, x, _IN_TAILS, values=(-math.inf, 0.0)),
)
ndtri: Op = special_function(
    "ndtri",
    lambda z, x: _ROOT_TAU * np.exp(0.5 * z * z),
    native="ndtri({0})",
    mpmath=lambda mp, x: -mp.sqrt(2) * _mp_inverse_erfc(mp, 2 * x),
    sympy=lambda sp, x: sp.sqrt(2) * sp.erfinv(2 * x - 1),
    jax="ndtri",
    torch="ndtri",
    interval=lambda iv, x: iv.monotone(ndtri.run, x, _IN_TAILS, domain=(0.0, 1.0)),
)
ndtri_exp: Op = special_function(
    "ndtri_exp",
    lambda z, x: math.sqrt(0.5 * math.pi) * erfcx(z * -math.sqrt(0.5)),
    mpmath=lambda mp, x: -mp.sqrt(2) * _mp_inverse_erfc(mp, 2 * mp.exp(x)),
)


def _log_ndtr_slope(x: Array) -> Any:
    """The density over `ndtr`: from 10 on, where that is 1 to all digits, the density."""
    is_complex = np.iscomplexobj(x)
    right = (np.real(x) > 0) & (np.real(x * x) > 100.0) if is_complex else x > 10.0
    scaled = erfcx(np.where(right, 0.0, x) * -math.sqrt(0.5))
    return np.where(right, np.exp(-0.5 * (x * x)) / _ROOT_TAU, math.sqrt(2.0 / math.pi) / scaled)


def _mp_log_ndtr(mp: FunctionLibrary, x: Array) -> Any:
    right = mp.re(x) > 0
    tail = mp.erfc((x if right else -x) / mp.sqrt(2)) / 2
    return mp.log1p(-tail) if right else mp.log(tail)


def _mp_inverse_erfc(mp: FunctionLibrary, x: Array) -> Any:
    """The inverse of erfc, also for small x: by Newton's method on the logarithm."""
    if x > 0.5:
        return mp.erfinv(1 - x)
    y, step = mp.sqrt(-mp.log(x)), mp.inf
    while abs(step) > 100 * mp.eps * abs(y):
        step = mp.log(mp.erfc(y) / x) * mp.erfc(y) * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
        y = y + step
    return y


owens_t: Op = special_function(
    "owens_t",
    lambda z, h, a: -np.exp(-0.5 * h * h) * erf(a * h * math.sqrt(0.5)) / (2.0 * _ROOT_TAU),
    lambda z, h, a: np.exp(-0.5 * h * h * (1.0 + a * a)) / (2.0 * math.pi * (1.0 + a * a)),
    mpmath=lambda mp, h, a: _mp_owens_t(mp, h, a),
)


def _mp_owens_t(mp: FunctionLibrary, h: Array, a: Array) -> Any:
    """Its integral, on parts as narrow as the normal density is."""
    ends = [mp.sign(a) * k / max(abs(h), 1) for k in (1, 3, 6, 10, 15)]
    parts = [0, *[end for end in ends if abs(end) < abs(a)], a]
    integral = mp.quad(lambda t: mp.exp(-h * h * t * t / 2) / (1 + t * t), parts)
    return mp.exp(-h * h / 2) * integral / (2 * mp.pi)


def _skewnorm_cdf(x: Array, a: Array) -> Any:
    from scipy.stats import skewnorm

    return skewnorm.cdf(x, a)


def _mp_skewnorm_tail(mp: FunctionLibrary, x: Any, a: Any) -> Any:
    """Of x < 0, by Owen's integral over the angle."""

    def density(angle: Any) -> Any:
        exponent = (x / mp.cos(angle)) ** 2 / 2
        return mp.exp(-exponent) if exponent < 10**6 else mp.mpf(0)

    return mp.quad(density, [mp.atan(a), mp.pi / 2]) / mp.pi


# `ndtr` less twice `owens_t` would have a slope that cancels in the left tail.
skewnorm_cdf: Op = numeric_function(
    "skewnorm_cdf",
    _skewnorm_cdf,
    lambda z, x, a: 2.0 / _ROOT_TAU * np.exp(-0.5 * x * x) * ndtr(a * x),
    lambda z, x, a: -np.exp(-0.5 * x * x * (1.0 + a * a)) / (math.pi * (1.0 + a * a)),
    mpmath=lambda mp, x, a: (
        _mp_skewnorm_tail(mp, x, a) if x < 0 else 1 - _mp_skewnorm_tail(mp, -x, -a)
    ),
)


def _wofz_curvature(w: Array, z: Array) -> Any:
    """The second derivative of `wofz`: far out in the upper half plane by its asymptotic series."""
    far = (np.abs(z) > _FAR) & (np.imag(z) >= 0)
    t = _half_inverse_square(z, far)
    total: Any = 0.0
    for k in range(15, 0, -1):
        total = t * (2 * k - 1) * ((2 * k + 1) * (2 * k + 2) + total)
    series = 1j * _TWO_OVER_ROOT_PI * t * (2.0 + total) / np.where(far, z, _FAR)
    return np.where(far, series, -2.0 * (w + z * _wofz_slope(w, z)))


def _voigt_slope(place: int) -> Callable[..., Any]:
    """In x and gamma by the derivative of `wofz`; in sigma as heat spreads, by the second derivative."""

    def slope(z: Array, x: Array, sigma: Array, gamma: Array) -> Any:
        lorentzian = sigma == 0
        width = np.where(lorentzian, 1.0, sigma)
        at = (x + 1j * gamma) / (width * math.sqrt(2.0))
        size = 2.0 * math.sqrt(math.pi) * width * width
        if place == 1:
            usual = np.real(_wofz_curvature(wofz(at), at)) / (math.sqrt(2.0) * size)
        else:
            found = _wofz_slope(wofz(at), at)
            usual = (-np.imag(found) if place else np.real(found)) / size
        pole = np.where(lorentzian, x + 1j * gamma, 1.0)
        return np.where(lorentzian, _lorentzian_slope(pole, sigma, place), usual)

    return slope


def _lorentzian_slope(pole: Array, sigma: Array, place: int) -> Any:
    """That of -imag(1/pole)/pi, for pole = x + 1j*gamma; in sigma by sigma times the second derivative."""
    if place == 1:
        return -2.0 / math.pi * sigma * np.imag(1.0 / (pole * pole * pole))
    square = 1.0 / (pole * pole)
    return (np.real(square) if place else np.imag(square)) / math.pi


def _mp_voigt(mp: FunctionLibrary, x: Array, sigma: Array, gamma: Array) -> Any:
    z = mp.mpc(x, gamma) / (sigma * mp.sqrt(2))
    return mp.re(mp.exp(-z * z) * mp.erfc(mp.mpc(0, -1) * z)) / (sigma * mp.sqrt(2 * mp.pi))


voigt_profile: Op = special_function(
    "voigt_profile", *[_voigt_slope(place) for place in range(3)], mpmath=_mp_voigt
)
