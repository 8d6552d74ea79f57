"""Statistics of tests, fits and distances of `scipy.stats`: values are SciPy's, slopes differences."""

import itertools

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats

import funcgrad as fg
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

SUMMED_IN_PYTHON = tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 18)
X = np.array([0.31, 0.72, 0.55, 0.87, 1.4, 0.1])
Y = np.array([1.21, 1.83, 1.47, 1.69, 1.2, 0.7])
MORE = np.array([0.2, 0.3, 0.5, 0.9, 1.3, 2.0, -0.3])

TESTS = {
    **{
        f"{name}, result {k}": lambda x, f=f, k=k: f(x)[k]
        for k in (0, 1)
        for name, f in {
            "shapiro": lambda x: scipy.stats.shapiro(x),
            "shapiro of three": lambda x: scipy.stats.shapiro(x[:3]),
            "shapiro of many": lambda x: scipy.stats.shapiro(np.append(x, MORE)),
            "siegelslopes": lambda x: scipy.stats.siegelslopes(x, Y),
            "siegelslopes, in x": lambda x: scipy.stats.siegelslopes(Y, x, method="separate"),
            "siegelslopes, equal x": lambda x: scipy.stats.siegelslopes(x, [1, 2, 2, 3, 4, 5]),
            "ks_1samp": lambda x: scipy.stats.ks_1samp(x, lambda t: t / 2),
            "ks_1samp, one side": lambda x: scipy.stats.ks_1samp(
                x, scipy.stats.norm.cdf, alternative="less"
            ),
            "kstest": lambda x: scipy.stats.kstest(x, "norm"),
            "kstest, far": lambda x: scipy.stats.kstest(x, "norm", method="asymp"),
        }.items()
    },
    "somersd": lambda x: scipy.stats.somersd(x, Y).statistic * x[0],
    "tukey_hsd": lambda x: scipy.stats.tukey_hsd(x, Y, Y[:3] + x[1:4]).statistic,
    "its p-value": lambda x: scipy.stats.tukey_hsd(x, Y).pvalue[0, 1],
    "its p-value, by Welch": lambda x: scipy.stats.tukey_hsd(x, Y[:4], equal_var=False).pvalue[
        0, 1
    ],
    "dunnett": lambda x: scipy.stats.dunnett(x, Y - 0.5, control=Y, rng=0).statistic,
    **{
        f"anderson, {name}": lambda x, name=name: (
            scipy.stats.anderson(x, name, method="interpolate").statistic
        )
        for name in ("norm", "expon", "gumbel_r")
    },
}
OPTIMA = {
    **{
        f"boxcox_normmax, {method}": lambda x, method=method: scipy.stats.boxcox_normmax(
            x, method=method
        )
        for method in ("pearsonr", "mle", "all")
    },
    "boxcox": lambda x: scipy.stats.boxcox(x)[0],
    "yeojohnson_normmax": lambda x: scipy.stats.yeojohnson_normmax(x - 0.5),
    "ppcc_max": lambda x: scipy.stats.ppcc_max(x, brack=(-1, 0.1)),
    "fit of a normal": lambda x: np.array(scipy.stats.norm.fit(x)),
    "fit of a Gumbel": lambda x: np.array(scipy.stats.gumbel_r.fit(x)),
    "fit of an exponential": lambda x: np.array(scipy.stats.expon.fit(x)),
    "fit of a gamma": lambda x: np.array(scipy.stats.gamma.fit(np.append(x, Y), floc=0)),
    "its fixed place": lambda x: np.array(scipy.stats.gamma.fit(Y, floc=-x[0])),
}
MIXED = np.array([1.3, -0.4, 2.2, -0.9])
EXPECTED = Y * (np.sum(X) / np.sum(Y))
POWERS = {
    **{
        f"{name} at {power}": (f, power)
        for name, f, powers in (
            ("yeojohnson", lambda p: scipy.stats.yeojohnson(MIXED, p), (0.0, 2.0)),
            ("yeojohnson_llf", lambda p: scipy.stats.yeojohnson_llf(p, MIXED), (0.0, 2.0)),
            ("boxcox_llf", lambda p: scipy.stats.boxcox_llf(p, X), (0.0,)),
            ("pmean", lambda p: scipy.stats.pmean(X, float(p)), (0.0,)),
            ("pmean, weighted", lambda p: scipy.stats.pmean(X, float(p), weights=Y), (0.0,)),
            (
                "power_divergence",
                lambda p: np.stack(scipy.stats.power_divergence(X, EXPECTED, lambda_=p)),
                (1.0, 0.0, -1.0),
            ),
            (
                "chi2_contingency",
                lambda p: scipy.stats.chi2_contingency(POINTS + 1, lambda_=p)[0],
                (1.0, 0.0),
            ),
        )
        for power in powers
    },
}
POINTS = np.arange(6.0).reshape(3, 2) ** 1.3
SITES = np.cos(np.arange(8.0)).reshape(4, 2)
DISTANCES = {
    "wasserstein_distance_nd": (
        POINTS,
        lambda a: scipy.stats.wasserstein_distance_nd(a, SITES),
    ),
    "its weights": (
        X[:3],
        lambda w: scipy.stats.wasserstein_distance_nd(POINTS * w[0], SITES, w, Y[:4]),
    ),
    "on a line": (X, lambda x: scipy.stats.wasserstein_distance_nd(x, Y)),
    "invwishart": (
        np.array([[2.0, 0.3], [0.3, 1.5]]),
        lambda a: scipy.stats.invwishart.logpdf(a + a.T, 3 + a[0, 0], np.eye(2) + a @ a.T),
    ),
}


@pytest.mark.parametrize("case", one_in(7, TESTS))
@pytest.mark.filterwarnings("ignore:As of SciPy")
def test_statistics_of_tests(case):
    # A p-value is an integral, and its second slope a difference of densities. The test of Shapiro and Wilk
    # is SciPy's Python since 1.18, whose sums of products are rounded otherwise.
    rounded = "p-value" in case or ("shapiro" in case and SUMMED_IN_PYTHON)
    rtol, value_rtol = 2e-5 if "p-value" in case else 4e-6, 1e-13 if rounded else 0.0
    check_function(TESTS[case], X, vmap=False, rtol=rtol, value_rtol=value_rtol)


@pytest.mark.parametrize("case", POWERS)
def test_slopes_in_a_power_at_which_scipy_has_another_formula(case):
    f, power = POWERS[case]
    check_function(f, power, value_rtol=1e-14, hessian=False)


def test_powers_near_0_have_the_slope_of_0():
    """SciPy's formulas divide by the power, so that its differences are lost below 1e-6."""
    for f in (
        lambda p: scipy.stats.boxcox_llf(p, X),
        lambda p: scipy.stats.pmean(X, p),
        lambda p: scipy.stats.pmean(X, p, weights=Y),
    ):
        slope, bend = fg.grad(f)(0.0), fg.grad(fg.grad(f))(0.0)
        for power in (1e-12, -1e-8, 1e-5):
            assert fg.grad(f)(power) == pytest.approx(slope + bend * power, rel=1e-8)
            assert fg.jvp(f, (power,), (1.0,))[0] == pytest.approx(f(0.0) + slope * power, rel=1e-9)
    near, far = (fg.grad(f)(power) for power in (0.1, 0.1 + 1e-12))
    assert near == pytest.approx(far, rel=1e-9)


def test_the_bend_of_a_power_mean_at_power_0():
    # By mpmath, with 40 digits.
    bend = fg.grad(fg.grad(lambda p: scipy.stats.pmean([1.3, 0.4, 2.2, 0.9], p)))(0.0)
    assert bend == pytest.approx(0.01252969581530485, rel=1e-10)


@pytest.mark.parametrize("case", one_in(5, OPTIMA, start=1))
def test_optimal_parameters(case):
    # SciPy's minimizers stop at about eight digits.
    check_function(OPTIMA[case], X, vmap=case != "boxcox", value_rtol=1e-7, rtol=1e-3)


@pytest.mark.parametrize("case", one_in(2, DISTANCES))
def test_distances_and_densities(case):
    at, f = DISTANCES[case]
    check_function(f, at, value_rtol=1e-13)


def test_a_p_value_that_is_integrated_at_random_has_no_derivative():
    def pvalue(x):
        return scipy.stats.dunnett(x, Y - 0.5, control=Y, rng=0).pvalue

    np.testing.assert_array_equal(fg.jit(pvalue)(X), pvalue(X))
    with pytest.raises(TypeError, match="dunnett_pvalue"):
        fg.jacobian(pvalue)(X)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda x: scipy.stats.boxcox_normmax(x, method="mode"), "expected the method 'pearsonr'"),
        (lambda x: scipy.stats.gamma.fit(x, method="MM")[0], "gamma.fit: method='MM'"),
        (lambda x: scipy.stats.gamma.fit(Y, x[0])[0], "expected plain values to start from"),
        (
            lambda x: scipy.stats.wasserstein_distance_nd(x[:, None], SITES),
            "expected points of as many coordinates",
        ),
        (
            lambda x: fg.grad(lambda v: scipy.stats.kstwo.pdf(v, 20_000))(x[0] ** 2 / 1e3),
            "at most 10000 samples",
        ),
        (lambda x: scipy.stats.kappa3.fit(x)[0], "the fit lies at an end of its parameters"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_refused(f, message):
    with pytest.raises((TypeError, ValueError, np.linalg.LinAlgError), match=message):
        fg.value_and_grad(f)(X)


def test_compiled_functions_of_scipy_take_plain_arrays_of_adopted_code():
    def scaled(x):
        table = np.zeros((2, 2))
        table[:] = [[3, 1], [1, 2]]
        return x * scipy.stats.somersd(table).statistic

    assert fg.grad(scaled)(2.0) == pytest.approx(scaled(1.0))


@pytest.mark.parametrize("name", ["boxcox", "yeojohnson"])
def test_powers_that_make_data_normal_are_scipys_to_the_bit(name):
    data = np.random.default_rng(4).gamma(3.0, size=40) + 0.5
    f = getattr(scipy.stats, name)
    (moved, power), slopes = fg.jvp(lambda x: f(x), (data,), (np.cos(data),))
    own = f(data)
    assert power == own[1]
    np.testing.assert_allclose(moved, own[0], rtol=1e-14)
    h = 1e-4
    ends = [f(data + s * h * np.cos(data))[0] for s in (1, -1)]
    np.testing.assert_allclose(slopes[0], (ends[0] - ends[1]) / (2 * h), rtol=1e-3, atol=1e-3)


BY_FORMULAS = {
    "halfcauchy": -0.01,
    "halflogistic": -0.01,
    "halfnorm": -0.01,
    "laplace": 0.3,
    "loglaplace": 0.0,
    "pareto": -0.4,
    "powerlaw": -0.02,
    "rayleigh": -0.02,
    "uniform": -0.01,
    "vonmises": 0.2,
}
DATA = 0.6 + 0.5 * np.sin(7.3 * np.arange(23) ** 1.5)


WITHOUT_MAXIMUM = [
    *[("powerlaw", "none"), ("powerlaw", "scale"), ("pareto", "none")],
    *[("loglaplace", "none"), ("loglaplace", "scale")],
]
"""There loc is the number before the least datum, or such that a datum is at a kink of the density."""


@pytest.mark.parametrize(
    ("name", "fixed"),
    one_in(
        4,
        [
            case
            for case in itertools.product(BY_FORMULAS, ("none", "loc", "scale"))
            if case not in WITHOUT_MAXIMUM
        ],
    ),
)
def test_fits_that_scipy_writes_down(name, fixed):
    given = {"none": {}, "loc": {"floc": BY_FORMULAS[name]}, "scale": {"fscale": 1.7}}[fixed]

    def f(x):
        return np.stack([1.0 * part for part in getattr(scipy.stats, name).fit(x, **given)])

    check_function(f, DATA, value_rtol=1e-9, rtol=1e-5, vmap=False, hessian=name != "vonmises")


SEARCHED = {"anglit": (), "cosine": (), "pearson3": (0.8,)}
"""Distributions without formulas here, whose fits are searched for in the precision of derivatives."""


@pytest.mark.parametrize("name", one_in(2, SEARCHED))
def test_fits_by_scipys_search(name):
    own, shares = getattr(scipy.stats, name), (np.arange(40) + 0.5) / 40
    data, noise = own.ppf(shares, *SEARCHED[name]), 0.1 * np.cos(np.arange(40.0) ** 1.5)

    def f(t):
        return np.stack([1.0 * part for part in own.fit(t * data + noise + 0.7)])

    h, value = 1e-4, fg.jvp(f, (1.1,), (1.0,))[0]
    np.testing.assert_allclose(value, f(1.1), rtol=2e-3, atol=2e-3)  # SciPy's search ends early
    sides = [fg.jvp(f, (1.1 + d,), (1.0,))[0] for d in (h, -h)]
    slope = (sides[0] - sides[1]) / (2 * h)
    np.testing.assert_allclose(fg.jvp(f, (1.1,), (1.0,))[1], slope, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fg.jacrev(f)(1.1), slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "fixed"),
    [
        ("gennorm", {"fbeta": 1.0}),
        ("dgamma", {"fa": 1.0}),
        ("dweibull", {"fc": 1.0}),
        ("triang", {}),
    ],
)
def test_a_fit_at_a_kink_of_the_density_is_an_error(name, fixed):
    data = np.random.default_rng(1).triangular(-1.0, 0.3, 1.5, size=61)
    with pytest.raises(np.linalg.LinAlgError, match=rf"{name}.fit: expected a likelihood"):
        fg.jacobian(lambda x: getattr(scipy.stats, name).fit(x, **fixed)[-1])(data)


MASKED = {
    "entropy": lambda x, y: scipy.stats.entropy(x),
    "kendalltau": lambda x, y: scipy.stats.kendalltau(x, y),
    "kruskal": lambda x, y: scipy.stats.kruskal(x, y + 0.05),
    "wilcoxon": lambda x, y: scipy.stats.wilcoxon(x - y),
    "mannwhitneyu of a plain array": lambda x, y: scipy.stats.mannwhitneyu(x, Y),
    "yeojohnson_llf": lambda x, y: scipy.stats.yeojohnson_llf(0.3, x),
    "trapezoid": lambda x, y: scipy.integrate.trapezoid(x, dx=0.5),
    "simpson": lambda x, y: scipy.integrate.simpson(x),
    "psi": lambda x, y: scipy.special.psi(x).filled(0.0),
    "pdtri": lambda x, y: scipy.special.pdtri(2.0, x / 8).filled(0.0),
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_arrays(name):
    f = MASKED[name]
    x = np.ma.masked_array([1.3, 0.7, 1.5, 2.2, 1.9, 0.4, 3.1], mask=[0, 0, 1, 0, 0, 0, 0])
    y = np.ma.masked_array([0.3, 1.7, 2.5, 0.9, 2.9, 1.4, 1.1], mask=[0, 1, 0, 0, 0, 0, 0])
    found = fg.jit(lambda t: f(x * t, y))(1.0)
    np.testing.assert_allclose(found, f(x, y), rtol=1e-13)
    entries = fg.jit(lambda data: f(np.ma.masked_array(data, x.mask), y))(x.data)
    np.testing.assert_allclose(entries, f(x, y), rtol=1e-13)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_entropy_without_entries(shape):
    entropy = lambda t: scipy.stats.entropy(np.zeros(shape) + t)  # noqa: E731
    np.testing.assert_array_equal(fg.jit(entropy)(1.0), entropy(1.0))


OMITTING = {
    "entropy": lambda x: scipy.stats.entropy(x * x, axis=1, nan_policy="omit"),
    "entropy, checked": lambda x: scipy.stats.entropy(x[:, :3] ** 2, nan_policy="raise"),
    "relative entropy": lambda x: scipy.stats.entropy(
        x[0] ** 2, x[0] ** 4, base=2.0, nan_policy="omit", keepdims=True
    ),
    "yeojohnson_llf": lambda x: scipy.stats.yeojohnson_llf(
        x[0, 0] / 3, x, axis=1, nan_policy="omit"
    ),
}


@pytest.mark.parametrize("name", OMITTING)
def test_policies_on_nan(name):
    f = OMITTING[name]
    x = np.array([[1.3, 0.7, 2.2, np.nan, 1.9], [0.3, -1.7, 2.5, 1.4, np.nan]])
    direction = np.cos(np.arange(10.0)).reshape(2, 5)
    value, slope = fg.jvp(f, (x,), (direction,))
    np.testing.assert_allclose(value, f(x), rtol=1e-14)
    near = (f(x + 1e-5 * direction) - f(x - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(slope, near, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        np.sum(fg.jit(fg.jacrev(f))(x) * direction, axis=(-1, -2)), slope, rtol=1e-12
    )


@pytest.mark.parametrize("power", [0.3, 0.0, 2.0, 1.4])
def test_yeojohnson_llf_of_zeros_among_the_data(power):
    """sign(x)*log1p(abs(x)) has the slope 1 at 0."""
    x = np.array([0.0, 0.72, -0.3, 0.87])
    found = fg.grad(lambda x: scipy.stats.yeojohnson_llf(power, x))(x)
    for step, slope in zip(1e-6 * np.eye(4), found, strict=True):
        above, below = (scipy.stats.yeojohnson_llf(power, x + s) for s in (step, -step))
        # The second derivative jumps at 0.
        assert slope == pytest.approx((above - below) / 2e-6, rel=5e-6)
    both = np.stack([x, x + 1.0], 1)
    value = fg.jit(lambda x: scipy.stats.yeojohnson_llf(power, x))(both)
    np.testing.assert_allclose(value, scipy.stats.yeojohnson_llf(power, both), rtol=1e-12)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, (0, 1), (1,), -1])
@pytest.mark.parametrize(("name", "power"), [("yeojohnson_llf", 0.7), ("boxcox_llf", 0.0)])
def test_likelihoods_of_powers_over_several_axes(name, power, axis, keepdims):
    likelihood = getattr(scipy.stats, name)
    x = np.array([[0.5, 1.0], [2.0, 3.0], [1.5, 4.0]])
    value = fg.jit(lambda x: likelihood(power, x, axis=axis, keepdims=keepdims))(x)
    wanted = likelihood(power, x, axis=axis, keepdims=keepdims)
    np.testing.assert_allclose(value, wanted, rtol=1e-12, strict=True)
