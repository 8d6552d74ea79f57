"""Landau's distribution: integrals over an angle along the path of steepest descent (Zolotarev 1986).

With g(t) = V(t)*exp(-x) for an angle t between 0 and pi, the distribution function is the mean of exp(-g),
and its derivatives are means of polynomials in g times exp(-g). The angle is a function of the logarithm
of V, over which, or over the root of which, the trapezoidal rule has all digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.special_function import derivative_family
from funcgrad.typing import Array

_BORDER = 44.0
"""Right of it the least of log(V) is negligible, and derivatives move the angle in the place of g, since the
terms of polynomials cancel."""
_LEAST, _MOST = -700.0, 1e50
"""Outside, exp(-x) overflows, or the complement of the distribution function is 1/x to all digits."""


_COEFFICIENTS = [
    1 / 2,
    1 / 36,
    7 / 2835,
    # Of -log(sin(t)/t) + 1 - t*cot(t), by values of the zeta function (DLMF 4.19.3 and 25.6.2).
    *[
        (2.0 + 1.0 / k) * sum([n ** (-2.0 * k) for n in range(1, 200)]) / math.pi ** (2 * k)
        for k in range(4, 15)
    ],
]


def _functions(rest: Array) -> tuple[Array, ...]:
    """t, sin(t) and cot(t) for t = pi - rest."""
    left = rest > 0.5 * math.pi
    t = math.pi - rest
    sine = np.sin(np.where(left, t, rest))
    return t, sine, np.where(left, np.cos(t), -np.cos(rest)) / sine


def _log_v(rest: Array) -> Any:
    """log(V) + 1, by a series where t = pi - rest is small."""
    t, sine, cotangent = _functions(rest)
    small = t < 0.3
    square = np.where(small, t * t, 0.0)
    total: Any = 0.0
    for c in reversed(_COEFFICIENTS):
        total = (total + c) * square
    return np.where(small, total, np.log(t / sine) - t * cotangent + 1.0)


def _slope(rest: Array) -> Any:
    """The derivative of log(V) in t."""
    t, sine, cotangent = _functions(rest)
    small = t < 0.3
    square = np.where(small, t * t, 0.0)
    total: Any = 0.0
    for k in range(len(_COEFFICIENTS), 0, -1):
        total = total * square + 2.0 * k * _COEFFICIENTS[k - 1]
    return np.where(small, total * t, 1.0 / t - 2.0 * cotangent + t / (sine * sine))


def _angle(level: Array) -> Any:
    """pi - t where log(V) + 1 has a value."""
    low, high = np.full_like(level, -240.0), np.full_like(level, math.log(math.pi))
    for _ in range(72):
        middle = 0.5 * (low + high)
        above = _log_v(np.exp(middle)) > level
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.exp(0.5 * (low + high))


def _speed(rest: Array, order: int) -> Any:
    """The derivative of an order of the angle by log(V)."""
    speed = 1.0 / _slope(rest)
    if order == 1:
        return speed
    t, sine, cotangent = _functions(rest)
    square = 1.0 / (sine * sine)
    # The further derivatives of log(V), by its first: powers of that overflow.
    w1 = speed * (-1.0 / (t * t) + 3.0 * square - 2.0 * t * square * cotangent)
    if order == 2:
        return -w1 * speed**2
    w2 = 2.0 / t**3 - 8.0 * square * cotangent + 4.0 * t * square * cotangent**2
    w2 = speed * (w2 + 2.0 * t * square * square)
    if order == 3:
        return (3.0 * w1 * w1 - w2) * speed**3
    w3 = -6.0 / t**4 + 20.0 * square * cotangent**2 + 10.0 * square**2
    w3 = w3 - 8.0 * t * square * cotangent**3 - 16.0 * t * square**2 * cotangent
    return (10.0 * w1 * w2 - 15.0 * w1**3 - speed * w3) * speed**4


def _polynomial(order: int) -> Any:
    """The polynomial in g that the derivative of exp(-g) has, where g falls at the rate g."""
    p = np.polynomial.Polynomial([1.0])
    g = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(order):
        p = g * (p - p.deriv())
    return p


def _near(x: Array, shift: Array, order: int, upper: bool) -> Any:
    """Over the root of log(V) + 1."""
    least = np.exp(-1.0 - x)
    last = np.sqrt(np.log1p(60.0 / least))
    s = last * np.linspace(0.0, 1.0, 601)
    rest = _angle(s * s)
    move = np.where(s > 0, 2.0 * s / _slope(np.where(s > 0, rest, 1.0)), math.sqrt(2.0))
    weights = move * last / 600.0 / math.pi
    weights[..., 0] *= 0.5
    rise = least * np.expm1(s * s)
    factor = _polynomial(order)(least + rise) * np.exp(shift - least - rise)
    total = np.sum(weights * factor, axis=-1)
    return np.exp(shift[..., 0]) - total if order == 0 and upper else total


def _far(x: Array, shift: Array, order: int, upper: bool) -> Any:
    """Over log(g)."""
    y = np.linspace(-45.0, 5.0, 601)
    rest = _angle(y + x + 1.0)
    # The derivatives of the angle are known to the fourth; further ones are those of the density of log(g).
    factor = _polynomial(max(order - 4, 0) + 1)(np.exp(y))
    density = factor * np.exp(shift - np.exp(y)) * (50.0 / 600.0 / math.pi)
    if order:
        return np.sum(density * _speed(rest, min(order, 4)), axis=-1)
    # By parts: the mean of pi - t over the density of log(g) is the probability above.
    above = np.sum(density * rest, axis=-1)
    return above if upper else np.exp(shift[..., 0]) - above


def _integral(x: Array, shift: Array, *, order: int, upper: bool) -> Any:
    """The derivative of an order of the distribution function, or of its complement, times exp(shift)."""
    x, shift = (each[..., None] for each in np.broadcast_arrays(x, shift))
    right, inside = x > _BORDER, (x > _LEAST) & (x < _MOST)
    found = np.zeros(x.shape[:-1])
    for run, chosen, inner in ((_near, ~right & inside, 0.0), (_far, right & inside, 100.0)):
        if np.any(chosen):
            values = run(np.where(chosen, x, inner), shift, order, upper)
            found = np.where(chosen[..., 0], values, found)
    found = -found if upper and order else found
    found = np.where(np.isnan(x[..., 0]), np.nan, found)
    return np.where(inside[..., 0] | np.isnan(x[..., 0]), found, _outermost(x, shift, order, upper))


def _outermost(x: Array, shift: Array, order: int, upper: bool) -> Any:
    """Far to the left the distribution function is 0, and far to the right its complement is 1/x."""
    x, scale = x[..., 0], np.exp(shift[..., 0])
    tail = np.where(x > 0, 1.0 / np.where(x > 0, x, 1.0), 0.0)
    if order:
        return (-1.0) ** (order + (not upper)) * math.factorial(order) * tail ** (order + 1) * scale
    above = np.where(x > 0, tail, 1.0)
    return scale * (above if upper else np.where(x > 0, 1.0 - tail, 0.0))


landau_integral: Op = derivative_family(
    "landau_integral",
    _integral,
    lambda z, x, shift, *, order, upper: landau_integral(x, shift, order=order + 1, upper=upper),
    None,
    mpmath=None,
)
"""The derivative of an order of Landau's distribution function, or of its complement (``upper``), times
exp(shift)."""
