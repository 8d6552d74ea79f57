"""Minima under constraints: derivatives by the Karush-Kuhn-Tucker conditions."""

import numpy as np
import pytest
import scipy.optimize
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

import funcgrad as fg
from tests.default_slice import one_in

P = np.array([0.7, 2.0])


def bowl(p):
    return lambda u: (u[0] - p[0]) ** 2 + 2 * (u[1] - p[1]) ** 2 + 0.1 * u[0] * u[1]


def on_circle(u):
    return u[0] ** 2 + u[1] ** 2


CASES = {
    "an equation": lambda p: minimize(
        bowl(p), [0.0, 0.0], constraints=[{"type": "eq", "fun": lambda u: u[0] + u[1] - p[0]}]
    ),
    "an active inequality": lambda p: minimize(
        bowl(p), [0.0, 0.0], constraints={"type": "ineq", "fun": lambda u: p[0] - u[0] - u[1] ** 2}
    ),
    "an inactive inequality": lambda p: minimize(
        bowl(p), [0.0, 0.0], constraints={"type": "ineq", "fun": lambda u: 9.0 - u[0] - u[1]}
    ),
    "linear constraints": lambda p: minimize(
        bowl(p), [0.0, 0.0], constraints=LinearConstraint([[1, 1], [1, -1]], [-np.inf, -9], [1, 9])
    ),
    "a traced matrix": lambda p: minimize(
        lambda u: u @ u - u[0],
        [0.0, 0.0],
        constraints=LinearConstraint(np.array([[1.0, 1.0]]) * p[0], -np.inf, -p[1]),
    ),
    "a ring": lambda p: minimize(
        bowl(p), [0.1, 0.2], constraints=NonlinearConstraint(on_circle, 0.1, p[0])
    ),
    "a circle and bounds": lambda p: minimize(
        bowl(p),
        [0.1, 0.2],
        bounds=[(0.0, 0.1), (None, None)],
        constraints=[NonlinearConstraint(on_circle, -np.inf, p[0])],
    ),
    "a constraint alone is traced": lambda p: minimize(
        lambda u: u @ u,
        [1.0, 1.0],
        constraints={"type": "eq", "fun": lambda u, a: u[0] * a[0] - a[1], "args": (p,)},
    ),
    "a portfolio": lambda p: minimize(
        lambda w: w @ np.diag([0.1, 0.2, 0.3]) @ w - w[:2] @ p / 10,
        np.ones(3) / 3,
        bounds=[(0.0, 1.0)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
    ),
}


@pytest.mark.parametrize("case", one_in(2, CASES))
def test_minima(case):
    def solved(p):
        found = CASES[case](p)
        return np.concatenate([found.x, np.reshape(found.fun, (1,))])

    plain, value = solved(P), fg.jit(solved)(P)
    np.testing.assert_allclose(value, plain, atol=1e-4)
    found, h = fg.jacobian(solved)(P), 1e-4
    # SciPy's minima are accurate to the root of its tolerance: the differences are of exact ones.
    exact = fg.jit(solved)
    wanted = [(exact(P + h * e) - exact(P - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(found, np.stack(wanted, axis=1), rtol=1e-6, atol=1e-7)
    near = [(solved(P + 0.1 * e) - solved(P - 0.1 * e)) / 0.2 for e in np.eye(2)]
    np.testing.assert_allclose(found, np.stack(near, axis=1), rtol=0.1, atol=0.1)
    np.testing.assert_allclose(fg.jacfwd(solved)(P), found, atol=1e-10)
    np.testing.assert_allclose(fg.vmap(fg.jacobian(solved))(np.stack([P, P]))[1], found, atol=1e-9)
    second, slope = fg.jacobian(fg.jacobian(solved))(P), fg.jit(fg.jacobian(solved))
    wanted = [(slope(P + h * e) - slope(P - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(second, np.stack(wanted, axis=2), rtol=1e-5, atol=1e-6)


BOXES = {
    "pairs, one end open": lambda p: scipy.optimize.minimize(
        bowl(P + 2), [0.0, 0.0], bounds=[(0.0, p[0]), (None, p[1])], method="L-BFGS-B"
    ),
    "Bounds": lambda p: minimize(bowl(P + 2), [0.0, 0.0], bounds=scipy.optimize.Bounds(-1.0, p)),
    "Bounds of a fit": lambda p: scipy.optimize.least_squares(
        lambda u: u - 3.0, [0.0, 0.0], bounds=scipy.optimize.Bounds(-1.0, p)
    ),
    "linprog": lambda p: scipy.optimize.linprog([-1.0, -2.0], bounds=[(None, p[0]), (0.0, p[1])]),
}


@pytest.mark.parametrize("case", BOXES)
def test_ends_of_bounds_that_are_traced_alone(case):
    np.testing.assert_allclose(fg.vjp(lambda p: BOXES[case](p).x, P)[0], P, rtol=1e-9)
    np.testing.assert_allclose(fg.jacrev(lambda p: BOXES[case](p).x)(P), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(fg.jacfwd(lambda p: BOXES[case](p).x)(P), np.eye(2), atol=1e-12)


def test_constraints_that_are_refused():
    with pytest.raises(TypeError, match="expected constraints as dicts"):
        fg.grad(lambda p: minimize(lambda u: u[0] * p, [0.0], constraints=[abs]).fun)(1.0)
    unbounded = {"type": "ineq", "fun": lambda u: 1.0 - u[0]}
    with pytest.raises(RuntimeError, match="expected a minimum under the constraints"):
        fg.grad(lambda p: minimize(lambda u: u[0] * p, [0.0], constraints=unbounded).fun)(1.0)


def test_plain_problems_are_scipys():
    constraint = {"type": "eq", "fun": lambda u: u[0] - 1.0}
    found = fg.adopt(lambda: minimize(lambda u: u @ u, [1.0, 1.0], constraints=constraint))()
    own = scipy.optimize.minimize(lambda u: u @ u, [1.0, 1.0], constraints=constraint)
    assert found.nit == own.nit


@pytest.mark.parametrize(
    "options",
    [
        {"constraints": {"type": "ineq", "fun": lambda u: 9.0 - u[0]}},
        {"bounds": [(-1.0, 9.0)], "method": "Nelder-Mead"},
    ],
)
def test_the_search_takes_the_branch_of_each_place(options):
    """The branch at the start, where it held everywhere, would have its minimum at 7.7."""

    def objective(u, a):
        if 1.0 <= u[0] < 6.0:
            return (u[0] - 3 * a) ** 2
        return (u[0] - 7 - a) ** 2 / 20

    def place(a):
        return minimize(objective, [0.2], (a,), **options).x[0]

    np.testing.assert_allclose(place(0.7), 2.1, rtol=1e-6)
    np.testing.assert_allclose(fg.value_and_grad(place)(0.7), [2.1, 3.0])
