"""Captured instances of installed packages' classes, such as a parser, an event or a queue.

A package's code is not searched for the globals that it reads. But its methods read attributes of an
instance, which change: ``event.is_set()`` reads ``_flag``. So the names in the code of the methods that may
run are followed through the class, from those that the user's code names, and those that Python calls by
itself. These names count for the instance, and for what is reached from it, not for the user's objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, partialmethod
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from funcgrad.source import is_installed_class
from funcgrad.transforms.jit.capture_functions import READING_ALL, names_of_code

MOST_NESTED = 4
"""Instances of packages' classes, one held by the other, beyond which none is looked into."""

MOST_PARTS = 1000
"""Values that instances of packages' classes hold, and items of one container there, that are watched."""


class Route(NamedTuple):
    """The way to a value: the names that packages' code reads on it, and the number of their instances."""

    names: frozenset[str] = frozenset()
    depth: int = 0


OWN_ROUTE = Route()
"""That of what the user's code reaches by itself."""

AT_CREATION = frozenset(("__init__", "__new__", "__post_init__"))
"""Methods that a class calls as it makes an instance."""

NEVER_IMPLICIT = AT_CREATION | {
    *("__init_subclass__", "__set_name__", "__del__", "__class_getitem__", "__getnewargs__"),
    *("__repr__", "__str__", "__format__", "__setattr__", "__delattr__", "__dir__"),
    *("__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__replace__"),
    *("__instancecheck__", "__subclasscheck__", "__prepare__"),
}
"""Special methods that a function which computes does not call."""


def is_package_class(kind: type) -> bool:
    """Whether instances of a class hold what code of an installed package reads, and may change."""
    module = str(kind.__module__)
    if module.partition(".")[0] in _WITHOUT_STATE or kind in (cached_property, partialmethod):
        return False
    if module == "logging" and kind.__name__ != "LoggerAdapter":  # its handlers write
        return False
    return is_installed_class(kind)


_WITHOUT_STATE = frozenset(
    (
        *(
            "_collections_abc",
            "abc",
            "ast",
            "builtins",
            "collections",
            "datetime",
            "enum",
            "fractions",
        ),
        *("funcgrad", "inspect", "ipaddress", "numbers", "pathlib", "random", "re", "types"),
        *("typing", "typing_extensions", "uuid", "zoneinfo"),
    )
)
"""Packages whose classes are immutable, mixed into others, or looked into by themselves."""


def called_names(owners: Mapping[str, type], kind: type, names: frozenset[str]) -> frozenset[str]:
    """The names in the code of packages that runs if methods with some names are called on an instance.

    ``owners`` are the names in the class. Methods that operators call count, too.
    """
    bases = [base for base in kind.__mro__ if is_package_class(base)]
    waiting = [
        name
        for name in owners
        if name in names or (name[:2] == "__" and name[-2:] == "__" and name not in NEVER_IMPLICIT)
    ]
    met, found = set(waiting), set[str]()
    while waiting:
        name = waiting.pop()
        for base in bases:
            for code in _codes(vars(base).get(name)):
                found |= names_of_code(code)
                new = [n for n in names_of_code(code) if n in owners and n not in met]
                met.update(new)
                waiting += new
    return frozenset(found)


def _codes(value: Any) -> Iterator[CodeType]:
    """The code that an attribute of a class runs."""
    if isinstance(value, property):
        parts = [value.fget]
    elif isinstance(value, cached_property | partialmethod):
        parts = [value.func]
    else:
        parts = [getattr(value, "__func__", value)]
    for part in parts:
        while isinstance(part, FunctionType):
            yield part.__code__
            part = part.__dict__.get("__wrapped__")


def reads_all(names: frozenset[str]) -> bool:
    """Whether code with these names may read any attribute."""
    return not names.isdisjoint(READING_ALL)
