"""Selecting entries, and its transpose: adding them into zeros.

An index is a static *spec* and the integer arrays in it, which are operands (see `index_spec`).
Indices out of bounds are errors, as in NumPy.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.expr import Expr, concrete
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.base.columns import TORCH_FORMS, Columns, Form, each_entry, no_flops
from funcgrad.ops.base.index_spec import Spec, parse_index, restore, shape_of
from funcgrad.ops.base.op import Op, build_structural, lift_fully, spread
from funcgrad.ops.shape import astype, broadcast_to, full_like, moveaxis
from funcgrad.source import fail
from funcgrad.typing import Array


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


def _scatter_run(g: Array, *arrays: Array, spec: Spec, shape: tuple[int, ...]) -> Any:
    dtype = np.result_type(g)
    whole = np.zeros(shape, dtype)
    index = restore(spec, arrays)
    if arrays:
        whole[index] = -dtype.type(0) if dtype.kind in "fc" else 0  # to which -0.0 is added
        np.add.at(whole, index, g)
    else:
        whole[index] = g
    return whole


def _index_text(item: Any, rest: Any) -> str:
    if isinstance(item, tuple):
        start, stop, step = ("" if b is None else str(b) for b in item[1:])
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return next(rest) if item == "array" else {"new": "None"}.get(item, str(item))


def _getitem_text(x: str, *arrays: str, spec: Spec, shape: tuple[int, ...]) -> str:
    rest = iter(arrays)
    return f"{x}[{', '.join(_index_text(item, rest) for item in spec)}]"


def _scatter_text(g: str, *arrays: str, spec: Spec, shape: tuple[int, ...]) -> str:
    return f"zeros({shape}).at{_getitem_text('', *arrays, spec=spec, shape=shape)}.add({g})"


def _infer(type: ArrayType, *arrays: ArrayType, spec: Spec, shape: tuple[int, ...]) -> ArrayType:
    return ArrayType(shape, type.dtype)


def _first_only(edge: object) -> Any:
    return lambda index: edge if index == 0 else None


# -- batches -------------------------------------------------------------------------------------
def _chosen_axes(spec: Spec, ndim: int, arrays: Sequence[Any]) -> tuple[int, int]:
    """Where the axes that index arrays give stand in the result, and how many they are.

    NumPy puts them in the place of the arrays where those stand together, else first; integers
    beside arrays count as arrays.
    """
    count = max([np.ndim(a) for a in arrays])
    chosen = [i for i, item in enumerate(spec) if item == "array" or isinstance(item, int)]
    if chosen != list(range(chosen[0], chosen[-1] + 1)):
        return 0, count
    before = spec[: chosen[0]]
    taken = sum(item not in ("new", "...") for item in spec)
    return sum(ndim - taken if item == "..." else 1 for item in before), count


def _batched_index(
    size: int, batched: Sequence[bool], arrays: Sequence[Any]
) -> tuple[list[Any], int]:
    """Index arrays with a first axis for the batch, and how many axes they had without it."""
    counts = [np.ndim(a) - own for a, own in zip(arrays, batched, strict=True)]
    rank = max(counts)
    wide = [
        np.reshape(a, (size, *(1,) * (rank - n), *np.shape(a)[1:])) if own else a
        for a, own, n in zip(arrays, batched, counts, strict=True)
    ]
    return wide, rank


def _each(size: int, rank: int) -> Any:
    """The index array that takes example i of the batch for entry i of the result."""
    return np.reshape(np.arange(size), (size, *(1,) * rank))


_ALL = ("slice", None, None, None)


def _getitem_batch(
    size: int,
    batched: tuple[bool, ...],
    x: npt.ArrayLike,
    *arrays: npt.ArrayLike,
    spec: Spec,
    shape: tuple[int, ...],
) -> Any:
    own, of_arrays = batched[0], batched[1:]
    ndim = np.ndim(x) - own
    if not any(of_arrays):
        found = lift_fully(x)[restore((_ALL, *spec), arrays)]
        # Index arrays that stand apart have put their axes before that of the batch.
        count = _chosen_axes(spec, ndim, arrays)[1] if _apart(spec, arrays) else 0
        return moveaxis(found, count, 0)
    wide, rank = _batched_index(size, of_arrays, arrays)
    place, _ = _chosen_axes(spec, ndim, wide)
    if not own:
        return moveaxis(lift_fully(x)[restore(spec, tuple(wide))], place, 0)
    found = lift_fully(x)[(_each(size, rank), *restore(spec, tuple(wide)))]
    return moveaxis(found, range(1, 1 + rank), range(1 + place, 1 + place + rank))


def _scatter_batch(
    size: int,
    batched: tuple[bool, ...],
    g: object,
    *arrays: object,
    spec: Spec,
    shape: tuple[int, ...],
) -> Any:
    own, of_arrays = batched[0], batched[1:]
    g = g if own else spread(g, size)
    if not any(of_arrays):
        if _apart(spec, arrays):
            g = moveaxis(g, 0, _chosen_axes(spec, len(shape), arrays)[1])
        return scatter_op(g, *arrays, spec=(_ALL, *spec), shape=(size, *shape))
    wide, rank = _batched_index(size, of_arrays, arrays)
    place, _ = _chosen_axes(spec, len(shape), wide)
    g = moveaxis(g, range(1 + place, 1 + place + rank), range(1, 1 + rank))
    spec = ("array", *spec)
    return scatter_op(g, _each(size, rank), *wide, spec=spec, shape=(size, *shape))


def _apart(spec: Spec, arrays: Sequence[Any]) -> bool:
    """Whether index arrays with axes of their own stand apart, so that those come first."""
    chosen = [i for i, item in enumerate(spec) if item == "array" or isinstance(item, int)]
    with_axes = any(np.ndim(a) for a in arrays)
    return with_axes and chosen != list(range(chosen[0], chosen[-1] + 1))


def _index(expr: Expr, arrays: Sequence[str]) -> str:
    rest = iter(arrays)
    words = {"new": "None", "...": "..."}
    items = []
    for item in dict(expr.params)["spec"]:
        if isinstance(item, tuple):
            items.append(f"slice({', '.join(map(str, item[1:]))})")
        else:
            items.append(next(rest) if item == "array" else words.get(item, str(item)))
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _getitem_source(expr: Expr, texts: Sequence[str]) -> str:
    return f"np.asarray({texts[0]})[{_index(expr, texts[1:])}]"


def _scatter_source(expr: Expr, texts: Sequence[str]) -> str:
    # Statements in one expression: ``or`` passes on, since they return None.
    shape = dict(expr.params)["shape"]
    arrays = [f"i{k}" for k in range(len(texts) - 1)]
    index = _index(expr, arrays)
    stored = f"z.__setitem__({index}, g)"
    if arrays:
        zero = "-z.dtype.type(0)" if expr.dtype.kind in "fc" else "0"
        stored = f"z.__setitem__({index}, {zero}) or np.add.at(z, {index}, g)"
    given = ", ".join([f'np.zeros({shape}, "{expr.dtype}")', *texts])
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
        numpy=_getitem_source,
        libraries={
            "any": lambda xp, x, *at, spec, shape: x[restore(spec, at)],
            "torch": f"{TORCH_FORMS}:getitem",
        },
        sparsity="gathered",
        may_alias=True,
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
        numpy=_scatter_source,
        libraries={"torch": f"{TORCH_FORMS}:scatter_add"},
        sparsity="scattered",
        fresh=True,
    ),
)


# -- as users write it ---------------------------------------------------------------------------
def getitem(x: npt.ArrayLike, index: object) -> Any:
    """``x[index]``: basic, integer-array and boolean indexing, as in NumPy."""
    x, spec, arrays = parse_index(index, lift_fully(x))
    exprs = tuple(lift_fully(a, (x,)) for a in arrays)
    shape = shape_of(x, spec, exprs)
    return build_structural(getitem_op, (x, *exprs), {"spec": spec, "shape": shape})


def index_update(x: object, index: object, value: Any, how: str) -> Any:
    """``x.at[index].set(value)`` and its kin: a new array, with these entries changed."""
    whole = lift_fully(x)
    x, spec, arrays = parse_index(index, whole)
    exprs = tuple(lift_fully(a, (x,)) for a in arrays)
    shape = shape_of(x, spec, exprs)
    value = lift_fully(value, (x,))
    if not np.can_cast(value.dtype, x.dtype, "same_kind"):
        raise fail(
            TypeError,
            f"at: expected a value of dtype {x.dtype}, but got {value.dtype}; convert x with astype",
        )
    value = broadcast_to(astype(value, x.dtype), shape)
    if how == "add" and x.dtype.kind not in "fc":
        changed = x + scatter_op(value, *exprs, spec=spec, shape=x.shape)
    elif how == "add":  # x - 0.0 is x where x + 0.0 is not: at -0.0
        changed = x - scatter_op(-value, *exprs, spec=spec, shape=x.shape)
    else:
        _unique(exprs, spec, x, how)
        old = getitem_op(x, *exprs, spec=spec, shape=shape)
        new = value if how == "set" else getattr(np, how)(old, value)
        touched = scatter_op(full_like(new, True, bool), *exprs, spec=spec, shape=x.shape)
        changed = np.where(touched, scatter_op(new, *exprs, spec=spec, shape=x.shape), x)
    return changed if x is whole else np.reshape(changed, whole.shape)


def _unique(arrays: tuple[Expr, ...], spec: Spec, x: Expr, how: str) -> None:
    """Refuse an index that names an entry twice: only ``add`` says what that means."""
    if not arrays:
        return
    counts = np.zeros(x.shape, int)
    values = tuple(concrete(a, "an index of at[]") for a in arrays)
    np.add.at(counts, restore(spec, values), 1)
    if counts.size and counts.max() > 1:
        raise fail(
            ValueError,
            f"at[...].{how}: expected each entry to be named once, but an index is repeated; "
            "only at[...].add says what repetition means",
        )


def take(x: npt.ArrayLike, indices: Array, axis: int | None = None, *, mode: str = "raise") -> Any:
    """As `numpy.take`."""
    x = lift_fully(x)
    if axis is None or x.ndim == 0:
        x, axis = np.ravel(x), 0
    place = normalize_axis_index(axis, x.ndim)
    if mode == "wrap":
        indices = np.mod(indices, x.shape[place])
    elif mode == "clip":
        indices = np.clip(indices, 0, x.shape[place] - 1)
    return x[(slice(None),) * place + (indices,)]


def take_along_axis(x: npt.ArrayLike, indices: Any, axis: int | None = -1) -> Any:
    """As `numpy.take_along_axis`."""
    x, indices = lift_fully(x), lift_fully(indices)
    if axis is None:
        return np.ravel(x)[np.ravel(indices)]
    place = normalize_axis_index(axis, x.ndim)
    if indices.ndim != x.ndim:
        raise fail(
            ValueError,
            f"take_along_axis: expected indices with {x.ndim} axes, but got {indices.type}",
        )
    grids = list(np.ix_(*[np.arange(n) for n in x.shape]))
    grids[place] = indices
    return x[tuple(grids)]


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """As `numpy.diagonal`."""
    x = moveaxis(x, (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2:]
    first = max(-offset, 0)
    count = max(0, min(rows - first, columns - max(offset, 0)))
    along = np.arange(count)
    return x[..., along + first, along + max(offset, 0)]


def trace(x: Array, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """As `numpy.trace`."""
    return np.sum(diagonal(x, offset, axis1, axis2), axis=-1)


def diag(x: object, k: int = 0) -> Any:
    """As `numpy.diag`: the diagonal of a matrix, or the matrix of a diagonal."""
    x, k = lift_fully(x), operator.index(k)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise fail(ValueError, f"diag: expected a vector or a matrix, but got {x.type}")
    size = x.shape[0] + abs(k)
    along = np.arange(x.shape[0])
    places = [lift_fully(along + max(shift, 0)) for shift in (-k, k)]
    return scatter_op(x, *places, spec=("array", "array"), shape=(size, size))
