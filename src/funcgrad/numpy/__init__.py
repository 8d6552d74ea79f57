"""NumPy, for code that builds arrays of traced values: ``import funcgrad.numpy as np``.

All names of `numpy` are available here unchanged, since plain ``numpy`` functions accept expressions.
Only the functions that NumPy does not dispatch are replaced: `array`, `asarray`, `full`, `arange` and dtypes.
A drop-in replacement for ``autograd.numpy``.

>>> import funcgrad as fg, funcgrad.numpy as np
>>> fg.grad(lambda x: np.sum(np.array([x, x * x, 1.0])))(3.0)
7.0
"""

from __future__ import annotations

from operator import index as _index
from typing import Any

import numpy as _numpy
import numpy.typing as npt

from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value as _plain
from funcgrad.numpy.types import frompyfunc as frompyfunc
from funcgrad.numpy.types import isscalar as isscalar
from funcgrad.numpy.types import vectorize as vectorize
from funcgrad.ops import shape as _shape
from funcgrad.typing import Array


def array(
    value: Array,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: Any = "K",
    ndmin: int = 0,
    **kwargs: Any,
) -> Any:
    """As `numpy.array`, of nested lists that may hold traced values.

    >>> import funcgrad as fg
    >>> array([fg.var("x"), 1.0]).shape
    (2,)
    """
    if not _shape.holds_expr(value):
        return _numpy.array(value, dtype, copy=copy, order=order, ndmin=ndmin, **kwargs)
    if kwargs:
        raise TypeError(
            f"array: expected no {', '.join(kwargs)} with expressions; they have no classes or layouts"
        )
    made = _shape.array(value, dtype)
    return _shape.reshape(made, (1,) * (ndmin - made.ndim) + made.shape)


def asarray(value: Array, dtype: npt.DTypeLike | None = None, **kwargs: Any) -> Any:
    """As `numpy.asarray`; an expression is returned as it is."""
    if not _shape.holds_expr(value):
        return _numpy.asarray(value, dtype, **kwargs)
    return array(value, dtype, **kwargs)


asanyarray = ascontiguousarray = asarray


def full(
    shape: int | tuple[int, ...], fill_value: object, dtype: object = None, **kwargs: Any
) -> Any:
    """As `numpy.full`, of a number or a traced value."""
    if not isinstance(fill_value, Expr):
        return _numpy.full(shape, fill_value, dtype, **kwargs)
    lengths = shape if _numpy.iterable(shape) else (_index(shape),)
    filled = _shape.broadcast_to(fill_value, tuple(map(_index, lengths)))
    return filled if dtype is None else _shape.astype(filled, dtype)


def arange(*limits: Any, dtype: npt.DTypeLike | None = None, **kwargs: Any) -> Any:
    """As `numpy.arange`; traced limits are concretized to find the number of entries.

    >>> import funcgrad as fg
    >>> fg.grad(lambda x: arange(x, 3.0, 0.5 * x).sum())(1.0)
    7.0
    """
    named = [kwargs.pop(key) for key in ("start", "stop", "step") if key in kwargs]
    limits = (*limits, *named)
    known = [_plain(item, "arange") for item in limits]
    plain = _numpy.arange(*known, dtype=dtype, **kwargs)
    start = limits[0] if len(limits) > 1 else 0
    step = limits[2] if len(limits) > 2 else 1
    if not (_is_differentiable(start) or _is_differentiable(step)):
        return plain
    made = start + step * _numpy.arange(plain.size)
    return made if dtype is None else _shape.astype(made, dtype)


def _is_differentiable(item: object) -> bool:
    return isinstance(item, Expr) and item.dtype.kind in "fc"


class _OfExpressions(type):
    """The metaclass of a dtype that also converts expressions, and has NumPy's own scalars as instances."""

    def __call__(cls, value: Any = 0.0) -> Any:
        kind = cls.__mro__[1]
        return _shape.astype(value, kind) if isinstance(value, Expr) else kind(value)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.__mro__[1])

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.__mro__[1])


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


# As attributes of the module, which are found in a tenth of the time that __getattr__ takes.
globals().update(
    {
        name: value
        for name, value in vars(_numpy).items()
        if name[0] != "_" and name not in globals()
    }
)


def __getattr__(name: str) -> Any:
    try:
        return getattr(_numpy, name)
    except AttributeError:
        raise AttributeError(
            f"module 'funcgrad.numpy' (and 'numpy') has no attribute {name!r}"
        ) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(_numpy)})
