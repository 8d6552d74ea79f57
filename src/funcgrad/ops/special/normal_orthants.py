"""Probabilities of a normal vector of two or three correlated entries below bounds.

The derivative in a bound is a density times the probability of the others, given that entry, and that in a
correlation is a density of two entries times the probability of the third (Plackett, Biometrika 41, 1954).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.special.error_functions import ndtr
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.ops.special.special_function import numeric_function
from funcgrad.typing import Array, FunctionLibrary

_TAU = 2.0 * math.pi


def _phi(x: Array) -> Any:
    return np.exp(-0.5 * x * x) / math.sqrt(_TAU)


def _conditional(bound: Array, given: Array, r: Array) -> Any:
    """The bound of an entry, standardized, given another one with which it has the correlation r."""
    off = mask(np.abs(given) < np.inf, bound - r * given)
    return np.where(np.abs(bound) < np.inf, off / np.sqrt((1.0 - r) * (1.0 + r)), bound)


def _pair_density(h: Array, k: Array, r: Array) -> Any:
    rest = (1.0 - r) * (1.0 + r)
    inside = (np.abs(h) < np.inf) & (np.abs(k) < np.inf)
    x, y = np.where(inside, h, 0.0), np.where(inside, k, 0.0)
    value = np.exp(-0.5 * (x * x - 2.0 * r * x * y + y * y) / rest) / (_TAU * np.sqrt(rest))
    return mask(inside, value)


# -- two entries ---------------------------------------------------------------------------------------
def _two_run(h: Array, k: Array, r: Array) -> Any:
    """By Owen's function (Annals of Mathematical Statistics 27, 1956)."""
    special = scipy_special("owens_t")
    h, k, r = np.broadcast_arrays(h, k, r)
    rest = np.sqrt((1.0 - r) * (1.0 + r))
    finite = np.isfinite(h) & np.isfinite(k)
    x, y = np.where(finite, h, 1.0), np.where(finite, k, 1.0)

    def part(x: Array, y: Array) -> Any:
        ratio = (y - r * x) / np.where(x == 0, 1.0, x * rest)
        ratio = np.where(x == 0, np.where(y == 0, 0.0, np.sign(y) * np.inf), ratio)
        return 0.5 * special.ndtr(x) - special.owens_t(x, ratio)

    apart = (x * y < 0) | ((x * y == 0) & (x + y < 0))
    found = part(x, y) + part(y, x) - np.where(apart, 0.5, 0.0)
    found = np.where((x == 0) & (y == 0), 0.25 + np.arcsin(r) / _TAU, found)
    lower = special.ndtr(np.minimum(h, k))
    found = np.where(finite & (np.abs(r) < 1), np.clip(found, 0.0, 1.0), lower)
    opposite = np.clip(special.ndtr(h) + special.ndtr(k) - 1.0, 0.0, 1.0)
    found = np.where(finite & (r <= -1), opposite, found)
    return np.where(np.isnan(h + k) & ~np.isinf(h) | np.isnan(k) | np.isnan(r), np.nan, found)


def _mp_two(mp: FunctionLibrary, h: Any, k: Any, r: Any) -> Any:
    rest = mp.sqrt((1 - r) * (1 + r))
    ends = sorted({min(h, v) for v in (-12, -6, -3, -1, 0, 1, 3, 6)} | {h})
    return mp.quad(lambda z: mp.npdf(z) * mp.ncdf((k - r * z) / rest), ends)


bivariate_normal_cdf: Op = numeric_function(
    "bivariate_normal_cdf",
    _two_run,
    lambda z, h, k, r: _phi(h) * ndtr(_conditional(k, h, r)),
    lambda z, h, k, r: _phi(k) * ndtr(_conditional(h, k, r)),
    lambda z, h, k, r: _pair_density(h, k, r),
    mpmath=_mp_two,
)


# -- three entries -------------------------------------------------------------------------------------
def _three_run(h: Array, k: Array, m: Array, hk: Array, hm: Array, km: Array) -> Any:
    """From that with the first entry independent, by the integral of the derivative in its correlations.

    The order of the entries is that with the largest correlation between the last two.
    """
    args = np.broadcast_arrays(h, k, m, hk, hm, km)
    found = np.empty(args[0].shape)
    for place in np.ndindex(found.shape):
        found[place] = _one_orthant(*[float(x[place]) for x in args])
    return found[()]


def _one_orthant(h: float, k: float, m: float, hk: float, hm: float, km: float) -> float:
    from scipy.integrate import quad

    if any(map(math.isnan, (h, k, m, hk, hm, km))):
        return math.nan
    if -math.inf in (h, k, m):
        return 0.0
    if abs(hk) >= max(abs(hm), abs(km)):
        h, k, m, hk, hm, km = m, h, k, hm, km, hk
    elif abs(hm) >= abs(km):
        h, k, m, hk, hm, km = k, h, m, hk, km, hm

    def rise(t: float) -> float:
        """The derivative in t, where the correlations of the first entry are t times theirs."""
        p, q = t * hk, t * hm
        rest = 1.0 - p * p - q * q - km * km + 2.0 * p * q * km
        total = 0.0
        for x, y, own, r, s in ((h, k, hk, p, q), (h, m, hm, q, p)):
            if own == 0.0 or math.isinf(x) or math.isinf(y):
                continue
            last, square = m if y is k else k, 1.0 - r * r
            density = math.exp(-0.5 * (x * x - 2.0 * r * x * y + y * y) / square)
            off = last * square - (s * (x - r * y) + km * (y - r * x))
            below = off / math.sqrt(max(square * rest, 1e-300)) if not math.isinf(last) else last
            share = 0.5 * math.erfc(-below / math.sqrt(2.0))
            total += own * density * share / (_TAU * math.sqrt(square))
        return total

    start = 0.5 * math.erfc(-h / math.sqrt(2.0)) * float(_two_run(*map(np.asarray, (k, m, km))))
    change = quad(rise, 0.0, 1.0, epsabs=1e-15, epsrel=1e-13, limit=200)[0]
    return float(min(max(start + change, 0.0), 1.0))


def _others(h: Sequence[Any], r: dict[tuple[int, int], Any], i: int) -> Any:
    """The probability that the two other entries are below their bounds, given entry i."""
    j, k = [place for place in range(3) if place != i]
    a, b, c = (r[min(p, q), max(p, q)] for p, q in ((i, j), (i, k), (j, k)))
    rest = np.sqrt((1.0 - a) * (1.0 + a) * (1.0 - b) * (1.0 + b))
    held = (_conditional(h[place], h[i], x) for place, x in ((j, a), (k, b)))
    return bivariate_normal_cdf(*held, (c - a * b) / rest)


def _pair_and_third(h: Sequence[Any], r: dict[tuple[int, int], Any], i: int, j: int) -> Any:
    """The density of two entries at their bounds, times the probability of the third."""
    k = 3 - i - j
    a = r[min(i, j), max(i, j)]
    b, c = (r[min(p, k), max(p, k)] for p in (i, j))
    square = (1.0 - a) * (1.0 + a)
    rest = 1.0 - a * a - b * b - c * c + 2.0 * a * b * c
    off = h[k] * square - (b * (h[i] - a * h[j]) + c * (h[j] - a * h[i]))
    share = ndtr(np.where(np.abs(h[k]) < np.inf, off / np.sqrt(square * rest), h[k]))
    return _pair_density(h[i], h[j], a) * share


def _three(slope: Any) -> Any:
    def rule(z: Array, h: Array, k: Array, m: Array, hk: Array, hm: Array, km: Array) -> Any:
        return slope((h, k, m), {(0, 1): hk, (0, 2): hm, (1, 2): km})

    return rule


trivariate_normal_cdf: Op = numeric_function(
    "trivariate_normal_cdf",
    _three_run,
    *[
        _three(lambda h, r, i=i: mask(np.abs(h[i]) < np.inf, _phi(h[i]) * _others(h, r, i)))
        for i in range(3)
    ],
    *[
        _three(lambda h, r, i=i, j=j: _pair_and_third(h, r, i, j))
        for i, j in ((0, 1), (0, 2), (1, 2))
    ],
    mpmath=None,
)
