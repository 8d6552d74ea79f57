"""Selections that survive transposition: what is not selected is cut off before it is multiplied, too.

``mask(p, t*h)`` is 0 where p does not hold, also where h is infinite. A library that transposes it by its
own rules multiplies a cotangent of 0 by that h, and gets nan. ``mask(p, mask(p, t)*mask(p, h))`` has the
same value, and a transpose that is as safe.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr, rebuild, subexpressions
from funcgrad.graph import Key
from funcgrad.ops.elementwise import mask, where
from funcgrad.rewrite.structural_laws import value_of

# What a selection goes through: products and sums, entry by entry.
_THROUGH = {"multiply", "divide", "add", "subtract", "negative", "positive", "conjugate"}
# Operations that one selection goes through, at most: what lies deeper is cut off there.
_DEPTH = 64


def guarded(roots: Sequence[Expr]) -> list[Expr]:
    """The roots, every selection repeated on the factors and terms of what it selects.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> t, h = fg.var("t"), fg.var("h")
    >>> guarded([mask(h > 0, t * h)])[0]
    let a = h > 0
    in where(a, where(a, t, 0)*where(a, h, 0), 0)
    """
    became: dict[Key, Expr] = {}
    for expr in subexpressions(*roots):
        if expr.key in became:
            continue
        args = tuple([became[arg.key] for arg in expr.args])
        if expr.op is mask:
            p, x = args
            args = (p, _cut(p, x))
        elif expr.op is where:
            p, x, y = args
            args = (p, _cut(p, x), _cut(np.logical_not(p), y))
        became[expr.key] = rebuild(expr, args)
    return [became[root.key] for root in roots]


def _cut(p: Any, root: Expr) -> Expr:
    """What ``root`` is where p holds, of factors and terms that are harmless elsewhere."""
    if root.op.name not in _THROUGH:
        return root
    known: dict[Key, Expr] = {}
    inner: set[Key] = set()
    stack = [root]
    while stack:
        expr = stack[-1]
        if expr.key in known:
            stack.pop()
        elif expr.op.name not in _THROUGH or (expr.key not in inner and len(inner) >= _DEPTH):
            stack.pop()
            known[expr.key] = _leaf(p, expr)
        elif expr.key not in inner:
            inner.add(expr.key)
            stack.extend(_numerators(expr))
        else:
            stack.pop()
            known[expr.key] = rebuild(expr, _operands(p, expr, lambda arg: known[arg.key]))
    return known[root.key]


def _numerators(expr: Expr) -> tuple[Expr, ...]:
    return expr.args[:1] if expr.op.name == "divide" else expr.args


def _operands(p: Any, expr: Expr, cut: Callable[[Expr], Expr]) -> tuple[Expr, ...]:
    if expr.op.name != "divide":
        return tuple([cut(arg) for arg in expr.args])
    x, y = expr.args
    harmless: Expr = y if _is_finite(y) else where(p, y, np.ones_like(y))
    return cut(x), harmless


def _leaf(p: Any, expr: Expr) -> Expr:
    cut: Expr = expr if _is_finite(expr) else mask(p, expr)
    return cut


def _is_finite(expr: Expr) -> bool:
    value = value_of(expr)
    return value is not None and bool(np.isfinite(value))
