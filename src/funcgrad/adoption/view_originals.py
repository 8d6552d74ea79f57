"""The instances and containers that views in adopted code stand for."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Protocol
from weakref import ref

_INSTANCES: dict[int, tuple[ref[Any], ref[Any]]] = {}
"""Views by their ids, each with the instance that it is a view of."""


def note_view(made: Any, instance: Any) -> None:
    """Remember the instance of a view for as long as both are there."""
    key = id(made)
    _INSTANCES[key] = ref(made, lambda _: _INSTANCES.pop(key, None)), ref(instance)


def viewed_instance(made: Any) -> Any:
    """The instance of which an object is a view; None of any other."""
    found = _INSTANCES.get(id(made))
    return None if found is None or found[0]() is not made else found[1]()


def original_of_view(value: Any) -> Any:
    """The original of a view of an instance or a container; anything else as it is."""
    if hasattr(type(value), "_funcgrad_original"):
        return value._funcgrad_original
    found = viewed_instance(value)
    return value if found is None else found


def as_original(kind: type) -> dict[str, Any]:
    """The comparison and the hash of the views of a class's instances, if these are compared by identity.

    A view is the same key as its instance: of the dicts and weak dicts by which descriptors and
    registers keep the values of instances.
    """
    own: tuple[object, object] = (kind.__eq__, kind.__hash__)
    by_identity = own == (object.__eq__, object.__hash__)
    return {"__eq__": _is_same, "__hash__": _hash_of_original} if by_identity else {}


def _is_same(self: object, other: object) -> bool:
    return True if original_of_view(self) is original_of_view(other) else NotImplemented


def _hash_of_original(self: object) -> int:
    return object.__hash__(original_of_view(self))


class ContainerView(Protocol):
    """A view of a container, whose items it redirects."""

    _funcgrad_original: Any
    _funcgrad_redirect: Callable[[Any], Any]


def deep_copy(view: ContainerView, memo: dict[int, Any]) -> Any:
    """A view of a deep copy of the original: what `copy.deepcopy` asks a view for."""
    return view._funcgrad_redirect(deepcopy(view._funcgrad_original, memo))
