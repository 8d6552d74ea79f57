"""The functions that stand in for SciPy's ufuncs, by name, and the modules that declare their operations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from funcgrad.ops.base.op import Op
from funcgrad.ops.special import (
    bessel,
    distribution_parameters,
    distributions,
    elementary,
    elliptic,
    entropy,
    error_functions,
    f_distribution,
    gamma,
    goodness_of_fit,
    hypergeometric,
    incomplete,
    integrals,
    kolmogorov_numerics,
    landau,
    legendre_functions,
    mathieu,
    mixture_ranges,
    noncentral,
    normal_orthants,
    orthogonal,
    partial_derivatives,
    polygamma,
    spherical_bessel,
    spheroidal,
)
from funcgrad.ops.special.special_function import SeveralResults

SPECIAL_FAMILIES: tuple[ModuleType, ...] = (
    gamma,
    incomplete,
    distributions,
    distribution_parameters,
    f_distribution,
    noncentral,
    mixture_ranges,
    normal_orthants,
    landau,
    goodness_of_fit,
    kolmogorov_numerics,
    error_functions,
    entropy,
    elementary,
    bessel,
    spherical_bessel,
    integrals,
    elliptic,
    mathieu,
    spheroidal,
    hypergeometric,
    orthogonal,
    legendre_functions,
    partial_derivatives,
)


def _stand_ins() -> Mapping[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for module in SPECIAL_FAMILIES:
        for name, value in vars(module).items():
            own = inspect.isfunction(value) and value.__module__ == module.__name__
            if isinstance(value, Op | SeveralResults) or (own and not name.startswith("_")):
                found[name] = value
    # SciPy's own Python code calls ufuncs by private names.
    return MappingProxyType(
        found
        | {
            "gammaln": polygamma.gammaln,
            "psi": gamma.any_digamma,
            "ive": bessel.any_ive,
            "_log1mexp": elementary.log_of_one_minus_exp,
            "_cosine_cdf": distributions.cosine_cdf,
            "_cosine_invcdf": distributions.cosine_invcdf,
            "_zeta": hypergeometric.hurwitz_zeta,
            "_riemann_zeta": hypergeometric.riemann_zeta,
            "_lambertw": hypergeometric.lambertw,
            "_spherical_jn": bessel.spherical_j,
            "_spherical_yn": bessel.spherical_y,
            "_spherical_in": bessel.spherical_i,
            "_spherical_kn": bessel.spherical_k,
        }
    )


STAND_INS: Mapping[str, Callable[..., Any]] = _stand_ins()
