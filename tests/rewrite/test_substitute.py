"""Substitution of numbers, arrays and formulas for variables."""

import numpy as np
import pytest

import funcgrad as fg

x, y, v = fg.var("x"), fg.var("y"), fg.var("v", (3,))


@pytest.mark.parametrize("three", [3, 3.0, np.float32(3), np.int8(3), np.array(3), True + 2])
def test_a_number_takes_the_dtype_of_the_variable(three):
    for e in (fg.substitute(x**2 + y, {x: three}), fg.substitute(x**2 + y, x=three)):
        assert e.dtype == np.float64
        assert fg.same(e, fg.const(3.0) ** 2 + y)
        assert e(y=1.0) == 10.0


def test_an_array_takes_the_dtype_and_keeps_its_shape():
    assert fg.substitute(np.sum(v), v=[1, 2, 3])() == 6.0
    with pytest.raises(
        TypeError, match=r"expected float64\[3\] in the place of v, but got float64"
    ):
        fg.substitute(np.sum(v), v=1)


def test_signed_zeros_infinities_and_nan_are_kept():
    for number in (-0.0, np.inf, -np.inf, np.nan):
        found = fg.substitute(x * 1.0, x=number)()
        np.testing.assert_array_equal(found, number)
        assert np.signbit(found) == np.signbit(number)


def test_a_part_that_the_variable_cannot_hold_is_refused():
    with pytest.raises(TypeError, match="expected float64 in the place of x, but got complex128"):
        fg.substitute(x**2, x=1j)
    with pytest.raises(TypeError, match="expected int64 in the place of n, but got float64"):
        fg.substitute(fg.var("n", (), int) + 1, n=2.5)


@pytest.mark.parametrize("wrong", [(x, 3.0), ([(x, 3.0)],), (x,)])
def test_replacements_are_a_dict(wrong):
    with pytest.raises(
        TypeError, match=r"in a dict, but got .*; write substitute\(e, \{x: 3.0\}\)"
    ):
        fg.substitute(x**2, *wrong)
