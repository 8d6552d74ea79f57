"""Loops over small arrays and numbers as machine code, a tenth of a second at a time.

Legal for every body whose steps have a form (`array_program.form_of`); any other loop stays a NumPy program.
A loop that NumPy's vector instructions run faster is never compiled.
Gain (docs/passes.md): without it a Runge-Kutta loop on a state of 3 numbers takes 100 times as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from funcgrad.compiler.flat_program import Flat
from funcgrad.compiler.native.deferred_code import (
    UNINTERRUPTED,
    DeferredCode,
    MachineCode,
    as_native_array,
)
from funcgrad.compiler.native.llvm_writer import LONG, LLVMWriter
from funcgrad.compiler.native.time_estimate import estimate
from funcgrad.control.loop import LoopSpec
from funcgrad.graph import ArrayType

# A loop waits for so many times as long as compiling takes: a program around it that can be machine code is
# compiled before, with the loop in it.
_PATIENCE = 2.0

Compiled: TypeAlias = Callable[[Sequence[Any], int], tuple[list[Any], list[Any]] | None]
"""From operands and the number of iterations to final states and stacked outputs; None if NumPy runs it."""


class NativeLoop:
    """A loop as machine code, later."""

    __slots__ = ("_cost", "_flat", "_spec", "_test", "_types", "later")

    def __init__(
        self, flat: Flat, test: Flat | None, spec: LoopSpec, at_once: bool = False
    ) -> None:
        self._flat, self._test, self._spec = flat, test, spec
        cost = self._cost = estimate(flat) if test is None else estimate(flat).plus(estimate(test))
        self._types: list[ArrayType] = [step.type for step in flat.steps[: flat.inputs]]
        arrays = len(flat.results) - spec.num_carry + flat.inputs
        pays = cost.native <= cost.numpy
        self.later = DeferredCode(self._write, arrays, cost.steps, pays, at_once, _PATIENCE)

    def _write(self) -> tuple[str, LLVMWriter]:
        from funcgrad.compiler.native.loop_function import loop_function_text

        return loop_function_text(self._flat, self._test, self._spec)

    def function(self, iterations: int) -> Compiled | None:
        """The loop on operands, if its next iterations are worth compiling; None if it runs in NumPy."""
        self.later.ran(iterations * self._cost.numpy)
        code = self.later.code()
        if code is None:
            return None
        return lambda operands, length: self._call(code, operands, length)

    def _call(
        self, code: MachineCode, operands: Sequence[Any], length: int
    ) -> tuple[list[Any], list[Any]] | None:
        n, middle = self._spec.num_carry, self._spec.num_carry + self._spec.num_xs
        if any([len(x) < length for x in operands[n:middle]]):
            return None
        states = [
            np.array(x, type.dtype, order="C")
            for x, type in zip(operands[:n], self._types, strict=False)
        ]
        rest = [
            as_native_array(x, type.dtype)
            for x, type in zip(operands[n:], self._types[n:], strict=True)
        ]
        run = self._in_chunks if self._test is None else self._until
        stacks = run(code, states, rest, length)
        if stacks is None:
            return None
        return [x if x.shape else x[()] for x in states], stacks

    def _stacks(self, length: int) -> list[Any]:
        types = [self._flat.steps[i].type for i in self._flat.results[self._spec.num_carry :]]
        return [np.empty((length, *type.shape), type.dtype) for type in types]

    def _chunk(self) -> int:
        return max(int(UNINTERRUPTED / max(self._cost.native, 1.0)), 1)

    def _in_chunks(
        self, code: MachineCode, states: Sequence[Any], rest: Sequence[Any], length: int
    ) -> list[Any] | None:
        stacks, at, chunk = self._stacks(length), 0, max(self._chunk() // 16, 1)
        while at < length:
            began = time.perf_counter_ns()
            end = code(at, min(length, at + chunk), length, *states, *rest, *stacks)
            if end >= 0:
                at, chunk = end, _next_chunk(chunk, began)
            elif -end & LONG and chunk > 1:  # the loops inside take longer than estimated
                chunk = max(chunk // 16, 1)
            else:
                self._failed(end)
                return None
        return stacks

    def _until(
        self, code: MachineCode, states: Sequence[Any], rest: Sequence[Any], length: int
    ) -> list[Any] | None:
        """Until the condition no longer holds: the outputs in pieces, which double in length."""
        most, size = self._chunk(), _FIRST
        pieces = [[stack] for stack in self._stacks(0)]
        while True:
            size = min(size, most)
            stacks = self._stacks(size)
            began = time.perf_counter_ns()
            at = code(0, size, size, *states, *rest, *stacks)
            if at < 0 and -at & LONG and size > 1:
                most = max(size // 16, 1)
                continue
            if at < 0:
                self._failed(at)
                return None
            for piece, stack in zip(pieces, stacks, strict=True):
                piece.append(stack[:at])
            if at < size:
                return [np.concatenate(piece) for piece in pieces]
            size = _next_chunk(size, began)

    def _failed(self, end: int) -> None:
        if -end & LONG:
            self.later.stop("a loop inside takes so long that it could not be interrupted")


def _next_chunk(chunk: int, began: int) -> int:
    """The iterations of the next call. Time may be measured here: results do not depend on it."""
    took = time.perf_counter_ns() - began
    if 2 * took < UNINTERRUPTED:
        return 2 * chunk
    return chunk if took < UNINTERRUPTED else max(chunk // 2, 1)


_FIRST = 256  # iterations that a loop with a condition makes room for at first
