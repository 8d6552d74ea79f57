"""Loops over small arrays and numbers as machine code, a tenth of a second at a time.

Legal for every body whose steps have a form (`array_program.form_of`); any other loop stays a NumPy program.
A loop that NumPy's vector instructions run faster is never compiled.
A loop that has run in NumPy or Python for some iterations goes on as machine code (on-stack replacement).
Gain (docs/passes.md): without it a Runge-Kutta loop on a state of 3 numbers takes 100 times as long.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from funcgrad.compiler.flat_program import Flat
from funcgrad.compiler.native.deferred_code import UNINTERRUPTED, DeferredCode, MachineCode
from funcgrad.compiler.native.llvm_writer import LONG, LLVMWriter
from funcgrad.compiler.native.operand_layout import loop_operands
from funcgrad.compiler.native.time_estimate import estimate_iteration, is_on_numbers
from funcgrad.compiler.stack_pool import StackPool
from funcgrad.control.loop import LoopSpec, stacked
from funcgrad.graph import ArrayType

# A loop waits for so many times as long as compiling takes: a program around it that can be machine code is
# compiled before, with the loop in it.
_PATIENCE = 2.0

Compiled: TypeAlias = Callable[..., tuple[list[Any], list[Any]] | None]
"""From operands and the number of iterations to final states and stacked outputs; None if NumPy runs it.

If it enters the loop later, two more: the first iteration that it runs, and the outputs of those before.
"""


class NativeLoop:
    """A loop as machine code, later."""

    def __init__(
        self, flat: Flat, test: Flat | None, spec: LoopSpec, at_once: bool = False
    ) -> None:
        self._flat, self._test, self._spec = flat, test, spec
        cost = estimate_iteration(flat)
        if test is not None:
            cost = cost.plus(estimate_iteration(test))
        self._layout = loop_operands(flat, spec)
        self._outputs: list[ArrayType] = [
            flat.steps[i].type for i in flat.results[spec.num_carry :]
        ]
        self._pool = StackPool(self._outputs)
        arrays = len(self._layout.holders) + len(self._outputs)
        self._chunk = max(int(UNINTERRUPTED / max(cost.native, 1.0)), 1)
        self._first = max(_FIRST // max([1, *[type.size for type in self._outputs]]), 1)
        pays = cost.native <= cost.numpy
        self._iteration = max(cost.numpy, 1.0)
        fallback = "Python" if is_on_numbers(flat) else "NumPy"
        self.later = DeferredCode(
            self._write, arrays, cost.compiling, pays, at_once, _PATIENCE, fallback
        )

    def _write(self) -> tuple[str, LLVMWriter]:
        from funcgrad.compiler.native.loop_function import loop_function_text

        return loop_function_text(self._flat, self._test, self._spec)

    def ran(self, iterations: float) -> None:
        """Count iterations that ran, or will run, in the fallback."""
        self.later.ran(iterations * self._iteration)

    def function(self) -> Compiled | None:
        """The loop on operands, if enough iterations ran to be worth compiling; else None."""
        code = self.later.code()
        return None if code is None else partial(self._call, code)

    def iterations(self) -> int:
        """The number of iterations after which compiling pays."""
        return int(min(self.later.left / self._iteration, sys.maxsize - 1)) + 1

    def _call(
        self,
        code: MachineCode,
        operands: Sequence[Any],
        length: int,
        at: int = 0,
        met: Sequence[Sequence[Any]] = (),
    ) -> tuple[list[Any], list[Any]] | None:
        n, middle = self._spec.num_carry, self._spec.num_carry + self._spec.num_xs
        if any([len(x) < length for x in operands[n:middle]]):
            return None
        given = self._layout.pack(operands, n)
        if self._test is None:
            stacks = self._in_chunks(code, given, length, at, met)
        else:
            stacks = self._until(code, given, met)
        return None if stacks is None else (self._layout.unpack(given, n), stacks)

    def _stacks(self, length: int) -> list[Any]:
        return [np.empty((length, *type.shape), type.dtype) for type in self._outputs]

    def _in_chunks(
        self,
        code: MachineCode,
        given: Sequence[Any],
        length: int,
        at: int,
        met: Sequence[Sequence[Any]],
    ) -> list[Any] | None:
        stacks, chunk = self._pool.stacks(length), max(self._chunk // 16, 1)
        if at:
            done = slice(length - at, length) if self._spec.reverse else slice(at)
            for stack, found in zip(stacks, met, strict=True):
                stack[done] = found[done]
        while at < length:
            began = time.perf_counter_ns()
            end = code(at, min(length, at + chunk), length, *given, *stacks)
            if end >= 0:
                at, chunk = end, _next_chunk(chunk, began)
            elif -end & LONG and chunk > 1:  # the loops inside take longer than estimated
                chunk = max(chunk // 16, 1)
            else:
                self._failed(end)
                return None
        return stacks

    def _until(
        self, code: MachineCode, given: Sequence[Any], met: Sequence[Sequence[Any]]
    ) -> list[Any] | None:
        """Until the condition no longer holds: the outputs in pieces, which double in length."""
        most, size = self._chunk, self._first
        pieces: list[list[Any]] = [[] for _ in self._outputs]
        for piece, found, type in zip(pieces, met, self._outputs, strict=False):
            piece.append(stacked(found, type))
        while True:
            size = min(size, most)
            stacks = self._stacks(size)
            began = time.perf_counter_ns()
            at = code(0, size, size, *given, *stacks)
            if at < 0 and -at & LONG and size > 1:
                most = max(size // 16, 1)
                continue
            if at < 0:
                self._failed(at)
                return None
            for piece, stack in zip(pieces, stacks, strict=True):
                piece.append(stack[:at])
            if at < size:
                return [
                    piece[0].copy() if len(piece) == 1 else np.concatenate(piece)
                    for piece in pieces
                ]
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


_FIRST = 4096  # entries of an output that a loop with a condition makes room for at first
