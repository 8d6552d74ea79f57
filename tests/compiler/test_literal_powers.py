"""Powers by whole and half numbers in machine code: to the last place, and C's at special values."""

import itertools
import math

import numpy as np
import pytest

from tests.default_slice import one_in

pytest.importorskip("llvmlite")

import funcgrad as fg
from funcgrad.compiler.native.literal_powers import has_fused_multiply_add
from funcgrad.compiler.native.loop_function import program_text
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.control.closed_program import body_of
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType

EXPONENTS = [-2.5, -1.5, -0.5, 1.5, 2.5]
WHOLE = [-64, -13, -12, -7, -6, -3, -2, 3, 4, 5, 6, 7, 12, 15, 21, 64]
SPECIAL = [0.0, 1.0, 2.0, 4.0, 5e-324, 3e-320, 2.2250738585072014e-308, 1e-205, 1e-150, 2.0**-300]
SPECIAL += [
    2.0**-299,
    2.0**300,
    2.0**301,
    1e123,
    1e150,
    1e205,
    1e216,
    1.7976931348623157e308,
    math.inf,
]
SPECIAL = np.array([*SPECIAL, *[-x for x in SPECIAL], math.nan])

fused = pytest.mark.skipif(not has_fused_multiply_add(), reason="a root is not faster here")


def powers(x, exponent):
    """The powers of an array, as machine code."""
    return fg.jit(lambda x: x**exponent, native=True)(x)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="NumPy has no wider type here")
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_powers_are_exact_to_one_unit_in_the_last_place(exponent):
    rng = np.random.default_rng(1)
    x = np.exp(np.concatenate([rng.uniform(-700, 700, 20000), rng.uniform(-2, 2, 20000)]))
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.longdouble), np.longdouble(exponent))
        want = exact.astype(float)
        got = powers(x, exponent)
    kept = np.isfinite(want) & (want > np.finfo(float).tiny)
    assert kept.mean() > 0.4
    assert np.max(np.abs(got - exact)[kept] / np.spacing(want[kept])) < 0.75
    np.testing.assert_array_equal(got[~np.isfinite(want)], want[~np.isfinite(want)])


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="NumPy has no wider type here")
@pytest.mark.parametrize("exponent", WHOLE)
def test_powers_by_whole_numbers_are_rounded_once(exponent):
    rng = np.random.default_rng(2)
    largest = 1.05 * 700 / abs(exponent)
    x = np.exp(np.concatenate([rng.uniform(-largest, largest, 20000), rng.uniform(-1, 1, 20000)]))
    x = np.where(np.arange(x.size) % 2, x, -x)
    with np.errstate(all="ignore"):
        exact = x.astype(np.longdouble) ** exponent
        want = exact.astype(float)
        got = powers(x, float(exponent))
    kept = np.isfinite(want) & (np.abs(want) > 2.0**-960)
    assert kept.mean() > 0.8
    error = np.abs(got - exact)[kept] / np.spacing(np.abs(want[kept]))
    assert np.max(error) < (0.501 if has_fused_multiply_add() else 1.0)
    np.testing.assert_array_equal(got[~np.isfinite(want)], want[~np.isfinite(want)])
    small = np.isfinite(want) & ~kept
    np.testing.assert_allclose(got[small], want[small], rtol=1e-15, atol=5e-324)


@pytest.mark.parametrize(
    ("exponent", "place"), one_in(3, itertools.product([*EXPONENTS, *WHOLE], [0, 1, 7]))
)
def test_special_values_in_every_lane(exponent, place):
    x = np.concatenate([np.ones(place), SPECIAL])
    with np.errstate(all="ignore"):
        want, got = np.power(x, float(exponent)), powers(x, float(exponent))
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    ends = ~np.isfinite(want) | (want == 0)
    np.testing.assert_array_equal(got[ends], want[ends])
    np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))
    np.testing.assert_array_max_ulp(got[~ends], want[~ends], 1)


@fused
def test_they_are_computed_by_roots():
    x = symbol("x", ArrayType((8,), np.dtype(float)))
    text, _ = program_text(flat_of(body_of([x], [x**-1.5])))
    assert "llvm.sqrt" in text
    assert "pow(double" not in text
    text, _ = program_text(flat_of(body_of([x], [x**3.5])))
    assert "pow(double" in text


@fused
@pytest.mark.parametrize(
    ("exponent", "has_pow"),
    [
        *[(3.0, False), (-2.0, False), (64.0, False), (-64.0, False)],
        *[(65.0, True), (-65.0, True), (-1.25, True), (3.5, True)],
    ],
)
def test_other_exponents_are_left_to_pow(exponent, has_pow):
    x = symbol("x", ArrayType((8,), np.dtype(float)))
    text, _ = program_text(flat_of(body_of([x], [x**exponent])))
    assert ("pow(double" in text) is has_pow


def test_powers_of_single_precision_are_products_in_double_precision():
    x = symbol("x", ArrayType((8,), np.dtype(np.float32)))
    text, _ = program_text(flat_of(body_of([x], [x**3, x**-1.5])))
    assert "pow(double" not in text


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_powers_of_two_by_an_array(dtype):
    x = np.array([*range(-1100, 1100), 0.5, -0.3, math.inf, -math.inf, math.nan], dtype)
    with np.errstate(all="ignore"):
        found = fg.jit(lambda x: dtype(2) ** x, native=True)(x)
        want = np.exp2(x.astype(float)).astype(dtype)  # (np.exp2 of float32 is inexact at 127.)
    np.testing.assert_array_equal(found[:-5], want[:-5])
    np.testing.assert_array_max_ulp(found[-5:-3], want[-5:-3], 4)
    np.testing.assert_array_equal(found[-3:], want[-3:])


def test_exponents_that_are_no_literals_are_left_to_pow():
    x, y = (symbol(name, ArrayType((8,), np.dtype(float))) for name in "xy")
    text, _ = program_text(flat_of(body_of([x, y], [x**y])))
    assert "pow(double" in text


@pytest.mark.parametrize("exponent", [-1.5, -12, -2, 3, 6, 17])
def test_single_precision(exponent):
    x = np.array([0.25, 3.0, 1e-20, 1e20, math.inf, 1.1, 0.7, 1e-10], np.float32)
    x = np.concatenate([x, -x, [math.nan]]).astype(np.float32)
    with np.errstate(all="ignore"):
        found = powers(x, np.float32(exponent))
        want = np.power(x.astype(float), exponent).astype(np.float32)
    assert found.dtype == np.float32
    np.testing.assert_array_max_ulp(found, want, 1)
    np.testing.assert_array_equal(np.signbit(found)[:-1], np.signbit(want)[:-1])


def test_gradients():
    x = np.array([0.3, 2.0, 5.0])
    slope = fg.jit(fg.grad(lambda x: np.sum(x**-1.5)), native=True)(x)
    np.testing.assert_allclose(slope, -1.5 * x**-2.5, rtol=1e-15)


def test_gradients_of_whole_powers():
    x = np.array([0.3, -2.0, 5.0])

    def f(x):
        return np.sum(x**-12 - x**-6)

    np.testing.assert_allclose(fg.jit(f, native=True)(x), f(x), rtol=1e-14)
    slope = fg.jit(fg.grad(f), native=True)(x)
    np.testing.assert_allclose(slope, 6 * x**-7 - 12 * x**-13, rtol=1e-13)
