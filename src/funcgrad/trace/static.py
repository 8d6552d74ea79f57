"""Static values in trees: they are not traced, and are part of a call's signature under jit.

Text, functions, types, members of enumerations and other values that hash by what they are, and are no
numbers, are static by themselves. `static` marks others: a value, or a field of a class.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from contextlib import suppress
from enum import Enum
from functools import lru_cache, partial
from inspect import get_annotations
from numbers import Number
from types import FunctionType, ModuleType
from typing import Annotated, Any, get_type_hints

import numpy as np

from funcgrad.expr import Expr
from funcgrad.ops.base.op import Op
from funcgrad.source import is_installed_class


class static:  # noqa: N801  # it is used as a function and as an annotation
    """A mark for what is no part of a computation: it is neither differentiated
    nor traced.

    As the annotation of a field, ``Annotated[int, static]`` or
    ``static[int]``, or as the default of an annotated field of a dataclass,
    ``n: int = static(3)``, it makes every value of that field static. The
    ``metadata`` of a field, ``field(metadata={"static": True})``, does the
    same, as for `jax.tree_util.register_dataclass`. ``static(value)`` marks
    one value, wherever it stands in a tree; ``.value`` is that value.

    Static values keep their places in gradients and other results. Under `jit`
    they are part of the signature: lists, dicts, sets and arrays by their
    contents, other values by their hash, or, if they have none, by identity.
    Raises nothing.

    >>> from dataclasses import dataclass
    >>> import funcgrad as fg
    >>> @dataclass
    ... class Power:
    ...     scale: float
    ...     n: int = fg.static(2)
    >>> fg.grad(lambda p: p.scale**p.n)(Power(3.0))
    Power(scale=6.0, n=2)
    >>> p = {"x": 3.0, "n": fg.static(2)}
    >>> fg.grad(lambda p: p["x"] ** p["n"].value)(p)
    {'x': 6.0, 'n': static(2)}
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __class_getitem__(cls, kind: object) -> Any:
        return Annotated[kind, cls]

    def __set_name__(self, owner: type, name: str) -> None:
        kinds = owner.__annotations__
        if name in kinds:
            kinds[name] = Annotated[kinds[name], static]

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        # The default of a dataclass's field, which asks its class for it, is the value itself.
        return self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, static) and contents(self.value) == contents(other.value)

    def __hash__(self) -> int:
        return hash(contents(self.value))

    def __repr__(self) -> str:
        return f"static({self.value!r})"


@lru_cache(maxsize=512)
def static_fields(kind: type) -> frozenset[str]:
    """The names of the fields of a class that its annotations mark.

    >>> class C:
    ...     x: float
    ...     n: static[int]
    >>> static_fields(C)
    frozenset({'n'})
    """
    found = set()
    for base in kind.__mro__:
        written = get_annotations(base)
        marked = {name for name, value in written.items() if _may_be_static(value)}
        if marked:
            try:
                hints = get_type_hints(base, include_extras=True)
            except (NameError, TypeError, AttributeError):  # names that are known elsewhere
                found |= marked
                continue
            found |= {name for name in marked if _is_marked(hints[name])}
    return frozenset(found)


def _may_be_static(annotation: object) -> bool:
    return bool(
        re.search(r"\bstatic\b", annotation if isinstance(annotation, str) else repr(annotation))
    )


def _is_marked(annotation: object) -> bool:
    marks = (annotation, *getattr(annotation, "__metadata__", ()))
    return any(mark is static or isinstance(mark, static) for mark in marks)


# -- values --------------------------------------------------------------------------------------
def is_static_value(value: object) -> bool:
    """Whether a leaf is static by itself: a value that hashes by what it is, a function, or one marked.

    >>> is_static_value("relu"), is_static_value(2.0), is_static_value(static([1.0]))
    (True, False, True)
    """
    if isinstance(value, Expr | np.ndarray | np.generic):
        return isinstance(value, np.str_ | np.bytes_)
    if isinstance(value, ModuleType):  # NumPy itself has a shape and a dtype
        return True
    if isinstance(value, Number) or (hasattr(value, "shape") and hasattr(value, "dtype")):
        return False
    if isinstance(value, type | partial | set | slice | Op) or hashes_by_content(value):
        return True
    return callable(value) and hasattr(value, "__name__")  # other objects may hold numbers


def hashes_by_content(value: object) -> bool:
    """Whether a value's hash is that of what it is, and not of where it is.

    >>> hashes_by_content((1, "a")), hashes_by_content([1]), hashes_by_content(object())
    (True, False, False)
    """
    if type(value).__hash__ in (None, object.__hash__):
        return False
    try:
        hash(value)
    except (TypeError, ValueError):  # ValueError of a writable memoryview
        return False
    return True


def contents(value: Any) -> Hashable:
    """A key that is equal for indistinguishable values: 1, 1.0 and True have three keys.

    >>> contents([1, {"a": 2.0}]) == contents([1, {"a": 2.0}]) != contents([1, {"a": 2}])
    True
    """
    kind: Any = type(value)
    if kind is tuple or kind is list:
        return kind, tuple([contents(item) for item in value])
    if kind is set or kind is frozenset:
        return kind, frozenset([contents(item) for item in value])
    if kind is slice:
        return kind, contents((value.start, value.stop, value.step))
    if kind is dict:
        return kind, tuple([(contents(key), contents(item)) for key, item in value.items()])
    if kind is np.ndarray and value.dtype.kind != "O":
        return kind, value.shape, value.dtype, value.tobytes()
    if kind is float or kind is complex:
        return kind, repr(value)
    if kind is static:
        return kind, contents(value.value)
    try:
        hash(value)
    except TypeError:
        return kind, _ById(value)
    return kind, _Instance(value) if _compares_itself(kind) else value


@lru_cache(maxsize=512)
def _compares_itself(kind: type) -> bool:
    """Whether a class of the user's has a comparison of its own, by which instances with other fields may be
    equal."""
    if issubclass(kind, Enum | Number) or type(kind.__eq__) is not FunctionType:
        return False
    return not is_installed_class(kind)


class _Instance:
    """An instance that is equal to others if its class says so, and they hold the same.

    What may change in place is the same by identity, since the changes of the first instance's are watched.
    """

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Instance):
            return False
        mine, theirs = self.value, other.value
        if mine is theirs:
            return True
        if type(mine) is not type(theirs) or mine != theirs:
            return False
        own, others = _held(mine), _held(theirs)
        # An attribute that one of them lacks is one that is kept once it is computed.
        return all([_part(own[name]) == _part(others[name]) for name in own.keys() & others.keys()])

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


def _held(value: object) -> dict[str, Any]:
    """The attributes of an instance, those in slots included."""
    found = dict(getattr(value, "__dict__", {}))
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            with suppress(AttributeError):
                found[name] = object.__getattribute__(value, name)
    return found


def _part(value: Any) -> Hashable:
    """What an instance holds, as part of a key."""
    if type(value) is tuple:
        return tuple([_part(item) for item in value])
    return _ById(value) if isinstance(value, list | dict | set | np.ndarray) else contents(value)


class _ById:
    """An object compared by identity, and kept."""

    __slots__ = ("object",)

    def __init__(self, object: object) -> None:
        self.object = object

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ById) and self.object is other.object

    def __hash__(self) -> int:
        return id(self.object)
