"""Operations along one axis: where its extremes are, its order, running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.linear import Structural
from funcgrad.ops.base.arguments import slice_axis
from funcgrad.ops.base.axes import axis_index, dropped, nonempty, on_moved_axes
from funcgrad.ops.base.columns import TORCH_FORMS, Columns, axis_length, reduced, running
from funcgrad.ops.base.entrywise import spread_unbatched
from funcgrad.ops.base.op import Op, differentiable, lift_all, lift_fully
from funcgrad.ops.base.promotion import numpy_dtype
from funcgrad.ops.indexing import take_along_axis
from funcgrad.ops.recurrences import cumprod_op, running_maximum_op, running_minimum_op
from funcgrad.ops.shape import astype, reshape
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike


def _position(name: str, run: Callable[..., Any]) -> Op:
    return Op(
        name=name,
        run=lambda x, axis: run(x, axis=axis),
        infer=lambda type, axis: ArrayType(dropped(type.shape, (axis,)), np.dtype(np.intp)),
        edges=(None,),
        batch=on_moved_axes(name),
        columns=Columns(
            flops=reduced,
            machine=f"scan_forms:{name}",
            interval=lambda iv, x, axis: iv.located(run, x, axis),
            numpy=f"np.{name}({{0}}, axis={{axis}})",
            libraries={
                "any": lambda xp, x, axis: getattr(xp, name)(x, axis=axis),
                "torch": f"{TORCH_FORMS}:{name}",
            },
            fresh=True,
        ),
    )


def sorting_comparisons(z: Expr) -> int:
    """The comparisons of a merge sort."""
    return z.size * max(axis_length(z) - 1, 0).bit_length()


argmax_op = _position("argmax", np.argmax)
argmin_op = _position("argmin", np.argmin)


def _stable_argsort(x: Array, axis: int) -> Any:
    return np.argsort(x, axis=axis, kind="stable")


argsort_op = Op(
    name="argsort",
    run=_stable_argsort,
    infer=lambda type, axis: ArrayType(type.shape, np.dtype(np.intp)),
    edges=(None,),
    batch=on_moved_axes("argsort"),
    notation=lambda x, axis: f"argsort({x}, axis={axis}, kind='stable')",
    columns=Columns(
        flops=sorting_comparisons,
        machine="sort_forms:argsort",
        entry_time=60.0,
        interval=lambda iv, x, axis: iv.located(_stable_argsort, x, axis),
        numpy='np.argsort({0}, axis={axis}, kind="stable")',
        libraries={
            "any": lambda xp, x, axis: xp.argsort(x, axis=axis, kind="stable"),
            "torch": lambda torch, x, axis: torch.argsort(x, dim=axis, stable=True),
        },
        fresh=True,
    ),
)
cumsum_op = Op(
    name="cumsum",
    run=lambda x, axis: np.add.accumulate(x, axis),  # as `numpy.cumsum`, in a quarter of its time
    infer=lambda type, axis: ArrayType(type.shape, numpy_dtype(np.cumsum, type.dtype)),
    batch=on_moved_axes("cumsum"),
    edges=(
        lambda z, x, *, axis: Structural(
            lambda v: np.cumsum(v, axis=axis),
            lambda g: np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis),
        ),
    ),
    columns=Columns(
        flops=running,
        machine="scan_forms:cumsum",
        entry_time=3.0,
        interval="cumsum",
        numpy="np.cumsum({0}, axis={axis})",
        libraries={
            "any": lambda xp, x, axis: xp.cumsum(x, axis=axis),
            "torch": f"{TORCH_FORMS}:cumsum",
        },
        sparsity="scanned",
        fresh=True,
    ),
)


# -- order statistics ---------------------------------------------------------------------------
argpartition_op: Op = Op(
    name="argpartition",
    run=lambda x, kth, axis: np.argpartition(x, kth, axis=axis),
    infer=lambda type, kth, axis: ArrayType(type.shape, np.dtype(np.intp)),
    edges=(None,),
    batch=lambda size, batched, x, kth, axis: argpartition_op(x, kth=kth, axis=axis + 1),
    columns=Columns(
        decompose=lambda x, kth, axis: argsort_op(x, axis=axis),
        flops=lambda z: 2 * z.size,
        fresh=True,
    ),
)
# Entries along the axis from which they are selected, not sorted.
_MANY = 256


def _order_statistics(x: Array, kth: Array, axis: int) -> Any:
    rows, places = np.moveaxis(x, axis, 0), np.moveaxis(kth, axis, 0)
    lanes = rows.shape[1:]
    if len(rows) < _MANY or np.prod(lanes) > len(rows) or x.dtype.kind == "c":
        found = np.take_along_axis(np.argsort(rows, axis=0, kind="stable"), places, 0)
    else:
        found = np.empty(places.shape, np.intp)
        for lane in np.ndindex(*lanes):
            found[:, *lane] = _selected(rows[:, *lane], places[:, *lane])
    return np.moveaxis(found, 0, axis)


def _selected(x: Array, kth: Array) -> list[Any]:
    """The places of these entries in a stable order; what is no number comes last."""
    found = []
    for k, value in zip(kth, np.partition(x, kth)[kth], strict=True):
        same = np.flatnonzero(x == value) if value == value else np.flatnonzero(x != x)
        before = np.count_nonzero(x < value) if value == value else len(x) - len(same)
        found.append(same[k - before])
    return found


def _order_statistics_batch(
    size: int, batched: Sequence[bool], x: Array, kth: Array, axis: int
) -> Any:
    return order_statistics_op(*spread_unbatched(size, batched, (x, kth)), axis=axis + 1)


def _taken_in_order(x: Array, kth: Array, axis: int) -> Any:
    return np.take_along_axis(argsort_op(x, axis=axis), kth, axis)


order_statistics_op = Op(
    name="order_statistics",
    run=_order_statistics,
    infer=lambda type, kth, axis: ArrayType(kth.shape, np.dtype(np.intp)),
    edges=(None, None),
    batch=_order_statistics_batch,
    columns=Columns(
        decompose=_taken_in_order,
        machine="sort_forms:order_statistics",
        entry_time=8.0,
        flops=lambda z: 2 * z.args[0].size,
        fresh=True,
    ),
)
"""The places of the entries that stand at ``kth`` in a stable order: places from 0 for each lane."""


# -- places among entries in order ---------------------------------------------------------------
def _search(a: Array, v: Array, side: Literal["left", "right"]) -> Any:
    if a.ndim == 1:
        return np.asarray(np.searchsorted(a, v, side))
    found = np.empty(v.shape, np.intp)
    for row in np.ndindex(*a.shape[:-1]):
        found[row] = np.searchsorted(a[row], v[row], side)
    return found


def _search_type(a: ArrayType, v: ArrayType, side: str) -> ArrayType:
    if side not in ("left", "right"):
        raise value_error(f"searchsorted: expected side 'left' or 'right', but got {side!r}")
    if not a.ndim or v.shape[: a.ndim - 1] != a.shape[:-1]:
        raise value_error(f"searchsorted: expected a vector, but got {a} for {v}")
    return ArrayType(v.shape, np.dtype(np.intp))


def _search_batch(size: int, batched: tuple[bool, bool], a: Array, v: Array, side: str) -> Any:
    if np.ndim(a) == 1 and not batched[0]:
        return searchsorted_op(a, v, side=side)
    return searchsorted_op(*spread_unbatched(size, batched, (a, v)), side=side)


def _search_by_comparisons(a: Any, v: Any, side: str) -> Any:
    """By comparing each with each."""
    lead = a.shape[:-1]
    a = reshape(a, (*lead, *(1,) * (v.ndim - len(lead)), a.shape[-1]))
    v = np.expand_dims(v, -1)
    return np.sum(_before(a, v) if side == "left" else ~_before(v, a), axis=-1)


def _before(x: ArrayLike, y: Any) -> Any:
    """Whether one comes before the other in NumPy's order, where what is no number comes last."""
    if not differentiable(y.dtype):
        return x < y
    return (x < y) | ((y != y) & (x == x))


def _search_source(expr: Expr, texts: Sequence[str]) -> str:
    """In a vector, or row by row in a stack of vectors."""
    a, v = expr.args
    side = dict(expr.params)["side"]
    if a.ndim == 1:
        return f"np.searchsorted({texts[0]}, {texts[1]}, {side!r})"
    count = int(np.prod(v.shape[a.ndim - 1 :]))
    rows = (
        f"zip(np.reshape({texts[0]}, (-1, {a.shape[-1]})), np.reshape({texts[1]}, (-1, {count})))"
    )
    return f"np.reshape([np.searchsorted(x, y, {side!r}) for x, y in {rows}], {v.shape})"


searchsorted_op = Op(
    name="searchsorted",
    run=_search,
    infer=_search_type,
    edges=(None, None),
    batch=_search_batch,
    notation=lambda a, v, side: (
        f"searchsorted({a}, {v})" if side == "left" else f"searchsorted({a}, {v}, {side!r})"
    ),
    columns=Columns(
        decompose=_search_by_comparisons,
        flops=lambda z: z.size * z.args[0].shape[-1].bit_length(),
        machine="scan_forms:searchsorted",
        entry_time=40.0,
        numpy=_search_source,
        fresh=True,
    ),
)


# -- NumPy's functions ---------------------------------------------------------------------------
def _flat(name: str, x: object, axis: int | None) -> tuple[Any, int]:
    x = lift_fully(x)
    if axis is None or (x.ndim == 0 and axis in (0, -1)):
        return reshape(x, -1), 0
    return x, axis_index(name, axis, x)


def argmax(x: Array, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """As `numpy.argmax`; not differentiable."""
    return _locate(argmax_op, x, axis, keepdims)


def argmin(x: Array, axis: int | None = None, *, keepdims: bool = False) -> Any:
    """As `numpy.argmin`; not differentiable."""
    return _locate(argmin_op, x, axis, keepdims)


def _locate(op: Op, x: Array, axis: int | None, keepdims: bool) -> Any:
    x = nonempty(op.name, x, axis)
    flat, place = _flat(op.name, x, axis)
    z = op(flat, axis=place)
    if keepdims is not True:
        return z
    whole = axis is None or x.ndim == 0
    return reshape(z, (1,) * x.ndim) if whole else np.expand_dims(z, place)


def argsort(
    x: object,
    axis: int | None = -1,
    kind: object = None,
    order: object = None,
    *,
    stable: object = None,
    descending: object = False,
) -> Any:
    """As `numpy.argsort`, stable; not differentiable."""
    _check_kind(kind)
    x, place = _flat("argsort", x, axis)
    return _places_in_order("argsort", x, place, order, descending)


def sort(
    x: Any,
    axis: int | None = -1,
    kind: object = None,
    order: object = None,
    *,
    stable: object = None,
    descending: object = False,
) -> Any:
    """As `numpy.sort`: the entries taken in the order of `argsort`."""
    _check_kind(kind)
    x = lift_fully(x)
    x, place = _flat("sort", x, axis if axis is None else axis_index("sort", axis, x))
    return take_along_axis(x, _places_in_order("sort", x, place, order, descending), place)


def _check_kind(kind: Any) -> None:
    """NumPy's error of an algorithm that it does not know; all have the same result, but for ties."""
    if kind is not None:
        np.sort(np.zeros(0), kind=kind)


def _places_in_order(name: str, x: Any, axis: int, order: object, descending: object) -> Any:
    """The places of the entries, smallest or largest first; NaN comes last, and ties keep their order."""
    if order is not None:
        raise value_error(f"{name}: expected no order for {x.type}, which has no fields")
    if descending is np._NoValue or not descending:
        return argsort_op(x, axis=axis)
    return argsort_op(-x if x.dtype.kind in "fc" else np.invert(x), axis=axis)


def cumsum(x: object, axis: int | None = None, dtype: object = None) -> Any:
    """As `numpy.cumsum`."""
    return _accumulated(cumsum_op, x, axis, dtype)


def cumprod(x: Any, axis: int | None = None, dtype: object = None) -> Any:
    """As `numpy.cumprod`; its derivative is exact where entries are zero."""
    return _accumulated(cumprod_op, x, axis, dtype)


def running_maximum(x: Any, axis: int | None = None, dtype: object = None) -> Any:
    """As `numpy.maximum.accumulate`; entries that tie share the derivative equally."""
    return _accumulated(running_maximum_op, x, axis, dtype)


def running_minimum(x: Any, axis: int | None = None, dtype: object = None) -> Any:
    """As `numpy.minimum.accumulate`; entries that tie share the derivative equally."""
    return _accumulated(running_minimum_op, x, axis, dtype)


def _accumulated(op: Op, x: object, axis: int | None, dtype: object) -> Any:
    x, place = _flat(op.name, x if dtype is None else astype(x, dtype), axis)
    z = op(x, axis=place)
    # NumPy accumulates small integers in a wider dtype unless one is given.
    return z if dtype is None else astype(z, dtype)


def cumulative_sum(
    x: object, /, *, axis: int | None = None, dtype: object = None, include_initial: bool = False
) -> Any:
    """As `numpy.cumulative_sum`."""
    return _cumulative("cumulative_sum", cumsum, x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: object, /, *, axis: int | None = None, dtype: object = None, include_initial: bool = False
) -> Any:
    """As `numpy.cumulative_prod`."""
    return _cumulative("cumulative_prod", cumprod, x, axis, dtype, 1 if include_initial else None)


def _cumulative(
    name: str, scan: Any, x: object, axis: int | None, dtype: object, first: int | None
) -> Any:
    x = lift_fully(x)
    if axis is None and x.ndim > 1:
        raise value_error(f"{name}: expected an axis for {x.type}, which has several")
    x, place = _flat(name, x, axis)
    z = scan(x, place, dtype)
    if first is None:
        return z
    shape = (*z.shape[:place], 1, *z.shape[place + 1 :])
    return np.concatenate([np.full_like(z, first, shape=shape), z], axis=place)


def diff(
    x: object,
    n: int = 1,
    axis: int = -1,
    prepend: object = np._NoValue,
    append: object = np._NoValue,
) -> Any:
    """As `numpy.diff`."""
    x = lift_fully(x)
    if n == 0:
        return x
    if n < 0:
        raise value_error(f"diff: expected n of 0 or more, but got {n}")
    place = axis_index("diff", axis, x)
    ends = [
        x if end is x else _end(end, x, place)
        for end in (prepend, x, append)
        if end is not np._NoValue
    ]
    x = np.concatenate(ends, axis=place) if len(ends) > 1 else x
    step = np.not_equal if x.dtype.kind == "b" else np.subtract
    for _ in range(n):
        x = step(slice_axis(x, place, slice(1, None)), slice_axis(x, place, slice(None, -1)))
    return x


def _end(value: object, x: Any, axis: int) -> Any:
    value = lift_fully(value)
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return np.broadcast_to(value, shape) if value.ndim == 0 else value


def searchsorted(a: object, v: object, side: str = "left", sorter: object = None) -> Any:
    """As `numpy.searchsorted`; not differentiable."""
    a, v = lift_all((a, v))
    return searchsorted_op(a if sorter is None else a[sorter], v, side=side)
