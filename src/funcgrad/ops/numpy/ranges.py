"""Evenly spaced numbers between two ends, which may be traced: `linspace`, `logspace`, `geomspace`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from funcgrad.ops.base.op import lift_all, lift_fully
from funcgrad.ops.shape import astype, concatenate, expand_dims, moveaxis, reshape
from funcgrad.source import value_error
from funcgrad.typing import DTypeLike


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Any:
    """As `numpy.linspace`."""
    count = _count("linspace", num)
    start, stop, dt = _ends(start, stop)
    intervals = count - 1 if endpoint else count
    distance = stop - start
    places = np.arange(count, dtype=dt).reshape((-1,) + (1,) * distance.ndim)
    step: Any = np.nan
    if intervals > 0:
        step = distance / intervals
        # A step that underflows is 0 where the distance is not.
        steps = np.where(step == 0, places / intervals * distance, places * step)
    else:
        steps = places * distance
    values = steps + start
    if endpoint and count > 1:
        last = np.broadcast_to(stop, values.shape[1:])
        values = concatenate([values[:-1], expand_dims(last, 0)])
    values = values if axis == 0 else moveaxis(values, 0, axis)
    wanted = dt if dtype is None else np.dtype(dtype)
    values = np.floor(values) if wanted.kind in "iu" else values
    values = astype(values, wanted)
    return (values, step) if retstep else values


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """As `numpy.logspace`."""
    if not isinstance(base, float | int) and np.ndim(base):
        start, stop, base = lift_all((start, stop, base))
        ndim = max(start.ndim, stop.ndim, base.ndim)
        start, stop, base = [
            reshape(x, (1,) * (ndim - x.ndim) + x.shape) for x in (start, stop, base)
        ]
        base = expand_dims(base, axis)
    exponents = linspace(start, stop, num, endpoint, axis=axis)
    values = np.power(base, exponents)
    return values if dtype is None else astype(values, dtype)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """As `numpy.geomspace`; an end that is 0 gives NaN or 0, and is no error."""
    count = _count("geomspace", num)
    start, stop, dt = _ends(start, stop)
    dt = np.result_type(dt, np.zeros((), dtype))
    start, stop = astype(start, dt), astype(stop, dt)
    sign = np.sign(start)
    first, last = start / sign, stop / sign
    values = logspace(np.log10(first), np.log10(last), count, endpoint)
    inner = values[1:-1] if endpoint and count > 1 else values[1:]
    parts = [np.broadcast_to(first, values.shape[1:])[None], inner]
    if endpoint and count > 1:
        parts.append(np.broadcast_to(last, values.shape[1:])[None])
    values = concatenate(parts)[:count] * sign
    values = values if axis == 0 else moveaxis(values, 0, axis)
    return astype(values, dt if dtype is None else dtype)


def _count(name: str, num: int) -> int:
    count = operator.index(num)
    if count < 0:
        raise value_error(f"{name}: expected a number of samples of 0 or more, but got {count}")
    return count


def _ends(start: Any, stop: Any) -> tuple[Any, Any, np.dtype[Any]]:
    """The ends in the dtype of the result, to which Python's numbers give way."""
    weak = (int, float, complex)
    kinds = [type(x)() if type(x) in weak else lift_fully(x).dtype for x in (start, stop)]
    dtype = np.result_type(*kinds, 0.0)
    return (*[astype(x, dtype) for x in lift_all((start, stop))], dtype)
