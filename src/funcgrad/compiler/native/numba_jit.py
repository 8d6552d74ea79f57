"""Compilation of generated source to machine code by numba (the extra `fast`).

No result depends on it: without numba, or if numba cannot compile a source, the caller runs it as Python.
Compiled functions give infinities and NaN for floating-point errors, as NumPy does; they release the GIL, and
cannot be interrupted: so callers enter them for a bounded time.
"""

from __future__ import annotations

import ctypes
import importlib.util
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.compiler.python import scalar_ops as templates
from funcgrad.ops.base.columns import ScalarUse
from funcgrad.ops.base.op import Op


@lru_cache(maxsize=1)
def available() -> bool:
    """Whether numba is installed. It is not imported before something is worth compiling."""
    try:
        return importlib.util.find_spec("numba") is not None
    except (ImportError, ValueError):
        return False


Signature = tuple[tuple[str, int, bool], ...]
"""What a function takes: for each argument its dtype, its number of axes, and whether it is filled."""

# -- compiling -----------------------------------------------------------------------------------
# Functions that a process compiles at most, and the characters of their texts: the memory of machine code is
# never given back by numba. It is 1.2 MB a function and 0.3 kB a character.
_MOST, _LENGTH = 128, 250_000
_lock = threading.Lock()
_made: dict[tuple[str, Signature | None], Callable[..., Any] | None] = {}
_length = 0


def compiled(
    text: str, signature: Signature | None = None, bound: Mapping[str, Any] | None = None
) -> Callable[..., Any] | None:
    """The function ``run`` that a text defines, as machine code; None where there can be none.

    The text may use `names`, and what is ``bound`` beside, by which texts are not told apart. With a
    ``signature`` the function is compiled at once, otherwise at its first call.
    """
    global _length
    key = text, signature
    if not available():
        return None
    with _lock:
        if key not in _made:
            if len(_made) >= _MOST or _length + len(text) > _LENGTH:
                return None
            _length += len(text)
            try:
                _made[key] = _compile(text, signature, bound or {})
            except Exception:  # numba fails in many ways, and none is worth an error
                _made[key] = None
        return _made[key]


def _compile(
    text: str, signature: Signature | None, bound: Mapping[str, Any]
) -> Callable[..., Any] | None:
    import numba

    if getattr(numba.config, "DISABLE_JIT", 0):
        return None
    known = names()
    home: dict[str, Any] = {"__name__": "funcgrad.compiler.native.generated", **known, **bound}
    exec(compile(text, "<funcgrad native program>", "exec", dont_inherit=True), home)
    for name, value in list(home.items()):
        if isinstance(value, FunctionType) and value.__globals__ is home and name != "run":
            home[name] = numba.njit(**_HOW)(value)
    jit: Any = numba.njit
    types = [] if signature is None else [tuple([_type(*row) for row in signature])]
    run: Callable[..., Any] = jit(*types, **_HOW)(home["run"])
    return run


def _type(dtype: str, rank: int, filled: bool) -> Any:
    from numba import types

    number = types.boolean if dtype == "bool" else getattr(types, dtype)
    return types.Array(number, rank, "C", readonly=not filled) if rank else number


_HOW: dict[str, Any] = {"error_model": "numpy", "nogil": True}


# -- what compiled texts call ------------------------------------------------------------------------
@lru_cache(maxsize=1)
def names() -> dict[str, Any]:
    """What texts are compiled with: the names of `templates.BOUND` on NumPy's terms, and makers of arrays."""
    import numba
    from numba import types

    jit = numba.njit(**_HOW)
    real = types.float64

    def of_c(name: str, arity: int) -> Any:
        """C's function, as NumPy calls it. (LLVM ends the process where it finds none.)"""
        try:
            getattr(ctypes.CDLL(None), name)
        except (AttributeError, OSError, TypeError):
            return templates.BOUND[name]  # which numba refuses
        return types.ExternalFunction(name, real(*[real] * arity))

    with np.errstate(all="ignore"):
        low, high, lost = [int(np.float64(x).astype(np.int64)) for x in (-np.inf, np.inf, np.nan)]

    def to_integer(x: float) -> int:
        if -9223372036854775808.0 <= x < 9223372036854775808.0:
            return int(x)
        return low if x < 0.0 else high if x > 0.0 else lost

    def full(size: int, value: object) -> Any:
        return np.full(size, value)

    return {
        **templates.BOUND,
        **{f"np_{name}": getattr(np, name) for name in ("floor", "ceil", "trunc", "rint")},
        "fmod": of_c("fmod", 2),
        "cbrt": of_c("cbrt", 1),
        "to_integer": jit(to_integer),
        "full": jit(full),
        "empty": np.empty,
        **{name: getattr(np, name) for name in ("float64", "int64", "uint64")},
        "bool": np.bool_,
    }


def template(flat: Flat, step: FlatStep) -> str | None:
    """The source of an operation on numbers for numba."""
    text = templates.template_of(flat, step)
    if text is None:
        return None
    kind = flat.steps[step.operands[-1]].type.dtype.kind
    native: Mapping[str, str] = step.op.columns.native or {}
    return native.get(kind, text)


def native_template(op: Op, use: ScalarUse) -> str | None:
    """The source of a use of an operation for numba, over `names`; None if there is none.

    >>> from funcgrad.ops.elementwise import arithmetic
    >>> native_template(arithmetic.floor, ScalarUse("f", {}, (None,)))
    'np_floor({0})'
    """
    row = (op.columns.native or {}).get(use.kind)
    if row is not None:
        return row
    text = templates.scalar_template(op, use)
    return text and templates.unqualified(text)


# -- when ----------------------------------------------------------------------------------------
# Compiling takes about 0.3 s, most of it numba's import, and 1 ms more for each operation; Python takes about
# 8 ns for one. So it is worth while when Python has done so many, and so many more for each that is written.
_WORTH, _WORTH_EACH = 40_000_000, 125_000
# Beyond so many, compiling takes many seconds.
_LONGEST = 3000
# Operations that a compiled function is entered for: about a tenth of a second, after which Python looks
# whether it was interrupted.
ENTERED = 50_000_000
_NEVER = 1 << 60


class Later:
    """Deferred compilation: a function is compiled when Python has run for about as long as compiling takes.

    That is counted, not measured: a program does the same in every run. ``write`` gives the text, in which
    so many operations are ``written``; an iteration of it has so many, which differ where a loop is in it.

    >>> later = Later(lambda: None, (), written=100, iteration=100)
    >>> later.function(), later.chunk
    (None, 500000)
    """

    __slots__ = (
        "_finished",
        "_iteration",
        "_lock",
        "_ran",
        "_run",
        "_signature",
        "_worth",
        "_write",
        "chunk",
    )

    def __init__(
        self, write: Callable[[], str | None], signature: Signature, written: int, iteration: int
    ) -> None:
        self._write, self._signature, self._iteration = write, signature, max(iteration, 1)
        self._worth = _WORTH + written * _WORTH_EACH
        self._finished = written > _LONGEST
        self.chunk = max(ENTERED // self._iteration, 1)
        self._ran = 0
        self._run: Callable[..., Any] | None = None
        self._lock = threading.Lock()

    def ran(self, iterations: int) -> None:
        """Count iterations that Python has run."""
        self._ran += iterations * self._iteration

    def iterations(self) -> int:
        """The number of iterations in Python after which compiling pays."""
        if self._finished or not available():
            return _NEVER
        return max(self._worth - self._ran, self._worth // 8) // self._iteration + 1

    def function(self) -> Callable[..., Any] | None:
        """The compiled function; None before compiling pays, or if it fails."""
        if self._finished or self._ran < self._worth or not available():
            return self._run
        if self._lock.acquire(blocking=False):  # other threads go on in Python meanwhile
            try:
                if not self._finished:
                    text = self._write()
                    self._run = None if text is None else compiled(text, self._signature)
                    self._finished = True
            finally:
                self._lock.release()
        return self._run
