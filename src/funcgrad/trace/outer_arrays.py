"""Arrays that a function reaches and did not make: in its closure, its defaults and its globals.

A body of a loop or a branch is traced once, and runs any number of times. A store into an array from outside
would happen at the trace, not at each iteration; so it is refused.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.arrays.reference import plain_value
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT
from funcgrad.source import OURS, USERS, global_names, type_error
from funcgrad.transformed import Transformed

COMPARED = 1 << 20
"""Bytes up to which an array is compared. (A copy of 1 MiB takes about 0.1 ms.)"""


class OuterArrays:
    """The arrays that a function reaches, with the numbers that they hold before it is traced."""

    def __init__(self, f: Callable[..., Any]) -> None:
        self.reached = list(reached(f))
        self._held: list[tuple[str, Any, bytes | Expr]] = []
        size = 0
        for name, item in self.reached:
            if isinstance(item, np.ndarray | MutableArray):
                size += item.nbytes
                if item.nbytes <= COMPARED and size <= 16 * COMPARED:
                    self._held.append((name, item, _content(item)))

    def check(self, who: str, why: str = "") -> None:
        """Raises TypeError if the numbers of an array have changed, and restores them.

        A refused function may run once more, adopted: there the store would be no change.
        """
        why = why or (
            "it is traced once, for all of its runs, so that the store would happen once; return the value: "
            "as part of the carry, or as an output"
        )
        for name, array, before in self._held:
            if _identity(_content(array)) != _identity(before):
                if isinstance(before, Expr):
                    array[...] = before
                elif array.dtype.kind != "O":
                    array[...] = np.frombuffer(before, array.dtype).reshape(array.shape)
                raise type_error(
                    f"{who}: expected a function without effects, but it stores into {name!r}, an array "
                    f"from outside of it; {why}",
                )


def _content(array: object) -> bytes | Expr:
    value = plain_value(array)
    if isinstance(value, Expr) and value.op is not CONSTANT:
        return value
    # An array that a traced index reads comes to hold its numbers as a constant: it is no store.
    known = value.params[0][1].array if isinstance(value, Expr) else value
    return np.asarray(known).tobytes()


def _identity(content: bytes | Expr) -> bytes:
    return bytes(content.key) if isinstance(content, Expr) else content


def reached(f: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """What f reaches by names: in its closure, defaults and globals, in the functions, containers and
    instances there, and in the instance of a method; each with its name."""
    waiting: deque[tuple[str, Any]] = deque([("f", f)])
    met: set[int] = set()
    kept: list[Any] = []  # so that ids stay their own
    while waiting and len(met) < _MOST:
        name, item = waiting.popleft()
        if id(item) in met or type(item) in _WITHOUT_ARRAYS:
            continue
        met.add(id(item))
        kept.append(item)
        yield name, item
        if isinstance(item, np.ndarray | MutableArray | Expr):
            continue
        if isinstance(item, FunctionType):
            inner = getattr(item, "__wrapped__", None)
            is_transform = inner is not None and OURS[item.__code__.co_filename]
            waiting.extend([(name, inner)] if is_transform else _named_values(item))
        elif isinstance(item, MethodType):
            waiting.extend([(name, item.__func__), ("self", item.__self__)])
        elif isinstance(item, partial):
            held = [*item.args, *item.keywords.values()]
            waiting.extend([(name, item.func), *[(name, value) for value in held]])
        else:
            waiting.extend(_parts(name, item))


def held_expressions(value: object) -> list[Expr]:
    """The expressions that a function, or a class that a function has made, reaches.

    >>> from funcgrad import var
    >>> x = var("x")
    >>> held_expressions(lambda y, z=x: y * z), held_expressions(np.sin)
    ([x], [])
    """
    is_local = isinstance(value, type) and "<locals>" in value.__qualname__
    parts: list[Any] = [*vars(value).values()] if is_local else [value]
    items = [plain_value(item) for part in parts for _, item in reached(part)]
    return [item for item in items if isinstance(item, Expr)]


_MOST = 1000
"""Objects beyond which none is looked into."""
_WITHOUT_ARRAYS = frozenset((int, float, complex, bool, str, bytes, type(None), type))


def _parts(name: str, item: Any) -> list[tuple[str, Any]]:
    """The items of a container, and the attributes of an instance."""
    if isinstance(item, dict):
        return [(f"{name}[{key!r}]", value) for key, value in item.items()]
    if isinstance(item, list | tuple):
        return [(f"{name}[{k}]", value) for k, value in enumerate(item[:_MOST])]
    return (
        [(f"{name}.{key}", value) for key, value in vars(item).items()]
        if _is_instance(item)
        else []
    )


def _is_instance(item: object) -> bool:
    """Whether an object is an instance of a class, with attributes of its own."""
    if isinstance(item, FunctionType | ModuleType | Transformed | type):
        return False
    return instance_dict(item) is not None


def instance_dict(instance: object) -> dict[str, Any] | None:
    """The ``__dict__`` of an instance; None if it has none.

    The class's ``__getattr__`` is not asked: that of a proxy may raise any error.
    """
    try:
        space = object.__getattribute__(instance, "__dict__")
    except Exception:  # of a property of that name
        return None
    return space if type(space) is dict else None


def own_attribute(instance: object, name: str) -> Any:
    """An attribute, looked up without the class's ``__getattr__``; None if there is none."""
    try:
        return object.__getattribute__(instance, name)
    except Exception:  # of a proxy, which may raise any error
        return None


def referent_of(proxy: Any) -> Any:
    """The object that a weak proxy stands for; None if it is gone, or a class."""
    try:
        return proxy.__init__.__self__
    except (AttributeError, ReferenceError):
        return None


def _named_values(f: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # empty as yet
            continue
    code, defaults = f.__code__, f.__defaults__ or ()
    yield from zip(code.co_varnames[: code.co_argcount][-len(defaults) :], defaults, strict=False)
    yield from (f.__kwdefaults__ or {}).items()
    for name in sorted(global_names(f.__code__)):
        value = f.__globals__.get(name)
        held = isinstance(value, np.ndarray | MutableArray | Expr | list | dict)
        held = held or _is_instance(value)
        is_helper = isinstance(value, FunctionType) and not USERS[value.__code__.co_filename]
        if held or is_helper or is_generator(generator_of(value)):
            yield name, value


def generator_of(value: Any) -> Any:
    """The generator of a method of one, such as `random.gauss`; anything else as it is."""
    return value.__self__ if type(value) in (MethodType, BuiltinMethodType) else value


def is_generator(value: object) -> bool:
    """Whether a value is a generator of random numbers."""
    kind = type(value)  # the ``__class__`` of a proxy may raise any error
    ours: Any = sys.modules.get("numpy.random")
    pythons: Any = sys.modules.get("random")
    if ours is not None and issubclass(kind, (ours.Generator, ours.RandomState, ours.BitGenerator)):
        return True
    return pythons is not None and issubclass(kind, pythons.Random)
