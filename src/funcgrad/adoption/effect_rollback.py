"""Rollback of the effects of a refused run, before the function runs again, adopted.

What the function reaches is noted before its first run: the items of containers, the attributes of instances
and functions and of the user's classes and modules, the contents of arrays, closure cells, globals, and the
states of generators of random numbers. What a refused run has changed of these is put back, so that a counter
counts once. What an iterator or a file has given is not given again, and what transforms keep, such as
compiled programs, stays.
"""

from __future__ import annotations

import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from itertools import chain
from operator import is_
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, TypeAlias
from weakref import ProxyTypes, ref

import numpy as np

from funcgrad.source import (
    OURS,
    code_names,
    global_names,
    is_installed,
    is_installed_class,
    is_of_package,
)
from funcgrad.trace.known_code import LONGEST_OF_NUMBERS, PLAIN_DATA, held_by, note_run
from funcgrad.trace.outer_arrays import (
    COMPARED,
    instance_dict,
    is_generator,
    referent_of,
)

Undo: TypeAlias = Callable[[], object]

_MOST_OBJECTS, _MOST_ITEMS = 1000, 1000
"""The number of objects that are noted, and the length beyond which a container is not."""
_ABSENT = object()
_NO_STATE = PLAIN_DATA - {np.ndarray, list, tuple, dict, set}


class _Undos(list[Undo]):
    """The steps that put back what has been noted."""

    room = 16 * COMPARED
    """Bytes of arrays that may still be copied."""


class Rollback:
    """What a function and its arguments reach, as it is before a run."""

    def __init__(self, f: Any, args: Iterable[Any], code: CodeType) -> None:
        self._code = code
        self._undos = _Undos()
        waiting, met = deque([f, *args, *_global_generators()]), dict[int, Any]()
        while waiting and len(met) < _MOST_OBJECTS:
            item = waiting.popleft()
            if type(item) not in _NO_STATE and id(item) not in met:
                met[id(item)] = item
                waiting.extend(_noted(item, self._undos))

    def undo(self) -> None:
        """Put back what the run has changed."""
        for step in self._undos:
            with suppress(AttributeError, TypeError, ValueError):  # of what can be set no more
                step()

    def keep(self) -> None:
        """Leave the effects of the run, which was not refused, and note the next ones no more."""
        note_run(self._code)


def _noted(item: Any, undos: _Undos) -> Iterable[Any]:
    """Note the state of an object; what it leads to."""
    kind = type(item)
    if kind is FunctionType:
        return _noted_function(item, undos)
    if kind in _BOUND:
        return (item.__self__, getattr(item, "__func__", None))
    if issubclass(kind, partial):
        return (item.func, *item.args, *item.keywords.values())
    if issubclass(kind, ref):
        return (ref.__call__(item),)
    if kind in ProxyTypes:
        return (referent_of(item),)
    if issubclass(kind, ModuleType):
        return ()
    if issubclass(kind, type):
        return () if is_installed_class(item) else _noted_class(item, undos)
    if issubclass(kind, np.ndarray):
        return [*_noted_array(item, undos), *_noted_attributes(item, undos)]
    if kind.__module__.partition(".")[0] == "funcgrad":
        return _functions_among(_noted_attributes(item, _Undos()))
    if is_generator(item):
        with suppress(Exception):  # of one without a state, as the system's
            undos.append(_undo_draws(item))
    return [*_noted_items(item, undos), *_noted_attributes(item, undos)]


_BOUND = (MethodType, BuiltinMethodType, MethodWrapperType)


def _noted_function(f: FunctionType, undos: _Undos) -> list[Any]:
    code = f.__code__
    if OURS[code.co_filename]:
        return _functions_among(held_by(f))
    if is_of_package(code):
        return held_by(f)
    undos.append(partial(_restore_attributes, f.__dict__, dict(f.__dict__)))
    for cell in f.__closure__ or ():
        try:
            undos.append(partial(setattr, cell, "cell_contents", cell.cell_contents))
        except ValueError:  # empty as yet
            undos.append(partial(delattr, cell, "cell_contents"))
    found = held_by(f)
    for name in global_names(code):
        value = f.__globals__.get(name, _ABSENT)
        undos.append(partial(_put, f.__globals__, name, value))
        found.append(value)
    names = code_names(code)
    imported = [sys.modules.get(name) for name in names]  # as in the function
    modules = [value for value in (*found, *imported) if type(value) is ModuleType]
    spaces = [vars(module) for module in modules if not is_installed(module)]
    named = [(space, name, space[name]) for space in spaces for name in names if name in space]
    undos += [partial(_put, *place) for place in named]
    return [*found, *[value for _, _, value in named]]


def _functions_among(values: Iterable[Any]) -> list[Any]:
    """The functions of the user's that a transform holds, beside what it keeps for itself."""
    return [item for item in values if callable(item) and not issubclass(type(item), type)]


def _global_generators() -> list[Any]:
    """The generators that the functions of `numpy.random` and `random` draw from."""
    of_numpy: Any = sys.modules.get("numpy.random")
    pythons: Any = sys.modules.get("random")
    found = [] if of_numpy is None else [of_numpy.mtrand._rand]
    return found if pythons is None else [*found, pythons._inst]


def _noted_class(kind: type, undos: _Undos) -> list[Any]:
    held = {name: value for name, value in vars(kind).items() if name[:2] != "__"}

    def undo() -> None:
        for name in [name for name in vars(kind) if name[:2] != "__" and name not in held]:
            type.__delattr__(kind, name)
        for name, value in held.items():
            if vars(kind).get(name) is not value:
                type.__setattr__(kind, name, value)

    undos.append(undo)
    members = [part for member in vars(kind).values() for part in _functions_in(member)]
    return [*members, *[base for base in kind.__bases__ if base is not object]]


def _functions_in(member: Any) -> tuple[Any, ...]:
    """The functions of a member of a class; any other member as it is."""
    if isinstance(member, staticmethod | classmethod):
        return (member.__func__,)
    if isinstance(member, property):
        return (member.fget, member.fset, member.fdel)
    return (member.func if isinstance(member, cached_property) else member,)


def _noted_array(array: Any, undos: _Undos) -> Iterable[Any]:
    plain = np.ndarray.view(array, np.ndarray)  # past a mask, and methods of its own
    if plain.nbytes > min(COMPARED, undos.room):
        return ()
    undos.room -= plain.nbytes
    before = plain.copy()

    def undo() -> None:
        if plain.tobytes() != before.tobytes():
            plain[...] = before

    undos.append(undo)
    return list(plain.flat) if plain.dtype.hasobject else ()


def _noted_items(item: Any, undos: _Undos) -> Iterable[Any]:
    kind = type(item)  # the ``__class__`` of a proxy may raise any error
    if issubclass(kind, tuple | frozenset):
        return tuple.__iter__(item) if issubclass(kind, tuple) else frozenset.__iter__(item)
    base: Any = next((base for base in _ADD if issubclass(kind, base)), None)
    if base is None or base.__len__(item) > _MOST_ITEMS:
        return ()
    # Past methods of subclasses, which may count, convert or refuse what they are given.
    is_table = issubclass(base, dict)
    add = _ADD[base]

    def entries() -> list[tuple[Any, ...]]:
        return [*base.items(item)] if is_table else [(part,) for part in base.__iter__(item)]

    def undo() -> None:
        if not _same(entries(), before):
            base.clear(item)
            for entry in before:
                add(item, *entry)

    before = entries()
    undos.append(undo)
    held = [entry[-1] for entry in before]
    is_of_numbers = _NO_STATE.issuperset(map(type, held[:LONGEST_OF_NUMBERS]))
    return () if is_of_numbers else held[:_MOST_OBJECTS]


def _same(now: list[tuple[Any, ...]], before: list[tuple[Any, ...]]) -> bool:
    """Whether two lists of entries hold the same objects."""
    return len(now) == len(before) and all(map(is_, chain(*now), chain(*before)))


_ADD: Mapping[type, Callable[..., Any]] = {
    OrderedDict: OrderedDict.__setitem__,
    dict: dict.__setitem__,
    list: list.append,
    set: set.add,
    deque: deque.append,
    bytearray: bytearray.append,
}
"""How containers take entries; a class stands before its base."""


def _noted_attributes(item: Any, undos: _Undos) -> Iterable[Any]:
    kind = type(item)
    space = instance_dict(item)
    if space is not None:
        undos.append(partial(_restore_attributes, space, dict(space)))
    slots = [
        (slot, _in_slot(slot, item))
        for base in kind.__mro__
        for slot in vars(base).values()
        if type(slot) is MemberDescriptorType
    ]
    if not is_installed_class(kind):
        undos += [partial(_put_into_slot, slot, item, value) for slot, value in slots]
    return [kind, *(space or {}).values(), *[value for _, value in slots]]


def _in_slot(slot: Any, item: Any) -> Any:
    try:
        return slot.__get__(item)
    except Exception:  # of an empty one; a proxy may raise any error
        return _ABSENT


def _put_into_slot(slot: Any, item: Any, value: Any) -> None:
    if _in_slot(slot, item) is value:
        return
    if value is _ABSENT:
        slot.__delete__(item)
    else:
        slot.__set__(item, value)


def _restore_attributes(space: dict[str, Any], before: dict[str, Any]) -> None:
    for name in [name for name in space if name not in before]:
        del space[name]
    for name, value in before.items():
        _put(space, name, value)


def _put(space: dict[str, Any], name: str, value: Any) -> None:
    if value is _ABSENT:
        space.pop(name, None)
    elif space.get(name, _ABSENT) is not value:
        space[name] = value


def _undo_draws(generator: Any) -> Undo:
    if hasattr(generator, "setstate"):  # of Python's `random`
        return partial(generator.setstate, generator.getstate())
    own = getattr(generator, "bit_generator", generator)
    if hasattr(generator, "set_state"):  # of `numpy.random.RandomState`
        return partial(generator.set_state, generator.get_state(legacy=False))
    return partial(setattr, own, "state", own.state)
