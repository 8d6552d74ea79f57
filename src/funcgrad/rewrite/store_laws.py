"""Laws of stores: store-to-load forwarding, and stores that overwrite or extend earlier stores.

Reverse accumulation adds, at each read of entries, an array that is zero elsewhere. Such a sum becomes a
store that adds, whose cost is that of the entries, not of the array.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops import indexing, shape
from funcgrad.ops.base import op
from funcgrad.ops.base.index_spec import Spec, shape_of
from funcgrad.ops.elementwise import arithmetic
from funcgrad.ops.store_forwarding import constant_entry, forwarded, place_of
from funcgrad.ops.stores import index_add_op, index_set_op
from funcgrad.rewrite.constant_values import unrepeated


def is_zero(expr: Expr) -> bool:
    """Whether an expression is zeros, as a constant that is repeated."""
    expr = unrepeated(expr)
    if expr.size != 1 or not hasattr(expr, "value") or expr.args:
        return False
    return expr.op.name == "constant" and not np.any(expr.value)


def stored_entry(expr: Expr) -> Expr | None:
    """x.at[i].set(v)[i] = v; x.at[i].set(v)[j] = x[j]; an entry of a constant is a constant."""
    if len(expr.args) != 1:
        return None
    (x,) = expr.args
    spec = dict(expr.params)["spec"]
    if x.op is index_set_op and len(x.args) == 2 and dict(x.params)["spec"] == spec:
        v = x.args[1]
        return v if v.shape == expr.shape else op.broadcast_to(v, shape=expr.shape)
    place = place_of(spec, x.shape)
    if place is None:
        return None
    return forwarded(x, place) if x.op is index_set_op else constant_entry(x, place)


_MOST_STACKED = 64
"""The parts of an array that are searched for the one with an entry: else entries take quadratic time."""


def stacked_entry(expr: Expr) -> Expr | None:
    """concatenate([x, y])[k] = y[k - len(x)], also of parts to which stacking has added an axis."""
    x, *arrays = expr.args
    place = None if arrays else place_of(dict(expr.params)["spec"], x.shape)
    while place:
        if _is_stacked(x):
            k, *rest = place
            for part in x.args:
                if k < part.shape[0]:
                    break
                k -= part.shape[0]
            x, place = part, (k, *rest)
        elif x.op is shape.reshape_op and x.shape == (1, *x.args[0].shape):
            x, place = x.args[0], place[1:]
        else:
            break
    if place is None or x is expr.args[0]:
        return None
    known = constant_entry(x, place)
    if known is not None:
        return known
    return x[place] if place else x


def _is_stacked(x: Expr) -> bool:
    """Whether an array is a few others along its first axis, of lengths that are known."""
    if x.op is not shape.concatenate_op or dict(x.params)["axis"] or len(x.args) > _MOST_STACKED:
        return False
    return all([part.shape[0] >= 0 for part in x.args])


_WHOLE = (("slice", None, None, None), "...")


def whole(expr: Expr) -> Expr | None:
    """x[()] = x; x[:] = x; x[...] = x; x[0:len(x)] = x."""
    x = expr.args[0]
    return x if len(expr.args) == 1 and x.shape == expr.shape and _is_whole(expr) else None


def of_parts_with_entries(expr: Expr) -> Expr | None:
    """concatenate([x]) = x; concatenate([x, y]) = x, where y has no entries along the axis."""
    axis = dict(expr.params)["axis"]
    parts = [part for part in expr.args if part.shape[axis]] or [*expr.args[:1]]
    if len(parts) > 1 and len(parts) == len(expr.args):
        return None
    return parts[0] if len(parts) == 1 else shape.concatenate_op(*parts, axis=axis)


def of_all_or_none(expr: Expr) -> Expr | None:
    """x.at[i].set(v) = x, where i has no entries; x.at[:].set(v) = v."""
    x, v = expr.args[:2]
    if not v.size and x.size:
        return x
    if len(expr.args) > 2 or not _is_whole(expr) or v.dtype != x.dtype:
        return None
    return v if v.shape == x.shape else op.broadcast_to(v, shape=x.shape)


def of_no_entries(expr: Expr) -> Expr | None:
    """zeros.at[i].add(v) = zeros, where v has no entries: no factor meets these zeros."""
    return shape.zeros_like(expr) if expr.size and not expr.args[0].size else None


def _is_whole(expr: Expr) -> bool:
    """Whether an index has slices alone, of increasing places, and as many of them as there are."""
    x, spec = expr.args[0], dict(expr.params)["spec"]
    if all([item in _WHOLE for item in spec]):
        return True
    steps = [item[3] if isinstance(item, tuple) else 1 if item == "..." else -1 for item in spec]
    if -1 in x.shape or not all([step is None or step > 0 for step in steps]):
        return False
    return shape_of(x, spec, ()) == x.shape


def overwritten(expr: Expr) -> Expr | None:
    """x.at[i].set(u).at[i].set(v) = x.at[i].set(v); x.at[i].add(u).at[i].set(v) likewise."""
    x, v, *arrays = expr.args
    if not _is_same_place(x, expr):
        return None
    return index_set_op(x.args[0], v, *arrays, **dict(expr.params))  # type: ignore[no-any-return]


def added_to_zero(expr: Expr) -> Expr | None:
    """x.at[i].set(0).at[i].add(v) = x.at[i].set(v), where an index names an entry once."""
    x, v, *arrays = expr.args
    if not (_is_same_place(x, expr) and is_zero(x.args[1]) and dict(x.params)["unique"]):
        return None
    return index_set_op(x.args[0], v, *arrays, **dict(x.params))  # type: ignore[no-any-return]


def _is_same_place(x: Expr, expr: Expr) -> bool:
    if x.op not in (index_set_op, index_add_op) or x.params[0] != expr.params[0]:
        return False
    ours, theirs = expr.args[2:], x.args[2:]
    return len(ours) == len(theirs) and all([a is b for a, b in zip(ours, theirs, strict=True)])


# Sums of arrays in blocks of more than one part in so many are left: they are as quick, and are fused.
_PARTS = 8


def accumulated(expr: Expr) -> Expr | None:
    """x + zeros.at[i].add(v) = x.at[i].add(v), where the entries are few, or x is a sum of such slices."""
    for x, term in (expr.args, expr.args[::-1]):
        if term.op is not indexing.scatter_op:
            continue
        is_sum = len(term.args) == 1 and (x.op is index_add_op or _is_sum_of_slices(x))
        if is_sum and x.op is not index_add_op:
            x = _added(*x.args)
        if is_sum or term.args[0].size * _PARTS <= x.size:
            return _added(x, term)
    return None


def _is_sum_of_slices(x: Expr) -> bool:
    return x.op is arithmetic.add and all(
        [arg.op is indexing.scatter_op and len(arg.args) == 1 for arg in x.args]
    )


def _added(x: Expr, term: Expr) -> Expr:
    v, *arrays = term.args
    return index_add_op(x, v, *arrays, spec=dict(term.params)["spec"])  # type: ignore[no-any-return]


class _Block(NamedTuple):
    """A term of a sum that adds x to the entries from start to stop along an axis, or to one entry."""

    place: tuple[int, bool]
    """The axis, and False; of one entry, the number of its axes, and True: they are counted as one axis."""
    start: int
    stop: int
    x: Expr
    spec: Spec


# Terms of a sum that are looked at, and entries of an array that are counted.
_MOST_TERMS, _MOST_ENTRIES = 32, 16


def joined(expr: Expr) -> Expr | None:
    """zeros.at[:k].add(x) + zeros.at[k:].add(y) = concatenate([x, y]), also within a sum with arrays.

    In the same way zeros.at[0].add(x) + zeros.at[1].add(y) = stack([x, y]). Such is the cotangent of an array
    that `numpy.roll` reads, or whose entries are unpacked.
    """
    blocks, rest = _terms(expr)
    for place in dict.fromkeys([block.place for block in blocks]):
        tiled = _tiled([block for block in blocks if block.place == place], expr)
        if tiled is not None and tiled[0].shape == expr.shape:
            others = [
                indexing.scatter_op(block.x, spec=block.spec, shape=expr.shape)
                for block in blocks
                if block.place != place
            ]
            found: Expr = reduce(operator.add, [*rest, *others, tiled[0]])
            return found
    return None


def as_one_scatter(expr: Expr) -> Expr | None:
    """zeros.at[1].add(x) + zeros.at[2].add(y) = zeros.at[1:3].add(stack([x, y])), for terms side by side.

    Such is the cotangent of an array of which some entries are read one by one.
    """
    blocks, rest = _terms(expr)
    places = {block.place for block in blocks}
    tiled = _tiled(blocks, expr) if len(places) == 1 and not rest else None
    axis, is_entry = blocks[0].place if blocks else (0, True)
    if tiled is None or is_entry:
        return None
    x, start, stop = tiled
    spec = (*(_ALL,) * axis, ("slice", start, stop, None))
    return indexing.scatter_op(x, spec=spec, shape=expr.shape)  # type: ignore[no-any-return]


def _terms(expr: Expr) -> tuple[list[_Block], list[Expr]]:
    """The last terms of a sum that are blocks, and the other terms."""
    blocks: list[_Block] = []
    rest: list[Expr] = []
    left: Expr | None = expr
    while left is not None and len(blocks) + len(rest) < _MOST_TERMS:
        block, other = _last_block(left)
        if block is None and left.op is arithmetic.add:
            # One term that is none may stand between them.
            x, y = left.args if _last_block(left.args[0])[0] else left.args[::-1]
            block, other = _last_block(x)
            rest += [y] if block else []
        if block is None:
            break
        blocks.append(block)
        left = other
    return blocks, rest if left is None else [*rest, left]


def _last_block(expr: Expr) -> tuple[_Block | None, Expr | None]:
    """The last term of a sum if it is a block, and the sum of the others."""
    terms: Sequence[tuple[Any, ...]] = ((expr, None),)
    if expr.op is index_add_op and len(expr.args) == 2:
        return _block(expr, expr.args[1]), expr.args[0]
    if expr.op is arithmetic.add:
        terms = (expr.args, expr.args[::-1])
    elif expr.op is arithmetic.subtract:
        terms = ((expr.args[0], -expr.args[1]),)
    for term, other in terms:
        if term.op is indexing.scatter_op and len(term.args) == 1:
            block = _block(term, term.args[0])
            if block is not None:
                return block, other
    return None, None


def _block(term: Expr, x: Expr) -> _Block | None:
    """The block of a term that adds x to zeros, if it is one."""
    own, lengths = dict(term.params)["spec"], term.shape
    spec = own
    if "..." in spec and not {"new", "array"}.intersection(spec):
        at = spec.index("...")
        spec = (*spec[:at], *(_ALL,) * (len(lengths) + 1 - len(spec)), *spec[at + 1 :])
    axis, last = len(spec) - 1, spec[-1] if spec else None
    if x.dtype != term.dtype or last in (None, "...", "new", "array"):
        return None
    if min(lengths[: axis + 1]) < 0:  # of a stack of an open loop
        return None
    if axis and all([isinstance(i, int) for i in spec]):
        if math.prod(lengths[: axis + 1]) > _MOST_ENTRIES:
            return None
        place = tuple([i % n for i, n in zip(spec, lengths, strict=False)])
        start = int(np.ravel_multi_index(place, lengths[: axis + 1]))
        return _Block((axis + 1, True), start, start + 1, x, own)
    if spec[:-1] != (_ALL,) * axis:
        return None
    if isinstance(last, int):
        if lengths[axis] > _MOST_ENTRIES:
            return None
        start = last % lengths[axis]
        return _Block((axis, False), start, start + 1, x, own)
    start, stop, step = slice(*last[1:]).indices(lengths[axis])
    wanted = (*lengths[:axis], stop - start, *lengths[axis + 1 :])
    found = step == 1 and start < stop and x.shape == wanted
    return _Block((axis, False), start, stop, x, own) if found else None


def _tiled(blocks: Sequence[_Block], expr: Expr) -> tuple[Expr, int, int] | None:
    """The entries that blocks make up, if they are side by side, with the first place and the one after them.

    Of entries by several indices there have to be all.
    """
    added: dict[tuple[int, int], Expr] = {}
    for block in blocks:
        key = block.start, block.stop
        if key not in added:
            added[key] = block.x
        elif added[key].shape == block.x.shape:
            added[key] += block.x
        else:
            return None
    keys = sorted(added)
    axis, is_entry = blocks[0].place
    first, last = (0, math.prod(expr.shape[:axis])) if is_entry else (keys[0][0], keys[-1][1])
    if [first, *[stop for _, stop in keys]] != [*[start for start, _ in keys], last]:
        return None
    parts = [added[key] for key in keys]
    if is_entry:
        return shape.reshape(shape.stack(parts), expr.shape), first, last
    # Of one place along the axis, a part has that axis or not.
    whole = [x if x.ndim == expr.ndim else shape.expand_dims(x, axis) for x in parts]
    return shape.concatenate(whole, axis=axis), first, last


_ALL = ("slice", None, None, None)
