"""Stand-ins for built-in names in adopted code: to them, traced values are numbers and arrays.

A traced number of type float64 is taken for a float, as NumPy's float64 is one; other numbers for NumPy's
scalars, or Python's ints and bools; an array for one of NumPy's.
"""

from __future__ import annotations

import builtins
import operator
import sys
from abc import get_cache_token
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from enum import EnumType
from functools import cache, lru_cache, update_wrapper, wraps
from types import (
    FunctionType,
    MappingProxyType,
    MethodDescriptorType,
    SimpleNamespace,
    UnionType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from funcgrad.adoption.adopted_functions import Redirect
from funcgrad.adoption.adopted_types import (
    AdoptedType,
    attributes_of_class,
    joint_metaclass,
    original_class,
)
from funcgrad.adoption.containers import (
    CounterView,
    DictView,
    ListView,
    SetView,
    StandardDictView,
    attributes_of_others,
)
from funcgrad.adoption.float_subclasses import AdoptedFloat, base_of_traced, is_of_traced_float
from funcgrad.adoption.globals import AdoptedGlobals, StoringGlobals
from funcgrad.adoption.instance_views import is_class_of_views
from funcgrad.adoption.modules import ModuleView
from funcgrad.adoption.namespaces import OF_SEQUENCES
from funcgrad.adoption.standard_containers import DequeView, NamespaceView, ReferenceView
from funcgrad.adoption.view_originals import original_of_view
from funcgrad.adoption.weak_containers import WeakDictView, WeakSetView
from funcgrad.arrays.float_subclass import TracedFloat, traced_part, without_class
from funcgrad.arrays.mutable_array import MutableArray
from funcgrad.arrays.object_array import HeldObjects, ObjectArray
from funcgrad.arrays.reference import plain_value
from funcgrad.arrays.subclassed_array import SubclassedArray
from funcgrad.expr import Expr, const
from funcgrad.expr.branch_path import PATH
from funcgrad.expr.concrete import has_known_value
from funcgrad.expr.registry import functions
from funcgrad.expr.reported_class import is_numpys_number
from funcgrad.ops import shape
from funcgrad.ops.elementwise.magnitude import make_complex
from funcgrad.ops.elementwise.selection import where
from funcgrad.unadopted_packages import is_kept


def is_traced(value: object) -> bool:
    """Whether a value is an expression, or an array that can hold one."""
    return isinstance(value, _TRACED)


_TRACED = (Expr, MutableArray)


def stand_ins(value: Any) -> tuple[type, ...]:
    """The types that a traced value is taken for."""
    if isinstance(value, SubclassedArray):
        return (original_class(type(value)),)
    if isinstance(value, MutableArray) or value.type.shape:
        return _ARRAYS
    kind = value.type.dtype.type
    return _NUMBERS[kind] if kind in _NUMBERS and not is_numpys_number(value) else (kind,)


_ARRAYS = (np.ndarray,)
_NUMBERS: Mapping[type, tuple[type, ...]] = {
    np.bool_: (np.bool_, bool),
    np.complex128: (np.complex128, complex),
    np.float64: (np.float64, float),
    np.int64: (np.int64, int),
}


# -- float, complex and int -------------------------------------------------------------------------
def _joined_parts(real: Any, imag: Any) -> Any:
    """As ``complex(real, imag)``, whose parts may be complex."""
    along, across = np.real(real), np.real(imag)
    if np.result_type(imag).kind == "c":
        along = along - np.imag(imag)
    if np.result_type(real).kind == "c":
        across = across + np.imag(real)
    return make_complex(along, across)


class _NumberType(type):
    """The metaclass of `float_`, `complex_` and `int_`, equal to Python's own types, and dtypes."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        own, parts = _own(cls), [*args, *kwargs.values()]
        if len(parts) == 1:
            parts = [_as_number(parts[0], f"__{own.__name__}__")]
        parts = [without_class(plain_value(part)) for part in parts]
        if not any([is_traced(part) for part in parts]):
            return own(*parts[: len(args)], **dict(zip(kwargs, parts[len(args) :], strict=True)))
        whole = parts[0] if len(parts) == 1 else _joined_parts(*parts)
        if whole.ndim and whole.size == 1:
            whole = shape.reshape(whole, ())
        if whole.ndim or (own is float and whole.dtype.kind == "c"):
            raise TypeError(f"{cls.__name__}() argument must be a number, not {whole.type}")
        return shape.as_pythons(shape.astype(whole, own))

    def __getattribute__(cls, name: str) -> Any:
        own = _own(cls)
        if name == "__new__" and own is float:
            return AdoptedFloat.__new__
        if type(getattr(own, name, None)) in _METHODS:
            return _method(own, name)
        of_class = name.startswith("_") and name != "__new__"
        return type.__getattribute__(cls, name) if of_class else getattr(own, name)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance_(value, _own(cls))  # also for `case float():`

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, _own(cls))

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is _own(cls)

    def __hash__(cls) -> int:
        return hash(_own(cls))


def _as_number(value: object, name: str) -> Any:
    """What an instance of a user's class gives as its number, if that is traced."""
    method = getattr(type(value), name, None)
    if type(method) is not FunctionType or is_traced(value) or is_of_traced_float(method):
        return value
    number = plain_value(method(value))
    return number if is_traced(number) or type(number).__name__ == name.strip("_") else value


def _own(cls: type) -> Any:
    return type.__getattribute__(cls, "__dict__")["_own"]


_METHODS = (WrapperDescriptorType, MethodDescriptorType)


@cache
def _method(own: Any, name: str) -> Callable[..., Any]:
    """A method of Python's own type, as in ``float.__add__(a, b)``, that takes traced values."""
    method = getattr(own, name)

    @wraps(method)
    def called(self: Any, *args: Any) -> Any:
        self, args = traced_part(self), tuple(map(traced_part, args))
        if is_traced(self) and name == "__float__":
            return float_(self)
        if is_traced(self):
            return getattr(self, name)(*args)
        if any([is_traced(arg) for arg in args]):
            return getattr(const(own.__pos__(self)), name)(*args)
        return method(self, *args)

    return called


class float_(np.float64, metaclass=_NumberType):  # noqa: N801  # its name is float, below
    """As Python's own; a traced value is converted and stays traced."""

    _own = float
    __match_args__ = ("real",)  # `case float(x):` takes the number itself


class complex_(np.complex128, metaclass=_NumberType):  # noqa: N801
    """As Python's own; a traced value is converted and stays traced."""

    _own = complex


class _IntegerType(_NumberType):
    """The metaclass of `int_`."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        value = plain_value(args[0]) if args else 0
        if type(value) is Expr and len(args) == 1 and _is_integer_of_many(value):
            return shape.as_pythons(shape.astype(shape.reshape(value, ()), int))
        return int(*args, **kwargs)


def _is_integer_of_many(value: Expr) -> bool:
    """Whether a traced integer has other values in other runs of one program, and no path that knows them.

    A float is refused there: one that is NaN, or beyond 64 bits, would become another number in silence.
    """
    if value.traced is None or value.size != 1 or not np.can_cast(value.dtype, np.int64):
        return False
    path = PATH.get()
    known = value.dtype.kind == "b" or (path is not None and path.reads)
    return not known and not has_known_value(value)


class int_(np.int64, metaclass=_IntegerType):  # noqa: N801
    """As Python's own; an integer that stands for many, as in the body of a loop, gives one that does."""

    _own = int
    __match_args__ = ("real",)


# -- type and super ----------------------------------------------------------------------------
class _TypeType(type):
    """The metaclass of the ``type`` of adopted code."""

    _redirect: Redirect

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._kind_of(args[0]) if len(args) == 1 else type(*args, **kwargs)

    def _kind_of(cls, value: Any) -> Any:
        """The type of a value; that of a traced one is the type of the number or the array it stands for."""
        kind = stand_ins(value)[-1] if is_traced(value) else type(value)
        if issubclass(kind, type | ObjectArray | TracedFloat) or is_class_of_views(kind):
            kind = original_class(kind)  # of a metaclass, and of a class of views alone
        kind = (
            type(value._funcgrad_original) if kind in _OF_STANDARD else _CONTAINERS.get(kind, kind)
        )
        kind = vars(kind).get("_funcgrad_stands_for", kind)  # one of pandas or xarray
        return cls if kind is type else cls._redirect(kind)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, type)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, type)

    def __eq__(cls, other: object) -> bool:
        return other is cls or other is type

    def __hash__(cls) -> int:
        return hash(type)


_CONTAINERS: Mapping[type, type] = {
    ListView: list,
    DictView: dict,
    SetView: set,
    DequeView: deque,
    NamespaceView: SimpleNamespace,
    ObjectArray: np.ndarray,
    HeldObjects: np.ndarray,
}
_OF_STANDARD = (StandardDictView, CounterView, ReferenceView, WeakDictView, WeakSetView)
"""Views that have the class of their original."""


def _type_name(redirect: Redirect) -> Any:
    """The ``type`` of adopted code."""
    doc = "As Python's own; the type of a traced value is that of the number or the array that it stands for."
    return _TypeType(
        "type",
        (type,),
        {"__doc__": doc, "__module__": "builtins", "_redirect": staticmethod(redirect)},
    )


class _SuperType(type):
    """The metaclass of `super_`."""

    def __call__(cls, *args: Any) -> Any:
        if not args:
            frame = sys._getframe(1)
            args = frame.f_locals["__class__"], frame.f_locals[frame.f_code.co_varnames[0]]
        kind, *first = args
        return super(base_of_traced(original_class(kind), *first), *first)


class super_(metaclass=_SuperType):  # noqa: N801
    """As Python's own, between the original classes: the adopted ones follow them in the order of methods."""


_OWN_TYPES: Mapping[Any, Any] = {float_: float, complex_: complex, int_: int, super_: super}
for _type, _named_as in _OWN_TYPES.items():
    _type.__name__ = _type.__qualname__ = _named_as.__name__
    _type.__module__ = "builtins"
# (The ``type`` of adopted code is equal to Python's.)
_AS_BASES = {**_OWN_TYPES, float_: AdoptedFloat, type: type}


@wraps(builtins.__build_class__)
def build_class(function: Any, name: str, *bases: Any, **kwargs: Any) -> Any:
    """A class statement: a class that is derived from ``float`` is derived from Python's own."""
    of_enum = any([isinstance(base, EnumType) for base in bases])
    known = {**_AS_BASES, float_: float} if of_enum else _AS_BASES
    own = [known.get(base, base) if isinstance(base, type) else base for base in bases]
    if "metaclass" in kwargs:
        kwargs["metaclass"] = _AS_BASES.get(kwargs["metaclass"], kwargs["metaclass"])
    metas = [kwargs.get("metaclass", type), *[type(b) for b in own if isinstance(b, type)]]
    is_adopted = any([isinstance(base, AdoptedType) for base in own])
    if is_adopted and all([isinstance(meta, type) for meta in metas]):
        kwargs["metaclass"] = joint_metaclass(tuple(dict.fromkeys(metas)))
    return builtins.__build_class__(function, name, *own, **kwargs)


# -- functions ---------------------------------------------------------------------------------
def _import_name(redirect: Redirect) -> Callable[..., Any]:
    """The ``__import__`` of adopted code."""

    @wraps(builtins.__import__)
    def import_(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        if isinstance(globals, StoringGlobals):
            globals = globals.shared
        if isinstance(globals, AdoptedGlobals):
            globals = globals.original
        return redirect(builtins.__import__(name, globals, locals, fromlist, level))

    return import_


_OF_CLASSES = (SubclassedArray, TracedFloat)
"""The bases of instances that stand for those of users' classes."""


@wraps(isinstance)
def isinstance_(value: Any, kinds: Any) -> bool:
    kind: Any = type(value)
    if kind is Expr:
        given = value.type
        kind = _ARRAY if given.shape else given.dtype.type
        if kind in _OTHERS_THAN_PYTHONS and is_numpys_number(value):
            kind = _OTHERS_THAN_PYTHONS[kind]
    elif isinstance(value, _OF_CLASSES):
        kinds = _originals(kinds)
        return any([issubclass(original_class(base), kinds) for base in kind.__mro__])
    elif kind is not MutableArray:
        if type(kinds) is not type:
            kinds = _known_originals(kinds) if type(kinds) is tuple else _originals(kinds)
        else:
            kinds = original_class(kinds)
        return isinstance(value, kinds)
    return _is_taken_for(kind, kinds, get_cache_token()) or any(
        [functions["redirect"](check)(asked, value) for asked, check in _with_own_check(kinds)]
    )


@lru_cache(maxsize=1024)
def _with_own_check(kinds: Any) -> tuple[tuple[type, FunctionType], ...]:
    """The classes whose metaclass, in code that is adopted, says which instances they have."""
    originals = _originals(kinds)
    found: list[tuple[type, FunctionType]] = []
    for kind in originals if isinstance(originals, tuple) else (originals,):
        if isinstance(kind, tuple):
            found += _with_own_check(kind)
            continue
        check = type(kind).__instancecheck__
        if type(check) is FunctionType and not is_kept(check.__module__):
            found.append((kind, check))
    return tuple(found)


_ARRAY = "an array"
_OTHERS_THAN_PYTHONS = {np.int64: "an integer of NumPy's", np.bool_: "a truth value of NumPy's"}
"""The types of NumPy's that are not subclasses of Python's."""
_TAKEN_FOR: Mapping[Any, tuple[type, ...]] = {
    **_NUMBERS,
    MutableArray: _ARRAYS,
    _ARRAY: _ARRAYS,
    **{name: (kind,) for kind, name in _OTHERS_THAN_PYTHONS.items()},
}


def _has_instances_in(own: type, kinds: Any) -> bool:
    """Whether instances of a class of arrays or numbers are instances of some classes."""
    try:
        return issubclass(own, kinds)
    except TypeError:  # of a protocol with attributes: whether an instance has them is asked
        return isinstance(np.zeros(1) if own is np.ndarray else own(), kinds)


@lru_cache(maxsize=1024)
def _is_taken_for(kind: Any, kinds: Any, _: object) -> bool:
    """Whether a traced value, an array or of a type of numbers, is taken for an instance of some classes.

    The last argument is another one once a class has been registered with an abstract one.
    """
    originals = kinds if type(kinds) is type else _originals(kinds)
    if any([_has_instances_in(own, originals) for own in _TAKEN_FOR.get(kind, (kind,))]):
        return True
    # Its own type counts if it is asked for by name.
    own = MutableArray if kind is MutableArray else Expr
    return own in originals if isinstance(originals, tuple) else own is originals


@wraps(issubclass)
def issubclass_(kind: Any, kinds: Any) -> bool:
    # A traced float counts as NumPy's, which is one of Python's, too; an int is Python's alone.
    return issubclass(int if kind is int_ else original_class(kind), _originals(kinds))


def _originals(kinds: Any) -> Any:
    """Classes of adopted code as a second argument of `isinstance`."""
    if isinstance(kinds, _NumberType):
        return _own(kinds)
    if isinstance(kinds, tuple | UnionType):
        parts = kinds if isinstance(kinds, tuple) else kinds.__args__
        return tuple([_originals(kind) for kind in parts])
    return original_class(kinds)


_known_originals = lru_cache(maxsize=1024)(_originals)


@wraps(hasattr)
def hasattr_(value: Any, name: str) -> bool:
    if is_traced(value) and name.startswith("__"):
        # Code for the array API asks for the type next, which is that of a Python number.
        kind = stand_ins(value)[-1 if name == "__array_namespace__" else 0]
        # A class is called, its instance not.
        return any([name in vars(base) for base in kind.__mro__])
    return hasattr(value, name) and not (name in _OF_NODES and is_traced(value))


@wraps(getattr)
def getattr_(value: object, name: str, *default: object) -> Any:
    if name in OF_SEQUENCES and is_traced(value) and not hasattr_(value, name):
        return getattr(0.0, name, *default)
    return getattr(value, name, *default)


class _Extreme:
    """`min` or `max`: in one program for many numbers, a choice, without a question to Python.

    It is equal to Python's own, as which a table may hold it.
    """

    def __init__(self, own: Callable[..., Any], is_before: Callable[[Any, Any], Any]) -> None:
        self._own, self._is_before = own, is_before
        update_wrapper(self, own)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        items = [*args[0]] if len(args) == 1 else args
        if kwargs or Expr not in set(map(type, items)) or not _are_open_numbers(items):
            return self._own(items, **kwargs) if len(args) == 1 else self._own(*args, **kwargs)
        found = items[0]
        for item in items[1:]:
            found = where(self._is_before(item, found), item, found)
        return found

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._own

    def __hash__(self) -> int:
        return hash(self._own)

    def __repr__(self) -> str:
        return repr(self._own)


def _are_open_numbers(items: Sequence[Any]) -> bool:
    """Whether items are numbers, one of them with other values in other runs of one program."""
    return not any(map(np.ndim, items)) and any([_is_open(item) for item in items])


def _is_open(value: Any) -> bool:
    if type(value) is not Expr or value.dtype.kind not in "fiu" or value.traced is None:
        return False
    return value.traced.records or not has_known_value(value)


max_, min_ = _Extreme(max, operator.gt), _Extreme(min, operator.lt)


_OF_NODES = frozenset(dir(Expr)).difference(dir(np.ndarray), dir(float), dir(int), ["at"])
"""Attributes that an expression has as a node, and a number or an array has not."""


@wraps(callable)
def callable_(value: Any) -> bool:
    return not is_traced(value) and callable(value)


@wraps(dir)
def dir_(*args: object) -> list[str]:
    if not args:
        return sorted(sys._getframe(1).f_locals)
    names = dir(*args)
    hidden = attributes_of_others(args[0])
    return [name for name in names if name not in hidden] if hidden else names


@wraps(id)
def id_(value: object) -> int:
    return id(original_of_view(value))  # as code that is not adopted has noted it


def _vars_name(redirect: Redirect) -> Callable[..., Any]:
    """The ``vars`` of adopted code."""

    @wraps(vars)
    def vars_(*args: object) -> Any:
        if not args:
            return sys._getframe(1).f_locals
        if isinstance(args[0], type):
            return attributes_of_class(args[0])
        space = vars(args[0].original if isinstance(args[0], ModuleView) else args[0])
        return redirect(space) if type(space) is dict else space

    return vars_


def builtin_names(redirect: Redirect) -> Mapping[str, Any]:
    """The stand-ins for built-in names in adopted code, whose values `redirect` replaces."""
    return MappingProxyType(
        {
            "__build_class__": build_class,
            "__import__": _import_name(redirect),
            "callable": callable_,
            "complex": complex_,
            "dir": dir_,
            "float": float_,
            "getattr": getattr_,
            "hasattr": hasattr_,
            "id": id_,
            "int": int_,
            "isinstance": isinstance_,
            "issubclass": issubclass_,
            "max": max_,
            "min": min_,
            "super": super_,
            "type": _type_name(redirect),
            "vars": _vars_name(redirect),
        }
    )
