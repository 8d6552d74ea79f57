"""What a compiled function depends on beside its arguments: what it, and the functions that it calls, name.

Watched are closure cells, globals (also those not bound yet, and builtins that a global may hide),
attributes of the user's modules (``settings.K``), defaults, and what partial functions hold: by identity;
arrays by shape and type also, and small ones by content. So it is in plain functions that are named so,
through partial functions, methods, toolz's compositions and what is wrapped: in up to 64, nearest first.

Not watched is what would cost a call too much, or has no end: what is inside other containers or reached
through other attributes, classes, names of modules, functions of installed packages, and the code of a
function that is given other code (``f.__code__ = ...``: 20 ns for each function, as much as all else).
"""

from __future__ import annotations

import dis
import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from funcgrad.transforms.jit.capture_sources import (
    ABSENT,
    Attribute,
    Cell,
    Fixed,
    Item,
    Seen,
    checked,
    checker,
    key_of,
    seen,
)

MOST_FUNCTIONS = 64
"""Functions, found nearest first, beyond which none is looked into."""

_MOST_CALLABLES = 1000


# -- all places of a function --------------------------------------------------------------------
class Watch:
    """What a function takes from around it, and the functions that it calls take."""

    def __init__(self, f: Any) -> None:
        self.f = f

    def values(self) -> list[Seen]:
        """What is held now."""
        return [seen(place) for place in _places(self.f)]

    def unchanged(self, before: Sequence[Seen]) -> bool:
        """Whether everything is what it was."""
        for item in before:
            now = item.place.get()
            if now is not item.value or (item.form is not None and item.event(seen(item.place))):
                return False
        return True

    def changed(self, before: Sequence[Seen], now: Sequence[Seen]) -> list[str]:
        """The names of what is not, with what has happened to them."""
        later = {key_of(item.place): item for item in now}
        events = [item.event(later.get(key_of(item.place), item)) for item in before]
        return list(dict.fromkeys([event for event in events if event]))

    def tests(self, before: Sequence[Seen], objects: dict[str, Any]) -> list[str]:
        """The same as `unchanged`, as conditions of generated code; what they name joins ``objects``."""
        texts = []
        many = checked(before)
        if many:
            objects["same0"] = checker(many)
            texts.append("same0()")
        done = {id(item) for item in many}
        for k, item in enumerate(before):
            if id(item) not in done and not isinstance(item.place, Fixed):
                texts.append(item.place.test(k, item.value, objects))
            texts.extend(item.in_place(k, objects))
        return texts


# -- what there is to watch ----------------------------------------------------------------------
def arrays_of(held: Sequence[Seen]) -> dict[int, Any]:
    """The arrays among what is held, by id."""
    return {id(item.value): item.value for item in held if isinstance(item.value, np.ndarray)}


def _places(f: Any) -> list[Any]:
    """The places that a callable, and the functions that it names, depend on."""
    found: dict[Any, Any] = {}
    waiting: deque[tuple[Any, bool]] = deque([(f, True)])
    done: set[int] = set()
    count = 0
    kept: list[Any] = []  # so that ids stay their own
    while waiting and count < MOST_FUNCTIONS and len(done) < _MOST_CALLABLES:
        item, own = waiting.popleft()
        if id(item) in done or (not own and not callable(item)):
            continue
        done.add(id(item))
        kept.append(item)
        waiting.extend([(inner, own) for inner in _inside(item)])
        places = _held_by(item)
        if isinstance(item, FunctionType) and not is_ours(item) and (own or not _installed(item)):
            count += 1
            places = _of_function(item)
        for place in places:
            key = key_of(place)
            if key not in found:
                found[key] = place
                waiting.append((place.get(), False))
    return list(found.values())


def _inside(item: Any) -> list[Any]:
    """The callables that a callable runs: what it wraps, and what it is bound to or made of."""
    if isinstance(item, FunctionType):
        return [item.__dict__.get("__wrapped__")]
    if isinstance(item, MethodType):
        return [item.__func__]
    if isinstance(item, partial):
        return [item.func]
    if item is None or isinstance(item, type | ModuleType):
        return []
    if type(item).__module__.partition(".")[0] in ("toolz", "cytoolz"):
        parts = [getattr(item, name, None) for name in ("func", "first")]
        return [*parts, *getattr(item, "funcs", ())]
    call = getattr(type(item), "__call__", None)  # noqa: B004  # its code is wanted
    try:
        # Without what a class does for attributes that are not there.
        return [call, object.__getattribute__(item, "__wrapped__")]
    except Exception:  # of a proxy, which may raise what it likes
        return [call]


def _held_by(item: Any) -> Iterator[Any]:
    """The arguments that a partial function holds."""
    if isinstance(item, partial) or type(item).__name__ == "curry":
        for k, value in enumerate(getattr(item, "args", ())):
            yield Fixed(f"argument {k} of {_name(item)}", value)
        words = getattr(item, "keywords", {})
        yield from [Item(name, words, name) for name in words]


def _of_function(f: FunctionType) -> Iterator[Any]:
    """What a Python function takes from around it, functions inside it included."""
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        yield Cell(name, cell)
    for names in _global_names(f.__code__):
        yield from _path(f.__globals__, names)
    if f.__defaults__:
        yield Attribute(f"{_name(f)}.__defaults__", f, "__defaults__")
        count = f.__code__.co_argcount
        names = f.__code__.co_varnames[count - len(f.__defaults__) : count]
        yield from map(Fixed, names, f.__defaults__)
    words: Any = f.__kwdefaults__
    if words:
        yield Attribute(f"{_name(f)}.__kwdefaults__", f, "__kwdefaults__")
        yield from [Item(name, words, name) for name in words]


def _path(home: dict[str, Any], names: Sequence[str]) -> Iterator[Item]:
    """A global; of a module of the user's, what is taken from it instead."""
    for k, name in enumerate(names):
        value = home.get(name, ABSENT)
        if not isinstance(value, ModuleType):  # else it is not bound anew
            yield Item(".".join(names[: k + 1]), home, name)
            return
        if _installed(value):
            return
        home = vars(value)


# -- whose they are ------------------------------------------------------------------------------
def is_ours(f: Any) -> bool:
    """Whether a function is the package's own, such as what `grad` makes; its name may be the user's."""
    home = getattr(f, "__globals__", {}).get("__name__", "")
    made = getattr(getattr(f, "__code__", None), "co_filename", "")
    return (isinstance(home, str) and home.startswith("funcgrad.")) or made == "<funcgrad jit>"


def _installed(item: FunctionType | ModuleType) -> bool:
    """Whether a function or a module comes with an installed package, or with Python."""
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


def _name(f: Any) -> str:
    return str(getattr(f, "__name__", None) or getattr(_inside(f)[0], "__name__", "f"))


@lru_cache(maxsize=1024)
def _global_names(code: CodeType) -> tuple[tuple[str, ...], ...]:
    """The globals that code, and the code of functions inside it, names; each with attributes of it."""
    found: dict[tuple[str, ...], None] = {}
    waiting = [code]
    while waiting:
        item = waiting.pop()
        waiting.extend([c for c in item.co_consts if isinstance(c, CodeType)])
        path: tuple[str, ...] = ()
        for step in dis.get_instructions(item):
            if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and path:
                path = (*path, step.argval)
                continue
            if path:
                found[path] = None
            path = (step.argval,) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") else ()
    return tuple(found)
