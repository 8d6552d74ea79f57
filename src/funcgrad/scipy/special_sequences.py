"""Functions of ``scipy.special`` of all orders up to a given one: values are SciPy's.

Slopes are by the equation of second order that each function satisfies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import (
    composed,
    nondifferentiable,
    number,
    only_plain,
    real,
    with_value,
)
from funcgrad.scipy.external_function import with_pushforward
from funcgrad.source import type_error, value_error
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_hosted = composed(_scipy, host=True)


def _number_alone(who: str, value: ArrayLike) -> Any:
    item: Any = lift_fully(real(who, value))
    if item.ndim:
        raise value_error(
            f"{who}: expected a number, but got shape {item.shape}; map it over arrays by fg.vmap",
        )
    return item


def _with_slopes(
    who: str, run: Callable[..., Any], z: Array, curvature: Callable[..., Any]
) -> tuple[Any, Any]:
    """SciPy's functions of z and their slopes, whose second derivatives are ``curvature(z, y, slope)``."""

    def pushforward(z: Array, both: Array, dz: Array) -> Any:
        return np.stack([both[1], curvature(z, both[0], both[1])]) * dz

    like = np.asarray(run(np.full(z.shape, 0.5, z.dtype)))
    out = ArrayType(like.shape, np.dtype(z.dtype))
    both = with_pushforward(
        who, lambda z: np.stack(run(z)).astype(z.dtype), lambda _: out, pushforward
    )(z)
    return both[0], both[1]


# -- parabolic cylinder functions -------------------------------------------------------------------
def _parabolic(who: str, v: ArrayLike, x: Array, step: float = 1.0) -> Any:
    only_plain(who, v=v)
    x, first = _number_alone(who, x), float(np.asarray(v)) % 1.0

    def run(x: object) -> list[Any]:
        return [part.real for part in getattr(_scipy, who)(v, np.asarray(x)[()])]

    orders = first + step * np.arange(len(run(0.5)[0]))
    return _with_slopes(who, run, x, lambda x, y, _: (0.25 * x * x - orders - 0.5) * y)


def _not_negative(who: str, v: ArrayLike) -> None:
    if np.any(np.asarray(v) < 0):
        raise value_error(
            f"{who}: expected an order of 0 or more with traced values, since SciPy's slopes of others are "
            f"wrong, but got {v!r}; write scipy.special.{who[:4]} of an array of orders",
        )


@_hosted
def pbdv_seq(v: ArrayLike, x: Array) -> Any:
    """As `scipy.special.pbdv_seq`, in x.

    >>> import funcgrad as fg
    >>> fg.grad(lambda x: pbdv_seq(1.0, x)[0][0])(2.0)  # of exp(-x**2/4)
    -0.367879...
    """
    _not_negative("pbdv_seq", v)
    return _parabolic("pbdv_seq", v, x)


@_hosted
def pbvv_seq(v: ArrayLike, x: Array) -> Any:
    """As `scipy.special.pbvv_seq`, in x."""
    _not_negative("pbvv_seq", v)
    return _parabolic("pbvv_seq", v, x)


def pbdn_seq(n: ArrayLike, z: Array) -> Any:
    """As `scipy.special.pbdn_seq`, in a real z."""
    if lift_fully(z).dtype.kind == "c":
        raise type_error(
            "pbdn_seq: expected a real z with traced values, since SciPy's values of a complex one are no "
            "analytic function; write 2**(-n/2) * np.exp(-z*z/4) * scipy.special.eval_hermite(n, z/2**0.5)",
        )
    values, slopes = _parabolic("pbdn_seq", n, z, 1.0 if np.asarray(n) >= 0 else -1.0)
    return values + 0j, slopes + 0j


# -- Legendre functions of the second kind ----------------------------------------------------------
@_hosted
def lqmn(m: ArrayLike, n: ArrayLike, z: Array) -> Any:
    """As `scipy.special.lqmn`, in z."""
    only_plain("lqmn", m=m, n=n)
    place: Any = lift_fully(number("lqmn", z))
    axes = (1,) * place.ndim
    orders = np.arange(int(np.asarray(m)) + 1.0).reshape(-1, 1, *axes)
    degrees = np.arange(int(np.asarray(n)) + 1.0).reshape(-1, *axes)

    def curvature(z: Array, y: Array, slope: Array) -> Any:
        rest = 1.0 - z * z
        return (2.0 * z * slope - (degrees * (degrees + 1.0) - orders**2 / rest) * y) / rest

    return _with_slopes("lqmn", lambda z: _scipy.lqmn(m, n, z), place, curvature)


# -- characteristic values of spheroidal functions --------------------------------------------------
def _spheroidal_values(m: int, count: int, square: Array, size: int) -> Any:
    """The least eigenvalues of the spheroidal equation in Legendre functions, of both parities in turn."""
    found = []
    for parity in (0, 1):
        k = np.arange(parity, 2 * size, 2.0)
        r = m + k
        beside = (k + 1) * (k + 2) * (2 * m + k + 1) * (2 * m + k + 2)
        beside = np.sqrt(beside / ((2 * r + 1) * (2 * r + 5))) / (2 * r + 3)
        weights = (2 * r * (r + 1) - 2 * m * m - 1) / ((2 * r - 1) * (2 * r + 3))
        coupled = np.diag(weights) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
        found.append(np.linalg.eigvalsh(np.diag(r * (r + 1)) + square * coupled))
    return np.stack(found, axis=1).ravel()[:count]


def _characteristic_values(who: str, sign: float, m: Any, n: Any, c: Array) -> Any:
    only_plain(who, m=m, n=n)
    c = _number_alone(who, c)
    own = nondifferentiable(who, lambda c: getattr(_scipy, who)(m, n, c[()]), c)
    count = int(n) - int(m) + 1
    size = count + 30 + int(by_value(np.ceil(np.abs(stop_gradient(c))), who))
    return with_value(own, _spheroidal_values(int(m), count, sign * c * c, size))


@_hosted
def pro_cv_seq(m: ArrayLike, n: ArrayLike, c: Array) -> Any:
    """As `scipy.special.pro_cv_seq`, in c."""
    return _characteristic_values("pro_cv_seq", 1.0, m, n, c)


@_hosted
def obl_cv_seq(m: ArrayLike, n: ArrayLike, c: Array) -> Any:
    """As `scipy.special.obl_cv_seq`, in c."""
    return _characteristic_values("obl_cv_seq", -1.0, m, n, c)
