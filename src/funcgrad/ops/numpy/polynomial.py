"""Polynomials by their coefficients: powers, values, fits."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from funcgrad.ops.base.op import lift_all, lift_fully
from funcgrad.ops.numpy.linalg import lstsq
from funcgrad.ops.shape import astype, reshape
from funcgrad.source import fail


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """As `numpy.vander`: the powers of a vector's entries, in columns."""
    x = lift_fully(x)
    if x.ndim != 1:
        raise fail(ValueError, f"vander: expected a vector, but got {x.type}")
    x = astype(x, np.promote_types(x.dtype, int))
    count = x.size if N is None else N
    if not count:
        return np.zeros((x.size, 0), x.dtype)
    powers = [np.ones_like(x)]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return np.stack(powers if increasing else powers[::-1], axis=-1)


def polyval(p: npt.ArrayLike, x: npt.ArrayLike) -> Any:
    """As `numpy.polyval`: the polynomial of coefficients, the highest power's first."""
    p, x = lift_all((p, x))
    z = np.zeros_like(x)
    for i in range(p.shape[0]):
        z = z * x + p[i]
    return z


def polyfit(
    x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: object = None
) -> Any:
    """As `numpy.polyfit` of one degree, without ``full`` and ``cov``."""
    if full or np.ndim(deg):
        raise fail(TypeError, "polyfit: expected one degree, and full=False")
    deg = operator.index(deg)
    if deg < 0:
        raise fail(ValueError, f"polyfit: expected a degree of 0 or more, but got {deg}")
    x, y = lift_all((x, y))
    if x.ndim != 1 or y.ndim not in (1, 2) or y.shape[0] != x.size or not x.size:
        raise fail(
            ValueError, f"polyfit: expected as many values as places, but got {x.type} and {y.type}"
        )
    x, y = (astype(v, np.promote_types(v.dtype, float)) for v in (x, y))
    a = vander(x, deg + 1)
    if w is not None:
        weight = lift_fully(w)
        a, y = a * weight[:, None], y * reshape(weight, (-1,) + (1,) * (y.ndim - 1))
    scale = np.sqrt(np.sum(a * a, axis=0))
    cut = x.size * np.finfo(x.dtype).eps if rcond is None else rcond
    solution = lstsq(a / scale, y, cut).x
    return solution / reshape(scale, (-1,) + (1,) * (y.ndim - 1))


def polymul(a1: object, a2: object) -> Any:
    """As `numpy.polymul`: the product's coefficients, the first too if they are 0: they have derivatives."""
    first, second = [np.atleast_1d(p) for p in lift_all((a1, a2))]
    return np.convolve(first, second)
