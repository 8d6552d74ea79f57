"""Display forms of derived formulas (*readings*), which are simpler than the programs that run.

A formula that funcgrad derived (`simplify`, `gradient`, ``grad(f).expr``, the cotangents of a map) runs with
its guards and its order of operations; it is printed by the laws of `funcgrad.rewrite.reading_laws`. A
program that a user wrote is printed as it was written, with the derived formulas in it in display form; what
a function of NumPy's computes in several steps is printed by its name (`COMPOSITIONS`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from funcgrad.expr import Expr, is_derived, rebuild
from funcgrad.fold import folded
from funcgrad.graph import subexpressions
from funcgrad.ops.base.op import columns_of, leaf
from funcgrad.rewrite.decompose import decomposed
from funcgrad.rewrite.monomials import memoized_terms
from funcgrad.rewrite.reading_case_laws import with_opposite_comparison
from funcgrad.rewrite.reading_matrix_laws import COMPOSITIONS
from funcgrad.rewrite.simplify import simplify_all

MOST_NODES_READ = 400
"""Larger formulas are printed as they run: most of their text is left out."""


class ReadFormulas(NamedTuple):
    """Formulas as they are printed."""

    exprs: list[Expr]
    is_whole: bool
    """Whether all of them are derived, and none is printed as it was written."""


def reading(exprs: Sequence[Expr]) -> ReadFormulas:
    """Expressions in which derived formulas are in display form.

    >>> import funcgrad as fg
    >>> x, y = fg.vars("x y")
    >>> reading([fg.simplify(x * y / x), x * y / x]).exprs
    [y, x*y/x]
    """
    below = subexpressions(*exprs, operands=_operands)
    derived = [expr for expr in below if _is_read(expr)]
    if len(subexpressions(*derived)) > MOST_NODES_READ or len(below) > MOST_NODES_READ:
        return ReadFormulas(list(exprs), False)
    if not derived:
        return ReadFormulas(folded(exprs, _composed), False)
    with memoized_terms():
        read = decomposed(simplify_all(derived, mode="reading"), _is_shown)
        read = folded(read, with_opposite_comparison)
    known = {id(expr): _without_leaf(new) for expr, new in zip(derived, read, strict=True)}
    return ReadFormulas(folded(exprs, _composed, known), all(map(_is_read, exprs)))


def _composed(expr: Expr, args: tuple[Expr, ...]) -> Expr:
    """A node of a user's formula on operands, with the name of the function whose steps it ends."""
    expr = rebuild(expr, args)
    laws = COMPOSITIONS.get(expr.op.name, ()) if expr.label is None else ()
    found = next((new for law in laws if (new := law(expr)) is not None), expr)
    return found if found.type == expr.type else expr


def _is_read(expr: Expr) -> bool:
    """Whether an expression is a derived formula, or a derivative in a trace."""
    return is_derived(expr) or (expr.op is leaf and dict(expr.params)["scope"] is None)


def _without_leaf(expr: Expr) -> Expr:
    """The output of a transform, without the leaf node that marks it."""
    return expr.args[0] if expr.op is leaf else expr


def _is_shown(expr: Expr) -> bool:
    """Whether readers can call what an expression's operation is named."""
    return columns_of(expr).shown


def _operands(expr: Expr) -> tuple[Expr, ...]:
    return () if _is_read(expr) else expr.args
