"""Overlapping windows of an array, as NumPy's `sliding_window_view` makes them, and what is added to them.

The entry at an index is that at a place which grows by a fixed step along each axis of the index. So windows
are a view, and need no table of places; what is added to them is added to a few views that do not overlap.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.columns import Columns, each_entry, no_flops
from funcgrad.ops.base.op import Op, lift_fully, same_on_batch
from funcgrad.ops.shape import reshape
from funcgrad.typing import Array

Ints: TypeAlias = tuple[int, ...]


def _view(x: Array, shape: Ints, steps: Ints, start: int) -> Any:
    """The windows of the last axis, as a view."""
    x = np.ascontiguousarray(x)
    strides = [step * x.itemsize for step in steps]
    lead = x.ndim - 1
    return np.lib.stride_tricks.as_strided(
        x[..., start:], (*x.shape[:lead], *shape), (*x.strides[:lead], *strides)
    )


def _run(x: Array, shape: Ints, steps: Ints, start: int) -> Any:
    found = _view(x, shape, steps, start)
    found.flags.writeable = False
    return found


def _places(shape: Ints, steps: Ints, start: int) -> Any:
    """The place of each entry of the windows."""
    along = np.ix_(*[np.arange(n) * step for n, step in zip(shape, steps, strict=True)])
    return start + sum(along, np.zeros(shape, int))


def _groups(shape: Ints, steps: Ints) -> list[int]:
    """The number of groups of indices along each axis, whose windows do not overlap within a group."""
    order = sorted(range(len(shape)), key=lambda k: (abs(steps[k]), shape[k] < _SHORT, shape[k]))
    groups, span = [1] * len(shape), 1
    for k in order:
        step = abs(steps[k])
        groups[k] = min(-(-span // step), shape[k]) if step else shape[k]
        span += (shape[k] - 1) * step
    return groups


_SHORT = 8
"""The entries of windows below which NumPy's loops go along the windows, and not along their entries."""


def _added(g: Array, steps: Ints, start: int, length: int) -> Any:
    lead = g.ndim - len(steps)
    found = np.zeros((*g.shape[:lead], length), g.dtype)
    if not g.size:
        return found
    into = _view(found, g.shape[lead:], steps, start)
    groups = _groups(g.shape[lead:], steps)
    for first in product(*[range(n) for n in groups]):
        parts = [slice(i, None, n) for i, n in zip(first, groups, strict=True)]
        part: Any = (..., *parts)
        into[part] += g[part]
    return found


def _added_by_places(g: Array, steps: Ints, start: int, length: int) -> Any:
    lead = g.ndim - len(steps)
    zeros = lift_fully(np.zeros((*g.shape[:lead], length), g.dtype))
    return zeros.at[..., _places(g.shape[lead:], steps, start)].add(g)


def _windows_edge(z: Array, x: Array, *, shape: Ints, steps: Ints, start: int) -> LinearMap:
    length = np.shape(x)[-1]
    return Structural(
        lambda v: overlapping_windows_op(v, shape=shape, steps=steps, start=start),
        lambda g: added_windows_op(g, steps=steps, start=start, length=length),
    )


def _added_edge(z: Array, g: Array, *, steps: Ints, start: int, length: int) -> LinearMap:
    shape = np.shape(g)[np.ndim(g) - len(steps) :]
    return Structural(
        lambda v: added_windows_op(v, steps=steps, start=start, length=length),
        lambda w: overlapping_windows_op(w, shape=shape, steps=steps, start=start),
    )


def part_of_windows(windows: Expr, index: tuple[Any, ...]) -> Expr | None:
    """The windows of a vector at a basic index, as windows of the vector; None for one entry."""
    (x,), params = windows.args, dict(windows.params)
    if x.ndim != 1:
        return None
    # No entry of it is read: strides tell where a view's entries are.
    like = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), windows.shape, params["steps"])
    part = like[index]
    if not isinstance(part, np.ndarray) or not part.size:
        return None
    moved = part.__array_interface__["data"][0] - like.__array_interface__["data"][0]
    start = params["start"] + moved
    return overlapping_windows_op(x, shape=part.shape, steps=part.strides, start=start)  # type: ignore[no-any-return]


def strided_view(x: Expr, shape: Ints, steps: Ints, start: int) -> Any:
    """The overlapping windows of a vector; along a step of 0 they are broadcast."""
    once = tuple([n if step else 1 for n, step in zip(shape, steps, strict=True)])
    if math.prod(once) == x.size and np.array_equal(
        _places(once, steps, start).ravel(), np.arange(x.size)
    ):
        found: Any = reshape(x, once)
    else:
        found = overlapping_windows_op(x, shape=once, steps=steps, start=start)
    return found if once == shape else np.broadcast_to(found, shape)


overlapping_windows_op: Op = Op(
    name="overlapping_windows",
    run=_run,
    infer=lambda x, shape, steps, start: ArrayType((*x.shape[:-1], *shape), x.dtype),
    edges=(_windows_edge,),
    batch=same_on_batch(lambda: overlapping_windows_op),
    columns=Columns(
        decompose=lambda x, shape, steps, start: x[..., _places(shape, steps, start)],
        machine="window_forms:overlapping_windows",
        flops=no_flops,
        may_alias=True,
        shown=False,
    ),
)
"""x[..., start + i*steps[0] + j*steps[1] + ...] for the indices i, j, ... of a shape."""
added_windows_op: Op = Op(
    name="added_windows",
    run=_added,
    infer=lambda g, steps, start, length: ArrayType(
        (*g.shape[: g.ndim - len(steps)], length), g.dtype
    ),
    edges=(_added_edge,),
    batch=same_on_batch(lambda: added_windows_op),
    columns=Columns(
        decompose=_added_by_places,
        machine="window_forms:added_windows",
        flops=each_entry(1),
        fresh=True,
        shown=False,
    ),
)
"""The transpose of `overlapping_windows`: an array of zeros of this size, with the windows added."""
