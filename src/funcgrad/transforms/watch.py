"""What a compiled function depends on beside its arguments: the closure cells and globals that it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.ops.held import COPIED


class Name(NamedTuple):
    """A closure cell, or a global in its namespace, by the name that a function has for it."""

    name: str
    cell: Any
    home: dict[str, Any] | None

    def get(self) -> Any:
        """What it holds now."""
        if self.home is not None:
            return self.home.get(self.name)
        try:
            return self.cell.cell_contents
        except ValueError:  # not bound yet
            return None


class Seen(NamedTuple):
    """What a name held: the object, and of a small array, which may change in place, the content too."""

    value: Any
    content: bytes | None


def seen(value: Any) -> Seen:
    """An object as it is now."""
    small = type(value) is np.ndarray and value.nbytes <= COPIED
    return Seen(value, value.tobytes() if small else None)


class Watch:
    """The names that a function has for what it takes from around it, functions inside it included."""

    def __init__(self, f: Any) -> None:
        names: dict[Any, Name] = {}
        for function in _functions(f):
            cells = function.__closure__ or ()
            for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
                names.setdefault(id(cell), Name(name, cell, None))
            home = function.__globals__
            for name in _global_names(function.__code__):
                # Modules, and functions of the package, are not bound anew.
                if name in home and not isinstance(home[name], ModuleType):
                    names.setdefault((id(home), name), Name(name, None, home))
        self.names = list(names.values())

    def values(self) -> list[Seen]:
        """What is held now."""
        return [seen(name.get()) for name in self.names]

    def unchanged(self, before: Sequence[Seen]) -> bool:
        """Whether everything is what it was."""
        for name, (value, content) in zip(self.names, before, strict=True):
            if name.get() is not value or (content is not None and value.tobytes() != content):
                return False
        return True

    def changed(self, before: Sequence[Seen], now: Sequence[Seen]) -> list[str]:
        """The names of what is not, with what has happened to them."""
        return [
            f"{name.name} was {'bound anew' if old.value is not new.value else 'changed in place'}"
            for name, old, new in zip(self.names, before, now, strict=True)
            if old.value is not new.value or old.content != new.content
        ]


def arrays_of(held: Sequence[Seen]) -> dict[int, Any]:
    """The arrays among what is held, by id."""
    return {id(item.value): item.value for item in held if isinstance(item.value, np.ndarray)}


def _functions(f: Any) -> Iterator[FunctionType]:
    """The Python functions that a callable runs: itself, what it wraps, and what they are bound to."""
    waiting, done = [f], set()
    while waiting:
        item = waiting.pop()
        if id(item) in done:
            continue
        done.add(id(item))
        if isinstance(item, FunctionType):
            # The package's own functions are what they are; what they wrap is the user's.
            if not is_ours(item):
                yield item
            waiting.append(getattr(item, "__wrapped__", None))
        elif isinstance(item, MethodType):
            waiting.append(item.__func__)
        elif isinstance(item, partial):
            waiting.append(item.func)
        elif item is not None and not isinstance(item, type):
            waiting.append(getattr(type(item), "__call__", None))  # noqa: B004  # its code is wanted
            waiting.append(getattr(item, "__wrapped__", None))


def is_ours(f: Any) -> bool:
    """Whether a function is the package's own, such as what `grad` makes; its name may be the user's."""
    home = getattr(f, "__globals__", {}).get("__name__", "")
    return isinstance(home, str) and home.startswith("funcgrad.")


def _global_names(code: CodeType) -> Iterator[str]:
    """The names that code, and the code of functions inside it, may look up."""
    waiting = [code]
    while waiting:
        item = waiting.pop()
        yield from item.co_names
        waiting.extend([c for c in item.co_consts if isinstance(c, CodeType)])
