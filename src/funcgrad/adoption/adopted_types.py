"""The metaclass of adopted classes, and what it knows of them."""

from __future__ import annotations

from functools import cache
from typing import Any

from funcgrad.adoption.adopted_functions import Redirect
from funcgrad.adoption.view_originals import original_of_view

ORIGINAL = "__funcgrad_original__"


def original_class(kind: Any) -> Any:
    """The class that an adopted class stands for; any other as it is."""
    return vars(kind).get(ORIGINAL, kind) if isinstance(kind, type) else kind


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


class AdoptedType(type):
    """The metaclass of adopted classes: each is equal to its original, as a key of dicts and sets, too."""

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


@cache
def joint_metaclass(metas: tuple[Any, ...]) -> Any:
    """A metaclass that derives from those of the bases, as the metaclass of a class must."""
    own = [
        meta for meta in metas if not any([m is not meta and issubclass(m, meta) for m in metas])
    ]
    return own[0] if len(own) == 1 else type("JointType", tuple(own), {})
