"""NumPy, for code that builds arrays of traced values: ``import funcgrad.numpy as np``.

All names of `numpy` are available here. Plain ``numpy`` functions accept expressions; those of this module
accept nested lists of them, too, and those that make arrays make arrays that can be written.
A drop-in replacement for ``autograd.numpy``.

>>> import funcgrad as fg, funcgrad.numpy as np
>>> fg.grad(lambda x: np.sum(np.array([x, x * x, 1.0])))(3.0)
7.0
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as _numpy

from funcgrad.arrays.float_subclass import traced_part as _traced_part
from funcgrad.arrays.mutable_array import MutableArray, mutable
from funcgrad.arrays.values import number_held_by as _number_held_by
from funcgrad.expr import Expr
from funcgrad.expr.registry import functions as _functions
from funcgrad.numpy import emath as emath
from funcgrad.numpy import fft as fft
from funcgrad.numpy import linalg as linalg
from funcgrad.numpy.array_likes import array_functions as _array_functions
from funcgrad.numpy.array_likes import array_like as _array_like
from funcgrad.numpy.creation import arange as arange
from funcgrad.numpy.creation import array as array
from funcgrad.numpy.creation import asanyarray as asanyarray
from funcgrad.numpy.creation import asarray as asarray
from funcgrad.numpy.creation import asarray_chkfinite as asarray_chkfinite
from funcgrad.numpy.creation import ascontiguousarray as ascontiguousarray
from funcgrad.numpy.creation import asfortranarray as asfortranarray
from funcgrad.numpy.creation import copy as copy
from funcgrad.numpy.creation import empty as empty
from funcgrad.numpy.creation import empty_like as empty_like
from funcgrad.numpy.creation import eye as eye
from funcgrad.numpy.creation import fromiter as fromiter
from funcgrad.numpy.creation import full as full
from funcgrad.numpy.creation import full_like as full_like
from funcgrad.numpy.creation import identity as identity
from funcgrad.numpy.creation import kaiser as kaiser
from funcgrad.numpy.creation import ndenumerate as ndenumerate
from funcgrad.numpy.creation import ones as ones
from funcgrad.numpy.creation import ones_like as ones_like
from funcgrad.numpy.creation import require as require
from funcgrad.numpy.creation import take as take
from funcgrad.numpy.creation import zeros as zeros
from funcgrad.numpy.creation import zeros_like as zeros_like
from funcgrad.numpy.iterators import broadcast as broadcast
from funcgrad.numpy.iterators import nditer as nditer
from funcgrad.numpy.types import format_float_positional as format_float_positional
from funcgrad.numpy.types import format_float_scientific as format_float_scientific
from funcgrad.numpy.types import frompyfunc as frompyfunc
from funcgrad.numpy.types import isscalar as isscalar
from funcgrad.numpy.types import vectorize as vectorize
from funcgrad.ops import shape as _shape
from funcgrad.ops.elementwise.magnitude import make_complex as _make_complex
from funcgrad.source import as_of_numbers as _as_of_numbers


class _OfExpressions(type):
    """The metaclass of a dtype that also converts expressions, and has NumPy's own scalars as instances."""

    def __call__(cls, value: object = 0.0, *imag: Any) -> Any:
        kind = cls.__mro__[1]
        if imag and (kind not in (_numpy.complex128, _numpy.complex64) or len(imag) > 1):
            return kind(value, *imag)  # which refuses them
        if imag:
            parts = [asarray(part, float) for part in (value, *imag)]
            value = _make_complex(*parts)
        value = _traced_part(_number_held_by(_array_like(value)))
        if isinstance(value, MutableArray):
            return value.astype(kind)
        if isinstance(value, Expr):
            return _shape.as_numpys(_shape.astype(value, kind))
        made = kind(value)
        return mutable(made) if isinstance(made, _numpy.ndarray) else made

    def __instancecheck__(cls, value: object) -> bool:
        own = cls.__mro__[1]
        if isinstance(value, Expr) and value.traced is not None:
            return not value.shape and issubclass(value.dtype.type, own)
        return isinstance(value, own)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.__mro__[1])

    def __eq__(cls, other: object) -> Any:
        # A dtype knows whether it is that of this class.
        known = other is cls or other is cls.__mro__[1]
        return known if known or isinstance(other, type) else NotImplemented

    def __hash__(cls) -> int:
        return hash(cls.__mro__[1])


class float64(_numpy.float64, metaclass=_OfExpressions):  # noqa: N801  # as NumPy names it
    """As `numpy.float64`, also as a dtype; an expression is converted.

    >>> import funcgrad as fg
    >>> fg.grad(lambda x: float64(x) ** 2)(3.0), _numpy.zeros(2, float64).dtype
    (6.0, dtype('float64'))
    """


class float32(_numpy.float32, metaclass=_OfExpressions):  # noqa: N801
    """As `numpy.float32`; an expression is converted."""


class float16(_numpy.float16, metaclass=_OfExpressions):  # noqa: N801
    """As `numpy.float16`; an expression is converted."""


class complex128(_numpy.complex128, metaclass=_OfExpressions):  # noqa: N801
    """As `numpy.complex128`; an expression is converted."""


class complex64(_numpy.complex64, metaclass=_OfExpressions):  # noqa: N801
    """As `numpy.complex64`; an expression is converted."""


double, single, half, cdouble, csingle = float64, float32, float16, complex128, complex64

# Integers of an expression have no derivative, but they are indices and lengths.
_INTEGERS = {
    kind: _OfExpressions(
        kind.__name__,
        (kind,),
        {
            "__module__": __name__,
            "__doc__": f"As `numpy.{kind.__name__}`; an expression is converted.",
        },
    )
    for kind in {_numpy.dtype(code).type for code in _numpy.typecodes["AllInteger"]}
}
globals().update(
    {
        name: _INTEGERS[kind]
        for name, kind in vars(_numpy).items()
        if isinstance(kind, type) and kind in _INTEGERS
    }
)


def _is_adopted(value: object) -> bool:
    """Whether a name of NumPy's leads to Python code that NumPy does not dispatch: it is adopted here."""
    if isinstance(value, FunctionType) or any(value is item for item in _ADOPTED):
        return True
    return getattr(value, "__name__", None) in ("numpy.ma", "numpy.random", "numpy.testing")


_INDEXED = ("r_", "c_", "mgrid", "ogrid")
_ADOPTED = (
    _numpy.polynomial,
    _numpy.poly1d,
    _numpy.matrix,
    _numpy.lib,
    *[getattr(_numpy, name) for name in _INDEXED],
)

# As attributes of the module, which are found in a tenth of the time that __getattr__ takes.
_theirs = {
    name: value for name, value in vars(_numpy).items() if name[0] != "_" and not _is_adopted(value)
}
globals().update(
    {
        name: value
        for name, value in (_theirs | dict(_array_functions(_numpy))).items()
        if name not in globals()
    }
)


def __getattr__(name: str) -> Any:
    try:
        value = getattr(_numpy, name)
    except AttributeError:
        raise _as_of_numbers(
            AttributeError(f"module 'funcgrad.numpy' (and 'numpy') has no attribute {name!r}")
        ) from None
    if name[0] == "_" or not _is_adopted(value):
        return value
    adopted = _functions["redirect"]
    # Instances of these classes are alike.
    found = adopted(type(value))() if name in _INDEXED else adopted(value)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return dir(_numpy)
