"""The order in which traces begin and arrays are made: it shows what belongs to an inner trace."""

from __future__ import annotations

import itertools

from funcgrad.expr.node import ExprBase, set_scope
from funcgrad.fold import folded

next_in_order = itertools.count().__next__
"""The next number: of a trace that begins, or an array that is made."""
last_trace = [-1]
"""The number of the last trace to begin, in any thread; it only grows. Expressions keep it as their birth."""


def innermost_scope(root: ExprBase) -> int:
    """The number of the last trace to begin among those whose leaves an expression depends on; else -1."""
    if hasattr(root, "_scope"):
        return root._scope

    def step(expr: ExprBase, below: tuple[int, ...]) -> int:
        if hasattr(expr, "_scope"):
            return expr._scope
        number = max(below, default=-1)
        if expr.op.name == "leaf" and expr.params[0][1] is not None:
            number = max(number, expr.params[0][1].number)
        set_scope(expr, number)
        return number

    return folded([root], step, operands=_unknown)[0]


def _unknown(expr: ExprBase) -> tuple[ExprBase, ...]:
    return () if hasattr(expr, "_scope") else expr.args
