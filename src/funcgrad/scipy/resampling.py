"""`scipy.signal.upfirdn`: a signal with zeros between its entries is filtered, and every so many is kept.

`scipy.signal.resample_poly` and `decimate` are made of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.signal as _scipy

from funcgrad.ops.convolution import convolve_op
from funcgrad.scipy.composition import composed, floating, lifted_beside
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)


def _extended(rows: Array, reach: int, mode: str, cval: float) -> Any:
    """Rows with as many entries more at both ends, by a mode of `scipy.signal.upfirdn`."""
    margins, count = [(0, 0)] * (rows.ndim - 1) + [(reach, reach)], rows.shape[-1]
    if mode == "constant":
        return np.pad(lifted_beside(rows, cval), margins, constant_values=cval)
    if mode in ("edge", "reflect", "symmetric", "wrap"):
        return np.pad(rows, margins, mode)  # type: ignore[call-overload]
    if mode == "antireflect":
        return np.pad(rows, margins, "reflect", reflect_type="odd")
    if mode == "antisymmetric":
        turns = (np.arange(-reach, count + reach) // count) % 2
        signs = (1 - 2 * turns).astype(rows.dtype)
        return np.pad(rows, margins, "symmetric") * signs
    if mode not in ("line", "smooth"):
        raise value_error(
            "upfirdn: expected a mode among 'constant', 'edge', 'reflect', 'symmetric', 'wrap', "
            f"'antireflect', 'antisymmetric', 'line' and 'smooth', but got {mode!r}",
        )
    first, last = rows[..., :1], rows[..., -1:]
    if mode == "line":
        slopes = [(last - first) / (count - 1)] * 2
    else:
        # SciPy reads memory beside a single entry.
        slopes = (
            [rows[..., 1:2] - first, last - rows[..., -2:-1]] if count > 1 else [0.0 * first] * 2
        )
    steps = np.arange(1, reach + 1).astype(rows.dtype)
    parts = [first - steps[::-1] * slopes[0], rows, last + steps * slopes[1]]
    return np.concatenate(parts, axis=-1)


@_hosted
def upfirdn(
    h: ArrayLike,
    x: ArrayLike,
    up: int = 1,
    down: int = 1,
    axis: int = -1,
    mode: str = "constant",
    cval: float = 0,
) -> Any:
    """As `scipy.signal.upfirdn`, in the filter and the signal."""
    taps, signal = floating("upfirdn", h), floating("upfirdn", x)
    if taps.ndim != 1 or not signal.ndim:
        raise value_error(
            f"upfirdn: expected a vector and a signal, but got {taps.shape} and {signal.shape}",
        )
    rows = np.moveaxis(signal, axis, -1)
    # y[k] is the sum of h[k*down - i*up] * x[i] over i.
    count = ((rows.shape[-1] - 1) * up + taps.shape[0] - 1) // down + 1
    reach = -(-taps.shape[0] // up)
    around = _extended(rows, reach, mode, cval)
    filled = np.pad(taps, (0, reach * up - taps.shape[0]))
    phases = up // math.gcd(up, down) * (down // math.gcd(up, down))
    by = _by_phases if phases <= _FEW else _by_places
    return np.moveaxis(by(around, filled, up, down, count), -1, axis)


_FEW = 32
"""The pairs of a phase of the filter and one of the signal up to which each pair is convolved."""


def _by_places(around: Array, taps: Array, up: int, down: int, count: int) -> Any:
    """Each entry as a sum of products."""
    reach = taps.shape[0] // up
    places = np.arange(count) * down
    i = (places // up)[:, None] - np.arange(reach)
    return np.sum(around[..., i + reach] * taps[places[:, None] - i * up], axis=-1)


def _by_phases(around: Array, taps: Array, up: int, down: int, count: int) -> Any:
    """The entries first + j*period, for each first, by convolutions of every step-th entry of the signal.

    In the sum over r of around[start + j*step - r] * taps[phase + r*up], r is s and a multiple of step.
    """
    reach = taps.shape[0] // up
    period, step = up // math.gcd(up, down), down // math.gcd(up, down)
    found = []
    for first in range(min(period, count)):
        start, phase = divmod(first * down, up)
        length = -(-(count - first) // period)
        total: Any = 0.0
        for s in range(min(step, reach)):
            before, place = divmod(start + reach - s, step)[::-1]
            part = around[..., before::step]
            total = total + _convolved(part, taps[phase + s * up :: step * up], place, length)
        found.append(total)
    if len(found) == 1:
        return found[0]
    longest = found[0].shape[-1]
    rows = [
        np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, longest - part.shape[-1])]) for part in found
    ]
    joined = np.stack(rows, axis=-1)
    return joined.reshape(*joined.shape[:-2], longest * len(found))[..., :count]


def _convolved(rows: Array, taps: Array, first: int, count: int) -> Any:
    """The entries of the convolution of each row from this one on."""
    dtype = np.result_type(rows.dtype, taps.dtype)
    lines = np.reshape(rows, (-1, rows.shape[-1])).astype(dtype)
    weights = np.broadcast_to(taps.astype(dtype), (lines.shape[0], taps.shape[0]))
    found = convolve_op(lines, weights, kept=(first, count))
    return np.reshape(found, (*rows.shape[:-1], count))
