"""Slices whose bounds vary, but not their length: `a[i:i + 3]` under jit selects by an array of places.

The length is read off the bounds as integer formulas: `i + 3` and `i`, or `n * i` and `n * (i + 1)`, differ
by a constant. NumPy cuts a slice off at the ends of an axis, and counts bounds below 0 from its end; whether
neither happens is a question, whose answer is a guard.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.expr.concrete import has_known_value
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, Key
from funcgrad.ops.elementwise import arithmetic


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


def _is_asked(bound: Any) -> bool:
    """Whether a bound is an integer that other calls of a jitted function may have others of."""
    is_integer = isinstance(bound, Expr) and not bound.shape and bound.dtype == np.int64
    return is_integer and bound.traced is not None and bound.traced.records


def moving_slice(part: slice, length: int) -> Any:
    """The places that a slice of a fixed length selects; None if its bounds have to be asked for."""
    step = 1 if part.step is None else part.step
    bounds = (part.start, part.stop)
    if type(step) is not int or step < 1 or None in bounds:
        return None
    if not any(map(_is_asked, bounds)):
        return None
    if not all([_is_asked(b) or isinstance(b, int | np.integer) for b in bounds]):
        return None
    if not all([has_known_value(b) for b in bounds if isinstance(b, Expr)]):
        return None
    difference = _affine(part.stop).plus(_affine(part.start), -1)
    last = length - difference.constant
    if difference.factors or not 0 <= last <= length:
        return None
    is_within = (part.start >= 0) & (part.start <= last)
    return part.start + np.arange(0, difference.constant, step) if is_within else None
