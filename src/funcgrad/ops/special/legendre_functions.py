"""Legendre functions of whole degrees and orders, each with its derivatives in the argument.

An operation has the order of the derivative as a parameter. The first two derivatives are SciPy's; higher
ones follow from Legendre's equation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.scipy_special import scipy_special
from funcgrad.ops.special.special_function import derivative_family
from funcgrad.typing import Array, FunctionLibrary


def _whole(x: Array) -> Any:
    return np.asarray(np.real(x)).astype(np.int64)


# -- Legendre polynomials ----------------------------------------------------------------------------
def _legendre_run(n: Array, z: Array, *, order: int) -> Any:
    special, degree = scipy_special("legendre_p"), _whole(n)
    if order <= 2:
        return special.legendre_p(degree, z, diff_n=order)[order]
    found = special.eval_gegenbauer(np.maximum(degree - order, 0), order + 0.5, z)
    return np.where(degree < order, 0.0, math.prod(range(1, 2 * order, 2)) * found)


legendre_derivative: Op = derivative_family(
    "legendre_derivative",
    _legendre_run,
    None,
    lambda z, n, x, *, order: legendre_derivative(n, x, order=order + 1),
    mpmath=lambda mp, n, x, *, order: np.frompyfunc(
        lambda n, x: mp.diff(lambda v: mp.legendre(n, v), x, order), 2, 1
    )(n, x),
)
"""The derivative of an order of the Legendre polynomial of degree n."""


# -- associated ones ---------------------------------------------------------------------------------
def _associated_run(
    n: Array, m: Array, z: Array, *, order: int, branch_cut: int, norm: bool
) -> Any:
    own = scipy_special("assoc_legendre_p").assoc_legendre_p
    return own(_whole(n), _whole(m), z, branch_cut=branch_cut, norm=norm, diff_n=order)[order]


def _associated_slope(z: Array, n: Array, m: Array, x: Array, *, order: int, **kind: Any) -> Any:
    if order < 2:
        return associated_legendre(n, m, x, order=order + 1, **kind)
    value, slope = (associated_legendre(n, m, x, order=k, **kind) for k in (0, 1))
    rest = (1.0 - x) * (1.0 + x)
    share = m * m / rest
    return (
        4.0 * x * z + (2.0 - n * (n + 1.0) + share) * slope + 2.0 * x * share / rest * value
    ) / rest


def _mp_associated(
    mp: FunctionLibrary, n: Any, m: Any, x: Any, *, order: int, branch_cut: int, norm: bool
) -> Any:
    size = mp.sqrt((2 * n + 1) * mp.factorial(n - m) / mp.factorial(n + m) / 2) if norm else 1
    return size * mp.diff(lambda v: mp.legenp(n, m, v, type=branch_cut), x, order)


associated_legendre: Op = derivative_family(
    "associated_legendre",
    _associated_run,
    None,
    None,
    _associated_slope,
    mpmath=_mp_associated,
    real=False,
)
"""The derivative of an order of the associated Legendre function of degree n and order m."""


# -- of an angle -------------------------------------------------------------------------------------
def _spherical_run(n: Array, m: Array, angle: Array, *, order: int) -> Any:
    own = scipy_special("sph_legendre_p").sph_legendre_p
    return own(_whole(n), _whole(m), angle, diff_n=order)[order]


def _spherical_slope(z: Array, n: Array, m: Array, angle: Array, *, order: int) -> Any:
    if order < 2:
        return spherical_legendre(n, m, angle, order=order + 1)
    value, slope = (spherical_legendre(n, m, angle, order=k) for k in (0, 1))
    sine, cotangent = np.sin(angle), np.cos(angle) / np.sin(angle)
    square = 1.0 / (sine * sine)
    rest = square - n * (n + 1.0) + m * m * square
    return -cotangent * z + rest * slope - 2.0 * m * m * square * cotangent * value


def _mp_spherical(mp: FunctionLibrary, n: Any, m: Any, angle: Any, *, order: int) -> Any:
    size = mp.sqrt((2 * n + 1) * mp.factorial(n - m) / mp.factorial(n + m) / (4 * mp.pi))
    return size * mp.diff(lambda v: mp.legenp(n, m, mp.cos(v), type=2), angle, order)


spherical_legendre: Op = derivative_family(
    "spherical_legendre", _spherical_run, None, None, _spherical_slope, mpmath=_mp_spherical
)
"""The derivative of an order of the spherical Legendre function of an angle."""


# -- of the second kind --------------------------------------------------------------------------------
def _second_kind_run(n: Array, x: Array, *, order: int) -> Any:
    degree, z = np.broadcast_arrays(_whole(n), x)
    if not degree.size:
        return np.zeros(degree.shape, z.dtype)
    found = scipy_special("lqn").lqn(int(degree.max()), z.reshape(-1))[order]
    return found[degree.reshape(-1), np.arange(degree.size)].reshape(degree.shape)


def _second_kind_slope(z: Array, n: Array, x: Array, *, order: int) -> Any:
    if order == 0:
        return legendre_q(n, x, order=1)
    rest = (1.0 - x) * (1.0 + x)
    return (2.0 * x * z - n * (n + 1.0) * legendre_q(n, x, order=0)) / rest


legendre_q: Op = derivative_family(
    "legendre_q",
    _second_kind_run,
    None,
    _second_kind_slope,
    mpmath=lambda mp, n, x, *, order: mp.diff(
        lambda v: mp.legenq(n, 0, v, type=3 if abs(x) > 1 else 2), x, order
    ),
    real=False,
)
"""The Legendre function of the second kind of degree n, or its derivative."""
