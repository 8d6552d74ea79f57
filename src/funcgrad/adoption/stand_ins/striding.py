"""`numpy.lib.stride_tricks.as_strided` in adopted code: entries are gathered from where the strides lead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as _as_strided

from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import Reference
from funcgrad.arrays.views import viewed
from funcgrad.ops.shape import holds_expr
from funcgrad.source import value_error
from funcgrad.typing import Array


def as_strided(
    x: Array,
    shape: Sequence[int] | int | None = None,
    strides: Sequence[int] | int | None = None,
    subok: bool = False,
    writeable: bool = True,
) -> Any:
    """As `numpy.lib.stride_tricks.as_strided`; a view that has an entry several times is read-only."""
    if not holds_expr([x]):
        return _as_strided(x, shape, strides, subok, writeable)  # type: ignore[arg-type]
    lengths = x.shape if shape is None else tuple(np.atleast_1d(shape).tolist())
    steps = x.strides if strides is None else tuple(np.atleast_1d(strides).tolist())
    is_repeated = _are_windows(x, lengths, steps) or _reaches_twice(x, lengths, steps)
    size, itemsize = math.prod(lengths), x.itemsize

    def look(likes: Sequence[Any]) -> Any:
        # The strides of the places, which are integers of another size.
        own = [step * likes[0].itemsize // itemsize for step in steps]
        return _as_strided(likes[0], lengths, own)

    cell = x if isinstance(x, Reference) else mutable(x)
    made = viewed(_as_strided, look, [cell]) if size else np.ravel(cell)[:0].reshape(lengths)
    if is_repeated or not writeable:
        made.setflags(write=False)
    return made


def _reaches_twice(x: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides lead to an entry of an array several times.

    Raises ValueError if they lead to another place.
    """
    held, wanted = _offsets(x.shape, x.strides), _offsets(shape, strides)
    found = np.unique(wanted)
    if not np.isin(found, held).all():
        raise value_error(
            f"as_strided: expected strides that lead to entries of the array of shape {x.shape} and "
            f"strides {x.strides}, but got shape {wanted.shape} and strides {strides}",
        )
    return bool(found.size < wanted.size)


def _are_windows(x: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides lead to entries of an array in C order, some of them several times."""
    if not x.size or math.prod(shape) <= x.size or len(shape) != len(strides):
        return False
    ordered = x.strides == np.empty(x.shape, x.dtype).strides
    whole = all([step >= 0 and step % x.itemsize == 0 for step in strides])
    last = sum([(n - 1) * step for n, step in zip(shape, strides, strict=True)])
    return ordered and whole and last < x.size * x.itemsize


def _offsets(shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The place of each entry, in bytes after the first."""
    found = np.zeros(shape, int)
    for axis, (n, step) in enumerate(zip(shape, strides, strict=True)):
        found += (np.arange(n) * int(step)).reshape(-1, *[1] * (len(shape) - axis - 1))
    return found
