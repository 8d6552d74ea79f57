"""Transforms that take their function later: without it, they are decorators of their options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from funcgrad.source import type_error
from funcgrad.transformed import Decorator, with_recipe

if TYPE_CHECKING:
    from funcgrad.transforms.transform_types import CompilingTransform, DerivativeTransform

P = ParamSpec("P")
R = TypeVar("R")

LATER: Any = None
"""The default of a function that may come later."""


def curried(transform: Callable[P, R]) -> Callable[P, R]:
    """A transform that, given its options alone, waits for its function, the first argument.

    Raises TypeError for an option that the transform does not have, and for None in the function's place.

    >>> @curried
    ... def scaled(f=LATER, factor=1.0):
    ...     return lambda x: factor * f(x)
    >>> scaled(factor=3.0), scaled(factor=3.0)(abs)(-2.0)
    (scaled(factor=3.0), 6.0)
    >>> scaled(abs, factors=3.0)
    Traceback (most recent call last):
        ...
    TypeError: scaled: expected options among factor, but got factors; write factor=3.0
      at ...
    """
    names = list(signature(transform).parameters)

    def waits(args: Sequence[object], kwargs: Mapping[str, object]) -> bool:
        _check(transform.__name__, names, args, kwargs)
        return not args and names[0] not in kwargs

    def later(kwargs: Mapping[str, object]) -> Any:
        return Decorator(made, **kwargs)

    def made_by(result: R, args: tuple[object, ...], kwargs: Mapping[str, object]) -> R:
        return with_recipe(result, made, args, kwargs)

    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        if (kwargs or not args or args[0] is None) and waits(args, kwargs):
            return later(kwargs)  # type: ignore[no-any-return]
        return made_by(transform(*args, **kwargs), args, kwargs)

    # A function of the module that the transform stands in: doctest, and adopted code, go by that.
    made: Any = FunctionType(
        called.__code__, transform.__globals__, transform.__name__, None, called.__closure__
    )
    return wraps(transform)(made)


differentiating = cast("Callable[..., DerivativeTransform]", curried)
"""`curried`, of a transform with the options of `grad`, as type checkers see it."""
compiling = cast("Callable[..., CompilingTransform]", curried)
"""`curried`, of `jit`, as type checkers see it."""


def _check(
    who: str, names: Sequence[str], args: Sequence[object], kwargs: Mapping[str, object]
) -> None:
    if not kwargs.keys() <= set(names):
        # Imported here: it takes a millisecond.
        from funcgrad.names_elsewhere import unknown_option

        raise unknown_option(who, kwargs, names[1:])
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if given.get(names[0], who) is None:
        raise type_error(
            f"{who}: expected a function, but got None; a function that makes one returns it",
        )
