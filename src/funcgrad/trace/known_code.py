"""Functions, classes and instances that are known to need no adoption, with all code that they lead to.

A transform adopts a function only if its code, or code that it leads to, tells a traced value from a
number (`funcgrad.adoption.levels`). What leads to code may change between two calls: a name of a module, a
cell, an item of a list, an attribute. So each call compares the names that were searched with those of now,
and looks for code that is not known in all that may hold some.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from itertools import islice
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, NamedTuple
from weakref import ProxyTypes, ref

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.expr import Expr
from funcgrad.trace.outer_arrays import own_attribute, referent_of
from funcgrad.transformed import Transformed, function_of

KEPT, AS_IT_IS, ADOPTED, WRITABLE, HELD = -1, 0, 1, 2, 3
"""Levels of adoption: a function of a module that is never adopted, one that runs as it is, one that is
adopted, one that is also given arrays that can be written, and one that finds such arrays in the containers
and instances that it reaches, too (`funcgrad.adoption.levels`)."""

ARRAYS_HELD: ContextVar[bool] = ContextVar(
    "whether arrays in containers can be written", default=False
)
"""Whether a function runs at the last level. Views of containers cost time, and are no lists and dicts for
code in C, so that they are made for functions alone that are refused otherwise."""

LEAST_LEVEL: ContextVar[int] = ContextVar(
    "the level from which code that can be adopted is adopted", default=AS_IT_IS
)
"""The least level of code that can be adopted: higher in traces of functions that index arrays of other code
by integers that vary, since adopted code has a gather there."""

_NO_CODE = (int, float, complex, bool, str, bytes, type(None), np.float64, Expr, MutableArray)
PLAIN_DATA = frozenset((*_NO_CODE, np.ndarray, list, tuple, dict, set))
"""Types of values that hold no code of their own that could be adopted."""
_SIMPLE = frozenset((*_NO_CODE, np.ufunc, type(np.sum), np.dtype, range))
"""Types of values that lead to no code that could be adopted."""

LONGEST_OF_NUMBERS = 32
"""A container that begins with as many numbers counts as one of numbers."""
MOST_OBJECTS = 500
"""The number of objects that are looked at in one call."""


# -- names -----------------------------------------------------------------------------------------
class Binding(NamedTuple):
    """A name in the globals of a function, or in a module."""

    holder: ref[Any] | None
    """The function, or the module; None for the function that is asked for."""
    name: str
    value: ref[Any] | None
    """The value, if it is known; None for one that is looked at in each call."""


class ReachedNames(NamedTuple):
    """The names that code leads to, and those that lead to nothing as yet."""

    bound: tuple[Binding, ...] = ()
    absent: tuple[tuple[ref[Any] | None, frozenset[str]], ...] = ()

    def values(self, own: dict[str, Any]) -> list[Any] | None:
        """The values to look at, given the globals of the function that is asked for; None if a function
        or a module has been replaced, or a name is new."""
        found: list[Any] = []
        for holder, names in self.absent:
            space = own if holder is None else space_of(holder())
            if not space.keys().isdisjoint(names):
                return None
        for holder, name, known in self.bound:
            value = (own if holder is None else space_of(holder())).get(name)
            if known is None:
                if type(value) not in _SIMPLE:
                    found.append(value)
            elif value is not known():
                return None
            elif type(value) is FunctionType and _holds_values(value):
                found.extend(held_by(value))
        return found


def space_of(owner: Any) -> dict[str, Any]:
    """The globals of a function, or the attributes of a module; none if it is gone."""
    if owner is None:
        return {}
    return owner.__globals__ if type(owner) is FunctionType else vars(owner)


def _holds_values(f: FunctionType) -> bool:
    return bool(f.__closure__ or f.__defaults__ or f.__kwdefaults__ or f.__dict__)


def held_by(f: FunctionType) -> list[Any]:
    """The contents of a function's closure, its defaults and its attributes."""
    found: list[Any] = []
    for cell in f.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # empty as yet
            continue
    found += [*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()]
    return [*found, *f.__dict__.values()]


class KnownLevel(NamedTuple):
    """The level of a code object, by the names that it reaches."""

    code: ref[CodeType]
    level: int
    names: ReachedNames


KNOWN_LEVELS: dict[int, KnownLevel] = {}
"""The levels of code objects by the names in it, by id."""

LEARNED: dict[int, tuple[ref[CodeType], int]] = {}
"""The code of functions that were refused, and ran at a higher level, by id."""


_RUN: dict[int, ref[CodeType]] = {}
"""The code of functions that have run on traced values, by id."""


def has_run(code: CodeType) -> bool:
    """Whether a function with this code has run on traced values."""
    noted = _RUN.get(id(code))
    return noted is not None and noted() is code


def note_run(code: CodeType) -> None:
    """Keep in mind that a function with this code runs."""
    key = id(code)
    _RUN[key] = ref(code, lambda _: _RUN.pop(key, None))


ADOPTED_OBJECTS: dict[int, ref[Any]] = {}
"""The functions that are adopted for what they lead to, by id: they stay so."""


def note_adopted(f: object) -> None:
    """Keep in mind that a function is adopted."""
    key = id(f)
    ADOPTED_OBJECTS[key] = ref(f, lambda _: ADOPTED_OBJECTS.pop(key, None))


def note_level(code: CodeType, level: int, names: ReachedNames) -> KnownLevel:
    """Keep the level of code by the names in it."""
    key = id(code)
    noted = ref(code, lambda _: KNOWN_LEVELS.pop(key, None))
    known = KNOWN_LEVELS[key] = KnownLevel(noted, level, names)
    return known


def learn_code(code: CodeType, level: int) -> None:
    """Keep in mind that functions with this code run at a level."""
    key = id(code)
    LEARNED[key] = ref(code, lambda _: LEARNED.pop(key, None)), level


# -- classes ---------------------------------------------------------------------------------------
class ClassLevel(NamedTuple):
    """The level of the methods of a class, with its members then."""

    level: int
    members: tuple[int, ...] = ()
    attributes: tuple[str, ...] = ()
    """The attributes of instances that may lead to code."""
    names: ReachedNames = ReachedNames()
    """Those that methods lead to."""
    held: tuple[tuple[ref[type], str], ...] = ()
    """The attributes of the class and its bases that may lead to code."""
    methods: tuple[ref[FunctionType], ...] = ()
    """All of them, which tell one that has been replaced."""

    def values(self) -> list[Any] | None:
        """The values to look at; None if one of the names has changed."""
        found = self.names.values({})
        if found is None:
            return None
        for base, name in self.held:
            found.append(vars(base()).get(name))
        for method in self.methods:
            f = method()
            if f is None:
                return None
            if _holds_values(f):
                found.extend(held_by(f))
        return found


_ATTRIBUTES_WITH_CODE: Mapping[type, tuple[str, ...]] = {
    MethodType: ("__func__", "__self__"),
    partial: ("func", "args", "keywords"),
    defaultdict: ("default_factory",),
}
"""The attributes by which instances of classes of Python's lead to code."""
_CLASS_LEVELS: dict[int, tuple[ref[type], ClassLevel]] = {}
"""The levels of the methods of classes, by id, since other classes may be equal, or have no hash."""


def note_class(kind: type, level: ClassLevel) -> None:
    """Keep the level of a class; `KEPT` of one that is never adopted."""
    key = id(kind)
    _CLASS_LEVELS[key] = ref(kind, lambda _: _CLASS_LEVELS.pop(key, None)), level


for _kind, _names in _ATTRIBUTES_WITH_CODE.items():
    note_class(_kind, ClassLevel(KEPT, (), _names))


def members_of(kind: type) -> tuple[int, ...]:
    """The ids of the members of a class and its bases: others where a method has been replaced."""
    return tuple([one for base in kind.__mro__[:-1] for one in map(id, vars(base).values())])


def known_class_level(kind: type) -> ClassLevel | None:
    """The level of a class whose members are those that it had; None if it is not known."""
    noted = _CLASS_LEVELS.get(id(kind))
    if noted is None or noted[0]() is not kind:
        return None
    known = noted[1]
    return None if known.level != KEPT and known.members != members_of(kind) else known


# -- objects ---------------------------------------------------------------------------------------
class KnownObject(NamedTuple):
    """A function that runs as it is, or another value that holds no code."""

    value: ref[Any]
    known: KnownLevel | None
    """That of the function's code."""
    modules: tuple[ref[Any], ...]
    """The modules in the function's closure."""

    def leads_to(self, item: object) -> list[Any] | None:
        """The values that it leads to; None if they are not known."""
        known = self.known
        if self.value() is not item:
            return None
        f: Any = item
        if known is None:
            return []
        if known.level == KEPT:  # as what `contextlib.contextmanager` makes
            return held_by(f)
        if known.code() is not f.__code__ or id(f.__code__) in LEARNED:
            return None
        found = known.names.values(f.__globals__)
        if found is None or not _holds_values(f):
            return found
        held = held_by(f)
        modules = [value for value in held if type(value) is ModuleType]
        if modules and modules != [one() for one in self.modules]:
            return None
        return [*found, *[value for value in held if type(value) is not ModuleType]]


_KNOWN_OBJECTS: dict[int, KnownObject] = {}


def note_object(item: object, known: KnownLevel | None = None) -> None:
    """Keep in mind that a function runs as it is, or that a value holds no code."""
    key = id(item)
    held = held_by(item) if isinstance(item, FunctionType) else []
    modules = [ref(v) for v in held if type(v) is ModuleType] if known is not None else []
    noted = ref(item, lambda _: _KNOWN_OBJECTS.pop(key, None))
    _KNOWN_OBJECTS[key] = KnownObject(noted, known, tuple(modules))


NOTHING = object()


def first_unknown(values: Iterable[Any]) -> Any:
    """The first object that values lead to, and whose code is not known to run as it is; else `NOTHING`."""
    return next(unknown_objects(values), NOTHING)


def unknown_objects(values: Iterable[Any]) -> Iterator[Any]:
    """The objects that values lead to, and whose code is not known to run as it is.

    The search goes on if an object is known when the next one is asked for, and ends otherwise.
    """
    waiting, met = deque(values), dict[int, Any]()
    classes: dict[int, ClassLevel] = {}
    while waiting and len(met) < MOST_OBJECTS:
        # The nearest, and what the last one leads to, in turn: neither a long list nor a deep object is all.
        item = waiting.popleft() if len(met) % 2 else waiting.pop()
        if type(item) in _SIMPLE or id(item) in met:
            continue
        met[id(item)] = item  # which may be made for this list
        found = _behind(item, classes)
        if found is None:
            yield item
            found = _behind(item, classes)
            if found is None:
                return
        waiting.extend(found)


def _behind(item: Any, classes: dict[int, ClassLevel]) -> Iterable[Any] | None:
    """The values that an object leads to, with those of its class if it is not among ``classes``, which it
    joins; None if they are not known."""
    kind = type(item)
    if kind in _BUILT_IN or id(item) in _KNOWN_OBJECTS:
        return _leads_to(item)
    of_class = item if issubclass(kind, type) else kind
    more: list[Any] = []
    if id(of_class) not in classes:
        known = known_class_level(of_class)
        values = None if known is None or known.level > AS_IT_IS else known.values()
        if known is None or values is None:
            return None
        classes[id(of_class)], more = known, values
    found = _attribute_values(item, classes[id(of_class)])
    return None if found is None else [*more, *found]


_BUILT_IN = frozenset(
    (FunctionType, list, tuple, set, frozenset, np.ndarray, dict, ref, *ProxyTypes, Transformed)
)


def _leads_to(item: Any) -> Iterable[Any] | None:
    """The values that a function, a container or a known object leads to; None if its code is not known."""
    kind = type(item)
    if kind is list or kind is tuple or kind is set or kind is frozenset:
        return _items(item)
    if kind is np.ndarray:
        return _items(item.flat) if item.dtype.kind == "O" else ()
    if kind is dict:
        return _items(item.values())
    if kind is ref:
        return [item()]
    if kind in ProxyTypes:
        return [referent_of(item)]
    if kind is Transformed:
        return [function_of(item)]
    known = _KNOWN_OBJECTS.get(id(item))
    return None if known is None else known.leads_to(item)


def _attribute_values(item: Any, of_class: ClassLevel) -> list[Any] | None:
    """The values of an instance's attributes and items; None if they are not known."""
    if issubclass(type(item), type):
        return None if of_class.level == KEPT else [type(item)] * (type(item) is not type)
    found: list[Any] = []
    for name in of_class.attributes:
        value = own_attribute(item, name)
        found.extend(
            _items(value.values()) if type(value) is dict and name == "__dict__" else [value]
        )
    base: Any = next((base for base in _CONTAINERS if issubclass(type(item), base)), None)
    if base is not None:  # past methods of its own
        items = base.values(item) if hasattr(base, "values") else base.__iter__(item)
        found.extend(_items(items))
    return found


def _items(items: Iterable[Any]) -> list[Any]:
    """The items that may lead to code."""
    waiting = iter(items)
    head = [*islice(waiting, LONGEST_OF_NUMBERS)]
    if _SIMPLE.issuperset(map(type, head)):
        return []
    first = [item for item in head if not is_data(item)]
    return [*first, *islice(waiting, MOST_OBJECTS)] if first else []


def is_data(item: Any) -> bool:
    """Whether an item is a number, an array, or a row of such."""
    kind = type(item)
    if kind is np.ndarray:
        return bool(item.dtype.kind != "O")
    if kind is list or kind is tuple:
        return _SIMPLE.issuperset(map(type, islice(item, 4)))
    return kind in _SIMPLE


_CONTAINERS = (dict, MappingProxyType, list, tuple, set, frozenset, deque)


def runs_as_it_is(f: Callable[..., Any], args: Iterable[Any]) -> bool:
    """Whether f is known to be called as it is with these arguments; False if that is not known."""
    if type(f) is FunctionType:  # the way of each call, in as few steps as it takes
        if id(f) in ADOPTED_OBJECTS:
            return False
        noted = _KNOWN_OBJECTS.get(id(f))
        found = None if noted is None else noted.leads_to(f)
        if found is None:
            return False
        waiting = [
            value
            for value in (*found, *args)
            if type(value) not in _SIMPLE
            and (type(value) is not np.ndarray or value.dtype.hasobject)
        ]
        return not waiting or first_unknown(waiting) is NOTHING
    if first_unknown([f, *args]) is not NOTHING:
        return False
    call = getattr(type(f), "__call__", None)  # noqa: B004  # its code is wanted
    return type(call) is not FunctionType or id(call.__code__) not in LEARNED
