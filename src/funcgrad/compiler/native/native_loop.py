"""Loops over small arrays as machine code, compiled when they have run for about as long as compiling takes.

Legal for every body whose steps have a form (`array_program.form_of`); any other loop stays a NumPy program.
Both times are estimated, not measured, so a program does the same in every run: a NumPy call takes about a
microsecond and a nanosecond an entry, machine code a fraction of that and some nanoseconds for a
transcendental function. A loop that NumPy's vector instructions run faster is never compiled.
Gain (docs/passes.md): without it a Runge-Kutta loop on a state of 3 numbers takes 100 times as long.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from funcgrad.compiler.call_ir import aligned
from funcgrad.compiler.flat_program import Flat, FlatStep, flatten_program
from funcgrad.compiler.native import llvm_jit
from funcgrad.compiler.native.numba_jit import as_native_array
from funcgrad.compiler.pass_options import PASS_OPTIONS
from funcgrad.control.loop import LoopSpec, loop_op
from funcgrad.graph import CONSTANT, INPUT, ArrayType


class Estimate(NamedTuple):
    """Nanoseconds of one run of a program."""

    numpy: float
    native: float
    steps: int
    """The number of steps that are compiled, those of inner programs included."""

    def times(self, count: int) -> Estimate:
        """Of so many runs of what is compiled once."""
        return Estimate(self.numpy * count, self.native * count, self.steps)

    def plus(self, other: Estimate) -> Estimate:
        """Of both."""
        return Estimate(
            self.numpy + other.numpy, self.native + other.native, self.steps + other.steps
        )


Compiled: TypeAlias = Callable[[Sequence[Any], int], tuple[list[Any], list[Any]] | None]
"""From operands and the number of iterations to final states and stacked outputs; None if NumPy raises."""


# Nanoseconds: a call of a NumPy function, an entry in it; in machine code an entry, one of a function such as
# exp, one of a reduction that is no sum; a multiplication of a product in BLAS and in machine code.
_CALL, _NUMPY_ENTRY, _ENTRY, _TRANSCENDENTAL, _SERIAL = 800.0, 0.5, 0.4, 9.0, 4.0
_BLAS, _PRODUCT = 0.08, 0.17
# A call of NumPy's for linear algebra, and a small matrix of a stack in it and in machine code.
_FACTORED, _MATRIX, _FIXED = 5000.0, 500.0, 20.0
# Nanoseconds for compiling anything, and for each step.
COMPILE, COMPILE_STEP = 30e6, 4e6
# Steps beyond which compiling takes several seconds, and bytes of the arena beyond which calls do not matter.
MOST_STEPS, _MOST_BYTES = 1500, 1 << 22
# Nanoseconds between two looks whether Python was interrupted.
UNINTERRUPTED = 1e8


def estimate(flat: Flat, loops: bool = True) -> Estimate:
    """What one run of a program takes in NumPy and in machine code, or what is outside of its loops.

    >>> import funcgrad as fg
    >>> x = fg.var("x", 3)
    >>> estimate(flatten_program([x * x + 1.0], [x])).steps
    3
    """
    total = Estimate(0.0, 0.0, 0)
    for step in flat.steps[flat.inputs :]:
        if step.op is not CONSTANT and step.op is not INPUT and (loops or step.op is not loop_op):
            total = total.plus(_of_step(flat, step))
    return total


def _of_step(flat: Flat, step: FlatStep) -> Estimate:
    params = dict(step.params)
    if step.op is loop_op:
        spec, body = params["spec"], params["body"]
        return estimate(flatten_program(body.program.outputs, body.program.inputs)).times(
            max(spec.trip_count, 1)
        )
    if step.type.dtype.kind == "O":
        held = params.get("branches") or [params[name] for name in ("body",) if name in params]
        found = Estimate(_CALL, 0.0, 0)
        for body in held:
            found = found.plus(estimate(flatten_program(body.program.outputs, body.program.inputs)))
        return found
    sizes = [flat.steps[k].type.size for k in step.operands if flat.steps[k].type.dtype.kind != "O"]
    entries = max([step.type.size, *sizes])
    if step.op.name in ("matmul", "einsum"):
        count = _multiplications(flat, step)
        return Estimate(_CALL + _BLAS * count, _PRODUCT * count, 1)
    if (step.op.columns.machine or "").startswith("matrix_forms:"):
        *stack, n = flat.steps[step.operands[0]].type.shape[:-1]
        columns = step.type.shape[-1] if step.op.name in ("solve", "inv") else 0
        each, count = n * n * (n / 3 + columns), math.prod(stack)
        return Estimate(
            _FACTORED + count * (_MATRIX + _BLAS * each), count * (_FIXED + _PRODUCT * each), 1
        )
    if step.op.in_place:  # (What a store leaves as it is costs nothing.)
        entries = flat.steps[step.operands[1]].type.size
    columns = step.op.columns
    serial = columns.reduces and columns.reduces is not np.add
    each = _TRANSCENDENTAL if columns.transcendental else _SERIAL if serial else _ENTRY
    return Estimate(_CALL + _NUMPY_ENTRY * entries, each * entries, 1)


def _multiplications(flat: Flat, step: FlatStep) -> int:
    """Of a contraction: the product of the lengths of all its indices."""
    shapes = [flat.steps[k].type.shape for k in step.operands]
    if step.op.name == "matmul":
        return step.type.size * shapes[0][-1]
    terms = dict(step.params)["subscripts"].split("->")[0].split(",")
    lengths = {
        letter: length
        for term, shape in zip(terms, shapes, strict=True)
        for letter, length in zip(term, shape, strict=True)
    }
    return math.prod(lengths.values())


class NativeLoop:
    """A loop as machine code, later."""

    __slots__ = (
        "_arena",
        "_cost",
        "_finished",
        "_flat",
        "_lock",
        "_pool",
        "_ran",
        "_run",
        "_spec",
        "_test",
        "_types",
        "_worth",
    )

    def __init__(
        self, flat: Flat, test: Flat | None, spec: LoopSpec, at_once: bool = False
    ) -> None:
        self._flat, self._test, self._spec = flat, test, spec
        self._cost = estimate(flat) if test is None else estimate(flat).plus(estimate(test))
        self._finished = (
            not PASS_OPTIONS.runs("native_loops")
            or not llvm_jit.llvm_available()
            or self._cost.steps > MOST_STEPS
            or (self._cost.native > self._cost.numpy and not at_once)
        )
        self._ran = 0.0
        self._worth = 0.0 if at_once else COMPILE + self._cost.steps * COMPILE_STEP
        self._run: Callable[..., int] | None = None
        self._arena = 0
        self._pool: list[Any] = []
        self._types: list[ArrayType] = [step.type for step in flat.steps[: flat.inputs]]
        self._lock = threading.Lock()

    def function(self, iterations: int) -> Compiled | None:
        """The loop on operands, if its next iterations are worth compiling; None if it runs in NumPy."""
        if not self._finished:
            self._ran += iterations * self._cost.numpy
            if self._ran >= self._worth:
                self._compile()
        return None if self._run is None else self._call

    def _compile(self) -> None:
        if not self._lock.acquire(blocking=False):  # other threads go on in NumPy meanwhile
            return
        try:
            if not self._finished:
                self._run = self._compiled()
                self._finished = True
        finally:
            self._lock.release()

    def _compiled(self) -> Callable[..., int] | None:
        from funcgrad.compiler.native.llvm_writer import UnsupportedError
        from funcgrad.compiler.native.loop_function import loop_function_text

        try:
            text, writer = loop_function_text(self._flat, self._test, self._spec)
        except UnsupportedError:
            return None
        if writer.arena > _MOST_BYTES:
            return None
        self._arena = writer.arena
        arrays = len(self._flat.results) - self._spec.num_carry + len(self._types) + 1
        try:
            return llvm_jit.compile_llvm(text, list(writer.declared), arrays, writer.kept)
        except RuntimeError:  # LLVM refuses the text: the loop stays in NumPy
            return None

    def _call(self, operands: Sequence[Any], length: int) -> tuple[list[Any], list[Any]] | None:
        """The final states and the stacked outputs; None if NumPy would raise an error."""
        n, middle = self._spec.num_carry, self._spec.num_carry + self._spec.num_xs
        if any([len(x) < length for x in operands[n:middle]]):
            return None
        states = [
            np.array(x, type.dtype, order="C")
            for x, type in zip(operands[:n], self._types, strict=False)
        ]
        rest = [
            as_native_array(x, type.dtype) if isinstance(x, np.ndarray) else np.array(x, type.dtype)
            for x, type in zip(operands[n:], self._types[n:], strict=True)
        ]
        try:
            arena = self._pool.pop()
        except IndexError:  # other threads have them
            arena = aligned((self._arena + 1,), np.dtype(np.uint8))
        run = self._in_chunks if self._test is None else self._until
        stacks = run(states, rest, arena, length)
        self._pool.append(arena)
        if stacks is None:
            return None
        return [x if x.shape else x[()] for x in states], stacks

    def _stacks(self, length: int) -> list[Any]:
        types = [self._flat.steps[i].type for i in self._flat.results[self._spec.num_carry :]]
        return [np.empty((length, *type.shape), type.dtype) for type in types]

    def _chunk(self) -> int:
        return max(int(UNINTERRUPTED / max(self._cost.native, 1.0)), 1)

    def _in_chunks(
        self, states: Sequence[Any], rest: Sequence[Any], arena: object, length: int
    ) -> list[Any] | None:
        stacks, at, chunk, run = self._stacks(length), 0, self._chunk(), self._run
        while at < length and run is not None:
            stop = min(length, at + chunk)
            at = run(at, stop, length, *states, *rest, *stacks, arena)
            if at < 0:
                return None
        return stacks

    def _until(
        self, states: Sequence[Any], rest: Sequence[Any], arena: object, length: int
    ) -> list[Any] | None:
        """Until the condition no longer holds: the outputs in pieces, which double in length."""
        most, size, run = self._chunk(), _FIRST, self._run
        pieces = [[stack] for stack in self._stacks(0)]
        while run is not None:
            size = min(size, most)
            stacks = self._stacks(size)
            at = run(0, size, size, *states, *rest, *stacks, arena)
            if at < 0:
                return None
            for piece, stack in zip(pieces, stacks, strict=True):
                piece.append(stack[:at])
            if at < size:
                break
            size *= 2
        return [np.concatenate(piece) for piece in pieces]


_FIRST = 256  # iterations that a loop with a condition makes room for at first
