"""Roots of functions whose code asks for the value of the unknown, as a loop that ends by a tolerance does.

A program for all values cannot be traced of such a function. Where the values at this call are known, SciPy
finds the root of these, and the function is traced on the path that its code takes there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.expr.concrete import known_value
from funcgrad.ops.base.op import lift_fully
from funcgrad.trace.leaves import on_arrays
from funcgrad.transforms.custom import implicit
from funcgrad.typing import Array, ArrayLike

_Function = Callable[..., Any]


def known_or_by_value(
    solve: Callable[[], Any],
    alone: _Function,
    args: Sequence[Any],
    start: ArrayLike,
    find: Callable[[_Function, Any], Any],
    is_root: bool = True,
) -> Any:
    """The root by ``solve``, or, where that is refused, the one that ``find`` finds of plain values, from a
    start; with ``is_root=False`` another result of the search, such as a count.

    The refusal is raised where values are not known, or may be others in later calls, as under `jit`.
    """
    try:
        return solve()
    except TypeError as error:
        refusal = error
    called = on_arrays(alone)

    def known(item: ArrayLike) -> Any:
        expr = lift_fully(item)
        value = None if expr.traced is not None and expr.traced.records else known_value(expr)
        if value is None:
            raise refusal
        return np.asarray(value, float)[()]

    def value(x: ArrayLike) -> Any:
        return known(called(np.asarray(x, float)[()], *args))

    found: Array = np.asarray(find(value, known(start)), float)
    if not is_root:
        return found[()]
    return implicit.root_on_path(alone)(found[()], *args)
