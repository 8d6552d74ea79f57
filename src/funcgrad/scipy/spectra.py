"""Spectral densities of `scipy.signal`: means over segments of a signal, which are transformed at once."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.signal as _scipy

from funcgrad.expr.registry import functions
from funcgrad.ops import fourier
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import composed, floating, unreplaced
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)


@_composed
def detrend(data: ArrayLike, axis: int = -1, type: str = "linear", bp: Any = 0, **_: object) -> Any:
    signal = np.moveaxis(floating("detrend", data), axis, 0)
    if type in ("constant", "c"):
        return np.moveaxis(signal - np.mean(signal, axis=0, keepdims=True), 0, axis)
    if type not in ("linear", "l"):
        raise value_error(f"detrend: expected 'linear' or 'constant', but got {type!r}")
    n = signal.shape[0]
    breaks = np.unique(np.concatenate([np.atleast_1d(bp), [0, n]]))
    parts = []
    for start, end in pairwise(breaks):
        length = int(end - start)
        line = np.stack([np.arange(1, length + 1) / length, np.ones(length)], axis=1)
        line, onto = [part.astype(signal.dtype) for part in (line, np.linalg.pinv(line))]
        flat = signal[int(start) : int(end)].reshape(length, -1)
        parts.append(flat - line @ (onto @ flat))
    return np.moveaxis(np.concatenate(parts).reshape(signal.shape), 0, axis)


@_composed
def csd(x: ArrayLike, y: ArrayLike, **options: Any) -> Any:
    a, b = (floating("csd", item) for item in (x, y))
    found = None
    if a.shape == b.shape and a.size and not holds_expr([*options.values()]):
        found = _density(a, b, x is y, **options)
    # What is refused, or warned of, is so by SciPy's own code.
    return functions["call_adopted"](_OWN_CSD, (x, y), options) if found is None else found


@_composed
def welch(x: ArrayLike, **options: object) -> Any:
    frequencies, density = csd(x, x, **options)
    return frequencies, np.real(density)


_OWN_CSD = unreplaced(_scipy.csd)


def _density(
    x: Array,
    y: Array,
    same: bool,
    fs: float = 1.0,
    window: Any = "hann",
    nperseg: float | None = None,
    noverlap: float | None = None,
    nfft: float | None = None,
    detrend: Any = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> Any:
    """The frequencies and the density of two signals of one shape; None where SciPy's code is to run."""
    x, y = (np.moveaxis(item, axis, -1) for item in (x, y))
    n = x.shape[-1]
    named = isinstance(window, str | tuple)
    # SciPy truncates counts that are floats.
    size = int(nperseg) if nperseg is not None else 256 if named else len(window)
    if not 1 <= size <= n:
        return None
    weights = _scipy.get_window(window, size) if named else np.asarray(window)
    points = size if nfft is None else int(nfft)
    overlap = size // 2 if noverlap is None else int(noverlap)
    onesided = return_onesided and x.dtype.kind != "c"
    known = average in ("mean", "median") and scaling in ("density", "spectrum")
    plain = detrend in (False, None, "constant", "linear") and weights.shape == (size,)
    if not (known and plain and points >= size > overlap) or (onesided and y.dtype.kind == "c"):
        return None
    wide = np.result_type(x.dtype, y.dtype, np.float64)
    step = size - overlap
    places = np.arange((n - overlap) // step)[:, None] * step + np.arange(size)

    def transformed(signal: Array) -> Any:
        parts = signal.astype(wide)[..., places]
        parts = _DETRENDED[detrend](parts) * np.conj(weights)
        return (fourier.rfft if onesided else fourier.fft)(parts, points)

    first = transformed(x)
    product = np.conj(first) * (first if same else transformed(y))
    power = fs * np.sum(abs(weights) ** 2) if scaling == "density" else abs(np.sum(weights)) ** 2
    factor = np.full(product.shape[-1], 1 / power)
    if onesided:
        factor[1 : -1 if points % 2 == 0 else None] *= 2
    product = product * factor
    found = _averaged(np.real(product) if same else product, average)
    narrow = np.result_type(x.dtype, y.dtype, np.complex64)
    found = found.astype(np.zeros(0, narrow).real.dtype if same else narrow)
    frequencies = np.fft.rfftfreq if onesided else np.fft.fftfreq
    return frequencies(points, 1 / fs), np.moveaxis(found, -1, axis)


_DETRENDED: dict[Any, Callable[[Array], Any]] = {
    False: lambda parts: parts,
    None: lambda parts: parts,
    "constant": lambda parts: parts - np.mean(parts, axis=-1, keepdims=True),
    "linear": lambda parts: detrend(parts),
}


def _averaged(densities: Array, average: str) -> Any:
    """The mean of those of segments, along the last axis but one, or the median without its bias."""
    count = densities.shape[-2]
    if average == "mean" or count == 1:
        return np.mean(densities, axis=-2)
    odd = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    bias = 1 + np.sum(1 / (odd + 1) - 1 / odd)
    if densities.dtype.kind != "c":
        return np.median(densities, axis=-2) / bias
    parts = [np.median(part, axis=-2) for part in (np.real(densities), np.imag(densities))]
    return (parts[0] + 1j * parts[1]) / bias
