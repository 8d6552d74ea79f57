"""The results of transformed functions as formulas: what ``.expr(*args)`` of a transform returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.expr.formula_tuple import formulas
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.trace.derive import closed_tree
from funcgrad.trace.leaves import flatten_arguments, run_on_leaves
from funcgrad.trace.pytree import Tree, flatten


def formulas_of(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    trees: Mapping[int, Tree],
) -> Any:
    """The result of a transformed function, simplified, as formulas in its arguments.

    ``trees`` are the flattened arguments that become variables, by number.
    """
    output, leaves = run_on_leaves(function, args, kwargs, trees)
    tree = flatten(closed_tree(output, leaves))
    return formulas(tree.rebuild(simplify_all(tree.leaves, mode="formula")))


def numeric_arguments(f: Callable[..., Any], args: Sequence[Any]) -> dict[int, Tree]:
    """The flattened arguments that hold floats, by number: variables of a formula."""
    return flatten_arguments(f, args, [i for i, arg in enumerate(args) if _is_numeric(arg)])


def _is_numeric(arg: object) -> bool:
    return all(
        isinstance(leaf, Expr) or np.asarray(leaf).dtype.kind in "fc"
        for leaf in flatten(arg).leaves
    )
