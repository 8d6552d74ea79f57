"""The class by which a traced value answers ``isinstance(x, float)``, ``case float():`` and ``x.__class__``.

If the type of an object is not the class that is asked for, Python asks the object for ``__class__``, by
which proxies answer for what they stand for. Adoption gives the code that it reaches the answers of
numbers and arrays; other code of the user's, such as a method of an `Enum`'s member, would take another
branch in silence. So a traced value answers such code for the value that it stands for, and packages that
know expressions, funcgrad first of all, as what it is. ``type(x)`` asks no attribute: it is `Expr` for all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from funcgrad.expr.registry import functions
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


def class_of_value(expr: Any) -> type:
    """The class of the values of an expression: NumPy's array, a number of its, Python's int or bool."""
    given = expr.type
    kind: type = np.ndarray if given.shape else given.dtype.type
    if kind is np.int64:
        return kind if functions["is_numpy_integer"](expr) else int
    return bool if kind is np.bool_ else kind
