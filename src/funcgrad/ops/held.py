"""The arrays that a function meets while it is traced: kept as they were when it met them.

A buffer that is filled anew and used again must count with what it held each time. So a small array is
copied, which costs less than the node made of it; a large one is used by reference, and is read-only
until the outermost trace has ended, so that NumPy refuses a write to it, by any thread. Memory that is
not NumPy's own, such as a memory map's, is not watched.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from funcgrad.expr import Expr, constant_of
from funcgrad.graph import Constant
from funcgrad.source import fail

COPIED = 1 << 16
"""Bytes up to which an array is copied. (3 us for so many, where the smallest node takes 1 us.)"""

Array: TypeAlias = np.ndarray[Any, Any]


Held: TypeAlias = tuple[dict[int, tuple[Array, Expr]], list[Array]]
"""The arrays that one outermost trace has met, by id, with their constants; those it has locked."""

_running: ContextVar[Held | None] = ContextVar("the arrays of the trace that runs", default=None)


def hold() -> Held | None:
    """Begin to watch arrays; None where a trace around this one does so."""
    if _running.get() is not None:
        return None
    held: Held = ({}, [])
    _running.set(held)
    return held


def release(held: Held | None) -> None:
    """Stop watching: the arrays may be written to again."""
    if held is None:
        return
    _running.set(None)
    locked = held[1]
    if locked:
        # A view can be unlocked only after what it is a view of.
        for array in sorted(locked, key=lambda a: not a.flags.owndata):
            array.flags.writeable = True


def refused(held: Held | None, error: ValueError) -> Any:
    """What to raise for an error inside a trace: a hint, where it was a write to an array that is held."""
    if held is None or not held[1] or "read-only" not in str(error):
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
    held = _running.get()
    if held is None:
        return refer(array if _never_changes(array) else _copied(array))
    known, locked = held
    met = known.get(id(array))
    if met is not None:
        constant = met[1]
        kept = constant.params[0][1].array
        if kept is array or kept.tobytes() == array.tobytes():
            return constant
    elif not small:
        _lock(array, locked)
    constant = refer(_copied(array) if small else array)
    known[id(array)] = (array, constant)
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


def _lock(array: Array, locked: list[Array]) -> None:
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if not owner.flags.owndata:  # NumPy could not unlock it again
        return
    for part in (array, owner):
        if part.flags.writeable:
            part.flags.writeable = False
            locked.append(part)
