"""Classes of adopted code: subclasses that override the methods of a class with adopted ones.

An instance of the adopted class is an instance of the original; its results are given the original class.
`super` between two classes finds the adopted methods of the next one, since the adopted bases follow in
the method resolution order, provided that it is asked with the original class
(`funcgrad.adoption.builtin_names`).
"""

from __future__ import annotations

import threading
from abc import ABCMeta, update_abstractmethods
from collections import deque
from collections.abc import Callable
from enum import Enum
from functools import cache, cached_property, partialmethod, singledispatchmethod, wraps
from inspect import getattr_static
from types import CellType, FunctionType, GenericAlias, MemberDescriptorType, MethodType
from typing import Any, Generic, Protocol

from funcgrad.adoption.adopted_entries import class_parts
from funcgrad.adoption.adopted_functions import (
    Redirect,
    keep_adopted,
    known_adopted,
    redirected,
)
from funcgrad.adoption.adopted_types import (
    COMPLETE,
    ORIGINAL,
    REDIRECT,
    AdoptedType,
    as_base,
    joint_metaclass,
    names_of_attributes,
    original_class,
    own_subclasses,
    unlisted,
    with_slots_of,
)
from funcgrad.adoption.class_pickles import reduction_over
from funcgrad.adoption.containers import INNER, leads_elsewhere, standing
from funcgrad.adoption.float_subclasses import AdoptedFloat
from funcgrad.adoption.globals import AdoptedGlobals
from funcgrad.adoption.namespaces import OF_NO_NUMBERS, cell_contents, is_kept_class
from funcgrad.adoption.view_originals import as_original
from funcgrad.adoption.wrapt_functions import is_of_wrapt
from funcgrad.arrays.reference import holds_expr
from funcgrad.arrays.subclassed_array import SubclassedArray, numpys_own
from funcgrad.source import HEAP
from funcgrad.trace.outer_arrays import instance_dict, own_attribute
from funcgrad.transformed import Transformed


def may_be_adopted(kind: type) -> bool:
    """Whether a subclass of a class can be made that has its instances."""
    if is_kept_class(type(kind)) and type(kind) not in (type, ABCMeta, type(Protocol)):
        return False
    if ORIGINAL in vars(kind):
        return False
    if issubclass(kind, BaseException | Enum | type):
        return False
    bases = [base for base in kind.__mro__[:-1] if base.__module__ not in ("abc", "typing")]
    if any(["__mypyc_attrs__" in vars(base) for base in bases]):  # compiled by mypyc
        return False
    return all([base.__flags__ & HEAP or base in _LAID_OUT for base in bases])


_LAID_OUT = (
    *(str, bytes, int, float, complex, property),
    *(tuple, list, dict, set, frozenset, deque),
)
"""Classes of Python's whose subclasses can have empty slots, too."""


def adopt_class(kind: type, home: AdoptedGlobals, redirect: Redirect) -> type:
    """The adopted class of a class: itself if it has no methods to adopt, or must not have subclasses."""
    found = known_adopted(home, kind)
    if found is not None:
        return found  # type: ignore[no-any-return]
    if not may_be_adopted(kind):
        adopted = kind
    else:
        begun = _begun()
        if kind in begun:
            return _forward(kind, redirect)
        begun[kind] = None
        try:
            adopted = subclass_over(kind, redirect)
            if adopted is kind and (_is_asked(kind) or not is_kept_class(type(kind))):
                adopted = _subclass(kind, [], {}, redirect)
        finally:
            del begun[kind]
    keep_adopted(home, kind, adopted, class_parts)
    if adopted is not kind:
        name_class(kind, adopted)
        redirect_attributes(kind, adopted, redirect)
    return adopted


def _is_asked(kind: type) -> bool:
    """Whether a class without methods leads to code: by what its attributes hold, or by its subclasses."""
    own = [item for name, item in vars(kind).items() if name not in _OF_MARKERS]
    held = [not isinstance(item, property) and leads_elsewhere(item, INNER) for item in own]
    return any(held) or bool(own_subclasses(kind))


def redirect_attributes(kind: type, adopted: type, redirect: Redirect) -> None:
    """Redirect the attributes that are no methods.

    Instances among them, which may be of this class, are seen through views of theirs; so are classes, by
    their adopted ones.
    """
    for name, member in vars(kind).items():
        if vars(adopted).get(name, member) is member and not isinstance(member, property):
            seen = redirect(member) if name[:2] == "__" else standing(member, redirect)
            if seen is not member:
                # A compiled function (``act = math.tanh``) is no method, and its stand-in is none.
                binds = isinstance(seen, FunctionType) and not hasattr(member, "__get__")
                type.__setattr__(adopted, name, staticmethod(seen) if binds else seen)


def name_class(kind: type, adopted: type) -> None:
    """Have the methods of an adopted class that name ``__class__`` find that class there.

    `adopt_function` gives these a cell of their own.
    """
    for name, member in vars(adopted).items():
        cells = {id(cell) for cell in _cells_of_class(vars(kind).get(name))}
        for cell in _cells_of_class(member):
            # Not of a method of another class.
            if id(cell) not in cells and cell_contents(cell) is kind:
                cell.cell_contents = adopted


def _cells_of_class(member: Any) -> list[CellType]:
    """The cells of ``__class__`` of a method, a property or what a decorator makes."""
    found: list[CellType] = []
    waiting, done = [member], set()
    while waiting:
        item = waiting.pop()
        kind = type(item)  # the ``__class__`` of a proxy may raise any error
        if issubclass(kind, _WRAPPERS):
            waiting.append(item.__func__)
        elif issubclass(kind, property):
            waiting.extend((item.fget, item.fset, item.fdel))
        elif issubclass(kind, cached_property):
            waiting.append(item.func)
        elif kind is FunctionType and id(item) not in done:
            done.add(id(item))
            waiting.append(item.__dict__.get("__wrapped__"))
            for name, cell in zip(item.__code__.co_freevars, item.__closure__ or (), strict=True):
                if name == "__class__":
                    found.append(cell)
                elif cell_contents(cell) is not None:
                    waiting.append(cell.cell_contents)
    return found


_WRAPPERS = (staticmethod, classmethod, MethodType)


def subclass_over(kind: type, redirect: Redirect) -> type:
    """A subclass of a class that overrides its methods with redirected ones; itself if there are none."""
    members = adopt_members(kind, redirect)
    if "_make" in members:
        del members["__new__"]  # `collections.namedtuple` has made it, over names of its own
    changed = {name: new for name, new in members.items() if new is not vars(kind)[name]}
    given = [_base_over(base, redirect) for base in kind.__bases__]
    forward = _begun().get(kind)
    if forward is not None:
        for name, new in changed.items():
            if name not in _OF_CLASSES:
                type.__setattr__(forward, name, new)
        return forward
    if any([isinstance(b, type) and not set(kind.__bases__) & set(b.__mro__) for b in given]):
        return _over_stand_ins(kind, given, members)
    bases = [base for base, own in zip(given, kind.__bases__, strict=True) if base is not own]
    return _subclass(kind, bases, changed, redirect) if changed or bases else kind


_OF_CLASSES = {name for name in dir(type) if hasattr(getattr_static(type, name), "__set__")}
"""Names such as ``__class__`` and ``__name__``, which a store into a class gives to the class itself.

A property of such a name is inherited.
"""


def _base_over(base: type, redirect: Redirect) -> Any:
    """What takes the place of a base: of ``float``, a class whose instances may hold traced values."""
    if base in _LAID_OUT:
        return AdoptedFloat if base is float else base
    return as_base(base, redirect)


def _subclass(kind: type, bases: list[type], changed: dict[str, Any], redirect: Redirect) -> type:
    # A class that defines __eq__ without __hash__ would lose it.
    space: dict[str, Any] = (
        {"__hash__": kind.__hash__} if "__eq__" in changed else as_original(kind)
    )
    space |= {name: vars(kind)[name] for name in _OF_ANNOTATIONS if name in vars(kind)}
    if getattr_static(kind, "__dir__") is vars(object)["__dir__"]:
        space["__dir__"] = names_of_attributes
    if issubclass(kind, Generic):  # its own would find ``kind[...]`` in a cache
        space["__class_getitem__"] = classmethod(GenericAlias)
    space |= {"__reduce_ex__": reduction_over(kind)} | changed
    space |= {"__slots__": (), ORIGINAL: kind, REDIRECT: redirect, "__doc__": kind.__doc__}
    space |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    made = ABCMeta.__new__ if isinstance(kind, ABCMeta) else type.__new__
    # A base that stands for SciPy's may have such a metaclass of its own.
    metaclasses = [type(base) for base in bases if issubclass(type(base), type(kind))]
    meta = metaclasses[0] if metaclasses else metaclass_of(type(kind), redirect)
    if issubclass(kind, float):
        meta = joint_metaclass(tuple(dict.fromkeys((type(AdoptedFloat), meta))))
    first = unannounced(kind)
    result: type
    if first:
        try:  # to change the bases announces nothing, and leaves the layout, so that instances are restored
            result = made(meta, kind.__name__, (_Unbased,), space)
            result.__bases__ = (kind, *bases)
            update_abstractmethods(result)
        except TypeError:
            result = made(meta, kind.__name__, (*first, kind, *bases), space)
    else:
        result = made(meta, kind.__name__, (kind, *bases), space)
    type.__setattr__(result, COMPLETE, True)
    return with_slots_of(kind, result)


_OF_ANNOTATIONS = ("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__")
"""Attributes that Python looks for in a class alone, and not in its bases."""


class _Unbased:
    """The base of an adopted class until it has its own."""


def adopt_members(kind: type, redirect: Redirect) -> dict[str, Any]:
    """The attributes of a class, with those that Python and NumPy call for traced values as these need it."""
    members = {name: adopt_member(member, redirect) for name, member in vars(kind).items()}
    if isinstance(members.get("__bool__"), FunctionType):
        members["__bool__"] = _of_bool(members["__bool__"])
    for name in ("__array_function__", "__array_ufunc__"):
        if isinstance(members.get(name), FunctionType):
            members[name] = _of_function(members[name], redirect)
    return members


_BEGUN = threading.local()


def _begun() -> dict[type, type | None]:
    """The classes whose methods this thread is adopting; with the adopted class, if a method asked for it."""
    found: dict[type, type | None] = _BEGUN.__dict__.setdefault("classes", {})
    return found


def _forward(kind: type, redirect: Redirect) -> type:
    """The adopted class of a class whose methods, which are being adopted, hold it in closures or defaults.

    It has no methods as yet. So decorated methods that call the bound methods of their class find one class.
    """
    given = [_base_over(base, redirect) for base in kind.__bases__]
    bases = [base for base, own in zip(given, kind.__bases__, strict=True) if base is not own]
    begun = _begun()
    found = begun[kind]  # which the bases may have asked for, too
    if found is None:
        found = begun[kind] = _subclass(kind, bases, {}, redirect)
    return found


def _over_stand_ins(kind: type, bases: list[type], members: dict[str, Any]) -> type:
    """A class whose bases have stand-ins that are no subclasses of theirs, such as SciPy's interpolants: the
    same statement over these.
    """
    space = {name: new for name, new in members.items() if name not in ("__dict__", "__weakref__")}
    made: type = type(bases[0])(kind.__name__, tuple(bases), space)
    return made


def may_stand_for(kind: type) -> bool:
    """Whether an instance of a class, SciPy's or based on one of SciPy's, may be taken for one of that.

    Not if the class defines what SciPy's has, such as ``__call__``, which would run twice.
    """
    of_scipy = [base for base in kind.__mro__ if base.__module__.startswith("scipy.")]
    own = [base for base in kind.__mro__ if base not in of_scipy and not is_kept_class(base)]
    names = {name for base in own for name in vars(base)} - _OF_STATEMENTS
    return not any([hasattr(base, name) for base in of_scipy for name in names])


_OF_STATEMENTS = {
    *(
        "__init__",
        "__doc__",
        "__module__",
        "__dict__",
        "__weakref__",
        "__annotations__",
        "__qualname__",
    ),
    *("__firstlineno__", "__static_attributes__"),
}
"""Names that class statements define by themselves, and the method that has run."""


def _of_bool(method: Callable[[Any], Any]) -> Any:
    """``__bool__``, from which Python takes no expression: its truth value."""

    @wraps(method)
    def of_bool(self: object) -> bool:
        return bool(method(self))

    return of_bool


def _of_function(method: Callable[..., Any], redirect: Redirect) -> Any:
    """``__array_ufunc__``, whose code compares NumPy's functions with those that it finds by name."""

    @wraps(method)
    def of_function(self: object, function: object, *args: object, **kwargs: object) -> Any:
        return method(self, redirect(function), *args, **kwargs)

    return of_function


@cache
def metaclass_of(meta: type, redirect: Redirect) -> Any:
    """The metaclass of the adopted classes whose originals have a metaclass.

    It derives from those of the bases, as the metaclass of a class must. One that says what a call of the
    class gives, as that of singletons does, is asked for the original class, and what it gives is redirected;
    but the adopted code of one that is given traced values makes an instance of the adopted class.
    """
    if meta is type or issubclass(meta, AdoptedType):
        return AdoptedType if meta is type else meta
    bases = [metaclass_of(base, redirect) for base in meta.__bases__ if issubclass(base, type)]
    space: dict[str, Any] = {ORIGINAL: meta}
    for name, member in vars(meta).items() if not is_kept_class(meta) else ():
        if name not in _OF_METACLASSES and isinstance(
            member, FunctionType | property | list | dict | tuple | set
        ):
            space[name] = _MemberOfNow(meta, name, redirect)
    call = vars(meta).get("__call__")
    if isinstance(call, FunctionType):

        def made_by_call(cls: type, *args: Any, **kwargs: Any) -> Any:
            if holds_expr([args, kwargs]):
                return redirect(call)(cls, *args, **kwargs)
            own = [numpys_own(arg) if isinstance(arg, SubclassedArray) else arg for arg in args]
            return redirect(original_class(cls)(*own, **kwargs))

        space["__call__"] = made_by_call
    return type.__new__(type, meta.__name__, (meta, *bases), space)


class _MemberOfNow:
    """An attribute of a metaclass, as it is when it is asked for, over adopted functions."""

    def __init__(self, meta: type, name: str, redirect: Redirect) -> None:
        self._meta, self._name, self._redirect = meta, name, redirect

    def __get__(self, kind: object, meta: type | None = None) -> Any:
        member = vars(self._meta)[self._name]
        seen: Any = adopt_member(member, self._redirect)
        if isinstance(seen, list | dict | tuple | set):
            return self._redirect(seen)
        return seen.__get__(kind, meta) if hasattr(seen, "__get__") else seen


_OF_METACLASSES = frozenset(
    ("__new__", "__init__", "__call__", "__prepare__", "__setattr__", "__delattr__", "mro")
) | {"__instancecheck__", "__subclasscheck__", "__eq__", "__hash__"}
"""Methods of metaclasses that make classes, or compare them."""


def unannounced(kind: type) -> tuple[type, ...]:
    """A base that keeps the adopted class from one that registers its subclasses; none, if there is none."""
    own = [base for base in kind.__mro__[:-1] if base is not Generic]
    if not any(["__init_subclass__" in vars(base) for base in own]):
        return ()

    class Unannounced:
        __slots__ = ()

        def __init_subclass__(cls, **kwargs: Any) -> None:
            if ORIGINAL not in vars(cls):
                super().__init_subclass__(**kwargs)

    return (unlisted(Unannounced),)


def adopt_member(member: Any, redirect: Redirect) -> Any:
    """A method, property or class attribute over adopted functions; itself if nothing is adopted."""
    is_function = isinstance(member, FunctionType | Transformed | singledispatchmethod)
    if is_function or is_of_wrapt(member):
        return redirect(member)
    if isinstance(member, staticmethod | classmethod):
        function = redirect(member.__func__)
        return member if function is member.__func__ else type(member)(function)
    if isinstance(member, property):
        return _adopt_property(member, redirect)
    if type(member) is partialmethod:
        function = redirect(member.func)
        found: Any = partialmethod(function, *member.args, **member.keywords)
        return member if function is member.func else found
    if type(member) is cached_property:
        function = redirect(member.func)
        if function is member.func:
            return member
        made: Any = cached_property(function)
        made.__set_name__(None, member.attrname)
        return made
    return member


def _adopt_property(member: property, redirect: Redirect) -> property:
    """A property over adopted functions, also of a user's class; itself if nothing is adopted."""
    parts = (member.fget, member.fset, member.fdel)
    new, kind = redirected(parts, redirect), redirect(type(member))
    if new is parts and kind is type(member):
        return member
    made: property = property.__new__(kind)
    property.__init__(made, new[0], new[1], new[2], member.__doc__)
    for name, item in getattr(member, "__dict__", {}).items():
        made.__dict__[name] = redirect(item)
    return made


def has_methods(kind: type) -> bool:
    """Whether a class or its bases define more than how instances are made, written and copied.

    Operators, calls, comparisons and lookups count: they are code as that of other methods.
    """
    names = {name for base in original_class(kind).__mro__[:-1] for name in vars(base)}
    return not names <= _OF_MARKERS


_OF_MARKERS = (
    _OF_STATEMENTS | OF_NO_NUMBERS | {"__new__", "__hash__", "__slots__", "__match_args__"}
)


def holds_functions(instance: Any) -> bool:
    """Whether attributes of an instance are functions, or lead to some."""
    return any([leads_elsewhere(item, INNER) for item in attribute_values(instance)])


def attribute_values(instance: object) -> list[Any]:
    """The values of the attributes of an instance, those in slots included."""
    slots = [
        own_attribute(instance, name)
        for base in type(instance).__mro__
        if base.__flags__ & HEAP
        for name, member in vars(base).items()
        if type(member) is MemberDescriptorType
    ]
    return [*(instance_dict(instance) or {}).values(), *slots]
