"""What a trace does, or sees, that later calls or plain calls do not: a warning says so.

Side effects of a function on captured containers and iterators happen at the trace alone.

It stores traced values, takes items out, or reads an iterator. (A function that changes a captured attribute
is traced at each call.) Other changes are not looked at: a list of calls is no mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import IOBase

from funcgrad.expr import Expr
from funcgrad.source import warn
from funcgrad.transforms.jit.capture_sources import Contents, Snapshot


def warn_of_side_effects(who: str, before: Sequence[Snapshot]) -> None:
    """Warn of what a trace did to captured objects, and later calls do not repeat."""
    for happened, effect, later in _EFFECTS:
        names = dict.fromkeys([item.place.name for item in before if happened(item)])
        if names:
            warn(
                f"jit: {who} {effect} {', '.join(names)} while it is traced, and later calls {later}"
            )


def _is_stored_to(item: Snapshot) -> bool:
    if not isinstance(item.place, Contents):
        return False
    known = set(map(id, item.value))
    new = [value for value in item.place.get() if isinstance(value, Expr) and value.traced]
    return any([id(value) not in known for value in new])


def _has_fewer_items(item: Snapshot) -> bool:
    return isinstance(item.place, Contents) and len(item.place.get()) < len(item.value)


def _is_iterator(item: Snapshot) -> bool:
    return isinstance(item.value, Iterator) and not isinstance(item.value, IOBase)


_REPEATED = "repeat what it got; take the items outside, and hand them to it as arguments"
_EFFECTS = (
    (_is_stored_to, "stores a traced value into", "store nothing; return the value"),
    (_has_fewer_items, "takes items out of", _REPEATED),
    (_is_iterator, "reads the iterator", _REPEATED),
)
"""Whether a captured object shows a side effect, the effect, and what later calls do in its place."""
