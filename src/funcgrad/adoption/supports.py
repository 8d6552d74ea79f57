"""Which functions of NumPy, SciPy and the standard library take traced values."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from funcgrad.adoption.namespaces import replacements
from funcgrad.expr import operation_table
from funcgrad.expr.registry import stand_in_of
from funcgrad.numpy.array_likes import ArrayFunction, Ufunc
from funcgrad.ops.numpy.by_value import is_answered_by_value
from funcgrad.source import fail


def supports(function: Callable[..., Any] | str) -> bool:
    """Whether traced values may enter a function of NumPy, SciPy, `math`, `cmath` or `statistics`.

    ``function`` is the function, or its name with that of its module. True if it is differentiated, or
    known to have derivative zero: functions of NumPy and ufuncs of `scipy.special` in any code, all
    others, and functions that make new arrays, in adopted code. An argument of such a function may still be
    unsupported, which is an error where it is given.

    Raises TypeError if ``function`` is neither a function nor text, and ValueError if there is no function of
    that name.

    >>> import math
    >>> import numpy as np
    >>> supports(np.sinc), supports(math.sin), supports("np.linalg.svd"), supports("np.einsum_path")
    (True, True, True, False)
    """
    if isinstance(function, str):
        function = _named(function)
    if not callable(function):
        raise fail(
            TypeError,
            f"supports: expected a function or its name, but got {type(function).__name__}; write "
            'supports(np.sin) or supports("np.sin")',
        )
    if isinstance(function, ArrayFunction):
        function = function.__wrapped__
    if isinstance(function, np.ufunc) and stand_in_of(function) is not None:
        return True
    known = replacements().get(id(function))
    if known is not None and type(known[1]) not in (ArrayFunction, Ufunc):
        return True
    try:
        return function in operation_table.numpy or is_answered_by_value(function)
    except TypeError:  # it has no hash
        return False


def _named(name: str) -> Any:
    """The function with this name: of the longest part that is a module's, the attribute."""
    home, _, attribute = name.rpartition(".")
    home = "numpy" + home[2:] if home == "np" or home.startswith("np.") else home
    try:
        return getattr(import_module(home), attribute)
    except (ImportError, AttributeError, ValueError):
        raise fail(
            ValueError,
            f'supports: expected the name of a function with its module, such as "np.sin", but got {name!r}',
        ) from None
