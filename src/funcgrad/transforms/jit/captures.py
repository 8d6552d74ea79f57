"""The captured variables of a compiled function, and the check of whether they have changed."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from funcgrad.expr import Expr
from funcgrad.transforms.jit.capture_comparison import PlaceComparison, checked, checker
from funcgrad.transforms.jit.capture_search import places_of
from funcgrad.transforms.jit.capture_sources import (
    Answer,
    Contents,
    Fixed,
    Snapshot,
    cache_size,
    key_of,
    seen,
)
from funcgrad.transforms.jit.capture_states import buffer_state, file_position, is_appended_to

MOST_CONDITIONS = 500
"""The most captured variables that generated code compares: code for more takes long to compile."""


class CapturedVariables:
    """The captured variables of a function and of the functions that it calls.

    ``beside`` are static arguments, which hold values of their own.
    """

    def __init__(self, f: Callable[..., Any], beside: Sequence[object] = ()) -> None:
        self.f = f
        self.beside = beside
        self.names: frozenset[str] = frozenset()
        """The names in the code that was searched last."""
        self._compared: tuple[Sequence[Snapshot], PlaceComparison] | None = None

    def values(self, before: Sequence[Snapshot] = ()) -> list[Snapshot]:
        """What is held now; of arrays of which ``before`` has the content, the content as well."""
        whole = {key_of(item.place) for item in before if item.content is not None}
        places, self.names = places_of(self.f, self.beside)
        return [seen(place, key_of(place) in whole) for place in places]

    def traced(
        self, held: Sequence[Snapshot], read: Collection[int], before: Sequence[Snapshot] = ()
    ) -> list[Snapshot]:
        """What to watch after a trace, of what was held before it, with the contents of large arrays.

        A program reads the arrays with ids in ``read`` at each call; of others f itself has taken something,
        or nothing. The contents that ``before`` has are kept. A container that f has changed itself, such as
        a list of calls, is not watched; but a dict is, such as one that computes missing items, as f left it.
        """
        known = {key_of(item.place): item.content for item in before}
        left = [_as_left(item) for item in held]
        if any([now is not None and now is not item for now, item in zip(left, held, strict=True)]):
            left += self._new(held)  # such as what f keeps in a dict
        return [
            item
            if item.form is None or item.content is not None
            else item._replace(content=known.get(key_of(item.place)))
            if id(item.value) in read
            else seen(item.place, True)
            for item in left
            if item is not None
        ]

    def _new(self, held: Sequence[Snapshot]) -> list[Snapshot]:
        """The captures that f has now, and had not before its trace."""
        known = {key_of(item.place) for item in held}
        return [
            seen(place) for place in places_of(self.f, self.beside)[0] if key_of(place) not in known
        ]

    def unchanged(self, before: Sequence[Snapshot]) -> bool:
        """Whether everything is what it was."""
        if self._compared is None or self._compared[0] is not before:
            self._compared = before, PlaceComparison(before)
        return self._compared[1]()

    def changed(self, before: Sequence[Snapshot], now: Sequence[Snapshot]) -> list[str]:
        """The names of what is not, with what has happened to them."""
        later = {key_of(item.place): item for item in now}
        events = [
            item.event(later.get(key_of(item.place)) or seen(item.place, item.content is not None))
            for item in before
        ]
        return list(dict.fromkeys([event for event in events if event]))

    def tests(self, before: Sequence[Snapshot], objects: dict[str, Any]) -> list[str] | None:
        """The same as `unchanged`, as conditions of generated code; what they name joins ``objects``.

        None where a condition is not to be written there, or there are too many.
        """
        if len(before) > MOST_CONDITIONS:
            return None
        texts = []
        many = checked(before)
        if many:
            objects["same0"] = checker(many)
            texts.append("same0()")
        done = {id(item) for item in many}
        for k, item in enumerate(before):
            if id(item) not in done and not isinstance(item.place, Fixed):
                text = item.place.test(k, item.value, objects)
                if text is None:
                    return None
                texts.append(text)
            texts.extend(item.in_place(k, objects))
        return texts


def _as_left(item: Snapshot) -> Snapshot | None:
    """What a place holds after a trace, or None of a container that the trace has changed, if it is no dict.

    A container in which the trace has replaced a number stays as it was before: f counts there, and has to be
    traced at each call.
    """
    place = item.place
    if isinstance(place, Answer):
        if place.ask is buffer_state and is_appended_to(place.holder, item.value):
            return None
        return (
            None if place.ask is file_position else seen(place) if place.ask is cache_size else item
        )
    if not isinstance(place, Contents) or not item.event(now := seen(place)):
        return item
    if _replaces_numbers(item, now):
        return item
    plain = isinstance(place.holder, dict) and Expr not in map(type, now.value)
    return now if plain else None


def _replaces_numbers(before: Snapshot, now: Snapshot) -> bool:
    """Whether another number stands at a place of a container where one stood before."""
    holder = before.place.holder if isinstance(before.place, Contents) else None
    if isinstance(holder, dict):
        if type(holder).__iter__ not in _KEYS:  # as SciPy's, which gives other things than keys
            return False
        old, new = (_items(item.value) for item in (before, now))
        return any([_is_other_number(old[key], new[key]) for key in old.keys() & new.keys()])
    if not isinstance(holder, list | deque) or len(before.value) != len(now.value):
        return False
    return any(map(_is_other_number, before.value, now.value))


def _items(value: Sequence[Any]) -> dict[Any, Any]:
    """The items of a dict from what `Contents.get` gives of it."""
    count = len(value) // 2
    return dict(zip(value[:count], value[count:], strict=True))


def _is_other_number(old: object, new: object) -> bool:
    if old is new or not isinstance(new, _NUMBERS):
        return False
    return type(old) is not type(new) or not np.array_equal(old, new, equal_nan=True)


_KEYS = (dict.__iter__, OrderedDict.__iter__)
_NUMBERS = (bool, int, float, complex, str, np.generic, np.ndarray)


def arrays_of(held: Sequence[Snapshot]) -> dict[int, Any]:
    """The arrays among what is held, by id."""
    return {id(item.value): item.value for item in held if isinstance(item.value, np.ndarray)}
