"""What operations that work along axes have in common: how axes are given, batched and walked along.

No operation is declared here, and nothing that stands in for a function of NumPy's.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

import numpy as np
from numpy.exceptions import AxisError
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from funcgrad.arrays.reference import Reference
from funcgrad.arrays.values import by_value
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully, op_named
from funcgrad.source import fail, value_error
from funcgrad.typing import Array, Axes


def counts_of(name: str, given: Any) -> tuple[int, ...]:
    """A shape, axes or numbers of points, one or several, as integers: traced ones are concretized."""
    if type(given) is tuple and _INT.issuperset(map(type, given)):  # the common case
        return given
    if isinstance(given, (Expr, Reference, np.ndarray)):
        given = np.asarray(by_value(given, name)).tolist()
    return tuple([operator.index(n) for n in (given if np.iterable(given) else (given,))])


_INT = frozenset((int,))


def axis_index(name: str, axis: SupportsIndex, x: Expr | Array) -> int:
    """An ``axis`` argument of an operation on x as an axis from 0."""
    try:
        return normalize_axis_index(operator.index(axis), x.ndim)
    except (TypeError, ValueError) as error:
        raise _refusal(error, name, axis, x) from None


def axis_tuple(name: str, axis: Any, x: Expr | Array, more: int = 0) -> tuple[int, ...]:
    """An ``axis`` argument of an operation on x as axes from 0; the result may have ``more`` axes than x."""
    count = x.ndim + more
    if type(axis) is int and -count <= axis < count:  # the common case, at a tenth of the cost
        return (axis % count,)
    try:
        return normalize_axis_tuple(axis, count)
    except (TypeError, ValueError) as error:
        raise _refusal(error, name, axis, x, more) from None


def _refusal(error: Exception, name: str, axis: object, x: Expr | Array, more: int = 0) -> Any:
    """NumPy's error of an axis, of the same type, with the operation, the operand and the user's line."""
    count = x.ndim + more
    wanted = "distinct axes" if isinstance(error, ValueError) else "integers as axes"
    if isinstance(error, AxisError):
        wanted = f"an axis from {-count} to {count - 1}" if count else "no axis"
    made = f"a result of {count} axes" if more else f"{ArrayType(x.shape, x.dtype)}"
    return fail(type(error), f"{name}: expected {wanted} for {made}, but got axis {axis!r}")


def one_or_tuple(name: str, axis: Any, x: Expr | Array) -> tuple[int, ...]:
    """`axis_tuple` for a function that takes one integer or a tuple, and no list, as NumPy's reductions."""
    if not isinstance(axis, tuple):
        is_one = not isinstance(axis, bool) and hasattr(type(axis), "__index__")
        if not is_one or bool(getattr(axis, "ndim", 0)):
            raise _refusal(TypeError(), name, axis, x)
    return axis_tuple(name, axis, x)


def axes_of(name: str, axis: Axes, x: Expr | Array) -> tuple[int, ...]:
    """An ``axis`` argument of a reduction of x as a sorted tuple of axes from 0."""
    ndim = x.ndim
    if axis is None or (ndim == 0 and axis in (0, -1)):  # NumPy lets a scalar have one axis
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:  # the common case, at a tenth of the cost
        return (axis % ndim,)
    return tuple(sorted(one_or_tuple(name, axis, x)))


def keeps_axes(keepdims: Any) -> bool:
    """Whether reduced axes stay, with length 1: what is true says so, as in NumPy."""
    return keepdims is True or (keepdims is not np._NoValue and bool(keepdims))


def dropped(shape: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    """A shape without the axes that are reduced."""
    return tuple([n for i, n in enumerate(shape) if i not in axis])


def on_moved_axes(name: str) -> Callable[..., Any]:
    """The batching rule of what works along ``axis``: an axis later, behind that of the batch."""

    def batch(size: int, batched: Sequence[bool], x: Array, *, axis: Any) -> Any:
        moved = axis + 1 if isinstance(axis, int) else tuple(i + 1 for i in axis)
        return op_named(name)(x, axis=moved)

    return batch


def nonempty(name: str, x: object, axis: Any) -> Any:
    """An operand as an expression, refused where there is nothing to choose from."""
    x = lift_fully(x)
    if any(x.shape[i] == 0 for i in axes_of(name, axis, x)):
        raise value_error(f"{name}: expected at least one entry to reduce, but got {x.type}")
    return x


def scanned(combine: Callable[[Any, Any], Any], x: Array, axis: int) -> Any:
    """Running combinations in log2(n) operations on whole arrays (Hillis and Steele)."""
    step, length, head = 1, np.shape(x)[axis], (slice(None),) * axis
    while step < length:
        moved = combine(x[(*head, slice(None, length - step))], x[(*head, slice(step, None))])
        x = np.concatenate([x[(*head, slice(None, step))], moved], axis=axis)
        step *= 2
    return x


def shifted(x: Array, step: int, axis: int, filled: Callable[[Array], Any] = np.ones_like) -> Any:
    """The entries moved ``step`` places up an axis, with ones or other entries moved in."""
    head = (slice(None),) * axis
    kept = x[(*head, slice(None, np.shape(x)[axis] - step))]
    first = filled(x[(*head, slice(None, step))])
    return np.concatenate([first, kept], axis=axis)
