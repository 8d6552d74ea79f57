"""Constants as source: the fewest digits that read back, or an abbreviation that shows that it is one."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from funcgrad.show.implicit_casts import is_integer
from funcgrad.typing import Array

LONGEST_ARRAY = 60  # characters of an array that is written out
_LARGEST_DENOMINATOR = 99

_PYTHON = {"float64": float, "int64": int, "bool": bool, "complex128": complex}


def is_default_dtype(dtype: np.dtype[Any]) -> bool:
    """Whether Python's own numbers have this dtype in NumPy."""
    return dtype.name in _PYTHON


def digits(value: Any) -> str:
    """A number with the fewest digits that read back: a fraction if that is shorter, as in ``1/3``.

    An integral float has no decimal point: see `with_dtype`.

    >>> digits(2.0), digits(0.1), digits(1 / 3), digits(2**0.5)
    ('2', '0.1', '1/3', '1.4142135623730951')
    """
    if isinstance(value, np.generic):
        # NumPy's shortest digits of a float32 read back as a float32.
        number, text = value.item(), str(value)
    else:
        number, text = value, repr(value)
    if isinstance(number, complex):
        return _complex_digits(value)
    if not isinstance(number, float):
        return str(number)
    if is_integer(number):
        return str(int(number))
    return _fraction(value, number) or text if len(text) > 8 else text


def _complex_digits(value: complex | np.generic) -> str:
    """A complex number as Python reads it: its literals are sums, which lose some signs of zeros."""
    real, imag = [
        str(int(part)) if is_integer(float(part)) else str(part)
        for part in (value.real, value.imag)
    ]
    if not np.isfinite(value):
        return f"complex({real}, {imag})"
    negative = imag.startswith("-")
    if real == ("-0.0" if negative else "0"):
        return "-0j" if imag == "-0.0" else f"{imag}j"
    if "-0.0" in (real, imag):
        return f"complex({real}, {imag})"
    return f"({real}{'' if negative else '+'}{imag}j)"


def _fraction(value: complex | np.generic, number: float) -> str | None:
    if not 1e-3 < abs(number) < 1e3:
        return None
    simple = Fraction(number).limit_denominator(_LARGEST_DENOMINATOR)
    same = type(value)(simple.numerator / simple.denominator) == value
    return f"{simple.numerator}/{simple.denominator}" if same else None


def with_dtype(value: Any) -> str:
    """A NumPy scalar as source that has its dtype: ``2.0``, ``3``, ``float32(0.1)``.

    >>> with_dtype(np.float64(2)), with_dtype(np.float32(0.1)), with_dtype(np.int8(3))
    ('2.0', 'float32(0.1)', 'int8(3)')
    """
    name = value.dtype.name
    text = digits(value)
    if name == "float64" and text.lstrip("-").isdigit():
        text += ".0"
    return text if name in _PYTHON else f"{name}({text})"


def is_identity(array: Array) -> bool:
    """Whether a constant is an identity matrix of float64."""
    square = array.ndim == 2 and array.shape[0] == array.shape[1] > 1
    return bool(square and array.dtype == float and np.array_equal(array, np.eye(len(array))))


def label(array: Any) -> str:
    """A constant where its dtype is said elsewhere: ``2``, ``[0.5, 1.0]``, or its type."""
    return entries(array) if array.ndim else digits(array[()])


def entries(array: Array) -> str:
    """The entries of an array between brackets, if they are few; else its type: ``<float64[50]>``."""
    if array.size <= LONGEST_ARRAY:
        text = _nested(array)
        if len(text) <= LONGEST_ARRAY and (array.size or array.ndim == 1):
            return text
    shape = ", ".join(map(str, array.shape))
    return f"<{array.dtype}[{shape}]>"


def _nested(array: Any) -> str:
    if array.ndim == 0:
        return _entry(array[()])
    return f"[{', '.join([_nested(row) for row in array])}]"


def _entry(value: Any) -> str:
    if value.dtype.kind == "f" and is_integer(value.item()):
        return f"{int(value)}.0"
    if value.dtype.kind == "c":
        return digits(value)
    return value.item().__repr__() if value.dtype.name in _PYTHON else str(value)
