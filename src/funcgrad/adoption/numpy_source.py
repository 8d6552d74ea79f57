"""NumPy's own Python code on traced values: for its functions that are made of others.

`numpy.unwrap`, `numpy.insert`, `numpy.polymul`, ... are programs over other functions of NumPy. Their code is
adopted, so that all of their arguments mean what they mean to NumPy, and nothing has to be written again.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from funcgrad.adoption.redirect import redirect
from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import plain_value, with_items


def run_source(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the code of a function of NumPy's gives for traced values; NotImplemented if it is not Python's.

    >>> import numpy as np
    >>> from funcgrad import grad
    >>> grad(lambda x: np.poly(x)[-1])(np.array([2.0, 3.0]))
    array([3., 2.])
    """
    source = getattr(func, "__wrapped__", None)
    if not isinstance(source, FunctionType) or func.__module__ == "numpy.linalg":
        return NotImplemented  # those of linalg call LAPACK, not other functions
    if "_wrapfunc" in source.__code__.co_names:
        return NotImplemented  # it calls the method, which is made of the function
    return _mapped(
        plain_value, redirect(source)(*_mapped(mutable, args), **_mapped(mutable, kwargs))
    )


def _mapped(change: Any, tree: Any) -> Any:
    """Nested lists, tuples and dicts with the change of each item."""
    if isinstance(tree, dict):
        return {key: _mapped(change, item) for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        return with_items(tree, [_mapped(change, item) for item in tree])
    return change(tree)
