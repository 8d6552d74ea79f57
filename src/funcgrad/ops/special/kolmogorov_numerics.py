"""The distribution function of Kolmogorov's two-sided statistic of n samples, as power series of x.

Near the center it is an entry of a power of a matrix of polynomials (Marsaglia, Tsang and Wang 2003). Further
out it is 1 less twice the one-sided probability, a sum of products of powers (Birnbaum and Tingey 1951).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.ops.special.special_function import derivative_family
from funcgrad.source import value_error
from funcgrad.typing import Array

_ONE_SIDED = 5.5
"""Of n*x**2: beyond it, that both sides are as far apart has a relative probability of exp(-33)."""
_MOST = 10_000


def _product(a: list[Array], b: list[Array]) -> list[Array]:
    """That of power series of matrices, or of numbers, cut off."""
    return [
        sum([a[i] @ b[p - i] for i in range(p + 1)], np.zeros_like(a[0])) for p in range(len(a))
    ]


def _taylor(base: Any, power: int, speed: float, order: int) -> list[float]:
    """The series of base**power/power! where the base moves at a speed."""
    found = []
    for p in range(order + 1):
        rest = power - p
        value = base**rest / math.factorial(rest) if 0 <= rest < 170 else 0.0
        found.append(value * speed**p / math.factorial(p))
    return found


def _matrix(n: int, x: float, order: int) -> tuple[list[Array], int]:
    """The series of the matrix, and the place of the entry."""
    k = math.ceil(n * x)
    m, h = 2 * k - 1, k - n * x
    lag = np.arange(m)[:, None] - np.arange(m) + 1.0
    first = np.where(
        lag >= 0, np.exp(-scipy_special("gammaln").gammaln(np.maximum(lag, 0) + 1)), 0.0
    )
    series = [first, *[np.zeros((m, m)) for _ in range(order)]]
    for i in range(m):
        for p, change in enumerate(_taylor(h, i + 1, -float(n), order)):
            series[p][i, 0] -= change
            series[p][m - 1, m - 1 - i] -= change
    if h > 0.5:
        for p, change in enumerate(_taylor(2 * h - 1, m, -2.0 * n, order)):
            series[p][m - 1, 0] += change
    return series, k - 1


def _power(series: list[Array], n: int) -> tuple[list[Array], float]:
    """The power of a series of matrices, and the logarithm of a factor."""
    size = len(series[0])
    found = [np.eye(size), *[np.zeros((size, size)) for _ in series[1:]]]
    scale = own = 0.0
    while n:
        if n & 1:
            found, scale = _product(found, series), scale + own
            largest = np.max(np.abs(found[0])) or 1.0  # 0 next to the end of the support
            found, scale = [each / largest for each in found], scale + math.log(largest)
        n >>= 1
        if n:
            series, own = _product(series, series), 2 * own
            largest = np.max(np.abs(series[0])) or 1.0
            series, own = [each / largest for each in series], own + math.log(largest)
    return found, scale


def _central(n: int, x: float, order: int) -> float:
    """The coefficient of an order of the distribution function."""
    series, place = _matrix(n, x, order)
    found, scale = _power(series, n)
    log = math.fsum([math.log(k / n) for k in range(1, n + 1)])
    return float(found[order][place, place] * math.exp(scale + log))


def _one_sided(n: int, x: float, order: int) -> float:
    """The coefficient of an order of the probability that the one-sided statistic is more than x."""
    gammaln = scipy_special("gammaln").gammaln
    j = np.arange(math.ceil(n * (1 - x)), dtype=float)  # the last base is positive
    low, high = x + j / n, 1 - x - j / n
    log = gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1)
    log = log + (j - 1) * np.log(low) + (n - j) * np.log(high)
    parts: list[list[Array]] = [[], []]
    for part, base, power, sign in ((parts[0], low, j - 1, 1.0), (parts[1], high, n - j, -1.0)):
        term = np.ones_like(j)
        for p in range(order + 1):
            part.append(term)
            term = term * sign * (power - p) / (p + 1) / base
    whole = [sum([parts[0][i] * parts[1][p - i] for i in range(p + 1)]) for p in range(order + 1)]
    total = x * whole[order] + (whole[order - 1] if order else 0.0)
    return float(np.sum(np.exp(log) * total))


def _statistic(x: float, n: float, order: int, upper: bool) -> float:
    if not (n >= 1 and n == math.floor(n) and not math.isnan(x)):
        return math.nan
    if x <= 0.5 / n or x >= 1:
        return float(order == 0 and upper == (x < 1))
    import scipy.stats

    sign = -1.0 if upper else 1.0
    if order == 0 or (order == 1 and n > _MOST):
        own = scipy.stats.kstwo  # seven digits for large n
        return float((own.sf if upper else own.cdf)(x, n) if order == 0 else sign * own.pdf(x, n))
    if n > _MOST:
        raise value_error(
            f"kstwo: expected at most {_MOST} samples for second derivatives, but got {n:.0f}; use kstwobign "
            "at sqrt(n)*x",
        )
    if x >= 0.5 or n * x * x > _ONE_SIDED:
        found = -2 * _one_sided(int(n), x, order)
    else:
        found = _central(int(n), x, order)
    return sign * found * math.factorial(order)


def _run(x: Array, n: Array, *, order: int, upper: bool) -> Any:
    x, n = np.broadcast_arrays(x, n)
    found = [
        _statistic(float(a), float(b), order, upper) for a, b in zip(x.flat, n.flat, strict=True)
    ]
    return np.array(found).reshape(x.shape)


kolmogorov_two_sided: Op = derivative_family(
    "kolmogorov_two_sided",
    _run,
    lambda z, x, n, *, order, upper: kolmogorov_two_sided(x, n, order=order + 1, upper=upper),
    None,
    mpmath=None,
)
"""The derivative of an order of the distribution function of Kolmogorov's statistic of n samples, or of its
complement (``upper``)."""
