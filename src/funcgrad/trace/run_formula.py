"""evaluate: the values of formulas, of maps and trees of them, at numbers, on grids, and on expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.autodiff.accumulate import GradientMap
from funcgrad.autodiff.batching import every_example
from funcgrad.expr import Expr, const, no_expression, present, var
from funcgrad.graph import ArrayType, Key, subexpressions
from funcgrad.ops.base.op import example, leaf
from funcgrad.rewrite.evaluate import (
    evaluate_roots,
    fitted,
    traced_leaves,
    values_by_name,
    variables,
)
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.rewrite.substitute import derived_as, substitute_all
from funcgrad.source import type_error, value_error
from funcgrad.trace.pytree import flatten


def evaluate(formulas: object, values: Mapping[Any, Any] | None = None, /, **named: object) -> Any:
    """The value of an expression, given one for each of its variables; of a tree
    or map, of all its formulas.

    ``values`` maps names or variables to numbers or arrays; keywords do the
    same by name. Names that no variable has are ignored. A float64 scalar
    comes back as a Python float, other scalars as NumPy's, arrays as new
    arrays. Arrays given for scalar variables are a grid, on which the formula
    is mapped: they broadcast together, and the result's shape is the grid's,
    then the formula's. If a value is an expression, or the formula depends on
    a traced value, the result is an expression. As a fold:
    ``input = values[name]``, ``constant = its array``,
    ``op = op.run(*parents, **params)``.

    Raises TypeError if a variable has no value, or the value's shape or dtype
    does not fit; ValueError for grids that do not broadcast.

    >>> import funcgrad as fg
    >>> x, y = fg.vars("x y")
    >>> evaluate(x * x + y, x=3.0, y=1.0)
    10.0
    >>> evaluate(fg.gradient(x * x + y), x=3.0, y=1.0)
    {'x': 6.0, 'y': 1.0}
    >>> evaluate(x * x, x=[1.0, 2.0, 3.0])
    array([1., 4., 9.])
    >>> evaluate(x * x, x=y + 1)
    let a = y + 1
    in a*a
    """
    if isinstance(formulas, Expr):
        return _values([formulas], values, named)[0]
    if isinstance(formulas, GradientMap):
        # Simplified, as those of `grad` are: what a condition does not select meets no infinite factor.
        return formulas.with_values(
            lambda roots: _values(simplify_all(roots, mode="derivative"), values, named)
        )
    tree = flatten(formulas)
    static = not tree.leaves and (isinstance(formulas, str) or callable(formulas))
    if static or (len(tree.leaves) == 1 and tree.leaves[0] is formulas):
        raise no_expression("evaluate", formulas)
    exprs = tree.without(lambda leaf: not isinstance(leaf, Expr))
    return exprs.rebuild(_values(exprs.leaves, values, named))


def _values(
    roots: Sequence[Expr], values: Mapping[Any, Any] | None, named: Mapping[str, object]
) -> list[Any]:
    wanted = variables(*roots)
    given = {
        name: plain_value(value) for name, value in values_by_name(wanted, values, named).items()
    }
    on_grid = [name for name, x in wanted.items() if not x.shape and np.ndim(given[name])]
    if on_grid:
        return _on_grid(roots, {name: wanted[name] for name in on_grid}, given)
    if not any([isinstance(value, Expr) for value in given.values()]) and not any(
        [root.traced is not None and root.traced.open for root in roots]
    ):
        arrays = {name: fitted(name, given[name], x.type) for name, x in wanted.items()}
        return [present(value) for value in evaluate_roots(roots, arrays)]
    replaced = {x.key: _operand(name, given[name], x.type) for name, x in wanted.items()}
    return [
        derived_as(root, new)
        for root, new in zip(
            roots, substitute_all(roots, replaced | traced_leaves(roots)), strict=True
        )
    ]


def _operand(name: str, value: object, type: ArrayType) -> Expr:
    """A value in a variable's place, as an expression of its type."""
    if not isinstance(value, Expr):
        return const(fitted(name, value, type))
    if value.shape != type.shape or not np.can_cast(value.dtype, type.dtype, "same_kind"):
        raise type_error(f"evaluate: expected {type} for {name}, but got {value.type}")
    return value if value.dtype == type.dtype else value.astype(type.dtype)


# -- grids ---------------------------------------------------------------------------------------
def _on_grid(
    roots: Sequence[Expr], wanted: Mapping[str, Expr], given: Mapping[str, Any]
) -> list[Any]:
    """The values of scalar formulas at every point; ``wanted`` are the variables given by arrays."""
    arrays = {
        name: given[name] if isinstance(given[name], Expr) else np.asarray(given[name])
        for name in wanted
    }
    shapes = {name: array.shape for name, array in arrays.items()}
    try:
        grid = np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join([f"{name}: {shape}" for name, shape in shapes.items()])
        raise value_error(
            f"evaluate: expected arrays that broadcast to one grid, but got shapes {listed}; write "
            "np.meshgrid(x, y)",
        ) from None
    size = int(np.prod(grid))
    # A traced value is the same at all points: what it is computed from is not mapped.
    batch: dict[Key, tuple[Expr, bool]] = {
        expr.key: (expr, False) for expr in subexpressions(*roots) if expr.op in (leaf, example)
    }
    points = dict(given)
    for name, x in wanted.items():
        batch[x.key] = var(name, (size,), x.dtype), True
        points[name] = np.reshape(np.broadcast_to(arrays[name], grid), (size,))
    mapped = every_example(roots, size, batch)
    whole: list[Any] = [
        np.reshape(expr, (*grid, *root.shape)) for expr, root in zip(mapped, roots, strict=True)
    ]
    return _values(whole, points, {})
