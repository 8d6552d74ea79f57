"""Landau's distribution, and the stable ones by SciPy's numerical integrals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats as _scipy

from funcgrad.graph import ArrayType
from funcgrad.ops.special.landau import landau_integral
from funcgrad.scipy.composition import real
from funcgrad.scipy.external_function import with_pullback
from funcgrad.scipy.stats.standard import OF_CONTINUOUS, Standard, log_where_small
from funcgrad.source import USERS, type_error
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_SCALE = math.pi / 2
"""SciPy's variable has this scale, and is moved by its logarithm."""


def _place(x: Array) -> Any:
    return _SCALE * x + math.log(_SCALE)


_LEAST = -100.0
"""The place below which a logarithm is its exponent, to rounding; the shift overflows at -700."""


def _left_exponent(y: Array, beyond: Array) -> Any:
    return -np.exp(-1 - np.where(beyond, y, 0.0))


def _density(x: Array) -> Any:
    """By a shift that keeps the left tail from underflow, and far out by the tail's exponent."""
    y = _place(x)
    beyond = y < _LEAST
    held = np.where(beyond, 0.0, y)
    shift = stop_gradient(np.exp(-1 - held))
    found = np.log(landau_integral(held, shift, order=1, upper=False)) - shift
    return np.where(beyond, _left_exponent(y, beyond), found + math.log(_SCALE))


def _side(x: Array, upper: bool) -> Any:
    y = _place(x)
    return landau_integral(y, np.zeros_like(y), order=0, upper=upper)


def _logcdf(x: Array) -> Any:
    y = _place(x)
    left, beyond = y < 0, y < _LEAST
    held = np.where(np.logical_and(left, np.logical_not(beyond)), y, 0.0)
    shift = stop_gradient(np.exp(-1 - held))
    tail = np.log(landau_integral(held, shift, order=0, upper=False)) - shift
    tail = np.where(beyond, _left_exponent(y, beyond), tail)
    return np.where(left, tail, log_where_small(_side(x, False), _side(x, True)))


landau = Standard(
    density=_density,
    cdf=lambda x: _side(x, False),
    sf=lambda x: _side(x, True),
    logcdf=_logcdf,
    hosted=OF_CONTINUOUS,
)


# -- stable distributions ----------------------------------------------------------------------------
def _integral(name: str) -> Callable[..., Any]:
    """SciPy's method `levy_stable._pdf` or `levy_stable._cdf`, of vectors."""
    return lambda *rows: getattr(_scipy.levy_stable, name)(*[np.array(row) for row in rows])


def _refuse_slope(*_: object) -> Any:
    raise type_error(
        "levy_stable: expected no derivative of the density, nor one in alpha or beta, since SciPy "
        "integrates numerically; cdf and sf have the first derivative in x, loc and scale, and draws by rvs "
        "move with all parameters; write norm if alpha=2, cauchy if alpha=1 and beta=0, levy if alpha=0.5 "
        "and beta=1",
        USERS,
    )


def _row(x: ArrayType, *_: ArrayType) -> ArrayType:
    return x


def _by_density(x: Array, alpha: Array, beta: Array, z: Array, g: Array) -> tuple[Any, ...]:
    # What flows to the shapes is refused there.
    return g * _stable_pdf(x, alpha, beta), np.nan * g, np.nan * g


_stable_pdf = with_pullback("levy_stable.pdf", _integral("_pdf"), _row, _refuse_slope)
_stable_cdf = with_pullback(
    "levy_stable.cdf",
    _integral("_cdf"),
    _row,
    _by_density,
    lambda x, alpha, beta, z, dx, *_: dx * _stable_pdf(x, alpha, beta),
)
_held_shape = with_pullback("levy_stable", lambda shape: shape, _row, _refuse_slope)


def _of_vectors(integral: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: object, x: ArrayLike, alpha: ArrayLike, beta: ArrayLike) -> Any:
        given = [real("levy_stable", item) for item in (x, alpha, beta)]
        rows = np.broadcast_arrays(*[np.atleast_1d(item).ravel() for item in given])
        return integral(rows[0], *[_held_shape(row) for row in rows[1:]])

    return method


stable_pdf, stable_cdf = _of_vectors(_stable_pdf), _of_vectors(_stable_cdf)
