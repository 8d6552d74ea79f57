"""The double-where transformation: operands of a selection are masked, too, so that its transpose has no NaN.

``mask(p, t*h)`` is 0 where p does not hold, also where h is infinite. A library that transposes it by its
own rules multiplies a cotangent of 0 by that h, and gets nan. ``mask(p, mask(p, t)*mask(p, h))`` has the
same value, and a transpose that is as safe.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr, rebuild
from funcgrad.fold import folded_by_key
from funcgrad.graph import Key
from funcgrad.ops.elementwise.arithmetic import negative, positive
from funcgrad.ops.elementwise.magnitude import conjugate
from funcgrad.ops.elementwise.selection import mask, where
from funcgrad.rewrite.constant_values import value_of

_ARITHMETIC = ("+", "-", "*", "/")
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
    return folded_by_key(roots, _guarded)


def _guarded(expr: Expr, args: tuple[Expr, ...]) -> Expr:
    if expr.op is mask:
        p, x = args
        args = (p, _cut(p, x))
    elif expr.op is where:
        p, x, y = args
        args = (p, _cut(p, x), _cut(np.logical_not(p), y))
    return rebuild(expr, args)


def _cut(p: Any, root: Expr) -> Expr:
    """What ``root`` is where p holds, of factors and terms that are harmless elsewhere."""
    if not _is_product_or_sum(root):
        return root
    inner: set[Key] = set()

    def operands(expr: Expr) -> tuple[Expr, ...]:
        if not _is_product_or_sum(expr) or len(inner) >= _DEPTH:
            return ()
        inner.add(expr.key)
        return expr.args[:1] if expr.op.name == "divide" else expr.args

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        if expr.key not in inner:
            return _leaf(p, expr)
        if expr.op.name != "divide":
            return rebuild(expr, args)
        y = expr.args[1]
        harmless = y if _is_finite(y) else where(p, y, np.ones_like(y))
        return rebuild(expr, (args[0], harmless))

    return folded_by_key([root], step, operands=operands)[0]


def _is_product_or_sum(expr: Expr) -> bool:
    infix = getattr(expr.op, "infix", None)
    operator = infix is not None and infix.symbol in _ARITHMETIC
    return operator or expr.op in (negative, positive, conjugate)


def _leaf(p: Any, expr: Expr) -> Expr:
    cut: Expr = expr if _is_finite(expr) else mask(p, expr)
    return cut


def _is_finite(expr: Expr) -> bool:
    value = value_of(expr)
    return value is not None and bool(np.isfinite(value))
