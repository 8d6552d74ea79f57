"""Functions in C that SciPy exports with their addresses: those of BLAS, and those that its ufuncs call."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple

from funcgrad.compiler.native.llvm_writer import LLVMWriter, Number, UnsupportedError

SPECIAL = "special."
"""How the names of functions of `scipy.special` begin in machine code."""


class Exported(NamedTuple):
    """A function: its signature in C, and its address."""

    signature: str
    address: int


@lru_cache(maxsize=512)
def scipy_export(module: str, name: str) -> Exported | None:
    """A function that a module of SciPy's exports; None without SciPy, or if there is none of this name."""
    try:
        capsule = import_module(module).__pyx_capi__.get(name)
    except ImportError:
        return None
    if capsule is None:
        return None
    signature = ctypes.pythonapi.PyCapsule_GetName
    signature.restype, signature.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    text: bytes = signature(capsule)
    return Exported(text.decode(), pointer(capsule, text) or 0)


def special_symbol(name: str, operands: int) -> str | None:
    """The name in machine code of a function of so many numbers; None if SciPy exports none.

    Of a function with variants for several types it is that of double precision.
    """
    wanted = f"double ({'double, ' * operands}int __pyx_skip_dispatch)"
    for own in (name, *[f"__pyx_fuse_{k}{name}" for k in range(3)]):
        found = scipy_export("scipy.special.cython_special", own)
        if found is not None and found.signature == wanted:
            return f"{SPECIAL}{own}"
    return None


def call_special(w: LLVMWriter, name: str, *operands: Number) -> Number:
    """A function of numbers in double precision.

    Raises:
        UnsupportedError: SciPy exports none of this name.
    """
    symbol = special_symbol(name, len(operands))
    if symbol is None:
        raise UnsupportedError(f"{name} of {len(operands)} numbers, which SciPy does not export")
    return w.call(symbol, "double", *operands, Number("i32", "0"))


def special_address(symbol: str) -> int:
    """Where a function is, by its name in machine code; 0 if it is not there."""
    found = scipy_export("scipy.special.cython_special", symbol.removeprefix(SPECIAL))
    return 0 if found is None else found.address
