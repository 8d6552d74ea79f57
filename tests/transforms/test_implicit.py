"""Implicit functions: against closed forms, differences, and the solver's own steps differentiated."""

import sys

import numpy as np
import pytest
from scipy import optimize

import funcgrad as fg
from funcgrad.expr import subexpressions
from funcgrad.transforms.custom.implicit import fixed_point, implicit_argmin, implicit_root

RNG = np.random.default_rng(5)


def derivatives(f, count):
    """f and its derivatives."""
    found = [f]
    for _ in range(count):
        found.append(fg.grad(found[-1]))
    return found


@pytest.mark.parametrize("a", [0.3, 2.0, 90.0])
def test_a_square_root_to_third_order(a):
    sqrt = implicit_root(lambda x, a: x**2 - a)
    exact = [a**0.5, 0.5 * a**-0.5, -0.25 * a**-1.5, 0.375 * a**-2.5]
    for f, wanted in zip(derivatives(lambda a: sqrt(1.0, a), 3), exact, strict=True):
        np.testing.assert_allclose(f(a), wanted, rtol=1e-12)
    # And forward.
    _, slope = fg.jvp(fg.grad(lambda a: sqrt(1.0, a)), (a,), (2.0,))
    np.testing.assert_allclose(slope, 2 * exact[2], rtol=1e-12)


def kepler(e, m):
    return implicit_root(lambda x, e, m: x - e * np.sin(x) - m)(m, e, m)


def test_keplers_equation_against_mpmath():
    mp = pytest.importorskip("mpmath")
    e, m = 0.6, 1.1

    def exact(e, m):
        return mp.findroot(lambda x: x - e * mp.sin(x) - m, float(m))

    with mp.workdps(40):
        for orders in [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (2, 1)]:
            f = kepler
            for place in (0,) * orders[0] + (1,) * orders[1]:
                f = fg.grad(f, place)
            wanted = float(mp.diff(exact, (mp.mpf("0.6"), mp.mpf("1.1")), orders))
            np.testing.assert_allclose(f(e, m), wanted, rtol=1e-11)


def test_keplers_equation_for_many_orbits():
    e, m = np.linspace(0.1, 0.8, 5), np.linspace(0.5, 3.0, 5)
    found = fg.vmap(kepler)(e, m)
    np.testing.assert_allclose(found - e * np.sin(found), m, rtol=1e-13)
    each = [fg.grad(kepler)(*pair) for pair in zip(e, m, strict=True)]
    np.testing.assert_allclose(fg.vmap(fg.grad(kepler))(e, m), each, rtol=1e-12)
    # One parameter for all of them: what they bring to it adds up.
    total = fg.grad(lambda e: np.sum(fg.vmap(kepler, in_axes=(None, 0))(e, m)))(0.4)
    np.testing.assert_allclose(total, sum(fg.grad(kepler)(0.4, one) for one in m), rtol=1e-12)
    table = fg.vmap(fg.vmap(kepler, in_axes=(None, 0)), in_axes=(0, None))
    assert table(e, m).shape == (5, 5)
    slopes = fg.grad(lambda e: np.sum(table(e, m) ** 2))(e)
    wanted = [fg.grad(lambda e: sum(kepler(e, one) ** 2 for one in m))(own) for own in e]
    np.testing.assert_allclose(slopes, wanted, rtol=1e-11)


X, Y = RNG.normal(size=(8, 3)), RNG.normal(size=8)
X_VAL, Y_VAL = RNG.normal(size=(6, 3)), RNG.normal(size=6)


def ridge(w, log_strength):
    return np.sum((X @ w - Y) ** 2) + np.exp(log_strength) * np.sum(w**2)


def closed(log_strength):
    return np.linalg.solve(X.T @ X + np.exp(log_strength) * np.eye(3), X.T @ Y)


def test_the_hypergradient_of_ridge_regression():
    fit = implicit_argmin(ridge)
    np.testing.assert_allclose(fit(np.zeros(3), 0.3), closed(0.3), rtol=1e-12)

    def validation(solution):
        return lambda s: np.sum((X_VAL @ solution(s) - Y_VAL) ** 2)

    ours = derivatives(validation(lambda s: fit(np.zeros(3), s)), 3)
    exact = derivatives(validation(closed), 3)
    for f, g in zip(ours, exact, strict=True):
        np.testing.assert_allclose(f(0.3), g(0.3), rtol=1e-10)
    slopes = fg.vmap(ours[1])(np.array([-1.0, 0.0, 2.0]))
    np.testing.assert_allclose(slopes, [exact[1](s) for s in (-1.0, 0.0, 2.0)], rtol=1e-10)


W = 0.2 * RNG.normal(size=(4, 4))


def layer(z, params, x):
    return np.tanh(params["w"] @ z + x + params["b"])


def test_the_equilibrium_of_a_network():
    params, x = {"w": W, "b": np.full(4, 0.1)}, RNG.normal(size=4)
    equilibrium = fixed_point(layer)

    def loss(params, x):
        return np.sum(equilibrium(np.zeros(4), params, x) ** 2)

    def unrolled(params, x):
        z = np.zeros(4)
        for _ in range(80):
            z = layer(z, params, x)
        return np.sum(z**2)

    np.testing.assert_allclose(loss(params, x), unrolled(params, x), rtol=1e-13)
    found, wanted = fg.grad(loss)(params, x), fg.grad(unrolled)(params, x)
    for key in params:
        np.testing.assert_allclose(found[key], wanted[key], rtol=1e-10)
    np.testing.assert_allclose(
        fg.hessian(loss, 1)(params, x), fg.hessian(unrolled, 1)(params, x), rtol=1e-9, atol=1e-12
    )
    fg.check_grads(lambda w: loss({"w": w, "b": params["b"]}, x), (W,))


def test_trees_and_captured_values():
    """x is a tree, and so is theta; what the residual captures is differentiated, too."""

    def f(theta):
        def residual(x, scale):
            return {
                "sum": np.sum(x["a"]) + x["b"] - theta["total"],
                "rest": x["a"] - scale * x["b"] * np.arange(1.0, 3.0),
            }

        return implicit_root(residual)({"a": np.zeros(2), "b": 1.0}, theta["scale"])

    found = f({"total": 4.0, "scale": 1.0})
    np.testing.assert_allclose(found["b"], 1.0)
    np.testing.assert_allclose(found["a"], [1.0, 2.0])
    # b = total / (1 + 3 scale)
    slopes = fg.grad(lambda t: f(t)["b"])({"total": 4.0, "scale": 1.0})
    np.testing.assert_allclose([slopes["total"], slopes["scale"]], [0.25, -0.75], rtol=1e-12)
    fg.check_grads(f, ({"total": 4.0, "scale": 1.0},), order=3)


def test_nested():
    """A minimum over y of a minimum over x, and the outer variable in the inner problem."""
    inner = implicit_argmin(lambda x, y, a: (x - y * a) ** 2 + x**4)

    def value(y, a):
        x = inner(0.5, y, a)
        return (x - y * a) ** 2 + x**4 + (y - 1) ** 2

    outer = implicit_argmin(value)

    def f(a):
        return outer(0.5, a)

    fg.check_grads(f, (1.3,), order=2)
    sqrt = implicit_root(lambda x, a: x * x - a)
    g = fg.grad(lambda a: fg.grad(lambda b: sqrt(1.0, a * b))(2.0))
    np.testing.assert_allclose(g(3.0), 0.5 * 0.5 / np.sqrt(6.0), rtol=1e-12)


def test_x0_has_no_influence():
    sqrt = implicit_root(lambda x, a: x * x - a)
    assert fg.jvp(lambda x0: sqrt(x0, 4.0), (1.0,), (1.0,)) == (2.0, 0.0)
    assert sqrt(1, 4) == 2.0
    assert sqrt(-1.0, 4.0) == -2.0


def test_single_precision_stays_single():
    sqrt = implicit_root(lambda x, a: x * x - a)
    one, four = np.ones(2, np.float32), np.full(2, 4, np.float32)
    value, gradient = fg.value_and_grad(lambda a: np.sum(sqrt(one, a)))(four)
    assert (value.dtype, gradient.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(gradient, [0.25, 0.25], rtol=1e-6)


def test_a_solver_of_ones_own():
    seen = []

    def bisect(fun, x0):
        seen.append(np.shape(x0))
        return optimize.brentq(fun, 0.0, 10.0, xtol=1e-15)

    root = implicit_root(lambda x, a: x**3 - a, solver=bisect)
    np.testing.assert_allclose(fg.grad(lambda a: root(1.0, a))(8.0), 1 / 12, rtol=1e-10)
    assert set(seen) == {()}
    least = implicit_argmin(ridge, lambda fun, x0: optimize.minimize(fun, x0, tol=1e-12).x)
    np.testing.assert_allclose(least(np.zeros(3), 0.3), closed(0.3), rtol=1e-5)

    def steps(fun, x0):
        for _ in range(200):
            x0 = (x0 + fun(x0)) / 2
        return x0

    damped = fixed_point(lambda x, a: np.cos(a * x), steps)
    np.testing.assert_allclose(
        fg.grad(damped, 1)(0.5, 1.0), fg.grad(fixed_point(lambda x, a: np.cos(a * x)), 1)(0.5, 1.0)
    )
    vectors = implicit_root(
        lambda x, a: (x[0] - a, x[1] - x[0]), lambda fun, x0: optimize.root(fun, x0).x
    )
    np.testing.assert_allclose(vectors((0.0, 0.0), 3.0), (3.0, 3.0))


# -- errors --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("solve", "match"),
    [
        (
            lambda: implicit_root(lambda x, a: x * x + a)(1.0, 1.0),
            r"implicit_root: expected the solver to converge, but .* \(the residual is .*give solver=",
        ),
        (
            lambda: implicit_argmin(lambda x, a: a * x)(1.0, 1.0),
            "implicit_argmin: expected the solver to converge, but",
        ),
        (
            lambda: fixed_point(lambda x, a: a * x + 1)(1.0, 3.0),
            "fixed_point: expected the solver to converge, but x became infinite or nan",
        ),
        (
            lambda: fixed_point(lambda x, a: a - x)(1.0, 3.0),
            "fixed_point: .* but x still moved by 1 after 10000 iterations",
        ),
        (
            lambda: implicit_root(lambda x, a: x - a, lambda fun, x0: np.nan)(1.0, 3.0),
            "implicit_root: .* but its result is not finite",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_does_not_converge_says_so(solve, match):
    with pytest.raises(RuntimeError, match=match):
        solve()


@pytest.mark.parametrize(
    ("solve", "kind", "match"),
    [
        (
            lambda: implicit_root(lambda x, a: np.sum(x) - a)(np.zeros(2), 1.0),
            ValueError,
            r"expected the function to return as many real numbers as x0 has, float64\[2\], but got float64",
        ),
        (
            lambda: fixed_point(lambda x, a: np.reshape(x, (2, 1)))(np.zeros(2), 1.0),
            ValueError,
            "fixed_point: expected the function to return a tree as x0",
        ),
        (
            lambda: implicit_argmin(lambda x, a: x * a)(np.zeros(2), 1.0),
            TypeError,
            "implicit_argmin: expected an objective that returns a real scalar, but got float64.2.; sum",
        ),
        (
            lambda: implicit_root(lambda x, a: x - a)(1j, 1.0),
            TypeError,
            "implicit_root: expected an x0 of real numbers, but got complex128",
        ),
        (lambda: implicit_root(3), TypeError, "implicit_root: expected a function, but got int"),
        (lambda: fixed_point(np.cos, 3), TypeError, "fixed_point: expected a solver, but got int"),
        (
            lambda: implicit_root(lambda x, a: x - a, lambda fun, x0: np.zeros(3))(1.0, 1.0),
            ValueError,
            "expected the solver to return x with 1 entries, but got shape",
        ),
    ],
)
def test_errors_teach(solve, kind, match):
    with pytest.raises(kind, match=match):
        solve()


def test_a_singular_slope_has_no_derivative():
    root = implicit_root(lambda x, a: (x - a) ** 2, lambda fun, x0: x0)
    with pytest.raises(np.linalg.LinAlgError, match="singular up to rounding at the solution"):
        fg.grad(root, 1)(1.0, 1.0)


def test_equations_that_leave_an_unknown_open_have_no_derivative():
    sums = implicit_root(lambda x, a: np.stack([x[0] + x[1] - a, 0.3 * (x[0] + x[1] - a)]))
    for transform in (fg.jacobian, fg.jacfwd):
        with pytest.raises(
            np.linalg.LinAlgError, match=r"implicit_root: .* determine every unknown"
        ):
            transform(sums, 1)(np.zeros(2), 1.0)
    # In other units the equations of an ill-conditioned system still determine its unknowns.
    scaled = implicit_root(lambda x, a: np.stack([1e-12 * (x[0] - a), 1e9 * (x[1] + x[0] - a)]))
    np.testing.assert_allclose(fg.jacobian(scaled, 1)(np.zeros(2), 1.0), [1.0, 0.0], atol=1e-12)


DATA = np.random.default_rng(0).normal(size=(3, 5))
WANTED = np.array([1.0, 2.0, 3.0])


def fitted(scale, method=None):
    """Five parameters by three data."""
    objective = lambda p: np.sum((DATA @ p - scale * WANTED) ** 2)  # noqa: E731
    return optimize.minimize(objective, np.zeros(5), method=method).x


@pytest.mark.parametrize("method", [None, "Nelder-Mead", "L-BFGS-B"])
@pytest.mark.parametrize("transform", [fg.jacobian, fg.jacfwd, lambda f: fg.jit(fg.jacobian(f))])
def test_parameters_that_the_objective_does_not_determine_have_no_slope(method, transform):
    with pytest.raises(np.linalg.LinAlgError, match=r"all 5 entries of x, but it determines 3 "):
        transform(lambda s: fitted(s, method))(1.0)


@pytest.mark.parametrize("transform", [fg.grad, lambda f: fg.jit(fg.grad(f))])
def test_what_is_the_same_at_all_minima_has_a_slope(transform):
    predicted = transform(lambda s: np.sum((DATA @ fitted(s)) ** 2))(1.5)
    assert predicted == pytest.approx(3.0 * np.sum(WANTED**2), rel=1e-9)
    # Also of entries in other units, and of an entry that occurs nowhere.
    units = np.array([1e-6, 1.0, 1e5, 1.0, 10.0, 1.0])
    wide = np.hstack([DATA, np.zeros((3, 1))]) * units
    objective = lambda p, s: np.sum((wide @ p - s * WANTED) ** 2)  # noqa: E731
    start = np.linalg.pinv(wide) @ (1.5 * WANTED)
    solve = implicit_argmin(objective, lambda fun, x0: start)
    predicted = transform(lambda s: np.sum((wide @ solve(start, s)) ** 2))(1.5)
    assert predicted == pytest.approx(3.0 * np.sum(WANTED**2), rel=1e-7)


def test_the_check_is_not_printed():
    root = implicit_root(lambda x, a: x * x - a)
    slope = fg.grad(root, 1).expr(1.0, 4.0)
    assert "null_space_shift" in {node.op.name for node in subexpressions(slope)}
    assert "shift" not in repr(slope)
    assert slope(x0=1.0, x1=4.0) == pytest.approx(0.25)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_units_of_equations_do_not_matter(scale):
    solve = implicit_root(lambda x, a: scale * (x - a), lambda f, x: np.full_like(x, 1.5))
    assert fg.grad(solve, 1)(1.0, 1.5) == pytest.approx(1.0)
    vector = implicit_root(
        lambda x, a: np.stack([scale * (x[0] - a), x[1] / scale - a / scale]),
        lambda f, x: np.full_like(x, 1.5),
    )
    slope = fg.jacobian(vector, 1)(np.ones(2), 1.5)
    np.testing.assert_allclose(slope, [1.0, 1.0], rtol=1e-14)


def test_a_saddle_point_keeps_its_slope():
    saddle = implicit_argmin(lambda x, a: (x[0] - a) ** 2 - (x[1] - 2 * a) ** 2, lambda f, x: x)
    slope = fg.jacobian(saddle, 1)(np.array([1.0, 2.0]), 1.0)
    np.testing.assert_allclose(slope, [1.0, 2.0], rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_regular_slope_is_not_touched(dtype):
    solve = implicit_argmin(lambda x, a: np.sum((x - a) ** 2) + np.sum(x**4))
    slope = fg.jacobian(solve, 1)(np.ones(3, dtype), dtype(0.5))
    x = np.asarray(solve(np.ones(3, dtype), dtype(0.5)))
    assert slope.dtype == dtype
    np.testing.assert_allclose(
        slope, 2 / (2 + 12 * x**2), rtol=1e-5 if dtype is np.float32 else 1e-10
    )


def test_scipy_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(
        ImportError, match=r"implicit_root: expected SciPy.*pip install scipy, or give"
    ):
        implicit_root(lambda x, a: x - a)(1.0, 2.0)
    np.testing.assert_allclose(fixed_point(lambda x, a: a + x / 2)(1.0, 2.0), 4.0)


def test_empty():
    found = implicit_root(lambda x, a: x * a)(np.zeros(0), 1.0)
    assert found.shape == (0,)
    _, slope = fg.jvp(lambda a: implicit_root(lambda x, a: x * a)(np.zeros(0), a), (1.0,), (1.0,))
    assert slope.shape == (0,)
