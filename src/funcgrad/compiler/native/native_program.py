"""Programs of small arrays around loops as one function of machine code.

Between a forward and a reverse loop stand some hundred NumPy calls on the outputs of all iterations. They
take longer than the loops once those are machine code (`native_loop`), so such a program is compiled as a
whole when the calls have taken about as long as compiling does. Legal if every step has a form and the
loops' lengths are known; the program is short enough to need no interrupt checks. If NumPy would raise an
error, NumPy runs it. Gain (docs/passes.md): without it a Runge-Kutta gradient takes 5 to 11 times as long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.call_ir import aligned
from funcgrad.compiler.flat_program import Flat, interpret
from funcgrad.compiler.native import llvm_jit
from funcgrad.compiler.native.native_loop import (
    COMPILE,
    COMPILE_STEP,
    MOST_STEPS,
    UNINTERRUPTED,
    estimate,
)
from funcgrad.compiler.native.numba_jit import as_native_array
from funcgrad.control.loop import loop_op
from funcgrad.rewrite.evaluate import present

# Bytes of the arena beyond which calls do not matter.
_MOST_BYTES = 1 << 24


class NativeProgram:
    """A program as machine code, later."""

    __slots__ = (
        "_arena",
        "_finished",
        "_flat",
        "_lock",
        "_outside",
        "_pool",
        "_ran",
        "_run",
        "_worth",
    )

    def __init__(self, flat: Flat) -> None:
        self._flat = flat
        self._run: Callable[..., int] | None = None
        self._arena = 0
        self._pool: list[Any] = []
        self._lock = threading.Lock()
        self._ran = 0.0
        whole = estimate(flat)
        loops = [step for step in flat.steps if step.op is loop_op]
        outside = estimate(flat, loops=False)
        self._outside = outside.numpy
        self._worth = COMPILE + whole.steps * COMPILE_STEP
        self._finished = (
            not loops
            or not llvm_jit.llvm_available()
            or whole.steps > MOST_STEPS
            or whole.native > UNINTERRUPTED
            or outside.native > outside.numpy
            or any([not _is_counted(step) for step in loops])
        )

    @property
    def is_possible(self) -> bool:
        """Whether it may become machine code."""
        return not self._finished

    def ran(self, times: int) -> None:
        """Count runs in NumPy."""
        self._ran += times * self._outside

    def function(self) -> Callable[..., tuple[Any, ...]] | None:
        """The compiled program; None before compiling pays, or if it cannot be."""
        if not self._finished and self._ran >= self._worth and self._lock.acquire(blocking=False):
            try:
                if not self._finished:
                    self._run = self._compiled()
                    self._finished = True
            finally:
                self._lock.release()
        return None if self._run is None else self._call

    def _compiled(self) -> Callable[..., int] | None:
        from funcgrad.compiler.native.llvm_writer import UnsupportedError
        from funcgrad.compiler.native.loop_function import program_text

        try:
            text, writer = program_text(self._flat)
            if writer.arena > _MOST_BYTES:
                return None
            self._arena = writer.arena
            arrays = self._flat.inputs + len(self._flat.results) + 1
            return llvm_jit.compile_llvm(text, list(writer.declared), arrays, writer.kept)
        except (UnsupportedError, RuntimeError):  # no form, or refused by LLVM: NumPy goes on
            return None

    def _call(self, *values: Any) -> tuple[Any, ...]:
        flat, run = self._flat, self._run
        given = [
            as_native_array(x, step.type.dtype)
            if isinstance(x, np.ndarray)
            else np.array(x, step.type.dtype)
            for x, step in zip(values, flat.steps, strict=False)
        ]
        types = [flat.steps[i].type for i in flat.results]
        found = [np.empty(type.shape, type.dtype) for type in types]
        try:
            arena = self._pool.pop()
        except IndexError:  # other threads have them
            arena = aligned((self._arena + 1,), np.dtype(np.uint8))
        failed = run is None or run(0, 0, 0, *given, *found, arena) < 0
        self._pool.append(arena)
        if failed:
            return interpret(flat, values)
        return tuple([x if x.shape else present(x) for x in found])


def _is_counted(step: Any) -> bool:
    params = dict(step.params)
    return params["cond"] is None and params["spec"].trip_count > 0


def entry_lines(flat: Flat) -> tuple[Sequence[str], dict[str, Any]]:
    """The prologue of a program, which calls its machine code once there is any, and its bindings."""
    if not any([step.op is loop_op for step in flat.steps]):
        return [], {}
    later = NativeProgram(flat)
    if not later.is_possible:
        return [], {}
    given = ", ".join([f"x{i}" for i in range(flat.inputs)])
    return [
        "machine = later.function()",
        f"if machine is not None: return machine({given})",
        "later.ran(1)",
    ], {"later": later}
