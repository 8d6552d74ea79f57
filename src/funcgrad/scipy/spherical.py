"""Functions of ``scipy.special`` that return arrays of orders: Bessel functions named for Riccati, those
of Jahnke and Emden, and the coefficients of Mathieu functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as _scipy

from funcgrad.ops.special.hypergeometric import hyp0f1
from funcgrad.ops.special.mathieu import mathieu_coefficient
from funcgrad.ops.special.spherical_bessel import spherical_jn, spherical_yn
from funcgrad.scipy.composition import composed, only_plain, real
from funcgrad.source import value_error
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_hosted = composed(_scipy, host=True)


# -- Mathieu functions ----------------------------------------------------------------------------------
def _coefficients(who: str, own: Callable[..., Any], odd: bool, m: ArrayLike, q: Array) -> Any:
    """As many Fourier coefficients as SciPy gives at the value of q."""
    only_plain(who, m=m)
    q = real(who, q)
    count = own(int(np.asarray(m)), float(stop_gradient(q))).size
    return mathieu_coefficient(m, q, np.arange(float(count)), odd=odd, order=0)


@_hosted
def mathieu_even_coef(m: ArrayLike, q: Array) -> Any:
    """As `scipy.special.mathieu_even_coef`; their number depends on the value of q."""
    return _coefficients("mathieu_even_coef", _scipy.mathieu_even_coef, False, m, q)


@_hosted
def mathieu_odd_coef(m: ArrayLike, q: Array) -> Any:
    """As `scipy.special.mathieu_odd_coef`; their number depends on the value of q."""
    return _coefficients("mathieu_odd_coef", _scipy.mathieu_odd_coef, True, m, q)


# -- Bessel functions ----------------------------------------------------------------------------------
def lmbda(v: ArrayLike, x: Array) -> Any:
    """As `scipy.special.lmbda`: Jahnke and Emden's functions of orders up to v, and their slopes."""
    only_plain("lmbda", v=v)
    last = float(np.asarray(v))
    if last < 0:
        raise value_error(f"lmbda: expected an order of 0 or more, but got {v!r}")
    x, orders = real("lmbda", x), last - np.arange(int(last), -1, -1.0)
    square = -0.25 * x * x
    return hyp0f1(orders + 1.0, square), -0.5 * x / (orders + 1.0) * hyp0f1(orders + 2.0, square)


def _riccati(who: str, own: Callable[..., Any], n: ArrayLike, x: Array) -> Any:
    """x times the spherical functions of degrees up to n, and the slopes."""
    only_plain(who, n=n)
    x, degrees = real(who, x), np.arange(int(np.asarray(n)) + 1)
    found = own(degrees, x)
    below = own(np.maximum(degrees - 1, 0), x)
    first = np.cos(x) if own is spherical_jn else np.sin(x)
    return x * found, np.where(degrees == 0, first, x * below - degrees * found)


def riccati_jn(n: ArrayLike, x: Array) -> Any:
    """As `scipy.special.riccati_jn`."""
    return _riccati("riccati_jn", spherical_jn, n, x)


def riccati_yn(n: ArrayLike, x: Array) -> Any:
    """As `scipy.special.riccati_yn`."""
    return _riccati("riccati_yn", spherical_yn, n, x)
