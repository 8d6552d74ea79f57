"""Functions of `numba.guvectorize` as Python functions of traced values.

Such a function is written for one set of core dimensions, and writes into its last arguments. In adopted code
its Python source runs on arrays that can be written, once for each place of the other axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad.arrays.reference import holds_expr
from funcgrad.numpy.types import by_signature, core_dimensions


def is_generalized(value: Any) -> bool:
    """Whether numba's guvectorize has made a function."""
    has_source = hasattr(getattr(value, "gufunc_builder", None), "py_func")
    return has_source and isinstance(getattr(value, "signature", None), str)


def generalized(compiled: Any, redirect: Callable[[Any], Any]) -> Any:
    """A function of traced values over the Python source of a compiled one; plain arrays go to that."""
    inner = redirect(compiled.gufunc_builder.py_func)
    inputs, outputs = [core_dimensions(side) for side in compiled.signature.split("->")]
    are_numbers = _are_numbers(compiled, inputs)

    def on_core(*given: Any) -> Any:
        sizes = {
            name: size
            for names, array in zip(inputs, given, strict=True)
            for name, size in zip(names, np.shape(array), strict=True)
        }
        made = [fnp.zeros([sizes[name] for name in names] or 1) for names in outputs]
        inner(
            *[
                array if names or is_number else fnp.reshape(array, 1)
                for array, names, is_number in zip(given, inputs, are_numbers, strict=True)
            ],
            *made,
        )
        results = [array if names else array[0] for array, names in zip(made, outputs, strict=True)]
        return results[0] if len(results) == 1 else tuple(results)

    def function(*args: Any) -> Any:
        if not holds_expr(args):
            return compiled(*args)
        given, places = args[: len(inputs)], args[len(inputs) :]
        found = by_signature(on_core, compiled.signature, given)
        for place, value in zip(places, found if len(outputs) > 1 else [found], strict=False):
            place[...] = value
        return found

    return update_wrapper(function, compiled.gufunc_builder.py_func)


def _are_numbers(compiled: Any, inputs: Sequence[Sequence[str]]) -> list[bool]:
    """Which inputs the source takes as numbers: those declared so, or, without a declaration, those without
    core dimensions."""
    declared = getattr(compiled.gufunc_builder, "_sigs", None)
    if not declared:
        return [not names for names in inputs]
    return [not hasattr(kind, "ndim") for kind in declared[0].args[: len(inputs)]]
