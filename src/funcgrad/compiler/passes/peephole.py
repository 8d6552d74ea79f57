"""Peephole optimization of steps: a few steps that a cheaper one replaces, exactly.

Derivatives of `maximum`, `logaddexp` and `logsumexp` are exact for ties, infinities and NaN, which are
rare. The replacements look whether there are any, and otherwise leave out what would change nothing.
Laws, each with equal values to the bit: mask(any(p), sum(mask(p, x))) = sum(mask(p, x)); mask((x != z) |
(abs(x) < inf), x - z) = gap(x, z); mask((x >= y) | (x != x), where(x == y, 1/2, 1)*g) = over(x, y, g), and
likewise for <=.
Gain (docs/passes.md): without it the Gaussian mixture takes 1.04 of the time, the network 1.02, in float32
1.09.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.compiler.numpy.branchless_select import BITS, kept
from funcgrad.graph import CONSTANT
from funcgrad.ops.base.columns import Columns
from funcgrad.ops.base.op import Elementwise, broadcast_to

_ONE = np.array(1, np.int8)
# Smaller arrays are as quick step by step.
_ENTRIES = 512


def shortened(flat: Flat) -> Flat:
    """The program with shortcuts for the steps that have one; what they make needless stays."""
    steps = [_shorter(flat.steps, step) for step in flat.steps]
    return flat._replace(steps=tuple(steps))


def _shorter(steps: Sequence[FlatStep], step: FlatStep) -> FlatStep:
    if step.op.name == "mask":
        for shortcut in _SHORTCUTS:
            new = shortcut(steps, step)
            if new is not None:
                return _shorter(steps, new)
    return step


def _read(steps: Sequence[FlatStep], i: int, *names: str) -> tuple[int, ...]:
    """The operands of a step that is one of these operations; none where it is another."""
    return steps[i].operands if steps[i].op.name in names else ()


def _either(steps: Sequence[FlatStep], i: int, *names: str) -> list[tuple[int, ...]]:
    """The two operands of a step that commutes, both ways round."""
    pair = _read(steps, i, *names)
    return [pair, pair[::-1]] if pair else []


def _constant(steps: Sequence[FlatStep], i: int) -> Any:
    """The number that a step repeats, if it does."""
    while steps[i].op is broadcast_to:
        i = steps[i].operands[0]
    step = steps[i]
    return step.constant.reshape(())[()] if step.op is CONSTANT and step.type.size == 1 else None


# -- sums of what is masked ---------------------------------------------------------------------------
def _masked_sum(steps: Sequence[FlatStep], step: FlatStep) -> FlatStep | None:
    """mask(any(p), sum(mask(p, x))) = sum(mask(p, x)), where nothing selected adds up to 0."""
    some, total = step.operands
    chosen, inside = _read(steps, some, "any"), _read(steps, total, "sum")
    if not chosen or not inside or steps[some].params != steps[total].params:
        return None
    masking = _read(steps, inside[0], "mask")
    return steps[total] if masking and masking[0] == chosen[0] else None


# -- differences that may be of two infinities --------------------------------------------------------
def gap(x: Any, z: Any, out: Any = None) -> Any:
    """x - z, and 0 where both are the same infinity.

    >>> gap(np.array([1.0, np.inf, np.inf]), np.array([3.0, np.inf, 1.0]))
    array([-2.,  0., inf])
    """
    if not np.isinf(z).any():
        return np.subtract(x, z, out=out)
    apart, zero = (x != z) | (np.abs(x) < np.inf), np.zeros((), x.dtype)
    return np.subtract(np.where(apart, x, zero), np.where(apart, z, zero), out=out)


def _gap(steps: Sequence[FlatStep], step: FlatStep) -> FlatStep | None:
    """mask((x != z) | (abs(x) < inf), x - z) = gap(x, z)."""
    p, difference = step.operands
    pair = _read(steps, difference, "subtract")
    if not pair or step.type.dtype not in BITS or step.type.size < _ENTRIES:
        return None
    for apart, finite in _either(steps, p, "bitwise_or", "logical_or"):
        bound = _read(steps, finite, "less")
        if _read(steps, apart, "not_equal") != pair or not bound:
            continue
        if _read(steps, bound[0], "absolute") == pair[:1] and _constant(steps, bound[1]) == np.inf:
            return FlatStep(GAP, pair, (), step.type)
    return None


# -- the derivative of maximum and minimum ------------------------------------------------------------
def routed(loses: Any, x: Any, y: Any, g: Any, out: Any = None) -> Any:
    """g where x wins or is NaN, half of it where x and y are equal, 0 where x loses. ``out`` is no operand.

    >>> x = np.array([1.0, 2.0, 3.0, np.nan])
    >>> routed(np.less, x, np.array(2.0), np.array([np.inf, 8.0, 8.0, 8.0]))
    array([0., 4., 8., 8.])
    """
    if np.ndim(y) == 0 and y == y:
        lost = loses(x, y)
    else:
        lost = ~((x == y) | loses(y, x) | (x != x))
    ones = np.asarray(lost).view(np.int8)
    np.subtract(ones, _ONE, ones)  # -1 where it has not lost
    if np.shape(ones) != np.shape(out if out is not None else g):
        ones = np.broadcast_to(ones, np.broadcast_shapes(np.shape(ones), np.shape(g)))
    result = kept(ones, g, out)
    ties = np.equal(x, y)
    if ties.any():
        np.multiply(result, np.array(0.5, result.dtype), out=result, where=ties)
    return result


def over(x: object, y: object, g: object, out: object = None) -> Any:
    """What goes back to the first operand of `maximum`."""
    return routed(np.less, x, y, g, out)


def under(x: object, y: object, g: object, out: object = None) -> Any:
    """What goes back to the first operand of `minimum`."""
    return routed(np.greater, x, y, g, out)


def _routed(steps: Sequence[FlatStep], step: FlatStep) -> FlatStep | None:
    """mask((x >= y) | (x != x), where(x == y, 1/2, 1)*g) = routed(less, x, y, g), likewise for <=."""
    p, product = step.operands
    if step.type.dtype not in BITS or step.type.size < _ENTRIES:
        return None
    for wins, nan in _either(steps, p, "bitwise_or", "logical_or"):
        pair = _read(steps, wins, "greater_equal", "less_equal")
        if not pair or _read(steps, nan, "not_equal") != pair[:1] * 2:
            continue
        for weight, g in _either(steps, product, "multiply"):
            ties = _read(steps, weight, "where")
            if not ties or _read(steps, ties[0], "equal") not in (pair, pair[::-1]):
                continue
            if [_constant(steps, k) for k in ties[1:]] == [0.5, 1]:
                greater = steps[wins].op.name == "greater_equal"
                return FlatStep(OVER if greater else UNDER, (*pair, g), (), step.type)
    return None


def _shortcut(name: str, run: Callable[..., Any], count: int) -> Elementwise:
    infer: Any = None
    edges = (None,) * count
    return Elementwise(
        name=name, run=run, infer=infer, edges=edges, columns=Columns(takes_out=True)
    )


GAP = _shortcut("gap", gap, 2)
OVER = _shortcut("over", over, 3)
UNDER = _shortcut("under", under, 3)
_SHORTCUTS = (_masked_sum, _gap, _routed)
