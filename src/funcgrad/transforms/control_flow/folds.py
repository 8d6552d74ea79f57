"""reduce, accumulate, iterate and associative_scan, with the signatures of functools, itertools and toolz.

The first three are a `scan`: the function is traced once, and has derivatives of every order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.source import type_error, value_error
from funcgrad.trace.leaves import on_arrays, run
from funcgrad.trace.pytree import flatten
from funcgrad.transforms.control_flow.loops import check_functions, scan_named
from funcgrad.transforms.transform_arguments import refuse_ranges


class _Missing:
    """The marker of a missing initial value."""

    def __repr__(self) -> str:
        return "the first of xs"


_FIRST = _Missing()


def reduce(f: Callable[[Any, Any], Any], xs: object, initial: object = _FIRST) -> Any:
    """``f(f(f(initial, xs[0]), xs[1]), ...)``, as `functools.reduce`, on the
    first axis of ``xs``.

    ``xs`` may be a tree of arrays; f then gets trees of slices. The value
    keeps its structure and types. Without ``initial``, the value starts with
    the first slice.

    Raises TypeError if there is neither an initial value nor a first slice, or
    if f changes the structure, shape or dtype of the value; ValueError if the
    arrays of ``xs`` differ in length.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> def horner(r):
    ...     return reduce(lambda y, c: r * y + c, np.array([1, 2, 3.0]), 0.0)
    >>> fg.grad(horner)(10.0)
    22.0
    >>> reduce(np.maximum, np.array([1.0, 3.0, 2.0]))
    3.0
    """
    check_functions("reduce", f=f)
    initial, xs = _started("reduce", xs, initial)
    called = on_arrays(f)
    return scan_named("reduce", lambda value, x: (called(value, x), ()), initial, xs)[0]


def _started(name: str, xs: object, initial: object) -> tuple[Any, Any]:
    """The initial value and the sequence; without an initial value, the first slice and the rest."""
    refuse_ranges(name, xs)
    if initial is not _FIRST:
        return initial, xs
    tree = flatten(xs)
    if not tree.leaves or any([not np.ndim(x) or not np.shape(x)[0] for x in tree.leaves]):
        shapes = ", ".join([str(np.shape(x)) for x in tree.leaves]) or "none"
        raise type_error(
            f"{name}: expected arrays with a first entry to begin with, but got shapes {shapes}; give an "
            "initial value, and np.array(xs) for a list of numbers",
        )
    first, rest = (
        tree.rebuild([x[part] for x in map(_indexed, tree.leaves)]) for part in (0, slice(1, None))
    )
    return first, rest


def _indexed(x: object) -> Any:
    return x if isinstance(x, Expr) else np.asarray(x)


def accumulate(f: Callable[[Any, Any], Any], xs: object, initial: object = _FIRST) -> Any:
    """The intermediate values of `reduce`, ``initial`` first, stacked: as
    `itertools.accumulate`.

    Raises TypeError and ValueError as `reduce` does.

    >>> import numpy as np
    >>> accumulate(lambda y, x: 2 * y + x, np.array([1.0, 1.0, 1.0]), 0.0)
    array([0., 1., 3., 7.])
    >>> accumulate(np.multiply, np.array([1.0, 2.0, 3.0]))
    array([1., 2., 6.])
    """
    check_functions("accumulate", f=f)
    initial, xs = _started("accumulate", xs, initial)
    called = on_arrays(f)

    def step(value: object, x: object) -> tuple[Any, Any]:
        after = called(value, x)
        return after, after

    _, ys = scan_named("accumulate", step, initial, xs)
    return _after(initial, ys)


def iterate(f: Callable[[Any], Any], x: object, n: int) -> Any:
    """``x, f(x), f(f(x)), ...``, n values stacked: as
    ``toolz.take(n, toolz.iterate(f, x))``.

    Raises ValueError if n is not an int of at least 1; TypeError if f changes
    the structure, shape or dtype of its argument.

    >>> iterate(lambda x: x * x, 2.0, 4)
    array([  2.,   4.,  16., 256.])
    """
    check_functions("iterate", f=f)
    if not isinstance(n, int) or n < 1:
        raise value_error(f"iterate: expected a number of values, at least 1, but got {n!r}")
    called = on_arrays(f)

    def step(value: object, _: object) -> tuple[Any, Any]:
        after = called(value)
        return after, after

    _, ys = scan_named("iterate", step, x, None, n - 1)
    return _after(x, ys)


def _after(initial: object, ys: object) -> Any:
    """The first value followed by the stacked others."""
    rest = flatten(ys)
    first = flatten(initial).leaves
    joined = [
        np.concatenate([np.expand_dims(x, 0), y]) for x, y in zip(first, rest.leaves, strict=True)
    ]
    return rest.rebuild(joined)


def associative_scan(
    f: Callable[[Any, Any], Any], xs: object, reverse: bool = False, axis: int = 0
) -> Any:
    """The prefix scan of an associative function, in about log2(n) steps on whole
    arrays.

    Entry k of the result is ``f(...f(x0, x1)..., xk)``. ``f(a, b)`` gets trees
    of arrays with many entries along the axis, and must act on each entry
    separately, as in `jax.lax.associative_scan`. With ``reverse``, the scan
    runs from the last entry to the first. (Hillis and Steele 1986.)

    Raises ValueError if the arrays have no such axis or differ in length along
    it.

    >>> import numpy as np
    >>> associative_scan(np.multiply, np.array([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    check_functions("associative_scan", f=f)
    refuse_ranges("associative_scan", xs)
    tree = flatten(xs)
    if not isinstance(axis, int | np.integer):
        raise type_error(
            f"associative_scan: expected axis to be an int, but got {type(axis).__name__}; write axis=0",
        )
    shapes = {
        np.shape(value)[axis] if -np.ndim(value) <= axis < np.ndim(value) else None
        for value in tree.leaves
    }
    if len(shapes) != 1 or None in shapes:
        raise value_error(
            f"associative_scan: expected arrays of one length along axis {axis}, but got "
            f"{[np.shape(value) for value in tree.leaves]}",
        )
    length = shapes.pop() or 0
    moved = [np.moveaxis(value, axis, 0) for value in tree.leaves]
    if reverse:
        moved = [np.flip(value, 0) for value in moved]
    step = 1
    while step < length:  # each entry is combined with the entry ``step`` places before it
        before = tree.rebuild([value[:-step] for value in moved])
        after = tree.rebuild([value[step:] for value in moved])
        made = flatten(run(f, (before, after), {})).leaves
        expected, got = ([np.shape(value) for value in part] for part in (moved, made))
        kept = [(length - step, *shape[1:]) for shape in expected]
        if got != kept:
            raise value_error(
                f"associative_scan: expected f to return arrays of the shapes of its arguments, {kept}, "
                f"but got {got}; act on each entry along the first axis",
            )
        moved = [
            np.concatenate([value[:step], new]) for value, new in zip(moved, made, strict=True)
        ]
        step *= 2
    if reverse:
        moved = [np.flip(value, 0) for value in moved]
    return tree.rebuild([np.moveaxis(value, 0, axis) for value in moved])
