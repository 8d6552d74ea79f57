"""Random programs, run side by side with plain NumPy: values, gradients, both modes."""

import warnings

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import funcgrad as fg
from tests.default_slice import examples

# Smooth and bounded, so that a difference is a fair judge.
UNARY = [np.sin, np.cos, np.tanh, np.arctan, lambda x: np.exp(-x * x), lambda x: x * 0.5 - 0.3]
UNARY += [lambda x: np.log(2 + np.cos(x)), lambda x: np.sqrt(1 + x * x), lambda x: -x]
UNARY += [lambda x: x / (1 + x**2), lambda x: np.square(x) * 0.1, lambda x: np.logaddexp(x, 0.2)]
BINARY = [np.add, np.subtract, np.multiply, np.hypot, np.logaddexp, np.arctan2]
BINARY += [lambda x, y: x / (2 + np.sin(y)), lambda x, y: np.where(x > y, x, y * 0.5)]
ARRAY = [
    lambda x: np.sum(x, axis=0),
    lambda x: np.mean(x, axis=-1, keepdims=True),
    lambda x: np.reshape(x, (-1,)),
    lambda x: np.transpose(x),
    lambda x: x[..., ::-1],
    lambda x: np.cumsum(x, axis=-1),
    lambda x: np.concatenate([x, x * 2], axis=-1),
    lambda x: np.stack([x, np.sin(x)]),
    lambda x: np.expand_dims(x, 0),
    lambda x: np.einsum("...i->...", x),
    lambda x: np.einsum("...i,...i->...i", x, np.tanh(x)),
    lambda x: x @ np.swapaxes(x, -1, -2) if x.ndim > 1 else x @ x,
    lambda x: np.tensordot(x, np.cos(x), axes=(0, 0)),
    lambda x: x[np.array([0, 0])],
    lambda x: x[..., np.arange(x.shape[-1]) % 2 == 0],
    lambda x: x[None, ..., 0],
    lambda x: np.prod(0.5 * x, axis=-1),
    lambda x: np.cumprod(x, axis=0),
    lambda x: np.log(np.sum(np.exp(x), axis=-1)),
    lambda x: np.linalg.norm(1 + x * x, axis=0),
    lambda x: np.var(x, axis=0),
    lambda x: np.roll(x, 1, axis=0),
    lambda x: np.repeat(x, 2, axis=-1),
    lambda x: np.pad(x, 1),
    lambda x: np.tril(x) if x.ndim > 1 else np.diag(x),
    lambda x: np.diff(x, axis=0),
    lambda x: np.outer(x, x),
    lambda x: np.where(np.arange(x.shape[-1]) % 2 == 0, x, np.sqrt(2 + np.sin(x))),
]

shapes = st.sampled_from([(), (1,), (3,), (2, 1), (1, 3), (2, 3), (0,), (2, 0), (0, 3)])


@st.composite
def programs(draw):
    """Steps ``(function, operand places)``, over two inputs of drawn shapes."""
    inputs = [draw(shapes), draw(shapes)]
    known = list(inputs)
    steps = []
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(["unary", "binary", "array"]))
        i = draw(st.integers(0, len(known) - 1))
        if kind == "binary":
            fits = [j for j in range(len(known)) if _fits(known[i], known[j])]
            j = draw(st.sampled_from(fits))
            step, shape = (draw(st.sampled_from(BINARY)), (i, j)), _shape(known[i], known[j])
        elif kind == "array" and known[i]:
            f = draw(st.sampled_from(ARRAY))
            shape = _result(f, known[i])
            if shape is None:
                continue
            step = (f, (i,))
        else:
            step, shape = (draw(st.sampled_from(UNARY)), (i,)), known[i]
        steps.append(step)
        known.append(shape)
    return inputs, steps


def _result(f, shape):
    """The shape that comes out; None where NumPy refuses, or has nothing to say, or it grows too large."""
    try:
        with np.errstate(divide="raise", invalid="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            result = f(np.ones(shape))
    except (IndexError, ValueError, FloatingPointError, RuntimeWarning):
        return None
    return result.shape if result.size <= 100 else None


def _fits(a, b):
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


def _shape(a, b):
    return np.broadcast_shapes(a, b)


def build(steps):
    def program(x, y):
        values = [x, y]
        for f, places in steps:
            values.append(f(*[values[i] for i in places]))
        return sum(np.sum(v * (k + 1)) for k, v in enumerate(values[2:])) + np.sum(x) * np.sum(y)

    return program


def sample(inputs, seed, dtype=float):
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.uniform(0.3, 1.7, shape), dtype) for shape in inputs]


@settings(max_examples=examples(200), derandomize=True)
@given(programs(), st.integers(0, 5))
def test_value_and_gradient_are_numpys(program, seed):
    inputs, steps = program
    f = build(steps)
    x, y = sample(inputs, seed)
    expected = f(x, y)
    assume(np.abs(expected) < 1e3)  # beyond that a difference has too few digits left
    value, (gx, gy) = fg.value_and_grad(f, argnums=(0, 1))(x, y)
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
    assert (np.shape(gx), np.shape(gy)) == (x.shape, y.shape)
    v, w = sample(inputs, seed + 100)
    slope = np.sum(gx * v) + np.sum(gy * w)
    np.testing.assert_allclose(slope, _slope(f, (x, y), (v, w)), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(fg.jvp(f, (x, y), (v, w))[1], slope, rtol=1e-9, atol=1e-10)


def _slope(f, at, along, h=1e-4):
    def moved(step):
        return f(*[x + step * v for x, v in zip(at, along, strict=True)])

    near = (moved(h) - moved(-h)) / (2 * h)
    far = (moved(2 * h) - moved(-2 * h)) / (4 * h)
    return (4 * near - far) / 3


@settings(max_examples=examples(150), derandomize=True)
@given(programs(), st.integers(0, 5))
def test_second_derivatives_agree_by_two_routes(program, seed):
    inputs, steps = program
    f = build(steps)
    x, y = sample(inputs, seed)
    v, w = sample(inputs, seed + 7)
    slope = fg.grad(lambda x, y: fg.jvp(f, (x, y), (v, w))[1], argnums=(0, 1))(x, y)
    pushed = fg.jvp(fg.grad(f, argnums=(0, 1)), (x, y), (v, w))[1]
    for a, b in zip(slope, pushed, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-8)


@settings(max_examples=examples(150), derandomize=True)
@given(programs(), st.integers(0, 5))
def test_float32_programs_stay_float32(program, seed):
    inputs, steps = program
    f = build(steps)
    x, y = sample(inputs, seed, np.float32)
    value, (gx, gy) = fg.value_and_grad(f, argnums=(0, 1))(x, y)
    assert np.asarray(value).dtype == np.asarray(f(x, y)).dtype == np.float32
    assert (np.asarray(gx).dtype, np.asarray(gy).dtype) == (np.float32, np.float32)
    expected = fg.grad(f, argnums=(0, 1))(x.astype(float), y.astype(float))
    for a, b in zip((gx, gy), expected, strict=True):
        scale = np.max(np.abs(b), initial=1.0)
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3 * scale)


@settings(max_examples=examples(150), derandomize=True)
@given(programs(), st.integers(0, 5))
def test_each_argument_has_a_gradient_of_its_own_type(program, seed):
    inputs, steps = program
    f = build(steps)
    x, y = sample(inputs, seed)
    x = x.astype(np.float32)
    value, (gx, gy) = fg.value_and_grad(f, argnums=(0, 1))(x, y)
    assert np.asarray(value).dtype == np.asarray(f(x, y)).dtype
    assert (np.asarray(gx).dtype, np.asarray(gy).dtype) == (np.float32, np.float64)
    assert (np.shape(gx), np.shape(gy)) == (x.shape, y.shape)
    (hx,) = fg.vjp(lambda x: f(x, y), x)[1](np.asarray(1.0, np.asarray(value).dtype))
    np.testing.assert_allclose(hx, gx, rtol=1e-4, atol=1e-4 * np.max(np.abs(gx), initial=1.0))


@settings(max_examples=examples(200), derandomize=True)
@given(programs(), st.integers(0, 5))
def test_simplification_keeps_type_and_value(program, seed):
    inputs, steps = program
    x, y = sample(inputs, seed)
    expr = fg.trace(build(steps), x, y)
    simple = fg.simplify(expr)
    assert simple.type == expr.type
    assert fg.simplify(simple).key == simple.key
    given = {name: value for name, value in (("x", x), ("y", y)) if f"'{name}'" in _names(simple)}
    full = {name: value for name, value in (("x", x), ("y", y)) if f"'{name}'" in _names(expr)}
    np.testing.assert_allclose(simple(**given), expr(**full), rtol=1e-9, atol=1e-11)


def _names(expr):
    return str([node.params for node in expr.graph.values() if node.op.name == "input"])
