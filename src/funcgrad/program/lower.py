"""Lowering: from simplified expressions to a flat program of NumPy calls, and its cache.

A `Program` is a value: slots, constants, and instructions in topological order. It runs on arrays, or,
given expressions, rebuilds itself on them; so a nested derivative reuses what was derived before.
Broadcasts that NumPy does by itself are elided again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from funcgrad.expr import Expr, subexpressions
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.ops import op
from funcgrad.ops.op import lift_fully
from funcgrad.program.substitute import substitute_all


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Instructions ``(run, operand slots, result slot)`` over slots; inputs come first."""

    inputs: tuple[Expr, ...]
    outputs: tuple[Expr, ...]
    constants: tuple[Any, ...]
    instructions: tuple[tuple[Callable[..., Any], tuple[int, ...], int], ...]
    results: tuple[int, ...]

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for input arrays; none of them shares memory with an input or another."""
        with np.errstate(all="ignore"):
            slots = self._slots(values)
        seen: set[int] = set(range(len(values) + len(self.constants)))
        outputs = []
        for slot in self.results:
            value = slots[slot]
            if slot in seen or getattr(value, "base", None) is not None:
                value = np.array(value)
            seen.add(slot)
            outputs.append(value)
        return outputs

    def step(self, values: Sequence[Any]) -> list[Any]:
        """As `run`, for one turn of a loop: the outputs may share memory with the inputs."""
        slots = self._slots(values)
        return [slots[slot] for slot in self.results]

    def _slots(self, values: Sequence[Any]) -> list[Any]:
        slots: list[Any] = [*values, *self.constants, *[None] * len(self.instructions)]
        for run, operands, result in self.instructions:
            if len(operands) == 2:
                slots[result] = run(slots[operands[0]], slots[operands[1]])
            else:
                slots[result] = run(*[slots[i] for i in operands])
        return slots

    def on(self, values: Sequence[Any]) -> list[Expr]:
        """The outputs as expressions of the values, which may be expressions themselves."""
        given = {
            var.key: lift_fully(value, _TRACED)
            for var, value in zip(self.inputs, values, strict=True)
        }
        return substitute_all(self.outputs, given)


# What an array is captured beside: by reference, as inside a trace.
_TRACED = [op.leaf(lift_fully(0.0), scope=None, place=0)]


def lower(outputs: Sequence[Expr], inputs: Sequence[Expr]) -> Program:
    """The program that computes the outputs from the inputs, which are variables."""
    slots: dict[Key, int] = {var.key: i for i, var in enumerate(inputs)}
    needed = _needed(outputs)
    order = [expr for expr in subexpressions(*outputs) if expr.key in needed]
    constants: list[Any] = []
    for expr in order:
        if expr.op is CONSTANT and expr.key not in slots:
            slots[expr.key] = len(inputs) + len(constants)
            constants.append(expr.params[0][1].array)
    instructions: list[Any] = []
    for expr in order:
        if expr.op in (INPUT, CONSTANT) or expr.key in slots:
            continue
        result = len(inputs) + len(constants) + len(instructions)
        slots[expr.key] = result
        run = partial(expr.op.run, **dict(expr.params)) if expr.params else expr.op.run
        instructions.append((run, tuple([slots[arg.key] for arg in _operands(expr)]), result))
    results = tuple([slots[expr.key] for expr in outputs])
    return Program(tuple(inputs), tuple(outputs), tuple(constants), tuple(instructions), results)


def _operands(expr: Expr) -> tuple[Expr, ...]:
    """The operands as they are run: broadcast ones as they were, where another gives the shape."""
    if (
        not expr.args
        or not isinstance(expr.op, op.Elementwise)
        or not any(arg.op is op.broadcast_to for arg in expr.args)
    ):
        return expr.args
    if all(arg.op is op.broadcast_to for arg in expr.args):
        sources = [arg.args[0] for arg in expr.args]
        if np.broadcast_shapes(*[x.shape for x in sources]) != expr.shape:
            return (expr.args[0], *sources[1:])
        return tuple(sources)
    return tuple([arg.args[0] if arg.op is op.broadcast_to else arg for arg in expr.args])


def _needed(outputs: Sequence[Expr]) -> set[Key]:
    found: set[Key] = set()
    stack = list(outputs)
    while stack:
        expr = stack.pop()
        if expr.key not in found:
            found.add(expr.key)
            stack.extend(_operands(expr))
    return found
