"""Spherical Bessel functions, and derivatives of Bessel functions of a given order, as SciPy writes them in
Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import Op
from funcgrad.ops.special import bessel
from funcgrad.typing import Array


def _spherical(kind: str, op: Op, below: float, above: float) -> Callable[..., Any]:
    def anywhere(n: Array, z: Array) -> Any:
        """Left of 0, where SciPy's own loop is NaN, by the parity of the order (DLMF 10.47)."""
        if kind == "y" or np.iscomplexobj(z):
            return op(n, z)
        left = z < 0
        right = op(n, np.where(left, -z, z))  # whose slope at 0 is that of the function, unlike abs
        if kind == "k":
            return np.where(left, np.real(op(n, np.where(left, z, -1.0) + 0j)), right)
        return np.where(left & (n % 2 == 1), -right, right)

    def function(n: Array, z: Array, derivative: bool = False) -> Any:
        n, z = _arrays(n, z)
        if not derivative:
            return anywhere(n, z)
        lower = below * n * anywhere(np.maximum(n - 1, 0), z)
        return (lower + above * (n + 1) * anywhere(n + 1, z)) / (2 * n + 1)

    return _named(f"spherical_{kind}n", function)


def _of_order(name: str, op: Op, sign: float, factor: float) -> Callable[..., Any]:
    """The n-th derivative in the argument: a binomial sum over the neighboring orders (DLMF 10.6.7)."""

    def function(v: Array, z: Array, n: int = 1) -> Any:
        v, z = _arrays(v, z)
        total: Any = 0.0
        for k in range(n + 1):
            total = total + sign**k * math.comb(n, k) * op(v - n + 2 * k, z)
        return total * (0.5 * factor) ** n

    return _named(name, function)


def _arrays(*values: object) -> list[Any]:
    """Lists and the like as arrays, as SciPy takes them."""
    return [functions["array"](list(x)) if isinstance(x, Sequence) else x for x in values]


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.special.{name}`."
    return function


spherical_jn = _spherical("j", bessel.spherical_j, 1.0, -1.0)
spherical_yn = _spherical("y", bessel.spherical_y, 1.0, -1.0)
spherical_in = _spherical("i", bessel.spherical_i, 1.0, 1.0)
spherical_kn = _spherical("k", bessel.spherical_k, -1.0, -1.0)
BESSEL_DERIVATIVES = {
    name: _of_order(name, op, sign, factor)
    for name, op, sign, factor in (
        ("jvp", bessel.jv, -1.0, 1.0),
        ("yvp", bessel.yv, -1.0, 1.0),
        ("ivp", bessel.iv, 1.0, 1.0),
        ("kvp", bessel.kv, 1.0, -1.0),
        ("h1vp", bessel.hankel1, -1.0, 1.0),
        ("h2vp", bessel.hankel2, -1.0, 1.0),
    )
}
"""By name: the n-th derivative of a Bessel function in its argument."""
