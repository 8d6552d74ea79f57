"""Spherical Bessel functions, as SciPy writes them in Python."""

from __future__ import annotations

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

    function.__name__ = function.__qualname__ = f"spherical_{kind}n"
    function.__doc__ = f"As `scipy.special.{function.__name__}`."
    return function


def _arrays(*values: object) -> list[Any]:
    """Lists and the like as arrays, as SciPy takes them."""
    return [functions["array"](list(x)) if isinstance(x, Sequence) else x for x in values]


spherical_jn = _spherical("j", bessel.spherical_j, 1.0, -1.0)
spherical_yn = _spherical("y", bessel.spherical_y, 1.0, -1.0)
spherical_in = _spherical("i", bessel.spherical_i, 1.0, 1.0)
spherical_kn = _spherical("k", bessel.spherical_k, -1.0, -1.0)
