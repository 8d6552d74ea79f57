"""Arrays of other libraries, which are refused where NumPy's are expected, with what to write instead."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from funcgrad.source import fail


class Remedy(NamedTuple):
    """What a library's arrays are called, how they become NumPy's, and what makes functions of them."""

    kind: str
    convert: str
    instead: str


_JAX = Remedy("jax.Array", "np.asarray(x)", "fg.to_jax(f)")
_REMEDIES = {
    "torch": Remedy("torch.Tensor", "x.numpy()", "fg.to_torch(f)"),
    "jax": _JAX,
    "jaxlib": _JAX,
    "cupy": Remedy("cupy.ndarray", "x.get()", 'fg.jit(f, backend="cupy")'),
}


def remedy_of(value: object) -> Remedy | None:
    """What is known of another library's array; None of all other values."""
    if isinstance(value, np.ndarray | np.generic) or not hasattr(value, "shape"):
        return None
    for kind in type(value).__mro__:
        found = _REMEDIES.get(kind.__module__.partition(".")[0])
        if found is not None and hasattr(value, "dtype"):
            return found
    return None


def refuse_others(who: str, value: object) -> None:
    """Refuse an array of another library.

    >>> refuse_others("grad", 2.0)
    """
    remedy = remedy_of(value)
    if remedy is not None:
        raise fail(
            TypeError,
            f"{who}: expected NumPy arrays, but got {remedy.kind}; write {remedy.convert}, or call "
            f"{remedy.instead}, which takes such arrays",
        )
