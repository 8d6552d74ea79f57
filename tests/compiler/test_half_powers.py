"""Powers by half an odd integer in machine code: to one unit in the last place, and C's at special values."""

import itertools
import math

import numpy as np
import pytest

from tests.default_slice import one_in

pytest.importorskip("llvmlite")

import funcgrad as fg
from funcgrad.compiler.native.half_powers import halves_of, has_fused_multiply_add
from funcgrad.compiler.native.llvm_writer import Number, real
from funcgrad.compiler.native.loop_function import program_text
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.control.closed_program import body_of
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType

EXPONENTS = [-2.5, -1.5, -0.5, 1.5, 2.5]
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


@pytest.mark.parametrize(("exponent", "place"), one_in(3, itertools.product(EXPONENTS, [0, 1, 7])))
def test_special_values_in_every_lane(exponent, place):
    x = np.concatenate([np.ones(place), SPECIAL])
    with np.errstate(all="ignore"):
        want, got = np.power(x, exponent), powers(x, exponent)
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
    assert "@pow" not in text
    text, _ = program_text(flat_of(body_of([x], [x**3.5])))
    assert "@pow" in text


@fused
def test_exponents_that_are_not_literals_are_left_to_pow():
    assert halves_of(real(-1.5)) == -3
    assert halves_of(real(0.5)) is None
    assert halves_of(real(-1.25)) is None
    assert halves_of(Number("double", "%v1")) is None


def test_single_precision():
    x = np.array([0.25, 3.0, 1e-20, 1e20, math.inf], np.float32)
    found = powers(x, np.float32(-1.5))
    assert found.dtype == np.float32
    with np.errstate(all="ignore"):
        np.testing.assert_array_max_ulp(found, np.power(x, np.float32(-1.5)), 1)


def test_gradients():
    x = np.array([0.3, 2.0, 5.0])
    slope = fg.jit(fg.grad(lambda x: np.sum(x**-1.5)), native=True)(x)
    np.testing.assert_allclose(slope, -1.5 * x**-2.5, rtol=1e-15)
