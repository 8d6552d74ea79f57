"""Filters whose results are integers, by SciPy's own functions: they round after each axis."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from funcgrad.arrays.reference import Reference
from funcgrad.graph import ArrayType
from funcgrad.ops.shape import holds_expr
from funcgrad.scipy.composition import composed, number
from funcgrad.transforms.custom.primitive import primitive
from funcgrad.transforms.grad import stop_gradient


def filters_of(module: ModuleType) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: as `composed`, but the module's own function, with derivative 0, gives integers and bools.

    The functions take an image ``input``, and a dtype or an array as ``output``.
    """

    def decorator(traced: Callable[..., Any]) -> Callable[..., Any]:
        own = getattr(module, traced.__name__)

        @composed(module, host=True)
        @wraps(traced)
        def function(**given: Any) -> Any:
            shape, dtype = _result_type(**given)
            if dtype.kind not in "biu":
                return traced(**given)
            names = [name for name, value in given.items() if holds_expr(value)]

            def run(*values: object) -> Any:
                return own(**{**given, **dict(zip(names, values, strict=True)), "output": dtype})

            made = primitive(run, out=lambda *types: ArrayType(shape, dtype), name=own.__name__)
            values = [stop_gradient(_exact(own.__name__, given[name])) for name in names]
            output, found = given.get("output"), made(*values)
            if not isinstance(output, np.ndarray | Reference):
                return found
            output[...] = found  # type: ignore[index]
            return output

        return function

    return decorator


def _result_type(input: Any, output: Any = None, **_: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    image = _exact("filter", input)
    given: Any = image if output is None else output
    if output is None or isinstance(output, np.ndarray | Reference):
        given = given.dtype
    wanted = np.dtype(given)
    return image.shape, np.result_type(wanted, 0j) if image.dtype.kind == "c" else wanted


def _exact(who: str, value: Any) -> Any:
    """An array as it is, and the array of a list that holds traced values."""
    return value if hasattr(value, "dtype") else number(who, value)
