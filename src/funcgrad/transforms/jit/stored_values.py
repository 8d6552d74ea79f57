"""Traced values that a function stores into a captured container while it is traced.

Later calls store nothing there. (A function that changes a captured attribute is traced at each call.) What
holds no traced value is not looked at: a list of calls, or a count of traces, is no mistake.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def _is_stored_to(item: Snapshot) -> bool:
    if not isinstance(item.place, Contents):
        return False
    known = set(map(id, item.value))
    new = [value for value in item.place.get() if isinstance(value, Expr) and value.traced]
    return any([id(value) not in known for value in new])
