"""Ellipsoidal harmonics, `scipy.special.ellip_harm` and `ellip_harm_2`, which are Lamé functions; their norm.

A Lamé function is s^a |s^2 - h^2|^(b/2) |s^2 - k^2|^(c/2) times a polynomial in 1 - s^2/h^2, whose
coefficients are an eigenvector of a tridiagonal matrix (Romain and Jean-Pierre 2001). So it has derivatives
of every order in s and in both parameters.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
import scipy.special as _scipy

from funcgrad.graph import ArrayType
from funcgrad.scipy.composition import real, with_value, without_derivative
from funcgrad.source import fail, value_error
from funcgrad.typing import Array


def ellip_harm(
    h2: Array, k2: Array, n: int, p: int, s: Array, signm: int = 1, signn: int = 1
) -> Any:
    """As `scipy.special.ellip_harm`, in h2, k2 and s, of one degree n and one order p.

    >>> import funcgrad as fg
    >>> round(fg.grad(lambda s: ellip_harm(5.0, 8.0, 1, 1, s))(2.5), 12)
    1.0
    """
    degree, order, given = _arguments("ellip_harm", h2, k2, n, p, s)
    found = _first_kind(degree, order, *given, signs=(signm, signn))
    return _with_scipys("ellip_harm", _scipy.ellip_harm, found, given, degree, order, signm, signn)


def ellip_harm_2(h2: Array, k2: Array, n: int, p: int, s: Array) -> Any:
    """As `scipy.special.ellip_harm_2`, in h2, k2 and s, of one degree n and one order p."""
    degree, order, given = _arguments("ellip_harm_2", h2, k2, n, p, s)
    first, second, place = given
    # The integral over t from s on, with t = s/u and u = 1 - v^2, by the rule of Gauss.
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    v = (nodes + 1) / 2
    u = 1 - v * v
    t = place[..., None] / u
    root = np.sqrt((t * t - first) * (t * t - second))
    density = 1.0 / (root * _first_kind(degree, order, first, second, t) ** 2)
    tail = place * np.sum(weights * v / (u * u) * density, axis=-1)
    found = (2 * degree + 1) * _first_kind(degree, order, *given) * tail
    return _with_scipys("ellip_harm_2", _scipy.ellip_harm_2, found, given, degree, order)


_NODES = 200


def ellip_normal(h2: Array, k2: Array, n: int, p: int) -> Any:
    """As `scipy.special.ellip_normal`, in h2 and k2, of one degree n and one order p.

    The integral over the ellipsoid is one of products of functions of one coordinate each. In angles these
    are even and periodic, so the midpoint rule has all digits.
    """
    degree, order, given = _arguments("ellip_normal", h2, k2, n, p, np.ones(()))
    first, second = given[:2]
    sine = np.sin((np.arange(_NODES) + 0.5) * (np.pi / (2 * _NODES)))
    low = np.sqrt(first) * sine
    middle = np.sqrt(first + (second - first) * sine**2)
    weighted = [
        _first_kind(degree, order, first, second, s) ** 2 / root
        for s, root in ((low, np.sqrt(second - low**2)), (middle, middle))
    ]
    mean_low, mean_middle = [
        [np.sum(weight), np.sum(weight * s**2)]
        for weight, s in zip(weighted, (low, middle), strict=True)
    ]
    steps = (np.pi / (2 * _NODES)) ** 2
    found = 8.0 * steps * (mean_low[0] * mean_middle[1] - mean_low[1] * mean_middle[0])

    def run(h2: Array, k2: Array, degree: int, order: int, s: Array) -> Any:
        return _scipy.ellip_normal(h2, k2, degree, order)

    return _with_scipys("ellip_normal", run, found, given, degree, order)


def _arguments(
    who: str, h2: Array, k2: Array, n: int, p: int, s: Array
) -> tuple[int, int, tuple[Array, Array, Array]]:
    if not (np.ndim(n) == np.ndim(p) == np.ndim(h2) == np.ndim(k2) == 0):
        raise value_error(
            f"{who}: expected numbers h2, k2, n and p beside traced values, but got arrays; map it over "
            "them by fg.vmap, or call it once for each n and p",
        )
    return index(n), index(p), (real(who, h2), real(who, k2), real(who, s))


def _with_scipys(
    who: str, run: Any, found: Array, given: tuple[Array, ...], degree: int, order: int, *signs: int
) -> Any:
    """SciPy's value, with the derivative of a composition."""

    def own(h2: Array, k2: Array, s: Array, found: Array) -> Any:
        value = run(h2, k2, degree, order, s, *signs)
        if np.any(np.abs(value - found) > 1e-6 * np.abs(value)):
            raise fail(
                RuntimeError,
                f"{who}: expected s at some distance from h and k, beside which the derivative is not known "
                "to 1e-6, with traced values",
            )
        return value

    out = ArrayType(found.shape, np.dtype(float))
    return with_value(without_derivative(who, own, out, *given, found), found)


def _first_kind(
    n: int, p: int, h2: Array, k2: Array, s: Array, signs: tuple[int, int] = (1, 1)
) -> Any:
    powers, rank = _exponents(n, p)
    coefficients = _polynomial(h2, k2, n, powers)[rank]
    roots = [np.sqrt(np.abs(s**2 - end)) for end in (h2, k2)]
    factor = s ** powers[0]
    for root, power, sign in zip(roots, powers[1:], signs, strict=True):
        factor = factor * (sign * root) if power else factor
    at, total = 1.0 - s**2 / h2, 0.0 * s
    for coefficient in coefficients[::-1]:
        total = total * at + coefficient
    return total * factor


def _exponents(n: int, p: int) -> tuple[tuple[int, int, int], int]:
    """The exponents a, b and c, and the number of the polynomial among those of its kind.

    The orders p = 1, 2, ... are those of the four kinds, one after the other.
    """
    odd, rank = n % 2, p - 1
    for powers in ((odd, 0, 0), (1 - odd, 1, 0), (1 - odd, 0, 1), (odd, 1, 1)):
        count = (n - sum(powers)) // 2 + 1
        if 0 <= rank < count:
            return powers, rank
        rank -= count
    raise value_error(
        f"ellip_harm: expected n >= 0 and p from 1 to 2*n + 1, but got n={n} and p={p}"
    )


def _polynomial(h2: Array, k2: Array, n: int, powers: tuple[int, int, int]) -> list[Any]:
    """The coefficients of each polynomial of a kind, of which the last are powers of -h2."""
    a, b, c = powers
    beta = k2 - h2
    j = np.arange((n - sum(powers)) // 2 + 1.0)
    above = (2 * j + 2) * (2 * j + 1 + 2 * b) * beta
    below = h2 * (n - sum(powers) - 2 * j) * (n + sum(powers) + 2 * j + 1)
    diagonal = (n * (n + 1) - (2 * j + b + c) ** 2) * h2 + (2 * j + a + b) ** 2 * beta
    beside = -np.sqrt(above[:-1] * below[:-1])  # of the symmetric matrix similar to it
    matrix = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    _, vectors = np.linalg.eigh(matrix)
    scales = np.concatenate([np.ones(1), np.cumprod(np.sqrt(above[:-1] / below[:-1]))])
    found = vectors / scales[:, None]
    return list((found / found[-1] * (-h2) ** (j.size - 1)).T)
