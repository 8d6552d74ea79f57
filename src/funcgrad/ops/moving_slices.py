"""Slices whose bounds vary, but not their length, as `a[i:i + 3]` under jit and in bodies of loops.

They select by an array of places. The length is read off the bounds as integer formulas: `i + 3` and `i`, or
`n * i` and `n * (i + 1)`, differ by a constant. NumPy cuts a slice off at the ends of an axis, and counts
bounds below 0 from its end. Under jit, whether neither happens is a question, whose answer is a guard; in the
body of a loop, which has one length for all iterations, such a slice is an IndexError as the program runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.array_subscripts import has_traced_bounds
from funcgrad.expr import Expr
from funcgrad.expr.concrete import has_known_value
from funcgrad.fold import folded, reaches
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.ops.elementwise import arithmetic
from funcgrad.typing import Index

_PLAIN = (int, slice, type(None), type(...))


class _Affine(NamedTuple):
    """An integer formula: a constant, and multiples of formulas that are no sums or multiples."""

    constant: int
    factors: Mapping[Key, int]

    def plus(self, other: _Affine, times: int = 1) -> _Affine:
        factors = Counter(self.factors)
        for key, factor in other.factors.items():
            factors[key] += times * factor
        kept = {key: factor for key, factor in factors.items() if factor}
        return _Affine(self.constant + times * other.constant, kept)


_ZERO = _Affine(0, {})


def _affine(bound: Any) -> _Affine:
    if not isinstance(bound, Expr):
        return _Affine(int(bound), {})
    found: _Affine = folded([bound], _affine_of, operands=_integer_operands)[0]
    return found


def _integer_operands(expr: Expr) -> tuple[Expr, ...]:
    is_known = all([arg.dtype == np.int64 and not arg.shape for arg in expr.args])
    return expr.args if is_known else ()


def _affine_of(expr: Expr, parts: tuple[_Affine, ...]) -> _Affine:
    if not parts and expr.args:
        return _Affine(0, {expr.key: 1})
    if expr.op is CONSTANT:
        return _Affine(int(expr.params[0][1].array), {})
    if expr.op is arithmetic.add:
        return parts[0].plus(parts[1])
    if expr.op is arithmetic.subtract:
        return parts[0].plus(parts[1], -1)
    if expr.op is arithmetic.negative:
        return _ZERO.plus(parts[0], -1)
    if expr.op is arithmetic.multiply:
        for one, other in (parts, parts[::-1]):
            if not one.factors:
                return _ZERO.plus(other, one.constant)
    return _Affine(0, {expr.key: 1})


def _varies(bound: object) -> bool:
    """Whether a bound is an integer that others take the place of: in other calls, or in other iterations."""
    if not isinstance(bound, Expr) or bound.shape or bound.dtype != np.int64:
        return False
    is_recorded = bound.traced is not None and bound.traced.records
    return (is_recorded and has_known_value(bound)) or _stands_for_any(bound)


def _stands_for_any(bound: Expr) -> bool:
    """Whether a bound depends on a symbol; the examples of a batch, which `vmap` maps over, have values."""
    return not has_known_value(bound) and reaches(
        [bound], lambda expr: expr.op is INPUT, attrgetter("args")
    )


def _moving_slice(part: slice, length: int) -> Any:
    """The places that a slice of a fixed length selects; None if its bounds have to be asked for."""
    step = 1 if part.step is None else part.step
    bounds = (part.start, part.stop)
    if type(step) is not int or step < 1 or not any(map(_varies, bounds)):
        return None
    if not all([_varies(b) or isinstance(b, int | np.integer) for b in bounds]):
        return None
    difference = _affine(part.stop).plus(_affine(part.start), -1)
    last = length - difference.constant
    if difference.factors or not 0 <= last <= length:
        return None
    start, offsets = part.start, np.arange(0, difference.constant, step)
    if any([_stands_for_any(b) for b in bounds if isinstance(b, Expr)]):
        return np.where(start < 0, length, start) + offsets
    return start + offsets if (start >= 0) & (start <= last) else None


def _is_basic(item: object) -> bool:
    if type(item) is Expr:
        return not item.shape and item.dtype.kind in "iu"
    return type(item) in _PLAIN or isinstance(item, np.integer)


class Move(NamedTuple):
    """A slice whose bounds vary, as an index of one axis."""

    axis: int
    places: Any
    like: slice
    """A slice of numbers that selects as many entries."""

    @property
    def subscript(self) -> tuple[Any, ...]:
        """The places, behind slices of the axes before."""
        return (*(slice(None),) * self.axis, self.places)


def moving_slices(index: object, lengths: Sequence[int]) -> tuple[Index, list[Move]] | None:
    """An index whose slices vary as two steps: the rest of the index, and the moves of what that selects.

    So the order of the axes is that of slices, and not that of arrays. None if bounds have to be asked for,
    or if the index has arrays.
    """
    items = index if type(index) is tuple else (index,)
    skipped = len(lengths) - sum([item is not None and item is not ... for item in items])
    rest: list[Any] = []
    moves: list[Move] = []
    axis = made = 0  # of the array, and of what the rest of the index selects
    for item in items:
        is_moving = has_traced_bounds(item)
        if is_moving and axis < len(lengths):
            places = _moving_slice(item, lengths[axis])
            if places is None:
                return None
            like = slice(0, places.size * (item.step or 1), item.step)
            moves.append(Move(made, places, like))
        elif not _is_basic(item):
            return None
        rest.append(slice(None) if is_moving else item)
        passed = skipped if item is ... else 1
        axis += passed * (item is not None)
        made += passed * (item is None or item is ... or type(item) is slice)
    return tuple(rest), moves
