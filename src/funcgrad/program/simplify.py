"""Simplification: a fold whose algebra rebuilds each node with a smart constructor.

A smart constructor tries the laws (`funcgrad.program.laws`) on a node whose operands are simple
already, and simplifies what a law puts there. Laws that lower a measure end by themselves; a budget of
rewrites a node makes sure. The invariant: the result has the same type, and the same value wherever
the original is defined. What is run keeps the order of its factors, so that no product overflows that
did not before; a formula for a reader does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from funcgrad.expr import Expr, is_simple, mark_simple, rebuild, scalar, subexpressions
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.ops import op
from funcgrad.ops.op import fit
from funcgrad.program.matching import by_table
from funcgrad.program.structural import STRUCTURAL, value_of
from funcgrad.source import fail

# Rewrites that one node may go through before it is left as it is.
BUDGET = 40


def simplify(expr: Expr) -> Expr:
    """An expression of the same type and value that is simpler to read, to run and to differentiate.

    It folds constants, drops neutral elements, collects like terms and brings in stable forms
    (``log(1 + exp(x))`` becomes ``softplus(x)``). It does not expand products. Values are taken to be
    finite (``x - x`` becomes 0), and products to be far from overflow (``x/y/y`` becomes ``x/y**2``).

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> simplify(2 * (3 * x) + 0 * x)
    6*x
    """
    if not isinstance(expr, Expr):
        raise fail(
            TypeError,
            f"simplify: expected an expression, but got {type(expr).__name__}; make one of var('x')",
        )
    return simplify_all([expr], readable=True)[0]


def simplify_all(exprs: Sequence[Expr], *, readable: bool = False) -> list[Expr]:
    """`simplify` several expressions that may share parts; to be run, unless ``readable``."""
    simple: dict[Key, Expr] = {}
    for expr in subexpressions(*exprs):
        key = expr.key
        if key in simple:
            continue
        if is_simple(expr) and not readable:
            simple[key] = expr
            continue
        args = tuple([simple[arg.key] for arg in expr.args])
        simple[key] = final = _normal(rebuild(expr, args), simple, BUDGET, readable)
        if not readable:
            mark_simple(final)
    return [simple[expr.key] for expr in exprs]


def _normal(expr: Expr, simple: dict[Key, Expr], budget: int, readable: bool) -> Expr:
    """The normal form of a node whose operands are simple; ``simple`` remembers those met."""
    while budget > 0:
        known = simple.get(expr.key)
        if known is not None:
            return known
        new = _rewrite(expr, readable)
        if new is None:
            break
        budget -= 1
        # The node itself may stand in what replaces it, under a mask: there it is simple.
        simple[expr.key] = expr
        for inner in _unknown(new, simple):
            args = tuple([simple[arg.key] for arg in inner.args])
            simple[inner.key] = _normal(rebuild(inner, args), simple, budget // 2, readable)
        final = simple.get(new.key)
        if final is None:
            args = tuple([simple[arg.key] for arg in new.args])
            final = _normal(rebuild(new, args), simple, budget, readable)
        simple[expr.key] = final
        return final
    simple[expr.key] = expr
    return expr


def _unknown(root: Expr, simple: dict[Key, Expr]) -> Iterator[Expr]:
    """The operands below a replacement that are not known to be simple, parents first."""
    stack = [(arg, False) for arg in root.args]
    while stack:
        expr, ready = stack.pop()
        if ready:
            if expr.key not in simple:
                yield expr
        elif expr.key not in simple:
            stack.append((expr, True))
            stack.extend((arg, False) for arg in expr.args)


def _rewrite(expr: Expr, readable: bool) -> Expr | None:
    """What the first law that applies makes of a node; None where none does."""
    if expr.op in (INPUT, CONSTANT):
        return None
    for law in (_fold_constants, *STRUCTURAL.get(expr.op.name, ())):
        new = law(expr)
        if new is not None:
            return fit(new, expr.type)
    new = by_table(expr, readable)
    return None if new is None else fit(new, expr.type)


def _fold_constants(expr: Expr) -> Expr | None:
    if not (isinstance(expr.op, op.Elementwise) or expr.op is op.astype) or not expr.args:
        return None
    values = [value_of(arg) for arg in expr.args]
    if any(value is None for value in values):
        return None
    with np.errstate(all="ignore"):
        result = expr.op.run(*[np.reshape(v, ())[()] for v in values], **dict(expr.params))
    return scalar(np.asarray(result)[()], expr.dtype)
