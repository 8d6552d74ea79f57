"""Operations that combine the entries along axes.

Primitives reduce over a tuple of axes and drop them; ``keepdims`` is a reshape around them. Ties in
``max`` and ``min`` share equally. The derivative of ``prod`` multiplies the other entries instead of
dividing by one, so zeros do no harm; that of `norm` at 0 is 0, a subgradient.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np

from funcgrad.arrays.reference import holds_expr
from funcgrad.expr import Expr, concrete
from funcgrad.graph import ArrayType
from funcgrad.linear import Diagonal, LinearMap, Structural
from funcgrad.ops.base.arguments import inexact
from funcgrad.ops.base.axes import (
    axes_of,
    dropped,
    keeps_axes,
    nonempty,
    on_moved_axes,
    scanned,
    shifted,
)
from funcgrad.ops.base.columns import TORCH_FORMS, Columns, Form, each_entry, reduced
from funcgrad.ops.base.op import Op, lift_fully
from funcgrad.ops.base.promotion import numpy_dtype
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.shape import astype, expand_dims, reshape
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike, Axes, Axis, FunctionLibrary


def _spread(value: Array, x: Array, axis: tuple[int, ...]) -> Any:
    """A reduced value repeated over the axes that were reduced."""
    return np.broadcast_to(np.expand_dims(value, axis), np.shape(x)) if axis else value


def _total(z: Array, x: Array, axis: tuple[int, ...]) -> LinearMap:
    """The linear map of summing over axes."""
    return Structural(lambda v: np.sum(v, axis=axis), lambda g: _spread(g, x, axis))


REDUCTION = Columns(flops=reduced)


def _reduction(
    name: str,
    run: Callable[..., Any],
    weights: Callable[..., Any] | None,
    dtype: Any = None,
    columns: Columns = REDUCTION,
) -> Op:
    """A reduction whose differential is a sum with weights: dz = sum(w * dx) over the axes."""

    def infer(type: ArrayType, axis: tuple[int, ...]) -> ArrayType:
        return ArrayType(dropped(type.shape, axis), dtype or numpy_dtype(run, type.dtype))

    def edge(z: Array, x: Array, *, axis: tuple[int, ...]) -> LinearMap:
        return _total(z, x, axis) @ Diagonal(weights(_spread(z, x, axis), x, axis))  # type: ignore[misc]

    return Op(
        name=name,
        run=run,
        infer=infer,
        edges=(weights and edge,),
        batch=on_moved_axes(name),
        notation=_notation(name),
        columns=columns,
    )


def _notation(name: str) -> Callable[..., str]:
    def notation(x: str, axis: tuple[int, ...]) -> str:
        # Written by the type-aware printer, which leaves out an axis that covers all.
        return f"{name}({x}, axis={axis[0] if len(axis) == 1 else axis})"

    return notation


def _share(z: Array, x: Array, axis: tuple[int, ...]) -> Any:
    wins = (x == z) | (x != x)  # what is none wins
    return mask(wins, 1 / _spread(np.sum(np.where(wins, np.ones_like(x), 0), axis=axis), x, axis))


def _others(z: Array, x: Array, axis: tuple[int, ...]) -> Any:
    (last,) = axis
    if 2 < np.shape(x)[last] <= _FEW:
        return _others_of_few(x, last)
    # Along a long axis by one operation, which takes a tenth of the time.
    products = np.cumprod if np.shape(x)[last] > _LONG else partial(scanned, np.multiply)
    before = products(shifted(x, 1, last), last)
    after = np.flip(products(shifted(np.flip(x, last), 1, last), last), last)
    return before * after


_FEW, _LONG = 8, 64


def _others_of_few(x: Array, axis: int) -> Any:
    """The products by entries: no array of all of them is made before the last."""
    parts = np.split(x, np.shape(x)[axis], axis)
    before, after = [*accumulate(parts[:-1], mul)], [*accumulate(parts[:0:-1], mul)][::-1]
    return np.concatenate([after[0], *map(mul, before, after[1:]), before[-1]], axis)


def _logsumexp_run(x: Array, axis: tuple[int, ...]) -> Any:
    top = np.max(np.real(x), axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, np.zeros((), top.dtype))
    total = np.log(np.sum(np.exp(x - top), axis=axis))
    return total + np.reshape(top, total.shape)


def _norm_run(x: Array, axis: tuple[int, ...]) -> Any:
    return np.sqrt(np.sum(np.square(np.abs(x)), axis=axis))


def _norm_edge(z: Array, x: Array, *, axis: tuple[int, ...]) -> LinearMap:
    wide = _spread(z, x, axis)
    nonzero = np.broadcast_to(np.not_equal(np.expand_dims(z, axis), 0), np.shape(x))
    if x.dtype.kind != "c":
        return _total(z, x, axis) @ Diagonal(mask(nonzero, x / wide))
    u = mask(nonzero, np.conjugate(x) / wide)
    real = Structural(np.real, lambda g: g)
    return real @ _total(z, x, axis) @ Diagonal(u)


# -- columns: mpmath and intervals --------------------------------------------------------------------
def _mp_logsumexp(mp: FunctionLibrary, x: Array, axis: tuple[int, ...]) -> Any:
    total = np.add.reduce(np.frompyfunc(mp.exp, 1, 1)(x), axis=axis)
    return np.frompyfunc(mp.log, 1, 1)(total)


def _mp_norm(mp: FunctionLibrary, x: Array, axis: tuple[int, ...]) -> Any:
    total = np.add.reduce(np.frompyfunc(lambda v: abs(v) ** 2, 1, 1)(x), axis=axis)
    return np.frompyfunc(mp.sqrt, 1, 1)(total)


def _interval_logsumexp(iv: FunctionLibrary, x: Array, axis: tuple[int, ...]) -> Any:
    return iv.log_sum_exp(lambda end: _logsumexp_run(end, axis), x, axis)


def _quantifier(name: str, ufunc: np.ufunc) -> Op:
    def run(x: Array, axis: tuple[int, ...] | None = None) -> Any:
        return ufunc.reduce(x, axis=axis, dtype=bool)

    columns = Columns(
        flops=reduced,
        machine=f"{name}_true",
        mpmath=lambda mp, x, axis: run(x != 0, axis),
        numpy=f"np.{name}({{0}}, axis={{axis}})",
        libraries={
            "any": lambda xp, x, axis: getattr(xp, name)(x, axis=axis),
            "torch": lambda torch, x, axis: getattr(torch, name)(x, dim=axis) if axis else x != 0,
        },
        reduces=ufunc,
        fresh=True,
        interval=lambda iv, x, axis: (
            np.asarray(run(iv.true(x)[0], axis), float),
            np.asarray(run(iv.true(x)[1], axis), float),
        ),
    )
    return _reduction(name, run, None, np.dtype(bool), columns=columns)


def _logsumexp_source(expr: Expr, texts: Sequence[str]) -> str:
    axis = dict(expr.params)["axis"]
    inner = (
        f"(lambda x, t: np.log(np.sum(np.exp(x - t), axis={axis})) + t.reshape({expr.shape}))"
        "(x, np.where(np.isfinite(t), t, t.dtype.type(0)))"
    )
    size = "np.real(x)" if expr.dtype.kind == "c" else "x"
    top = f"np.max({size}, axis={axis}, keepdims=True, initial=-np.inf)"
    return f"(lambda x: (lambda t: {inner})({top}))({texts[0]})"


# -- columns: array libraries ------------------------------------------------------------------------
def _norm_in(xp: FunctionLibrary, x: Array, axis: tuple[int, ...]) -> Any:
    return rooted(xp, xp.sum(squared(xp, x), axis=axis))


def squared(xp: Any, x: Any) -> Any:
    """The squares of the entries' sizes."""
    return x * x if "complex" not in str(x.dtype) else xp.real(x) ** 2 + xp.imag(x) ** 2


def rooted(xp: FunctionLibrary, total: Array) -> Any:
    """The root of a sum of squares, whose derivative by the library's own rules is 0 at 0."""
    nothing = total == 0
    return xp.where(
        nothing, xp.zeros_like(total), xp.sqrt(xp.where(nothing, xp.ones_like(total), total))
    )


@lru_cache(maxsize=1024)
def _type_of_sum(type: ArrayType, axis: tuple[int, ...]) -> ArrayType:
    return ArrayType(dropped(type.shape, axis), numpy_dtype(np.sum, type.dtype))


sum_op = Op(
    name="sum",
    run=lambda x, axis: np.add.reduce(x, axis=axis),
    infer=_type_of_sum,
    edges=(lambda z, x, *, axis: _total(z, x, axis),),
    batch=on_moved_axes("sum"),
    notation=_notation("sum"),
    columns=Columns(
        in_words="sum distributes",
        flops=reduced,
        interval="sum",
        machine="total",
        inlined="funcgrad.ops.contraction_paths:sum_over_stack",
        numpy="np.sum({0}, axis={axis})",
        libraries={
            "any": lambda xp, x, axis: xp.sum(x, axis=axis),
            "torch": f"{TORCH_FORMS}:sum_over",
        },
        reduces=np.add,
        fresh=True,
        may_alias=True,
    ),
)


def _extreme(name: str, ufunc: np.ufunc, machine: str) -> Op:
    columns = Columns(
        in_words=f"{name} routes",
        flops=reduced,
        interval=lambda iv, x, axis: (ufunc.reduce(x[0], axis=axis), ufunc.reduce(x[1], axis=axis)),
        latex=rf"\{name}",
        machine=machine,
        numpy=f"np.{name}({{0}}, axis={{axis}})",
        libraries={
            "any": lambda xp, x, axis: getattr(xp, name)(x, axis=axis),
            "torch": lambda torch, x, axis: getattr(torch, f"a{name}")(x, dim=axis) if axis else x,
        },
        reduces=ufunc,
        fresh=True,
        may_alias=True,
    )
    return _reduction(
        name, lambda x, axis=None: ufunc.reduce(x, axis=axis), _share, columns=columns
    )


max_op = _extreme("max", np.maximum, "largest")
min_op = _extreme("min", np.minimum, "smallest")
prod_op = _reduction(
    "prod",
    lambda x, axis=None: np.multiply.reduce(x, axis=axis),
    _others,
    columns=Columns(
        flops=reduced,
        interval="prod",
        machine="product",
        numpy="np.prod({0}, axis={axis})",
        libraries={
            "any": lambda xp, x, axis: xp.prod(x, axis=axis),
            "torch": f"{TORCH_FORMS}:prod",
        },
        reduces=True,
        fresh=True,
        may_alias=True,
    ),
)
logsumexp_op = _reduction(
    "logsumexp",
    lambda x, axis=0: _logsumexp_run(x, axis),
    # 1 where both are the same infinity.
    lambda z, x, axis: np.exp(mask((x != z) | (np.abs(x) < np.inf), x - z)),
    columns=Columns(
        flops=each_entry(4),
        mpmath=_mp_logsumexp,
        machine="logsumexp",
        entry_time=3.0,
        numpy=_logsumexp_source,
        interval=_interval_logsumexp,
        libraries={"torch": f"{TORCH_FORMS}:logsumexp"},
        reduces=True,
        fresh=True,
    ),  # max, difference, exp, sum
)
norm_op = Op(
    name="norm",
    run=_norm_run,
    infer=lambda type, axis: ArrayType(
        dropped(type.shape, axis), numpy_dtype(np.linalg.norm, type.dtype)
    ),
    edges=(_norm_edge,),
    batch=on_moved_axes("norm"),
    notation=_notation("norm"),
    columns=Columns(
        flops=each_entry(2),
        mpmath=_mp_norm,
        machine="norm",
        entry_time=6.0,
        interval="norm",
        latex=Form("norm"),
        numpy="np.sqrt(np.sum(np.square(np.abs({0})), axis={axis}))",
        libraries={"any": _norm_in, "torch": f"{TORCH_FORMS}:norm"},
        reduces=True,
        fresh=True,
    ),  # squares and their sum, and the roots in place of the first entries
)
any_op = _quantifier("any", np.logical_or)
all_op = _quantifier("all", np.logical_and)


# -- NumPy's functions ---------------------------------------------------------------------------
def _reduce(op: Op, x: object, axis: Any, keepdims: bool) -> Any:
    x = lift_fully(x)
    axes = axes_of(op.name, axis, x)
    z = op(x, axis=axes) if axes or op.name not in _IDENTITY else x
    return expand_dims(z, axes) if keeps_axes(keepdims) and axes else z


# What these make of one entry is the entry.
_IDENTITY = ("max", "min", "logsumexp")


def sum(x: ArrayLike, axis: Any = None, dtype: object = None, keepdims: Any = False) -> Any:
    """As `numpy.sum`."""
    if dtype is None:
        return _reduce(sum_op, x, axis, keepdims)
    # NumPy sums small integers in a wider dtype unless one is given.
    return astype(_reduce(sum_op, astype(x, dtype), axis, keepdims), dtype)


def mean(
    x: Any, axis: Axes = None, dtype: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """As `numpy.mean`."""
    x = lift_fully(x)
    if dtype is None and x.dtype == np.float16:  # NumPy sums these in float32
        wide = mean(astype(x, np.float32), axis, keepdims=keepdims, where=where)
        return astype(wide, np.float16)
    x = inexact(x, dtype)
    count = _count(x, axis, where)
    total = _reduce(sum_op, x if where is True else mask(where, x), axis, keepdims)
    if not isinstance(count, int):
        return total / (
            expand_dims(count, axes_of("mean", axis, x)) if keeps_axes(keepdims) else count
        )
    return total / count if count else total * np.nan


def _count(x: Any, axis: Axes, where: Any) -> Any:
    """How many entries are reduced: a number, or if a condition chooses them, an array of the dtype of x."""
    if where is True:
        return math.prod([x.shape[i] for i in axes_of("mean", axis, x)])
    chosen = np.broadcast_to(where, x.shape)
    return astype(sum(chosen, axis), np.real(x).dtype)


def max(x: Array, axis: Axes = None, keepdims: bool = False) -> Any:
    """As `numpy.max`; entries that tie share the derivative equally."""
    return _reduce(max_op, nonempty("max", x, axis), axis, keepdims)


def min(x: Array, axis: object = None, keepdims: bool = False) -> Any:
    """As `numpy.min`; entries that tie share the derivative equally."""
    return _reduce(min_op, nonempty("min", x, axis), axis, keepdims)


def any(x: Array, axis: Axes = None, keepdims: bool = False) -> Any:
    """As `numpy.any`."""
    return _reduce(any_op, x, axis, keepdims)


def all(x: Array, axis: Axes = None, keepdims: bool = False) -> Any:
    """As `numpy.all`."""
    return _reduce(all_op, x, axis, keepdims)


def prod(x: ArrayLike, axis: Any = None, dtype: object = None, keepdims: object = False) -> Any:
    """As `numpy.prod`; exact where entries are zero."""
    x = lift_fully(x) if dtype is None else astype(x, dtype)
    axes = axes_of("prod", axis, x)
    if not axes:
        return astype(x, numpy_dtype(np.prod, x.dtype) if dtype is None else dtype)
    # The rule knows one axis: the reduced ones are moved to the end and joined.
    kept = [i for i in range(x.ndim) if i not in axes]
    joined = reshape(
        np.transpose(x, (*kept, *axes)),
        (*[x.shape[i] for i in kept], math.prod([x.shape[i] for i in axes])),
    )
    z = prod_op(joined, axis=(len(kept),))
    # NumPy multiplies small integers in a wider dtype unless one is given.
    z = z if dtype is None else astype(z, dtype)
    return np.expand_dims(z, axes) if keeps_axes(keepdims) else z


def var(
    x: Array,
    axis: Axes = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: Any = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """As `numpy.var`."""
    centered, free = _centered(
        x, axis, dtype, where, mean, ddof if correction is None else correction
    )
    size = np.square(centered) if centered.dtype.kind != "c" else np.square(np.abs(centered))
    return _spread_out(_reduce(sum_op, size, axis, False) / free, centered, axis, keepdims)


def std(
    x: Array,
    axis: Axes = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> Any:
    """As `numpy.std`; its derivative where all entries are equal is 0."""
    centered, free = _centered(
        x, axis, dtype, where, mean, ddof if correction is None else correction
    )
    root = math.sqrt(free) if isinstance(free, int | float) else np.sqrt(free)
    return _spread_out(_reduce(norm_op, centered, axis, False) / root, centered, axis, keepdims)


def _spread_out(z: Array, x: Array, axis: Axes, keepdims: bool) -> Any:
    axes = axes_of("std", axis, x)
    return expand_dims(z, axes) if keeps_axes(keepdims) and axes else z


def _centered(
    x: Array, axis: Axes, dtype: object, where: Any, middle: Any, ddof: float
) -> tuple[Any, Any]:
    """The entries less their mean, 0 where they are not chosen, and the number of degrees of freedom."""
    x = inexact(x, dtype)
    if middle is None:
        middle = mean(x, axis, keepdims=True, where=where)
    centered = x - middle
    count = _count(x, axis, where)
    if where is True:
        return centered, builtins.max(count - ddof, 0)
    return mask(np.broadcast_to(where, x.shape), centered), np.maximum(count - ddof, 0)


def logsumexp(x: Array, axis: Axis = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) without overflow. As `scipy.special.logsumexp`.

    Raises numpy.exceptions.AxisError if x has no such axis.

    >>> float(logsumexp(np.array([1000.0, 1000.0])))
    1000.6931471805599
    """
    return _settled(x, _reduce(logsumexp_op, inexact(x), axis, keepdims))


def _settled(given: Array, z: Any) -> Any:
    """A number or an array where these were given, since NumPy does not come between."""
    return z if holds_expr(given) else concrete(z, "a value")[()]


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """As `numpy.linalg.norm` for the Euclidean and Frobenius norms, and vector norms of any order.

    Its derivative at 0 is 0, a subgradient. Of a traced order it is that of the general formula.
    """
    x = inexact(x)
    axes = axes_of("norm", axis, x)
    general = isinstance(ord, Expr) and len(axes) == 1
    euclidean = not general and ord == 2 and len(axes) == 1
    if ord is None or (ord == "fro" and len(axes) == 2) or euclidean:
        return _reduce(norm_op, x, axis, keepdims)
    if len(axes) != 1 or isinstance(ord, str):
        raise value_error(
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
    if not general and ord == 1:
        return sum(size, axis=axes, keepdims=keepdims)
    powers = size**ord
    if 0 < ord < 1:
        # Where the power's slope is infinite, and that of the size 0.
        powers = mask(size != 0, powers)
    total = sum(powers, axis=axes, keepdims=keepdims)
    root = total ** (1.0 / ord)
    return mask(total != 0, root) if ord > 0 else root


def count_nonzero(x: Array, axis: Axis = None, *, keepdims: bool = False) -> Any:
    """As `numpy.count_nonzero`; not differentiable."""
    return sum(np.not_equal(lift_fully(x), 0), axis, keepdims=keepdims)


def softmax(x: Array, axis: Axis = None) -> Any:
    """exp(x) over its sum, without overflow. As `scipy.special.softmax`.

    Raises numpy.exceptions.AxisError if x has no such axis.

    >>> softmax(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    if holds_expr(x):
        return np.exp(log_softmax(x, axis))
    given, top = _with_largest(x, axis)
    powers = np.exp(given - top)
    return powers / np.sum(powers, axis=axis, keepdims=True)


def log_softmax(x: Array, axis: Axis = None) -> Any:
    """The logarithm of `softmax`, without overflow. As
    `scipy.special.log_softmax`.

    Raises numpy.exceptions.AxisError if x has no such axis.

    >>> log_softmax(np.array([0.0, 1000.0]))
    array([-1000.,     0.])
    """
    if holds_expr(x):
        expr = inexact(x)
        return expr - logsumexp(expr, axis, keepdims=True)
    given, top = _with_largest(x, axis)
    less = given - np.where(np.isfinite(top), top, np.zeros((), top.dtype))
    return less - np.log(np.sum(np.exp(less), axis=axis, keepdims=True))


def _with_largest(x: Array, axis: Axis) -> tuple[Any, Any]:
    """What is no expression as an array, and its largest entries along an axis."""
    given = concrete(inexact(x), "a value")
    return given, np.max(given, axis=axis, keepdims=True, initial=-np.inf)
