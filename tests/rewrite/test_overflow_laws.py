"""Derivatives of quotients by functions that overflow are as accurate as the values."""

import mpmath
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.scipy import optimize

PLACES = [-800.0, -400.0, -30.0, -1.3, 0.7, 5.0, 40.0, 300.0, 400.0, 700.0, 800.0, 2000.0]

FUNCTIONS = {
    "Bose": lambda m, x: 1 / (m.exp(x) - 1),
    "Bose by expm1": lambda m, x: 2 / m.expm1(x),
    "Bose by a power": lambda m, x: (m.exp(x) - 1) ** -1,
    "Planck": lambda m, x: x**3 / (m.exp(x) - 1),
    "Planck by expm1": lambda m, x: 2 * x**3 / m.expm1(2 * x),
    "Fermi": lambda m, x: x**3 / (m.exp(x) + 1),
    "with numbers": lambda m, x: 3.0 / (2 * m.exp(x) + 5),
    "with a pole": lambda m, x: 3.0 / (5 - 2 * m.exp(x)),
    "of a formula": lambda m, x: 2 / (m.exp(x * x / 3) - 1),
    "of a difference": lambda m, x: -x / (-m.exp(x) - 1),
    "cubed": lambda m, x: (m.exp(x) + 2) ** -3,
    "loss": lambda m, x: (1 / (m.exp(x) - 1) - 0.5) ** 2,
    "sech": lambda m, x: 1 / m.cosh(x),
    "sech squared": lambda m, x: m.cosh(x) ** -2,
    "csch": lambda m, x: 1 / m.sinh(x),
    "negative": lambda m, x: 5 / (1 - m.exp(-x)),
}


def slopes(f, x, order):
    with mpmath.workdps(900):
        step = mpmath.mpf(10) ** -250
        return float(mpmath.diff(lambda t: f(mpmath, t), mpmath.mpf(x), order, h=step))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_derivatives_have_the_accuracy_of_the_value(name):
    f = FUNCTIONS[name]
    of_numpy = lambda x: f(np, x)  # noqa: E731
    finite = [x for x in PLACES if np.isfinite(of_numpy(x)) and abs(of_numpy(x)) < 1e250]
    close = {"rtol": 1e-10, "atol": 1e-300}
    expected = np.array([slopes(f, x, 1) for x in finite])
    for x, slope in zip(finite, expected, strict=True):
        np.testing.assert_allclose(fg.grad(of_numpy)(x), slope, **close)
        np.testing.assert_allclose(fg.jvp(of_numpy, (x,), (1.0,))[1], slope, **close)
    x = np.array(finite)
    np.testing.assert_allclose(fg.grad(lambda x: of_numpy(x).sum())(x), expected, **close)
    weighted = fg.jit(fg.grad(lambda x: (np.arange(len(x)) * of_numpy(x)).sum()))
    np.testing.assert_allclose(weighted(x), expected * np.arange(len(x)), **close)
    np.testing.assert_allclose(fg.jvp(of_numpy, (x,), (2 * x,))[1], 2 * x * expected, **close)


@pytest.mark.parametrize(
    "name", ["Bose", "Planck", "Fermi", "with numbers", "of a difference", "cubed", "sech"]
)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_second_derivatives_are_accurate_too(name):
    f = FUNCTIONS[name]
    places = [x for x in PLACES if abs(x) != 700]
    expected = [slopes(f, x, 2) for x in places]
    found = [fg.hessian(lambda x: f(np, x))(x) for x in places]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


def test_formulas_are_printed_as_before():
    x = fg.var("x")
    assert str(fg.gradient(1 / (np.exp(x) - 1), x)) == "-exp(x)/(exp(x) - 1)**2"
    assert str(fg.gradient(1 / np.cosh(x), x)) == "-sinh(x)/cosh(x)**2"


def test_single_precision_stays_single():
    slope = fg.grad(lambda x: 1 / (np.exp(x) + 2))(np.float32(95.0))
    assert slope.dtype == np.float32
    assert slope == 0


@pytest.mark.parametrize("count", [1, 3])
def test_second_derivatives_in_a_batch_of_tangents_are_finite(count):
    """The factors of a product are broadcasts there, and inf times 0 was NaN."""
    at = np.linspace(800.0, 900.0, count)
    for f in (lambda s: np.sum(np.log1p(-np.exp(-s))), lambda s: np.sum(1 / (np.exp(s) - 1))):
        for hessian in (fg.hessian, fg.jacrev(fg.grad(f)), fg.jit(fg.hessian(f))):
            found = hessian(f)(at) if hessian is fg.hessian else hessian(at)
            np.testing.assert_array_equal(np.abs(found), np.zeros((count, count)))


@pytest.mark.parametrize("t", [0.01, 1.3])
def test_second_derivatives_of_a_choice_of_quotients_are_finite(t):
    """The factor that overflows is taken up in both branches of a choice, too; inf/inf was NaN."""

    def rest(t, rate):
        return -np.expm1(-rate * t)

    def f(t, rate):  # each call of `rest` has nodes of its own
        below, above = rate / rest(t, rate), t / rest(t, rate)
        return np.where(t < 1 / rest(t, rate), below, 1 - above)

    expected = [fg.jvp(fg.grad(f), (t, 3e4), tangent)[1] for tangent in ((1.0, 0.0), (0.0, 1.0))]
    assert np.all(np.isfinite(expected))
    for place, wanted in enumerate(expected):
        second = fg.grad(fg.grad(f), place)
        assert second(t, 3e4) == pytest.approx(wanted, rel=1e-12)
        assert fg.jit(second)(t, 3e4) == pytest.approx(wanted, rel=1e-12)


def test_a_share_of_one_exponential_is_a_constant():
    """The law gave a plain number, which ended in an error: the dual of x in log(exp(x)) below a solver."""
    x, v = fg.var("x"), fg.var("v", (3,))
    for share, wanted in (
        (np.exp(x) / np.exp(x), "1.0"),
        (np.exp(x) / (3 * np.exp(x)) * x, "(1/3)*x"),
        (np.exp(v) / np.exp(v), "ones(3)"),
    ):
        assert repr(simplify_all([share], mode="derivative")[0]) == wanted

    def f(rate):
        known = optimize.brentq(lambda z: np.exp(-z) - rate, 1e-6, 5.0)
        return optimize.brentq(
            lambda z: np.log(np.exp(-known)) + z * np.exp(-z) + known / 2, 0.0, 1.0
        )

    fg.check_grads(f, (0.9,), order=2)
