"""Functions of the leaves of trees that have one structure, and sums of trees."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from funcgrad.autodiff.accumulate import GradientMap
from funcgrad.expr import result
from funcgrad.source import type_error
from funcgrad.trace.pytree import Tree, flatten_numbers, flatten_with_static, is_flag
from funcgrad.trace.static import is_static_value


def tree_add(tree: object, *trees: object) -> Any:
    """The sum of trees of one structure, leaf by leaf, added from the left.

    So gradients of parts of a sum, and pairs of value and gradient, add up
    with `functools.reduce`. Leaves are numbers, arrays, expressions and
    gradient maps. Static leaves and flags are those of the first tree.

    Raises TypeError if the places of leaves or their shapes differ.

    >>> import funcgrad as fg
    >>> tree_add({"w": 1.0, "b": [2.0]}, {"w": 10.0, "b": [20.0]})
    {'w': 11.0, 'b': [22.0]}
    >>> pairs = [fg.value_and_grad(lambda w: w * x)(3.0) for x in (1.0, 6.0)]
    >>> reduce(fg.tree_add, pairs)
    (21.0, 7.0)
    """
    first = _summands(tree)
    columns = [first.leaves, *[_matching("tree_add", first, _summands(other)) for other in trees]]
    return first.rebuild([_total(leaves) for leaves in zip(*columns, strict=True)])


def _total(leaves: Sequence[Any]) -> Any:
    total = reduce(operator.add, leaves)
    return total if isinstance(total, GradientMap) else result(total)


def _summands(tree: object) -> Tree:
    if isinstance(tree, GradientMap):
        return Tree([tree], lambda leaves: leaves[0], [""])
    return flatten_with_static(tree).without(
        lambda leaf: not isinstance(leaf, GradientMap) and (is_static_value(leaf) or is_flag(leaf))
    )


def mapped(who: str, f: Callable[..., Any], tree: object, *others: object) -> Any:
    """The tree of f's values on the leaves of trees that have one structure and the same shapes.

    >>> mapped("me", lambda x, y: x + y, {"a": 1.0, "b": 2.0}, {"a": 10.0, "b": 20.0})
    {'a': 11.0, 'b': 22.0}
    """
    first = flatten_numbers(tree)
    columns = [first.leaves, *[_matching(who, first, flatten_numbers(other)) for other in others]]
    return first.rebuild([result(f(*leaves)) for leaves in zip(*columns, strict=True)])


def _matching(who: str, like: Tree, tree: Tree) -> list[Any]:
    got, wanted = [
        {path: getattr(leaf, "shape", ()) for path, leaf in zip(t.paths, t.leaves, strict=True)}
        for t in (tree, like)
    ]
    if got != wanted:
        is_number = list(got.items()) == [("", ())]
        hint = "; write optree.tree_map(lambda p, g: p - 0.1 * g, params, grads) for a step"
        raise type_error(
            f"{who}: expected trees of one structure and the same shapes, but got "
            f"{_described(wanted)} and {_described(got)}{hint * is_number}",
        )
    return tree.leaves


def _described(shapes: dict[str, tuple[int, ...]]) -> str:
    named = [
        f"{path.removeprefix('_') or 'one leaf'}{shape or ''}" for path, shape in shapes.items()
    ]
    return ", ".join(named[:6] + ["..."] * (len(named) > 6)) or "no leaves"
