"""Pickles of instances of adopted classes, whose class is pickled as that of the user's code.

Pickle finds a class by its name, where the user's is. A copy in one process keeps the adopted class itself.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, SupportsIndex

from funcgrad.expr.registry import functions


class _Held:
    """An adopted class among the arguments that make an instance again."""

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def __deepcopy__(self, memo: dict[int, Any]) -> _Held:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _adopted, (functions["original_class"](self.kind),)


def _adopted(kind: type) -> _Held:
    return _Held(functions["redirect"](kind))


def _called(*items: object) -> Any:
    function: Any
    function, *args = [item.kind if type(item) is _Held else item for item in items]
    return function(*args)


def reduction_over(kind: type) -> Callable[[object, SupportsIndex], Any]:
    """The method ``__reduce_ex__`` of the adopted class of a class: the original's."""
    reduce: Any = kind.__reduce_ex__

    def __reduce_ex__(self: object, protocol: SupportsIndex) -> Any:  # noqa: N807  # a method
        made = reduce(self, protocol)
        if not isinstance(made, tuple) or len(made) < 2:
            return made
        function, args, *rest = made
        held = [_Held(item) if _is_adopted(item) else item for item in (function, *args)]
        return (_called, tuple(held), *rest) if any([type(x) is _Held for x in held]) else made

    return __reduce_ex__


def _is_adopted(item: object) -> bool:
    """Whether an adopted class is not what its name leads to, as it is where `adopt` decorates the class."""
    if not isinstance(item, type) or functions["original_class"](item) is item:
        return False
    return named_object(item.__module__, item.__qualname__) is not item


def named_object(module: str, name: str) -> Any:
    """The object of a module by its qualified name; None if the module is not imported."""
    found: Any = sys.modules.get(module)
    return functools.reduce(lambda item, part: getattr(item, part, None), name.split("."), found)
