"""Stores of a function under a reverse rule: where the rule runs, the function itself does not.

So what it stores into an argument, or into an array from outside, would be lost. The first call on traced
values of code that stores anything runs it once, on copies of their values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dis import get_instructions
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any
from weakref import WeakSet

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr
from funcgrad.expr.concrete import known_value
from funcgrad.trace.outer_arrays import OuterArrays
from funcgrad.trace.pytree import flatten
from funcgrad.trace.random_draws import outer_generators
from funcgrad.trace.shared_arguments import store_into_argument

_RUN: WeakSet[CodeType] = WeakSet()
"""The code that has run, or stores nothing."""


_UNKNOWN = object()


def refuse_body_stores(who: str, f: Callable[..., Any], args: Sequence[Any]) -> None:
    """Raise TypeError if f stores into an argument or an array from outside; once for its code.

    Errors of f are not raised: its rule may be there since f takes no such values. Code that draws random
    numbers is not run, as later draws would be others.
    """
    code = getattr(f, "__code__", None)
    if not isinstance(code, CodeType) or code in _RUN:
        return
    outer = OuterArrays(f)
    reached = [item.__code__ for _, item in outer.reached if isinstance(item, FunctionType)]
    if any(map(_stores, {code, *reached})) and not outer_generators(outer.reached):
        given = [_copied(arg) for arg in args]
        if any([arg is _UNKNOWN for arg in given]):
            return  # a later call may have the values
        before = [_numbers(arg) for arg in given]
        with suppress(Exception), np.errstate(all="ignore"):
            f(*given)
        changed = [_numbers(arg) for arg in given]
        outer.check(who, "its rule is run in its place; return the value")
        if changed != before:
            raise store_into_argument(who, f)
    _RUN.add(code)


def _copied(arg: object) -> Any:
    """An argument with copies of the values at this call; `_UNKNOWN` if one has none."""
    tree = flatten(arg)
    leaves: list[Any] = []
    for leaf in map(plain_value, tree.leaves):
        value = known_value(leaf) if isinstance(leaf, Expr) else leaf
        if value is None and isinstance(leaf, Expr):
            return _UNKNOWN
        leaves.append(np.copy(value)[()] if isinstance(value, np.ndarray) else value)
    return tree.rebuild(leaves)


def _numbers(arg: object) -> list[bytes]:
    return [leaf.tobytes() for leaf in flatten(arg).leaves if isinstance(leaf, np.ndarray)]


@lru_cache(maxsize=4096)
def _stores(code: CodeType) -> bool:
    """Whether code, or that of a function in it, stores into items, or has an in-place operator."""
    inside = [c for c in code.co_consts if isinstance(c, CodeType)]
    done = [
        step.opname == "STORE_SUBSCR" or (step.opname == "BINARY_OP" and "=" in step.argrepr)
        for step in get_instructions(code)
    ]
    return any(done) or any(map(_stores, inside))
