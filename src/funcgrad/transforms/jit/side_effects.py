"""What a trace does, or sees, that later calls or plain calls do not: a warning says so.

Side effects of a function on captured containers and iterators happen at the trace alone.

It stores traced values, takes items out, or reads an iterator. (A function that changes a captured attribute
is traced at each call.) Other changes are not looked at: a list of calls is no mistake.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from io import IOBase
from types import CodeType, FunctionType
from typing import Any

from funcgrad.expr import Expr
from funcgrad.source import warn
from funcgrad.trace.tree_nodes import own_children
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


def warn_of_copies(
    who: str, f: Callable[..., Any], arguments: object, before: Sequence[Snapshot]
) -> None:
    """Warn of a captured object that is handed in as well, where code compares objects by ``is``.

    The function is given another object, with traced values in it.
    """
    given = {id(item) for item in _containers(arguments)}
    names = [item.place.name for item in before if id(item.value) in given]
    functions = [g for g in (f, *[item.value for item in before]) if isinstance(g, FunctionType)]
    if names and any([_compares_objects(g.__code__) for g in functions]):
        warn(
            f"jit: {who} is given {', '.join(dict.fromkeys(names))} as an argument, and traced on a copy of "
            "it, which it compares by `is`; compare by a field or by `==`"
        )


def _containers(tree: object) -> Iterator[object]:
    """The containers in arguments that are made anew for a trace."""
    parts = own_children(tree)
    if isinstance(tree, list | tuple | dict):
        children: Sequence[Any] = list(tree.values() if isinstance(tree, dict) else tree)
    elif parts is not None:
        children = parts.children
        if parts.put(children) is tree:
            return
    else:
        return
    yield tree
    for child in children:
        yield from _containers(child)


@lru_cache(maxsize=1024)
def _compares_objects(code: CodeType) -> bool:
    """Whether code compares objects, other than None, by ``is``."""
    before = None
    for step in dis.get_instructions(code):
        if step.opname == "IS_OP" and before is not None and before.argval is not None:
            return True
        before = step
    return False


_REPEATED = "repeat what it got; take the items outside, and hand them to it as arguments"
_EFFECTS = (
    (_is_stored_to, "stores a traced value into", "store nothing; return the value"),
    (_has_fewer_items, "takes items out of", _REPEATED),
    (_is_iterator, "reads the iterator", _REPEATED),
)
"""Whether a captured object shows a side effect, the effect, and what later calls do in its place."""
