"""Branchless selection: `numpy.where` on a random condition suffers branch mispredictions.

A condition becomes a bit mask of the entries' width, and the entries are combined by bitwise operations. So
the selected entries are exact, and an infinity or NaN that is not selected has no effect.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.typing import Array

BITS = {np.dtype("float64"): np.dtype("int64"), np.dtype("float32"): np.dtype("int32")}
"""The integers as wide as each dtype for which this is done."""


def masked(condition: Any, x: Any, out: Any = None) -> Any:
    """The entries of ``x`` where the condition is true, else 0. ``out`` is no operand.

    If the condition is broadcast, ``x`` has the shape of the result.

    >>> masked(np.array([True, False, False]), np.array([-1.5, np.inf, 3.0]))
    array([-1.5, 0. , 0. ])
    """
    ones = np.negative(condition.view(np.int8))
    out = (
        np.empty(np.shape(x) if ones.size < x.size else ones.shape, x.dtype) if out is None else out
    )
    kind: Any = BITS[x.dtype]
    bits = out.view(kind)
    if ones.size < x.size:
        np.bitwise_and(x.view(kind), ones.astype(kind), bits)
        return out
    # (Negated before, as bytes, and widened with its sign: 0.8 of the time of the other order.)
    np.copyto(bits, ones)
    np.bitwise_and(x.view(kind), bits, bits)
    return out


def chosen(condition: Any, x: Any, y: Array, out: Any = None) -> Any:
    """The entries of ``x`` where the condition is true, else of ``y``. ``out`` is no operand.

    >>> chosen(np.array([True, False, True]), np.array([-1.5, np.inf, np.nan]), np.array(2.0))
    array([-1.5, 2. , nan])
    """
    out = np.empty(condition.shape, x.dtype) if out is None else out
    kind: Any = BITS[x.dtype]
    bits, other = out.view(kind), y.view(kind)
    np.bitwise_xor(x.view(kind), other, bits)
    mask = np.negative(condition.view(np.int8)).astype(kind)
    np.bitwise_and(bits, mask, bits)
    np.bitwise_xor(bits, other, bits)
    return out


def affine(x: object, y: Array) -> tuple[Any, Any] | None:
    """Numbers a and b such that condition*a + b selects x or y exactly, if there are."""
    with np.errstate(all="ignore"):
        a = x - y
        exact = np.isfinite(a) and a + y == x and (y != 0 or not np.signbit(y))
        exact = exact and (x != 0 or not np.signbit(x))
    return (a, y) if exact else None


def tamed(x: Array) -> Any:
    """``x`` itself if all of it is finite; else a new array, with 0 for what is not.

    >>> tamed(np.array([1.0, np.inf, np.nan]))
    array([1., 0., 0.])
    """
    if not x.shape:  # a number, of which NumPy's functions take twenty times as long
        return x if x - x == 0 else x.dtype.type(0)
    finite = np.isfinite(x)
    return x if finite.all() else np.where(finite, x, np.zeros((), x.dtype))[()]
