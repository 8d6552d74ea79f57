"""Operators of arrays that can be written: in place, they store into the cell that all its names share."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from funcgrad.arrays.reference import Reference, current, holds_expr, lent_value, unwrapped, wrapped
from funcgrad.arrays.selections import on_selections, selection_of
from funcgrad.arrays.values import array_held_by, unlabeled
from funcgrad.arrays.views import made_of
from funcgrad.expr import Expr
from funcgrad.expr.operator_dispatch import (
    goes_first,
    has_own_operators,
    is_array_beside,
    overrides_ufuncs,
)
from funcgrad.expr.registry import functions
from funcgrad.source import with_name


def _binary(
    name: str, function: Callable[..., Any], *, swapped: bool = False
) -> Callable[[Any, Any], Any]:
    """An operator: of expressions the operation of that name, of numbers Python's own."""

    def operator(self: Any, other: object) -> Any:
        # Written out for a cell that has not been viewed or written: this runs at every operation.
        state = self._funcgrad_state
        if state is not None and state.selection is not None and name != "matmul":
            made = on_selections(function, (other, self) if swapped else (self, other))
            if made is not None:
                return made
        x = self._funcgrad_value if state is None else current(self)
        kind = type(other)
        if kind is float or kind is int or kind is Expr:
            y = other
        elif isinstance(other, Reference):
            if selection_of(other) is not None and name != "matmul":
                made = on_selections(function, (other, self) if swapped else (self, other))
                if made is not None:
                    return made
            y = other._funcgrad_value if other._funcgrad_state is None else current(other)
            if type(x) is Expr and type(y) is not Expr:
                y = lent_value(other)
        elif other is None or kind is str:
            return wrapped(self, function(x, other))
        elif kind in _LISTS or (issubclass(kind, _LISTS) and not _has_own(other, name)):
            y = _operand(other)
        else:
            is_left = kind in _WITHOUT_OWN or (not swapped and goes_first(other, name))
            y = other if is_left else _of_class(other)
        if type(x) is Expr:
            if type(y) not in _WITHOUT_OWN:
                if overrides_ufuncs(y):
                    return getattr(np, name)(*((y, self) if swapped else (self, y)))
                if is_array_beside(x, y, name):
                    y = functions["array_beside"](y)
                elif not swapped and has_own_operators(y, x, name):
                    return NotImplemented
            made = functions[name](y, x) if swapped else functions[name](x, y)
        elif type(y) is Expr:
            x = lent_value(self)
            made = functions[name](y, x) if swapped else functions[name](x, y)
        else:
            return wrapped(self, function(y, x) if swapped else function(x, y))
        return made_of(self, made, () if name == "matmul" else (self, other))

    return with_name(operator, name)


_LISTS = (list, tuple)
_WITHOUT_OWN = (Expr, float, int, np.ndarray)
"""What a sparse matrix or a polynomial, whose operators go first, is not: most operands."""


def _has_own(value: object, name: str) -> bool:
    """Whether an array leaves an operator to an instance of a subclass of list or tuple."""
    return hasattr(type(value), "__array_ufunc__") or goes_first(value, name)


def _of_class(value: object) -> Any:
    """The array of an instance of a user's class that has one, unless operators are left to the class."""
    if overrides_ufuncs(value) or getattr(type(value), "__array_ufunc__", value) is None:
        return value
    made = array_held_by(value)
    return current(made) if isinstance(made, Reference) else made


def _operand(value: object) -> Any:
    """An operand of an operator: of a list that holds traced values, an array."""
    nested = isinstance(value, list | tuple) and holds_expr(value)
    return functions["array"](unwrapped(value)) if nested else value


def _on_values(function: Callable[..., Any], *, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """An operator that expressions have by other rules than those of the operation."""

    def operator(self: Any, other: object) -> Any:
        if selection_of(self) is not None or selection_of(other) is not None:
            made = on_selections(function, (other, self) if swapped else (self, other))
            if made is not None:
                return made
        x = current(self)
        y = current(other) if isinstance(other, Reference) else _operand(other)
        if type(x) is not Expr and type(y) is Expr:
            x = lent_value(self)
        elif type(y) is not Expr and y is not other and type(x) is Expr:
            y = lent_value(other)
        return made_of(self, function(y, x) if swapped else function(x, y), (self, other))

    return with_name(operator, function.__name__)


def _unary(name: str) -> Callable[[Any], Any]:
    function = getattr(python, name)

    def operator(self: Any) -> Any:
        if selection_of(self) is not None:
            return on_selections(function, (self,))
        return made_of(self, function(current(self)), (self,))

    return with_name(operator, f"__{name.strip('_')}__")


def _in_place(name: str, ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: object) -> Any:
        if type(other) not in _WITHOUT_OWN and goes_first(other, ufunc.__name__):
            return NotImplemented  # Python tries the operator that is not in place
        if type(other) not in _WITHOUT_OWN and is_array_beside(self, other, ufunc.__name__):
            other = functions["array_beside"](other)
        made = ufunc(self, array_held_by(unlabeled(other)), out=(self,))
        return made if overrides_ufuncs(other) else self

    return with_name(operator, name)


class ArrayOperators:
    """The operators, of numbers by NumPy and of expressions by theirs."""

    __slots__ = ()

    # NumPy's own arrays and scalars give way in their operators.
    __array_priority__: ClassVar[float] = 2000.0
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __divmod__(self: Any, other: object) -> Any:
        return self // other, self % other

    def __rdivmod__(self: Any, other: object) -> Any:
        return other // self, other % self

    def __imatmul__(self: Any, other: object) -> Any:
        self[...] = self @ other
        return self


_BINARY: dict[str, np.ufunc] = {
    "add": np.add,
    "and": np.bitwise_and,
    "divmod": np.divmod,
    "floordiv": np.floor_divide,
    "lshift": np.left_shift,
    "matmul": np.matmul,
    "mod": np.remainder,
    "mul": np.multiply,
    "or": np.bitwise_or,
    "pow": np.power,
    "rshift": np.right_shift,
    "sub": np.subtract,
    "truediv": np.true_divide,
    "xor": np.bitwise_xor,
}
_COMPARISONS: dict[str, np.ufunc] = {
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "ne": np.not_equal,
}
_UNARY: dict[str, np.ufunc] = {
    "abs": np.absolute,
    "invert": np.invert,
    "neg": np.negative,
    "pos": np.positive,
}
OPERATOR_UFUNCS: Mapping[str, tuple[np.ufunc, bool]] = {
    f"__{prefix}{name}__": (ufunc, prefix == "r")
    for name, ufunc in _BINARY.items()
    for prefix in ("", "r")
} | {f"__{name}__": (ufunc, False) for name, ufunc in (_COMPARISONS | _UNARY).items()}
"""The ufuncs that the operators of NumPy's array run, and whether the operands are swapped."""
REDUCTION_UFUNCS: Mapping[str, tuple[np.ufunc, bool]] = {
    "all": (np.logical_and, False),
    "any": (np.logical_or, False),
    "max": (np.maximum, False),
    "min": (np.minimum, False),
    "prod": (np.multiply, True),
    "sum": (np.add, True),
}
"""The ufuncs by which NumPy's array makes reductions, and whether the second argument is a dtype."""

_OF_VALUES = ("lshift", "pow", "rshift")


def _of_two(name: str, ufunc: np.ufunc, *, swapped: bool = False) -> Callable[[Any, Any], Any]:
    function = getattr(python, f"__{name}__")
    if name in _OF_VALUES:
        return _on_values(function, swapped=swapped)
    return _binary(ufunc.__name__, function, swapped=swapped)


for _name, _ufunc in _BINARY.items():
    if _name != "divmod":
        setattr(ArrayOperators, f"__{_name}__", _of_two(_name, _ufunc))
        setattr(ArrayOperators, f"__r{_name}__", _of_two(_name, _ufunc, swapped=True))
    if _name not in ("divmod", "matmul"):
        setattr(ArrayOperators, f"__i{_name}__", _in_place(f"__i{_name}__", _ufunc))
for _name, _ufunc in _COMPARISONS.items():
    setattr(ArrayOperators, f"__{_name}__", _of_two(_name, _ufunc))
for _name in _UNARY:
    setattr(ArrayOperators, f"__{_name}__", _unary(_name))
