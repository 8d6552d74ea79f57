"""Classes that derive from `numpy.ndarray`, in adopted code: over arrays that hold traced values.

The methods of such a class find `SubclassedArray` in the place of `numpy.ndarray`, which is also the base of
the adopted class. NumPy's own ``matrix`` is one of these classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from inspect import CO_VARARGS
from types import (
    FunctionType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np
import numpy.typing as npt

from funcgrad.adoption.adopted_classes import (
    adopt_members,
    name_class,
    redirect_attributes,
    unannounced,
)
from funcgrad.adoption.adopted_entries import class_parts
from funcgrad.adoption.adopted_functions import (
    Redirect,
    adopt_function,
    keep_adopted,
    known_adopted,
)
from funcgrad.adoption.adopted_types import ORIGINAL, joint_metaclass
from funcgrad.adoption.globals import AdoptedGlobals
from funcgrad.adoption.modules import ModuleView
from funcgrad.adoption.namespaces import globals_of_class, is_kept_class, is_kept_namespace
from funcgrad.arrays.mutable_array import shared_argument
from funcgrad.arrays.object_array import OVER_OBJECTS, ObjectArray
from funcgrad.arrays.reference import plain_value
from funcgrad.arrays.subclassed_array import (
    SubclassedArray,
    attributes_of,
    numpys_own,
    plain,
    with_attributes,
)
from funcgrad.expr.registry import functions
from funcgrad.source import type_error


def is_array_subclass(kind: type) -> bool:
    """Whether a class is one of a user's that derives from NumPy's array, or NumPy's ``matrix``.

    >>> is_array_subclass(np.matrix), is_array_subclass(np.ndarray), is_array_subclass(np.memmap)
    (True, False, False)
    """
    if not issubclass(kind, np.ndarray):
        return False
    own = kind.__mro__[: kind.__mro__.index(np.ndarray)]
    return bool(own) and not any([base is not np.matrix and is_kept_class(base) for base in own])


class NumPyOverSubclasses(ModuleType):
    """``numpy`` as the code of a subclass imports names from it."""

    ndarray = SubclassedArray

    def __init__(self, numpy: ModuleType) -> None:
        super().__init__("numpy")
        vars(self)["_numpy"] = numpy

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_numpy"], name)


def _of_results(method: FunctionType, kind: type) -> Callable[..., Any]:
    """``__array_wrap__``, as NumPy calls it; a number where the original makes one of an array of no axes."""
    takes_scalar_flag = method.__code__.co_argcount > 3 or method.__code__.co_flags & CO_VARARGS
    try:
        made = np.zeros(1).view(kind).__array_wrap__(np.zeros(()))
    except Exception:  # of attributes, which the instance lacks
        made = None
    gives_number = isinstance(made, np.generic | float)

    def wrap(self: SubclassedArray, array: Any, context: object = None, *_: object) -> Any:
        if gives_number and not array.ndim:
            return plain_value(array)
        return method(self, array, context, *([not array.ndim] if takes_scalar_flag else []))

    return wrap


def _of_users(method: Callable[..., None]) -> Callable[..., None]:
    """``__setattr__`` of a class, for all attributes but those that adopted instances have."""

    def set_attribute(self: SubclassedArray, name: str, value: object) -> None:
        own = object.__setattr__ if name.startswith("_funcgrad_") else method
        own(self, name, value)

    return set_attribute


def _text(of: Callable[..., str]) -> Callable[..., str]:
    """The text of an instance: that of one of the original class, of the concrete values."""
    return lambda array, *how: of(array._funcgrad_as_numpys(), *how)


def _formula(array: SubclassedArray) -> str:
    own = numpys_own(array)
    return f"{type(array).__name__}({plain(array)!r})" if own is array else repr(own)


@cache
def _in_python(kind: type) -> type:
    """A compiled base of a class of arrays, as astropy's columns have one; any other class as it is.

    Its methods read the memory of an array, which adopted instances do not have: of numbers they are NumPy's
    own, if it has them, and otherwise run on an instance of the original class.
    """
    compiled = {
        name: member
        for name, member in vars(kind).items()
        if type(member) in _IN_C and member.__objclass__ is kind  # not of another class, assigned
    }
    if kind in (np.ndarray, object) or not compiled:
        return kind
    space = {name: _on_numpys(name, member) for name, member in compiled.items()}
    return type(kind.__name__, tuple(map(_in_python, kind.__bases__)), space)


_IN_C = (WrapperDescriptorType, MethodDescriptorType)


def _on_numpys(name: str, compiled: Callable[..., Any]) -> Callable[..., Any]:
    of_numpy = getattr(SubclassedArray, name, None)

    def method(self: SubclassedArray, *args: object, **kwargs: object) -> Any:
        if of_numpy is not None and self.dtype.kind in "biufc":
            return of_numpy(self, *args, **kwargs)
        own = numpys_own(self)
        if own is self:
            raise type_error(
                f"{name}: expected plain numbers, since {type(self).__name__} has it in compiled code, but "
                "got traced values; write the function for plain arrays",
            )
        return functions["redirect"](compiled(own, *args, **kwargs))

    return method


_OF_LAYOUT = frozenset(("__dict__", "__slots__", "__weakref__"))
GlobalsOf = Callable[[dict[str, Any]], AdoptedGlobals]


class ArraySubclasses:
    """The adopted classes; `redirect` and `restore` are those of all adopted code."""

    def __init__(
        self,
        redirect: Redirect,
        restore: Redirect,
        globals_of: GlobalsOf,
        globals_of_objects: GlobalsOf,
    ) -> None:
        self._redirect, self._restore, self._globals_of = redirect, restore, globals_of
        self._globals_of_objects = globals_of_objects
        self._in_work: list[type] = []

    def of(self, kind: type) -> Any:
        """The adopted class of one."""
        space = globals_of_class(kind)
        if space is None:
            return kind
        home = self._globals_of(space)
        found = known_adopted(home, kind)
        if found is not None:
            return found
        self._in_work.append(kind)
        try:
            space = adopt_members(kind, self._method)
        finally:
            self._in_work.remove(kind)
        # Without slots, whose values are attributes.
        space = {
            name: member
            for name, member in space.items()
            if name not in _OF_LAYOUT and type(member) is not MemberDescriptorType
        }
        bases = (*unannounced(kind), *map(self.seen, map(_in_python, kind.__bases__)))
        wrap = space.get("__array_wrap__")
        if isinstance(wrap, FunctionType):
            space["__array_wrap__"] = _of_results(wrap, kind)
        if "__setattr__" in space:
            space["__setattr__"] = _of_users(space["__setattr__"])
        space |= {"__repr__": _formula, "__str__": _text(str), "__format__": _text(format)}
        metas = [type(SubclassedArray), *[type(base) for base in bases]]
        adopted = joint_metaclass(tuple(dict.fromkeys(metas)))(
            kind.__name__,
            bases,
            space | {ORIGINAL: kind, OVER_OBJECTS: partial(self.of_objects, kind)},
        )
        keep_adopted(home, kind, adopted, class_parts)
        name_class(kind, adopted)
        redirect_attributes(kind, adopted, self._redirect)
        return adopted

    def of_objects(self, kind: type) -> Any:
        """The adopted class of the instances that hold objects: a subclass, over NumPy's own array."""
        space = globals_of_class(kind) if is_array_subclass(kind) else None
        if space is None:
            return ObjectArray if kind is np.ndarray else self._redirect(kind)
        home = self._globals_of_objects(space)
        found = known_adopted(home, kind)
        if found is not None:
            return found
        space = {
            name: member
            for name, member in adopt_members(kind, self._method_of_objects).items()
            if name not in _OF_LAYOUT
        }
        if np.ndarray in kind.__bases__:
            space = {"__array_priority__": 0.0} | space
        bases = (*unannounced(kind), kind, *map(self.of_objects, kind.__bases__))
        adopted = joint_metaclass(tuple(dict.fromkeys(map(type, bases))))(
            kind.__name__, bases, space | {ORIGINAL: kind}
        )
        keep_adopted(home, kind, adopted, class_parts)
        name_class(kind, adopted)
        redirect_attributes(kind, adopted, self._redirect)
        return adopted

    def method(self, f: FunctionType) -> Any:
        """What a method, as a decorator holds it, is in adopted code; None for any other function."""
        owner = f.__globals__.get(f.__qualname__.rpartition(".")[0])
        if not isinstance(owner, type) or vars(owner).get(f.__name__) is not f:
            return None
        if not is_array_subclass(owner):
            return None
        if owner in self._in_work:
            return self._method(f)
        return vars(self.of(owner))[f.__name__]

    def instance(self, value: npt.NDArray[Any]) -> Any:
        """An instance of the adopted class that shares the entries of one, and has its attributes."""
        kind = self.of(type(value))
        if kind is type(value):
            return value
        if value.dtype == object:
            return with_attributes(value.view(self.of_objects(type(value))), attributes_of(value))
        made = kind._funcgrad_of_view(shared_argument(value.view(np.ndarray)), value)
        vars(made).update(attributes_of(value))
        return made

    def redirect_held(self, made: Any) -> None:
        """Redirect the attributes of an instance, which may lead to it."""
        vars(made).update({name: self._redirect(item) for name, item in vars(made).items()})

    def seen(self, value: object) -> Any:
        """`redirect` for the names of a method's globals."""
        if value is np.ndarray:
            return SubclassedArray
        found = self._redirect(value)
        if value is np:
            return NumPyOverSubclasses(found)
        return ModuleView(found.original, self.seen) if type(found) is ModuleView else found

    def _method(self, value: object) -> Any:
        return self._adopted(value, self._globals_of)

    def _method_of_objects(self, value: object) -> Any:
        return self._adopted(value, self._globals_of_objects)

    def _adopted(self, value: object, globals_of: GlobalsOf) -> Any:
        if type(value) is not FunctionType or is_kept_namespace(value.__globals__):
            return self._redirect(value)
        home = globals_of(value.__globals__)
        return adopt_function(value, home, self._redirect, self._restore)
