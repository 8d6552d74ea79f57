"""``scipy.signal`` for traced values: convolutions, correlations and linear filters.

Convolutions are those of NumPy along one axis, sums of shifted copies or products of Fourier transforms on
several; `lfilter` is an operation, and ranks and splines are those of `funcgrad.scipy.ndimage`. All other
names lead to SciPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any, ParamSpec

import numpy as np
import scipy.signal as _scipy
from scipy.fft import next_fast_len
from scipy.special import exprel

from funcgrad.arrays.values import by_value
from funcgrad.expr.concrete import known_value
from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy import ndimage
from funcgrad.scipy.composition import (
    composed,
    floating,
    lifted_beside,
    nondifferentiable,
    real,
    unreplaced,
    with_phases,
    with_value,
)
from funcgrad.scipy.filter_design import minimum_phase_of as minimum_phase_of
from funcgrad.scipy.filter_design import natural_frequency as natural_frequency
from funcgrad.scipy.filter_design import remez as remez
from funcgrad.scipy.filter_design import tf2ss as tf2ss
from funcgrad.scipy.filter_design import unique_roots as unique_roots
from funcgrad.scipy.linear_filter import linear_filter_op
from funcgrad.scipy.ndimage.rank_filters import ranked
from funcgrad.scipy.ndimage.sampling import spline_neighbors
from funcgrad.scipy.peaks import find_peaks as find_peaks
from funcgrad.scipy.peaks import peak_prominences as peak_prominences
from funcgrad.scipy.peaks import peak_widths as peak_widths
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.scipy.resampling import upfirdn as upfirdn
from funcgrad.scipy.spectra import csd as csd
from funcgrad.scipy.spectra import detrend as detrend
from funcgrad.scipy.spectra import welch as welch
from funcgrad.scipy.spline_filters import backward_conditions as backward_conditions
from funcgrad.scipy.spline_filters import first_order_conditions as first_order_conditions
from funcgrad.scipy.spline_filters import forward_conditions as forward_conditions
from funcgrad.source import type_error, value_error, with_name
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)


# -- convolutions ------------------------------------------------------------------------------------
def _part(full: Array, mode: str, shapes: Sequence[tuple[int, ...]], axes: Sequence[int]) -> Any:
    """The part of a full convolution that ``mode`` names."""
    if mode == "full":
        return full
    first, second = shapes
    cut: list[Any] = [slice(None)] * full.ndim
    # Mode 'same' has the shape of the first operand, also where the second broadcasts it.
    for axis in range(full.ndim) if mode == "same" else axes:
        width = first[axis] if mode == "same" else first[axis] - second[axis] + 1
        start = (full.shape[axis] - width) // 2
        cut[axis] = slice(start, start + width)
    return full[tuple(cut)]


_P = ParamSpec("_P")


def _operands(
    who: str, in1: ArrayLike, in2: ArrayLike, mode: str, axes: Any = None
) -> tuple[Any, Any, list[int]]:
    a, b = floating(who, in1), floating(who, in2)
    if a.ndim != b.ndim:
        raise value_error(
            f"{who}: expected arrays with the same number of axes, but got {a.shape} and {b.shape}",
        )
    if mode not in ("full", "same", "valid"):
        raise value_error(f"{who}: expected mode 'full', 'same' or 'valid', but got {mode!r}")
    chosen = range(a.ndim) if axes is None else np.atleast_1d(axes)
    return a, b, [int(axis) % a.ndim for axis in chosen]


def _ordered(who: str, a: Array, b: Array, mode: str, axes: Sequence[int]) -> bool:
    """Whether the operands change places: in mode 'valid' the larger comes first."""
    if mode != "valid" or all([a.shape[k] >= b.shape[k] for k in axes]):
        return False
    if all([b.shape[k] >= a.shape[k] for k in axes]):
        return True
    raise value_error(
        f"{who}: expected one operand at least as large as the other in every dimension for mode "
        f"'valid', but got {a.shape} and {b.shape}",
    )


def _of_integers(convolve: Callable[_P, Any]) -> Callable[_P, Any]:
    """A function of two arrays, ``in1`` and ``in2``; of integers and truth values SciPy's, which is exact."""
    own = getattr(_scipy, convolve.__name__)

    @wraps(convolve)
    def function(*args: _P.args, **kwargs: _P.kwargs) -> Any:
        arrays: Any = [kwargs[name] for name in ("in1", "in2")]
        if np.result_type(*[lift_fully(item).dtype for item in arrays]).kind not in "biu":
            return convolve(*args, **kwargs)
        traced: Any = {name: value for name, value in kwargs.items() if holds_expr(value)}

        def run(*values: Array) -> Any:
            numbers: Any = [value[()] for value in values]  # SciPy takes no array as ``fillvalue``
            return own(**kwargs | dict(zip(traced, numbers, strict=True)))

        return nondifferentiable(own.__name__, run, *traced.values())

    return function


def _directly(
    a: Array, b: Array, mode: str, shapes: Sequence[tuple[int, ...]], axes: Sequence[int]
) -> Any:
    """The part of the convolution over all axes that ``mode`` names: a sum of shifted copies."""
    if mode == "valid":
        return _within(a, b)
    if a.ndim == 1:
        return _part(np.convolve(a, b), mode, shapes, axes)
    if math.prod(b.shape) > math.prod(a.shape):
        a, b = b, a
    shape = [n + m - 1 for n, m in zip(a.shape, b.shape, strict=True)]
    total: Any = lift_fully(np.zeros(shape, np.result_type(a.dtype, b.dtype)))
    for index in np.ndindex(*b.shape):
        place = tuple([slice(k, k + n) for k, n in zip(index, a.shape, strict=True)])
        total = total.at[place].add(a * b[index])
    return _part(total, mode, shapes, axes)


def _within(a: Array, b: Array) -> Any:
    """The convolution where b does not reach beyond a."""
    if a.ndim == 1:
        return np.convolve(a, b, "valid")
    counts = [n - m + 1 for n, m in zip(a.shape, b.shape, strict=True)]
    kernel = np.flip(b)
    total: Any = np.zeros(counts, np.result_type(a.dtype, b.dtype))
    for index in np.ndindex(*b.shape):
        place = tuple([slice(k, k + n) for k, n in zip(index, counts, strict=True)])
        total = total + a[place] * kernel[index]
    return total


@_composed
@_of_integers
def convolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto") -> Any:
    """As `scipy.signal.convolve`; ``method`` 'auto' is 'direct' for one axis or
    small kernels.
    """
    a, b, axes = _operands("convolve", in1, in2, mode)
    if a.ndim == 0:
        return a * b
    if _ordered("convolve", a, b, mode, axes):
        a, b = b, a
    small = min(math.prod(a.shape), math.prod(b.shape)) <= 64 or a.ndim == 1
    if method == "fft" or (method == "auto" and not small):
        return fftconvolve(a, b, mode)
    return _directly(a, b, mode, (a.shape, b.shape), axes)


@_composed
def fftconvolve(in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: object = None) -> Any:
    a, b, places = _operands("fftconvolve", in1, in2, mode, axes)
    if a.ndim == 0:
        return a * b
    if math.prod(a.shape) == 0 or math.prod(b.shape) == 0:
        return np.array([])
    if _ordered("fftconvolve", a, b, mode, places):
        a, b = b, a
    is_complex = a.dtype.kind == "c" or b.dtype.kind == "c"
    lengths = [a.shape[k] + b.shape[k] - 1 for k in places]
    shape = [next_fast_len(n, not is_complex) for n in lengths]
    if is_complex:
        padded: Any = np.fft.ifftn(
            np.fft.fftn(a, shape, axes=places) * np.fft.fftn(b, shape, axes=places), axes=places
        )
    else:
        padded = np.fft.irfftn(
            np.fft.rfftn(a, shape, axes=places) * np.fft.rfftn(b, shape, axes=places),
            shape,
            axes=places,
        )
    cut = [slice(None)] * padded.ndim
    for k, n in zip(places, lengths, strict=True):
        cut[k] = slice(n)
    full = padded[tuple(cut)]
    return _part(full, mode, (a.shape, b.shape), places)


oaconvolve = fftconvolve


def _reversed(x: Array) -> Any:
    return np.conj(np.flip(x))


@_composed
@_of_integers
def correlate(in1: ArrayLike, in2: ArrayLike, mode: str = "full", method: str = "auto") -> Any:
    a, b, axes = _operands("correlate", in1, in2, mode)
    if a.ndim == 0:
        return a * np.conj(b)
    if _ordered("correlate", a, b, mode, axes):
        return _reversed(correlate(b, a, mode, method))
    return convolve(a, _reversed(b), mode, method)


_BOUNDARIES = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}


@_composed
@_hosted
@_of_integers
def convolve2d(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", boundary: str = "fill", fillvalue: float = 0
) -> Any:
    a, b, axes = _operands("convolve2d", in1, in2, mode)
    if a.ndim != 2:
        raise value_error(f"convolve2d: expected two matrices, but got {a.shape} and {b.shape}")
    if boundary not in _BOUNDARIES:
        raise value_error(
            f"convolve2d: expected boundary 'fill', 'wrap' or 'symm', but got {boundary!r}",
        )
    if _ordered("convolve2d", a, b, mode, axes):
        a, b = b, a
    if mode == "valid" or (boundary == "fill" and not holds_expr(fillvalue) and not fillvalue):
        return _directly(a, b, mode, (a.shape, b.shape), axes)
    # The full convolution reads as many rows and columns outside as the kernel is wide.
    margins = [(n - 1, n - 1) for n in b.shape]
    options = {"constant_values": fillvalue} if boundary == "fill" else {}
    extended = lifted_beside(a, fillvalue)
    around: Any = np.pad(extended, margins, _BOUNDARIES[boundary], **options)  # type: ignore[call-overload]
    full = _within(around, b)
    return _part(full, mode, (a.shape, b.shape), axes)


@_composed
@_hosted
@_of_integers
def correlate2d(in1: ArrayLike, in2: ArrayLike, mode: str = "full", **edges: Any) -> Any:
    a, b, axes = _operands("correlate2d", in1, in2, mode)
    if _ordered("correlate2d", a, b, mode, axes):
        # SciPy conjugates the smaller operand even where it is the first.
        return np.flip(correlate2d(b, a, mode, **edges))
    if mode != "same":
        return convolve2d(a, _reversed(b), mode, **edges)
    full = convolve2d(a, _reversed(b), "full", **edges)
    # SciPy's center of a kernel with an even size is not that of its convolution.
    return full[tuple([slice(m // 2, m // 2 + n) for n, m in zip(a.shape, b.shape, strict=True)])]


# -- waveforms whose formula for equal frequencies has no slope in one of them --------------------
_SCIPYS_PHASE = unreplaced(_scipy._waveforms._chirp_phase)


def chirp_phase(
    t: ArrayLike, f0: Array, t1: Array, f1: Array, method: str = "linear", vertex_zero: bool = True
) -> Any:
    """As SciPy's ``_chirp_phase``, also for two frequencies that are equal."""
    bends = method[:3] in ("lo", "log", "hyp")
    if not bends or not holds_expr([f0, f1]) or f0 != f1:
        given = (t, f0, t1, f1, method, vertex_zero)
        return functions["call_adopted"](_SCIPYS_PHASE, given, {})
    time = real("chirp", t)
    turns = 2 * math.pi * f0 * time
    if method[0] == "l":
        return turns * exprel(np.log(f1 / f0) * time / t1)
    return turns / exprel(np.log1p((f0 - f1) * time / (f1 * t1)))


# -- linear filters -----------------------------------------------------------------------------------
def _monic(who: str, b: ArrayLike, a: ArrayLike) -> tuple[Any, Any]:
    """The coefficients of a filter divided by a[0], of one length.

    SciPy does not divide where a[0] is 1, and would lose the derivative in it.
    """
    top, bottom = np.atleast_1d(floating(who, b)), np.atleast_1d(floating(who, a))
    order = max(top.shape[0], bottom.shape[0])
    parts = [np.pad(part / bottom[0], (0, order - part.shape[0])) for part in (top, bottom)]
    return parts[0], parts[1]


@_composed
def lfilter_zi(b: ArrayLike, a: ArrayLike) -> Any:
    """As `scipy.signal.lfilter_zi`, in the coefficients."""
    top, bottom = _monic("lfilter_zi", b, a if holds_expr(a) else np.trim_zeros(np.asarray(a), "f"))
    steps = top[1:] - bottom[1:] * top[0]
    return np.cumsum(bottom[:-1]) * (steps.sum() / bottom.sum()) - (np.cumsum(steps) - steps)


@_composed
def lfiltic(b: ArrayLike, a: ArrayLike, y: ArrayLike, x: ArrayLike | None = None) -> Any:
    """As `scipy.signal.lfiltic`, in the coefficients and the initial values."""
    top, bottom = _monic("lfiltic", b, a)
    order = bottom.shape[0] - 1
    before = [
        np.pad(np.atleast_1d(floating("lfiltic", item)), (0, order))[:order]
        for item in (np.zeros(0) if x is None else x, y)
    ]
    if not order:
        return np.zeros(0)
    weights = [np.stack([np.pad(c[m + 1 :], (0, m)) for m in range(order)]) for c in (top, bottom)]
    return weights[0] @ before[0] - weights[1] @ before[1]


@_composed
def lfilter(
    b: ArrayLike, a: ArrayLike, x: ArrayLike, axis: int = -1, zi: ArrayLike | None = None
) -> Any:
    """As `scipy.signal.lfilter`, in the coefficients, the signal and the initial
    state.
    """
    signal = floating("lfilter", x)
    top, bottom = [np.atleast_1d(floating("lfilter", c)) for c in (b, a)]
    dtype = np.result_type(top.dtype, bottom.dtype, signal.dtype)
    if known_value(lift_fully(bottom[0])) == 0:
        raise ValueError("lfilter: expected a[0] other than 0, by which SciPy divides, but got 0")
    # SciPy does not divide where a[0] is 1, and would lose the derivative in it.
    top, bottom = [(c / bottom[0]).astype(dtype) for c in (top, bottom)]
    rows = np.moveaxis(signal, axis, 0).astype(dtype)
    order = max(top.shape[0], bottom.shape[0])
    shape = (order - 1, *rows.shape[1:])
    if zi is None:
        found = linear_filter_op(top, bottom, rows, np.zeros(shape, dtype))
        return np.moveaxis(found, 0, axis)
    start = np.broadcast_to(np.moveaxis(floating("lfilter", zi), axis, 0), shape).astype(dtype)
    # The outputs of zeros behind the signal are those of the last state.
    rest = linear_filter_op(top, bottom, np.concatenate([rows, np.zeros(shape, dtype)]), start)
    filtered, last = rest[: len(rows)], rest[len(rows) :]
    state = linear_filter_op(
        bottom, np.ones(1, dtype), last, np.zeros_like(last[: len(bottom) - 1])
    )
    return np.moveaxis(filtered, 0, axis), np.moveaxis(state, 0, axis)


@_composed
def sosfilt(sos: ArrayLike, x: ArrayLike, axis: int = -1, zi: ArrayLike | None = None) -> Any:
    """As `scipy.signal.sosfilt`: the second-order sections one after the other."""
    sections = np.atleast_2d(floating("sosfilt", sos))
    starts = None if zi is None else floating("sosfilt", zi)
    states: list[Any] = []
    for k in range(sections.shape[0]):
        start = None if starts is None else starts[k]
        found = lfilter(sections[k, :3], sections[k, 3:], x, axis, start)
        x, state = (found, None) if start is None else found
        states.append(state)
    return x if zi is None else (x, np.stack(states))


# -- ranks, rates and splines ------------------------------------------------------------------------
def _median(own: Callable[..., Any], input: ArrayLike, kernel_size: int | Sequence[int]) -> Any:
    if not np.all(np.asarray(kernel_size) % 2):
        raise value_error(
            f"{own.__name__}: expected odd sizes of the kernel, but got {kernel_size}",
        )
    image = np.atleast_1d(floating(own.__name__, input))
    kernel = np.ones(np.broadcast_to(kernel_size, image.ndim), bool)
    options = None, "constant", 0.0, 0
    run = lambda image, _: own(image, kernel_size)  # noqa: E731
    return ranked(own.__name__, run, lambda n: n // 2, image, kernel, options)


@_hosted
def medfilt(volume: ArrayLike, kernel_size: int | Sequence[int] | None = None) -> Any:
    return _median(_scipy.medfilt, volume, 3 if kernel_size is None else kernel_size)


@_hosted
def medfilt2d(input: ArrayLike, kernel_size: int | Sequence[int] = 3) -> Any:
    return _median(_scipy.medfilt2d, input, kernel_size)


@_hosted
def order_filter(a: ArrayLike, domain: ArrayLike, rank: int) -> Any:
    return ndimage.rank_filter(a, rank, footprint=domain, mode="constant")


@_composed
def sepfir2d(input: ArrayLike, hrow: ArrayLike, hcol: ArrayLike) -> Any:
    rows = ndimage.convolve1d(floating("sepfir2d", input), hrow, 1)
    return ndimage.convolve1d(rows, hcol, 0)


def _evaluated(name: str, order: int) -> Any:
    def function(cj: ArrayLike, newx: ArrayLike, dx: Array, x0: Array) -> Any:
        coefficients, last = floating(name, cj), np.shape(cj)[0] - 1
        places = (floating(name, newx) - x0) / dx
        folded = np.abs(places) % (2.0 * last) if last else 0 * places
        first, weights = spline_neighbors(np.where(folded > last, 2 * last - folded, folded), order)
        # Beyond the ends, SciPy repeats the last coefficients.
        terms = [coefficients[np.clip(first + k, 0, last)] * w for k, w in enumerate(weights)]
        # A cubic spline has the dtype of its coefficients, and a quadratic one that of the places.
        wanted = coefficients.dtype if order == 3 else places.dtype
        return sum(terms[1:], terms[0]).astype(wanted)

    def evaluated(cj: ArrayLike, newx: ArrayLike, dx: Any = 1.0, x0: Any = 0) -> Any:
        return function(cj, newx, dx, x0)

    return _composed(with_name(evaluated, name))


cspline1d_eval, qspline1d_eval = _evaluated("cspline1d_eval", 3), _evaluated("qspline1d_eval", 2)


_SCIPYS_PLACE_POLES = unreplaced(_scipy.place_poles)


@_hosted
def place_poles(A: ArrayLike, B: ArrayLike, poles: ArrayLike, *more: Any, **options: object) -> Any:
    """As `scipy.signal.place_poles`, for one input, or as many as states.

    The poles determine the gain of these alone.
    """
    inputs: Any = lift_fully(B)
    rank = int(by_value(np.linalg.matrix_rank(stop_gradient(inputs)), "place_poles"))
    if 1 < rank < inputs.shape[0]:
        raise type_error(
            "place_poles: expected one independent input, or as many as states, but got traced values and "
            f"{rank} inputs for {inputs.shape[0]} states: many gains have these poles, and that at which "
            "SciPy's search ends has no derivative; write B @ v for B with a fixed v, or the optimal gain, "
            "by scipy.linalg.solve_continuous_are",
        )
    given = stop_gradient((A, B)) if rank == 1 else (A, B)
    found = functions["call_adopted"](_SCIPYS_PLACE_POLES, (*given, poles, *more), options)
    if rank == 1:
        a: Any = lift_fully(A)
        wanted: Any = lift_fully(found.requested_poles)
        gain, x = _placed_by_one_input(a, inputs[:, 0], wanted)
        own = [stop_gradient(item) for item in (found.gain_matrix, found.computed_poles, found.X)]
        found.gain_matrix = with_value(own[0], gain[None])
        found.computed_poles = with_value(own[1], wanted)
        found.X = with_value(own[2], with_phases(x, own[2]))
    return found


def _placed_by_one_input(a: Array, b: Array, poles: Array) -> tuple[Any, Any]:
    """The gain with these poles, by Ackermann's formula, and the unit eigenvectors of the closed loop."""
    unit = np.eye(a.shape[0])
    reached, product = [b], unit
    for k in range(1, a.shape[0]):
        reached.append(a @ reached[k - 1])
    for k in range(a.shape[0]):
        product = product @ (a - poles[k] * unit)
    gain = np.linalg.solve(np.stack(reached), unit[-1]) @ product
    columns = [np.linalg.solve(a - poles[k] * unit, b + 0j) for k in range(a.shape[0])]
    x = np.stack([column / np.linalg.norm(column) for column in columns], axis=1)
    return np.real(gain), x


__getattr__ = partial(attribute_of, _scipy)
