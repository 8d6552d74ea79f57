"""Values as a store takes them: NumPy's casts, which truncate floats to integers, and its broadcasting."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.arrays.reference import Reference, holds_expr, plain_value, unwrapped, with_items
from funcgrad.expr import Expr
from funcgrad.expr.concrete import concrete_value
from funcgrad.expr.registry import functions
from funcgrad.source import type_error, value_error, warn
from funcgrad.typing import Array, ArrayLike


def by_value(tree: object, asker: str) -> Any:
    """Nested lists, tuples and dicts, with values in the place of traced expressions."""
    if isinstance(tree, list | tuple):
        return with_items(tree, [by_value(item, asker) for item in tree])
    if isinstance(tree, dict):
        return {key: by_value(item, asker) for key, item in tree.items()}
    return concrete_value(unwrapped(tree), asker)


def unlabeled(value: Any) -> Any:
    """The values of a Series or a DataFrame that takes traced columns; anything else as it is."""
    return value.to_numpy() if hasattr(type(value), "_funcgrad_operators") else value


def labeled_as(made: Any, given: Iterable[Any]) -> Any:
    """An array into which a ufunc has stored, as pandas gives it: with the labels of an operand."""
    tables = [item for item in given if hasattr(type(item), "_funcgrad_operators")]
    if getattr(made, "shape", None) != tables[0].shape:
        return made
    return tables[0]._constructor(made, **tables[0]._construct_axes_dict(), copy=False)


def array_held_by(value: Any) -> Any:
    """What an instance of a user's class gives as its array, if that can hold expressions.

    NumPy asks for it as well, and takes its own arrays alone. Anything else is given back, such as the array
    of another library, which an operator refuses.
    """
    method = getattr(type(value), "__array__", None)
    if type(method) is not FunctionType or isinstance(value, Expr | Reference):
        return value
    if functions["remedy_of"](value) is not None:
        return value
    made = value.copy() if hasattr(value, "_funcgrad_flat") else method(value)
    return made if isinstance(made, Reference) else value


def number_held_by(value: Any, name: str = "__float__") -> Any:
    """What an instance of a user's class gives as its number, if that is traced; anything else as it is."""
    method = getattr(type(value), name, None)
    if type(method) is not FunctionType or isinstance(value, Expr | Reference):
        return value
    number = plain_value(method(value))
    return number if isinstance(number, Expr) else value


def fitted_value(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """A value as it is stored into entries of a shape and dtype: NumPy's cast, and its broadcasting."""
    value = converted(value, dtype)
    given = value.shape
    while len(given) > len(shape) and given[0] == 1:
        value = value.reshape(given[1:])
        given = given[1:]
    if given == shape:
        return value
    try:
        fits = np.broadcast_shapes(given, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise value_error(f"could not broadcast input array from shape {given} into shape {shape}")
    if isinstance(value, Expr):
        return functions["broadcast_to"](value, shape)
    return np.broadcast_to(value, shape)


def converted(value: ArrayLike, dtype: np.dtype[Any]) -> Any:
    """A value in another dtype as a store converts it: a float into integers is truncated."""
    if type(value) is not Expr and isinstance(value, list | tuple) and holds_expr(value):
        value = functions["array"](value)
    if not isinstance(value, Expr):
        stored: Array = np.empty(np.shape(value), dtype)
        stored[...] = value
        return stored[()] if stored.ndim == 0 else stored
    if value.dtype == dtype:
        return value
    if value.dtype.kind == "c" and dtype.kind != "c":
        if not value.shape:
            raise type_error(
                "item assignment: expected a real number, but got a complex one; write v.real, or make "
                "the array with dtype=complex",
            )
        warn(
            "Casting complex values to real discards the imaginary part",
            np.exceptions.ComplexWarning,
        )
        value = functions["real"](value)
    return functions["astype"](value, dtype)
