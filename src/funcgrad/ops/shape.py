"""Operations that move, repeat or join entries without changing them.

Two primitives, `reshape` and `transpose`, and the variadic `concatenate`; the rest of NumPy's family
(``expand_dims``, ``stack``, ``flip``, ``roll``, …) are compositions with indexing.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from funcgrad.arrays.object_array import array_of_objects, number_of
from funcgrad.arrays.reference import Reference, unwrapped
from funcgrad.arrays.reference import holds_expr as holds_expr
from funcgrad.expr import Expr, labeled
from funcgrad.expr.concrete import concrete_value
from funcgrad.expr.node import set_numpys
from funcgrad.graph import ArrayType, broadcast_shapes
from funcgrad.linear import Joint, LinearMap, Structural
from funcgrad.ops.base import op as _op
from funcgrad.ops.base.axes import axis_index, axis_tuple, counts_of, one_or_tuple
from funcgrad.ops.base.columns import Columns, Form, any_kind, no_flops
from funcgrad.ops.base.foreign_arrays import has_array_method
from funcgrad.ops.base.op import Op, lift_all, lift_fully
from funcgrad.ops.elementwise.selection import mask
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike, Axes


# -- reshape -------------------------------------------------------------------------------------
def _reshape_edge(z: Array, x: Array, *, shape: tuple[int, ...]) -> LinearMap:
    return Structural(lambda v: np.reshape(v, shape), lambda g: np.reshape(g, np.shape(x)))


reshape_op = Op(
    name="reshape",
    run=lambda x, shape: np.reshape(x, shape),
    infer=lambda type, shape: ArrayType(shape, type.dtype),
    edges=(_reshape_edge,),
    batch=lambda size, batched, x, shape: np.reshape(x, (size, *shape)),
    moves=True,
    columns=Columns(
        scalar=any_kind("{0}"),
        latex=Form("reshaped"),
        machine="reshape",
        numpy="np.reshape({0}, {shape})",
        libraries={"any": lambda xp, x, shape: xp.reshape(x, shape)},
        may_alias=True,
    ),
)


def reshape(x: object, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    """As `numpy.reshape`, in C or Fortran order: an expression has no layout in memory."""
    if order not in ("C", "F"):
        raise type_error(f"reshape: expected order 'C' or 'F', but got {order!r}; transpose first")
    x = lift_fully(x)
    sizes = [*counts_of("reshape", shape)]
    if order == "F":  # that of the reversed axes
        return np.transpose(reshape(np.transpose(x), sizes[::-1]))
    known = math.prod([n for n in sizes if n != -1])
    if sizes.count(-1) == 1 and known and x.size % known == 0:
        sizes[sizes.index(-1)] = x.size // known
    if builtins.any([n < 0 for n in sizes]) or math.prod(sizes) != x.size:
        raise value_error(
            f"reshape: expected a shape of {x.size} entries for {x.type}, but got {tuple(sizes)}",
        )
    return x if tuple(sizes) == x.shape else reshape_op(x, shape=tuple(sizes))


def ravel(x: ArrayLike, order: str = "C") -> Any:
    """As `numpy.ravel`: a copy in one axis."""
    return reshape(x, -1, order)


def expand_dims(x: object, axis: object) -> Any:
    """As `numpy.expand_dims`."""
    x = lift_fully(x)
    axes = (axis,) if not isinstance(axis, Sequence) else tuple(axis)
    places = axis_tuple("expand_dims", axis, x, len(axes))
    rest = iter(x.shape)
    shape = tuple([1 if i in places else next(rest) for i in range(x.ndim + len(axes))])
    return reshape_op(x, shape=shape)


def squeeze(x: ArrayLike, axis: Axes = None) -> Any:
    """As `numpy.squeeze`."""
    x = lift_fully(x)
    if axis is None:
        places = {i for i, n in enumerate(x.shape) if n == 1}
    else:
        places = set(one_or_tuple("squeeze", axis, x))
    if builtins.any(x.shape[i] != 1 for i in places):
        raise value_error(f"squeeze: expected axes of length 1 in {x.type}, but got axis {axis}")
    return reshape(x, tuple(n for i, n in enumerate(x.shape) if i not in places))


def atleast_1d(*arrays: ArrayLike) -> Any:
    """As `numpy.atleast_1d`."""
    return _each(arrays, lambda x: x if x.ndim >= 1 else reshape(x, (1,)))


def atleast_2d(*arrays: Array) -> Any:
    """As `numpy.atleast_2d`."""
    return _each(arrays, lambda x: x if x.ndim >= 2 else reshape(x, (1, x.size)))


def atleast_3d(*arrays: Array) -> Any:
    """As `numpy.atleast_3d`."""

    def deepened(x: Expr) -> Any:
        return reshape(x, (1, x.size, 1) if x.ndim < 2 else (*x.shape, 1)) if x.ndim < 3 else x

    return _each(arrays, deepened)


def _each(arrays: tuple[Any, ...], change: Callable[[Expr], Any]) -> Any:
    """The change of an array, or of each of several."""
    changed = tuple([change(lift_fully(x)) for x in arrays])
    return changed[0] if len(changed) == 1 else changed


# -- transpose -----------------------------------------------------------------------------------
def _transpose_edge(z: Array, x: Array, *, axes: tuple[int, ...]) -> LinearMap:
    inverse = tuple(int(i) for i in np.argsort(axes))
    return Structural(lambda v: np.transpose(v, axes), lambda g: np.transpose(g, inverse))


transpose_op = Op(
    name="transpose",
    run=lambda x, axes: np.transpose(x, axes),
    infer=lambda type, axes: ArrayType(tuple(type.shape[i] for i in axes), type.dtype),
    edges=(_transpose_edge,),
    batch=lambda size, batched, x, axes: np.transpose(x, (0, *[i + 1 for i in axes])),
    moves=True,
    notation=lambda x, axes: f"{x}.T" if axes == (1, 0) else f"transpose({x}, {axes})",
    columns=Columns(
        scalar=any_kind("{0}"),
        latex=Form("transposed"),
        machine="transpose",
        numpy="np.transpose({0}, {axes})",
        libraries={
            "any": lambda xp, x, axes: xp.transpose(x, axes),
            "torch": lambda torch, x, axes: torch.permute(x, axes),
        },
        may_alias=True,
    ),
)


def transpose(x: Any, axes: Any = None) -> Any:
    """As `numpy.transpose`."""
    x = lift_fully(x)
    if axes is None:
        order = tuple(reversed(range(x.ndim)))
    else:
        order = axis_tuple("transpose", axes, x)
        if len(order) != x.ndim:
            raise value_error(f"transpose: expected {x.ndim} axes for {x.type}, but got {axes}")
    return x if order == tuple(range(x.ndim)) else transpose_op(x, axes=order)


def swapaxes(x: object, axis1: int, axis2: int) -> Any:
    """As `numpy.swapaxes`."""
    x = lift_fully(x)
    order = list(range(x.ndim))
    i, j = (axis_index("swapaxes", axis, x) for axis in (axis1, axis2))
    order[i], order[j] = order[j], order[i]
    return transpose(x, order)


def moveaxis(x: object, source: Any, destination: Any) -> Any:
    """As `numpy.moveaxis`."""
    x = lift_fully(x)
    sources = axis_tuple("moveaxis", source, x)
    targets = axis_tuple("moveaxis", destination, x)
    if sources == targets:
        return x
    order = [i for i in range(x.ndim) if i not in sources]
    for target, origin in sorted(zip(targets, sources, strict=True)):
        order.insert(target, origin)
    return transpose(x, order)


# -- joining and splitting -----------------------------------------------------------------------
def _concatenate_joint(z: Array, *inputs: Array, axis: int) -> Joint:
    # All operands at once: an edge each would join as many arrays for every one of them.
    def forward(flows: Mapping[int, Any]) -> Any:
        parts = [flows[i] if i in flows else np.zeros_like(x) for i, x in enumerate(inputs)]
        whole = np.concatenate(parts, axis=axis)
        if len(flows) == len(inputs) or not holds_expr(parts):
            return whole
        # Where no tangent arrives, later factors may be infinite.
        moved = [full_like(x, i in flows, bool) for i, x in enumerate(inputs)]
        return mask(np.concatenate(moved, axis=axis), whole)

    def backward(g: Array) -> Mapping[int, Any]:
        starts = np.cumsum([0, *[np.shape(x)[axis] for x in inputs]]).tolist()
        head = (slice(None),) * axis
        return {i: g[(*head, slice(*ends))] for i, ends in enumerate(pairwise(starts))}

    return Joint(forward, backward)


def _concatenate_type(*types: ArrayType, axis: int) -> ArrayType:
    first = types[0].shape
    total = builtins.sum(type.shape[axis] for type in types)
    return ArrayType((*first[:axis], total, *first[axis + 1 :]), types[0].dtype)


def _concatenate_batch(size: int, batched: Sequence[bool], *xs: Array, axis: int) -> Any:
    wide = [x if own else _op.spread(x, size) for x, own in zip(xs, batched, strict=True)]
    return np.concatenate(wide, axis=axis + 1)


concatenate_op = Op(
    name="concatenate",
    run=lambda *xs, axis: np.concatenate(xs, axis=axis),
    infer=_concatenate_type,
    joint=_concatenate_joint,
    batch=_concatenate_batch,
    notation=lambda *xs, axis: f"concatenate([{', '.join(xs)}]{f', axis={axis}' if axis else ''})",
    columns=Columns(
        flops=no_flops,
        machine="subscript_forms:concatenate",
        numpy="np.concatenate([{all}], axis={axis})",
        libraries={
            "any": lambda xp, *xs, axis: xp.concatenate(xs, axis=axis),
            "torch": lambda torch, *xs, axis: torch.cat(xs, dim=axis),
        },
        sparsity="moved",
        fresh=True,
        may_alias=True,
    ),
)


def concatenate(
    arrays: Any, axis: int | None = 0, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """As `numpy.concatenate`."""
    exprs = lift_all(list(arrays), "concatenate")
    if not exprs:
        raise value_error("concatenate: expected at least one array, but got none")
    if axis is None:
        exprs, axis = tuple(ravel(x) for x in exprs), 0
    if builtins.any(x.ndim == 0 for x in exprs):
        raise value_error("concatenate: expected arrays with axes, but got a scalar; use stack")
    place = axis_index("concatenate", axis, exprs[0])
    rests = {x.shape[:place] + x.shape[place + 1 :] for x in exprs}
    if len(rests) > 1:
        types = ", ".join(str(x.type) for x in exprs)
        raise value_error(
            f"concatenate: expected shapes that agree beside axis {place}, but got {types}",
        )
    common = np.dtype(dtype) if dtype else np.result_type(*[x.dtype for x in exprs])
    for x in exprs:
        if x.dtype != common and not np.can_cast(x.dtype, common, casting):
            raise type_error(
                f"concatenate: expected arrays that become {common} by casting={casting!r}, but got {x.type}",
            )
    cast = [x if x.dtype == common else _op.astype(x, dtype=common) for x in exprs]
    return concatenate_op(*cast, axis=place)


def stack(arrays: Any, axis: int = 0, *, dtype: object = None, **how: Any) -> Any:
    """As `numpy.stack`."""
    exprs = lift_all(list(arrays), "stack")
    if len({x.shape for x in exprs}) > 1:
        types = ", ".join(str(x.type) for x in exprs)
        raise value_error(f"stack: expected arrays of one shape, but got {types}")
    return concatenate([expand_dims(x, axis) for x in exprs], axis=axis, dtype=dtype, **how)


def array(value: Any, dtype: Any = None) -> Any:
    """The array of nested lists that may hold expressions; an ndarray where none does."""
    value = unwrapped(value)
    if isinstance(value, Expr):
        return value if dtype is None else astype(value, dtype)
    if not holds_expr(value):
        try:
            return np.array(value, dtype)
        except (TypeError, ValueError):
            value = as_lists(value)
            if not holds_expr(value):
                raise
            return array(value, dtype)
    joined = stack([array(item) for item in value])
    return joined if dtype is None else astype(joined, dtype)


def as_lists(value: object) -> Any:
    """Nested lists in the place of users' objects that NumPy takes for sequences, arrays and numbers.

    An array of them may meet a traced value, which NumPy would ask for a number.
    """
    if isinstance(value, str | bytes | Mapping | Expr | Reference | np.ndarray):
        return unwrapped(value)
    if has_array_method(value):
        made: Any = value
        return unwrapped(made.__array__())
    items: Any = value
    return unwrapped(
        [as_lists(item) for item in items] if _is_sequence(items) else number_of(value)
    )


def _is_sequence(value: Any) -> bool:
    """Whether a value has entries; a single rotation, whose length is an error, has none."""
    if not (hasattr(type(value), "__len__") and hasattr(type(value), "__getitem__")):
        return False
    try:
        len(value)
    except TypeError:
        return False
    return True


def astype(
    x: object, dtype: Any, order: str = "K", casting: Any = "unsafe", *_: Any, **__: Any
) -> Any:
    """As ``ndarray.astype``: objects are the entries, and text, as ``str(x)``, has no derivative."""
    x, dtype = lift_fully(x), np.dtype(dtype)
    if casting != "unsafe" and not np.can_cast(x.dtype, dtype, casting):
        raise type_error(
            f"astype: cannot cast from {x.dtype!r} to {dtype!r} according to the rule {casting!r}",
        )
    if dtype.kind == "O":
        return array_of_objects(x)
    if dtype.kind in "SU":
        return np.asarray(concrete_value(x, "an array of text")).astype(dtype)[()]
    return x if x.dtype == dtype else _op.astype(x, dtype=dtype)


def array_beside(value: object) -> Any:
    """What NumPy's array makes of an instance of a user's class: an array of its entries, or one object."""
    is_sequence = hasattr(type(value), "__len__") and hasattr(type(value), "__getitem__")
    if is_sequence or has_array_method(value):
        return array(as_lists(value))
    return array_of_objects(value, 0)


def as_pythons(value: Any) -> Any:
    """The same number as one of Python's, as `float` and the functions of `math` give it."""
    return _as_number(value, False)


def as_numpys(value: Any) -> Any:
    """The same number as one of NumPy's, as `numpy.float64` gives it."""
    return _as_number(value, True)


def _as_number(value: Any, is_numpys: bool) -> Any:
    if type(value) is not Expr or not value.args:
        return value
    if value.op is not _op.leaf:
        node = labeled(value, value.label)
    elif bool(dict(value.params).get("numpy")) is is_numpys:
        return value
    else:  # which a trace knows by its identity
        node = _op.astype(value, dtype=value.dtype)
    set_numpys(node, is_numpys)
    return node


def broadcast_to(x: object, shape: int | tuple[int, ...], subok: bool = False) -> Any:
    """As `numpy.broadcast_to`, but the result is a value of its own; ``subok`` has no effect."""
    x = lift_fully(x)
    lengths = counts_of("broadcast_to", shape)
    try:
        fits = broadcast_shapes(x.shape, lengths) == lengths
    except ValueError:
        fits = False
    if not fits:
        raise value_error(
            f"broadcast_to: expected a shape that {x.type} broadcasts to, but got {lengths}",
        )
    return x if x.shape == lengths else _op.broadcast_to(x, shape=lengths)


def full_like(x: ArrayLike, fill: object, dtype: Any = None, shape: Any = None, **_: Any) -> Any:
    """As `numpy.full_like`: a constant, or an expression where the fill is one."""
    x = lift_fully(x)
    filled = lift_fully(fill) if isinstance(fill, Expr) else None
    if filled is None:
        filled = lift_fully(np.asarray(fill, dtype or x.dtype)[()])
    return broadcast_to(astype(filled, dtype or x.dtype), x.shape if shape is None else shape)


def zeros_like(x: ArrayLike, dtype: object = None, shape: object = None, **_: Any) -> Any:
    """As `numpy.zeros_like`."""
    return full_like(x, 0, dtype, shape)


def ones_like(x: ArrayLike, dtype: object = None, shape: object = None, **_: Any) -> Any:
    """As `numpy.ones_like`."""
    return full_like(x, 1, dtype, shape)


def split_points(name: str, x: Expr, sections: Any, axis: int) -> list[int]:
    """Where `numpy.split` cuts: the inner boundaries."""
    if isinstance(sections, int | np.integer):
        if x.shape[axis] % sections:
            raise value_error(
                f"{name}: expected {x.shape[axis]} entries to divide into {sections} equal parts; "
                f"write np.array_split(x, {sections}), or give the places to cut at",
            )
        size = x.shape[axis] // sections
        return [size * i for i in range(1, sections)]
    return [operator.index(i) for i in sections]


def split(x: ArrayLike, sections: object, axis: int = 0) -> list[Any]:
    """As `numpy.split`."""
    x = lift_fully(x)
    place = axis_index("split", axis, x)
    cuts = [0, *split_points("split", x, sections, place), x.shape[place]]
    return [x[(slice(None),) * place + (slice(i, j),)] for i, j in pairwise(cuts)]


def joiner(axis: int, least: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`numpy.hstack` and its like: concatenate after raising every array to a least number of axes."""

    def join(arrays: Any, *, dtype: object = None) -> Any:
        raised = [least(x) for x in arrays]
        return concatenate(raised, axis=0 if raised[0].ndim == 1 else axis, dtype=dtype)

    return join


vstack = joiner(0, atleast_2d)
hstack = joiner(1, atleast_1d)


def column_stack(arrays: Sequence[Any]) -> Any:
    """As `numpy.column_stack`."""
    exprs = lift_all(list(arrays), "column_stack")
    return concatenate([x if x.ndim > 1 else expand_dims(ravel(x), 1) for x in exprs], axis=1)


def append(x: object, values: object, axis: int | None = None) -> Any:
    """As `numpy.append`."""
    return concatenate([x, values], axis=axis)
