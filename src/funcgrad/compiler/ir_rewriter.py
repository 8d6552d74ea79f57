"""A builder of rewritten programs for the passes over steps, and dead-code elimination."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.graph import CONSTANT, ArrayType, Constant


class Rewrite:
    """The steps of the new program, and the new index of each old step's value."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.steps = flat.steps
        self.new_steps: list[FlatStep] = []
        self.new_index: dict[int, int] = {}
        self.unique: dict[Any, int] = {}

    def emit(self, step: FlatStep) -> int:
        """The index of a step, which is appended."""
        self.new_steps.append(step)
        return len(self.new_steps) - 1

    def remapped(self, step: FlatStep) -> FlatStep:
        """An old step on the new indices of its operands."""
        return step._replace(operands=tuple([self.new_index[k] for k in step.operands]))

    def emit_op(self, op: object, type: ArrayType, *operands: int, **params: object) -> int:
        """The index of an operation on new steps; equal operations are emitted once."""
        step = FlatStep(op, operands, tuple(params.items()), type)
        if step not in self.unique:
            self.unique[step] = self.emit(step)
        return self.unique[step]

    def constant(self, value: object, dtype: np.dtype[Any]) -> int:
        """The index of a constant scalar; equal ones of a dtype are emitted once."""
        row = repr(value), dtype
        if row not in self.unique:
            array = np.array(value, dtype)
            array.flags.writeable = False
            type = ArrayType((), array.dtype)
            self.unique[row] = self.emit(
                FlatStep(CONSTANT, (), (("value", Constant(array)),), type)
            )
        return self.unique[row]

    def result(self) -> Flat:
        """The new program."""
        results = tuple([self.new_index[i] for i in self.flat.results])
        return Flat(tuple(self.new_steps), self.flat.inputs, results)


def eliminate_dead_steps(flat: Flat) -> Flat:
    """The program without steps that no result needs."""
    needed = set(flat.results)
    for i in reversed(range(len(flat.steps))):
        if i in needed:
            needed.update(flat.steps[i].operands)
    if len(needed | set(range(flat.inputs))) == len(flat.steps):
        return flat
    rewrite = Rewrite(flat)
    for i, step in enumerate(flat.steps):
        if i in needed or i < flat.inputs:
            rewrite.new_index[i] = rewrite.emit(rewrite.remapped(step))
    return rewrite.result()
