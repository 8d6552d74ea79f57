"""What a compiled function depends on beside its arguments: what it, and the functions that it calls, name.

Watched are closure cells, globals (also those not bound yet, and builtins that a global may hide),
defaults, what partial functions hold, and the instances of methods: by identity; arrays by shape and type
also, and small ones by content. Of each of these, and of the user's modules, the attributes and items
that the code reads by name or by a constant key (``self.layer.w``, ``settings.K``, ``params["w"]``) are
watched, too. So it is in plain functions that are named so, through partial functions, methods,
properties, toolz's compositions and what is wrapped: in up to 64, nearest first.

Not watched is what would cost a call too much, or has no end: what is read by other keys, in a loop over
a container or through `getattr`; attributes that a class computes in ``__getattr__`` or in a descriptor
of its own; methods that are given to a class; names of modules, functions and classes of installed
packages, and the code of a function that is given other code (``f.__code__ = ...``: 20 ns for each
function, as much as all else).
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr
from funcgrad.transforms.jit.capture_paths import AccessStep, Path, Subscript, named_paths
from funcgrad.transforms.jit.capture_sources import (
    ABSENT,
    Attribute,
    ClassMember,
    ClosureCell,
    Element,
    Fixed,
    InstanceMember,
    NamespaceItem,
    Snapshot,
    checked,
    checker,
    has_namespace,
    key_of,
    owner_of,
    seen,
)

MOST_FUNCTIONS = 64
"""Functions, found nearest first, beyond which none is looked into."""

_MOST_CALLABLES = 1000


# -- all places of a function --------------------------------------------------------------------
class CapturedVariables:
    """What a function takes from around it, and the functions that it calls take."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.f = f

    def values(self) -> list[Snapshot]:
        """What is held now."""
        return [seen(place) for place in _places(self.f)]

    def unchanged(self, before: Sequence[Snapshot]) -> bool:
        """Whether everything is what it was."""
        for item in before:
            now = item.place.get()
            if now is not item.value or (item.form is not None and item.event(seen(item.place))):
                return False
        return True

    def changed(self, before: Sequence[Snapshot], now: Sequence[Snapshot]) -> list[str]:
        """The names of what is not, with what has happened to them."""
        later = {key_of(item.place): item for item in now}
        events = [item.event(later.get(key_of(item.place), item)) for item in before]
        return list(dict.fromkeys([event for event in events if event]))

    def tests(self, before: Sequence[Snapshot], objects: dict[str, Any]) -> list[str] | None:
        """The same as `unchanged`, as conditions of generated code; what they name joins ``objects``.

        None where a condition is not to be written there.
        """
        texts = []
        many = checked(before)
        if many:
            objects["same0"] = checker(many)
            texts.append("same0()")
        done = {id(item) for item in many}
        for k, item in enumerate(before):
            if id(item) not in done and not isinstance(item.place, Fixed):
                text = item.place.test(k, item.value, objects)
                if text is None:
                    return None
                texts.append(text)
            texts.extend(item.in_place(k, objects))
        return texts


# -- what there is to watch ----------------------------------------------------------------------
def arrays_of(held: Sequence[Snapshot]) -> dict[int, Any]:
    """The arrays among what is held, by id."""
    return {id(item.value): item.value for item in held if isinstance(item.value, np.ndarray)}


class Bound(NamedTuple):
    """Arguments that a function is sure to be called with: the instance of a method, what `partial` holds."""

    args: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = MappingProxyType({})

    def of(self, names: Sequence[str]) -> dict[str, Any]:
        """The values of the parameters that are known."""
        return dict(zip(names, self.args, strict=False)) | dict(self.keywords)


def _places(f: Callable[..., Any]) -> list[Any]:
    """The places that a callable, and the functions that it names, depend on."""
    found: dict[Any, Any] = {}
    waiting: deque[tuple[Any, bool, Bound]] = deque([(f, True, Bound())])
    done: set[Any] = set()
    count = 0
    kept: list[Any] = []  # so that ids stay their own
    while waiting and count < MOST_FUNCTIONS and len(done) < _MOST_CALLABLES:
        item, own, bound = waiting.popleft()
        if not own and not callable(item):
            continue
        # A bound method is made anew whenever it is asked for.
        is_method = isinstance(item, MethodType)
        parts = [MethodType, item.__func__, item.__self__] if is_method else [item]
        identity = tuple(map(id, [*parts, *bound.args]))
        if identity in done:
            continue
        done.add(identity)
        kept.append((item, bound))
        waiting.extend([(inner, own, args) for inner, args in _inside(item, bound)])
        places = _held_by(item)
        if isinstance(item, FunctionType) and not is_ours(item) and (own or not _installed(item)):
            count += 1
            places = _of_function(item, bound)
        for place in places:
            key = key_of(place)
            if key not in found:
                found[key] = place
                waiting.append((place.get(), False, Bound()))
    return list(found.values())


def _inside(item: object, bound: Bound) -> list[tuple[Any, Bound]]:
    """The callables that a callable runs: what it wraps, and what it is bound to or made of."""
    if isinstance(item, FunctionType):
        return [(item.__dict__.get("__wrapped__"), bound)]
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
    found = [(call, bound._replace(args=(item, *bound.args)))]
    try:
        # Without what a class does for attributes that are not there.
        return [*found, (object.__getattribute__(item, "__wrapped__"), bound)]
    except Exception:  # of a proxy, which may raise what it likes
        return found


def _held_by(item: object) -> Iterator[Any]:
    """The arguments that a partial function holds."""
    if isinstance(item, partial) or type(item).__name__ == "curry":
        for k, value in enumerate(getattr(item, "args", ())):
            yield Fixed(f"argument {k} of {_name(item)}", value)
        words = getattr(item, "keywords", {})
        yield from [NamespaceItem(name, words, name) for name in words]


def _of_function(f: FunctionType, bound: Bound) -> Iterator[Any]:
    """What a Python function takes from around it, functions inside it included."""
    known: dict[str, Any] = {}
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        place = ClosureCell(name, cell)
        known[name] = place.get()
        yield place
    if f.__defaults__:
        yield Attribute(f"{_name(f)}.__defaults__", f, "__defaults__")
        count = f.__code__.co_argcount
        names = f.__code__.co_varnames[count - len(f.__defaults__) : count]
        known.update(zip(names, f.__defaults__, strict=True))
        yield from map(Fixed, names, f.__defaults__)
    words: Any = f.__kwdefaults__
    if words:
        known.update(words)
        yield Attribute(f"{_name(f)}.__kwdefaults__", f, "__kwdefaults__")
        yield from [NamespaceItem(name, words, name) for name in words]
    known.update(bound.of(f.__code__.co_varnames[: f.__code__.co_argcount]))
    for path in named_paths(f.__code__):
        if path.is_global:
            yield from _of_global(f.__globals__, path)
        elif path.name in known:
            yield from _along(known[path.name], path.steps, path.name)
    if bound.args and "super" in f.__code__.co_names:
        yield from _inherited(bound.args[0], f.__code__.co_names)


def _of_global(home: dict[str, Any], path: Path) -> Iterator[Any]:
    """The places of a global's path; of a module of the user's, what is taken from it instead."""
    names = (path.name, *path.steps)
    for k, name in enumerate(names):
        value = home.get(str(name), ABSENT)
        if not isinstance(value, ModuleType):  # else it is not bound anew
            label = ".".join(map(str, names[: k + 1]))
            yield NamespaceItem(label, home, str(name))
            yield from _along(value, names[k + 1 :], label)
            return
        if _installed(value):
            return
        home = vars(value)


# -- attributes and items --------------------------------------------------------------------------
def _along(holder: Any, steps: Sequence[AccessStep], label: str) -> Iterator[Any]:
    """The places of attributes and items that are read one from the other, the first from ``holder``."""
    for step in steps:
        label += str(step) if isinstance(step, Subscript) else f".{step}"
        place: Any = None
        if isinstance(step, Subscript):
            place = (
                Element(label, holder, step.key) if type(holder) in (dict, list, tuple) else None
            )
        elif isinstance(holder, tuple) and step in getattr(holder, "_fields", ()):
            place = Fixed(label, getattr(holder, step))
        elif isinstance(holder, type):
            place = _of_class(holder, holder, step, label)
        elif type(holder) not in _WITHOUT_ATTRIBUTES:
            place = InstanceMember(label, holder, step)
            if place.get() is ABSENT:
                if has_namespace(holder):
                    yield place
                place = _of_class(type(holder), holder, step, label)
        if place is None:
            return
        yield place
        holder = place.get()


def _of_class(kind: type, holder: object, name: str, label: str) -> Any:
    """What a class gives for an attribute of ``holder``: its code, as `Fixed`, or its place, or None.

    Of descriptors only those of Python's own are followed, and of installed packages' classes nothing.
    """
    owner = owner_of(kind, name)
    if owner is None or _installed(sys.modules.get(owner.__module__)):
        return None
    value = vars(owner)[name]
    if isinstance(value, property | cached_property):
        code = value.fget if isinstance(value, property) else value.func
        return Fixed(label, MethodType(code, holder)) if code is not None else None
    if isinstance(value, classmethod):
        return Fixed(label, MethodType(value.__func__, kind))
    if isinstance(value, staticmethod):
        return Fixed(label, value.__func__)
    if isinstance(value, FunctionType):
        return Fixed(label, value if isinstance(holder, type) else MethodType(value, holder))
    return None if hasattr(type(value), "__get__") else ClassMember(label, kind, name)


def _inherited(holder: object, names: Sequence[str]) -> Iterator[Fixed]:
    """The methods of base classes that code with `super` may call."""
    kind = holder if isinstance(holder, type) else type(holder)
    for base in kind.__mro__:
        for name in names:
            value = vars(base).get(name)
            if isinstance(value, FunctionType):
                yield Fixed(f"{base.__name__}.{name}", MethodType(value, holder))


_WITHOUT_ATTRIBUTES = frozenset(
    (float, int, bool, complex, str, bytes, type(None), list, tuple, dict, set, type(ABSENT))
) | {np.ndarray, Expr, FunctionType, MethodType, BuiltinFunctionType, ModuleType, partial}
"""Types whose attributes are those of their class, or are no part of what a function computes with."""


# -- whose they are ------------------------------------------------------------------------------
def is_ours(f: Callable[..., Any]) -> bool:
    """Whether a function is the package's own, such as what `grad` makes; its name may be the user's."""
    home = getattr(f, "__globals__", {}).get("__name__", "")
    made = getattr(getattr(f, "__code__", None), "co_filename", "")
    return (isinstance(home, str) and home.startswith("funcgrad.")) or made == "<funcgrad jit>"


def _installed(item: FunctionType | ModuleType | None) -> bool:
    """Whether a function or a module comes with an installed package, or with Python."""
    if item is None:
        return False
    home = item.__globals__ if isinstance(item, FunctionType) else vars(item)
    name, file = home.get("__name__"), home.get("__file__")
    top = name.partition(".")[0] if isinstance(name, str) else ""
    if not isinstance(file, str):
        return top in sys.stdlib_module_names
    return top == "funcgrad" or _is_installed(file)


@lru_cache(maxsize=1024)
def _is_installed(file: str) -> bool:
    return file.startswith(_PYTHON) or "site-packages" in file or "dist-packages" in file


_PYTHON = os.path.join(os.path.dirname(os.__file__), "")


def _name(f: object) -> str:
    return str(getattr(f, "__name__", None) or getattr(_inside(f, Bound())[0][0], "__name__", "f"))
