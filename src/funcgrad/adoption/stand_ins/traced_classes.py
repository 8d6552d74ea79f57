"""Classes that stand for those of pandas and xarray in adopted code: they make objects of traced values."""

from __future__ import annotations

from functools import cache
from typing import Any

from funcgrad.adoption.adopted_classes import metaclass_of
from funcgrad.adoption.adopted_types import ORIGINAL
from funcgrad.adoption.redirect import redirect


@cache
def _metaclass(of_library: type) -> Any:
    """The metaclass of a class that makes instances of its base, which may hold traced values."""
    base: Any = metaclass_of(of_library, redirect)

    class OfTraced(base):  # type: ignore[misc]
        def __call__(self, *args: object, **kwargs: object) -> Any:
            if "_made" not in vars(self):  # an adopted subclass
                return super().__call__(*args, **kwargs)
            return self._made(*args, **kwargs)

        def __instancecheck__(self, value: object) -> bool:
            return type.__instancecheck__(vars(self).get(ORIGINAL, self), value)

        def __subclasscheck__(self, kind: type) -> bool:
            return type.__subclasscheck__(vars(self).get(ORIGINAL, self), kind)

    return OfTraced


def stand_in_for(own: type, made: type) -> Any:
    """A class that is taken for one of a library's, and makes instances of another."""
    space: dict[str, Any] = {"__module__": own.__module__, "__doc__": own.__doc__, "__slots__": ()}
    space |= {ORIGINAL: own, "_made": made}
    return _metaclass(type(own))(own.__name__, (made,), space)
