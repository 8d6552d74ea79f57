"""NumPy's functions that make arrays, which can be written here, and hold traced values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import islice
from operator import index
from typing import Any, Literal

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray, borrowed, cell_of, mutable, shared_argument
from funcgrad.arrays.object_array import HeldObjects, ObjectArray, array_of_objects
from funcgrad.arrays.reference import (
    OTHER_LISTS,
    Reference,
    current,
    holds_expr,
    layout_of,
    lend,
    lent_value,
    plain_value,
    state_of,
    unwrapped,
)
from funcgrad.arrays.selections import selection_of
from funcgrad.arrays.subclassed_array import SubclassedArray, plain
from funcgrad.arrays.values import array_held_by, unlabeled
from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value
from funcgrad.ops import indexing
from funcgrad.ops import shape as shape_module
from funcgrad.source import as_of_numbers, with_name
from funcgrad.typing import Array, DTypeLike

_IF_NEEDED = 2
"""The value of NumPy's copy mode IF_NEEDED, which means ``copy=None``."""


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    ndmin: int = 0,
    **kwargs: Any,
) -> Any:
    """As `numpy.array`, of nested lists that may hold traced values.

    >>> import funcgrad as fg
    >>> array([fg.var("x"), 1.0]).shape
    (2,)
    """
    value = object
    copy = getattr(copy, "value", copy)  # of NumPy's enum of copy modes, which SciPy uses
    copy = None if copy == _IF_NEEDED else copy
    if isinstance(value, SubclassedArray):
        own = plain(value)
        made = array(own, dtype, copy=copy, order=order, ndmin=ndmin)
        if not kwargs.get("subok"):
            return made
        return value if made is own else value._funcgrad_like(made)
    if isinstance(value, HeldObjects) and (dtype is None or np.dtype(dtype).kind == "O"):
        own = value.view(np.ndarray)
        made = array(own, dtype, copy=copy, order=order, ndmin=ndmin)
        return value if made is own else np.asarray(made).view(HeldObjects)
    if isinstance(value, MutableArray) and not copy and _is_as_asked(value, dtype, order):
        missing = (1,) * (ndmin - value.ndim)
        return value.reshape(missing + value.shape) if missing else value
    as_asked = type(value) is Expr and (dtype is None or value.dtype == np.dtype(dtype))
    if as_asked and not copy and order != "F" and value.ndim >= max(ndmin, 1):
        return shared_argument(value)  # a store would have to reach the expression
    value = _without_class(value, dtype)
    lend(value)
    given = unwrapped(value)
    if not holds_expr(given):
        try:
            made = np.array(given, dtype, copy=copy, order=order, ndmin=ndmin, **kwargs)
        except (TypeError, ValueError):
            value = given = shape_module.as_lists(given)
            if not holds_expr(given):
                raise
        else:
            return borrowed(made) if made is given else cell_of(made)
    if kwargs.keys() - {"device", "like", "subok"}:
        raise TypeError(
            f"array: expected no {', '.join(kwargs)} with traced values; they have no classes or layouts"
        )
    return _array_of_traced(value, given, dtype, order, ndmin)


def _array_of_traced(value: Any, given: Any, dtype: Any, order: Any, ndmin: int) -> Any:
    """The array of what holds traced values; ``given`` is the value without references."""
    if _are_objects(value, dtype):
        return array_of_objects(value)
    # Text has no derivative, as str(x) has none.
    if dtype is not None and np.dtype(dtype).kind in "SU":
        return np.array(concrete_value(shape_module.array(given), "an array of text"), dtype)
    made = shape_module.array(given, dtype)
    made = made if made.shape else shape_module.as_numpys(made)
    cell = cell_of(shape_module.reshape(made, (1,) * (ndmin - made.ndim) + made.shape))
    if isinstance(value, Reference) or order == "F":
        like = layout_of(value) if isinstance(value, Reference) else np.empty(made.shape)
        state_of(cell).layout = np.empty_like(like, made.dtype, order, shape=cell.shape)
    return cell


def _without_class(value: Any, dtype: DTypeLike | None) -> Any:
    """The list or the array that an instance of another class stands for."""
    if isinstance(value, OTHER_LISTS):
        value = list(value)
    elif _is_of_objects(value) and dtype is not None and np.dtype(dtype).kind != "O":
        value = value.view(ObjectArray).astype(dtype)  # NumPy would ask its entries for numbers
    if type(value) is list or type(value) is tuple:
        labeled = any([hasattr(kind, "_funcgrad_operators") for kind in set(map(type, value))])
        return [unlabeled(item) for item in value] if labeled else value
    if isinstance(value, np.poly1d):
        return value.coeffs  # which may be traced
    if type(value).__module__.partition(".")[0] == "pandas" and is_traced_column(value):
        return value.to_numpy()
    return array_held_by(value)  # an instance of an adopted class may make one of adopted arrays


def _is_of_objects(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "O"


def _are_objects(value: object, dtype: DTypeLike | None) -> bool:
    """Whether NumPy would make an array of objects: one of such a dtype, or of dicts."""
    if dtype is not None:
        return np.dtype(dtype) == object
    while isinstance(value, list | tuple) and value:
        value = value[0]
    return isinstance(value, dict)


def _is_as_asked(cell: Any, dtype: Any, order: Literal["K", "A", "C", "F"]) -> bool:
    """Whether an array has the wanted dtype and order, so that it need not be copied."""
    same = dtype is None or cell.dtype == np.dtype(dtype)
    if selection_of(cell) is not None:  # entries of one axis, which stand side by side
        return bool(same)
    flags = cell.flags
    laid_out = {"C": flags.c_contiguous, "F": flags.f_contiguous}.get(order, True)
    return bool(same and laid_out)


def is_traced_column(value: Any) -> bool:
    """Whether an object of pandas holds an expression (`funcgrad.tables.traced_columns`)."""
    dtypes = getattr(value, "dtypes", ())  # one of a Series, and a Series of those of a frame
    return any([dtype == "traced" for dtype in (dtypes if hasattr(dtypes, "items") else [dtypes])])


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, **kwargs: Any
) -> Any:
    """As `numpy.asarray`: an array that can be written is returned as it is.

    An array of NumPy's own is shared until the first store, which copies it.
    """
    return array(a, dtype, copy=copy, order=order or "K", **kwargs)


def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, **kwargs: Any
) -> Any:
    """As `numpy.asanyarray`: as `asarray`, and a masked array stays one."""
    return array(a, dtype, copy=copy, order=order or "K", subok=True, **kwargs)


def ascontiguousarray(a: object, dtype: DTypeLike | None = None, **kwargs: object) -> Any:
    """As `numpy.ascontiguousarray`: of one axis at least, in C order."""
    return array(a, dtype, copy=None, order="C", ndmin=1, **kwargs)


def asfortranarray(a: object, dtype: DTypeLike | None = None, **kwargs: object) -> Any:
    """As `numpy.asfortranarray`."""
    return array(a, dtype, copy=None, order="F", ndmin=1, **kwargs)


def require(
    a: object,
    dtype: DTypeLike | None = None,
    requirements: str | Iterable[str] | None = None,
    *,
    like: object = None,
) -> Any:
    """As `numpy.require`: the array itself if it is as it must be."""
    wanted = {name[:1].upper() for name in requirements or ()} - {"E"}  # as NumPy's names begin
    if {"C", "F"} <= wanted:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = "F" if "F" in wanted else "C" if "C" in wanted else "A"
    made = array(a, dtype, copy=None, order=order, like=like)
    return made if all([made.flags[name] for name in wanted]) else made.copy(order)


def asarray_chkfinite(a: object, dtype: DTypeLike | None = None, order: object = None) -> Any:
    """As `numpy.asarray_chkfinite`: whether the entries are finite is read from
    their values.
    """
    made = asarray(a, dtype, order)
    if made.dtype.kind in "fc" and not bool(np.all(np.isfinite(current(made)))):
        # No refusal: where an example decides, its path ends, as one that raises an error does.
        raise as_of_numbers(ValueError("array must not contain infs or NaNs"))
    return made


def copy(a: Array, order: Literal["K", "A", "C", "F"] = "K", subok: bool = False) -> Any:
    """As `numpy.copy`: an array of its own."""
    return array(a, copy=True, order=order, subok=subok)


def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **kwargs: Any) -> Any:
    """As `numpy.full`, of a number or a traced value."""
    fill, lengths = unwrapped(fill_value), unwrapped(shape)
    if not holds_expr(fill):
        return cell_of(np.full(_plain(lengths, "full"), fill, dtype, order, **kwargs))
    sizes = tuple(map(index, lengths if np.iterable(lengths) else (lengths,)))
    lend(fill_value)
    filled = shape_module.broadcast_to(shape_module.array(fill), sizes)
    return cell_of(filled if dtype is None else shape_module.astype(filled, dtype))


def kaiser(M: object, beta: object) -> Any:  # as NumPy names it
    """As `numpy.kaiser`, differentiable in beta."""
    size, shape_of_window = plain_value(M), plain_value(beta)
    if not holds_expr([size, shape_of_window]):
        return cell_of(np.kaiser(size, shape_of_window))
    if size == 1:
        return cell_of(np.ones(1))
    n, middle = np.arange(0, float(size)), (float(size) - 1) / 2.0
    height = np.sqrt(1 - ((n - middle) / middle) ** 2.0)
    return cell_of(np.i0(shape_of_window * height) / np.i0(shape_of_window))


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    **kwargs: Any,
) -> Any:
    """As `numpy.full_like`."""
    made = empty_like(a, dtype, order, subok, shape)
    plain(made)[...] = fill_value
    return made


def empty_like(
    prototype: object,
    dtype: DTypeLike | None = None,
    order: Literal["K", "A", "C", "F"] = "K",
    subok: bool = True,
    shape: int | Sequence[int] | None = None,
    **kwargs: object,
) -> Any:
    """As `numpy.empty_like`: zeros."""
    return zeros_like(prototype, dtype, order, subok, shape)


def _like(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def like(
        a: object,
        dtype: DTypeLike | None = None,
        order: Literal["K", "A", "C", "F"] = "K",
        subok: bool = True,
        shape: int | Sequence[int] | None = None,
        **kwargs: object,
    ) -> Any:
        made = cell_of(function(_laid_out(a), dtype, order, subok, shape))
        return a._funcgrad_like(made) if subok and isinstance(a, SubclassedArray) else made

    return with_name(like, name, f"As `numpy.{name}`.")


zeros_like = _like(np.zeros_like, "zeros_like")
ones_like = _like(np.ones_like, "ones_like")


def _laid_out(a: object) -> Any:
    """An array of NumPy's with the shape, dtype and strides of another."""
    if isinstance(a, Reference):
        return layout_of(a)
    if type(a).__module__.partition(".")[0] == "pandas" and is_traced_column(a):
        a = a.to_numpy()  # type: ignore[attr-defined]
    if holds_expr(unwrapped(a)):
        made = shape_module.array(a)
        return np.broadcast_to(np.zeros((), made.dtype), made.shape)
    return np.asarray(unwrapped(a))


def arange(*limits: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """As `numpy.arange`; traced limits are concretized to find the number of
    entries.

    >>> import funcgrad as fg
    >>> fg.grad(lambda x: arange(x, 3.0, 0.5 * x).sum())(1.0)
    7.0
    """
    given = dict(zip(("start", "stop", "step"), limits, strict=False))
    if len(limits) == 1 and kwargs.get("stop") is None:
        given = {"stop": limits[0]}
    named = {key: kwargs.pop(key) for key in ("start", "stop", "step") if key in kwargs}
    given |= {key: value for key, value in named.items() if value is not None}
    start, stop, step = [plain_value(given.get(key)) for key in ("start", "stop", "step")]
    start, step = 0 if start is None else start, 1 if step is None else step
    known = [_in_its_precision(item) for item in (start, stop, step)]
    made = np.arange(*known, dtype=dtype, **kwargs)
    if not (_is_differentiable(start) or _is_differentiable(step)):
        return cell_of(made)
    first, second = start, start + step
    if dtype is not None and made.dtype.kind in "iu":  # NumPy rounds the first two
        first, second = [shape_module.astype(x, made.dtype) for x in (first, second)]
    traced = first + (second - first) * np.arange(made.size)  # rounded as NumPy does
    return mutable(traced if dtype is None else shape_module.astype(traced, dtype))


def _in_its_precision(item: object) -> Any:
    """A limit of a range as a number of its own dtype: NumPy counts in the precision of the limits."""
    value = concrete_value(item, "arange")
    return item.dtype.type(value) if isinstance(item, Expr) else value


def _is_differentiable(item: object) -> bool:
    return isinstance(item, Expr) and item.dtype.kind in "fc"


def _plain(item: object, asker: str) -> Any:
    """Numbers in the place of traced integers, such as lengths."""
    if isinstance(item, list | tuple):
        return tuple([_plain(part, asker) for part in item])
    return concrete_value(item, asker)


def _sized(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that makes an array of given lengths."""

    def plain_length(item: object) -> Any:
        given = unwrapped(item)
        return _plain(given, function.__name__) if holds_expr(given) else given

    @wraps(function)
    def made(*args: object, like: object = None, **kwargs: object) -> Any:
        named = {key: plain_length(item) for key, item in kwargs.items()}
        return cell_of(function(*map(plain_length, args), **named))

    return made


zeros = _sized(np.zeros)
ones = _sized(np.ones)
empty = _sized(np.zeros)
eye = _sized(np.eye)
identity = _sized(np.identity)


def fromiter(iter: Iterable[Any], dtype: Any, count: int = -1, **kwargs: Any) -> Any:
    """As `numpy.fromiter`, of numbers that may be traced."""
    items = list(iter) if count < 0 else list(islice(iter, count))
    if not holds_expr(items):
        return cell_of(np.fromiter(items, dtype, count, **kwargs))
    return array(items, dtype)


def ndenumerate(arr: object) -> Any:
    """As `numpy.ndenumerate`: pairs of an index and the entry there."""
    given = asarray(arr)
    return ((place, given[place]) for place in np.ndindex(given.shape))


def take(
    a: Any,
    indices: Any,
    axis: Any = None,
    out: Any = None,
    mode: Literal["raise", "wrap", "clip", "fill"] | None = "raise",
    *,
    fill_value: Any = None,
    **_: Any,
) -> Any:
    """As `numpy.take`, which does not dispatch on its indices: traced ones select
    in the program. Mode "fill" and the hints are those of `jax.numpy`.
    """
    places: Any = unwrapped(indices)
    if isinstance(places, list | tuple) and holds_expr(places):
        places = unwrapped(array(places))
    if isinstance(a, list | tuple) and holds_expr(a):
        a = array(a)
    if mode == "fill":
        before = (slice(None),) * (0 if axis is None else axis % np.ndim(a))
        whole = array(np.ravel(a) if axis is None else a, copy=False)
        return whole.at[(*before, places)].get(mode="fill", fill_value=fill_value)
    mode = mode or "raise"
    if not isinstance(places, Expr) or isinstance(unwrapped(a), Expr) or out is not None:
        return np.take(a, indices, axis, out=out, mode=mode)
    table = lent_value(a) if isinstance(a, Reference) else np.asarray(a)
    return mutable(indexing.take(table, places, axis, mode=mode))
