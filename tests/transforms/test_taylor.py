"""Taylor coefficients against mpmath at 30 digits, SymPy's series, and nested derivatives."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import funcgrad as fg
from funcgrad.expr import subexpressions
from funcgrad.ops.numpy.dispatch import all_ops
from funcgrad.trace.derive import derived, trace
from funcgrad.trace.pytree import flatten
from funcgrad.transforms.taylor import taylor
from tests.default_slice import examples, marked_slow, one_in
from tests.ops.samples import SAMPLES, call

m = mpmath


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


SCALAR = {
    "exp": (np.exp, m.exp, 0.3),
    "exp2": (np.exp2, lambda x: m.power(2, x), 0.3),
    "expm1": (np.expm1, m.expm1, 0.3),
    "log": (np.log, m.log, 0.7),
    "log2": (np.log2, lambda x: m.log(x) / m.log(2), 0.7),
    "log10": (np.log10, m.log10, 0.7),
    "log1p": (np.log1p, lambda x: m.log(1 + x), 0.7),
    "sqrt": (np.sqrt, m.sqrt, 0.7),
    "cbrt": (np.cbrt, m.cbrt, 0.7),
    "square": (np.square, lambda x: x * x, 0.7),
    "reciprocal": (np.reciprocal, lambda x: 1 / x, 0.7),
    "power": (lambda x: x**2.5, lambda x: x ** m.mpf(2.5), 0.7),
    "whole power": (lambda x: x**7, lambda x: x**7, -0.7),
    "negative power": (lambda x: x**-3, lambda x: x**-3, -0.7),
    "x to the x": (lambda x: x**x, lambda x: x**x, 0.7),
    "exponential": (lambda x: 3.0**x, lambda x: m.power(3, x), 0.7),
    "quotient": (lambda x: (1 + x) / (2 - x * x), lambda x: (1 + x) / (2 - x * x), 0.7),
    "sin": (np.sin, m.sin, 0.3),
    "cos": (np.cos, m.cos, 0.3),
    "tan": (np.tan, m.tan, 0.3),
    "arcsin": (np.arcsin, m.asin, 0.3),
    "arccos": (np.arccos, m.acos, 0.3),
    "arctan": (np.arctan, m.atan, 0.3),
    "arctan2": (lambda x: np.arctan2(x, 1 + x * x), lambda x: m.atan(x / (1 + x * x)), 0.3),
    "hypot": (lambda x: np.hypot(x, 1 + x), lambda x: m.sqrt(x * x + (1 + x) ** 2), 0.3),
    "sinh": (np.sinh, m.sinh, 0.3),
    "cosh": (np.cosh, m.cosh, 0.3),
    "tanh": (np.tanh, m.tanh, 0.3),
    "arcsinh": (np.arcsinh, m.asinh, 0.3),
    "arccosh": (np.arccosh, m.acosh, 1.7),
    "arctanh": (np.arctanh, m.atanh, 0.3),
    "sinc": (np.sinc, m.sincpi, 0.3),
    "sigmoid": (sigmoid, lambda x: 1 / (1 + m.exp(-x)), 0.3),
    "softplus": (lambda x: np.log1p(np.exp(x)), lambda x: m.log(1 + m.exp(x)), 0.3),
    "logaddexp": (
        lambda x: np.logaddexp(x, 2 * x),
        lambda x: m.log(m.exp(x) + m.exp(2 * x)),
        0.3,
    ),
    "entropy": (lambda x: x * np.log(x), lambda x: x * m.log(x), 0.7),
    "abs": (lambda x: np.abs(np.sin(x)), lambda x: -m.sin(x), -0.3),
    "maximum": (lambda x: np.maximum(np.exp(x), x), m.exp, 0.3),
    "where": (lambda x: np.where(x > 0, np.exp(x), x), m.exp, 0.3),
    "composite": (
        lambda x: np.exp(np.sin(x) / (1 + x**2)) * np.sqrt(1 + x),
        lambda x: m.exp(m.sin(x) / (1 + x**2)) * m.sqrt(1 + x),
        0.3,
    ),
}


def reference(g, x, order):
    """The coefficients at 30 digits, by mpmath's high-order differences at far more."""
    with mpmath.workdps(30):
        return [float(c) for c in mpmath.taylor(g, mpmath.mpf(x), order)]


@pytest.mark.parametrize("name", one_in(3, SCALAR))
def test_order_ten_to_the_last_digits(name):
    f, g, x = SCALAR[name]
    found = taylor(f, x, 10)
    wanted = reference(g, x, 10)
    scale = max(map(abs, wanted))
    np.testing.assert_allclose(found, wanted, rtol=2e-14, atol=4e-16 * scale)
    assert all(type(c) is float for c in found)


@pytest.mark.parametrize(
    ("f", "formula"),
    [
        (lambda x: np.tan(np.sin(x)), "tan(sin(x))"),
        (lambda x: np.exp(-(x**2)) * np.cos(3 * x), "exp(-x**2)*cos(3*x)"),
        (lambda x: np.log1p(x) / np.sqrt(1 + x), "log(1 + x)/sqrt(1 + x)"),
        (lambda x: (1 + x) ** (np.exp(x) + 0.5), "(1 + x)**(exp(x) + 1/2)"),
        (lambda x: 1 / np.cosh(x), "1/cosh(x)"),
        (lambda x: x**4 + 2 * x**3, "x**4 + 2*x**3"),
    ],
)
def test_series_at_zero_by_sympy(f, formula):
    sympy = pytest.importorskip("sympy")
    x = sympy.Symbol("x")
    series = sympy.series(sympy.sympify(formula, {"x": x}), x, 0, 8).removeO()
    wanted = [float(series.coeff(x, k)) for k in range(8)]
    np.testing.assert_allclose(taylor(f, 0.0, 7), wanted, rtol=1e-13, atol=1e-15)


# -- every operation, against nested pushforwards ------------------------------------------------
def nested(f, x, v, order):
    def shifted(t):
        return f([a + t * b for a, b in zip(x, v, strict=True)])

    found, g = [], shifted
    for k in range(order + 1):
        found.append(np.asarray(g(0.0)) / math.factorial(k))
        g = (lambda inner: lambda t: fg.jvp(inner, (t,), (1.0,))[1])(g)
    return found


def varying(name, args):
    op = all_ops()[name]
    return [k for k, arg in enumerate(args) if np.asarray(arg).dtype.kind in "fc" and op.edge(k)]


CASES = [
    (name, i)
    for name in sorted(SAMPLES)
    for i, sample in enumerate(SAMPLES[name])
    if varying(name, sample.args)
]


@pytest.mark.parametrize(("name", "i"), one_in(3, CASES))
def test_every_operation(name, i):
    op, sample = all_ops()[name], SAMPLES[name][i]
    args = [np.asarray(arg) for arg in sample.args]
    places = varying(name, args)
    run = call(op, sample.params)

    def f(values):
        filled = list(args)
        for k, value in zip(places, values, strict=True):
            filled[k] = value
        return run(*filled)

    rng = np.random.default_rng(5)
    x = [args[k] for k in places]
    v = [rng.normal(size=a.shape).astype(a.dtype) for a in x]
    found = taylor(f, x, 3, v)
    tolerance = 1e-4 if np.asarray(found[0]).dtype in ("float32", "complex64") else 1e-9
    for k, wanted in enumerate(nested(f, x, v, 3)):
        np.testing.assert_allclose(
            found[k], wanted, rtol=tolerance, atol=tolerance, err_msg=f"order {k}"
        )


STEPS = {
    "sin": lambda x, y: np.sin(x),
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (2 + y * y),
    "exp": lambda x, y: np.exp(-x),
    "root": lambda x, y: np.sqrt(1 + x * x),
    "matmul": lambda x, y: np.outer(x, y) @ x,
    "norm": lambda x, y: x / np.linalg.norm(y + 3),
    "flip": lambda x, y: x[::-1] + np.cumsum(y),
    "softmax": lambda x, y: np.exp(x) / np.sum(np.exp(x)),
    "where": lambda x, y: np.where(x > y, x, y * y),
}


@settings(max_examples=examples(40))
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5))
def test_random_programs(names):
    def f(values):
        (x,) = values
        y = x
        for name in names:
            x, y = STEPS[name](x, y), x
        return x

    x, v = [np.array([0.3, -0.2, 0.9])], [np.array([1.0, 0.5, -2.0])]
    for found, wanted in zip(taylor(f, x, 4, v), nested(f, x, v, 4), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-9)


# -- arguments and results -----------------------------------------------------------------------
def test_without_a_direction_each_entry_has_its_own():
    x = np.array([0.1, 0.2])
    found = taylor(np.sin, x, 5)
    for j in range(2):
        np.testing.assert_allclose([c[j] for c in found], reference(m.sin, x[j], 5), rtol=1e-14)


def test_trees():
    x, v = {"a": 2.0, "b": np.array([3.0, 4.0])}, {"a": 1.0, "b": np.array([0.0, 1.0])}
    found = taylor(lambda p: (p["a"] * p["b"], p["a"] ** 2), x, 2, v)
    wanted = [([6, 8], 4), ([3, 6], 4), ([0, 1], 1)]
    for (a, b), (first, second) in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, first)
        assert b == second


def test_polynomials_end():
    assert taylor(lambda x: x**4, 0.0, 6) == (0, 0, 0, 0, 1, 0, 0)
    assert taylor(lambda x: 5.0, 1.0, 2) == (5, 0, 0)
    assert taylor(np.floor, 1.5, 1) == (1, 0)
    assert taylor(np.exp, 0.0, 0) == (1,)


def test_what_is_not_selected_stays_out():
    assert taylor(lambda x: np.where(x > 0, np.sqrt(x), 0 * x), 0.0, 3) == (0, 0, 0, 0)


def test_float32_stays():
    found = taylor(np.exp, np.float32(0.5), 3)
    assert {np.asarray(c).dtype for c in found} == {np.dtype("float32")}


def test_complex_points():
    z = 0.3 + 0.4j
    wanted = [complex(c) for c in mpmath.taylor(m.tan, z, 6)]
    np.testing.assert_allclose(taylor(np.tan, z, 6), wanted, rtol=1e-10)


def test_errors():
    with pytest.raises(ValueError, match="taylor: expected an order of 0 or more, but got -1"):
        taylor(np.exp, 0.0, -1)
    with pytest.raises(TypeError, match="taylor: expected a direction of type"):
        taylor(np.exp, 0.0, 2, np.ones(3))
    with pytest.raises(TypeError, match="taylor: expected float or complex values"):
        taylor(np.exp, np.arange(3), 2)
    with pytest.raises(TypeError, match="taylor: expected a function"):
        taylor(3.0, 1.0, 2)


# -- with other transforms -----------------------------------------------------------------------
def test_inside_a_gradient():
    # d/dx of f''(x)/2 is f'''(x)/2.
    found = fg.grad(lambda x: taylor(np.tan, x, 2)[2])(0.3)
    np.testing.assert_allclose(found, 3 * taylor(np.tan, 0.3, 3)[3], rtol=1e-13)


def test_of_a_gradient():
    def f(x):
        return np.exp(np.sin(x))

    found = taylor(fg.grad(f), 0.3, 5)
    whole = taylor(f, 0.3, 6)
    np.testing.assert_allclose(found, [(k + 1) * whole[k + 1] for k in range(6)], rtol=1e-12)


def test_of_the_outer_variable():
    # x appears inside as itself: d/dx of [t^1] (x*(x + t)) = d/dx x = 1.
    assert fg.grad(lambda x: taylor(lambda y: x * y, x, 1)[1])(3.0) == 1.0
    assert taylor(lambda x: taylor(lambda y: x * y, x, 1)[1], 3.0, 1) == (3.0, 1.0)


def test_of_taylor():
    inner = taylor(lambda x: taylor(np.exp, x, 3)[3], 0.5, 2)
    np.testing.assert_allclose(inner, [math.exp(0.5) / 6 / math.factorial(k) for k in range(3)])


def test_gradient_in_the_direction():
    x = np.array([0.3, 0.7])

    def along(v):
        return taylor(lambda x: np.prod(np.sin(x)), x, 2, v)[2]

    v = np.array([1.0, -2.0])
    hessian = fg.jvp(fg.grad(lambda x: np.prod(np.sin(x))), (x,), (v,))[1]
    np.testing.assert_allclose(fg.grad(along)(v), hessian, rtol=1e-12)


# -- cost ----------------------------------------------------------------------------------------
def composite(x):
    return np.exp(np.sin(x) * np.sqrt(1 + x * x)) / (1 + np.tanh(x) ** 3)


def nodes(f, order):
    return len(subexpressions(*trace(lambda x: taylor(f, x, order), 0.3)))


def test_cost_is_a_power_of_the_order():
    small, large, huge = (nodes(composite, order) for order in (5, 10, 20))
    # Twice the order costs four times as much; nested derivatives grow by more than half at each.
    assert large < 5 * small
    assert huge < 5 * large


@pytest.mark.parametrize(
    "f",
    one_in(3, [np.exp, np.sin, np.tan, np.tanh, np.sqrt, np.log, np.arctan, np.reciprocal]),
)
def test_closed_recurrences_cost_the_square_of_the_order(f):
    small, large = [nodes(lambda x: f(f(1 + x) + 1), order) for order in (8, 16)]
    assert large < 5 * small


@pytest.mark.parametrize("count", [600, marked_slow(1000)])
def test_a_long_chain(count):
    def f(x):
        for _ in range(count):
            x = x + 0.001 * np.sin(x)
        return x

    value, slope, bend = taylor(f, 0.5, 2)
    h = 1e-4
    np.testing.assert_allclose(slope, (f(0.5 + h) - f(0.5 - h)) / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(bend, (f(0.5 + h) - 2 * value + f(0.5 - h)) / (2 * h * h), rtol=1e-4)


def test_programs_are_kept():
    taylor(np.exp, 0.1, 4)
    before = derived.cache_info().misses
    taylor(np.exp, 0.2, 4)
    assert derived.cache_info().misses == before


def test_joining_many_parts_is_linear():
    def count(n):
        def f(x):
            return np.stack([np.sin(x[i]) * x[i + 1] for i in range(n)] + [np.float64(1)] * n)

        traced = trace(lambda x: taylor(f, x, 1), np.linspace(0, 1, n + 1))
        return sum(1 + len(e.args) for e in subexpressions(*traced))

    assert count(80) < 2.2 * count(40)


def test_a_loop_has_one_tangent_for_all_of_its_states():
    def step(state, x):
        p, q, r = state
        return (np.sin(q) * x, p + r * x, p * q), p * x

    def f(x):
        return fg.scan(step, (x[0], x[1], x[2]), x)

    x = np.array([0.3, -0.7, 1.1])
    traced = trace(lambda x: taylor(f, x, 1), x)
    assert sum(e.op.name == "loop" for e in subexpressions(*flatten(traced).leaves)) == 2
    _, slope, bend = taylor(f, x, 2)
    direction = np.ones(3)
    expected = fg.jvp(f, (x,), (direction,))[1]
    twice = fg.jvp(lambda x: fg.jvp(f, (x,), (direction,))[1], (x,), (direction,))[1]
    for got, wanted in ((slope, expected), (bend, twice)):
        scale = 1 if got is slope else 2
        for a, b in zip(flatten(got).leaves, flatten(wanted).leaves, strict=True):
            np.testing.assert_allclose(scale * a, b, rtol=1e-13)
