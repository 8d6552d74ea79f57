"""NumPy's functions whose results have no derivative: they run on concrete values, and jit guards the result.

Where entries of the argument come back, as from `numpy.unique`, only their places are concretized, and the
entries keep their derivative. Every function of integers alone has nothing to differentiate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from types import MappingProxyType
from typing import Any

import numpy as np

from funcgrad.arrays.values import by_value
from funcgrad.expr import Expr, concrete
from funcgrad.ops import reduction, scans_and_sorts, shape
from funcgrad.ops.base.op import lift_all, lift_fully
from funcgrad.ops.numpy.files import save, savez, savez_compressed
from funcgrad.ops.subscripts import index_update
from funcgrad.source import type_error, value_error
from funcgrad.typing import Array, ArrayLike


def answered(name: str, func: Any, args: Any, kwargs: Any) -> Any:
    """The result of a function without a derivative on concrete values, or NotImplemented."""
    stand_in = ANSWERED.get(func)
    if stand_in is not None:
        return stand_in(*args, **kwargs)
    exprs = list(_expressions((args, kwargs)))
    whole = all([x.traced and x.dtype.kind in "biu" for x in exprs])
    if func in _OF_VALUES or (exprs and whole):
        inside, named = by_value((args, kwargs), name)
        # A ufunc takes a number without a dtype for one that gives way to arrays; texts are of arrays.
        is_ufunc = isinstance(getattr(func, "__self__", None), np.ufunc)
        if is_ufunc or func in _OF_VALUES:
            inside = [
                (np.asarray(v)[()] if is_ufunc else np.asarray(v)) if isinstance(x, Expr) else v
                for v, x in zip(inside, args, strict=True)
            ]
        return func(*inside, **named)
    return NotImplemented


def is_answered_by_value(func: object) -> bool:
    """Whether a function without a derivative runs on concrete values.

    >>> is_answered_by_value(np.unique), is_answered_by_value(np.einsum_path)
    (True, False)
    """
    return func in ANSWERED or func in _OF_VALUES


def counted(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an array whose further arguments are counts or places: traced ones are concretized."""

    @wraps(function)  # whose signature tells how NumPy's names are those of its own
    def on_plain(x: Array, *args: Array, **kwargs: object) -> Any:
        inside, named = by_value((args, kwargs), function.__name__)
        return function(x, *inside, **named)

    return on_plain


def _expressions(tree: object) -> Iterable[Any]:
    if isinstance(tree, Expr):
        yield tree
    elif isinstance(tree, list | tuple | dict):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _expressions(item)


def unique(
    ar: object,
    return_index: object = False,
    return_inverse: object = False,
    return_counts: object = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """As `numpy.unique`, sorted: which entries come back is read from the values; they keep their derivative.

    >>> from funcgrad import grad
    >>> grad(lambda x: np.sum(np.unique(x) * np.array([1.0, 10.0])))(np.array([3.0, 2.0, 3.0]))
    array([10., 1., 0.])
    """
    x = lift_fully(ar)
    flat, place = (shape.ravel(x), 0) if axis is None else (x, axis)
    length = flat.shape[place]
    # One vector: the places, then for each entry the number of its like.
    answer = concrete(flat, "unique", _places(axis, bool(equal_nan)))
    index, inverse = answer[: len(answer) - length], answer[len(answer) - length :]
    found = [np.take(flat, index, place)]
    if return_index:
        found.append(index)
    if return_inverse:
        found.append(inverse.reshape(x.shape) if axis is None else inverse)
    if return_counts:
        found.append(np.bincount(inverse, minlength=len(index)))
    return found[0] if len(found) == 1 else tuple(found)


@lru_cache(maxsize=64)
def _places(axis: int | None, equal_nan: bool) -> Callable[[Any], Any]:
    def unique(value: Array) -> Any:
        _, index, inverse = np.unique(value, True, True, axis=axis, equal_nan=equal_nan)
        return np.concatenate([index, np.ravel(inverse)])

    return unique


def bincount(x: object, weights: Any = None, minlength: Any = 0) -> Any:
    """As `numpy.bincount`, differentiable in the weights; the number of bins is read from the values."""
    places = lift_fully(x)
    if places.ndim != 1 or places.dtype.kind not in "biu":
        raise type_error(f"bincount: expected a vector of integers, but got {places.type}")
    low, high = (int(np.min(places)), int(np.max(places))) if places.size else (0, -1)
    if low < 0:
        raise value_error(f"bincount: expected places of 0 or more, but got {low}")
    count = max(high + 1, int(minlength))
    if weights is None:
        weights = np.ones(places.size, int)
    else:
        weights = lift_fully(weights)
        if weights.dtype.kind == "c":
            raise type_error(
                f"bincount: expected real weights, but got {weights.type}; count the real and the imaginary "
                "part on their own",
            )
        if weights.shape != places.shape:
            raise value_error(
                f"bincount: expected a weight for each of {places.size} values, but got {weights.type}",
            )
        weights = shape.astype(weights, float)
    zeros = np.zeros(count, weights.dtype)
    return index_update(zeros, shape.astype(places, int), weights, "add")


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: object = False,
    invert: object = False,
    **_: object,
) -> Any:
    """As `numpy.isin`, by comparing each with each."""
    x, among = lift_fully(element), shape.ravel(lift_fully(test_elements))
    found = reduction.any(shape.expand_dims(x, -1) == among, axis=-1)
    return ~found if invert else found


def digitize(x: ArrayLike, bins: object, right: ArrayLike = False) -> Any:
    """As `numpy.digitize`; whether the bins rise or fall is read from their values."""
    bins, x = lift_all((bins, x))
    if x.dtype.kind == "c":
        raise type_error(f"digitize: expected real numbers, but got {x.type}")
    before, after = bins[:-1], bins[1:]  # compared, since a difference of integers may overflow
    if bool(np.all(after >= before)):
        return scans_and_sorts.searchsorted(bins, x, "left" if right else "right")
    if bool(np.all(after <= before)):
        return len(bins) - scans_and_sorts.searchsorted(bins[::-1], x, "left" if right else "right")
    raise value_error(
        f"digitize: expected bins that rise or fall, but got {bins.type} that do both"
    )


def array_equiv(a1: object, a2: object) -> Any:
    """As `numpy.array_equiv`: a truth value, concretized when Python needs it."""
    a, b = lift_fully(a1), lift_fully(a2)
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return shape.as_pythons(reduction.all(a == b))


ANSWERED: Mapping[Any, Callable[..., Any]] = MappingProxyType(
    {
        np.unique: unique,
        np.bincount: bincount,
        np.isin: isin,
        np.digitize: digitize,
        np.array_equiv: array_equiv,
        np.save: save,
        np.savez: savez,
        np.savez_compressed: savez_compressed,
    }
)
"""What runs in the place of each of these functions of NumPy."""

_OF_VALUES = frozenset({np.lexsort, np.array_str, np.array_repr, np.array2string})
"""Functions that return places or texts, of floats as well."""
