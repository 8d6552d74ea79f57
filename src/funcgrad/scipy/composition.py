"""Functions that are SciPy's own on plain values, and compositions of NumPy's on traced values."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from funcgrad.ops.base.op import lift_fully
from funcgrad.ops.shape import holds_expr
from funcgrad.source import fail
from funcgrad.typing import Array

P = ParamSpec("P")
R = TypeVar("R")


def composed(module: ModuleType) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: a function of the module on plain values, and the decorated one on traced values."""

    def decorator(traced: Callable[P, R]) -> Callable[P, R]:
        own = getattr(module, traced.__name__)

        @wraps(traced)
        def function(*args: P.args, **kwargs: P.kwargs) -> R:
            chosen = traced if holds_expr([*args, *kwargs.values()]) else own
            return chosen(*args, **kwargs)

        function.__doc__ = traced.__doc__ or f"As `{module.__name__}.{traced.__name__}`."
        return function

    return decorator


def refuse(name: str, **given: object) -> None:
    """Say which arguments are not supported with traced values."""
    for key, value in given.items():
        if value is not None and value is not False:
            raise fail(TypeError, f"{name}: {key}={value!r} is not supported with traced values")


def number(who: str, value: npt.ArrayLike, kinds: str = "fiubc") -> Array:
    """An argument in double precision, as SciPy takes it; ``kinds`` are the kinds of dtypes it may have."""
    item: Any = lift_fully(value) if holds_expr(value) else np.asarray(value)
    if item.dtype.kind not in kinds:
        wanted = "numbers" if "c" in kinds else "real numbers"
        raise fail(TypeError, f"{who}: expected {wanted}, but got dtype {item.dtype}")
    dtype = np.promote_types(item.dtype, np.float64)
    found: Array = item if item.dtype == dtype else item.astype(dtype)
    return found


def real(who: str, value: npt.ArrayLike) -> Array:
    """An argument of real numbers, in double precision."""
    return number(who, value, "fiub")


def taken(x: Array, index: Any) -> Any:
    """``x[index]``: a plain array at a traced index is an expression, too."""
    return (lift_fully(x, index) if holds_expr(index) else x)[index]
