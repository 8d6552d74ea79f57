"""The transforms in adopted code: the arrays that they return can be written there, as NumPy's can."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import borrowed, mutable
from funcgrad.control.call_and_branch import branch_op, call_op
from funcgrad.control.custom_rule import custom_derivative_op
from funcgrad.expr import Expr
from funcgrad.ops.tuples import pick_op
from funcgrad.rewrite.in_place import is_fresh
from funcgrad.trace.pytree import flatten_with_static
from funcgrad.transformed import Decorator, Transformed

_HOMES = ("funcgrad.transforms.", "funcgrad.integrate.")
_MAY_RETURN_AN_ARGUMENT = (
    "funcgrad.transforms.custom.primitive.",
    "funcgrad.transforms.grad.stop_gradient",
)
"""Transforms whose result may be an argument itself: on numbers, a store into it changes the argument."""
_RUN_A_BODY = (
    "funcgrad.transforms.custom.custom_derivatives.",
    "funcgrad.transforms.control_flow.checkpoint.",
    "funcgrad.transforms.control_flow.cond.",
)
"""Transforms of which that holds, too, but whose bodies tell which results are new arrays."""


def is_transform(value: object) -> bool:
    """Whether a value is a transform that returns arrays of its own, or a function that one has made.

    >>> import funcgrad as fg
    >>> is_transform(fg.grad), is_transform(fg.grad(abs)), is_transform(abs)
    (True, True, False)
    """
    if isinstance(value, FunctionType) and value.__code__.co_filename == "<funcgrad jit>":
        return True
    if isinstance(value, Transformed | Decorator):
        return is_transform(value.func)
    return callable(value) and _makes_arrays(_home(value))


def _home(value: Any) -> str:
    """The path of the code of a transform, or of a function that one has made."""
    if isinstance(value, Transformed | Decorator):
        return _home(value.func)
    if isinstance(value, FunctionType):
        return f"{value.__globals__.get('__name__')}.{value.__qualname__}"
    return f"{type(value).__module__}."


def _makes_arrays(home: str) -> bool:
    return home.startswith(_HOMES) and not home.startswith(_MAY_RETURN_AN_ARGUMENT)


def returning_writable(f: Callable[..., Any]) -> Callable[..., Any]:
    """A transform, or a function that one has made, whose results are arrays that can be written."""

    @wraps(f)
    def called(*args: object, **kwargs: object) -> Any:
        return _writable(f(*args, **kwargs), runs_a_body)

    runs_a_body = _home(f).startswith(_RUN_A_BODY)
    return Transformed(called) if isinstance(f, Transformed) else called


def _writable(result: Any, runs_a_body: bool) -> Any:
    """A result with arrays that can be written for its expressions and its arrays of NumPy's."""
    tree = flatten_with_static(result)
    leaves = [_writable_leaf(leaf, runs_a_body) for leaf in tree.leaves]
    changed = any([new is not old for new, old in zip(leaves, tree.leaves, strict=True)])
    return tree.rebuild(leaves) if changed else result


def _writable_leaf(leaf: Any, runs_a_body: bool) -> Any:
    if type(leaf) is Expr:
        return mutable(leaf) if not runs_a_body or _is_computed(leaf) else leaf
    if type(leaf) is np.ndarray:
        return leaf if runs_a_body else borrowed(leaf)
    return returning_writable(leaf) if is_transform(leaf) else leaf


def _is_computed(result: Expr) -> bool:
    """Whether a body has computed an array, so that it is none of its operands, and no view of one.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = fg.var("x", (2,))
    >>> [_is_computed(fg.checkpoint(f)(x)) for f in (np.sin, np.flip)]
    [True, False]
    """
    if result.op is not pick_op:
        return False
    (node,) = result.args
    if node.op is custom_derivative_op:
        return is_fresh(node.args[dict(result.params)["index"]].op)
    if node.op not in _WITH_BODIES:
        return False
    params = dict(node.params)
    bodies = params.get("branches", [params.get("body")])
    index = dict(result.params)["index"]
    return all([is_fresh(body.outputs[index].op) for body in bodies])


_WITH_BODIES = (call_op, branch_op)
