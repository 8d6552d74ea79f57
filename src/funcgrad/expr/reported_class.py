"""The class by which a traced value answers ``isinstance(x, float)``, ``case float():`` and ``x.__class__``.

If the type of an object is not the class that is asked for, Python asks the object for ``__class__``, by
which proxies answer for what they stand for. Adoption gives the code that it reaches the answers of
numbers and arrays; other code of the user's, such as a method of an `Enum`'s member, would take another
branch in silence. So a traced value answers such code for the value that it stands for, and packages that
know expressions, funcgrad first of all, as what it is. ``type(x)`` asks no attribute: it is `Expr` for all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import FrameType
from typing import Any

import numpy as np

from funcgrad.expr.node import set_numpys
from funcgrad.fold import folded
from funcgrad.unadopted_packages import is_kept

_FOR_USERS = frozenset(("functools", "numpy._core.numeric"))
"""Modules that ask for the user's code: of single dispatch, and of ``np.isscalar``."""
_KNOWING = frozenset(("fractions", "json.encoder"))
"""Modules of the standard library that leave other numbers than Python's to them, or to the user's code."""


class _Askers(dict[Any, bool | None]):
    """Whether the code of a module is told the class of the value, by its name; None: if its caller is."""

    def __missing__(self, name: object) -> bool | None:
        top = str(name).partition(".")[0]
        told: bool | None = name in _FOR_USERS or not (is_kept(name) or top == "numpy")
        if not told and top in sys.stdlib_module_names and name not in _KNOWING:
            told = None
        self[name] = told
        return told


_ASKERS = _Askers()


def reported_class_to(
    value: object, of_value: Callable[[Any], type], frame: FrameType | None
) -> type:
    """The class that a traced value reports to the code of a frame: that of its value, or its own type.

    ``of_value`` gives the former to plain code. Adopted code has the answer of its own ``type(x)``.
    """
    while frame is not None:
        told = _ASKERS[frame.f_globals.get("__name__")]
        if told is not None:
            own = dict.get(frame.f_builtins, "type", type) if told else type
            kind: type = of_value(value) if told and own is type else own(value)
            return kind
        frame = frame.f_back
    return type(value)


def is_numpys_number(expr: Any) -> bool:
    """Whether NumPy gives a number, as an entry of an array, a sum or an index, and what is computed of them.

    What the functions of `math` and ``float(x)`` give are numbers of Python's (`funcgrad.expr.as_pythons`).
    An answer is kept, so that code that asks for each number of a long chain walks over it once.
    """
    answer = getattr(expr, "_numpys", None)
    if answer is None:
        operands = _number_operands(expr)
        parts = [getattr(arg, "_numpys", None) for arg in operands]
        if None in parts:
            answer = folded([expr], _is_numpys, operands=_number_operands)[0]
        else:
            answer = _is_numpys(expr, parts)
    return bool(answer)


def _is_numpys(expr: Any, parts: Iterable[bool | None]) -> bool:
    known: bool | None = getattr(expr, "_numpys", None)
    if known is None:
        is_leaf = bool(dict(expr.params).get("numpy"))
        known = is_leaf or any(parts) or any([_leads_to_numpys(expr, arg) for arg in expr.args])
        set_numpys(expr, known)
    return known


def _leads_to_numpys(expr: Any, arg: Any) -> bool:
    """Whether an operand makes a number one of NumPy's: an array, and a float of which an integer is made."""
    return bool(arg.type.shape) or (expr.type.dtype.kind == "i" and arg.type.dtype.kind in "fc")


def _number_operands(expr: Any) -> tuple[Any, ...]:
    """The operands that are numbers, but not a condition that chooses one."""
    if hasattr(expr, "_numpys"):
        return ()
    numbers = [arg for arg in expr.args if not arg.type.shape]
    if len(numbers) < 2 or expr.type.dtype.kind == "b":
        return tuple(numbers)
    return tuple([arg for arg in numbers if arg.type.dtype.kind != "b"])


def is_handed_pythons(instance: object, number: Any) -> bool:
    """Whether NumPy hands a number of its own to an instance's operator as one of Python's.

    To NumPy's scalars, an instance of a class without one of its protocols is an array of one object.
    """
    kind = type(instance)
    is_object = not any([hasattr(kind, name) for name in _PROTOCOLS])
    return is_object and not number.shape and is_numpys_number(number)


_PROTOCOLS = ("__array__", "__array_ufunc__", "__array_priority__")


def class_of_value(expr: Any) -> type:
    """The class of the values of an expression: NumPy's array, a number of its, Python's int or bool."""
    given = expr.type
    kind: type = np.ndarray if given.shape else given.dtype.type
    if kind in _OF_PYTHON and not is_numpys_number(expr):
        return _OF_PYTHON[kind]
    return kind


_OF_PYTHON: Mapping[type, type] = {np.int64: int, np.bool_: bool}
"""Python's types that NumPy's own are no subclasses of."""
