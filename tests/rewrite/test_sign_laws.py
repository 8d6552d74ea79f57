"""Derivatives at 0 of programs that are smooth there, though abs(x) is not."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.rewrite.simplify import simplify_all

ODD = {
    "sign": lambda x: np.sign(x) * np.log1p(np.abs(x)),
    "sign, last": lambda x: np.expm1(np.abs(x)) * np.sign(x),
    "sign of a quotient": lambda x: np.sign(x) * (np.abs(x) / (1 + np.abs(x))),
    "size and sign apart": lambda x: np.copysign(np.abs(x), x) + np.sin(x) - x,
    "sign of a function of the size": lambda x: np.copysign(np.log1p(np.abs(x)), x),
    "copysign of another number": lambda x: np.copysign(2.0, x) * np.expm1(np.abs(x) / 2),
    "copysign": lambda x: np.copysign(1.0, x) * (1 - np.exp(-np.abs(x))),
    "where": lambda x: np.where(x < 0, -1.0, 1.0) * np.tan(np.fabs(x)),
    "where of whole numbers": lambda x: np.where(x >= 0, 1, -1) * np.arctan(np.sqrt(x**2)),
}
MODES = {
    "reverse": fg.grad,
    "forward": lambda f: lambda x: fg.jvp(f, (x,), (np.ones_like(x),))[1],
    "both": lambda f: lambda x: fg.hessian(lambda y: np.sum(f(y)))(x),
}


def _stable_sigmoid(x):
    z = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + z), z / (1 + z))


SIDES = {
    "sigmoid": (_stable_sigmoid, 0.25),
    "sigmoid, its sides in the other order": (
        lambda x: np.where(x < 0, 1 - fg.sigmoid(np.abs(x)), fg.sigmoid(np.abs(x))),
        0.25,
    ),
    "identity": (lambda x: np.where(x > 0, np.abs(x), -np.fabs(x)), 1.0),
    "identity, twice": (lambda x: np.where(x <= 0, -np.abs(x), np.abs(x)) * np.exp(0 * x), 1.0),
    "one side": (lambda x: np.where(x >= 0, np.expm1(np.abs(x)), 3 * x), 1.0),
    "the other side": (lambda x: np.where(x > 0, np.expm1(np.abs(x)), 3 * x), 3.0),
    "a sum": (lambda x: np.where(x >= 0, np.abs(x) + 2 * x, 3 * x), 3.0),
    "unit": (lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), 1.0),
    "maximum": (lambda x: np.where(x < 0, 4 * x, np.log1p(np.maximum(x, 0))), 1.0),
    "the other side of a tie": (
        lambda x: np.where(x >= 0, 2 * np.minimum(x, 0) + x, 3 * x),
        2.0,
    ),
    "a factor": (lambda x: np.where(x >= 0, 2.0, -2.0) * np.abs(x), 2.0),
}


@pytest.mark.parametrize("name", SIDES)
def test_a_side_of_zero_has_the_slope_of_abs_on_this_side(name):
    f, slope = SIDES[name]
    x = np.array([0.0, 0.5, -0.5, -0.0])
    expected = [slope, *[(f(t + 1e-6) - f(t - 1e-6)) / 2e-6 for t in (0.5, -0.5)], slope]
    for transform in (lambda f: f, fg.jit):
        gradient = transform(fg.grad(lambda x: np.sum(f(x))))(x)
        np.testing.assert_allclose(gradient, expected, rtol=1e-9)
        np.testing.assert_allclose(transform(MODES["forward"](f))(x), expected, rtol=1e-9)
        np.testing.assert_allclose(transform(fg.vmap(fg.grad(f)))(x), expected, rtol=1e-9)
    assert fg.gradient(f(fg.var("x")), fg.var("x"))(x=0.0) == slope


EVEN = {
    "cos": (lambda x: np.cos(np.abs(x)), -1.0),
    "size of a square": (lambda x: np.log1p(np.abs(x * x)), 2.0),
    "root of a power": (lambda x: np.sqrt((x * x) ** 2), 2.0),
    "of a root": (lambda x: np.cosh(np.sqrt(x**2)), 1.0),
    "product": (lambda x: np.abs(x) * np.sin(np.abs(x)), 2.0),
    "with a function of x": (lambda x: np.cos(np.abs(x)) * np.exp(x), 0.0),
}


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["", "jit"])
@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("name", ODD)
def test_an_odd_function_of_a_size_has_its_slope_at_zero(name, mode, transform):
    slope = transform(MODES[mode](ODD[name]))
    assert [slope(x) for x in (0.0, -0.0, np.float32(0.0))] == [1.0, 1.0, 1.0]
    vector = fg.grad(lambda x: np.sum(ODD[name](x)))(np.array([0.0, 0.5, -0.5]))
    np.testing.assert_allclose(vector, [1.0, slope(0.5), slope(-0.5)], rtol=1e-14)
    assert np.isnan(transform(MODES[mode](ODD[name]))(np.nan))


@pytest.mark.parametrize("name", EVEN)
def test_an_even_function_of_a_size_has_its_curvature_at_zero(name):
    f, curvature = EVEN[name]
    assert fg.grad(fg.grad(f))(0.0) == curvature
    assert MODES["forward"](MODES["forward"](f))(0.0) == curvature
    assert MODES["reverse"](MODES["forward"](f))(0.0) == curvature
    x = np.array([0.0, 0.3, 0.0])
    expected = np.diag([curvature, fg.grad(fg.grad(f))(0.3), curvature])
    np.testing.assert_allclose(MODES["both"](f)(x), expected, rtol=1e-13)
    np.testing.assert_allclose(fg.jit(MODES["both"](f))(x), expected, rtol=1e-13)


SQUARES = {
    "square": (lambda x: np.maximum(x, 0) ** 2, 1.0),
    "product": (lambda x: np.maximum(x, 0) * np.maximum(0, x), 1.0),
    "both sides": (lambda x: np.maximum(x, 0) ** 2 + np.minimum(x, 0) ** 2, 2.0),
    "with other factors": (lambda x: -np.exp(x) * fg.relu(x) ** 2 / 2, -0.5),
    "of a difference": (lambda x: 3 * np.clip(-x, 0, None) ** 2, 3.0),
}


@pytest.mark.parametrize("name", SQUARES)
def test_a_square_of_the_larger_of_x_and_zero_has_half_its_curvature_at_zero(name):
    f, curvature = SQUARES[name]
    for first in ("reverse", "forward"):
        for second in ("reverse", "forward"):
            assert MODES[second](MODES[first](f))(0.0) == curvature
    x = np.array([0.0, 0.3, -0.3])
    expected = np.diag([curvature, *[fg.grad(fg.grad(f))(t) for t in (0.3, -0.3)]])
    np.testing.assert_allclose(MODES["both"](f)(x), expected, rtol=1e-13)
    np.testing.assert_allclose(fg.jit(MODES["both"](f))(x), expected, rtol=1e-13)


def test_signs_that_a_program_multiplies_are_zero_at_zero():
    f = lambda x, y: np.sign(x) * (np.sign(x) * y)  # noqa: E731
    assert fg.grad(f, 1)(0.0, 2.0) == 0.0
    assert fg.jit(fg.grad(f, 1))(0.0, 2.0) == 0.0
    g = lambda x, y: np.sign(x) * (np.sign(x) * np.abs(x) * y)  # noqa: E731
    assert fg.grad(g, 1)(0.0, 2.0) == 0.0
    assert fg.grad(lambda x: np.sign(x) * np.abs(x - 1.0))(0.0) == 0.0


WHOLE = {
    "rounded": lambda x: (np.sign(x) * 0.5 + 0.7).astype(int),
    "a truth value of a sum": lambda x: (np.sign(x) + 1).astype(bool),
    "a truth value": lambda x: np.where(x < 0, -1, 1).astype(bool),
    "without signs": lambda x: np.where(x < 0, -1, 1).astype(np.uint8),
    "a choice without signs": lambda x: np.where(x >= 0, np.uint8(1), np.uint8(2)),
    "the least number": lambda x: np.where(x >= 0, np.int8(1), np.int8(-128)),
    "a product": lambda x: np.where(x >= 0, np.int8(1), np.int8(-1)) * np.int8(-128),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_made_of_a_sign_are_factors(name):
    for x in (-1.5, 1.5):
        expected = np.sign(x) * float(WHOLE[name](np.float64(x)))
        for transform in (lambda f: f, fg.jit):
            slope = transform(fg.grad(lambda x: WHOLE[name](x) * np.abs(x)))
            assert slope(x) == expected


def test_signs_in_the_program_of_a_derivative_are_zero_at_zero():
    x, y = fg.var("x"), fg.var("y")
    product = np.sign(x) * np.exp(y) * np.sign(x)
    (simple,) = simplify_all([product], mode="derivative")
    assert simple(x=0.0, y=1.0) == 0.0


def test_a_slope_of_abs_reads_as_a_sign():
    assert str(fg.grad(lambda x: np.abs(x) * 2).expr(1.0)) == "2*sign(x)"
    assert fg.to_python(fg.grad(np.abs).expr(1.0)).count("sign(") == 1
