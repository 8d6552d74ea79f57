"""Which functions of NumPy, SciPy and the standard library take traced values."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import cache
from importlib import resources
from pkgutil import resolve_name
from types import MethodType
from typing import Any

import numpy as np

from funcgrad.adoption.namespaces import is_of_masked_arrays
from funcgrad.adoption.replacements import replacements
from funcgrad.expr.registry import complete, operation_table, stand_in_of
from funcgrad.numpy.array_likes import ArrayFunction, Ufunc
from funcgrad.ops.numpy.by_value import is_answered_by_value
from funcgrad.source import type_error, value_error
from funcgrad.transforms.grad import stop_gradient


def supports(function: Callable[..., Any] | str) -> bool:
    """Whether traced values may enter a function of NumPy, SciPy, `math`, `cmath`
    or `statistics`.

    ``function`` is the function, or its name with that of its module. True if
    it is differentiated, or known to have derivative zero, in functions that
    are traced. Functions of NumPy and SciPy have been measured:
    docs/support.md has the table. An argument of such a function may
    still be unsupported, which is an error where it is given. A method of a
    distribution of `scipy.stats` is answered as the distribution. Functions of
    funcgrad's own take traced values: its operations, those of its modules
    ``numpy``, ``scipy`` and ``integrate``, and its control flow.

    Raises TypeError if ``function`` is neither a function nor text, and
    ValueError if there is no function of that name.

    >>> import math
    >>> import numpy as np
    >>> supports(np.sinc), supports(math.sin), supports(len)
    (True, True, False)
    >>> supports("np.linalg.svd")
    True
    """
    name = ""
    if isinstance(function, str):
        name, function = _with_module(function), _named(function)
    if isinstance(function, ArrayFunction):
        function = function.__wrapped__
    if type(function) is MethodType and _home(function.__self__) == "scipy.stats":
        owner: Any = function.__self__
        function = getattr(owner, "dist", getattr(owner, "_dist", owner))  # of a frozen one
    for known_as in (name, _name(function)):
        if known_as in _measurements():
            return _measurements()[known_as][1] != "refused"
    if not callable(function):
        raise type_error(
            f"supports: expected a function or its name, but got {type(function).__name__}; write "
            'supports(np.sin) or supports("np.sin")',
        )
    if isinstance(function, np.ufunc) and stand_in_of(function) is not None:
        return True
    if f"{_home(function)}.".startswith(_OWN) or function is stop_gradient:
        return True
    known = replacements().get(id(function))
    if known is not None and type(known[1]) not in (ArrayFunction, Ufunc):
        return True
    complete()
    try:
        return function in operation_table.numpy or is_answered_by_value(function)
    except TypeError:  # it has no hash
        return False


_OWN = (
    *("funcgrad.ops.", "funcgrad.numpy.", "funcgrad.scipy.", "funcgrad.integrate."),
    "funcgrad.transforms.control_flow.",
)
"""Packages of funcgrad whose functions are of traced values."""


@cache
def _measurements() -> dict[str, list[str]]:
    """What was measured of the functions of NumPy and SciPy (docs/support.md), by full name.

    Of each, the call, the kind (differentiable, constant or refused), where it works (any code, or functions
    that are traced), and y or n for the value, forward mode, reverse mode, second order, jit and vmap.
    """
    table: dict[str, list[str]] = json.loads(
        resources.files("funcgrad.adoption").joinpath("support.json").read_text("utf-8")
    )
    return table


def _name(function: Any) -> str:
    """The full name of a function, such as ``numpy.linalg.svd``."""
    if isinstance(function, np.ufunc):
        home = "numpy" if getattr(np, function.__name__, None) is function else "scipy.special"
    else:
        home = _home(function)
    own = getattr(function, "__name__", None)
    if own is None and home in sys.modules:  # a distribution, or that of a frozen one, a copy
        items = vars(sys.modules[home]).items()
        own = next((name for name, item in items if type(item) is type(function)), "")
    return f"{home}.{own}"


def _home(function: object) -> str:
    """The public module of a function: SciPy defines its own in private modules of that."""
    home = str(getattr(function, "__module__", "")).partition("._")[0]
    return "numpy.ma" if is_of_masked_arrays(home) else home


def _with_module(name: str) -> str:
    return f"numpy{name[2:]}" if name.startswith("np.") else name


def _named(name: str) -> Any:
    """The function with this name."""
    try:
        return resolve_name(_with_module(name))
    except (ImportError, AttributeError, ValueError):
        raise value_error(
            f'supports: expected the name of a function with its module, such as "np.sin", but got {name!r}',
        ) from None
