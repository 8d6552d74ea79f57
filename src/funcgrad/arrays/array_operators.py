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
from funcgrad.expr.operators import has_own_operators, overrides_ufuncs
from funcgrad.expr.registry import functions


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
        elif kind is list or kind is tuple:
            y = _operand(other)
        else:
            y = other if kind in _WITHOUT_OWN else _of_class(other)
        if type(x) is Expr:
            if type(y) not in _WITHOUT_OWN:
                if overrides_ufuncs(y):
                    return getattr(np, name)(*((y, self) if swapped else (self, y)))
                if not swapped and has_own_operators(y, x, name):
                    return NotImplemented
            made = functions[name](y, x) if swapped else functions[name](x, y)
        elif type(y) is Expr:
            x = lent_value(self)
            made = functions[name](y, x) if swapped else functions[name](x, y)
        else:
            return wrapped(self, function(y, x) if swapped else function(x, y))
        return made_of(self, made, () if name == "matmul" else (self, other))

    operator.__name__ = operator.__qualname__ = name
    return operator


_WITHOUT_OWN = (Expr, float, int, np.ndarray)
"""What a sparse matrix or a polynomial, whose operators go first, is not: most operands."""


def _of_class(value: Any) -> Any:
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

    def operator(self: Any, other: Any) -> Any:
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

    operator.__name__ = operator.__qualname__ = function.__name__
    return operator


def _unary(name: str) -> Callable[[Any], Any]:
    function = getattr(python, name)

    def operator(self: Any) -> Any:
        if selection_of(self) is not None:
            return on_selections(function, (self,))
        return made_of(self, function(current(self)), (self,))

    operator.__name__ = operator.__qualname__ = f"__{name.strip('_')}__"
    return operator


def _in_place(name: str, ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: object) -> Any:
        ufunc(self, unlabeled(other), out=(self,))
        return self

    operator.__name__ = operator.__qualname__ = name
    return operator


class ArrayOperators:
    """The operators, of numbers by NumPy and of expressions by theirs."""

    __slots__ = ()

    # NumPy's own arrays and scalars give way in their operators.
    __array_priority__: ClassVar[float] = 2000.0
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    __add__ = _binary("add", python.add)
    __radd__ = _binary("add", python.add, swapped=True)
    __sub__ = _binary("subtract", python.sub)
    __rsub__ = _binary("subtract", python.sub, swapped=True)
    __mul__ = _binary("multiply", python.mul)
    __rmul__ = _binary("multiply", python.mul, swapped=True)
    __truediv__ = _binary("divide", python.truediv)
    __rtruediv__ = _binary("divide", python.truediv, swapped=True)
    __floordiv__ = _binary("floor_divide", python.floordiv)
    __rfloordiv__ = _binary("floor_divide", python.floordiv, swapped=True)
    __mod__ = _binary("remainder", python.mod)
    __rmod__ = _binary("remainder", python.mod, swapped=True)
    __matmul__ = _binary("matmul", python.matmul)
    __rmatmul__ = _binary("matmul", python.matmul, swapped=True)
    __pow__ = _on_values(python.pow)
    __rpow__ = _on_values(python.pow, swapped=True)
    __and__ = _binary("bitwise_and", python.and_)
    __rand__ = _binary("bitwise_and", python.and_, swapped=True)
    __or__ = _binary("bitwise_or", python.or_)
    __ror__ = _binary("bitwise_or", python.or_, swapped=True)
    __xor__ = _binary("bitwise_xor", python.xor)
    __rxor__ = _binary("bitwise_xor", python.xor, swapped=True)
    __lshift__ = _on_values(python.lshift)
    __rlshift__ = _on_values(python.lshift, swapped=True)
    __rshift__ = _on_values(python.rshift)
    __rrshift__ = _on_values(python.rshift, swapped=True)
    __lt__ = _binary("less", python.lt)
    __le__ = _binary("less_equal", python.le)
    __gt__ = _binary("greater", python.gt)
    __ge__ = _binary("greater_equal", python.ge)
    __eq__: Callable[[Any, object], Any] = _binary("equal", python.eq)
    __ne__: Callable[[Any, object], Any] = _binary("not_equal", python.ne)
    __neg__ = _unary("neg")
    __pos__ = _unary("pos")
    __abs__ = _unary("abs")
    __invert__ = _unary("invert")

    def __divmod__(self: Any, other: object) -> Any:
        return self // other, self % other

    def __rdivmod__(self: Any, other: object) -> Any:
        return other // self, other % self

    __iadd__ = _in_place("__iadd__", np.add)
    __isub__ = _in_place("__isub__", np.subtract)
    __imul__ = _in_place("__imul__", np.multiply)
    __itruediv__ = _in_place("__itruediv__", np.true_divide)
    __ifloordiv__ = _in_place("__ifloordiv__", np.floor_divide)
    __imod__ = _in_place("__imod__", np.remainder)
    __ipow__ = _in_place("__ipow__", np.power)
    __iand__ = _in_place("__iand__", np.bitwise_and)
    __ior__ = _in_place("__ior__", np.bitwise_or)
    __ixor__ = _in_place("__ixor__", np.bitwise_xor)
    __ilshift__ = _in_place("__ilshift__", np.left_shift)
    __irshift__ = _in_place("__irshift__", np.right_shift)

    def __imatmul__(self: Any, other: Any) -> Any:
        self[...] = self @ other
        return self


OPERATOR_UFUNCS: Mapping[str, tuple[np.ufunc, bool]] = {
    f"__{prefix}{name}__": (ufunc, prefix == "r")
    for name, ufunc in {
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
    }.items()
    for prefix in ("", "r")
} | {
    "__abs__": (np.absolute, False),
    "__eq__": (np.equal, False),
    "__ge__": (np.greater_equal, False),
    "__gt__": (np.greater, False),
    "__invert__": (np.invert, False),
    "__le__": (np.less_equal, False),
    "__lt__": (np.less, False),
    "__ne__": (np.not_equal, False),
    "__neg__": (np.negative, False),
    "__pos__": (np.positive, False),
}
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
