"""Hypergeometric, parabolic cylinder, zeta and Wright functions, and Lambert's W.

Derivatives in parameters are mpmath's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.arrays.reference import holds_expr
from funcgrad.linear import Diagonal, LinearMap
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.op import Op, astype, lift_fully, same_on_batch
from funcgrad.ops.base.promotion import same_type
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.ops.special.special_function import by_mpmath, special_function
from funcgrad.typing import Array

hyp0f1: Op = special_function(
    "hyp0f1",
    by_mpmath("hyp0f1", 0),
    lambda z, v, x: hyp0f1(v + 1.0, x) / v,
    mpmath="hyp0f1",
)
hyp1f1: Op = special_function(
    "hyp1f1",
    by_mpmath("hyp1f1", 0),
    by_mpmath("hyp1f1", 1),
    lambda z, a, b, x: a / b * hyp1f1(a + 1.0, b + 1.0, x),
    mpmath="hyp1f1",
    jax="hyp1f1",
)
hyp2f1: Op = special_function(
    "hyp2f1",
    by_mpmath("hyp2f1", 0),
    by_mpmath("hyp2f1", 1),
    by_mpmath("hyp2f1", 2),
    lambda z, a, b, c, x: a * b / c * hyp2f1(a + 1.0, b + 1.0, c + 1.0, x),
    mpmath="hyp2f1",
)
hyperu: Op = special_function(
    "hyperu",
    by_mpmath("hyperu", 0),
    by_mpmath("hyperu", 1),
    lambda z, a, b, x: -a * hyperu(a + 1.0, b + 1.0, x),
    mpmath="hyperu",
)
wright_bessel: Op = special_function(
    "wright_bessel",
    "a",
    "b",
    lambda z, a, b, x: wright_bessel(a, a + b, x),
)
log_wright_bessel: Op = special_function(
    "log_wright_bessel",
    "a",
    "b",
    lambda z, a, b, x: _log_wright_bessel_slope(z, a, b, x),
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
    "wrightomega",
    lambda z, x: z / (1.0 + z),
    mpmath=lambda mp, x: mp.lambertw(mp.exp(x)),
)

# -- parabolic cylinder functions ----------------------------------------------------------------
pbdv_d: Op = special_function(
    "pbdv_d",
    by_mpmath("pbdv_d", 0),
    lambda z, v, x: pbdv_dp(v, x),
    ufunc="pbdv",
    part=0,
    mpmath="pcfd",
)
pbdv_dp: Op = special_function(
    "pbdv_dp",
    by_mpmath("pbdv_dp", 0),
    lambda z, v, x: (0.25 * x * x - v - 0.5) * pbdv_d(v, x),
    ufunc="pbdv",
    part=1,
    mpmath=lambda mp, v, x: mp.diff(lambda t: mp.pcfd(v, t), x),
)


def pbdv(v: Array, x: Array) -> tuple[Any, ...]:
    """The parabolic cylinder function D and its derivative. As `scipy.special.pbdv`."""
    return pbdv_d(v, x), pbdv_dp(v, x)


def _parabolic(name: str, equation: Callable[[Array, Array], Any]) -> tuple[Op, Op]:
    """A function of the parabolic cylinder and its derivative, by their equation y'' = equation*y."""
    value: Op = special_function(
        f"{name}_y", "the parameter", lambda z, v, x: slope(v, x), ufunc=name, part=0
    )
    slope: Op = special_function(
        f"{name}_yp",
        "the parameter",
        lambda z, v, x: equation(v, x) * value(v, x),
        ufunc=name,
        part=1,
    )
    return value, slope


pbvv_y, pbvv_yp = _parabolic("pbvv", lambda v, x: 0.25 * x * x - v - 0.5)
pbwa_y, pbwa_yp = _parabolic("pbwa", lambda a, x: a - 0.25 * x * x)


def pbvv(v: Array, x: Array) -> tuple[Any, ...]:
    """The parabolic cylinder function V and its derivative. As `scipy.special.pbvv`."""
    return pbvv_y(v, x), pbvv_yp(v, x)


def pbwa(a: Array, x: Array) -> tuple[Any, ...]:
    """The parabolic cylinder function W and its derivative. As `scipy.special.pbwa`."""
    return pbwa_y(a, x), pbwa_yp(a, x)


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
    "riemann_zeta",
    by_mpmath("riemann_zeta", 0),
    ufunc="_riemann_zeta",
    mpmath="zeta",
    sympy="zeta",
)
zetac: Op = special_function("zetac", by_mpmath("zetac", 0), mpmath=lambda mp, x: mp.zeta(x) - 1)


def zeta(x: Array, q: Array | None = None, out: None = None) -> Any:
    """The zeta function of Riemann, or with q of Hurwitz. As `scipy.special.zeta`."""
    return riemann_zeta(x) if q is None else hurwitz_zeta(x, q)


# -- Lambert's W -----------------------------------------------------------------------------------
def _lambertw_edge(z: Array, x: Array, *, branch: int) -> LinearMap:
    return Diagonal(np.exp(-z) / (1.0 + z))


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
    return lambertw_op(astype(x, dtype=np.result_type(x.dtype, np.complex64)), branch=int(k))
