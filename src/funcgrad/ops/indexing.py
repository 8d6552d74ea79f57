"""Selecting entries, and its transpose: adding them into zeros.

An index is a static *spec* and the integer arrays in it, which are operands (see `funcgrad.ops.specs`).
Indices out of bounds are errors, as in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from funcgrad.expr import Expr, concrete
from funcgrad.graph import ArrayType
from funcgrad.linear import LinearMap, Structural
from funcgrad.ops.elementwise import mask
from funcgrad.ops.op import Op, build, lift_all, lift_fully, spread
from funcgrad.ops.shape import astype, broadcast_to, full_like, moveaxis
from funcgrad.ops.specs import Spec, as_indices, parse, restore, shape_of
from funcgrad.source import fail


# -- the primitives ------------------------------------------------------------------------------
def _getitem_edge(z: Any, x: Any, *arrays: Any, spec: Spec, shape: tuple[int, ...]) -> LinearMap:
    whole = tuple(np.shape(x))
    return Structural(
        lambda v: getitem_op(v, *arrays, spec=spec, shape=shape),
        lambda g: scatter_op(g, *arrays, spec=spec, shape=whole),
    )


def _scatter_edge(z: Any, g: Any, *arrays: Any, spec: Spec, shape: tuple[int, ...]) -> LinearMap:
    part = tuple(np.shape(g))
    return Structural(
        lambda v: scatter_op(v, *arrays, spec=spec, shape=shape),
        lambda w: getitem_op(w, *arrays, spec=spec, shape=part),
    )


def _getitem_run(x: Any, *arrays: Any, spec: Spec, shape: tuple[int, ...]) -> Any:
    return np.asarray(x)[restore(spec, arrays)]


def _scatter_run(g: Any, *arrays: Any, spec: Spec, shape: tuple[int, ...]) -> Any:
    whole = np.zeros(shape, np.result_type(g))
    index = restore(spec, arrays)
    if arrays:
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


def _first_only(edge: Any) -> Any:
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
    size: int, batched: tuple[bool, ...], x: Any, *arrays: Any, spec: Spec, shape: tuple[int, ...]
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
    size: int, batched: tuple[bool, ...], g: Any, *arrays: Any, spec: Spec, shape: tuple[int, ...]
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


getitem_op = Op(
    name="getitem",
    run=_getitem_run,
    infer=_infer,
    edges=_first_only(_getitem_edge),
    batch=_getitem_batch,
    notation=_getitem_text,
)
scatter_op = Op(
    name="scatter_add",
    run=_scatter_run,
    infer=_infer,
    edges=_first_only(_scatter_edge),
    batch=_scatter_batch,
    notation=_scatter_text,
)


# -- as users write it ---------------------------------------------------------------------------
def getitem(x: Any, index: Any) -> Any:
    """``x[index]``: basic, integer-array and boolean indexing, as in NumPy."""
    x = lift_fully(x)
    spec, arrays = parse(index, x)
    exprs = tuple(lift_fully(a, (x,)) for a in arrays)
    shape = shape_of(x, spec, exprs)
    return build(getitem_op, (x, *exprs), {"spec": spec, "shape": shape})


def index_update(x: Any, index: Any, value: Any, how: str) -> Any:
    """``x.at[index].set(value)`` and its kin: a new array, with these entries changed."""
    x = lift_fully(x)
    spec, arrays = parse(index, x)
    exprs = tuple(lift_fully(a, (x,)) for a in arrays)
    shape = shape_of(x, spec, exprs)
    value = lift_fully(value, (x,))
    if not np.can_cast(value.dtype, x.dtype, "same_kind"):
        raise fail(
            TypeError,
            f"at: expected a value of dtype {x.dtype}, but got {value.dtype}; convert x with astype",
        )
    value = broadcast_to(astype(value, x.dtype), shape)
    if how == "add":
        return x + scatter_op(value, *exprs, spec=spec, shape=x.shape)
    _unique(exprs, spec, x, how)
    old = getitem_op(x, *exprs, spec=spec, shape=shape)
    new = value if how == "set" else getattr(np, how)(old, value)
    touched = scatter_op(full_like(new, True, bool), *exprs, spec=spec, shape=x.shape)
    return np.where(touched, scatter_op(new, *exprs, spec=spec, shape=x.shape), x)


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


def take(x: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Any:
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


def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Any:
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


def trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """As `numpy.trace`."""
    return np.sum(diagonal(x, offset, axis1, axis2), axis=-1)


def diag(x: Any, k: int = 0) -> Any:
    """As `numpy.diag`: the diagonal of a matrix, or the matrix of a diagonal."""
    x = lift_fully(x)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise fail(ValueError, f"diag: expected a vector or a matrix, but got {x.type}")
    size = x.shape[0] + abs(k)
    along = np.arange(x.shape[0])
    zeros = np.zeros((size, size), x.dtype)
    return lift_fully(zeros).at[along + max(-k, 0), along + max(k, 0)].add(x)


def _triangle(keep: Any, x: Any, k: int) -> Any:
    x = lift_fully(x)
    return mask(keep(np.ones(x.shape[-2:], bool), k), x)


def tril(x: Any, k: int = 0) -> Any:
    """As `numpy.tril`."""
    return _triangle(np.tril, x, k)


def triu(x: Any, k: int = 0) -> Any:
    """As `numpy.triu`."""
    return _triangle(np.triu, x, k)


def pad(x: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    """As `numpy.pad` in mode ``constant``."""
    x = lift_fully(x)
    if mode != "constant":
        raise fail(TypeError, f"pad: expected mode 'constant', but got {mode!r}")
    if x.ndim == 0:
        return x
    widths = np.broadcast_to(np.asarray(pad_width, int), (x.ndim, 2))
    inside = tuple(slice(int(a), int(a) + n) for n, (a, _) in zip(x.shape, widths, strict=True))
    frame = np.pad(np.zeros(x.shape, x.dtype), widths, constant_values=constant_values)
    return lift_fully(frame).at[inside].set(x)


def delete(x: Any, obj: Any, axis: int | None = None) -> Any:
    """As `numpy.delete`."""
    x = lift_fully(x)
    if axis is None:
        x, axis = np.ravel(x), 0
    place = normalize_axis_index(axis, x.ndim)
    return take(x, np.delete(np.arange(x.shape[place]), obj), place)


def flipud(x: Any) -> Any:
    """As `numpy.flipud`."""
    return np.flip(x, 0)


def fliplr(x: Any) -> Any:
    """As `numpy.fliplr`."""
    return np.flip(x, 1)


def rot90(x: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """As `numpy.rot90`: from the first axis towards the second."""
    x = lift_fully(x)
    first, second = (normalize_axis_index(axis, x.ndim) for axis in axes)
    if first == second:
        raise fail(ValueError, f"rot90: expected two axes, but got {tuple(axes)} of {x.type}")
    if k % 2:
        x = np.swapaxes(x, first, second)
    turned = {0: (), 1: (first,), 2: (first, second), 3: (second,)}[k % 4]
    return np.flip(x, turned) if turned else x


# -- where conditions hold -----------------------------------------------------------------------
def nonzero(x: Any) -> tuple[Any, ...]:
    """As `numpy.nonzero`: where entries are not 0, asked for by value."""
    x = lift_fully(x)
    if not x.ndim:
        raise fail(ValueError, f"nonzero: expected an array, but got {x.type}; write atleast_1d(x)")
    return tuple(as_indices(x if x.dtype.kind == "b" else x != 0))


def flatnonzero(x: Any) -> Any:
    """As `numpy.flatnonzero`."""
    return nonzero(np.ravel(x))[0]


def argwhere(x: Any) -> Any:
    """As `numpy.argwhere`."""
    x = lift_fully(x)
    return np.stack(nonzero(x), axis=-1) if x.ndim else np.zeros((int(bool(x)), 0), int)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """As `numpy.select`: the first choice whose condition holds."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise fail(
            ValueError,
            f"select: expected as many choices as conditions, but got {len(choicelist)} and "
            f"{len(condlist)}",
        )
    z = default
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        z = np.where(lift_fully(condition), choice, z)
    return z


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """As `numpy.piecewise`: each function runs on all of x, and where its condition fails it has no say."""
    x = lift_fully(x)
    conditions = (
        [condlist] if isinstance(condlist, Expr) or np.ndim(condlist[0]) < x.ndim else condlist
    )
    otherwise = funclist[len(conditions)] if len(funclist) == len(conditions) + 1 else 0
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise fail(
            ValueError,
            f"piecewise: expected {len(conditions)} functions, or one more, but got {len(funclist)}",
        )

    def value(f: Any) -> Any:
        return np.broadcast_to(f(x, *args, **kw) if callable(f) else f, x.shape).astype(x.dtype)

    z = value(otherwise)
    for condition, f in zip(conditions, funclist, strict=False):
        z = np.where(condition, value(f), z)
    return z


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """As `numpy.nan_to_num`; what is replaced has no gradient."""
    x = lift_fully(x)
    if x.dtype.kind == "c":
        parts = [nan_to_num(part, copy, nan, posinf, neginf) for part in (np.real(x), np.imag(x))]
        return parts[0] + parts[1] * np.asarray(1j, x.dtype)[()]
    if x.dtype.kind != "f":
        return x
    most = np.finfo(x.dtype)
    high, low = (most.max if posinf is None else posinf), (most.min if neginf is None else neginf)
    fill = [np.asarray(value, x.dtype)[()] for value in (nan, high, low)]
    return np.where(
        x != x, fill[0], np.where(x == np.inf, fill[1], np.where(x == -np.inf, fill[2], x))
    )


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """As `numpy.isclose`; not differentiable."""
    a, b = lift_all((a, b))
    b = astype(b, np.result_type(b.dtype, 1.0))
    near = (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | (a == b)
    return near | ((a != a) & (b != b)) if equal_nan else near


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """As `numpy.allclose`: a truth value, asked for when Python needs it."""
    return np.all(isclose(a, b, rtol, atol, equal_nan))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """As `numpy.array_equal`."""
    a, b = lift_all((a1, a2))
    if a.shape != b.shape:
        return False
    same = a == b
    return np.all(same | ((a != a) & (b != b)) if equal_nan else same)
