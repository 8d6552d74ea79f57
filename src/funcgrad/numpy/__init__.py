"""NumPy, for code that builds arrays of traced values: ``import funcgrad.numpy as np``.

Everything of `numpy` is here as it is, since plain ``numpy`` functions take expressions by themselves.
Only the few that NumPy does not dispatch are replaced: `array`, `asarray`, `full` and their like.
A drop-in for ``autograd.numpy``.

>>> import funcgrad as fg, funcgrad.numpy as np
>>> fg.grad(lambda x: np.sum(np.array([x, x * x, 1.0])))(3.0)
7.0
"""

from __future__ import annotations

from typing import Any

import numpy as _numpy

from funcgrad.expr import Expr
from funcgrad.ops import shape as _shape


def array(value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """As `numpy.array`, of nested lists that may hold traced values.

    >>> import funcgrad as fg
    >>> array([fg.var("x"), 1.0]).shape
    (2,)
    """
    plain = _shape.array(value, dtype)
    return plain if isinstance(plain, Expr) or not kwargs else _numpy.array(value, dtype, **kwargs)


def asarray(value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """As `numpy.asarray`; an expression is returned as it is."""
    if isinstance(value, _numpy.ndarray):
        return _numpy.asarray(value, dtype, **kwargs)
    return array(value, dtype, **kwargs)


asanyarray = ascontiguousarray = asarray


def full(shape: Any, fill_value: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """As `numpy.full`, of a number or a traced value."""
    if not isinstance(fill_value, Expr):
        return _numpy.full(shape, fill_value, dtype, **kwargs)
    filled = _shape.broadcast_to(fill_value, shape)
    return filled if dtype is None else _shape.astype(filled, dtype)


def float64(value: Any = 0.0) -> Any:
    """As `numpy.float64`; an expression is converted."""
    return (
        _shape.astype(value, _numpy.float64) if isinstance(value, Expr) else _numpy.float64(value)
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
