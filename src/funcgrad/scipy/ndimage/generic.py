"""`generic_filter` and `generic_filter1d`: a function of the pixels around each pixel, or of each line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.ndimage as _scipy

from funcgrad import numpy as funcgrad_numpy
from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import plain_value
from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import real, refuse_given, without_tracing
from funcgrad.scipy.ndimage.filters import (
    Output,
    filtered_output,
    footprint_of,
    neighbors,
    padded_along_axis,
)
from funcgrad.source import value_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.transforms.vmap import vmap
from funcgrad.typing import Array, ArrayLike

_Function = Callable[..., Any]


def generic_filter(
    input: ArrayLike,
    function: _Function,
    size: int | Sequence[int] | None = None,
    footprint: ArrayLike | None = None,
    output: Output = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: Mapping[str, Any] | None = None,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    """As `scipy.ndimage.generic_filter`, in the image and in what the function captures.

    >>> import funcgrad as fg
    >>> image = np.arange(4.0)
    >>> fg.jacobian(lambda x: generic_filter(x, np.prod, 2))(image)[2]
    array([0., 2., 1., 0.])
    """
    named = dict(extra_keywords or {})
    image = real("generic_filter", input)
    chosen = footprint_of("generic_filter", image.ndim, size, footprint)
    count = int(np.count_nonzero(chosen))
    beside = [input, cval, *extra_arguments, *named.values()]
    plain = lambda x: function(x, *extra_arguments, **named)  # noqa: E731
    if not holds_expr(beside) and without_tracing(plain, np.zeros(count), ()):
        own: Any = _scipy.generic_filter
        return own(
            *(input, function, size, footprint, output, mode, cval, origin),
            *(extra_arguments, extra_keywords),
            axes=axes,
        )
    refuse_given("generic_filter", axes=axes)
    around = neighbors("generic_filter", image, chosen, mode, cval, origin)
    rows = lift_fully(around).reshape(count, -1).T
    called = on_arrays(plain)
    try:
        found = vmap(called)(rows)
    except TypeError:  # the function chooses by values
        found = np.stack([called(rows[k]) for k in range(rows.shape[0])])
    return filtered_output(np.reshape(found, image.shape), input, output)


def generic_filter1d(
    input: ArrayLike,
    function: _Function,
    filter_size: int,
    axis: int = -1,
    output: Output = None,
    mode: str = "reflect",
    cval: float = 0.0,
    origin: int = 0,
    extra_arguments: tuple[Any, ...] = (),
    extra_keywords: Mapping[str, Any] | None = None,
) -> Any:
    """As `scipy.ndimage.generic_filter1d`, in the image."""
    named = dict(extra_keywords or {})
    if not holds_expr([input, cval, *extra_arguments, *named.values()]):
        return _scipy.generic_filter1d(
            *(input, function, filter_size, axis, output, mode, cval, origin),
            *(extra_arguments, extra_keywords),
        )
    image = real("generic_filter1d", input)
    if filter_size < 1:
        raise value_error(f"generic_filter1d: expected a size of 1 or more, but got {filter_size}")
    around = padded_along_axis("generic_filter1d", image, filter_size, axis, mode, cval, origin)
    length, adopted = image.shape[axis], functions["redirect"](function)

    def filtered(line: Array) -> Any:
        """What the function stores into a line."""
        taken = funcgrad_numpy.zeros(length)
        adopted(mutable(line), taken, *extra_arguments, **named)
        return lift_fully(plain_value(taken))

    lines = lift_fully(around)
    rows = lines.reshape(lines.shape[0], -1).T
    found = np.stack([filtered(rows[k]) for k in range(rows.shape[0])], axis=1)
    moved = np.moveaxis(image, axis, 0).shape
    return filtered_output(np.moveaxis(found.reshape(moved), 0, axis), input, output)
