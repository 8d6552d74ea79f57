"""The methods and attributes of NumPy's arrays, on arrays that can be written."""

from __future__ import annotations

import math
import operator as python
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from funcgrad.arrays.array_subscripts import get_item, set_item
from funcgrad.arrays.flat import FlatEntries
from funcgrad.arrays.lens import FunctionLens, PairsLens, are_pairs
from funcgrad.arrays.reference import (
    Reference,
    assign,
    cell_dtype,
    check_store,
    current,
    holds_expr,
    in_c_order,
    is_numeric,
    layout_of,
    lend,
    lengths_of,
    lent_value,
    note_export,
    sibling,
    state_of,
    unwrapped,
    view_of,
    wrapped,
    writable,
)
from funcgrad.arrays.selections import on_selections, selection_of
from funcgrad.arrays.values import array_held_by, by_value, unlabeled
from funcgrad.arrays.views import lay_out, made_of, viewed, zeros_in_place_of
from funcgrad.expr import Expr, const
from funcgrad.expr.at import At
from funcgrad.expr.concrete import concrete_value
from funcgrad.expr.output_argument import with_out_by_name
from funcgrad.expr.registry import functions
from funcgrad.graph import INPUT, subexpressions
from funcgrad.source import calls_method, type_error, value_error, with_name


def _called(name: str, array: object, args: Sequence[object], kwargs: dict[str, object]) -> Any:
    return getattr(array, name)(*args, **kwargs)


def _view_of_bytes(own: np.dtype[Any], other: np.dtype[Any]) -> str:
    """What to write for a view that would read the bytes of numbers in another way."""
    if other.names:
        instead = "np.unique(a, axis=0) for distinct rows, or an array for each field"
    else:
        instead = f"a.astype({other.name!r}) for the same numbers in another dtype"
    return (
        f"view: expected {own}, or complex numbers or their parts, but got {other}, as which the bytes of "
        f"traced values cannot be read; write {instead}"
    )


def _of_numbers(cell: Any, made: Any) -> Any:
    """An array that can be written in the place of an expression; its numbers, if it has no variables."""
    if type(made) is not Expr:
        return made
    has_variables = made.traced or any([node.op is INPUT for node in subexpressions(made)])
    value = made if has_variables else made()
    return wrapped(cell, value)


def _real_itself(name: str) -> Callable[..., Any]:
    """A method by which an array of real numbers is itself, and no copy."""
    of_complex = _method(name)

    def method(self: Any, *args: object, **kwargs: object) -> Any:
        if cell_dtype(self).kind == "c" or args or kwargs:
            return of_complex(self, *args, **kwargs)
        return self

    return with_name(method, name)


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: object, **kwargs: object) -> Any:
        if name in _OF_SELECTIONS and (selection_of(self) is not None or name == "nonzero"):
            return getattr(np, name)(self, *args, **kwargs)
        args = tuple([array_held_by(unlabeled(arg)) for arg in args])
        if len(args) > 1 and (of_numpy := getattr(np, name, None)) is not None:
            (_, *others), kwargs = with_out_by_name(of_numpy, (self, *args), kwargs)
            args = tuple(others)
        value = self._funcgrad_value if self._funcgrad_state is None else current(self)
        if type(value) is Expr and not args and not kwargs and name in functions:
            made = functions[name](value)
            return made_of(self, made, (self,), lambda: getattr(zeros_in_place_of(self), name)())
        if type(value) is not Expr:
            if (args or kwargs) and (
                isinstance(kwargs.get("out"), Reference) or holds_expr([args, kwargs])
            ):
                return _by_function(name, self, args, kwargs)
            return wrapped(self, getattr(value, name)(*unwrapped(args), **unwrapped(kwargs)))
        if kwargs.keys() & _OPTIONS or not hasattr(value, name):
            return _by_function(name, self, args, kwargs)
        lend([args, kwargs])
        made = wrapped(self, getattr(value, name)(*unwrapped(args), **unwrapped(kwargs)))
        if isinstance(made, Reference):
            again = (self, args, kwargs)
            lay_out(made, (self,), lambda: _called(name, *zeros_in_place_of(again)))
        return made

    return with_name(method, name, f"As ``numpy.ndarray.{name}``.")


def _by_function(name: str, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of NumPy's function of a method's name, which dispatches on its operands."""
    if name == "compress":  # its array comes second
        condition = args[0] if args else kwargs.pop("condition")
        return np.compress(condition, cell, *args[1:], **kwargs)
    return getattr(np, name)(cell, *args, **kwargs)


_OPTIONS = {"out", "where", "initial"}
_OF_SELECTIONS = {"clip", "mean", "nonzero", "prod", "round", "sum"}
"""Methods whose functions do not ask how many entries a mask chooses."""


def _view(name: str, function: Any = None) -> Callable[..., Any]:
    def method(self: Any, *args: object, **kwargs: object) -> Any:
        given, named = by_value(args, name), by_value(kwargs, name)
        if name in _SURE and not kwargs and not (name == "ravel" and args):  # an order
            value = current(self)
            if type(value) is Expr and (function is None or in_c_order(self)):
                lens = FunctionLens(lambda array: getattr(array, name)(*given), value.type.shape)
                return view_of(self, lens, read=getattr(value, name)(*given))
        return viewed(function, lambda values: getattr(values[0], name)(*given, **named), [self])

    return with_name(method, name, f"As ``numpy.ndarray.{name}``: a view where NumPy gives one.")


_SURE = {"ravel", "reshape", "squeeze", "swapaxes", "transpose"}
"""Views, if the entries stand in C order; without `diagonal`, which is not to be written."""


def _attribute(name: str, function: Any = None) -> property:
    def read(self: Any) -> Any:
        return viewed(function, lambda values: getattr(values[0], name), [self])

    return property(read, doc=f"As ``numpy.ndarray.{name}``: a view.")


def _part(name: str, function: Callable[..., Any]) -> property:
    def store(self: Any, value: object) -> None:
        if name == "imag" and self.dtype.kind != "c":
            raise type_error("array does not have imaginary part to set")
        getattr(self, name)[...] = value

    return _attribute(name, function).setter(store)


def _number(name: str, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        return convert(_single(self, name))

    return with_name(method, name)


def _single(cell: Reference, name: str) -> Any:
    """The one entry of an array, for Python's questions."""
    value = current(cell)
    if isinstance(value, np.ndarray) or not value.shape:
        return value
    if value.size != 1:
        if name == "__bool__":
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
            )
        raise TypeError("only length-1 arrays can be converted to Python scalars")
    return functions["reshape"](value, ())


class ArrayMethods:
    """What ``numpy.ndarray`` has."""

    __slots__ = ()

    # -- attributes -------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes; assigned to, the same entries in another shape."""
        return lengths_of(self)

    @shape.setter
    def shape(self: Any, shape: Any) -> None:
        state = state_of(self)
        current(self)
        state.selection = None
        if np.array_equal(shape, lengths_of(self)):
            return
        if state.viewed:
            raise type_error(
                "shape: expected an array without views, but it has some; write b = a.reshape(shape)",
            )
        like: Any = layout_of(self).view()
        if hasattr(like, "_set_shape"):
            like._set_shape(shape)
        else:  # before NumPy 2.5, which warns of an assignment
            like.shape = shape
        sizes = like.shape
        if state.base is None:
            self._funcgrad_value = current(self).reshape(sizes)
            state.layout = like
            return
        clone = object.__new__(type(self))
        clone._funcgrad_value, clone._funcgrad_state, clone._funcgrad_birth = (
            self._funcgrad_value,
            state,
            self._funcgrad_birth,
        )
        view = view_of(clone, FunctionLens(lambda a: a.reshape(sizes), clone.shape), like)
        self._funcgrad_value, self._funcgrad_state = view._funcgrad_value, view._funcgrad_state

    def _set_shape(self: Any, shape: Any) -> None:
        # As NumPy's own code assigns one since NumPy 2.5.
        self.shape = shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return cell_dtype(self)

    @property
    def ndim(self) -> int:
        selection = selection_of(self)
        if selection is not None:
            return selection.ndim
        return len(lengths_of(self))

    @property
    def size(self) -> int:
        size = 1
        for n in lengths_of(self):
            size *= n
        return size

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def device(self) -> str:
        """NumPy's only device."""
        return "cpu"

    @property
    def strides(self) -> tuple[int, ...]:
        return layout_of(self).strides

    @property
    def flags(self) -> Any:
        return layout_of(self).flags

    @property
    def base(self: Any) -> Any:
        """The array that this one is a view of."""
        return None if self._funcgrad_state is None else self._funcgrad_state.base

    @property
    def flat(self) -> Any:
        """The entries in C order, to read, to iterate over and to store to."""
        return FlatEntries(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        FlatEntries(self)[...] = value

    @property
    def T(self) -> Any:
        """The axes reversed: a view."""
        return self.transpose()

    @property
    def mT(self) -> Any:
        """The last two axes exchanged: a view."""
        return self.swapaxes(-1, -2)

    real = _part("real", np.real)
    imag = _part("imag", np.imag)

    @property
    def at(self) -> At:
        """Functional update, as of an expression; of plain numbers, an array of numbers."""
        return At(functions["array"](lent_value(self)), partial(_of_numbers, self))

    @property
    def data(self: Any) -> Any:
        """The buffer; of traced values a view, whose entries can be read and written, too."""
        return self.__array__().data if is_numeric(self) else self[...]

    @property
    def ctypes(self: Any) -> Any:
        return self.__array__().ctypes

    def __dlpack__(self: Any, **kwargs: Any) -> Any:
        """The capsule by which other libraries share an array of plain numbers."""
        return self.__array__().__dlpack__(**kwargs)

    def __dlpack_device__(self: Any) -> Any:
        return self.__array__().__dlpack_device__()

    # -- views ------------------------------------------------------------------------------------
    diagonal = _view("diagonal")
    ravel = _view("ravel", np.ravel)
    reshape = _view("reshape", np.reshape)
    squeeze = _view("squeeze")
    swapaxes = _view("swapaxes")
    transpose = _view("transpose")

    def view(self: Any, *args: Any, **kwargs: Any) -> Any:
        """The same array under another name; of another dtype, if it holds numbers."""
        if not args and not kwargs:
            return viewed(None, lambda values: values[0].view(), [self])
        for kind in (*args, *kwargs.values()):
            if isinstance(kind, type) and issubclass(kind, np.ndarray | Reference):
                found: Any = self.view(*[k for k in (*args, *kwargs.values()) if k is not kind])
                kind = functions["redirect"](kind)  # in plain code, the class itself
                return (
                    kind._funcgrad_of_view(found, self)
                    if hasattr(kind, "_funcgrad_of_view")
                    else found
                )
        (dtype,) = map(np.dtype, (*args, *kwargs.values()))
        if dtype == self.dtype:
            return self.view()
        if are_pairs(self.dtype, dtype):
            return view_of(self, PairsLens(dtype), layout_of(self).view(dtype))
        if holds_expr(self):
            raise type_error(_view_of_bytes(self.dtype, dtype))
        made = wrapped(self, self.__array__().view(dtype))
        if isinstance(made, Reference):
            # A traced value that is stored there would not reach this array.
            note_export(made, lambda: self)
        return made

    # -- what makes new arrays --------------------------------------------------------------------
    conj = _real_itself("conj")
    conjugate = _real_itself("conjugate")

    def astype(
        self: Any,
        dtype: Any,
        order: Any = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """A copy in another dtype."""
        if selection_of(self) is not None and copy and casting == "unsafe":
            return on_selections(lambda x: functions["astype"](x, dtype), (self,))
        dtype = np.dtype(dtype)  # of None, float64
        value = current(self)
        if not copy and value.dtype == np.dtype(dtype):
            return self
        if isinstance(value, np.ndarray):
            return sibling(self, value.astype(dtype, order, casting, subok, copy))
        if not np.can_cast(value.dtype, dtype, casting):
            raise type_error(
                f"astype: cannot cast from {value.dtype!r} to {np.dtype(dtype)!r} according to the rule "
                f"{casting!r}",
            )
        cast = functions["astype"](value, dtype)
        if not isinstance(cast, Expr):  # text, or objects
            return cast
        return _ordered(sibling(self, cast), self, order)

    def copy(self: Any, order: Any = "C") -> Any:
        """An array of its own with the same entries."""
        if selection_of(self) is not None:
            return on_selections(_itself, (self,))
        value = current(self)
        if isinstance(value, np.ndarray):
            return sibling(self, value.copy(order))
        return _ordered(sibling(self, value), self, order)

    def flatten(self: Any, order: Any = "C") -> Any:
        """A copy in one axis."""
        return self.copy(order).ravel(order)

    def tolist(self: Any) -> Any:
        """Nested lists of the entries."""
        return current(self).tolist()

    def item(self: Any, *args: Any) -> Any:
        """One entry, as a number of Python's where it is known."""
        value = current(self)
        if holds_expr(args):
            return const(lent_value(self)).item(*args)
        if isinstance(value, np.ndarray):
            return value.item(*args)
        if not args:
            return _single(self, "item").item()
        index = args[0] if len(args) == 1 else args
        return value[index].item() if isinstance(index, tuple) else value.reshape(-1)[index].item()

    def tobytes(self: Any, order: Any = "C") -> bytes:
        """The entries as bytes."""
        return bytes(_numbers(self, "tobytes").tobytes(order))

    def tofile(self: Any, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Write the entries to a file."""
        _numbers(self, "tofile").tofile(fid, sep, format)

    def dump(self: Any, file: Any) -> None:
        """Write a pickle of the array to a file."""
        _numbers(self, "dump").dump(file)

    def dumps(self: Any) -> bytes:
        """The pickle of the array as bytes."""
        return bytes(_numbers(self, "dumps").dumps())

    # -- what changes the array -------------------------------------------------------------------
    def __getitem__(self, index: Any) -> Any:
        return get_item(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        set_item(self, index, value)

    def fill(self, value: object) -> None:
        """Store a number into all entries."""
        self[...] = value

    def put(self: Any, indices: Any, values: Any, mode: Any = "raise") -> None:
        """As `numpy.put`."""
        np.put(self, indices, values, mode)

    def sort(self: Any, axis: int = -1, kind: Any = None, order: Any = None, **how: Any) -> None:
        """Sort the entries in place; ``stable`` and, since NumPy 2.5, ``descending`` by name."""
        buffer = writable(self)
        if buffer is not None:
            buffer.sort(axis, kind, order, **how)
        else:
            assign(self, functions["sort"](current(self), axis, kind, order, **how))

    def partition(
        self: Any, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None
    ) -> None:
        """Sort the entries as far as ``kth`` says: all of them, if they are traced."""
        buffer = writable(self)
        if buffer is not None:
            buffer.partition(kth, axis, kind, order)
        else:
            self.sort(axis)

    def resize(self: Any, *shape: Sequence[int] | int, refcheck: bool = True) -> None:
        """As `numpy.ndarray.resize`: new entries are 0. An array that is a view or has views is refused."""
        state = self._funcgrad_state
        is_shared = state is not None and (state.base is not None or state.viewed or state.exports)
        if is_shared or not layout_of(self).flags.c_contiguous:
            raise value_error(
                "resize: expected an array in C order without views, which would lose their base; write "
                "a = np.resize(a, shape), which repeats the entries, or np.pad or np.concatenate",
            )
        given = shape[0] if len(shape) == 1 else shape or None
        if given is None:
            return
        lengths = tuple(np.atleast_1d(given).tolist())
        if any(n < 0 for n in lengths):
            raise value_error(f"resize: expected lengths of at least 0, but got {lengths}")
        flat: Any = np.ravel(current(self))
        more = np.zeros(max(math.prod(lengths) - flat.size, 0), flat.dtype)
        joined = np.concatenate([flat[: math.prod(lengths)], more])
        check_store(self, joined)
        self._funcgrad_value, self._funcgrad_state = np.reshape(joined, lengths), None

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        """Forbid stores, or allow them again."""
        layout_of(self).setflags(write=write)

    # -- Python's questions -----------------------------------------------------------------------
    __bool__ = _number("__bool__", bool)
    __float__ = _number("__float__", float)
    __int__ = _number("__int__", int)
    __complex__ = _number("__complex__", complex)

    def __index__(self: Any) -> int:
        return python.index(current(self))

    def __len__(self) -> int:
        shape = lengths_of(self)
        if not shape:
            raise TypeError("len() of unsized object")
        if len(shape) > 1 and calls_method(sys._getframe(1), "shuffle"):
            # NumPy's generators would swap rows, of which one is a view of the other's place.
            raise type_error(
                "shuffle: expected an array of one axis, but got one of traced values with "
                f"{len(shape)}, whose rows NumPy swaps wrongly; write a[:] = a[rng.permutation(len(a))]",
            )
        return shape[0]

    def __iter__(self) -> Iterator[Any]:
        shape = lengths_of(self)
        if not shape:
            raise TypeError("iteration over a 0-d array")
        # One after the other, as they are asked for: `numpy.iterable` asks for none.
        return map(partial(get_item, self), range(shape[0]))

    def __contains__(self: Any, item: object) -> bool:
        return bool((self == item).any())

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Any:
        return self.copy()

    def __repr__(self: Any) -> str:
        return repr(current(self))

    def __str__(self: Any) -> str:
        return str(current(self))

    def __format__(self: Any, spec: str) -> str:
        return format(_single(self, "__format__") if self.size == 1 else current(self), spec)


_METHODS = (
    *("all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "compress"),
    *("cumprod", "cumsum", "dot", "max", "mean", "min", "nonzero", "prod", "repeat", "round"),
    *("searchsorted", "std", "sum", "take", "trace", "var"),
)
"""Those that make new arrays."""
for _name in _METHODS:
    setattr(ArrayMethods, _name, _method(_name))


def _itself(x: Expr) -> Expr:
    return x


def _ordered(made: Any, source: Any, order: Any) -> Any:
    """A copy laid out in an order."""
    if order == "F" or (order in "KA" and not is_numeric(made)):
        like = layout_of(source)
        if order == "F" or not like.flags.c_contiguous:
            dtype = made._funcgrad_value.dtype
            state_of(made).layout = lambda: np.empty_like(like, dtype, order)
    return made


def _numbers(array: Any, asker: str) -> Any:
    """The numbers of an array, of which bytes are made; refused for those that are differentiated."""
    value = current(array)
    if not isinstance(value, Expr):
        return value
    if functions["is_varied"](value):
        raise type_error(
            f"{asker}: expected numbers, but got traced values, which have no bytes: what is found by "
            "them, as in a cache, has no derivative; leave out the cache, or write "
            f"np.asarray(fg.stop_gradient(x)).{asker}() if a derivative of zero is meant",
        )
    return np.asarray(concrete_value(value, asker))
