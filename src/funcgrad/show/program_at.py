"""A program with values of its variables, for displays that take a function or an expression."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from funcgrad.algebras.arguments_of import subject
from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr, rebuild
from funcgrad.fold import folded
from funcgrad.ops.base.op import leaf
from funcgrad.rewrite.evaluate import sample_values, variables
from funcgrad.show.naming import check_values
from funcgrad.source import type_error
from funcgrad.trace.leaves import parameter_names


def program_at(
    who: str, f: Callable[..., Any] | Expr, args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Expr, dict[Any, Any]]:
    """The one result of a function or the expression itself, and the values of its variables.

    A function has its arguments by position or by name, an expression the values of its variables by name or
    in a dict. Raises TypeError if ``f`` is neither, or returns more than one result.
    """
    f = plain_value(f)
    if isinstance(f, Expr):
        if len(args) > 1 or not all(isinstance(arg, Mapping) for arg in args):
            file = who == "explore" and isinstance(args[-1], str | PathLike)
            hint = f", and {who}(e, path='e.html') for a file" if file else ""
            kinds = ", ".join([type(arg).__name__ for arg in args])
            raise type_error(
                f"{who}: expected values by name or in a dict, but got {kinds}; "
                f"write {who}(e, {sample_values(variables(f)) or 'x=2.0'}){hint}",
            )
        values = {**(args[0] if args else {}), **named}
        if values:
            check_values(who, list(variables(f).values()), values, {})
        return f, values
    if not callable(f):
        raise type_error(
            f"{who}: expected a function or an expression, but got {type(f).__name__}; "
            + _instead(who, f),
        )
    args = _by_position(who, f, args, named)
    given = subject(who, f, args, {})
    if len(given.roots) != 1:
        raise type_error(
            f"{who}: expected a function that returns one number, but got {len(given.roots)} results",
        )
    return _without_leaves(given.roots[0]), given.by_name


def _instead(who: str, f: object) -> str:
    if isinstance(f, list | tuple | dict):
        every = "formulas.values()" if isinstance(f, dict) else "formulas"
        return f"write [{who}(e) for e in {every}]"
    return f"write {who}(f, 2.0), or {who}(e) for an expression"


def _without_leaves(root: Expr) -> Expr:
    """A program without the marks of inner derivatives, which are identities."""

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        return args[0] if expr.op is leaf else rebuild(expr, args)

    return folded([root], step)[0]


def formula_at(who: str, f: Callable[..., Any] | Expr, args: Sequence[Any]) -> Expr:
    """The expression itself, or the one result of a function, for displays that show no values.

    Raises TypeError if ``f`` is neither, for values beside an expression, and for arguments that do not fit.
    """
    f = plain_value(f)
    if isinstance(f, Expr) and args:
        kinds = ", ".join([type(arg).__name__ for arg in args])
        raise type_error(
            f"{who}: expected an expression alone, but got {kinds}, too; write {who}(e)"
        )
    return f if isinstance(f, Expr) else program_at(who, f, args, {})[0]


def _by_position(
    who: str, f: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
) -> Sequence[Any]:
    """The arguments of a call in order; the arguments of a ufunc have no names but those it is known by."""
    known = parameter_names(f, len(args) + len(named))
    if isinstance(f, np.ufunc) and set(known[len(args) :]) == named.keys():
        return [*args, *[named[name] for name in known[len(args) :]]]
    try:
        signature = inspect.signature(f)
    except ValueError:  # a function in C without one
        return args
    try:
        return signature.bind(*args, **named).args
    except TypeError as error:
        is_file = who in ("to_svg", "explore") and args and isinstance(args[-1], str | PathLike)
        own = [p for p in signature.parameters.values() if p.default is p.empty and p.kind <= 1]
        numbers = ", ".join(["2.0"] * max(len(own), 1))
        raise type_error(
            f"{who}: expected the arguments of the function, but got {len(args) + len(named)}: {error}; "
            f"write {who}(f, {numbers})"
            + (f", and path={str(args[-1])!r} for a file" if is_file else ""),
        ) from None
