"""Functions that transforms are given capture traced values: random programs against plain Python."""

import functools
import random

import numpy as np
import pytest

import funcgrad as fg
from tests.default_slice import one_in

W = np.array([0.5, -1.0, 0.25])
X, Y = np.array([0.4, -0.7, 0.9]), np.array([-0.2, 0.5, 0.3])


def wave(t, s, e):
    return np.sin(t * e) * s


def slope(t, s, e):
    return np.cos(t * e) * e * s


def custom(kind, s, e):
    """`wave` in its first argument, with its rule; it captures the others."""

    def f(t):
        return wave(t, s, e)

    made = kind(f)
    if kind is fg.custom_vjp:
        made.defvjp(lambda t: (f(t), t), lambda t, g: (g * slope(t, s, e),))
    else:
        made.defjvp(lambda primals, tangents: (made(*primals), tangents[0] * slope(*primals, s, e)))
    return made


def scanned(s, e):
    total = 0.0
    state = s
    for w in W:
        total, state = total + state * w, np.sin(state * e) + w * s
    return state + total


def by_scan(s, e):
    state, outputs = fg.scan(lambda c, w: (np.sin(c * e) + w * s, c * w), s, W)
    return state + np.sum(outputs)


def by_while(s, e):
    return fg.while_loop(lambda q: q[0] < 2, lambda q: (q[0] + 1, np.sin(q[1] * e) + s), (0, s))[1]


TERMS = {
    "custom_vjp": (lambda s, e: wave(s, s, e), lambda s, e: custom(fg.custom_vjp, s, e)(s)),
    "custom_jvp": (lambda s, e: wave(s, s, e), lambda s, e: custom(fg.custom_jvp, s, e)(s)),
    "grad": (lambda s, e: slope(s, s, e), lambda s, e: fg.grad(lambda t: wave(t, s, e))(s)),
    "hessian": (
        lambda s, e: -e * e * wave(s, s, e),
        lambda s, e: fg.hessian(lambda t: wave(t, s, e))(s),
    ),
    "jvp": (
        lambda s, e: slope(s, s, e) * e,
        lambda s, e: fg.jvp(lambda t: wave(t, s, e), (s,), (e,))[1],
    ),
    "vjp": (
        lambda s, e: slope(s, s, e) * e,
        lambda s, e: fg.vjp(lambda t: wave(t, s, e), s)[1](e)[0],
    ),
    "linearize": (
        lambda s, e: slope(s, s, e) * e,
        lambda s, e: fg.linearize(lambda t: wave(t, s, e), s)[1](e),
    ),
    "vmap": (
        lambda s, e: np.sum(wave(W, s, e)),
        lambda s, e: np.sum(fg.vmap(lambda t: wave(t, s, e))(W)),
    ),
    "scan": (scanned, by_scan),
    "while_loop": (lambda s, e: np.sin((np.sin(s * e) + s) * e) + s, by_while),
    "checkpoint": (
        lambda s, e: wave(s, s, e) + s,
        lambda s, e: fg.checkpoint(lambda t: wave(t, s, e) + s)(s),
    ),
    "jit": (
        lambda s, e: wave(s, s, e) + s,
        lambda s, e: fg.jit(lambda t: wave(t, s, e) + s)(s),
    ),
    "cond": (
        lambda s, e: wave(s, s, e) if s > 0.2 else slope(s, s, e),
        lambda s, e: fg.cond(s > 0.2, lambda: wave(s, s, e), lambda: slope(s, s, e)),
    ),
}
"""Terms of a number and of an entry of x: in plain Python, and by a transform of what captures them."""
STEPS = [
    lambda s, e: np.sin(s * e + 0.3),
    lambda s, e: s * e * 0.5 + 0.1,
    lambda s, e: np.tanh(s) + e * s * s * 0.2,
]


def program(draw, depth):
    """Steps, and terms that are added to what a program inside makes of the same number."""
    made = []
    for _ in range(draw.randint(1, 2)):
        if depth == 0 or draw.random() < 0.3:
            made.append((draw.randrange(3), draw.randrange(len(STEPS)), None))
        else:
            made.append((draw.randrange(3), draw.choice(sorted(TERMS)), program(draw, depth - 1)))
    return made


def run(steps, s, x, transformed):
    for place, name, inside in steps:
        e = x[place]
        if inside is None:
            s = STEPS[name](s, e)
        else:
            s = run(inside, s, x, transformed) + TERMS[name][transformed](s, e)
    return s


TRANSFORMS = {
    "value": lambda f: f,
    "grad": fg.grad,
    "jacfwd": fg.jacfwd,
    "hessian": fg.hessian,
    "jit": lambda f: fg.jit(fg.grad(f)),
    "vmap": lambda f: lambda x: fg.vmap(fg.grad(f))(np.stack([x, Y])),
    "third order": lambda f: fg.grad(lambda x: np.sum(fg.hessian(f)(x) * np.outer(X, Y))),
}


@pytest.mark.parametrize("seed", one_in(12, range(60)))
def test_random_programs_of_functions_that_capture(seed):
    steps = program(random.Random(seed), 2)
    plain, transformed = [
        functools.partial(lambda way, x: run(steps, x[0] + 0.1, x, way), way) for way in (0, 1)
    ]
    for name, transform in TRANSFORMS.items():
        expected = np.asarray(transform(plain)(X))
        tolerance = 1e-10 * max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(
            transform(transformed)(X), expected, rtol=1e-9, atol=tolerance, err_msg=name
        )


# -- functions that are returned ----------------------------------------------------------------------
def held_in_default(a):
    return lambda x, a=a: a * x


def held_in_class(a):
    class Held:
        weight = a

        def __call__(self, x):
            return self.weight * x

    return Held


def held_in_closure(a):
    return lambda x: a * x


@pytest.mark.parametrize("f", [held_in_default, held_in_class, held_in_closure])
def test_jit_refuses_a_result_that_holds_the_values_of_one_call(f):
    with pytest.raises(TypeError, match="later calls would return the same one"):
        fg.jit(f)(2.0)
    with pytest.raises(TypeError, match="later calls would return the same one"):
        fg.jit(lambda a: {"made": [f(a)], "value": a})(2.0)


def test_jit_returns_functions_and_classes_that_hold_no_traced_value():
    def f(a):
        return a, (lambda x, n=2: x * n), float

    value, double, kind = fg.jit(f)(3.0)
    assert (value, double(4.0), kind) == (3.0, 8.0, float)


@pytest.mark.parametrize("f", [held_in_default, held_in_class, held_in_closure])
def test_vmap_refuses_a_result_that_holds_the_value_of_an_example(f):
    with pytest.raises(TypeError, match="holds a value of one example"):
        fg.vmap(lambda a: (a, f(a)))(np.arange(3.0))


def test_vmap_returns_functions_that_hold_values_from_outside():
    def f(w):
        values, scaled = fg.vmap(lambda a: (a * w, lambda x: w * x))(np.arange(3.0))
        return np.sum(values) * scaled(2.0)

    assert fg.grad(f)(5.0) == 60.0
