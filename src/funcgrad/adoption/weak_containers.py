"""Weak dicts and sets of functions and classes, as adopted code sees them.

A view shares the entries of the original. Its keys are the replacements of those there; what is looked up,
stored or removed under one reaches the entry of the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from funcgrad.adoption.containers import is_replaced_key, leads_elsewhere


class _Weak:
    """The view of a weak dict or of a weak set."""

    __slots__ = ()

    _funcgrad_original: Any
    _funcgrad_redirect: Callable[[Any], Any]

    def __init__(self, original: Any, redirect: Callable[[Any], Any]) -> None:
        object.__setattr__(self, "__dict__", vars(original))
        self._funcgrad_original, self._funcgrad_redirect = original, redirect

    def _funcgrad_key(self, key: Any) -> Any:
        held = self._funcgrad_original
        if not is_replaced_key(key) or key in held:
            return key
        known = filter(is_replaced_key, list(held))
        return next((own for own in known if self._funcgrad_redirect(own) == key), key)

    def __contains__(self, key: object) -> bool:
        return self._funcgrad_key(key) in self._funcgrad_original

    def __iter__(self) -> Iterator[Any]:
        return map(self._funcgrad_redirect, self._funcgrad_original)


def _by_key(name: str) -> Callable[..., Any]:
    def method(self: Any, key: Any, *args: object) -> Any:
        own = getattr(self._funcgrad_original, name)
        return self._funcgrad_redirect(own(self._funcgrad_key(key), *args))

    method.__name__ = method.__qualname__ = name
    return method


class WeakDictView(_Weak, WeakKeyDictionary[Any, Any]):
    """A weak dict of the replacements of its keys and values."""

    __slots__ = ("_funcgrad_original", "_funcgrad_redirect")

    __class__ = property(lambda self: WeakKeyDictionary)
    keys = _Weak.__iter__

    def values(self) -> Iterator[Any]:  # type: ignore[override]
        """As a weak dict's."""
        return map(self._funcgrad_redirect, self._funcgrad_original.values())

    def items(self) -> Iterator[tuple[Any, Any]]:  # type: ignore[override]
        """As a weak dict's."""
        return zip(iter(self), self.values(), strict=True)

    def copy(self) -> Any:
        """As a weak dict's."""
        return WeakKeyDictionary(self.items())

    __copy__ = copy


class WeakSetView(_Weak, WeakSet[Any]):
    """A weak set of the replacements of its items."""

    __slots__ = ("_funcgrad_original", "_funcgrad_redirect")

    __class__ = property(lambda self: WeakSet)


for _name in ("__delitem__", "__getitem__", "__setitem__", "get", "pop", "setdefault"):
    setattr(WeakDictView, _name, _by_key(_name))
for _name in ("add", "discard", "remove"):
    setattr(WeakSetView, _name, _by_key(_name))
_VIEWS: dict[type, Any] = {WeakKeyDictionary: WeakDictView, WeakSet: WeakSetView}


def weak_view(value: Any, redirect: Callable[[Any], Any]) -> Any:
    """A view of a weak dict or set; itself if none of its keys is replaced."""
    return _VIEWS[type(value)](value, redirect) if leads_elsewhere(value) else value
