"""Arrays that can be written, inside functions that are traced."""

from __future__ import annotations

import weakref
from sys import _getframe
from types import FrameType
from typing import Any

import numpy as np

from funcgrad.arrays.array_methods import ArrayMethods
from funcgrad.arrays.array_operators import ArrayOperators
from funcgrad.arrays.object_array import ObjectArray
from funcgrad.arrays.protocols import ArrayProtocols
from funcgrad.arrays.reference import MARK, Reference, current, note_export, state_of
from funcgrad.expr import Expr
from funcgrad.expr.other_libraries import OtherLibraries
from funcgrad.expr.registry import functions
from funcgrad.expr.reported_class import reported_class_to
from funcgrad.expr.scope_order import next_in_order


class MutableArray(ArrayOperators, ArrayMethods, ArrayProtocols, Reference, OtherLibraries):
    """An array that takes stores, and traced values in them: what ``funcgrad.numpy.zeros`` makes.

    It is a cell that holds an immutable value: NumPy's array, while all entries are numbers, and an
    expression after a traced value has been stored. Views are views, as NumPy's are, and the dtype is fixed.

    >>> import funcgrad as fg, funcgrad.numpy as np
    >>> def f(x):
    ...     a = np.zeros(3)
    ...     a[1:] = x
    ...     b = a[::-1]
    ...     b[0] *= x
    ...     return a.sum()
    >>> fg.value_and_grad(f)(3.0)
    (12.0, 7.0)
    """

    __slots__ = ("__weakref__",)

    @property
    def __class__(self) -> Any:
        """For code that does not know arrays that take stores, NumPy's array or a subclass of it."""
        return reported_class_to(self, _class_of_cell, _getframe().f_back)

    @__class__.setter
    def __class__(self, kind: type) -> None:  # NumPy's masked constant does in `__array_finalize__`
        vars(object)["__class__"].__set__(self, functions["redirect"](kind))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return functions["redirect"](np)

    def __reduce__(self) -> tuple[Any, ...]:
        return mutable, (current(self),)


def _class_of_cell(cell: object) -> type:
    kind: type = functions["original_class"](type(cell))
    return np.ndarray if kind is MutableArray else kind


def mutable(value: object, like: np.ndarray[Any, Any] | None = None) -> Any:
    """An array that can be written, with this value, laid out ``like`` another; a scalar as it is."""
    if isinstance(value, np.ndarray) or (type(value) is Expr and value.type.shape):
        cell = cell_of(value)
        if like is not None and cell is not value:
            state_of(cell).layout = like
        return cell
    return value


_NO_NUMBERS = "OSTUV"
"""The kinds of dtypes whose arrays are NumPy's own: an array of objects holds expressions as they are."""


def cell_of(value: Any) -> Any:
    """The cell of an array, of any number of axes: one of NumPy's is the cell's own from now on.

    An array of objects, text or records is NumPy's own, not a cell.
    """
    if value.dtype.kind in _NO_NUMBERS:
        return (
            value.view(ObjectArray)
            if type(value) is np.ndarray and value.dtype == object
            else value
        )
    cell = object.__new__(MutableArray)
    cell._funcgrad_value = value
    cell._funcgrad_state = None
    cell._funcgrad_birth = next_in_order()
    return cell


def as_in_adopted_code(value: object, caller: FrameType) -> Any:
    """A result as an array that can be written, if the code that asks for it is adopted."""
    return mutable(value) if MARK in caller.f_globals else value


def borrowed(array: np.ndarray[Any, Any]) -> Any:
    """The cell of an array that is another's: the first store copies it."""
    cell = cell_of(array)
    if isinstance(cell, MutableArray):
        state_of(cell).lent = True
    return cell


def shared_argument(value: object) -> Any:
    """An array of code that is not adopted, as an adopted function is given it; anything else as it is.

    The caller sees what is stored: numbers reach its array, and a store of a traced value is refused. An
    expression of the caller is an array that is read alone.
    """
    if type(value) is np.ndarray:
        cell = cell_of(value)
        if cell is not value:
            note_export(cell, weakref.ref(value))
            state_of(cell).is_outer = True
        return cell
    if type(value) is not Expr or not value.type.shape:
        return value
    like = np.empty(value.type.shape, value.type.dtype)
    like.flags.writeable = False
    return mutable(value, like)
