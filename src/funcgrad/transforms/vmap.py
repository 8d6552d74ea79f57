"""vmap: a function of one example becomes a function of a batch of examples.

The function runs once, on an `example` of each batch. `autodiff.batching` then gives every node that depends
on an example a batch axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from funcgrad.autodiff.batching import Batch
from funcgrad.expr import Expr, result
from funcgrad.expr.scope_order import innermost_scope
from funcgrad.ops.base.foreign_arrays import refuse_others
from funcgrad.ops.base.op import example, lift_fully
from funcgrad.ops.shape import holds_expr, moveaxis
from funcgrad.source import tell_line, type_error, value_error
from funcgrad.trace.derive import derive
from funcgrad.trace.examples import Examples, over_examples
from funcgrad.trace.leaves import Scope, named_leaves, parameter_names, run, run_on_leaves
from funcgrad.trace.outer_arrays import held_expressions, reached
from funcgrad.trace.pytree import Tree, flatten, leaves_of
from funcgrad.trace.random_draws import outer_generators, warn_of_draws
from funcgrad.trace.shared_arguments import refuse_stored
from funcgrad.trace.static import is_static_value
from funcgrad.trace.tree_nodes import own_children
from funcgrad.transforms.curried import LATER, curried
from funcgrad.transforms.formulas_of import formulas_of, numeric_arguments
from funcgrad.transforms.transform_arguments import (
    check_function,
    named_after,
    refuse_ranges,
    titled,
)
from funcgrad.typing import Array

if TYPE_CHECKING:
    from funcgrad.transforms.transform_types import TransformedFunction


@overload
def vmap(
    f: Callable[..., Any], in_axes: object = 0, out_axes: Any = 0
) -> TransformedFunction[...]: ...


@overload
def vmap(
    *, in_axes: object = 0, out_axes: Any = 0
) -> Callable[[Callable[..., Any]], TransformedFunction[...]]: ...


@curried
def vmap(
    f: Callable[..., Any] = LATER, in_axes: object = 0, out_axes: Any = 0
) -> Callable[..., Any]:
    """The function that maps f over an axis of its arguments, in one run and
    without a loop.

    ``in_axes`` gives the batch axis of each argument: an int for all, or a
    tuple with one entry an argument, each an int, None for an argument that
    all examples share, or a tree of those. ``out_axes`` gives the batch axis
    of each result likewise, None for a result that all examples share, which
    comes back once. Without f, a decorator.

    f may depend on its values (``if x > 0``, ``while x > 1``, ``int(x)``,
    ``a[x > 0]``): examples that give the same answers share a run, up to 64
    runs, which computes for them alone. The results must have one shape. In a
    function whose program runs on other values (`jit`, bodies of loops), f
    runs once for each path through its branches; where these have no end, or
    their results no common shape, `jit` traces again for other answers, and
    bodies of loops are refused: write `while_loop` there.

    Raises TypeError if f is not a function, or an axis no int; ValueError if
    the batch axes differ in length or do not exist.

    >>> import numpy as np
    >>> vmap(np.dot)(np.array([[1.0, 2.0], [3.0, 4.0]]), np.eye(2))
    array([1., 4.])
    >>> vmap(lambda x, y: x * y, in_axes=(0, None))(np.array([1.0, 2.0]), 3.0)
    array([3., 6.])
    """
    check_function("vmap", f)
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)

    @named_after(f)
    def mapped(*args: Array, **kwargs: object) -> Any:
        whole = flatten((args, kwargs))
        _check_arguments(whole, args, kwargs)
        given = _axes_of_arguments(in_axes, args)
        axes = [*given, *[0] * (len(whole.leaves) - len(given))]
        size = _size(f, args, whole, axes)
        batches = [
            None if axis is None else batch_first(value, axis)
            for value, axis in zip(whole.leaves, axes, strict=True)
        ]

        # What a caller of an enclosing trace has, it may read after a store.
        plain = [value for value in whole.leaves if type(value) is np.ndarray]

        def on_one(*batched: Expr) -> Any:
            examples = Examples(size, batched)
            ones = iter(examples.ones)
            inner, named = whole.rebuild(
                [
                    value if batch is None else next(ones)
                    for value, batch in zip(whole.leaves, batches, strict=True)
                ]
            )
            own = set(map(id, [*examples.ones, *plain]))
            return over_examples(lambda: run(f, inner, named, "vmap", own), examples)

        on_one.__name__ = getattr(f, "__name__", "function")
        present = [batch for batch in batches if batch is not None]
        generators = outer_generators(list(reached(f)))
        scope = Scope()
        try:
            output, leaves = run_on_leaves(on_one, present, {}, scope=scope)
            if scope.stored:
                places = [i for i, batch in enumerate(batches) if batch is not None]
                refuse_stored(f, named_leaves(f, args, kwargs), [places[k] for k in scope.stored])
            warn_of_draws("vmap", "the function", generators, _SHARED)
            _refuse_captured(output, scope.number)
            return _results(output, leaves, size, out_axes)
        except _OF_PROGRAMS as error:
            if not hasattr(error, "__notes__") and not any(map(holds_expr, whole.leaves)):
                tell_line(error, lambda: _one_by_one(f, whole, batches, size))
            raise

    def expr(*args: object, **kwargs: object) -> Any:
        return formulas_of(mapped, args, kwargs, numeric_arguments(f, args))

    return titled(mapped, f, "vmap", "{} on each example of a batch.", expr)


_OF_PROGRAMS = (ArithmeticError, LookupError, np.linalg.LinAlgError)
"""Errors that a program raises as it runs."""
_MOST_TOLD = 1000
"""The examples that run one by one to find the line of an error."""


def _results(output: Any, leaves: Sequence[Expr], size: int, out_axes: Any) -> Any:
    """The results for all examples of a batch, of the result on leaves that stand for any one."""
    tree = flatten(output)
    axes = _axes_of_results(out_axes, output, len(tree.leaves))
    same = tuple([i for i, axis in enumerate(axes) if axis is None])
    roots = [lift_fully(item) for item in tree.leaves]
    # Which examples have which of several results depends on the batch, if the results do not.
    joined = any([root.op is example for root in roots])
    start = leaves[0].params[0][1].number if joined else None
    values = derive(Batch(size, same), roots, leaves, start=start)
    return tree.rebuild([_placed(value, axis) for value, axis in zip(values, axes, strict=True)])


def _one_by_one(
    f: Callable[..., Any], whole: Tree, batches: Sequence[Array | None], size: int
) -> None:
    """Call a function on the examples of a batch, one after the other."""
    for place in range(min(size, _MOST_TOLD)):
        one = [
            value if batch is None else np.asarray(batch)[place]
            for value, batch in zip(whole.leaves, batches, strict=True)
        ]
        args, kwargs = whole.rebuild(one)
        f(*args, **kwargs)


def _refuse_captured(output: object, start: int) -> None:
    """Refuse functions and classes among results that keep values of one example."""
    if type(output) is Expr:
        return
    for leaf in leaves_of(output):
        if is_static_value(leaf) and any(
            [innermost_scope(value) >= start for value in held_expressions(leaf)]
        ):
            raise type_error(
                f"vmap: expected f to return trees of numbers and arrays, but got {type(leaf).__name__} that "
                "holds a value of one example; return the value, and make the function of it outside",
            )


_SHARED = (
    "all examples share them; draw an array outside with an entry for each, and map over it as well"
)
"""Of random numbers: who shares them, and what to write."""


def _check_arguments(whole: Tree, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
    if not whole.leaves:
        kinds = " and ".join([type(arg).__name__ for arg in args]) or "nothing"
        raise value_error(
            f"vmap: expected arrays to map over, but got {kinds}; write np.arange(3), or "
            "np.array([...]) for the examples",
        )
    for value in whole.leaves:
        refuse_others("vmap", value)
    refuse_ranges("vmap", kwargs)


# -- axes ----------------------------------------------------------------------------------------
def batch_first(value: Any, axis: int) -> Any:
    """A batch with the axis that counts the examples moved to the front."""
    if isinstance(value, Expr):
        return moveaxis(value, axis, 0)
    return np.moveaxis(np.asarray(value), axis, 0)


def _check_axes(name: str, axes: object) -> None:
    for axis in leaves_of(axes):
        if axis is not None and not isinstance(axis, int | np.integer):
            raise type_error(
                f"vmap: expected {name} to be an int, None or a tuple of them, but got "
                f"{type(axis).__name__}; write vmap(f)(x)",
            )


def _axes_of_arguments(in_axes: object, args: tuple[Any, ...]) -> list[int | None]:
    if in_axes is None or isinstance(in_axes, int | np.integer):
        if in_axes is not None:
            refuse_ranges("vmap", args)
        return [None if in_axes is None else int(in_axes)] * len(flatten(args).leaves)
    if not isinstance(in_axes, tuple | list) or len(in_axes) != len(args):
        raise value_error(
            f"vmap: expected in_axes to be an int or a tuple of {len(args)}, one for each argument, "
            f"but got {in_axes!r}",
        )
    return [
        axis
        for spec, arg in zip(in_axes, args, strict=True)
        for axis in _prefix("in_axes", spec, arg)
    ]


def _axes_of_results(out_axes: object, output: object, count: int) -> list[int | None]:
    axes = _prefix("out_axes", out_axes, output)
    if len(axes) != count:
        raise value_error(
            f"vmap: expected out_axes to give an axis for each of {count} results, but got {out_axes!r}",
        )
    return axes


def _prefix(name: str, spec: object, tree: object) -> list[int | None]:
    """One axis a leaf, from a tree of axes that is a prefix of the tree of values."""
    if spec is None or (isinstance(spec, int | np.integer) and not isinstance(spec, bool)):
        if spec is not None and name == "in_axes":
            refuse_ranges("vmap", tree)
        return [None if spec is None else int(spec)] * len(flatten(tree).leaves)
    children = _children(tree)
    wanted = _children(spec)
    if children is None or wanted is None or children.keys() != wanted.keys():
        raise value_error(
            f"vmap: expected {name} of the structure of its values, or an int or None, but got {spec!r}",
        )
    return [axis for key in children for axis in _prefix(name, wanted[key], children[key])]


def _children(tree: object) -> dict[Any, Any] | None:
    """The children of a container, in the order of their leaves."""
    if isinstance(tree, dict):
        return {key: tree[key] for key in sorted(tree)}
    if isinstance(tree, list | tuple):
        return dict(enumerate(tree))
    own = own_children(tree)  # a dataclass, or one of pyrsistent's
    return None if own is None else dict(zip(own.labels, own.children, strict=True))


def _size(
    f: Callable[..., Any], args: Sequence[Any], whole: Tree, axes: Sequence[int | None]
) -> int:
    """The number of examples, which all arguments that are mapped over have."""
    sizes: dict[int, int] = {}
    for place, (value, axis) in enumerate(zip(whole.leaves, axes, strict=True)):
        if axis is None:
            continue
        shape = np.shape(value)
        if isinstance(axis, bool) or not -len(shape) <= axis < len(shape):
            lists = any([isinstance(arg, list | tuple) for arg in args])
            hint = _LISTS if lists and not shape else _SAME
            name = _name(whole.paths[place], f, len(args))
            raise value_error(
                f"vmap: expected an argument with an axis {axis}, but got shape {shape} of {name}; {hint}",
            )
        sizes.setdefault(shape[axis], place)
    if not sizes:
        raise value_error(
            "vmap: expected at least one argument to map over, but in_axes names none"
        )
    if len(sizes) > 1:
        found = [
            f"{size} in axis {axes[i]} of {_name(whole.paths[i], f, len(args))}"
            for size, i in sizes.items()
        ]
        raise value_error(
            f"vmap: expected one number of examples, but got {' and '.join(found)}; {_SAME}",
        )
    return next(iter(sizes))


_LISTS = "a list is a tree whose leaves are mapped over: write np.array([...]) for the examples"
_SAME = "give in_axes with None for arguments that are the same for all examples"


def _name(path: str, f: Callable[..., Any], count: int) -> str:
    """What a leaf of the arguments, by position and by name, is called: its argument, and its place in it."""
    _, by_name, argument, *place = path.split("_", 3)
    known = argument if by_name == "1" else parameter_names(f, count)[int(argument)]
    return "_".join([known, *place])


def _placed(value: Any, axis: int | None) -> Any:
    if axis is None:
        return result(value)
    if not -np.ndim(value) <= axis < np.ndim(value):
        raise value_error(
            f"vmap: expected out_axes between {-np.ndim(value)} and {np.ndim(value) - 1}, "
            f"but got {axis}",
        )
    if isinstance(value, Expr):
        return moveaxis(value, 0, axis)
    return result(value if axis == 0 else np.array(np.moveaxis(value, 0, axis)))
