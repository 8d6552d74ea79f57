"""Containers of the standard library beside lists, dicts and tuples, as adopted code sees them."""

from __future__ import annotations

import sys
from collections import ChainMap, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from types import MappingProxyType, SimpleNamespace
from typing import Any
from weakref import ref

from funcgrad.adoption.view_originals import deep_copy, original_of_view

_HOLDERS = frozenset((ChainMap, SimpleNamespace, UserDict, UserList))

_OF_NUMBERS = (float, complex, int)


def is_holder(kind: type) -> bool:
    """Whether a class is the standard library's, and its instances hold items as attributes, or in one."""
    if kind in _HOLDERS:
        return True
    # Only a program that has imported argparse, which takes 1 ms, has instances.
    return kind is getattr(sys.modules.get("argparse"), "Namespace", None)


def items_held(value: object) -> Iterable[Any] | None:
    """The items of a container of Python's or the standard library's; None of anything else.

    What makes the missing values of a dict is one of them.
    """
    # The views in the items of a view may lead back to it; those of its original are no views.
    held: Any = value
    if hasattr(type(held), "_funcgrad_original"):
        held = held._funcgrad_original
    kind = type(held)  # the ``__class__`` of a proxy is another
    if issubclass(kind, defaultdict) and held.default_factory not in _OF_NUMBERS:
        return [held.default_factory, *held.values()]
    if issubclass(kind, dict | MappingProxyType):
        return held.values()  # type: ignore[no-any-return]
    if issubclass(kind, list | tuple | set | frozenset | deque):
        return held  # type: ignore[no-any-return]
    return vars(held).values() if is_holder(kind) else None


def are_same(items: Iterable[object], others: Iterable[object]) -> bool:
    """Whether a copy has these items, so that code which goes over it may go on."""
    return all([one is other for one, other in zip_longest(items, others, fillvalue=_MISSING)])


_MISSING = object()


class NamespaceView(SimpleNamespace):
    """A namespace whose attributes are redirected when they are read, and stored in the original."""

    __slots__ = ("__weakref__", "_funcgrad_original", "_funcgrad_redirect")

    _funcgrad_original: Any
    _funcgrad_redirect: Callable[[Any], Any]

    def __init__(self, original: SimpleNamespace, redirect: Callable[[Any], Any]) -> None:
        object.__setattr__(self, "_funcgrad_original", original)
        object.__setattr__(self, "_funcgrad_redirect", redirect)

    __class__ = property(lambda self: SimpleNamespace)
    __dict__ = property(lambda self: vars(self._funcgrad_original))

    def __getattr__(self, name: str) -> Any:
        return self._funcgrad_redirect(getattr(self._funcgrad_original, name))

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._funcgrad_original, name, original_of_view(value))

    def __delattr__(self, name: str) -> None:
        delattr(self._funcgrad_original, name)

    def __eq__(self, other: object) -> bool:
        return bool(self._funcgrad_original == original_of_view(other))

    __hash__ = None

    def __repr__(self) -> str:
        return repr(self._funcgrad_original)

    __deepcopy__ = deep_copy

    def __reduce__(self) -> Any:
        return SimpleNamespace, (), dict(vars(self._funcgrad_original))


class ReferenceView(ref[Any]):
    """A weak reference that gives the replacement of its object; equal to the original one."""

    __slots__ = ("_funcgrad_original", "_funcgrad_redirect")

    _funcgrad_original: Any
    _funcgrad_redirect: Callable[[Any], Any]

    def __call__(self) -> Any:
        found = super().__call__()
        return None if found is None else self._funcgrad_redirect(found)


def reference_view(original: ref[Any], redirect: Callable[[Any], Any]) -> ref[Any]:
    """A view of a weak reference; the reference itself if its object is not replaced, or gone."""
    found = original()
    known = _REFERENCES.get(id(original))
    if known is not None:
        return known
    if found is None or redirect(found) is found:
        return original
    key = id(original)

    def forget(_: object) -> None:
        _REFERENCES.pop(key, None)

    made = ReferenceView(found, forget)
    made._funcgrad_original, made._funcgrad_redirect = original, redirect
    callback: Any = original.__callback__
    if callback is None:  # else it would run after the end of the reference
        _REFERENCES[key] = made
    return made


_REFERENCES: dict[int, ReferenceView] = {}
"""The views of weak references, by the ids of these, for as long as the objects are there."""


class DequeView(deque[Any]):
    """A deque whose items are redirected when they are read, and stored in the original."""

    __slots__ = ("_funcgrad_original", "_funcgrad_redirect")

    _funcgrad_original: deque[Any]
    _funcgrad_redirect: Callable[[Any], Any]

    def __init__(self, original: deque[Any], redirect: Callable[[Any], Any]) -> None:
        super().__init__((), original.maxlen)
        self._funcgrad_original = original
        self._funcgrad_redirect = redirect
        self.renew()

    def renew(self) -> None:
        """Copy the items again."""
        items = [*map(self._funcgrad_redirect, self._funcgrad_original)]
        if not are_same(items, deque.__iter__(self)):
            deque.clear(self)
            deque.extend(self, items)

    def __getitem__(self, index: Any) -> Any:
        return self._funcgrad_redirect(self._funcgrad_original[index])

    def __iter__(self) -> Iterator[Any]:
        return map(self._funcgrad_redirect, self._funcgrad_original)

    def __len__(self) -> int:
        return len(self._funcgrad_original)

    def __contains__(self, item: object) -> bool:
        return item in self._funcgrad_original or item in list(self)

    __deepcopy__ = deep_copy

    def __reduce__(self) -> Any:
        return deque, (list(self._funcgrad_original), self._funcgrad_original.maxlen)
