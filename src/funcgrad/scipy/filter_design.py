"""Design of filters of `scipy.signal`: groups of roots, frequencies of ripples and orders are choices."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from types import ModuleType
from typing import Any

import numpy as np
import scipy.signal as _scipy
from scipy.optimize import fminbound
from scipy.signal import _fir_filter_design

from funcgrad.expr import concrete
from funcgrad.expr.registry import functions
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import (
    composed,
    floating,
    number,
    real,
    taken,
    with_value,
    without_derivative,
)
from funcgrad.source import fail, type_error, value_error
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy, host=True)

# -- groups of roots -----------------------------------------------------------------------------------
_CHOICES = {
    **dict.fromkeys(("max", "maximum"), np.max),
    **dict.fromkeys(("min", "minimum"), np.min),
    **dict.fromkeys(("avg", "mean"), None),
}


@lru_cache(maxsize=64)
def _grouping(tol: float, rtype: str) -> Callable[[Array], Any]:
    """For each root the number of its group, or -1 of one that its group does not need."""

    def group(p: Array) -> Any:
        found, left, count = np.full(len(p), -1), np.ones(len(p), bool), 0
        choose: Any = _CHOICES[rtype]
        for i in range(len(p)):
            if not left[i]:
                continue
            near = np.flatnonzero(left & (np.abs(p - p[i]) <= tol))
            left[near] = False
            chosen = (
                near if choose is None else near[np.flatnonzero(p[near] == choose(p[near]))[:1]]
            )
            found[chosen] = count
            count += 1
        return np.concatenate([found, np.bincount(_all_groups(p, tol), minlength=count)])

    return group


def _all_groups(p: Array, tol: float) -> Any:
    found, count = np.full(len(p), -1), 0
    for i in range(len(p)):
        if found[i] < 0:
            found[(found < 0) & (np.abs(p - p[i]) <= tol)] = count
            count += 1
    return found


@_composed
def unique_roots(p: ArrayLike, tol: float = 1e-3, rtype: str = "min") -> Any:
    """As `scipy.signal.unique_roots`: which roots are one is read from the
    values.
    """
    roots = number("unique_roots", p)
    if rtype not in _CHOICES:
        raise value_error(
            f"unique_roots: expected rtype among {', '.join(_CHOICES)}, but got {rtype!r}",
        )
    answer = concrete(lift_fully(roots), "unique_roots", _grouping(float(tol), rtype))
    size = roots.shape[0]
    places, counts = answer[:size], answer[size:]
    found = [np.mean(roots[np.flatnonzero(places == k)]) for k in range(len(counts))]
    return np.stack(found) if found else roots, counts


# -- filters with equal ripples ------------------------------------------------------------------------
def _grid(
    count: int, edges: Array, bands: int, density: int, signed: bool, odd: bool
) -> tuple[Any, Any]:
    """The frequencies at which SciPy's exchange looks for ripples, and the band of each."""
    step = 0.5 / (density * count)
    found, band = [], []
    for k in range(bands):
        first, last = edges[2 * k], edges[2 * k + 1]
        start = step if signed and k == 0 and first < step else first
        points = [start]
        while points[-1] + step <= last:
            points.append(points[-1] + step)
        points = [*points[:-1], last] if len(points) > 1 else [start, last]
        found += points
        band += [k] * len(points)
    if signed == odd and found[-1] > 0.5 - step:
        found, band = found[:-1], band[:-1]
    return np.array(found), np.array(band)


def _amplitudes(taps: int, signed: bool, f: Array) -> Any:
    """The real amplitude at frequencies, by the first half of the coefficients."""
    half = (taps + 1) // 2 if not signed else taps // 2
    places = (taps - 1) / 2 - np.arange(half)
    angle = 2 * np.pi * f[:, None] * places
    weight = np.where(places == 0, 1.0, 2.0)
    return weight * (np.sin(angle) if signed else np.cos(angle))


def _ripples(h: Array, desired: Array, weight: Array, form: tuple[Any, ...]) -> Any:
    """The frequencies, the bands and the signs of the greatest errors, which alternate."""
    taps, edges, kind, density, rate = form
    signed, odd = kind != "bandpass", bool(taps % 2)
    count = taps // 2 + (1 if odd and not signed else 0)
    f, band = _grid(count, np.asarray(edges) / rate, len(desired), density, signed, odd)
    wanted, scale = _targets(f, band, desired, weight, kind)
    half = h[: taps // 2] if signed else h[: (taps + 1) // 2]
    error = scale * (wanted - _amplitudes(taps, signed, f) @ half)
    size = np.abs(error)
    chosen: list[int] = []
    for i in np.flatnonzero(size >= np.max(size) * (1 - 1e-6)):
        if chosen and np.sign(error[i]) == np.sign(error[chosen[-1]]):
            if size[i] > size[chosen[-1]]:
                chosen[-1] = int(i)
        else:
            chosen.append(int(i))
    if len(chosen) < count + 1:
        raise fail(
            np.linalg.LinAlgError,
            f"remez: expected {count + 1} ripples of one height, but got {len(chosen)}; the filter has no "
            "derivative",
        )
    chosen = chosen[: count + 1]
    return np.stack([f[chosen], band[chosen], np.sign(error[chosen])])


def _targets(f: Array, band: Array, desired: Array, weight: Array, kind: str) -> tuple[Any, Any]:
    """The desired amplitudes and the weights at frequencies."""
    wanted, scale = taken(desired, band), taken(weight, band)
    if kind == "differentiator":
        steep = wanted >= 0.0001
        return wanted * f, np.where(steep, scale / np.where(steep, f, 1.0), scale)
    return wanted, scale


@_composed
def remez(
    numtaps: int,
    bands: ArrayLike,
    desired: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    type: str = "bandpass",
    maxiter: int = 25,
    grid_density: int = 16,
    fs: float | None = None,
) -> Any:
    """As `scipy.signal.remez`, in the desired amplitudes and the weights.

    The frequencies of the ripples are constants: SciPy looks for them on a
    grid.
    """
    if holds_expr([bands, fs]):
        raise type_error(
            "remez: expected plain bands, since SciPy looks for the ripples on a grid between them, but got "
            "traced ones; the desired amplitudes and the weights have derivatives",
        )
    goals = real("remez", desired)
    weights = np.ones(goals.shape[0]) if weight is None else real("remez", weight)
    rate = 1.0 if fs is None else float(fs)
    options = {"type": type, "maxiter": maxiter, "grid_density": grid_density, "fs": rate}
    form = (int(numtaps), np.asarray(bands, float), type, grid_density, rate)

    def own(desired: Array, weight: Array) -> Any:
        return _scipy.remez(numtaps, bands, desired, weight=weight, **options)

    signed = type != "bandpass"
    count = numtaps // 2 + (1 if numtaps % 2 and not signed else 0)
    amplitudes: Any = lift_fully(goals)
    sizes: Any = lift_fully(weights)
    vector = ArrayType((int(numtaps),), np.dtype(float))
    h = without_derivative("remez", own, vector, amplitudes, sizes)
    table = ArrayType((3, count + 1), np.dtype(float))
    ripples = lambda h, desired, weight: _ripples(h, desired, weight, form)  # noqa: E731
    found = without_derivative("ripples", ripples, table, h, amplitudes, sizes)
    f, band, sign = found[0], found[1].astype(int), found[2]
    wanted, scale = _targets(f, band, amplitudes, sizes, type)
    basis = _amplitudes(numtaps, signed, f)
    # The error at each ripple is the height, with its sign, over the weight.
    matrix = np.concatenate([basis, (sign / scale)[:, None]], axis=1)
    half = np.linalg.solve(matrix, wanted)[:-1]
    middle = [np.zeros(1)] if numtaps % 2 and signed else []
    other = half[: numtaps // 2][::-1]
    return with_value(h, np.concatenate([half, *middle, -other if signed else other]))


# -- orders of filters ---------------------------------------------------------------------------------
def natural_frequency(
    stopb: Array, passb: Array, gpass: Array, gstop: Array, filter_type: int, kind: str, **_: object
) -> tuple[Any, Any]:
    """As SciPy's function for `buttord` and the like; of a band stop it searches the edges of the passbands.

    The search ends where both edges of the stopband ask for the same order, or at a given edge.
    """
    stop, edges = floating("buttord", stopb), floating("buttord", passb)
    if filter_type == 3:
        stop, edges = real("buttord", stop), real("buttord", edges)
        product = stop[0] * stop[1]
        moved = np.stack(
            [np.maximum(edges[0], product / edges[1]), np.minimum(edges[1], product / edges[0])]
        )
        search, out = partial(_searched, kind), lift_fully(moved).type
        own = without_derivative("fminbound", search, out, stop, edges, gpass, gstop)
        edges = with_value(own, moved)
    if filter_type in (1, 2):
        ratio = stop / edges if filter_type == 1 else edges / stop
    else:
        ratio = stop * (edges[0] - edges[1]) / (stop**2 - edges[0] * edges[1])
        ratio = ratio if filter_type == 3 else 1 / ratio
    return np.min(np.abs(ratio)), edges


def _searched(kind: str, stop: Array, edges: Array, gpass: Array, gstop: Array) -> Any:
    """The edges of the passbands, as SciPy finds them."""
    ends = [(edges[0], stop[0] - 1e-12), (stop[1] + 1e-12, edges[1])]
    return np.array(
        [
            fminbound(_scipy.band_stop_obj, *end, (k, edges, stop, gpass, gstop, kind), disp=0)
            for k, end in enumerate(ends)
        ]
    )


# -- filters of minimum phase ---------------------------------------------------------------------------
def minimum_phase_of(mag: Any, xp: ModuleType) -> Any:
    """SciPy's filter of minimum phase with these magnitudes.

    The least one, a square root of 0, stays as it is, as those that differ from it by rounding do: there the
    slope of the root has no bound.
    """
    made: Any = _fir_filter_design._dhtm
    if holds_expr([mag]):
        mag = np.where(mag <= _LEAST * np.max(mag), stop_gradient(mag), mag)
        size = mag.shape[0]
        sign = np.sign(np.fft.fftfreq(size))
        sign[size // 2] = 0.0
        phase = np.fft.fft(sign * np.fft.ifft(np.log(mag)))
        return np.real(np.fft.ifft(mag * np.exp(phase)))
    return made(mag, xp)


_LEAST = 1e-7
"""Times the greatest magnitude: the square root of some units of rounding."""


# -- transfer functions --------------------------------------------------------------------------------
@_composed
def tf2ss(num: ArrayLike, den: ArrayLike) -> Any:
    """As `scipy.signal.tf2ss`; a numerator that begins with 0, which SciPy cuts
    off, keeps its slope."""
    scale, below = functions["call_adopted"](_scipy.normalize, ([1.0], den), {})
    width = len(below)
    top = _of_width(np.atleast_2d(number("tf2ss", num)), width) * scale
    direct = top[:, :1]
    if width == 1:
        return np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((len(top), 1)), direct
    state = np.concatenate([-below[None, 1:], np.eye(width - 2, width - 1)])
    return state, np.eye(width - 1, 1), top[:, 1:] - direct * below[1:], direct


def _of_width(rows: Array, width: int) -> Any:
    """Numerators with as many coefficients as the denominator, after others that are 0."""
    over = rows.shape[1] - width
    if over > 0 and np.any(np.abs(rows[:, :over]) > 1e-14):
        # In SciPy's words: it is no refusal of a traced value, where all paths of a batch run.
        raise ValueError("Improper transfer function. `num` is longer than `den`.")
    return rows[:, over:] if over > 0 else np.pad(rows, ((0, 0), (-over, 0)))
