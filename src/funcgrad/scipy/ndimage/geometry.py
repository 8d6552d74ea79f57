"""Images moved, scaled and turned: each is sampled at the coordinates that its pixels come from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Unpack

import numpy as np
import scipy.ndimage as _scipy

from funcgrad.arrays.values import by_value
from funcgrad.ops.shape import holds_expr
from funcgrad.ops.special.hypergeometric import hyp0f1
from funcgrad.scipy.composition import composed, floating, number, real, refuse
from funcgrad.scipy.ndimage.filters import Output
from funcgrad.scipy.ndimage.sampling import Sampling, map_coordinates, sampled_grid
from funcgrad.source import value_error, with_name
from funcgrad.typing import Array, ArrayLike

_composed = composed(_scipy)
_hosted = composed(_scipy, host=True)


def _grid(shape: Sequence[int]) -> Array:
    """The coordinates of the pixels, along a first axis."""
    return np.indices(tuple(shape)).astype(float)


def geometric_transform(
    input: ArrayLike,
    mapping: Callable[..., Any],
    output_shape: Sequence[int] | None = None,
    output: Output = None,
    order: int = 3,
    mode: str = "constant",
    cval: float = 0.0,
    prefilter: bool = True,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: Mapping[str, Any] | None = None,
) -> Any:
    """As `scipy.ndimage.geometric_transform`, in the image and what ``mapping`` captures.

    >>> import funcgrad as fg
    >>> image = np.arange(4.0)
    >>> fg.jacobian(lambda t: geometric_transform(image, lambda i: (i[0] * t,), order=1))(0.5)
    array([0., 1., 2., 3.])
    """
    image = number("geometric_transform", input)
    shape = image.shape if output_shape is None else tuple(output_shape)
    extra = dict(extra_keywords or {})
    sampling = (output, order, mode, cval, prefilter)
    beginning = islice(np.ndindex(shape), 1 if callable(mapping) else 0)  # it may be compiled code
    first = [mapping(index, *extra_arguments, **extra) for index in beginning]
    if not holds_expr([input, cval, *first]):
        own: Any = _scipy.geometric_transform
        return own(input, mapping, output_shape, *sampling, extra_arguments, extra_keywords)
    rows = [np.stack(mapping(index, *extra_arguments, **extra)) for index in np.ndindex(shape)]
    places = np.stack(rows, axis=-1).reshape(-1, *shape)
    return map_coordinates(input, places, *sampling)


@_hosted
def affine_transform(
    input: ArrayLike,
    matrix: ArrayLike,
    offset: ArrayLike = 0.0,
    output_shape: Sequence[int] | None = None,
    **sampling: Unpack[Sampling],
) -> Any:
    """As `scipy.ndimage.affine_transform`, in the image, the matrix and the offset."""
    image, linear = number("affine_transform", input), real("affine_transform", matrix)
    ndim = image.ndim
    shape = image.shape if output_shape is None else tuple(output_shape)
    if linear.ndim == 1 and linear.shape[0] == ndim:
        start = np.broadcast_to(real("affine_transform", offset), (ndim,))
        rows = [linear[k] * np.arange(float(n)) + start[k] for k, n in enumerate(shape)]
        return sampled_grid("affine_transform", input, rows, **sampling)
    if linear.ndim == 1:
        linear = np.diag(linear)
    if linear.shape[1] == ndim + 1:
        linear, offset = linear[:ndim, :ndim], linear[:ndim, ndim]
    if linear.shape != (ndim, ndim):
        raise value_error(
            f"affine_transform: expected a matrix of {ndim} rows, but got shape {linear.shape}",
        )
    start = np.broadcast_to(real("affine_transform", offset), (ndim,))
    places = np.tensordot(linear, _grid(shape), 1) + start.reshape(-1, *(1,) * ndim)
    return map_coordinates(input, places, **sampling)


@_hosted
def shift(input: ArrayLike, shift: ArrayLike, **sampling: Unpack[Sampling]) -> Any:
    """As `scipy.ndimage.shift`, in the image and the shift."""
    image = number("shift", input)
    moved = np.broadcast_to(real("shift", shift), (image.ndim,))
    rows = [np.arange(float(n)) - moved[axis] for axis, n in enumerate(image.shape)]
    return sampled_grid("shift", input, rows, **sampling)


@_composed
def zoom(
    input: ArrayLike, zoom: ArrayLike, *, grid_mode: bool = False, **sampling: Unpack[Sampling]
) -> Any:
    """As `scipy.ndimage.zoom`, in the image: the factors choose its size, and have no other effect."""
    image = number("zoom", input)
    factors = np.broadcast_to(np.asarray(by_value(zoom, "zoom"), float), (image.ndim,))
    shape = [round(n * factor) for n, factor in zip(image.shape, factors, strict=True)]
    rows = []
    for n, size in zip(image.shape, shape, strict=True):
        grid = np.arange(float(size))
        if grid_mode:
            rows.append((grid + 0.5) * (n / size) - 0.5)
        else:
            rows.append(grid * ((n - 1) / (size - 1) if size > 1 else 1.0))
    return sampled_grid("zoom", input, rows, **sampling)


def _fourier(name: str, response: Callable[[list[Array], Array], Any]) -> Callable[..., Any]:
    """A filter of a Fourier transform: its product with ``response(frequencies, sizes)`` of the axes."""
    own = getattr(_scipy, name)

    def function(
        input: ArrayLike, n: int = -1, axis: int = -1, output: Any = None, **given: Any
    ) -> Any:
        refuse(name, output=output)
        (size,) = given.values()  # by the name that SciPy's function has for it
        transform = floating(name, input)
        ones = np.ones(transform.shape, transform.dtype)
        if not holds_expr(size):
            return transform * own(ones, size, n, axis)
        frequencies = [np.fft.fftfreq(count) for count in transform.shape]
        if n > 0:  # the transform of n real samples
            frequencies[axis] = np.arange(transform.shape[axis]) / n
        sizes = np.broadcast_to(real(name, size), (transform.ndim,))
        dtype = own(ones, np.ones(transform.ndim), n, axis).dtype
        return (transform * response(list(np.ix_(*frequencies)), sizes)).astype(dtype)

    return _composed(with_name(function, name))


def _product(factor: Callable[[Array, Array], Any]) -> Callable[..., Any]:
    """The product over the axes of ``factor(frequency, size)``."""

    def response(frequencies: list[Array], sizes: Array) -> Any:
        return math.prod([factor(*pair) for pair in zip(frequencies, sizes, strict=True)])

    return response


def _ellipsoid(frequencies: list[Array], sizes: Array) -> Any:
    """The transform of a ball in r, the length of the vector of frequencies times sizes.

    It is sin(πr)/(πr) in one dimension, 2 J₁(πr)/(πr) in two and 3 j₁(πr)/(πr) in three.
    """
    squares = [(f * size) ** 2 for f, size in zip(frequencies, sizes, strict=True)]
    return hyp0f1(len(squares) / 2 + 1, -((math.pi / 2) ** 2) * sum(squares))


fourier_ellipsoid = _fourier("fourier_ellipsoid", _ellipsoid)
fourier_gaussian = _fourier(
    "fourier_gaussian", _product(lambda f, sigma: np.exp(-2 * (math.pi * f * sigma) ** 2))
)
fourier_shift = _fourier(
    "fourier_shift", _product(lambda f, shift: np.exp(-2j * math.pi * f * shift))
)
fourier_uniform = _fourier("fourier_uniform", _product(lambda f, size: np.sinc(f * size)))
