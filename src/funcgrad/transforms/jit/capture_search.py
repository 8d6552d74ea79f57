"""The search for what a compiled function depends on beside its arguments: what it and its callees reach.

Watched are closure cells, globals (also those not bound yet, and builtins that a global may hide),
defaults, what partial functions hold, and the instances of methods: by identity; arrays by shape and type
also, and by content, unless the program reads them at each call. From each of these the search goes on: to
all items of a container, and to those attributes of an instance or a module of the user's whose names occur
in the code of a function that is found (``co_names``), wherever it reads them. So a helper's ``model.w``, a
loop over ``self.layers`` and ``params[key]`` are watched. It is the same in plain functions, through partial
functions, methods, properties, toolz's compositions and what is wrapped: in up to 64, nearest first.

Not watched is what would cost a call too much, or has no end: the state of modules, functions and classes of
installed packages (``os.environ``, random generators), what a descriptor of the user's own computes, and the
code of a function that is given other code (``f.__code__ = ...``: 20 ns for each function).
"""

from __future__ import annotations

import builtins
import sys
from collections import UserDict, UserList, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import starmap
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.source import warn
from funcgrad.transformed import Transformed
from funcgrad.transforms.jit.capture_owners import callable_name, is_installed, is_ours
from funcgrad.transforms.jit.capture_sources import (
    ABSENT,
    Attribute,
    ClassMember,
    ClosureCell,
    Contents,
    Fixed,
    InstanceMember,
    NamespaceItem,
    has_namespace,
    in_class,
    key_of,
    namespace,
)

MOST_FUNCTIONS = 64
"""Functions, found nearest first, beyond which none is looked into."""

MOST_VALUES = 10_000
"""Values, found nearest first, beyond which none is looked into."""


class Bound(NamedTuple):
    """Arguments that a function is sure to be called with: the instance of a method, what `partial` holds."""

    args: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = MappingProxyType({})

    def of(self, names: Sequence[str]) -> dict[str, Any]:
        """The values of the parameters that are known."""
        return dict(zip(names, self.args, strict=False)) | dict(self.keywords)


def places_of(f: Callable[..., Any]) -> list[Any]:
    """The places that a callable, and the functions that it names, depend on."""
    names: frozenset[str] = frozenset()
    owners = _Owners()
    while True:
        search = _Search(names, owners)
        search.run(f)
        if search.met <= names:
            search.add_absent()
            return list(search.found.values())
        names |= search.met


class _Owners(dict[type, dict[str, type]]):
    """The names in a class and its bases, with the class in whose namespace each is found."""

    def __missing__(self, kind: type) -> dict[str, type]:
        found: dict[str, type] = {}
        for base in reversed(kind.__mro__):
            found |= dict.fromkeys(vars(base), base)
        self[kind] = found
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
        self.probes = not names.isdisjoint(_PROBING)
        self.whole = not names.isdisjoint(_READING_ALL)
        self.found: dict[Any, Any] = {}
        self.met: set[str] = set()
        self.waiting: deque[tuple[Any, str, bool, Bound]] = deque()
        self.done: set[Any] = set()
        self.kept: list[Any] = []  # so that ids stay their own
        self.assignable: list[tuple[Any, str]] = []
        self.functions = 0

    def run(self, f: Callable[..., Any]) -> None:
        self.waiting.append((f, callable_name(f), True, Bound()))
        while self.waiting:
            if len(self.done) > MOST_VALUES:
                warn(
                    f"jit: {callable_name(f)} reaches more than {MOST_VALUES} values beside its arguments, "
                    "and no change of further ones is noticed; hand them to it as arguments"
                )
                return
            item, label, own, bound = self.waiting.popleft()
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
            for inner, args in _inside(item, bound):
                self.waiting.append((inner, label, own, args))
            self._add(_held_by(item))
        if isinstance(item, FunctionType):
            theirs = is_ours(item) or (not own and is_installed(item))
            if not theirs and self.functions < MOST_FUNCTIONS:
                self.functions += 1
                self.met |= _names(item.__code__)
                self._add(_of_function(item))
                given = bound.of(item.__code__.co_varnames[: item.__code__.co_argcount])
                self._add(starmap(Fixed, given.items()))
                if bound.args and "super" in item.__code__.co_names:
                    self._add(_inherited(bound.args[0], item.__code__.co_names))
                if self.functions == MOST_FUNCTIONS and not self.met <= self.given:
                    self.waiting.clear()
        else:
            self._add(self._parts(item, label))

    def _add(self, places: Iterable[Any]) -> None:
        for place in places:
            key = key_of(place)
            if key not in self.found:
                fixed = isinstance(place, Fixed) and not isinstance(place.value, np.ndarray)
                if not fixed:
                    self.found[key] = place
                if not isinstance(place, Contents):
                    self._reach(place.get(), place.name)

    def _reach(self, value: Any, label: str) -> None:
        if type(value) not in _LEAVES:
            self.waiting.append((value, label, False, Bound()))

    def _parts(self, item: Any, label: str) -> Iterator[Any]:
        """The places in a container, a module, a class or an instance."""
        if isinstance(item, dict):
            yield Contents(label, item)
            yield from [Fixed(f"{label}[{key!r}]", value) for key, value in item.items()]
        elif isinstance(item, list | tuple | set | frozenset | deque):
            if not isinstance(item, tuple | frozenset):
                yield Contents(label, item)
            fields = getattr(item, "_fields", ())
            names = [f".{name}" for name in fields] or [f"[{k}]" for k in range(len(item))]
            yield from [Fixed(label + n, v) for n, v in zip(names, item, strict=True)]
        elif isinstance(item, bytearray):
            yield Contents(label, item)
        elif isinstance(item, ModuleType):
            if not is_installed(item):
                home = vars(item)
                for name in self.names:
                    if name in home and not isinstance(home[name], ModuleType):
                        yield NamespaceItem(f"{label}.{name}", home, name)
                    elif name in home:  # it is not bound anew
                        self._reach(home[name], f"{label}.{name}")
        elif isinstance(item, type):
            owners = self.owners[item]
            for name in self.names:
                if name in owners:
                    yield from self._of_class(item, item, name, f"{label}.{name}")
        elif type(item) not in _WITHOUT_ATTRIBUTES:
            yield from self._of_instance(item, label)

    def _of_instance(self, item: Any, label: str) -> Iterator[Any]:
        own, owners = namespace(item), self.owners[type(item)]
        names, assignable = self.names, has_namespace(item)
        ours = type(item).__module__.startswith(
            "funcgrad."
        )  # such as a function with a custom rule
        if self.whole or ours or isinstance(item, UserDict | UserList):
            if assignable:
                yield Contents(f"{label}.__dict__", own)
            names = [*names, *[name for name in own if name not in self.given]]
        if assignable:
            self.assignable.append((item, label))
        for name in names:
            if name in own or name in owners:
                place = InstanceMember(f"{label}.{name}", item, name)
                in_it = name in own or place.get() is not ABSENT
                if in_it or assignable:
                    yield place
                if not in_it:
                    yield from self._of_class(type(item), item, name, place.name)
        for method in _implicit_methods(type(item)):
            self.waiting.append((MethodType(method, item), label, False, Bound()))

    def add_absent(self) -> None:
        """Add the attributes that instances have not, where code asks for such, or where the class computes
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

        Of descriptors only those of Python's own are followed, and of installed packages' classes nothing.
        """
        owner = self.owners[kind].get(name)
        if owner is None or is_installed(sys.modules.get(owner.__module__)):
            return
        value = vars(owner)[name]
        code: Any = None
        if isinstance(value, property | cached_property | classmethod | staticmethod):
            yield ClassMember(label, kind, name)
        if isinstance(value, property | cached_property):
            code = value.fget if isinstance(value, property) else value.func
            code = code and MethodType(code, holder)
        elif isinstance(value, classmethod):
            code = MethodType(value.__func__, kind)
        elif isinstance(value, staticmethod):
            code = value.__func__
        elif isinstance(value, FunctionType | Transformed):
            code = value if isinstance(holder, type) else MethodType(value, holder)
            yield ClassMember(label, kind, name)
        elif not hasattr(type(value), "__get__"):
            yield ClassMember(label, kind, name)
        if code is not None:
            self.waiting.append((code, label, False, Bound()))


@lru_cache(maxsize=1024)
def _names(code: CodeType) -> frozenset[str]:
    """The names of globals and attributes in code, and in the code of functions inside it.

    Where it reads attributes by text, its texts as well.
    """
    inside = [c for c in code.co_consts if isinstance(c, CodeType)]
    found = frozenset(code.co_names).union(*map(_names, inside))
    if found.isdisjoint(_PROBING):
        return found
    return found | {c for c in code.co_consts if isinstance(c, str) and c.isidentifier()}


_READING_ALL = frozenset(("__dict__", "attrgetter", "getattr", "vars"))
"""Names in code that may read any attribute."""
_PROBING = _READING_ALL | {"AttributeError", "hasattr"}
"""Names in code that may ask for attributes that are not there."""

_NEVER_IMPLICIT = frozenset(
    (
        *(
            "__init__",
            "__new__",
            "__post_init__",
            "__init_subclass__",
            "__del__",
            "__class_getitem__",
        ),
        *("__repr__", "__str__", "__format__", "__hash__", "__setattr__", "__delattr__", "__dir__"),
        *("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__replace__", "__eq__"),
    )
)


def _implicit_methods(kind: type) -> Iterator[FunctionType]:
    """The methods of the user's classes that operators and `getattr` call, such as ``__getitem__``."""
    for base in kind.__mro__[:-1]:
        if not is_installed(sys.modules.get(base.__module__)):
            for name, value in vars(base).items():
                if (
                    name[:2] == "__"
                    and name not in _NEVER_IMPLICIT
                    and isinstance(value, FunctionType)
                ):
                    yield value


def _inside(item: object, bound: Bound) -> list[tuple[Any, Bound]]:
    """The callables that a callable runs: what it wraps, and what it is bound to or made of."""
    if isinstance(item, FunctionType):
        foreign = item.__dict__.get("foreign") if is_ours(item) else None
        if foreign is None:
            return [(item.__dict__.get("__wrapped__"), bound)]
        # A primitive's function runs at each call, but its rules are derived from once.
        rules = foreign.partials if isinstance(foreign.partials, list | tuple) else ()
        return [(rule, Bound()) for rule in rules]
    if isinstance(item, MethodType):
        return [(item.__func__, bound._replace(args=(item.__self__, *bound.args)))]
    if isinstance(item, partial):
        words = dict(item.keywords) | dict(bound.keywords)
        return [(item.func, Bound((*item.args, *bound.args), words))]
    if item is None or isinstance(item, type | ModuleType):
        return []
    if type(item).__module__.partition(".")[0] in ("toolz", "cytoolz"):
        parts = [getattr(item, name, None) for name in ("func", "first")]
        return [(part, Bound()) for part in (*parts, *getattr(item, "funcs", ()))]
    call = getattr(type(item), "__call__", None)  # noqa: B004  # its code is wanted
    by_python = isinstance(call, FunctionType)
    found = [(call, bound._replace(args=(item, *bound.args)))] if by_python else []
    try:
        # Without what a class does for attributes that are not there.
        return [*found, (object.__getattribute__(item, "__wrapped__"), bound)]
    except Exception:  # of a proxy, which may raise what it likes
        return found


def _held_by(item: object) -> Iterator[Any]:
    """The arguments that a partial function holds."""
    if isinstance(item, partial) or type(item).__name__ == "curry":
        for k, value in enumerate(getattr(item, "args", ())):
            yield Fixed(f"argument {k} of {callable_name(item)}", value)
        words = getattr(item, "keywords", {})
        yield from [NamespaceItem(name, words, name) for name in words]


def _of_function(f: FunctionType) -> Iterator[Any]:
    """What a Python function takes from around it, functions inside it included."""
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        yield ClosureCell(name, cell)
    if f.__defaults__:
        yield Attribute(f"{callable_name(f)}.__defaults__", f, "__defaults__")
        count = f.__code__.co_argcount
        names = f.__code__.co_varnames[count - len(f.__defaults__) : count]
        yield from map(Fixed, names, f.__defaults__)
    words: Any = f.__kwdefaults__
    if words:
        yield Attribute(f"{callable_name(f)}.__kwdefaults__", f, "__kwdefaults__")
        yield from [NamespaceItem(name, words, name) for name in words]
    home = f.__globals__
    named = _names(f.__code__)
    for name in sorted(named):
        value = home.get(name, ABSENT)
        if isinstance(value, ModuleType):  # it is not bound anew
            yield Fixed(name, value)
        elif value is not ABSENT or hasattr(builtins, name) or "globals" in named:
            yield NamespaceItem(name, home, name)


def _inherited(holder: object, names: Sequence[str]) -> Iterator[Fixed]:
    """The methods of base classes that code with `super` may call."""
    kind = holder if isinstance(holder, type) else type(holder)
    for base in kind.__mro__:
        for name in names:
            value = vars(base).get(name)
            if isinstance(value, FunctionType):
                yield Fixed(f"{base.__name__}.{name}", MethodType(value, holder))


_WITHOUT_ATTRIBUTES = frozenset(
    (float, int, bool, complex, str, bytes, type(None), type(ABSENT), np.ndarray)
) | {Expr, FunctionType, MethodType, BuiltinFunctionType, ModuleType, partial, Transformed}
"""Types whose attributes are those of their class, or are no part of what a function computes with."""


_LEAVES = frozenset((float, int, bool, complex, str, bytes, type(None), type(ABSENT), np.ndarray))
"""Types of values that lead to no other."""
