"""SciPy's random variables: `Normal`, `Binomial`, `make_distribution` and transformations of them."""

import numpy as np
import pytest
import scipy.stats as stats

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

X = np.array([0.2, 0.7, 1.4])
COUNTS = np.array([0, 1, 3])
GAMMA = stats.make_distribution(stats.gamma)
CASES = {
    "Normal": lambda t: stats.Normal(mu=t, sigma=2.0).pdf(X * t),
    "Normal, an interval": lambda t: stats.Normal(mu=t).cdf(X, X[::-1] + 1),
    **{
        f"Normal, {name} of an interval of numbers": lambda t, name=name: np.stack(
            [np.real(getattr(stats.Normal(mu=t), name)(*ends)) for ends in ((-t, 0.6), (0.6, -t))]
        )
        for name in ("cdf", "ccdf", "logcdf", "logccdf")
    },
    "Logistic": lambda t: (stats.Logistic() * t).logccdf(X),
    "Uniform": lambda t: stats.Uniform(a=-t, b=3 * t).icdf(X / 2),
    "truncate": lambda t: stats.truncate(stats.Normal(mu=t), -1, 2).logpdf(X),
    "Mixture": lambda t: stats.Mixture(
        [stats.Normal(mu=t), stats.Normal()], weights=[0.4, 0.6]
    ).pdf(X),
    "log": lambda t: stats.log(stats.Uniform(a=t, b=3)).pdf(X),
    "moments": lambda t: np.stack([stats.Normal(mu=t).moment(3), stats.Normal(sigma=t).entropy()]),
    **{
        f"Binomial, {name}": lambda t, name=name: getattr(stats.Binomial(n=5, p=t / 3), name)(
            COUNTS
        )
        for name in ("pmf", "logpmf", "cdf", "ccdf")
    },
    **{
        f"of gamma, {name}": lambda t, name=name: getattr(GAMMA(a=t), name)(X / 2)
        for name in ("pdf", "logpdf", "cdf", "ccdf", "icdf", "iccdf")
    },
    "of beta": lambda t: stats.make_distribution(stats.beta)(a=t, b=2.0).pdf(X / 2),
    "entropies": lambda t: np.stack(
        [
            GAMMA(a=t).entropy(),
            np.real(stats.make_distribution(stats.lognorm)(s=t).logentropy()),
            (t * stats.make_distribution(stats.norm)()).entropy(),
        ]
    ),
    "of binom": lambda t: stats.make_distribution(stats.binom)(n=5, p=t / 3).pmf(COUNTS),
}


@pytest.mark.parametrize("case", one_in(5, CASES))
def test_random_variables(case):
    f, h = CASES[case], 1e-5
    value, tangent = fg.jvp(f, (1.1,), (1.0,))
    np.testing.assert_allclose(value, f(1.1), rtol=1e-12)
    np.testing.assert_allclose(tangent, (f(1.1 + h) - f(1.1 - h)) / (2 * h), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fg.jacobian(f)(1.1), tangent, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fg.jit(f)(1.1), value, rtol=1e-12)
    slope_of = fg.jit(fg.jacfwd(f))
    slopes = [slope_of(1.1 + s * h) for s in (1, -1)]
    second = fg.jacfwd(fg.jacfwd(f))(1.1)
    np.testing.assert_allclose(second, (slopes[0] - slopes[1]) / (2 * h), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Some rows of `p`:FutureWarning")
def test_the_last_probability_is_that_which_the_others_leave():
    def mass(p):
        return stats.multinomial.pmf([1, 3, 4], 8, p)

    p, h = np.array([0.3, 0.2, 0.5]), 1e-6
    # Since SciPy 1.18 others than those that sum to 1 have no mass.
    steps = h * np.array([[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]])
    wanted = [(mass(p + step) - mass(p - step)) / (2 * h) for step in steps]
    np.testing.assert_allclose(steps @ fg.grad(mass)(p) / h, wanted, rtol=1e-7, atol=1e-10)
    assert fg.grad(mass)(p)[2] == 0.0
    assert fg.value_and_grad(mass)(p)[0] == pytest.approx(mass(p), rel=1e-12)


CHANCES = np.array([0.1, 0.45, 0.3])
TRIALS = {
    "pmf": lambda p: stats.poisson_binom.pmf(np.arange(-1, 5), p * CHANCES),
    "cdf": lambda p: stats.poisson_binom.cdf(np.arange(-1, 5), p * CHANCES),
    "sf": lambda p: stats.poisson_binom(p * CHANCES).sf(np.arange(4)),
    "stats": lambda p: np.stack(stats.poisson_binom.stats(p * CHANCES, moments="mvsk")),
    "rows": lambda p: stats.poisson_binom.pmf([1, 2], [[0.1, 0.2], p[:2]]),
    "one number": lambda p: stats.poisson_binom.cdf(1, p * CHANCES),
}


@pytest.mark.parametrize("case", one_in(2, TRIALS))
def test_trials_of_unlike_chances(case):
    check_function(TRIALS[case], np.array([0.9, 0.8, 0.7]), value_rtol=1e-14)


def _mixture(mu):
    return stats.Mixture([stats.Normal(mu=mu), stats.Normal(mu=-1.0)], weights=[0.5, 0.5])


SOLVED = {
    "a median": (lambda mu: _mixture(mu).median(), 0.5),
    "an upper quantile": (lambda mu: _mixture(mu).iccdf(0.5), 0.5),
    "a mode": (lambda mu: stats.truncate(stats.Normal(mu=mu, sigma=2.0), -3.0, 5.0).mode(), 1.0),
    "of an absolute value": (lambda s: stats.abs(stats.Normal(sigma=s)).icdf(0.5), 0.674489750196),
}


@pytest.mark.parametrize("case", SOLVED)
def test_quantiles_and_modes_that_scipy_searches_for(case):
    solve, wanted = SOLVED[case]
    value, slope = fg.jvp(solve, (1.0,), (1.0,))
    np.testing.assert_allclose(value, solve(1.0), rtol=1e-14, atol=1e-15)
    assert slope == pytest.approx(wanted, rel=1e-9)
