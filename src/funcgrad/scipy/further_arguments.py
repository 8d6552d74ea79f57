"""The further arguments of SciPy's solvers (``args``): numbers, and what is handed on as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.arrays.reference import Reference
from funcgrad.expr import Expr
from funcgrad.scipy.composition import tuple_of
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.pytree import flatten

_Function = Callable[..., Any]


def with_numbers(fun: _Function, args: object) -> tuple[_Function, tuple[Any, ...]]:
    """The function of those further arguments that are numbers, and these.

    SciPy's solvers hand on any others, such as instances of classes, as they are.
    """
    given = tuple_of(args)
    places = [place for place, arg in enumerate(given) if _holds_numbers(arg)]
    if len(places) == len(given):
        return fun, given
    called = on_arrays(fun)

    def of_numbers(x: object, *numbers: object) -> Any:
        whole = list(given)
        for place, number in zip(places, numbers, strict=True):
            whole[place] = number
        return called(x, *whole)

    return of_numbers, tuple([given[place] for place in places])


def _holds_numbers(arg: object) -> bool:
    return all([isinstance(leaf, _NUMBERS) for leaf in flatten(arg).leaves])


_NUMBERS = (Expr, Reference, np.ndarray, np.generic, int, float, complex)
