"""Global searches, minima in bounds, losses of least squares and linear least squares in bounds."""

import itertools

import numpy as np
import pytest
import scipy.optimize

import funcgrad as fg
from tests.default_slice import one_in


def wavy(v, a):
    """It has several minima, of which one is the least."""
    return np.sum((v - a) ** 2 + 0.4 * np.sin(5 * v) * a)


BOX = [(-1.0, 3.0)] * 2
SEARCHES = {
    "differential_evolution": lambda a: (
        scipy.optimize.differential_evolution(lambda v: wavy(v, a), BOX, rng=0, popsize=8).x
    ),
    "differential_evolution, from a place": lambda a: (
        scipy.optimize.differential_evolution(wavy, BOX, (a,), rng=0, popsize=8, x0=[1.0, 1.0]).x
    ),
    "dual_annealing": lambda a: scipy.optimize.dual_annealing(wavy, BOX, (a,), maxiter=40, rng=1).x,
    "shgo": lambda a: scipy.optimize.shgo(lambda v: wavy(v, a), BOX, n=60).x,
    "direct": lambda a: scipy.optimize.direct(lambda v: wavy(v, a), BOX, maxiter=200).x,
    "basinhopping": lambda a: (
        scipy.optimize.basinhopping(lambda v: wavy(v, a), [0.0, 0.0], niter=20, rng=0).x
    ),
    "basinhopping of arguments": lambda a: (
        scipy.optimize.basinhopping(
            wavy, [0.0, 0.0], niter=20, rng=0, minimizer_kwargs={"args": (a,)}
        ).x
    ),
    "brute": lambda a: scipy.optimize.brute(lambda v: wavy(v, a), tuple(BOX), disp=False),
    "at a bound": lambda a: (
        scipy.optimize.differential_evolution(
            lambda v: np.sum((v - 3 * a) ** 2), [(0.0, 2 * a)] * 2, rng=0
        ).x
    ),
}


@pytest.mark.parametrize("name", one_in(3, SEARCHES))
def test_the_minimum_that_a_search_finds(name):
    search, a = SEARCHES[name], 1.2
    own = search(a)
    value, slope = fg.jvp(search, (a,), (1.0,))
    np.testing.assert_allclose(value, own, atol=2e-4)
    # The minimum solves for a slope of 0: dv = -f_va / f_vv.
    wanted = np.full(2, 2.0)
    if name != "at a bound":
        curvature = 2 - 10 * np.sin(5 * value) * a
        wanted = -(-2 + 2 * np.cos(5 * value)) / curvature
    np.testing.assert_allclose(slope, wanted, rtol=1e-7)
    np.testing.assert_allclose(fg.jit(fg.jacobian(search))(a), wanted, rtol=1e-7)
    second = fg.grad(fg.grad(lambda a: np.sum(search(a))))(a)
    if name == "at a bound":
        assert second == pytest.approx(0.0, abs=1e-9)
    else:
        first = fg.grad(lambda a: np.sum(search(a)))
        expected = (first(a + 1e-5) - first(a - 1e-5)) / 2e-5
        assert second == pytest.approx(expected, rel=1e-5)


def test_a_plain_grid_has_no_last_search_in_adopted_code():
    def scaled(a):
        ranges = tuple(BOX)
        return a * scipy.optimize.brute(lambda v: wavy(v, 1.2), ranges, Ns=9, finish=None)

    np.testing.assert_array_equal(fg.adopt(scaled)(2.0), scaled(2.0))


def test_a_point_of_a_grid_does_not_move():
    def place(a):
        return scipy.optimize.brute(lambda v: wavy(v, a), tuple(BOX), Ns=9, finish=None)

    np.testing.assert_array_equal(fg.jit(place)(1.2), place(1.2))
    assert not fg.jacobian(place)(1.2).any()


BOUNDED = {
    "fmin_l_bfgs_b": lambda a: scipy.optimize.fmin_l_bfgs_b(
        wavy, [1.0, 1.0], args=(a,), approx_grad=True, bounds=BOX
    )[0],
    "fmin_l_bfgs_b with a gradient": lambda a: scipy.optimize.fmin_l_bfgs_b(
        lambda v: (wavy(v, a), 2 * (v - a) + 2 * np.cos(5 * v) * a), [1.0, 1.0]
    )[0],
    "fmin_tnc": lambda a: scipy.optimize.fmin_tnc(
        wavy, [1.0, 1.0], args=(a,), approx_grad=True, bounds=BOX, disp=0
    )[0],
    "fmin_slsqp": lambda a: scipy.optimize.fmin_slsqp(
        wavy, [1.0, 1.0], args=(a,), bounds=BOX, iprint=0
    ),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_minima_in_bounds(name):
    solve, a = BOUNDED[name], 1.2
    value, slope = fg.jvp(solve, (a,), (1.0,))
    np.testing.assert_allclose(value, solve(a), atol=1e-3)
    wanted = -(-2 + 2 * np.cos(5 * value)) / (2 - 10 * np.sin(5 * value) * a)
    np.testing.assert_allclose(slope, wanted, rtol=1e-8)


T = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
DATA = np.array([2.1, 1.4, 0.8, 3.0, 0.4, 0.2])  # one of them is far off


def loss_of_line(z):
    return np.stack([np.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2])


@pytest.mark.parametrize(
    ("loss", "bounds"),
    one_in(
        3,
        itertools.product(
            ["soft_l1", "huber", "cauchy", "arctan", loss_of_line],
            [(-np.inf, np.inf), ([0.0, -3.0], [5.0, -0.1])],
        ),
    ),
)
def test_losses_of_least_squares(loss, bounds):
    def fit(data, width):
        return scipy.optimize.least_squares(
            lambda p: p[0] * np.exp(p[1] * T) - data,
            [2.0, -0.5],
            bounds=bounds,
            loss=loss,
            f_scale=width,
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        )

    own = fit(DATA, 0.3)
    found = fg.jit(lambda d, w: (fit(d, w).x, fit(d, w).cost))(DATA, 0.3)
    np.testing.assert_allclose(found[0], own.x, rtol=1e-6)
    assert found[1] == pytest.approx(own.cost, rel=1e-9)
    slope = fg.jvp(lambda t: fit(DATA * np.exp(t), 0.3 + t).x, (0.0,), (1.0,))[1]
    near = [fit(DATA * np.exp(s), 0.3 + s).x for s in (1e-4, -1e-4)]
    np.testing.assert_allclose(slope, (near[0] - near[1]) / 2e-4, rtol=1e-4, atol=2e-5)


MATRIX = np.array([[1.3, 0.2, -0.4], [0.5, 2.1, 0.3], [-0.2, 0.6, 1.7], [0.7, -0.3, 0.1]])
SIDE = np.array([0.9, 0.5, 0.7, 1.2])


@pytest.mark.parametrize(
    "bounds",
    [
        (-np.inf, np.inf),
        (0.0, 0.4),
        ([0.0, 0.1, -1.0], [0.5, 9.0, 0.2]),
        scipy.optimize.Bounds([0.0, 0.0, 0.0], [0.5, 1.0, 0.1]),
    ],
)
def test_linear_least_squares_in_bounds(bounds):
    def solved(t):
        return scipy.optimize.lsq_linear(MATRIX * np.exp(t), SIDE + t**2 + t, bounds, tol=1e-14)

    own = solved(0.1)
    np.testing.assert_allclose(fg.jit(lambda t: solved(t).x)(0.1), own.x, atol=1e-7)
    found = fg.jit(lambda t: (solved(t).cost, solved(t).active_mask))(0.1)
    assert found[0] == pytest.approx(own.cost)
    np.testing.assert_array_equal(found[1], own.active_mask)
    slope = fg.jvp(lambda t: solved(t).x, (0.1,), (1.0,))[1]
    near = [solved(0.1 + s).x for s in (1e-4, -1e-4)]
    np.testing.assert_allclose(slope, (near[0] - near[1]) / 2e-4, atol=1e-5)


def test_a_bound_that_holds_moves_the_solution():
    slope = fg.jacobian(lambda end: scipy.optimize.lsq_linear(MATRIX, SIDE, (-9.0, end)).x)(0.3)
    assert slope[0] == 1.0


def test_least_squares_at_bounds_that_an_interior_method_does_not_reach():
    """SciPy's method "trf" stops next to a bound, and calls it inactive."""

    def least(matrix, side, low, high):
        return scipy.optimize.lsq_linear(matrix, side, (low, high), method="trf").x

    row, side = np.array([[-0.307, -0.184]]), np.array([0.773])
    ends = np.array([-0.1, -0.1]), np.array([0.1, 0.1])
    x = least(row, side, *ends)
    np.testing.assert_allclose(fg.jit(least)(row, side, *ends), x, atol=1e-6)
    of_matrix, of_side, of_low, of_high = fg.jacobian(least, (0, 1, 2, 3))(row, side, *ends)
    assert not np.any(of_matrix)
    assert not np.any(of_side)
    np.testing.assert_array_equal(of_low, np.eye(2))
    np.testing.assert_array_equal(of_high, np.zeros((2, 2)))

    matrix = np.array([[0.171, -0.057], [-0.049, -0.248], [-0.166, 0.054]])
    side, low = np.array([0.074, 1.014, -0.383]), np.array([0.0, -np.inf])
    value, slope = fg.jvp(lambda b: least(matrix, b, low, np.inf), (side,), (np.ones(3),))
    np.testing.assert_allclose(value, least(matrix, side, low, np.inf), atol=1e-6)
    column = matrix[:, 1]
    np.testing.assert_allclose(slope, [0.0, np.sum(column) / (column @ column)], rtol=1e-12)


def test_least_squares_without_a_single_solution_stay_in_their_bounds():
    matrix = np.outer([0.334, -0.516, 0.192], [1.0, 2.0])
    side, ends = np.array([-1.436, 0.135, 0.909]), ([0.0, -1.0], [1.0, -0.5])
    least = lambda b: scipy.optimize.lsq_linear(matrix, b, ends).x  # noqa: E731
    value, slope = fg.jvp(least, (side,), (np.ones(3),))
    np.testing.assert_allclose(value, least(side), rtol=1e-6)
    np.testing.assert_allclose(slope, np.linalg.pinv(matrix) @ np.ones(3), rtol=1e-10)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (
            lambda a: (
                scipy.optimize.differential_evolution(wavy, BOX, (a,), integrality=[1, 1]).fun
            ),
            "differential_evolution: integrality",
        ),
        (
            lambda a: (
                scipy.optimize.basinhopping(
                    wavy, [0.0], minimizer_kwargs={"args": (a,), "bounds": [(0, 1)]}
                ).fun
            ),
            "basinhopping: bounds",
        ),
        (
            lambda a: scipy.optimize.brute(wavy, BOX, (a,), full_output=True)[1],
            "brute: full_output=True",
        ),
    ],
)
def test_what_is_refused(f, message):
    with pytest.raises(TypeError, match=message):
        fg.grad(f)(1.2)


def two_wells(v, a):
    """A minimum at 3*a; the branch at 0 has another alone."""
    return (v[0] - 3 * a) ** 2 if v[0] > 1.0 else 10 + (v[0] - a / 10) ** 2


@pytest.mark.parametrize(
    "search",
    [
        lambda a: scipy.optimize.basinhopping(
            two_wells, [0.2], 50, stepsize=3.0, minimizer_kwargs={"args": (a,)}, rng=0
        ),
        lambda a: scipy.optimize.differential_evolution(two_wells, [(-4, 5)], (a,), rng=0),
        lambda a: scipy.optimize.dual_annealing(two_wells, [(-4, 5)], (a,), maxiter=40, rng=0),
    ],
)
def test_a_search_takes_the_branch_of_each_place(search):
    for transform in (fg.value_and_grad, lambda f: fg.jit(fg.value_and_grad(f))):
        value, slope = transform(lambda a: search(a).x[0])(0.7)
        np.testing.assert_allclose([value, slope], [2.1, 3.0])


@pytest.mark.parametrize(
    "search",
    [
        lambda f, args: scipy.optimize.fmin(f, [0.2], args, disp=0)[0],
        lambda f, args: scipy.optimize.fmin_bfgs(f, [0.2], None, args, disp=0)[0],
        lambda f, args: scipy.optimize.fminbound(f, -4.0, 5.0, args),
        lambda f, args: scipy.optimize.brent(f, args),
        lambda f, args: scipy.optimize.brute(f, [(-4, 5)], args)[0],
        lambda f, args: scipy.optimize.differential_evolution(f, [(-4, 5)], args, rng=0).x[0],
    ],
)
def test_arguments_of_the_function_by_place(search):
    """They were one array: a function of two had one argument too few."""

    def objective(x, a, b):
        assert np.shape(a) == np.shape(b) == ()
        return np.sum((x - 3 * a) ** 2 + b * x**2)

    value, slope = fg.value_and_grad(lambda a: search(objective, (a, 0.1 * a)))(0.7)
    np.testing.assert_allclose([value, slope], [2.1 / 1.07, 3 / 1.07**2])


def test_data_of_leastsq_by_place():
    t = np.linspace(0.0, 1.0, 5)

    def slope(a):
        return scipy.optimize.leastsq(lambda p, t, y: p[0] * t - y, [1.0], (t, a * t))[0][0]

    np.testing.assert_allclose(fg.value_and_grad(slope)(0.7), [0.7, 1.0])
