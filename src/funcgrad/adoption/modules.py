"""Modules of adopted code: views, whose attributes are redirected, and second copies of packages."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from threading import RLock
from types import ModuleType
from typing import Any

from funcgrad.adoption.adopted_entries import NEVER_REDIRECTED
from funcgrad.arrays.reference import MARK


class ModuleView(ModuleType):
    """A module whose attributes are redirected when they are read; what is set on it reaches the module."""

    original: ModuleType

    def __init__(self, original: ModuleType, redirect: Callable[[Any], Any]) -> None:
        super().__init__(original.__name__, original.__doc__)
        vars(self).update(original=original, _redirect=redirect)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.original, name)
        return value if type(value) in NEVER_REDIRECTED else vars(self)["_redirect"](value)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.original, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.original, name)

    def __dir__(self) -> list[str]:
        return dir(self.original)

    def __repr__(self) -> str:
        return f"<adopted {self.original!r}>"


class SystemView(ModuleView):
    """`sys`, whose table of modules is redirected: code finds its own module there, adopted.

    The view of the table is kept, since it is long, and SciPy's code asks it for each argument.
    """

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.original, name)
        if name != "modules":
            return value
        own = vars(self)
        if getattr(own.get("_modules"), "_funcgrad_original", None) is not value:
            own["_modules"] = own["_redirect"](value)
        return own["_modules"]


class SecondCopy:
    """The modules of a package, each executed a second time when it is first imported in the copy.

    Imports of the package itself lead to the copy, all others to what adopted code imports. The copies are
    not in ``sys.modules``, which has the originals.
    """

    def __init__(self, package: str, names: Mapping[str, Any]) -> None:
        self.package = package
        self.modules: dict[str, ModuleType] = {}
        self._imported = names["__import__"]
        self._builtins = {**vars(builtins), **names, "__import__": self._import}
        self._lock = RLock()

    def load(self, name: str) -> ModuleType:
        """The copy of a module; the original, if it is compiled."""
        with self._lock:
            if name in self.modules:
                return self.modules[name]
            parent, _, own = name.rpartition(".")
            if parent:
                self.load(parent)
                if name in self.modules:  # the parent imports it
                    return self.modules[name]
            made = self._execute(name)
            if parent:
                setattr(self.modules[parent], own, made)
            return made

    def _execute(self, name: str) -> ModuleType:
        original = importlib.import_module(name)
        spec = original.__spec__
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            self.modules[name] = original
            return original
        made = importlib.util.module_from_spec(spec)
        vars(made).update({MARK: True, "__builtins__": self._builtins})
        self.modules[name] = made
        try:
            spec.loader.exec_module(made)
        except BaseException:
            del self.modules[name]
            raise
        return made

    def _import(
        self,
        name: str,
        globals: Any = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        full = absolute_name(name, globals, level)
        if full.partition(".")[0] != self.package:
            return self._imported(name, globals, locals, fromlist, level)
        module = self.load(full)
        if not fromlist:
            return self.modules[self.package]
        wanted = getattr(module, "__all__", ()) if "*" in fromlist else fromlist
        for part in wanted if hasattr(module, "__path__") else ():
            if not hasattr(module, part):
                self._load_part(f"{full}.{part}")
        return module

    def _load_part(self, name: str) -> None:
        try:
            self.load(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise


def absolute_name(name: str, globals: Any, level: int) -> str:
    """The absolute name of a module that an import of this level asks for.

    >>> absolute_name("core", {"__package__": "numpy.ma"}, 1)
    'numpy.ma.core'
    """
    return (
        importlib.util.resolve_name("." * level + name, globals["__package__"]) if level else name
    )
