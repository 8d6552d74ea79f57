"""``numba`` for adopted code: its decorators give the Python function, which traced values can enter."""

from __future__ import annotations

from typing import Any

import numba

from funcgrad.numpy import vectorize as by_entry_of


def jit(*args: object, **options: object) -> Any:
    """As `numba.jit`, without compiling: the function itself, or a decorator."""
    if len(args) == 1 and callable(args[0]) and not isinstance(args[0], numba.types.Type):
        return args[0]
    return lambda f: f


njit = generated_jit = jit
prange = range


def vectorize(*args: object, **options: object) -> Any:
    """As `numba.vectorize`, without compiling."""
    if len(args) == 1 and callable(args[0]) and not isinstance(args[0], numba.types.Type):
        return by_entry_of(args[0])
    return by_entry_of


globals().update({name: value for name, value in vars(numba).items() if name not in globals()})
