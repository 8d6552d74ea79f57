"""Instances of subclasses of ``float`` that hold a traced value: arguments, and results as trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.arrays.float_subclass import TracedFloat, traced_float
from funcgrad.arrays.reference import Reference, plain_value
from funcgrad.expr import Expr
from funcgrad.expr.registry import functions
from funcgrad.trace.array_subclass_trees import FixedAttributes
from funcgrad.trace.container import TreeNode
from funcgrad.trace.outer_arrays import instance_dict


def flatten_traced_float(tree: TracedFloat) -> TreeNode:
    """An instance taken apart; one of a plain number is made of the user's class.

    The number has the name of the instance, as a plain one would. Attributes that are traced are leaves, too.
    Of a batch, the numbers are an array of no class.
    """
    kind: Any = type(tree)
    space = dict(instance_dict(tree) or {})
    names = [name for name, value in space.items() if isinstance(value, Expr | Reference)]

    def put(given: Sequence[Any]) -> Any:
        value, *others = map(plain_value, given)
        if np.shape(value) or not isinstance(value, Expr | float | np.number):
            return value
        of_class = kind.__funcgrad_original__
        made: Any
        if isinstance(value, Expr):
            made = traced_float(kind, value)
        else:
            made = float.__new__(of_class, value)
        return _with_attributes(made, space | dict(zip(names, others, strict=True)))

    children = [plain_value(tree), *[plain_value(space[name]) for name in names]]
    fixed = FixedAttributes({name: value for name, value in space.items() if name not in names})
    return TreeNode(["", *names], children, put, fixed, is_array=not names)


def _with_attributes(made: Any, space: dict[str, Any]) -> Any:
    for name, value in space.items():
        object.__setattr__(made, name, value)
    return made


def in_class_of(value: object, leaf: Expr) -> Any:
    """A leaf as the instance that its value is: of a user's subclass of ``float``."""
    kind: Any = type(value)
    if kind is float or not isinstance(value, float) or kind is np.float64:
        return leaf
    traced = getattr(functions["redirect"](kind), "_funcgrad_traced", None)
    if traced is None:
        return leaf
    slots = [(name, getattr(value, name)) for name in _slots(kind) if hasattr(value, name)]
    return _with_attributes(traced_float(traced, leaf), dict(slots) | (instance_dict(value) or {}))


def _slots(kind: type) -> list[str]:
    found = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    named = [name for own in found for name in ([own] if isinstance(own, str) else own)]
    return [name for name in named if name not in ("__dict__", "__weakref__")]
