"""Solutions of equations and minima: values are SciPy's, derivatives those of central differences."""

import itertools

import numpy as np
import pytest
import scipy.optimize

import funcgrad as fg
from funcgrad.scipy import optimize
from tests.default_slice import one_in, some
from tests.scipy.derivative_check import check_function

X = np.linspace(0.0, 2.0, 9)
Y = 2.0 * np.exp(-0.7 * X) + 0.05 * np.cos(5 * X)

CASES = {
    "root": lambda m, a: m.root(lambda x: np.stack([x[0] ** 2 - a, x[1] + x[0] - 1]), [1.0, 0.0]).x,
    "root with arguments": lambda m, a: (
        m.root(lambda x, b, c: x**3 - b * c, [1.0], (a, 2.0), tol=1e-12).x
    ),
    "fsolve": lambda m, a: m.fsolve(lambda x: np.cos(x) - a * x, 1.0, xtol=1e-13),
    "brentq": lambda m, a: m.brentq(lambda x: x**3 - a, 0.0, 3.0, xtol=1e-14),
    "brentq with arguments": lambda m, a: m.brentq(
        lambda x, b: np.exp(x) - b, -1.0, 3.0, (a,), xtol=1e-14
    ),
    "bisect": lambda m, a: m.bisect(lambda x: x**2 - a, 0.0, 3.0, xtol=1e-14),
    "ridder": lambda m, a: m.ridder(lambda x: x**2 - a, 0.0, 3.0, xtol=1e-14),
    "toms748": lambda m, a: m.toms748(lambda x: x**2 - a, 0.0, 3.0, xtol=1e-14),
    "bisect, all by place": lambda m, a: m.bisect(
        lambda x, b: x**2 - b, 0.0, 3.0, (a,), 1e-14, 1e-14, 200, True
    )[0],
    "brentq, its result": lambda m, a: (
        m.brentq(lambda x: x**3 - a, 0.0, 3.0, xtol=1e-14, full_output=True)[1].root
    ),
    "newton, its result": lambda m, a: (
        m.newton(lambda x: x**2 - a, 1.3, tol=1e-14, full_output=True)[1].root
    ),
    "fsolve, its result": lambda m, a: m.fsolve(
        lambda x, b: np.cos(x) - b * x, 1.0, (a,), None, True, 0, 1e-13
    )[0],
    "curve_fit, its result": lambda m, a: (
        lambda found: found[0][0] + found[1][0, 0] + np.sum(found[2]["fvec"] ** 2)
    )(m.curve_fit(lambda x, b, c: b * np.exp(-c * x), X, a * Y, [1.0, 0.5], full_output=True)),
    "leastsq, its result": lambda m, a: (
        lambda found: found[0][1] + found[1][0, 0] + np.sum(found[2]["fvec"] ** 2)
    )(m.leastsq(lambda p: p[0] * np.exp(-p[1] * X) - a * Y, [1.0, 0.5], full_output=True)),
    "minimize, all by place": lambda m, a: (
        m.minimize(
            *(lambda x: np.sum((x - a) ** 2) + x[0] ** 4, [1.0, 0.5], (), "BFGS"),
            *(None, None, None, None, (), 1e-12, None, {"maxiter": 99}),
        ).x
    ),
    "newton": lambda m, a: m.newton(lambda x: x**2 - a, 1.3, tol=1e-14),
    "newton with a list of arguments": lambda m, a: m.newton(
        lambda x, b, c: c * x**2 - b, 1.3, args=[a, 2.0], tol=1e-14
    ),
    "root_scalar": lambda m, a: (
        m.root_scalar(lambda x: x**2 - a, bracket=(0.0, 3.0), xtol=1e-14).root
    ),
    "root_scalar by newton": lambda m, a: (
        m.root_scalar(lambda x: x**2 - a, x0=1.2, x1=1.3, xtol=1e-14).root
    ),
    "fixed_point": lambda m, a: m.fixed_point(lambda x: np.cos(a * x / 2), 0.5, xtol=1e-14),
    "minimize": lambda m, a: (
        m.minimize(
            lambda x: (1 - x[0]) ** 2 + 5 * (x[1] - a * x[0] ** 2) ** 2, [0.5, 0.5], tol=1e-12
        ).x
    ),
    "minimize's value": lambda m, a: (
        m.minimize(lambda x: np.sum((x - a) ** 2 + x**2), [0.5, 0.5]).fun
    ),
    "minimize in bounds": lambda m, a: (
        m.minimize(
            lambda x: (x[0] - a) ** 2 + (x[1] - 2 * a) ** 2 + x[0] * x[1],
            [0.5, 0.5],
            bounds=[(None, None), (0.0, 1.0)],
            tol=1e-14,
        ).x
    ),
    "minimize_scalar": lambda m, a: (
        m.minimize_scalar(lambda x: (x - a) ** 2 + np.cosh(x), tol=1e-13).x
    ),
    "minimize_scalar in bounds": lambda m, a: (
        m.minimize_scalar(
            lambda x: (x - a) ** 2 + np.cosh(x), bounds=(0.0, 2.0), options={"xatol": 1e-11}
        ).x
        if m is scipy.optimize
        else m.minimize_scalar(lambda x: (x - a) ** 2 + np.cosh(x), bounds=(0.0, 2.0)).x
    ),
    "least_squares": lambda m, a: (
        m.least_squares(
            lambda p: p[0] * np.exp(-p[1] * X) - a * Y,
            [1.0, 1.0],
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        ).x
    ),
    "least_squares in bounds": lambda m, a: (
        m.least_squares(
            lambda p: p[0] * np.exp(-p[1] * X) - a * Y,
            [1.0, 0.3],
            bounds=([0.0, 0.0], [9.0, 0.5]),
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        ).x
    ),
    "curve_fit": lambda m, a: m.curve_fit(lambda x, p, q: p * np.exp(-q * x), X, a * Y)[0],
    "curve_fit's covariance": lambda m, a: m.curve_fit(
        lambda x, p, q: p * np.exp(-q * x), X, a * Y, sigma=1 + X
    )[1],
    "linprog": lambda m, a: (
        m.linprog(
            [-1.0, -2.0],
            A_ub=np.array([[1.0, 1.0], [1.0, 3.0]]) * a,
            b_ub=[4.0, 6.0],
        ).x
    ),
    "linprog with an equation": lambda m, a: (
        m.linprog(
            np.array([1.0, 2.0, 3.0]),
            A_eq=[[1.0, 1.0, 1.0]],
            b_eq=np.ones(1) * a,
            bounds=[(0, 0.4), (0, None), (0.1, None)],
        ).x
    ),
}


@pytest.mark.parametrize("case", one_in(5, CASES))
def test_values_are_scipys_and_slopes_are_differences(case):
    f, a = CASES[case], 1.3
    value, slope = fg.jvp(lambda a: f(optimize, a), (a,), (1.0,))
    own = f(scipy.optimize, a)
    assert np.shape(value) == np.shape(own)
    np.testing.assert_allclose(value, own, rtol=1e-6, atol=1e-7)
    h = 1e-4

    def exact(a):  # converged further than SciPy's
        return fg.jvp(lambda a: f(optimize, a), (a,), (0.0,))[0]

    near = [exact(a + s * h) for s in (1, -1, 2, -2)]
    wanted = (8 * (near[0] - near[1]) - (near[2] - near[3])) / (12 * h)
    np.testing.assert_allclose(slope, wanted, rtol=1e-6, atol=1e-8)
    back = fg.grad(lambda a: np.sum(f(optimize, a)))(a)
    assert back == pytest.approx(np.sum(slope), rel=1e-9, abs=1e-11)
    assert fg.jit(fg.grad(lambda a: np.sum(f(optimize, a))))(a) == pytest.approx(
        back, rel=1e-9, abs=1e-11
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", ["root", "brentq", "minimize", "minimize in bounds", "least_squares"]
)
def test_second_derivatives(case):
    first = fg.grad(lambda a: np.sum(CASES[case](optimize, a)))
    wanted = (first(1.3 + 1e-5) - first(1.3 - 1e-5)) / 2e-5
    assert fg.grad(first)(1.3) == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_batches():
    roots = fg.vmap(fg.grad(lambda a: optimize.brentq(lambda x: x * x - a, 0.0, 3.0)))
    np.testing.assert_allclose(roots(np.array([1.0, 4.0])), [0.5, 0.25], rtol=1e-12)


def test_plain_problems_are_scipys():
    def square(x):
        return x * x - 2

    assert optimize.brentq(square, 0.0, 2.0) == scipy.optimize.brentq(square, 0.0, 2.0)
    found = optimize.minimize(lambda x: np.sum((x - 1) ** 2), [0.0], method="Nelder-Mead")
    assert (
        found.nit
        == scipy.optimize.minimize(lambda x: np.sum((x - 1) ** 2), [0.0], method="Nelder-Mead").nit
    )
    assert fg.grad(lambda a: a * optimize.brentq(square, 0.0, 2.0))(1.0) == pytest.approx(2**0.5)
    assert optimize.rosen.__wrapped__ is scipy.optimize.rosen


def test_what_is_not_supported_is_refused():
    with pytest.raises(TypeError, match="minimize: expected constraints as dicts"):
        fg.grad(
            lambda a: optimize.minimize(lambda x: np.sum((x - a) ** 2), [0.0], constraints=[{}]).fun
        )(1.0)
    with pytest.raises(ValueError, match="least_squares: expected a loss among linear, soft_l1"):
        fg.grad(lambda a: optimize.least_squares(lambda x: x - a, [0.0], loss="mean").cost)(1.0)
    with pytest.raises(RuntimeError, match="linprog: expected a solution"):
        fg.grad(lambda a: optimize.linprog([a], [[1.0]], [-1.0]).fun)(1.0)


@pytest.mark.parametrize("kind", ["eqlin", "ineqlin", "lower", "upper"])
def test_marginals_of_a_linear_program(kind):
    def parts(p):
        found = scipy.optimize.linprog(
            [-p[0], -2.0, 0.3 * p[1]],
            [[1.0, p[1], 0.2], [p[0], 3.0, 1.0]],
            [4.0, 6 * p[1]],
            [[1.0, -1.0, 1.0]],
            [0.3 * p[0]],
            [(0, None), (0.1 * p[0], None), (None, 5.0)],
        )[kind]
        left = np.where(np.isfinite(found.residual), found.residual, 0.0)
        return np.concatenate([left, found.marginals])

    for p in (np.array([1.3, 0.7]), np.array([-1.0, 0.7])):
        wanted, step = parts(p), 1e-6
        np.testing.assert_allclose(fg.jit(parts)(p), wanted, atol=1e-12)
        columns = [(parts(p + step * e) - parts(p - step * e)) / (2 * step) for e in np.eye(2)]
        for transform in (fg.jacrev, fg.jacfwd, lambda f: fg.jit(fg.jacobian(f))):
            np.testing.assert_allclose(transform(parts)(p), np.transpose(columns), atol=1e-7)


SCALES = pytest.mark.parametrize("scale", [1e-6, 1e-12, 1e9])


@SCALES
def test_fits_of_data_of_any_scale(scale):
    def fitted(a):
        return optimize.curve_fit(
            lambda x, p, q: scale * p * np.exp(-q * x), X, scale * a * Y, [1.0, 5.0]
        )[0]

    wanted = scipy.optimize.curve_fit(lambda x, p, q: p * np.exp(-q * x), X, Y, [1.0, 1.0])[0]
    value, slope = fg.jvp(fitted, (1.3,), (1.0,))
    np.testing.assert_allclose(value, wanted * [1.3, 1], rtol=1e-6)
    np.testing.assert_allclose(slope, [wanted[0], 0], rtol=1e-6, atol=1e-6)


@SCALES
def test_minima_of_objectives_of_any_scale(scale):
    objective = lambda x, a: scale * np.sum(np.cosh(x - a))  # noqa: E731
    searches = {
        "free": (lambda a: optimize.minimize(objective, [0.0], a).x[0], 7.0, 1.0),
        "inside": (lambda a: optimize.minimize(objective, [0.0], a, bounds=[(0, 9)]).x[0], 7, 1),
        "active": (lambda a: optimize.minimize(objective, [0.0], a, bounds=[(0, 5)]).x[0], 5, 0),
        "line": (lambda a: optimize.minimize_scalar(objective, None, (0, 5), (a,)).x, 5.0, 0.0),
        "squares": (
            lambda a: optimize.least_squares(
                lambda x: scale * np.sinh(x - a), [1.0], bounds=(0, 9)
            ).x[0],
            7.0,
            1.0,
        ),
    }
    for name, (search, at, slope) in searches.items():
        found = fg.value_and_grad(search)(7.0)
        np.testing.assert_allclose(found, (at, slope), rtol=1e-7, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    ("solve", "why"),
    [
        (lambda a: optimize.root(lambda x: 1e-9 * (x * x + a), [1.0]).x[0], "not making good"),
        (lambda a: optimize.minimize(lambda x: np.sum(np.exp(-a * x)), [1.0]).x[0], "short"),
        (lambda a: optimize.minimize(lambda x: np.sum(np.cos(a * x)), [0.0]).x[0], "a maximum"),
        (
            lambda a: optimize.minimize(lambda x: x[0] ** 2 - a * x[1] ** 2, [1.0, 0.0]).x[0],
            "a saddle point",
        ),
    ],
    ids=["no root", "no minimum", "maximum", "saddle point"],
)
def test_what_is_no_solution_is_an_error(solve, why):
    with pytest.raises(RuntimeError, match=f"expected the solver to converge, but .*{why}"):
        fg.grad(solve)(2.0)


def test_the_method_of_root_scalar_and_fixed_point_chooses_the_root():
    cases = [
        lambda a: optimize.root_scalar(lambda x: np.sin(a * x), x0=1.5, x1=2.6).root,
        lambda a: optimize.root_scalar(lambda x: (np.cos(a * x), 0), x0=1.0, fprime=True).root,
        lambda a: (
            optimize.root_scalar(
                lambda x: x * x - a, bracket=(-3.0, 0.0), method="newton", x0=1.5
            ).root
        ),
        lambda a: optimize.fixed_point(lambda x: (a + 1.5) * x * (1 - x), 1e-4, method="iteration"),
    ]
    wanted = [(np.pi, -np.pi), (np.pi / 2, -np.pi / 2), (1.0, 0.5), (0.6, 0.16)]
    for solve, pair in zip(cases, wanted, strict=True):
        np.testing.assert_allclose(fg.value_and_grad(solve)(1.0), pair, rtol=1e-9)


STARTS = {
    "the secant method": {},
    "two starts": {"x1": 2.6},
    "Newton's method": {"fprime": lambda x, a: a * np.cos(a * x)},
    "Halley's method": {
        "fprime": lambda x, a: a * np.cos(a * x),
        "fprime2": lambda x, a: -a * a * np.sin(a * x),
    },
}


@pytest.mark.parametrize("case", one_in(2, STARTS))
def test_newton_finds_scipys_root_of_several(case):
    options, different = STARTS[case], set()
    for start in (-4.0, -2.5, 0.9, 1.3, 1.6, 4.1, 5.0):

        def f(a, start=start):
            return scipy.optimize.newton(lambda x, a: np.sin(a * x), start, args=(a,), **options)

        def scalar(a, start=start):
            wave = lambda x, a: np.sin(a * x)  # noqa: E731
            found = scipy.optimize.root_scalar(wave, (a,), x0=start, **options)
            if not found.converged:
                raise RuntimeError
            return found.root

        for solve in (f, scalar):
            try:
                root = solve(1.3)
            except RuntimeError:  # SciPy finds none from here
                continue
            different.add(round(root, 3))
            value, slope = fg.value_and_grad(solve)(1.3)
            assert value == pytest.approx(root, rel=1e-7, abs=1e-7)
            assert slope == pytest.approx(-root / 1.3, rel=1e-7, abs=1e-7)
    assert len(different) > 1


def test_newton_on_arrays_and_where_there_is_no_root():
    starts, a = np.random.default_rng(7).normal(size=21), np.arange(-10.0, 11.0) + 0.5

    def f(a):
        return scipy.optimize.newton(
            lambda x, a: x**3 - a, starts, lambda x, a: 3 * x * x, (a,), maxiter=200
        )

    check_function(f, a, value_rtol=1e-13)
    for options in ({}, {"disp": False}):
        with pytest.raises(RuntimeError, match=r"newton: expected the solver to converge, but"):
            fg.grad(
                lambda a, options=options: scipy.optimize.newton(
                    lambda x: x * x + a, 0.3, **options
                )
            )(1.0)
    with pytest.raises(TypeError, match="newton: full_output=True is not supported"):
        fg.grad(lambda a: scipy.optimize.newton(lambda x: x - a, [0.3, 0.4], full_output=True)[0])(
            1.0
        )


def test_right_sides_of_linear_programs_have_any_shape():
    rows = np.array([[2.0, 1.0], [1.0, 3.0]])
    column = lambda a: optimize.linprog([-1.0, -1.0], rows, a * np.ones((2, 1))).x  # noqa: E731
    np.testing.assert_allclose(fg.jacobian(column)(5.5), [0.4, 0.2])
    number = lambda a: optimize.linprog([1.0, 2.0], A_eq=[[1.0, a]], b_eq=a).x  # noqa: E731
    np.testing.assert_allclose(fg.jacobian(number)(3.0), [0.0, 0.0], atol=1e-15)
    number = lambda a: optimize.linprog([1.0, 2.0], A_eq=[[1.0, 0.5]], b_eq=a).x  # noqa: E731
    np.testing.assert_allclose(fg.jacobian(number)(3.0), [1.0, 0.0])


ROWS, ENDS = np.array([[1.0, 1.0, 1.0], [2.0, 0.5, 1.0]]), np.array([4.5, 6.2])
COSTS = np.array([-1.0, -2.0, 0.5])
BOX = scipy.optimize.Bounds(0, 10)
WHOLE = {
    "costs": lambda t: optimize.milp(
        t * COSTS + t * t,
        integrality=np.ones(3),
        constraints=scipy.optimize.LinearConstraint(ROWS, -np.inf, ENDS),
        bounds=BOX,
    ),
    "mixed costs": lambda t: optimize.milp(
        t * COSTS, integrality=[1, 0, 0], constraints=(ROWS, -np.inf, ENDS), bounds=BOX
    ),
    "ends": lambda t: optimize.milp(
        COSTS,
        integrality=[1, 0, 0],
        constraints=[
            scipy.optimize.LinearConstraint(ROWS, -np.inf, ENDS * t),
            scipy.optimize.LinearConstraint([[1.0, 0.0, 1.0]], 0.5 * t, 0.5 * t),
        ],
        bounds=BOX,
    ),
    "bounds": lambda t: optimize.milp(
        COSTS,
        integrality=[1, 0, 1],
        constraints=scipy.optimize.LinearConstraint(ROWS, -20.0, ENDS),
        bounds=scipy.optimize.Bounds([0.0, 0.0, 0.0], t * np.array([5.0, 2.2, 3.0])),
    ),
    "linprog": lambda t: optimize.linprog(t * COSTS, ROWS, t * ENDS, integrality=[0, 0, 1]),
}


@pytest.mark.filterwarnings("ignore:.*by steps alone")
@pytest.mark.filterwarnings("ignore:the output does not depend on")  # x does not on costs
@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("part", ["x", "fun"])
def test_programs_with_whole_numbers(name, part):
    f = lambda t: np.sum(WHOLE[name](t)[part])  # noqa: E731
    value, slope = fg.value_and_grad(f)(1.07)
    assert value == pytest.approx(f(1.07), rel=1e-13)
    assert slope == pytest.approx((f(1.07 + 1e-5) - f(1.07 - 1e-5)) / 2e-5, rel=1e-7, abs=1e-9)
    assert fg.jvp(f, (1.07,), (1.0,))[1] == pytest.approx(slope, rel=1e-13)
    assert fg.jit(fg.grad(f))(1.07) == pytest.approx(slope, rel=1e-13)
    second = fg.grad(fg.grad(f))(1.07)
    slopes = [fg.grad(f)(1.07 + h) for h in (1e-5, -1e-5)]
    assert second == pytest.approx((slopes[0] - slopes[1]) / 2e-5, rel=1e-6, abs=1e-6)


def test_linear_programs_without_a_regular_vertex():
    def solution(a, **options):
        rows = np.array([[2.0, 1.0], [1.0, 3.0]])
        return optimize.linprog([-1.0, -1.0], rows, np.ones(2) * a, **options).x

    with pytest.raises(TypeError, match=r"integrality=.* is not supported"):
        fg.jacobian(lambda a: solution(a, integrality=[2, 0]))(5.5)
    with pytest.raises(np.linalg.LinAlgError, match=r"expected 2 constraints .* but got 1"):
        fg.jacobian(
            lambda a: (
                optimize.linprog(
                    [1.0, 0.0], [[-1, 0]], -a * np.ones(1), bounds=[(0, None), (None, None)]
                ).x
            )
        )(1.0)
    ends = lambda a: np.stack([a, 2 * a - 1, 1 + a])  # noqa: E731
    with pytest.raises(np.linalg.LinAlgError, match=r"expected 2 constraints .* but got 3"):
        fg.jacobian(lambda a: optimize.linprog([-1, -1], [[1, 0], [0, 1], [1, 1]], ends(a)).x)(1.0)
    for bounds in (None, [(0, None)], (0, None)):
        slope = fg.jacobian(lambda a, bounds=bounds: solution(a, bounds=bounds))(5.5)
        np.testing.assert_allclose(slope, [0.4, 0.2])


def test_curve_fit_takes_whole_numbers_as_floats():
    def power(a, x):
        return optimize.curve_fit(lambda x, p, q: p * x**-1 + q, x, np.array([1.0, 2, 4]) * a)[0]

    for x in (np.array([4, 1, 2]), [4, 1, 2]):
        np.testing.assert_allclose(
            fg.jacobian(lambda a, x=x: power(a, x))(1.0),
            fg.jacobian(lambda a: power(a, np.array([4.0, 1, 2])))(1.0),
        )


def test_root_of_a_function_that_returns_its_jacobian_as_well():
    def solution(a):
        residual = lambda x: (x**3 - a, np.diag(3 * x**2))  # noqa: E731
        return optimize.root(residual, [1.0, 2.0], jac=True).x

    np.testing.assert_allclose(
        fg.jacobian(solution)(np.array([1.0, 8.0])), np.diag([1 / 3, 1 / 12]), atol=1e-12
    )


def valley(v, a):
    return (v[0] - a**2) ** 2 + (v[1] - 1) ** 2 * (1 + a) + v[0] ** 4


def test_legacy_minimizers_have_the_derivative_of_the_minimum():
    # A simplex is moved by comparisons alone: a derivative through its steps is 0.
    expected = fg.grad(lambda a: scipy.optimize.minimize(valley, [0.0, 0.0], (a,)).x[0])(1.5)
    for name in ("fmin", "fmin_bfgs", "fmin_cg", "fmin_powell"):
        search = getattr(scipy.optimize, name)

        def captured(a, search=search):
            return search(lambda v: valley(v, a), [0.0, 0.0], disp=False)[0]

        def given(a, search=search):
            return search(valley, [0.0, 0.0], args=(a,), disp=False)[0]

        assert fg.grad(captured)(1.5) == pytest.approx(expected, rel=1e-9)
        assert fg.jit(fg.grad(given))(1.5) == pytest.approx(expected, rel=1e-9)
    assert fg.grad(
        lambda a: scipy.optimize.fmin_ncg(
            valley, [0.0, 0.0], fg.grad(valley), args=(a,), disp=False
        )[0]
    )(1.5) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["fmin_l_bfgs_b", "fmin_tnc", "fmin_slsqp", "fmin_bfgs", "fmin"])
def test_legacy_minimizers_flatten_a_traced_start_and_take_bounds_in_an_array(name):
    in_a_box = {"bounds": np.array([(-5.0, 5.0)]), "approx_grad": True}
    options = {
        "fmin_l_bfgs_b": in_a_box,
        "fmin_tnc": {**in_a_box, "disp": 0},
        "fmin_slsqp": {"bounds": np.array([(-5.0, 5.0)]), "iprint": 0},
    }.get(name, {"disp": False})

    def f(a):
        found = getattr(scipy.optimize, name)(on_line, [np.array([0.3 * a])], args=(a,), **options)
        return np.ravel(found[0])[0]

    expected = fg.grad(lambda a: scipy.optimize.brent(on_line, args=(a,)))(1.2)
    assert fg.grad(f)(1.2) == pytest.approx(expected, rel=1e-9)


def on_line(v, a):
    return (v - a) ** 2 + v**4


@pytest.mark.parametrize(
    "solve",
    [
        lambda a: scipy.optimize.brent(on_line, args=(a,)),
        lambda a: scipy.optimize.golden(lambda v: on_line(v, a)),
        lambda a: scipy.optimize.fminbound(lambda v: on_line(v, a), 0.0, 2.0),
    ],
)
def test_legacy_searches_on_a_line(solve):
    v = solve(1.5)
    value, slope = fg.value_and_grad(solve)(1.5)
    assert value == pytest.approx(v, abs=1e-5)
    assert slope == pytest.approx(2 / (2 + 12 * value**2), rel=1e-9)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("brent", {}),
        ("golden", {}),
        ("fminbound", {"x1": 0.0, "x2": 2.0}),
        ("fmin", {"x0": [0.0], "disp": False}),
        *[(name, {"x0": [0.0], "disp": False}) for name in ("fmin_bfgs", "fmin_cg", "fmin_powell")],
        ("fmin_ncg", {"x0": [0.0], "fprime": lambda v: v, "disp": False}),
    ],
)
def test_full_output_of_legacy_searches(name, given):
    def outputs(a):
        def on_line_of(v):
            return on_line(np.reshape(v, ()), a)

        if name == "fmin_ncg":
            given["fprime"] = lambda v: 2 * (v - a) + 4 * v**3
        return getattr(scipy.optimize, name)(on_line_of, full_output=True, **given)

    def least(a):
        return outputs(a)[1]

    found = outputs(1.5)
    v = np.reshape(found[0], ())
    assert len(fg.trace(outputs, 1.5)) == len(found)
    flags = fg.value_and_grad(lambda a: (least(a), outputs(a)[2:]), has_aux=True)(1.5)[0][1]
    for flag, scipys in zip(flags, found[2:], strict=True):  # counts are nan, no wrong number
        assert np.shape(flag) == np.shape(scipys)
        assert np.all(np.isnan(flag)) or flag == pytest.approx(scipys, abs=1e-5)
    value, slope = fg.value_and_grad(least)(1.5)
    assert value == pytest.approx(found[1], abs=1e-8)
    # By the envelope theorem, the slope is the partial derivative at the minimum.
    assert slope == pytest.approx(-2 * (v - 1.5), rel=1e-4)
    assert fg.jvp(least, (1.5,), (1.0,))[1] == pytest.approx(slope, rel=1e-9)
    assert fg.jit(fg.grad(least))(1.5) == pytest.approx(slope, rel=1e-9)
    np.testing.assert_allclose(fg.vmap(fg.grad(least))(np.array([1.5])), [slope], rtol=1e-9)
    second = fg.grad(fg.grad(least))(1.5)
    step = 1e-4
    differences = (fg.grad(least)(1.5 + step) - fg.grad(least)(1.5 - step)) / (2 * step)
    assert second == pytest.approx(differences, rel=1e-6)


@pytest.mark.parametrize("name", ["anderson", "broyden1", "broyden2", "newton_krylov"])
def test_other_solvers_of_equations(name):
    def solution(a):
        return getattr(scipy.optimize, name)(lambda v: v**3 - a, 1.0)

    assert fg.grad(solution)(1.5) == pytest.approx(1.5 ** (-2 / 3) / 3, rel=1e-9)


def test_searches_run_on_plain_values():
    bounds = [(0.0, 2.0)] * 2
    with pytest.raises(TypeError, match="retall=True is not supported"):
        fg.grad(lambda a: scipy.optimize.fmin_bfgs(valley, [0.0, 0.0], None, (a,), retall=True)[1])(
            1.5
        )

    def scaled(a):
        found = scipy.optimize.differential_evolution(lambda v: valley(v, 1.0), bounds, rng=0)
        return a * found.x[1]

    assert fg.grad(scaled)(1.5) == pytest.approx(1.0)


MATRIX = np.array([[1.3, 0.2, -0.4], [0.5, 2.1, 0.3], [-0.2, 0.6, 1.7], [0.7, -0.3, 0.1]])
POINTS = np.array([0.3, 0.9, 0.5, 0.7, 1.2])
CHOSEN = {
    "nnls": lambda t: np.append(*scipy.optimize.nnls(MATRIX * np.exp(t), POINTS[:4] - 0.6 + t**2)),
    "nnls, all at the bound": lambda t: scipy.optimize.nnls(MATRIX, -POINTS[1:] * np.exp(t))[0],
    "isotonic": lambda t: scipy.optimize.isotonic_regression(POINTS * np.exp(t * POINTS)).x,
    "isotonic, falling": lambda t: (
        scipy.optimize.isotonic_regression(
            np.sin(t + POINTS), weights=np.exp(t * POINTS), increasing=False
        ).x
    ),
    "leastsq": lambda t: scipy.optimize.leastsq(lambda v: v**3 - np.exp(t), [1.0], xtol=1e-14)[0],
    "the cost of an assignment": lambda t: np.sum(
        np.cos(t * MATRIX)[tuple(scipy.optimize.linear_sum_assignment(np.cos(t * MATRIX)))]
    ),
}


@pytest.mark.parametrize("case", one_in(2, CHOSEN))
def test_solutions_of_a_choice(case):
    f = CHOSEN[case]
    t, h = 0.3, 1e-4
    value, slope = fg.jvp(f, (t,), (1.0,))
    np.testing.assert_allclose(value, f(t), rtol=1e-12, atol=1e-14)
    wanted = (8 * (f(t + h) - f(t - h)) - f(t + 2 * h) + f(t - 2 * h)) / (12 * h)
    np.testing.assert_allclose(slope, wanted, rtol=1e-8, atol=1e-9)
    total = lambda t: np.sum(np.sin(f(t)))  # noqa: E731
    assert fg.grad(total)(t) == pytest.approx(np.sum(np.cos(f(t)) * wanted), rel=1e-8, abs=1e-9)
    second = fg.grad(fg.grad(total))(t)
    differences = (fg.grad(total)(t + h) - fg.grad(total)(t - h)) / (2 * h)
    assert second == pytest.approx(differences, rel=1e-6, abs=1e-7)
    np.testing.assert_allclose(fg.jit(f)(t), f(t), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(fg.vmap(f)(np.array([0.1, t]))[1], f(t), rtol=1e-9, atol=1e-12)


class _Model:
    """Functions of an object that stores into arrays, and holds a traced number."""

    def __init__(self, a):
        self.a = a

    def residuals(self, x):
        f = (3 - x) * x + self.a
        f[1:] -= x[:-1]
        f[:-1] -= 2 * x[1:]
        return f

    def loss(self, x):
        y = x.copy()
        y[0] *= 2
        return np.sum((y - self.a) ** 2) + np.sum(x**4)

    def line(self, z):
        u = np.zeros(2)
        u[0] = z * self.a
        return np.sum(u) - 1


START = -np.ones(5)


@pytest.mark.parametrize(
    "solve",
    one_in(
        3,
        [
            lambda a: scipy.optimize.root(_Model(a).residuals, START, tol=1e-14).x[1],
            lambda a: scipy.optimize.root(_Model(a).residuals, START, tol=1e-14).fun[1] + a,
            lambda a: scipy.optimize.fsolve(_Model(a).residuals, START, xtol=1e-12)[1],
            lambda a: scipy.optimize.least_squares(_Model(a).residuals, START, xtol=1e-15).x[1],
            lambda a: scipy.optimize.least_squares(_Model(1.0).residuals, START * a).cost + a,
            lambda a: scipy.optimize.minimize(_Model(a).loss, np.ones(3), tol=1e-12).x[1],
            lambda a: (
                scipy.optimize.minimize_scalar(
                    lambda x: _Model(a).loss(np.stack([x, x])), tol=1e-14
                ).x
            ),
            lambda a: scipy.optimize.root_scalar(_Model(a).line, x0=0.5, x1=0.6).root,
            lambda a: scipy.optimize.newton(_Model(a).line, 0.5, tol=1e-14),
            lambda a: scipy.optimize.fixed_point(
                lambda z: np.cos(_Model(a).line(z)), 0.5, xtol=1e-14
            ),
        ],
    ),
)
def test_solvers_adopt_functions_that_store_into_arrays(solve):
    a, h = 1.1, 0.02  # minima are known to half of the digits
    wide, narrow = [(solve(a + k * h) - solve(a - k * h)) / (2 * k * h) for k in (2, 1)]
    slope = narrow + (narrow - wide) / 3  # Richardson's extrapolation
    np.testing.assert_allclose(fg.grad(solve)(a), slope, rtol=5e-6)
    np.testing.assert_allclose(fg.jvp(solve, (a,), (1.0,))[1], slope, rtol=5e-6)


class _Power:
    """An object that is no tree of numbers, as models of other packages are."""

    def __init__(self, exponent):
        self.exponent = exponent

    def __call__(self, x):
        return x**self.exponent


def _residual(x, model, name, c):
    return model(x) - c


def _square(x, model, name, c):
    return (model(x) - c) ** 2


@pytest.mark.parametrize(
    "solve",
    one_in(
        3,
        [
            lambda a: scipy.optimize.brentq(_residual, 0.0, 9.0, args=(_Power(2), "name", a)),
            lambda a: (
                scipy.optimize.root_scalar(
                    _residual, bracket=(0.0, 9.0), args=(_Power(2), "name", a)
                ).root
            ),
            lambda a: scipy.optimize.newton(_residual, 1.0, args=(_Power(2), "name", a)),
            lambda a: scipy.optimize.fsolve(_residual, 1.0, args=(_Power(2), "name", a))[0],
            lambda a: scipy.optimize.root(_residual, 1.0, args=(_Power(2), "name", a)).x[0],
            lambda a: scipy.optimize.minimize(_square, [1.0], args=(_Power(2), "name", a)).x[0],
            lambda a: scipy.optimize.least_squares(_residual, [1.0], args=(_Power(2), "", a)).x[0],
            lambda a: (
                scipy.optimize.minimize_scalar(
                    _square, bounds=(0.1, 4.0), args=(_Power(2), "name", a)
                ).x
            ),
        ],
    ),
)
def test_further_arguments_may_be_objects_and_texts(solve):
    slope = 0.5 / np.sqrt(2.0)
    assert fg.grad(solve)(2.0) == pytest.approx(slope, rel=1e-7)
    assert fg.jvp(solve, (2.0,), (1.0,))[1] == pytest.approx(slope, rel=1e-7)
    assert fg.jit(fg.grad(solve))(2.0) == pytest.approx(slope, rel=1e-7)
    assert fg.grad(fg.grad(solve))(2.0) == pytest.approx(-(2.0**-1.5) / 4, rel=1e-6)
    np.testing.assert_allclose(fg.vmap(fg.grad(solve))(np.array([2.0, 8.0])), [slope, slope / 2])


def test_an_object_among_further_arguments_may_hold_the_traced_value():
    def solve(p):
        return scipy.optimize.brentq(_residual, 0.5, 9.0, args=(_Power(p), "name", 2.0))

    assert fg.grad(solve)(2.0) == pytest.approx(-np.sqrt(2.0) * np.log(2.0) / 4, rel=1e-9)


def test_objectives_of_one_entry_are_numbers_whatever_branch_they_take():
    def objective(x, c):
        return 0.0 if x <= 0 else (x**2 - c) ** 2  # a vector of one entry, or a number

    def solve(a):
        return scipy.optimize.minimize(objective, 1.0, args=a).x[0]

    def root(a):
        return scipy.optimize.brentq(
            lambda x: -1.0 if x <= 0 else np.atleast_1d(x**2 - a), 0.0, 9.0
        )

    for f in (solve, root):
        assert fg.grad(f)(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-7)
        assert fg.jit(fg.grad(f))(2.0) == pytest.approx(0.5 / np.sqrt(2.0), rel=1e-7)


def root_between(a):
    return scipy.optimize.brentq(lambda t: t * t - a, 0.0, 2 * a)


def root_from_two(a):
    return scipy.optimize.root_scalar(lambda t: t * t - a, method="secant", x0=1.0, x1=a).root


def least_between(a):
    def objective(t):
        return (t - a) ** 2 + np.sin(t)

    return scipy.optimize.minimize_scalar(objective, bounds=(0.1 * a, 3 * a), method="bounded").x


def least_in_bracket(a):
    return scipy.optimize.minimize_scalar(
        lambda t: (t - a) ** 2 + np.sin(t), bracket=(0.0, a, 2 * a)
    ).x


@pytest.mark.parametrize(
    "solve",
    [
        lambda f, x0, a: scipy.optimize.root(f, x0, (a,)).x,
        lambda f, x0, a: scipy.optimize.root(f, x0, (a,), method="lm").x,
        lambda f, x0, a: scipy.optimize.fsolve(f, x0, (a,)),
        lambda f, x0, a: scipy.optimize.leastsq(f, x0, (a,))[0],
    ],
)
def test_solvers_of_vectors_flatten_their_start(solve):
    def residual(x, a):
        return np.hstack([x[0] ** 2 - a, x[1] - x[0]])

    for start in ([[1.0, 2.0]], np.array([[1], [2]])):
        value, slope = fg.jvp(lambda a, x0=start: solve(residual, x0, a), (2.0,), (1.0,))
        np.testing.assert_allclose(value, solve(residual, start, 2.0), rtol=1e-7)
        np.testing.assert_allclose(slope, np.full(2, 0.5 / np.sqrt(2)), rtol=1e-7)
    of_start = fg.jacobian(lambda x0: solve(residual, x0, 2.0))(np.array([[1.0, 2.0]]))
    assert not np.any(of_start)


def test_nnls_takes_a_right_hand_side_of_one_column():
    matrix, side = np.array([[1.0, 0.5], [2.0, 1.0], [1.0, 0.0]]), np.array([[1.0], [2.0], [0.5]])
    value, slope = fg.jvp(lambda b: scipy.optimize.nnls(matrix, b)[0], (side,), (np.ones((3, 1)),))
    np.testing.assert_allclose(value, scipy.optimize.nnls(matrix, side)[0], rtol=1e-12)
    np.testing.assert_allclose(slope, np.linalg.pinv(matrix) @ np.ones(3), rtol=1e-12)


@pytest.mark.parametrize("upper", [5, 0.5])
def test_bounds_of_a_scalar_search_may_be_arrays_of_one_entry(upper):
    def least(a, upper):
        bounds = (np.array([-1]), np.reshape(upper, 1))
        found = scipy.optimize.minimize_scalar(lambda t: (t - a) ** 2, bounds=bounds).x
        return np.reshape(found, ())

    value, slopes = fg.value_and_grad(least, (0, 1))(1.5, float(upper))
    assert value == pytest.approx(min(1.5, upper), abs=1e-5)
    assert slopes == pytest.approx((1.0, 0.0) if upper > 1.5 else (0.0, 1.0), abs=1e-6)


@pytest.mark.parametrize("f", [root_between, root_from_two, least_between, least_in_bracket])
def test_an_interval_that_depends_on_a_parameter_is_traced_once(f):
    jitted, points = fg.jit(fg.value_and_grad(f)), np.array([1.3, 1.4, 1.7])
    for a in points:
        value, slope = jitted(a)
        assert value == pytest.approx(f(a), rel=1e-5)
        assert slope == pytest.approx((f(a + 1e-4) - f(a - 1e-4)) / 2e-4, rel=1e-3)
    assert len(jitted.explain_misses().splitlines()) == 1
    np.testing.assert_allclose(fg.vmap(f)(points), [f(a) for a in points], rtol=1e-5)


def root_or_else(a):
    try:
        return scipy.optimize.brentq(lambda t: t * t - a, 0.0, 1.0)
    except ValueError:
        return 3 * a


def test_the_handler_of_an_interval_without_a_root_runs():
    slope = fg.jit(fg.grad(root_or_else))
    for a, wanted in ((0.5, np.sqrt(0.5)), (2.0, 3.0)):
        assert fg.grad(root_or_else)(a) == pytest.approx(wanted)
        assert slope(a) == pytest.approx(wanted)
    np.testing.assert_allclose(fg.vmap(root_or_else)(np.array([0.25, 2.0])), [0.5, 6.0])
    with pytest.raises(
        ValueError, match=r"brentq: .* different signs; here, f\(0\) = -2 and f\(1\) = -1"
    ):
        fg.grad(lambda a: scipy.optimize.brentq(lambda t: t * t - a, 0.0, 1.0))(2.0)


T_OF_DECAY = np.linspace(0.0, 4.0, 12)
NOISE = 0.05 * np.cos(7 * np.arange(12.0))
FIT_BOUNDS = {
    "inside": ([0, 0, 0], [10, 10, 10]),
    "an active one": (0, [3.0, 2.0, 0.4]),
    "from below alone": ([0, -np.inf, -np.inf], np.inf),
    "an object": optimize.Bounds([2.6, 0, 0], [10, 10, 10]),
}


FIT_START = [2.7, 1.0, 0.3]


@pytest.mark.parametrize(
    ("name", "start"),
    some(
        [
            ("inside", None),
            ("an active one", FIT_START),
            ("from below alone", None),
            ("an object", FIT_START),
        ],
        itertools.product(FIT_BOUNDS, [None, FIT_START]),
    ),
)
def test_curve_fit_in_bounds(name, start):
    def fit(c):
        data = 2.5 * c * np.exp(-1.3 * T_OF_DECAY) + 0.5 + NOISE
        decay = lambda t, a, b, d: a * np.exp(-b * t) + d  # noqa: E731
        found, covariance = optimize.curve_fit(
            decay, T_OF_DECAY, data, start, bounds=FIT_BOUNDS[name]
        )
        return found @ np.array([1.0, 2.0, 3.0]) + covariance[0, 0] + covariance[1, 2]

    value, slope = fg.value_and_grad(fit)(1.0)
    assert value == pytest.approx(fit(1.0), rel=1e-6)
    assert slope == pytest.approx((fit(1.001) - fit(0.999)) / 2e-3, rel=1e-3)
    assert fg.jvp(fit, (1.0,), (1.0,))[1] == pytest.approx(slope, rel=1e-9)
    assert fg.jit(fg.grad(fit))(1.0) == pytest.approx(slope, rel=1e-9)
    assert fg.vmap(fg.grad(fit))(np.array([1.0, 1.1]))[0] == pytest.approx(slope, rel=1e-9)


def test_the_derivative_of_a_fit_in_an_active_bound():
    def fit(high):
        data = 2.5 * np.exp(-T_OF_DECAY) + 0.5
        decay = lambda t, a, d: a * np.exp(-t) + d  # noqa: E731
        return optimize.curve_fit(decay, T_OF_DECAY, data, bounds=(0, [10.0, high]))[0].sum()

    slope = (fit(0.401) - fit(0.399)) / 2e-3
    assert fg.grad(fit)(0.4) == pytest.approx(slope, rel=1e-5)
    assert fg.jvp(fit, (0.4,), (1.0,))[1] == pytest.approx(slope, rel=1e-5)


def wave(x, a):
    return np.sin(a * x) - 0.5


def basins(x, a):
    return np.sum(np.sin(a * x) + 0.01 * x * x)


OF_SEVERAL = {
    "least_squares": lambda x0, a: scipy.optimize.least_squares(wave, x0, args=(a,)).x,
    "least_squares in bounds": lambda x0, a: (
        scipy.optimize.least_squares(wave, x0, bounds=(-20, 20), args=(a,)).x
    ),
    "leastsq": lambda x0, a: scipy.optimize.leastsq(wave, x0, (a,))[0],
    "curve_fit": lambda x0, a: scipy.optimize.curve_fit(
        lambda x, p: np.cos(p * x), X, np.cos(a * X), x0
    )[0],
    **{
        f"root by {name}": lambda x0, a, name=name: (
            scipy.optimize.root(wave, x0, (a,), method=name).x
        )
        for name in ("lm", "krylov", "df-sane")
    },
    **{
        f"minimize by {name}": lambda x0, a, name=name: (
            scipy.optimize.minimize(basins, [x0], (a,), method=name).x
        )
        for name in ("Powell", "TNC", "CG", "Nelder-Mead")
    },
    **{
        f"minimize by {name} in bounds": lambda x0, a, name=name: (
            scipy.optimize.minimize(basins, [x0], (a,), method=name, bounds=[(-8.0, 8.0)]).x
        )
        for name in (None, "TNC")
    },
    "fmin_slsqp": lambda x0, a: scipy.optimize.fmin_slsqp(
        basins, [x0], args=(a,), bounds=[(-8.0, 8.0)], iprint=0
    ),
    "newton_krylov": lambda x0, a: scipy.optimize.newton_krylov(lambda x: wave(x, a), x0),
    "fmin_powell": lambda x0, a: scipy.optimize.fmin_powell(basins, [x0], (a,), disp=False),
}


@pytest.mark.parametrize("case", one_in(3, OF_SEVERAL))
def test_a_search_finds_scipys_solution_of_several(case):
    solve, h, found = OF_SEVERAL[case], 1e-5, set()
    for x0 in (-3.1, 1.4, 2.6, 4.2, 5.1):

        def f(a, x0=x0):
            return np.reshape(solve(x0, a), ())

        value, slope = fg.value_and_grad(f)(1.05)
        assert value == pytest.approx(float(f(1.05)), abs=2e-3)
        # The solution itself is exact, unlike SciPy's.
        near = fg.jvp(f, (1.05 + h,), (1.0,))[0] - fg.jvp(f, (1.05 - h,), (1.0,))[0]
        assert slope == pytest.approx(near / (2 * h), rel=1e-4, abs=1e-5)
        found.add(round(float(value), 2))
    assert len(found) > 1


def _fitted(x, options, p0=(1.0, 0.5), count=9):
    """The parameters, and their covariance, of data with noise that grows as x[1]."""
    data = x[0] * Y + 0.1 * np.sin(9 * X) * x[1]
    tight = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
    parameters, covariance = scipy.optimize.curve_fit(
        lambda t, p, q: p * np.exp(-q * t), X[:count], data[:count], p0, **options(x), **tight
    )
    return np.concatenate([parameters, np.ravel(covariance)])


FITS = {
    "a matrix of covariance": lambda x: {
        "sigma": np.diag(0.1 + 0.01 * np.arange(9.0)) * x[1] + 0.02 * np.ones((9, 9)) * x[0] ** 2
    },
    "an absolute matrix": lambda x: {
        "sigma": np.eye(9) * x[1] + 0.02 * np.ones((9, 9)),
        "absolute_sigma": True,
    },
    "a number": lambda x: {"sigma": 0.3 * x[1], "absolute_sigma": True},
}


@pytest.mark.parametrize("case", one_in(3, FITS))
def test_fits_with_deviations(case):
    check_function(lambda x: _fitted(x, FITS[case]), [1.2, 0.8], value_rtol=1e-7, rtol=1e-5)


def test_fits_of_as_many_data_as_parameters():
    value, tangent = fg.jvp(
        lambda x: _fitted(np.stack([x, x]), lambda _: {}, count=2), (1.2,), (1.0,)
    )
    assert np.all(np.isinf(value[2:]))
    np.testing.assert_array_equal(tangent[2:], 0.0)
    np.testing.assert_allclose(tangent[0], value[0] / 1.2, rtol=1e-9)  # the data are linear in x


def test_fits_without_data_that_are_missing():
    sigma = 0.1 * np.arange(1.0, 10.0)
    kept = np.arange(9) != 4

    def fitted(x, chosen, **options):
        data = x * Y + 0.1 * np.sin(9 * X)
        data = data[kept] if chosen else np.where(kept, data, np.nan)
        places, deviations = (X[kept], sigma[kept]) if chosen else (X, sigma)
        model = lambda t, p, q: p * np.exp(-q * t)  # noqa: E731
        found = scipy.optimize.curve_fit(model, places, data, [1.0, 0.5], deviations, **options)
        return np.concatenate([found[0], np.ravel(found[1])])

    for f in (fg.jacfwd, fg.jacrev, lambda f: f):
        np.testing.assert_allclose(
            f(lambda x: fitted(x, False, nan_policy="omit"))(1.2),
            f(lambda x: fitted(x, True))(1.2),
            rtol=1e-7,
        )


def test_the_slopes_of_residuals_at_their_least_squares():
    def residuals(p, x):
        return p[0] * np.exp(-p[1] * X) - x * Y

    def f(x):
        found = scipy.optimize.least_squares(
            residuals, [1.0, 0.5], "3-point", args=(x,), ftol=1e-15, xtol=1e-15, gtol=1e-15
        )
        return np.linalg.inv(found.jac.T @ found.jac) @ (found.jac.T @ (found.fun + 1))

    check_function(f, 1.2, value_rtol=1e-7, rtol=1e-5)
    found = fg.grad(
        lambda x: np.sum(scipy.optimize.least_squares(residuals, [1.0, 0.5], args=(x,)).grad)
    )
    assert found(1.2) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(AttributeError, match="result: expected an attribute among x, success"):
        fg.grad(
            lambda x: scipy.optimize.least_squares(
                residuals, [1.0, 0.5], args=(x,), loss="soft_l1"
            ).jac.sum()
        )(1.2)


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell", None])
@pytest.mark.parametrize("curvature", [0.0, 0.1])
def test_a_minimum_at_a_kink_is_an_error(method, curvature):
    def f(a):
        return scipy.optimize.minimize(
            lambda x: np.sum(np.abs(x - a)) + curvature * np.sum(x * x), [3.0, 1.2], method=method
        ).x[0]

    with pytest.raises(RuntimeError, match="expected the solver to converge, but"):
        fg.grad(f)(1.0)


def test_fits_that_the_data_do_not_determine_are_refused_with_what_to_write():
    x, y = np.linspace(0.0, 1.0, 3), np.array([1.0, 2.0, 2.5])

    def more_parameters_than_data(y):
        cubic = lambda x, a, b, c, d: a + b * x + c * x**2 + d * x**3  # noqa: E731
        return scipy.optimize.curve_fit(cubic, x, y, p0=np.ones(4), method="trf")[0]

    def in_bounds(y):
        return scipy.optimize.curve_fit(lambda x, a, b: (a + b) * x, x, y, bounds=(-9.0, 9.0))[0]

    def of_two_that_act_as_one(y):
        return scipy.optimize.curve_fit(lambda x, a, b: (a + b) * x, x, y)[0]

    def of_one_residual(y):
        return scipy.optimize.least_squares(lambda p: p[0] * p[1] - y[:1], [1.0, 1.0]).x

    fits = (more_parameters_than_data, in_bounds, of_two_that_act_as_one, of_one_residual)
    for fit, rank in zip(fits, (3, 1, 1, 1), strict=True):
        if fit is not in_bounds:
            assert np.all(np.isfinite(fg.jit(fit)(y)))
        for transform in (fg.jacobian(fit), lambda y, f=fit: fg.jvp(f, (y,), (y,))):
            with pytest.raises(np.linalg.LinAlgError, match=f"determine {rank}, .* add residuals"):
                transform(y)


def test_a_fit_of_parameters_of_very_different_sizes_has_slopes():
    def fit(y):
        x = np.array([0.0, 1.0, 2.0])
        return scipy.optimize.curve_fit(
            lambda x, a, b: 1e9 * a * x + 1e-9 * b, x, y, p0=[1e-9, 1e9]
        )[0]

    slope = np.linalg.pinv(np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])) / [[1e9], [1e-9]]
    np.testing.assert_allclose(
        fg.jacobian(fit)(np.array([1.0, 2.0, 2.5])), slope, rtol=1e-6, atol=1e-9
    )


def _with_counts(a):
    found, of_brackets = scipy.optimize.brentq(lambda x: x**3 - a, 0.0, 3.0, full_output=True)
    of_line = scipy.optimize.root_scalar(lambda x: x**3 - a, x0=1.4, x1=1.6, xtol=1e-3)
    _, of_slope = scipy.optimize.newton(
        lambda x: x**3 - a, 1.7, lambda x: 3 * x**2, full_output=True
    )
    assert isinstance(of_brackets, scipy.optimize.RootResults)
    assert isinstance(of_brackets.iterations, int)
    return found * of_brackets.iterations + sum(
        [
            of_brackets.function_calls / 3,
            10.0 * of_line.iterations,
            100.0 * of_line["function_calls"],
            1e3 * of_slope.iterations,
            1e4 * of_slope["function_calls"],
        ]
    )


def test_counts_of_searches_for_roots_are_scipys():
    points = np.array([1.1, 2.0, 7.0])
    for a in points:
        value, found = fg.value_and_grad(_with_counts)(a)
        steps = scipy.optimize.brentq(lambda x, a: x**3 - a, 0.0, 3.0, (a,), full_output=True)[
            1
        ].iterations
        assert value == pytest.approx(_with_counts(a), rel=1e-12)
        assert found == pytest.approx(steps * a ** (-2 / 3) / 3, rel=1e-9)
        assert fg.jit(_with_counts)(a) == pytest.approx(value, rel=1e-12)
        assert fg.jvp(_with_counts, (a,), (1.0,))[1] == pytest.approx(found)
    assert fg.vmap(fg.jit(_with_counts))(points) == pytest.approx([_with_counts(a) for a in points])


@pytest.mark.parametrize(
    ("search", "who"),
    [
        (lambda f: scipy.optimize.brentq(f, 0.0, 2.0, maxiter=2, disp=False), "brentq"),
        (lambda f: scipy.optimize.root_scalar(f, bracket=(0.0, 2.0), maxiter=2).root, "brentq"),
        (
            lambda f: (
                scipy.optimize.root_scalar(f, method="Bisect", bracket=(0.0, 2.0), maxiter=2).root
            ),
            "bisect",
        ),
        (lambda f: scipy.optimize.newton(f, 70.0, maxiter=2, disp=False), "newton"),
        (lambda f: scipy.optimize.root_scalar(f, x0=70.0, x1=60.0, maxiter=2).root, "newton"),
    ],
)
def test_searches_that_do_not_converge_are_errors(search, who):
    with pytest.raises(RuntimeError, match=f"{who}: expected the solver to converge"):
        fg.grad(lambda a: search(lambda x: x * x - a))(2.0)


def test_handlers_of_searches_that_do_not_converge():
    def by_newton(a):
        try:
            return scipy.optimize.newton(lambda x: x * x + a, 1.0)
        except RuntimeError:
            return a**2

    def by_bisection(a):
        try:
            return scipy.optimize.bisect(lambda x: x - a, 0.0, 9.0, maxiter=3)
        except RuntimeError:
            return a**2

    for f in (by_newton, by_bisection):
        for run in (fg.grad(f), fg.jit(fg.grad(f)), fg.grad(fg.jit(f))):
            assert run(2.0) == pytest.approx(4.0)
    assert fg.grad(by_newton)(-2.0) == pytest.approx(-0.5 / 2**0.5)
    assert fg.grad(by_bisection)(4.5) == 1.0


def test_results_of_searches_say_whether_they_have_converged():
    def by_brackets(a):
        x, found = scipy.optimize.brentq(
            lambda x: x * x - a, 0.0, 2.0, maxiter=4, full_output=True, disp=False
        )
        return x if found.converged else a**2

    def by_slopes(a):
        found = scipy.optimize.root_scalar(lambda x: x * x - a, x0=a, x1=1.2, maxiter=3)
        return found.root if found.flag == "converged" else a**2

    for f, near in ((by_brackets, 4.0), (by_slopes, 1.0)):
        for run in (fg.grad(f), fg.jit(fg.grad(f)), fg.grad(fg.jit(f)), fg.jacfwd(f)):
            assert run(2.0) == pytest.approx(4.0)
            assert run(near) == pytest.approx(0.5 / near**0.5)
        np.testing.assert_allclose(
            fg.vmap(fg.grad(f))(np.array([2.0, near])), [4.0, 0.5 / near**0.5]
        )
        assert f(2.0) == 4.0
        assert f(near) == pytest.approx(near**0.5)


def halved(x, a):
    """It asks for values of the unknown, so that no program for all of them can be traced."""
    t = x * a
    while t > 0.5:
        t = t / 2
    return x**2 - [1.5, 2.0, 2.5][int(x)] + np.sin(t)


@pytest.mark.parametrize(
    "solve",
    [
        lambda a: scipy.optimize.brentq(halved, 1.1, 1.9, (a,)),
        lambda a: scipy.optimize.brentq(
            lambda x: halved(x, a), 1.0 + a / 20, 1.9, full_output=True
        )[0],
        lambda a: scipy.optimize.root_scalar(halved, (a,), bracket=(1.1, 1.9)).root,
        lambda a: scipy.optimize.newton(halved, 1.3, None, (a,)),
        lambda a: scipy.optimize.fsolve(lambda x: halved(x[0], a), [1.3])[0],
        lambda a: scipy.optimize.root(lambda x: [halved(x[0], a), x[1] - x[0]], [1.3, 1.0]).x[1],
    ],
)
def test_roots_of_functions_that_ask_for_the_value_of_the_unknown(solve):
    slope = (solve(0.7 + 1e-5) - solve(0.7 - 1e-5)) / 2e-5
    value, found = fg.value_and_grad(solve)(0.7)
    assert value == pytest.approx(solve(0.7), rel=1e-9)
    assert found == pytest.approx(slope, rel=1e-7)
    fg.check_grads(solve, (0.7,), order=2)
    with pytest.raises(TypeError, match="has none, since it stands for any value"):
        fg.jit(fg.grad(solve))(0.7)  # whose program has to hold for other values, too


def test_a_search_for_such_a_root_raises_its_own_errors():
    with pytest.raises(ValueError, match="different signs"):
        fg.grad(lambda a: scipy.optimize.brentq(halved, 1.8, 1.9, (a,)))(0.7)


def by_the_values(x, a):
    return x - a if int(2 * x) < 2 else x + 1.0


@pytest.mark.parametrize(
    ("function", "method"),
    [
        (by_the_values, "brentq"),
        (lambda x, a: x - a if x < 1 else x + 1, "bisect"),
        (lambda x, a: np.where(x < 1, x - a, x + 1), "brenth"),
        (lambda x, a: 1 / (x - a), "ridder"),
        (lambda x, a: np.tan(x * a), "toms748"),
    ],
)
def test_a_jump_over_zero_is_no_root(function, method):
    def f(a):
        return getattr(scipy.optimize, method)(function, 0.2, 2.1, (a,))

    with pytest.raises(RuntimeError, match=f"{method}: .* jumps over 0 at 1"):
        fg.grad(f)(1.01)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda x, a: np.tanh(1e8 * (x - a)), 1.0),
        (lambda x, a: np.sign(x - a) * np.sqrt(abs(x - a)), 1.0),
        (lambda x, a: np.where(x < a, x - a, 100 * (x - a)), 1.0),
        (lambda x, a: 1e10 * (x - a), 1.0),
        (lambda x, a: x - 0.2 * a / 1.01, 0.2 / 1.01),
    ],
)
def test_steep_functions_and_kinks_have_roots(function, slope):
    found = fg.grad(lambda a: scipy.optimize.brentq(function, 0.2, 2.1, (a,)))(1.01)
    assert found == pytest.approx(slope, rel=1e-9)


# -- functions of plain numbers ------------------------------------------------------------------
def test_a_function_of_plain_numbers_is_not_traced():
    seen = []

    def f(x):
        seen.append(type(x))
        return x**3 - 2

    assert optimize.brentq(f, 0.0, 3.0) == scipy.optimize.brentq(lambda x: x**3 - 2, 0.0, 3.0)
    assert set(seen) <= {float, np.float64}


def test_a_function_that_captures_a_value_of_a_running_trace_is_traced():
    def smaller(a):  # the branch at the start does not have it
        return optimize.brentq(lambda x: x - a if x > 0.5 else x - 1.0, 0.0, 3.0)

    assert smaller(2.0) == pytest.approx(2.0)
    assert fg.grad(smaller)(2.0) == pytest.approx(1.0)


def test_a_function_that_captures_a_formula_has_a_formula_for_root():
    a = fg.var("a")
    found = optimize.fsolve(lambda x: x**2 - a, [1.0])
    assert isinstance(found, fg.Expr)
    np.testing.assert_allclose(fg.evaluate(found, a=4.0), [2.0])


DATA = np.array([1.0, 2.0, 4.0, 7.0, 9.0])
AT_KINKS = {
    "minimize_scalar": lambda d: optimize.minimize_scalar(lambda x: np.sum(np.abs(x - d))).x,
    "minimize": lambda d: optimize.minimize(
        lambda x: np.sum(np.abs(x - d)), [4.0], method="Nelder-Mead"
    ).x[0],
    "fsolve": lambda d: optimize.fsolve(lambda x: np.sum(np.sign(x - d)), [4.0])[0],
}


@pytest.mark.parametrize("name", AT_KINKS)
@pytest.mark.parametrize("wrap", [lambda f: f, fg.jit])
def test_the_median_found_as_a_minimum_has_no_slope(name, wrap):
    """The condition for a minimum reads the data by signs alone: the gradient was 0."""
    f = AT_KINKS[name]
    assert wrap(f)(DATA) == pytest.approx(4.0, rel=1e-7)
    for transform in (fg.grad, fg.jacfwd):
        with pytest.raises(np.linalg.LinAlgError, match=f"^{name}: expected "):
            wrap(transform(f))(DATA)


def test_data_that_choose_among_smooth_objectives_have_the_slope_zero():
    def f(a, b):
        return optimize.minimize_scalar(lambda x: np.where(a > 0, 1.0, 2.0) * (x - b) ** 2).x

    np.testing.assert_allclose(fg.grad(f, (0, 1))(0.3, 0.7), (0.0, 1.0))
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(np.ones(2), np.arange(2.0)), 0.0)


BESIDE_CONDITIONS = {
    "arguments of the conditions": (
        lambda a: scipy.optimize.fmin_cobyla(
            lambda x, b: (x[0] - b) ** 2 + (x[1] - 1) ** 2,
            [0.0, 0.1],
            lambda x, b: b - x[0] - x[1],
            args=(a,),
        ),
        lambda a: np.stack([a - 0.5, 0.5]),
    ),
    "a traced condition alone": (
        lambda a: scipy.optimize.fmin_cobyla(
            lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2, [0.0, 0.1], lambda x: a - x[0] - x[1]
        ),
        lambda a: np.stack([(a + 1) / 2, (a - 1) / 2]),
    ),
    "equations": (
        lambda a: scipy.optimize.fmin_slsqp(
            lambda x, b: (x[0] - b) ** 2 + (x[1] - 1) ** 2,
            [0.0, 0.1],
            [lambda x, b: b - x[0] - x[1]],
            args=(a,),
            iprint=0,
        ),
        lambda a: np.stack([a - 0.5, 0.5]),
    ),
    "a vector of equations": (
        lambda a: scipy.optimize.fmin_slsqp(
            lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2,
            [0.0, 0.1],
            f_eqcons=lambda x: np.stack([a - x[0] - x[1]]),
            iprint=0,
            full_output=True,
        )[0],
        lambda a: np.stack([(a + 1) / 2, (a - 1) / 2]),
    ),
    "inequalities and bounds": (
        lambda a: scipy.optimize.fmin_slsqp(
            lambda x, b: (x[0] - b) ** 2 + (x[1] - 1) ** 2,
            [0.0, 0.1],
            ieqcons=[lambda x, b: b - x[0] - x[1], lambda x, b: x[0] + 5],
            bounds=[(-4, 0.25), (-4, 4)],
            args=(a,),
            iprint=0,
        ),
        lambda a: np.stack([0.25 + 0 * a, a - 0.25]),
    ),
    "a vector of inequalities": (
        lambda a: scipy.optimize.fmin_slsqp(
            lambda x: (x[0] - 2) ** 2 + (x[1] - 1) ** 2,
            [0.0, 0.1],
            f_ieqcons=lambda x: np.stack([a - x[0] - x[1], x[0] + 5]),
            iprint=0,
        ),
        lambda a: np.stack([(a + 1) / 2, (a - 1) / 2]),
    ),
}


@pytest.mark.parametrize("case", BESIDE_CONDITIONS)
def test_minima_of_legacy_functions_move_with_their_conditions(case):
    solve, exact = BESIDE_CONDITIONS[case]
    value, slope = fg.jvp(solve, (1.2,), (1.0,))
    np.testing.assert_allclose(value, exact(1.2), rtol=1e-12)
    np.testing.assert_allclose(value, solve(1.2), atol=1e-2)
    np.testing.assert_allclose(slope, (exact(1.3) - exact(1.1)) / 0.2, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(fg.jacobian(solve)(1.2), slope, rtol=1e-12, atol=1e-14)
