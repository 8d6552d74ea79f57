"""Mathieu's characteristic values and Fourier coefficients, with their derivatives in q.

The coefficients of one parity are an eigenvector of a tridiagonal matrix that is linear in q. Its eigenvalues
are apart, so that Rayleigh and Schrödinger's series give all derivatives. Plain NumPy in double precision.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.typing import Array


def _matrices(m: int, odd: bool, size: int) -> tuple[Array, Array, Array]:
    """The frequencies of the terms, the squares of these as a matrix, and the matrix that q multiplies.

    The vectors have norm 1: the constant term of an even function is scaled by the root of 2.
    """
    start = m % 2 if not odd else (m % 2 or 2)
    frequencies = start + 2.0 * np.arange(size)
    coupling = np.eye(size, k=1) + np.eye(size, k=-1)
    if start == 0:
        coupling[0, 1] = coupling[1, 0] = math.sqrt(2.0)
    if start == 1:
        coupling[0, 0] = -1.0 if odd else 1.0
    return frequencies, np.diag(frequencies**2), coupling


_MOST = 3000
"""The terms beyond which derivatives are NaN: a matrix of them all takes minutes or all memory."""


def _size(m: float, q: float) -> int:
    """The number of terms that are not 0 in double precision."""
    return int(m) // 2 + 25 + int(5.0 * math.sqrt(m + 1.0) * abs(q) ** 0.25)


@lru_cache(maxsize=256)
def _series(m: int, q: float, odd: bool, order: int) -> tuple[Array, Array, Array]:
    """The frequencies, and the derivatives of the characteristic value and of the coefficients in q."""
    size = _size(m, q)
    frequencies, squares, coupling = _matrices(m, odd, size)
    values, vectors = np.linalg.eigh(squares + q * coupling)
    place = (m - (2 if odd and m % 2 == 0 else m % 2)) // 2
    own = vectors[:, place]
    level = own * frequencies if odd else own * np.where(frequencies == 0, math.sqrt(0.5), 1.0)
    own = own if np.sum(level) > 0 else -own
    gaps = values[place] - values
    gaps[place] = np.inf
    energies, states = [values[place]], [own]
    for k in range(1, order + 1):
        driven = coupling @ states[k - 1]
        energies.append(own @ driven)
        for j in range(1, k):
            driven = driven - energies[j] * states[k - j]
        states.append(vectors @ (vectors.T @ driven / gaps))
    normal = _normalized(states)
    normal[:, frequencies == 0] *= math.sqrt(0.5)
    factors = [math.factorial(k) for k in range(order + 1)]
    return (
        frequencies,
        np.array([f * e for f, e in zip(factors, energies, strict=True)]),
        np.array([f * v for f, v in zip(factors, normal, strict=True)]),
    )


def _normalized(states: list[Array]) -> Array:
    """The coefficients of a power series of vectors, divided by that of their norm."""
    count = len(states)
    squares = [sum(states[j] @ states[k - j] for j in range(k + 1)) for k in range(count)]
    # The power -1/2 of a series that begins with 1 (Knuth, The Art of Computer Programming 2, 4.7).
    root: list[Any] = [1.0]
    for k in range(1, count):
        terms = [(-0.5 * j - (k - j)) * squares[j] * root[k - j] for j in range(1, k + 1)]
        root.append(sum(terms) / k)
    return np.array([sum(root[j] * states[k - j] for j in range(k + 1)) for k in range(count)])


def _is_valid(m: float, q: float, odd: bool) -> bool:
    whole = m >= odd and m == math.floor(m) and math.isfinite(m) and math.isfinite(q)
    return whole and _size(m, q) <= _MOST


def characteristic(m: Array, q: Array, *, odd: bool, order: int) -> Any:
    """The derivative of an order in q of a characteristic value."""
    m, q = np.broadcast_arrays(m, q)
    found = np.full(m.shape, math.nan)
    for place in np.ndindex(m.shape):
        degree, point = float(m[place]), float(q[place])
        if _is_valid(degree, point, odd):
            found[place] = _series(int(degree), point, odd, order)[1][order]
    return found[()]


def angular(m: Array, q: Array, angle: Array, *, odd: bool, order: int, slope: int) -> Any:
    """The derivative of an order in q, and of ``slope`` in the angle in radians, of a function of degrees."""
    m, q, angle = np.broadcast_arrays(m, q, angle)
    found = np.full(m.shape, math.nan)
    pairs = {(float(a), float(b)) for a, b in zip(m.reshape(-1), q.reshape(-1), strict=True)}
    for degree, point in sorted(pairs):
        if not _is_valid(degree, point, odd):
            continue
        frequencies, _, derivatives = _series(int(degree), point, odd, order)
        chosen = (m == degree) & (q == point)
        phase = np.radians(angle[chosen])[:, None] * frequencies + 0.5 * math.pi * slope
        waves = np.sin(phase) if odd else np.cos(phase)
        found[chosen] = waves @ (derivatives[order] * frequencies**slope)
    return found[()]


def coefficient(m: Array, q: Array, place: Array, *, odd: bool, order: int) -> Any:
    """The derivative of an order in q of the Fourier coefficient at a place."""
    m, q, place = np.broadcast_arrays(m, q, place)
    found = np.full(m.shape, math.nan)
    for at in np.ndindex(m.shape):
        degree, point = float(m[at]), float(q[at])
        if _is_valid(degree, point, odd):
            terms = _series(int(degree), point, odd, order)[2][order]
            k = int(place[at])
            found[at] = terms[k] if k < terms.size else 0.0
    return found[()]
