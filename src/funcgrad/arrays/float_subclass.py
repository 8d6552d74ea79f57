"""Instances of users' subclasses of ``float`` that hold a traced value.

Python keeps a plain number in an instance of such a class. `TracedFloat` is the base that takes the place
of ``float`` where the number is traced: what ``float`` does is done to the expression, and the result is
one of no class, as Python's is. `funcgrad.adoption.float_subclasses` makes the classes.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from copy import deepcopy
from math import ceil, floor, trunc
from sys import _getframe
from typing import Any

import numpy as np

from funcgrad.arrays.reference import Reference, plain_value
from funcgrad.expr import Expr
from funcgrad.expr.concrete import HOLDS_NUMBER
from funcgrad.expr.registry import functions
from funcgrad.expr.reported_class import reported_class_to
from funcgrad.expr.scope_order import next_in_order
from funcgrad.source import with_name

globals()[HOLDS_NUMBER] = True


class _TracedFloatType(type):
    """The metaclass of `TracedFloat`: each class is equal to itself alone, not to the user's class."""

    __eq__ = type.__eq__
    __hash__ = type.__hash__


class TracedFloat(Reference, metaclass=_TracedFloatType):
    """The base of classes that stand for subclasses of ``float``, for instances that hold an expression."""

    _funcgrad_class: type
    """The adopted class, which makes the instances."""

    __funcgrad_original__: type = float
    _funcgrad_number = float
    """The number of Python's for whose subclass the class stands."""

    @property  # type: ignore[misc]  # which is not to be set
    def __class__(self) -> Any:
        """For code that does not know such instances, the user's class."""
        return reported_class_to(self, _original_class, _getframe().f_back)

    @property
    def real(self) -> Any:
        return plain_value(self)

    @property
    def imag(self) -> Any:
        return plain_value(self).imag

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> Any:
        return getattr(ufunc, method)(*map(without_class, inputs), **kwargs)

    def __array_function__(
        self, func: Callable[..., Any], types: object, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        named = {name: numbers_of(item) for name, item in kwargs.items()}
        return func(*[numbers_of(item) for item in args], **named)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return plain_value(self).__array__(*args, **kwargs)

    def __copy__(self) -> Any:
        made = traced_float(type(self), plain_value(self))
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = traced_float(type(self), plain_value(self))
        memo[id(self)] = made
        vars(made).update(deepcopy(vars(self), memo))
        return made


def _original_class(value: TracedFloat) -> type:
    return type(value).__funcgrad_original__


def traced_float(kind: type[TracedFloat], value: Expr) -> Any:
    """An instance that holds an expression."""
    made: Any = object.__new__(kind)
    put = object.__setattr__  # past a method of the class
    put(made, "_funcgrad_value", value)
    put(made, "_funcgrad_state", None)
    put(made, "_funcgrad_birth", next_in_order())
    return made


def traced_part(value: Any) -> Any:
    """The expression of an instance that holds one; anything else as it is."""
    return plain_value(value) if isinstance(value, TracedFloat) else value


def without_class(value: Any) -> Any:
    """The expression that an instance holds; the number that another instance of such a class is, and
    anything else as it is."""
    if isinstance(value, TracedFloat):
        return plain_value(value)
    is_of_subclass = isinstance(value, float) and type(value) not in (float, np.float64)
    return float.__pos__(value) if is_of_subclass else value


def numbers_of(tree: Any) -> Any:
    """`without_class` for the items of nested lists and tuples."""
    if type(tree) is list or type(tree) is tuple:
        return type(tree)([numbers_of(item) for item in tree])
    return without_class(tree)


def _binary(name: str, function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    reflected = _REFLECTED.get(name, "")

    def operator(self: TracedFloat, other: Any) -> Any:
        if is_asked_first(other, self, reflected):
            return NotImplemented
        return function(plain_value(self), without_class(other))

    return with_name(operator, name)


def is_asked_first(value: Any, beside: Any, reflected: str) -> bool:
    """Whether Python asks an operand first: an instance of a subclass with an operator of its own."""
    if type(value) is float or not isinstance(value, float | TracedFloat):
        return False
    kind, own = map(functions["original_class"], (type(value), type(beside)))
    if kind is own or not issubclass(kind, own):
        return False
    return getattr(kind, reflected) is not getattr(own, reflected)


def _swapped(name: str, function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def operator(self: TracedFloat, other: Any) -> Any:
        return function(without_class(other), plain_value(self))

    return with_name(operator, name)


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: TracedFloat, *args: Any) -> Any:
        return function(plain_value(self), *args)

    return with_name(method, name)


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow")
_COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_REFLECTED = {f"__{name}__": f"__r{name}__" for name in _BINARY} | {
    f"__{name}__": f"__{other}__" for name, other in _COMPARISONS.items()
}
"""The operator that Python asks of the second operand, by that of the first."""
_UNARY: dict[str, Callable[..., Any]] = {
    **{f"__{name}__": getattr(python, name) for name in ("neg", "pos", "abs")},
    **{"__bool__": bool, "__int__": int, "__float__": float},
    **{"__round__": round, "__trunc__": trunc, "__floor__": floor, "__ceil__": ceil},
    **{"__hash__": hash, "__repr__": repr, "__format__": format},
}
for _name in (*_BINARY, *_COMPARISONS):
    _function = divmod if _name == "divmod" else getattr(python, _name)
    setattr(TracedFloat, f"__{_name}__", _binary(f"__{_name}__", _function))
    if _name in _BINARY:
        setattr(TracedFloat, f"__r{_name}__", _swapped(f"__r{_name}__", _function))
for _name, _function in _UNARY.items():
    setattr(TracedFloat, _name, _method(_name, _function))
for _name in ("as_integer_ratio", "conjugate", "hex", "is_integer"):
    setattr(TracedFloat, _name, _method(_name, python.methodcaller(_name)))
