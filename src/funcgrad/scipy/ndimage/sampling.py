"""Values of an image between its pixels: `map_coordinates`, and the spline filters that it needs.

A spline filter is the matrix of SciPy's responses to unit impulses: in mode 'reflect' SciPy's is not exact.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.ndimage as _scipy
from numpy.polynomial import polynomial

from funcgrad.arrays.reference import Reference
from funcgrad.scipy.composition import composed, number, real, taken
from funcgrad.scipy.ndimage.filters import EXTENSIONS, Output, extension_of, filtered_output
from funcgrad.source import fail
from funcgrad.typing import Array

_composed = composed(_scipy)


def _wrapped_coordinate(q: Array, n: int, mode: str) -> Any:
    """A coordinate outside the image, led back into it."""
    last = float(n - 1)
    if n == 1:
        return 0 * q
    if mode == "nearest":
        return np.clip(q, 0.0, last)
    if mode == "mirror":
        folded = np.abs(q) % (2 * last)
        return np.where(folded > last, 2 * last - folded, folded)
    if mode in ("reflect", "grid-mirror"):
        folded = (q + 0.5) % (2.0 * n)
        folded = np.where(folded > n, 2.0 * n - folded, folded) - 0.5
        return folded
    if mode == "grid-wrap":
        return q % float(n)
    if mode == "wrap":
        return np.where(np.logical_or(q < 0, q > last), q % last, q)
    return q


def _whole_index(i: Array, n: int, mode: str) -> Any:
    """The pixel that an index outside the image stands for."""
    if n == 1 or mode in ("nearest", "constant", "grid-constant"):
        return np.clip(i, 0, n - 1)
    if mode == "mirror":
        period = 2 * (n - 1)
        folded = i % period
        return np.where(folded > n - 1, period - folded, folded)
    if mode in ("reflect", "grid-mirror"):
        folded = i % (2 * n)
        return np.where(folded >= n, 2 * n - 1 - folded, folded)
    if mode == "wrap":
        return np.where(np.logical_or(i < 0, i > n - 1), i % (n - 1), i)
    return i % n


def _pieces(order: int) -> list[Array]:
    """The polynomials in the share t, 0 to 1, that a cardinal B-spline is between its knots, last first.

    Each order follows from the one before: N(x) = (x N'(x) + (order + 1 - x) N'(x - 1)) / order.
    """
    pieces = [np.ones(1)]
    for n in range(1, order + 1):
        padded = [np.zeros(1), *pieces, np.zeros(1)]
        # On the k-th interval x is k + t.
        pieces = [
            polynomial.polyadd(
                polynomial.polymul([k, 1], padded[k + 1]),
                polynomial.polymul([n + 1 - k, -1], padded[k]),
            )
            / n
            for k in range(n + 1)
        ]
    return pieces[::-1]


def spline_neighbors(q: Array, order: int) -> tuple[Any, list[Any]]:
    """The first of the pixels that a sample reads along an axis, and their weights."""
    # A spline of even order has its knots between the pixels.
    below = np.floor(q) if order % 2 else np.floor(q + 0.5)
    share = q - below if order % 2 else q - below + 0.5
    weights = []
    for piece in _pieces(order):
        value: Any = piece[-1] + 0 * share
        for coefficient in piece[-2::-1]:
            value = value * share + coefficient
        weights.append(value)
    return below.astype(int) - order // 2, weights


@_composed
def spline_filter1d(
    input: npt.ArrayLike,
    order: int = 3,
    axis: int = -1,
    output: Output = np.float64,
    mode: str = "mirror",
) -> Any:
    """As `scipy.ndimage.spline_filter1d`: the coefficients of the interpolating
    spline.
    """
    image = number("spline_filter1d", input)
    n = image.shape[axis]
    _check_order("spline_filter1d", order)
    if order < 2 or n == 1:
        return filtered_output(image, input, output)
    rows = np.moveaxis(image, axis, 0)
    responses = _scipy.spline_filter1d(np.eye(n), order, 0, mode=mode)
    flat = responses @ rows.reshape(n, math.prod(rows.shape[1:]))
    return filtered_output(np.moveaxis(flat.reshape(rows.shape), 0, axis), input, output)


def _check_order(who: str, order: int) -> None:
    if order not in range(6):
        raise fail(ValueError, f"{who}: expected an order from 0 to 5, but got {order}")


@_composed
def spline_filter(
    input: npt.ArrayLike, order: int = 3, output: Output = np.float64, mode: str = "mirror"
) -> Any:
    """As `scipy.ndimage.spline_filter`."""
    image = number("spline_filter", input)
    dtype: Any = output.dtype if isinstance(output, np.ndarray | Reference) else output
    for axis in range(image.ndim):  # SciPy rounds to the output's dtype after each axis
        image = spline_filter1d(image, order, axis, dtype, mode)
    return filtered_output(image, input, output)


@_composed
def map_coordinates(
    input: npt.ArrayLike,
    coordinates: npt.ArrayLike,
    output: Output = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """As `scipy.ndimage.map_coordinates`, in the image and the coordinates.

    >>> import funcgrad as fg
    >>> image = np.array([0.0, 1.0, 4.0])
    >>> fg.grad(lambda x: map_coordinates(image, [[x]], order=1)[0])(1.25)
    3.0
    """
    extension_of("map_coordinates", mode)
    _check_order("map_coordinates", order)
    image, places = number("map_coordinates", input), real("map_coordinates", coordinates)
    if places.ndim == 0 or places.shape[0] != image.ndim:
        raise fail(
            ValueError,
            f"map_coordinates: expected coordinates with a first axis of {image.ndim} entries, but got "
            f"{places.shape}",
        )
    if output is None and getattr(input, "dtype", image.dtype).kind in "iub":
        raise fail(
            TypeError,
            "map_coordinates: expected an image of floats, since SciPy rounds the result of one of whole "
            "numbers; write image.astype(float)",
        )
    if order > 1 and (prefilter or mode == "nearest"):
        image, places = _padded(image, places, mode, cval)
    if order > 1 and prefilter:
        image = spline_filter(image, order, mode=mode)
    return filtered_output(_sampled(image, places, order, mode, cval), input, output)


_MARGIN = 12
"""The pixels of padding, as SciPy's, before the spline filter of an image that is not extended by it."""


def _padded(image: Array, places: Any, mode: str, cval: float) -> tuple[Any, Any]:
    if mode not in ("nearest", "grid-constant"):
        return image, places
    margins = [(_MARGIN, _MARGIN)] * image.ndim
    options = {"constant_values": cval} if mode == "grid-constant" else {}
    around = np.pad(image, margins, EXTENSIONS[mode], **options)  # type: ignore[call-overload]
    return around, places + float(_MARGIN)


def _sampled(image: Any, places: Any, order: int, mode: str, cval: float) -> Any:
    columns, inside = [], True
    for axis in range(image.ndim):
        n, q = image.shape[axis], places[axis]
        if mode == "constant":
            inside = np.logical_and(inside, np.logical_and(q >= 0, q <= n - 1))
        elif mode != "grid-constant":
            q = _wrapped_coordinate(q, n, mode)
        first, weights = spline_neighbors(q, order)
        columns.append([(first + k, weight, n) for k, weight in enumerate(weights)])
    total: Any = 0.0
    for corner in itertools.product(*columns):
        index, weight, present = [], 1.0, True
        for i, share, n in corner:
            weight = weight * share
            # Beyond the last pixel, a constant image has nothing: its weight there is 0 or is masked.
            if mode == "grid-constant":
                present = np.logical_and(present, np.logical_and(i >= 0, i < n))
            how = "mirror" if mode in ("constant", "wrap") and order > 1 else mode
            index.append(_whole_index(i, n, how))
        value = taken(image, tuple(index))
        if mode == "grid-constant":
            value = np.where(present, value, cval)
        total = total + weight * value
    return np.where(inside, total, cval) if mode == "constant" else total
