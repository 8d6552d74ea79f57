"""The machine that runs tapes, compiled by numba once an installation: imported only where numba is.

A tape is an array of unsigned numbers, a row of runs: the number of an operation, how many times it is done,
and for each time the places, in a memory of numbers, of its result and of its operands. Truth is 1 or 0.
Of sums, ``terms`` have any number of terms: the result, how many, and for each two places whose contents are
multiplied; of ``signed`` ones a third place holds a sign. Terms are added in order.

Everything is on NumPy's terms: infs and nans for errors, and nothing is contracted or reordered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

if getattr(
    numba.config, "DISABLE_JIT", 0
):  # Python would be slow, and raise where NumPy has infs and nans
    raise ImportError("machine: expected numba to compile, but NUMBA_DISABLE_JIT is set; unset it")

F = TypeVar("F", bound=Callable[..., Any])


def _compiled(f: F) -> F:
    """A part of the machine, written into what calls it."""
    compiled: Any = numba.njit(error_model="numpy", nogil=True)(f)
    return compiled  # type: ignore[no-any-return]


UNARY: dict[str, Callable[[float], float]] = {
    "exp": lambda x: math.exp(x),
    "log": lambda x: math.log(x),
    "sqrt": lambda x: math.sqrt(x),
    "negative": lambda x: -x,
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)) if x >= -709.0 else math.exp(x),
    "softplus": lambda x: x + math.log1p(math.exp(-x)) if x > 0.0 else math.log1p(math.exp(x)),
    "square": lambda x: x * x,
    "reciprocal": lambda x: 1.0 / x,
    "sin": lambda x: math.sin(x),
    "cos": lambda x: math.cos(x),
    "tan": lambda x: math.tan(x),
    "tanh": lambda x: math.tanh(x),
    "absolute": lambda x: abs(x),
    "sign": lambda x: 1.0 if x > 0.0 else -1.0 if x < 0.0 else 0.0 if x == 0.0 else x,
    "log1p": lambda x: math.log1p(x),
    "expm1": lambda x: math.expm1(x),
    "xlogx": lambda x: x * math.log(x) if x != 0.0 else x * 0.0,
    "arcsin": lambda x: math.asin(x),
    "arccos": lambda x: math.acos(x),
    "arctan": lambda x: math.atan(x),
    "sinh": lambda x: math.sinh(x),
    "cosh": lambda x: math.cosh(x),
    "truth": lambda x: 1.0 if x != 0.0 else 0.0,
    "not": lambda p: 1.0 if p == 0.0 else 0.0,
}
BINARY: dict[str, Callable[[float, float], float]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "power": lambda x, y: math.pow(x, y) if y != 0.5 else math.sqrt(x),  # differ at -0 and -inf
    "mask": lambda p, x: x if p != 0.0 else 0.0,
    "maximum": lambda x, y: x if x > y or x != x else y,
    "minimum": lambda x, y: x if x < y or x != x else y,
    "less": lambda x, y: 1.0 if x < y else 0.0,
    "less_equal": lambda x, y: 1.0 if x <= y else 0.0,
    "greater": lambda x, y: 1.0 if x > y else 0.0,
    "greater_equal": lambda x, y: 1.0 if x >= y else 0.0,
    "equal": lambda x, y: 1.0 if x == y else 0.0,
    "not_equal": lambda x, y: 1.0 if x != y else 0.0,
    "and": lambda p, q: 1.0 if p != 0.0 and q != 0.0 else 0.0,
    "or": lambda p, q: 1.0 if p != 0.0 or q != 0.0 else 0.0,
    "arctan2": lambda x, y: math.atan2(x, y),
    "hypot": lambda x, y: math.hypot(x, y),
    "logaddexp": lambda x, y: (
        x + math.log(2.0)
        if x == y
        else x + math.log1p(math.exp(y - x))
        if x > y
        else y + math.log1p(math.exp(x - y))
    ),
}
SHORT = (2, 3, 4)
"""The counts of terms for which there is an operation of its own, without the count in its groups."""
WIDTHS: dict[str, int] = {
    "terms": 0,
    "signed": 0,
    **{f"terms {count}": 1 + 2 * count for count in SHORT},
    "where": 4,
    "both": 3,
    **dict.fromkeys(BINARY, 3),
    **dict.fromkeys(UNARY, 2),
}
"""How many numbers a group of each operation has; 0 where it is told by the second of them.

``both`` are softplus and sigmoid of one number, in two places."""
NUMBERS = {name: number for number, name in enumerate(WIDTHS)}
"""The number of each operation on a tape."""

_U = np.uint64  # signed places would be tested for being below 0


@_compiled
def _each(f: Callable[..., Any], tape: Any, v: Any, at: Any, times: Any) -> Any:
    end = at + _U(2) * times
    while at < end:
        v[tape[at]] = f(v[tape[at + _U(1)]])
        at += _U(2)
    return at


@_compiled
def _each_pair(f: Callable[..., Any], tape: Any, v: Any, at: Any, times: Any) -> Any:
    end = at + _U(3) * times
    while at < end:
        v[tape[at]] = f(v[tape[at + _U(1)]], v[tape[at + _U(2)]])
        at += _U(3)
    return at


@_compiled
def _product(tape: Any, v: Any, at: Any) -> Any:
    return v[tape[at]] * v[tape[at + _U(1)]]


@_compiled
def _sums(signed: object, tape: Any, v: Any, at: Any, times: Any) -> Any:
    while times:
        times -= _U(1)
        out, end = tape[at], at + _U(2) + (_U(3) if signed else _U(2)) * tape[at + _U(1)]
        total = -0.0  # what adds nothing, not even a sign
        at += _U(2)
        while at < end:
            term = _product(tape, v, at)
            if signed:
                term *= v[tape[at + _U(2)]]
                at += _U(1)
            total += term
            at += _U(2)
        v[out] = total
    return at


@_compiled
def _short_sums(count: int, tape: Any, v: Any, at: Any, times: Any) -> Any:
    end = at + _U(1 + 2 * count) * times
    while at < end:
        total = _product(tape, v, at + _U(1)) + _product(tape, v, at + _U(3))
        if count > 2:
            total += _product(tape, v, at + _U(5))
        if count > 3:
            total += _product(tape, v, at + _U(7))
        v[tape[at]] = total
        at += _U(1 + 2 * count)
    return at


@_compiled
def _choices(tape: Any, v: Any, at: Any, times: Any) -> Any:
    end = at + _U(4) * times
    while at < end:
        v[tape[at]] = v[tape[at + _U(2)]] if v[tape[at + _U(1)]] != 0.0 else v[tape[at + _U(3)]]
        at += _U(4)
    return at


@_compiled
def _softplus_and_sigmoid(tape: Any, v: Any, at: Any, times: Any) -> Any:
    end = at + _U(3) * times
    while at < end:
        x = v[tape[at + _U(2)]]
        e = math.exp(-abs(x))
        v[tape[at]] = max(x, 0.0) + math.log1p(e)
        v[tape[at + _U(1)]] = (1.0 if x > 0.0 else e) / (1.0 + e)
        at += _U(3)
    return at


# -- the machine ---------------------------------------------------------------------------------------
def _text() -> str:
    """The choice of an operation, which LLVM makes one jump of where it is written out."""
    runs = ["_sums(False, {})", "_sums(True, {})"]
    runs.extend([f"_short_sums({count}, {{}})" for count in SHORT])
    runs.extend(["_choices({})", "_softplus_and_sigmoid({})"])
    runs.extend([f"_each_pair(_{name}, {{}})" for name in BINARY])
    runs.extend([f"_each(_{name}, {{}})" for name in UNARY])
    lines = ["def run(tape, v):", "    at, end = _U(0), _U(len(tape))", "    while at < end:"]
    lines.append("        number, times = tape[at], _U(tape[at + _U(1)])")
    lines.append("        at += _U(2)")
    for number, run in enumerate(runs):
        text = run.format("tape, v, at, times")
        lines.append(f"        {'el' if number else ''}if number == {number}: at = {text}")
    return "\n".join(lines)


def _parts() -> dict[str, Any]:
    operations: dict[str, Any] = {**BINARY, **UNARY}
    return {f"_{name}": _compiled(f) for name, f in operations.items()}


def _machine() -> Callable[[Any, Any], None]:
    home = {**globals(), **_parts()}
    # In the name of this file, beside which numba keeps the machine code for as long as the file is the same.
    exec(compile(_text(), __file__, "exec", dont_inherit=True), home)
    run: Callable[[Any, Any], None] = _kept("void(uint32[::1], float64[::1])")(home["run"])
    return run


def _kept(signature: str) -> Any:
    return numba.njit(signature, error_model="numpy", nogil=True, cache=True)


run = _machine()
"""Run a tape on a memory, in which constants and inputs stand already."""


@_kept("void(uint32[::1], float64[::1], intp[::1], float64[:,::1], intp[::1], float64[:,::1])")  # type: ignore[untyped-decorator]
def run_rows(tape: object, memory: Any, inputs: Any, given: Any, places: Any, results: Any) -> None:
    """Run a tape for each row of what is given for the inputs: there is a row of results for each."""
    for row in range(len(given)):
        for k in range(len(inputs)):
            memory[inputs[k]] = given[row, k]
        run(tape, memory)
        for k in range(len(places)):
            results[row, k] = memory[places[k]]
