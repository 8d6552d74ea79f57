"""The rule of Gauss and Kronrod by which slopes of integrals are computed at once."""

import numpy as np
import pytest
import scipy.integrate
from scipy.integrate import quad, quad_vec

import funcgrad as fg
from funcgrad.scipy.quadrature import GAUSS, NODES, WEIGHTS


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


@pytest.mark.parametrize("name", CASES)
def test_slopes_are_those_of_the_adaptive_rule(name, monkeypatch):
    f, low, high, at_once = CASES[name]
    a, b = 0.7, 1.3
    calls = []

    def spy(*args, **options):
        calls.append(args)
        return quad_vec(*args, **options)

    monkeypatch.setattr(scipy.integrate, "quad_vec", spy)
    slopes = fg.grad(lambda a, b: quad(f, low, high, (a, b))[0], argnums=(0, 1))(a, b)
    assert bool(calls) is not at_once
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
