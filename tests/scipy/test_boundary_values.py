"""Boundary value problems on SciPy's mesh, and integrals over quasi-random points."""

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats

import funcgrad as fg
from tests.default_slice import marked_slow

MESH = np.linspace(0.0, 1.0, 6)


def bent(a):
    """y'' = -a exp(y), and y = 0 at both ends: Bratu's problem."""
    return scipy.integrate.solve_bvp(
        lambda x, y: np.stack([y[1], -a * np.exp(y[0])]),
        lambda ya, yb: np.stack([ya[0], yb[0]]),
        MESH,
        np.zeros((2, 6)),
        tol=1e-9,
    )


def exact(a):
    """The slope of Bratu's solution at 0 by its closed form."""
    theta = scipy.optimize.brentq(
        lambda t: t - np.sqrt(2 * a) * np.cosh(t / 4), 0.0, 4.0, xtol=1e-15
    )
    return theta * np.tanh(theta / 4)


def test_bratus_problem_and_its_closed_form():
    a = 1.3
    found = bent(a)
    value, slope = fg.value_and_grad(lambda a: bent(a).y[1, 0])(a)
    assert value == pytest.approx(found.y[1, 0], rel=1e-9)
    assert value == pytest.approx(exact(a), rel=1e-8)
    wanted = (exact(a + 1e-4) - exact(a - 1e-4)) / 2e-4
    assert slope == pytest.approx(wanted, rel=1e-6)
    assert fg.jvp(lambda a: bent(a).y[1, 0], (a,), (1.0,))[1] == pytest.approx(slope, rel=1e-10)
    second = fg.grad(fg.grad(lambda a: bent(a).y[1, 0]))(a)
    wanted = (exact(a + 1e-3) - 2 * exact(a) + exact(a - 1e-3)) / 1e-6
    assert second == pytest.approx(wanted, rel=1e-4)
    nodes, values = fg.jit(lambda a: (bent(a).x, bent(a).y))(a)
    np.testing.assert_allclose(values, found.y, atol=1e-9)
    np.testing.assert_array_equal(nodes, found.x)
    middle = fg.grad(lambda a: bent(a).sol(0.3)[0])(a)
    near = [bent(a + s).sol(0.3)[0] for s in (1e-4, -1e-4)]
    assert middle == pytest.approx((near[0] - near[1]) / 2e-4, rel=1e-6)


def vibrating(stiffness, start=1.0):
    """An eigenvalue problem: y'' = -p**2 s y, with the frequency p unknown."""
    y = np.zeros((2, 6))
    y[0] = [0.0, 0.5, 0.9, 0.9, 0.5, 0.0]
    return scipy.integrate.solve_bvp(
        lambda x, y, p: np.stack([y[1], -(p[0] ** 2) * stiffness * y[0]]),
        lambda ya, yb, p: np.stack([ya[0], yb[0], ya[1] - p[0]]),
        MESH,
        y,
        p=[3.0 * start],
        tol=1e-8,
    )


def test_an_unknown_parameter():
    frequency = fg.value_and_grad(lambda s, t: vibrating(s, t).p[0], argnums=(0, 1))
    value, (slope, of_start) = frequency(1.5, 1.0)
    assert value == pytest.approx(np.pi / 1.5**0.5, rel=1e-7)
    assert slope == pytest.approx(-np.pi / 2 * 1.5**-1.5, rel=1e-6)
    assert of_start == 0.0


@pytest.mark.parametrize("a", [0.0, 1e-9, marked_slow(1.0)])
def test_derivatives_at_a_solution_of_zeros_have_a_mesh_of_their_own(a):
    """SciPy's five nodes solve y = 0 exactly."""

    def inside(a):
        found = scipy.integrate.solve_bvp(
            lambda x, y: np.stack([y[1], -400.0 * y[0]]),
            lambda ya, yb: np.stack([ya[0], yb[0] - a]),
            np.linspace(0.0, 1.0, 5),
            np.zeros((2, 5)),
            tol=1e-6,
        )
        return found.sol(0.37)[0]

    assert fg.grad(inside)(a) == pytest.approx(np.sin(7.4) / np.sin(20.0), rel=1e-4)


def test_what_boundary_values_refuse():
    def at(x, S=None, tol=1e-3, nodes=1000):
        return scipy.integrate.solve_bvp(
            lambda x, y: np.stack([y[1], -40 * a * np.exp(y[0])]),
            lambda ya, yb: np.stack([ya[0], yb[0]]),
            x,
            np.zeros((2, 6)),
            S=S,
            max_nodes=nodes,
        ).y[0, 0]

    a = 1.0
    with pytest.raises(TypeError, match="solve_bvp: expected a plain mesh"):
        fg.grad(lambda t: at(t * MESH))(1.0)
    for refused, message, error in (
        ({"S": np.zeros((2, 2))}, "solve_bvp: S=True", TypeError),
        ({"nodes": 20}, "solve_bvp: expected a solution, but got", RuntimeError),
    ):

        def of(b, refused=refused):
            nonlocal a
            a = b
            return at(MESH, **refused)

        with np.errstate(all="ignore"), pytest.raises(error, match=message):
            fg.grad(of)(1.0)


def test_integrals_over_quasi_random_points():
    def integral(c, ends):
        return scipy.integrate.qmc_quad(
            lambda x: np.cos(c * x[0]) * x[1] ** 2,
            [ends[0], 0.5],
            [ends[1], 0.2],
            n_points=64,
            qrng=scipy.stats.qmc.Halton(2, rng=3),
        )

    at = 1.3, np.array([0.1, 1.7])
    own = integral(*at)
    found = fg.jit(integral)(*at)
    assert found.integral == pytest.approx(own.integral, rel=1e-14)
    assert found.standard_error == pytest.approx(own.standard_error, rel=1e-10)
    slope = fg.grad(lambda c: integral(c, at[1]).integral)(at[0])
    near = [integral(at[0] + s, at[1]).integral for s in (1e-5, -1e-5)]
    assert slope == pytest.approx((near[0] - near[1]) / 2e-5, rel=1e-8)
    moved = fg.grad(lambda e: integral(at[0], e).integral)(at[1])
    for k, unit in enumerate(1e-5 * np.eye(2)):
        near = [integral(at[0], at[1] + s * unit).integral for s in (1, -1)]
        assert moved[k] == pytest.approx((near[0] - near[1]) / 2e-5, rel=1e-7)
    with pytest.raises(TypeError, match="qmc_quad: log=True"):
        fg.grad(lambda c: scipy.integrate.qmc_quad(lambda x: c * x[0], 0, 1, log=True).integral)(
            1.0
        )
