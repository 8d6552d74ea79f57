"""The functions of `funcgrad.scipy` in adopted code: they take lists, and their arrays can be written."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

from funcgrad.arrays.mutable_array import mutable
from funcgrad.expr import Expr
from funcgrad.numpy.array_likes import ArrayFunction


class ScipyFunction(ArrayFunction):
    """A function or a distribution of `funcgrad.scipy`, or a method of one; equal to what it stands for."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _seen(super().__call__(*args, **kwargs))

    def _each_converted(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        kept = _places_of_tuples(self.__wrapped__)
        return tuple([arg if i in kept else self._array_like(arg) for i, arg in enumerate(args)])

    def _by_name(self, name: str, value: Any) -> Any:
        return value if name in _TUPLES else self._array_like(value)

    def _array_like(self, value: object) -> Any:
        """An array in the place of lists; unlike items, like ``(c, lower)`` of `cho_solve`, are kept."""
        try:
            return self._converted(value)
        except ValueError:
            return value

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # not set yet
            raise AttributeError(name)
        return as_adopted(getattr(self.__wrapped__, name))


_TUPLES = ("args", "c_or_cr")
"""Names of parameters that are tuples, no arrays: arguments of a function that SciPy calls, two vectors."""


@lru_cache(maxsize=1024)
def _places_of_tuples(function: Callable[..., Any]) -> tuple[int, ...]:
    """The positions of the parameters of a function that are tuples."""
    parameters = enumerate(inspect.signature(function).parameters.values())
    return tuple(
        [k for k, p in parameters if p.name in _TUPLES and p.kind is p.POSITIONAL_OR_KEYWORD]
    )


def _seen(value: object) -> Any:
    """A result: an array of traced values can be written."""
    if type(value) is Expr:
        return mutable(value)
    if isinstance(value, tuple | list):
        items = [_seen(item) for item in value]
        return value._make(items) if hasattr(value, "_make") else type(value)(items)
    return as_adopted(value)


def as_adopted(value: Any) -> Any:
    """A function, a method or an instance of this package in adopted code; anything else as it is."""
    home = str(getattr(value, "__module__", None))
    own = home.startswith("funcgrad.scipy.") or (home.startswith("funcgrad.") and callable(value))
    if not own or isinstance(value, type | ArrayFunction | Expr):
        return value
    return _kept(value) if isinstance(value, FunctionType) else ScipyFunction(value)


_kept = lru_cache(maxsize=1024)(ScipyFunction)
