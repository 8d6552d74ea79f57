"""Arrays of other libraries, which are refused where NumPy's are expected, with what to write instead."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.source import type_error


class Remedy(NamedTuple):
    """What a library's arrays are called, how they become NumPy's, and what makes functions of them."""

    kind: str
    convert: str
    instead: str


_JAX = Remedy("jax.Array", "np.asarray(x)", "fg.to_jax(f)")
_CUDA = Remedy("torch.Tensor", "x.cpu().numpy()", "fg.to_torch(f)")
_REMEDIES = {
    "torch": Remedy("torch.Tensor", "x.numpy()", "fg.to_torch(f)"),
    "jax": _JAX,
    "jaxlib": _JAX,
    "dask": Remedy("dask.array.Array", "x.compute()", "funcgrad.dask.value_and_grad(f)"),
    "cupy": Remedy("cupy.ndarray", "x.get()", 'fg.jit(f, backend="cupy")'),
}


def remedy_of(value: object) -> Remedy | None:
    """What is known of another library's array; None of all other values."""
    homes = [base.__module__.partition(".")[0] for base in type(value).__mro__]
    found = next((_REMEDIES[home] for home in homes if home in _REMEDIES), None)
    # (Attributes of other objects are not asked for: they may be made of the object's array.)
    if found is None or not (hasattr(value, "shape") and hasattr(value, "dtype")):
        return None
    return _CUDA if getattr(value, "is_cuda", False) else found


_TIMES = "(t - t[0]) / np.timedelta64(1, 's'): a number of seconds, since a time has no derivative"
_NUMBERS = {
    **dict.fromkeys(("date", "datetime64", "timedelta64"), _TIMES),
    "timedelta": "duration.total_seconds(), since a duration of Python's has no derivative",
    "str": "float(x) for a number written as text, fg.var('x') for a variable",
    "bytes": "float(x) for a number written as text",
    "Decimal": "float(x): a derivative is a binary number; fg.precise has as many digits as one asks for",
}
"""What to write for a value that reads as a number but is none of NumPy's."""


def advice_on(value: object) -> str:
    """What to write in the place of a value that is no number of NumPy's; empty if that is not known.

    Of a list or an array of objects the first entry that is no number counts.

    >>> advice_on("1")
    "write float(x) for a number written as text, fg.var('x') for a variable"
    """
    kinds = type(_first_object(value)).__mro__
    known = [_NUMBERS[kind.__name__] for kind in kinds if kind.__name__ in _NUMBERS]
    if known:
        return f"write {known[0]}"
    if any(kind.__module__.partition(".")[0] == "sympy" for kind in kinds):
        return (
            "write fg.var('x') for a symbol, float(x) for a number, and sympy.lambdify(symbols, x, 'numpy') "
            "for a function"
        )
    return ""


def _first_object(value: object) -> object:
    """The first entry of a list or of an array of objects that is no number; another value as it is."""
    while isinstance(value, list | tuple | np.ndarray):
        if isinstance(value, np.ndarray):
            if value.dtype.kind in "mM":
                return value.dtype.type(0, "s")
            value = value.ravel().tolist() if value.dtype == object else []
        value = next((v for v in value if not _is_number(v)), None)
    return value


def _is_number(value: object) -> bool:
    if isinstance(value, np.generic):
        return value.dtype.kind in "biufc"
    return isinstance(value, int | float | complex)


def has_array_method(value: object) -> bool:
    """Whether the class of a value has ``__array__`` in Python code: NumPy makes an array of the value."""
    return isinstance(getattr(type(value), "__array__", None), FunctionType)


def has_sequence_methods(value: object) -> bool:
    """Whether a value is a sequence for NumPy by methods in Python code, and no mapping.

    A sparse matrix is none: its length is an error.
    """
    kind: Any = type(value)
    methods = [getattr(kind, name, None) for name in ("__len__", "__getitem__")]
    if any([type(method) is not FunctionType for method in methods]) or isinstance(value, Mapping):
        return False
    try:
        return bool(kind.__len__(value) >= 0)
    except Exception:  # of the user's method
        return False


def refuse_others(who: str, value: object) -> None:
    """Refuse an array of another library, and a value that reads as a number but is none of NumPy's.

    >>> refuse_others("grad", 2.0)
    """
    refuse_libraries(who, value)
    advice = advice_on(value)
    if advice:
        kind = type(_first_object(value)).__name__
        raise type_error(f"{who}: expected a number, but got {kind}; {advice}")


def refuse_libraries(who: str, value: object) -> None:
    """Refuse an array of another library; text and the like pass, which may be static."""
    remedy = remedy_of(value)
    if remedy is not None:
        raise type_error(
            f"{who}: expected NumPy arrays, but got {remedy.kind}; write {remedy.convert}, or call "
            f"{remedy.instead} with such arrays as arguments",
        )
