"""The globals of adopted functions: a view of the original globals, in which names are redirected.

`AdoptedGlobals` is a dict, since a function's globals must be one. Python looks a name up in the dict
itself, and asks ``__missing__`` for the others, which reads the original at each lookup. Only names that
lead to modules, functions, classes or built-ins are kept in the dict itself, since their lookups are most
frequent. A transform calls `refresh` before it runs a function: it drops names that have been bound anew.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

MARK = "__funcgrad_adopted__"
"""The key that the globals of all adopted code have."""

NEVER_REDIRECTED = frozenset(
    (
        int,
        float,
        complex,
        bool,
        str,
        bytes,
        type(None),
        np.ndarray,
        np.float64,
        list,
        tuple,
        dict,
        set,
    )
)
"""Types of values that are never redirected."""

_ABSENT = object()
_BUILTIN = object()
_KEPT = (ModuleType, FunctionType, type, BuiltinFunctionType)


class AdoptedGlobals(dict[str, Any]):
    """The globals of the adopted functions of one module."""

    __slots__ = (
        "__weakref__",
        "_bindings",
        "_redirect",
        "_replaced",
        "entries",
        "linked",
        "original",
    )

    def __init__(
        self,
        original: dict[str, Any],
        redirect: Callable[[Any], Any],
        replaced: Mapping[str, Any],
    ) -> None:
        super().__init__({MARK: True, "__name__": original.get("__name__")})
        super().__setitem__("__builtins__", _Builtins(self, replaced))
        self.original = original
        self._redirect = redirect
        self._replaced = replaced
        self._bindings: dict[str, Any] = {}  # what the names that are kept here are bound to
        self.entries: dict[int, Any] = {}
        """What has been adopted of the module, by the id of the original."""
        self.linked: dict[int, AdoptedGlobals] = {}
        """The globals of the functions of other modules to which names of this one lead."""

    def __missing__(self, name: str) -> Any:
        value = self.original.get(name, _ABSENT)
        if type(value) in NEVER_REDIRECTED:
            return value
        if value is _ABSENT:
            found = self._replaced.get(name, _ABSENT)
            found = vars(builtins)[name] if found is _ABSENT else found
        else:
            found = self._redirect(value)
            if found is value and not isinstance(value, _KEPT):
                return value
        home = getattr(found, "__globals__", None)
        if isinstance(home, AdoptedGlobals) and home is not self:
            self.linked[id(home)] = home
        self._bindings[name] = value
        super().__setitem__(name, found)
        return found

    # -- what has changed since ---------------------------------------------------------------
    def refresh(self) -> None:
        """Drop the names that are bound anew, of this module and of those that its names lead to."""
        homes = {id(self): self}
        for home in (waiting := [self]):
            linked = list(home.linked.items())
            new = {key: value for key, value in linked if key not in homes}
            homes |= new
            waiting.extend(new.values())
        if any([home._is_stale() for home in homes.values()]):
            for home in homes.values():
                home.forget()

    def _is_stale(self) -> bool:
        # Copies, since another thread may look up names, and a function may be collected.
        get = self.original.get
        for name, value in list(self._bindings.items()):
            if get(name, _ABSENT) is not value:
                return True
        return any([entry.is_stale() for entry in list(self.entries.values()) if entry.cells])

    def forget(self, name: str | None = None) -> None:
        """Look up again where a name leads, or each name."""
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

    def __setitem__(self, name: str, value: Any) -> None:
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
