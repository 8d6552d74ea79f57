"""Memoized functions in adopted code: traced values cannot be looked up in a cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any


def bypassing_cache(
    wrapper: Callable[..., Any],
    function: Callable[..., Any],
    looks_up: Callable[[list[object]], bool],
    redirect: Callable[[Any], Any],
) -> Callable[..., Any]:
    """A memoized function that calls ``function`` on arguments which the cache does not look up."""

    @wraps(wrapper)
    def cached(*args: object, **kwargs: object) -> Any:
        if looks_up([*args, *kwargs.values()]):
            return redirect(wrapper(*args, **kwargs))
        return function(*args, **kwargs)

    for name in _OF_CACHES.intersection(dir(wrapper)):
        setattr(cached, name, getattr(wrapper, name))
    return cached


def all_plain(values: list[object]) -> bool:
    """Whether values are numbers and texts: an object may hold traced values, which a cache would keep."""
    return _HASHED.issuperset(map(type, values))


_OF_CACHES = frozenset(("cache_clear", "cache_info", "cache_parameters"))
_HASHED = frozenset((int, float, complex, bool, str, bytes, type(None)))
