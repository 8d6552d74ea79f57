"""Reductions that leave out what is not a number; it has no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.ops import reduction
from funcgrad.ops.base.arguments import inexact, refuse_keywords
from funcgrad.ops.base.op import differentiable, lift_fully
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.shape import astype
from funcgrad.source import fail
from funcgrad.typing import Array, Axis


def _numbers(x: object, instead: object) -> tuple[Any, Any]:
    """An operand with what is none replaced, and where it has numbers."""
    x = lift_fully(x)
    if not differentiable(x.dtype):
        return x, np.ones(x.shape, bool)
    known = x == x
    return np.where(known, x, np.asarray(instead, x.dtype)[()]), known


def nansum(
    x: Array, axis: Axis = None, dtype: object = None, *, keepdims: Any = False, **rest: Any
) -> Any:
    """As `numpy.nansum`."""
    refuse_keywords("nansum", rest)
    return reduction.sum(_numbers(x, 0)[0], axis, dtype, keepdims)


def nanprod(
    x: Array, axis: Axis = None, dtype: object = None, *, keepdims: Any = False, **rest: Any
) -> Any:
    """As `numpy.nanprod`."""
    refuse_keywords("nanprod", rest)
    return reduction.prod(_numbers(x, 1)[0], axis, dtype, keepdims)


def nanmean(
    x: Array, axis: object = None, dtype: object = None, *, keepdims: Any = False, **rest: Any
) -> Any:
    """As `numpy.nanmean`."""
    refuse_keywords("nanmean", rest)
    kept, known = _numbers(inexact(x, dtype), 0)
    return reduction.sum(kept, axis, keepdims=keepdims) / _count(known, kept, axis, keepdims)


def _count(known: Any, x: Array, axis: Any, keepdims: Any) -> Any:
    return astype(reduction.sum(known, axis, keepdims=keepdims), np.real(x).dtype)


def nanmax(x: object, axis: object = None, *, keepdims: object = False, **rest: Any) -> Any:
    """As `numpy.nanmax`; entries that tie share the derivative equally."""
    refuse_keywords("nanmax", rest)
    return _extreme(reduction.max, -np.inf, x, axis, keepdims)


def nanmin(x: object, axis: object = None, *, keepdims: object = False, **rest: Any) -> Any:
    """As `numpy.nanmin`; entries that tie share the derivative equally."""
    refuse_keywords("nanmin", rest)
    return _extreme(reduction.min, np.inf, x, axis, keepdims)


def _extreme(of: Any, instead: float, x: object, axis: Any, keepdims: Any) -> Any:
    kept, known = _numbers(x, instead)
    z = of(kept, axis, keepdims)
    if not differentiable(kept.dtype):
        return z
    return np.where(reduction.any(known, axis, keepdims), z, np.nan)


def nanvar(
    x: Array,
    axis: Axis = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: Any = False,
    **rest: Any,
) -> Any:
    """As `numpy.nanvar`."""
    refuse_keywords("nanvar", rest)
    x = _real_dtype("nanvar", x, dtype)
    if not differentiable(x.dtype):
        return np.var(x, axis, dtype, ddof=ddof, keepdims=keepdims)
    return np.square(_deviation(inexact(x, dtype), axis, ddof, keepdims))


def nanstd(
    x: Array,
    axis: Axis = None,
    dtype: Any = None,
    *,
    ddof: float = 0,
    keepdims: Any = False,
    **rest: Any,
) -> Any:
    """As `numpy.nanstd`; its derivative where all numbers are equal is 0."""
    refuse_keywords("nanstd", rest)
    x = _real_dtype("nanstd", x, dtype)
    if not differentiable(x.dtype):
        return np.std(x, axis, dtype, ddof=ddof, keepdims=keepdims)
    return _deviation(inexact(x, dtype), axis, ddof, keepdims)


def _real_dtype(name: str, x: object, dtype: np.dtype[Any]) -> Any:
    x = lift_fully(x)
    if dtype is not None and (np.dtype(dtype).kind != "f" or x.dtype.kind == "c"):
        raise fail(
            TypeError,
            f"{name}: expected a dtype for real entries to be worked out in, but got "
            f"{np.dtype(dtype)} for {x.type}; leave it out, or use astype before",
        )
    return x


def _deviation(x: Array, axis: object, ddof: float, keepdims: object) -> Any:
    kept, known = _numbers(x, 0)
    centered = mask(known, kept - nanmean(x, axis, keepdims=True))
    free = _count(known, kept, axis, keepdims) - ddof
    size = reduction.norm(centered, axis=axis, keepdims=keepdims)
    return size / np.sqrt(np.where(free > 0, free, np.nan))
