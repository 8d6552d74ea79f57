"""Filters of images: correlations along an axis are sums of shifted copies of the padded image.

Filters of neighborhoods (`correlate`, `generic_filter`, ...) take a copy for each pixel of the neighborhood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import scipy.ndimage as _scipy

from funcgrad.arrays.reference import Reference
from funcgrad.graph import ArrayType
from funcgrad.ops.convolution import convolve_op
from funcgrad.ops.shape import astype, holds_expr
from funcgrad.scipy.composition import (
    composed,
    lifted_beside,
    nondifferentiable,
    number,
    with_value,
)
from funcgrad.source import fail, type_error, value_error, with_name
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient
from funcgrad.typing import Array, ArrayLike, DTypeLike


# -- results that are integers --------------------------------------------------------------------
# By SciPy's own functions: they round after each axis.
def _filters_of(module: ModuleType) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: as `composed`, but the module's own function, with derivative 0, gives integers and bools.

    The functions take an image ``input``, and a dtype or an array as ``output``.
    """

    def decorator(traced: Callable[..., Any]) -> Callable[..., Any]:
        own = getattr(module, traced.__name__)

        @composed(module, host=True)
        @wraps(traced)
        def function(**given: Any) -> Any:
            shape, dtype = _result_type(**given)
            if dtype.kind not in "biu":
                return traced(**given)
            names = [name for name, value in given.items() if holds_expr(value)]

            def run(*values: object) -> Any:
                return own(**{**given, **dict(zip(names, values, strict=True)), "output": dtype})

            made = primitive(run, out=lambda *types: ArrayType(shape, dtype), name=own.__name__)
            values = [stop_gradient(_exact(own.__name__, given[name])) for name in names]
            output, found = given.get("output"), made(*values)
            if not isinstance(output, np.ndarray | Reference):
                return found
            output[...] = found  # type: ignore[index]
            return output

        return function

    return decorator


def _result_type(input: Any, output: Any = None, **_: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    image = _exact("filter", input)
    given: Any = image if output is None else output
    if output is None or isinstance(output, np.ndarray | Reference):
        given = given.dtype
    wanted = np.dtype(given)
    return image.shape, np.result_type(wanted, 0j) if image.dtype.kind == "c" else wanted


def _exact(who: str, value: Any) -> Any:
    """An array as it is, and the array of a list that holds traced values."""
    return value if hasattr(value, "dtype") else number(who, value)


_composed, _filter = composed(_scipy, host=True), _filters_of(_scipy)
Output: TypeAlias = DTypeLike | Array | None
_Axes: TypeAlias = int | Sequence[int] | None

EXTENSIONS = {
    "reflect": "symmetric",
    "grid-mirror": "symmetric",
    "mirror": "reflect",
    "nearest": "edge",
    "wrap": "wrap",
    "grid-wrap": "wrap",
    "constant": "constant",
    "grid-constant": "constant",
}
"""The extensions of an image by SciPy's names, and NumPy's."""


def extension_of(who: str, mode: str) -> str:
    if mode not in EXTENSIONS:
        raise value_error(f"{who}: expected a mode among {', '.join(EXTENSIONS)}, but got {mode!r}")
    return EXTENSIONS[mode]


def filtered_output(result: Array, input: ArrayLike, output: Output) -> Any:
    """A result in the dtype of the input, or of ``output``, which may be an array that takes it."""
    if isinstance(output, np.ndarray | Reference):
        taking: Any = output
        taking[...] = result
        return taking
    dtype = getattr(input, "dtype", np.float64) if output is None else np.dtype(output)
    return result.astype(np.result_type(dtype, 0j) if result.dtype.kind == "c" else dtype)


# -- along an axis -------------------------------------------------------------------------------
@_filter
def correlate1d(
    input: ArrayLike,
    weights: ArrayLike,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
) -> Any:
    """As `scipy.ndimage.correlate1d`."""
    image, kernel = number("correlate1d", input), np.conj(number("correlate1d", weights))
    if kernel.ndim != 1 or not kernel.size:
        raise fail(
            RuntimeError, f"correlate1d: expected a vector of weights, but got shape {kernel.shape}"
        )
    total = _weighted("correlate1d", image, kernel, axis, mode, cval, origin)
    return filtered_output(total, input, output)


def _weighted(
    who: str, image: Array, kernel: Array, axis: int, mode: str, cval: float, origin: int
) -> Any:
    """The sum of the pixels around each along an axis, with weights."""
    size = kernel.shape[0]
    if size > _FEW:
        around = padded_along_axis(who, image, size, axis, mode, cval, origin)
        found = _along_lines(np.moveaxis(around, 0, -1), kernel, image.shape[axis])
        return np.moveaxis(found, -1, axis)
    total: Any = 0.0
    for k, copy in enumerate(_along_axis(who, image, size, axis, mode, cval, origin)):
        total = total + kernel[k] * copy
    return total


# Weights up to which a sum of shifted images is as quick.
_FEW = 4


def _along_lines(around: Array, kernel: Array, count: int) -> Any:
    """The sums of products along the last axis, of so many entries, by one convolution of all lines."""
    size = kernel.shape[0]
    if size <= _FEW:
        return sum(
            [kernel[k] * around[..., k : k + count] for k in range(1, size)],
            kernel[0] * around[..., :count],
        )
    lines = np.reshape(around, (-1, around.shape[-1]))
    weights = np.broadcast_to(kernel[::-1], (lines.shape[0], size))
    given = [astype(x, np.result_type(lines.dtype, weights.dtype)) for x in (lines, weights)]
    return np.reshape(convolve_op(*given, kept="valid"), (*around.shape[:-1], count))


def _along_axis(
    who: str, image: Array, size: int, axis: int, mode: str, cval: float, origin: int
) -> list[Any]:
    """The image shifted by the places of a window of this size along an axis."""
    around = padded_along_axis(who, image, size, axis, mode, cval, origin)
    n = image.shape[axis]
    return [np.moveaxis(around[k : k + n], 0, axis) for k in range(size)]


def padded_along_axis(
    who: str, image: Array, size: int, axis: int, mode: str, cval: float, origin: int
) -> Any:
    """The image with what a window of this size reads beyond its ends, and the axis first."""
    before = size // 2 + origin
    margins = [(0, 0)] * image.ndim
    margins[axis] = (before, size - 1 - before)
    extension = extension_of(who, mode)
    options = {"constant_values": cval} if extension == "constant" else {}
    around: Any = np.pad(lifted_beside(image, cval), margins, extension, **options)  # type: ignore[call-overload]
    return np.moveaxis(around, axis, 0)


@_filter
def convolve1d(input: ArrayLike, weights: ArrayLike, *, origin: int = 0, **line: object) -> Any:
    """As `scipy.ndimage.convolve1d`."""
    kernel = number("convolve1d", weights)
    shift = -origin - (1 if kernel.shape[0] % 2 == 0 else 0)
    return correlate1d(input, np.conj(kernel[::-1]), origin=shift, **line)


def _for_axes(value: Any, count: int) -> list[Any]:
    several = isinstance(value, list | tuple) or getattr(value, "ndim", None) not in (None, 0)
    return list(value) if several else [value] * count


@_filter
def uniform_filter1d(input: ArrayLike, size: int, **line: object) -> Any:
    """As `scipy.ndimage.uniform_filter1d`."""
    return correlate1d(input, np.full(size, 1 / size), **line)


def as_scipy_chose(own: Array, around: Array, expected: Array | None = None) -> Any:
    """SciPy's values of a filter, each by an entry of its neighborhood, which has the derivative.

    Compiled code has its own order of NaNs and other entries. ``expected`` is kept where it is equal.
    """
    same = (around == own) | ((around != around) & (own != own))
    place = np.argmax(same, axis=0)
    found = np.take_along_axis(around, np.expand_dims(place, 0), 0)[0]
    found = np.where(np.any(same, axis=0), found, own)
    return found if expected is None else np.where(expected == own, expected, found)


def _shared(value: Array, copies: Sequence[Array]) -> Any:
    """SciPy's values of a filter by extremes, whose derivative the equal entries of a neighborhood share."""
    reached = [copy == value for copy in copies]
    share = 1 / np.maximum(sum([item.astype(value.dtype) for item in reached]), 1.0)
    terms = [np.where(item, copy, 0.0) for item, copy in zip(reached, copies, strict=True)]
    mean = sum(terms[1:], terms[0]) * share
    # A mean of equal numbers may be another in its last digit; what is no number has no derivative.
    others = np.where(np.isnan(value), value, mean)
    return np.where(np.isfinite(value), with_value(value, mean), others)


def _extreme(name: str) -> Callable[..., Any]:
    own = getattr(_scipy, name)

    def function(
        input: ArrayLike,
        size: int,
        axis: int = -1,
        output: Output = None,
        mode: str = "reflect",
        cval: float = 0.0,
        origin: int = 0,
    ) -> Any:
        def run(image: Array, cval: Array) -> Any:
            return own(image, size, axis, None, mode, cval, origin)

        image = number(name, input)
        copies = _along_axis(name, image, size, axis, mode, cval, origin)
        # In double precision, since ``cval`` in another one is no entry of a neighborhood.
        value = nondifferentiable(name, run, image, cval)
        return filtered_output(_shared(value, copies), input, output)

    return _composed(with_name(function, name))


maximum_filter1d = _extreme("maximum_filter1d")
minimum_filter1d = _extreme("minimum_filter1d")


# -- neighborhoods -------------------------------------------------------------------------------
def neighbors(
    who: str, image: Array, footprint: Array, mode: object, cval: float, origin: object
) -> Any:
    """The pixels around each pixel that are in the footprint, along a new first axis."""
    parts = [_for_axes(item, image.ndim) for item in (footprint.shape, mode, origin)]
    copies = _along_axes(who, image, cval, parts)
    places = np.flatnonzero(footprint)
    return np.stack([copies[k] for k in places])


def _along_axes(who: str, image: Array, cval: float, parts: Sequence[list[Any]]) -> list[Any]:
    """The image shifted by the places of a window, given its sizes, the modes and origins of first axes."""
    copies = [image]
    for axis, (size, extension, start) in enumerate(zip(*parts, strict=True)):
        copies = [
            moved
            for copy in copies
            for moved in _along_axis(who, copy, size, axis, extension, cval, start)
        ]
    return copies


def extended(
    who: str, image: Array, sizes: Sequence[int], mode: object, cval: float, origin: object
) -> Any:
    """The image with what a window of these sizes reads beyond its ends."""
    parts = [_for_axes(item, image.ndim) for item in (sizes, mode, origin)]
    for axis, (size, extension, start) in enumerate(zip(*parts, strict=True)):
        if size > 1:
            image = padded_along_axis(who, image, size, axis, extension, cval, start)
            image = np.moveaxis(image, 0, axis)
    return image


def footprint_of(who: str, ndim: int, size: object, footprint: ArrayLike | None) -> Array:
    if holds_expr([size, footprint]):
        raise type_error(f"{who}: expected a plain size and footprint, but got a traced one")
    if footprint is not None:
        return np.asarray(footprint, bool)
    if size is None:
        raise value_error(f"{who}: expected a size or a footprint, but got neither")
    return np.ones(_for_axes(size, ndim), bool)


def over_axes(
    ndim: int, places: Sequence[int], mode: object, cval: float, origin: object
) -> tuple[Any, float, list[int]]:
    """Modes and origins for all axes of those for some; other axes are not extended."""
    modes, origins = ["constant"] * ndim, [0] * ndim
    count = len(places)
    for k, extension, start in zip(
        places, _for_axes(mode, count), _for_axes(origin, count), strict=True
    ):
        modes[k], origins[k] = extension, start
    return modes, cval, origins


def for_all_axes(image: Array, weights: Array, axes: _Axes, *given: Any) -> tuple[Any, ...]:
    """Weights, modes, cval and origins of a filter over some axes, for all axes."""
    ndim = image.ndim
    places = list(range(ndim)) if axes is None else [k % ndim for k in np.atleast_1d(axes)]
    whole = np.expand_dims(weights, tuple([k for k in range(ndim) if k not in places]))
    return (whole, *over_axes(ndim, places, *given))


@_filter
def correlate(
    input: ArrayLike,
    weights: ArrayLike,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: _Axes = None,
) -> Any:
    """As `scipy.ndimage.correlate`."""
    image, kernel = number("correlate", input), np.conj(number("correlate", weights))
    count = image.ndim if axes is None else np.size(np.asarray(axes))
    if kernel.ndim != count or not kernel.size:
        raise fail(
            RuntimeError,
            f"correlate: expected weights along {count} axes, but got an array of shape {kernel.shape}",
        )
    if not image.ndim or not image.size:
        return filtered_output(image * np.sum(kernel), input, output)
    kernel, modes, cval, origins = for_all_axes(image, kernel, axes, mode, cval, origin)
    around = extended("correlate", image, kernel.shape, modes, cval, origins)
    rows = kernel.reshape(-1, kernel.shape[-1])
    total: Any = 0.0
    # Along the last axis by lines, for each place of the kernel along the others.
    for row, place in zip(rows, np.ndindex(*kernel.shape[:-1]), strict=True):
        part = around[tuple([slice(i, i + n) for i, n in zip(place, image.shape, strict=False)])]
        total = total + _along_lines(part, row, image.shape[-1])
    return filtered_output(total, input, output)


@_filter
def convolve(
    input: ArrayLike, weights: ArrayLike, *, origin: int | Sequence[int] = 0, **rest: object
) -> Any:
    """As `scipy.ndimage.convolve`."""
    kernel = number("convolve", weights)
    starts = zip(_for_axes(origin, kernel.ndim), kernel.shape, strict=True)
    shifts = [-start - (1 if n % 2 == 0 else 0) for start, n in starts]
    return correlate(input, np.conj(np.flip(kernel)), origin=shifts, **rest)
