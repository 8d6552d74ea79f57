"""The functions that stand in for SciPy's ufuncs, by name, and the modules that declare their operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from funcgrad.ops.base.op import Op
from funcgrad.ops.special import (
    entropy,
    error_functions,
    gamma,
    incomplete,
    partial_derivatives,
    polygamma,
)

SPECIAL_FAMILIES: tuple[ModuleType, ...] = (
    gamma,
    incomplete,
    error_functions,
    entropy,
    partial_derivatives,
)


def _stand_ins() -> Mapping[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {
        name: value
        for module in SPECIAL_FAMILIES
        for name, value in vars(module).items()
        if isinstance(value, Op)
    }
    found |= {
        "gammaln": polygamma.gammaln,
        "psi": gamma.any_digamma,
        "voigt_profile": error_functions.voigt_profile,
    }
    return MappingProxyType(found)


STAND_INS: Mapping[str, Callable[..., Any]] = _stand_ins()
