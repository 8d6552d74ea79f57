"""The rule of Gauss and Kronrod by which slopes of integrals are computed at once."""

import itertools
import math
import pickle

import numpy as np
import pytest
import scipy.integrate
from scipy.integrate import dblquad, quad, quad_vec, tanhsinh

import funcgrad as fg
from funcgrad.scipy import quadrature
from funcgrad.scipy.quadrature import GAUSS, NODES, WEIGHTS
from tests.default_slice import one_in


def test_the_rules_are_exact_for_polynomials():
    for degree in range(32):
        wanted = 0.0 if degree % 2 else 2 / (degree + 1)
        assert WEIGHTS @ NODES**degree == pytest.approx(wanted, abs=1e-15)
    for degree in range(20):
        wanted = 0.0 if degree % 2 else 2 / (degree + 1)
        assert GAUSS @ NODES**degree == pytest.approx(wanted, abs=1e-15)
    assert pytest.approx(2 / 33, abs=1e-17) != WEIGHTS @ NODES**32


CASES = {
    # One run of the rule is enough.
    "smooth": (lambda x, a, b: np.exp(-a * x) * np.cos(b * x), 0.0, 2.0, True),
    "backwards": (lambda x, a, b: np.exp(-a * x) * np.cos(b * x), 2.0, -1.0, True),
    "polynomial": (lambda x, a, b: a * x**3 + b * x, -1.0, 3.0, True),
    "empty": (lambda x, a, b: a * x**3 + b * x, 1.0, 1.0, True),
    "free of x": (lambda x, a, b: a * b + 0 * x, 0.0, 2.0, True),
    # It is not.
    "kink": (lambda x, a, b: np.abs(x - a) * b, 0.0, 2.0, False),
    "narrow": (lambda x, a, b: b * np.exp(-(((x - a) / 0.01) ** 2)), 0.0, 0.71, False),
    "oscillating": (lambda x, a, b: np.sin(100 * a * x + b), 0.0, 2.0, False),
    "infinite": (lambda x, a, b: np.exp(-a * x) * np.cos(b * x), 0.0, np.inf, False),
    "root at an end": (lambda x, a, b: np.log(x) * a + b * np.sqrt(x), 0.0, 1.0, False),
}


@pytest.mark.parametrize(("few", "name"), one_in(5, itertools.product([8, 0], CASES)))
def test_slopes_are_those_of_the_adaptive_rule(name, few, monkeypatch):
    f, low, high, at_once = CASES[name]
    a, b = 0.7, 1.3
    calls = []

    def spy(own):
        def called(*args, **options):
            calls.append(own.__name__)
            return own(*args, **options)

        return called

    area = fg.trace(lambda a, b: quad(f, low, high, (a, b))[0], a, b)
    monkeypatch.setattr(quadrature, "_FEW", few)
    for own in (quad, quad_vec):
        monkeypatch.setattr(scipy.integrate, own.__name__, spy(own))
    slopes = [slope(a=a, b=b) for slope in fg.gradient(area).values()]
    assert set(calls) == (set() if at_once else {"quad"} if few else {"quad_vec"})
    tight = {"epsabs": 1e-14, "epsrel": 1e-11, "limit": 500}
    for k, slope in enumerate(slopes):
        partial = fg.elementwise_grad(f, argnums=k + 1)
        split = {"points": [a]} if name in ("kink", "narrow") else {}
        wanted = quad(
            lambda x, partial=partial: float(partial(x, a, b)), low, high, **tight | split
        )[0]
        assert slope == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def test_slopes_in_arrays_and_second_derivatives():
    w = np.array([0.3, -0.2, 0.5])

    def area(w):
        return quad(lambda x: np.exp(w[0] * x) + w[1] * x**2 * w[2], 0.0, 1.5)[0]

    x = np.linspace(0, 1.5, 20001)
    wanted = [np.trapezoid(x * np.exp(w[0] * x), x), 1.125 * w[2], 1.125 * w[1]]
    np.testing.assert_allclose(fg.grad(area)(w), wanted, rtol=1e-8)
    curvature = np.zeros((3, 3))
    curvature[0, 0] = np.trapezoid(x**2 * np.exp(w[0] * x), x)
    curvature[1, 2] = curvature[2, 1] = 1.125
    np.testing.assert_allclose(fg.hessian(area)(w), curvature, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.grad(area))(w), wanted, rtol=1e-8)


def test_a_body_whose_parameters_stop_where_a_condition_on_x_holds():
    """SciPy's ``place(out, condition, values)``: the parameter is a constant if no entry meets it."""

    def density(x, c):
        out = np.zeros(1)
        positive = np.array([x > 0.5])
        if np.any(positive):
            np.place(out, positive, np.exp(-c * np.array([x])))
        return out[0]

    def area(c):
        return quad(lambda x: density(x, c), 0.75, 2.0)[0]

    wanted = quad(lambda x: -x * np.exp(-1.3 * x), 0.75, 2.0)[0]
    assert fg.grad(area)(1.3) == pytest.approx(wanted, rel=1e-9)
    assert fg.jit(fg.grad(area))(1.3) == pytest.approx(wanted, rel=1e-9)
    np.testing.assert_allclose(fg.vmap(fg.grad(area))(np.array([1.3, 1.3])), wanted, rtol=1e-9)


def test_complex_parameters_of_real_integrands():
    def f(v):
        a, b = v
        z = np.exp(1j * a) * b
        return quad(lambda u: (z * np.exp(1j * u * b)).real * a, 0, 1 + a * 0.1)[0]

    at, h = np.array([0.7, 1.2]), 1e-4
    differences = [(f(at + h * e) - f(at - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(fg.grad(f)(at), differences, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(at), differences, rtol=1e-7)
    curvature = [(fg.grad(f)(at + h * e) - fg.grad(f)(at - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(fg.hessian(f)(at), curvature, rtol=1e-7)

    def price(v):
        """The integral of a characteristic function."""

        def integrand(u):
            return (
                np.exp(1j * u * v - u * u * v * v / 2) * np.exp(-0.3j * u) / (1j * u + 0.2)
            ).real

        return quad(integrand, 1e-8, np.inf)[0]

    slope = (price(0.8 + 1e-5) - price(0.8 - 1e-5)) / 2e-5
    assert fg.grad(price)(0.8) == pytest.approx(slope, rel=1e-6)


def decay(k):
    return quad(lambda x: np.exp(-k * x), 0.0, np.inf)[0]


def triangle(r):
    return dblquad(lambda y, x: x * y * r, 0.0, r, lambda x: 0.0, lambda x: r - x)[0]


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_derivatives_of_every_order(mode):
    def derivative(f):
        return fg.grad(f) if mode == "reverse" else lambda x: fg.jvp(f, (x,), (1.0,))[1]

    f, g = decay, triangle
    for n in range(1, 6):
        f, g = derivative(f), derivative(g)
        assert f(1.3) == pytest.approx((-1) ** n * math.factorial(n) / 1.3 ** (n + 1), rel=1e-9)
        assert g(1.1) == pytest.approx(math.perm(5, n) * 1.1 ** (5 - n) / 24, rel=1e-9)


def test_a_batch_of_integrals():
    def area(k, a, b):
        return quad(lambda x: np.sin(k * x) * x, a, b * b)[0]

    k, b = np.array([0.7, 0.9]), np.array([1.1, 1.2])
    curvatures = fg.vmap(fg.hessian(area, (0, 1, 2)), in_axes=(0, None, 0))(k, 0.2, b)
    for i in range(2):
        single = fg.hessian(area, (0, 1, 2))(k[i], 0.2, b[i])
        for row, wanted in zip(curvatures, single, strict=True):
            np.testing.assert_allclose([item[i] for item in row], wanted, rtol=1e-12, atol=1e-14)
    sums = fg.vmap(lambda w: quad_vec(lambda x: np.cos(w * x), 0.0, w[0])[0])
    slopes = fg.grad(lambda w: np.sum(sums(w)))(np.array([[1.0, 2.0], [0.5, 3.0]]))
    alone = fg.grad(lambda w: np.sum(quad_vec(lambda x: np.cos(w * x), 0.0, w[0])[0]))
    np.testing.assert_allclose(slopes[1], alone(np.array([0.5, 3.0])), rtol=1e-9)


def test_an_integral_is_written_and_stored():
    area = fg.trace(lambda k: quad(lambda x: np.exp(-k * x), 0.0, 2.0, epsabs=1e-12)[0], 1.3)
    assert str(area) == "let f(t, p) = exp(p*t)\nin integral(f, 0.0, 2.0, -k)"
    slope = fg.gradient(area)["k"]
    for found in (fg.from_json(fg.to_json(slope)), pickle.loads(pickle.dumps(slope))):
        assert found(k=1.3) == slope(k=1.3)


def test_break_points_and_limits_of_any_kind():
    def area(k):
        return quad(lambda x: k * abs(x - k), 0.0, 1.0, points=[k])[0]

    for k in (0.5, 0.6):
        wanted = (1 - 2 * k + 2 * k * k) / 2 + k * (2 * k - 1)
        assert fg.grad(area)(k) == pytest.approx(wanted)
        assert fg.jit(fg.grad(area))(k) == pytest.approx(wanted)
    slopes = fg.grad(lambda a, b: quad(lambda x: np.exp(-x), a, b)[0], (0, 1))
    assert slopes(1.0, np.inf) == (-np.exp(-1.0), 0.0)
    assert slopes(1.0, 1.0) == (-np.exp(-1.0), np.exp(-1.0))
    assert np.isnan(slopes(1.0, np.nan)[1])


def normal(x, center, scale):
    return np.exp(-(((x - center) / scale) ** 2) / 2) / scale / math.sqrt(2 * math.pi)


@pytest.mark.parametrize("more", [0, 12])
def test_a_slope_that_is_nan_does_not_end_the_search_for_the_others(more):
    """The slope in a power of negative numbers is NaN."""

    def second(v):
        def integrand(x):
            return normal(x, v[1], v[2]) * x ** v[0] * (1.0 + np.sum(v[3:]) * x)

        return quad(integrand, -np.inf, np.inf)[0]

    center, scale, share = 0.2, 1.3, 0.1 * more
    found = fg.grad(second)(np.array([2.0, center, scale, *[0.1] * more]))
    assert np.isnan(found[0])
    in_center = 2 * center + share * 3 * (center**2 + scale**2)
    in_scale = 2 * scale + share * 6 * center * scale
    assert found[1:3] == pytest.approx([in_center, in_scale], rel=1e-9)
    assert found[3:] == pytest.approx(np.full(more, center**3 + 3 * center * scale**2), rel=1e-9)


def test_a_power_among_the_arguments_of_tanhsinh():
    def mean(center):
        found = tanhsinh(
            lambda x, n, center: normal(x, center, 1.3) * x**n, -np.inf, np.inf, args=(1, center)
        )
        return found.integral

    assert fg.grad(mean)(0.2) == pytest.approx(1.0, rel=1e-12)
