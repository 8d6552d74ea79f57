"""The gradient of an expression, as a formula."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from funcgrad.autodiff.simplified_reverse import simplified_cotangents
from funcgrad.expr import Expr, as_derived, as_expression, var
from funcgrad.expr.formula_tuple import formulas
from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT, Key, by_key
from funcgrad.node_names import labels
from funcgrad.ops.base.op import differentiable
from funcgrad.ops.shape import zeros_like
from funcgrad.rewrite.evaluate import named_nodes, variables
from funcgrad.rewrite.simplify import Simplifier, simplify_all
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.source import type_error, warn
from funcgrad.trace.pytree import flatten_with_static


def gradient(expr: Expr, wrt: object = None, *others: object) -> Any:
    """The gradient of a scalar expression, simplified: an expression, or a dict
    of them by name.

    ``wrt`` is a variable (or any node), its name, or a tuple, list or dict of
    those; `name` gives names to nodes. The result has its structure. Without
    ``wrt``, a dict with the gradient for each variable, zero for integers and
    flags. A tuple prints what its formulas share once. The gradient in a part
    that ``expr`` does not have is zero, with a warning.

    Raises TypeError if ``expr`` is not a scalar expression, if ``wrt`` names
    no variable or node, or one of integers or flags, or if several are given
    that are no tuple.

    >>> import funcgrad as fg
    >>> x, y = fg.var("x"), fg.var("y")
    >>> gradient(x**2 * y, x), gradient(x**2 * y)
    (2*x*y, {'x': 2*x*y, 'y': x**2})
    """
    expr = as_expression("gradient", expr)
    if expr.shape:
        raise type_error(
            f"gradient: expected a scalar expression, but got {expr.type}; sum it first, or write "
            "fg.jacobian(f).expr(x), with a function f of the variables",
        )
    if others:
        raise type_error(
            f"gradient: expected the variables as one argument, but got {1 + len(others)}; "
            "write gradient(e, (x, y))",
        )
    labeled = labels(expr)
    names = variables(expr) if wrt is None else named_nodes(expr, labeled)
    tree = flatten_with_static(
        dict(names) if wrt is None else names.get(wrt, wrt) if isinstance(wrt, str) else wrt
    )
    targets = [
        names[item] if isinstance(item, str) and item in names else item for item in tree.leaves
    ]
    for item in targets:
        if not isinstance(item, Expr):
            known = ", ".join(names) or "none"
            raise type_error(f"gradient: expected variables ({known}), but got {item!r}")
        if wrt is not None and not differentiable(item.dtype):
            raise type_error(
                f"gradient: expected float or complex variables, but got {item.type}; integers and flags "
                "have no derivative: make the variable of floats, as var('x') is",
            )
    slopes = _in_variables(expr, [item for item in targets if item.op is INPUT])
    for item in targets:
        if item.op is not INPUT and item.key not in slopes:
            slopes[item.key] = _in_a_part(expr, item)
    given = (*names, *labeled.values())
    return formulas(tree.rebuild([as_derived(slopes[item.key], given) for item in targets]))


def _in_variables(expr: Expr, targets: Sequence[Expr]) -> dict[Key, Expr]:
    # One table for both: the cotangents contain the expression's own nodes.
    simplifier = Simplifier("formula")
    with Paused():
        root, *leaves = simplifier.simplified_all([expr, *targets])
        found = simplified_cotangents(root, leaves, simplifier)
        found = [as_derived(slope) for slope in simplifier.apply_single_use_laws(found)]
    return {item.key: slope for item, slope in zip(targets, found, strict=True)}


def _in_a_part(expr: Expr, part: Expr) -> Expr:
    """The gradient in a subexpression, replaced by a variable, since simplification may remove it."""
    if part.op is CONSTANT:
        return zeros_like(part)  # type: ignore[no-any-return]
    names = variables(expr, part)
    free = next(name for n in count() if (name := f"part{n}") not in names)
    stand_in = var(free, part.shape, part.dtype)
    replaced = substitute_all([expr], {part.key: stand_in})[0]
    if stand_in.key not in by_key(replaced):
        warn(
            "gradient: the expression does not have the part that it is differentiated in, so the "
            "gradient is zero; give a variable, or a part that it was made from"
        )
        return zeros_like(part)  # type: ignore[no-any-return]
    slopes = _in_variables(replaced, [stand_in])
    back = substitute_all([slopes[stand_in.key]], {stand_in.key: part})
    return simplify_all(back, mode="formula")[0]
