"""Inverses of distribution functions in a parameter, and Tukey's lambda."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.ops.base.op import Op
from funcgrad.ops.special.entropy import power_slope
from funcgrad.ops.special.f_distribution import fdtr
from funcgrad.ops.special.incomplete import betainc, betaincc, gammaincc
from funcgrad.ops.special.special_function import inverse_partials, special_function
from funcgrad.typing import Array


# -- counts, as real numbers, and degrees of freedom ---------------------------------------------
def _slopes(forward: Op, *operands: Any) -> list[Any]:
    """The partial derivatives of an elementwise function."""
    z = forward(*operands)
    return [forward.edge(k)(z, *operands).d for k in range(len(operands))]  # type: ignore[misc, union-attr]


def _of_poisson(k: Array, m: Array) -> list[Any]:
    return _slopes(gammaincc, k + 1.0, m)


def _solved(partial: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative of a count that solves an equation, and 0 where SciPy gives 0 since none does."""

    def slope(z: Array, *inputs: Array) -> Any:
        found = z > 0
        return np.where(found, partial(np.where(found, z, 0.5), *inputs), 0.0)

    return slope


def _of_binomial(k: Array, n: Array, p: Array) -> tuple[Any, Any, Any]:
    """The derivatives of the binomial distribution function in k, n and p."""
    in_a, in_b, in_p = _slopes(betaincc, k + 1.0, n - k, p)
    return in_a - in_b, in_b, in_p


def _of_negative_binomial(k: Array, n: Array, p: Array) -> tuple[Any, Any, Any]:
    in_n, in_k, in_p = _slopes(betainc, n, k + 1.0, p)
    return in_k, in_n, in_p


def _quotient(slopes: Any, over: int, under: int) -> Any:
    return -slopes[over] / slopes[under]


def _count(name: str, slopes: Callable[..., Any], parameters: int) -> Op:
    """The count for which a distribution function, given by its derivatives, has a value."""
    in_value = _solved(lambda z, p, *given: 1.0 / slopes(z, *given)[0])

    def rule(place: int) -> Callable[..., Any]:
        return _solved(lambda z, p, *given: _quotient(slopes(z, *given), place, 0))

    return special_function(name, in_value, *[rule(k + 1) for k in range(parameters)])


def _trials(name: str, slopes: Callable[..., Any]) -> Op:
    """The number of trials, or of successes, for which a distribution function has a value."""
    return special_function(
        name,
        lambda z, k, y, p: _quotient(slopes(k, z, p), 0, 1),
        lambda z, k, y, p: 1.0 / slopes(k, z, p)[1],
        lambda z, k, y, p: _quotient(slopes(k, z, p), 2, 1),
    )


pdtrik: Op = _count("pdtrik", _of_poisson, 1)
bdtrik: Op = _count("bdtrik", _of_binomial, 2)
nbdtrik: Op = _count("nbdtrik", _of_negative_binomial, 2)
bdtrin: Op = _trials("bdtrin", _of_binomial)
nbdtrin: Op = _trials("nbdtrin", _of_negative_binomial)
fdtridfd: Op = special_function("fdtridfd", *inverse_partials(lambda: fdtr, 3, 1))


# -- Tukey's lambda ------------------------------------------------------------------------------
def _tukey(x: Array, lmbda: Array) -> tuple[Any, Any]:
    """The derivatives of Tukey's distribution function in x and lambda, 0 outside of its support."""
    p, q = tklmbda(x, lmbda), tklmbda(-x, lmbda)
    inside = (p > 0) & (q > 0)
    p, q = np.where(inside, p, 0.5), np.where(inside, q, 0.5)
    density = 1.0 / (p ** (lmbda - 1.0) + q ** (lmbda - 1.0))
    rise = power_slope(np.log(p), lmbda) - power_slope(np.log(q), lmbda)
    return np.where(inside, density, 0.0), np.where(inside, -density * rise, 0.0)


tklmbda: Op = special_function(
    "tklmbda", lambda z, x, lmbda: _tukey(x, lmbda)[0], lambda z, x, lmbda: _tukey(x, lmbda)[1]
)
