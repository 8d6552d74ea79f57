"""Operators of arrays that can be written: in place, they store into the cell that all its names share."""

from __future__ import annotations

import operator as python
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from funcgrad.arrays.reference import Reference, current, lent_value, sibling, wrapped
from funcgrad.arrays.views import lay_out
from funcgrad.expr import Expr


def _binary(name: str, *, swapped: bool = False) -> Callable[[Any, Any], Any]:
    function = getattr(python, name)

    def operator(self: Any, other: Any) -> Any:
        # Written out for a cell that has not been viewed or written: this runs at every operation.
        x = self._value if self._state is None else current(self)
        if isinstance(other, Reference):
            y = other._value if other._state is None else current(other)
        else:
            y = other
        if type(x) is not Expr and type(y) is Expr:
            x = lent_value(self)
        elif type(x) is Expr and isinstance(other, Reference) and type(y) is not Expr:
            y = lent_value(other)
        made = function(y, x) if swapped else function(x, y)
        if type(made) is Expr:
            shape = made.type.shape
            if not shape:
                return made
            found = sibling(self, made)
            if len(shape) > 1:
                lay_out(found, (self, other), True)
            return found
        return wrapped(self, made)

    operator.__name__ = operator.__qualname__ = f"__{name.strip('_')}__"
    return operator


def _unary(name: str) -> Callable[[Any], Any]:
    function = getattr(python, name)

    def operator(self: Any) -> Any:
        made = wrapped(self, function(current(self)))
        if isinstance(made, Reference):
            lay_out(made, (self,), True)
        return made

    operator.__name__ = operator.__qualname__ = f"__{name.strip('_')}__"
    return operator


def _in_place(name: str, ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        ufunc(self, other, out=(self,))
        return self

    operator.__name__ = operator.__qualname__ = name
    return operator


class ArrayOperators:
    """The operators, of numbers by NumPy and of expressions by theirs."""

    __slots__ = ()

    # NumPy's own arrays and scalars give way in their operators.
    __array_priority__: ClassVar[float] = 2000.0
    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    __add__ = _binary("add")
    __radd__ = _binary("add", swapped=True)
    __sub__ = _binary("sub")
    __rsub__ = _binary("sub", swapped=True)
    __mul__ = _binary("mul")
    __rmul__ = _binary("mul", swapped=True)
    __truediv__ = _binary("truediv")
    __rtruediv__ = _binary("truediv", swapped=True)
    __floordiv__ = _binary("floordiv")
    __rfloordiv__ = _binary("floordiv", swapped=True)
    __mod__ = _binary("mod")
    __rmod__ = _binary("mod", swapped=True)
    __matmul__ = _binary("matmul")
    __rmatmul__ = _binary("matmul", swapped=True)
    __pow__ = _binary("pow")
    __rpow__ = _binary("pow", swapped=True)
    __and__ = _binary("and_")
    __rand__ = _binary("and_", swapped=True)
    __or__ = _binary("or_")
    __ror__ = _binary("or_", swapped=True)
    __xor__ = _binary("xor")
    __rxor__ = _binary("xor", swapped=True)
    __lshift__ = _binary("lshift")
    __rlshift__ = _binary("lshift", swapped=True)
    __rshift__ = _binary("rshift")
    __rrshift__ = _binary("rshift", swapped=True)
    __lt__ = _binary("lt")
    __le__ = _binary("le")
    __gt__ = _binary("gt")
    __ge__ = _binary("ge")
    __eq__: Callable[[Any, object], Any] = _binary("eq")
    __ne__: Callable[[Any, object], Any] = _binary("ne")
    __neg__ = _unary("neg")
    __pos__ = _unary("pos")
    __abs__ = _unary("abs")
    __invert__ = _unary("invert")

    def __divmod__(self: Any, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self: Any, other: Any) -> Any:
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
