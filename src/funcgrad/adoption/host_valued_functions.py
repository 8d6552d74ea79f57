"""Adopted functions of NumPy and SciPy whose jitted values are the original functions' (`host_call`).

Derivatives read the adopted code. It asks for more values than it computes: NumPy's series of polynomials cut
zeros off, which is a question of each coefficient at an end. One guard stands for all questions.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from funcgrad.arrays.mutable_array import mutable
from funcgrad.arrays.reference import Reference, with_items
from funcgrad.expr import Expr
from funcgrad.expr.scope_order import next_in_order

_OF_SCIPY = frozenset(
    (
        *("black_tophat", "cdf2rdf", "chebwin", "cumfreq", "discrepancy", "dpss"),
        *("ellipap", "expectile", "gammatone", "gaussian_filter", "gaussian_filter1d"),
        *("geometric_discrepancy", "simpson", "uniform_filter"),
        *("grey_closing", "grey_dilation", "grey_erosion", "grey_opening", "group_delay"),
        *("iirnotch", "iirpeak", "maximum_filter", "minimum_filter", "minimum_phase"),
        *("morphological_gradient", "morphological_laplace", "normalize", "pinvh", "relfreq"),
        *("sos2tf", "ss2tf", "ss2zpk", "tf2zpk", "update_discrepancy", "white_tophat"),
    )
)
"""Functions of SciPy's Python code that are faster than their adopted code, measured."""


def is_host_valued(f: FunctionType) -> bool:
    """Whether jitted values of a function are the original's, which takes less time than its adopted code."""
    name, home = f.__name__, f.__module__ or ""
    if home.startswith("numpy.polynomial."):
        return name[0] != "_" and f.__qualname__ == name
    return home.startswith("scipy.") and name in _OF_SCIPY and f.__qualname__ == name


def host_valued(f: FunctionType, made: Callable[..., Any]) -> Callable[..., Any]:
    """The adopted function, whose jitted values are the original's."""
    run = _run  # in the closure: the globals of adopted code are others

    def hosting(*args: Any, **kwargs: Any) -> Any:
        return run(f, made, args, kwargs)

    return hosting


def _run(
    f: FunctionType, made: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    begun = next_in_order()
    found = made(*args, **kwargs)
    if not _is_plain(found):
        return found
    from funcgrad.scipy.host_call import host_value, positional, with_one_guard

    names = positional(f)
    if len(args) > len(names):
        return found
    replaced = host_value if f.__module__.startswith("scipy.") else with_one_guard
    return _like(found, replaced(f, dict(zip(names, args, strict=False)) | kwargs, found, begun))


def _is_plain(found: Any) -> bool:
    """Whether a result is arrays and numbers, in tuples and lists."""
    if isinstance(found, tuple | list):
        return all([_is_plain(item) for item in found])
    return isinstance(found, Expr | Reference | np.ndarray | np.generic | float | int)


def _like(found: Any, own: Any) -> Any:
    """Results whose arrays can be written where those of the adopted code can."""
    if isinstance(found, tuple | list):
        return with_items(found, [_like(a, b) for a, b in zip(found, own, strict=True)])
    return mutable(own) if isinstance(found, Reference) else own
