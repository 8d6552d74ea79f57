"""Substitution: a fold that rebuilds expressions on replaced operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.expr import (
    Expr,
    as_derived,
    as_expression,
    derived_names,
    is_simple,
    mark_simple,
    rebuild,
)
from funcgrad.fold import folded
from funcgrad.gc_pause import Paused
from funcgrad.graph import INPUT, ArrayType, Key
from funcgrad.ops.base.op import lift_fully
from funcgrad.rewrite.evaluate import traced_leaves, variables
from funcgrad.source import type_error


def substitute(
    expr: Expr, replacements: Mapping[Any, Any] | None = None, /, *rest: object, **named: object
) -> Expr:
    """The expression with some of its variables or nodes replaced.

    ``replacements`` maps expressions, keys or names to expressions of the same
    type, or to numbers and arrays of the same shape, which are cast as NumPy
    casts them within a kind: an int stands for a float. As a fold: ``node =
    its replacement, or the operation on the results of its operands``.

    Raises TypeError if ``expr`` is not an expression, the replacements are no
    mapping, or a replacement differs in type from the expression that it
    replaces.

    >>> import funcgrad as fg
    >>> x, y = fg.var("x"), fg.var("y")
    >>> substitute(x**2 + x, {x: y + 1})
    let a = y + 1
    in a**2 + a
    >>> substitute(x**2 + x, x=3.0)
    3.0**2 + 3
    """
    expr = as_expression("substitute", expr)
    if rest or not isinstance(replacements, Mapping | None):
        raise type_error(
            "substitute: expected the replacements in a dict, but got "
            f"{', '.join([type(item).__name__ for item in (replacements, *rest)])}; write "
            "substitute(e, {x: 3.0}) or substitute(e, x=3.0)",
        )
    by_name = variables(expr) if named or replacements else {}
    given: dict[Key, Expr] = {}
    for target, new in [*(replacements or {}).items(), *named.items()]:
        if isinstance(target, str):
            if target not in by_name:
                known = ", ".join(by_name) or "none"
                raise type_error(f"substitute: expected a variable ({known}), but got {target!r}")
            target = by_name[target]
        if not isinstance(target, Key | Expr):
            raise type_error(
                "substitute: expected variables, nodes or names to replace, but got "
                f"{type(target).__name__}; write substitute(e, {{x: 1.0}})",
            )
        if isinstance(target, Key):
            given[target] = lift_fully(new, (), "substitute")
        else:
            cast = new if isinstance(new, Expr) else _cast(new, target.dtype)
            given[target.key] = lift_fully(cast, (), "substitute")
    return derived_as(expr, substitute_all([expr], traced_leaves([expr]) | given)[0])


def derived_as(expr: Expr, new: Expr) -> Expr:
    """The result of a substitution, marked as a derived formula if the expression is one."""
    names = derived_names(expr)
    return new if names is None or new is expr or new.traced else as_derived(new, names)


def _cast(value: object, dtype: np.dtype[Any]) -> Any:
    """A number or an array in a dtype, if NumPy casts it there within its kind or to a wider one."""
    given = np.asarray(value)
    return given.astype(dtype) if np.can_cast(given.dtype, dtype, "same_kind") else value


def _fits(given: ArrayType, wanted: ArrayType) -> bool:
    """Whether a type differs only in lengths that are unknown, as those of stacks of a `while_loop`."""
    pairs = zip(given.shape, wanted.shape, strict=False)
    return (
        -1 in wanted.shape
        and given.dtype == wanted.dtype
        and len(given.shape) == len(wanted.shape)
        and all([n in (m, -1) for m, n in pairs])
    )


def substitute_all(
    exprs: Sequence[Expr], given: Mapping[Key, Expr], *, simple: bool = False, inputs: bool = False
) -> list[Expr]:
    """`substitute` by key, in several expressions at once.

    ``simple``: no law applies to a replacement, so that simple expressions remain simple. ``inputs``: only
    inputs are replaced, so that no other expression is hashed.
    """

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        new = given.get(expr.key) if not inputs or expr.op is INPUT else None
        if new is None:
            new = rebuild(expr, args)
            if simple and new is not expr and is_simple(expr):
                mark_simple(new)
        elif new.type != expr.type and not _fits(new.type, expr.type):
            raise type_error(
                f"substitute: expected {expr.type} in the place of {expr.name}, but got {new.type}",
            )
        return new

    with Paused():
        return folded(exprs, step)
