"""The noncentral hypergeometric distributions in their odds, against mpmath."""

import itertools

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from tests.default_slice import one_in


def fisher(x, M, n, N, odds):
    def weight(j):
        return mp.binomial(n, j) * mp.binomial(M - n, N - j) * odds**j

    return weight(x) / mp.fsum(weight(j) for j in range(max(0, n + N - M), min(n, N) + 1))


def wallenius(x, M, n, N, odds):
    """By the binomial theorem, a sum of terms that cancel."""
    y, left = N - x, odds * (n - x) + M - n - N + x
    if left == 0:
        return mp.mpf(1)
    with mp.workdps(120):
        total = mp.fsum(
            (-1) ** (i + j) * mp.binomial(x, i) * mp.binomial(y, j) * left / (left + odds * i + j)
            for i in range(x + 1)
            for j in range(y + 1)
        )
        return mp.binomial(n, x) * mp.binomial(M - n, y) * total


MASSES = {"nchypergeom_fisher": fisher, "nchypergeom_wallenius": wallenius}
CASES = [
    (3, 14, 8, 6, 0.5),
    (9, 40, 20, 15, 0.5),
    (0, 40, 20, 15, 5.0),
    (15, 40, 20, 15, 0.01),
    (5, 10, 10, 5, 2.0),
    (7, 20, 15, 12, 1.0),
]


@pytest.mark.parametrize(("name", "case"), one_in(5, itertools.product(MASSES, CASES)))
def test_derivatives_in_the_odds_are_those_of_mpmath(name, case):
    *counts, odds = case
    x, M, n, N = counts
    places = range(max(0, n + N - M), min(n, N) + 1)
    exact = {
        "logpmf": lambda w: mp.log(MASSES[name](*counts, w)),
        "cdf": lambda w: mp.fsum(MASSES[name](j, M, n, N, w) for j in places if j <= x),
        "logsf": lambda w: mp.log(mp.fsum(MASSES[name](j, M, n, N, w) for j in places if j > x)),
    }
    for method, function in exact.items():
        if method == "logsf" and x == places[-1]:
            continue

        def own(w, method=method):
            return getattr(getattr(scipy.stats, name), method)(*counts, w)

        value, slope = fg.value_and_grad(own)(odds)
        with mp.workdps(30):
            assert value == pytest.approx(float(function(mp.mpf(odds))), rel=1e-11, abs=1e-14)
            first, second = [float(mp.diff(function, mp.mpf(odds), k)) for k in (1, 2)]
        assert slope == pytest.approx(first, rel=1e-10, abs=1e-12)
        assert fg.grad(fg.grad(own))(odds) == pytest.approx(second, rel=1e-8, abs=1e-9)
        assert fg.jvp(own, (odds,), (1.0,))[1] == pytest.approx(first, rel=1e-10, abs=1e-12)
        assert fg.jit(fg.grad(own))(odds) == pytest.approx(first, rel=1e-10, abs=1e-12)
        rows = fg.vmap(fg.grad(own))(np.array([odds, 1.7]))
        assert rows == pytest.approx([slope, fg.grad(own)(1.7)], rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", MASSES)
def test_counts_may_be_arrays_and_the_mean_has_a_derivative(name):
    own = getattr(scipy.stats, name)
    x, n = np.array([2, 5, 9]), np.array([8, 5, 7])
    slopes = fg.jacobian(lambda w: own.logpmf(x, 14, n, 6, w))(0.5)
    assert slopes[0] == pytest.approx(fg.grad(lambda w: own.logpmf(2, 14, 8, 6, w))(0.5))
    assert slopes[2] == 0
    places = np.arange(7)
    mean = fg.grad(lambda w: np.sum(places * own.pmf(places, 14, 8, 6, w)))(0.5)
    h = 1e-4
    wanted = (own.mean(14, 8, 6, 0.5 + h) - own.mean(14, 8, 6, 0.5 - h)) / (2 * h)
    assert mean == pytest.approx(wanted, rel=1e-5)
    assert np.isnan(fg.value_and_grad(lambda w: own.pmf(2, 14, 8, 6, w))(-1.0)[0])


@pytest.mark.parametrize("name", ["nchypergeom_fisher", "nchypergeom_wallenius"])
def test_moments_in_the_odds(name):
    law = getattr(scipy.stats, name)

    def moments(odds):
        drawn = np.array([8, 5])
        mean, variance, skewness, kurtosis = law.stats(20, drawn, 10, odds, moments="mvsk")
        return np.stack([mean, variance, skewness, kurtosis, law.std(20, drawn, 10, odds)])

    value, slope = fg.jvp(moments, (1.4,), (1.0,))
    np.testing.assert_allclose(value, moments(1.4), rtol=1e-10, atol=1e-11)
    h = 1e-3
    near = [moments(1.4 + k * h) for k in (1, -1, 2, -2)]
    expected = (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8)
    back = fg.jit(fg.grad(lambda odds: np.sum(moments(odds))))(1.4)
    assert back == pytest.approx(np.sum(slope), rel=1e-10)
