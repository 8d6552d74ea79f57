"""Machine code that is compiled when NumPy has run for about as long as compiling takes.

Both times are estimated, not measured, so a program does the same in every run. A function whose growing
array is full is called again with a larger one.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcgrad.compiler.call_ir import aligned
from funcgrad.compiler.native import llvm_jit
from funcgrad.compiler.native.llvm_writer import LONG, SHORT, LLVMWriter, UnsupportedError
from funcgrad.compiler.pass_options import PASS_OPTIONS
from funcgrad.source import warn

# Nanoseconds for compiling anything, beside those for its steps, and the most for these.
_COMPILE, _MOST_COMPILING = 50e6, 10e9
# Bytes of the arena beyond which calls do not matter.
_MOST_BYTES = 1 << 26
# Arrays that a function takes; `ctypes` passes 1024 operands, five of which are its integers and its memory.
_MOST_ARRAYS = 1019
# Nanoseconds between two looks whether Python was interrupted.
UNINTERRUPTED = 1e8
# Entries that arrays which grow have room for at first.
_ROOM = 256


class MachineCode:
    """A compiled function with its memory; several threads may call it."""

    __slots__ = ("_counted", "_fixed", "_growing", "_pool", "_room", "_run")

    def __init__(self, text: str, writer: LLVMWriter, arrays: int) -> None:
        if writer.arena > _MOST_BYTES:
            raise UnsupportedError(f"{writer.arena} bytes of arrays between its steps")
        self._counted = writer.counted
        self._run = llvm_jit.compile_llvm(
            text,
            list(writer.declared),
            arrays + self._counted,
            writer.kept,
            writer.holds_arrays,
            4 * self._counted,
        )
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

    @property
    def of_arrays(self) -> Callable[..., int]:
        """The function of the arrays alone. Integers, which take a tenth of a call, stand for its memory."""
        return partial(self, 0, 0, 0) if self._counted else self._run


class DeferredCode:
    """A function that becomes machine code when that pays, if it has a text.

    It has run in NumPy, or ``fallback``, for ``patience`` times as long as compiling takes by then.
    """

    def __init__(
        self,
        write: Callable[[], tuple[str, LLVMWriter]],
        arrays: int,
        compiling: float,
        pays: bool = True,
        at_once: bool = False,
        patience: float = 1.0,
        fallback: str = "NumPy",
    ) -> None:
        self._write, self._arrays, self._fallback = write, arrays, fallback
        self.reason = _obstacle(compiling, arrays, pays or at_once)
        """Why it runs in NumPy for good; empty if it may be or is machine code."""
        self.has_gaps = False
        """Whether a step was found that has no form in machine code."""
        self._finished = bool(self.reason)
        self._ran = 0.0
        self._worth = 0.0 if at_once else patience * (_COMPILE + compiling)
        self._code: MachineCode | None = None
        self._lock = threading.Lock()

    def ran(self, nanoseconds: float) -> None:
        """Count time in NumPy."""
        self._ran += nanoseconds

    @property
    def left(self) -> float:
        """Nanoseconds in NumPy before compiling pays; if that is not known, infinitely many."""
        return math.inf if self._finished else max(self._worth - self._ran, self._worth / 8)

    def stop(self, reason: str) -> None:
        """Run in NumPy from now on."""
        self._code, self.reason, self._finished = None, reason, True

    @property
    def is_compiled(self) -> bool:
        """Whether it is machine code by now."""
        return self._code is not None

    def explanation(self) -> str:
        """How the function runs, and why."""
        reason = self.reason or self._gap()
        if reason:
            return f"{self._fallback}: {reason}"
        if self._code is not None:
            return "machine code"
        left = max(self._worth - self._ran, 0.0) / 1e9
        return f"{self._fallback} for about {left:.1f} s, then machine code"

    def _gap(self) -> str:
        """Why it cannot be written; empty if it can be, or was."""
        if self._code is None:
            try:
                self._write()
            except UnsupportedError as error:
                return f"machine code has no form for {error}"
        return ""

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
            self.has_gaps = True
            self.reason = f"machine code has no form for {error}"
        except RuntimeError as error:
            self.reason = f"LLVM refuses the code: {error}"
        except Exception as error:
            if self._worth == 0.0:
                raise
            self._finished = True
            self.reason = f"compiling failed, by {type(error).__name__}: {error}"
            told = f"this is a defect of funcgrad; the function runs in {self._fallback}, as before"
            warn(f"jit: {self.reason}; {told}", RuntimeWarning)
        self._finished = True


def _obstacle(compiling: float, arrays: int, pays: bool) -> str:
    if not PASS_OPTIONS.runs("native_loops"):
        return "the pass native_loops is disabled"
    if not llvm_jit.llvm_available():
        return "llvmlite is not installed; install funcgrad[fast]"
    if compiling > _MOST_COMPILING:
        return f"compiling takes about {compiling / 1e9:.0f} s; the most is {_MOST_COMPILING / 1e9:.0f}"
    if arrays > _MOST_ARRAYS:
        return f"{arrays} inputs and results cannot be passed; the most are {_MOST_ARRAYS}"
    return "" if pays else "by estimate, it is as fast"
