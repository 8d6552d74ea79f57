"""Selecting entries, and its transpose: adding them into zeros.

An index is a static *spec* and the integer arrays in it, which are operands (see `index_spec`).
Indices out of bounds are errors, as in NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.expr import Expr, const
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.axes import axis_index
from funcgrad.ops.base.columns import TORCH_FORMS, Columns, Form, each_entry, no_flops
from funcgrad.ops.base.index_batching import (
    ALL,
    apart,
    batched_entries,
    batched_index,
    chosen_axes,
    each_example,
)
from funcgrad.ops.base.index_spec import Spec, index_source, index_text, restore
from funcgrad.ops.base.op import Op, lift_fully
from funcgrad.ops.base.untaken_paths import indices_or_zero
from funcgrad.ops.shape import moveaxis
from funcgrad.source import value_error
from funcgrad.typing import Array, ArrayLike


# -- the primitives ------------------------------------------------------------------------------
def _getitem_edge(
    z: Array, x: Array, *arrays: Array, spec: Spec, shape: tuple[int, ...]
) -> LinearMap:
    whole = tuple(np.shape(x))
    return Structural(
        lambda v: getitem_op(v, *arrays, spec=spec, shape=shape),
        lambda g: scatter_op(g, *arrays, spec=spec, shape=whole),
    )


def _scatter_edge(
    z: Array, g: Array, *arrays: Array, spec: Spec, shape: tuple[int, ...]
) -> LinearMap:
    part = tuple(np.shape(g))
    return Structural(
        lambda v: scatter_op(v, *arrays, spec=spec, shape=shape),
        lambda w: getitem_op(w, *arrays, spec=spec, shape=part),
    )


def _getitem_run(x: Array, *arrays: Array, spec: Spec, shape: tuple[int, ...]) -> Any:
    return np.asarray(x)[restore(spec, arrays)]


def _length_of(g: Array, shape: tuple[int, ...], axis: int) -> int:
    """An unknown length, by the entries: the index leaves it and those behind it whole."""
    return int(np.shape(g)[axis - len(shape)])


def add_at(x: Array, index: tuple[Any, ...], v: Array) -> None:
    """As `numpy.add.at`, which is six times as fast with one vector of places in a vector."""
    if (
        x.ndim == 1
        and len(index) == 1
        and type(index[0]) is np.ndarray
        and index[0].dtype.kind in "iu"
    ):
        np.add.at(x, index[0].reshape(-1), _as_shaped(v, index[0].shape).reshape(-1))
        return
    if x.ndim > 1 or any([np.ndim(item) > 1 for item in index]):
        values = np.asarray(v)
        # The place of each entry of the whole array: worthwhile if many entries are added.
        if x.flags.c_contiguous and x.size <= _MOST_PLACES * values.size:
            places = np.arange(x.size).reshape(x.shape)[index]
            entries = _as_shaped(values, places.shape)
            np.add.at(x.reshape(-1), places.reshape(-1), entries.reshape(-1))
            return
    np.add.at(x, index, v)


def _as_shaped(v: Array, shape: tuple[int, ...]) -> Any:
    return v if np.shape(v) == shape else np.broadcast_to(v, shape)


_MOST_PLACES = 8


def _scatter_run(g: Array, *arrays: Array, spec: Spec, shape: tuple[int, ...]) -> Any:
    dtype = np.result_type(g)
    whole = np.zeros([_length_of(g, shape, k) if n < 0 else n for k, n in enumerate(shape)], dtype)
    index = restore(spec, arrays)
    if arrays and (once := _added_rows(whole.shape, index, g)) is not None:
        whole[once[0]] = once[1]
    elif arrays:
        whole[index] = -dtype.type(0) if dtype.kind in "fc" else 0  # to which -0.0 is added
        add_at(whole, index, g)
    else:
        whole[index] = g
    return whole


def _added_rows(shape: tuple[int, ...], index: Any, g: Array) -> tuple[Any, Any] | None:
    """An index of one vector along an axis, and what is added there, with each place once; None of others.

    Rows of entries are moved and added as a whole, which takes a quarter of the time.
    """
    items = index if isinstance(index, tuple) else (index,)
    axes = [k for k, item in enumerate(items) if not (type(item) is slice and item == slice(None))]
    if len(axes) != 1 or type(items[axes[0]]) is not np.ndarray or len(items) > len(shape):
        return None
    axis, places = axes[0], items[axes[0]]
    if places.ndim != 1 or places.dtype.kind not in "iu" or np.size(g) < _LONG_ROWS * places.size:
        return None
    places = places % shape[axis]
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    if len(starts) < len(places):
        g = np.add.reduceat(np.take(g, order, axis), starts, axis)
        places = ordered[starts]
    return (*items[:axis], places, *items[axis + 1 :]), g


_LONG_ROWS = 16


def _getitem_text(x: str, *arrays: str, spec: Spec, shape: tuple[int, ...]) -> str:
    return f"{x}{index_text(spec, arrays)}"


def _scatter_text(g: str, *arrays: str, spec: Spec, shape: tuple[int, ...]) -> str:
    return f"zeros({shape}).at{index_text(spec, arrays)}.add({g})"


def _infer(type: ArrayType, *arrays: ArrayType, spec: Spec, shape: tuple[int, ...]) -> ArrayType:
    return ArrayType(shape, type.dtype)


def _first_only(edge: object) -> Any:
    return lambda index: edge if index == 0 else None


# -- batches -------------------------------------------------------------------------------------
def _getitem_batch(
    size: int,
    batched: tuple[bool, ...],
    x: ArrayLike,
    *arrays: ArrayLike,
    spec: Spec,
    shape: tuple[int, ...],
) -> Any:
    own, of_arrays = batched[0], batched[1:]
    ndim = np.ndim(x) - own
    if not any(of_arrays):
        found = lift_fully(x)[restore((ALL, *spec), arrays)]
        # Index arrays that stand apart have put their axes before that of the batch.
        count = chosen_axes(spec, ndim, arrays)[1] if apart(spec, arrays) else 0
        return moveaxis(found, count, 0)
    wide, rank = batched_index(size, of_arrays, arrays)
    place, _ = chosen_axes(spec, ndim, wide)
    if not own:
        return moveaxis(lift_fully(x)[restore(spec, tuple(wide))], place, 0)
    found = lift_fully(x)[(each_example(size, rank), *restore(spec, tuple(wide)))]
    return moveaxis(found, range(1, 1 + rank), range(1 + place, 1 + place + rank))


def _scatter_batch(
    size: int,
    batched: tuple[bool, ...],
    g: object,
    *arrays: object,
    spec: Spec,
    shape: tuple[int, ...],
) -> Any:
    g, spec, arrays = batched_entries(size, batched, g, arrays, spec, len(shape))  # type: ignore[assignment]
    return scatter_op(g, *arrays, spec=spec, shape=(size, *shape))


def _getitem_source(expr: Expr, texts: Sequence[str]) -> str:
    return f"np.asarray({texts[0]})[{index_source(dict(expr.params)['spec'], texts[1:])}]"


def _scatter_source(expr: Expr, texts: Sequence[str]) -> str:
    # Statements in one expression: ``or`` passes on, since they return None.
    shape = dict(expr.params)["shape"]
    arrays = [f"i{k}" for k in range(len(texts) - 1)]
    index = index_source(dict(expr.params)["spec"], arrays)
    stored = f"z.__setitem__({index}, g)"
    if arrays:
        zero = "-z.dtype.type(0)" if expr.dtype.kind in "fc" else "0"
        stored = f"z.__setitem__({index}, {zero}) or np.add.at(z, {index}, g)"
    last = f"np.shape({texts[0]})"
    lengths = [f"{last}[{k - len(shape)}]" if n < 0 else str(n) for k, n in enumerate(shape)]
    given = ", ".join([f'np.zeros([{", ".join(lengths)}], "{expr.dtype}")', *texts])
    return f"(lambda {', '.join(['z', 'g', *arrays])}: {stored} or z)({given})"


getitem_op = Op(
    name="getitem",
    run=_getitem_run,
    infer=_infer,
    edges=_first_only(_getitem_edge),
    batch=_getitem_batch,
    notation=_getitem_text,
    columns=Columns(
        flops=no_flops,
        interval=lambda iv, x, *at, **params: iv.gathered(_getitem_run, x, at, **params),
        latex=Form("indexed"),
        machine="subscript_forms:getitem",
        entry_time=1.5,
        numpy=_getitem_source,
        libraries={
            "any": lambda xp, x, *at, spec, shape: x[restore(spec, at)],
            "torch": f"{TORCH_FORMS}:getitem",
        },
        sparsity="gathered",
        may_alias=True,
        untaken=indices_or_zero,
    ),
)
scatter_op = Op(
    name="scatter_add",
    run=_scatter_run,
    infer=_infer,
    edges=_first_only(_scatter_edge),
    batch=_scatter_batch,
    notation=_scatter_text,
    columns=Columns(
        flops=each_entry(1),
        interval=lambda iv, g, *at, **params: iv.scattered(_scatter_run, g, at, **params),
        latex=Form("scattered"),
        machine="subscript_forms:scatter_add",
        entry_time=8.0,
        numpy=_scatter_source,
        libraries={"torch": f"{TORCH_FORMS}:scatter_add"},
        sparsity="scattered",
        fresh=True,
        untaken=indices_or_zero,
    ),
)


# -- as users write it ---------------------------------------------------------------------------
def take(x: ArrayLike, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Any:
    """As `numpy.take`."""
    x = lift_fully(x, (indices,))
    if not isinstance(indices, Expr):
        indices = np.asarray(indices)
    if indices.dtype.kind == "b":  # integers, and no mask
        indices = indices.astype(int)
    if axis is None or x.ndim == 0:
        x, axis = np.ravel(x), 0
    place = axis_index("take", axis, x)
    if mode == "wrap":
        indices = np.mod(indices, x.shape[place])
    elif mode == "clip":
        indices = np.clip(indices, 0, x.shape[place] - 1)
    return x[(slice(None),) * place + (indices,)]


def take_along_axis(x: ArrayLike, indices: Any, axis: int | None = -1) -> Any:
    """As `numpy.take_along_axis`."""
    x, indices = lift_fully(x), lift_fully(indices)
    if axis is None:
        return np.ravel(x)[np.ravel(indices)]
    place = axis_index("take_along_axis", axis, x)
    if indices.ndim != x.ndim:
        raise value_error(
            f"take_along_axis: expected indices with {x.ndim} axes, but got {indices.type}",
        )
    apart = [(1,) * k + (n,) + (1,) * (x.ndim - k - 1) for k, n in enumerate(x.shape)]
    grids = [
        indices if k == place else np.arange(x.shape[k]).reshape(shape)
        for k, shape in enumerate(apart)
    ]
    return x[tuple(grids)]


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """As `numpy.diagonal`."""
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2:]
    first = max(-offset, 0)
    count = max(0, min(rows - first, columns - max(offset, 0)))
    return x[..., _places_from(first, count), _places_from(max(offset, 0), count)]


@lru_cache(maxsize=64)
def _places_from(first: int, count: int) -> Expr:
    """So many places, one after another: a constant that traces have in common."""
    return const(np.arange(first, first + count))


def trace(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    """As `numpy.trace`."""
    return np.sum(diagonal(x, offset, axis1, axis2), axis=-1, dtype=dtype)


def diag(x: object, k: int = 0) -> Any:
    """As `numpy.diag`: the diagonal of a matrix, or the matrix of a diagonal."""
    x, k = lift_fully(x), operator.index(k)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise value_error(f"diag: expected a vector or a matrix, but got {x.type}")
    size = x.shape[0] + abs(k)
    first = max(k, 0) + max(-k, 0) * size
    ends = (first, first + x.shape[0] * (size + 1)) if k else (None, None)
    flat = scatter_op(x, spec=(("slice", *ends, size + 1),), shape=(size * size,))
    return np.reshape(flat, (size, size))
