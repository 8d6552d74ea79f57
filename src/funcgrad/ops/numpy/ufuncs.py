"""NumPy's ufuncs and their methods on expressions: what ``__array_ufunc__`` answers.

A method of a ufunc is composed of the operation that stands in for the ufunc: `reduce` and `accumulate` fold
it along an axis, unless an operation of its own does that; `outer` broadcasts; `reduceat` reduces slices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from funcgrad.arrays.object_array import as_objects, holds_objects
from funcgrad.expr import const
from funcgrad.expr.concrete import concrete_value, kept_for_users
from funcgrad.expr.registry import complete, is_well_known, operation_table, stand_in_of
from funcgrad.ops import reduction, scans_and_sorts, shape
from funcgrad.ops.base.arguments import slice_axis
from funcgrad.ops.base.axes import axes_of, axis_index, scanned
from funcgrad.ops.base.op import lift_all, lift_fully
from funcgrad.ops.indexing import scatter_op
from funcgrad.ops.numpy.array_function import first_expr, no_out, unsupported
from funcgrad.ops.numpy.by_value import answered
from funcgrad.typing import Array, Axes, DTypeLike, Index

_REDUCERS: dict[str, Callable[..., Any]] = {
    "add": reduction.sum,
    "multiply": reduction.prod,
    "maximum": reduction.max,
    "minimum": reduction.min,
    "logical_and": reduction.all,
    "logical_or": reduction.any,
    "logaddexp": reduction.logsumexp,
}
_SCANNERS: dict[str, Callable[..., Any]] = {
    "add": scans_and_sorts.cumsum,
    "multiply": scans_and_sorts.cumprod,
    "maximum": scans_and_sorts.running_maximum,
    "minimum": scans_and_sorts.running_minimum,
}
_ASSOCIATIVE = frozenset(
    (
        *(
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "logical_and",
            "logical_or",
            "logical_xor",
            "hypot",
        ),
        *("logaddexp", "logaddexp2", "bitwise_and", "bitwise_or", "bitwise_xor"),
    )
)
_LEAST = {"maximum": -np.inf, "fmax": -np.inf, "minimum": np.inf, "fmin": np.inf}
_TYPING = ("casting", "dtype", "sig", "signature")


def apply_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Answer ``__array_ufunc__``."""
    name = ufunc.__name__
    if not is_well_known(ufunc):
        raise unsupported(name, ())
    out = kwargs.pop("out", None)
    if isinstance(kwargs.get("dtype"), type) and issubclass(kwargs["dtype"], np.dtype):
        kwargs["dtype"] = kwargs["dtype"]()
    targets = out if isinstance(out, tuple) else (out,)
    if any([target is not None for target in targets]):
        if holds_objects(targets):
            return getattr(ufunc, method)(*map(as_objects, inputs), out=out, **kwargs)
        raise kept_for_users(first_expr((*inputs, *targets)), no_out(name))
    for layout in ("order", "subok"):  # an expression has no layout, and no subclass
        kwargs.pop(layout, None)
    if method == "at":
        raise kept_for_users(first_expr(inputs), no_out(f"{name}.at"))
    if stand_in_of(ufunc) is None:
        answer: Any = answered(name, getattr(ufunc, method), inputs, kwargs)
        if answer is NotImplemented:
            written = name if method == "__call__" else f"{name}.{method}"
            complete()
            raise unsupported(written, operation_table.ufuncs)
        return answer
    return _METHODS[method](ufunc, *inputs, **kwargs)


# -- calls ---------------------------------------------------------------------------------------
def _call(ufunc: np.ufunc, *inputs: Any, where: Any = True, **typing: Any) -> Any:
    if where is not True:
        made = _call(ufunc, *inputs, **typing)
        several = made if isinstance(made, tuple) else (made,)
        # NumPy leaves the other entries as the memory was: often zero.
        chosen = [np.where(where, z, np.zeros((), z.dtype)) for z in several]
        return tuple(chosen) if isinstance(made, tuple) else chosen[0]
    function: Any = stand_in_of(ufunc)
    if ufunc.signature is not None and not _PLACES.isdisjoint(typing):
        places = {key: typing.pop(key) for key in _PLACES & typing.keys()}
        function = _along(ufunc, function, **places)
    unknown = typing.keys() - {*_TYPING}
    if unknown:
        raise TypeError(f"{ufunc.__name__}() got an unexpected keyword argument {min(unknown)!r}")
    if not any([typing.get(key) is not None for key in _TYPING]):
        return function(*inputs)
    types = _loop(ufunc, inputs, **typing)
    cast = [shape.astype(x, dtype) for x, dtype in zip(inputs, types, strict=False)]
    result = function(*cast)
    if isinstance(result, tuple):
        return tuple([shape.astype(z, t) for z, t in zip(result, types[len(cast) :], strict=True)])
    return shape.astype(result, types[-1])


_PLACES = frozenset({"axis", "axes", "keepdims"})


def _along(
    ufunc: np.ufunc, function: Any, axis: Any = None, axes: Any = None, keepdims: Any = False
) -> Any:
    """A function of the last axes of its operands, such as matmul, on other axes, as NumPy's options say."""
    if axis is not None and axes is not None:
        raise TypeError(f"{ufunc.__name__}: expected one of 'axis' and 'axes', but got both")
    if (axis is not None or keepdims) and ufunc is not np.vecdot:
        raise TypeError(f"{ufunc.__name__}: expected 'axes', which take one of each operand")
    if axes is None:
        axes = [-1 if axis is None else axis] * ufunc.nin
    given = [(each,) if isinstance(each, int) else tuple(each) for each in axes]
    if keepdims:
        given[ufunc.nin :] = given[ufunc.nin :] or [given[0]]

    def on_axes(*operands: Any) -> Any:
        moved = [_to_end(x, place) for x, place in zip(operands, given, strict=False)]
        made = function(*moved)
        (place,) = given[ufunc.nin :] or [()]
        made = np.expand_dims(made, -1) if keepdims else made
        return np.moveaxis(made, range(-len(place), 0), place) if place else made

    return on_axes


def _to_end(x: Any, place: tuple[int, ...]) -> Any:
    return shape.moveaxis(lift_fully(x), place, range(-len(place), 0))


def _loop(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    casting: Any = "same_kind",
    dtype: Any = None,
    sig: Any = None,
    signature: Any = None,
) -> tuple[np.dtype[Any], ...]:
    """The dtypes of operands and results that the options of a call choose; TypeError as NumPy raises it."""
    weak = (int, float, complex)
    given = tuple([type(x) if type(x) in weak else lift_fully(x).dtype for x in inputs])
    chosen = sig if signature is None else signature
    if isinstance(chosen, str):
        chosen = tuple(chosen.replace("->", ""))
    if chosen is None and dtype is not None:
        chosen = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    fixed: dict[str, Any] = (
        {} if chosen is None else {"signature": tuple([t and np.dtype(t) for t in chosen])}
    )
    types: tuple[np.dtype[Any], ...] = ufunc.resolve_dtypes(
        (*given, *[None] * ufunc.nout), casting=casting, **fixed
    )
    return types


def _outer(ufunc: np.ufunc, x: Any, y: Any, **options: Any) -> Any:
    x, y = lift_all((x, y))
    return _call(ufunc, shape.reshape(x, x.shape + (1,) * y.ndim), y, **options)


# -- along axes ----------------------------------------------------------------------------------
def _reduce(
    ufunc: np.ufunc,
    x: Any,
    axis: Axes = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    x = lift_fully(x)
    x = x if dtype is None else shape.astype(x, dtype)
    _check_loop(ufunc, x)
    fill = _identity(ufunc, x.dtype)
    if where is not True:
        if fill is None or (initial is np._NoValue and ufunc.identity is None):
            raise ValueError(
                f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask "
                "one has to specify 'initial'"
            )
        common = np.broadcast_shapes(x.shape, np.shape(where))
        if common != x.shape:
            raise ValueError(
                f"non-broadcastable operand with shape {x.shape} doesn't match the broadcast shape {common}"
            )
        x = np.where(where, x, fill)
    given = initial is not np._NoValue and initial is not None
    axes = axes_of(f"{ufunc.__name__}.reduce", axis, x)
    if given and fill is not None and any([not x.shape[i] for i in axes]):
        rest = tuple([1 if i in axes else n for i, n in enumerate(x.shape)])
        total = np.broadcast_to(np.asarray(initial).astype(x.dtype), rest)
        return total if keepdims else np.squeeze(total, axes)
    reducer = _REDUCERS.get(ufunc.__name__)
    if reducer is None:
        result = _folded(ufunc, x, axes, keepdims)
    else:
        typed = {} if dtype is None or ufunc not in (np.add, np.multiply) else {"dtype": dtype}
        result = reducer(x, axis, keepdims=keepdims, **typed)
    return ufunc(initial, result) if given else result


def _check_loop(ufunc: np.ufunc, x: Any) -> None:
    """NumPy's error of a ufunc without complex operands."""
    if x.dtype.kind == "c":
        _loop(ufunc, (x, x))


def _identity(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """The number that a reduction does not see, of the dtype of its entries; None if there is none."""
    if ufunc.identity is not None:
        return np.asarray(ufunc.identity).astype(dtype if ufunc.identity in (0, 1) else None)[()]
    least = _LEAST.get(ufunc.__name__)
    if least is None or dtype.kind not in "biufc":
        return None
    if dtype.kind == "c":  # ordered by the real part, then by the imaginary one
        return dtype.type(complex(least, least))
    if dtype.kind == "f":
        return dtype.type(least)
    if dtype.kind == "b":
        return np.bool_(least > 0)
    return np.iinfo(dtype).max if least > 0 else np.iinfo(dtype).min


def _folded(ufunc: np.ufunc, x: Array, axes: tuple[int, ...], keepdims: bool) -> Any:
    """The entries along an axis combined from the first to the last; along several, of all of them."""
    if len(axes) > 1 and ufunc.__name__ not in _ASSOCIATIVE:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
        )
    result = x
    for axis in reversed(axes):
        if not result.shape[axis]:
            if ufunc.identity is None:
                raise ValueError(
                    f"zero-size array to reduction operation {ufunc.__name__} which has no identity"
                )
            result = np.full_like(np.sum(result, axis), ufunc.identity)
            continue
        parts = [np.take(result, i, axis) for i in range(result.shape[axis])]
        result = reduce(ufunc, parts)
    return np.expand_dims(result, axes) if keepdims else result


def _accumulate(ufunc: np.ufunc, x: Any, axis: int = 0, dtype: DTypeLike | None = None) -> Any:
    x = lift_fully(x)
    _check_loop(ufunc, x)
    place = axis_index(f"{ufunc.__name__}.accumulate", axis, x)
    scan = _SCANNERS.get(ufunc.__name__)
    if scan is not None:
        return scan(x, place, dtype)
    x = x if dtype is None else shape.astype(x, dtype)
    if ufunc.__name__ in _ASSOCIATIVE:
        return scanned(ufunc, x, place)
    parts = [slice_axis(x, place, slice(i, i + 1)) for i in range(x.shape[place])]
    for i in range(1, len(parts)):
        parts[i] = ufunc(parts[i - 1], parts[i])
    return np.concatenate(parts, axis=place) if parts else x


def _reduceat(
    ufunc: np.ufunc, x: Any, indices: Index, axis: int = 0, dtype: DTypeLike | None = None
) -> Any:
    x = lift_fully(x)
    place = axis_index(f"{ufunc.__name__}.reduceat", axis, x)
    starts = np.asarray(concrete_value(indices, f"{ufunc.__name__}.reduceat")).tolist()
    length = x.shape[place]
    for i in starts:
        if not 0 <= i < length:
            raise IndexError(f"index {i} out-of-bounds in {ufunc.__name__}.reduceat [0, {length})")
    lengths = np.diff([*starts, length])
    if ufunc is np.add and dtype is None and x.dtype.kind in "fc" and _are_short(lengths):
        return _summed_by_segment(x, starts, lengths, place)
    parts = []
    for start, stop in zip(starts, [*starts[1:], length], strict=True):
        part = slice_axis(x, place, slice(start, max(stop, start + 1)))
        parts.append(_reduce(ufunc, part, place, dtype, True))
    return np.concatenate(parts, axis=place)


# Entries of a segment up to which adding one after the other loses no digits that NumPy keeps.
_SHORT = 128


def _are_short(lengths: Array) -> bool:
    return len(lengths) > 0 and bool(np.all((lengths > 0) & (lengths <= _SHORT)))


def _summed_by_segment(x: Array, starts: Sequence[int], lengths: Array, axis: int) -> Any:
    """Sums of segments that follow one another: the entries, added at the numbers of their segments."""
    # NumPy adds entries of float16 as those of float32.
    wide = x.astype(np.result_type(x.dtype, np.float32))
    entries = np.moveaxis(slice_axis(wide, axis, slice(starts[0], None)), axis, 0)
    segments = np.repeat(np.arange(len(starts)), lengths)
    # A store in an array of zeros would make 0.0 of the sum of -0.0 and -0.0.
    sums = scatter_op(
        entries, const(segments), spec=("array",), shape=(len(starts), *entries.shape[1:])
    )
    return np.moveaxis(sums.astype(x.dtype), 0, axis)


_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": _call,
    "accumulate": _accumulate,
    "outer": _outer,
    "reduce": _reduce,
    "reduceat": _reduceat,
}
