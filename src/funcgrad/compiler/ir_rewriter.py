"""Writing one flat program from another, step by step, and dead-code elimination: what step passes share."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.graph import CONSTANT, ArrayType, Constant


class Rewrite:
    """Steps that are being made, and where the value of each step of the old program stands among them."""

    def __init__(self, flat: Flat) -> None:
        self.flat = flat
        self.steps = flat.steps
        self.made: list[FlatStep] = []
        self.where: dict[int, int] = {}
        self.known: dict[Any, int] = {}

    def put(self, step: FlatStep) -> int:
        """A new step's number."""
        self.made.append(step)
        return len(self.made) - 1

    def moved(self, step: FlatStep) -> FlatStep:
        """An old step, on the new numbers of its operands."""
        return step._replace(operands=tuple([self.where[k] for k in step.operands]))

    def apply(self, op: object, type: ArrayType, *operands: int, **params: object) -> int:
        """The number of an operation on new steps, which is made once."""
        step = FlatStep(op, operands, tuple(params.items()), type)
        if step not in self.known:
            self.known[step] = self.put(step)
        return self.known[step]

    def constant(self, value: object, dtype: np.dtype[Any]) -> int:
        """The number of a constant scalar, which is made once for each dtype."""
        row = repr(value), dtype
        if row not in self.known:
            array = np.array(value, dtype)
            array.flags.writeable = False
            type = ArrayType((), array.dtype)
            self.known[row] = self.put(FlatStep(CONSTANT, (), (("value", Constant(array)),), type))
        return self.known[row]

    def result(self) -> Flat:
        """The new program."""
        results = tuple([self.where[i] for i in self.flat.results])
        return Flat(tuple(self.made), self.flat.inputs, results)


def pruned(flat: Flat) -> Flat:
    """The program without steps that no result needs."""
    needed = set(flat.results)
    for i in reversed(range(len(flat.steps))):
        if i in needed:
            needed.update(flat.steps[i].operands)
    if len(needed | set(range(flat.inputs))) == len(flat.steps):
        return flat
    walk = Rewrite(flat)
    for i, step in enumerate(flat.steps):
        if i in needed or i < flat.inputs:
            walk.where[i] = walk.put(walk.moved(step))
    return walk.result()


def uses_of(flat: Flat) -> list[int]:
    """How often each step's value is asked for, as an operand or as a result."""
    uses = [0] * len(flat.steps)
    for k in (*flat.results, *[k for step in flat.steps for k in step.operands]):
        uses[k] += 1
    return uses


def is_float(type: ArrayType) -> bool:
    """Whether it is a type of real numbers."""
    return type.dtype.kind == "f"
