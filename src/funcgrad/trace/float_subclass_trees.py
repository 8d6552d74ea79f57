"""Instances of subclasses of ``float`` that hold a traced value: arguments, and results as trees."""

from __future__ import annotations

from numbers import Number
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.arrays.array_operators import OPERATOR_UFUNCS
from funcgrad.arrays.float_subclass import TracedFloat, traced_float
from funcgrad.expr import Expr
from funcgrad.expr.registry import functions
from funcgrad.source import USERS, type_error
from funcgrad.trace.array_subclass_trees import node_of_instance
from funcgrad.trace.container import TreeNode
from funcgrad.trace.outer_arrays import instance_dict


def flatten_traced_float(tree: TracedFloat) -> TreeNode:
    """An instance taken apart; one of a plain number is made of the user's class.

    The number has the name of the instance, as a plain one would. Attributes that are traced are leaves, too.
    Of a batch, the numbers are an array of no class.
    """
    kind: Any = type(tree)

    def made(value: Any, space: dict[str, Any]) -> Any:
        if np.shape(value) or not isinstance(value, Expr | float | np.number):
            return value
        number: Any
        if isinstance(value, Expr):
            number = traced_float(kind, value)
        else:
            number = float.__new__(kind.__funcgrad_original__, value)
        return _with_attributes(number, space)

    return node_of_instance("", tree, dict(instance_dict(tree) or {}), made)


def _with_attributes(made: Any, space: dict[str, Any]) -> Any:
    for name, value in space.items():
        object.__setattr__(made, name, value)
    return made


def in_class_of(value: object, leaf: Expr) -> Any:
    """A leaf as the instance that its value is: of a user's subclass of ``float``.

    Raises TypeError for an instance of another subclass of numbers that has operators, which the leaf lacks.
    """
    kind: Any = type(value)
    if not isinstance(value, Number) or kind in _WITHOUT_OPERATORS:
        return leaf
    traced = getattr(functions["redirect"](kind), "_funcgrad_traced", None)
    if traced is None:
        check_without_operators(kind)
        return leaf
    slots = [(name, getattr(value, name)) for name in _slots(kind) if hasattr(value, name)]
    return _with_attributes(traced_float(traced, leaf), dict(slots) | (instance_dict(value) or {}))


_WITHOUT_OPERATORS = frozenset((bool, int, float, complex, np.float64))


def check_without_operators(kind: type) -> None:
    """Raise TypeError for a class of a user's with operators of its own."""
    own = [name for base in kind.__mro__ for name, member in vars(base).items() if _is_code(member)]
    if not OPERATOR_UFUNCS.keys().isdisjoint(own):
        raise type_error(
            f"expected a number, but got an instance of {kind.__name__}, whose operators a traced value "
            "would not have; give float(x), or derive the class from float",
        )


def _is_code(member: object) -> bool:
    return type(member) is FunctionType and not USERS[member.__code__.co_filename]


def _slots(kind: type) -> list[str]:
    found = [vars(base).get("__slots__", ()) for base in kind.__mro__]
    named = [name for own in found for name in ([own] if isinstance(own, str) else own)]
    return [name for name in named if name not in ("__dict__", "__weakref__")]
