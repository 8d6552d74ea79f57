"""Instances of users' classes, as adopted code sees them: objects of the adopted class with their attributes.

A view shares the ``__dict__`` of its instance. Slots cannot be shared: those of a view are properties, which
read and write the slots of the instance.
"""

from __future__ import annotations

import copy
from abc import ABCMeta
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from types import MemberDescriptorType
from typing import Any

import numpy as np

from funcgrad.adoption.adopted_classes import attribute_values, may_be_adopted, metaclass_of
from funcgrad.adoption.adopted_entries import NEVER_REDIRECTED
from funcgrad.adoption.adopted_functions import Redirect
from funcgrad.adoption.adopted_types import ORIGINAL, original_class, unlisted, with_slots_of
from funcgrad.adoption.containers import (
    DictView,
    ListView,
    SetView,
    leads_elsewhere,
    view_attributes,
)
from funcgrad.adoption.namespaces import is_kept_class
from funcgrad.adoption.standard_containers import DequeView, NamespaceView, ReferenceView, is_holder
from funcgrad.adoption.view_originals import as_original, viewed_instance
from funcgrad.adoption.weak_containers import WeakDictView, WeakSetView
from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.arrays.object_array import ObjectArray
from funcgrad.arrays.subclassed_array import SubclassedArray, numpys_own, with_attributes
from funcgrad.source import HEAP
from funcgrad.trace.outer_arrays import instance_dict


def class_of_views(instance: Any) -> type:
    """A class for a view of an instance that holds arrays or functions, if its own class has nothing to
    adopt; else its own class."""
    kind: type = type(instance)
    home = kind.__module__
    if is_holder(kind) and may_be_adopted(kind):
        return _class_of_plain_views(kind)
    known = is_kept_class(kind) or home.partition(".")[0] in ("funcgrad", "scipy")
    if known or not kind.__flags__ & HEAP or not may_be_adopted(kind):
        return kind
    if not any(map(leads_elsewhere, attribute_values(instance))):
        return kind
    return _class_of_plain_views(kind)


def is_class_of_views(kind: type) -> bool:
    """Whether a class is that of views: of subclasses of dict, or of instances with nothing to adopt."""
    space = vars(kind)
    return ORIGINAL in space and ("__class__" in space or issubclass(kind, _CONTAINER_VIEWS))


@lru_cache(maxsize=256)
def _class_of_plain_views(kind: type) -> type:
    space = {"__slots__": (), ORIGINAL: kind, "__class__": property(lambda self: kind)}
    space |= as_original(kind)
    space |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    made = ABCMeta.__new__ if isinstance(kind, ABCMeta) else type.__new__
    result: type = made(
        metaclass_of(type(kind), lambda value: value), kind.__name__, (kind,), space
    )
    return with_slots_of(kind, result)


def view(instance: Any, kind: type, redirect: Redirect) -> Any:
    """An object of the adopted class that shares the attributes of an instance; itself if it has none.

    The slots of SciPy's interpolants, which are set once, are copied.
    """
    of_scipy = kind.__module__.startswith("scipy.")
    own: type = type(instance)
    try:
        base = next((base for base in _VIEWS_OF if issubclass(own, base)), None)
        if base is not None:
            return _container_view(instance, kind, _VIEWS_OF[base], redirect)
        if not of_scipy and _has_slots(own):
            return _slot_view(instance, kind, redirect)
        constant: Any = next((base for base in UNCHANGING if issubclass(own, base)), None)
        new: Any
        if issubclass(own, property):
            space, new = getattr(instance, "__dict__", {}), property.__new__(kind)
            property.__init__(new, instance.fget, instance.fset, instance.fdel, instance.__doc__)
        elif constant is None:
            space, new = object.__getattribute__(instance, "__dict__"), object.__new__(kind)
        else:
            items = map(redirect, instance) if constant in (tuple, frozenset) else instance
            space, new = getattr(instance, "__dict__", {}), constant.__new__(kind, items)
        if instance_dict(new) is not None:
            object.__setattr__(new, "__dict__", space)
        for base in own.__mro__ if of_scipy else ():
            for name in vars(base).get("__slots__", ()):
                if hasattr(instance, name) and name not in ("__dict__", "__weakref__"):
                    object.__setattr__(new, name, getattr(instance, name))
    except (AttributeError, TypeError):
        return instance
    view_attributes(kind, space, redirect)
    return new


_VIEWS_OF: Mapping[type, Any] = {dict: DictView, list: ListView, set: SetView, deque: DequeView}
UNCHANGING = (str, bytes, int, float, complex, tuple, frozenset)
"""Classes of Python's whose instances never change."""


def _container_view(instance: Any, kind: type, base: Any, redirect: Redirect) -> Any:
    """A view of an instance of a user's subclass of a container, whose items and attributes it shares."""
    if not leads_elsewhere(instance):
        return instance
    new = base.__mro__[1].__new__(_class_of_views(kind, base, id(kind)))
    base.__init__(new, instance, redirect)
    if hasattr(new, "__dict__"):
        object.__setattr__(new, "__dict__", vars(instance))
    return new


@lru_cache(maxsize=256)
def _class_of_views(kind: type, base: type, identity: int) -> type:
    """The class of views of a container, for an adopted class with an id: those of one class are equal."""
    space = {"__slots__": (), ORIGINAL: original_class(kind), "__module__": kind.__module__}
    if base is not DictView:
        space["__class__"] = property(lambda self: kind)
    made: type = type.__new__(type(kind), kind.__name__, (kind, base), space)
    return with_slots_of(kind, made)


@unlisted
class SlotView:
    """The base of the classes of views of instances with slots."""

    __slots__ = ()

    _funcgrad_original: Any
    _funcgrad_kind: type

    def __init_subclass__(cls, **kwargs: object) -> None:
        """No class of the user's: it may forbid subclasses, or register them."""


def _has_slots(kind: type) -> bool:
    # (A memo would keep the class.)
    named = [bool(vars(base).get("__slots__")) for base in kind.__mro__]
    return any(named) and any([type(item) is MemberDescriptorType for _, item in _members(kind)])


def _members(kind: type) -> list[tuple[str, Any]]:
    """The attributes of a class and its bases, those of the class last."""
    return [pair for base in reversed(kind.__mro__) for pair in vars(base).items()]


def _slot_view(instance: Any, kind: type, redirect: Redirect) -> Any:
    """A view of an instance whose slots, and ``__dict__`` if it has one, are those of the instance."""
    original: type = type(instance)
    made = _class_of_slot_views(kind, original, redirect, id(kind))
    new: Any = object.__new__(made)
    made._funcgrad_original.__set__(new, instance)
    space = instance_dict(instance)
    if space is not None:
        object.__setattr__(new, "__dict__", space)
        view_attributes(kind, space, redirect)
    return new


@lru_cache(maxsize=256)
def _class_of_slot_views(kind: type, original: type, redirect: Redirect, identity: int) -> Any:
    """The class of views with slots, for an adopted class with an id: those of one class are equal."""
    space: dict[str, Any] = {
        name: _shared(member, redirect)
        for name, member in _members(original)
        if type(member) is MemberDescriptorType
    }
    if not hasattr(kind, "__copy__"):
        space["__copy__"] = lambda self: redirect(copy.copy(self._funcgrad_original))
    if not hasattr(kind, "__deepcopy__"):
        space["__deepcopy__"] = lambda self, memo: redirect(
            copy.deepcopy(self._funcgrad_original, memo)
        )
    space["__reduce_ex__"] = lambda self, protocol: (copy.copy, (self._funcgrad_original,))
    own = (
        ("_funcgrad_original",)
        if kind.__weakrefoffset__  # (`hasattr` asks the metaclass, too.)
        else ("_funcgrad_original", "__weakref__")
    )
    space |= {
        "_funcgrad_kind": kind,
        "__slots__": own,
        ORIGINAL: original,
        "__class__": property(lambda self: kind),
    }
    space |= {
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
    }
    made = ABCMeta.__new__ if isinstance(kind, ABCMeta) else type.__new__
    result: type = made(type(kind), kind.__name__, (SlotView, kind), space)
    return with_slots_of(kind, result)


def _shared(slot: Any, redirect: Redirect) -> property:
    """A property of views that has the value of a slot of their instances."""

    def stored(view: Any, value: Any) -> None:
        slot.__set__(view._funcgrad_original, value)

    return property(
        lambda view: redirect(slot.__get__(view._funcgrad_original)),
        stored,
        lambda view: slot.__delete__(view._funcgrad_original),
    )


def restored(value: Any) -> Any:
    """A result with the original classes for adopted ones, also in lists, tuples, dicts and sets.

    The attributes of an array of a subclass, such as its unit, are the originals of what adopted code has
    seen. Those of other objects stay: SciPy's distributions, which adopted code has frozen, draw by theirs.
    """
    spaces: dict[int, dict[str, Any]] = {}
    found = _restored(value, spaces)
    done = 0
    while done < len(spaces):
        waiting = list(spaces.values())[done:]
        done = len(spaces)
        for space in waiting:
            for name, item in list(space.items()):
                seen = _restored(item, spaces, is_held=True)
                if seen is not item:
                    space[name] = seen
    return found


def _restored(value: Any, spaces: dict[int, dict[str, Any]], is_held: bool = False) -> Any:
    """A value restored; the attributes of an array of a subclass, and of what it holds, are noted."""
    kind = type(value)
    if kind in NEVER_REDIRECTED or kind is MutableArray:
        return value
    if isinstance(value, SubclassedArray):
        own = numpys_own(value)
        spaces.setdefault(id(value), instance_dict(own) or {})
        return own
    if issubclass(kind, ObjectArray):
        own = viewed_instance(value)
        if own is not None:
            return own
        if ORIGINAL not in vars(kind):
            return np.ndarray.view(value, np.ndarray)
        own = with_attributes(np.ndarray.view(value, original_class(kind)), vars(value))
        spaces.setdefault(id(value), vars(own))
        return own
    if isinstance(value, type):
        return original_class(value)
    is_view = ORIGINAL in getattr(kind, "__dict__", ()) and hasattr(kind, "_funcgrad_original")
    if is_view or (issubclass(kind, _CONTAINER_VIEWS) and kind not in _CONTAINER_VIEWS):
        return value._funcgrad_original
    if ORIGINAL in getattr(kind, "__dict__", ()):
        own = viewed_instance(value) if is_held else None
        if own is not None:
            return own
        kind = original_class(kind)
        with suppress(TypeError):  # of another layout, as under a base that announces subclasses
            _CLASS.__set__(value, kind)  # past a method of its own
        if is_held:
            spaces.setdefault(id(value), instance_dict(value) or {})
    if kind in _FURTHER_VIEWS:
        return value._funcgrad_original
    return _with_restored_items(value, spaces, is_held)


def _with_restored_items(value: Any, spaces: dict[int, dict[str, Any]], is_held: bool) -> Any:
    """A value whose items, if it is a container, are restored: in place where it can change."""
    kind = type(value)
    if kind is set or kind is frozenset:
        found = [_restored(item, spaces, is_held) for item in value]
        changed = any([new is not old for new, old in zip(found, value, strict=True)])
        if changed and kind is frozenset:
            return frozenset(found)
        if changed:
            value.clear()
            value.update(found)
    elif issubclass(kind, list):
        for k, item in enumerate(value):
            seen = _restored(item, spaces, is_held)
            if seen is not item:
                value[k] = seen
    elif issubclass(kind, tuple):
        items = [_restored(item, spaces, is_held) for item in value]
        if kind is tuple and any([new is not old for new, old in zip(items, value, strict=True)]):
            return tuple(items)
    elif issubclass(kind, dict):
        for key, item in value.items():
            seen = _restored(item, spaces, is_held)
            if seen is not item:
                value[key] = seen
    return value


_CONTAINER_VIEWS = (DictView, ListView, SetView, DequeView)
_FURTHER_VIEWS = (SetView, DequeView, NamespaceView, ReferenceView, WeakDictView, WeakSetView)
_CLASS: Any = vars(object)["__class__"]
