"""What has been adopted of a module, to be compared with the originals before each run of adopted code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import attrgetter, call, is_
from types import FunctionType, MethodType
from typing import Any, NamedTuple
from weakref import WeakValueDictionary, ref

import numpy as np

from funcgrad.adoption.namespaces import cell_contents
from funcgrad.source import HEAP
from funcgrad.trace.known_code import PLAIN_DATA

NEVER_REDIRECTED = PLAIN_DATA - {np.ndarray, list, tuple, dict, set, frozenset}
"""Types of values that are never redirected."""

_CODE, _DEFAULTS = attrgetter("__code__"), attrgetter("__defaults__")
_ABSENTS = repeat(object())
_WRAPPERS = (staticmethod, classmethod, MethodType)


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Entry:
    """What has been adopted, and the parts of the original that it was made from."""

    original: ref[Any]
    adopted: Callable[[], Any]
    parts: Callable[[Any], tuple[Any, ...]]
    """The parts of an original that its adoption depends on."""
    known: tuple[Any, ...]
    """Those of this one."""
    cells: tuple[tuple[int, Any], ...] = ()
    """Places of cells in the original's closure, and what they held."""

    def is_stale(self) -> bool:
        """Whether the original has other code, defaults, methods, or contents of cells by now."""
        value: Any = self.original()
        if value is None:
            return True
        parts = self.parts(value)
        if len(parts) != len(self.known) or not all(map(is_, parts, self.known)):
            return True
        return bool(self.cells) and any(
            [cell_contents(value.__closure__[i]) is not content for i, content in self.cells]
        )


def function_parts(f: FunctionType) -> tuple[Any, ...]:
    """The code and the defaults of a function."""
    named = f.__kwdefaults__
    if named:
        return (f.__code__, f.__defaults__, *named.values())
    return f.__code__, f.__defaults__


class ClassParts:
    """The methods and objects among the attributes of one class, with the parts of functions."""

    __slots__ = ("__weakref__", "base", "columns", "functions", "named", "names", "plain", "size")

    def __init__(self, base: type) -> None:
        space = vars(base)
        self.base = ref(base)
        self.size = len(space)
        self.names = [name for name, item in space.items() if type(item) not in NEVER_REDIRECTED]
        self.plain = [name for name, item in space.items() if type(item) in NEVER_REDIRECTED]
        members = [space[name] for name in self.names]
        inner = [item.__func__ if isinstance(item, _WRAPPERS) else item for item in members]
        self.functions = [item for item in inner if type(item) is FunctionType]
        self.columns = [members, *[[*map(get, self.functions)] for get in (_CODE, _DEFAULTS)]]
        self.named = [(f, _named_defaults(f)) for f in self.functions if _takes_named(f)]

    def has_changed(self) -> bool:
        """Whether a method or an object is another one by now, or a function has other parts."""
        base = self.base()
        if base is None or self._is_as_it_was(base):
            return False
        now = ClassParts(base)
        same = self.names == now.names and all(map(_are_same, self.columns, now.columns))
        if not same or not self._has_named():
            return True
        self.size, self.plain = now.size, now.plain
        return False

    def _is_as_it_was(self, base: type) -> bool:
        space = vars(base)
        members, codes, defaults = self.columns
        return (
            len(space) == self.size
            and all(map(is_, map(space.get, self.names), members))
            and NEVER_REDIRECTED.issuperset(map(type, map(space.get, self.plain, _ABSENTS)))
            and all(map(is_, map(_CODE, self.functions), codes))
            and all(map(is_, map(_DEFAULTS, self.functions), defaults))
            and self._has_named()
        )

    def _has_named(self) -> bool:
        return all([_are_same(_named_defaults(f), known) for f, known in self.named])


def _takes_named(f: FunctionType) -> bool:
    """Whether a function has arguments that are given by name alone, and may have defaults of these."""
    return f.__code__.co_kwonlyargcount > 0


def _named_defaults(f: FunctionType) -> tuple[Any, ...]:
    return tuple((f.__kwdefaults__ or {}).values())


def _are_same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) == len(b) and all(map(is_, a, b))


_OF_CLASSES: WeakValueDictionary[int, ClassParts] = WeakValueDictionary()
"""By the id of the class: subclasses share those of their bases."""


def class_parts(kind: type) -> tuple[ClassParts, ...]:
    """The parts of a class and its bases as they are now: the same objects as long as nothing changes."""
    return tuple([_parts_of(base) for base in kind.__mro__ if base.__flags__ & HEAP])


def _parts_of(base: type) -> ClassParts:
    found = _OF_CLASSES.get(id(base))
    if found is None or found.base() is not base or found.has_changed():
        found = _OF_CLASSES[id(base)] = ClassParts(base)
    return found


class Entries(dict[int, Callable[[], Entry | None]]):
    """Entries by the id of the original.

    What is kept as long as the original is there is kept by a function, other entries by a weak reference.
    """

    __slots__ = ("_compared",)

    def __init__(self) -> None:
        super().__init__()
        self._compared: _Compared | None = None

    def __setitem__(self, key: int, entry: Callable[[], Entry | None]) -> None:
        self._compared = None
        super().__setitem__(key, entry)

    def drop(self, key: int) -> None:
        """Forget an entry, if there is one."""
        self._compared = None
        self.pop(key, None)

    def clear(self) -> None:
        """Forget all entries."""
        self._compared = None
        super().clear()

    def is_stale(self) -> bool:
        """Whether an original has changed: `Entry.is_stale`, of all."""
        compared = self._compared
        if compared is None or compared.length != len(self):  # (another thread may have added one)
            compared = self._compared = _compared([*self.values()])
        return compared.is_stale()


class _Compared(NamedTuple):
    """Entries of plain functions and of classes, by columns, which are compared at once; and the others.

    The columns keep nothing alive that an entry may be the last to keep.
    """

    length: int
    functions: list[ref[Any]]
    codes: list[Any]
    defaults: list[Any]
    classes: list[tuple[ref[Any], list[int]]]
    """Classes, and the addresses of their bases, in the order of resolution."""
    parts: list[ref[ClassParts]]
    others: list[Callable[[], Entry | None]]

    def is_stale(self) -> bool:
        functions = [*map(call, self.functions)]
        try:
            if not (
                all(map(is_, map(_CODE, functions), self.codes))
                and all(map(is_, map(_DEFAULTS, functions), self.defaults))
            ):
                return True
        except AttributeError:  # one is not there any more
            return True
        for kind, addresses in self.classes:
            if [*map(id, getattr(kind(), "__mro__", ()))] != addresses:
                return True
        return any(map(_have_changed, self.parts)) or any(map(_is_stale, self.others))


def _have_changed(parts: ref[ClassParts]) -> bool:
    found = parts()
    return found is not None and found.has_changed()


def _is_stale(known: Callable[[], Entry | None]) -> bool:
    entry = known()
    return entry is not None and entry.is_stale()


def _compared(entries: Sequence[Callable[[], Entry | None]]) -> _Compared:
    found = _Compared(len(entries), [], [], [], [], [], [])
    parts: dict[int, ref[ClassParts]] = {}
    for known in entries:
        entry = known()
        if entry is not None and _is_plain(entry):
            found.functions.append(entry.original)
            found.codes.append(entry.known[0])
            found.defaults.append(entry.known[1])
        elif entry is not None and entry.parts is class_parts and not entry.is_stale():
            kind: Any = entry.original()
            found.classes.append((entry.original, [*map(id, kind.__mro__)]))
            parts |= {id(part): ref(part) for part in entry.known}
        else:
            found.others.append(known)
    found.parts.extend(parts.values())
    return found


def _is_plain(entry: Entry) -> bool:
    """Whether an entry is of a function with code and defaults alone, which refer to nothing that may die."""
    f: Any = entry.original()
    if f is None or entry.parts is not function_parts or entry.cells or _takes_named(f):
        return False
    return NEVER_REDIRECTED.issuperset(map(type, entry.known[1] or ()))
