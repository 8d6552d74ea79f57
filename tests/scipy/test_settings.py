"""Traced tolerances and other settings of solvers, in which a result has no derivative."""

import numpy as np
import pytest
import scipy.integrate as integrate
import scipy.linalg as linalg
import scipy.optimize as optimize
import scipy.sparse.linalg as sparse

import funcgrad as fg

TOLERANCE = 1e-11
A = np.array([[4.0, 1.0, 0.2], [1.0, 3.0, 0.1], [0.2, 0.1, 2.0]])
TALL = np.vstack([A, [1.0, 2.0, 3.0]])
ONES = np.ones(3)


def cube(x, a):
    return x**3 - a


def bowl(x, a):
    return np.sum((x - a) ** 2 + x**4)


SOLUTIONS = {
    "brentq": lambda a, t: optimize.brentq(cube, 0.0, 3.0, (a,), xtol=t),
    "brentq by place": lambda a, t: optimize.brentq(cube, 0.0, 3.0, (a,), t, t),
    "brentq of constants": lambda a, t: a * optimize.brentq(cube, 0.0, 3.0, (2.0,), xtol=t),
    "newton": lambda a, t: optimize.newton(cube, 1.0, args=(a,), tol=t),
    "newton by place": lambda a, t: optimize.newton(cube, 1.0, None, (a,), t),
    "secant": lambda a, t: (
        optimize.root_scalar(cube, args=(a,), x0=1.0, x1=1.2 * a, method="secant", xtol=t).root
    ),
    "root_scalar": lambda a, t: (
        optimize.root_scalar(cube, args=(a,), bracket=[0, 3 * a], options={"xtol": t}).root
    ),
    "root": lambda a, t: optimize.root(cube, [1.0], args=(a,), options={"xtol": t}).x[0],
    "root of constants": lambda a, t: a * optimize.root(cube, [1.0], args=(2.0,), tol=t).x[0],
    "fsolve": lambda a, t: optimize.fsolve(cube, [1.0], args=(a,), xtol=t)[0],
    "fsolve of constants": lambda a, t: a * optimize.fsolve(cube, [1.0], (2.0,), xtol=t)[0],
    "fixed_point": lambda a, t: optimize.fixed_point(lambda x: np.cos(a * x / 2), 1.0, xtol=t),
    "minimize": lambda a, t: optimize.minimize(bowl, [1.0], (a,), options={"gtol": t}).x[0],
    "minimize of constants": lambda a, t: a * optimize.minimize(bowl, [1.0], (2.0,), tol=t).x[0],
    "minimize_scalar of constants": lambda a, t: (
        a
        * optimize.minimize_scalar(
            bowl, args=(2.0,), bounds=(0, 3), method="bounded", options={"xatol": t}
        ).x
    ),
    "fmin of constants": lambda a, t: (
        a * optimize.fmin(bowl, [1.0], (2.0,), xtol=t, ftol=t, disp=0)[0]
    ),
    "differential_evolution of constants": lambda a, t: (
        a * optimize.differential_evolution(bowl, [(0, 3)], (2.0,), tol=t, rng=1).x[0]
    ),
    "basinhopping of constants": lambda a, t: (
        a
        * optimize.basinhopping(
            bowl, [1.0], 3, a, minimizer_kwargs={"args": (2.0,), "tol": t}, rng=1
        ).x[0]
    ),
    "linprog of constants": lambda a, t: (
        a
        * optimize.linprog(
            [1, 2], [[-1, -1]], [-1], options={"primal_feasibility_tolerance": 1e-8 + t}
        ).x[0]
    ),
    "solve_ivp with a first step": lambda a, t: (
        a
        * integrate.solve_ivp(lambda x, y: -y, (0, 1), [1.0], first_step=t, max_step=1 + t).y[0, -1]
    ),
    "quad": lambda a, t: integrate.quad(lambda x: np.exp(-a * x), 0, 1, epsabs=t, epsrel=t)[0],
    "quad of constants": lambda a, t: a * integrate.quad(np.exp, 0, 1, epsabs=t, epsrel=t)[0],
    "quad_vec": lambda a, t: integrate.quad_vec(lambda x: np.exp(-a * x * ONES), 0, 1, epsabs=t)[0][
        1
    ],
    "dblquad": lambda a, t: integrate.dblquad(
        lambda y, x: np.exp(-a * x * y), 0, 1, 0, 1, epsabs=t
    )[0],
    "nquad": lambda a, t: integrate.nquad(
        lambda y, x: np.exp(-a * x * y), [[0, 1], [0, 1]], opts={"epsabs": t}
    )[0],
    "solve_ivp of constants": lambda a, t: (
        a * integrate.solve_ivp(lambda s, y: -y, (0, 1), [1.0], rtol=t, atol=t).y[0, -1]
    ),
    "odeint of constants": lambda a, t: (
        a * integrate.odeint(lambda y, s: -y, [1.0], [0, 1.0], rtol=t, atol=t)[-1, 0]
    ),
    "np.linalg.pinv": lambda a, t: np.linalg.pinv(TALL * a, rcond=t)[0, 1],
    "np.linalg.pinv of constants": lambda a, t: a * np.linalg.pinv(TALL, t)[0, 1],
    "np.linalg.lstsq": lambda a, t: np.linalg.lstsq(TALL * a, np.ones(4), rcond=t)[0][0],
    "np.linalg.lstsq of constants": lambda a, t: a * np.linalg.lstsq(TALL, np.ones(4), t)[0][0],
    "np.linalg.matrix_rank": lambda a, t: a * np.linalg.matrix_rank(TALL * a, tol=t),
    "np.linalg.matrix_rank of constants": lambda a, t: a * np.linalg.matrix_rank(TALL, tol=t),
    "np.polyfit": lambda a, t: np.polyfit(np.arange(4.0), np.sin(a * np.arange(4.0)), 2, rcond=t)[
        0
    ],
    "linalg.pinv of constants": lambda a, t: a * linalg.pinv(TALL, rtol=t)[0, 1],
    "linalg.lstsq": lambda a, t: linalg.lstsq(TALL * a, np.ones(4), cond=t)[0][0],
    "linalg.lstsq of constants": lambda a, t: a * linalg.lstsq(TALL, np.ones(4), t)[0][0],
    "cg": lambda a, t: sparse.cg(A * a, ONES, rtol=t)[0][0],
    "cg of constants": lambda a, t: a * sparse.cg(A, ONES, rtol=t, atol=t)[0][0],
    "gmres": lambda a, t: sparse.gmres(A * a, ONES, rtol=t)[0][0],
    "lsqr": lambda a, t: sparse.lsqr(A, ONES * a, atol=t, btol=t)[0][0],
    "lsqr of constants": lambda a, t: a * sparse.lsqr(A, ONES, atol=t, btol=t)[0][0],
    "eigsh of constants": lambda a, t: a * sparse.eigsh(A, k=1, tol=t)[0][0],
}


@pytest.mark.parametrize("name", SOLUTIONS)
def test_tolerance_is_a_number_without_a_derivative(name):
    f = SOLUTIONS[name]
    step = 1e-4
    value = f(1.3, TOLERANCE)
    slope = (f(1.3 + step, TOLERANCE) - f(1.3 - step, TOLERANCE)) / (2 * step)
    both = fg.grad(f, argnums=(0, 1))
    assert both(1.3, TOLERANCE) == pytest.approx((slope, 0.0), rel=1e-4)
    assert fg.jit(f)(1.3, TOLERANCE) == pytest.approx(value, rel=1e-6)
    assert fg.jit(both)(1.3, TOLERANCE) == pytest.approx((slope, 0.0), rel=1e-4)
    moved = np.stack(fg.jvp(f, (1.3, TOLERANCE), (1.0, 1.0)))
    assert moved == pytest.approx(np.array([value, slope]), rel=1e-4)


def test_jitted_search_ends_at_the_tolerance_of_each_call():
    f = fg.jit(lambda t: optimize.bisect(cube, 0.0, 3.0, (2.0,), xtol=t))
    assert [f(t) for t in (0.5, 0.01, 0.5)] == [
        optimize.bisect(cube, 0.0, 3.0, (2.0,), xtol=t) for t in (0.5, 0.01, 0.5)
    ]


def test_damping_of_lsqr_is_no_setting():
    with pytest.raises(TypeError, match="expected plain options"):
        fg.grad(lambda a: sparse.lsqr(A, ONES, damp=a)[0][0])(0.5)
