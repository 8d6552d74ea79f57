"""Values of an image between its pixels: `map_coordinates`, samples on a grid, and the spline filters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import reduce
from typing import Any, TypedDict

import numpy as np
import scipy.ndimage as _scipy
from numpy.polynomial import polynomial

from funcgrad.arrays.reference import Reference
from funcgrad.ops.base.axes import axis_index
from funcgrad.ops.shape import astype, holds_expr
from funcgrad.scipy.composition import composed, number, real, taken
from funcgrad.scipy.ndimage.filters import Output, extension_of, filtered_output
from funcgrad.scipy.sparse_product import sparse_product_op
from funcgrad.scipy.spline_filter import LONG, by_responses, spline_filter_op
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)


class Sampling(TypedDict, total=False):
    """The sampling of an image: the arguments that functions here share."""

    output: Output
    order: int
    mode: str
    cval: float
    prefilter: bool


def _wrapped_coordinate(q: Array, n: int, mode: str) -> Any:
    """A coordinate outside the image, led back into it."""
    last = float(n - 1)
    if n == 1:
        return 0 * q
    if mode == "nearest":
        return np.clip(q, 0.0, last)
    if mode == "mirror":
        # With a slope at 0: f(abs(q)) bends there as f.
        folded = np.where(q < 0, -q, q) % (2 * last)
        return np.where(folded > last, 2 * last - folded, folded)
    if mode in ("reflect", "grid-mirror"):
        folded = (q + 0.5) % (2.0 * n)
        folded = np.where(folded > n, 2.0 * n - folded, folded) - 0.5
        return folded
    if mode == "grid-wrap":
        return q % float(n)
    if mode == "wrap":  # the first and the last pixel stand for one place, from below the last
        return np.where(q < 0, last - -q % last, np.where(q > last, q % last, q))
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
    input: ArrayLike,
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
    place = axis_index("spline_filter1d", axis, image)
    wide = astype(image, np.result_type(image.dtype, np.float64))
    if n < LONG:
        return filtered_output(by_responses(wide, order, place, mode), input, output)
    found = spline_filter_op(wide, order=order, axis=place, mode=mode)
    return filtered_output(found, input, output)


def _check_order(who: str, order: int) -> None:
    if order not in range(6):
        raise value_error(f"{who}: expected an order from 0 to 5, but got {order}")


@_composed
def spline_filter(
    input: ArrayLike, order: int = 3, output: Output = np.float64, mode: str = "mirror"
) -> Any:
    image = number("spline_filter", input)
    dtype: Any = output.dtype if isinstance(output, np.ndarray | Reference) else output
    for axis in range(image.ndim):  # SciPy rounds to the output's dtype after each axis
        image = spline_filter1d(image, order, axis, dtype, mode)
    return filtered_output(image, input, output)


@_hosted
def map_coordinates(
    input: ArrayLike,
    coordinates: ArrayLike,
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
    image, places = number("map_coordinates", input), real("map_coordinates", coordinates)
    if places.ndim == 0 or places.shape[0] != image.ndim:
        raise value_error(
            f"map_coordinates: expected coordinates with a first axis of {image.ndim} entries, but got "
            f"{places.shape}",
        )
    image, margin = _coefficients("map_coordinates", input, output, order, mode, cval, prefilter)
    near = [_neighbors(places[k] + margin, n, order, mode) for k, n in enumerate(image.shape)]
    inside: Any = True
    if mode == "constant":
        within = [_is_inside(places[k], n) for k, n in enumerate(image.shape)]
        inside = reduce(np.logical_and, within, True)
    if not holds_expr([places, cval]):
        return filtered_output(_by_sparse_matrix(image, near, inside, mode, cval), input, output)
    total: Any = 0.0
    for corner in itertools.product(*near):
        index, weight, present = [], 1.0, True
        for place, share, exists in corner:
            index.append(place)
            weight = weight * share
            present = np.logical_and(present, exists)
        value = taken(image, tuple(index))
        if mode == "grid-constant":
            value = np.where(present, value, cval)
        total = total + weight * value
    if mode == "constant":
        total = np.where(inside, total, cval)
    return filtered_output(total, input, output)


def _by_sparse_matrix(image: Any, near: Any, inside: Any, mode: str, cval: float) -> Any:
    """Samples at known coordinates: a product with the matrix of their weights."""
    corners = list(itertools.product(*near))
    shape = np.shape(near[0][0][0])
    inside = np.broadcast_to(inside, shape)
    columns, weights, kept = [], [], []
    around = np.where(inside, 0.0, cval)
    for corner in corners:
        places, shares, exist = zip(*corner, strict=True)
        weight = math.prod(shares)
        present = inside
        if mode == "grid-constant":
            present = reduce(np.logical_and, exist, inside)
            around = around + np.where(present, 0.0, weight * cval)
        columns.append(np.ravel_multi_index(places, image.shape))
        weights.append(np.broadcast_to(weight, shape))
        kept.append(present)
    chosen = np.stack(kept, axis=-1).reshape(-1, len(corners))
    entries, indices = [
        np.stack(part, axis=-1).reshape(chosen.shape)[chosen] for part in (weights, columns)
    ]
    counts = np.count_nonzero(chosen, axis=1)
    found = sparse_product_op(
        entries.astype(image.dtype),
        indices,
        np.concatenate([[0], np.cumsum(counts)]),
        np.repeat(np.arange(len(counts)), counts),
        image.reshape(-1),
        shape=(len(counts), image.size),
        transposed=False,
    ).reshape(shape)
    return found + around if np.any(around) else found


def sampled_grid(
    who: str,
    input: ArrayLike,
    rows: Sequence[Array],
    *,
    output: Output = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
) -> Any:
    """An image at all points that have these coordinates along the axes: along one axis after the other.

    Coordinates of an axis rise or fall. A constant stands around an image of which all are known.
    """
    image, margin = _coefficients(who, input, output, order, mode, cval, prefilter)
    inside = [_is_inside(q, n) for q, n in zip(rows, image.shape, strict=True)]
    is_framed = mode == "constant" and not holds_expr([*rows, cval])
    shape = [len(q) for q in rows]
    if is_framed:
        rows = [q[kept] for q, kept in zip(rows, inside, strict=True)]
    for axis, q in enumerate(rows):
        along: Any = (-1, *(1,) * (image.ndim - 1 - axis))
        total: Any = 0.0
        for place, share, exists in _neighbors(q + margin, image.shape[axis], order, mode):
            value = taken(image, (*(slice(None),) * axis, place))
            if mode == "grid-constant":
                value = np.where(np.reshape(exists, along), value, cval)
            total = total + np.reshape(share, along) * value
        image = total
    if is_framed:
        first = [int(np.argmax(kept)) if len(kept) else 0 for kept in inside]
        widths = [(i, n - i - len(q)) for i, n, q in zip(first, shape, rows, strict=True)]
        image = np.pad(image, widths, constant_values=cval)
    elif mode == "constant":
        lines = [
            np.reshape(kept, (-1, *(1,) * (image.ndim - 1 - k))) for k, kept in enumerate(inside)
        ]
        image = np.where(reduce(np.logical_and, lines), image, cval)
    return filtered_output(image, input, output)


def _coefficients(
    who: str, input: ArrayLike, output: Output, order: int, mode: str, cval: float, prefilter: bool
) -> tuple[Any, float]:
    """The coefficients of an image's splines, and how many of them stand before those of its first pixels."""
    extension = extension_of(who, mode)
    _check_order(who, order)
    image, margin = number(who, input), 0.0
    if output is None and getattr(input, "dtype", image.dtype).kind in "iub":
        raise type_error(
            f"{who}: expected an image of floats, since SciPy rounds the result of one of whole "
            "numbers; write image.astype(float)",
        )
    if order > 1 and ((prefilter and mode == "grid-constant") or mode == "nearest"):
        options = {"constant_values": cval} if mode == "grid-constant" else {}
        image = np.pad(image, [(_MARGIN, _MARGIN)] * image.ndim, extension, **options)  # type: ignore[call-overload]
        margin = float(_MARGIN)
    return spline_filter(image, order, mode=mode) if order > 1 and prefilter else image, margin


_MARGIN = 12
"""The pixels of padding, as SciPy's, before the spline filter of an image that is not extended by it."""


def _is_inside(q: Array, n: int) -> Any:
    return np.logical_and(q >= 0, q <= n - 1)


def _neighbors(q: Array, n: int, order: int, mode: str) -> list[tuple[Any, Any, Any]]:
    """The pixels along an axis that samples read, their weights, and whether a constant image has them."""
    if mode not in ("constant", "grid-constant"):
        q = _wrapped_coordinate(q, n, mode)
    # Beyond the last pixel, a constant image has nothing: its weight there is 0 or is masked.
    how = "mirror" if mode in ("constant", "wrap") and order > 1 else mode
    first, weights = spline_neighbors(q, order)
    places = [first + k for k in range(len(weights))]
    present = [np.logical_and(i >= 0, i < n) for i in places]
    return list(zip([_whole_index(i, n, how) for i in places], weights, present, strict=True))
