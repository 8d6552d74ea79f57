"""The arrays that a function meets while it is traced: kept as they were when it met them.

A buffer that is filled anew and used again must count with what it held each time. So a small array is
copied, which costs less than the node made of it; a large one is used by reference, and is read-only
until the outermost trace has ended, so that NumPy refuses a write to it, by any thread. Memory that is
not NumPy's own, such as a memory map's, is not watched, nor are views of what another trace has locked.

An interrupt (Ctrl-C) may strike anywhere, also while arrays are unlocked. So each is recorded before it
is locked, unlocking can be begun again at any point, and what is left over all the same is unlocked when
the traceback of the interrupted trace goes, or else as the next trace begins.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar
from itertools import repeat
from operator import methodcaller
from threading import get_ident
from typing import Any, TypeAlias
from weakref import ref

import numpy as np

from funcgrad.expr import Expr, constant_of
from funcgrad.graph import Constant
from funcgrad.source import fail

COPIED = 1 << 16
"""Bytes up to which an array is copied. (3 us for so many, where the smallest node takes 1 us.)"""

Array: TypeAlias = np.ndarray[Any, Any]


class Held(dict[int, tuple[Array, Expr]]):
    """The arrays that one outermost trace has met, by id, with their constants.

    Only the function that runs the trace refers to it. So it goes as that function ends; or, where that
    was interrupted, with the traceback.
    """

    __slots__ = ("__weakref__", "locked")

    locked: deque[Array]
    """Those that it has made read-only, each after what it is a view of."""


_running: ContextVar[ref[Held] | None] = ContextVar(
    "the arrays of the trace that runs", default=None
)

_left: dict[int, tuple[ref[Held], deque[Array], int]] = {}
"""What traces have locked, until all of it is unlocked, with their threads: by the id of the queue."""


def hold() -> Held | None:
    """Begin to watch arrays, until the caller ends; None where a trace around this one does so."""
    if _current() is not None and _runs():
        return None
    if _left and not _runs():
        _settle(thread=get_ident())
    held = Held()
    held.locked = deque()
    try:
        _running.set(ref(held))
    except BaseException:  # an interrupt
        _running.set(None)
        raise
    return held


def release(held: Held | None) -> None:
    """Stop watching: the arrays may be written to again."""
    if held is None:
        return
    try:
        if held.locked:
            _settle(held)
    finally:
        _running.set(None)
        if held.locked:  # there was an interrupt
            _settle(held)


def _settle(ended: Held | None = None, thread: int | None = None) -> None:
    """Unlock the arrays of traces that have ended: of this one, of those gone, of all in a thread."""
    for key, (holder, locked, where) in list(_left.items()):
        held = holder()
        if held is None or held is ended or where == thread:
            _unlock(locked)
            _left.pop(key, None)


def _unlock(locked: deque[Array]) -> None:
    """Let arrays be written to again, and forget them."""
    while locked:
        each: Iterator[Array] = map(deque.popleft, repeat(locked, len(locked)))
        try:
            # One step, in which no interrupt can come between an array and the record of it.
            deque(map(_writeable, each), maxlen=0)
        except ValueError:  # what it is a view of has been locked by someone else
            continue


_writeable = methodcaller("setflags", write=True)


def _gone(_: object) -> None:
    """What is done as a trace that was cut short goes, with its traceback."""
    _settle()


def _current() -> Held | None:
    """The trace that runs; or, where a traceback is kept, as in a console, one that was cut short."""
    holder = _running.get()
    return None if holder is None else holder()


def _runs() -> bool:
    """Whether a trace goes on in this thread, around the one that is to begin."""
    frame = sys._getframe(2).f_back  # around the function that calls `hold`
    while frame is not None:
        if "hold" in frame.f_code.co_names and frame.f_globals.get("hold") is hold:
            return True
        frame = frame.f_back
    return False


def refused(held: Held | None, error: ValueError) -> Any:
    """What to raise for an error inside a trace: a hint, where it was a write to an array that is held."""
    if held is None or not held.locked or "read-only" not in str(error):
        return None
    return fail(
        ValueError,
        f"{error}: expected large arrays that stay as they are while a function that uses them is "
        "differentiated, but one was written to; write to a copy of it, a.copy(), instead",
    )


def capture(array: Array) -> Expr:
    """A constant for an array beside traced expressions: the same one as long as it does not change."""
    if array.dtype.kind not in "biufc":
        raise fail(TypeError, f"constant: expected numbers, but got an array of {array.dtype}")
    small = array.nbytes <= COPIED
    held = _current()
    if held is None:
        return refer(array if _never_changes(array) else _copied(array))
    met = held.get(id(array))
    if met is not None:
        constant = met[1]
        kept = constant.params[0][1].array
        if kept is array or kept.tobytes() == array.tobytes():
            return constant
    elif not small:
        _lock(array, held)
    constant = refer(_copied(array) if small else array)
    held[id(array)] = (array, constant)
    return constant


def refer(array: Array) -> Expr:
    """A constant that is the array itself, addressed by identity."""
    return constant_of(Constant(array, captured=True))


def _copied(array: Array) -> Array:
    copy = array.copy("K")
    copy.setflags(write=False)
    return copy


def _never_changes(array: Array) -> bool:
    return bool(array.flags.owndata and not array.flags.writeable)


def _lock(array: Array, held: Held) -> None:
    """Make an array read-only, and what it is a view of."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not owner.flags.owndata:  # NumPy could not unlock it again
        return
    locked = held.locked
    if not owner.flags.writeable and id(owner) not in map(id, locked):
        return  # by someone else: a view could be unlocked only after it
    _left[id(locked)] = ref(held, _gone), locked, get_ident()
    for part in (owner, array):
        if part.flags.writeable:
            locked.append(part)  # first, as an interrupt may come between
            part.flags.writeable = False
