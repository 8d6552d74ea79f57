"""Moments, entropies and expectations of SciPy's distributions in their parameters."""

import itertools
import math
import warnings
from functools import partial

import mpmath as mp
import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from tests.default_slice import one_in

EXPECTATIONS = {
    "gamma": lambda a: scipy.stats.gamma(a).expect(lambda y: y**2),
    "gamma, moved": lambda a: scipy.stats.gamma.expect(
        lambda y: a * np.cos(y), args=(1.0 + a,), loc=a, scale=2.0
    ),
    "normal": lambda a: scipy.stats.norm.expect(np.cos, loc=a, scale=a * a),
    "normal, in a part": lambda a: scipy.stats.norm(loc=a).expect(
        lb=a - 0.5, ub=3.0, conditional=True
    ),
    "normal, of a step": lambda a: scipy.stats.norm(loc=a).expect(
        lambda y: y > 1.0, ub=1.0, lb=-9.0
    ),
    "what it captures": lambda a: scipy.stats.norm.expect(lambda y: np.exp(-a * y * y)),
    "beta": lambda a: scipy.stats.beta(a, 2.0).expect(),
    "folded normal": lambda a: scipy.stats.foldnorm.expect(np.tanh, args=(a,), scale=1.0 + a),
    "von Mises": lambda a: scipy.stats.vonmises.expect(
        lambda y: np.cos(y) ** 2, args=(a,), loc=a / 9
    ),
    "Poisson": lambda a: scipy.stats.poisson(9.0 * a).expect(np.sqrt),
    "binomial": lambda a: scipy.stats.binom(10, a / 3).expect(lambda k: k**2),
    "negative binomial": lambda a: scipy.stats.nbinom(3.5, a / 2, loc=1).expect(
        lambda k: np.cos(k)
    ),
}


@pytest.mark.parametrize("case", one_in(4, EXPECTATIONS))
def test_expectations(case):
    f, a = EXPECTATIONS[case], 1.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's sum may stop early
        value, slope = fg.value_and_grad(f)(a)
        assert value == pytest.approx(f(a), rel=1e-13)
        wanted = slope_of(f, a)
        assert slope == pytest.approx(wanted, rel=1e-7, abs=1e-9)
        assert fg.jvp(f, (a,), (1.0,))[1] == pytest.approx(slope, rel=1e-9, abs=1e-12)
        compiled = fg.jit(fg.grad(f))
        assert compiled(a) == pytest.approx(slope, rel=1e-9, abs=1e-12)
        second = fg.grad(fg.grad(f))(a)
        assert second == pytest.approx(slope_of(compiled, a), rel=1e-6, abs=1e-8)


def slope_of(f, a, h=1e-3):
    near = [f(a + s * h) for s in (1, -1, 2, -2)]
    return (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)


# Expectations over supports whose ends move, and their closed forms.
MOVING = {
    "truncated normal": (
        lambda a, b: scipy.stats.truncnorm.expect(lambda y: y**2, args=(-1.0, a), loc=b),
        lambda a, b: scipy.stats.truncnorm.moment(2, -1.0, a, loc=b),
    ),
    "uniform": (
        lambda a, b: scipy.stats.uniform.expect(lambda y: y**2, loc=a, scale=b),
        lambda a, b: scipy.stats.uniform.moment(2, loc=a, scale=b),
    ),
    "uniform, a limit beyond": (
        lambda a, b: scipy.stats.uniform.expect(lambda y: y**2, loc=a, scale=b, ub=10.0),
        lambda a, b: scipy.stats.uniform.moment(2, loc=a, scale=b),
    ),
    "uniform, a limit inside": (
        lambda a, b: scipy.stats.uniform.expect(lambda y: y**2, loc=a, scale=b, ub=1.1),
        lambda a, b: (1.1**3 - a**3) / 3 / b,
    ),
    "uniform, of those in a part": (
        lambda a, b: scipy.stats.uniform(a, b).expect(lambda y: y**2, ub=1.1, conditional=True),
        lambda a, b: (1.1**3 - a**3) / 3 / (1.1 - a),
    ),
    "exponential": (
        lambda a, b: scipy.stats.expon.expect(lambda y: y**2, loc=a, scale=b),
        lambda a, b: scipy.stats.expon.moment(2, loc=a, scale=b),
    ),
    "truncated exponential": (
        lambda a, b: scipy.stats.truncexpon.expect(lambda y: y**2, args=(b,), loc=a),
        lambda a, b: scipy.stats.truncexpon.moment(2, b, loc=a),
    ),
    "Pareto": (
        lambda a, b: scipy.stats.pareto.expect(args=(b + 2,), loc=a, scale=b),
        lambda a, b: scipy.stats.pareto.moment(1, b + 2, loc=a, scale=b),
    ),
    "generalized Pareto, an infinite density at the end": (
        lambda a, b: scipy.stats.genpareto.expect(lambda y: y**2, args=(-b,), loc=a),
        lambda a, b: scipy.stats.genpareto.moment(2, -b, loc=a),
    ),
    "generalized Pareto, one that is steep there": (
        lambda a, b: scipy.stats.genpareto.expect(lambda y: y**2, args=(-b / 2,), loc=a),
        lambda a, b: scipy.stats.genpareto.moment(2, -b / 2, loc=a),
    ),
    "extreme values, one that is steep there": (
        lambda a, b: scipy.stats.genextreme.expect(args=(b - 0.4,), scale=a),
        lambda a, b: scipy.stats.genextreme.moment(1, b - 0.4, scale=a),
    ),
    "triangle": (
        lambda a, b: scipy.stats.triang.expect(lambda y: y**3, args=(a,), loc=b, scale=2.0),
        lambda a, b: scipy.stats.triang.moment(3, a, loc=b, scale=2.0),
    ),
    "trapezoid": (
        lambda a, b: scipy.stats.trapezoid.expect(lambda y: y**3, args=(a, 0.6), loc=b),
        lambda a, b: scipy.stats.trapezoid.moment(3, a, 0.6, loc=b),
    ),
}


@pytest.mark.parametrize("case", one_in(3, MOVING))
def test_expectations_over_supports_that_move(case):
    f, closed = MOVING[case]
    place = (0.3, 1.2)
    assert f(*place) == pytest.approx(closed(*place), rel=1e-8)
    for k in range(2):

        def along(t, g, k=k):
            return g(*[t if i == k else x for i, x in enumerate(place)])

        slope = fg.grad(lambda t: along(t, f))
        wanted = slope_of(lambda t: along(t, closed), place[k])
        assert slope(place[k]) == pytest.approx(wanted, rel=1e-8, abs=1e-9)
        assert fg.jit(slope)(place[k]) == pytest.approx(wanted, rel=1e-8, abs=1e-9)
        near = [
            slope_of(lambda t: along(t, closed), place[k] + h) for h in (1e-2, -1e-2, 2e-2, -2e-2)
        ]
        second = (8 * (near[0] - near[1]) - (near[2] - near[3])) / 0.12
        assert fg.grad(slope)(place[k]) == pytest.approx(second, rel=1e-5, abs=1e-6)


# Shapes in which each moment is differentiated, among them those at which SciPy's formulas have cases.
SHAPES = {
    **{name: [2.3, 1.4] for name in ("beta", "exponweib")},
    **{
        name: [1.7]
        for name in ("exponnorm", "foldnorm", "rice", "skewnorm", "exponpow", "invgauss")
    },
    **{
        name: [1.7]
        for name in ("gompertz", "powernorm", "recipinvgauss", "fatiguelife", "vonmises")
    },
    "alpha": [2.3],
    "nbinom": [2.3, 0.4],
    "bernoulli": [0.3],
    "nct": [9.5, 0.7],
    "ncf": [3.0, 9.5, 0.7],
    "ncx2": [3.0, 0.7],
    "norminvgauss": [1.25, 0.5],
    "crystalball": [2.5, 4.0],
    "kappa4": [0.2, 0.1],
    "truncpareto": [2.0, 5.0],
}
SLOW = {
    *itertools.product(("vonmises", "recipinvgauss", "kappa4"), ("var", "std")),
    ("recipinvgauss", "mean"),
    ("nct", "entropy"),
}
INFINITE = {*itertools.product(("alpha",), ("mean", "var", "std"))}
MOMENTS = [
    (name, method)
    for name in SHAPES
    for method in ("mean", "var", "std", "entropy")
    if (name, method) not in SLOW | INFINITE
]


@pytest.mark.parametrize(("name", "method"), one_in(24, MOMENTS, start=1))
def test_moments_and_entropies(name, method):
    function, shapes = getattr(getattr(scipy.stats, name), method), np.array(SHAPES[name])
    along = np.cos(np.arange(len(shapes)) + 0.5) / 10

    def f(t):
        moved = shapes + t * along
        placed = {"loc": t} if name in ("nbinom", "bernoulli") else {"loc": t, "scale": 1.0 + t}
        return function(*[moved[i] for i in range(len(shapes))], **placed)

    expected = f(0.0)
    assert np.isfinite(expected)
    value, slope = fg.value_and_grad(f)(0.0)
    assert value == pytest.approx(expected, rel=1e-14)
    assert slope == pytest.approx(slope_of(f, 0.0), rel=1e-6, abs=1e-7)
    assert fg.jvp(f, (0.0,), (1.0,))[1] == pytest.approx(slope, rel=1e-9)


def test_higher_moments():
    for name in ("bernoulli", "nbinom", "nct", "ncf"):
        shapes = np.array(SHAPES[name])
        for order, letter in enumerate("mvsk"):

            def f(t, name=name, shapes=shapes, letter=letter, order=order):
                *rest, last = shapes
                own = getattr(scipy.stats, name)
                return own.stats(*rest, last + t, moments=letter) + own.moment(
                    order + 1, *rest, last + t
                )

            assert fg.grad(f)(0.0) == pytest.approx(slope_of(f, 0.0), rel=1e-7), (name, letter)


def test_cases_of_equal_shapes():
    """Where SciPy's formula chooses a case, the derivative is that of its neighbors."""
    at, near = (
        fg.grad(lambda b: scipy.stats.truncpareto.var(b, 5.0))(b) for b in (2.0, 2.0 + 1e-7)
    )
    assert at == pytest.approx(near, rel=1e-5)
    at, near = (fg.grad(lambda h: scipy.stats.kappa4.mean(h, 0.1))(h) for h in (0.0, 1e-6))
    assert at == pytest.approx(near, rel=1e-4)
    for c, d in ((0.2, 1.0), (0.2, 0.2), (0.0, 0.0)):
        width, rise = 1 + d - c, 1 + d + d * d - c * c  # the mean is rise/width/3
        slope = (1 + 2 * d - rise / width) / width / 3
        found = fg.grad(scipy.stats.trapezoid.mean, 1)(c, d)
        assert found == pytest.approx(slope, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("c", one_in(2, [0.0, 1e-9, -0.05, 0.0999, 0.1001, -0.15, 0.5]))
def test_moments_of_extreme_values(c):
    """SciPy's formulas take constants where the shape is nearly 0."""

    def exact(c, letter):
        g = [mp.gamma(1 + n * c) for n in range(5)]
        mean, variance = (1 - g[1]) / c, (g[2] - g[1] ** 2) / c**2
        third = g[3] - 3 * g[2] * g[1] + 2 * g[1] ** 3
        fourth = g[4] - 4 * g[3] * g[1] + 6 * g[2] * g[1] ** 2 - 3 * g[1] ** 4
        skew, tails = -third / c**3 / variance**1.5, fourth / c**4 / variance**2 - 3
        return {"m": mean, "v": variance, "s": skew, "k": tails}[letter]

    for letter in "mvsk":
        f = partial(scipy.stats.genextreme.stats, moments=letter)
        with mp.workdps(150):
            at, h = mp.mpf(c or "1e-25"), mp.mpf("1e-20")
            slopes = [mp.diff(partial(exact, letter=letter), at, n, h=h) for n in (1, 2)]
        assert fg.grad(f)(c) == pytest.approx(float(slopes[0]), rel=1e-10)
        assert fg.grad(fg.grad(f))(c) == pytest.approx(float(slopes[1]), rel=1e-9)
    slope = fg.grad(scipy.stats.genextreme.mean)(c)
    assert slope == fg.grad(lambda c: scipy.stats.genextreme.stats(c, moments="m"))(c)


@pytest.mark.parametrize("c", [0.5, 0.7, 1.0, 1.5])
def test_second_derivatives_of_moments_whose_end_moves(c):
    """The density of the generalized half-logistic distribution is steep at its end."""

    def exact(n):
        def slope(p):
            return mp.diff(lambda c: (1 - ((1 - p) / (1 + p)) ** c) / c, c, n)

        return float(mp.quad(slope, [0, 1]))

    mean = fg.grad(scipy.stats.genhalflogistic.mean)
    assert mean(c) == pytest.approx(exact(1), rel=1e-8)
    assert fg.grad(mean)(c) == pytest.approx(exact(2), rel=1e-8)


def test_the_generalized_half_logistic_density_at_its_end():
    logpdf = scipy.stats.genhalflogistic.logpdf
    assert fg.jit(logpdf)(1.0, 1.0) == pytest.approx(np.log(2.0), rel=1e-15)

    def exact(x, c):
        power = (1 - c * x) ** (1 / c)
        return mp.log(2 * power / (1 - c * x) / (1 + power) ** 2)

    for place in (0, 1):
        wanted = float(mp.diff(exact, (0.7, 0.8), (1 - place, place)))
        assert fg.grad(logpdf, place)(0.7, 0.8) == pytest.approx(wanted, rel=1e-12)


def test_arrays_of_shapes():
    shapes = np.array([[1.2, 3.4], [0.7, 2.2]])
    found = fg.grad(lambda a: np.sum(scipy.stats.alpha.entropy(a)))(shapes)
    each = [fg.grad(scipy.stats.alpha.entropy)(float(a)) for a in shapes.ravel()]
    np.testing.assert_allclose(found.ravel(), each, rtol=1e-12)
    np.testing.assert_allclose(
        fg.vmap(fg.grad(scipy.stats.alpha.entropy))(shapes[0]), each[:2], rtol=1e-9
    )


def test_moments_of_genpareto_beside_the_exponential_distribution():
    """The n-th moment is n! over the product of 1 - k*c for k to n."""
    for n in range(1, 7):
        f = lambda c, n=n: scipy.stats.genpareto.moment(n, c)  # noqa: E731
        squares = sum(k * k for k in range(1, n + 1))
        total = n * (n + 1) / 2
        assert fg.grad(f)(0.0) == pytest.approx(math.factorial(n) * total, rel=1e-13)
        second = math.factorial(n) * (total**2 + squares)
        assert fg.grad(fg.grad(f))(0.0) == pytest.approx(second, rel=1e-13)
        np.testing.assert_allclose(
            fg.jit(f)(0.12), scipy.stats.genpareto.moment(n, 0.12), rtol=1e-7
        )
    shapes = np.array([-0.2, 0.0, 0.2, 0.6])
    value = fg.jvp(
        lambda c: scipy.stats.genpareto.moment(3, c), (shapes,), (np.ones_like(shapes),)
    )[0]
    np.testing.assert_allclose(value, scipy.stats.genpareto.moment(3, shapes), rtol=1e-12)
