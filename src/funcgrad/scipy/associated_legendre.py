"""Legendre functions and spherical harmonics of ``scipy.special``: arrays of degrees or of derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as _scipy

from funcgrad.ops.special.legendre_functions import (
    associated_legendre,
    legendre_derivative,
    legendre_q,
    spherical_legendre,
)
from funcgrad.scipy.composition import composed, number, only_plain, real
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike

_hosted = composed(_scipy, host=True)


def _derivatives(who: str, diff_n: object, member: Callable[[int], Any]) -> Any:
    """The function and its derivatives up to an order, along the first axis."""
    if isinstance(diff_n, bool) or not isinstance(diff_n, int | np.integer) or not 0 <= diff_n <= 2:
        raise value_error(f"{who}: expected diff_n to be 0, 1 or 2, but got {diff_n!r}")
    return np.stack([member(order) for order in range(int(diff_n) + 1)])


def _degrees(n: ArrayLike, *beside: Array) -> Any:
    """The degrees up to n, before the axes of arrays."""
    axes = np.broadcast(*[np.empty(np.shape(x)) for x in beside]).ndim if beside else 0
    return np.arange(int(np.asarray(n)) + 1).reshape((-1,) + (1,) * axes)


def _orders(m: ArrayLike) -> Any:
    """The orders up to m, then those from -m to -1."""
    size = abs(int(np.asarray(m)))
    return np.concatenate([np.arange(size + 1), np.arange(-size, 0)])


# -- Legendre functions ------------------------------------------------------------------------------
def legendre_p(n: ArrayLike, z: Array, *, diff_n: int = 0) -> Any:
    """As `scipy.special.legendre_p`."""
    only_plain("legendre_p", n=n)
    z = number("legendre_p", z)
    return _derivatives("legendre_p", diff_n, lambda k: legendre_derivative(n, z, order=k))


def legendre_p_all(n: ArrayLike, z: Array, *, diff_n: int = 0) -> Any:
    """As `scipy.special.legendre_p_all`."""
    return legendre_p(_degrees(n, z), z, diff_n=diff_n)


def assoc_legendre_p(
    n: ArrayLike,
    m: ArrayLike,
    z: Array,
    *,
    branch_cut: int = 2,
    norm: bool = False,
    diff_n: int = 0,
) -> Any:
    """As `scipy.special.assoc_legendre_p`."""
    only_plain("assoc_legendre_p", n=n, m=m, branch_cut=branch_cut)
    z, kind = number("assoc_legendre_p", z), {"branch_cut": int(branch_cut), "norm": bool(norm)}
    return _derivatives(
        "assoc_legendre_p", diff_n, lambda k: associated_legendre(n, m, z, order=k, **kind)
    )


def assoc_legendre_p_all(n: ArrayLike, m: ArrayLike, z: Array, **options: Any) -> Any:
    """As `scipy.special.assoc_legendre_p_all`."""
    orders = _orders(m).reshape((-1,) + (1,) * np.ndim(z))
    degrees = np.expand_dims(_degrees(n, z), 1)
    return assoc_legendre_p(degrees, orders, z, **options)


def sph_legendre_p(n: ArrayLike, m: ArrayLike, theta: Array, *, diff_n: int = 0) -> Any:
    """As `scipy.special.sph_legendre_p`."""
    only_plain("sph_legendre_p", n=n, m=m)
    theta = real("sph_legendre_p", theta)
    return _derivatives(
        "sph_legendre_p", diff_n, lambda k: spherical_legendre(n, m, theta, order=k)
    )


def sph_legendre_p_all(n: ArrayLike, m: ArrayLike, theta: Array, *, diff_n: int = 0) -> Any:
    """As `scipy.special.sph_legendre_p_all`."""
    orders = _orders(m).reshape((-1,) + (1,) * np.ndim(theta))
    return sph_legendre_p(np.expand_dims(_degrees(n, theta), 1), orders, theta, diff_n=diff_n)


def sph_harm_y(n: ArrayLike, m: ArrayLike, theta: Array, phi: Array, *, diff_n: int = 0) -> Any:
    """As `scipy.special.sph_harm_y`: with the gradient and the Hessian up to the order ``diff_n``."""
    polar = sph_legendre_p(n, m, theta, diff_n=diff_n)
    wave = np.exp(1j * np.asarray(m) * real("sph_harm_y", phi))

    def entry(in_theta: int, in_phi: int) -> Any:
        return (1j * np.asarray(m)) ** in_phi * polar[in_theta] * wave

    found = [entry(0, 0)]
    if diff_n >= 1:
        found.append(np.stack([entry(1, 0), entry(0, 1)], axis=-1))
    if diff_n >= 2:
        rows = [[entry(2, 0), entry(1, 1)], [entry(1, 1), entry(0, 2)]]
        found.append(np.stack([np.stack(row, axis=-1) for row in rows], axis=-2))
    return tuple(found) if diff_n else found[0]


def sph_harm_y_all(n: ArrayLike, m: ArrayLike, theta: Array, phi: Array, *, diff_n: int = 0) -> Any:
    """As `scipy.special.sph_harm_y_all`."""
    degrees = np.expand_dims(_degrees(n, theta, phi), 1)
    orders = _orders(m).reshape((-1,) + (1,) * (degrees.ndim - 2))
    return sph_harm_y(degrees, orders, theta, phi, diff_n=diff_n)


@_hosted
def lqn(n: ArrayLike, z: Array) -> Any:
    """As `scipy.special.lqn`: Legendre functions of the second kind up to a degree, and their slopes."""
    only_plain("lqn", n=n)
    z = number("lqn", z)
    degrees = _degrees(n, z)
    return legendre_q(degrees, z, order=0), legendre_q(degrees, z, order=1)
