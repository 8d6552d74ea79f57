"""Layout assignment: arrays with a short last axis, such as 25 x 1000 x 10, have their last two axes swapped.

NumPy's inner loops go along the last axis: where entries are broadcast along it, or summed over it or over
the one before, they are ten long, and cost up to eight times what loops of a thousand do. So `assign_layouts`
writes such steps for the other order of axes. Laws: f(x)^T = f(x^T) entry by entry, (x @ y)^T = y^T @ x^T,
and a reduction names another axis. Connected steps on such arrays are transposed together, if that gains more
than the copies at their borders cost.
Gain (docs/passes.md): without it the Gaussian mixture takes 2.0 times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.compiler.call_ir import aligned
from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.compiler.ir_rewriter import Rewrite
from funcgrad.graph import ArrayType
from funcgrad.ops import shape
from funcgrad.ops.base.columns import Columns, any_kind
from funcgrad.ops.base.op import Elementwise, broadcast_to
from funcgrad.ops.contraction import matmul_op
from funcgrad.typing import Array

# The last axis is at most so long, the one before at least so many times as long, and the array no smaller.
_MAX_LAST, _MIN_RATIO, _MIN_ENTRIES = 32, 8, 1 << 12
# Nanoseconds an entry: of a reduction and of a broadcast with short loops, and of swapping in memory.
_NS_REDUCED, _NS_BROADCAST, _NS_COPIED = 1.3, 0.7, 1.5
# What is gained is at least so much.
_MIN_GAIN = 5e3


def assign_layouts(flat: Flat) -> Flat:
    """The program with arrays in the order of axes that is better for all that is done to them.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x, y = fg.var("x", (1000, 3)), fg.var("y", (50, 1, 3))
    >>> for step in assign_layouts(flatten_program([np.sum(np.abs(x - y), axis=2)], [x, y])).steps[
    ...     2:
    ... ]:
    ...     print(step.op.name, step.type.shape)
    transpose (3, 1000)
    contiguous (3, 1000)
    broadcast_to (50, 3, 1000)
    reshape (50, 3, 1)
    broadcast_to (50, 3, 1000)
    subtract (50, 3, 1000)
    absolute (50, 3, 1000)
    sum (50, 1000)
    """
    steps = flat.steps
    if not any(_is_tall(step.type) for step in steps):
        return flat
    chosen = _chosen(flat)
    return _Swapped(flat, chosen).run() if chosen else flat


def _is_tall(type: ArrayType) -> bool:
    if len(type.shape) < 3 or type.size < _MIN_ENTRIES:
        return False
    *_, long, short = type.shape
    return 1 < short <= _MAX_LAST and long >= _MIN_RATIO * short


def _is_swap(step: FlatStep) -> bool:
    """Whether a step does nothing but exchange the last two axes."""
    if step.op is not shape.transpose_op:
        return False
    axes = dict(step.params)["axes"]
    *rest, a, b = range(len(axes))
    exchanged: bool = axes == (*rest, b, a)
    return exchanged


def _axes(step: FlatStep) -> tuple[int, ...]:
    """The axes along which a step reduces; none where it does not."""
    if not step.operands or not step.op.columns.reduces:
        return ()
    axes: tuple[int, ...] = dict(step.params)["axis"]
    return axes


def _last(axes: Sequence[int], type: ArrayType) -> int:
    """How many of an operand's last two axes are among these."""
    return sum([axis >= len(type.shape) - 2 for axis in axes])


# -- which steps -------------------------------------------------------------------------------------
def _chosen(flat: Flat) -> set[int]:
    """The steps whose values are kept swapped."""
    steps = flat.steps
    able: set[int] = set()
    for i, step in enumerate(steps):
        if i >= flat.inputs and _is_tall(step.type) and _is_able(steps, step, able):
            able.add(i)
    group = {i: i for i in able}

    def leader(i: int) -> int:
        while group[i] != i:
            group[i] = i = group[group[i]]
        return i

    for i in able:
        for k in steps[i].operands:
            if k in able and not _is_swap(steps[i]):
                group[leader(i)] = leader(k)
    gains: dict[int, float] = {}
    for i, step in enumerate(steps):
        for k in step.operands:
            if i in able:
                gains[leader(i)] = gains.get(leader(i), 0.0) + _gain(steps, step, k, able)
            elif k in able:
                gains[leader(k)] = gains.get(leader(k), 0.0) + _gain(steps, step, k, able)
    for i in flat.results:
        if i in able:
            gains[leader(i)] = gains.get(leader(i), 0.0) - _NS_COPIED * steps[i].type.size
    return {i for i in able if gains.get(leader(i), 0.0) > _MIN_GAIN}


def _is_able(steps: Sequence[FlatStep], step: FlatStep, able: set[int]) -> bool:
    op = step.op
    if op is matmul_op:
        return all([len(steps[k].type.shape) > 1 for k in step.operands])
    if axes := _axes(step):
        return step.operands[0] in able and not _last(axes, steps[step.operands[0]].type)
    return isinstance(op, Elementwise) or op is broadcast_to or _is_swap(step)


def _gain(steps: Sequence[FlatStep], step: FlatStep, k: int, able: set[int]) -> float:
    """Nanoseconds that swapping gains for an operand of a step."""
    type = steps[k].type
    if step.op is matmul_op or _is_swap(step):
        return 0.0  # BLAS takes either
    if (axes := _axes(step)) and k in able:
        return _NS_REDUCED * type.size if _last(axes, type) == 1 else 0.0
    if k not in able:
        return -_NS_COPIED * type.size if _is_wide(type) else 0.0
    if not (_is_tall(step.type) and _is_able(steps, step, able)):
        return -_NS_COPIED * type.size
    if steps[k].op is broadcast_to and step.op is not broadcast_to:
        long, short = (1, 1, *steps[steps[k].operands[0]].type.shape)[-2:]
        return _NS_BROADCAST * type.size if (long == 1) != (short == 1) else 0.0
    return 0.0


def _is_wide(type: ArrayType) -> bool:
    return len(type.shape) > 1 and 1 not in type.shape[-2:]


# -- writing -----------------------------------------------------------------------------------------
def contiguous(x: Array, out: Array | None = None) -> Any:
    """The array in the order of its axes in memory, whatever order it had."""
    out = aligned(x.shape, x.dtype) if out is None else out
    out[...] = x
    return out


_infer: Any = None
CONTIGUOUS = Elementwise(
    name="contiguous",
    run=contiguous,
    infer=_infer,
    edges=(None,),
    columns=Columns(takes_out=True, scalar=any_kind("{0}")),
)


def _swap(type: ArrayType) -> ArrayType:
    *rest, a, b = type.shape
    return ArrayType((*rest, b, a), type.dtype)


class _Swapped(Rewrite):
    """Writes each chosen step's value with its last two axes swapped, the others as they are."""

    def __init__(self, flat: Flat, chosen: set[int]) -> None:
        super().__init__(flat)
        self.chosen = chosen

    def run(self) -> Flat:
        for i, step in enumerate(self.steps):
            self.new_index[i] = (
                self.rewrite_chosen(step) if i in self.chosen else self.rewrite_other(step)
            )
        results = [
            self.contiguous_copy(self.unswapped(i), self.steps[i].type)
            if i in self.chosen
            else self.new_index[i]
            for i in self.flat.results
        ]
        return Flat(tuple(self.new_steps), self.flat.inputs, tuple(results))

    def contiguous_copy(self, k: int, type: ArrayType) -> int:
        return self.emit_op(CONTIGUOUS, type, k)

    def swapped_view(self, k: int, type: ArrayType) -> int:
        """A new step's value as a view with its last two axes swapped."""
        *rest, a, b = range(len(type.shape))
        return self.emit_op(shape.transpose_op, _swap(type), k, axes=(*rest, b, a))

    def unswapped(self, k: int) -> int:
        """The value of an old step as it was."""
        if k not in self.chosen:
            return self.new_index[k]
        return self.swapped_view(self.new_index[k], _swap(self.steps[k].type))

    def swapped_operand(self, k: int) -> int:
        """The value of an old step swapped, perhaps as a view."""
        return (
            self.new_index[k]
            if k in self.chosen
            else self.swapped_view(self.new_index[k], self.steps[k].type)
        )

    def elementwise_operand(self, k: int) -> int:
        """The value of an old step swapped, for operations on entries."""
        type = self.steps[k].type
        if k in self.chosen or not type.shape:
            return self.new_index[k]
        if _is_wide(type):
            return self.contiguous_copy(self.swapped_operand(k), _swap(type))
        swapped = _swap(ArrayType((1, *type.shape), type.dtype)).shape
        kept = ArrayType(swapped[-max(2, len(type.shape)) :], type.dtype)
        return self.emit_op(shape.reshape_op, kept, self.new_index[k], shape=kept.shape)

    def rewrite_chosen(self, step: FlatStep) -> int:
        type = _swap(step.type)
        if _is_swap(step):
            return self.unswapped(step.operands[0])
        if step.op is matmul_op:
            x, y = step.operands
            return self.emit_op(step.op, type, self.swapped_operand(y), self.swapped_operand(x))
        if step.op is broadcast_to:
            return self.emit_op(
                step.op, type, self.elementwise_operand(step.operands[0]), shape=type.shape
            )
        if _axes(step):
            return self.emit(self.remapped(step)._replace(type=type))
        operands = tuple([self.elementwise_operand(k) for k in step.operands])
        return self.emit(step._replace(operands=operands, type=type))

    def rewrite_other(self, step: FlatStep) -> int:
        if step.operands and step.operands[0] in self.chosen:
            k = step.operands[0]
            if _is_swap(step):
                return self.new_index[k]
            axes, last = _axes(step), len(self.steps[k].type.shape) - 1
            if axes and _last(axes, self.steps[k].type):
                there = {last: last - 1, last - 1: last}
                moved = tuple(sorted([there.get(axis, axis) for axis in axes]))
                params = tuple([(n, moved if n == "axis" else v) for n, v in step.params])
                return self.emit(step._replace(operands=(self.new_index[k],), params=params))
        return self.emit(step._replace(operands=tuple([self.unswapped(k) for k in step.operands])))
