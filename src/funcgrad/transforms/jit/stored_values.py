"""Changes of captured containers and iterators by a function that is traced, which later calls do not repeat.

It stores traced values, takes items out, or advances an iterator. (A function that changes a captured
attribute is traced at each call.) Other changes are not looked at: a list of calls, or a count of traces, is
no mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import IOBase

from funcgrad.expr import Expr
from funcgrad.source import warn
from funcgrad.transforms.jit.capture_sources import Contents, Snapshot


def warn_of_stores(who: str, before: Sequence[Snapshot]) -> None:
    """Warn if a container holds a traced value that it did not hold before the trace."""
    names = [item.place.name for item in before if _is_stored_to(item)]
    if names:
        warn(
            f"jit: {who} stores a traced value into {', '.join(names)} while it is traced, and later calls "
            "store nothing; return the value"
        )


def warn_of_taken_items(who: str, before: Sequence[Snapshot]) -> None:
    """Warn if a container holds fewer items than before the trace, or if an iterator is captured."""
    names = [item.place.name for item in before if _is_consumed(item)]
    if names:
        warn(
            f"jit: {who} takes items out of {', '.join(dict.fromkeys(names))} while it is traced, and later "
            "calls repeat their values; take them outside, and hand them to it as arguments"
        )


def _is_consumed(item: Snapshot) -> bool:
    if isinstance(item.place, Contents):
        return len(item.place.get()) < len(item.value)
    return isinstance(item.value, Iterator) and not isinstance(item.value, IOBase)


def _is_stored_to(item: Snapshot) -> bool:
    if not isinstance(item.place, Contents):
        return False
    known = set(map(id, item.value))
    new = [value for value in item.place.get() if isinstance(value, Expr) and value.traced]
    return any([id(value) not in known for value in new])
