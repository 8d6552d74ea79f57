"""C's vector functions: `exp` and its like on 2, 4 or 8 numbers at once, from glibc's `libmvec`.

LLVM is told of them by an attribute of the function of one number, and calls them in the loops that it makes
of vector instructions. Their results are at most 4 units in the last place from the exact ones, as glibc
states (3.2 as measured), and C's own at infinities, NaN and signed zeros. Entries that fill no register go
through C's function, so equal entries of an array may differ in the last place. Functions that NumPy
computes in single precision are called in it, on twice as many numbers at once.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number

PREFIX = "_ZGV"
"""How the names of vector functions begin."""

# Those that are computed in double precision for numbers of single precision, too: as in SciPy, and so that
# whole powers of 2 are exact.
_DOUBLE = ("erfc", "exp2", "hypot")
BY_BASE: Mapping[float | None, str] = MappingProxyType({2.0: "exp2"})
"""C's function of the exponent alone, by the base of a power."""

# The letter of an instruction set in the names of its functions, its name, and the numbers of 8 bytes in a
# register.
_SETS = (("b", "sse4.2", 2), ("d", "avx2", 4), ("e", "avx512f", 8))
# By the type of the numbers: the ends of C's names, and how many of them have 8 bytes.
_SUFFIX, _TIMES = {"double": "", "float": "f"}, {"double": 1, "float": 2}


class VectorFunction(NamedTuple):
    """A function on several numbers at once."""

    name: str
    lanes: int


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    """libmvec, which x86-64 has on Linux."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    try:
        return ctypes.CDLL("libmvec.so.1")
    except OSError:
        return None


def has_vector_functions() -> bool:
    """Whether C has vector functions here."""
    return _library() is not None


@lru_cache(maxsize=1)
def host_features() -> dict[str, bool]:
    """What the processor has, by LLVM's names; empty without llvmlite."""
    try:
        import llvmlite.binding as llvm
    except ImportError:  # `lower` prints code that is not compiled here
        return {}
    return dict(llvm.get_host_cpu_features())


@lru_cache(maxsize=256)
def vector_functions(name: str, operands: int, kind: str = "double") -> tuple[VectorFunction, ...]:
    """The vector functions of a function of C's that this processor and this C library have.

    >>> vector_functions("lgamma", 1)
    ()
    """
    if _library() is None:
        return ()
    own, times = name + _SUFFIX[kind], _TIMES[kind]
    found = [
        VectorFunction(f"{PREFIX}{letter}N{times * lanes}{'v' * operands}_{own}", times * lanes)
        for letter, feature, lanes in _SETS
        if host_features().get(feature, False)
    ]
    return tuple([function for function in found if vector_address(function.name)])


def in_single_precision(name: str, operands: int) -> bool:
    """Whether a function of C's is computed in single precision, by vectors, where its operands are of it."""
    return name not in _DOUBLE and bool(vector_functions(name, operands, "float"))


def vector_address(name: str) -> int:
    """Where a vector function is; 0 if there is none of this name."""
    try:
        place = ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value
    except AttributeError:
        return 0
    return place or 0


HIDDEN = "c."
"""How the names of C's functions begin of which LLVM is to know nothing but their vector functions.

It would put its own ``llvm.log`` in the place of ``log`` of a number that is known to be positive, and has no
vector function for that.
"""


def symbol_of(name: str, operands: int, kind: str, over_entries: bool) -> str:
    """The name of a function of C's in machine code."""
    own = name + _SUFFIX[kind]
    return HIDDEN + own if over_entries and vector_functions(name, operands, kind) else own


def declarations(
    name: str, operands: int, kind: str = "double", over_entries: bool = False
) -> dict[str, str]:
    """By their names: the declaration of a function of numbers, and those of its vector functions."""
    vectors = vector_functions(name, operands, kind)
    pure = "nounwind willreturn speculatable memory(none)"
    kinds = ", ".join([kind] * operands)
    own = symbol_of(name, operands, kind, over_entries)
    hidden = HIDDEN if own.startswith(HIDDEN) else ""
    names = [vector.name.replace("v_", f"v_{hidden}") for vector in vectors]
    told = ",".join([f"{own}({vector.name})" for own, vector in zip(names, vectors, strict=True)])
    attribute = f' "vector-function-abi-variant"="{told}"' if vectors else ""
    found = {own: f"declare {kind} @{own}({kinds}) {pure}{attribute}"}
    for vector in vectors:
        wide = ", ".join([f"<{vector.lanes} x {kind}>"] * operands)
        found[vector.name] = f"declare <{vector.lanes} x {kind}> @{vector.name}({wide}) {pure}"
    return found


def call_c(w: LLVMWriter, name: str, *operands: Number) -> Number:
    """A function of C's of real numbers of one type, in their precision."""
    use = name, len(operands), operands[0].type, w.over_entries
    w.declared.update(declarations(*use))
    return w.call(symbol_of(*use), operands[0].type, *operands)


LANES_OF = "lanes."
"""How the names of C's functions begin that vectors call of one number after the other.

There it is ``lanes.one.``, of which LLVM knows no vector function: else that would call itself.
"""


def lane_declarations(name: str) -> dict[str, str]:
    """The declaration of a function of C's with such a prefix, and its vector functions."""
    own, one, pure = LANES_OF + name, f"{LANES_OF}one.{name}", "nounwind willreturn memory(none)"
    found, told = {one: f"declare double @{one}(double) {pure}"}, []
    for _, _, lanes in _SETS:
        wide, kind = f"{PREFIX}_LLVM_N{lanes}v_{own}", f"<{lanes} x double>"
        told.append(f"{wide}({wide})")
        lines, result = [f"define internal {kind} @{wide}({kind} %x) {pure} {{"], "undef"
        for k in range(lanes):
            lines.append(f"  %x{k} = extractelement {kind} %x, i32 {k}")
            lines.append(f"  %y{k} = call double @{one}(double %x{k})")
            lines.append(f"  %z{k} = insertelement {kind} {result}, double %y{k}, i32 {k}")
            result = f"%z{k}"
        found[wide] = "\n".join([*lines, f"  ret {kind} {result}", "}"])
    attribute = f'"vector-function-abi-variant"="{",".join(told)}"'
    found[own] = f"declare double @{own}(double) {pure} speculatable {attribute}"
    return found


def preferred_width(declared: Iterable[str]) -> str:
    """The attribute of a function that calls the widest vector functions: full registers, not half ones."""
    widest = any([name.startswith(f"{PREFIX}e") for name in declared])
    return ' "prefer-vector-width"="512"' if widest else ""


def keep_alive(declared: Iterable[str]) -> list[str]:
    """The line by which LLVM keeps the vector functions that are declared, though nothing calls them yet."""
    names = [f"ptr @{name}" for name in declared if name.startswith(PREFIX)]
    kept = f"@llvm.compiler.used = appending global [{len(names)} x ptr] [{', '.join(names)}]"
    return [kept] if names else []
