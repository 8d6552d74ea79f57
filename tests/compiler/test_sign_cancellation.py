"""Softplus and sigmoid in other forms, as exact as NumPy's exp is; minus signs that vanish, exactly."""

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program, interpret
from funcgrad.compiler.passes.sign_cancellation import cancel_signs

# Units in the last place: NumPy's own exp of float32 is wrong by up to 2.5.


def names(flat):
    return [step.op.name for step in flat.steps if step.op.name not in ("input", "constant")]


X, Y, Z = (fg.var(name, 5) for name in "xyz")
NEGATED = {
    "sum": (X + Y * (-Z), ["multiply", "subtract"]),
    "the other way round": ((-X) * Y / Z + Y, ["multiply", "divide", "subtract"]),
    "difference": (X - (-Y) / Z, ["divide", "add"]),
    "spread": (np.ones((3, 5)) + fg.exp(-np.broadcast_to(-X, (3, 5))) * 1.0, None),
    "two": ((-X) * Y + (-Y) * Z, ["negative", "multiply", "multiply", "subtract"]),
    "used again": ((-X) * Y + fg.exp((-X) * Y), ["negative", "multiply", "exp", "add"]),
    "taken away from": ((-X) * Y - Z, ["negative", "multiply", "subtract"]),
    "inside": (fg.exp(-X) + Y, ["negative", "exp", "add"]),
}


@pytest.mark.parametrize("name", NEGATED)
def test_minus_signs(name):
    root, want = NEGATED[name]
    inputs = [X, Y, Z]
    flat = flatten_program([root], inputs)
    changed = cancel_signs(flat)
    assert want is None or names(changed) == want
    rng = np.random.default_rng(0)
    values = [rng.normal(size=5) for _ in inputs]
    values[0][0], values[1][1], values[2][2] = np.inf, -np.inf, 0.0
    for got, expected in zip(interpret(changed, values), interpret(flat, values), strict=True):
        np.testing.assert_array_equal(got, expected)


# -- products ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 10, 100, 3000])
def test_a_gradient_with_a_common_factor(size):
    value = np.random.default_rng(2).uniform(-3, 3, size)
    g = fg.jit(fg.grad(lambda x: np.sum(np.sin(np.tanh(x) * np.log1p(np.exp(x))))))
    for _ in range(5):
        got = g(value)
    with mp.workdps(30):
        f = lambda v: mp.sin(mp.tanh(v) * mp.log1p(mp.exp(v)))  # noqa: E731
        want = [float(mp.diff(f, mp.mpf(v))) for v in value[:100].tolist()]
    np.testing.assert_allclose(got[:100], want, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("large", [1e300, np.inf])
def test_products_keep_the_order_of_their_factors(large):
    f = fg.jit(
        lambda a, b, large, c, t: (
            np.tanh(a) * (np.tanh(b) * (large * np.cos(c))) + np.cos(c) * np.tanh(t)
        )
    )
    tiny, zero = np.full(5, 1e-200), np.zeros(5)
    expected = [1e-200 * (1e-200 * large)] * 5
    assert f(tiny, tiny, np.full(5, large), zero, zero).tolist() == pytest.approx(expected)
