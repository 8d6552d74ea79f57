"""Arrays of random numbers in adopted code take stores of traced values; the draws are NumPy's."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

import funcgrad as fg
from tests.default_slice import one_in

RNG = np.random.default_rng(1)


def descent(k):
    x = np.random.default_rng(0).normal(size=4)
    for _ in range(3):
        x += -0.1 * k * x
    return np.sum(x**2)


def legacy(k):
    rng = np.random.RandomState(0)
    x = rng.randn(4)
    x[0] = k
    x[1:] *= k
    return np.sum(x**2) + rng.uniform()


def of_module(k):  # the legacy functions
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    x = np.random.rand(3)  # noqa: NPY002
    w = np.random.permutation(5.0 * np.arange(3))  # noqa: NPY002
    np.random.set_state(state)  # noqa: NPY002
    w[:2] = k * x[:2]
    return np.sum(w**2)


def by_class(k):
    rng = np.random.Generator(np.random.PCG64(3))
    assert isinstance(rng, np.random.Generator)
    x = rng.choice([1.0, 2.0, 3.0], 3)
    x[1] = k**3
    rng.shuffle(x)
    return np.sum(x * np.arange(3.0))


def rows(k):
    a = np.zeros((4, 2))
    a[:] = np.outer(np.arange(1.0, 5.0), [k, k * k])
    np.random.default_rng(0).shuffle(a)
    np.random.RandomState(0).shuffle(a)
    np.random.default_rng(0).shuffle(a, axis=1)
    return (a * np.arange(8.0).reshape(4, 2)).sum()


def of_a_traced_scale(k):
    rng = np.random.default_rng(0)
    x = rng.normal(scale=k, size=4)
    x += k**2
    y = rng.uniform(k, 4.0, size=3)
    y[0] = k
    w = rng.permutation(np.stack([x[0], k, 2.0]))
    w[1:] *= k
    return np.sum(x**2) + np.sum(y) * np.sum(w)


@pytest.mark.parametrize("f", [descent, legacy, of_module, by_class, rows, of_a_traced_scale])
def test_arrays_that_are_drawn_take_stores(f):
    h = 1e-6
    slope = (f(0.7 + h) - f(0.7 - h)) / (2 * h)
    value, found = fg.value_and_grad(f)(0.7)
    assert value == pytest.approx(f(0.7), rel=1e-14)
    assert found == pytest.approx(slope, rel=1e-7)
    assert fg.grad(fg.adopt(f))(0.7) == found


def test_a_generator_from_outside_draws_in_turn():
    def f(k):
        x = RNG.normal(size=3)
        x[0] = k * x[1]
        return x.sum()

    state = RNG.bit_generator.state
    plain = [f(1.5), RNG.normal()]
    RNG.bit_generator.state = state
    adopted = [float(fg.jvp(fg.adopt(f), (1.5,), (1.0,))[0]), RNG.normal()]
    assert adopted == plain
    assert fg.adopt(lambda: isinstance(RNG, np.random.Generator))()
    assert fg.adopt(lambda: type(RNG) is np.random.Generator)()


def test_a_legacy_generator_from_outside_keeps_its_second_normal_number():
    legacy = np.random.RandomState(1)
    drawn = [legacy.standard_normal() for _ in range(4)]
    legacy.seed(1)
    in_turn = fg.adopt(lambda: [legacy.standard_normal(), legacy.normal(), legacy.randn()])
    assert [*in_turn(), legacy.standard_normal()] == drawn
    assert fg.adopt(lambda: legacy)() is legacy


def test_names_of_numpys_random_are_numpys():
    for name in np.random.__all__:
        own, adopted = (
            getattr(np.random, name),
            fg.adopt(lambda name=name: getattr(np.random, name))(),
        )
        assert callable(own) == callable(adopted), name
        assert isinstance(own, type) == isinstance(adopted, type), name
    state = np.random.get_state()  # noqa: NPY002
    drawn = fg.adopt(lambda: np.random.random(3))()  # noqa: NPY002
    np.random.set_state(state)  # noqa: NPY002
    np.testing.assert_array_equal(drawn, np.random.random(3))  # noqa: NPY002


def test_generators_that_are_returned_are_numpys():
    made = fg.adopt(lambda: (np.random.default_rng(0), [np.random.RandomState(0)]))()
    assert type(made[0]) is np.random.Generator
    assert type(made[1][0]) is np.random.RandomState
    assert made[0].normal() == np.random.default_rng(0).normal()

    def drawn_once(kind):
        rng = kind(0)
        return rng.normal(), rng

    for kind in (np.random.default_rng, np.random.RandomState):
        (first, adopted), (wanted, plain) = fg.adopt(drawn_once)(kind), drawn_once(kind)
        assert (first, type(adopted)) == (wanted, type(plain))
        assert type(adopted.normal(size=2)) is np.ndarray
        assert adopted.normal() == (plain.normal(size=2), plain.normal())[1]

    def with_generator(x):
        rng = np.random.default_rng(0)
        a = rng.normal(size=2)
        a[0] = x
        return a.sum() ** 2, rng

    (_, rng), _ = fg.value_and_grad(with_generator, has_aux=True)(1.0)
    assert type(rng) is np.random.Generator


# -- traced parameters -----------------------------------------------------------------------------
COV = np.array([[2.0, 0.3], [0.3, 1.0]])
MATRIX = np.cos(np.arange(6.0)).reshape(2, 3)

OF_STANDARD_DRAWS = {
    "normal": lambda g, k: g.normal(k * np.array([1.0, 2.0, 3.0]), k * k, (2, 3)),
    "normal, a number": lambda g, k: g.normal(k, scale=k * k),
    "normal, lists": lambda g, k: g.normal([0.0, k], scale=(2, k * k), size=(3, 2)),
    "lognormal": lambda g, k: g.lognormal(k, 0.3 * k, 4),
    "uniform": lambda g, k: g.uniform(k, 3 * k * k + 1, (2, 3)),
    "uniform to": lambda g, k: g.uniform(high=k),
    "exponential": lambda g, k: g.exponential(k * np.array([1.0, 2.0, 3.0])),
    "laplace": lambda g, k: g.laplace(k, k * k, 4),
    "logistic": lambda g, k: g.logistic(k, k * k, 4),
    "gumbel": lambda g, k: g.gumbel(k, k * k, 4),
    "rayleigh": lambda g, k: g.rayleigh(k * k, 4),
    "weibull": lambda g, k: g.weibull(k * k, 4),
    "pareto": lambda g, k: g.pareto(k * k + 2, 4),
    "power": lambda g, k: g.power(k * k, 4),
    "triangular": lambda g, k: g.triangular(-k, k * k, 3 * k, 9),
    "vonmises": lambda g, k: g.vonmises(4 * k, 2.0, 9),
    "gamma of a scale": lambda g, k: g.gamma(2.0, k, 4),
    "multivariate_normal": lambda g, k: g.multivariate_normal(k * np.ones(2), COV, 3),
    "multivariate_normal, cov": lambda g, k: g.multivariate_normal(
        np.ones(2), k * COV + k * k * np.eye(2), 3
    ),
    "multivariate_normal, lists": lambda g, k: g.multivariate_normal(
        [0, 6], [[2, 1], [1, 1.5 * k]], size=4
    ),
    "one of multivariate_normal": lambda g, k: g.multivariate_normal(np.ones(2), k * COV),
    "permutation": lambda g, k: g.permutation(k * np.arange(6.0) ** 2),
    "permutation of rows": lambda g, k: g.permutation(k * MATRIX),
    "choice": lambda g, k: g.choice(k * np.arange(6.0) ** 2, (2, 3)),
    "choice of a list": lambda g, k: g.choice([k, k * k, 2.0], 3, p=[0.2, 0.3, 0.5]),
}
OF_NEW_GENERATORS = {
    "cholesky": lambda g, k: g.multivariate_normal(np.ones(2), k * COV, 3, method="cholesky"),
    "eigh": lambda g, k: g.multivariate_normal(np.ones(2), k * COV, 3, method="eigh"),
    "permutation of columns": lambda g, k: g.permutation(k * MATRIX, axis=1),
    "permuted": lambda g, k: g.permuted(k * MATRIX, axis=1),
    "permuted, all": lambda g, k: g.permuted(k * MATRIX),
    "choice of columns": lambda g, k: g.choice(k * MATRIX, 2, axis=1, replace=False),
}


def of_draws(make, draw):
    """A smooth function of the draws of a generator that starts anew."""
    return lambda k: np.sum(np.sin(draw(make(3), k)) ** 2)


def central(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)


MAKERS = (np.random.default_rng, np.random.RandomState)


@pytest.mark.parametrize(
    ("name", "make"),
    one_in(3, itertools.product([*OF_STANDARD_DRAWS, *OF_NEW_GENERATORS], MAKERS)),
)
def test_draws_are_functions_of_their_parameters(name, make):
    if name in OF_NEW_GENERATORS and make is np.random.RandomState:
        pytest.skip("of new generators")
    f = of_draws(make, (OF_STANDARD_DRAWS | OF_NEW_GENERATORS)[name])
    value, slope = fg.value_and_grad(f)(0.8)
    assert value == pytest.approx(f(0.8), rel=1e-14)
    assert slope == pytest.approx(central(f, 0.8), rel=1e-6, abs=1e-8)
    bend = fg.jvp(fg.grad(f), (0.8,), (1.0,))[1]
    assert bend == pytest.approx(central(fg.grad(f), 0.8), rel=1e-5, abs=1e-7)
    compiled = fg.jit(fg.adopt(f))
    assert compiled(0.8) == pytest.approx(f(0.8), rel=1e-13)
    assert compiled(0.9) == pytest.approx(f(0.9), rel=1e-13)


def gamma_at(drawn, a):
    lower = special.gammainc(0.64, drawn)
    return special.gammaincinv(a, lower)


def t_at(drawn, df):
    return special.stdtrit(df, special.stdtr(2.4, drawn))


BY_QUANTILES = {
    "standard_gamma": (lambda g, k: g.standard_gamma(k * k, 5), lambda z, k: gamma_at(z, k * k)),
    "gamma": (lambda g, k: g.gamma(k * k, 2 * k, 5), lambda z, k: 2 * k * gamma_at(z / 1.6, k * k)),
    "chisquare": (lambda g, k: g.chisquare(2 * k * k, 5), lambda z, k: 2 * gamma_at(z / 2, k * k)),
    "beta": (
        lambda g, k: g.beta(k, k * k, 5),
        lambda z, k: special.betaincinv(k, k * k, special.betainc(0.8, 0.64, z)),
    ),
    "f": (
        lambda g, k: g.f(3 * k, 5.0, 5),
        lambda z, k: special.fdtri(3 * k, 5.0, special.fdtr(2.4, 5.0, z)),
    ),
    "standard_t": (lambda g, k: g.standard_t(3 * k, 5), lambda z, k: t_at(z, 3 * k)),
    "noncentral_chisquare": (
        lambda g, k: g.noncentral_chisquare(3 * k, k, 5),
        lambda z, k: stats.ncx2.ppf(stats.ncx2.cdf(z, 2.4, 0.8), 3 * k, k),
    ),
    "noncentral_f": (
        lambda g, k: g.noncentral_f(3 * k, 7.0, k, 5),
        lambda z, k: stats.ncf.ppf(stats.ncf.cdf(z, 2.4, 7.0, 0.8), 3 * k, 7.0, k),
    ),
    "wald": (
        lambda g, k: g.wald(k * k, 3 * k, 5),
        lambda z, k: 3 * k * stats.invgauss.ppf(stats.invgauss.cdf(z / 2.4, 0.8 / 3), k / 3),
    ),
}


@pytest.mark.parametrize(("name", "make"), one_in(3, itertools.product(BY_QUANTILES, MAKERS)))
def test_draws_move_with_their_quantiles(name, make):
    draw, quantile = BY_QUANTILES[name]
    drawn = draw(make(3), 0.8)
    np.testing.assert_allclose(quantile(drawn, 0.8), drawn, rtol=1e-10)  # of the test itself
    f = of_draws(make, draw)
    value, slope = fg.value_and_grad(f)(0.8)
    assert value == pytest.approx(f(0.8), rel=1e-13)
    expected = np.sum(np.sin(2 * drawn) * central(lambda k: quantile(drawn, k), 0.8))
    assert slope == pytest.approx(expected, rel=1e-5)
    bend = fg.jvp(fg.grad(f), (0.8,), (1.0,))[1]
    moved = lambda k: np.sum(np.sin(quantile(drawn, k)) ** 2)  # noqa: E731
    assert bend == pytest.approx(central(lambda k: central(moved, k, 1e-4), 0.8, 1e-4), rel=1e-3)


def test_a_dirichlet_draw_stays_on_the_simplex():
    def f(k):
        return np.random.default_rng(3).dirichlet(k * np.array([1.0, 2.0, 0.3]), 2)

    value, slope = fg.jvp(f, (0.8,), (1.0,))
    np.testing.assert_allclose(value, f(0.8), rtol=1e-13)
    np.testing.assert_allclose(slope.sum(axis=-1), 0.0, atol=1e-14)
    with pytest.raises(TypeError, match=r"dirichlet: expected an alpha of 0\.1 or more"):
        fg.grad(lambda k: f(k)[0, 0])(0.01)


VECTORS = {
    "multivariate_t": lambda k, g: stats.multivariate_t.rvs([k, k * k], k * COV, 3.0, 4, g),
    "wishart": lambda k, g: stats.wishart.rvs(5, k * COV, 2, random_state=g),
    "matrix_normal": lambda k, g: stats.matrix_normal.rvs(
        k * COV, COV, k * k * COV, random_state=g
    ),
    "frozen": lambda k, g: stats.multivariate_t([k, k * k], COV, 3.0).rvs(4, random_state=g),
}


@pytest.mark.parametrize("name", VECTORS)
def test_draws_of_vectors_and_matrices(name):
    f = lambda k: np.sum(np.sin(VECTORS[name](k, np.random.default_rng(3))) ** 2)  # noqa: E731
    value, slope = fg.value_and_grad(f)(0.8)
    assert value == pytest.approx(f(0.8), rel=1e-13)
    assert slope == pytest.approx(central(f, 0.8), rel=1e-6)
    assert fg.jvp(f, (0.8,), (1.0,))[1] == pytest.approx(slope, rel=1e-12)


@pytest.mark.slow
def test_draws_of_vectors_that_move_with_quantiles():
    """The mean of SciPy's Dirichlet distribution is alpha/sum(alpha), that of Wishart's df*scale."""

    def mean(k):
        return stats.dirichlet.rvs([k, 2.0], 4000, random_state=np.random.default_rng(0))[
            :, 0
        ].mean()

    assert fg.grad(mean)(1.5) == pytest.approx(2.0 / 3.5**2, rel=0.05)

    def trace(k):
        return np.trace(stats.wishart.rvs(k, COV, 3000, random_state=1).mean(axis=0))

    assert fg.grad(trace)(5.5) == pytest.approx(3.0, rel=0.05)


def test_the_mean_of_gamma_draws_is_their_parameter():
    slope = fg.grad(lambda a: np.mean(np.random.default_rng(0).standard_gamma(a, 10_000)))(2.5)
    assert slope == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    "draw",
    [
        lambda k: np.random.default_rng(0).poisson(k),
        lambda k: np.random.default_rng(0).binomial(9, k / 2),
        lambda k: np.random.RandomState(0).geometric(k / 2),
        lambda k: np.random.default_rng(0).vonmises(0.0, k),
        lambda k: np.random.default_rng(0).choice(3, p=np.array([k, 1 - k, 0.0])),
    ],
)
def test_draws_without_a_pathwise_derivative_are_refused(draw):
    with pytest.raises(TypeError, match=r"has no pathwise derivative; .*fg\.stop_gradient\(x\)"):
        fg.grad(lambda k: k * draw(k))(0.8)
    assert fg.grad(lambda k: k * draw(fg.stop_gradient(k)))(0.8) == draw(0.8)


@pytest.mark.parametrize("k", [-1.0, -0.0])
def test_a_negative_scale_is_refused_as_by_numpy(k):
    def f(scale):
        return np.random.default_rng(0).normal(0.0, scale)

    with pytest.raises(ValueError, match="scale < 0"):
        f(k)
    with pytest.raises(ValueError, match="scale < 0"):
        fg.grad(f)(k)


@pytest.mark.parametrize(
    "draw",
    [
        lambda g, k: g.pareto(k),
        lambda g, k: g.power(k),
        lambda g, k: g.triangular(k, k, k),
        lambda g, k: g.triangular(1.0, k, 2.0),
        lambda g, k: g.weibull(k - 1),
    ],
)
def test_parameters_out_of_range_are_refused_as_by_numpy(draw):
    for run in (draw, fg.grad(draw, argnums=1)):
        with pytest.raises(ValueError):  # noqa: PT011  # NumPy has other texts
            run(np.random.default_rng(0), 0.0)


def test_parameters_out_of_range_in_later_runs_give_nan():
    draws = {
        "normal": lambda k: np.random.default_rng(0).normal(0.0, k),
        "uniform": lambda k: np.random.default_rng(0).uniform(1.0, 1.0 + k),
        "pareto": lambda k: np.random.default_rng(0).pareto(k),
        "triangular": lambda k: np.random.default_rng(0).triangular(1.0, 1.0 + k, 3.0),
    }
    for name, draw in draws.items():
        compiled = fg.jit(draw)
        assert compiled(1.0) == pytest.approx(draw(1.0), rel=1e-14)
        assert np.isnan(compiled(-1.0)), name
        assert compiled(2.0) == pytest.approx(draw(2.0), rel=1e-14)


@pytest.mark.parametrize("shape", [0.0, 1e-9, np.inf])
def test_gamma_draws_at_the_ends_of_their_range(shape):
    def f(k):
        return np.sum(np.random.default_rng(0).standard_gamma(k * np.ones(2)))

    assert fg.value_and_grad(f)(shape) == (f(shape), 0.0)


def test_a_range_that_is_not_finite_is_refused_as_by_numpy():
    for run in (f := lambda k: np.random.default_rng(0).uniform(0.0, k), fg.grad(f)):
        with pytest.raises(OverflowError, match="range exceeds valid bounds"):
            run(np.inf)


def test_legacy_generators_draw_downwards():
    def f(k, make):
        return make(0).uniform(3.0 * k, k)

    assert fg.grad(f)(2.0, np.random.RandomState) == f(1.0, np.random.RandomState)
    for run in (f, fg.grad(f)):
        with pytest.raises(ValueError, match="high - low < 0"):
            run(2.0, np.random.default_rng)


def test_a_size_that_does_not_fit_is_refused_as_by_numpy():
    def f(k):
        return np.sum(np.random.default_rng(0).normal(k, 1.0, 1))

    for run in (f, fg.grad(f)):
        with pytest.raises(
            ValueError, match=r"Output size \(1,\) is not compatible with broadcast"
        ):
            run(np.ones(3))


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_draws_of_a_weibull_distribution_of_shape_0_are_0(make):
    def f(a):
        return make(0).weibull(a, 3)

    np.testing.assert_array_equal(fg.jit(f)(0.0), f(0.0))
    np.testing.assert_array_equal(fg.jvp(f, (0.0,), (1.0,)), np.zeros((2, 3)))
    np.testing.assert_allclose(fg.jit(f)(1.5), f(1.5), rtol=1e-14)
