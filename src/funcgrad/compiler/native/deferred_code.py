"""Machine code that is compiled when NumPy has run for about as long as compiling takes.

Both times are estimated, not measured, so a program does the same in every run. A function that has no room
for an array that grows is called again with more room.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.compiler.call_ir import aligned
from funcgrad.compiler.native import llvm_jit
from funcgrad.compiler.native.llvm_writer import LONG, SHORT, LLVMWriter, UnsupportedError
from funcgrad.compiler.pass_options import PASS_OPTIONS

# Nanoseconds for compiling anything, and for each step.
_COMPILE, _COMPILE_STEP = 100e6, 3.5e6
# Steps beyond which compiling takes several seconds, and bytes of the arena beyond which calls do not matter.
_MOST_STEPS, _MOST_BYTES = 1500, 1 << 24
# Arrays that a function takes; `ctypes` passes 1024 operands, five of which are its integers and its memory.
_MOST_ARRAYS = 1019
# Nanoseconds between two looks whether Python was interrupted.
UNINTERRUPTED = 1e8
# Entries that arrays which grow have room for at first.
_ROOM = 256


class MachineCode:
    """A compiled function with its memory; several threads may call it."""

    __slots__ = ("_fixed", "_growing", "_pool", "_room", "_run")

    def __init__(self, text: str, writer: LLVMWriter, arrays: int) -> None:
        if writer.arena > _MOST_BYTES:
            raise UnsupportedError(f"{writer.arena} bytes of arrays between its steps")
        self._run = llvm_jit.compile_llvm(text, list(writer.declared), arrays + 1, writer.kept)
        self._fixed, self._growing = writer.arena, writer.growing
        self._room = _ROOM
        self._pool: list[tuple[int, Any]] = []

    def __call__(self, at: int, stop: int, length: int, *arrays: Any) -> int:
        """Where it ends; a negative number if it failed, the flags that it set."""
        while True:
            room = self._room
            held, arena = self._pool.pop() if self._pool else (0, None)
            if held < room:  # (Other threads may have the others.)
                arena = aligned((self._fixed + room * self._growing + 1,), np.dtype(np.uint8))
            end = self._run(at, stop, length, room, *arrays, arena)
            self._pool.append((room, arena))
            if end >= 0 or not -end & SHORT:
                return end
            if 4 * room * self._growing > _MOST_BYTES or 4 * room > UNINTERRUPTED:
                return -LONG
            self._room = max(self._room, 4 * room)


class DeferredCode:
    """A function that becomes machine code when that pays, if it has a text.

    It has run in NumPy for ``patience`` times as long as compiling takes by then.
    """

    __slots__ = ("_arrays", "_code", "_finished", "_lock", "_ran", "_worth", "_write", "reason")

    def __init__(
        self,
        write: Callable[[], tuple[str, LLVMWriter]],
        arrays: int,
        steps: int,
        pays: bool = True,
        at_once: bool = False,
        patience: float = 1.0,
    ) -> None:
        self._write, self._arrays = write, arrays
        self.reason = _obstacle(steps, arrays, pays or at_once)
        """Why it runs in NumPy for good; empty if it may be or is machine code."""
        self._finished = bool(self.reason)
        self._ran = 0.0
        self._worth = 0.0 if at_once else patience * (_COMPILE + steps * _COMPILE_STEP)
        self._code: MachineCode | None = None
        self._lock = threading.Lock()

    def ran(self, nanoseconds: float) -> None:
        """Count time in NumPy."""
        self._ran += nanoseconds

    def stop(self, reason: str) -> None:
        """Run in NumPy from now on."""
        self._code, self.reason, self._finished = None, reason, True

    def explanation(self) -> str:
        """How the function runs, and why."""
        if self._code is None:
            try:
                self._write()
            except UnsupportedError as error:
                self.stop(f"machine code has no form for {error}")
        if self.reason:
            return f"NumPy: {self.reason}"
        if self._code is not None:
            return "machine code"
        left = max(self._worth - self._ran, 0.0) / 1e9
        return f"NumPy for about {left:.1f} s, then machine code"

    def code(self) -> MachineCode | None:
        """The compiled function; None before compiling pays, or if it cannot be."""
        if not self._finished and self._ran >= self._worth and self._lock.acquire(blocking=False):
            try:  # (Other threads go on in NumPy meanwhile.)
                if not self._finished:
                    self._compile()
            finally:
                self._lock.release()
        return self._code

    def _compile(self) -> None:
        try:
            self._code = MachineCode(*self._write(), self._arrays)
        except UnsupportedError as error:
            self.reason = f"machine code has no form for {error}"
        except RuntimeError as error:
            self.reason = f"LLVM refuses the code: {error}"
        self._finished = True


def _obstacle(steps: int, arrays: int, pays: bool) -> str:
    if not PASS_OPTIONS.runs("native_loops"):
        return "the pass native_loops is disabled"
    if not llvm_jit.llvm_available():
        return "llvmlite is not installed; install funcgrad[fast]"
    if steps > _MOST_STEPS:
        return f"{steps} steps take long to compile; the most are {_MOST_STEPS}"
    if arrays > _MOST_ARRAYS:
        return f"{arrays} inputs and results cannot be passed; the most are {_MOST_ARRAYS}"
    return "" if pays else "by estimate, it is as fast"


def as_native_array(x: Any, dtype: np.dtype[Any]) -> Any:
    """The value as an array in the dtype and the C order that machine code reads: itself, if it is so."""
    if type(x) is np.ndarray and x.dtype == dtype:
        flags = x.flags
        if flags.c_contiguous and flags.aligned:
            return x
    return np.array(x, dtype, order="C")
