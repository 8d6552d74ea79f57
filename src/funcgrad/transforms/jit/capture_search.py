"""The search for captured variables of a compiled function: values beside its arguments that it reads.

Watched are closure cells, globals (also those not bound yet, and builtins that a global may hide), defaults,
the functions and arguments of partial functions, and the instances of methods: by identity; arrays by shape
and type also, and by content, unless the program reads them at each call. From each of these the search goes
on: to all items of a container, and to those attributes of an instance or a module of the user's whose names
occur in the code of a function that is found (``co_names``), wherever it reads them. So a helper's
``model.w``, a loop over ``self.layers`` and ``params[key]`` are watched. Callees are searched likewise,
through partial functions, methods, properties, toolz's compositions and wrappers: up to 64, nearest first.

The methods that Python calls by itself, such as ``__getitem__``, are watched with each instance, and those
that make instances with each class.

Attributes of installed packages' objects are watched if their methods read them (`capture_packages.py`).
Objects that a function made and kept are found by a search after its trace (`captures.py`).

Some are not watched, since that would cost each call too much, or the search would not end: the state of
modules, functions and classes of installed packages (random generators; but ``os.environ`` is watched),
iterators, attributes of modules by computed names, methods that a class gets only later (``__bool__``), and
the code of a function that is given other code (``f.__code__ = ...``: 20 ns for each function), unless
IPython's autoreload is loaded, which does.
"""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections import ChainMap, UserDict, UserList, UserString, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, MappingView, Sequence
from contextvars import Context, ContextVar
from enum import Enum
from functools import _lru_cache_wrapper, cached_property, partial, partialmethod
from itertools import starmap
from operator import attrgetter, methodcaller
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from funcgrad.arrays.reference import COPIED
from funcgrad.expr import Expr
from funcgrad.source import is_installed, is_installed_class, warn
from funcgrad.trace.outer_arrays import is_generator
from funcgrad.transformed import Transformed
from funcgrad.transforms.jit.capture_functions import (
    PROBING,
    READING_ALL,
    Bound,
    callees,
    captured_places,
    held_places,
    is_package_method,
    method_owner,
    names_of_code,
)
from funcgrad.transforms.jit.capture_owners import (
    callable_name,
    is_generated,
    is_numpys,
    is_ours,
    name_of_value,
)
from funcgrad.transforms.jit.capture_packages import (
    AT_CREATION,
    MOST_NESTED,
    MOST_PARTS,
    NEVER_IMPLICIT,
    OWN_ROUTE,
    Route,
    called_names,
    is_package_class,
    reads_all,
)
from funcgrad.transforms.jit.capture_sources import (
    ABSENT,
    Answer,
    Attribute,
    ClassMember,
    ClassOf,
    Contents,
    Fixed,
    InstanceMember,
    NamespaceItem,
    cache_size,
    context_value,
    has_namespace,
    in_class,
    is_buffer,
    is_slot,
    key_of,
    namespace,
    results_of,
)
from funcgrad.transforms.jit.capture_states import Unwatched, states_of

MOST_FUNCTIONS = 64
"""Functions, found nearest first, beyond which none is looked into."""

MOST_VALUES = 10_000
"""Values, found nearest first, beyond which none is looked into."""


def places_of(
    f: Callable[..., Any], beside: Sequence[object] = ()
) -> tuple[list[Any], frozenset[str]]:
    """The places that a callable, and the functions that it names, depend on; and the names in their code.

    ``beside`` are further values that f reads: static arguments.
    """
    names: frozenset[str] = frozenset()
    owners = _Owners()
    while True:
        search = _Search(names, owners)
        search.run(f, beside)
        if search.met <= names:
            search.add_absent()
            return list(search.found.values()), frozenset(search.met)
        names |= search.met


class _Owners(dict[type, dict[str, type]]):
    """The names in a class and its bases, with the class in whose namespace each is found."""

    def __missing__(self, kind: type) -> dict[str, type]:
        found: dict[str, type] = {}
        for base in reversed(kind.__mro__):
            found |= dict.fromkeys(vars(base), base)
        self[kind] = found
        return found

    def __init__(self) -> None:
        super().__init__()
        self._called: dict[tuple[type, frozenset[str]], frozenset[str]] = {}
        self._of_packages: dict[type, bool] = {}
        self._slots: dict[type, list[str]] = {}

    def slots(self, kind: type) -> list[str]:
        """The names of the attributes that instances of a class hold in slots."""
        if kind not in self._slots:
            self._slots[kind] = [name for name in self[kind] if is_slot(kind, name)]
        return self._slots[kind]

    def has_package(self, kind: type) -> bool:
        """Whether code of an installed package reads what instances of a class hold."""
        found = self._of_packages.get(kind)
        if found is None:
            found = self._of_packages[kind] = any(map(is_package_class, kind.__mro__))
        return found

    def called(self, kind: type, names: frozenset[str]) -> frozenset[str]:
        """The names in packages' code that runs if code with these names has an instance."""
        key = kind, frozenset(names & self[kind].keys())
        found = self._called.get(key)
        if found is None:
            found = self._called[key] = called_names(self[kind], *key)
        return found


class _Search:
    """The walk over what a callable reaches, along attributes with some names.

    ``found`` are the places, ``met`` the names that occur in the functions on the way. A search with too few
    names ends at the last function that is looked into: no later one adds to ``met``.
    """

    def __init__(self, names: frozenset[str], owners: _Owners) -> None:
        self.given = names
        self.names = sorted(names)
        self.owners = owners
        self.probes = not names.isdisjoint(PROBING)
        self.whole = not names.isdisjoint(READING_ALL)
        self.found: dict[Any, Any] = {}
        self.met: set[str] = set()
        self.waiting: deque[tuple[Any, str, bool, Bound, Route]] = deque()
        self.done: set[Any] = set()
        self.kept: list[Any] = []  # so that ids stay their own
        self.assignable: list[tuple[Any, str]] = []
        self.functions = 0
        self.parts = 0
        self.route = OWN_ROUTE
        """The way to the value that is looked into."""

    def run(self, f: Callable[..., Any], beside: Sequence[object]) -> None:
        self.waiting.append((f, callable_name(f), True, Bound(), OWN_ROUTE))
        for value in beside:
            self.waiting.append((value, name_of_value(value), False, Bound(), OWN_ROUTE))
        while self.waiting:
            if len(self.done) > MOST_VALUES:
                warn(
                    f"jit: {callable_name(f)} reaches more than {MOST_VALUES} values beside its arguments, "
                    "and no change of further ones is noticed; hand them to it as arguments"
                )
                return
            item, label, own, bound, self.route = self.waiting.popleft()
            # A bound method is made anew whenever it is asked for.
            is_method = isinstance(item, MethodType)
            parts = [MethodType, item.__func__, item.__self__] if is_method else [item]
            identity = tuple(map(id, [*parts, *bound.args]))
            if identity not in self.done:
                self.done.add(identity)
                self.kept.append((item, bound))
                self._visit(item, label, own, bound)

    def _visit(self, item: Any, label: str, own: bool, bound: Bound) -> None:
        if own or callable(item):
            for inner, args in callees(item, bound):
                self.waiting.append((inner, label, own, args, OWN_ROUTE))
            self._add(held_places(item))
            if is_package_method(item):  # it may be called by another name
                self.met.add(getattr(item, "__name__", ""))
        if isinstance(item, FunctionType):
            self.route = OWN_ROUTE
            self._reach(item.__dict__.get("registry"), label)  # of functools.singledispatch
            theirs = is_ours(item) or is_numpys(item) or (not own and is_installed(item))
            if not theirs and self.functions < MOST_FUNCTIONS:
                self.functions += 1
                self.met |= names_of_code(item.__code__)
                self._add(captured_places(item))
                given = bound.of(item.__code__.co_varnames[: item.__code__.co_argcount])
                self._add(starmap(Fixed, given.items()))
                self._add(self._own(item, label))
                self._add(self._inherited(item, bound))
                if self.functions == MOST_FUNCTIONS and not self.met <= self.given:
                    self.waiting.clear()
        elif isinstance(item, attrgetter | methodcaller):
            asked = item.__reduce__()[1]
            self.met.update(*[name.split(".") for name in asked if isinstance(name, str)])
        else:
            own = not self.route.depth
            self.route = self._onward(item)
            self._add(self._parts(item, label, own))

    def _onward(self, item: Any) -> Route:
        """The way to the parts of a value."""
        kind, route = type(item), self.route
        if kind in _WITHOUT_ATTRIBUTES or isinstance(item, type | ModuleType):
            return route
        if not self.owners.has_package(kind):
            return route if isinstance(item, _CONTAINERS) else OWN_ROUTE
        if route.depth == MOST_NESTED or is_buffer(item):
            return route._replace(names=frozenset())
        return Route(self.owners.called(kind, self.given | route.names), route.depth + 1)

    def _add(self, places: Iterable[Any]) -> None:
        for place in places:
            key = key_of(place)
            if key not in self.found:
                if not isinstance(place, Fixed) or _is_kept(place, self.route.depth):
                    self.found[key] = place
                if not isinstance(place, Contents | ClassOf):
                    self._reach(place.get(), place.name)

    def _reach(self, value: Any, label: str) -> None:
        if type(value) in _LEAVES and not (type(value) is np.ndarray and value.dtype.hasobject):
            return
        if self.route.depth:
            self.parts += 1
            if self.parts > MOST_PARTS:
                return
        self.waiting.append((value, label, False, Bound(), self.route))

    def _parts(self, item: Any, label: str, own: bool) -> Iterator[Any]:
        """The places in a container, a module, a class or an instance.

        ``own`` says whether the user's code reaches it, and not that of an installed package.
        """
        if type(item) in weakref.ProxyTypes:
            yield from [Fixed(label, referent) for referent in gc.get_referents(item.__init__)]
            return
        if not own and isinstance(item, _CONTAINERS) and len(item) > MOST_PARTS:
            return
        if isinstance(item, (*_CONTAINERS, np.ndarray)) or is_buffer(item):
            yield from _items(item, label)
        elif isinstance(item, ModuleType):
            yield from self._of_module(item, label)
        elif isinstance(item, type):
            yield from self._of_type(item, label)
        elif isinstance(item, partial):
            yield from self._own(item, label)
        elif isinstance(item, MappingView):
            held = item.mapping if isinstance(item, _VIEWS) else item._mapping  # type: ignore[attr-defined]
            yield Fixed(label, held)
        elif isinstance(item, weakref.ref):
            yield Fixed(label, item())
        elif item is os.environ:
            yield Contents("os.environ", item._data)  # type: ignore[attr-defined]
        elif isinstance(item, ContextVar):
            yield Answer(label, item, context_value)
        elif isinstance(item, _lru_cache_wrapper) and _is_users(item.__wrapped__):
            yield Answer(f"the cache of {label}", item, cache_size)
            yield from [Fixed(f"a result of {label}", held) for held in results_of(item)]
        elif isinstance(item, threading.local):
            given = [*self.names, *vars(item)] if self.whole else self.names
            found = [name for name in given if self.probes or hasattr(item, name)]
            yield from [Attribute(f"{label}.{name}", item, name) for name in found]
        elif isinstance(item, BaseException):
            yield Attribute(f"{label}.args", item, "args")
        if type(item) not in _WITHOUT_ATTRIBUTES and not isinstance(item, type | ModuleType):
            yield from states_of(item, label, self.given, own)
            if not is_installed_class(type(item)):
                yield ClassOf(f"the class of {label}", item)
            yield from self._of_instance(item, label)
        if isinstance(item, defaultdict):
            yield Attribute(f"{label}.default_factory", item, "default_factory")

    def _own(self, item: Any, label: str) -> Iterator[InstanceMember]:
        """Attributes that are set on a function or a partial function."""
        own = namespace(item)
        if own:
            found = [name for name in self.names if name in own and name[:2] != "__"]
            yield from [InstanceMember(f"{label}.{name}", item, name) for name in found]

    def _of_module(self, item: ModuleType, label: str) -> Iterator[Any]:
        if is_installed(item):
            return
        home = vars(item)
        computes = "__getattr__" in home
        if computes:
            yield NamespaceItem(f"{label}.__getattr__", home, "__getattr__")
        for name in self.names:
            if isinstance(home.get(name), ModuleType) and is_installed(home[name]):
                continue  # it is not bound anew
            if name in home or computes:
                yield NamespaceItem(f"{label}.{name}", home, name)

    def _of_type(self, item: type, label: str) -> Iterator[Any]:
        """Attributes of a class and of its metaclass, and the methods that make its instances."""
        owners = self.owners[item]
        names = self._whole_of(item) if self.whole else self.names
        for name in names:
            if name in owners:
                yield from self._of_class(item, item, name, f"{label}.{name}")
        yield from self._implicit(item, item, label, AT_CREATION)
        if type(item) is not type:
            for name in self.names:
                if name not in owners and name in self.owners[type(item)]:
                    yield ClassMember(f"{label}.{name}", item, name)  # which would hide it
                    yield from self._of_class(type(item), item, name, f"{label}.{name}")
            yield from self._implicit(type(item), item, label)
        if issubclass(item, Enum):
            yield from [Fixed(f"{label}.{name}", v) for name, v in item.__members__.items()]

    def _whole_of(self, kind: type) -> list[str]:
        """The names asked for, and all of a class of the user's."""
        more = [name for name in self.owners[kind] if name[:2] != "__" and name not in self.given]
        return [*self.names, *more]

    def _implicit(
        self, kind: type, holder: object, label: str, more: frozenset[str] = frozenset()
    ) -> Iterator[Any]:
        """The methods of the user's classes that operators and `getattr` call, such as ``__getitem__``."""
        for name, owner in self.owners[kind].items():
            if name[:2] == "__" and (
                name not in NEVER_IMPLICIT or name in more or name in self.given
            ):
                value = vars(owner)[name]
                if isinstance(value, staticmethod):
                    value = value.__func__
                asked = name in self.given or not (
                    isinstance(value, FunctionType) and is_generated(value)
                )
                if isinstance(value, FunctionType) and asked:
                    yield from self._of_class(kind, holder, name, f"{label}.{name}")

    def _inherited(self, f: FunctionType, bound: Bound) -> Iterator[Any]:
        """Attributes of base classes that code may read by `super`."""
        if "super" in f.__code__.co_names:
            holder = method_owner(f, bound)
            kind = holder if isinstance(holder, type) else type(holder)
            for base in kind.__mro__[:-1]:
                for name in f.__code__.co_names:
                    if name in vars(base):
                        yield from self._of_class(base, holder, name, f"{base.__name__}.{name}")

    def _of_instance(self, item: Any, label: str) -> Iterator[Any]:
        own, owners = namespace(item), self.owners[type(item)]
        names, assignable = self.names, has_namespace(item)
        # Those of funcgrad's own classes are functions with custom rules and the like.
        ours = str(type(item).__module__).startswith("funcgrad.")
        if self.whole or ours or isinstance(item, _COLLECTIONS):
            if assignable:
                yield Contents(f"{label}.__dict__", own)
            names = [*names, *[name for name in own if name not in self.given]]
            if self.whole:
                names += [name for name in self._whole_of(type(item)) if name not in names]
        elif "__match_args__" in self.given:
            names = [*names, *getattr(type(item), "__match_args__", ())]
        elif isinstance(item, Enum):
            names = [*names, "_value_"]
        elif is_installed_class(type(item)):
            # The code of its class, which may read its arrays, is not searched for names.
            names = [*names, *[name for name in own if isinstance(own[name], np.ndarray)]]
        if self.route.names:
            names = [*names, *self._read_by_package(item, own)]
        if assignable:
            self.assignable.append((item, label))
        for name in names:
            if name in own or name in owners:
                place = InstanceMember(f"{label}.{name}", item, name)
                in_it = place.get() is not ABSENT
                if name in own and not in_it:  # a property of that name hides it, and may read it
                    yield NamespaceItem(place.name, own, name)
                elif in_it or assignable or is_slot(type(item), name):
                    yield place
                if not in_it:
                    yield from self._of_class(type(item), item, name, place.name)
        yield from self._implicit(type(item), item, label)

    def _read_by_package(self, item: Any, own: dict[str, Any]) -> Iterator[str]:
        """The attributes of an instance that code of an installed package reads, without large ones."""
        read = self.route.names
        for name in [*own, *self.owners.slots(type(item))]:
            if name in self.given or not (reads_all(read) or name in read) or name[:2] == "__":
                continue
            value = InstanceMember(name, item, name).get()
            far = self.route.depth > 1
            is_large = isinstance(value, np.ndarray) and value.nbytes > COPIED
            is_other = callable(value) and not _is_users(value)
            if not (far and (is_large or is_other)) and not hasattr(type(value), "__next__"):
                yield name

    def add_absent(self) -> None:
        """Add the attributes that instances lack, where code asks for such, or where the class computes
        them by ``__getattr__``; they lead no further."""
        for item, label in self.assignable:
            if not self.probes and in_class(type(item), "__getattr__") is ABSENT:
                continue
            own, owners = namespace(item), self.owners[type(item)]
            for name in self.names:
                if name not in own and name not in owners:
                    place = InstanceMember(f"{label}.{name}", item, name)
                    self.found.setdefault(key_of(place), place)

    def _of_class(self, kind: type, holder: object, name: str, label: str) -> Iterator[Any]:
        """What a class gives for an attribute of ``holder``: its place, and the functions that compute it.

        Of installed packages' classes nothing is followed.
        """
        owner = self.owners[kind].get(name)
        if owner is None or is_installed_class(owner):
            return
        value = vars(owner)[name]
        if isinstance(value, MemberDescriptorType | GetSetDescriptorType):
            return
        yield ClassMember(label, kind, name)
        code: Any = None
        if isinstance(value, property | cached_property):
            code = value.fget if isinstance(value, property) else value.func
            code = code and MethodType(code, holder)
        elif isinstance(value, classmethod):
            code = MethodType(value.__func__, holder if isinstance(holder, type) else type(holder))
        elif isinstance(value, staticmethod):
            code = value.__func__
        elif isinstance(value, partialmethod):
            code = partial(value.func, holder, *value.args, **value.keywords)
        elif isinstance(value, FunctionType | Transformed):
            code = MethodType(value, holder) if kind in type(holder).__mro__ else value
        elif isinstance(vars(type(value)).get("__get__"), FunctionType):
            code = MethodType(type(value).__get__, value)
            given = Bound((holder, type(holder)))
            self.waiting.append((code, label, False, given, OWN_ROUTE))
            return
        if code is not None:
            self.waiting.append((code, label, False, Bound(), OWN_ROUTE))


def _items(item: Any, label: str) -> Iterator[Any]:
    """The places in a container, an array or a buffer, and of what it contains if that may change."""
    if isinstance(item, dict | MappingProxyType | Context):
        yield Contents(label, item)
        yield from [Fixed(f"{label}[{key!r}]", value) for key, value in item.items()]
        yield from [Fixed(f"a key of {label}", k) for k in item if type(k) not in _LEAVES]
    elif isinstance(item, list | tuple | set | frozenset | deque):
        if not isinstance(item, tuple | frozenset):
            yield Contents(label, item)
        fields = getattr(type(item), "_fields", ())  # an instance may have any attribute
        names = [f".{name}" for name in fields]
        if len(names) != len(item):
            names = [f"[{k}]" for k in range(len(item))]
        yield from [Fixed(label + n, v) for n, v in zip(names, item, strict=True)]
    elif isinstance(item, np.ndarray) and item.dtype == object:
        yield Contents(label, item)
        yield from [Fixed(f"{label}.flat[{k}]", v) for k, v in enumerate(item.flat)]
    elif isinstance(item, np.ndarray) and item.dtype.names is not None:
        fields = [name for name in item.dtype.names if item.dtype[name].hasobject]
        yield from [Fixed(f"{label}[{name!r}]", item[name]) for name in fields]
    elif is_buffer(item):
        yield Contents(label, item)
        if hasattr(type(item), "contents") and item:  # a pointer
            yield Fixed(f"{label}.contents", item.contents)


def _is_users(f: object) -> bool:
    return isinstance(f, FunctionType) and not is_installed(f)


def _is_kept(place: Fixed, depth: int) -> bool:
    """Whether something that is always the same object is looked at, after the trace if not at each call."""
    kind = type(place.value)
    if kind in _LEAVES:
        return kind is np.ndarray
    if isinstance(place, Unwatched) or isinstance(place.value, np.ndarray):
        return True
    return is_generator(place.value) or (depth == 0 and hasattr(kind, "__next__"))


_COLLECTIONS = (
    *(UserDict, UserList, UserString, ChainMap, WeakKeyDictionary, WeakValueDictionary),
    np.ndarray,
)
"""Classes of Python's and NumPy's whose instances hold their items in attributes."""

_CONTAINERS = (dict, list, tuple, set, frozenset, deque, MappingProxyType, Context)
_VIEWS: Any = (type({}.keys()), type({}.values()), type({}.items()))

_WITHOUT_ATTRIBUTES = frozenset(
    (float, int, bool, complex, str, bytes, type(None), type(ABSENT), np.ndarray)
) | {Expr, FunctionType, MethodType, BuiltinFunctionType, partial, Transformed}
_WITHOUT_ATTRIBUTES |= {dict, list, tuple, set, frozenset, deque, bytearray, defaultdict}
_WITHOUT_ATTRIBUTES |= {MappingProxyType, *_VIEWS, weakref.ref}
"""Types whose attributes are those of their class, or are no part of what a function computes with."""


_LEAVES = frozenset((float, int, bool, complex, str, bytes, type(None), type(ABSENT), np.ndarray))
_LEAVES |= set(np.sctypeDict.values()) - {np.object_, np.void}
"""Types of values that lead to no other."""
