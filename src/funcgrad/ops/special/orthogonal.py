"""Orthogonal polynomials in their argument; in a real degree or parameter, their derivatives are mpmath's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.gamma import binom
from funcgrad.ops.special.special_function import by_mpmath, of_last_argument, special_function
from funcgrad.typing import Array


def _degree_less(n: Array, factor: object, polynomial: Callable[[Any], Any]) -> Any:
    """A multiple of a polynomial of degree n - 1, and 0 for n = 0 and n = -1.

    SciPy's own 0 of these degrees stays where n is real: its slope in the degree is not 0.
    """
    zero = (n == 0) | (n == -1)
    if n.dtype.kind == "f":
        zero = zero & ~np.isfinite(polynomial(n - 1))
    return np.where(zero, 0.0, factor * polynomial(np.where(zero, 1, n) - 1))


def _reflected(n: Array, total: int, sign: float = 1.0) -> tuple[Any, Any]:
    """The larger of two degrees with this sum, which have one polynomial up to a sign, and the sign.

    A whole number stays one: SciPy's formulas for other degrees overflow from 170 on.
    """
    left = n < 0.5 * total
    return np.where(left, total - n, n), np.where(left, sign, 1.0)


def _of_legendre(n: Array, factor: float, x: Array) -> Any:
    """By P(n) = P(-n - 1)."""
    degree, _ = _reflected(n, -1)
    half = 0.5 * factor * (degree + 1.0)
    return _degree_less(degree, half, lambda k: eval_jacobi(k, 1.0, 1.0, x))


def _of_first_kind(n: Array, factor: float, x: Array) -> Any:
    """By T(n) = T(-n)."""
    degree, _ = _reflected(n, 0)
    return _degree_less(degree, factor * degree, lambda k: eval_chebyu(k, x))


def _of_second_kind(n: Array, factor: float, x: Array) -> Any:
    """By U(n) = -U(-n - 2)."""
    degree, sign = _reflected(n, -2, -1.0)
    return sign * _degree_less(degree, factor, lambda k: eval_gegenbauer(k, 2.0, x))


_ZERO_BITS = 1000
"""At a root, mpmath sums terms that cancel: to these bits, before it takes the sum for 0."""


def _mp_gegenbauer(mp: Any, n: Any, a: Any, x: Any) -> Any:
    half = mp.mpf(1) / 2
    sums = mp.hyp2f1(-n, n + 2 * a, a + half, (1 - x) / 2, zeroprec=_ZERO_BITS)
    return mp.binomial(n + 2 * a - 1, n) * sums


def _mp_jacobi(mp: Any, n: Any, a: Any, b: Any, x: Any) -> Any:
    """mpmath's own `jacobi` has another formula at a = 0, which holds for whole degrees alone."""
    sums = mp.hyp2f1(-n, n + a + b + 1, a + 1, (1 - x) / 2, zeroprec=_ZERO_BITS)
    return mp.binomial(n + a, n) * sums


eval_gegenbauer: Op = of_last_argument(
    "eval_gegenbauer",
    lambda z, n, a, x: _degree_less(n, 2.0 * a, lambda k: eval_gegenbauer(k, a + 1.0, x)),
    2,
    mpmath=_mp_gegenbauer,
)
eval_chebyu: Op = of_last_argument(
    "eval_chebyu", lambda z, n, x: _of_second_kind(n, 2.0, x), mpmath="chebyu", sympy="chebyshevu"
)
eval_chebyt: Op = of_last_argument(
    "eval_chebyt", lambda z, n, x: _of_first_kind(n, 1.0, x), mpmath="chebyt", sympy="chebyshevt"
)
eval_chebyc: Op = of_last_argument(
    "eval_chebyc",
    lambda z, n, x: _of_first_kind(n, 1.0, 0.5 * x),
    mpmath=lambda mp, n, x: 2 * mp.chebyt(n, x / 2),
)
eval_chebys: Op = of_last_argument(
    "eval_chebys",
    lambda z, n, x: _of_second_kind(n, 1.0, 0.5 * x),
    mpmath=lambda mp, n, x: mp.chebyu(n, x / 2),
)
eval_sh_chebyt: Op = of_last_argument(
    "eval_sh_chebyt",
    lambda z, n, x: _of_first_kind(n, 2.0, 2.0 * x - 1.0),
    mpmath=lambda mp, n, x: mp.chebyt(n, 2 * x - 1),
)
eval_sh_chebyu: Op = of_last_argument(
    "eval_sh_chebyu",
    lambda z, n, x: _of_second_kind(n, 4.0, 2.0 * x - 1.0),
    mpmath=lambda mp, n, x: mp.chebyu(n, 2 * x - 1),
)
eval_legendre: Op = of_last_argument(
    "eval_legendre", lambda z, n, x: _of_legendre(n, 1.0, x), mpmath="legendre", sympy="legendre"
)
eval_sh_legendre: Op = of_last_argument(
    "eval_sh_legendre",
    lambda z, n, x: _of_legendre(n, 2.0, 2.0 * x - 1.0),
    mpmath=lambda mp, n, x: mp.legendre(n, 2 * x - 1),
)
eval_genlaguerre: Op = of_last_argument(
    "eval_genlaguerre",
    lambda z, n, a, x: _degree_less(n, -1.0, lambda k: eval_genlaguerre(k, a + 1.0, x)),
    2,
    mpmath=lambda mp, n, a, x: mp.laguerre(n, a, x, zeroprec=_ZERO_BITS),
)
eval_laguerre: Op = of_last_argument(
    "eval_laguerre",
    lambda z, n, x: _degree_less(n, -1.0, lambda k: eval_genlaguerre(k, 1.0, x)),
    mpmath=lambda mp, n, x: mp.laguerre(n, 0, x, zeroprec=_ZERO_BITS),
    # SymPy cannot evaluate its `laguerre` at a degree that is a float.
    sympy=lambda sp, n, x: sp.hyper((-n,), (1,), x),
)
eval_hermite: Op = special_function(
    "eval_hermite",
    None,
    lambda z, n, x: _degree_less(n, 2.0 * n, lambda k: eval_hermite(k, x)),
    mpmath="hermite",
    sympy="hermite",
)
eval_hermitenorm: Op = special_function(
    "eval_hermitenorm",
    None,
    lambda z, n, x: _degree_less(n, 1.0 * n, lambda k: eval_hermitenorm(k, x)),
    mpmath=lambda mp, n, x: mp.hermite(n, x / mp.sqrt(2)) / mp.mpf(2) ** (mp.mpf(n) / 2),
)
eval_jacobi: Op = special_function(
    "eval_jacobi",
    *[by_mpmath("eval_jacobi", k) for k in range(3)],
    lambda z, n, a, b, x: _degree_less(
        n, 0.5 * (n + a + b + 1.0), lambda k: eval_jacobi(k, a + 1.0, b + 1.0, x)
    ),
    mpmath=_mp_jacobi,
)


def _lpmv_slope(z: Array, m: Array, v: Array, x: Array) -> Any:
    """By the order above (DLMF 14.10); by the degree below, which cancels near the ends, for m below 0."""
    rises = m >= 0
    order, square = np.where(rises, m + 1, m), (1.0 - x) * (1.0 + x)
    other = lpmv(order, np.where(rises, v, v - 1.0), x)
    by_order = -(m * x * z / square + other / np.sqrt(square))
    return np.where(rises, by_order, ((v + m) * other - v * x * z) / square)


lpmv: Op = special_function(
    "lpmv",
    None,
    by_mpmath("lpmv", 1),
    lambda z, m, v, x: _lpmv_slope(z, m, v, x),
    mpmath=lambda mp, m, v, x: mp.legenp(v, m, x),
)


def eval_sh_jacobi(n: Array, p: Array, q: Array, x: Array) -> Any:
    """The shifted Jacobi polynomial. As `scipy.special.eval_sh_jacobi`."""
    return eval_jacobi(n, p - q, q - 1.0, 2.0 * x - 1.0) / binom(2.0 * n + p - 1.0, n)
