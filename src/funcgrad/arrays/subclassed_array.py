"""Subclasses of NumPy's array, over arrays that take stores.

NumPy's Python code of a subclass, such as that of `numpy.ma.MaskedArray`, runs over `SubclassedArray` in the
place of `numpy.ndarray`. An instance is always a view of an array without a class, as it is made by NumPy's
``view``; what `numpy.ndarray` does is done to that array, and the result is given the class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from types import FunctionType, MemberDescriptorType
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy._core import _methods

from funcgrad.arrays.array_methods import ArrayMethods
from funcgrad.arrays.array_operators import OPERATOR_UFUNCS, REDUCTION_UFUNCS, ArrayOperators
from funcgrad.arrays.lens import IndexLens
from funcgrad.arrays.mutable_array import MutableArray, cell_of, mutable
from funcgrad.arrays.object_array import OVER_OBJECTS, ObjectArray
from funcgrad.arrays.reference import (
    Reference,
    State,
    current,
    export,
    holds_expr,
    layout_of,
    view_of,
    with_each_replaced,
    with_items,
)
from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value
from funcgrad.expr.operator_dispatch import REFLECTED
from funcgrad.expr.registry import functions
from funcgrad.source import type_error


class _SubclassType(type):
    """The metaclass of `SubclassedArray`, by which adopted code knows classes that stand for NumPy's.

    Each class is equal to itself alone, also where a base is an adopted class, which is equal to its
    original, since operations remember what they do with arguments of a class.
    """

    __eq__ = type.__eq__
    __hash__ = type.__hash__


class SubclassedArray(MutableArray, metaclass=_SubclassType):
    """The base of classes that NumPy's Python code derives from `numpy.ndarray`."""

    __funcgrad_original__ = np.ndarray
    _funcgrad_own_operators = True

    def __new__(
        cls,
        shape: int | Sequence[int],
        dtype: npt.DTypeLike = float,
        buffer: object = None,
        offset: int = 0,
        strides: Sequence[int] | None = None,
        order: Literal["C", "F"] | None = None,
    ) -> Any:
        if offset or strides is not None:
            raise type_error(
                f"{cls.__name__}: expected a shape, a dtype and an order; write np.ndarray for an array over "
                "parts of a buffer",
            )
        if buffer is None and np.dtype(dtype) == object and hasattr(cls, OVER_OBJECTS):
            return np.ndarray.__new__(getattr(cls, OVER_OBJECTS)(), shape, dtype, order=order)
        if buffer is None:
            made = mutable(np.ndarray(shape, dtype, order=order))
        else:
            made = mutable(buffer).reshape(shape, order=order or "C")
        _check_holds_numbers(cls, made)
        return cls._funcgrad_of_view(MutableArray.view(plain(made)), None)

    def __array_finalize__(self, obj: object) -> None:
        pass

    @classmethod
    def _funcgrad_of_view(cls, view: Reference, array: object) -> Any:
        """An array without a class, a view of another array, as an instance of this class."""
        if cls is SubclassedArray:
            return view
        if isinstance(view, ObjectArray):
            return view.view(cls)
        _check_holds_numbers(cls, view)
        found = _as_class(cls, view)
        if type(array) is MutableArray:  # whose class its code asks for
            array = _as_class(SubclassedArray, array)
        found.__array_finalize__(array)
        return found

    def _funcgrad_like(self, array: object) -> Any:
        """An array as an instance of this class, which is made from this one."""
        return self._funcgrad_of_view(MutableArray.view(plain(array)), self)

    def view(self, dtype: npt.DTypeLike | None = None, type: type | None = None) -> Any:
        return _viewed(self, dtype, type)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> Any:
        ufunc = _numpys_function(ufunc)
        if method == "at":
            return getattr(ufunc, method)(*plain(inputs), **kwargs)
        if method == "__call__" and not kwargs and type(inputs[0]) is np.ndarray:
            # An operator of NumPy's array, most likely, which would leave it to this class's.
            name = REFLECTED.get(ufunc.__name__, "")
            reflected: Any = getattr(type(self), name, None)
            if reflected is not getattr(SubclassedArray, name, None) and len(inputs) == 2:
                return reflected(self, inputs[0])
        out = kwargs.get("out")
        if isinstance(out, tuple) and any([isinstance(item, SubclassedArray) for item in out]):
            kwargs["out"] = tuple([plain(item) for item in out])
        made = getattr(ufunc, method)(*plain(inputs), **plain(kwargs))
        own = [item for item in inputs if isinstance(item, SubclassedArray)]
        if not own:
            return out[0] if isinstance(out, tuple) and not isinstance(made, tuple) else made
        first = max(own, key=lambda item: item.__array_priority__)
        if method != "__call__":
            return first.__array_wrap__(_as_array(made))
        several = made if isinstance(made, tuple) else (made,)
        targets = out if isinstance(out, tuple) else (None,) * len(several)
        found = [
            first.__array_wrap__(_as_array(y) if target is None else target, (ufunc, inputs, i))
            if target is None or isinstance(target, SubclassedArray)
            else target
            for i, (y, target) in enumerate(zip(several, targets, strict=True))
        ]
        return tuple(found) if isinstance(made, tuple) else found[0]

    def __array_wrap__(
        self, array: Any, context: object = None, return_scalar: bool = False
    ) -> Any:
        return self._funcgrad_like(_as_array(array))

    def _funcgrad_of_operation(self, made: object, operands: tuple[Any, ...]) -> Any:
        """The result of an operation that NumPy has as no ufunc, as that of a ufunc of SciPy's."""
        return self.__array_wrap__(_as_array(made), (_OfSciPy(len(operands)), operands, 0))

    def _funcgrad_of_data(self, made: object) -> Any:
        """The result of a function of NumPy's that reads the data alone."""
        return mutable(made)

    def _funcgrad_without_class(self) -> Any:
        return plain(self)

    def _funcgrad_arrays(self) -> list[Any]:
        """The arrays that this one consists of."""
        return [plain(self)]

    def _funcgrad_as_numpys(self) -> Any:
        """This array as an instance of the original class; of traced values, with those at this call."""
        own = plain(self)
        values = (
            np.asarray(concrete_value(current(own), "str()")) if holds_expr(own) else export(own)
        )
        return with_attributes(values.view(self.__funcgrad_original__), vars(self))

    def __array_function__(
        self, func: Callable[..., Any], types: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        func = _numpys_function(func)
        if func in _OF_MATRICES:
            return self._funcgrad_of_matrix(func(*plain(args), **plain(kwargs)), _OF_MATRICES[func])
        of_rows = func is np.unique and kwargs.get("axis") is not None  # which reads their bytes
        on_data = of_rows or func in _ON_DATA
        source = None if on_data else getattr(func, "__wrapped__", None)
        if isinstance(source, FunctionType):
            return functions["redirect"](source)(*args, **kwargs)
        if func is np.concatenate:  # which NumPy's own code gives the defaults, too
            kwargs = {k: v for k, v in kwargs.items() if v is not None and v != "same_kind"}
        made = func(*plain(args), **plain(kwargs))
        is_array = isinstance(made, Reference | np.ndarray)
        if func is np.broadcast_arrays and kwargs.get("subok"):
            return tuple([_of_class(a, y) for a, y in zip(args, made, strict=True)])
        return _viewed(made, None, self.__class__) if is_array and func in _OF_SUBCLASS else made

    def _funcgrad_of_matrix(self, made: Any, have_class: tuple[bool, ...]) -> Any:
        """The results of a function of `numpy.linalg`, of which some have this class, as NumPy gives it."""
        if not isinstance(made, tuple):  # the first one, or the singular values alone
            return self.__array_wrap__(made) if have_class[0] and np.ndim(made) > 1 else made
        parts = zip(made, have_class, strict=True)
        return with_items(made, [self.__array_wrap__(y) if has else y for y, has in parts])

    def __getitem__(self, index: object) -> Any:
        return _of_class(self, plain(self)[plain(index)])

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __setitem__(self, index: object, value: object) -> None:
        plain(self)[plain(index)] = plain(value)


def _numpys_function(stand_in: object) -> Any:
    """The function of NumPy's that a stand-in, which a subclass has been given, stands for."""
    function: Any = stand_in
    while not isinstance(function, np.ufunc | type(np.sum)) and hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def attributes_of(array: npt.NDArray[Any]) -> dict[str, Any]:
    """The attributes of an instance of a subclass of NumPy's array, also those in slots."""
    names = [
        name
        for base in type(array).__mro__
        for name, member in vars(base).items()
        if type(member) is MemberDescriptorType and hasattr(array, name)
    ]
    return {**{name: getattr(array, name) for name in names}, **getattr(array, "__dict__", {})}


def with_attributes(array: Any, space: Mapping[str, Any]) -> Any:
    """The instance itself, with these attributes."""
    for name, value in space.items():
        if type(getattr(type(array), name, None)) is MemberDescriptorType:  # a slot
            setattr(array, name, value)
        else:
            vars(array)[name] = value
    return array


def has_own_arithmetic(kind: type) -> bool:
    """Whether a subclass of NumPy's array has operators, or an answer to NumPy's functions, of its own.

    >>> has_own_arithmetic(np.memmap), has_own_arithmetic(np.matrix)
    (False, True)
    """
    own = kind.__mro__[: kind.__mro__.index(np.ndarray)]
    return any([not _ARITHMETIC.isdisjoint(vars(base)) for base in own])


class _OfSciPy(NamedTuple):
    """The attributes that a subclass reads of a ufunc that it does not know."""

    nin: int


_OF_MATRICES: Mapping[Any, tuple[bool, ...]] = {
    np.linalg.cholesky: (True,),
    np.linalg.qr: (True, True),
    np.linalg.svd: (True, False, True),
    np.linalg.eigh: (False, True),
    np.linalg.eigvalsh: (False,),
}
"""Functions in Python over compiled code that has no rule, and which of their results have the class."""
_ARITHMETIC = frozenset(("__array_function__", "__array_ufunc__", *OPERATOR_UFUNCS))
_ON_DATA = frozenset(
    {
        *(np.broadcast_arrays, np.broadcast_to, np.convolve, np.correlate, np.einsum, np.interp),
        *(np.count_nonzero, np.cross, np.nanpercentile, np.nanquantile, np.percentile, np.quantile),
        np.place,
    }
)
"""Functions in Python that hand the data to compiled code."""
_OF_SUBCLASS = frozenset({np.concatenate, np.dot, np.inner})
"""Compiled functions whose results have the class of their operands."""


_OF_THE_CELL = frozenset(("__len__", "_set_shape", "resize", "setflags"))


def plain(tree: object) -> Any:
    """The array without a class in the place of each, in tuples, lists and dicts."""
    if isinstance(tree, SubclassedArray):
        return _as_class(MutableArray, tree)
    return with_each_replaced(plain, tree) if type(tree) in (tuple, list, dict) else tree


def _check_holds_numbers(kind: type, array: Any) -> None:
    """Refuse an array whose entries are no numbers, such as a structured one, as an instance of a class."""
    if not isinstance(array, Reference):
        raise type_error(
            f"{kind.__name__}: expected an array of numbers, since instances of subclasses hold traced "
            f"values in no other, but got one of dtype {array.dtype}; write a plain array for each field",
        )


def _as_class(kind: type, cell: Reference) -> Any:
    """Another name for a view: an instance of a class."""
    made: Any = object.__new__(kind)
    own, state = cell._funcgrad_state, State()
    if own is None or own.base is None:  # without entries, which nothing shares
        own = view_of(cell, IndexLens(..., ...))._funcgrad_state
    state.base, state.lens, state.layout, state.epoch = own.base, own.lens, own.layout, own.epoch
    made._funcgrad_value, made._funcgrad_state, made._funcgrad_birth = (
        cell._funcgrad_value,
        state,
        cell._funcgrad_birth,
    )
    return made


def _viewed(array: object, dtype: Any, kind: Any) -> Any:
    """As ``numpy.ndarray.view``, of a dtype or a class."""
    if isinstance(dtype, type) and issubclass(dtype, np.ndarray | Reference):
        dtype, kind = None, dtype
    array = array if isinstance(array, Reference) else mutable(array)
    own = plain(array)
    made = MutableArray.view(own) if dtype is None else MutableArray.view(own, dtype)
    if kind is None or issubclass(kind, np.ndarray):
        kind = type(array) if kind is None else functions["redirect"](kind)
    return kind._funcgrad_of_view(made, array) if issubclass(kind, SubclassedArray) else made


def numpys_own(array: SubclassedArray) -> Any:
    """An array of numbers as an instance of the original class; one that holds traced values as it is."""
    return array if holds_expr(array._funcgrad_arrays()) else array._funcgrad_as_numpys()


def interface_of(array: Reference | npt.NDArray[Any]) -> Mapping[str, Any]:
    """``array.__array_interface__``, whose address tells views of the same entries."""
    shown = layout_of(array) if isinstance(array, Reference) else array
    return shown.__array_interface__


def view_of_value(value: object, *args: object) -> Any:
    """As the method ``view``; a number, traced or not, is itself, as NumPy makes one of the view again."""
    array = mutable(value)
    return array.view(*args) if isinstance(array, MutableArray | np.ndarray) else value


def _as_array(value: object) -> Any:
    """An array of no axes for a number, traced or not."""
    if isinstance(value, Reference):
        return value
    return cell_of(value if isinstance(value, Expr) else np.asarray(value))


def _of_class(cell: object, made: object) -> Any:
    return (
        cell._funcgrad_like(made)
        if isinstance(made, Reference) and hasattr(cell, "_funcgrad_like")
        else made
    )


# -- what numpy.ndarray does -----------------------------------------------------------------------
def _method(name: str) -> Callable[..., Any]:
    function = getattr(MutableArray, name)

    def method(self: object, *args: object, **kwargs: object) -> Any:
        return _of_class(self, function(plain(self), *plain(args), **plain(kwargs)))

    return update_wrapper(method, function)


def _place(name: str) -> Callable[..., Any]:
    function = getattr(MutableArray, name)

    def method(self: Any, *args: object, **kwargs: object) -> Any:
        made = function(plain(self), *plain(args), **plain(kwargs))
        found = self._funcgrad_like(_as_array(made))
        return found if found.ndim else made  # one of np.matrix has two axes

    return update_wrapper(method, function)


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(MutableArray, name)

    def operator(self: object, other: object) -> Any:
        function(plain(self), plain(other))
        return self

    return update_wrapper(operator, function)


def _by_ufunc(ufunc: np.ufunc, swapped: bool) -> Callable[..., Any]:
    def operator(self: Any, *others: object) -> Any:
        return ufunc(*others, self) if swapped else ufunc(self, *others)

    return operator


def _by_reduction(ufunc: np.ufunc, takes_dtype: bool) -> Callable[..., Any]:
    reduce: Callable[..., Any] = ufunc.reduce

    def method(self: object, axis: object = None, *args: object, **kwargs: object) -> Any:
        kwargs |= zip(("dtype", "out") if takes_dtype else ("out",), args, strict=False)
        return reduce(self, axis=axis, **kwargs)

    return method


def _by_source(name: str) -> Callable[..., Any]:
    source = vars(_methods)[name]

    def method(self: object, *args: object, **kwargs: object) -> Any:
        return functions["redirect"](source)(self, *args, **kwargs)

    return method


_REDUCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _by_reduction(*how) for name, how in REDUCTION_UFUNCS.items()},
    "mean": _by_source("_mean"),
    "std": _by_source("_std"),
    "var": _by_source("_var"),
}
"""Methods that NumPy makes of reductions by ufuncs, whose results have the class of the array."""


def _attribute(name: str) -> property:
    own: Any = getattr(MutableArray, name)

    def read(self: object) -> Any:
        return _of_class(self, own.fget(plain(self)))

    return property(read, own.fset, doc=own.__doc__)


for _home in (ArrayMethods, ArrayOperators):
    for _name, _member in vars(_home).items():
        if _name in vars(SubclassedArray) or _name in _OF_THE_CELL:
            continue
        if isinstance(_member, property):
            if _name in ("T", "mT", "real", "imag"):
                setattr(SubclassedArray, _name, _attribute(_name))
        elif _home is ArrayOperators and _name.startswith("__i") and _name not in OPERATOR_UFUNCS:
            setattr(SubclassedArray, _name, _in_place(_name))
        elif isinstance(_member, FunctionType) and _name in OPERATOR_UFUNCS:
            setattr(SubclassedArray, _name, _by_ufunc(*OPERATOR_UFUNCS[_name]))
        elif _name in _REDUCTIONS:
            setattr(SubclassedArray, _name, update_wrapper(_REDUCTIONS[_name], _member))
        elif isinstance(_member, FunctionType):
            made = _place(_name) if _name in ("argmax", "argmin", "trace") else _method(_name)
            setattr(SubclassedArray, _name, made)
