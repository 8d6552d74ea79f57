"""Classes that derive from ``float``, in adopted code: their instances may hold a traced value.

`AdoptedFloat` takes the place of ``float`` among the bases of the adopted class. Where the number of a new
instance is traced, the instance is one of a class beside the adopted one, with the same methods, over
`TracedFloat`; Python's ``float`` could hold a plain number alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import FunctionType, MemberDescriptorType
from typing import Any

from funcgrad.adoption.adopted_types import ORIGINAL, AdoptedType, joint_metaclass, original_class
from funcgrad.arrays.float_subclass import TracedFloat, is_asked_first, traced_float, without_class
from funcgrad.arrays.reference import Reference
from funcgrad.expr import Expr
from funcgrad.expr.registry import functions


class _FloatType(AdoptedType):
    """The metaclass of adopted classes that derive from ``float``."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = super().__call__(*args, **kwargs)
        kind: Any = type(made)
        if not issubclass(kind, TracedFloat) or kind.__init__ is object.__init__:
            return made
        if issubclass(kind._funcgrad_class, self):  # Python calls it of instances of the class
            kind.__init__(made, *args, **kwargs)
        return made

    @property
    def _funcgrad_traced(self) -> Any:
        """The class of the instances that hold a traced value."""
        if _TRACED not in vars(self):
            type.__setattr__(self, _TRACED, _traced_class(self))
        return vars(self)[_TRACED]


_TRACED = "__funcgrad_traced__"


class AdoptedFloat(float, metaclass=_FloatType):
    """The ``float`` that adopted classes derive from."""

    __slots__ = ()

    def __new__(cls: Any, value: Any = 0.0, /, **named: Any) -> Any:
        if named and cls.__init__ is object.__init__:  # Python leaves them to a class's own
            raise TypeError(f"{cls.__name__}() takes no keyword arguments")
        cls, number = functions["redirect"](cls), functions["redirect"](float)(value)
        if original_class(cls) is float:
            return number
        if type(number) is not Expr or not isinstance(cls, _FloatType):
            return float.__new__(cls, number)
        return traced_float(cls._funcgrad_traced, number)


def _taking_traced(
    own: Callable[..., Any], function: Callable[[Any, Any], Any], reflected: str
) -> Any:
    """An operator of ``float``, as ``super().__add__(x)`` calls it, that takes traced values."""

    def method(self: float, other: object) -> Any:
        if isinstance(other, Expr | Reference):
            if reflected and is_asked_first(other, self, reflected):
                return NotImplemented
            return function(float.__pos__(self), without_class(other))
        return own(self, other)

    method.__name__ = method.__qualname__ = own.__name__
    return method


def _swapped(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: function(y, x)


def _define(name: str) -> None:
    function = divmod if name == "divmod" else getattr(operator, name)
    normal, reflected = f"__{name}__", f"__r{name}__"
    for full, own in ((normal, function), (reflected, _swapped(function))):
        made = _taking_traced(getattr(float, full), own, reflected if full == normal else "")
        type.__setattr__(AdoptedFloat, full, made)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow"):
    _define(_name)
type.__setattr__(AdoptedFloat, ORIGINAL, float)
AdoptedFloat.__name__ = AdoptedFloat.__qualname__ = "float"
AdoptedFloat.__module__ = "builtins"


def _traced_class(cls: Any) -> Any:
    """The class beside an adopted one, over `TracedFloat`: its methods are those of the adopted class."""
    kind = original_class(cls)
    space: dict[str, Any] = {}
    for name, member in vars(kind).items():
        seen = vars(cls).get(name, member)
        if name in _OF_INSTANCES or type(member) is MemberDescriptorType:
            continue  # values of slots are attributes
        if isinstance(seen, classmethod):
            seen = _OfClass(seen)
        elif name[:2] != "__" and not hasattr(type(seen), "__get__"):
            seen = _ClassAttribute(name)
        space[name] = seen
    space |= {ORIGINAL: kind, "_funcgrad_class": cls}
    bases = tuple([_traced_base(base) for base in kind.__bases__])
    metas = tuple(dict.fromkeys((type(TracedFloat), *map(type, bases))))
    return joint_metaclass(metas)(kind.__name__, bases, space)


_OF_INSTANCES = frozenset(
    ("__new__", "__slots__", "__dict__", "__weakref__", "__init_subclass__", "__reduce__")
) | {"__reduce_ex__", "__getnewargs__", "__getnewargs_ex__", "__class_getitem__"}
"""What the adopted class has for itself: how instances and subclasses are made."""


def _traced_base(base: Any) -> Any:
    seen = functions["redirect"](base)
    if not issubclass(base, float):
        return seen if isinstance(seen, type) else base
    return TracedFloat if original_class(base) is float else seen._funcgrad_traced


class _OfClass:
    """A class method, which is given the adopted class."""

    def __init__(self, member: Any) -> None:
        self._member = member

    def __get__(self, instance: object, owner: Any) -> Any:
        return self._member.__get__(None, owner._funcgrad_class)


class _ClassAttribute:
    """An attribute of the adopted class, as it is now."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: Any) -> Any:
        return getattr(owner._funcgrad_class, self._name)


def base_of_traced(kind: Any, *first: Any) -> Any:
    """The class from which ``super`` starts for an instance: of one that holds a traced value, that over
    `TracedFloat`."""
    of = type(first[0]) if first else object  # whose `__getattribute__` may call this `super`
    for base in of.__mro__ if issubclass(of, TracedFloat) else ():
        if vars(base).get(ORIGINAL) is kind and issubclass(base, TracedFloat):
            return base
    return kind


def is_of_traced_float(method: FunctionType) -> bool:
    """Whether a method is what ``float`` itself does with a traced value."""
    return vars(TracedFloat).get(method.__name__) is method
