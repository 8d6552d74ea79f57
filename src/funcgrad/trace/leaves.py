"""Leaves: the placeholders on which a function is traced, each with the value that it stands for.

A leaf is an identity operation whose param is the trace's scope, so that leaves of two traces differ. There
is no stack of traces and no global state: a nested trace has its own leaves, and expressions refer to their
scope. Python's questions (``if x > 0``) are answered from the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import MARK, borrowed, mutable
from funcgrad.expr import Expr, assemble_node, const, scalar
from funcgrad.expr.scope_order import next_in_order
from funcgrad.graph import CONSTANT
from funcgrad.ops.base.array_capture import CapturedArrays, capture, refer
from funcgrad.ops.base.op import leaf
from funcgrad.trace.pytree import Tree, flatten


class Scope:
    """The scope of one run of a function, which identifies its leaves. It is closed when the run ends.

    All expressions of the leaves refer to it (`funcgrad.expr.TraceContext`). It records no questions.
    """

    __slots__ = ("arrays", "number", "open", "refusal")
    records = False
    differentiates = True

    def __init__(self) -> None:
        self.open = True
        self.number = next_in_order()
        """The scopes are numbered in order of creation."""
        self.arrays: CapturedArrays = {}
        """The captured arrays that were copied."""
        self.refusal: Exception | None = None
        """The error by which a number was refused, which the function may catch: its result is wrong then."""

    def record(self, asked: Expr, reading: Callable[[Any], Any], answer: Any) -> None:
        """Called for each question of Python."""

    def derived(self, program: Any, inputs: Sequence[Any], outputs: Sequence[Expr]) -> None:
        """Called with the expressions that a transform inside the run has derived."""

    def __repr__(self) -> str:
        return f"scope@{id(self):x}"


def fresh(value: object, scope: Scope, place: int, label: str) -> Expr:
    """A leaf that stands for a value in one run of a function."""
    if isinstance(value, Expr):
        known = value
    elif isinstance(value, np.ndarray) and value.ndim:
        # No user code runs after the scope is closed, so the array cannot change: refer to it.
        known = capture(value, scope.arrays) if scope.open else refer(value)
    elif isinstance(value, float):
        known = scalar(value, _FLOAT)
    else:
        known = const(value)
    params = (("scope", scope), ("place", place))
    traced = known.traced or scope
    return assemble_node(leaf, (known,), params, known.type, traced=traced, label=label)


_FLOAT = np.dtype(float)


def flatten_arguments(
    f: Callable[..., Any], args: Sequence[Any], argnums: Sequence[int]
) -> dict[int, Tree]:
    """The flattened arguments with these numbers, labeled with the names of f's parameters."""
    names = parameter_names(f, len(args))
    return {i: flatten(args[i], names[i]) for i in argnums}


def run_on_leaves(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    traced: Mapping[int, Tree] | None = None,
    scope: Scope | None = None,
) -> tuple[Any, list[Expr]]:
    """f's result on arguments with leaves for values, and the leaves.

    ``traced`` has the flattened arguments to trace, by number; all are traced if it is None. ``scope`` is
    given by a caller that reads it afterwards.

    Raises the refusal of a number that f has caught (`funcgrad.expr.concrete.refuse_varied`).
    """
    if traced is None:
        traced = flatten_arguments(f, args, range(len(args)))
    scope = scope or Scope()
    written = is_adopted(f)
    leaves: list[Expr] = []
    called = list(args)
    try:
        for i, tree in traced.items():
            own = [
                fresh(value, scope, len(leaves) + k, path)
                for k, (value, path) in enumerate(zip(tree.leaves, tree.paths, strict=True))
            ]
            leaves.extend(own)
            called[i] = tree.rebuild([_given(leaf) for leaf in own] if written else own)
        if written:
            called = [_borrow(arg) for arg in called]
            kwargs = {name: _borrow(arg) for name, arg in kwargs.items()}
        output = f(*called, **kwargs)
        if scope.refusal is not None:
            raise scope.refusal
        return output, leaves
    finally:
        scope.open = False
        scope.refusal = None  # its traceback refers to this frame


# -- arrays that can be written --------------------------------------------------------------------
def is_adopted(f: Any) -> bool:
    """Whether a function is code over funcgrad's NumPy, and so given arrays that can be written."""
    while isinstance(f, partial):
        f = f.func
    code = getattr(f, "__func__", f)
    if not hasattr(code, "__globals__"):
        code = type(f).__call__  # of an instance
    return MARK in getattr(code, "__globals__", ())


def _given(leaf: Expr) -> Any:
    """A leaf as an adopted function is given it: an array can be written."""
    if not leaf.type.shape:
        return leaf
    known = leaf.args[0]
    array = known.params[0][1].array if known.op is CONSTANT else None
    like = None if array is None or array.flags.c_contiguous else np.empty_like(array)
    return mutable(leaf, like)


def _borrow(arg: Any) -> Any:
    """An argument as an adopted function is given it: the caller's array is copied before it is written."""
    return borrowed(arg) if type(arg) is np.ndarray else arg


def on_arrays(f: Callable[..., Any]) -> Callable[..., Any]:
    """f, given arrays that can be written where it is adopted."""
    if not is_adopted(f):
        return f

    def called(*args: object, **kwargs: object) -> Any:
        tree = flatten((args, kwargs))
        values = [
            mutable(leaf) if isinstance(leaf, Expr) else _borrow(leaf) for leaf in tree.leaves
        ]
        inner, named = tree.rebuild(values)
        return f(*inner, **named)

    return called


def parameter_names(f: Any, count: int) -> list[str]:
    """The names of f's positional arguments, as far as they are known."""
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
    code = getattr(f, "__code__", None)
    known = () if code is None else code.co_varnames[: code.co_argcount]
    known = known[1:] if hasattr(f, "__self__") else known
    if not known and count == 1:
        return ["x"]
    return [known[i] if i < len(known) else f"x{i}" for i in range(count)]
