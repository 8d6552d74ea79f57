"""From NumPy's functions and ufuncs to operations: what ``import numpy as np`` reaches.

The tables are read off the families' modules: a function that bears the name of a NumPy function
stands in for it. They are made when a program asks for a name that `funcgrad.ops.numpy.core_functions` lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np

from funcgrad.expr.registry import OperationTable
from funcgrad.ops import (
    contraction,
    convolution,
    decompositions,
    determinants,
    eigenvectors,
    fourier,
    indexing,
    markers,
    matrix_functions,
    null_spaces,
    overlapping_windows,
    piecewise_linear,
    pseudoinverse,
    recurrences,
    reduced_resolvents,
    reduction,
    scans_and_sorts,
    singular_value_functions,
    solve,
    spectral_functions,
    stores,
    subscripts,
    tuples,
)
from funcgrad.ops.base import op
from funcgrad.ops.base.op import Op
from funcgrad.ops.elementwise import cardinal_sine
from funcgrad.ops.numpy import (
    by_value,
    complex_numbers,
    core_functions,
    float_parts,
    interpolation,
    linear_algebra,
    nan_reductions,
    polynomial,
    quantiles,
    ranges,
    rearrange,
    select_compare,
    statistics,
)
from funcgrad.ops.special import numpy_bessel, polygamma
from funcgrad.typing import Array

ELEMENTWISE: tuple[ModuleType, ...] = (*core_functions.COMMON_ELEMENTWISE, cardinal_sine)
FURTHER: tuple[ModuleType, ...] = (
    cardinal_sine,
    polygamma,
    numpy_bessel,
    nan_reductions,
    recurrences,
    scans_and_sorts,
    piecewise_linear,
    interpolation,
    quantiles,
    statistics,
    ranges,
    float_parts,
    stores,
    overlapping_windows,
    subscripts,
    rearrange,
    select_compare,
    complex_numbers,
    convolution,
    fourier,
    solve,
    decompositions,
    matrix_functions,
    reduced_resolvents,
    pseudoinverse,
    singular_value_functions,
    spectral_functions,
    eigenvectors,
    determinants,
    null_spaces,
    linear_algebra,
    polynomial,
)
FAMILIES: tuple[ModuleType, ...] = (*core_functions.CORE, *FURTHER, op, tuples, markers)


@lru_cache(maxsize=4)
def all_ops(*more: ModuleType) -> Mapping[str, Op]:
    """Every operation of the families, and of further modules, by name."""
    found = [
        value
        for module in (*FAMILIES, *more)
        for value in vars(module).values()
        if isinstance(value, Op)
    ]
    return MappingProxyType({item.name: item for item in found})


def public_functions() -> dict[str, Callable[..., Any]]:
    """The families' functions and callable operations, by the name they are written with."""
    found = core_functions.named_functions(FURTHER)
    solve_vector = {"solve1": lambda a, b: found["solve"](a, b[..., None])[..., 0]}
    return found | solve_vector | core_functions.core_functions()


def numpy_functions(
    functions: Mapping[str, Callable[..., Any]],
) -> Mapping[Any, Callable[..., Any]]:
    """The replacement of each function of `numpy`, `numpy.linalg` and `numpy.fft` that is not a ufunc."""
    result = dict(core_functions.core_numpy_functions(functions))
    for home in (np.linalg, np.fft):
        result |= core_functions.replacements_in(home, functions)
    # These take the last two axes where their namesakes take the first.
    result |= {np.linalg.diagonal: _last(indexing.diagonal), np.linalg.trace: _last(indexing.trace)}
    result[np.linalg.norm] = linear_algebra.any_norm
    result |= {
        getattr(np, name): by_value.counted(functions[name]) for name in core_functions.BY_COUNT
    }
    result.update(complex_numbers.EMATH)
    return MappingProxyType(result)


def all_functions() -> OperationTable:
    """The tables of all functions, ufuncs and replacements."""
    found = MappingProxyType(public_functions())
    return OperationTable(found, found, numpy_functions(found))


def _last(function: Callable[..., Any]) -> Callable[..., Any]:
    def of_last_axes(x: Array, *, offset: int = 0, **dtype: Any) -> Any:
        return function(x, offset, -2, -1, **dtype)

    return of_last_axes


def formula_functions() -> Mapping[str, Callable[..., Any]]:
    """The functions that a formula given as text may call: none makes more than its operands hold."""
    kept = (
        *ELEMENTWISE,
        reduction,
        nan_reductions,
        scans_and_sorts,
        interpolation,
        quantiles,
        statistics,
        contraction,
        convolution,
    )
    own = public_functions()
    names = [name for name in own if any(own[name] is vars(m).get(name) for m in kept)]
    return MappingProxyType({name: own[name] for name in [*names, "abs", "clip", "round"]})
