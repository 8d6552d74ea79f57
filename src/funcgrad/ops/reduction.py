"""Operations that combine the entries along axes.

Primitives reduce over a tuple of axes and drop them; ``keepdims`` is a reshape around them. Ties in
``max`` and ``min`` share equally. The derivative of ``prod`` multiplies the other entries instead of
dividing by one, so zeros do no harm; that of `norm` at 0 is 0, a subgradient.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from funcgrad.expr import concrete
from funcgrad.graph import ArrayType
from funcgrad.linear import Diagonal, LinearMap, Structural
from funcgrad.ops.elementwise import mask
from funcgrad.ops.op import Op, differentiable, lift_fully, numpy_dtype, op_named
from funcgrad.ops.shape import astype, expand_dims, holds_expr, reshape
from funcgrad.source import fail


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """An ``axis`` argument as a sorted tuple of axes from 0."""
    if axis is None or (ndim == 0 and axis in (0, -1)):  # NumPy lets a scalar have one axis
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:  # the common case, at a tenth of the cost
        return (axis % ndim,)
    return tuple(sorted(normalize_axis_tuple(axis, ndim)))


def _spread(value: Any, x: Any, axis: tuple[int, ...]) -> Any:
    """A reduced value repeated over the axes that were reduced."""
    return np.broadcast_to(np.expand_dims(value, axis), np.shape(x)) if axis else value


def _total(z: Any, x: Any, axis: tuple[int, ...]) -> LinearMap:
    """The linear map of summing over axes."""
    return Structural(lambda v: np.sum(v, axis=axis), lambda g: _spread(g, x, axis))


def _dropped(shape: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for i, n in enumerate(shape) if i not in axis)


def _reduction(
    name: str, run: Callable[..., Any], weights: Callable[..., Any] | None, dtype: Any = None
) -> Op:
    """A reduction whose differential is a sum with weights: dz = sum(w * dx) over the axes."""

    def infer(type: ArrayType, axis: tuple[int, ...]) -> ArrayType:
        return ArrayType(_dropped(type.shape, axis), dtype or numpy_dtype(run, type.dtype))

    def edge(z: Any, x: Any, *, axis: tuple[int, ...]) -> LinearMap:
        return _total(z, x, axis) @ Diagonal(weights(_spread(z, x, axis), x, axis))  # type: ignore[misc]

    return Op(
        name=name,
        run=run,
        infer=infer,
        edges=(weights and edge,),
        batch=_along_moved_axes(name),
        notation=_notation(name),
    )


def _along_moved_axes(name: str) -> Callable[..., Any]:
    """The batching rule of what works along ``axis``: an axis later, behind that of the batch."""

    def batch(size: int, batched: Any, x: Any, *, axis: Any) -> Any:
        moved = axis + 1 if isinstance(axis, int) else tuple(i + 1 for i in axis)
        return op_named(name)(x, axis=moved)

    return batch


def _notation(name: str) -> Callable[..., str]:
    def notation(x: str, axis: tuple[int, ...]) -> str:
        # Written by the type-aware printer, which leaves out an axis that covers all.
        return f"{name}({x}, axis={axis[0] if len(axis) == 1 else axis})"

    return notation


def _share(z: Any, x: Any, axis: tuple[int, ...]) -> Any:
    wins = (x == z) | (x != x)  # what is none wins
    return mask(wins, 1 / _spread(np.sum(np.where(wins, np.ones_like(x), 0), axis=axis), x, axis))


def _others(z: Any, x: Any, axis: tuple[int, ...]) -> Any:
    (last,) = axis
    before = scan_products(_shifted(x, 1, last), last)
    flipped = np.flip(x, last)
    after = np.flip(scan_products(_shifted(flipped, 1, last), last), last)
    return before * after


def _shifted(x: Any, step: int, axis: int) -> Any:
    """The entries moved ``step`` places up an axis, with ones moved in."""
    head = (slice(None),) * axis
    kept = x[(*head, slice(None, np.shape(x)[axis] - step))]
    ones = np.ones_like(x[(*head, slice(None, step))])
    return np.concatenate([ones, kept], axis=axis)


def scan_products(x: Any, axis: int) -> Any:
    """Running products in log2(n) multiplications of whole arrays (Hillis and Steele)."""
    step = 1
    while step < np.shape(x)[axis]:
        x = x * _shifted(x, step, axis)
        step *= 2
    return x


def _logsumexp_run(x: Any, axis: tuple[int, ...]) -> Any:
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, np.zeros((), top.dtype))
    total = np.log(np.sum(np.exp(x - top), axis=axis))
    return total + np.reshape(top, total.shape)


def _norm_run(x: Any, axis: tuple[int, ...]) -> Any:
    return np.sqrt(np.sum(np.square(np.abs(x)), axis=axis))


def _norm_edge(z: Any, x: Any, *, axis: tuple[int, ...]) -> LinearMap:
    wide = _spread(z, x, axis)
    if x.dtype.kind != "c":
        return _total(z, x, axis) @ Diagonal(mask(wide != 0, x / wide))
    u = mask(wide != 0, np.conjugate(x) / wide)
    real = Structural(np.real, lambda g: g)
    return real @ _total(z, x, axis) @ Diagonal(u)


sum_op = Op(
    name="sum",
    run=lambda x, axis: np.add.reduce(x, axis=axis),
    infer=lambda type, axis: ArrayType(_dropped(type.shape, axis), numpy_dtype(np.sum, type.dtype)),
    edges=(lambda z, x, *, axis: _total(z, x, axis),),
    batch=_along_moved_axes("sum"),
    notation=_notation("sum"),
)
max_op = _reduction("max", lambda x, axis=None: np.maximum.reduce(x, axis=axis), _share)
min_op = _reduction("min", lambda x, axis=None: np.minimum.reduce(x, axis=axis), _share)
prod_op = _reduction("prod", lambda x, axis=None: np.prod(x, axis=axis), _others)
logsumexp_op = _reduction(
    "logsumexp",
    lambda x, axis=0: _logsumexp_run(x, axis),
    # 1 where both are the same infinity.
    lambda z, x, axis: np.exp(mask((x != z) | (np.abs(x) < np.inf), x - z)),
)
norm_op = Op(
    name="norm",
    run=_norm_run,
    infer=lambda type, axis: ArrayType(
        _dropped(type.shape, axis), numpy_dtype(np.linalg.norm, type.dtype)
    ),
    edges=(_norm_edge,),
    batch=_along_moved_axes("norm"),
    notation=_notation("norm"),
)
any_op = _reduction("any", lambda x, axis=None: np.any(x, axis=axis), None, np.dtype(bool))
all_op = _reduction("all", lambda x, axis=None: np.all(x, axis=axis), None, np.dtype(bool))


def _position(name: str, run: Callable[..., Any]) -> Op:
    return Op(
        name=name,
        run=lambda x, axis: run(x, axis=axis),
        infer=lambda type, axis: ArrayType(_dropped(type.shape, (axis,)), np.dtype(np.intp)),
        edges=(None,),
        batch=_along_moved_axes(name),
    )


argmax_op = _position("argmax", np.argmax)
argmin_op = _position("argmin", np.argmin)
argsort_op = Op(
    name="argsort",
    run=lambda x, axis: np.argsort(x, axis=axis, kind="stable"),
    infer=lambda type, axis: ArrayType(type.shape, np.dtype(np.intp)),
    edges=(None,),
    batch=_along_moved_axes("argsort"),
)
cumsum_op = Op(
    name="cumsum",
    run=lambda x, axis: np.cumsum(x, axis=axis),
    infer=lambda type, axis: ArrayType(type.shape, numpy_dtype(np.cumsum, type.dtype)),
    batch=_along_moved_axes("cumsum"),
    edges=(
        lambda z, x, *, axis: Structural(
            lambda v: np.cumsum(v, axis=axis),
            lambda g: np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis),
        ),
    ),
)


# -- NumPy's functions ---------------------------------------------------------------------------
def _reduce(op: Op, x: Any, axis: Any, keepdims: bool) -> Any:
    x = lift_fully(x)
    axes = axes_of(axis, x.ndim)
    z = op(x, axis=axes) if axes or op.name not in _IDENTITY else x
    return expand_dims(z, axes) if keepdims is True and axes else z


# What these make of one entry is the entry.
_IDENTITY = ("max", "min", "logsumexp")


def _no_initial(name: str, rest: dict[str, Any]) -> None:
    if not rest:
        return
    given = [key for key, value in rest.items() if value is not None and value is not np._NoValue]
    if given:
        raise fail(
            TypeError,
            f"{name}: expected axis and keepdims alone, but got {', '.join(given)}; choose entries "
            "with np.where before reducing",
        )


def sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, **rest: Any) -> Any:
    """As `numpy.sum`."""
    _no_initial("sum", rest)
    if dtype is None:
        return _reduce(sum_op, x, axis, keepdims)
    # NumPy widens small integers unless told what to sum in.
    return astype(_reduce(sum_op, astype(x, dtype), axis, keepdims), dtype)


def mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, **rest: Any) -> Any:
    """As `numpy.mean`."""
    _no_initial("mean", rest)
    x = lift_fully(x)
    if dtype is None and x.dtype == np.float16:  # NumPy sums these in float32
        return astype(mean(astype(x, np.float32), axis, keepdims=keepdims), np.float16)
    x = _as_float(x, dtype)
    count = math.prod([x.shape[i] for i in axes_of(axis, x.ndim)])
    total = _reduce(sum_op, x, axis, keepdims)
    return total / count if count else total * np.nan


def average(
    x: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """As `numpy.average`."""
    x = _as_float(x)
    if weights is None:
        weights = np.ones((), x.dtype)
    weights = lift_fully(weights)
    if weights.shape not in ((), x.shape):
        (place,) = axes_of(axis, x.ndim) if weights.ndim == 1 and axis is not None else (None,)
        if place is None or weights.shape[0] != x.shape[place]:
            raise fail(
                ValueError,
                f"average: expected weights of the shape of {x.type}, or as many as along axis, but "
                f"got {weights.type}",
            )
        weights = expand_dims(weights, tuple(i for i in range(x.ndim) if i != place))
    weights = np.broadcast_to(weights, x.shape)
    total = sum(weights, axis, keepdims=keepdims)
    result = sum(x * weights, axis, keepdims=keepdims) / total
    return (result, total) if returned else result


def _as_float(x: Any, dtype: Any = None) -> Any:
    x = lift_fully(x)
    if dtype is None and not differentiable(x.dtype):
        dtype = float
    return x if dtype is None else astype(x, dtype)


def _nonempty(name: str, x: Any, axis: Any) -> Any:
    x = lift_fully(x)
    if builtins.any(x.shape[i] == 0 for i in axes_of(axis, x.ndim)):
        raise fail(ValueError, f"{name}: expected at least one entry to reduce, but got {x.type}")
    return x


def max(x: Any, axis: Any = None, keepdims: Any = False, **rest: Any) -> Any:
    """As `numpy.max`; entries that tie share the derivative equally."""
    _no_initial("max", rest)
    return _reduce(max_op, _nonempty("max", x, axis), axis, keepdims)


def min(x: Any, axis: Any = None, keepdims: Any = False, **rest: Any) -> Any:
    """As `numpy.min`; entries that tie share the derivative equally."""
    _no_initial("min", rest)
    return _reduce(min_op, _nonempty("min", x, axis), axis, keepdims)


def any(x: Any, axis: Any = None, keepdims: Any = False, **rest: Any) -> Any:
    """As `numpy.any`."""
    _no_initial("any", rest)
    return _reduce(any_op, x, axis, keepdims)


def all(x: Any, axis: Any = None, keepdims: Any = False, **rest: Any) -> Any:
    """As `numpy.all`."""
    _no_initial("all", rest)
    return _reduce(all_op, x, axis, keepdims)


def prod(x: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, **rest: Any) -> Any:
    """As `numpy.prod`; exact where entries are zero."""
    _no_initial("prod", rest)
    x = lift_fully(x) if dtype is None else astype(x, dtype)
    axes = axes_of(axis, x.ndim)
    if not axes:
        return astype(x, numpy_dtype(np.prod, x.dtype))
    # The rule knows one axis: the reduced ones are moved to the end and joined.
    kept = [i for i in range(x.ndim) if i not in axes]
    joined = reshape(
        np.transpose(x, (*kept, *axes)),
        (*[x.shape[i] for i in kept], math.prod([x.shape[i] for i in axes])),
    )
    z = prod_op(joined, axis=(len(kept),))
    return np.expand_dims(z, axes) if keepdims is True else z


def var(
    x: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: Any = False, **rest: Any
) -> Any:
    """As `numpy.var`."""
    _no_initial("var", rest)
    centered, count = _centered(x, axis, dtype)
    size = np.square(centered) if centered.dtype.kind != "c" else np.square(np.abs(centered))
    return _reduce(sum_op, size, axis, keepdims) / builtins.max(count - ddof, 0)


def std(
    x: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: Any = False, **rest: Any
) -> Any:
    """As `numpy.std`; its derivative where all entries are equal is 0."""
    _no_initial("std", rest)
    centered, count = _centered(x, axis, dtype)
    return _reduce(norm_op, centered, axis, keepdims) / math.sqrt(builtins.max(count - ddof, 0))


def _centered(x: Any, axis: Any, dtype: Any) -> tuple[Any, int]:
    x = _as_float(x, dtype)
    count = math.prod([x.shape[i] for i in axes_of(axis, x.ndim)])
    return x - mean(x, axis, keepdims=True), count


def logsumexp(x: Any, axis: Any = None, keepdims: Any = False) -> Any:
    """log(sum(exp(x))) without overflow. As `scipy.special.logsumexp`."""
    return _settled(x, _reduce(logsumexp_op, _as_float(x), axis, keepdims))


def _settled(given: Any, z: Any) -> Any:
    """An array where arrays were given, since NumPy does not come between."""
    return z if holds_expr(given) else concrete(z, "a value")


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """As `numpy.linalg.norm` for the Euclidean and Frobenius norms, and vector norms of any order.

    Its derivative at 0 is 0, a subgradient.
    """
    x = _as_float(x)
    axes = axes_of(axis, x.ndim)
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return _reduce(norm_op, x, axis, keepdims)
    if len(axes) != 1 or isinstance(ord, str):
        raise fail(
            TypeError,
            "norm: expected ord None, 'fro' for a matrix, or a number for a vector, but got "
            f"{ord!r} for {len(axes)} axes",
        )
    size = np.abs(x)
    if ord in (np.inf, -np.inf):
        empty = builtins.any(x.shape[i] == 0 for i in axes)
        extreme = min if ord < 0 else sum if empty else max
        return extreme(size, axis=axes, keepdims=keepdims)
    if ord == 0:
        return sum(astype(size != 0, size.dtype), axis=axes, keepdims=keepdims)
    if ord == 1:
        return sum(size, axis=axes, keepdims=keepdims)
    total = sum(size**ord, axis=axes, keepdims=keepdims)
    root = total ** (1.0 / ord)
    return mask(total != 0, root) if ord > 0 else root


def _flat(x: Any, axis: int | None) -> tuple[Any, int]:
    x = lift_fully(x)
    if axis is None or (x.ndim == 0 and axis in (0, -1)):
        return reshape(x, -1), 0
    return x, normalize_axis_index(axis, x.ndim)


def argmax(x: Any, axis: int | None = None, *, keepdims: Any = False) -> Any:
    """As `numpy.argmax`; not differentiable."""
    return _locate(argmax_op, x, axis, keepdims)


def argmin(x: Any, axis: int | None = None, *, keepdims: Any = False) -> Any:
    """As `numpy.argmin`; not differentiable."""
    return _locate(argmin_op, x, axis, keepdims)


def _locate(op: Op, x: Any, axis: int | None, keepdims: Any) -> Any:
    x = _nonempty(op.name, x, axis)
    flat, place = _flat(x, axis)
    z = op(flat, axis=place)
    if keepdims is not True:
        return z
    whole = axis is None or x.ndim == 0
    return reshape(z, (1,) * x.ndim) if whole else np.expand_dims(z, place)


def argsort(x: Any, axis: int | None = -1, **_: Any) -> Any:
    """As `numpy.argsort`, stable; not differentiable."""
    x, place = _flat(x, axis)
    return argsort_op(x, axis=place)


def sort(x: Any, axis: int | None = -1, **_: Any) -> Any:
    """As `numpy.sort`: the entries taken in the order of `argsort`."""
    x = lift_fully(x)
    x, place = _flat(x, axis if axis is None else normalize_axis_index(axis, x.ndim))
    return np.take_along_axis(x, argsort_op(x, axis=place), place)


def cumsum(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """As `numpy.cumsum`."""
    x, place = _flat(x if dtype is None else astype(x, dtype), axis)
    return cumsum_op(x, axis=place)


def cumprod(x: Any, axis: int | None = None, dtype: Any = None) -> Any:
    """As `numpy.cumprod`: a composition, exact where entries are zero."""
    x, place = _flat(x if dtype is None else astype(x, dtype), axis)
    return scan_products(astype(x, dtype or numpy_dtype(np.cumprod, x.dtype)), place)


def count_nonzero(x: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """As `numpy.count_nonzero`; not differentiable."""
    return sum(np.not_equal(lift_fully(x), 0), axis, keepdims=keepdims)


def diff(x: Any, n: int = 1, axis: int = -1) -> Any:
    """As `numpy.diff` without ``prepend`` and ``append``."""
    x = lift_fully(x)
    head = (slice(None),) * normalize_axis_index(axis, x.ndim)
    step = np.not_equal if x.dtype.kind == "b" else np.subtract
    for _ in range(n):
        x = step(x[(*head, slice(1, None))], x[(*head, slice(None, -1))])
    return x


def softmax(x: Any, axis: Any = None) -> Any:
    """exp(x) over its sum, without overflow. As `scipy.special.softmax`."""
    return np.exp(log_softmax(x, axis))


def log_softmax(x: Any, axis: Any = None) -> Any:
    """The logarithm of `softmax`, without overflow. As `scipy.special.log_softmax`."""
    expr = _as_float(x)
    return _settled(x, expr - logsumexp(expr, axis, keepdims=True))
