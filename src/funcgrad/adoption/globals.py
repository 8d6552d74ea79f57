"""The globals of adopted functions: a view of the original globals, in which names are redirected.

`AdoptedGlobals` is a dict, since a function's globals must be one. Python looks a name up in the dict
itself, and asks ``__missing__`` for the others, which reads the original at each lookup. Only names that
lead to modules, functions, classes or built-ins are kept in the dict itself, since their lookups are most
frequent. Before an adopted function runs, `funcgrad.adoption.redirect.refresh` drops what is stale.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping
from functools import _lru_cache_wrapper
from itertools import repeat
from operator import is_
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from funcgrad.adoption.adopted_entries import NEVER_REDIRECTED, Entries
from funcgrad.arrays.reference import MARK

_ABSENT = object()
_ABSENTS = repeat(_ABSENT)
_KEPT = (
    *(ModuleType, FunctionType, type, BuiltinFunctionType, np.ufunc, type(np.sum)),
    _lru_cache_wrapper,
)


class AdoptedGlobals(dict[str, Any]):
    """The globals of the adopted functions of one module."""

    __slots__ = (
        "__weakref__",
        "_bindings",
        "_redirect",
        "_replaced",
        "entries",
        "original",
        "owned",
    )

    def __init__(
        self, original: dict[str, Any], redirect: Callable[[Any], Any], replaced: Mapping[str, Any]
    ) -> None:
        super().__init__({MARK: True, "__name__": original.get("__name__", builtins.__name__)})
        super().__setitem__("__builtins__", _Builtins(self, replaced))
        self.original = original
        self._redirect = redirect
        self._replaced = replaced
        self._bindings: dict[str, Any] = {}  # what the names that are kept here are bound to
        self.entries = Entries()
        """What has been adopted of the module, by the id of the original."""
        self.owned: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        """Entries that the adopted functions keep alive."""

    def __missing__(self, name: str) -> Any:
        value = self.original.get(name, _ABSENT)
        if type(value) in NEVER_REDIRECTED:
            return value
        if value is _ABSENT:
            found = self._replaced.get(name, _ABSENT)
            found = vars(builtins)[name] if found is _ABSENT else found
        else:
            found = self._redirect(value)
            if not isinstance(value, _KEPT):
                return found
        self._bindings[name] = value
        super().__setitem__(name, found)
        return found

    # -- what has changed since ---------------------------------------------------------------
    def is_stale(self) -> bool:
        """Whether a name is bound anew, or what has been adopted has changed."""
        bindings = self._bindings
        try:
            if not all(map(is_, map(self.original.get, bindings, _ABSENTS), bindings.values())):
                return True
            return self.entries.is_stale()
        except RuntimeError:  # another thread has looked up a name, or a function was collected
            return True

    def forget(self, name: str | None = None) -> None:
        """Look up a name again, or every name, and adopt its value again."""
        if name is None:
            self.entries.clear()  # adopted functions and classes hold each other
        for key in list(self._bindings) if name is None else [name]:
            if key in self._bindings:
                del self._bindings[key]
                super().pop(key, None)

    # -- as ``globals()`` shows them ----------------------------------------------------------
    def get(self, name: Any, default: Any = None) -> Any:
        try:
            return self[name] if name in self.original or dict.__contains__(self, name) else default
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:
        return name == MARK or name in self.original

    def __iter__(self) -> Iterator[str]:
        return iter(self.original)

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return self.original.keys()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return {name: self[name] for name in self.original}.items()

    def __setitem__(self, name: str, value: object) -> None:
        self.original[name] = value
        self.forget(name)

    def __delitem__(self, name: str) -> None:
        del self.original[name]
        self.forget(name)


class _Builtins(dict[str, Any]):
    """The built-in names of adopted code, with those that mean something else there.

    A class body that is nested in a function finds a global here, too: Python 3.11 and 3.12 do not ask
    ``__missing__`` of its globals.
    """

    __slots__ = ("_globals",)

    def __init__(self, globals: AdoptedGlobals, replaced: Mapping[str, Any]) -> None:
        super().__init__({**vars(builtins), **replaced})
        self._globals = globals

    def __getitem__(self, name: str) -> Any:
        return self._globals[name]


class StoringGlobals(dict[str, Any]):
    """The globals of a function with a ``global`` statement: what it stores reaches the original.

    Python stores into the dict itself. Each lookup, and the end of a call, moves that to the original.
    """

    __slots__ = ("_own", "_restore", "shared")

    def __init__(self, shared: AdoptedGlobals, restore: Callable[[Any], Any]) -> None:
        self._own = {
            name: dict.__getitem__(shared, name) for name in (MARK, "__name__", "__builtins__")
        }
        super().__init__(self._own)
        self.shared = shared
        self._restore = restore

    def __getitem__(self, name: str) -> Any:
        self.flush()
        return self._own[name] if name in self._own else self.shared[name]

    def flush(self) -> None:
        """Move what has been stored to the original."""
        if len(self) > len(self._own):
            for name in [name for name in self if name not in self._own]:
                self.shared[name] = self._restore(self.pop(name))
