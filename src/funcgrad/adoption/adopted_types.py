"""The metaclass of adopted classes, and what it knows of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from funcgrad.adoption.adopted_functions import Redirect
from funcgrad.adoption.view_originals import original_of_view
from funcgrad.arrays.reference import MARK

ORIGINAL = "__funcgrad_original__"


def original_class(kind: Any) -> Any:
    """The class that an adopted class stands for; any other as it is."""
    return _SPACE.__get__(kind).get(ORIGINAL, kind) if isinstance(kind, type) else kind


_SPACE, _ORDER, _BASES, _BASE = (
    vars(type)[name] for name in ("__dict__", "__mro__", "__bases__", "__base__")
)


def names_of_attributes(instance: object) -> list[str]:
    """``__dir__`` of the instances of adopted classes."""
    return sorted({*getattr(instance, "__dict__", ()), *dir(type(instance))})


def attributes_of_class(kind: type) -> Mapping[str, Any]:
    """What ``vars`` gives for a class: for an adopted one the attributes of its original, adopted."""
    own = vars(kind)
    if ORIGINAL not in own:
        return own
    found = {name: own.get(name, item) for name, item in vars(own[ORIGINAL]).items()}
    return MappingProxyType(found)


REDIRECT = "__funcgrad_redirect__"
"""The attribute of adopted classes that holds what redirects, for the subclasses of the original."""

COMPLETE = "__funcgrad_complete__"
"""The attribute of adopted classes whose statement has run: later stores are the code's."""


def own_subclasses(kind: type) -> list[type]:
    """The subclasses of a class that are no adopted classes or classes of views, which `type` lists, too."""
    below: list[type] = type.__subclasses__(kind)
    return [found for found in below if ORIGINAL not in vars(found)]


def as_base(base: type, redirect: Redirect) -> Any:
    """The adopted base of a class; itself if a function stands for it, as for `scipy.sparse.csr_array`."""
    found = redirect(base)
    return found if isinstance(found, type) else base


_Class = TypeVar("_Class", bound=type)


def with_slots_of(kind: type, made: _Class) -> _Class:
    """A class made over another, whose ``__slots__`` are the names that code finds in the other."""
    if "__slots__" in vars(kind):
        type.__setattr__(made, "__slots__", vars(kind)["__slots__"])
    else:
        type.__delattr__(made, "__slots__")
    return made


_UNLISTED = "__funcgrad_unlisted__"


def unlisted(kind: _Class) -> _Class:
    """A base that adopted classes have and their originals do not; code that walks bases does not find it."""
    type.__setattr__(kind, _UNLISTED, True)
    type.__delattr__(kind, "__slots__")
    return kind


class AdoptedType(type):
    """The metaclass of adopted classes: each is equal to its original, as a key of dicts and sets, too.

    Its bases and their order are those of the original, with the adopted class of each.
    """

    @property  # type: ignore[misc]
    def __dict__(cls) -> Any:  # type: ignore[override]
        """For adopted code the attributes of the original, adopted; for other code its own."""
        is_asked = MARK in sys._getframe(1).f_globals
        return attributes_of_class(cls) if is_asked else _SPACE.__get__(cls)

    @property
    def __mro__(cls) -> tuple[type, ...]:
        order: tuple[type, ...] = _ORDER.__get__(cls)
        return tuple(_listed(order)) if _is_made(cls) else order

    def mro(cls) -> list[type]:
        """For adopted code the same; for Python, which asks when bases change, the order of the class."""
        is_asked = MARK in sys._getframe(1).f_globals
        return list(cls.__mro__) if is_asked and _is_made(cls) else type.mro(cls)

    @property
    def __bases__(cls) -> tuple[type, ...]:
        own: tuple[type, ...] = _BASES.__get__(cls)
        original = original_class(cls)
        if original is cls or not _is_made(cls):
            return own
        adopted = {original_class(base): base for base in own if base is not original}
        return tuple([adopted.get(base, base) for base in original.__bases__])

    @__bases__.setter
    def __bases__(cls, bases: tuple[type, ...]) -> None:
        _BASES.__set__(cls, bases)

    @property
    def __base__(cls) -> type | None:
        own: type | None = _BASE.__get__(cls)
        original = original_class(cls)
        if original is cls:
            return own
        return next((base for base in cls.__bases__ if base == original.__base__), None)

    def __dir__(cls) -> list[str]:
        """The names of the original, and those of a class that adopted code derives from it."""
        return sorted({name for base in cls.__mro__ for name in attributes_of_class(base)})

    def __setattr__(cls, name: str, value: object) -> None:
        """A store into an adopted class reaches the original."""
        original = original_class(cls)
        if COMPLETE not in vars(cls) or (name[:2] == "__" and name[-2:] == "__"):
            type.__setattr__(cls, name, value)
            return
        setattr(original, name, original_of_view(value))
        if name in vars(cls):
            type.__setattr__(cls, name, value)

    def __delattr__(cls, name: str) -> None:
        """A deletion reaches the original, too."""
        if COMPLETE in vars(cls):
            delattr(original_class(cls), name)
        if name in vars(cls) or COMPLETE not in vars(cls):
            type.__delattr__(cls, name)

    def __subclasses__(cls) -> list[type]:
        """The adopted classes of the subclasses of the original."""
        local, original = own_subclasses(cls), original_class(cls)
        if original is cls or not hasattr(cls, REDIRECT):
            return local
        redirect = getattr(cls, REDIRECT)
        return [as_base(kind, redirect) for kind in own_subclasses(original)] + local

    def __eq__(cls, other: object) -> bool:
        return original_class(cls) is original_class(other)

    def __hash__(cls) -> int:
        return type.__hash__(original_class(cls))


setattr(AdoptedType, ORIGINAL, type)


def _is_made(kind: type) -> bool:
    """Whether a class, of the code's own or adopted, has its bases and methods."""
    return ORIGINAL not in vars(kind) or COMPLETE in vars(kind)


def _listed(order: tuple[type, ...]) -> list[type]:
    """An order of bases without the originals of those that are adopted, and bases that adoption adds."""
    originals = {id(vars(base)[ORIGINAL]) for base in order if ORIGINAL in vars(base)}
    return [base for base in order if id(base) not in originals and _UNLISTED not in vars(base)]


@cache
def joint_metaclass(metas: tuple[Any, ...]) -> Any:
    """A metaclass that derives from those of the bases, as the metaclass of a class must."""
    own = [
        meta for meta in metas if not any([m is not meta and issubclass(m, meta) for m in metas])
    ]
    return own[0] if len(own) == 1 else type("JointType", tuple(own), {})
