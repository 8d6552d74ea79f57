"""The transforms in adopted code: the arrays that they return can be written there, as NumPy's can."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import borrowed, mutable
from funcgrad.expr import Expr
from funcgrad.trace.pytree import flatten_with_static
from funcgrad.transformed import Decorator, Transformed

_HOMES = ("funcgrad.transforms.", "funcgrad.integrate.")
_MAY_RETURN_AN_ARGUMENT = (
    "funcgrad.transforms.control_flow.checkpoint.",
    "funcgrad.transforms.control_flow.cond.",
    "funcgrad.transforms.custom.custom_derivatives.",
    "funcgrad.transforms.custom.primitive.",
    "funcgrad.transforms.grad.stop_gradient",
)
"""Transforms whose result may be an argument itself: on numbers, a store into it changes the argument."""


def is_transform(value: object) -> bool:
    """Whether a value is a transform that returns arrays of its own, or a function that one has made.

    >>> import funcgrad as fg
    >>> is_transform(fg.grad), is_transform(fg.grad(abs)), is_transform(abs)
    (True, True, False)
    """
    if isinstance(value, FunctionType):
        home = f"{value.__globals__.get('__name__')}.{value.__qualname__}"
        return _makes_arrays(home) or value.__code__.co_filename == "<funcgrad jit>"
    if isinstance(value, Transformed | Decorator):
        return is_transform(value.func)
    return callable(value) and _makes_arrays(f"{type(value).__module__}.")


def _makes_arrays(home: str) -> bool:
    return home.startswith(_HOMES) and not home.startswith(_MAY_RETURN_AN_ARGUMENT)


def returning_writable(f: Callable[..., Any]) -> Callable[..., Any]:
    """A transform, or a function that one has made, whose results are arrays that can be written."""

    @wraps(f)
    def called(*args: object, **kwargs: object) -> Any:
        return _writable(f(*args, **kwargs))

    return Transformed(called) if isinstance(f, Transformed) else called


def _writable(result: Any) -> Any:
    """A result with arrays that can be written for its expressions and its arrays of NumPy's."""
    tree = flatten_with_static(result)
    leaves = [_writable_leaf(leaf) for leaf in tree.leaves]
    changed = any([new is not old for new, old in zip(leaves, tree.leaves, strict=True)])
    return tree.rebuild(leaves) if changed else result


def _writable_leaf(leaf: Any) -> Any:
    if type(leaf) is Expr:
        return mutable(leaf)
    if type(leaf) is np.ndarray:
        return borrowed(leaf)
    return returning_writable(leaf) if is_transform(leaf) else leaf
