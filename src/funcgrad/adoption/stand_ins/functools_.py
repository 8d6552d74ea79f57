"""``functools`` for adopted code: functions that it memoizes or dispatches take traced values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from funcgrad.adoption.memoized import bypassing_cache
from funcgrad.adoption.single_dispatch import DispatchingMethod, dispatching
from funcgrad.adoption.stand_ins.number_functions import any_traced


def _as_it_is(f: Any) -> Any:
    """What is registered within adopted code is adopted already."""
    return f


def singledispatch(func: Callable[..., Any]) -> Any:
    """As `functools.singledispatch`."""
    return dispatching(functools.singledispatch(func), _as_it_is)


class singledispatchmethod(functools.singledispatchmethod):  # type: ignore[type-arg]  # noqa: N801
    """As `functools.singledispatchmethod`."""

    def __get__(self, obj: object, cls: type | None = None) -> Any:
        return DispatchingMethod(self, _as_it_is).__get__(obj, cls)


def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    """As `functools.lru_cache`."""
    if callable(maxsize):
        return _cached(maxsize, 128, typed)
    return lambda f: _cached(f, maxsize, typed)


def cache(user_function: Callable[..., Any], /) -> Any:
    """As `functools.cache`."""
    return _cached(user_function, None, False)


def _cached(f: Callable[..., Any], maxsize: int | None, typed: bool) -> Any:
    made = functools.lru_cache(maxsize, typed)(f)
    return bypassing_cache(made, f, lambda arguments: not any_traced(*arguments), lambda made: made)


globals().update({name: value for name, value in vars(functools).items() if name not in globals()})
