"""Capture sources: places of captured variables, such as a global, and the comparison of their values.

In generated code the comparison of one is a condition on constants.
"""

from __future__ import annotations

import gc
from abc import ABCMeta
from array import array
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context, ContextVar
from functools import cached_property
from keyword import iskeyword
from operator import is_
from sys import intern
from types import FunctionType, MappingProxyType, MemberDescriptorType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.arrays.reference import COPIED, plain_value
from funcgrad.expr import Expr
from funcgrad.transformed import Transformed

ABSENT = object()
"""What a name stands for that is not bound. (A builtin is such among the globals.)"""

_content = np.ndarray.tobytes


def content_of(array: Any) -> bytes:
    """The content of an array; of one that holds an expression, its key."""
    value = plain_value(array)
    if isinstance(value, np.ndarray) and value.dtype.kind == "T":  # its texts are elsewhere
        return repr(value.tolist()).encode()
    return bytes(value.key) if isinstance(value, Expr) else _content(value)


class ClosureCell(NamedTuple):
    """A closure cell."""

    name: str
    cell: Any

    def get(self) -> Any:
        """What it holds now."""
        try:
            return self.cell.cell_contents
        except ValueError:  # not bound yet
            return ABSENT

    def test(self, k: int, value: object, objects: dict[str, Any]) -> str:
        """A condition, true while it holds that value; what it names joins ``objects``."""
        objects[f"c{k}"], objects[f"v{k}"] = self.cell, value
        return f"c{k}.cell_contents is v{k}"


class NamespaceItem(NamedTuple):
    """A name in a namespace, such as a global."""

    name: str
    home: dict[str, Any]
    key: str

    def get(self) -> Any:
        """What it holds now."""
        return self.home.get(self.key, ABSENT)

    def test(self, k: int, value: object, objects: dict[str, Any]) -> str:
        """A condition, as above."""
        objects[f"w{k}"] = self.home
        if value is ABSENT:
            return f"{self.key!r} not in w{k}"
        objects[f"v{k}"] = value
        return f"w{k}[{self.key!r}] is v{k}"


class Attribute(NamedTuple):
    """An attribute of a function that may be set anew, such as its defaults."""

    name: str
    holder: Any
    key: str

    def get(self) -> Any:
        """What it is now."""
        return getattr(self.holder, self.key, ABSENT)

    def test(self, k: int, value: object, objects: dict[str, Any]) -> str:
        """A condition, as above."""
        objects[f"c{k}"], objects[f"v{k}"] = self.holder, value
        return f"c{k}.{self.key} is v{k}"


class Answer(NamedTuple):
    """What a function says of an object: the same object as long as nothing has changed."""

    name: str
    holder: Any
    ask: Callable[[Any], Any]

    def get(self) -> Any:
        """What it says now."""
        return self.ask(self.holder)

    def test(self, k: int, value: object, objects: dict[str, Any]) -> str:
        """A condition, as above."""
        objects[f"c{k}"], objects[f"w{k}"], objects[f"v{k}"] = self.ask, self.holder, value
        return f"c{k}(w{k}) is v{k}"


def context_value(variable: ContextVar[Any]) -> Any:
    """The value of a context variable; ABSENT of one without."""
    try:
        return variable.get()
    except LookupError:
        return ABSENT


def cache_size(cached: Any) -> str:
    """The numbers of results that a function under `functools.lru_cache` has computed and that it holds.

    They are those of before as long as nothing is computed and `cache_clear` is not called.
    """
    info = cached.cache_info()
    return intern(f"{info.misses} {info.currsize}")


def results_of(cached: Any) -> list[Any]:
    """The results and arguments that a function under `functools.lru_cache` holds."""
    held = [item for item in gc.get_referents(cached) if item is not vars(cached)]
    tables = [item for item in held if type(item) is dict]
    if cached.cache_info().maxsize is None:
        return [value for table in tables for value in table.values()]
    links = [item for item in held if type(item).__module__ == "functools"]
    tables = [table for table in tables if all(type(v) in map(type, links) for v in table.values())]
    known = set(map(id, [*links, *tables]))
    return [item for item in held if id(item) not in known and not isinstance(item, type)]


class Fixed(NamedTuple):
    """Something that is always the same object, such as an item of defaults."""

    name: str
    value: Any

    def get(self) -> Any:
        """That object."""
        return self.value


class InstanceMember(NamedTuple):
    """An attribute that an instance holds itself: in its namespace, or in a slot."""

    name: str
    holder: Any
    key: str

    def get(self) -> Any:
        """What it holds now, without what its class does for attributes that are not there."""
        home = namespace(self.holder)
        slot = in_class(type(self.holder), self.key)
        if isinstance(slot, MemberDescriptorType):
            try:
                return slot.__get__(self.holder)
            except AttributeError:  # not assigned yet
                return ABSENT
        hidden = hasattr(type(slot), "__set__") or hasattr(type(slot), "__delete__")
        return ABSENT if hidden else home.get(self.key, ABSENT)

    def test(self, k: int, value: object, objects: dict[str, Any]) -> str | None:
        """A condition, as above, or None if the lookup would run code."""
        if not (is_looked_up_plainly(type(self.holder)) and is_written(self.key)):
            return None
        objects[f"w{k}"] = self.holder
        if value is ABSENT:
            return f"{self.key!r} not in w{k}.__dict__" if has_namespace(self.holder) else None
        objects[f"v{k}"] = value
        return f"w{k}.{self.key} is v{k}"


class ClassOf(NamedTuple):
    """The class of an instance, which may be assigned."""

    name: str
    holder: Any

    def get(self) -> Any:
        """What it is now."""
        return type(self.holder)

    def test(self, k: int, value: object, objects: dict[str, Any]) -> str:
        """A condition, as above."""
        objects[f"w{k}"], objects[f"v{k}"] = self.holder, value
        return f"type(w{k}) is v{k}"


_PLAIN_LOOKUPS = (object.__getattribute__, SimpleNamespace.__getattribute__)


def is_looked_up_plainly(kind: Any) -> bool:
    """Whether a class finds attributes as `object` does."""
    return kind.__getattribute__ in _PLAIN_LOOKUPS


def is_written(name: str) -> bool:
    """Whether generated code may have a name as it is."""
    return name.isidentifier() and not iskeyword(name)


class ClassMember(NamedTuple):
    """An attribute of a class, its own or of a base."""

    name: str
    owner: type
    key: str

    def get(self) -> Any:
        """What it is now."""
        return in_class(self.owner, self.key)

    def test(self, k: int, value: object, objects: dict[str, Any]) -> str | None:
        """A condition, as above; None if the lookup would run code."""
        if not is_written(self.key) or type(self.owner) not in (type, ABCMeta):
            return None
        objects[f"w{k}"], objects[f"v{k}"] = self.owner, value
        if isinstance(value, classmethod):  # a class makes a method of its function
            objects[f"v{k}"] = value.__func__
            return f"w{k}.{self.key}.__func__ is v{k}"
        if isinstance(value, staticmethod):  # a class gives its function, as it gives a plain one
            objects |= {f"c{k}": owner_of(self.owner, self.key), f"v{k}": value.__func__}
            objects["staticmethod0"] = staticmethod
            kind = f"type(c{k}.__dict__[{self.key!r}]) is staticmethod0"
            return f"{kind} and w{k}.{self.key} is v{k}"
        plain = not hasattr(type(value), "__get__")
        if plain or isinstance(value, FunctionType | Transformed | property | cached_property):
            return f"w{k}.{self.key} is v{k}"
        if self.key in vars(self.owner):
            return f"w{k}.__dict__[{self.key!r}] is v{k}"
        return None


def namespace(holder: object) -> dict[str, Any]:
    """The attributes that an object holds itself, without its slots."""
    try:
        home = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return {}
    return home if isinstance(home, dict) else {}


def has_namespace(holder: object) -> bool:
    """Whether an object has a namespace of its own."""
    try:
        object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return False
    return True


def in_class(kind: type, key: str) -> Any:
    """What a class or one of its bases has by that name, as it stands there; ABSENT where none has."""
    owner = owner_of(kind, key)
    return ABSENT if owner is None else vars(owner)[key]


def is_slot(kind: type, key: str) -> bool:
    """Whether instances of a class hold an attribute in a slot."""
    return isinstance(in_class(kind, key), MemberDescriptorType)


def owner_of(kind: type, key: str) -> type | None:
    """The class, of a class and its bases, in whose namespace a name is found."""
    for base in kind.__mro__:
        if key in vars(base):
            return base
    return None


class Contents(NamedTuple):
    """The items of a container."""

    name: str
    holder: Any

    def get(self) -> Any:
        """The items now, those of a dict with their keys; the bytes of a buffer."""
        if isinstance(self.holder, OrderedDict):  # it has an order of its own
            return (*OrderedDict.keys(self.holder), *OrderedDict.values(self.holder))
        if isinstance(self.holder, dict):  # whatever iteration over a subclass gives
            return (*dict.keys(self.holder), *dict.values(self.holder))
        if isinstance(self.holder, MappingProxyType | Context):
            return (*self.holder, *self.holder.values())
        if isinstance(self.holder, np.ndarray):
            return tuple(self.holder.flat)
        if hasattr(self.holder, "__array__"):  # of pandas or xarray
            return tuple(np.asarray(self.holder).tobytes())
        return tuple(bytes(self.holder) if is_buffer(self.holder) else self.holder)

    def test(self, k: int, value: object, objects: dict[str, Any]) -> str | None:
        """A condition, as above; None if iteration makes the items."""
        items: Any = value
        if not isinstance(self.holder, dict | list | deque | set):
            return None
        count = len(self.holder)
        held, keys = items[len(items) - count :], [*self.holder]
        objects[f"w{k}"] = self.holder
        is_dict = isinstance(self.holder, dict)
        if is_dict and not all([type(key) is str for key in keys]):
            objects["same1"], objects[f"v{k}"], objects[f"i{k}"] = same_items, items, self.get
            return f"same1(i{k}(), v{k})"
        if isinstance(self.holder, dict | list) and count <= _FEW:
            objects |= {f"e{k * _FEW + i}": value for i, value in enumerate(held)}
            places = map(repr, keys) if is_dict else range(count)
            same = [f"w{k}[{place}] is e{k * _FEW + i}" for i, place in enumerate(places)]
            return " and ".join(
                [f"[*w{k}] == {keys!r}" if is_dict else f"len(w{k}) == {count}", *same]
            )
        objects["is0"], objects[f"v{k}"] = is_, held
        same_keys = f"[*w{k}] == {keys!r}" if is_dict else f"len(w{k}) == {count}"
        return f"{same_keys} and all(map(is0, w{k}{'.values()' if is_dict else ''}, v{k}))"


def is_buffer(item: object) -> bool:
    """Whether an object is a buffer of bytes that may be written, or a labeled array, other than an array."""
    if isinstance(item, bytearray | memoryview | array | np.void):
        return True
    if str(type(item).__module__).partition(".")[0] in ("pandas", "xarray"):
        return hasattr(item, "__array__")
    return any(
        base.__module__ == "_ctypes"
        and base.__name__ in ("Array", "Structure", "Union", "_SimpleCData", "_Pointer")
        for base in type(item).__mro__
    )


_FEW = 16
"""Items up to which each is compared by itself: 10 ns, where a loop over them takes 150."""


def same_items(now: Sequence[Any], before: Sequence[Any]) -> bool:
    """Whether two sequences hold the same objects in the same order."""
    return len(now) == len(before) and all(map(is_, now, before))


class Snapshot(NamedTuple):
    """What a place held: the object, and what may change of it in place, where it is an array."""

    place: (
        Answer
        | ClosureCell
        | NamespaceItem
        | Attribute
        | Fixed
        | InstanceMember
        | ClassMember
        | Contents
        | ClassOf
    )
    value: Any
    form: Any = None
    content: bytes | None = None

    def event(self, now: Snapshot) -> str:
        """What has happened to it by then; nothing is ''."""
        if isinstance(self.place, Contents):
            same = same_items(now.value, self.value)
            return "" if same else f"{self.place.name} was changed in place"
        if now.value is not self.value:
            return f"{self.place.name} was bound anew"
        # Of a large array that programs read at each call the content is not known.
        known = self.content is not None and now.content is not None
        same = now.form == self.form and (not known or now.content == self.content)
        return "" if same else f"{self.place.name} was changed in place"

    def in_place(self, k: int, objects: dict[str, Any]) -> Iterator[str]:
        """Conditions of generated code, true as long as it is not changed in place."""
        if self.form is not None:
            objects[f"v{k}"], (objects[f"f{k}"], objects[f"d{k}"]) = self.value, self.form
            yield f"v{k}.shape == f{k} and v{k}.dtype is d{k}"
        if self.content is not None:
            own = type(self.value) is np.ndarray and self.value.dtype.kind != "T"
            how, function = ("0", _content) if own else ("1", content_of)
            objects[f"b{k}"], objects[f"content{how}"] = self.content, function
            yield f"content{how}(v{k}) == b{k}"


def key_of(place: Any) -> Any:
    """The identity of a place, valid for as long as it exists."""
    return type(place), id(place[1]), place[2:]


def seen(place: Any, whole: bool = False) -> Snapshot:
    """A place as it is now, with the content of an array, if that is small or ``whole`` is true."""
    value = place.get()
    if isinstance(value, MutableArray):
        return Snapshot(place, value, (value.shape, value.dtype), content_of(value))
    if not isinstance(value, np.ndarray):
        return Snapshot(place, value)
    read = content_of if value.dtype.kind == "T" else _content
    content = read(value) if whole or value.nbytes <= COPIED else None
    return Snapshot(place, value, (value.shape, value.dtype), content)
