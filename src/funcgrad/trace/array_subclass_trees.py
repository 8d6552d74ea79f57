"""Instances of subclasses of NumPy's array as trees: the entries are a leaf, attributes are static."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray, cell_of
from funcgrad.arrays.reference import Reference, plain_value
from funcgrad.arrays.subclassed_array import SubclassedArray, plain, with_attributes
from funcgrad.expr import Expr
from funcgrad.trace.container import TreeNode


def flatten_subclass(tree: SubclassedArray) -> TreeNode:
    """An instance taken apart; one of numbers is made of the original class, another of the adopted one.

    Attributes that are traced are leaves, too.
    """
    kind = type(tree)
    is_matrix = issubclass(kind.__funcgrad_original__, np.matrix)

    def made(value: Any, space: dict[str, Any]) -> Any:
        if is_matrix and np.ndim(value) != 2:  # of a batch, or of blocks of a Jacobian
            return value
        array: Any
        if isinstance(value, Expr):
            array = kind._funcgrad_of_view(MutableArray.view(cell_of(value)), None)
        else:
            array = np.asarray(value).view(kind.__funcgrad_original__)
        return with_attributes(array, space)

    return node_of_instance("values", plain(tree), dict(vars(tree)), made)


def node_of_instance(
    place: str, value: object, space: dict[str, Any], made: Callable[[Any, dict[str, Any]], Any]
) -> TreeNode:
    """An instance of a value and of attributes taken apart; ``made`` puts them together again."""
    names = [name for name, value in space.items() if isinstance(value, Expr | Reference)]

    def put(given: Sequence[Any]) -> Any:
        value, *others = map(plain_value, given)
        return made(value, space | dict(zip(names, others, strict=True)))

    children = [plain_value(value), *[plain_value(space[name]) for name in names]]
    fixed = FixedAttributes({name: value for name, value in space.items() if name not in names})
    return TreeNode([place, *names], children, put, fixed, is_array=not names)


class FixedAttributes:
    """The attributes of an instance, which are compared by ``==``."""

    __slots__ = ("_space",)

    def __init__(self, space: Mapping[str, Any]) -> None:
        self._space = space

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FixedAttributes) or self._space.keys() != other._space.keys():
            return False
        pairs = [(value, other._space[name]) for name, value in self._space.items()]
        return all([mine is theirs or bool(np.all(mine == theirs)) for mine, theirs in pairs])

    def __hash__(self) -> int:
        return hash(frozenset(self._space))
