"""Legalization: operations that a reader does not support are replaced by their decompositions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from funcgrad.expr import Expr, rebuild
from funcgrad.fold import folded
from funcgrad.ops.base.op import astype, columns_of


def decomposed(roots: Sequence[Expr], legal: Callable[[Expr], bool]) -> list[Expr]:
    """The programs with each node that is not ``legal`` replaced by its operation's decomposition.

    Decompositions are decomposed in turn. A node that is not legal and has no decomposition is left.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> decomposed([fg.softplus(x)], lambda e: e.op is None or e.op.name != "softplus")
    [logaddexp(x, 0)]
    """
    exprs, changed = list(roots), True

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        nonlocal changed
        rule = None if not args or legal(expr) else columns_of(expr).decompose
        if rule is None:
            return rebuild(expr, args)
        changed = True
        found: Expr = rule(*args, **dict(expr.params))
        return found if found.dtype == expr.dtype else astype(found, dtype=expr.dtype)

    while changed:
        changed = False
        exprs = folded(exprs, step)
    return exprs
