"""Forward mode of forward mode, for functions whose rule calls the function itself."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.scipy import linalg, sparse
from funcgrad.scipy.external_function import with_pullback
from tests.default_slice import one_in

A = np.array([[2.0, 0.3, -0.2], [0.1, 1.5, 0.4], [-0.3, 0.2, 1.8]])
D = np.array([[0.5, -0.2, 0.1], [0.3, 0.4, -0.1], [0.2, 0.1, -0.3]])
BANDS = np.array([[0.0, 0.2, 0.4], [3.0, 2.5, 4.0], [0.3, -0.6, 0.0]])

FUNCTIONS = {
    "solve_sylvester": lambda t: linalg.solve_sylvester(A + t * D, A.T, t * D + A),
    "solve_continuous_lyapunov": lambda t: linalg.solve_continuous_lyapunov(A + t * D, D),
    "solve_banded": lambda t: linalg.solve_banded((1, 1), BANDS * (1 + t**2), D * t + A),
    "sqrtm": lambda t: linalg.sqrtm(A + t * D),
    "logm": lambda t: linalg.logm(A + t * D),
    "fractional_matrix_power": lambda t: linalg.fractional_matrix_power(A + t * D, 0.3),
    "expm_frechet": lambda t: linalg.expm_frechet(A + t * D, D),
}


def along(f):
    return lambda t: fg.jvp(f, (t,), (1.0,))[1]


@pytest.mark.parametrize("name", one_in(3, FUNCTIONS))
def test_forward_mode_nests(name):
    f = lambda t: np.sum(FUNCTIONS[name](t))  # noqa: E731
    second, third = along(along(f)), along(along(along(f)))
    found = second(0.2)
    assert np.allclose(found, fg.grad(fg.grad(f))(0.2), rtol=1e-10)
    step = 1e-4
    assert np.isclose(found, (along(f)(0.2 + step) - along(f)(0.2 - step)) / (2 * step), rtol=1e-6)
    assert np.isclose(third(0.2), (second(0.2 + step) - second(0.2 - step)) / (2 * step), rtol=1e-5)
    assert np.isclose(fg.jit(second)(0.2), found)
    assert np.isclose(fg.grad(along(f))(0.2), found)
    assert np.allclose(fg.vmap(second)(np.array([0.2, 0.3])), [found, second(0.3)])


def test_forward_mode_of_a_jacobian():
    f = lambda q: linalg.solve_sylvester(A, A.T, q * q)  # noqa: E731
    assert np.allclose(fg.jacfwd(fg.jacfwd(f))(D), fg.jacfwd(fg.jacrev(f))(D))


def test_a_rule_is_traced_once():
    traced = []

    def pullback(a, x, g):
        traced.append("rev")
        return (g / (2 * root(a)),)

    def pushforward(a, x, da):
        traced.append("fwd")
        return da / (2 * root(a))

    root = with_pullback("root", np.sqrt, lambda a: a, pullback, pushforward)
    a = np.array([4.0, 9.0])
    for _ in range(3):
        assert np.allclose(fg.grad(lambda a: np.sum(root(a)))(a), 0.5 / np.sqrt(a))
    assert traced == ["rev"]
    assert np.allclose(along(along(lambda t: root(t * a)))(1.0), -np.sqrt(a) / 4)
    assert traced == ["rev", "fwd"]


@pytest.mark.parametrize("mode", ["reverse", "forward", "forward by a transpose"])
def test_derivatives_of_every_order(mode):
    def pullback(a, x, g):
        return (g / (2 * root(a)),)

    def pushforward(a, x, da):
        return da / (2 * root(a))

    rules = (pullback,) if "transpose" in mode else (pullback, pushforward)
    root = with_pullback("root", np.sqrt, lambda a: a, *rules)
    derivative = fg.grad if mode == "reverse" else along
    f, wanted = root, np.sqrt(2.0)
    for n in range(1, 7):
        f, wanted = derivative(f), wanted * (1.5 - n) / 2.0
        assert np.isclose(f(2.0), wanted, rtol=1e-12)
        assert np.allclose(fg.vmap(f)(np.array([2.0, 2.0])), wanted, rtol=1e-12)
        assert np.isclose(fg.jit(f)(2.0), wanted, rtol=1e-12)


S = A + A.T
BEYOND_THE_THIRD = {
    "sqrtm": lambda t: np.sum(linalg.sqrtm(A + t * D) * D),
    "solve_banded": lambda t: np.sum(
        linalg.solve_banded((1, 1), BANDS * (1 + t**2), D * t + A) * D
    ),
    "hessenberg": lambda t: np.sum(linalg.hessenberg(A + t * D) * D),
    "ldl": lambda t: np.sum(linalg.ldl(S + t * (D + D.T))[0] * D),
    "funm": lambda t: np.sum(linalg.funm(A + t * D, lambda x: np.exp(-x * x)) * D),
    "spsolve": lambda t: np.sum(sparse.linalg.spsolve(A + t * D, A[0]) ** 2),
    "spsolve of a constant matrix": lambda t: np.sum(sparse.linalg.spsolve(A, A[0] * t**3) ** 2),
}


@pytest.mark.filterwarnings("ignore:spsolve requires")
@pytest.mark.parametrize("name", one_in(3, BEYOND_THE_THIRD))
def test_derivatives_beyond_the_third(name):
    f, step = BEYOND_THE_THIRD[name], 1e-3
    for _ in range(4):
        f = fg.grad(f)

    compiled = fg.jit(f)

    def differences(h):
        return (compiled(0.2 + h) - compiled(0.2 - h)) / (2 * h)

    wanted = (4 * differences(step) - differences(2 * step)) / 3
    assert fg.grad(f)(0.2) == pytest.approx(wanted, rel=1e-6)
    assert along(f)(0.2) == pytest.approx(wanted, rel=1e-6)
