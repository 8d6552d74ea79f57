"""Activity analysis: whether an expression is varied, which is to depend differentiably on a leaf.

The leaves are those of functions that run now and that are differentiated. A number that Python reads off a
varied expression would lose its derivative (`funcgrad.expr.concrete`).
"""

from __future__ import annotations

from funcgrad.expr import Expr, TraceContext
from funcgrad.expr.concrete import value_questions
from funcgrad.expr.node import set_varied
from funcgrad.fold import folded
from funcgrad.ops.base.op import differentiable, example, leaf


def is_jitted(value: object) -> bool:
    """Whether a value belongs to a jitted run of which no derivative is asked."""
    scope = value.traced if type(value) is Expr else None
    return scope is not None and scope.records and not scope.differentiates


def is_varied(root: Expr) -> bool:
    """Whether there is a path of edges from a leaf of a running derivative to the expression.

    The answer is kept in each expression on the way, so that questions along a chain take linear time.
    """
    value_questions[0] += 1
    return folded([root], _step, operands=_undecided)[0] is not None


def _step(expr: Expr, operands: tuple[TraceContext | None, ...]) -> TraceContext | None:
    """The trace in whose leaf an expression is varied, or None."""
    if _is_decided(expr):
        return expr._varied
    found = _own(expr)
    if found is None:
        varied = [i for i, context in enumerate(operands) if context is not None]
        through = [i for i in varied if expr.op is example or expr.op.edge(i) is not None]
        found = operands[through[0]] if through else None
    set_varied(expr, found)
    return found


def _undecided(expr: Expr) -> tuple[Expr, ...]:
    """The operands to decide before an expression: none if it is decided by itself."""
    decided = _is_decided(expr) or not differentiable(expr.dtype) or _own(expr) is not None
    return () if decided else expr.args


def _is_decided(expr: Expr) -> bool:
    """Whether the answer is known. A leaf whose trace has ended is what it stands for."""
    return hasattr(expr, "_varied") and (expr._varied is None or expr._varied.open)


def _own(expr: Expr) -> TraceContext | None:
    """The trace of a leaf, while it runs to be differentiated."""
    if expr.op is not leaf or not differentiable(expr.dtype):
        return None
    scope: TraceContext | None = expr.params[0][1]
    return scope if scope is not None and scope.differentiates and scope.open else None
