"""Hypergeometric, parabolic cylinder, zeta and Wright functions, and Lambert's W.

Derivatives in parameters are mpmath's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.arrays.reference import holds_expr
from funcgrad.linear import Diagonal, LinearMap
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.op import Op, astype, lift_fully, same_on_batch
from funcgrad.ops.base.promotion import same_type
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.ops.special.special_function import (
    SeveralResults,
    by_mpmath,
    of_last_argument,
    power_series,
    result_of,
    special_function,
)
from funcgrad.typing import Array

hyp0f1: Op = of_last_argument("hyp0f1", lambda z, v, x: hyp0f1(v + 1.0, x) / v, mpmath="hyp0f1")
hyp1f1: Op = of_last_argument(
    "hyp1f1",
    lambda z, a, b, x: a / b * hyp1f1(a + 1.0, b + 1.0, x),
    2,
    mpmath="hyp1f1",
    jax="hyp1f1",
)
hyp2f1: Op = of_last_argument(
    "hyp2f1",
    lambda z, a, b, c, x: a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, x),
    3,
    mpmath="hyp2f1",
)
hyperu: Op = of_last_argument(
    "hyperu", lambda z, a, b, x: -a * hyperu(a + 1.0, b + 1.0, x), 2, mpmath="hyperu"
)
wright_bessel: Op = special_function(
    "wright_bessel", "a", "b", lambda z, a, b, x: wright_bessel(a, a + b, x)
)
log_wright_bessel: Op = special_function(
    "log_wright_bessel", "a", "b", lambda z, a, b, x: _log_wright_bessel_slope(z, a, b, x)
)


def _log_wright_bessel_slope(z: Array, a: Array, b: Array, x: Array) -> Any:
    """The quotient of two functions; far out, where their logarithms cancel, its asymptotic series."""
    power = np.where((a > 0) & (x > 0), a * x, 1.0) ** (1.0 / (1.0 + a))
    far = power > 1e5 * (1.0 + b * b)
    u = 1.0 / np.where(far, power, 1.0)
    second = (12.0 * b * (1.0 + a - b) - (1.0 + 2.0 * a) * (2.0 + a)) / (24.0 * (1.0 + a))
    series = u**a * (1.0 + a / (1.0 + a) * u * (0.5 - b + second * u))
    near = np.where(far, 1.0, x)
    quotient = np.exp(log_wright_bessel(a, a + b, near) - np.where(far, 0.0, z))
    return np.where(a == 0, 1.0, np.where(far, series, quotient))


wrightomega: Op = special_function(
    "wrightomega", lambda z, x: z / (1.0 + z), mpmath=lambda mp, x: mp.lambertw(mp.exp(x))
)

# -- parabolic cylinder functions ----------------------------------------------------------------
pbdv_d: Op = result_of(
    "pbdv", 0, "d", by_mpmath("pbdv_d", 0), lambda z, v, x: pbdv_dp(v, x), mpmath="pcfd"
)
pbdv_dp: Op = result_of(
    "pbdv",
    1,
    "dp",
    by_mpmath("pbdv_dp", 0),
    lambda z, v, x: (0.25 * x * x - v - 0.5) * pbdv_d(v, x),
    mpmath=lambda mp, v, x: mp.diff(lambda t: mp.pcfd(v, t), x),
)
pbdv = SeveralResults((pbdv_d, pbdv_dp))


def _parabolic(
    ufunc: str, equation: Callable[[Array, Array], Any]
) -> tuple[Op, Op, SeveralResults]:
    """A function of the parabolic cylinder and its derivative, by their equation y'' = equation*y."""
    value: Op = result_of(ufunc, 0, "y", "the parameter", lambda z, v, x: slope(v, x))
    slope: Op = result_of(
        ufunc, 1, "yp", "the parameter", lambda z, v, x: equation(v, x) * value(v, x)
    )
    return value, slope, SeveralResults((value, slope))


pbvv_y, pbvv_yp, pbvv = _parabolic("pbvv", lambda v, x: 0.25 * x * x - v - 0.5)
pbwa_y, pbwa_yp, pbwa = _parabolic("pbwa", lambda a, x: a - 0.25 * x * x)


# -- the zeta function ---------------------------------------------------------------------------
hurwitz_zeta: Op = special_function(
    "hurwitz_zeta",
    by_mpmath("hurwitz_zeta", 0),
    lambda z, x, q: -x * hurwitz_zeta(x + 1.0, q),
    ufunc="_zeta",
    mpmath="zeta",
    sympy="zeta",
    jax="zeta",
    torch="zeta",
)
riemann_zeta: Op = special_function(
    "riemann_zeta", by_mpmath("riemann_zeta", 0), ufunc="_riemann_zeta", mpmath="zeta", sympy="zeta"
)
zetac: Op = special_function("zetac", by_mpmath("zetac", 0), mpmath=lambda mp, x: mp.zeta(x) - 1)


def zeta(x: Array, q: Array | None = None, out: None = None) -> Any:
    """The zeta function of Riemann, or with q of Hurwitz. As `scipy.special.zeta`."""
    return riemann_zeta(x) if q is None else hurwitz_zeta(x, q)


# -- Lambert's W -----------------------------------------------------------------------------------
_INVERSE_E = 0.36787944117144233, -1.2428753672788363e-17
"""The sum of these two numbers is 1/e."""
_AT_BRANCH_POINT = (
    *(1.0, -1 / 3, 11 / 72, -43 / 540, 769 / 17280, -221 / 8505),
    *(680863 / 43545600, -1963 / 204120, 226287557 / 37623398400),
)
"""The coefficients of 1 + W in powers of sqrt(2*(1 + e*x)), from the first (DLMF 4.13.6)."""


def _lambertw_edge(z: Array, x: Array, *, branch: int) -> LinearMap:
    """exp(-w)/(1 + w); next to the branch point -1/e, where SciPy's w has half its digits, by a series."""
    slope = np.exp(-z) / (1.0 + z)
    if branch not in (-1, 0, 1):
        return Diagonal(slope)
    distance = (x + _INVERSE_E[0]) + _INVERSE_E[1]
    near = np.abs(distance) < 1e-4
    if branch:  # on the other side of the cut w is not near -1
        near = near & (np.imag(x) >= 0 if branch == -1 else np.imag(x) < 0)
    root = np.sqrt(np.where(near, distance, 1e-4) * (2.0 * math.e))
    root = -root if branch else root
    above = root * power_series(root, _AT_BRANCH_POINT)
    return Diagonal(np.where(near, np.exp(1.0 - above) / above, slope))


def _lambertw_run(x: Array, branch: int) -> Any:
    return np.asarray(scipy_special("lambertw").lambertw(x, branch), np.result_type(x))[()]


lambertw_op: Op = Op(
    name="lambertw",
    run=_lambertw_run,
    infer=same_type,
    edges=(_lambertw_edge,),
    batch=same_on_batch(lambda: lambertw_op),
    columns=Columns(
        entrywise=True,
        mpmath=lambda mp, x, branch: np.frompyfunc(lambda v: mp.lambertw(v, branch), 1, 1)(x),
        sympy=lambda sp, x, branch: sp.LambertW(x, branch),
        numpy="scipy.special.lambertw({0}, {branch})",
    ),
)


def lambertw(z: Array, k: int = 0, tol: float = 1e-8) -> Any:
    """The solution w of w*exp(w) = z on branch k, complex. As `scipy.special.lambertw`."""
    if not holds_expr(z):
        return scipy_special("lambertw").lambertw(z, k, tol)
    x = lift_fully(z)
    return lambertw_op(astype(x, dtype=np.result_type(x.dtype, np.complex128)), branch=int(k))
