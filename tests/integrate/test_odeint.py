"""odeint against closed forms, SciPy and differences; its derivatives in every argument, in both modes."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.integrate.tableaus import METHODS
from tests.default_slice import with_slow

TIMES = np.array([0.0, 0.3, 0.35, 2.0])
DECAY = 0.7


def decay(y, t, k):
    return -k * y


def oscillator(y, t, omega):
    return np.stack([y[1], -(omega**2) * y[0]])


def oscillation(y0, t, omega):
    c, s = np.cos(omega * t), np.sin(omega * t)
    return np.stack([y0[0] * c + y0[1] / omega * s, -omega * y0[0] * s + y0[1] * c], axis=-1)


@pytest.mark.parametrize("method", METHODS)
def test_linear_equation(method):
    rtol = 1e-6 if method == "RK23" else 1e-9
    y = fg.odeint(decay, 2.0, TIMES, DECAY, rtol=rtol, atol=1e-12, method=method)
    np.testing.assert_allclose(y, 2 * np.exp(-DECAY * TIMES), rtol=20 * rtol)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_error_follows_the_tolerance(method):
    def error(tol):
        y = fg.odeint(
            oscillator, np.array([1.0, 0.0]), TIMES, 3.0, rtol=tol, atol=tol, method=method
        )
        return np.max(np.abs(y - oscillation([1.0, 0.0], TIMES, 3.0)))

    errors = [error(1e-4), error(1e-6)]
    assert errors[0] < 3e-3
    assert errors[1] < errors[0] / 20


@pytest.mark.slow
def test_equation_with_time_in_it_under_every_method():
    # y' = t*y has the solution exp(t**2/2).
    for method in METHODS:
        y = fg.odeint(lambda y, t: t * y, 1.0, TIMES, rtol=1e-7, atol=1e-9, method=method)
        np.testing.assert_allclose(y, np.exp(TIMES**2 / 2), rtol=3e-6)


def test_times_may_decrease_repeat_or_be_one():
    y = fg.odeint(decay, 1.0, np.array([2.0, 2.0, 1.0, 1.0, -1.0]), DECAY)
    np.testing.assert_allclose(y, np.exp(-DECAY * np.array([0, 0, -1, -1, -3])), rtol=1e-7)
    assert fg.odeint(decay, 1.0, [3.0], DECAY).tolist() == [1.0]
    assert fg.odeint(decay, 1.0, [3.0, 3.0], DECAY).tolist() == [1.0, 1.0]
    np.testing.assert_allclose(fg.odeint(decay, 1, [0, 1], DECAY), [1, np.exp(-DECAY)], rtol=1e-7)


@pytest.mark.slow
def test_state_of_no_entries_and_zero_slope():
    assert fg.odeint(lambda y, t: y, np.zeros((0, 2)), TIMES).shape == (4, 0, 2)
    assert fg.odeint(lambda y, t: 0 * y, -0.0, TIMES).tolist() == [0.0] * 4
    assert fg.odeint(lambda y, t: 1.0, 0.0, TIMES) == pytest.approx(TIMES)


@pytest.mark.slow
def test_trees_of_mixed_dtypes():
    y0 = {"a": np.float32(1.0), "b": [np.array([1.0, 2.0]), 1j]}

    def slope(y, t):
        return {"a": -y["a"] * t, "b": [-y["b"][0], 2j * y["b"][1]]}

    for method in ("RK45", "Rodas5P"):
        y = fg.odeint(slope, y0, TIMES, method=method)
        assert (y["a"].dtype, y["b"][1].dtype) == (np.float32, np.complex128)
        np.testing.assert_allclose(y["a"], np.exp(-(TIMES**2) / 2), rtol=2e-4)
        np.testing.assert_allclose(y["b"][0], np.exp(-TIMES)[:, None] * [1, 2], rtol=2e-4)
        np.testing.assert_allclose(y["b"][1], 1j * np.exp(2j * TIMES), rtol=2e-4)


def test_float32_stays_float32():
    y = fg.odeint(decay, np.ones(2, np.float32), TIMES.astype(np.float32), np.float32(DECAY))
    assert y.dtype == np.float32
    np.testing.assert_allclose(y[:, 0], np.exp(-DECAY * TIMES), rtol=1e-4)


@pytest.mark.slow
def test_complex_slope_that_is_not_holomorphic():
    # y' = conj(y) has real and imaginary parts exp(t) and exp(-t).
    for method in ("RK45", "Rodas5P"):
        y = fg.odeint(lambda y, t: np.conj(y), 1.0 + 1.0j, TIMES, method=method)
        np.testing.assert_allclose(y, np.exp(TIMES) + 1j * np.exp(-TIMES), rtol=1e-6)


@pytest.mark.slow
def test_stiff_van_der_pol_as_scipy():
    from scipy.integrate import solve_ivp

    def slope(y, t, mu):
        return np.stack([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    times = np.array([0.0, 400.0, 900.0, 2000.0])
    expected = solve_ivp(
        lambda t, y: slope(y, t, 1e3), (0, 2000), [2.0, 0.0], "Radau", times, rtol=1e-9, atol=1e-11
    ).y.T
    y0 = np.array([2.0, 0.0])
    y = fg.odeint(slope, y0, times, 1e3, rtol=1e-7, atol=1e-9, method="Rodas5P")
    np.testing.assert_allclose(y, expected, rtol=2e-5, atol=1e-8)


# -- derivatives ---------------------------------------------------------------------------------
def test_derivatives_in_all_arguments_by_both_modes():
    """Of y = y0*exp(-k*(t - t0)) at the last time."""

    def final(y0, ts, k):
        return fg.odeint(decay, y0, ts, k, rtol=1e-10, atol=1e-12)[-1]

    args = (2.0, TIMES + 0.5, DECAY)
    y = 2 * np.exp(-DECAY * 2)
    expected = (y / 2, np.array([DECAY * y, 0, 0, -DECAY * y]), -2 * y)
    for transform in (fg.grad, fg.jacfwd):
        for got, want in zip(transform(final, (0, 1, 2))(*args), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9)


@pytest.mark.slow
def test_derivative_in_the_time_of_each_output_is_the_slope():
    y = fg.odeint(decay, 2.0, TIMES, DECAY, rtol=1e-10)
    slopes = fg.jacobian(lambda ts: fg.odeint(decay, 2.0, ts, DECAY, rtol=1e-10))(TIMES)
    expected = np.diag(-DECAY * y)
    expected[0, 0] = 0.0  # the first state is y0, whatever the time
    expected[1:, 0] = DECAY * y[1:]
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_second_derivatives(method):
    tol = 1e-6 if method == "RK23" else 1e-9

    def final(y0, k):
        return fg.odeint(
            lambda y, t: k * y * (1 - y), y0, TIMES, rtol=tol, atol=tol, method=method
        )[-1]

    def logistic(y0, k):
        return 1 / (1 + (1 / y0 - 1) * np.exp(-2 * k))

    args = (0.2, 1.3)
    wanted = fg.hessian(logistic, (0, 1))(*args)
    for got, want in zip(fg.hessian(final, (0, 1))(*args), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1000 * tol)


@pytest.mark.slow
def test_derivatives_of_a_captured_array_agree_with_the_matrix_exponential():
    from scipy.linalg import expm

    matrix = np.array([[-0.3, 1.0], [-1.0, 0.1]])
    y0 = np.array([1.0, 0.5])

    def final(a):
        return fg.odeint(lambda y, t: a @ y, y0, np.array([0.0, 1.0]), rtol=1e-10, atol=1e-12)[
            -1, 0
        ]

    step = 1e-6
    by_differences = np.zeros((2, 2))
    for i in np.ndindex(2, 2):
        e = np.zeros((2, 2))
        e[i] = step
        by_differences[i] = ((expm(matrix + e) - expm(matrix - e)) @ y0)[0] / (2 * step)
    np.testing.assert_allclose(fg.grad(final)(matrix), by_differences, rtol=1e-7)


def test_rejected_steps_do_not_reach_the_gradient():
    """A first step of 10 makes exp overflow; it is rejected."""

    def final(k):
        return fg.odeint(
            lambda y, t: k * np.exp(-y) - np.exp(700 * (y - 3)), 0.0, np.array([0.0, 2.0])
        )[-1]

    with np.errstate(over="raise"):
        got = fg.grad(final)(1.0)
    assert got == pytest.approx(2 / 3, rel=1e-6)


@pytest.mark.slow
def test_vmap_and_jit_are_the_single_calls():
    rates = np.array([0.1, 1.0, 5.0])

    def final(k):
        return fg.odeint(lambda y, t: np.sin(k * t) - k * y, np.array([1.0, 2.0]), TIMES)[-1]

    singly = np.stack([final(k) for k in rates])
    np.testing.assert_allclose(fg.vmap(final)(rates), singly, rtol=1e-12)
    np.testing.assert_allclose(np.stack([fg.jit(final)(k) for k in rates]), singly, rtol=1e-12)
    grads = [fg.grad(lambda k: final(k)[0])(k) for k in rates]
    np.testing.assert_allclose(
        fg.vmap(fg.jit(fg.grad(lambda k: final(k)[0])))(rates), grads, rtol=1e-9
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rtol", [1e-8, pytest.param(1e-4, marks=pytest.mark.slow)])
def test_derivatives_of_stiff_equations_stay_bounded(method, rtol):
    """Steps that are as long as error control allows multiply a perturbation by 1e10 here."""
    if method == "RK23":
        rtol *= 100
    rate = 2e3

    def final(k, y0):
        return fg.odeint(
            lambda y, t: -rate * (y - k * np.cos(t)),
            y0,
            TIMES / 2,
            rtol=rtol,
            atol=rtol,
            method=method,
        )[-1]

    expected = (rate**2 * np.cos(1.0) + rate * np.sin(1.0)) / (rate**2 + 1)
    for run in (fg.grad(final, (0, 1)), fg.jacfwd(final, (0, 1))):
        found = run(0.04, 1.0)
        assert found[0] == pytest.approx(expected, rel=10 * rtol)
        assert abs(found[1]) < 1e-9
    assert final(0.04, 1.0) == pytest.approx(0.04 * expected, abs=10 * rtol)


RESTING = {
    "at rest": lambda y0: (oscillator, y0, 0.0 * y0),
    "next to a decay": lambda y0: (
        lambda y, t, w: np.stack([y[1], -(w**2) * y[0], -y[2]]),
        *(y0, 0.0 * y0, 1.0 + 0.0 * y0),
    ),
    "at an equilibrium": lambda y0: (
        lambda y, t, w: np.stack([y[1], -(w**2) * (y[0] - 2.0)]),
        *(2.0 + y0, 0.0 * y0),
    ),
}
"""Equations with a part that does not move at y0 = 0: its error is 0 in steps of any size."""


@pytest.mark.parametrize(
    ("name", "y0", "method"),
    with_slow(
        # (RK23 takes thousands of steps.)
        ((*case, method), method != "RK23" or case == ("at rest", 0.0))
        for case in [*[(name, 0.0) for name in RESTING], ("at rest", 1e-13)]
        for method in METHODS
    ),
)
def test_derivatives_of_a_state_that_rests_follow_the_tolerance(name, y0, method):
    def final(y0):
        func, *start = RESTING[name](y0)
        times = np.array([0.0, 2.0])
        return fg.odeint(func, np.stack(start), times, 12.0, rtol=1e-7, atol=1e-9, method=method)[
            -1, 0
        ]

    for slope in (fg.grad(final), fg.jit(fg.jacfwd(final))):
        assert slope(y0) == pytest.approx(np.cos(24.0), abs=2e-5)


def test_derivatives_of_a_state_that_rests_without_an_absolute_tolerance():
    def start(y0):
        times = np.array([2.0, 0.0])
        return fg.odeint(oscillator, np.stack([y0, 0.0 * y0]), times, 12.0, rtol=1e-7, atol=0.0)[
            -1, 0
        ]

    assert fg.grad(start)(0.0) == pytest.approx(np.cos(24.0), abs=2e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rtol", [1e-3, 1e-8])
def test_derivatives_in_a_parameter_stay_bounded_at_an_equilibrium(method, rtol):
    """The state never moves, and fast modes of a perturbation decay long before the end."""

    def final(k):
        start = np.stack([1.0, k])
        func = lambda y, t: np.stack([-20.0 * (y[0] - y[1]), 0.0 * y[1]])  # noqa: E731
        return fg.odeint(func, start, np.array([0.0, 50.0]), rtol=rtol, atol=rtol, method=method)[
            -1, 0
        ]

    assert fg.grad(final)(1.0) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("distance", [1e-9, 1e-4])
def test_derivatives_beside_an_equilibrium_of_a_stiff_equation(distance):
    """Fast modes that have decayed in the state grew in the derivative, by 14 per cent to 2000 times."""
    rng = np.random.default_rng(7)
    basis = rng.standard_normal((4, 4))
    rates = np.diag([-(10 ** rng.uniform(1, 3.3)), -(10 ** rng.uniform(0, 2)), -1.0, 0.5])
    matrix, rest = basis @ rates @ np.linalg.inv(basis), rng.standard_normal(4)
    y0 = rest + distance * rng.standard_normal(4)

    def final(y0, **options):
        slope = lambda y, t: matrix @ (y - rest) - 0.3 * (y - rest) ** 2  # noqa: E731
        return fg.odeint(slope, y0, np.array([0.0, 2.0]), **options)[-1]

    exact = fg.jacobian(lambda y: final(y, method="Rodas5P", rtol=1e-9, atol=1e-12))(y0)
    found = fg.jacobian(final)(y0)
    np.testing.assert_allclose(found, exact, atol=1e-6 * np.max(np.abs(exact)))


def test_a_resting_state_of_a_stiff_equation_takes_few_steps():
    def steps(y0):
        slope = lambda t, y: np.stack([-1e6 * (y[0] - y[1]), -y[1]])  # noqa: E731
        found = fg.solve_ivp(slope, (0.0, 2.0), np.stack([y0, y0]), method="Rodas5P")
        counts.append(found.t.shape[0])
        return found.y[1, -1]

    counts = []
    assert fg.grad(steps)(0.0) == pytest.approx(np.exp(-2.0), rel=1e-3)
    assert counts[0] < 60


# -- failure -------------------------------------------------------------------------------------
def test_states_that_cannot_be_computed_are_nan():
    # y' = y**2 ends in a pole at t = 1.
    y = fg.odeint(lambda y, t: y * y, 1.0, np.array([0.0, 0.5, 2.0, 3.0]))
    assert y[:2] == pytest.approx([1.0, 2.0])
    assert np.all(np.isnan(y[2:]))
    assert np.isnan(fg.odeint(lambda y, t: y * np.nan, 1.0, TIMES)[1:]).all()
    y = fg.odeint(oscillator, np.ones(2), np.array([0.0, 1e-3, 50.0, 50.1]), 1.0, mxstep=20)
    assert np.isnan(y).any(axis=1).tolist() == [False, False, True, True]


@pytest.mark.slow
def test_the_largest_step_is_kept():
    seen = fg.odeint(lambda y, t: 0.0 * y, 0.0, np.array([0.0, 1.0]), hmax=0.1, mxstep=9)
    assert np.isnan(seen[-1])
    assert fg.odeint(lambda y, t: 0.0 * y, 0.0, np.array([0.0, 1.0]), hmax=0.1, mxstep=30)[-1] == 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: fg.odeint(3, 1.0, TIMES), TypeError, "odeint: expected a function"),
        (lambda: fg.odeint(lambda y, t: (y, y), 1.0, TIMES), TypeError, "structure and shapes of"),
        (
            lambda: fg.odeint(lambda y, t: 1j * y, 1.0, TIMES),
            TypeError,
            "start from a complex state",
        ),
        (lambda: fg.odeint(decay, True, TIMES, 1.0), TypeError, "a state of numbers"),
        (lambda: fg.odeint(decay, 1.0, [], 1.0), ValueError, "a sequence of times"),
        (lambda: fg.odeint(decay, 1.0, [0, 2, 1], 1.0), ValueError, "increasing or decreasing"),
        (lambda: fg.odeint(decay, 1.0, [0, np.inf], 1.0), ValueError, "finite times"),
        (lambda: fg.odeint(decay, 1.0, TIMES, 1.0, rtol=-1), ValueError, "rtol to be at least 0"),
        (
            lambda: fg.odeint(decay, 1.0, TIMES, 1.0, atol=[1, 2]),
            ValueError,
            "a tree like the state",
        ),
        (lambda: fg.odeint(decay, 1.0, TIMES, 1.0, method="BDF"), ValueError, "write 'Rodas5P'"),
        (lambda: fg.odeint(decay, 1.0, TIMES, 1.0, hmax=0.0), ValueError, "step to be positive"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"args": (2.0,)}, r"^odeint: expected the arguments of func one by one, but got args; "),
        ({"h0": 0.1}, "^odeint: expected options among rtol, .*, adjoint, but got h0"),
        ({"tfirst": True}, r"but got tfirst; write fg\.scipy\.integrate\.odeint"),
        ({"rtoll": 0.1}, "^odeint: expected options among .* but got rtoll; write rtol=0.1"),
    ],
)
def test_names_of_other_arguments_are_refused(more, message):
    with pytest.raises(TypeError, match=message):
        fg.odeint(decay, 1.0, TIMES, **more)


def test_a_tuple_of_arguments_is_told_from_an_argument():
    with pytest.raises(TypeError, match="unary -: 'tuple'") as caught:
        fg.odeint(lambda y, t, k: -k * y, 1.0, TIMES, (DECAY,))
    assert "write odeint(func, y0, t, 2.0) in the place of" in caught.value.__notes__[-1]
    found = fg.odeint(lambda y, t, k: -k[0] * y, 1.0, TIMES, (DECAY,))
    np.testing.assert_array_equal(found, fg.odeint(decay, 1.0, TIMES, DECAY))
