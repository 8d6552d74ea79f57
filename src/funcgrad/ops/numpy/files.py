"""NumPy's functions that write arrays to files, which keep numbers and no derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.arrays.reference import unwrapped
from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value
from funcgrad.expr.registry import functions
from funcgrad.source import adopted_type_error


def save(file: Any, arr: object, allow_pickle: bool = True) -> None:
    """As `numpy.save`; of a traced array, the numbers that it stands for.

    Raises TypeError if the array is differentiated, or mapped over by `vmap`.
    """
    np.save(file, _numbers("save", arr), allow_pickle)


def savez(file: Any, *args: object, **arrays: object) -> None:
    """As `numpy.savez`; of traced arrays, the numbers that they stand for.

    Raises TypeError if an array is differentiated, or mapped over by `vmap`.
    """
    _save_all("savez", file, args, arrays)


def savez_compressed(file: Any, *args: object, **arrays: object) -> None:
    """As `numpy.savez_compressed`; of traced arrays, the numbers that they stand
    for.

    Raises TypeError if an array is differentiated, or mapped over by `vmap`.
    """
    _save_all("savez_compressed", file, args, arrays)


def _save_all(who: str, file: Any, args: tuple[object, ...], arrays: dict[str, object]) -> None:
    known = {
        name: value if name == "allow_pickle" else _numbers(who, value)
        for name, value in arrays.items()
    }
    getattr(np, who)(file, *[_numbers(who, item) for item in args], **known)


def _numbers(who: str, array: object) -> Any:
    """The numbers of an array that has no derivative."""
    value = unwrapped(array)
    if not isinstance(value, Expr):
        return value
    if functions["is_varied"](value):
        raise adopted_type_error(
            f"{who}: expected numbers, but got values that are differentiated or mapped over, and a file "
            "keeps plain numbers; return them beside the result (has_aux=True) and save what comes back, "
            f"or write {who}(file, fg.stop_gradient(x)) if a derivative of zero is meant",
        )
    return np.asarray(concrete_value(value, who))
