"""Quadrature and differential equations: values are SciPy's, derivatives those of central differences."""

import numpy as np
import pytest
import scipy.integrate

import funcgrad as fg
from funcgrad.scipy import integrate
from tests.default_slice import one_in
from tests.scipy.derivative_check import check_function

Y = np.cos(np.arange(14.0)).reshape(2, 7)
X = np.array([0.0, 0.4, 1.0, 1.3, 2.1, 2.2, 3.0])
SAMPLES = {
    "trapezoid": lambda m, y, x: m.trapezoid(y, x),
    "trapezoid with a step": lambda m, y, x: m.trapezoid(y, dx=0.3, axis=0),
    "cumulative_trapezoid": lambda m, y, x: m.cumulative_trapezoid(y, x),
    "cumulative_trapezoid of one": lambda m, y, x: m.cumulative_trapezoid(y[:1], initial=0),
    "cumulative_trapezoid from 0": lambda m, y, x: m.cumulative_trapezoid(
        y, dx=0.2, axis=0, initial=0
    ),
    "simpson": lambda m, y, x: m.simpson(y, x=x),
    "simpson with a step": lambda m, y, x: m.simpson(y, dx=0.2),
    "simpson of an even number": lambda m, y, x: m.simpson(y[:, :6], x=x[:6]),
    "simpson of four": lambda m, y, x: m.simpson(y[:, :4], dx=0.7),
    "simpson of two": lambda m, y, x: m.simpson(y, axis=0, dx=0.7),
    "simpson along the first axis": lambda m, y, x: m.simpson(y.T, x=x, axis=0),
    "fixed_quad": lambda m, y, x: m.fixed_quad(lambda t: np.exp(-t * y[0, 0]), x[0], x[2], n=4)[0],
}
QUAD = {
    "parameter": lambda m, a: m.quad(lambda x: np.exp(-a * x * x), 0.0, 2.0)[0],
    "limits": lambda m, a: m.quad(lambda x: np.cos(x) * x, -a, a * a)[0],
    "arguments": lambda m, a: m.quad(lambda x, p, q: np.sin(p * x) + q * x, 0.0, a, (a, 2.0))[0],
    "infinite": lambda m, a: m.quad(lambda x: np.exp(-a * x * x), -np.inf, np.inf)[0],
    "half infinite": lambda m, a: m.quad(lambda x: x**a * np.exp(-x), 0.0, np.inf)[0],
    "singular": lambda m, a: m.quad(lambda x: x ** (-a / 3), 0.0, a)[0],
    "nested": lambda m, a: m.quad(
        lambda x: m.quad(lambda y: np.exp(-a * x * y), 0.0, 1.0)[0], 0.0, a
    )[0],
    "points": lambda m, a: m.quad(lambda x: abs(x - 0.5) * a, 0.0, 1.0, points=[0.5])[0],
}


def slope_of(f, t, h=1e-3):
    near = [f(t + s * h) for s in (1, -1, 2, -2, 3, -3)]
    return (45 * (near[0] - near[1]) - 9 * (near[2] - near[3]) + near[4] - near[5]) / (60 * h)


@pytest.mark.parametrize("count", [4, 5, 6, 7])
def test_simpson_of_samples_at_one_place(count):
    x = np.array([0.0, 0.5, 0.5, 1.0, 1.3, 1.3, 2.0])[:count]
    y = np.sin(x + 0.3) + np.arange(count)
    weights = [scipy.integrate.simpson(e, x=x) for e in np.eye(count)]
    value, slope = fg.value_and_grad(lambda y: scipy.integrate.simpson(y, x=x))(y)
    np.testing.assert_allclose(value, scipy.integrate.simpson(y, x=x), rtol=1e-14)
    np.testing.assert_allclose(slope, weights, rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("case", SAMPLES)
def test_samples(case):
    moves = np.sin(np.arange(14.0)).reshape(2, 7), 0.1 * np.sin(np.arange(7.0))

    def along(m, t):
        return SAMPLES[case](m, Y + t * moves[0], X + t * moves[1])

    value, slope = fg.jvp(lambda t: along(integrate, t), (0.0,), (1.0,))
    np.testing.assert_allclose(value, along(scipy.integrate, 0.0), rtol=1e-13, atol=1e-15)
    wanted = slope_of(lambda t: along(scipy.integrate, t), 0.0)
    np.testing.assert_allclose(slope, wanted, rtol=1e-9, atol=1e-10)
    back = fg.jit(fg.grad(lambda t: np.sum(along(integrate, t))))(0.0)
    assert back == pytest.approx(np.sum(slope), rel=1e-11, abs=1e-13)
    rows = fg.vmap(lambda t: along(integrate, t))(np.array([0.0, 0.1]))
    np.testing.assert_allclose(rows[1], along(scipy.integrate, 0.1), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "case",
    [case if k < 3 else pytest.param(case, marks=pytest.mark.slow) for k, case in enumerate(QUAD)],
)
def test_quad(case):
    f = QUAD[case]
    value, slope = fg.jvp(lambda a: f(integrate, a), (1.3,), (1.0,))
    assert value == pytest.approx(f(scipy.integrate, 1.3), rel=1e-13)
    wanted = slope_of(lambda a: f(scipy.integrate, a), 1.3)
    assert slope == pytest.approx(wanted, rel=1e-7)
    assert fg.grad(lambda a: f(integrate, a))(1.3) == pytest.approx(slope, rel=1e-9)
    assert fg.jit(fg.grad(lambda a: f(integrate, a)))(1.3) == pytest.approx(slope, rel=1e-9)
    rows = fg.vmap(lambda a: f(integrate, a))(np.array([1.1, 1.3]))
    np.testing.assert_allclose(rows, [f(scipy.integrate, 1.1), value], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["parameter", "limits", "arguments", "infinite", "points"])
def test_second_derivatives_of_quad(case):
    first = fg.grad(lambda a: QUAD[case](integrate, a))
    wanted = slope_of(first, 1.3)
    assert fg.grad(first)(1.3) == pytest.approx(wanted, rel=1e-7, abs=1e-9)
    assert fg.jvp(first, (1.3,), (1.0,))[1] == pytest.approx(wanted, rel=1e-7, abs=1e-9)


def test_quad_of_a_vector_of_parameters():
    def total(p):
        return integrate.quad(lambda x: np.sum(p * np.cos(x * np.arange(3.0))), 0.0, 1.0)[0]

    wanted = [1.0, np.sin(1.0), np.sin(2.0) / 2]
    np.testing.assert_allclose(fg.grad(total)(np.ones(3)), wanted, rtol=1e-13)
    value, error = fg.jvp(lambda a: integrate.quad(lambda x: a * x, 0.0, 1.0), (2.0,), (1.0,))[0]
    assert (value, error) == scipy.integrate.quad(lambda x: 2.0 * x, 0.0, 1.0)
    assert integrate.quad(np.cos, 0.0, 1.0) == scipy.integrate.quad(np.cos, 0.0, 1.0)
    with pytest.raises(TypeError, match="quad: expected a function that returns a real number"):
        fg.grad(lambda a: integrate.quad(lambda x: a * np.ones(2), 0.0, 1.0)[0])(1.0)


WEIGHTED = {
    "cos": lambda m, a: m.quad(lambda x: np.exp(-a * x * x), 0.0, 1.0, weight="cos", wvar=2.0)[0],
    "sin to a limit": lambda m, a: m.quad(
        lambda x, p: np.exp(-p * x), a, a * a, args=(a,), weight="sin", wvar=20.0
    )[0],
    "to infinity": lambda m, a: m.quad(lambda x: 1 / (a + x), a, np.inf, weight="sin", wvar=2.0)[0],
    "powers": lambda m, a: m.quad(
        lambda x: np.exp(-a * x), 0.0, 1.0, weight="alg-loga", wvar=(-0.5, 0.3)
    )[0],
    "principal value": lambda m, a: m.quad(
        lambda x: np.exp(-a * x), 0.0, a, weight="cauchy", wvar=0.5
    )[0],
    "complex": lambda m, a: np.abs(
        m.quad(lambda x: np.exp(1j * a * x), 0.0, a, complex_func=True)[0]
    ),
}


@pytest.mark.parametrize("case", WEIGHTED)
def test_weights_and_complex_functions(case):
    f = WEIGHTED[case]
    value, slope = fg.value_and_grad(lambda a: f(integrate, a))(1.3)
    assert value == pytest.approx(f(scipy.integrate, 1.3), rel=1e-15)
    assert slope == pytest.approx(slope_of(lambda a: f(scipy.integrate, a), 1.3), rel=1e-7)
    first = fg.jit(fg.grad(lambda a: f(integrate, a)))
    np.testing.assert_allclose(fg.vmap(first)(np.array([1.1, 1.3]))[1], slope, rtol=1e-12)
    assert fg.jvp(first, (1.3,), (1.0,))[1] == pytest.approx(slope_of(first, 1.3), rel=1e-6)
    expr = fg.trace(lambda a: f(integrate, a), 1.3)
    assert fg.from_json(fg.to_json(expr)).key == expr.key


def test_weights_whose_variable_or_limits_are_traced_are_refused():
    with pytest.raises(TypeError, match="write the weight into func"):
        fg.grad(lambda a: integrate.quad(np.exp, 0.0, 1.0, weight="cos", wvar=a)[0])(1.0)
    with pytest.raises(TypeError, match=r"integrate \(b - a\)"):
        fg.grad(lambda a: integrate.quad(np.exp, 0.0, a, weight="alg", wvar=(0, 1))[0])(1.0)
    with pytest.raises(TypeError, match="expected full_output=0"):
        fg.grad(lambda a: integrate.quad(np.exp, 0.0, a, full_output=1)[0])(1.0)


def test_events_of_an_equation_without_parameters():
    def f(m, level):
        def falls_to(t, y):
            return y[0] - level

        falls_to.terminal = True
        options = {"events": falls_to, "rtol": 1e-9, "atol": 1e-9}
        return m.solve_ivp(lambda t, y: -y, (0.0, 3.0), [1.0], **options).t[-1]

    value, slope = fg.value_and_grad(lambda a: f(integrate, a))(0.3)
    assert value == pytest.approx(f(scipy.integrate, 0.3), rel=1e-6)
    assert slope == pytest.approx(-1 / 0.3, rel=1e-6)


def test_differential_equations():
    times = np.array([0.0, 0.5, 2.0])

    def decayed(m, k):
        return m.odeint(
            lambda y, t, k: [-k * y[0], y[0]], [1.0, 0.0], times, (k,), rtol=1e-10, atol=1e-10
        )

    value, slope = fg.jvp(lambda k: decayed(integrate, k), (0.7,), (1.0,))
    np.testing.assert_allclose(value, decayed(scipy.integrate, 0.7), rtol=1e-7)
    np.testing.assert_allclose(slope[:, 0], -times * np.exp(-0.7 * times), rtol=1e-7, atol=1e-9)

    def oscillated(m, k):
        return m.solve_ivp(
            lambda t, y: [y[1], -k * y[0]],
            (0.0, 1.0),
            [1.0, 0.0],
            t_eval=[0.5, 1.0],
            rtol=1e-9,
            atol=1e-9,
        ).y

    value, slope = fg.jvp(lambda k: oscillated(integrate, k), (2.0,), (1.0,))
    np.testing.assert_allclose(value, oscillated(scipy.integrate, 2.0), rtol=1e-6)
    root = 2.0**0.5
    np.testing.assert_allclose(
        slope[0],
        -np.sin(root * np.array([0.5, 1.0])) * np.array([0.5, 1.0]) / (2 * root),
        rtol=1e-6,
    )
    plain = integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0])
    np.testing.assert_array_equal(
        plain.y, scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0]).y
    )


@pytest.mark.parametrize(
    ("method", "options"),
    one_in(
        2,
        [
            ("DOP853", {}),
            ("Radau", {"jac": lambda t, y: np.diag([-300.0, -1.0])}),
            ("BDF", {"min_step": 0.0}),
            ("LSODA", {"lband": 1, "uband": 1}),
            (scipy.integrate.BDF, {}),
        ],
        start=1,
    ),
)
def test_methods_of_scipy_have_one_of_the_same_kind(method, options):
    def final(m, k):
        return m.solve_ivp(
            lambda t, y: [-300.0 * (y[0] - k * y[1]), -k * y[1]],
            (0.0, 1.0),
            [1.0, 1.0],
            method,
            rtol=1e-8,
            atol=1e-10,
            **options,
        ).y[:, -1]

    k = 0.7
    expected = np.array([300 * k / (300 - k), 1.0]) * np.exp(-k)
    value, slope = fg.jvp(lambda k: final(scipy.integrate, k), (k,), (1.0,))
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(
        slope, [expected[0] * (1 / k + 1 / (300 - k) - 1), -np.exp(-k)], rtol=1e-6
    )
    np.testing.assert_allclose(fg.jacrev(fg.jit(lambda k: final(scipy.integrate, k)))(k), slope)


def test_options_of_no_method_have_no_effect_as_scipy_says():
    def final(k):
        return scipy.integrate.solve_ivp(
            lambda t, y: -k * y, (0, 1), [1.0], rtol=1e-9, tolerance=1.0
        ).y[0, -1]

    with pytest.warns(UserWarning, match="no effect for a chosen solver: `tolerance`"):
        assert fg.grad(final)(0.7) == pytest.approx(-np.exp(-0.7), rel=1e-5)

    class Steps(scipy.integrate.RK45):
        pass

    with pytest.raises(ValueError, match=r"expected one of the methods RK45.*but got 'Steps'"):
        fg.grad(
            lambda k: scipy.integrate.solve_ivp(
                lambda t, y: -k * y, (0, 1), [1.0], Steps, release=k
            ).y[0, -1]
        )(0.7)


TWICE = {
    "dblquad": lambda m, a: m.dblquad(
        lambda y, x: np.exp(-a * x * y), 0.0, 1.0, 0.0, lambda x: a + x
    ),
    "dblquad of numbers": lambda m, a: m.dblquad(lambda y, x, b: x * y**b, 0.0, a, a, 2 * a, (a,)),
    "nquad": lambda m, a: m.nquad(
        lambda y, x, b: np.exp(-a * x * y) * b,
        [lambda x, b: (0.0, a + x * b), (0.0, 1.0)],
        args=(a,),
        opts=[{"epsabs": 1e-10}, lambda *_: {"limit": 60}],
    ),
    "nquad of one": lambda m, a: m.nquad(lambda x: x**a, [(a, 2.0)]),
}


@pytest.mark.parametrize("name", one_in(4, TWICE, start=1))
def test_multiple_integrals_are_scipys_with_two_derivatives(name):
    f = TWICE[name]
    assert f(integrate, 0.7)[0] == f(scipy.integrate, 0.7)[0]
    value, slope = fg.jvp(lambda a: f(integrate, a)[0], (0.7,), (1.0,))
    assert value == f(scipy.integrate, 0.7)[0]
    reverse = fg.grad(lambda a: f(integrate, a)[0])
    h = 1e-4
    difference = (f(integrate, 0.7 + h)[0] - f(integrate, 0.7 - h)[0]) / (2 * h)
    assert slope == pytest.approx(difference, rel=1e-7)
    assert reverse(0.7) == pytest.approx(slope, rel=1e-12)
    curvature = (reverse(0.7 + h) - reverse(0.7 - h)) / (2 * h)
    assert fg.grad(reverse)(0.7) == pytest.approx(curvature, rel=1e-6)


def test_the_ranges_of_an_integral_may_be_functions_beside_lists():
    def volume(a):
        return scipy.integrate.nquad(lambda y, x: a * x * y, [lambda x: (0.0, x), [0.0, a]])[0]

    assert fg.grad(volume)(0.7) == pytest.approx(5 * 0.7**4 / 8, rel=1e-12)


def triple(m, a):
    return m.tplquad(
        lambda z, y, x: a * z + x, 0, a, 0, lambda x: x, lambda x, y: y - x, lambda x, y: a * y
    )[0]


def test_triple_integrals_have_limits_in_scipys_order():
    assert fg.jit(lambda a: triple(integrate, a))(0.7) == pytest.approx(
        triple(scipy.integrate, 0.7), rel=1e-13
    )


@pytest.mark.slow
def test_triple_integrals_have_a_derivative():
    difference = (triple(scipy.integrate, 0.7 + 1e-4) - triple(scipy.integrate, 0.7 - 1e-4)) / 2e-4
    assert fg.grad(lambda a: triple(integrate, a))(0.7) == pytest.approx(difference, rel=1e-6)


def test_multiple_integrals_of_plain_values_are_scipys_own():
    plain = (lambda y, x: x * y, [(0.0, 1.0), (0.0, 2.0)])
    assert integrate.nquad(*plain) == scipy.integrate.nquad(*plain)
    assert integrate.nquad(*plain, full_output=True) == scipy.integrate.nquad(
        *plain, full_output=True
    )
    with pytest.raises(TypeError, match="nquad: full_output=True is not supported"):
        fg.grad(lambda a: integrate.nquad(lambda x: a * x, [(0.0, a)], full_output=True)[0])(1.0)


POWERS = np.array([0.3, 1.2, 2.0])
VECTORS = {
    "a vector": lambda t: scipy.integrate.quad_vec(lambda x: np.exp(-t * x * POWERS), t, 2.0)[0],
    "a matrix, arguments": lambda t: scipy.integrate.quad_vec(
        lambda x, k: np.outer(np.sin(k * x), POWERS), 0.0, 1 + t, args=(t * POWERS,)
    )[0],
    "a number, to infinity": lambda t: scipy.integrate.quad_vec(
        lambda x: np.exp(-t * x * x), -np.inf, np.inf
    )[0],
    "in the maximum norm": lambda t: scipy.integrate.quad_vec(
        lambda x: np.stack([x * t, np.cos(t * x)]), 0.0, 1.0, epsrel=1e-10, norm="max"
    )[0],
}


@pytest.mark.parametrize("case", one_in(3, VECTORS))
def test_integrals_of_vectors(case):
    f, t, h = VECTORS[case], 0.7, 1e-3
    value, slope = fg.jvp(f, (t,), (1.0,))
    np.testing.assert_array_equal(value, f(t))
    wanted = (8 * (f(t + h) - f(t - h)) - f(t + 2 * h) + f(t - 2 * h)) / (12 * h)
    np.testing.assert_allclose(slope, wanted, rtol=1e-8)
    np.testing.assert_allclose(fg.jacrev(f)(t), slope, rtol=1e-9)
    total = lambda t: np.sum(f(t) ** 2)  # noqa: E731
    second = (fg.grad(total)(t + h) - fg.grad(total)(t - h)) / (2 * h)
    assert fg.grad(fg.grad(total))(t) == pytest.approx(second, rel=1e-5)
    np.testing.assert_array_equal(fg.jit(f)(t), f(t))
    np.testing.assert_array_equal(fg.vmap(f)(np.array([0.1, t]))[1], f(t))


def test_what_quad_vec_refuses():
    with pytest.raises(TypeError, match="quad_vec: full_output=True is not supported"):
        fg.grad(lambda t: scipy.integrate.quad_vec(lambda x: t * x, 0, 1, full_output=True)[0])(1.0)
    with pytest.raises(TypeError, match="quad_vec: expected a function that returns real numbers"):
        fg.grad(lambda t: np.real(scipy.integrate.quad_vec(lambda x: 1j * t * x, 0, 1)[0]))(1.0)


class Potential:
    """A further argument that is no number."""

    def __call__(self, t):
        return 3.0 * t * t


@pytest.mark.parametrize(
    "f",
    [
        lambda x: integrate.quad(lambda t, a, p: a * p(t), 0, x, args=(x, Potential()))[0],
        lambda x: integrate.quad_vec(lambda t, a, p: a * p(t), 0, x, args=(x, Potential()))[0],
        lambda x: integrate.dblquad(
            lambda _, t, p: p(t), 0, x, 0, lambda t: x, args=(Potential(),)
        )[0],
    ],
)
def test_integrands_are_handed_arguments_that_are_no_numbers(f):
    assert f(0.7) == pytest.approx(0.7**4, rel=1e-12)
    assert fg.grad(f)(0.7) == pytest.approx(4 * 0.7**3, rel=1e-12)
    assert fg.jit(fg.grad(f))(0.7) == pytest.approx(4 * 0.7**3, rel=1e-12)


def _decay(kind, rate, steps=1, **options):
    solver = scipy.integrate.ode(lambda t, y, b: -rate * y * b).set_integrator(kind, **options)
    solver.set_initial_value([1.0, rate], 0.0).set_f_params(1.5)
    return sum([solver.integrate(k / steps)[0] for k in range(1, steps + 1)])


def _steps_to_the_end(a):
    solver = scipy.integrate.ode(lambda t, y: [y[1], -a * y[0]])
    solver.set_initial_value(np.array([1.0, a]), 0.0)
    places = []
    while solver.successful() and solver.t < 1.0:
        places.append(solver.integrate(solver.t + 0.25))
    return np.array(places)[:, 1].sum()


def _until(a):
    return scipy.integrate.ode(lambda t, y: -0.5 * y).set_initial_value(1.0, 0.0).integrate(a)[0]


def _of_numbers(a):
    return (
        scipy.integrate.ode(lambda t, y: -0.5 * y).set_initial_value(1.0, 0.0).integrate(1.0)[0] * a
    )


ODES = {
    "dopri5": lambda a: _decay("dopri5", a),
    "vode in steps": lambda a: _decay("vode", a, 3),
    "lsoda": lambda a: _decay("lsoda", a, rtol=1e-10, atol=1e-12),
    "a loop": _steps_to_the_end,
    "the end": _until,
    "numbers": _of_numbers,
}


@pytest.mark.parametrize("name", one_in(12, ODES))
def test_ode_of_traced_values(name):
    f, a = ODES[name], 0.5
    value, slope = fg.value_and_grad(f)(a)
    assert value == pytest.approx(f(a), rel=2e-6)
    assert slope == pytest.approx((f(a + 0.01) - f(a - 0.01)) / 0.02, rel=3e-4)
    assert fg.jvp(f, (a,), (1.0,))[1] == pytest.approx(slope, rel=1e-7)
    assert fg.jit(fg.grad(f))(a) == pytest.approx(slope, rel=1e-12)
    assert fg.vmap(fg.grad(f))(np.array([a, 0.6]))[0] == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("method", ["adams", "bdf"])
def test_complex_states_of_ode(method):
    def f(a):
        def slope(t, y, rate):
            return [1j * rate * y[0] + y[1], 1j * y[0] - y[1]]

        solver = scipy.integrate.ode(slope).set_integrator(
            "zvode", method=method, rtol=1e-11, atol=1e-13
        )
        solver.set_initial_value([1.0 + 0j, 2j * a], 0.0).set_f_params(a)
        return solver.integrate(1.0)

    value, slope = fg.jvp(f, (0.8,), (1.0,))
    np.testing.assert_allclose(value, f(0.8), rtol=1e-8)
    np.testing.assert_allclose(slope, (f(0.8 + 1e-4) - f(0.8 - 1e-4)) / 2e-4, rtol=1e-6)
    np.testing.assert_allclose(fg.jacrev(lambda a: np.real(f(a)))(0.8), np.real(slope), rtol=1e-12)


def test_ode_with_a_function_of_its_steps_is_refused():
    def f(a):
        solver = scipy.integrate.ode(lambda t, y: -a * y).set_integrator("dopri5")
        solver.set_solout(lambda t, y: -1)
        return solver.set_initial_value(1.0, 0.0).integrate(1.0)[0]

    with pytest.raises(TypeError, match=r"ode\.integrate: set_solout="):
        fg.grad(f)(0.5)


SOLUTIONS = {
    **{
        method: lambda q, method=method: scipy.integrate.solve_ivp(
            lambda t, y: -y, (0.0, 2.0), [1.0, 2.0], method, dense_output=True, rtol=1e-6
        ).sol(q)
        for method in ("RK45", "DOP853", "Radau", "BDF", "LSODA")
    },
    "solve_bvp": lambda q: scipy.integrate.solve_bvp(
        lambda t, y: np.stack([y[1], -y[0]]),
        lambda a, b: np.stack([a[0], b[0] - 1.0]),
        np.linspace(0.0, 2.0, 5),
        np.ones((2, 5)),
    ).sol(q),
}


@pytest.mark.parametrize("case", one_in(2, SOLUTIONS))
def test_solutions_of_plain_equations_take_traced_times(case):
    times = np.array([0.31, 0.72, 1.87])
    check_function(SOLUTIONS[case], times, vmap=False, value_rtol=1e-13, hessian=False)


TRACED_TIMES = {
    "an array": lambda s: np.array([0.3, 0.7, 1.5]) * s,
    "a list": lambda s: [s, 0.5 * s, 1.5],
    "a number": lambda s: 1.2 * s,
}


@pytest.mark.parametrize("case", TRACED_TIMES)
def test_solutions_of_traced_equations_take_traced_times(case):
    def states(s):
        solved = scipy.integrate.solve_ivp(
            lambda t, y: -s * y, (0.0, 2.0), [1.0, 2.0], dense_output=True, rtol=1e-8, atol=1e-8
        )
        return solved.sol(TRACED_TIMES[case](s))

    def exact(s):
        return np.multiply.outer(
            np.array([1.0, 2.0]), np.exp(-s * np.asarray(TRACED_TIMES[case](s)))
        )

    h = 1e-5
    slope = (exact(1.0 + h) - exact(1.0 - h)) / (2 * h)
    np.testing.assert_allclose(fg.jacobian(states)(1.0), slope, rtol=1e-6)


JUMPS = {
    "a step": lambda p: scipy.integrate.quad(
        lambda t: np.where(t < p, 1.0, 2.0), 0.0, 1.0, points=[p]
    )[0],
    "a kink": lambda p: scipy.integrate.quad(lambda t: np.abs(t - p), 0.0, 1.0, points=[p])[0],
    "two steps, backwards": lambda p: scipy.integrate.quad(
        lambda t: np.where(t < p * p, np.sin(t * p), np.where(t < 0.9 * p, 2.0 + t, t)),
        1.0,
        0.0,
        points=[0.9 * p, p * p],
    )[0],
    "of vectors": lambda p: np.sum(
        scipy.integrate.quad_vec(
            lambda t: np.where(t < p, np.sin(t * p), 2.0) * np.array([1.0, 3.0]), 0, 1, points=[p]
        )[0]
    ),
}


@pytest.mark.parametrize("case", JUMPS)
def test_integrands_that_jump_at_points(case):
    f, p, h = JUMPS[case], 0.6, 1e-4
    assert fg.value_and_grad(f)(p)[0] == pytest.approx(f(p), rel=1e-14)
    slope = (f(p + h) - f(p - h)) / (2 * h)
    assert fg.grad(f)(p) == pytest.approx(slope, rel=1e-7)
    assert fg.jvp(f, (p,), (1.0,))[1] == pytest.approx(slope, rel=1e-7)
    assert fg.jit(fg.grad(f))(p) == pytest.approx(slope, rel=1e-7)
    second = (f(p + h) - 2 * f(p) + f(p - h)) / h**2
    assert fg.grad(fg.grad(f))(p) == pytest.approx(second, rel=1e-5, abs=1e-6)


def test_points_alone_are_traced():
    def f(p):
        return scipy.integrate.quad(np.cos, 0.0, 1.0, points=[p])[0]

    assert fg.value_and_grad(f)(0.3) == (f(0.3), pytest.approx(0.0, abs=1e-15))


@pytest.mark.parametrize("name", ["RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_steps_of_scipys_solvers_are_refused_with_a_derivative(name):
    """Their size suits the state alone: at rest the derivative was in the millions."""
    solver_class = getattr(scipy.integrate, name)

    def final(y0):
        solver = solver_class(lambda t, y: -3.0 * y, 0.0, np.stack([y0]), 1.0)
        while solver.status == "running":
            solver.step()
        return solver.y[0]

    with pytest.raises(TypeError, match=rf"{name}.step: expected plain numbers.*write solve_ivp"):
        fg.grad(final)(0.0)
    assert final(1.0) == pytest.approx(np.exp(-3.0), rel=1e-2)
    assert fg.grad(lambda a: a * final(1.0))(1.0) == final(1.0)


@pytest.mark.parametrize("kind", ["dopri5", "dop853", "vode", "lsoda"])
def test_ode_in_a_function_that_only_makes_it(kind):
    """SciPy's compiled code crashed at a function that returned a traced value."""

    def final(y0):
        solver = scipy.integrate.ode(lambda t, y: np.stack([y[1], -100.0 * y[0]]))
        solver = solver.set_integrator(kind, rtol=1e-8, atol=1e-10)
        return solver.set_initial_value(np.stack([y0, 0.0 * y0]), 0.0).integrate(2.0)[0]

    for y0 in (0.0, 1.0):
        assert fg.grad(final)(y0) == pytest.approx(np.cos(20.0), abs=1e-5)
