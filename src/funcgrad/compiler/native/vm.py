"""The register VM for large programs on numbers: numba compiles it once an installation.

Bytecode is an array of unsigned integers, a sequence of runs: an opcode, how many times it is executed, and
for each time the registers of its result and of its operands. Truth values are 1.0 or 0.0.
An opcode is the scalar template of an operation (`Columns.scalar`, `Columns.vm`), or a superinstruction:
``terms`` adds any number of products: the result, their count, and for each product two registers; ``signed``
has a third register for each product, which holds its sign; ``terms N`` adds N products without a count;
``both`` computes softplus and sigmoid of one number. Terms are added in order.

Floating-point errors give infinities and NaN, as in NumPy, and no operation is contracted or reordered.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from funcgrad.compiler.native import numba_jit
from funcgrad.compiler.native.bytecode import AS_TRUTH, arity, instructions
from funcgrad.typing import Array

if getattr(
    numba.config, "DISABLE_JIT", 0
):  # Python would be slow, and raise where NumPy returns inf or NaN
    raise ImportError("vm: expected numba to compile, but NUMBA_DISABLE_JIT is set; unset it")

F = TypeVar("F", bound=Callable[..., Any])


def _compiled(f: F) -> F:
    """A part of the VM, which is inlined into its caller."""
    compiled: Any = numba.njit(error_model="numpy", nogil=True)(f)
    return compiled  # type: ignore[no-any-return]


SHORT = (2, 3, 4)
"""The counts of terms that have an opcode of their own, without the count among its registers."""
_TEMPLATES = (*instructions(), AS_TRUTH)
WIDTHS: dict[str, int] = {
    "terms": 0,
    "signed": 0,
    **{f"terms {count}": 1 + 2 * count for count in SHORT},
    "both": 3,
    **{template: 1 + arity(template) for template in _TEMPLATES},
}
"""How many integers an execution of each instruction takes; 0 if its second integer, the count, says so."""
OPCODES = {name: opcode for opcode, name in enumerate(WIDTHS)}

_U = np.uint64  # unsigned indices avoid numba's test for negative ones


@_compiled
def _each(f: Callable[..., Any], code: Array, v: Array, at: np.uint64, times: np.uint64) -> Any:
    end = at + _U(2) * times
    while at < end:
        v[code[at]] = f(v[code[at + _U(1)]])
        at += _U(2)
    return at


@_compiled
def _each_pair(
    f: Callable[..., Any], code: Array, v: Array, at: np.uint64, times: np.uint64
) -> Any:
    end = at + _U(3) * times
    while at < end:
        v[code[at]] = f(v[code[at + _U(1)]], v[code[at + _U(2)]])
        at += _U(3)
    return at


@_compiled
def _each_triple(
    f: Callable[..., Any], code: Array, v: Array, at: np.uint64, times: np.uint64
) -> Any:
    end = at + _U(4) * times
    while at < end:
        v[code[at]] = f(v[code[at + _U(1)]], v[code[at + _U(2)]], v[code[at + _U(3)]])
        at += _U(4)
    return at


@_compiled
def _product(code: Any, v: Any, at: Any) -> Any:
    return v[code[at]] * v[code[at + _U(1)]]


@_compiled
def _sums(signed: object, code: Array, v: Array, at: np.uint64, times: np.uint64) -> Any:
    while times:
        times -= _U(1)
        out, end = code[at], at + _U(2) + (_U(3) if signed else _U(2)) * code[at + _U(1)]
        total = -0.0  # the neutral element of addition, signed zeros included
        at += _U(2)
        while at < end:
            term = _product(code, v, at)
            if signed:
                term *= v[code[at + _U(2)]]
                at += _U(1)
            total += term
            at += _U(2)
        v[out] = total
    return at


@_compiled
def _short_sums(count: int, code: Array, v: Array, at: np.uint64, times: np.uint64) -> Any:
    end = at + _U(1 + 2 * count) * times
    while at < end:
        total = _product(code, v, at + _U(1)) + _product(code, v, at + _U(3))
        if count > 2:
            total += _product(code, v, at + _U(5))
        if count > 3:
            total += _product(code, v, at + _U(7))
        v[code[at]] = total
        at += _U(1 + 2 * count)
    return at


@_compiled
def _softplus_and_sigmoid(code: Array, v: Array, at: np.uint64, times: np.uint64) -> Any:
    end = at + _U(3) * times
    while at < end:
        x = v[code[at + _U(2)]]
        e = math.exp(-abs(x))
        v[code[at]] = max(x, 0.0) + math.log1p(e)
        v[code[at + _U(1)]] = (1.0 if x > 0.0 else e) / (1.0 + e)
        at += _U(3)
    return at


# -- the dispatch loop ---------------------------------------------------------------------------
_EACH = {1: "_each", 2: "_each_pair", 3: "_each_triple"}


def _text() -> str:
    """The source of the instructions and of the dispatch loop, which LLVM compiles to one jump table."""
    places = [", ".join([f"x{k}" for k in range(arity(template))]) for template in _TEMPLATES]
    lines = [
        f"_f{i} = _compiled(lambda {given}: {template.format(*given.split(', '))})"
        for i, (template, given) in enumerate(zip(_TEMPLATES, places, strict=True))
    ]
    runs = ["_sums(False, {})", "_sums(True, {})"]
    runs.extend([f"_short_sums({count}, {{}})" for count in SHORT])
    runs.append("_softplus_and_sigmoid({})")
    runs.extend([f"{_EACH[arity(t)]}(_f{i}, {{}})" for i, t in enumerate(_TEMPLATES)])
    lines.extend(["def run(code, v):", "    at, end = _U(0), _U(len(code))", "    while at < end:"])
    lines.append("        opcode, times = code[at], _U(code[at + _U(1)])")
    lines.append("        at += _U(2)")
    for opcode, call in enumerate(runs):
        text = call.format("code, v, at, times")
        lines.append(f"        {'el' if opcode else ''}if opcode == {opcode}: at = {text}")
    return "\n".join(lines) + _ROWS


_ROWS = """
def run_rows(code, registers, inputs, given, places, results):
    for row in range(len(given)):
        for k in range(len(inputs)):
            registers[inputs[k]] = given[row, k]
        run(code, registers)
        for k in range(len(places)):
            results[row, k] = registers[places[k]]
"""


def _cached(signature: str) -> Any:
    return numba.njit(signature, error_model="numpy", nogil=True, cache=True)


def _compile() -> tuple[Callable[..., None], Callable[..., None]]:
    """`run` and `run_rows` as machine code.

    numba keeps the machine code in files beside this one, by the names of the functions, for as long as this
    file is the same. The templates are in other files; so their digest is part of the names.
    """
    text = _text()
    digest = f"{zlib.crc32(text.encode()):08x}"
    home = {**numba_jit.names(), **globals()}
    exec(compile(text.replace("run", f"run_{digest}"), __file__, "exec", dont_inherit=True), home)
    one = _cached("void(uint32[::1], float64[::1])")(home[f"run_{digest}"])
    home[f"run_{digest}"] = one
    types = "void(uint32[::1], float64[::1], intp[::1], float64[:,::1], intp[::1], float64[:,::1])"
    return one, _cached(types)(home[f"run_{digest}_rows"])


run, run_rows = _compile()
"""Run bytecode on registers, in which constants and inputs are already; `run_rows` for each row of inputs."""
