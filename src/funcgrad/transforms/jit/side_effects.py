"""Warnings of side effects of a traced function on captured containers, iterators, files and other objects.

They happen at the trace, and later calls do not repeat them: a function stores traced values, takes items
out, or reads an iterator, a file or the state of an object in C. (A function that changes a captured
attribute is traced at each call.) No warning is given of other changes: a function may keep a list of its
calls.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from io import IOBase

from funcgrad.expr import Expr
from funcgrad.source import warn
from funcgrad.transforms.jit.capture_sources import Answer, Contents, Snapshot
from funcgrad.transforms.jit.capture_states import Unwatched, file_position


def warn_of_side_effects(who: str, before: Sequence[Snapshot]) -> None:
    """Warn of what a trace did to captured objects, and later calls do not repeat."""
    for happened, effect, later in _EFFECTS:
        names: dict[int, str] = {}  # by the object, which may be reached by several
        for item in filter(happened, before):
            known = item.place.holder if isinstance(item.place, Answer | Contents) else item.value
            names.setdefault(id(known), item.place.name)
        if names:
            all_names = ", ".join(dict.fromkeys(names.values()))
            warn(f"jit: {who} {effect} {all_names} while it is traced, and later calls {later}")


def _is_stored_to(item: Snapshot) -> bool:
    if not isinstance(item.place, Contents):
        return False
    known = set(map(id, item.value))
    new = [value for value in item.place.get() if isinstance(value, Expr) and value.traced]
    return any([id(value) not in known for value in new])


def _has_fewer_items(item: Snapshot) -> bool:
    return isinstance(item.place, Contents) and len(item.place.get()) < len(item.value)


def _is_iterator(item: Snapshot) -> bool:
    if isinstance(item.value, IOBase) or type(item.value) in weakref.ProxyTypes:
        return False
    return isinstance(item.value, Iterator)


def _is_read_file(item: Snapshot) -> bool:
    place = item.place
    asks = isinstance(place, Answer) and place.ask is file_position
    return asks and place.get() != item.value


def _is_unwatched(item: Snapshot) -> bool:
    return isinstance(item.place, Unwatched)


_REPEATED = "repeat what it got; take the items outside, and hand them to it as arguments"
_READ_ONCE = "repeat what it got; read it outside, and hand what it gives to it as an argument"
_EFFECTS = (
    (_is_stored_to, "stores a traced value into", "store nothing; return the value"),
    (_has_fewer_items, "takes items out of", _REPEATED),
    (_is_iterator, "reads the iterator", _REPEATED),
    (_is_read_file, "reads the file", _READ_ONCE),
    (_is_unwatched, "reads the state of", _READ_ONCE),
)
"""Whether a captured object shows a side effect, the effect, and what later calls do in its place."""
