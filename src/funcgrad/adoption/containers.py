"""Lists, dicts and tuples of functions and instances, as adopted code sees them.

A view of a list or a dict reads the original at each access, and redirects what it finds; what is stored into
it reaches the original. It is a list or a dict itself, and holds a copy for code in C that does not ask it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from inspect import getattr_static
from itertools import islice
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from funcgrad.adoption.namespaces import is_kept

_Redirect = Callable[[Any], Any]

_CALLED = frozenset(
    {FunctionType, MethodType, ModuleType, BuiltinFunctionType, np.ufunc, type(np.sum)}
)
_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None), np.float64})
_HEAP = 1 << 9  # the flag of classes that a class statement has made

_LONGEST = 32
"""The number of items that are examined: a list that begins with as many numbers counts as one of numbers."""
_DEEPEST = 5
"""The depth of nested containers that is examined."""


def leads_elsewhere(value: Any, depth: int = _DEEPEST) -> bool:
    """Whether adopted code replaces something in it: a function, an object with methods, or an array.

    >>> leads_elsewhere([1.0, 2.0]), leads_elsewhere({"relu": max}), leads_elsewhere((1, [min]))
    (False, True, True)
    """
    kind = type(value)
    if kind in _PLAIN:
        return False
    if kind in _CALLED:
        return True
    if kind is np.ndarray:
        return depth == _DEEPEST and bool(value.ndim) and value.dtype.kind in "biufc"
    if isinstance(value, list | tuple | dict):
        items: Iterable[Any] = value.values() if isinstance(value, dict) else value
        if depth > 0 and any(
            [leads_elsewhere(item, depth - 1) for item in islice(items, _LONGEST)]
        ):
            return True
        if not hasattr(value, "_make"):
            return False
    made = value if isinstance(value, type) else kind
    if made is float or made is complex:  # a conversion to numbers
        return value is made
    return bool(made.__flags__ & _HEAP) and not is_kept(made.__module__)


def tuple_view(value: Any, redirect: _Redirect) -> Any:
    """A tuple of the replacements of its items, of the same kind; itself if none is replaced."""
    if not leads_elsewhere(value):
        return value
    items = [redirect(item) for item in value]
    if all([new is old for new, old in zip(items, value, strict=True)]):
        return value
    return value._make(items) if hasattr(value, "_make") else tuple(items)


def container_view(value: Any, redirect: _Redirect) -> Any:
    """A view of a list or a dict; itself if none of its items is replaced."""
    if not leads_elsewhere(value):
        return value
    return (DictView if type(value) is dict else ListView)(value, redirect)


def _stored(name: str) -> Callable[..., Any]:
    """A method that changes the original, and then the copy."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = getattr(self.original, name)(*args, **kwargs)
        self.renew()
        return self if made is self.original else self.redirect(made)

    method.__name__ = method.__qualname__ = name
    return method


class ListView(list[Any]):
    """A list whose items are redirected when they are read."""

    __slots__ = ("original", "redirect")

    def __init__(self, original: list[Any], redirect: _Redirect) -> None:
        self.original = original
        self.redirect = redirect
        self.renew()

    def renew(self) -> None:
        """Copy the items again."""
        super().__init__([self.redirect(item) for item in self.original])

    def __getitem__(self, index: Any) -> Any:
        found = self.original[index]
        return (
            [self.redirect(item) for item in found]
            if type(index) is slice
            else self.redirect(found)
        )

    def __iter__(self) -> Iterator[Any]:
        return map(self.redirect, self.original)

    def __len__(self) -> int:
        return len(self.original)

    def __contains__(self, item: Any) -> bool:
        return item in self.original or item in list(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self.original),)

    append = _stored("append")
    clear = _stored("clear")
    extend = _stored("extend")
    insert = _stored("insert")
    pop = _stored("pop")
    remove = _stored("remove")
    reverse = _stored("reverse")
    sort = _stored("sort")
    __delitem__ = _stored("__delitem__")
    __iadd__ = _stored("__iadd__")
    __imul__ = _stored("__imul__")
    __setitem__ = _stored("__setitem__")


class DictView(dict[Any, Any]):
    """A dict whose values are redirected when they are read."""

    __slots__ = ("original", "redirect")

    def __init__(self, original: dict[Any, Any], redirect: _Redirect) -> None:
        self.original = original
        self.redirect = redirect
        self.renew()

    def renew(self) -> None:
        """Copy the values again."""
        super().clear()
        super().update({key: self.redirect(value) for key, value in self.original.items()})

    def __getitem__(self, key: Any) -> Any:
        return self.redirect(self.original[key])

    def get(self, key: Any, default: Any = None) -> Any:
        return self.redirect(self.original.get(key, default))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.original)

    def __len__(self) -> int:
        return len(self.original)

    def __contains__(self, key: object) -> bool:
        return key in self.original

    def keys(self) -> Any:
        return self.original.keys()

    def values(self) -> Any:
        return {key: self.redirect(value) for key, value in self.original.items()}.values()

    def items(self) -> Any:
        return {key: self.redirect(value) for key, value in self.original.items()}.items()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self.original),)

    clear = _stored("clear")
    pop = _stored("pop")
    popitem = _stored("popitem")
    setdefault = _stored("setdefault")
    update = _stored("update")
    __delitem__ = _stored("__delitem__")
    __ior__ = _stored("__ior__")
    __setitem__ = _stored("__setitem__")


class AttributeView:
    """An attribute of instances whose value is redirected when it is read."""

    def __init__(self, name: str, kind: type, redirect: _Redirect) -> None:
        self._name = name
        self._kind = kind
        self._redirect = redirect

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        above = super(self._kind, self._kind if instance is None else instance)
        if instance is None or self._name not in instance.__dict__:
            return getattr(above, self._name)
        return self._redirect(instance.__dict__[self._name])

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self._name] = value

    def __delete__(self, instance: Any) -> None:
        try:
            del instance.__dict__[self._name]
        except KeyError:
            raise AttributeError(self._name) from None


def view_attributes(kind: type, space: dict[str, Any], redirect: _Redirect) -> None:
    """Have instances of an adopted class redirect the attributes that are replaced."""
    for name, value in space.items():
        known = getattr_static(kind, name, None)
        if name not in vars(kind) and not hasattr(known, "__set__") and leads_elsewhere(value):
            setattr(kind, name, AttributeView(name, kind, redirect))
