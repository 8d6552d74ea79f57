"""The arguments of a call of NumPy's function, as the function that stands in for it names them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops.base.arguments import refuse_other_libraries_names
from funcgrad.source import type_error


class Signatures(NamedTuple):
    """What the signatures of a function and of its stand-in have in common."""

    theirs: inspect.Signature | None
    """NumPy's; None if it has none."""
    aligned: int
    """The number of leading arguments that both take by position."""
    names: frozenset[str]
    """The arguments that the stand-in takes by name."""
    open: bool
    """Whether the stand-in takes any name."""


@lru_cache(maxsize=1024)
def signatures(func: Callable[..., Any], stand_in: Callable[..., Any]) -> Signatures:
    """The common part of two signatures."""
    own = list(inspect.signature(stand_in).parameters.values())
    named = frozenset([p.name for p in own if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)])
    is_open = any([p.kind is p.VAR_KEYWORD for p in own])
    if any([p.kind is p.VAR_POSITIONAL for p in own]):
        return Signatures(None, 64, named, True)
    try:
        theirs = inspect.signature(func)
    except ValueError:
        return Signatures(None, 64, named, is_open)
    by_place = [p.name for p in own if p.kind in (p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)]
    aligned = 0
    for (name, parameter), mine in zip(theirs.parameters.items(), by_place, strict=False):
        # Operands, which have no default, may be named otherwise.
        operand = parameter.default is parameter.empty and name not in named
        if name != mine and not operand:
            break
        aligned += 1
    return Signatures(theirs, aligned, named, is_open)


def bind_arguments(
    func: Callable[..., Any],
    stand_in: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments for the stand-in; None if it has no counterpart of one that is not NumPy's default."""
    if any([value is np._NoValue for value in (*args[-1:], *kwargs.values())]):
        kwargs = {name: value for name, value in kwargs.items() if value is not np._NoValue}
        while args and args[-1] is np._NoValue:
            args = args[:-1]
    known = signatures(func, stand_in)
    if len(args) <= known.aligned and (known.names.issuperset(kwargs) or known.theirs is None):
        return args, kwargs
    if known.theirs is None:
        return args, kwargs
    try:
        given = known.theirs.bind(*args, **kwargs)
    except TypeError as error:
        refuse_other_libraries_names(func.__name__, kwargs)
        raise type_error(f"{func.__name__}: {error}") from None
    places: list[Any] = []
    named: dict[str, Any] = {}
    for i, (name, parameter) in enumerate(known.theirs.parameters.items()):
        if parameter.kind is parameter.VAR_KEYWORD:
            named |= given.arguments.get(name, {})
        elif name in given.arguments:
            value = given.arguments[name]
            if i < known.aligned and i == len(places):
                places.append(value)
            elif not _is_default(value, parameter.default):
                named[name] = value
    if not known.open and not known.names.issuperset(named):
        return None
    return tuple(places), named


def _is_default(value: object, default: object) -> bool:
    if value is default or value is np._NoValue:
        return True
    return type(value) is type(default) and not isinstance(value, Expr) and bool(value == default)
