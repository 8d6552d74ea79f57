"""Lists, dicts and tuples of functions and instances, as adopted code sees them.

A view of a list or a dict reads the original at each access, and redirects what it finds; what is stored into
it reaches the original. It is a list or a dict itself, and holds a copy for code in C that does not ask it.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import _lru_cache_wrapper, partial
from inspect import getattr_static
from itertools import chain, islice
from threading import local
from types import (
    BuiltinFunctionType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any
from weakref import ProxyTypes, WeakKeyDictionary, WeakSet, WeakValueDictionary, ref

import numpy as np

from funcgrad.adoption.namespaces import GENERIC_ALIASES, is_kept_class
from funcgrad.adoption.standard_containers import DequeView, NamespaceView, are_same, items_held
from funcgrad.adoption.view_originals import deep_copy, original_of_view
from funcgrad.adoption.wrapt_functions import is_of_wrapt
from funcgrad.expr import Expr, const
from funcgrad.ops.shape import as_pythons
from funcgrad.source import HEAP
from funcgrad.trace.known_code import ARRAYS_HELD, LONGEST_OF_NUMBERS, MOST_OBJECTS, is_data
from funcgrad.trace.masked_trees import is_masked
from funcgrad.trace.outer_arrays import instance_dict, referent_of

_Redirect = Callable[[Any], Any]

_CALLED = frozenset(
    {
        FunctionType,
        MethodType,
        ModuleType,
        BuiltinFunctionType,
        np.ufunc,
        type(np.sum),
        np.vectorize,
        partial,
        _lru_cache_wrapper,
    }
)
_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None), np.float64})

_LONGEST_COPY = 256
"""The number of items up to which a view holds their replacements for code in C."""
_DEEPEST = 5
"""The depth of nested containers that is examined."""
INNER = _DEEPEST - 1
"""The depth from which arrays count only where the arrays in containers are cells."""


def leads_elsewhere(value: Any, depth: int = _DEEPEST) -> bool:
    """Whether adopted code replaces something in it: a function, an object with methods, or an array.

    >>> leads_elsewhere([1.0, 2.0]), leads_elsewhere({"relu": max}), leads_elsewhere((1, [min]))
    (False, True, True)
    """
    kind = type(value)
    if kind in _PLAIN:
        return False
    if kind in _CALLED or is_masked(kind) or is_of_wrapt(value):
        return True
    if kind is np.ndarray:
        if value.dtype.kind == "O":
            return any(
                [leads_elsewhere(item, INNER) for item in islice(value.flat, LONGEST_OF_NUMBERS)]
            )
        seen = depth == _DEEPEST or ARRAYS_HELD.get()
        return seen and bool(value.ndim) and value.dtype.kind in "biufc"
    if kind in ProxyTypes:
        return leads_elsewhere(referent_of(value), depth)
    if kind is WeakKeyDictionary or kind is WeakSet:
        return any(map(is_replaced_key, islice(list(value), LONGEST_OF_NUMBERS)))
    if kind.__module__.startswith("numba."):
        return True
    items = [value()] if kind is ref else items_held(value)
    if items and issubclass(kind, dict | MappingProxyType):
        items = chain(filter(is_replaced_key, islice(value, LONGEST_OF_NUMBERS)), items)
    if items is not None:
        if depth > 0 and _any_leads_elsewhere(iter(items), depth - 1):
            return True
        if is_kept_class(kind):
            return False
    if kind in GENERIC_ALIASES:
        return leads_elsewhere(value.__origin__)
    made = value if issubclass(kind, type) else kind
    if made is float or made is complex:  # a conversion to numbers
        return value is made
    return bool(made.__flags__ & HEAP) and not is_kept_class(made)


def _any_leads_elsewhere(items: Iterator[Any], depth: int) -> bool:
    """Whether one of the items of a container does; those that come late are not taken apart."""
    head = [*islice(items, LONGEST_OF_NUMBERS)]
    if any([leads_elsewhere(item, depth) for item in head]):
        return True
    return not all(map(is_data, head)) and any(
        [leads_elsewhere(item, 0) for item in islice(items, MOST_OBJECTS)]
    )


def is_replaced_key(key: Any) -> bool:
    """Whether adopted code replaces a key of a dict: a function, a class, or what holds one.

    >>> is_replaced_key("relu"), is_replaced_key(max), is_replaced_key((1, int, float))
    (False, True, True)
    """
    kind = type(key)
    if kind is tuple or kind is frozenset:
        return any(map(is_replaced_key, key))
    if kind in _CALLED or issubclass(kind, type):
        return leads_elsewhere(key, 0)
    by_identity = getattr_static(kind, "__eq__") is vars(object)["__eq__"]
    if kind in _PLAIN or by_identity or is_kept_class(kind):
        return False
    return any([type(item) in _CALLED for item in (instance_dict(key) or {}).values()])


def tuple_view(value: Any, redirect: _Redirect) -> Any:
    """A tuple, or a frozenset, of the replacements of its items; itself if none is replaced."""
    if not leads_elsewhere(value):
        return value
    items = [redirect(item) for item in value]
    if all([new is old for new, old in zip(items, value, strict=True)]):
        return value
    return value._make(items) if hasattr(value, "_make") else type(value)(items)


def container_view(value: Any, redirect: _Redirect) -> Any:
    """A view of a list or a dict; itself if none of its items is replaced.

    It is one object for as long as code refers to it, which may compare it by ``is``.
    """
    if not leads_elsewhere(value) and not (ARRAYS_HELD.get() and _is_of_numbers(value)):
        return value
    known: WeakValueDictionary[tuple[int, int, bool], Any]
    known = _MADE.__dict__.setdefault("views", WeakValueDictionary())
    key = id(value), id(redirect), ARRAYS_HELD.get()  # the view refers to the first two
    begun: set[int] = _MADE.__dict__.setdefault("begun", set())
    made: Any = known.get(key)
    is_new = made is None
    kind = _VIEWS[type(value)]
    if is_new:
        made = known[key] = kind.__new__(kind, value, redirect)
    if id(value) not in begun:  # else it holds itself
        begun.add(id(value))
        try:
            if is_new:
                kind.__init__(made, value, redirect)
            elif type(made) is not NamespaceView:  # which holds no copy
                made.renew()
        finally:
            begun.discard(id(value))
    return made


_MADE = local()
"""The views of a thread, and the containers whose views it is making."""


def _is_of_numbers(value: Any) -> bool:
    """Whether a list holds floats, or integers, alone, so that a traced index is one of an array of them."""
    kind = type(value[0]) if type(value) is list and value else None
    return kind in (float, int) and set(map(type, value)) == {kind}


def _stored(name: str, base: type) -> Callable[..., Any]:
    """A method that changes the original, and then the copy."""
    own = getattr(base, name)  # one that a subclass defines has run

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        # What is stored, or removed, is the original of a view.
        given = [*map(original_of_view, args)]
        if base is dict:
            given = self._funcgrad_given(name, given)
        made = own(self._funcgrad_original, *given, **kwargs)
        _RENEWED[base].renew(self)
        return self if made is self._funcgrad_original else self._funcgrad_redirect(made)

    method.__name__ = method.__qualname__ = name
    return method


_BY_KEY = frozenset(
    ("__delitem__", "__getitem__", "__setitem__", "move_to_end", "pop", "setdefault")
)
"""The methods of dicts that take a key."""


class ListView(list[Any]):
    """A list whose items are redirected when they are read."""

    __slots__ = ("__weakref__", "_funcgrad_original", "_funcgrad_redirect")

    _funcgrad_original: Any
    _funcgrad_redirect: _Redirect

    def __new__(cls, *given: Any) -> Any:
        return list(*given) if len(given) < 2 else list.__new__(cls)

    def __init__(self, original: list[Any], redirect: _Redirect) -> None:
        self._funcgrad_original = original
        self._funcgrad_redirect = redirect
        self.renew()

    def renew(self) -> None:
        """Copy the items again; those of a long list as they are, since each redirection takes time."""
        held = self._funcgrad_original
        short = len(held) <= _LONGEST_COPY
        items = [self._funcgrad_redirect(item) for item in held] if short else held
        if not are_same(items, list.__iter__(self)):
            super().__init__(items)

    def __reversed__(self) -> Iterator[Any]:
        return map(self._funcgrad_redirect, reversed(self._funcgrad_original))

    def __add__(self, other: Any) -> Any:
        return [*self].__add__(other)

    def __mul__(self, count: Any) -> Any:
        return [*self].__mul__(count)

    __rmul__ = __mul__

    def copy(self) -> list[Any]:
        """As a list's."""
        return [*self]

    __copy__ = copy
    __deepcopy__ = deep_copy

    def __getitem__(self, index: Any) -> Any:
        if type(index) is Expr and not index.shape and _is_of_numbers(self._funcgrad_original):
            table = np.array(self._funcgrad_original)
            if table.dtype.kind in "fi" and index.dtype.kind in "iu":
                return as_pythons(const(table)[index])
        found = self._funcgrad_original[index]
        return (
            [self._funcgrad_redirect(item) for item in found]
            if type(index) is slice
            else self._funcgrad_redirect(found)
        )

    def __iter__(self) -> Iterator[Any]:
        return map(self._funcgrad_redirect, self._funcgrad_original)

    def __len__(self) -> int:
        return len(self._funcgrad_original)

    def __contains__(self, item: Any) -> bool:
        return item in self._funcgrad_original or item in list(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self._funcgrad_original),)


class SetView(set[Any]):
    """A set of the replacements of its items; what is added to it, or taken from it, reaches the original."""

    __slots__ = ("_funcgrad_original", "_funcgrad_redirect")

    _funcgrad_original: Any
    _funcgrad_redirect: _Redirect

    def __init__(self, original: set[Any], redirect: _Redirect) -> None:
        self._funcgrad_original = original
        self._funcgrad_redirect = redirect
        self.renew()

    def renew(self) -> None:
        """Copy the items again."""
        items = set(map(self._funcgrad_redirect, self._funcgrad_original))
        if not are_same(items, set.__iter__(self)):
            set.clear(self)
            set.update(self, items)

    def copy(self) -> set[Any]:
        """As a set's."""
        return {*self}

    __copy__ = copy
    __deepcopy__ = deep_copy

    def __contains__(self, item: object) -> bool:
        return set.__contains__(self, item) or item in self._funcgrad_original

    def __reduce__(self) -> tuple[Any, ...]:
        return set, (list(self._funcgrad_original),)


class DictView(dict[Any, Any]):
    """A dict whose values are redirected when they are read, and keys that are functions or classes."""

    __slots__ = ("__weakref__", "_funcgrad_original", "_funcgrad_redirect")

    _funcgrad_original: Any
    _funcgrad_redirect: _Redirect

    def __new__(cls, *given: Any) -> Any:
        # What is made again of items, as a tree is, and by `dataclasses.asdict`, is a plain dict.
        return dict(*given) if len(given) < 2 else dict.__new__(cls)

    def __init__(self, original: dict[Any, Any], redirect: _Redirect) -> None:
        object.__setattr__(self, "_funcgrad_original", original)
        object.__setattr__(self, "_funcgrad_redirect", redirect)
        DictView.renew(self)

    def renew(self) -> None:
        """Copy the values again; those of a long dict as they are."""
        held = self._funcgrad_original
        items = self._redirected() if len(held) <= _LONGEST_COPY else dict(self._pairs())
        is_same = are_same(items, dict.__iter__(self))
        if not (is_same and are_same(items.values(), dict.values(self))):
            dict.clear(self)
            dict.update(self, items)

    def _funcgrad_key(self, key: Any) -> Any:
        """The key of the original that a key of adopted code stands for; the key itself, if it is none."""
        held = self._funcgrad_original
        if not is_replaced_key(key) or dict.__contains__(held, key):
            return key
        known = filter(is_replaced_key, list(held))
        return next((own for own in known if self._funcgrad_redirect(own) == key), key)

    def _funcgrad_given(self, name: str, given: list[Any]) -> list[Any]:
        """The arguments of a method, with the keys of the original."""
        if name in _BY_KEY:
            return [self._funcgrad_key(given[0]), *given[1:]]
        if given and isinstance(given[0], dict) and any(map(is_replaced_key, given[0])):
            keyed = {self._funcgrad_key(key): value for key, value in given[0].items()}
            made = Counter(keyed) if isinstance(given[0], Counter) else keyed
            return [made, *given[1:]]
        return given

    def _seen(self, keys: Iterable[Any]) -> Iterator[Any]:
        redirect = self._funcgrad_redirect
        return (redirect(key) if is_replaced_key(key) else key for key in keys)

    def copy(self) -> dict[Any, Any]:
        """As a dict's."""
        return self._redirected()

    __copy__ = copy
    __deepcopy__ = deep_copy

    def __or__(self, other: Any) -> Any:
        return self._redirected().__or__(other)

    def __ror__(self, other: Any) -> Any:
        return self._redirected().__ror__(other)

    def _pairs(self) -> Iterable[tuple[Any, Any]]:
        return dict.items(self._funcgrad_original)

    def _redirected(self) -> dict[Any, Any]:
        redirect = self._funcgrad_redirect
        return {
            redirect(key) if is_replaced_key(key) else key: redirect(value)
            for key, value in self._pairs()
        }

    def __getitem__(self, key: Any) -> Any:
        key = self._funcgrad_key(key)
        if not dict.__contains__(self._funcgrad_original, key):
            return dict.__getitem__(self, key)  # which asks ``__missing__`` of a subclass
        return self._funcgrad_redirect(dict.__getitem__(self._funcgrad_original, key))

    def get(self, key: Any, default: Any = None) -> Any:
        found = dict.get(self._funcgrad_original, self._funcgrad_key(key), default)
        return self._funcgrad_redirect(found)

    def __iter__(self) -> Iterator[Any]:
        return self._seen(dict.__iter__(self._funcgrad_original))

    def __reversed__(self) -> Iterator[Any]:
        return self._seen(dict.__reversed__(self._funcgrad_original))

    def __len__(self) -> int:
        return dict.__len__(self._funcgrad_original)

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self._funcgrad_original, self._funcgrad_key(key))

    def keys(self) -> Any:
        held = self._funcgrad_original
        replaced = any(map(is_replaced_key, dict.keys(held)))
        return self._redirected().keys() if replaced else dict.keys(held)

    def values(self) -> Any:
        return self._redirected().values()

    def items(self) -> Any:
        return self._redirected().items()

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self._funcgrad_original),)


def _asked(name: str) -> Callable[..., Any]:
    """A method of the original's own class, after which the copy is renewed."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = self._funcgrad_given(name, [*map(original_of_view, args)])
        made = getattr(self._funcgrad_original, name)(*given, **kwargs)
        DictView.renew(self)
        return self if made is self._funcgrad_original else self._funcgrad_redirect(made)

    method.__name__ = method.__qualname__ = name
    return method


class StandardDictView(DictView):
    """A view of a dict of a class of the standard library, which keeps an order or makes what is missing."""

    __slots__ = ()

    __class__ = property(lambda self: type(self._funcgrad_original))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._funcgrad_original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._funcgrad_original, name, value)

    def __iter__(self) -> Iterator[Any]:
        yield from self._seen(self._funcgrad_original)

    def __reversed__(self) -> Iterator[Any]:
        yield from self._seen(reversed(self._funcgrad_original))

    def keys(self) -> Any:
        held = self._funcgrad_original
        replaced = any(map(is_replaced_key, held))
        return dict.fromkeys(self._seen(held)).keys() if replaced else held.keys()

    def _pairs(self) -> Iterable[tuple[Any, Any]]:
        items: Iterable[tuple[Any, Any]] = self._funcgrad_original.items()
        return items

    copy = __copy__ = _asked("copy")


for _name in (
    *("__delitem__", "__getitem__", "__ior__", "__or__", "__ror__", "__setitem__", "clear"),
    *("move_to_end", "pop", "popitem", "setdefault", "update"),
):
    setattr(StandardDictView, _name, _asked(_name))


class CounterView(StandardDictView):
    """A view of a counter."""

    __slots__ = ()


for _name in (
    *("__add__", "__and__", "__neg__", "__or__", "__pos__", "__sub__", "__iadd__", "__iand__"),
    *("__ior__", "__isub__", "most_common", "subtract", "update"),
):
    setattr(CounterView, _name, _asked(_name))


def standing(value: Any, redirect: _Redirect) -> Any:
    """The replacement of what stays where it is found, as a default does: a view of an empty list, too."""
    if type(value) in (list, dict, set) and not value:
        return _VIEWS[type(value)](value, redirect)
    return redirect(value)


def proxy_view(value: MappingProxyType[Any, Any], redirect: _Redirect) -> Any:
    """A read-only mapping of the replacements of its values; itself if none is replaced."""
    known = dict(value)
    return MappingProxyType(DictView(known, redirect)) if leads_elsewhere(known) else value


_MISSING = object()


class AttributeView:
    """An attribute of instances whose value is redirected when it is read; others have the class's."""

    def __init__(self, name: str, kind: type, redirect: _Redirect) -> None:
        self._name = name
        self._kind = kind
        self._redirect = redirect
        self._of_class = vars(kind).get(name, _MISSING)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is not None and self._name in instance.__dict__:
            return self._redirect(instance.__dict__[self._name])
        own = self._of_class
        if own is _MISSING:
            return getattr(
                super(self._kind, self._kind if instance is None else instance), self._name
            )
        return own.__get__(instance, owner) if hasattr(own, "__get__") else own

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
        if not hasattr(known, "__set__") and leads_elsewhere(value):
            type.__setattr__(kind, name, AttributeView(name, kind, redirect))


def attributes_of_others(value: object) -> set[str]:
    """The attributes of the class of an adopted instance that only other instances of it have."""
    kind, space = type(value), instance_dict(value) or {}
    views = {name for name, item in vars(kind).items() if type(item) is AttributeView}
    return {name for name in views if name not in space and not hasattr(kind, name)}


_RENEWED: Mapping[type, Any] = {list: ListView, dict: DictView, set: SetView, deque: DequeView}
_OF_SEQUENCES = (
    *("__delitem__", "__iadd__", "__imul__", "__setitem__", "append", "clear", "extend", "insert"),
    *("pop", "remove", "reverse"),
)
_STORING: Mapping[type, tuple[str, ...]] = {
    list: (*_OF_SEQUENCES, "sort"),
    deque: (*_OF_SEQUENCES, "appendleft", "extendleft", "popleft", "rotate"),
    set: ("add", "clear", "discard", "pop", "remove", "update"),
    dict: (
        *("__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault"),
        "update",
    ),
}
"""The methods that change a container."""
for _base, _names in _STORING.items():
    for _name in _names:
        setattr(_RENEWED[_base], _name, _stored(_name, _base))
_VIEWS: Mapping[type, Any] = {
    list: ListView,
    set: SetView,
    dict: DictView,
    deque: DequeView,
    SimpleNamespace: NamespaceView,
    Counter: CounterView,
    OrderedDict: StandardDictView,
    defaultdict: StandardDictView,
}
