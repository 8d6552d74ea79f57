"""What operations that work along axes have in common: how axes are given, batched and walked along.

No operation is declared here, and nothing that stands in for a function of NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from funcgrad.ops.base.op import lift_fully, op_named
from funcgrad.source import fail
from funcgrad.typing import Array, Axes


def axes_of(axis: Axes, ndim: int) -> tuple[int, ...]:
    """An ``axis`` argument as a sorted tuple of axes from 0."""
    if axis is None or (ndim == 0 and axis in (0, -1)):  # NumPy lets a scalar have one axis
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:  # the common case, at a tenth of the cost
        return (axis % ndim,)
    return tuple(sorted(normalize_axis_tuple(axis, ndim)))


def dropped(shape: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without the axes that are reduced."""
    return tuple(n for i, n in enumerate(shape) if i not in axis)


def on_moved_axes(name: str) -> Callable[..., Any]:
    """The batching rule of what works along ``axis``: an axis later, behind that of the batch."""

    def batch(size: int, batched: Sequence[bool], x: Array, *, axis: Any) -> Any:
        moved = axis + 1 if isinstance(axis, int) else tuple(i + 1 for i in axis)
        return op_named(name)(x, axis=moved)

    return batch


def nonempty(name: str, x: object, axis: Any) -> Any:
    """An operand as an expression, refused where there is nothing to choose from."""
    x = lift_fully(x)
    if any(x.shape[i] == 0 for i in axes_of(axis, x.ndim)):
        raise fail(ValueError, f"{name}: expected at least one entry to reduce, but got {x.type}")
    return x


def scan_products(x: Array, axis: int) -> Any:
    """Running products in log2(n) multiplications of whole arrays (Hillis and Steele)."""
    step = 1
    while step < np.shape(x)[axis]:
        x = x * shifted(x, step, axis)
        step *= 2
    return x


def shifted(x: Array, step: int, axis: int, filled: Callable[[Array], Any] = np.ones_like) -> Any:
    """The entries moved ``step`` places up an axis, with ones or other entries moved in."""
    head = (slice(None),) * axis
    kept = x[(*head, slice(None, np.shape(x)[axis] - step))]
    first = filled(x[(*head, slice(None, step))])
    return np.concatenate([first, kept], axis=axis)
