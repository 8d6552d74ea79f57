"""Distributions: values are SciPy's, derivatives those of central differences."""

import functools
import itertools
import pickle

import mpmath as mp
import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.stats

import funcgrad as fg
from funcgrad.scipy import stats
from funcgrad.scipy.stats.continuous import CONTINUOUS
from funcgrad.scipy.stats.discrete import DISCRETE
from tests.default_slice import one_in

SHAPES = {
    "argus": (1.7,),
    "bradford": (2.3,),
    "crystalball": (1.3, 2.5),
    "foldcauchy": (1.4,),
    "genhalflogistic": (0.8,),
    "laplace_asymmetric": (1.6,),
    "loguniform": (0.2, 2.5),
    "reciprocal": (0.2, 2.5),
    "truncexpon": (2.6,),
    "truncpareto": (1.8, 5.3),
    "truncweibull_min": (2.5, 0.25, 1.75),
    "alpha": (3.6,),
    "boltzmann": (1.4, 19),
    "burr": (2.5, 1.3),
    "burr12": (2.5, 1.4),
    "dgamma": (1.4,),
    "dweibull": (1.7,),
    "exponpow": (1.6,),
    "exponweib": (2.2, 1.6),
    "gengamma": (2.4, 1.3),
    "genlogistic": (0.8,),
    "gennorm": (1.4,),
    "halfgennorm": (1.4,),
    "invweibull": (2.6,),
    "jf_skew_t": (3.5, 2.5),
    "kappa3": (1.5,),
    "kappa4": (0.2, 0.1),
    "mielke": (3.2, 2.6),
    "norminvgauss": (1.25, 0.5),
    "powerlognorm": (2.1, 0.6),
    "powernorm": (2.4,),
    "recipinvgauss": (0.7,),
    "rel_breitwigner": (1.8,),
    "skewcauchy": (0.45,),
    "rdist": (1.6,),
    "bernoulli": (0.35,),
    "beta": (2.3, 1.6),
    "betaprime": (2.1, 3.2),
    "binom": (9, 0.35),
    "chi": (3.5,),
    "chi2": (3.5,),
    "dpareto_lognorm": (0.3, 0.9, 2.1, 1.7),
    "f": (3.5, 5.5),
    "fatiguelife": (0.9,),
    "fisk": (1.8,),
    "gamma": (2.3,),
    "genextreme": (0.2,),
    "genhyperbolic": (0.5, 1.5, -0.5),
    "geninvgauss": (2.3, 1.5),
    "genpareto": (0.2,),
    "geom": (0.35,),
    "gompertz": (1.2,),
    "exponnorm": (1.5,),
    "foldnorm": (1.2,),
    "invgamma": (2.4,),
    "invgauss": (1.3,),
    "johnsonsb": (0.4, 1.3),
    "johnsonsu": (0.4, 1.3),
    "dlaplace": (0.8,),
    "erlang": (3,),
    "rice": (0.8,),
    "loggamma": (1.4,),
    "logser": (0.6,),
    "loglaplace": (1.8,),
    "ksone": (7,),
    "lognorm": (0.7,),
    "lomax": (1.7,),
    "nakagami": (1.3,),
    "nbinom": (4.4, 0.35),
    "ncf": (5.5, 8.5, 1.4),
    "nct": (4.5, 0.7),
    "ncx2": (3.5, 1.4),
    "nchypergeom_fisher": (14, 8, 6, 0.5),
    "nchypergeom_wallenius": (14, 8, 6, 0.5),
    "pareto": (2.2,),
    "planck": (0.4,),
    "skellam": (2.5, 1.3),
    "poisson": (3.4,),
    "powerlaw": (1.7,),
    "skewnorm": (1.5,),
    "t": (4.5,),
    "trapezoid": (0.2, 0.8),
    "triang": (0.45,),
    "truncnorm": (-1.0, 2.0),
    "vonmises": (1.3,),
    "vonmises_line": (1.3,),
    "weibull_max": (1.7,),
    "wrapcauchy": (0.4,),
    "weibull_min": (1.7,),
    "zipfian": (1.25, 10),
}
OF_FEW_DIGITS = ("studentized_range", "kstwo", "norminvgauss")
NAMES = [*[name for name in CONTINUOUS if name not in OF_FEW_DIGITS], *DISCRETE]
"""`test_integral_families` and `test_far_tails` have the others: SciPy's have too few digits."""
CUMULATIVE = ["cdf", "sf", "logcdf", "logsf", "ppf", "isf"]
SOME = one_in(6, NAMES)
DIGITS = {"kstwobign": 1e-7, "genhyperbolic": 1e-9, "geninvgauss": 1e-9, "landau": 1e-12}
DIGITS["skewcauchy"] = 1e-12
DIGITS["nchypergeom_wallenius"] = 1e-9
"""Those of SciPy's values where they are fewer: other tests compare with mpmath."""
LEVELS = np.array([0.1, 0.3, 0.62, 0.9])


def parameters(name):
    own = (2.0,) if name in DISCRETE else (0.3, 1.4)
    return tuple(map(float, SHAPES.get(name, ()))) + own


def methods(name):
    return [*(["pmf", "logpmf"] if name in DISCRETE else ["pdf", "logpdf"]), *CUMULATIVE]


def check(name, method):
    own = getattr(getattr(scipy.stats, name), method)
    found = getattr(getattr(stats, name), method)
    pars = parameters(name)
    x = LEVELS if method in ("ppf", "isf") else getattr(scipy.stats, name).ppf(LEVELS, *pars)
    # Integers, and probabilities of discrete distributions, do not move.
    moving = np.array([0.0 if name in DISCRETE else 0.7, *np.cos(np.arange(len(pars)))])
    if name in DISCRETE:
        moving[-1] = 0.0
    if name in ("binom", "erlang", "ksone"):  # counts do not move
        moving[1] = 0.0
    if name in ("boltzmann", "zipfian"):  # nor does the number of elements
        moving[2] = 0.0

    def along(f, t):
        moved = [p + t * v for p, v in zip(pars, moving[1:], strict=True)]
        if name.startswith("nchypergeom"):  # the counts are constants of the program
            moved[:3] = pars[:3]
        return f(x + t * moving[0], *moved)

    h = 3e-5
    wanted = own(x, *pars)
    value, slope = fg.jvp(lambda t: along(found, t), (0.0,), (1.0,))
    np.testing.assert_allclose(value, wanted, rtol=DIGITS.get(name, 1e-13), atol=1e-300)
    near = [along(own, k * h) for k in (1, -1, 2, -2)]
    with np.errstate(invalid="ignore"):
        difference = (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)
    difference = np.where(np.isfinite(wanted), difference, 0.0)
    if name in DISCRETE and method in ("ppf", "isf"):
        difference = 0 * difference
    np.testing.assert_allclose(slope, difference, rtol=1e-7, atol=1e-8)
    back = fg.grad(lambda t: np.sum(np.where(np.isfinite(wanted), along(found, t), 0.0)))
    assert back(0.0) == pytest.approx(np.sum(slope), rel=1e-11, abs=1e-13)
    return along, found, slope


@pytest.mark.parametrize("name", one_in(2, SOME))
def test_values_are_scipys_and_slopes_are_differences(name):
    log = "logpmf" if name in DISCRETE else "logpdf"
    for method in [log, "logsf"]:
        check(name, method)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method"), [(name, method) for name in NAMES for method in methods(name)]
)
def test_all_methods_in_both_modes_and_orders_batched_and_compiled(name, method):
    along, found, slope = check(name, method)
    np.testing.assert_allclose(
        fg.jit(lambda t: fg.jvp(lambda s: along(found, s), (t,), (1.0,))[1])(0.0), slope, rtol=1e-11
    )
    rows = fg.vmap(lambda t: along(found, t))(np.array([0.0, 0.01]))
    np.testing.assert_allclose(rows[1], along(found, 0.01), rtol=DIGITS.get(name, 1e-12))

    def first(t):
        return fg.jvp(lambda s: along(found, s), (t,), (1.0,))[1]

    second = fg.jvp(first, (0.0,), (1.0,))[1]
    h = 1e-5
    np.testing.assert_allclose(second, (first(h) - first(-h)) / (2 * h), rtol=1e-6, atol=1e-6)
    backward = fg.grad(fg.grad(lambda t: np.sum(np.nan_to_num(along(found, t), neginf=0.0))))(0.0)
    assert backward == pytest.approx(np.sum(second), rel=1e-9, abs=1e-9)


@pytest.mark.filterwarnings("ignore:.*by steps alone")
@pytest.mark.filterwarnings("ignore:Infinite values encountered in scipy.special.kve")
@pytest.mark.parametrize("name", one_in(2, SOME))
def test_outside_the_support_and_for_invalid_parameters(name):
    own, found = getattr(scipy.stats, name), getattr(stats, name)
    pars, density = parameters(name), "logpmf" if name in DISCRETE else "logpdf"
    # Further out, SciPy's loses the digits of 1 - x/sqrt(a + b + x*x).
    far = 1e2 if name == "jf_skew_t" else 1e9
    x = np.array([-np.inf, -far, np.nan, far, np.inf])
    for method in [density, density[3:]]:
        with np.errstate(all="ignore"):
            wanted = getattr(own, method)(x, *pars)
        if name == "geninvgauss":  # SciPy's is NaN at 1e9, whose density underflows
            wanted[3] = -np.inf if method == density else 0.0
        wanted = np.where(np.isinf(x), -np.inf if method == density else 0.0, wanted)
        value, slope = fg.vmap(fg.value_and_grad(lambda v, m=method: getattr(found, m)(v, *pars)))(
            x
        )
        outside = np.isneginf(value) if method == density else value == 0
        if method == "logpdf" and own.support(*pars) == (-np.inf, np.inf):
            outside &= np.isinf(x)  # elsewhere it is -inf by overflow, and so may be its slope
        assert np.all(slope[outside] == 0)
        # SciPy's may be the logarithm of a density that underflows.
        value = np.where(np.isneginf(wanted) & (value < -700), -np.inf, value)
        # SciPy's density of ncf has seven digits there: `test_noncentral` compares with mp.
        np.testing.assert_allclose(value, wanted, rtol=1e-7 if name == "ncf" else 1e-12)
    wrong = (*pars[:-1], -1.0) if name in CONTINUOUS else (-7.5, *pars[1:])
    assert np.isnan(fg.value_and_grad(getattr(found, density))(1.0, *wrong)[0])


def test_plain_values_are_scipys():
    assert stats.norm.pdf(0.5) == scipy.stats.norm.pdf(0.5)
    assert stats.norm.mean(loc=3.0) == 3.0
    assert stats.norm(1.0, 2.0).var() == 4.0
    assert stats.kstest.__wrapped__ is scipy.stats.kstest
    assert stats.gamma.rvs(2.0, size=3, random_state=0).shape == (3,)


def test_frozen_distributions():
    def loss(loc, scale):
        return stats.norm(loc, scale=scale).logpdf(np.array([1.0, 2.0])).sum()

    assert fg.grad(loss, argnums=(0, 1))(0.0, 1.0) == (3.0, 3.0)
    assert fg.jit(fg.grad(loss, argnums=1))(0.0, 1.0) == 3.0
    assert fg.grad(lambda loc: stats.norm(loc).stats()[0])(0.0) == 1.0
    assert fg.grad(lambda loc: stats.norm(loc).expect())(0.0) == pytest.approx(1.0)
    with pytest.raises(AttributeError, match="fit_loc_scale"):  # as SciPy's
        fg.grad(lambda loc: stats.norm(loc).fit_loc_scale([1.0, 2.0]))(0.0)


@pytest.mark.parametrize("module", [stats, scipy.stats], ids=["funcgrad", "scipy"])
@pytest.mark.parametrize("name", ["norm", "gamma", "rice", "poisson"])
def test_methods_without_a_formula_are_scipys_code(name, module):
    distribution, shapes = getattr(module, name), {"norm": ()}.get(name, (1.3,))
    if name != "poisson":
        data = np.array([1.0, 2.0, 4.0])
        fg.check_grads(lambda x: distribution.fit_loc_scale(x, *shapes), (data,), order=1)
    fg.check_grads(lambda loc: distribution(*shapes, loc=loc).moment(2), (0.4,), order=1)
    assert "fit_loc_scale" in dir(stats.norm)


def test_parameters_broadcast_with_data():
    x, loc, scale = np.linspace(-1, 1, 3), np.array([[0.0], [1.0]]), np.array([[1.0], [2.0]])
    found = fg.grad(lambda scale: np.sum(stats.norm.logcdf(x, loc, scale)))(scale)
    h = 1e-6
    ends = [np.sum(scipy.stats.norm.logcdf(x, loc, scale + s * h), axis=1) for s in (1, -1)]
    np.testing.assert_allclose(found[:, 0], (ends[0] - ends[1]) / (2 * h), rtol=1e-8)
    assert fg.grad(lambda x: np.sum(stats.norm.pdf(x, loc)))(np.empty((2, 0))).shape == (2, 0)


def test_dtypes():
    assert fg.grad(stats.norm.logpdf)(np.float32(2.0)) == -2.0
    assert fg.grad(stats.norm.logpdf)(np.float32(2.0)).dtype == np.float32
    x, scipys = np.array([2.0], np.float32), scipy.stats.norm.logpdf(np.array([2.0], np.float32))
    assert fg.jvp(stats.norm.logpdf, (x,), (x,))[0].dtype == scipys.dtype == np.float64
    assert fg.grad(lambda mu: stats.poisson.logpmf(np.array([1, 2]), mu).sum())(2.0) == -0.5
    with pytest.raises(
        TypeError, match=r"norm\.pdf: expected real numbers, but got dtype complex128"
    ):
        fg.jvp(stats.norm.pdf, (1j,), (1j,))


@pytest.mark.parametrize(
    ("name", "shapes", "x", "wanted"),
    [
        # Densities at a parameter where another formula has a removable singularity.
        ("genextreme", (0.0,), 0.7, scipy.stats.gumbel_r.logpdf(0.7)),
        ("genpareto", (0.0,), 0.7, -0.7),
        ("gamma", (1.0,), 0.7, -0.7),
        ("weibull_min", (1.0,), 0.0, 0.0),
        ("beta", (1.0, 1.0), 0.0, 0.0),
        ("powerlaw", (1.0,), 0.5, 0.0),
        ("t", (1e12,), 0.7, scipy.stats.norm.logpdf(0.7)),
    ],
)
def test_densities_at_special_parameters(name, shapes, x, wanted):
    found = getattr(stats, name)
    value, slopes = fg.value_and_grad(found.logpdf, argnums=tuple(range(len(shapes) + 1)))(
        x, *shapes
    )
    assert value == pytest.approx(wanted, rel=1e-12, abs=1e-13)
    h = 1e-5
    if x > 0 and shapes[0] < 1e6:
        for place, slope in enumerate(slopes):
            ends = []
            for s in (1, -1):
                args = [v + s * h if k == place else v for k, v in enumerate((x, *shapes))]
                ends.append(getattr(scipy.stats, name).logpdf(*args))
            assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("df", [3.0, 61.0, 1e4, 1e8])
def test_students_t_in_the_degrees_of_freedom(df):
    mp = pytest.importorskip("mpmath")

    def log(x, df):
        return (
            mp.loggamma((df + 1) / 2)
            - mp.loggamma(df / 2)
            - mp.log(df * mp.pi) / 2
            - (df + 1) / 2 * mp.log1p(x * x / df)
        )

    with mp.workdps(60):
        wanted = mp.diff(lambda df: log(mp.mpf(3), df), mp.mpf(df), h=mp.mpf(10) ** -20 * df)
    # The derivative is a difference of terms of size 1/df; their difference has size 1/df**2.
    assert fg.grad(stats.t.logpdf, argnums=1)(3.0, df) == pytest.approx(
        float(wanted), rel=1e-10, abs=2e-15 / df
    )


def of_scipy(scale):
    from scipy.stats import norm

    return norm.logpdf(3.0, scale=scale) + scipy.stats.expon(0.0, scale).logsf(2.0)


def test_adopted_code_has_these_distributions():
    assert fg.grad(fg.adopt(of_scipy))(1.0) == 10.0


@pytest.mark.parametrize(
    ("name", "k", "before", "p", "slope"),
    [
        ("poisson", 0, (), 0.0, -1.0),
        ("poisson", 1, (), 0.0, 1.0),
        ("poisson", 2, (), 0.0, 0.0),
        ("binom", 1, (3,), 0.0, 3.0),
        ("binom", 2, (3,), 1.0, -3.0),
        ("binom", 0, (3,), 0.0, -3.0),
        ("binom", 4, (3,), 0.0, 0.0),
        ("bernoulli", 1, (), 0.0, 1.0),
        ("bernoulli", 0, (), 1.0, -1.0),
        ("nbinom", 1, (2.5,), 1.0, -2.5),
        ("geom", 2, (), 1.0, -1.0),
        ("geom", 1, (), 1.0, 1.0),
    ],
)
def test_masses_on_the_edge_of_a_parameter_have_derivatives(name, k, before, p, slope):
    own, ours = getattr(scipy.stats, name), getattr(stats, name)
    value, found = fg.value_and_grad(lambda p: ours.pmf(k, *before, p))(p)
    assert value == own.pmf(k, *before, p)
    assert found == pytest.approx(slope, abs=1e-12)
    assert fg.jvp(lambda p: ours.pmf(k, *before, p), (p,), (1.0,))[1] == pytest.approx(
        slope, abs=1e-12
    )
    assert fg.jit(fg.grad(lambda p: ours.pmf(k, *before, p)))(p) == pytest.approx(slope, abs=1e-12)


@pytest.mark.parametrize(("k", "slope"), [(1, 1.0), (2, 0.0)])
def test_a_geometric_variable_that_is_1_for_sure(k, slope):
    for name, wanted in (("cdf", slope), ("sf", -slope), ("logcdf", slope)):
        f = lambda p: getattr(stats.geom, name)(k, p)  # noqa: B023, E731
        assert fg.grad(f)(1.0) == fg.jit(fg.grad(f))(1.0) == fg.jvp(f, (1.0,), (1.0,))[1] == wanted


def test_masses_of_tiny_probabilities():
    f = fg.value_and_grad(lambda p: stats.binom.pmf(1, 5, p))
    assert f(1e-300) == pytest.approx((5e-300, 5.0), rel=1e-12, abs=0)


@pytest.mark.parametrize("name", one_in(5, SOME))
def test_slopes_outside_the_support_are_zero(name):
    pars = parameters(name)
    own = getattr(scipy.stats, name)
    a, b = own.support(*pars)
    points = [
        -np.inf,
        np.inf,
        *([a - 2.0] if np.isfinite(a) else []),
        *([b + 2.0] if b < 1e9 else []),
    ]
    for method in methods(name)[:6]:
        found = getattr(getattr(stats, name), method)
        for x in points:
            value, slopes = fg.value_and_grad(found, argnums=tuple(range(1 + len(pars))))(x, *pars)
            if np.isfinite(value):
                assert not np.any(slopes), (method, x)


@pytest.mark.parametrize(
    ("call", "x", "value", "slope"),
    [
        # Slopes at the median, where the formula has two halves.
        (lambda x: stats.laplace.cdf(x), 0.0, 0.5, 0.5),
        (lambda x: stats.laplace.logsf(x), 0.0, -np.log(2), -1.0),
        (lambda x: stats.hypsecant.cdf(x), 0.0, 0.5, 1 / np.pi),
        # Far out: by mpmath, with 40 digits.
        (
            lambda x: stats.hypsecant.logsf(x),
            -40.0,
            -2.7045863189405773e-18,
            -2.7045863189405773e-18,
        ),
        (lambda x: stats.hypsecant.cdf(x), 1001.0, 1.0, 0.0),
        (lambda x: stats.hypsecant.logsf(x), 1001.0, -1001.4515827052894, -1.0),
        (lambda x: stats.cauchy.logpdf(x), 1e200, -922.1787670834677, -2e-200),
        (lambda x: stats.cauchy.logsf(x), 1e200, -461.6617484846585, -1e-200),
        (lambda x: stats.cauchy.logsf(x, 0.0, 1 / x), 1.0, -1.3862943611198906, -4 / np.pi),
        (lambda x: stats.truncnorm.logcdf(x, 30.0, 50.0), 38.5, None, None),
        # Densities that are positive at the end of the support.
        (lambda x: stats.chi.pdf(x, 1.0), 0.0, np.sqrt(2 / np.pi), 0.0),
        (lambda x: stats.nakagami.pdf(x, 0.5), 0.0, np.sqrt(2 / np.pi), 0.0),
        (lambda x: stats.fisk.pdf(x, 1.0), 0.0, 1.0, -2.0),
        (lambda x: stats.loglaplace.pdf(x, 1.0), 0.0, 0.5, 0.0),
    ],
)
def test_values_and_slopes_at_medians_ends_and_far_out(call, x, value, slope):
    if value is None:  # the logarithm of 1 - sf, where sf is small
        sf, density = fg.value_and_grad(lambda x: stats.truncnorm.sf(x, 30.0, 50.0))(x)
        value, slope = np.log1p(-sf), -density / (1 - sf)
        assert value < 0
    found = fg.value_and_grad(call)(x)
    assert found == pytest.approx((value, slope), rel=1e-13, abs=0)
    assert fg.jit(lambda t: fg.jvp(call, (t,), (1.0,))[1])(x) == pytest.approx(slope, rel=1e-13)


def test_the_tail_of_loggamma_underflows_to_minus_infinity():
    assert fg.value_and_grad(lambda x: stats.loggamma.logsf(x, 1.0))(1e10)[0] == -np.inf


def test_a_kernel_density_of_plain_data_has_scipys_values_and_derivatives_in_the_points():
    rng = np.random.default_rng(0)
    for known in (
        scipy.stats.gaussian_kde(rng.normal(size=9)),
        scipy.stats.gaussian_kde(rng.normal(size=(2, 9)), "silverman", weights=rng.random(9)),
    ):
        points = rng.normal(size=(known.d, 3))
        for method in (known, known.pdf, known.logpdf):
            found = fg.jit(lambda x, method=method: method(x))(points)
            np.testing.assert_allclose(found, method(points), rtol=1e-12)
        fg.check_grads(lambda x, known=known: known.pdf(x), (points,), order=2)
        assert fg.grad(lambda x, known=known: known.logpdf(x)[0])(points[:, :1] + 100).max() < 0


@pytest.mark.parametrize("bandwidth", one_in(3, [None, "silverman", 0.4, lambda kde: 1.3 / kde.d]))
def test_a_kernel_density_in_data_weights_and_bandwidth(bandwidth):
    rng = np.random.default_rng(0)
    data, weights, points = rng.normal(size=(2, 7)), rng.random(7), rng.normal(size=(2, 3))

    def density(data, weights, points):
        return scipy.stats.gaussian_kde(data, bandwidth, weights)(points)

    given = (data, weights, points)
    np.testing.assert_allclose(fg.jit(density)(*given), density(*given), rtol=1e-12)
    fg.check_grads(density, given, order=2)
    fg.check_grads(lambda h: scipy.stats.gaussian_kde(data[0], h)(0.3), (0.4,), order=2)
    rows = fg.vmap(lambda d: scipy.stats.gaussian_kde(d)(points))(np.stack([data, data + 1]))
    np.testing.assert_allclose(rows[1], scipy.stats.gaussian_kde(data + 1)(points), rtol=1e-12)


def test_a_kernel_density_of_traced_data_refuses_what_scipys_does():
    kde = scipy.stats.gaussian_kde
    with pytest.raises(ValueError, match="only handles 1D pdfs"):
        fg.grad(lambda y: kde(y).integrate_box_1d(0.0, 1.0))(np.eye(2, 4))
    with pytest.raises(AttributeError, match="kernels"):
        fg.grad(lambda y: kde(y).kernels)(np.arange(4.0))
    with pytest.raises(ValueError, match="`bw_method` should be 'scott', 'silverman'"):
        fg.grad(lambda y: kde(y, "wide")(0.0)[0])(np.arange(4.0))
    with pytest.raises(ValueError, match="should have multiple elements"):
        fg.grad(lambda y: kde(y)(0.0)[0])(np.arange(1.0))
    with pytest.raises(ValueError, match="`weights` input should be of length n"):
        fg.grad(lambda y: kde(y, weights=np.ones(3))(0.0)[0])(np.arange(4.0))


def test_a_kernel_density_in_the_plane_has_integrals_over_boxes_and_draws():
    data = np.array([[0.1, -0.4, 0.9, 1.3], [0.2, 0.5, -0.3, 0.8]])

    def box(t):
        return scipy.stats.gaussian_kde(data * t).integrate_box([-1.0, -0.5], [1.0, 2.0])

    assert fg.jit(box)(1.1) == pytest.approx(box(1.1), rel=1e-5)
    fg.check_grads(box, (1.1,), order=1, rtol=1e-3)
    draws = lambda t: scipy.stats.gaussian_kde(data * t).resample(3, seed=1)  # noqa: E731
    np.testing.assert_allclose(fg.jit(draws)(1.1), draws(1.1), rtol=1e-10)
    fg.check_grads(draws, (1.1,), order=1)


def test_a_kernel_density_of_funcgrads_takes_traced_values_and_formulas():
    points = np.array([0.1, 0.7])
    for module in (stats, scipy.stats):
        slope = fg.grad(lambda d, module=module: module.gaussian_kde(d)(points)[0])
        assert slope(np.array([-0.4, 0.1, 0.9])).shape == (3,)


def test_densities_have_slopes_in_weights_that_are_zero():
    data, points = np.array([0.1, 0.5, 1.4, 2.0]), np.array([0.3, 1.0])
    density = lambda w: scipy.stats.gaussian_kde(data, 0.4, w)(points)  # noqa: E731
    weights, step = np.array([0.0, 1.0, 1.0, 2.0]), np.array([1e-7, 0.0, 0.0, 0.0])
    slopes = fg.jacobian(density)(weights)
    np.testing.assert_allclose(
        slopes[:, 0], (density(step + weights) - density(weights)) / 1e-7, 1e-5
    )
    np.testing.assert_allclose(slopes @ weights, 0.0, atol=1e-14)


class _Narrow(scipy.stats.gaussian_kde):
    def covariance_factor(self):
        return 0.77


def test_a_subclass_may_define_the_bandwidth():
    data = np.array([0.0, 1.0, 3.0, 4.2])
    density = lambda d, x: _Narrow(d)(x)[0]  # noqa: E731
    expected = scipy.stats.gaussian_kde(data, 0.77)(0.5)[0]
    for argnums in (0, 1):
        value = fg.value_and_grad(density, argnums)(data, 0.5)[0]
        assert value == pytest.approx(expected, rel=1e-12)
    kde = stats.gaussian_kde(data, "silverman")
    assert pickle.loads(pickle.dumps(kde))(0.5) == kde(0.5)


DENSITIES = {
    "a number": 0.4,
    "scott": None,
    "silverman": "silverman",
    "a rule": lambda kde: 0.9 * kde.neff**-0.3,
}
OF_DENSITIES = {
    "pdf": lambda kde, x: kde(x),
    "logpdf": lambda kde, x: kde.logpdf(x),
    "integrate_gaussian": lambda kde, x: kde.integrate_gaussian(x[:, 0], np.eye(kde.d)),
    "integrate_kde": lambda kde, x: kde.integrate_kde(kde.marginal(np.arange(kde.d))),
    "inv_cov": lambda kde, x: kde.inv_cov,
    "marginal": lambda kde, x: kde.marginal([0])(x[0]),
    "integrate_box_1d": lambda kde, x: kde.marginal([0]).integrate_box_1d(x[0, 0], 0.9),
    "integrate_box": lambda kde, x: kde.marginal([0]).integrate_box([-0.5], [0.9]),
}


@pytest.mark.parametrize(
    ("method", "bandwidth", "dimensions"),
    one_in(7, itertools.product(OF_DENSITIES, DENSITIES, [1, 2])),
)
def test_a_kernel_density_of_traced_data(dimensions, bandwidth, method):
    rng = np.random.default_rng(3)
    data, weights = rng.normal(size=(dimensions, 6)), rng.random(6) + 0.1
    points = rng.normal(size=(dimensions, 3))

    def value(data, weights, points):
        kde = scipy.stats.gaussian_kde(data, DENSITIES[bandwidth], weights)
        return OF_DENSITIES[method](kde, points)

    given = (data, weights, points)
    np.testing.assert_allclose(fg.jit(value)(*given), value(*given), rtol=1e-9)
    order = 2 if method in ("pdf", "integrate_box_1d") else 1
    fg.check_grads(lambda t: value(data * (1 + t), weights + t, points), (0.1,), order=order)
    own = stats.gaussian_kde(data, DENSITIES[bandwidth], weights)
    np.testing.assert_allclose(OF_DENSITIES[method](own, points), value(*given), rtol=1e-9)


def test_the_bandwidth_of_a_kernel_density_is_differentiable():
    data, point = np.array([-0.4, 0.1, 0.9, 1.7]), 0.3

    def changed(h):
        kde = scipy.stats.gaussian_kde(data)
        kde.set_bandwidth(h)
        return kde(point)[0]

    for f in (
        changed,
        lambda h: scipy.stats.gaussian_kde(data, h)(point)[0],
        lambda h: scipy.stats.gaussian_kde(data, lambda kde: h)(point)[0],
    ):
        fg.check_grads(f, (0.5,), order=2)
        assert fg.jit(f)(0.5) == pytest.approx(f(0.5), rel=1e-12)


@pytest.mark.parametrize(
    ("a", "method"),
    one_in(3, itertools.product([0.0, 1.0, 1.25, 60.0], ["logpmf", "pmf", "logcdf", "logsf"])),
)
def test_zipfian_in_the_exponent(a, method):
    f = getattr(scipy.stats.zipfian, method)
    terms = [mp.mpf(i) for i in range(1, 31)]
    for k in (1, 24, 29):
        chosen = {"logcdf": terms[:k], "logsf": terms[k:]}.get(method, [terms[k - 1]])

        def exact(a, chosen=chosen):
            share = mp.fsum([i**-a for i in chosen]) / mp.fsum([i**-a for i in terms])
            return share if method == "pmf" else mp.log(share)

        with mp.workdps(150):
            wanted = [float(mp.diff(exact, mp.mpf(a), order)) for order in (1, 2)]
        f_of_a = functools.partial(f, k, n=30)
        slope = fg.grad(lambda a, f=f_of_a: f(a=a))
        assert [slope(a), fg.grad(slope)(a)] == pytest.approx(wanted, rel=1e-9, abs=1e-300)
        assert fg.jit(slope)(a) == pytest.approx(wanted[0], rel=1e-12, abs=1e-300)


def test_zipfian_of_many_numbers_and_its_moments():
    own, a, h = scipy.stats.zipfian, 1.25, 1e-5
    for f in (lambda a: own.logcdf(500, a, 10**6), lambda a: own.mean(a, 1000)):
        value, slope = fg.value_and_grad(f)(a)
        assert value == pytest.approx(f(a), rel=1e-13)
        assert slope == pytest.approx((f(a + h) - f(a - h)) / (2 * h), rel=1e-6)


@pytest.mark.parametrize("k", [0, 3, 17])
def test_boltzmann_of_a_tiny_rate(k):
    """Of N equal masses the k-th falls by lambda*(k - (N - 1)/2)."""
    rate, N = 1e-9, 19
    own, left = scipy.stats.boltzmann, N - k - 1
    assert fg.grad(own.pmf, 1)(k, rate, N) == pytest.approx(((N - 1) / 2 - k) / N, rel=1e-6)
    assert fg.grad(own.sf, 1)(k, rate, N) == pytest.approx(-left * (k + 1) / 2 / N, rel=1e-6)


@pytest.mark.parametrize("mu", [1e-8, 0.3, 2.7, 40.0])
def test_the_entropy_of_poissons_distribution(mu):
    def entropy(m):
        count = int(m + 20 * mp.sqrt(m) + 60)
        logs = [k * mp.log(m) - m - mp.loggamma(k + 1) for k in range(count)]
        return -mp.fsum([mp.exp(v) * v for v in logs])

    own = scipy.stats.poisson.entropy
    with mp.workdps(30):
        slopes = [float(mp.diff(entropy, mp.mpf(mu), k)) for k in range(3)]
    found = [fg.jit(own)(mu), fg.grad(own)(mu), fg.grad(fg.grad(own))(mu)]
    np.testing.assert_allclose(found, slopes, rtol=1e-9)
    assert fg.jvp(own, (mu,), (1.0,))[1] == pytest.approx(slopes[1], rel=1e-9)


def test_the_entropy_of_poissons_distribution_far_out_and_at_its_edge():
    own, means = scipy.stats.poisson.entropy, np.array([999.0, 1000.0, 1001.0, 1e4])
    entropies = fg.jit(own)(means)  # (SciPy's own sum does not converge at 10^4)
    np.testing.assert_allclose(entropies[:3], own(means[:3]), rtol=1e-10)
    far = np.log(2 * np.pi * np.e * 1e4) / 2 - 1 / 12e4
    np.testing.assert_allclose(entropies[3], far, rtol=1e-8)
    rows = fg.vmap(fg.grad(lambda m: own(m)))(means)
    np.testing.assert_allclose(rows, 0.5 / means + 1 / (12 * means**2), rtol=1e-6)
    assert fg.grad(own)(0.0) == np.inf
    assert fg.jit(lambda m: scipy.stats.poisson(m).entropy())(0.0) == 0.0
    assert np.isnan(fg.jit(own)(-1.0))


def test_distributions_without_formulas_take_traced_values():
    x = np.array([0.3, 0.9])
    for own, mine, parameters in (
        (scipy.stats.tukeylambda, stats.tukeylambda, (0.6,)),
        (scipy.stats.pearson3, stats.pearson3, (0.4,)),
    ):
        assert mine is not own
        assert mine.name == own.name
        assert set(dir(own)) <= set(dir(mine))
        assert repr(mine) == f"funcgrad.scipy.stats.{own.name}"
        np.testing.assert_array_equal(mine.pdf(x, *parameters), own.pdf(x, *parameters))
        loss = lambda p, d=mine: np.sum(d.logpdf(x, p))  # noqa: E731
        np.testing.assert_allclose(fg.jit(loss)(*parameters), np.sum(own.logpdf(x, *parameters)))
        fg.check_grads(loss, parameters, order=2)
        np.testing.assert_array_equal(mine(*parameters).cdf(x), own.cdf(x, *parameters))
    assert repr(stats.matrix_normal) == "funcgrad.scipy.stats.matrix_normal"


@pytest.mark.parametrize(
    ("x", "a"), one_in(2, [(-5.0, 2.0), (-8.0, 2.0), (5.0, -2.0), (0.3, 1.5), (6.0, 1.0)])
)
def test_slopes_of_skewnorm_are_its_density_in_the_tails(x, a):
    own = scipy.stats.skewnorm
    assert fg.grad(own.cdf)(x, a) == pytest.approx(own.pdf(x, a), rel=1e-12)
    assert fg.grad(own.sf)(x, a) == pytest.approx(-own.pdf(x, a), rel=1e-12)
    assert fg.grad(own.logcdf)(x, a) == pytest.approx(own.pdf(x, a) / own.cdf(x, a), rel=1e-8)


MOMENTS = {
    "mean": lambda d, s: d.mean(),
    "var": lambda d, s: d.var(),
    "std": lambda d, s: d.std(),
    "entropy": lambda d, s: d.entropy(),
    "median": lambda d, s: d.median(),
    "interval": lambda d, s: d.interval(0.3 * s)[0] * d.interval(0.9)[1],
}


@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("family", ["norm", "gumbel_r", "gamma"])
def test_moments_and_quantiles_of_a_traced_location_and_scale(family, name):
    def measure(s):
        shapes = (2.5,) if family == "gamma" else ()
        return MOMENTS[name](getattr(scipy.stats, family)(*shapes, loc=np.sin(s), scale=s * s), s)

    value, slope = fg.value_and_grad(measure)(1.3)
    assert value == pytest.approx(measure(1.3), rel=1e-14)
    h = 1e-5
    expected = (measure(1.3 + h) - measure(1.3 - h)) / (2 * h)
    assert slope == pytest.approx(expected, rel=1e-8, abs=1e-8)
    assert fg.jit(lambda s: fg.jvp(measure, (s,), (1.0,))[1])(1.3) == pytest.approx(slope)


def test_moments_in_loc_and_scale():
    assert fg.grad(lambda s: scipy.stats.poisson(2.5, loc=s).mean())(1.0) == 1.0
    assert fg.grad(lambda x: scipy.stats.norm.fit_loc_scale([x, 2.0 * x])[0])(1.5) == 1.5
    assert np.isnan(fg.value_and_grad(lambda s: scipy.stats.norm.std(0.0, s))(-1.0)[0])


Y = np.array([1.21, 1.83, 1.47, 1.69, 0.4])
ON_SAMPLES = {
    "pearsonr": lambda x: scipy.stats.pearsonr(x, Y)[0],
    "p-value of pearsonr": lambda x: scipy.stats.pearsonr(x, Y)[1],
    "f_oneway": lambda x: scipy.stats.f_oneway(x, Y)[1],
    "wasserstein_distance": lambda x: scipy.stats.wasserstein_distance(x, Y, x**2, Y),
    "energy_distance": lambda x: scipy.stats.energy_distance(x, Y),
    "tvar": lambda x: scipy.stats.tvar(x, (0.0, 1.0)),
    "variation": lambda x: scipy.stats.variation(x, ddof=1),
    "lmoment": lambda x: scipy.stats.lmoment(x) @ np.arange(4),
    "yeojohnson_llf": lambda x: scipy.stats.yeojohnson_llf(0.3, x),
    "linregress": lambda x: sum(scipy.stats.linregress(x, Y)[:5]),
    "ttest_ind": lambda x: scipy.stats.ttest_ind(x, Y, equal_var=False)[1],
}


@pytest.mark.parametrize(
    "name", ["linregress", "pearsonr", "ttest_rel", "spearmanr", "theilslopes"]
)
def test_results_of_tests_and_fits_are_trees(name):
    own, x = getattr(scipy.stats, name), np.array([0.31, 0.72, 0.55, 0.87, 1.3])
    f = lambda x: own(x, Y)  # noqa: E731
    wanted, made = f(x), fg.jit(f)(x)
    np.testing.assert_allclose(made, wanted, rtol=1e-12)
    value, slope = fg.jvp(f, (x,), (x,))
    assert made._fields == slope._fields
    assert slope[0] == pytest.approx(np.dot(fg.grad(lambda x: f(x)[0])(x), x), abs=1e-14)
    fields = [each for each in wanted._extra_fields if each[0] != "_"]
    assert [getattr(value, each) for each in fields] == pytest.approx(
        [getattr(wanted, each) for each in fields]
    )
    assert type(made) is type(fg.adopt(f)(x)) is type(wanted)
    if name != "ttest_rel":  # which holds a module: SciPy's own cannot be pickled
        assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize("name", ["pearsonr", "ttest_rel", "ttest_ind"])
def test_methods_of_results_of_tests(name):
    own, x = getattr(scipy.stats, name), np.array([0.31, 0.72, 0.55, 0.87, 1.3])
    made = fg.jit(lambda x: own(x, Y))(x)
    np.testing.assert_allclose(made.confidence_interval(), own(x, Y).confidence_interval())


@pytest.mark.parametrize("name", one_in(3, ON_SAMPLES))
def test_statistics_of_samples(name):
    x = np.array([0.31, 0.72, 0.55, 0.87, 1.3])
    fg.check_grads(ON_SAMPLES[name], (x,), order=1)
    assert fg.value_and_grad(ON_SAMPLES[name])(x)[0] == pytest.approx(ON_SAMPLES[name](x))


def test_compiled_code_that_is_given_traced_values_says_what_to_write():
    ndimage = pytest.importorskip("scipy.ndimage")
    name = "scipy.ndimage.distance_transform_edt"
    message = f"{name}: expected plain numbers.*write it with NumPy's functions"
    with pytest.raises(TypeError, match=f"(?s){message}.*test_stats.py"):
        fg.grad(lambda x: ndimage.distance_transform_edt(np.eye(3), sampling=[x, 1.0])[0, 0])(1.0)


SPECIAL_PARAMETERS = [
    ("t", (np.inf,), [-3.0, -0.4, 0.0, 0.7, 4.0]),
    ("vonmises", (0.0,), [-3.0, -0.4, 0.0, 0.7, 3.0]),
    ("vonmises", (1.3,), [-3.0, -0.4, 0.0, 0.7, 3.0]),
    ("invgauss", (np.inf,), [0.2, 1.0, 5.0]),
]


@pytest.mark.parametrize(("name", "shapes", "at"), SPECIAL_PARAMETERS)
@pytest.mark.parametrize("method", one_in(4, ["pdf", "logpdf", "cdf", "sf", "logcdf", "logsf"]))
def test_parameters_at_which_a_distribution_is_another(name, shapes, at, method):
    own, x, h = getattr(scipy.stats, name), np.array(at), 1e-5

    def f(x):
        return getattr(own, method)(x, *shapes)

    value, slope = fg.jvp(f, (x,), (np.ones(x.size),))
    np.testing.assert_allclose(value, f(x), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(slope, (f(x + h) - f(x - h)) / (2 * h), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(fg.jit(fg.grad(lambda x: np.sum(f(x))))(x), slope, rtol=1e-12)


def test_student_s_t_with_traced_degrees_of_freedom_is_normal_at_infinity():
    value, slope = fg.value_and_grad(lambda df: scipy.stats.t.logpdf(0.7, df))(np.inf)
    assert value == pytest.approx(scipy.stats.norm.logpdf(0.7), rel=1e-14)
    assert slope == 0
    both = fg.jit(lambda df: scipy.stats.t.cdf(0.7, df))(np.array([3.0, np.inf]))
    np.testing.assert_allclose(both, scipy.stats.t.cdf(0.7, [3.0, np.inf]), rtol=1e-13)
    assert fg.grad(lambda q: scipy.stats.t.ppf(q, np.inf))(0.3) == pytest.approx(
        1 / scipy.stats.norm.pdf(scipy.stats.norm.ppf(0.3)), rel=1e-12
    )


def test_slopes_of_vonmises_in_a_concentration_of_zero():
    x = 0.4
    logpdf, cdf = scipy.stats.vonmises.logpdf, scipy.stats.vonmises.cdf
    assert fg.grad(logpdf, 1)(x, 0.0) == pytest.approx(np.cos(x), rel=1e-14)
    assert fg.grad(fg.grad(logpdf, 1), 1)(x, 0.0) == pytest.approx(-0.5, rel=1e-13)
    assert fg.grad(cdf, 1)(x, 0.0) == pytest.approx(np.sin(x) / (2 * np.pi), rel=1e-13)
    assert fg.jit(fg.grad(cdf, 1))(x, 1e-9) == pytest.approx(fg.grad(cdf, 1)(x, 0.0), rel=1e-8)


def test_power_laws_at_zero():
    for c, wanted in ((1.0, 1.0), (2.0, 0.0), (0.5, 0.0)):
        found = fg.jvp(lambda x, c=c: scipy.stats.powerlaw.pdf(x, c), (0.0,), (1.0,))[0]
        assert found == wanted == scipy.stats.powerlaw.pdf(0.0, c)


def test_quantiles_at_the_ends_do_not_depend_on_parameters():
    for q in (0.0, 1.0):
        slopes = fg.grad(lambda q, a, b: scipy.stats.beta.ppf(q, a, b), (1, 2))(q, 2.0, 3.0)
        assert slopes == (0.0, 0.0)
    assert fg.grad(lambda a: scipy.stats.gamma.ppf(0.0, a))(2.0) == 0.0


@pytest.mark.parametrize("name", ["mean", "var", "std", "entropy", "median"])
def test_moments_have_the_shape_of_all_parameters(name):
    moment, loc = getattr(scipy.stats.norm, name), np.array([1.0, 2.0])
    np.testing.assert_array_equal(
        fg.jit(lambda loc: moment(loc, 3.0))(loc), moment(loc, 3.0), strict=True
    )


WEIGHTS = np.array([[0.3, 0.9, 1.1], [0.4, 0.2, 2.5]])


@pytest.mark.parametrize(
    ("options", "other"),
    one_in(
        3,
        itertools.product(
            [{}, {"axis": 1}, {"axis": None}, {"axis": -1, "keepdims": True}, {"base": 2.0}],
            [None, WEIGHTS[::-1] + 0.1],
        ),
    ),
    ids=str,
)
def test_entropy_of_weights_is_scipys_with_two_derivatives(other, options):
    def entropy(p, module=stats):
        return module.entropy(p, other, **options)

    for p in (WEIGHTS, WEIGHTS.astype(np.float32)):
        own, found = entropy(p, scipy.stats), fg.jit(entropy)(p)
        assert np.shape(found) == np.shape(own)
        assert np.asarray(found).dtype == own.dtype
        np.testing.assert_allclose(found, own, rtol=4 * np.finfo(p.dtype).eps)
    fg.check_grads(lambda p: np.sum(entropy(p) ** 2), (WEIGHTS,), order=2)
    if other is not None:
        fg.check_grads(lambda q: np.sum(stats.entropy(WEIGHTS, q, **options)), (other,), order=2)


@pytest.mark.parametrize("other", [None, np.array([0.2, 0.3, 0.1])])
def test_the_entropys_slope_at_a_zero_is_infinite_and_the_others_are_finite(other):
    p = np.array([0.0, 0.3, 0.9])
    found = fg.grad(lambda p: stats.entropy(p, other))(p)
    assert found[0] == (np.inf if other is None else -np.inf)
    rest = None if other is None else other[1:]
    expected = fg.grad(lambda p: stats.entropy(p, rest))(p[1:])
    np.testing.assert_allclose(found[1:], expected, rtol=1e-13, atol=1e-15)


FAR = {
    "binom of a large count": ("binom", "pmf", (1.0, 1541096362225563.0, 1.0477878413173978e-18)),
    "binom in the middle": ("binom", "pmf", (499800.0, 1e6, 0.5)),
    "binom.cdf of a large count": ("binom", "cdf", (0.0, 2.5e22, 1e-21)),
    "nbinom of large counts": ("nbinom", "pmf", (1000500.0, 1e6, 0.5)),
    "betaprime of a fat tail": ("betaprime", "cdf", (1e22, 100.0, 0.05)),
    "betaprime.sf near 0": ("betaprime", "sf", (1e-22, 0.05, 2.0)),
    "loggamma.cdf": ("loggamma", "cdf", (-725.0, 0.1)),
    "loggamma.sf": ("loggamma", "sf", (-800.0, 0.001)),
    "loggamma.ppf": ("loggamma", "ppf", (0.44958802911019136, 0.001)),
    "loggamma.isf": ("loggamma", "isf", (0.5504119708898086, 0.001)),
    "halflogistic.isf": ("halflogistic", "isf", (0.999999999,)),
    "halflogistic.logsf": ("halflogistic", "logsf", (2e-14,)),
}


@pytest.mark.parametrize("case", one_in(3, FAR))
def test_far_out_and_for_large_counts_values_have_scipys_digits(case):
    name, method, args = FAR[case]
    own, ours = getattr(getattr(scipy.stats, name), method), getattr(getattr(stats, name), method)
    np.testing.assert_allclose(fg.jit(ours)(*args), own(*args), rtol=1e-13)
    for place in range(1 if name not in ("binom", "nbinom") else len(args) - 1, len(args)):

        def along(f, t, place=place):
            return f(*[v * (1 + t) if k == place else v for k, v in enumerate(args)])

        first = fg.grad(lambda t, along=along: along(ours, t))
        h = 1e-7 if args[-1] == 0.5 else 1e-5  # of a steep slope
        wanted = (along(own, h) - along(own, -h)) / (2 * h)
        assert first(0.0) == pytest.approx(wanted, rel=1e-6)
        second = (first(h) - first(-h)) / (2 * h)
        assert fg.grad(first)(0.0) == pytest.approx(second, rel=1e-5)


def test_single_probabilities_of_a_multinomial_need_not_add_up_exactly():
    x, p = [1, 2, 5, 7, 4], np.full(5, 0.2, np.float32)
    wanted = scipy.stats.multinomial.pmf(x, 19, p)
    assert fg.jit(lambda p: stats.multinomial.pmf(x, 19, p))(p) == pytest.approx(wanted, rel=1e-14)


def test_ranks_are_constants_and_statistics_of_ranks_follow():
    x, y = np.array([0.3, 0.9, 0.3, 1.2]), np.array([1.0, 0.2, 0.7, 2.0])
    for options in ({}, {"method": "min"}, {"axis": 0}):
        f = lambda v, options=options: scipy.stats.rankdata(v, **options)  # noqa: E731
        assert fg.jit(f)(x).dtype == f(x).dtype
        np.testing.assert_array_equal(fg.jit(f)(x), f(x))
        np.testing.assert_array_equal(fg.vmap(f)(np.stack([y, x]))[1], f(x))
        np.testing.assert_array_equal(fg.grad(lambda v, f=f: v @ f(v))(x), f(x))
    for name in ("spearmanr", "ranksums", "brunnermunzel"):
        f = getattr(scipy.stats, name)
        value, slope = fg.value_and_grad(lambda v, f=f: f(v, y).statistic)(x)
        assert value == pytest.approx(f(x, y).statistic, rel=1e-14)
        assert not slope.any()


X_RANKED, Y_RANKED = np.array([0.3, 0.9, 0.5, 1.2, 0.1]), np.array([1.0, 0.23, 0.7, 2.0, 0.65])


@pytest.mark.parametrize("name", ["kendalltau", "kruskal", "mannwhitneyu", "wilcoxon", "fligner"])
def test_tests_of_ranks_are_constants(name):
    own = getattr(scipy.stats, name)

    def f(x):
        found = own(x, Y_RANKED)
        return np.stack([found.statistic, found.pvalue])

    np.testing.assert_array_equal(fg.jit(f)(X_RANKED), f(X_RANKED))
    np.testing.assert_array_equal(fg.vmap(f)(np.stack([-X_RANKED, X_RANKED]))[1], f(X_RANKED))
    assert not fg.jacobian(f)(X_RANKED).any()
    assert not np.any(f(X_RANKED * (1 + 1e-9)) - f(X_RANKED))


def test_places_among_scores_and_other_forms_of_tests_of_ranks():
    f = lambda x: scipy.stats.percentileofscore(x, 0.6, kind="mean")  # noqa: E731
    assert fg.value_and_grad(f)(X_RANKED)[0] == f(X_RANKED)
    samples = (X_RANKED, Y_RANKED, X_RANKED * Y_RANKED)
    g = lambda t: scipy.stats.friedmanchisquare(*[t * v for v in samples])[0]  # noqa: E731
    assert fg.value_and_grad(g)(1.0) == (g(1.0), 0.0)
    wanted = scipy.stats.mannwhitneyu(X_RANKED, Y_RANKED, alternative="less")
    found = fg.jit(lambda x: scipy.stats.mannwhitneyu(x, y=Y_RANKED, alternative="less"))(X_RANKED)
    assert [*found] == [*wanted]


@pytest.mark.parametrize("confidence", [-0.1, 1.5])
def test_an_interval_wants_a_confidence_from_0_to_1(confidence):
    with pytest.raises(ValueError, match=r"norm\.interval: expected a confidence from 0 to 1"):
        fg.grad(lambda loc: scipy.stats.norm.interval(confidence, loc)[0])(0.0)
    ends, _ = fg.jvp(lambda c: scipy.stats.norm.interval(c, 0.0), (confidence,), (1.0,))
    assert np.isnan(ends).all()


def test_the_median_of_cauchy_is_its_location_and_nan_for_an_infinite_scale():
    median = scipy.stats.cauchy.median
    assert fg.value_and_grad(median)(0.5) == (0.5, 1.0)
    assert fg.value_and_grad(lambda s: median(0.0, s))(2.0) == (0.0, 0.0)
    assert np.isnan(fg.value_and_grad(lambda s: median(0.0, s))(np.inf)[0])
    for q in (0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.9):
        value, slope = fg.value_and_grad(scipy.stats.cauchy.ppf)(q)
        np.testing.assert_allclose(value, scipy.stats.cauchy.ppf(q), rtol=1e-14)
        np.testing.assert_allclose(slope, np.pi / np.sin(np.pi * q) ** 2, rtol=1e-14)


@pytest.mark.parametrize("mu", [1.0, np.inf])
def test_the_density_of_invgauss_at_minus_zero_is_0(mu):
    pdf = scipy.stats.invgauss.pdf
    assert fg.value_and_grad(lambda x: pdf(x, mu))(-0.0) == (0.0, 0.0)
    assert fg.value_and_grad(lambda m: pdf(-0.0, m))(mu) == (0.0, 0.0)


@pytest.mark.parametrize("x", [0.03, 0.2, 0.81, 0.83, 0.98, 3.0, 40.0])
def test_kolmogorovs_statistic(x):
    mp = pytest.importorskip("mpmath")
    own = scipy.stats.kstwobign
    with mp.workdps(60):

        def below(x):
            rate = lambda k: mp.exp(-((2 * k - 1) ** 2) * mp.pi**2 / (8 * x * x))  # noqa: E731
            return mp.sqrt(2 * mp.pi) / x * mp.fsum([rate(k) for k in range(1, 60)])

        def above(x):
            return -2 * mp.fsum([(-1) ** k * mp.exp(-2 * k * k * x * x) for k in range(1, 60)])

        point = mp.mpf(x)
        left = x < 0.8
        density = mp.diff(below, point) if left else -mp.diff(above, point)
        curvature = mp.diff(below, point, 2) if left else -mp.diff(above, point, 2)
        small = (below if left else above)(point)
        wanted = (mp.log(density), curvature / density)
        side = (mp.log(small), (density if left else -density) / small)
    found = fg.value_and_grad(own.logpdf)(x)
    assert found == pytest.approx(list(map(float, wanted)), rel=1e-11)
    found = fg.value_and_grad(own.logcdf if left else own.logsf)(x)
    assert found == pytest.approx(list(map(float, side)), rel=1e-11)
    assert fg.grad(own.cdf)(x) == pytest.approx(float(density), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize(
    "moment",
    one_in(
        3,
        [
            lambda own, c: own.mean(c),
            lambda own, c: own.var(c),
            lambda own, c: own.expect(args=(c,)),
            lambda own, c: own.stats(c)[0],
            lambda own, c: own(c).mean(),
            lambda own, c: own(c).stats()[1],
            lambda own, c: own(c).moment(2),
            lambda own, c: own(c).expect(),
        ],
        start=1,
    ),
)
def test_moments_of_distributions_of_which_only_the_tails_have_formulas_are_scipys(moment):
    def f(c):
        return moment(scipy.stats.invweibull, c)

    value, slope = fg.value_and_grad(f)(5.0)
    assert value == pytest.approx(float(f(5.0)), rel=1e-12)
    assert slope == pytest.approx((f(5.0 + 1e-5) - f(5.0 - 1e-5)) / 2e-5, rel=1e-6)
    assert fg.jit(fg.grad(f))(5.0) == pytest.approx(slope, rel=1e-12)


def test_expect_is_told_of():
    assert "expect" in dir(stats.invweibull)


STANDARD = ("_pdf", "_logpdf", "_cdf", "_logcdf", "_sf", "_logsf", "_ppf", "_isf")


@pytest.mark.parametrize(
    "name", one_in(2, ["norm", "gamma", "beta", "t", "ncx2", "expon", "genextreme"])
)
def test_methods_of_the_standard_distribution(name):
    own, shapes = getattr(scipy.stats, name), SHAPES.get(name, ())
    for method in STANDARD:
        f, public = getattr(own, method), getattr(own, method[1:])
        at = [0.4, *shapes]
        every = tuple(range(len(at)))
        value, slopes = fg.value_and_grad(lambda *a, f=f: f(*a), argnums=every)(*at)
        assert value == pytest.approx(f(*at), rel=1e-10)
        expected = fg.grad(lambda *a, f=public: f(*a), argnums=every)(*at)
        np.testing.assert_allclose(slopes, expected, rtol=1e-12)


def test_methods_of_the_standard_distribution_hold_in_its_support():
    for x in (-0.5, 1.5):
        assert np.isnan(fg.value_and_grad(lambda x: scipy.stats.beta._cdf(x, 2.0, 3.0))(x)[0])
    assert fg.grad(lambda x: scipy.stats.norm._cdf(x))(-30.0) == scipy.stats.norm._pdf(-30.0)


# -- draws -----------------------------------------------------------------------------------------
DRAWN = (
    "norm",
    "gamma",
    "beta",
    "t",
    "f",
    "chi2",
    "lognorm",
    "weibull_min",
    "genextreme",
    "genpareto",
)
DRAWN += (
    "truncnorm",
    "skewnorm",
    "invgamma",
    "pareto",
    "vonmises",
    "triang",
    "burr",
    "nct",
    "uniform",
)
OF_DRAWN = {
    "truncnorm": (-1.0, 2.0),
    "skewnorm": (1.0,),
    "vonmises": (2.0,),
    "triang": (0.3,),
    "nct": (4.0, 0.3),
}
OF_DRAWN |= {
    "gamma": (2.0,),
    "beta": (2.0, 3.0),
    "t": (4.0,),
    "f": (5.0, 7.0),
    "chi2": (3.0,),
    "lognorm": (0.5,),
}
OF_DRAWN |= {
    "weibull_min": (1.5,),
    "genextreme": (0.3,),
    "genpareto": (0.2,),
    "invgamma": (3.0,),
    "pareto": (2.5,),
}


@pytest.mark.parametrize("name", one_in(3, DRAWN))
def test_draws_move_with_the_quantiles_of_a_distribution(name):
    own, shapes = getattr(scipy.stats, name), OF_DRAWN.get(name, SHAPES.get(name, ()))

    def drawn(k):
        return own.rvs(*[k * shape for shape in shapes], loc=k, scale=k * k, size=3, random_state=1)

    def frozen(k):
        return own(*[k * shape for shape in shapes], loc=k, scale=k * k).rvs(3, random_state=1)

    def quantile(k):
        return own.ppf(probability, *[k * shape for shape in shapes], loc=k, scale=k * k)

    probability = own.cdf(drawn(1.0), *shapes, loc=1.0)
    h = 1e-5
    for f in (drawn, frozen):
        value, slope = fg.jvp(f, (1.0,), (1.0,))
        np.testing.assert_allclose(value, f(1.0), rtol=1e-11)
        np.testing.assert_allclose(slope, (quantile(1 + h) - quantile(1 - h)) / (2 * h), rtol=2e-5)


def test_draws_of_lists_of_parameters():
    def drawn(k):
        return scipy.stats.norm.rvs([0, k], scale=[1, k], size=(3, 2), random_state=3)

    value, slope = fg.jvp(drawn, (2.0,), (1.0,))
    np.testing.assert_array_equal(value, drawn(2.0))
    np.testing.assert_allclose(slope, np.stack([np.zeros(3), value[:, 1] / 2], axis=1), rtol=1e-14)


def test_draws_of_one_number_and_of_broadcast_parameters():
    for f in (
        lambda k: scipy.stats.norm.rvs(k, random_state=3),
        lambda k: scipy.stats.norm(k * np.ones(2)).rvs(random_state=3),
        lambda k: scipy.stats.norm.rvs(
            k * np.ones((2, 1)), np.ones(3), size=(4, 2, 3), random_state=3
        ),
    ):
        value, slope = fg.jvp(f, (2.0,), (1.0,))
        np.testing.assert_array_equal(value, f(2.0))
        np.testing.assert_array_equal(slope, np.ones(np.shape(f(2.0))))
    with pytest.raises(ValueError, match="Domain error in arguments"):
        fg.grad(lambda k: scipy.stats.norm.rvs(scale=k))(-1.0)
    with pytest.raises(TypeError, match=r"poisson\.rvs: expected plain values"):
        fg.grad(lambda k: k * scipy.stats.poisson.rvs(k))(1.0)


SHAPES_OF_MOMENTS = {
    "weibull_min": (1.7,),
    "gamma": (2.1,),
    "beta": (1.2, 2.3),
    "lognorm": (0.6,),
    "fisk": (5.2,),
    "lomax": (5.4,),
    "t": (6.3,),
    "genpareto": (0.1,),
    "gompertz": (0.9,),
    "crystalball": (2.0, 6.0),
    "poisson": (1.3,),
    "geom": (0.4,),
}


@pytest.mark.parametrize("name", one_in(6, SHAPES_OF_MOMENTS))
def test_moments_have_derivatives_in_shapes(name):
    shapes, h = np.array(SHAPES_OF_MOMENTS[name]), 1e-5
    own = getattr(stats, name)

    def f(v):
        mean, variance = own.stats(*v, loc=0.3, moments="mv")
        frozen = own(*v)
        return (
            mean
            + 2 * variance
            + 3 * own.std(*v)
            + 0.1 * frozen.moment(2)
            + frozen.mean()
            + own.var(*v)
        )

    wanted = [(f(shapes + h * e) - f(shapes - h * e)) / (2 * h) for e in np.eye(len(shapes))]
    value, slope = fg.value_and_grad(f)(shapes)
    np.testing.assert_allclose(value, f(shapes), rtol=1e-9)
    np.testing.assert_allclose(slope, wanted, rtol=1e-5)


def test_moments_of_shapes_that_are_integrated_in_compiled_code_are_told_of():
    with pytest.raises(
        TypeError, match=r"studentized_range.mean: expected plain values.*scipy.integrate.quad"
    ):
        fg.grad(lambda k: stats.studentized_range.mean(k, 10.0))(3.0)


# -- censored data -------------------------------------------------------------------------------------
CENSORED = {
    "norm": lambda t, **more: _censored(scipy.stats.norm, t, **more),
    "weibull_min": lambda t, **more: _censored(scipy.stats.weibull_min, t, floc=0, **more),
    "lognorm": lambda t, **more: _censored(scipy.stats.lognorm, t, floc=0, **more),
    "of right ends alone": lambda t, **more: scipy.stats.gamma.fit(
        scipy.stats.CensoredData([1.0, 2.0, 4.0, 0.7], right=t * np.array([3.0, 2.0])),
        floc=0,
        **more,
    ),
}


def searched_on(function, start, args, disp):
    """SciPy's own search, which ends early, to the last digits."""
    return scipy.optimize.fmin(function, start, args=args, disp=disp, xtol=1e-10, ftol=1e-13)


def _censored(distribution, t, **fixed):
    data = scipy.stats.CensoredData(
        t * np.array([1.0, 2.0, 4.0, 2.5, 0.7]),
        left=[0.8],
        right=t**2 * np.array([3.0, 2.0]),
        interval=[[1.0, 2.0], [2.0, 2.5]],
    )
    return distribution.fit(data, **fixed)


@pytest.mark.parametrize("case", one_in(4, CENSORED))
def test_fits_of_censored_data(case):
    def fit(t):
        return np.stack(CENSORED[case](t))

    value, slope = fg.jvp(fit, (1.0,), (1.0,))
    np.testing.assert_array_equal(value, fit(1.0))
    near = [np.stack(CENSORED[case](t, optimizer=searched_on)) for t in (1.01, 0.99)]
    np.testing.assert_allclose(slope, (near[0] - near[1]) / 0.02, rtol=1e-3, atol=1e-4)
    weights = np.array([1.0, -0.3, 0.5])[: slope.size]
    total = lambda t: np.sum(weights * fit(t) ** 2)  # noqa: E731
    np.testing.assert_allclose(fg.grad(total)(1.0), np.sum(2 * weights * value * slope), rtol=1e-9)
    second = (fg.grad(total)(1.01) - fg.grad(total)(0.99)) / 0.02
    np.testing.assert_allclose(fg.grad(fg.grad(total))(1.0), second, rtol=5e-3, atol=5e-3)


def test_the_fit_of_censored_waiting_times():
    """The likeliest scale is the sum of all times over the number of those that ended."""

    def scale(t):
        data = scipy.stats.CensoredData([1.0 * t, 2.0], right=[3.0 * t])
        return scipy.stats.expon.fit(data, floc=0)[1]

    np.testing.assert_allclose(fg.grad(scale)(1.0), 2.0, rtol=1e-3)
    np.testing.assert_allclose(fg.jit(scale)(1.0), 3.0, rtol=1e-3)


def test_fits_between_bounds_are_refused_with_what_to_write():
    bounds = {"loc": (-5, 5), "scale": (0.1, 5)}

    def loc(x):
        return scipy.stats.fit(scipy.stats.norm, x, bounds).params.loc

    with pytest.raises(TypeError, match=r"write dist\.fit\(data\)"):
        fg.grad(loc)(np.array([1.0, 2.0, 3.5]))
    plain = fg.grad(
        lambda x: x * scipy.stats.fit(scipy.stats.norm, [1.0, 2.0, 3.5], bounds).params.loc
    )
    np.testing.assert_allclose(plain(1.0), 13 / 6, rtol=1e-3)


@pytest.mark.parametrize("x", [0.5, 3.0, 20.0])
def test_both_sides_of_the_density_of_kappa3(x):
    def density(a):
        return scipy.stats.kappa3.logpdf(x, a)

    value, slope = fg.value_and_grad(density)(1.5)
    assert value == pytest.approx(density(1.5), rel=1e-13)
    assert fg.vjp(density, 1.5)[0] == pytest.approx(density(1.5), rel=1e-13)
    assert slope == pytest.approx((density(1.5 + 1e-5) - density(1.5 - 1e-5)) / 2e-5, rel=1e-7)


@pytest.mark.parametrize(("beta", "curvature"), [(2.0, -2.0), (1.5, -np.inf), (4.0, 0.0)])
def test_second_derivatives_of_gennorm_at_its_location(beta, curvature):
    logpdf = scipy.stats.gennorm.logpdf
    assert fg.grad(logpdf)(0.0, beta) == 0.0
    assert fg.grad(fg.grad(logpdf))(0.0, beta) == curvature
    both = fg.hessian(lambda p: logpdf(p[0], p[1]))(np.array([0.0, beta]))
    assert both[0, 0] == curvature
    of_loc = fg.grad(lambda loc: logpdf(0.7, beta, loc))
    assert (of_loc(0.7), fg.grad(of_loc)(0.7)) == (0.0, curvature)


@pytest.mark.parametrize(("name", "shape"), [("gennorm", 1.0), ("gennorm", 2.0), ("dweibull", 2.0)])
def test_distributions_of_two_sides_have_mixed_derivatives_at_0(name, shape):
    cdf, pdf = getattr(scipy.stats, name).cdf, getattr(scipy.stats, name).pdf
    wanted = (pdf(0.0, shape + 1e-5) - pdf(0.0, shape - 1e-5)) / 2e-5
    for first, second in ((0, 1), (1, 0)):
        assert fg.grad(fg.grad(cdf, first), second)(0.0, shape) == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("method", ["cdf", "sf", "logcdf", "logsf"])
def test_second_derivatives_of_crystalball_at_the_joint(method):
    function, point = getattr(scipy.stats.crystalball, method), np.array([-1.0, 1.0, 2.0])
    for first, second in itertools.product(range(3), repeat=2):
        slope, h = fg.grad(function, first), 1e-5 * np.eye(3)[second]
        wanted = (slope(*(point + h)) - slope(*(point - h))) / 2e-5
        assert fg.grad(slope, second)(*point) == pytest.approx(wanted, rel=1e-3, abs=1e-4)


def test_erlang_is_gamma():
    for f in ("pdf", "logcdf", "sf"):
        for x in (0.0, 0.7, 30.0):
            erlang, gamma = (
                fg.value_and_grad(lambda x, kind=kind, f=f: getattr(kind, f)(x, 3))(x)
                for kind in (scipy.stats.erlang, scipy.stats.gamma)
            )
            np.testing.assert_array_equal(erlang, gamma)


@pytest.mark.parametrize("method", ["logpdf", "logcdf"])
def test_the_left_tail_of_landau_is_minus_infinity_where_its_exponent_overflows(method):
    f = getattr(stats.landau, method)
    value, slope = fg.value_and_grad(f)(-440.0)
    assert value == pytest.approx(-np.exp(-1 - (np.pi / 2 * -440.0 + np.log(np.pi / 2))), rel=1e-12)
    assert slope == pytest.approx(-value * np.pi / 2, rel=1e-12)
    for x in (-1e3, -1e9):
        assert fg.value_and_grad(f)(x) == (-np.inf, np.inf)
    np.testing.assert_array_equal(fg.vmap(fg.grad(f))(np.array([-1e9, np.nan]))[0], np.inf)
