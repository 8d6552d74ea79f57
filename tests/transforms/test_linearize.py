"""linearize and vjp: the linear map computed once, used often, transposed, nested."""

import warnings

import numpy as np
import pytest

import funcgrad as fg

rng = np.random.default_rng(11)
A = rng.normal(size=(3, 4))


def model(p):
    return {"h": np.tanh(A @ p["x"]) * p["s"], "n": np.sum(p["x"] ** 2)}


POINT = {"x": rng.normal(size=4), "s": 0.7}
MOVE = {"x": rng.normal(size=4), "s": -0.3}


def test_the_flow_is_that_of_jvp_and_can_be_used_again():
    value, flow = fg.linearize(model, POINT)
    expected, tangent = fg.jvp(model, (POINT,), (MOVE,))
    np.testing.assert_allclose(value["h"], expected["h"])
    for scale in (1.0, 2.0, -1.0):
        moved = {"x": scale * MOVE["x"], "s": scale * MOVE["s"]}
        np.testing.assert_allclose(flow(moved)["h"], scale * tangent["h"], rtol=1e-13)
        np.testing.assert_allclose(flow(moved)["n"], scale * tangent["n"], rtol=1e-13)


def test_the_pullback_is_the_transpose_of_the_flow():
    _, flow = fg.linearize(model, POINT)
    _, pullback = fg.vjp(model, POINT)
    for _ in range(3):
        g = {"h": rng.normal(size=3), "n": rng.normal()}
        (back,) = pullback(g)
        moved = flow(MOVE)
        left = g["h"] @ moved["h"] + g["n"] * moved["n"]
        right = back["x"] @ MOVE["x"] + back["s"] * MOVE["s"]
        np.testing.assert_allclose(left, right, rtol=1e-12)


def test_what_does_not_depend_on_the_seed_is_computed_once():
    calls = []

    def counted(x):
        calls.append(1)
        return np.sin(x)

    slow = fg.primitive(counted, [lambda x: fg.primitive(counted)(x + np.pi / 2)])
    _, pullback = fg.vjp(lambda x: np.sum(slow(x) ** 2), np.ones(3))
    before = len(calls)
    for _ in range(5):
        pullback(1.0)
    assert len(calls) == before


def test_the_linear_map_is_an_expression():
    _, flow = fg.linearize(lambda x, y: np.sin(x) * y, 0.0, 3.0)
    assert repr(flow.expr) == "3*dx"
    _, flow = fg.linearize(lambda p: (p["a"] * p["b"], p["a"]), {"a": 2.0, "b": 5.0})
    assert [repr(e) for e in flow.expr] == ["5*dp_a + 2*dp_b", "dp_a"]
    assert flow.expr[0](dp_a=1.0, dp_b=1.0) == 7.0


def test_nothing_that_the_pullback_keeps_is_the_callers():
    x = np.array([1.0, 2.0])
    _, pullback = fg.vjp(lambda x: x**3, x)
    _, flow = fg.linearize(lambda x: x**3, x)
    x[:] = 100.0
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [3.0, 12.0])
    np.testing.assert_array_equal(flow(np.ones(2)), [3.0, 12.0])


def test_both_nest_in_other_transforms():
    def through(x):
        _, flow = fg.linearize(lambda y: y**3 * x, x)
        _, pullback = fg.vjp(lambda y: y**3 * x, x)
        return flow(1.0) + pullback(x)[0]  # 3x^3 + 3x^4

    np.testing.assert_allclose(fg.grad(through)(2.0), 36.0 + 96.0)
    np.testing.assert_allclose(fg.grad(fg.grad(through))(2.0), 36.0 + 144.0)
    xs = np.array([1.0, 2.0])
    np.testing.assert_allclose(fg.vmap(through)(xs), 3 * xs**3 + 3 * xs**4)
    rows = fg.vmap(fg.vjp(lambda x: A @ np.sin(x), POINT["x"])[1])(np.eye(3))[0]
    np.testing.assert_allclose(rows, fg.jacobian(lambda x: A @ np.sin(x))(POINT["x"]))


def test_a_pullback_that_outlives_the_trace_around_it_gives_numbers():
    kept = []

    def f(x):
        value, pullback = fg.vjp(lambda y: np.sin(y) * x, x)
        kept.append(pullback)
        return value

    fg.grad(f)(2.0)
    assert kept[0](1.0) == (2.0 * np.cos(2.0),)


def test_aux_and_loops():
    value, pullback, aux = fg.vjp(lambda x: (x * x, {"seen": x}), 3.0, has_aux=True)
    assert (value, pullback(1.0), aux) == (9.0, (6.0,), {"seen": 3.0})

    def rolled(x):
        return fg.scan(lambda c, t: (np.sin(c * t), c), x, np.arange(1.0, 6.0))

    value, flow = fg.linearize(rolled, 0.3)
    expected = fg.jvp(rolled, (0.3,), (1.0,))
    np.testing.assert_allclose(flow(1.0)[1], expected[1][1])


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: fg.linearize(np.sin, 1.0)[1](), "expected 1 tangents, but got 0"),
        (lambda: fg.linearize(np.sin, 1.0)[1](np.ones(2)), "tangent of type float64"),
        (lambda: fg.vjp(np.sin, 1.0)[1](np.ones(2)), "cotangent of type float64"),
        (lambda: fg.vjp(model, POINT)[1](1.0), "cotangent of the structure"),
        (lambda: fg.linearize(3, 1.0), "linearize: expected a function"),
        (lambda: fg.linearize(np.sin, np.arange(3)), "linearize: expected float"),
        (lambda: fg.vjp(lambda x: x, 1.0, has_aux=True), "pair"),
    ],
)
def test_bad_input(act, message):
    with pytest.raises(TypeError, match=message):
        act()


@pytest.mark.parametrize(
    "slope",
    [
        lambda f, x: fg.vjp(f, x)[1](1.0)[0],
        lambda f, x: fg.linearize(f, x)[1](1.0),
        lambda f, x: fg.jvp(f, (x,), (1.0,))[1],
    ],
)
def test_a_constant_derivative_inside_another_is_no_cause_for_a_warning(slope):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fg.grad(lambda x: slope(lambda y: 3 * y, x))(2.0) == 0.0
        assert fg.jvp(lambda x: slope(lambda y: 3 * y, x), (2.0,), (1.0,)) == (3.0, 0.0)
        fg.check_grads(lambda x: 3 * x, (2.0,))


def test_gradients_of_while_loops_are_linearized():
    # The residuals are stacks of a length that is unknown until they are computed.
    def loop(x):
        return fg.while_loop(
            lambda s: (s[1] < 3) & (np.sum(s[0] ** 2) > 1e-3),
            lambda s: (np.where(s[0] > 0, 0.5 * np.sin(s[0]) * x, s[0] ** 2), s[1] + 1),
            (x, 0),
        )[0]

    def slope(x):
        return fg.grad(lambda y: np.sum(np.sin(loop(y)) * x))(x)

    x, v, w = np.array([1.0, -2.0, 0.3]), np.array([0.2, 0.5, -1.0]), np.array([0.3, 1.0, 2.0])
    _, flow = fg.linearize(slope, x)
    expected = fg.jvp(slope, (x,), (v,))[1]
    np.testing.assert_allclose(flow(v), expected)
    np.testing.assert_allclose(flow.expr(dx=v), expected)
    np.testing.assert_allclose(fg.from_json(fg.to_json(flow.expr))(dx=v), expected)
    np.testing.assert_allclose(fg.grad(lambda u: flow(u) @ w)(v), fg.vjp(slope, x)[1](w)[0])


def test_aux_is_handed_on():
    value, flow, aux = fg.linearize(lambda x: (np.sin(x), {"x": x}), 0.0, has_aux=True)
    assert (value, flow(2.0), aux) == (0.0, 2.0, {"x": 0.0})
    jitted = fg.jit(lambda x: fg.linearize(lambda x: (np.sin(x), x), x, has_aux=True)[2])
    assert jitted(3.0) == 3.0


def test_a_branch_on_values_of_the_trace_around_at_a_number_of_numpys():
    def f(x):
        return fg.linearize(lambda t: t * x if t > x else t, np.float64(1.5))[1](1.0)

    assert fg.jit(f)(1.25) == 1.25
    assert fg.grad(f)(1.25) == 1.0
    assert fg.jit(fg.grad(f))(1.25) == 1.0
