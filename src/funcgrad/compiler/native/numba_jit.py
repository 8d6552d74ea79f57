"""What templates of operations on numbers call when numba compiles them, on NumPy's terms."""

from __future__ import annotations

import ctypes
import importlib.util
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.compiler.python import scalar_ops as templates


@lru_cache(maxsize=1)
def available() -> bool:
    """Whether numba is installed. It is not imported before something is worth compiling."""
    try:
        return importlib.util.find_spec("numba") is not None
    except (ImportError, ValueError):
        return False


_HOW: dict[str, Any] = {"error_model": "numpy", "nogil": True}


@lru_cache(maxsize=1)
def names() -> dict[str, Any]:
    """What templates are compiled with: the names of `templates.BOUND`, on NumPy's terms."""
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

    return {
        **templates.BOUND,
        **{f"np_{name}": getattr(np, name) for name in ("floor", "ceil", "trunc", "rint")},
        "fmod": of_c("fmod", 2),
        "cbrt": of_c("cbrt", 1),
        "to_integer": jit(to_integer),
        **{name: getattr(np, name) for name in ("float64", "int64", "uint64")},
        "bool": np.bool_,
    }
