"""solve_ivp beside SciPy's, and the derivatives of its states, dense output and events."""

import itertools

import numpy as np
import pytest
from scipy import integrate

import funcgrad as fg
from tests.default_slice import one_in

SPAN = (0.0, 9.0)
TIMES = np.linspace(*SPAN, 9)
Y0 = [3.0, 1.5]
RATES = (1.5, 1.0, 1.2)


def predators(t, y, a, b, c):
    return [a * y[0] - b * y[0] * y[1], c * (y[0] * y[1] - y[1])]


def few_prey(t, y, *args):
    return y[0] - 1.0


def late_and_growing(t, y, *args):
    return y[1] - 1.0 - 0.1 * t


late_and_growing.direction = 1


def second_time(t, y, *args):
    return y[0] - 1.0


second_time.terminal = 2


OPTIONS = {
    "mesh": {},
    "times": {"t_eval": TIMES[1:-1]},
    "dense": {"dense_output": True, "rtol": 1e-8, "first_step": 0.01, "max_step": 0.2},
    "events": {"events": [few_prey, late_and_growing], "method": "RK23"},
    "terminal": {"events": [late_and_growing, second_time], "t_eval": TIMES, "dense_output": True},
    "single": {"events": second_time, "rtol": 1e-9},
}


@pytest.mark.parametrize(("way", "name"), one_in(5, itertools.product([1, -1], OPTIONS)))
def test_results_are_scipys(way, name):
    span, options = SPAN[::way], OPTIONS[name]
    if "t_eval" in options and span[0] > span[1]:
        options = options | {"t_eval": options["t_eval"][::-1]}
    ours = fg.solve_ivp(predators, span, Y0, args=RATES, **options)
    theirs = integrate.solve_ivp(predators, span, Y0, args=RATES, **options)
    # Rounding of the error estimates changes the steps a little.
    np.testing.assert_allclose(ours.t, theirs.t, rtol=1e-7)
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-7)
    assert (ours.nfev, ours.njev, ours.nlu) == (theirs.nfev, theirs.njev, theirs.nlu)
    assert (ours.status, ours.success, ours.message) == (
        theirs.status,
        theirs.success,
        theirs.message,
    )
    assert (ours.sol is None) == (theirs.sol is None)
    if ours.sol is not None:
        at = np.linspace(-0.2, 9.2, 7)
        np.testing.assert_allclose(ours.sol(at), theirs.sol(at), rtol=1e-7)
        np.testing.assert_allclose(ours.sol(0.7), theirs.sol(0.7), rtol=1e-7)
        assert (ours.sol.t_min, ours.sol.t_max) == pytest.approx(
            (theirs.sol.t_min, theirs.sol.t_max)
        )
    if theirs.t_events is not None:
        for mine, other in zip(ours.t_events, theirs.t_events, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-10)
        for mine, other in zip(ours.y_events, theirs.y_events, strict=True):
            np.testing.assert_allclose(mine, other.reshape(-1, 2), rtol=1e-8)


@pytest.mark.slow
def test_an_event_at_the_start_and_at_the_end_of_a_step_counts_as_in_scipy():
    def at_once(t, y):
        return t

    def at_end(t, y):
        return t - 1.0

    for event in (at_once, at_end):
        call = (lambda t, y: [0.0 * y[0]], (0.0, 1.0), [1.0])
        ours = fg.solve_ivp(*call, events=event, max_step=0.25, first_step=0.25)
        theirs = integrate.solve_ivp(*call, events=event, max_step=0.25, first_step=0.25)
        np.testing.assert_allclose(ours.t_events[0], theirs.t_events[0], atol=1e-12)


def test_an_interval_of_no_length():
    found = fg.solve_ivp(lambda t, y: -y, (1.0, 1.0), [2.0], dense_output=True, events=few_prey)
    assert (found.t.tolist(), found.y.tolist(), found.status) == ([1.0], [[2.0]], 0)
    assert found.sol(1.0) == [2.0]
    assert found.t_events[0].shape == (0,)


@pytest.mark.slow
def test_failure_ends_the_solution():
    call = (lambda t, y: y**2, (0.0, 2.0), [1.0])
    ours, theirs = fg.solve_ivp(*call), integrate.solve_ivp(*call)
    assert (ours.status, ours.success, ours.message) == (-1, False, theirs.message)
    assert ours.t[-1] == pytest.approx(1.0, abs=1e-3)
    at = fg.solve_ivp(*call, t_eval=[0.5, 1.5])
    assert at.status == -1
    assert np.isnan(at.y).tolist() == [[False, True]]


def test_states_may_be_trees():
    found = fg.solve_ivp(
        lambda t, y: {"x": y["v"], "v": -y["x"]},
        (0.0, 1.0),
        {"x": 0.0, "v": np.ones(2)[0]},
        rtol=1e-8,
    )
    np.testing.assert_allclose(found.y["x"], np.sin(found.t), atol=1e-6)


@pytest.mark.slow
def test_stiff_system_of_robertson():
    def slope(t, y):
        a, b = 0.04 * y[0] - 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return np.stack([-a, a - b, b])

    call = (slope, (0.0, 1e4), [1.0, 0.0, 0.0])
    ours = fg.solve_ivp(*call, "Rodas5P", rtol=1e-6, atol=1e-10)
    theirs = integrate.solve_ivp(*call, "Radau", rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.y[:, -1], theirs.y[:, -1], rtol=1e-5)
    assert ours.nfev < 2000
    assert ours.njev == ours.nlu > 0
    assert ours.y.sum(axis=0) == pytest.approx(1.0, abs=1e-12)


# -- derivatives ---------------------------------------------------------------------------------
def ground(t, y):
    return y[0]


ground.terminal, ground.direction = True, -1
G = 9.81


def fall(height, speed):
    found = fg.solve_ivp(
        lambda t, y: [y[1], -G], (0.0, 10.0), [height, speed], events=ground, rtol=1e-8
    )
    return np.stack([found.t_events[0][0], found.y_events[0][0, 1], found.t[-1], found.y[1, -1]])


def fall_in_closed_form(height, speed):
    impact = -np.sqrt(speed**2 + 2 * G * height)
    return np.stack([(speed - impact) / G, impact, (speed - impact) / G, impact])


def test_time_and_state_of_an_event_in_both_modes():
    args = (10.0, 2.0)
    np.testing.assert_allclose(fall(*args), fall_in_closed_form(*args), rtol=1e-9)
    expected = fg.jacfwd(fall_in_closed_form, (0, 1))(*args)
    for transform in (fg.jacfwd, fg.jacrev):
        np.testing.assert_allclose(transform(fall, (0, 1))(*args), expected, rtol=1e-7)


@pytest.mark.slow
def test_second_derivatives_of_an_event_and_under_jit():
    args = (10.0, 2.0)
    time = fg.hessian(lambda h: fall(h, 2.0)[0])(10.0)
    assert time == pytest.approx(
        fg.hessian(lambda h: fall_in_closed_form(h, 2.0)[0])(10.0), rel=1e-5
    )
    jitted = fg.jit(fg.jacrev(fall, (0, 1)))
    for height in (10.0, 11.0):
        expected = fg.jacfwd(fall_in_closed_form, (0, 1))(height, args[1])
        np.testing.assert_allclose(jitted(height, args[1]), expected, rtol=1e-7)


@pytest.mark.slow
def test_derivatives_in_the_ends_of_the_interval():
    def final(span):
        return fg.solve_ivp(lambda t, y: -t * y, span, [1.0], rtol=1e-10, atol=1e-12).y[0, -1]

    t0, t1 = 0.5, 1.5
    y = np.exp((t0**2 - t1**2) / 2)
    assert final((t0, t1)) == pytest.approx(y)
    assert fg.grad(final)((t0, t1)) == pytest.approx((t0 * y, -t1 * y), rel=1e-6)


@pytest.mark.slow
def test_dense_output_is_differentiated_in_time_and_parameters():
    def state(k, t):
        return fg.solve_ivp(
            lambda t, y: -k * y, (0.0, 2.0), [1.0], dense_output=True, rtol=1e-9
        ).sol(t)[0]

    k, t = 0.8, 1.1
    got = fg.grad(state, (0, 1))(k, t)
    np.testing.assert_allclose(got, np.array([-t, -k]) * np.exp(-k * t), rtol=1e-5)


@pytest.mark.parametrize("made", [np.array, np.stack, list])
@pytest.mark.parametrize("solve_ivp", [fg.solve_ivp, integrate.solve_ivp])
def test_states_at_traced_times_are_differentiated_in_them(solve_ivp, made):
    def state(k):
        times = made([0.3, k])
        return solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [1.0], t_eval=times, rtol=1e-9).y[0, 1]

    assert fg.grad(state)(0.8) == pytest.approx(-1.6 * np.exp(-0.64), rel=1e-5)


@pytest.mark.slow
def test_vmap_at_given_times():
    def states(k):
        return fg.solve_ivp(lambda t, y: -k * y, (0.0, 2.0), [1.0], t_eval=[1.0, 2.0], rtol=1e-9).y[
            0
        ]

    k = np.array([0.1, 1.0, 10.0])
    np.testing.assert_allclose(
        fg.vmap(states)(k), np.exp(-k[:, None] * [1, 2]), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"t_span": 1.0}, ValueError, "t_span to be a pair"),
        ({"t_eval": 1.0}, ValueError, "t_eval to have one axis"),
        ({"t_eval": [9.5]}, ValueError, r"t_eval within t_span, from 0\.0 to 9\.0, but got 9\.5"),
        ({"t_span": (9, 0), "t_eval": [-1]}, ValueError, "t_eval within t_span, from 9 to 0, but"),
        ({"t_eval": [2.0, 1.0]}, ValueError, "increasing or decreasing"),
        ({"max_step": 0.0}, ValueError, "largest step to be positive, but got 0.0"),
        ({"args": 2.0}, TypeError, r"args to be a tuple, but got float; write args=\(x,\)"),
        ({"events": 2.0}, TypeError, "events to be a tuple, but got float"),
        ({"first_step": 0.0}, ValueError, "first_step to be positive"),
        ({"method": "BDF"}, ValueError, "Rodas5P"),
        ({"events": [1]}, TypeError, "a function as an event"),
        ({"events": lambda t, y: y}, TypeError, "an event that returns a real number"),
        ({"fun": None}, TypeError, "solve_ivp: expected a function"),
    ],
)
def test_errors(change, error, message):
    call = {"fun": lambda t, y: -y, "t_span": SPAN, "y0": Y0} | change
    with pytest.raises(error, match=message):
        fg.solve_ivp(**call)


def test_an_event_may_end_the_integration_at_a_whole_number_of_occurrences():
    def event(t, y):
        return y[0]

    event.terminal = 1.5
    with pytest.raises(ValueError, match="a bool or a positive int"):
        fg.solve_ivp(lambda t, y: -y, SPAN, [1.0], events=event)


def test_fields_of_a_solution_are_items():
    theirs = integrate.solve_ivp(predators, SPAN, Y0, t_eval=TIMES, args=RATES)
    ours = fg.solve_ivp(predators, SPAN, Y0, t_eval=TIMES, args=RATES)
    assert set(ours) == set(theirs)
    assert ours["success"]
    assert ours.get("message") == theirs["message"]
    assert "none" not in ours
    np.testing.assert_array_equal(ours["y"], ours.y)

    def f(a):
        return integrate.solve_ivp(predators, SPAN, Y0, args=(a, 1.0, 1.2))["y"][0, -1]

    def of_fields(a):
        return integrate.solve_ivp(predators, SPAN, Y0, args=(a, 1.0, 1.2)).y[0, -1]

    assert fg.grad(f)(1.5) == fg.grad(of_fields)(1.5) != 0.0
    assert fg.jvp(f, (1.5,), (1.0,)) == fg.jvp(of_fields, (1.5,), (1.0,))
