"""``scipy.stats`` for traced values: distributions, in their data and their parameters.

The methods pdf, logpdf, pmf, logpmf, cdf, logcdf, sf, logsf, ppf, isf, median and interval have SciPy's
signatures, with loc and scale, and take traced values in all arguments, mean, var, std and entropy in loc and
scale; plain values lead to SciPy's own methods. Outside the
support a density is 0, its logarithm -inf and their derivatives 0. Discrete distributions have derivatives
in their parameters. `logcdf` and `logsf` of traced values have ten digits far out, also where SciPy's are
logarithms of numbers that underflow. All other names lead to SciPy.

>>> import funcgrad as fg
>>> from funcgrad.scipy.stats import norm
>>> fg.grad(lambda scale: norm(0.0, scale).logpdf(3.0))(1.0)
8.0
"""

from __future__ import annotations

from typing import Any

import scipy.stats as _scipy

from funcgrad.expr.registry import functions
from funcgrad.scipy.python_functions import attribute_of
from funcgrad.scipy.stats.comparisons import divergence_of_power as divergence_of_power
from funcgrad.scipy.stats.comparisons import dunnett_significance as dunnett_significance
from funcgrad.scipy.stats.comparisons import siegel_slope as siegel_slope
from funcgrad.scipy.stats.comparisons import swilk as swilk
from funcgrad.scipy.stats.compiled_masses import goodness_of_fit as goodness_of_fit
from funcgrad.scipy.stats.compiled_masses import make_distribution as make_distribution
from funcgrad.scipy.stats.continuous import CONTINUOUS
from funcgrad.scipy.stats.discrete import DISCRETE
from funcgrad.scipy.stats.distribution import Continuous, Discrete
from funcgrad.scipy.stats.divergences import entropy as entropy
from funcgrad.scipy.stats.divergences import wasserstein_distance_nd as wasserstein_distance_nd
from funcgrad.scipy.stats.likelihood import PLAIN_FITS
from funcgrad.scipy.stats.multivariate import MULTIVARIATE
from funcgrad.scipy.stats.normalizing import boxcox_llf as boxcox_llf
from funcgrad.scipy.stats.normalizing import boxcox_normmax as boxcox_normmax
from funcgrad.scipy.stats.normalizing import pmean as pmean
from funcgrad.scipy.stats.normalizing import ppcc_max as ppcc_max
from funcgrad.scipy.stats.normalizing import yeojohnson_llf as yeojohnson_llf
from funcgrad.scipy.stats.normalizing import yeojohnson_normmax as yeojohnson_normmax
from funcgrad.scipy.stats.normalizing import yeojohnson_power as yeojohnson_power
from funcgrad.scipy.stats.ranks import OF_RANKS
from funcgrad.scipy.stats.ranks import rankdata as rankdata

globals().update({name: Continuous(name, row) for name, row in CONTINUOUS.items()})
globals().update({name: Discrete(name, row) for name, row in DISCRETE.items()})
globals().update(MULTIVARIATE)
globals().update(OF_RANKS)
globals().update(PLAIN_FITS)


def __getattr__(name: str) -> Any:
    if name == "gaussian_kde":
        return functions["redirect"](_scipy.gaussian_kde)  # SciPy's own code of traced values
    return attribute_of(_scipy, name)
