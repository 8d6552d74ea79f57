"""`numpy.lib.stride_tricks.as_strided` in adopted code: entries are gathered from where the strides lead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as _as_strided

from funcgrad.arrays.mutable_array import mutable
from funcgrad.expr import Expr
from funcgrad.ops.overlapping_windows import overlapping_windows_op
from funcgrad.ops.shape import holds_expr
from funcgrad.source import fail
from funcgrad.typing import Array


def as_strided(
    x: Array,
    shape: Sequence[int] | int | None = None,
    strides: Sequence[int] | int | None = None,
    subok: bool = False,
    writeable: bool = True,
) -> Any:
    """As `numpy.lib.stride_tricks.as_strided`; the result is read-only, since it is no view."""
    if not holds_expr([x]):
        return _as_strided(x, shape, strides, subok, writeable)  # type: ignore[arg-type]
    lengths = x.shape if shape is None else tuple(np.atleast_1d(shape).tolist())
    steps = x.strides if strides is None else tuple(np.atleast_1d(strides).tolist())
    if _are_windows(x, lengths, steps):
        own = tuple([step // x.itemsize for step in steps])
        return _read_only(overlapping_windows_op(np.ravel(x), shape=lengths, steps=own, start=0))
    held, wanted = _offsets(x.shape, x.strides).ravel(), _offsets(lengths, steps)
    order = np.argsort(held, kind="stable")
    found = np.searchsorted(held[order], wanted)
    places = order[found.clip(max=held.size - 1)] if held.size else found
    if wanted.size and not (held.size and np.array_equal(held[places], wanted)):
        raise fail(
            ValueError,
            f"as_strided: expected strides that lead to entries of the array of shape {x.shape} and "
            f"strides {x.strides}, but got shape {wanted.shape} and strides {strides}",
        )
    return _read_only(np.ravel(x)[places])


def _read_only(entries: Any) -> Any:
    entries = mutable(entries) if type(entries) is Expr else entries
    entries.setflags(write=False)
    return entries


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
