"""Von Mises' distribution, on the circle and on the interval from -pi to pi, and the cosine there."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from funcgrad.scipy import special
from funcgrad.scipy.stats.standard import CUMULATIVE, Standard, symmetric
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_SHARES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2
_FALL = 40.0
"""The density of the part of a tail that is left out is less than exp(-40) times that at its end."""


def _density(x: Array, kappa: Array) -> Any:
    # At 0, where i0e has a kink, by its series from the right.
    series = np.exp(-kappa) * (1 + kappa * kappa / 4)
    scaled = np.where(kappa == 0, series, special.i0e(kappa))
    return kappa * special.cosm1(x) - np.log(2 * math.pi * scaled)


def _integral(x: Array, length: Array, kappa: Array) -> Any:
    """The integral of the density from x - length to x."""
    angles = np.expand_dims(x, -1) - np.expand_dims(length, -1) * _SHARES
    values = np.exp(_density(angles, np.expand_dims(kappa, -1)))
    return length * np.sum(values * _WEIGHTS, axis=-1)


def _left_tail(x: Array, kappa: Array) -> Any:
    """The integral of the density from -pi to x < 0, as far as it has digits."""
    end = np.cos(x) - _FALL / np.maximum(kappa, 1e-300)
    cut = end > -1
    reach = stop_gradient(np.arccos(np.where(cut, end, 0.0)) + x)
    return _integral(x, np.where(cut, reach, x + math.pi), kappa)


def _cdf(x: Array, kappa: Array) -> Any:
    """Around 0 by the integral from there, elsewhere by the shorter tail."""
    turns = np.round(x / (2 * math.pi))
    off = x - 2 * math.pi * turns
    around = np.abs(off) < 1 / np.sqrt(kappa + 0.5)
    center = np.where(around, off, 0.0)
    tail = _left_tail(np.where(around, -1.0, -np.abs(off)), kappa)
    half = np.where(off < 0, tail, 1 - tail)
    return turns + np.where(around, 0.5 + _integral(center, center, kappa), half)


vonmises = symmetric(density=_density, cdf=_cdf, valid=lambda kappa: kappa >= 0, hosted=CUMULATIVE)
vonmises_line = replace(vonmises, support=lambda kappa: (-math.pi, math.pi), hosted=frozenset())


# -- Cauchy's distribution wrapped around the circle ---------------------------------------------
def _wrapped_side(x: Array, c: Array, sign: float) -> Any:
    """The probability below x, or for the other sign above it, by one angle from 0 to pi."""
    rise, run = (1 + c) * np.sin(x / 2), (1 - c) * np.cos(x / 2)
    return np.arctan2(rise, sign * run) / math.pi


def _wrapped_density(x: Array, c: Array) -> Any:
    """By the square of a sine, since 1 + c**2 - 2*c*cos(x) cancels near 0."""
    distance = (1 - c) ** 2 + 4 * c * np.sin(x / 2) ** 2
    return np.log1p(-c) + np.log1p(c) - math.log(2 * math.pi) - np.log(distance)


wrapcauchy = Standard(
    density=_wrapped_density,
    cdf=lambda x, c: _wrapped_side(x, c, 1.0),
    sf=lambda x, c: _wrapped_side(x, c, -1.0),
    support=lambda c: (0.0, 2 * math.pi),
    valid=lambda c: np.logical_and(c > 0, c < 1),
)


# -- the cosine on one turn ------------------------------------------------------------------------
def cosine_logpdf(distribution: object, x: Array) -> Any:
    """For SciPy's, which adds 1 and a cosine near -1 at the ends."""
    return 2 * np.log(np.cos(x / 2)) - math.log(math.pi)
