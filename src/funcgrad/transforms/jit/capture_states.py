"""The state of captured objects in C, which have no attributes for it: their text, buffer or pickle.

An object without any of these, such as a connection to a database, is read at the trace, and a warning
says so (`side_effects.py`).
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from io import BytesIO, IOBase, StringIO
from sys import intern
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.source import is_installed_class
from funcgrad.transforms.jit.capture_sources import ABSENT, Answer, Fixed, has_namespace, in_class

MOST_BYTES = 65536
"""The size of a state in bytes beyond which it is not compared."""


class Unwatched(Fixed):
    """An object whose state cannot be asked for, and of which code names a method or an attribute."""


def states_of(item: Any, label: str, names: frozenset[str], own: bool) -> Iterator[Any]:
    """The places of the state of an object, if it is in C; ``own`` says whether the user's code reaches it.

    ``names`` are the names in code that may read it.
    """
    kind: Any = type(item)
    module = str(kind.__module__).partition(".")[0]
    logging: Any = sys.modules.get("logging")
    if logging is not None and isinstance(item, logging.Logger):
        if not names.isdisjoint(OF_LOGGERS):  # it does not only log
            yield Answer(label, item, logger_state)
    elif isinstance(item, StringIO | BytesIO):
        yield Answer(label, item, buffer_state)
    elif isinstance(item, IOBase):
        if _is_open_for_reading(item):
            yield Answer(label, item, file_position)
            if own and not names.isdisjoint(_READING):
                yield Unwatched(label, item)
    elif kind.__name__ == "lock" and "locked" in names:
        yield Answer(label, item, type(item).locked)
    elif kind.__name__ == "SystemRandom" and module == "random":
        if not names.isdisjoint(dir(kind)):
            yield Unwatched(label, item)
    elif kind.__name__ in _READERS and module in _HOMES:
        yield Answer(label, item, _READERS[kind.__name__])
    elif module == "numba" and hasattr(getattr(item, "_numba_type_", None), "struct"):
        yield Answer(label, item, compiled_fields)
    elif not has_namespace(item) and _is_opaque(kind, module):
        named = [name for name in dir(kind) if name in names and name[:2] != "__"]
        if not named or (not own and module not in sys.stdlib_module_names):
            return
        state = pickled_state(item)
        if state:
            yield Answer(label, item, pickled_state)
        elif state is None and own and module != "scipy":
            yield Unwatched(label, item)


def _is_opaque(kind: type, module: str) -> bool:
    """Whether a class is written in C and says nothing of its state as attributes, and it may change."""
    if module in _KNOWN or kind.__name__ in _HARMLESS or issubclass(kind, np.generic):
        return False
    if not is_installed_class(kind):
        return False
    if any(in_class(kind, name) is not ABSENT for name in _OF_OTHERS):
        return False
    held = [(name, value) for base in kind.__mro__ for name, value in vars(base).items()]
    return not any(name == "__slots__" or isinstance(value, FunctionType) for name, value in held)


_OF_OTHERS = ("__next__", "__array__", "__dlpack__")
"""Methods of iterators and arrays."""

OF_LOGGERS = ("getEffectiveLevel", "hasHandlers", "isEnabledFor")
"""Methods that tell what a logger does."""

_READING = ("read", "readline", "readlines", "readinto")
"""Methods that read a file."""

_KNOWN = frozenset(
    (
        *("builtins", "_contextvars", "datetime", "decimal", "functools", "funcgrad", "itertools"),
        *("numpy", "operator", "re", "types", "typing", "weakref", "zoneinfo"),
    )
)
"""Modules whose objects in C are immutable, or looked into by themselves."""

_HARMLESS = frozenset(("Struct", "lock", "RLock", "LockType", "_localdummy", "Token"))
"""Names of classes in C whose objects hold nothing that a function computes with."""


def logger_state(logger: Any) -> str:
    """The level of a logger, and its other settings that enable it."""
    level, least = logger.getEffectiveLevel(), logger.manager.disable
    return intern(f"{level} {least} {logger.disabled} {logger.hasHandlers()}")


def levels_of_loggers(logging: Any) -> str:
    """The levels of all loggers."""
    made = [item for item in logging.root.manager.loggerDict.values() if hasattr(item, "level")]
    levels = [(item.level, item.disabled, len(item.handlers)) for item in (logging.root, *made)]
    return intern(f"{logging.root.manager.disable} {levels}")


def buffer_state(buffer: Any) -> str:
    """The position and the content of a file in memory."""
    if buffer.closed:
        return "closed"
    content = buffer.getvalue()
    text = content if isinstance(content, str) else content.decode("latin-1")
    return intern(f"{buffer.tell()}:{text}")


def is_appended_to(buffer: Any, before: str) -> bool:
    """Whether a file in memory that was in that state has only been written to, at its end."""
    now = buffer_state(buffer)
    place, _, content = before.partition(":")
    return (
        now != before and place == str(len(content)) and now.partition(":")[2].startswith(content)
    )


def file_position(file: Any) -> str:
    """Where a file is read next."""
    try:
        return intern(str(file.tell()))
    except (OSError, ValueError):
        return "unknown"


def _is_open_for_reading(file: Any) -> bool:
    try:
        return bool(file.readable() and file.seekable())
    except (AttributeError, ValueError):
        return False


def context_text(context: Any) -> str:
    """The settings of a context of `decimal`."""
    c = context
    return intern(f"{c.prec} {c.rounding} {c.Emin} {c.Emax} {c.capitals} {c.clamp} {c.traps}")


def current_decimal_context(decimal: Any) -> str:
    """The settings of the context that `decimal` computes in."""
    return context_text(decimal.getcontext())


def pickled_state(item: Any) -> str | None:
    """The pickle of an object as text; None if it has none, '' if that is long."""
    try:
        state = pickle.dumps(item)
    except Exception:  # whatever a class in C raises
        return None
    return intern(state.decode("latin-1")) if len(state) <= MOST_BYTES else ""


def compiled_fields(instance: Any) -> str | None:
    """The fields of an instance of a class that numba has compiled, as `pickled_state`."""
    return pickled_state([getattr(instance, name) for name in instance._numba_type_.struct])


def _mapped_bytes(mapped: Any) -> str:
    return intern(mapped[:MOST_BYTES].decode("latin-1"))


def _queue_size(queue: Any) -> str:
    return intern(str(queue.qsize()))


def _semaphore_value(semaphore: Any) -> str:
    return intern(str(semaphore._get_value()))


_READERS = {
    "Context": context_text,
    "SimpleQueue": _queue_size,
    "SemLock": _semaphore_value,
    "mmap": _mapped_bytes,
}
"""How to ask objects of Python's for their state, by the names of their classes."""
_HOMES = ("decimal", "_queue", "_multiprocessing", "mmap")
