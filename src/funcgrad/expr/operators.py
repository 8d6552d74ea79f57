"""Operators, array methods and NumPy's protocols: how expressions are written like numbers and arrays.

Each method looks its operation up in the table of operations, by NumPy's name.
"""

from __future__ import annotations

import operator as python
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any, ClassVar, Never

import numpy as np

from funcgrad.expr.at import At
from funcgrad.expr.concrete import (
    assignment,
    concrete,
    concrete_value,
    has_known_value,
    has_plain_array,
    in_place_operator,
    kept_for_users,
)
from funcgrad.expr.division_errors import raise_if_by_zero
from funcgrad.expr.operator_dispatch import (
    REFLECTED,
    goes_first,
    has_own_operators,
    is_array_beside,
    leaves_to_number,
    overrides_ufuncs,
)
from funcgrad.expr.output_argument import with_out_by_name
from funcgrad.expr.plain_numbers import remedy
from funcgrad.expr.registry import functions, stand_in_of
from funcgrad.expr.reported_class import is_handed_pythons, is_numpys_number
from funcgrad.source import BUT_LABELS, USERS, type_error, with_name
from funcgrad.typing import ArrayLike, DTypeLike, Index


def _function(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: object) -> Any:
        return functions[name](self, *args, **kwargs)

    return with_name(method, name, f"As the ``numpy.{name}`` of the expression.")


def _method(name: str) -> Callable[..., Any]:
    """The method of arrays that NumPy has as a function, too, with its arguments in the same order."""
    function = getattr(np, name)

    def method(self: Any, *args: object, **kwargs: object) -> Any:
        return functions["apply_numpy"](function, (self, *args), kwargs)

    return with_name(method, name, f"As the ``numpy.{name}`` of the expression.")


def _operator(
    name: str, *, reflected: bool = False, divides: bool = False
) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: ArrayLike) -> Any:
        x, y = (other, self) if reflected else (self, other)
        is_known = reflected or type(other) in _NUMBERS or type(other) is type(self)
        if not is_known and (leaves_to_number(self, other, name) or goes_first(other, name)):
            return NotImplemented
        try:
            made = functions[name](x, y)
            if divides:
                raise_if_by_zero(self, other, y)
            return _beside(made, sys._getframe(1)) if type(other) in _ARRAY_LIKES else made
        except TypeError:
            if name == "subtract" and all([type(v) is bool or _is_truth_value(v) for v in (x, y)]):
                # As of Python's; NumPy has no difference of them.
                return functions[name](*[functions["multiply"](1, v) for v in (x, y)])
            found = functions["with_labels"](functions[name], x, y)
            if found is not NotImplemented:
                return found
            if hasattr(other, "_funcgrad_own_operators"):
                # An array, and a float of Python's, leave an operator to the class; NumPy's scalars do not.
                is_numpys = not self.shape and is_numpys_number(self)
                return getattr(np, name)(x, y) if is_numpys else NotImplemented
            if overrides_ufuncs(other):
                if self.shape or is_numpys_number(self):
                    return getattr(np, name)(x, y)
                if not reflected:
                    return NotImplemented
            if is_array_beside(self, other, name):
                array = functions["array_beside"](other)
                return functions[name](*((array, self) if reflected else (self, array)))
            if reflected or not has_own_operators(other, self, name):
                raise
            if is_handed_pythons(other, self):
                return getattr(other, REFLECTED[name])(functions["as_pythons"](self))
            return NotImplemented

    return with_name(operator, name)


def _of_truth(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A sign, which NumPy has for numbers alone, and Python for its truth values, too."""

    def sign(self: Any) -> Any:
        return function(1 * self if _is_truth_value(self) else self)

    return with_name(sign, function.__name__, function.__doc__)


_NUMBERS = frozenset({int, float, complex, bool, np.float64, np.ndarray, list, tuple})
_AS_ARRAY = "write np.atleast_1d(x) for an array of one entry"


def _rounded(value: Any) -> int:
    return round(float(value))


def _in_place(symbol: str) -> Callable[[Any, object], Any]:
    """The operator that changes an array in NumPy, where other names for the array would see the change."""

    def operator(self: Any, other: object) -> Any:
        if self.traced and self.type.shape:
            raise kept_for_users(self, in_place_operator(symbol))
        return NotImplemented  # Python computes the value and binds the name to it

    return operator


def _beside(made: ArrayLike, caller: FrameType) -> Any:
    """What an operation on a plain array gives its caller: in adopted code, an array that can be written."""
    return functions["as_in_adopted_code"](made, caller)


_ARRAY_LIKES = (np.ndarray, list, tuple)


_add, _reflected_add = _operator("add"), _operator("add", reflected=True)
_multiply, _reflected_multiply = _operator("multiply"), _operator("multiply", reflected=True)
_power, _reflected_power = _operator("power"), _operator("power", reflected=True)


def _repeats(number: ArrayLike, sequence: object) -> bool:
    """Whether a product repeats a sequence: it gives way to Python, which asks for the index by itself."""
    return isinstance(sequence, _SEQUENCES) and _is_traced_integer(number)


_SEQUENCES = (list, tuple, str, bytes, bytearray)


def _is_traced_integer(x: ArrayLike) -> bool:
    expr: Any = x if isinstance(x, Operators) else None
    return expr is not None and bool(expr.traced) and not expr.shape and expr.dtype.kind in "biu"


def _takes_stores(item: Any) -> bool:
    """Whether an array can be written with traced values: one with a protocol of its own."""
    return hasattr(type(item), "__array_ufunc__") and not isinstance(item, _OPERANDS)


def _is_truth_value(x: Any) -> bool:
    """Whether x is an expression of one bool, which may stand for Python's or for NumPy's."""
    if not isinstance(x, Operators):
        return False
    kind: Any = x.type  # type: ignore[attr-defined]
    return kind.dtype is _BOOL and not kind.shape


_BOOL = np.dtype(bool)


def _is_boolean_array(x: Any) -> bool:
    return bool(x.dtype.kind == "b" and x.shape)


_ARRAY_POWERS = ((2, "square"), (-1, "reciprocal"), (0.5, "sqrt"))
"""What NumPy's arrays run for ``x ** n``: of complex numbers and float16, not what ``np.power`` does."""


_DTYPE_OF_SQUARED_BOOLEANS = (np.ones(1, bool) ** 2).dtype


def _base(x: Any, exponent: Any) -> Any:
    """The base of a power: an integer becomes a float under a negative exponent, as in Python.

    An array of booleans becomes one of int8 under the exponent 2, as in NumPy, where it is `numpy.square`
    since version 2.4.
    """
    if type(exponent) is int:
        if exponent == 2 and isinstance(x, Operators) and _is_boolean_array(x):
            return functions["astype"](x, _DTYPE_OF_SQUARED_BOOLEANS)
        return functions["astype"](x, float) if exponent < 0 and _is_traced_integer(x) else x
    if not _is_traced_integer(exponent) or not (type(x) is int or _is_traced_integer(x)):
        return x
    try:
        return functions["astype"](x, float) if exponent < 0 else x
    except TypeError:  # mapped, say: it has no value to ask for
        return x


def _typed(value: ArrayLike, source: object, beside: ArrayLike) -> Any:
    """An expression's value, with its dtype where it stands beside an array."""
    is_number = isinstance(source, Operators) and not isinstance(value, np.ndarray | np.generic)
    if is_number and isinstance(beside, np.ndarray | np.generic):
        return np.asarray(value)[()]
    return value


def _shift(
    name: str, ufunc: str, symbol: str, *, reflected: bool = False
) -> Callable[[Any, Any], Any]:
    """A shift of bits: of two numbers with known values by Python, whose integers have any number of bits."""
    function, applied = getattr(python, name), _operator(ufunc, reflected=reflected)

    def operator(self: Any, other: ArrayLike) -> Any:
        if not reflected and has_own_operators(other, self, name):
            return NotImplemented
        if not (_is_known_number(self) and _is_known_number(other)):
            return applied(self, other)
        x, y = concrete_value(self, symbol), concrete_value(other, symbol)
        x, y = _typed(x, self, y), _typed(y, other, x)
        return function(y, x) if reflected else function(x, y)

    return with_name(operator, name)


def _is_known_number(x: ArrayLike) -> bool:
    """Whether x is a number of Python's, or may be one, with a value."""
    expr: Any = x if isinstance(x, Operators) else None
    if expr is None:
        return not isinstance(x, np.generic) and not np.ndim(x)
    return not expr.shape and has_known_value(expr) and not is_numpys_number(expr)


class Operators:
    """The operators, array methods and ``numpy`` functions of expressions."""

    __slots__ = ()

    # NumPy's own arrays and scalars give way to an expression in their operators.
    __array_priority__: ClassVar[float] = 1000.0
    # So do the columns of pandas.
    __pandas_priority__: ClassVar[int] = 5000

    # -- arithmetic -------------------------------------------------------------------------------
    def __add__(self, other: ArrayLike) -> Any:
        if _is_truth_value(self) and (type(other) is bool or _is_truth_value(other)):
            raise type_error(
                "+: expected numbers, but got two truth values, whose sum is 2 in Python and True in NumPy; "
                "write 1*a + 1*b to count them, or a | b",
            )
        made = _add(self, other)
        return _beside(made, sys._getframe(1)) if type(other) in _ARRAY_LIKES else made

    def __radd__(self, other: ArrayLike) -> Any:
        kind = type(other)
        made = self + other if kind is bool else _reflected_add(self, other)
        return _beside(made, sys._getframe(1)) if kind in _ARRAY_LIKES else made

    __sub__ = _operator("subtract")
    __rsub__ = _operator("subtract", reflected=True)

    def __mul__(self, other: ArrayLike) -> Any:
        kind = type(other)
        if kind is not float and kind is not type(self) and _repeats(self, other):
            return NotImplemented
        made = _multiply(self, other)
        return _beside(made, sys._getframe(1)) if kind in _ARRAY_LIKES else made

    def __rmul__(self, other: ArrayLike) -> Any:
        if type(other) is not float and _repeats(self, other):
            return NotImplemented
        made = _reflected_multiply(self, other)
        return _beside(made, sys._getframe(1)) if type(other) in _ARRAY_LIKES else made

    __iadd__ = _in_place("+")
    __isub__ = _in_place("-")
    __imul__ = _in_place("*")
    __imatmul__ = _in_place("@")
    __itruediv__ = _in_place("/")
    __ifloordiv__ = _in_place("//")
    __imod__ = _in_place("%")
    __ipow__ = _in_place("**")
    __iand__ = _in_place("&")
    __ior__ = _in_place("|")
    __ixor__ = _in_place("^")
    __ilshift__ = _in_place("<<")
    __irshift__ = _in_place(">>")
    __truediv__ = _operator("divide", divides=True)
    __rtruediv__ = _operator("divide", reflected=True, divides=True)
    __floordiv__ = _operator("floor_divide", divides=True)
    __rfloordiv__ = _operator("floor_divide", reflected=True, divides=True)
    __mod__ = _operator("remainder", divides=True)
    __rmod__ = _operator("remainder", reflected=True, divides=True)
    __divmod__ = _operator("divmod", divides=True)
    __rdivmod__ = _operator("divmod", reflected=True, divides=True)
    __matmul__ = _operator("matmul")
    __rmatmul__ = _operator("matmul", reflected=True)
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")
    __and__ = _operator("bitwise_and")
    __rand__ = _operator("bitwise_and", reflected=True)
    __or__ = _operator("bitwise_or")
    __ror__ = _operator("bitwise_or", reflected=True)
    __xor__ = _operator("bitwise_xor")
    __rxor__ = _operator("bitwise_xor", reflected=True)
    __lshift__ = _shift("lshift", "left_shift", "<<")
    __rlshift__ = _shift("lshift", "left_shift", "<<", reflected=True)
    __rshift__ = _shift("rshift", "right_shift", ">>")
    __rrshift__ = _shift("rshift", "right_shift", ">>", reflected=True)
    __neg__ = _of_truth(_function("negative"))
    __pos__ = _of_truth(_function("positive"))
    __abs__ = _function("absolute")
    __invert__ = _function("invert")

    def __pow__(self: Any, other: Any, modulus: object = None) -> Any:
        if modulus is not None:
            return pow(*[concrete_value(x, "pow()") for x in (self, other, modulus)])
        if self.shape and (self.dtype.kind == "c" or self.dtype == np.float16):
            for exponent, name in _ARRAY_POWERS:
                if type(other) is type(exponent) and other == exponent:
                    return functions[name](self)
        made = _power(_base(self, other), other)
        return _beside(made, sys._getframe(1)) if type(other) in _ARRAY_LIKES else made

    def __rpow__(self: Any, other: ArrayLike) -> Any:
        made = _reflected_power(self, _base(other, self))
        return _beside(made, sys._getframe(1)) if type(other) in _ARRAY_LIKES else made

    def __round__(self: Any, digits: int | None = None) -> Any:
        whole = self.astype(int) if self.dtype.kind == "b" and not self.shape else self
        found = functions["round"](whole, 0 if digits is None else digits)
        if digits is not None or self.shape or self.dtype.kind != "f":
            return found
        # A number that is rounded without digits is one of Python's integers, which no NaN has, and which may
        # be longer than those of programs.
        if has_known_value(self) and not abs(self) < 2.0**63:
            return concrete(self, "round()", _rounded)
        return functions["as_pythons"](found.astype(int))

    # -- array methods ----------------------------------------------------------------------------
    all = _method("all")
    any = _method("any")
    argmax = _method("argmax")
    argmin = _method("argmin")
    argpartition = _method("argpartition")
    argsort = _method("argsort")
    astype = _function("astype")
    choose = _method("choose")
    clip = _method("clip")
    cumprod = _method("cumprod")
    cumsum = _method("cumsum")
    diagonal = _method("diagonal")
    dot = _method("dot")
    flatten = _function("ravel")
    max = _method("max")
    mean = _method("mean")
    min = _method("min")
    nonzero = _method("nonzero")
    prod = _method("prod")
    ravel = _method("ravel")
    repeat = _method("repeat")
    round = _method("round")
    searchsorted = _method("searchsorted")
    squeeze = _method("squeeze")
    std = _method("std")
    sum = _method("sum")
    swapaxes = _method("swapaxes")
    take = _method("take")
    trace = _method("trace")
    var = _method("var")

    def copy(self, order: str = "C") -> Any:
        """The expression itself, since it never changes; in adopted code, an array that can be written."""
        return _beside(self, sys._getframe(1))

    def compress(self, condition: Any, axis: Any = None) -> Any:
        """The entries where a condition holds; as the function of NumPy's, with the arguments exchanged."""
        return functions["compress"](condition, self, axis)

    def reshape(self, *shape: int | tuple[int, ...], order: str = "C", copy: Any = None) -> Any:
        """The same entries in another shape; one length may be -1."""
        sizes = shape[0] if len(shape) == 1 else shape
        return self if sizes is None else functions["reshape"](self, sizes, order=order)

    def transpose(self, *axes: Any) -> Any:
        """The axes reversed, or in the order given."""
        given = axes[0] if len(axes) == 1 else axes or None
        return functions["transpose"](self, given)

    @property
    def T(self) -> Any:
        return functions["transpose"](self)

    @property
    def mT(self) -> Any:
        return functions["swapaxes"](self, -1, -2)

    @property
    def flat(self) -> Any:
        """The entries in C order, as a vector."""
        return functions["reshape"](self, -1)

    def conjugate(self: Any, *args: object, **kwargs: object) -> Any:
        """As `numpy.ndarray.conjugate`: an array of real numbers is itself."""
        if self.dtype.kind != "c" and not args and not kwargs:
            return self
        return functions["conjugate"](self, *args, **kwargs)

    conj = conjugate

    @property
    def real(self) -> Any:
        return functions["real"](self)

    @property
    def imag(self) -> Any:
        return functions["imag"](self)

    @property
    def at(self) -> At:
        """Functional update: ``x.at[i].set(v)``, ``add``, ``multiply``, ``min``, ``max`` and others."""
        return At(self)

    def __getitem__(self, index: Any) -> Any:
        return functions["getitem"](self, index)

    def __setitem__(self: Any, index: Index, value: object) -> Never:
        # Of a number, NumPy refuses it, too.
        raise kept_for_users(self, assignment()) if self.type.shape else assignment()

    def tolist(self: Any) -> Any:
        """Nested lists of the entries, each an expression with its derivative."""
        return [part.tolist() for part in self] if self.shape else functions["as_pythons"](self)

    def __len__(self: Any) -> int:
        if not self.shape:
            raise type_error(f"len(): expected an array, but got one number; {_AS_ARRAY}")
        return int(self.shape[0])

    def __iter__(self: Any) -> Iterator[Any]:
        if not self.shape:
            raise type_error(f"iter(): expected an array, but got one number; {_AS_ARRAY}")
        return map(self.__getitem__, range(self.shape[0]))

    def __contains__(self, item: ArrayLike) -> bool:
        return bool(functions["any"](self == item))

    def _sympy_(self) -> Never:
        """SymPy asks for its own kind of value, and would else try `float` and then iterate."""
        raise type_error(
            "sympy: expected a value of SymPy's or a number, but got an expression; write fg.var('x') for "
            "SymPy's symbol, or fg.to_sympy(e) for the expression",
            USERS,
        )

    # -- NumPy's protocols ------------------------------------------------------------------------
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            stand_in = stand_in_of(ufunc)
            if stand_in is not None:
                try:
                    made = stand_in(*inputs)
                    plain = np.ndarray in map(type, inputs)
                    return _beside(made, sys._getframe(1)) if plain else made
                except TypeError:
                    if any([hasattr(item, "_funcgrad_own_operators") for item in inputs]):
                        return NotImplemented
                    found = functions["with_labels"](stand_in, *inputs)
                    if found is NotImplemented and not any(map(overrides_ufuncs, inputs)):
                        raise
                    return found
        elif any(map(overrides_ufuncs, inputs)):
            return NotImplemented
        if any([_takes_stores(item) for item in kwargs.get("out", ())]):
            return NotImplemented
        return functions["apply_ufunc"](ufunc, method, inputs, kwargs)

    def __array_function__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        args, kwargs = with_out_by_name(func, args, kwargs)
        if kwargs and _takes_stores(kwargs.get("out")):
            return NotImplemented
        return functions["apply_numpy"](func, args, kwargs)

    def __array__(self: Any, dtype: DTypeLike | None = None, copy: bool | None = None) -> Any:
        if has_plain_array(self):
            return np.array(concrete_value(self, "an array"), dtype or self.dtype)
        if dtype is not None and np.dtype(dtype) == bool and self.traced and not self.shape:
            return np.array(bool(self))  # of ``np.bool_(x)``
        refusal = type_error(
            "array: expected numbers, but got an expression, and storing it in a NumPy array would cut its "
            f"gradient; {remedy(of_array=True) or (_INDEX if self.dtype.kind in 'biu' else _BUILD)}",
            BUT_LABELS,
        )
        raise kept_for_users(self, refusal)


_BUILD = "write np.stack([...]) for an array of expressions, or fg.adopt(f) for the function"
_INDEX = "write np.stack([...]) for an array of expressions, or fg.const(a)[i] to index an array"
_OPERANDS = (Operators, np.ndarray, np.generic)
