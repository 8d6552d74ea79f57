"""Functions and distributions of SciPy's as keys: what stands in for one is equal to it, and is found."""

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats

import funcgrad as fg

RATES = {
    scipy.stats.norm: 2.0,
    scipy.stats.poisson: 3.0,
    scipy.special.erf: 5.0,
    scipy.optimize.curve_fit: 7.0,
    scipy.linalg.solve: 11.0,
    np.sin: 13.0,
}


def rated(x):
    known = (
        scipy.stats.norm,
        scipy.stats.poisson,
        scipy.special.erf,
        scipy.optimize.curve_fit,
        scipy.linalg.solve,
        np.sin,
    )
    found = [RATES.get(item, 0.0) + RATES[item] * (item in RATES) for item in known]
    return sum(found) * x * float(isinstance(x, float))


def test_distributions_and_functions_are_found_in_dicts():
    assert rated(1.0) == 82.0
    assert fg.value_and_grad(rated)(1.0) == (82.0, 82.0)


def test_a_distribution_is_found_in_a_table_of_scipys():
    x = np.array([0.31, 0.72, 1.13, 0.55])

    def distance(x, statistic):
        test = scipy.stats.goodness_of_fit(
            scipy.stats.norm, x, statistic=statistic, n_mc_samples=10, rng=0
        )
        return test.statistic

    for statistic in ("ad", "ks", "cvm", "filliben"):
        value, slope = fg.value_and_grad(distance)(x, statistic)
        assert value == distance(x, statistic)
        steps = 1e-6 * np.eye(4)
        wanted = [(distance(x + h, statistic) - distance(x - h, statistic)) / 2e-6 for h in steps]
        np.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-8)
