"""Strength reduction of sorting: entries that are only taken in their order are sorted without their places.

Law: take_along_axis(x, argsort(x)) = sort(x), but for the order of equal zeros of other signs. NumPy sorts
values by vector instructions, in a third to a fifth of the time of a stable order of their places. Where the
places are read for anything else, as by a derivative, they stay. Short axes are left to machine code.
Gain (docs/passes.md): without it a sort of 20 columns of 1,000 numbers takes 3.4 times as long.
"""

from __future__ import annotations

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.compiler.ir_rewriter import Rewrite
from funcgrad.graph import CONSTANT
from funcgrad.ops.indexing import getitem_op
from funcgrad.ops.scans_and_sorts import argsort_op
from funcgrad.ops.sorted_entries import sorted_op

_SHORT = 64
"""Entries along an axis up to which machine code has a form of the order."""


def sort_values(flat: Flat) -> Flat:
    """The program in which no array is sorted by the places of its entries if only its entries are read.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> from funcgrad.compiler.ir_rewriter import eliminate_dead_steps
    >>> x = fg.var("x", 100)
    >>> flat = sort_values(flatten_program([np.sort(x)], [x]))
    >>> [step.op.name for step in eliminate_dead_steps(flat).steps]
    ['input', 'sorted']
    """
    orders = {i for i, step in enumerate(flat.steps) if _is_long_order(step)}
    for step in flat.steps:
        if orders:
            orders -= {k for k in step.operands if k in orders and not _takes(flat, step, k)}
    orders -= {*flat.results}
    if not orders:
        return flat
    rewrite = Rewrite(flat)
    for i, step in enumerate(flat.steps):
        order = next((k for k in step.operands if k in orders), None)
        made = rewrite.remapped(step)
        if order is not None:
            params = flat.steps[order].params
            made = FlatStep(sorted_op, made.operands[:1], params, step.type)
        rewrite.new_index[i] = rewrite.emit(made)
    return rewrite.result()


def _is_long_order(step: FlatStep) -> bool:
    return step.op is argsort_op and step.type.shape[dict(step.params)["axis"]] > _SHORT


def _takes(flat: Flat, step: FlatStep, order: int) -> bool:
    """Whether a step takes the entries of an array in its order."""
    sorting = flat.steps[order]
    x, *places = step.operands
    if (
        step.op is not getitem_op
        or x != sorting.operands[0]
        or step.type.shape != sorting.type.shape
    ):
        return False
    if dict(step.params)["spec"] != ("array",) * len(step.type.shape):
        return False
    axis = dict(sorting.params)["axis"]
    own = [k for k, place in enumerate(places) if place == order]
    return own == [axis] and all(
        [_is_grid(flat.steps[place], k) for k, place in enumerate(places) if k != axis]
    )


def _is_grid(step: FlatStep, axis: int) -> bool:
    """Whether a step is the constant of all places along an axis, as of an open grid."""
    if step.op is not CONSTANT or len(step.type.shape) <= axis:
        return False
    count = step.type.shape[axis]
    return step.type.size == count and np.array_equal(step.constant.ravel(), np.arange(count))
