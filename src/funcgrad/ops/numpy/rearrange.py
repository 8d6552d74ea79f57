"""Entries rotated, shifted, repeated, deleted or padded: compositions of indexing and joining."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.arrays.reference import holds_expr
from funcgrad.arrays.values import by_value
from funcgrad.expr import Expr
from funcgrad.expr.concrete import has_known_value
from funcgrad.ops.base.axes import axis_index, axis_tuple, counts_of
from funcgrad.ops.base.op import lift_all, lift_fully
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.indexing import take_along_axis
from funcgrad.ops.scans_and_sorts import argpartition_op
from funcgrad.ops.shape import broadcast_to, concatenate, expand_dims, ravel, reshape, swapaxes
from funcgrad.source import fail, value_error
from funcgrad.typing import Array, ArrayLike, Axes


def flip(x: ArrayLike, axis: Axes = None) -> Any:
    """As `numpy.flip`."""
    x = lift_fully(x)
    places = range(x.ndim) if axis is None else axis_tuple("flip", axis, x)
    return x[tuple([slice(None, None, -1) if i in places else _ALL for i in range(x.ndim)])]


_ALL = slice(None)


def roll(x: object, shift: Any, axis: Axes = None) -> Any:
    """As `numpy.roll`, along axes or the flattened array."""
    x = lift_fully(x)
    if axis is not None and not isinstance(axis, int):
        axis = counts_of("roll", axis)
    if type(shift) is not int:
        if np.ndim(shift):
            shift = counts_of("roll", shift)
        elif np.result_type(shift).kind == "f":  # which NumPy truncates
            shift = int(shift)
    if isinstance(shift, Sequence) or isinstance(axis, Sequence):
        shifts, axes = np.broadcast_arrays(shift, -1 if axis is None else axis)
        flat = x if axis is not None else ravel(x)
        for step, place in zip(shifts.tolist(), axes.tolist(), strict=True):
            flat = roll(flat, step, place)
        return reshape(flat, x.shape)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    place = axis_index("roll", axis, x)
    n = x.shape[place]
    before = (slice(None),) * place
    if isinstance(shift, Expr) and n and shift.dtype.kind in "iu" and _is_of_many(shift):
        turned = shift.astype(np.uint64 if shift.dtype.kind == "u" else np.int64) % n
        return x[(*before, (np.arange(n) - turned.astype(np.int64)) % n)]
    cut = -int(shift) % n if n else 0
    return concatenate([x[(*before, slice(cut, None))], x[(*before, slice(None, cut))]], axis=place)


def _is_of_many(shift: Expr) -> bool:
    """Whether other runs of the program have other shifts."""
    is_recorded = shift.traced is not None and shift.traced.records
    return is_recorded or not has_known_value(shift)


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    """As `numpy.repeat`: one count for all entries, or one for each."""
    x = lift_fully(x)
    if axis is None or x.ndim == 0:
        x, axis = ravel(x), 0
    place = axis_index("repeat", axis, x)
    repeats = by_value(repeats, "repeat")
    if np.ndim(repeats):
        return x[(slice(None),) * place + (np.repeat(np.arange(x.shape[place]), repeats),)]
    count = np.repeat(np.zeros(1), repeats).size  # a float, which NumPy truncates, or its error
    wide = broadcast_to(
        expand_dims(x, place + 1), (*x.shape[: place + 1], count, *x.shape[place + 1 :])
    )
    return reshape(wide, (*x.shape[:place], x.shape[place] * count, *x.shape[place + 1 :]))


def tile(x: Any, reps: int | Sequence[int]) -> Any:
    """As `numpy.tile`."""
    x = lift_fully(x)
    counts = (int(reps),) if isinstance(reps, int | np.integer) else tuple(reps)
    ndim = max(len(counts), x.ndim)
    counts = (1,) * (ndim - len(counts)) + counts
    lengths = (1,) * (ndim - x.ndim) + x.shape
    if min(counts, default=0) < 0:
        raise value_error(f"tile: expected counts of 0 or more, but got {reps}")
    # An axis of copies beside each axis, unless one of the two has one entry.
    pairs = [
        (count, n) if count != 1 != n else (count * n,)
        for count, n in zip(counts, lengths, strict=True)
    ]
    narrow = [
        part
        for pair, n in zip(pairs, lengths, strict=True)
        for part in ((1, n) if len(pair) > 1 else (n,))
    ]
    narrow = [*itertools.dropwhile(lambda n: n == 1, narrow)]  # which broadcasting adds
    whole = tuple([count * n for count, n in zip(counts, lengths, strict=True)])
    return reshape(broadcast_to(reshape(x, tuple(narrow)), tuple(itertools.chain(*pairs))), whole)


def rot90(x: ArrayLike, k: int = 1, axes: tuple[int, ...] = (0, 1)) -> Any:
    """As `numpy.rot90`: from the first axis towards the second."""
    x = lift_fully(x)
    first, *others = (axis_index("rot90", axis, x) for axis in axes)
    if len(others) != 1 or first in others:
        raise value_error(f"rot90: expected two axes, but got {tuple(axes)} of {x.type}")
    (second,) = others
    if k % 2:
        x = swapaxes(x, first, second)
    turned = {0: (), 1: (first,), 2: (first, second), 3: (second,)}[k % 4]
    return flip(x, turned) if turned else x


def flipud(x: Array) -> Any:
    """As `numpy.flipud`."""
    return flip(x, 0)


def fliplr(x: Array) -> Any:
    """As `numpy.fliplr`."""
    return flip(x, 1)


def delete(x: Any, obj: Array, axis: int | None = None) -> Any:
    """As `numpy.delete`."""
    x = lift_fully(x)
    if axis is None:
        x, axis = np.ravel(x), 0
    place = axis_index("delete", axis, x)
    try:
        kept = np.delete(np.arange(x.shape[place]), obj)
    except (IndexError, ValueError) as error:
        raise fail(type(error), f"delete: {error} (along axis {place} of {x.type})") from None
    return np.take(x, kept, place)


_PAD_BY_PLACE = ("edge", "reflect", "symmetric", "wrap")


def pad(x: object, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    """As `numpy.pad`, for the modes constant, edge, reflect, symmetric and wrap."""
    x = lift_fully(x)
    allowed = {
        "constant": "constant_values",
        "reflect": "reflect_type",
        "symmetric": "reflect_type",
    }
    own = mode not in ("constant", *_PAD_BY_PLACE) or options.keys() - {allowed.get(mode)}
    constant_values = options.get("constant_values", 0)
    if own or holds_expr(constant_values) or options.get("reflect_type", "even") != "even":
        return NotImplemented  # NumPy's own code runs
    if x.ndim == 0:
        return x
    if mode in _PAD_BY_PLACE:
        places = np.pad(np.arange(x.size).reshape(x.shape), pad_width, mode)  # type: ignore[call-overload]
        return x.reshape(-1)[places]
    if isinstance(pad_width, dict):  # by axis; those that it does not name are left as they are
        given = {axis_index("pad", axis, x): width for axis, width in pad_width.items()}
        pad_width = [np.broadcast_to(given.get(axis, 0), 2) for axis in range(x.ndim)]
    frame = np.pad(np.zeros(x.shape, x.dtype), pad_width, constant_values=constant_values)
    widths = np.broadcast_to(pad_width, (x.ndim, 2))
    inside = tuple(slice(int(a), int(a) + n) for n, (a, _) in zip(x.shape, widths, strict=True))
    return lift_fully(frame).at[inside].set(x)


def broadcast_arrays(*args: object, subok: bool = False) -> tuple[Any, ...]:
    """As `numpy.broadcast_arrays`."""
    given = lift_all(args)
    shape = np.broadcast_shapes(*[x.shape for x in given])
    return tuple([np.broadcast_to(x, shape) for x in given])


def block(arrays: object) -> Any:
    """As `numpy.block`: the innermost lists are joined along the last axis."""
    depth = _depth(arrays)
    leaves = lift_all(_leaves(arrays))
    ndim = max([depth, *[x.ndim for x in leaves]])
    rest = iter([reshape(x, (1,) * (ndim - x.ndim) + x.shape) for x in leaves])

    def joined(part: object, level: int) -> Any:
        if not isinstance(part, list):
            return next(rest)
        return concatenate([joined(item, level - 1) for item in part], axis=-level)

    return joined(arrays, depth)


def _depth(arrays: object) -> int:
    """How deeply lists are nested: the same at every leaf, and none empty."""
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(item) for item in arrays}
    if len(depths) != 1:
        raise value_error(
            f"block: expected lists nested to one depth, none of them empty, but got {sorted(depths)}",
        )
    return 1 + depths.pop()


def _leaves(arrays: object) -> list[Any]:
    if not isinstance(arrays, list):
        return [arrays]
    return [leaf for item in arrays for leaf in _leaves(item)]


def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """As `numpy.compress`: which entries are chosen is read from the condition's values."""
    x, chosen = lift_fully(a), lift_fully(condition)
    if chosen.ndim != 1:
        raise value_error(f"compress: expected a condition of one axis, but got {chosen.type}")
    return np.take(x, np.nonzero(chosen)[0], axis)


def partition(
    a: Any,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> Any:
    """As `numpy.partition`: the entries taken in the order of `argpartition`."""
    x, place = _lanes("partition", a, axis)
    return take_along_axis(x, _parted("partition", x, kth, place), place)


def argpartition(
    a: Array,
    kth: int | Sequence[int],
    axis: int | None = -1,
    kind: str = "introselect",
    order: None = None,
) -> Any:
    """As `numpy.argpartition`; not differentiable."""
    x, place = _lanes("argpartition", a, axis)
    return _parted("argpartition", x, kth, place)


def _lanes(name: str, a: Any, axis: int | None) -> tuple[Any, int]:
    x = lift_fully(a)
    if axis is None or (x.ndim == 0 and name == "argpartition"):
        return reshape(x, -1), 0
    return x, axis_index(name, axis, x)


def _parted(name: str, x: Any, kth: int | Sequence[int], axis: int) -> Any:
    length = x.shape[axis]
    places = [operator.index(k) for k in np.ravel(kth).tolist()]
    for k in places:
        if not -length <= k < length and x.size:
            raise value_error(f"{name}: expected places below {length}, but got kth={kth!r}")
    return argpartition_op(x, kth=tuple([k % max(length, 1) for k in places]), axis=axis)


def rollaxis(a: object, axis: int, start: int = 0) -> Any:
    """As `numpy.rollaxis`."""
    x = lift_fully(a)
    axes = np.rollaxis(np.empty(range(x.ndim)), axis, start).shape
    return np.transpose(x, axes)


def _triangle(keep: Any, x: object, k: int) -> Any:
    x = lift_fully(x)
    return mask(keep(np.ones(x.shape[-2:], bool), k), x)


def tril(x: object, k: int = 0) -> Any:
    """As `numpy.tril`."""
    return _triangle(np.tril, x, k)


def triu(x: object, k: int = 0) -> Any:
    """As `numpy.triu`."""
    return _triangle(np.triu, x, k)
