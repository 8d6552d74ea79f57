"""Indices in machine code: which are counted from the front and checked, and which cannot be outside."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.native.loop_function import program_text
from funcgrad.expr import symbol
from funcgrad.graph import ArrayType

SPECIAL = [0.0, -0.5, 1e300, -np.inf, np.nan, 7.0, -8.0, 2.0**62, -1e18]


def is_checked(f, *arrays):
    inputs = [symbol(f"i{k}", ArrayType(x.shape, x.dtype)) for k, x in enumerate(arrays)]
    text = program_text(flatten_program([fg.trace(f, *inputs)], inputs))[0]
    return "or i8" in text


def on_grid(at, n):
    return np.floor(at).astype(int) % n


@pytest.mark.parametrize(
    ("f", "checked"),
    [
        (lambda x, at: x[on_grid(at, 9)], False),
        (lambda x, at: x[(on_grid(at, 9) + 1) % 8], False),
        (lambda x, at: x[on_grid(at, 5)[::-1][:, None]], False),
        (lambda x, at: x[on_grid(at, 10)], True),
        (lambda x, at: x[on_grid(at, -9)], True),
        (lambda x, at: x[on_grid(at, 9) - 1], True),
        (lambda x, at: x[on_grid(at, np.floor(at).astype(int))], True),
        (lambda x, at: x[at.astype(int)], True),
    ],
)
def test_remainders_by_a_constant_are_not_checked(f, checked):
    x, at = np.arange(9.0), np.linspace(-20, 20, 9)
    assert is_checked(f, x, at) == checked
    for places in (at, np.array(SPECIAL)) if not checked else ():
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(fg.jit(f, native=True)(x, places), f(x, places))


def test_stores_at_remainders_are_not_checked():
    x, v = np.zeros((4, 6)), np.array(SPECIAL)
    at = np.linspace(-50, 50, 9)

    def f(x, v, at):
        i, j = on_grid(at, 4), on_grid(3 * at, 6)
        y, z = x.copy(), x.copy()
        np.add.at(y, (i, j), v)
        z[j % 3, i] = v
        return y + z

    assert not is_checked(f, x, v, at)
    np.testing.assert_array_equal(fg.jit(f, native=True)(x, v, at), f(x, v, at))

    def slope(x, at):
        return fg.grad(lambda x: np.sum(np.sin(x[on_grid(at, 4), on_grid(at, 6)])))(x)

    assert not is_checked(slope, x, at)
    np.testing.assert_allclose(fg.jit(slope, native=True)(x, at), slope(x, at), rtol=1e-15)


@pytest.mark.parametrize(("n", "at"), [(10, -2.0), (-9, -6.0)])
def test_remainders_beyond_the_length_are_errors(n, at):
    f = fg.jit(lambda x, at: x[on_grid(at, n)], native=True)
    with pytest.raises(IndexError, match="out of bounds"):
        f(np.arange(5.0), np.array([0.0, at]))
