"""Compiled functions that `Binomial` and `poisson_binom` call, and SciPy's functions of a distribution."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import lru_cache, wraps
from typing import Any

import numpy as np
import scipy.stats as _scipy
from scipy.stats import _discrete_distns

from funcgrad.expr.registry import functions
from funcgrad.ops.base.op import lift_fully
from funcgrad.scipy.composition import in_place_of, unreplaced
from funcgrad.scipy.stats.discrete import DISCRETE
from funcgrad.scipy.stats.distribution import Discrete, Distribution
from funcgrad.typing import Array

_BINOMIAL = Discrete("binom", DISCRETE["binom"])
binomial_pmf, binomial_cdf, binomial_sf = _BINOMIAL.pmf, _BINOMIAL.cdf, _BINOMIAL.sf
binomial_ppf, binomial_isf = _BINOMIAL.ppf, _BINOMIAL.isf


def _of_unlike_chances(name: str, of_masses: Callable[[Any], Any]) -> Callable[..., Any]:
    own: Any = getattr(_discrete_distns.poisson_binom_gen, name)

    @in_place_of(own)
    def method(dist: Any, k: Array, *args: Array) -> Any:
        k, *chances = np.broadcast_arrays(np.asarray(k).astype(np.int64), *args)
        masses, none = np.ones((1, *k.shape)), np.zeros((1, *k.shape))
        for chance in map(lift_fully, chances):
            less, more = masses * (1 - chance), masses * chance
            masses = np.concatenate([less, none]) + np.concatenate([none, more])
        place = np.expand_dims(np.clip(k, 0, len(chances)), 0)
        return np.take_along_axis(of_masses(masses), place, 0)[0]

    method.__doc__ = f"SciPy's method `poisson_binom.{name}`, of the number of successes in trials."
    return method


poisson_binomial_pmf = _of_unlike_chances("_pmf", lambda masses: masses)
poisson_binomial_cdf = _of_unlike_chances("_cdf", lambda masses: np.cumsum(masses, axis=0))


_STANDARD = ("_pdf", "_logpdf", "_pmf", "_cdf", "_logcdf", "_sf", "_logsf", "_ppf", "_isf")
"""Methods without loc and scale, of which those with a formula here are taken."""


@lru_cache(maxsize=256)
def _equal_to(kind: Any, own: Any) -> type:
    """A class whose instances are equal to SciPy's distribution, as in the tables of its code."""
    of_own = {"__eq__": lambda _, other: other is own, "__hash__": lambda _: hash(own)}
    return type(kind.__name__, (kind,), {"__module__": kind.__module__, **of_own})


def _of_distribution(own: Any) -> Callable[..., Any]:
    adoptable = unreplaced(own)

    @wraps(own)
    def function(dist: Any, *args: object, **kwds: object) -> Any:
        found = getattr(dist, "__wrapped__", dist)  # in adopted code
        given: Any = dist
        if isinstance(found, Distribution):
            given = copy(found.adoptable)
            kind: Any = type(given)
            given.__class__ = _equal_to(kind, found.own)
            for name in _STANDARD:
                if hasattr(type(found), name):
                    setattr(given, name, getattr(found, name))
        return functions["call_adopted"](adoptable, (given, *args), kwds)

    return function


make_distribution = _of_distribution(_scipy.make_distribution)
goodness_of_fit = _of_distribution(_scipy.goodness_of_fit)
