"""NumPy's functions that most programs call, by name: the rest is imported when a program asks for it.

`registry.complete` reads the tables of all functions (`funcgrad.ops.numpy.dispatch`) the first time that a
name is not among these, so that `import funcgrad` does not import every family of operations.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT
from funcgrad.ops import contraction, indexing, reduction, shape
from funcgrad.ops.base import op
from funcgrad.ops.base.activity import is_varied
from funcgrad.ops.base.axes import axes_of
from funcgrad.ops.base.index_spec import as_indices
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise import (
    arithmetic,
    exponential,
    extrema,
    logic,
    magnitude,
    selection,
    trigonometric,
)
from funcgrad.source import type_error, value_error, warn
from funcgrad.typing import Array, ArrayLike, Axes, DTypeLike

COMMON_ELEMENTWISE: tuple[ModuleType, ...] = (
    arithmetic,
    exponential,
    trigonometric,
    extrema,
    magnitude,
    selection,
    logic,
)
CORE: tuple[ModuleType, ...] = (*COMMON_ELEMENTWISE, shape, reduction, indexing, contraction)

BY_COUNT = ("tile", "split", "rot90", "delete")
"""Functions whose further arguments are counts or places."""


def named_functions(families: Iterable[ModuleType]) -> dict[str, Callable[..., Any]]:
    """The functions and callable operations of some families, by the name they are written with."""
    result: dict[str, Callable[..., Any]] = {}
    for module in families:
        for name, value in vars(module).items():
            own = inspect.isfunction(value) and value.__module__ == module.__name__
            if (
                not name.startswith("_")
                and not name.endswith("_op")
                and (own or isinstance(value, Op))
            ):
                result[name] = value
    return result


def core_functions() -> dict[str, Callable[..., Any]]:
    """The functions of the families that most programs need, by name."""
    found = named_functions(CORE)
    return found | {
        "abs": found["absolute"],
        "amax": found["max"],
        "amin": found["min"],
        "clip": clip,
        "degrees": trigonometric.rad2deg,
        "divmod": divmod_,
        "expit": exponential.sigmoid,
        "float_power": _float_power,
        "hstack": shape.hstack,
        "radians": trigonometric.deg2rad,
        "round": round_,
        "vstack": shape.vstack,
    }


def replacements_in(
    home: ModuleType, functions: Mapping[str, Callable[..., Any]]
) -> dict[Any, Callable[..., Any]]:
    """The functions of a module of NumPy's that are not ufuncs, and what replaces each, by name."""
    theirs = {name: getattr(home, name, None) for name in functions}
    return {
        own: functions[name]
        for name, own in theirs.items()
        if callable(own) and not isinstance(own, np.ufunc | type)
    }


def core_numpy_functions(
    functions: Mapping[str, Callable[..., Any]],
) -> Mapping[Any, Callable[..., Any]]:
    """The replacement of each function of `numpy` that most programs need."""
    result = replacements_in(
        np, {name: functions[name] for name in functions if name not in BY_COUNT}
    )
    result |= {np.copy: _copy, np.where: where, np.around: round_}
    result |= {np.shape: _shape, np.ndim: _ndim, np.size: size}
    result |= {np.result_type: result_type, np.common_type: common_type, np.can_cast: _can_cast}
    result |= {np.iscomplexobj: _is_complex, np.isrealobj: _is_real}
    result |= {np.empty_like: functions["zeros_like"]}
    # Expressions share memory with nothing.
    result |= dict.fromkeys((np.shares_memory, np.may_share_memory), _shares_no_memory)
    return MappingProxyType(result)


def _copy(x: Expr, **_: object) -> Expr:
    return x


def _shape(x: Expr) -> tuple[int, ...]:
    return x.shape


def _ndim(x: Expr) -> int:
    return x.ndim


def _is_complex(x: Expr) -> bool:
    return x.dtype.kind == "c"


def _is_real(x: Expr) -> bool:
    return x.dtype.kind != "c"


def _can_cast(x: Expr, to: DTypeLike, casting: Any = "safe") -> bool:
    return np.can_cast(x.dtype, to, casting)


def _shares_no_memory(*_: object, **__: object) -> bool:
    return False


def _float_power(x: ArrayLike, y: ArrayLike) -> Any:
    """As `numpy.float_power`: in double precision at least, with no root of -inf and -0 at 1/2."""
    given = op.lift_all((x, y))
    dtype = np.result_type(given[0].dtype, given[1].dtype, float)
    base, exponent = (shape.astype(item, dtype) for item in given)
    found = arithmetic.power(base, exponent)
    is_known = dtype.kind == "f" and exponent.op is CONSTANT and exponent.size == 1
    if is_known and np.all(exponent.value == 0.5):
        return np.where(np.isneginf(base), np.inf, found) + 0.0
    return found


def where(condition: object, *branches: Any) -> Any:
    """As `numpy.where`; with a condition alone, the indices where it holds, read from its values."""
    if not branches:
        condition = op.lift_fully(condition)
        chosen = condition if condition.dtype.kind == "b" else condition != 0
        return tuple(as_indices(chosen))
    if len(branches) == 1:
        raise value_error(
            "where: expected both branches or none, but got one; write np.where(condition, x, y)",
        )
    return selection.where(condition, *branches)


def size(x: Array, axis: Axes = None) -> int:
    """As `numpy.size`: the number of entries, or of those along one axis or several."""
    return math.prod([x.shape[i] for i in axes_of("size", axis, x)])


def result_type(*items: Any) -> np.dtype[Any]:
    """As `numpy.result_type`."""
    return np.result_type(*[item.dtype if isinstance(item, Expr) else item for item in items])


def common_type(*arrays: object) -> type[Any]:
    """As `numpy.common_type`."""
    return np.common_type(*[np.empty(0, result_type(item)) for item in arrays])


def clip(
    x: object,
    a_min: object = None,
    a_max: object = None,
    *,
    min: object = None,
    max: object = None,
    dtype: DTypeLike | None = None,
    casting: str = "same_kind",
) -> Any:
    """As `numpy.clip`: minimum(high, maximum(low, x)), so half the derivative
    flows at a bound.

    What equals a bound stays as it is, with its sign of zero; with one bound,
    it is the bound, as in NumPy. Raises ValueError if the shapes do not
    broadcast.

    >>> clip(np.array([-2.0, 0.5, 2.0]), -1.0, 1.0)
    array([-1. ,  0.5,  1. ])
    """
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    if dtype is not None:
        cast = [v if v is None else _cast(v, np.dtype(dtype), casting) for v in (x, low, high)]
        return clip(*cast)
    own = x.dtype if isinstance(x, Expr) else np.asarray(x).dtype
    if own.kind in "iu":  # Python's integers outside its range bound nothing
        range_ = np.iinfo(own)
        low = None if type(low) is int and low < range_.min else low
        high = None if type(high) is int and high > range_.max else high
    clipped: Any
    if low is None or high is None:
        clipped = x if low is None else extrema.maximum(x, low)
        clipped = clipped if high is None else extrema.minimum(clipped, high)
    else:
        clipped = extrema.minimum(high, extrema.maximum(low, x))
    if casting != "same_kind":
        for operand in (x, low, high):
            _check_cast(operand, clipped.dtype, casting)
    return clipped


def _cast(operand: Any, dtype: np.dtype[Any], casting: str) -> Any:
    _check_cast(operand, dtype, casting)
    return shape.astype(operand, dtype)


def _check_cast(operand: Any, dtype: np.dtype[Any], casting: Any) -> None:
    given = getattr(operand, "dtype", dtype)
    if not np.can_cast(given, dtype, casting):
        raise type_error(
            f"Cannot cast ufunc 'clip' input from {given!r} to {dtype!r} with casting rule {casting!r}",
        )


def round_(x: object, decimals: int = 0) -> Any:
    """As `numpy.round`; not differentiable, of which a rounding to decimals warns."""
    x = op.lift_fully(x)
    if decimals > 0 and x.traced is not None and x.dtype.kind not in "iu" and is_varied(x):
        warn(
            f"round: a value rounded to {decimals} decimals has derivative zero, as a step has; leave the "
            f"rounding out of the function, or write round(fg.stop_gradient(x), {decimals}) if the "
            "derivative is meant to be zero"
        )
    if x.dtype.kind == "c":
        return magnitude.make_complex(round_(np.real(x), decimals), round_(np.imag(x), decimals))
    whole = x.dtype.kind in "iu"
    if decimals >= 0:
        scale = 10.0**decimals
        return (
            x if whole else arithmetic.rint(x * scale) / scale if decimals else arithmetic.rint(x)
        )
    scale = 10.0**-decimals
    rounded = arithmetic.rint(x / scale) * scale
    return shape.astype(rounded, x.dtype) if whole else rounded


def divmod_(x: Array, y: Array) -> tuple[Any, Any]:
    """As `numpy.divmod`."""
    return arithmetic.floor_divide(x, y), arithmetic.remainder(x, y)
