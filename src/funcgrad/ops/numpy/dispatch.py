"""From NumPy's functions and ufuncs to operations: what ``import numpy as np`` reaches.

The tables are read off the families' modules: a function that bears the name of a NumPy function
stands in for it. What has no stand-in is a TypeError that names it and the nearest that has.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from funcgrad import expr as expr_module
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT
from funcgrad.ops import (
    contraction,
    decompositions,
    determinants,
    eigenvectors,
    fourier,
    indexing,
    markers,
    matrix_functions,
    recurrences,
    reduced_resolvents,
    reduction,
    scans_and_sorts,
    shape,
    singular_value_functions,
    solve,
    spectral_functions,
    stores,
    subscripts,
    tuples,
)
from funcgrad.ops.base import op
from funcgrad.ops.base.activity import is_varied
from funcgrad.ops.base.index_spec import as_indices
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise import (
    arithmetic,
    cardinal_sine,
    exponential,
    extrema,
    logic,
    magnitude,
    selection,
    trigonometric,
)
from funcgrad.ops.numpy import (
    by_value,
    complex_numbers,
    float_parts,
    interpolation,
    linear_algebra,
    nan_reductions,
    polynomial,
    quantiles,
    ranges,
    rearrange,
    select_compare,
    statistics,
)
from funcgrad.ops.numpy.bound_arguments import bind_arguments
from funcgrad.ops.numpy.ufuncs import apply_ufunc as apply_ufunc
from funcgrad.ops.numpy.ufuncs import no_out, unsupported
from funcgrad.ops.special import polygamma
from funcgrad.source import fail, warn
from funcgrad.typing import Array

ELEMENTWISE: tuple[ModuleType, ...] = (
    arithmetic,
    exponential,
    trigonometric,
    extrema,
    magnitude,
    selection,
    cardinal_sine,
    logic,
)
FAMILIES: tuple[ModuleType, ...] = (
    op,
    *ELEMENTWISE,
    polygamma,
    shape,
    reduction,
    nan_reductions,
    recurrences,
    scans_and_sorts,
    interpolation,
    quantiles,
    statistics,
    ranges,
    float_parts,
    indexing,
    stores,
    subscripts,
    rearrange,
    select_compare,
    complex_numbers,
    contraction,
    fourier,
    solve,
    decompositions,
    matrix_functions,
    reduced_resolvents,
    singular_value_functions,
    spectral_functions,
    eigenvectors,
    determinants,
    linear_algebra,
    polynomial,
    tuples,
    markers,
)


_INTERNAL = (op, tuples, markers)
"""The families whose functions bear no names of NumPy's."""


def all_ops(*more: ModuleType) -> Mapping[str, Op]:
    """Every operation of the families, and of further modules, by name."""
    found = [
        value
        for module in (*FAMILIES, *more)
        for value in vars(module).values()
        if isinstance(value, Op)
    ]
    return MappingProxyType({item.name: item for item in found})


def public_functions() -> dict[str, Callable[..., Any]]:
    """The families' functions and callable operations, by the name they are written with."""
    result: dict[str, Callable[..., Any]] = {}
    for module in FAMILIES:
        if module in _INTERNAL:
            continue
        for name, value in vars(module).items():
            own = inspect.isfunction(value) and value.__module__ == module.__name__
            if (
                not name.startswith("_")
                and not name.endswith("_op")
                and (own or isinstance(value, Op))
            ):
                result[name] = value
    return result | {"clip": clip, "round": round_, "divmod": divmod_} | _renamed(result)


def _renamed(found: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    return {
        "abs": found["absolute"],
        "amax": found["max"],
        "amin": found["min"],
        "hstack": shape.hstack,
        "vstack": shape.vstack,
        "expit": exponential.sigmoid,
        "float_power": _float_power,
        "degrees": trigonometric.rad2deg,
        "radians": trigonometric.deg2rad,
        "solve1": lambda a, b: found["solve"](a, b[..., None])[..., 0],
    }


def numpy_functions(
    functions: Mapping[str, Callable[..., Any]],
) -> Mapping[Any, Callable[..., Any]]:
    """What stands in for each function of NumPy's, of ``linalg`` and of ``fft`` that is not a ufunc."""
    result: dict[Any, Callable[..., Any]] = {}
    for home in (np, np.linalg, np.fft):
        for name, function in functions.items():
            theirs = getattr(home, name, None)
            if callable(theirs) and not isinstance(theirs, np.ufunc | type):
                result[theirs] = function
    # These take the last two axes where their namesakes take the first.
    result |= {np.linalg.diagonal: _last(indexing.diagonal), np.linalg.trace: _last(indexing.trace)}
    result[np.linalg.norm] = linear_algebra.any_norm
    for name in ("tile", "split", "rot90", "delete"):
        result[getattr(np, name)] = by_value.counted(functions[name])
    result.update(complex_numbers.EMATH)
    result |= {np.copy: lambda x, **_: x, np.where: where, np.around: round_}
    result |= {np.shape: lambda x: x.shape, np.ndim: lambda x: x.ndim, np.size: size}
    result |= {np.result_type: result_type, np.iscomplexobj: lambda x: x.dtype.kind == "c"}
    result |= {np.empty_like: functions["zeros_like"]}
    # Expressions share memory with nothing.
    result |= dict.fromkeys((np.shares_memory, np.may_share_memory), lambda *_, **__: False)
    result |= {np.isrealobj: lambda x: x.dtype.kind != "c", np.common_type: common_type}
    result |= {np.can_cast: lambda x, to, casting="safe": np.can_cast(x.dtype, to, casting)}
    return MappingProxyType(result)


def _last(function: Callable[..., Any]) -> Callable[..., Any]:
    def of_last_axes(x: Array, *, offset: int = 0, **dtype: Any) -> Any:
        return function(x, offset, -2, -1, **dtype)

    return of_last_axes


def _float_power(x: npt.ArrayLike, y: npt.ArrayLike) -> Any:
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
    return selection.where(condition, *branches)


def size(x: Array, axis: int | None = None) -> int:
    """As `numpy.size`."""
    return int(x.size if axis is None else x.shape[axis])


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
    casting: str = "same_kind",
) -> Any:
    """As `numpy.clip`: minimum(high, maximum(low, x)), so half the derivative
    flows at a bound.

    What equals a bound stays as it is, with its sign of zero; with one bound,
    it is the bound, as in NumPy.
    """
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    dtype = x.dtype if isinstance(x, Expr) else np.asarray(x).dtype
    if dtype.kind in "iu":  # Python's integers outside its range bound nothing
        range_ = np.iinfo(dtype)
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
            given = getattr(operand, "dtype", clipped.dtype)
            if not np.can_cast(given, clipped.dtype, casting):  # type: ignore[arg-type]
                raise fail(
                    TypeError,
                    f"Cannot cast ufunc 'clip' input from {given!r} to {clipped.dtype!r} with casting "
                    f"rule {casting!r}",
                )
    return clipped


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


_REDUCED_BY = {
    np.sum: np.add,
    np.prod: np.multiply,
    np.max: np.maximum,
    np.min: np.minimum,
    np.amax: np.maximum,
    np.amin: np.minimum,
    np.all: np.logical_and,
    np.any: np.logical_or,
}
"""The ufuncs whose reductions take the arguments that the functions themselves do not, such as ``where``."""

_IN_PLACE = (np.copyto, np.fill_diagonal, np.put, np.place, np.putmask, np.put_along_axis)


def apply_numpy(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer ``__array_function__``: by a stand-in, by value, or by NumPy's own code on traced values."""
    stand_in = expr_module.operation_table.numpy.get(func)
    name = getattr(func, "__name__", str(func))
    if func in _IN_PLACE:
        raise fail(
            TypeError,
            f"{name}: would change an array in place, but expressions are immutable; write "
            "x = x.at[i].set(v), or np.where(condition, new, old)",
        )
    if kwargs.pop("out", None) is not None:
        raise no_out(name)
    bound = None if stand_in is None else bind_arguments(func, stand_in, args, kwargs)
    if bound is None and func in _REDUCED_BY:
        given = inspect.signature(func).bind(*args, **kwargs).arguments
        return apply_ufunc(_REDUCED_BY[func], "reduce", (given.pop("a"),), {"axis": None} | given)
    if stand_in is not None and bound is not None:
        answer = stand_in(*bound[0], **bound[1])
    else:
        answer = by_value.answered(name, func, args, kwargs)
    if answer is NotImplemented:
        answer = expr_module.operation_table.functions["run_source"](func, args, kwargs)
    if answer is NotImplemented:
        if bound is None and stand_in is not None:
            _refuse_arguments(name, stand_in, args, kwargs)
        known = (*expr_module.operation_table.numpy, *by_value.ANSWERED)
        raise unsupported(name, (f.__name__ for f in known))
    return answer


def _refuse_arguments(
    name: str, stand_in: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Say which of NumPy's arguments is not supported."""
    try:
        inspect.signature(stand_in).bind(*args, **kwargs)
    except TypeError as error:
        raise fail(
            TypeError, f"{name}: of NumPy's arguments this one is not supported: {error}"
        ) from None


def formula_functions() -> Mapping[str, Callable[..., Any]]:
    """The functions that a formula given as text may call: none makes more than its operands hold."""
    kept = (
        *ELEMENTWISE,
        reduction,
        nan_reductions,
        scans_and_sorts,
        interpolation,
        quantiles,
        statistics,
        contraction,
    )
    own = public_functions()
    names = [name for name in own if any(own[name] is vars(m).get(name) for m in kept)]
    return MappingProxyType({name: own[name] for name in [*names, "abs", "clip", "round"]})
