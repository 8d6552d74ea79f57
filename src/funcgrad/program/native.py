"""Generated text as machine code, where numba is installed (the extra `fast`): no other module imports it.

Nothing here is needed for a right result: where there is no numba, or it cannot compile a text, there is
no function, and the caller runs the text as Python.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=1)
def available() -> bool:
    """Whether numba is installed. It is not imported before something is worth compiling."""
    try:
        return importlib.util.find_spec("numba") is not None
    except (ImportError, ValueError):
        return False


def compiled(
    text: str, bound: Mapping[str, Any], signature: Any = None
) -> Callable[..., Any] | None:
    """The function ``run`` that a text defines, as machine code; None where there can be none.

    ``signature`` is numba's, as text: with it the function is compiled at once, otherwise at its first call.
    Functions run without Python's lock, on NumPy's terms: a division by zero is an inf or a nan.
    """
    if not available():
        return None
    try:
        import numba

        home: dict[str, Any] = {"__name__": "funcgrad.program.generated", **bound}
        exec(compile(text, "<funcgrad native program>", "exec", dont_inherit=True), home)
        jit = numba.njit(error_model="numpy", nogil=True)
        made = numba.njit(signature, error_model="numpy", nogil=True) if signature else jit
        run: Callable[..., Any] = made(home["run"])
    except Exception:  # numba fails in many ways, and none is worth an error
        return None
    return run
