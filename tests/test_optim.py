"""Optimizers against PyTorch, against steps worked out by hand, and against what differences say."""

from __future__ import annotations

import sys
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyrsistent import PMap, pmap
from toolz import compose

import funcgrad as fg
from funcgrad.optim import (
    Optimizer,
    adam,
    adamw,
    add_decayed_weights,
    apply_updates,
    chain,
    clip_by_global_norm,
    constant,
    cosine,
    exponential,
    global_norm,
    heavy_ball,
    linear,
    minimize,
    momentum,
    nesterov,
    piecewise,
    rmsprop,
    scale,
    scale_by_adam,
    scale_by_learning_rate,
    scale_by_rms,
    sgd,
    warmup,
)
from funcgrad.optim.quasi_newton import residuals_and_jacobian
from funcgrad.optim.ravel import layout, ravel
from funcgrad.trace.pytree import flatten
from tests.default_slice import one_in

pytestmark = pytest.mark.filterwarnings("error")

MATRIX = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])


def quadratic(p):
    """A loss on a tree with a curved part, so that gradients are different at each step."""
    return 0.5 * p["w"] @ MATRIX @ p["w"] + np.sin(p["b"]) * p["w"][0] + p["b"] ** 2


START = {"w": np.array([1.0, -2.0, 0.5]), "b": 0.7}


def trained(optimizer, params, steps, loss=quadratic):
    """The parameters after so many steps, the first included."""
    slope, state, path = fg.grad(loss), optimizer.init(params), [params]
    for _ in range(steps):
        updates, state = optimizer.update(slope(params), state, params)
        params = apply_updates(params, updates)
        path.append(params)
    return path


# -- against PyTorch, JAX, and by hand -----------------------------------------------------------
TORCH = {
    "sgd": (sgd(0.05), "SGD", {"lr": 0.05}),
    "momentum": (momentum(0.05, 0.9), "SGD", {"lr": 0.05, "momentum": 0.9}),
    "nesterov": (nesterov(0.05, 0.8), "SGD", {"lr": 0.05, "momentum": 0.8, "nesterov": True}),
    "sgd with momentum": (sgd(0.05, momentum=0.7), "SGD", {"lr": 0.05, "momentum": 0.7}),
    "adam": (adam(0.05), "Adam", {"lr": 0.05}),
    "adam with other means": (
        adam(0.1, b1=0.8, b2=0.95, eps=1e-3),
        "Adam",
        {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-3},
    ),
    "adamw": (adamw(0.05, weight_decay=0.3), "AdamW", {"lr": 0.05, "weight_decay": 0.3}),
    "rmsprop": (
        rmsprop(0.05, decay=0.99, eps_in_sqrt=False),
        "RMSprop",
        {"lr": 0.05, "alpha": 0.99},
    ),
    "rmsprop with momentum": (
        rmsprop(0.02, decay=0.9, eps=1e-6, eps_in_sqrt=False, momentum=0.5),
        "RMSprop",
        {"lr": 0.02, "alpha": 0.9, "eps": 1e-6, "momentum": 0.5},
    ),
    "weight decay of SGD": (
        chain(add_decayed_weights(0.2), sgd(0.05, momentum=0.9)),
        "SGD",
        {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.2},
    ),
    "weight decay of Adam": (
        chain(add_decayed_weights(0.2), adam(0.05)),
        "Adam",
        {"lr": 0.05, "weight_decay": 0.2},
    ),
}


def torch_path(torch, name, options, steps, clip=None, schedule=None):
    w = torch.tensor(START["w"], dtype=torch.float64, requires_grad=True)
    b = torch.tensor(START["b"], dtype=torch.float64, requires_grad=True)
    matrix = torch.tensor(MATRIX)
    optimizer = getattr(torch.optim, name)([w, b], **options)
    scheduler = schedule and schedule(optimizer)
    path = []
    for _ in range(steps):
        optimizer.zero_grad()
        (0.5 * w @ matrix @ w + torch.sin(b) * w[0] + b**2).backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_([w, b], clip)
        optimizer.step()
        if scheduler:
            scheduler.step()
        path.append({"w": w.detach().numpy().copy(), "b": float(b.detach())})
    return path


def assert_same_path(path, expected, rtol=1e-12):
    for ours, theirs in zip(path, expected, strict=True):
        np.testing.assert_allclose(ours["w"], theirs["w"], rtol=rtol, atol=rtol)
        np.testing.assert_allclose(ours["b"], theirs["b"], rtol=rtol, atol=rtol)


@pytest.mark.oracle
@pytest.mark.parametrize("name", TORCH)
def test_a_path_is_that_of_torch(name):
    torch = pytest.importorskip("torch")
    optimizer, theirs, options = TORCH[name]
    assert_same_path(trained(optimizer, START, 60)[1:], torch_path(torch, theirs, options, 60))


@pytest.mark.oracle
def test_clipping_is_that_of_torch_but_for_its_epsilon():
    torch = pytest.importorskip("torch")
    expected = torch_path(torch, "SGD", {"lr": 0.05}, 40, clip=0.5)
    path = trained(chain(clip_by_global_norm(0.5), sgd(0.05)), START, 40)
    assert_same_path(path[1:], expected, rtol=1e-5)  # torch divides by norm + 1e-6


@pytest.mark.oracle
def test_schedules_are_those_of_torch():
    torch = pytest.importorskip("torch")
    of = torch.optim.lr_scheduler
    pairs = [
        (exponential(0.1, 0.9), lambda o: of.ExponentialLR(o, 0.9)),
        (cosine(0.1, 50, end=0.01), lambda o: of.CosineAnnealingLR(o, 50, eta_min=0.01)),
        (linear(0.05, 0.1, 20), lambda o: of.LinearLR(o, 0.5, 1.0, 20)),
        (piecewise({0: 0.1, 5: 0.01, 9: 0.001}), lambda o: of.MultiStepLR(o, [5, 9], 0.1)),
        (compose(exponential(0.1, 0.5), lambda k: k // 7), lambda o: of.StepLR(o, 7, 0.5)),
    ]
    for schedule, theirs in pairs:
        expected = torch_path(torch, "Adam", {"lr": 0.1}, 30, schedule=theirs)
        assert_same_path(trained(adam(schedule), START, 30)[1:], expected)


@pytest.mark.oracle
def test_rmsprop_with_its_epsilon_in_the_root_is_that_of_jax():
    optimizers = pytest.importorskip("jax.example_libraries.optimizers")
    init, update, params_of = optimizers.rmsprop(0.05, gamma=0.9, eps=1e-3)
    state, slope, path = init(START["w"].astype(np.float32)), fg.grad(np.sum), []
    slope = fg.grad(lambda w: 0.5 * w @ MATRIX @ w)
    for k in range(20):
        grads = slope(np.asarray(params_of(state), float)).astype(np.float32)
        state = update(k, grads, state)
        path.append(np.asarray(params_of(state)))
    ours = trained(
        rmsprop(0.05, decay=0.9, eps=1e-3), START["w"], 20, lambda w: 0.5 * w @ MATRIX @ w
    )
    np.testing.assert_allclose(ours[1:], path, rtol=2e-4, atol=1e-5)  # JAX's in float32


def test_adam_by_hand():
    """Algorithm 1 of Kingma and Ba, line by line."""
    rng = np.random.default_rng(0)
    theta, m, v = rng.standard_normal(5), np.zeros(5), np.zeros(5)
    optimizer = adam(0.01, b1=0.85, b2=0.99, eps=1e-7)
    params, state = theta, optimizer.init(theta)
    for t in range(1, 30):
        g = rng.standard_normal(5)
        m = 0.85 * m + 0.15 * g
        v = 0.99 * v + 0.01 * g**2
        theta = theta - 0.01 * (m / (1 - 0.85**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-7)
        updates, state = optimizer.update(g, state, params)
        params = apply_updates(params, updates)
        np.testing.assert_allclose(params, theta, rtol=1e-13)
    assert state[0].count == 29
    np.testing.assert_allclose(state[0].mu, m, rtol=1e-13)


def test_closed_forms_on_a_quadratic():
    """x_k = (1 - r*a)^k x_0 for gradient descent; with momentum the recurrence of second order."""
    a, rate, decay = 3.0, 0.1, 0.6

    def loss(x):
        return 0.5 * a * x**2

    descent = trained(sgd(rate), 2.0, 25, loss)
    np.testing.assert_allclose(descent, 2.0 * (1 - rate * a) ** np.arange(26), rtol=1e-12)

    def closed(roots_of, first):
        one, two = np.roots(roots_of).astype(complex)
        c = np.linalg.solve([[1, 1], [one, two]], [2.0, first])
        return np.real(c[0] * one ** np.arange(26) + c[1] * two ** np.arange(26))

    ball = trained(momentum(rate, decay), 2.0, 25, loss)
    expected = closed([1, -(1 + decay - rate * a), decay], 2.0 * (1 - rate * a))
    np.testing.assert_allclose(ball, expected, rtol=1e-10, atol=1e-14)


def test_complex_moments_use_absolute_values():
    grads = np.array([3 + 4j, 0 - 2j])
    updates, (state, _) = adam(0.1, eps=0).update(grads, adam(0.1).init(grads))
    np.testing.assert_allclose(updates, -0.1 * grads / np.abs(grads))
    assert state.nu.dtype == np.float64
    assert global_norm([3 + 4j, 12.0]) == 13.0


# -- trees, dtypes, purity -----------------------------------------------------------------------
class Layer(NamedTuple):
    w: object
    b: object


ALL = {
    "sgd": sgd,
    "momentum": momentum,
    "nesterov": nesterov,
    "adam": adam,
    "adamw": adamw,
    "rmsprop": rmsprop,
    "rmsprop with momentum": partial(rmsprop, momentum=0.5, nesterov=True),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", ["named tuple", "pmap", "nested", "number", "scalar array"])
def test_trees_keep_their_types_and_do_not_matter(name, kind):
    w, b = np.array([1.0, -2.0]), 0.5
    params, grads = {
        "named tuple": (Layer(w, b), Layer(2 * w, -b)),
        "pmap": (pmap({"w": w, "b": b}), pmap({"w": 2 * w, "b": -b})),
        "nested": ([(w, {"b": b})], [(2 * w, {"b": -b})]),
        "number": (b, -b),
        "scalar array": (np.array(b), np.array(-b)),
    }[kind]
    optimizer = ALL[name](0.1)
    state = optimizer.init(params)
    for _ in range(3):
        updates, state = optimizer.update(grads, state, params)
        params = apply_updates(params, updates)
    if kind == "pmap":
        assert isinstance(params, PMap)
        assert isinstance(updates, PMap)
    elif kind != "scalar array":
        assert type(params) is type(grads)
    alone, state = b, optimizer.init(b)
    for _ in range(3):
        updates, state = optimizer.update(-b, state, alone)
        alone = apply_updates(alone, updates)
    leaves = flatten(params).leaves
    assert any(np.ndim(leaf) == 0 and leaf == alone for leaf in leaves)
    assert all(type(leaf) in (float, np.ndarray) for leaf in leaves)


@pytest.mark.parametrize("name", ALL)
def test_float32_stays_float32(name):
    params = {"w": np.ones(3, np.float32), "b": np.float32(2.0)}
    optimizer = ALL[name](compose(np.float64, exponential(0.1, 0.9)))
    updates, state = optimizer.update(params, optimizer.init(params), params)
    moved = apply_updates(params, updates)
    for tree in (updates, moved):
        assert {leaf.dtype for leaf in flatten(tree).leaves} == {np.dtype(np.float32)}
    arrays = [leaf for leaf in flatten(state).leaves if not isinstance(leaf, int)]
    assert {leaf.dtype for leaf in arrays} <= {np.dtype(np.float32)}
    wide = apply_updates(params, {"w": np.ones(3), "b": 1.0})
    assert wide["w"].dtype == np.float32


numbers = st.floats(-1e3, 1e3)


@given(
    st.sampled_from(sorted(ALL)),
    st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_an_update_is_pure(name, rows, steps):
    """The same in gives the same out, inputs stay as they are, and no state changes later."""
    params = {"w": np.array([row[0] for row in rows]), "b": rows[0][1]}
    grads = {"w": np.array([row[1] for row in rows]), "b": rows[0][0]}
    before = [np.array(leaf) for leaf in flatten((params, grads)).leaves]
    optimizer = chain(clip_by_global_norm(10.0), ALL[name](0.1))
    states, kept = [optimizer.init(params)], []
    for _ in range(steps):
        kept.append([np.array(leaf) for leaf in flatten(states[-1]).leaves])
        once, state = optimizer.update(grads, states[-1], params)
        twice, again = optimizer.update(grads, states[-1], params)
        assert_equal_trees((once, state), (twice, again))
        for leaf in flatten(apply_updates(params, once)).leaves:
            assert not any(np.shares_memory(leaf, other) for other in (params["w"], grads["w"]))
        states.append(state)
    for old, leaves in zip(states, kept, strict=False):
        assert_equal_trees(flatten(old).leaves, leaves)
    assert_equal_trees(flatten((params, grads)).leaves, before)


def assert_equal_trees(left, right):
    for a, b in zip(flatten(left).leaves, flatten(right).leaves, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", sorted(set(ALL) - {"sgd"}))
def test_a_state_refuses_assignment(name):
    params = np.ones(2)
    optimizer = ALL[name](0.1)
    state = optimizer.init(params)
    for old in (state, optimizer.update(params, state, params)[1]):
        arrays = [leaf for leaf in flatten(old).leaves if isinstance(leaf, np.ndarray)]
        assert arrays
        for array in arrays:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 5.0


def test_clipping_leaves_small_gradients_alone():
    grads = {"a": np.array([0.3, 0.4]), "b": 0.0}
    for limit in (0.5, 1.0):
        assert_equal_trees(clip_by_global_norm(limit).update(grads, ())[0], grads)
    zero, _ = clip_by_global_norm(1.0).update(np.zeros(2), ())
    assert_equal_trees(zero, np.zeros(2))
    large, _ = clip_by_global_norm(2.0).update([3e5, -4e5], ())
    assert global_norm(large) == pytest.approx(2.0, rel=1e-14)


# -- schedules -----------------------------------------------------------------------------------
def test_schedules_at_their_ends():
    led = warmup(cosine(0.1, 100, end=0.02), 10, start=0.01)
    assert led(0) == 0.01
    assert led(5) == pytest.approx(0.055, rel=1e-14)
    assert led(10) == 0.1
    assert led(60) == pytest.approx(0.06, rel=1e-14)
    assert led(110) == led(1000) == pytest.approx(0.02, rel=1e-14)
    assert type(led(60)) is float
    assert warmup(0.1, 4)(400) == constant(0.1)(3) == 0.1


@pytest.mark.parametrize("step", [0, 3, 10, 17, 30])
def test_schedules_of_traced_steps_and_rates(step):
    for schedule in (
        exponential(0.1, 0.5, 3),
        cosine(0.1, 20),
        linear(0.1, 0.3, 10),
        warmup(cosine(0.1, 20), 10),
        piecewise({0: exponential(0.3, 1e-3), 10: 0.2, 1000: exponential(0.1, 1e-3)}),
    ):
        program = fg.trace(schedule, float(step))
        at = {name: float(step) for name in ("step",)}
        assert fg.evaluate(program, at) == pytest.approx(schedule(step), rel=1e-14)
    slope = fg.grad(lambda rate: cosine(rate, 20)(5))(0.1)
    assert slope == pytest.approx((1 + np.cos(np.pi / 4)) / 2, rel=1e-14)


# -- differentiating through a step --------------------------------------------------------------
def unrolled(make, steps=5):
    """The loss after a few steps, as a function of a hyperparameter."""

    def final(hyper):
        return quadratic(trained(make(hyper), START, steps)[-1])

    return final


@pytest.mark.parametrize(
    ("make", "at"),
    one_in(
        3,
        [
            (sgd, 0.05),
            (momentum, 0.05),
            (nesterov, 0.05),
            (lambda decay: momentum(0.05, decay), 0.8),
            (adam, 0.05),
            (lambda b1: adam(0.05, b1=b1), 0.8),
            (lambda b2: adam(0.05, b2=b2), 0.95),
            (adamw, 0.05),
            (lambda decay: adamw(0.05, weight_decay=decay), 0.3),
            (rmsprop, 0.05),
            (lambda decay: rmsprop(0.05, decay), 0.8),
            (lambda rate: rmsprop(rate, momentum=0.5), 0.05),
            (lambda limit: chain(clip_by_global_norm(limit), sgd(0.05)), 1.0),
            (lambda rate: adam(cosine(rate, 4)), 0.05),
            (lambda rate: sgd(warmup(exponential(rate, 0.9), 2)), 0.05),
        ],
    ),
)
def test_the_hypergradient_is_that_of_finite_differences(make, at):
    fg.check_grads(unrolled(make), (at,), order=1, rtol=1e-6)


def test_the_gradient_in_the_first_parameters_flows_through_the_states():
    def final(params):
        return quadratic(trained(adam(0.05), params, 4)[-1])

    fg.check_grads(final, (START,), order=1, rtol=1e-6)


def test_a_step_of_expressions_is_a_formula():
    rate, x, g = fg.var("rate"), fg.var("x"), fg.var("g")
    updates, _ = sgd(rate).update(g, ())
    assert str(fg.simplify(apply_updates(x, updates))) == "x - g*rate"
    optimizer = adam(0.1)
    updates, state = optimizer.update(g, optimizer.init(x), x)
    assert fg.evaluate(updates, {"g": 2.0}) == pytest.approx(-0.1, rel=1e-7)
    assert fg.evaluate(state[0].nu, {"g": 2.0}) == pytest.approx(0.004, rel=1e-12)


# -- minimize ------------------------------------------------------------------------------------
def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def rosenbrock_residuals(x):
    return {"valley": 10 * (x[1:] - x[:-1] ** 2), "slope": 1 - x[:-1]}


@pytest.mark.parametrize(
    ("method", "options"),
    one_in(
        3,
        [
            ("sgd", {"learning_rate": 0.3}),
            ("momentum", {"learning_rate": 0.1}),
            ("nesterov", {"learning_rate": 0.1}),
            ("adam", {"learning_rate": 0.1}),
            ("rmsprop", {"learning_rate": exponential(0.1, 0.98)}),
            (adam(exponential(0.3, 0.99)), {}),
            (chain(clip_by_global_norm(1.0), sgd(0.3)), {}),
            ("lbfgs", {}),
        ],
    ),
)
def test_minimize_a_quadratic_to_its_closed_form(method, options):
    target = np.array([1.0, -2.0, 3.0])

    def loss(p, b):
        return 0.5 * p["x"] @ MATRIX @ p["x"] - b @ p["x"] + p["y"] ** 2

    x0 = {"x": np.zeros(3), "y": 1}
    if method == "lbfgs":
        pytest.importorskip("scipy")
    found = minimize(loss, x0, method, args=(MATRIX @ target,), **options)
    assert found.converged, found.message
    np.testing.assert_allclose(found.x["x"], target, atol=1e-5)
    assert found.x["y"] == pytest.approx(0.0, abs=1e-6)
    assert type(found.x["y"]) is float
    assert found.value == pytest.approx(-0.5 * target @ MATRIX @ target, rel=1e-10)
    np.testing.assert_array_equal(x0["x"], np.zeros(3))
    check_history(found, x0, lambda p: loss(p, MATRIX @ target))


def check_history(found, x0, loss):
    history = found.history
    assert len(history.value) == found.steps + 1
    np.testing.assert_array_equal(history.step, np.arange(found.steps + 1))
    assert history.value[0] == pytest.approx(loss(x0), rel=1e-14)
    assert history.value[-1] == found.value == pytest.approx(loss(found.x), rel=1e-14)
    norms = [np.max(np.abs(ravel(fg.grad(loss)(x)))) for x in (x0, found.x)]
    assert history.gradient_norm[0] == pytest.approx(norms[0], rel=1e-12)
    assert history.gradient_norm[-1] == pytest.approx(norms[1], rel=1e-6, abs=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        history.value[0] = 1.0


def test_minimize_by_adam_is_the_iteration_of_its_update():
    found = minimize(quadratic, START, adam(0.05), steps=12)
    path = trained(adam(0.05), START, 12)
    assert_equal_trees(found.x, path[-1])
    np.testing.assert_array_equal(found.history.value, [quadratic(p) for p in path])
    assert not found.converged
    assert "not converged at step 12: the largest entry" in found.message
    assert "above tol=1e-06; no more steps allowed" in found.message


@pytest.mark.parametrize("start", [[-1.2, 1.0], [-1.2, 1.0, -1.2, 1.0, 0.0], [5.0, -5.0, 3.0]])
def test_rosenbrock_by_lbfgs(start):
    pytest.importorskip("scipy")
    found = minimize(rosenbrock, np.array(start), "lbfgs", tol=1e-9)
    assert found.converged, found.message
    np.testing.assert_allclose(found.x, 1.0, atol=1e-8)
    check_history(found, np.array(start), rosenbrock)
    assert np.all(np.diff(found.history.value) <= 0)


@pytest.mark.parametrize("method", ["lm", "gauss-newton"])
@pytest.mark.parametrize("start", [[-1.2, 1.0], [-1.2, 1.0, 2.0]])
def test_rosenbrock_by_least_squares(method, start):
    pytest.importorskip("scipy")
    found = minimize(rosenbrock_residuals, np.array(start), method, tol=1e-9)
    assert found.converged, found.message
    np.testing.assert_allclose(found.x, 1.0, atol=1e-8)
    check_history(found, np.array(start), lambda x: 0.5 * rosenbrock(x))
    assert np.all(np.diff(found.history.value) <= 0)


def test_rosenbrock_by_adam():
    found = minimize(rosenbrock, np.array([-1.2, 1.0]), adam(0.05), steps=3000, tol=1e-6)
    assert found.converged, found.message
    np.testing.assert_allclose(found.x, 1.0, atol=1e-5)


@pytest.mark.parametrize("method", ["lm", "gauss-newton"])
def test_a_fit_of_a_curve_is_that_of_scipy(method):
    optimize = pytest.importorskip("scipy.optimize")
    rng = np.random.default_rng(1)
    t = np.linspace(0.0, 4.0, 30)
    y = 2.5 * np.exp(-1.3 * t) + 0.5 + 0.01 * rng.standard_normal(30)

    def residuals(p, t, y):
        return p["a"] * np.exp(-p["k"] * t) + p["c"] - y

    found = minimize(residuals, {"a": 1.0, "k": 1.0, "c": 0.0}, method, args=(t, y), tol=1e-10)
    assert found.converged, found.message
    expected, _ = optimize.curve_fit(
        lambda t, a, c, k: a * np.exp(-k * t) + c, t, y, [1.0, 0.0, 1.0], xtol=1e-14, ftol=1e-14
    )
    np.testing.assert_allclose(ravel(found.x), expected, rtol=1e-7)


def test_gauss_newton_solves_a_linear_problem_in_one_step_also_where_it_is_underdetermined():
    A = np.random.default_rng(2).standard_normal((3, 5))
    b = np.array([1.0, 2.0, 3.0])
    found = minimize(lambda x: A @ x - b, np.zeros(5), "gauss-newton", tol=1e-10)
    assert found.steps == 1
    np.testing.assert_allclose(found.x, np.linalg.pinv(A) @ b, rtol=1e-10)


@pytest.mark.parametrize(("rows", "columns"), [(2, 4), (4, 2)])
def test_the_jacobian_of_residuals_by_rows_and_by_columns(rows, columns):
    rng = np.random.default_rng(3)
    x = {"z": rng.standard_normal(columns) + 1j * rng.standard_normal(columns), "s": 0.3}
    A = rng.standard_normal((rows, columns)) + 1j * rng.standard_normal((rows, columns))

    def f(p):
        return (A @ (p["z"] ** 2) * p["s"], np.abs(p["z"][0]) * p["s"])

    at, places, h = ravel(x), layout(x), 1e-6
    value, matrix = residuals_and_jacobian(f, places, at)
    np.testing.assert_allclose(value, ravel(f(x)), rtol=1e-14)
    assert matrix.shape == (2 * rows + 1, 2 * columns + 1)
    for k, unit in enumerate(np.eye(len(at))):
        ahead, behind = [ravel(f(places.unravel(at + s * h * unit))) for s in (1, -1)]
        np.testing.assert_allclose(matrix[:, k], (ahead - behind) / (2 * h), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("method", ["lbfgs", sgd(0.1)])
def test_minimize_over_complex_numbers(method):
    pytest.importorskip("scipy")
    target = np.array([1 + 2j, -3j])
    found = minimize(lambda z: np.sum(np.abs(z - target) ** 2), np.zeros(2, complex), method)
    assert found.converged, found.message
    np.testing.assert_allclose(found.x, target, atol=1e-6)
    solved = minimize(lambda z: (1 + 1j) * (z - target), np.zeros(2, complex), "lm")
    np.testing.assert_allclose(solved.x, target, atol=1e-6)


def test_minimize_keeps_shapes_and_dtypes():
    pytest.importorskip("scipy")
    x0 = [np.ones((2, 2), np.float32), np.float32(1.0), Layer(np.zeros(0), np.ones(1))]

    def loss(x):
        return np.sum(x[0] ** 2) + x[1] ** 2 + np.sum((x[2].b - 1) ** 2) + np.sum(x[2].w)

    for method in ("lbfgs", "adam"):
        x = minimize(loss, x0, method, steps=20, tol=1e-3).x
        assert type(x[2]) is Layer
        for new, old in zip(flatten(x).leaves, flatten(x0).leaves, strict=True):
            assert new.dtype == old.dtype
            assert new.shape == old.shape


def test_no_steps_give_a_copy_of_the_start():
    x0 = np.array([1.0, 2.0])
    for method in ("adam", "gauss-newton"):
        found = minimize(lambda x: np.sum(x**2), x0, method, steps=0)
        assert found.steps == 0
        np.testing.assert_array_equal(found.x, x0)
        assert not np.shares_memory(found.x, x0)


def test_lbfgs_steps_back_into_the_domain():
    """From far off, the first trial step leaves the domain of the logarithm."""
    pytest.importorskip("scipy")
    for x0 in (1e-3, 5.0, 1e4):
        found = minimize(lambda x: x - np.log(x), x0, "lbfgs", tol=1e-8)
        assert found.converged, found.message
        assert found.x == pytest.approx(1.0, rel=1e-7)


def test_a_search_that_stalls_says_so():
    pytest.importorskip("scipy")
    # Near its minimum the value, 1e8 and a little, has no digits left for the gradient to lower.
    found = minimize(lambda x: 1e8 + np.sum(np.cosh(x - 1)), np.array([3.3, 2.0]), "lbfgs", tol=0)
    assert not found.converged
    assert "L-BFGS found no lower value" in found.message
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)
    t, start = np.linspace(0.0, 1.0, 7) ** 2, np.array([1.3, 0.4])
    for method, said in (("lm", "Marquardt found no lower value"), ("gauss-newton", "no step of")):
        found = minimize(lambda x: np.exp(x[0] * t) * x[1] - np.sin(7 * t), start, method, tol=0)
        assert not found.converged
        assert said in found.message
        assert found.history.gradient_norm[-1] < 1e-6


def test_the_progress_bar_shows_and_steps(capsys):
    pytest.importorskip("tqdm")
    minimize(quadratic, START, adam(0.05), steps=15, progress=True)
    shown = capsys.readouterr().err
    assert "15/15" in shown
    assert "value" in shown
    minimize(quadratic, START, adam(0.05), steps=15)
    assert capsys.readouterr().err == ""


# -- errors --------------------------------------------------------------------------------------
def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(ImportError, match=r"expected tqdm for progress=True.*pip install tqdm"):
        minimize(quadratic, START, progress=True)
    with pytest.raises(ImportError, match=r"expected SciPy for method='lbfgs'.*use 'adam'"):
        minimize(lambda x: x**2, 1.0, "lbfgs")
    with pytest.raises(ImportError, match=r"expected SciPy for method='lm'.*'gauss-newton'"):
        minimize(lambda x: x, 1.0, "lm")
    assert minimize(lambda x: x, 1.0, "gauss-newton").converged


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: minimize(quadratic, START, "newton"),
            ValueError,
            r"among 'sgd', .*'lbfgs', 'gauss-newton', 'lm', but got 'newton'",
        ),
        (
            lambda: minimize(quadratic, START, adam),
            TypeError,
            r"expected an optimizer or a name for method, but got function; write adam\(0.1\)",
        ),
        (
            lambda: minimize(np.sum, np.arange(3)),
            TypeError,
            r"values in x0, but got int64; convert it with x0.astype\(float\)",
        ),
        (lambda: minimize(np.sum, fg.var("x")), TypeError, "in x0, but got an expression"),
        (lambda: minimize(np.sum, "x"), TypeError, "in x0, but got an empty tree"),
        (lambda: minimize(np.sum, {}), TypeError, "but got an empty tree"),
        (lambda: minimize(3.0, 1.0), TypeError, "expected a function for f, but got float"),
        (
            lambda: minimize(lambda x: 2 * x, np.ones(3)),
            TypeError,
            r"return a real number, but got float64\[3\]; sum it, .* method='lm'",
        ),
        (
            lambda: minimize(lambda x: (x, x), 1.0, "lbfgs"),
            TypeError,
            "return a real number, but got tuple",
        ),
        (lambda: minimize(lambda x: 1j * x, 1.0), TypeError, "but got complex128"),
        (
            lambda: minimize(np.log, -1.0),
            FloatingPointError,
            "to be finite, but got the value nan at step 0; start elsewhere",
        ),
        (
            lambda: minimize(np.log, -1.0, "lbfgs"),
            FloatingPointError,
            "to be finite, but got the value nan at step 0",
        ),
        (
            lambda: minimize(np.log, -1.0, "lm"),
            FloatingPointError,
            "to be finite, but got the value nan at step 0",
        ),
        (
            lambda: minimize(lambda x: np.exp(x**2), 2.0, sgd(1.0)),
            FloatingPointError,
            "but got the value inf at step 1; .*clip the gradients",
        ),
        (
            lambda: minimize(np.cbrt, 0.0),
            FloatingPointError,
            "but got the gradient entry inf at step 0",
        ),
        (
            lambda: minimize(lambda x: x, np.ones(2), "lm", learning_rate=0.1),
            TypeError,
            "no learning_rate, which goes with the names of optimizers",
        ),
        (
            lambda: minimize(lambda x: x[:1], np.ones(2), "lm"),
            ValueError,
            r"as many residuals as unknowns \(2\) with method='lm', but got 1",
        ),
        (lambda: minimize(np.sum, 1.0, steps=-1), ValueError, "steps of at least 0, but got -1"),
        (lambda: minimize(np.sum, 1.0, tol=-1.0), ValueError, "tol of at least 0, finite"),
        (
            lambda: fg.grad(lambda a: minimize(lambda x: (x - a) ** 2, 1.0).x)(2.0),
            TypeError,
            "uses a value traced around it; .* an optimizer's update",
        ),
        (
            lambda: fg.grad(lambda a: minimize(lambda x: x - a, 1.0, "lm").x)(2.0),
            TypeError,
            "uses a value traced around it",
        ),
        (lambda: sgd("fast"), TypeError, "expected a number for the learning rate, but got str"),
        (lambda: sgd(-0.1), ValueError, "the learning rate of at least 0, finite, but got -0.1"),
        (lambda: sgd(fg.var("r", (2,))), TypeError, r"but got float64\[2\]"),
        (lambda: adam(b1=1.0), ValueError, r"scale_by_adam: expected b1 in \[0, 1\), but got 1.0"),
        (lambda: heavy_ball(True), TypeError, "a number for decay, but got bool"),
        (lambda: scale_by_rms(eps=-1.0), ValueError, "expected eps of at least 0"),
        (lambda: clip_by_global_norm(0.0), ValueError, "expected max_norm"),
        (lambda: chain(adam), TypeError, r"expected optimizers, but got function; call it"),
        (
            lambda: adam().update(np.ones(2), adam().init(np.ones(3))),
            TypeError,
            "update: expected trees of one structure and the same shapes, but got",
        ),
        (
            lambda: apply_updates({"a": 1.0, "b": np.ones(2)}, {"a": 1.0, "c": np.ones(2)}),
            TypeError,
            r"apply_updates: .* but got a, b\(2,\) and a, c\(2,\)",
        ),
        (
            lambda: apply_updates(np.arange(3), np.ones(3)),
            TypeError,
            r"float or complex parameters, but got int64; convert them with x.astype\(float\)",
        ),
        (
            lambda: adamw().update(1.0, adamw().init(1.0)),
            TypeError,
            r"expected the parameters, .* write update\(grads, state, params\)",
        ),
        (
            lambda: adam().update(1.0, sgd().init(1.0)),
            TypeError,
            "update: expected a state of 2 parts, but got tuple; make it with init",
        ),
        (lambda: piecewise({5: 0.1}), ValueError, r"first steps that rise from 0, but got \[5\]"),
        (lambda: piecewise({}), ValueError, r"first steps that rise from 0, but got \[\]"),
        (lambda: piecewise({0: 1.0, 9: 0.1, 5: 0.1}), ValueError, r"rise from 0, but got \[0, 9"),
        (lambda: cosine(0.1, 0), ValueError, "cosine: expected steps of at least"),
        (lambda: warmup("x", 5), TypeError, "warmup: expected a number for the rate, but got str"),
    ],
)
def test_errors_say_what_to_do(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_what_only_composes():
    """The parts by themselves make the whole, and scale and stateless ones keep nothing."""
    whole, parts = adam(0.1), chain(scale_by_adam(), scale(-0.1))
    assert_equal_trees(trained(whole, START, 5), trained(parts, START, 5))
    assert isinstance(whole, Optimizer)
    assert sgd(0.1).init(START) == scale_by_learning_rate(0.1).init(START) == ()


@pytest.mark.parametrize(
    ("name", "hint"), [("Adam", "; write adam"), ("SGD", "; write sgd"), ("xx", "")]
)
def test_the_names_of_classes_lead_to_functions(name, hint):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'{hint}$"):
        getattr(fg.optim, name)


@pytest.mark.parametrize("condition", [1.0, 10.0, 1e4])
def test_without_a_method_a_quadratic_is_solved(condition):
    target = np.array([1.0, -2.0])
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    hessian = turn @ np.diag([1.0, condition]) @ turn.T
    found = minimize(lambda x: (x - target) @ hessian @ (x - target) / 2, np.zeros(2))
    assert found.converged
    assert found.steps < 100
    np.testing.assert_allclose(found.x, target, rtol=0, atol=1e-8)
    assert repr(found.history) == f"History(steps 0 to {found.steps})"
    assert "tol=1e-06" in minimize(lambda x: x**2, 1.0, learning_rate=0.5, steps=1).message


@pytest.mark.parametrize(
    "options", one_in(2, [{}, {"method": "lbfgs"}, {"learning_rate": 0.1}, {"method": "sgd"}])
)
def test_minimize_takes_a_function_with_its_gradient(options):
    def distance(p, center):
        return np.sum((p["w"] - center) ** 2) + p["b"] ** 2

    start, center = {"w": np.array([3.0, -1.0]), "b": 2.0}, np.array([1.0, 2.0])
    want = minimize(distance, start, args=(center,), **options)
    got = minimize(fg.value_and_grad(distance), start, args=(center,), jac=True, **options)
    np.testing.assert_array_equal(got.x["w"], want.x["w"])
    assert (got.x["b"], got.message) == (want.x["b"], want.message)


@pytest.mark.parametrize(
    ("f", "options", "message"),
    [
        (lambda x: x**2, {}, "a pair of value and gradient with jac=True, but got float"),
        (lambda x: (x, {"a": x}), {}, "trees of one structure and the same shapes"),
        (lambda x: (np.ones(2), x), {}, "f to return a real number"),
        (lambda x: x, {"method": "lm"}, "no jac=True with method='lm'"),
    ],
)
def test_minimize_refuses_other_pairs(f, options, message):
    with pytest.raises(TypeError, match=message):
        minimize(f, 1.0, jac=True, **options)


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (
            lambda: adam(lr=0.1),
            r"^adam: expected options .* got lr; write learning_rate=0.1\n  at ",
        ),
        (lambda: adamw(betas=(0.9, 0.99)), r"but got betas; write b1=0.9, b2=0.999\n"),
        (lambda: sgd(0.1, momentums=0.9), r"but got momentums; write momentum=0.9\n"),
    ],
)
def test_options_of_other_libraries_say_what_to_write(call, remedy):
    with pytest.raises(TypeError, match=remedy):
        call()


def test_methods_of_other_libraries_optimizers_say_what_to_write():
    for name in ("step", "zero_grad"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; write updates, state = "):
            getattr(sgd(0.1), name)
    assert not hasattr(sgd(0.1), "other")
