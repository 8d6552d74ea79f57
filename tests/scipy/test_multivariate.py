"""Multivariate distributions: values are SciPy's, derivatives those of central differences."""

import itertools

import mpmath
import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from funcgrad.scipy import stats
from tests.default_slice import marked_slow, one_in
from tests.scipy.derivative_check import check_function

RNG = np.random.default_rng(0)
MATRIX = np.array([[1.2, 0.3, 0.1], [0.3, 0.9, -0.2], [0.1, -0.2, 0.8]])
POINTS = RNG.normal(size=(4, 3))
PROBABILITIES = np.array([0.2, 0.5, 0.3])
CASES = {
    "multivariate_normal": ("logpdf", POINTS, (np.array([0.1, 0.2, 0.3]), MATRIX)),
    "multivariate_normal of one point": ("logpdf", POINTS[0], (np.array([0.1, 0.2, 0.3]), MATRIX)),
    "multivariate_normal with variances": ("pdf", POINTS, (np.zeros(3), np.array([1.0, 2.0, 3.0]))),
    "multivariate_normal with a variance": ("logpdf", POINTS, (np.zeros(3), 2.0)),
    "multivariate_normal in one dimension": ("logpdf", POINTS[0], (0.5, 2.0)),
    "multivariate_t": ("logpdf", POINTS, (np.array([0.1, 0.2, 0.3]), MATRIX, 3.5)),
    "dirichlet": ("logpdf", PROBABILITIES, (np.array([0.4, 1.0, 3.0]),)),
    "dirichlet without the last": ("pdf", PROBABILITIES[:2], (np.array([0.4, 1.5, 3.0]),)),
    "multinomial": ("logpmf", np.array([[1.0, 2, 1], [0, 4, 0], [1, 1, 1]]), (4.0, PROBABILITIES)),
    "dirichlet_multinomial": ("logpmf", np.array([1.0, 2, 1]), (np.array([0.4, 1.0, 3.0]), 4.0)),
    "wishart": ("logpdf", MATRIX + 0.1, (4.5, MATRIX)),
}


def direction(x):
    """A direction in which a symmetric matrix stays symmetric."""
    moved = np.cos(np.arange(np.size(x))).reshape(np.shape(x))
    return moved + moved.T if np.shape(x) == (3, 3) else moved


@pytest.mark.parametrize("case", CASES)
def test_values_are_scipys_and_slopes_are_differences(case):
    method, x, parameters = CASES[case]
    own, found = [getattr(getattr(m, case.split()[0]), method) for m in (scipy.stats, stats)]
    fixed = [method == "logpmf", *["multinomial" in case and np.ndim(p) == 0 for p in parameters]]
    moving = [
        0 * direction(v) if still else direction(v)
        for v, still in zip((x, *parameters), fixed, strict=True)
    ]
    if case == "multinomial":
        moving[2] -= moving[2].mean()

    def along(f, t):
        return f(*[v + t * m for v, m in zip((x, *parameters), moving, strict=True)])

    value, slope = fg.jvp(lambda t: along(found, t), (0.0,), (1.0,))
    np.testing.assert_allclose(value, own(x, *parameters), rtol=1e-12)
    assert np.shape(value) == np.shape(own(x, *parameters))
    h = 1e-5
    if case.startswith("dirichlet ") or case == "dirichlet":
        moving[0] = moving[0] - moving[0].mean() if x.size == 3 else moving[0]
        slope = fg.jvp(lambda t: along(found, t), (0.0,), (1.0,))[1]
    with np.errstate(invalid="ignore"):
        wanted = (along(own, h) - along(own, -h)) / (2 * h)
    wanted = np.where(np.isfinite(value), wanted, 0.0)
    np.testing.assert_allclose(slope, wanted, rtol=1e-7, atol=1e-8)
    finite = np.isfinite(value)
    back = fg.jit(fg.grad(lambda t: np.sum(np.where(finite, along(found, t), 0.0))))(0.0)
    assert back == pytest.approx(np.sum(slope), rel=1e-10)


def test_frozen_distributions():
    def loss(scale):
        return stats.multivariate_normal(cov=scale * MATRIX).logpdf(POINTS).sum()

    h = 1e-6
    ends = [
        scipy.stats.multivariate_normal(cov=s * MATRIX).logpdf(POINTS).sum() for s in (1 + h, 1 - h)
    ]
    assert fg.grad(loss)(1.0) == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-8)
    assert stats.multivariate_normal(cov=MATRIX).dim == 3
    np.testing.assert_array_equal(stats.dirichlet([1.0, 2.0]).mean(), [1 / 3, 2 / 3])
    with pytest.raises(AttributeError, match="no attribute 'fit'"):
        fg.grad(lambda s: stats.multivariate_normal(cov=s).fit(POINTS))(1.0)


NORMAL = scipy.stats.multivariate_normal
DRAWS = {
    "a mean": lambda k: NORMAL.rvs(k * np.arange(3.0), MATRIX, 2, random_state=1),
    "a covariance": lambda k: NORMAL.rvs(np.arange(3.0), k * MATRIX + k * k * np.eye(3), 2, 1),
    "of a generator": lambda k: NORMAL.rvs(
        cov=k * MATRIX, size=(2, 2), random_state=np.random.default_rng(2)
    ),
    "frozen": lambda k: NORMAL(cov=k * MATRIX).rvs(3, random_state=1),
    "frozen, both": lambda k: NORMAL(k * np.ones(3), k * MATRIX).rvs(random_state=1),
    "a number": lambda k: NORMAL.rvs(k, k * k, random_state=1),
}


@pytest.mark.parametrize("name", DRAWS)
def test_normal_draws_are_functions_of_mean_and_covariance(name):
    def f(k):
        return np.sum(np.sin(DRAWS[name](k)))

    value, slope = fg.value_and_grad(f)(0.8)
    assert value == pytest.approx(f(0.8), rel=1e-14)
    assert slope == pytest.approx((f(0.8 + 1e-6) - f(0.8 - 1e-6)) / 2e-6, rel=1e-6)


def test_other_draws_of_vectors_are_refused():
    with pytest.raises(TypeError, match="expected numbers, but got an array with traced values"):
        fg.grad(lambda k: scipy.stats.dirichlet.rvs(k * np.ones(2))[0, 0])(1.0)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("multivariate_normal", lambda s: (np.zeros(3), MATRIX * s)),
        ("multivariate_normal", lambda s: (s * 0.1, s)),
        ("dirichlet", lambda s: (np.array([0.4, 1.0, 3.0]) * s,)),
        ("multivariate_t", lambda s: (np.zeros(3), MATRIX * s, 2.0 + s)),
        ("multivariate_t", lambda s: (None, s, 5.0)),
        ("multivariate_t", lambda s: (None, s, np.inf)),
        ("wishart", lambda s: (3.5 + s, MATRIX * s)),
        ("wishart", lambda s: (2.0, s)),
    ],
)
def test_entropies_have_derivatives(name, parameters, frozen):
    def entropy(s, module=stats):
        found = getattr(module, name)
        return found(*parameters(s)).entropy() if frozen else found.entropy(*parameters(s))

    value, slope = fg.value_and_grad(entropy)(0.7)
    difference = (entropy(0.7 + 1e-6) - entropy(0.7 - 1e-6)) / 2e-6
    assert value == pytest.approx(entropy(0.7, scipy.stats), rel=1e-13)
    assert slope == pytest.approx(difference, rel=1e-7)


@pytest.mark.parametrize("df", [0.01, 3.0, 1e4, 1e10])
def test_entropy_of_t_keeps_its_digits_for_all_degrees_of_freedom(df):
    mp = mpmath.mp

    def exact(df):
        half, rest = df / 2, mp.mpf(3) / 2
        tail = (half + rest) * (mp.digamma(half + rest) - mp.digamma(half))
        return mp.loggamma(half) - mp.loggamma(half + rest) + rest * mp.log(df * mp.pi) + tail

    with mp.workdps(50):
        value, slope = float(exact(mp.mpf(df))), float(mp.diff(exact, mp.mpf(df)))
    found = fg.value_and_grad(lambda df: stats.multivariate_t.entropy(None, np.eye(3), df))(df)
    assert found[0] == pytest.approx(value, rel=1e-12)
    assert found[1] == pytest.approx(slope, rel=1e-9)


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="expected a mean of n entries"):
        fg.grad(lambda t: stats.multivariate_normal.logpdf(t, np.zeros(2), np.eye(3)))(1.0)
    with pytest.raises(ValueError, match="expected x with as many entries"):
        fg.grad(lambda t: stats.dirichlet.logpdf(np.ones(5) * t, np.ones(3)))(1.0)


SPAN = np.array([[1.0, 0.2], [0.5, -1.0], [-0.3, 0.8]])


def test_a_singular_normal_distribution():
    own, plain = stats.multivariate_normal, scipy.stats.multivariate_normal
    center, points = np.array([0.1, 0.2, -0.3]), np.array([[0.4, -0.2], [1.0, 0.3]]) @ SPAN.T

    def value(m, points, center, span):
        return m.logpdf(points + center, center, span @ span.T, allow_singular=True)

    def total(points, center, span):
        return np.sum(value(own, points, center, span) * np.array([1.0, 2.0]))

    np.testing.assert_allclose(
        fg.jit(lambda p, c, s: value(own, p, c, s))(points, center, SPAN),
        value(plain, points, center, SPAN),
    )
    change = np.array([[0.3, 0.1], [-0.2, 0.4], [0.5, -0.6]])

    def moving(t):
        """The matrix moves among matrices of its rank, and the points with the subspace."""
        span = SPAN + t * change
        parts = np.array([[0.4, -0.2], [1.0, 0.3]]) + t
        return np.sum(value(own, parts @ span.T, center * (1 + t), span) * np.array([1.0, 2.0]))

    fg.check_grads(moving, (0.0,), order=2)
    slope = -np.array([[1.0], [2.0]]) * (points @ np.linalg.pinv(SPAN @ SPAN.T))
    np.testing.assert_allclose(fg.grad(total)(points, center, SPAN), slope)
    outside = fg.grad(lambda x: own.pdf(x, center, SPAN @ SPAN.T, True))(np.ones(3))
    np.testing.assert_array_equal(outside, 0)
    assert own.logpdf(np.ones(3), center, SPAN @ SPAN.T, True) == -np.inf


def test_the_entropy_of_a_singular_normal_distribution():
    f = lambda span: stats.multivariate_normal.entropy(np.zeros(3), span @ span.T)  # noqa: E731
    np.testing.assert_allclose(
        fg.jit(f)(SPAN), scipy.stats.multivariate_normal.entropy(np.zeros(3), SPAN @ SPAN.T)
    )
    np.testing.assert_allclose(fg.grad(f)(SPAN), np.linalg.pinv(SPAN).T)


def test_a_matrix_may_be_singular_but_is_not():
    def value(t):
        return stats.multivariate_normal.logpdf(t, np.zeros(3), MATRIX, allow_singular=True)

    point = np.array([0.1, -0.2, 0.3])
    np.testing.assert_allclose(fg.grad(value)(point), -np.linalg.solve(MATRIX, point), rtol=1e-10)


@pytest.mark.parametrize("matrix", [np.eye(1), SPAN @ SPAN.T], ids=["regular", "singular"])
def test_a_matrix_that_stands_for_many_may_be_singular(matrix):
    point = matrix @ np.linspace(0.3, 0.8, len(matrix))

    def value(t):
        center = np.zeros(len(matrix))
        return stats.multivariate_normal.logpdf(t * point, center, t * matrix, allow_singular=True)

    scales = np.array([0.7, 1.3])
    expected = [value(t) for t in scales]
    slopes = [fg.grad(value)(t) for t in scales]
    np.testing.assert_allclose(fg.jit(fg.vmap(value))(scales), expected)
    np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(value)))(scales), slopes)
    total = lambda s: fg.scan(lambda c, t: (c + value(s * t), None), 0.0, scales)[0]  # noqa: E731
    assert total(1.0) == pytest.approx(np.sum(expected))
    assert fg.grad(total)(1.0) == pytest.approx(scales @ slopes)


EQUAL = np.array([[1.0, 0.2, 0.2], [0.2, 1.0, 0.2], [0.2, 0.2, 1.0]])  # two eigenvalues are equal
POINT, CENTER = np.array([[0.77, -0.69, 1.5]]), np.array([[0.3, 0.3, 0.3]])


@pytest.mark.parametrize(
    ("distribution", "density"),
    one_in(
        3,
        itertools.product(
            [scipy.stats.matrix_normal, scipy.stats.matrix_t],
            [
                lambda distribution, t: distribution.logpdf(
                    POINT * t, CENTER, np.ones((1, 1)), EQUAL
                ),
                lambda distribution, t: distribution.logpdf(
                    POINT, CENTER * t, np.full((1, 1), 2.0) * t, EQUAL * t
                ),
                lambda distribution, t: distribution.pdf(
                    POINT, None, 1.0 * t, np.array([1.0, 2.0, 2.0]) * t
                ),
                lambda distribution, t: distribution.pdf(
                    POINT.T @ POINT * t, POINT.T @ POINT, EQUAL * t, EQUAL
                ),
            ],
        ),
    ),
)
def test_matrix_distributions_of_covariances_with_equal_eigenvalues(distribution, density):
    f, h = (lambda t: density(distribution, t)), 1e-5
    slope = (f(1 + h) - f(1 - h)) / (2 * h)
    np.testing.assert_allclose(fg.grad(f)(1.0), slope, rtol=1e-8)
    np.testing.assert_allclose(fg.jvp(f, (1.0,), (1.0,))[1], slope, rtol=1e-8)
    second = (fg.grad(f)(1 + h) - fg.grad(f)(1 - h)) / (2 * h)
    np.testing.assert_allclose(fg.hessian(f)(1.0), second, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(f)(1.0), f(1.0), rtol=1e-13)


def test_matrix_distributions_of_singular_covariances_are_refused():
    def f(t):
        return scipy.stats.matrix_normal.logpdf(POINT, CENTER, 1.0, np.ones((3, 3)) * t)

    with pytest.raises(np.linalg.LinAlgError, match="covariance: expected a positive definite"):
        fg.grad(f)(1.0)


SPREAD = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 1.5]])


@pytest.mark.parametrize("n", [1, 2, marked_slow(3)])
def test_the_normal_distribution_function_in_bounds_and_parameters(n):
    rng = np.random.default_rng(n)
    x, mean, spread = rng.normal(size=(4, n)), rng.normal(size=n), SPREAD[:n, :n]
    normal = scipy.stats.multivariate_normal

    def below(x, mean, spread):
        return normal.cdf(x, mean, (spread + spread.T) / 2)

    def within(x, mean, spread):
        return normal.cdf(x, mean, (spread + spread.T) / 2, lower_limit=x - 1.2)

    for f in (below, within):
        # SciPy's value for three entries is a random estimate.
        close = {"rtol": 1e-11, "atol": 1e-14} if n < 3 else {"atol": 3e-5}
        np.testing.assert_allclose(fg.jit(f)(x, mean, spread), f(x, mean, spread), **close)
        fg.check_grads(f, (x, mean, spread), order=2)
        slopes = fg.vmap(fg.grad(lambda x, f=f: f(x, mean, spread)))(x)
        np.testing.assert_allclose(
            slopes, fg.grad(lambda x, f=f: np.sum(f(x, mean, spread)))(x), rtol=1e-12
        )
    frozen = fg.grad(lambda m: np.sum(normal(m, spread).logcdf(x)))(mean)
    wanted = fg.grad(lambda m: np.sum(np.log(normal.cdf(x, m, spread))))(mean)
    np.testing.assert_allclose(frozen, wanted, rtol=1e-13)


@pytest.mark.parametrize("x", [[0.3, np.inf], [0.3, -0.4, np.inf], [np.inf, -0.4, 0.3]])
def test_the_normal_distribution_function_at_infinite_bounds(x):
    normal, x = scipy.stats.multivariate_normal, np.array(x)
    kept, spread = np.isfinite(x), SPREAD[: len(x), : len(x)]
    value, slope = fg.value_and_grad(lambda x: normal.cdf(x, None, spread))(x)
    wanted = normal.cdf(x[kept], None, spread[np.ix_(kept, kept)])
    assert value == pytest.approx(float(wanted), rel=1e-12)
    assert slope[~kept] == 0


def test_normal_distribution_functions_that_are_refused_are_named():
    normal = scipy.stats.multivariate_normal
    with pytest.raises(
        TypeError, match="cdf: expected up to three entries with traced values, but got 4"
    ):
        fg.grad(lambda x: normal.cdf(x, np.zeros(4)))(np.zeros(4))
    with pytest.raises(TypeError, match=r"multivariate_normal\.cdf: allow_singular=True"):
        fg.grad(lambda x: normal.cdf(x, np.zeros(2), allow_singular=True))(np.zeros(2))
    with pytest.raises(TypeError, match="multivariate_t: method='cdf'"):
        fg.grad(lambda x: scipy.stats.multivariate_t.cdf(x, np.zeros(2)))(np.zeros(2))


def test_inverse_wishart():
    x, scale = SPREAD @ SPREAD, SPREAD
    f = lambda x, df, s: scipy.stats.invwishart.logpdf((x + x.T) / 2, df, (s + s.T) / 2)  # noqa: E731
    assert fg.jit(f)(x, 5.5, scale) == pytest.approx(f(x, 5.5, scale), rel=1e-13)
    fg.check_grads(f, (x, 5.5, scale), order=2)
    many = np.stack([x, scale], axis=2)
    density = lambda m: scipy.stats.invwishart(5.5, scale).pdf(m)  # noqa: E731
    np.testing.assert_allclose(fg.jit(density)(many), density(many), rtol=1e-12)


MOMENTS = {
    "mean": lambda k: scipy.stats.invwishart.mean(6, k * MATRIX),
    "variance": lambda k: scipy.stats.invwishart(8, k * MATRIX).var(),
    "mode": lambda k: scipy.stats.wishart.mode(6, k * MATRIX),
    "entropy": lambda k: scipy.stats.invwishart.entropy(6, k * MATRIX),
    "covariance": lambda k: scipy.stats.dirichlet.cov([k, 2.0, 3.0]),
    "a draw": lambda k: scipy.stats.invwishart.rvs(5, k * MATRIX, random_state=3),
    "draws": lambda k: scipy.stats.invwishart.rvs(5, k * MATRIX, size=(2, 2), random_state=3),
    "frozen draws": lambda k: scipy.stats.invwishart(5, k * MATRIX, seed=3).rvs(2),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments_and_draws_are_scipys(name):
    f = MOMENTS[name]
    value, tangent = fg.jvp(f, (1.3,), (1.0,))
    np.testing.assert_allclose(value, f(1.3), rtol=1e-13, atol=1e-15)
    slope = (f(1.3 + 1e-5) - f(1.3 - 1e-5)) / 2e-5
    np.testing.assert_allclose(tangent, slope, rtol=1e-6, atol=1e-7 * np.max(np.abs(slope)))
    np.testing.assert_allclose(fg.jacobian(f)(1.3), tangent, rtol=1e-10, atol=1e-12)


def test_a_frozen_distribution_draws_from_one_generator():
    def draws(k, scale):
        frozen = scipy.stats.wishart(5, scale, 7)
        return k * np.stack([frozen.rvs(), frozen.rvs()])

    for scale in (lambda k: MATRIX, lambda k: k * MATRIX):
        value = fg.jvp(lambda k, s=scale: draws(float(np.isscalar(k)) * k, s(k)), (1.0,), (1.0,))[0]
        np.testing.assert_allclose(value, draws(1.0, MATRIX), rtol=1e-13)


COVARIANCES = {
    "from_diagonal": lambda t: scipy.stats.Covariance.from_diagonal(t * np.array([1.0, 2.0, 0.5])),
    "from_cholesky": lambda t: scipy.stats.Covariance.from_cholesky(np.linalg.cholesky(t * MATRIX)),
    "from_precision": lambda t: scipy.stats.Covariance.from_precision(MATRIX / t),
    "from_eigendecomposition": lambda t: scipy.stats.Covariance.from_eigendecomposition(
        tuple(np.linalg.eigh(t * MATRIX))
    ),
}


@pytest.mark.parametrize("name", one_in(2, COVARIANCES))
def test_a_normal_vector_with_a_covariance_object(name):
    covariance, normal, mean = COVARIANCES[name], scipy.stats.multivariate_normal, POINTS[0] / 3
    plain = covariance(1.0)
    frozen = normal(mean, plain)
    functions = [
        lambda x: normal.logpdf(x, mean, plain),
        lambda x: normal.pdf(x[1:], x[0], cov=plain),
        lambda x: normal(x[0], plain).logpdf(x[1:]),
        lambda x: frozen.logpdf(x),
        lambda x: normal(mean, covariance(1 + x[0, 0] ** 2)).logpdf(x),
        lambda x: normal.entropy(mean, covariance(1 + x[0, 0] ** 2)),
        lambda x: x[0, 0] * normal.entropy(x[0], plain),
    ]
    for f in functions:
        check_function(f, POINTS, value_rtol=1e-13, vmap=False)

    def draws(x):
        return normal.rvs(x[0], covariance(1 + x[0, 0] ** 2), size=3, random_state=4)

    check_function(draws, POINTS, value_rtol=1e-13, vmap=False)
    batch = np.stack([POINTS, 2 * POINTS])
    np.testing.assert_allclose(fg.vmap(functions[0])(batch), normal.logpdf(batch, mean, plain))
    matrix = plain.covariance

    def mass(cov):
        return fg.value_and_grad(lambda x: normal.cdf(x, mean, cov))(POINTS[1])

    np.testing.assert_allclose(mass(plain)[0], mass(matrix)[0], rtol=1e-12)
    np.testing.assert_allclose(mass(plain)[1], mass(matrix)[1], rtol=1e-12)


def _on_a_sphere(x):
    return x / np.linalg.norm(x)


@pytest.mark.parametrize(
    "mean", [[0.8, -0.3, 0.4], [-0.8, 0.3, 0.1], [0.1, 0.9, 0.0], [-0.5, 0.4, 0.2, 0.7]]
)
def test_draws_of_the_von_mises_fisher_distribution_move_with_the_mean(mean):
    def draws(x):
        return scipy.stats.vonmises_fisher(_on_a_sphere(x[:-1]), x[-1]).rvs(3, random_state=2)

    if len(mean) == 3:
        check_function(draws, [*mean, 20.0], value_rtol=1e-14, vmap=False)
    else:  # of more than three entries SciPy draws by rejection, in which kappa has no derivative
        check_function(lambda x: draws(np.append(x, 20.0)), mean, value_rtol=1e-14, vmap=False)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_draws_about_a_pole_turn_with_the_mean(sign):
    def draws(t):
        mean = sign * np.stack([np.cos(t), np.sin(t), 0 * t])
        return scipy.stats.vonmises_fisher(mean, 20.0).rvs(3, random_state=2)

    value, slope = fg.jvp(draws, (0.0,), (1.0,))
    np.testing.assert_array_equal(value, draws(0.0))
    turned = np.stack([-value[:, 1], value[:, 0], 0 * value[:, 0]], axis=1)
    np.testing.assert_allclose(slope, turned, atol=1e-15)
