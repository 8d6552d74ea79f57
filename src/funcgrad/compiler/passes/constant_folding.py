"""Constant folding: what depends on constants alone is computed once, when the program is compiled.

The simplifier folds numbers. This pass folds arrays, of which the gradients of linear functions are made: the
scattered ones of a sum of entries, the windows and the running sums of ones. A captured array is an input of
the program, read at each call, and is not folded. Nor is an operation that calls a function or a program, nor
one that raises an error: these run when the program runs.
Gain (docs/passes.md): without it the gradient of a mean of sliding windows takes 16 times as long, that of a
padded array 3 times.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.compiler.ir_rewriter import Rewrite
from funcgrad.graph import CONSTANT, Constant
from funcgrad.ops.base.op import broadcast_to

_LEFT = (CONSTANT, broadcast_to)
_MOST_BYTES = 2**18
"""Of an array that is kept: reading a larger one takes longer than most operations that compute it."""


def fold_array_constants(flat: Flat) -> Flat:
    """The program with constants in the place of operations on constants.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> from funcgrad.compiler.ir_rewriter import eliminate_dead_steps
    >>> x = fg.var("x", 3)
    >>> flat = flatten_program([np.sin(fg.const([1.0, 2.0, 3.0])) * x], [x])
    >>> [step.op.name for step in eliminate_dead_steps(fold_array_constants(flat)).steps]
    ['input', 'constant', 'multiply']
    """
    known = _known_values(flat)
    if all([flat.steps[i].op in _LEFT for i in known]):
        return flat
    rewrite = Rewrite(flat)
    for i, step in enumerate(flat.steps):
        folded = i in known and step.op not in _LEFT
        new = _constant(known[i], step) if folded else rewrite.remapped(step)
        rewrite.new_index[i] = rewrite.emit(new)
    return rewrite.result()


def _known_values(flat: Flat) -> dict[int, np.ndarray[Any, Any]]:
    """The arrays of steps that depend on constants alone, but those that only such steps read."""
    known: dict[int, np.ndarray[Any, Any]] = {}
    kept = set(flat.results)
    last = {k: i for i, step in enumerate(flat.steps) for k in step.operands}
    with np.errstate(all="ignore"):
        for i, step in enumerate(flat.steps):
            if step.op is CONSTANT:
                if not step.params[0][1].captured:
                    known[i] = step.constant
            elif step.operands and all([k in known for k in step.operands]) and _is_pure(step):
                with suppress(Exception):
                    known[i] = np.asarray(step.run(*[known[k] for k in step.operands]))
            if i not in known or step.op is broadcast_to:
                kept.update(step.operands)
            for k in {*step.operands} - kept:
                if last[k] == i:
                    known.pop(k, None)
    return known


def _is_pure(step: FlatStep) -> bool:
    """Whether a step is computed at once: a broadcast is a view, and takes no memory."""
    if step.type.dtype.kind == "O" or step.op.columns.calls_function:
        return False
    return step.op is broadcast_to or step.type.dtype.itemsize * step.type.size <= _MOST_BYTES


def _constant(array: np.ndarray[Any, Any], step: FlatStep) -> FlatStep:
    kept = np.array(array)
    kept.flags.writeable = False
    return FlatStep(CONSTANT, (), (("value", Constant(kept)),), step.type)
