"""Constant factors come out of sums and products where that leaves less to do, and nowhere else."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program, interpret
from funcgrad.compiler.numpy.instruction_selection import select_instructions
from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays
from funcgrad.compiler.passes.constant_factoring import factor_constants
from funcgrad.graph import CONSTANT

X, Y, A = fg.var("x", (40, 30)), fg.var("y", (40, 30)), fg.var("A", (30, 3))
ROW = fg.var("r", 40)


def products(flat):
    """The sizes of the products that a program's results need, in order."""
    plan = select_instructions(flat)
    return [call.type.size for call in plan.calls if call.function.symbol == "multiply"]


CASES = {
    "sum": (np.sum(0.3 * X), [1]),
    "sum along an axis": (np.sum(0.3 * X, axis=1), [40]),
    "sum of two alike": (np.sum(0.3 * X + 0.3 * Y), [1]),
    "sum of opposites": (np.sum(0.3 * X + (-0.3) * Y, axis=0), [30]),
    "opposites, the negative one first": (np.sum((-0.3) * X + 0.3 * Y, axis=0), [30]),
    "difference of opposites": (np.sum(0.3 * X - (-0.3) * Y), [1]),
    "sum of others": (np.sum(0.3 * X + 0.7 * Y), [1200, 1200]),
    "matrix": ((0.3 * X) @ A, [120]),
    "vector": ((0.3 * ROW) @ X, [40]),
    "transposed": (X.T @ (0.3 * ROW), [40]),
    "near overflow": (np.sum(1e200 * X), [1200]),
    "near nothing": (np.sum(1e-200 * X), [1200]),
    "small": (np.sum(0.3 * fg.var("x", 4)), [4]),
    "variable": (np.sum(X * Y), [1200]),
    "repeated": (np.exp(2 * (X * ROW[:, None])), [40, 1200]),
    "repeated, the other way round": (np.exp((ROW[:, None] * X) * 2), [40, 1200]),
    "repeated, but not small": (np.exp(2 * (X * Y)), [1200, 1200]),
    "repeated, near overflow": (np.tanh(1e200 * (X * ROW[:, None])), [1200, 1200]),
}


@pytest.mark.parametrize("name", CASES)
def test_products_that_are_left(name):
    root, sizes = CASES[name]
    assert products(factor_constants(flatten_program([root], sorted_inputs(root)))) == sizes


def sorted_inputs(root):
    known = {"x": X if root.graph.get(X.key) else fg.var("x", 4), "y": Y, "A": A, "r": ROW}
    return list(known.values())


@pytest.mark.parametrize("name", CASES)
def test_values_agree(name):
    root, _ = CASES[name]
    inputs = sorted_inputs(root)
    rng = np.random.default_rng(0)
    values = [rng.normal(size=x.shape) for x in inputs]
    (want,) = interpret(flatten_program([root], inputs), values)
    (got,) = compile_arrays([root], inputs)(*values)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13 * np.max(np.abs(want)))


def test_the_factor_of_opposites_is_positive():
    """A negative one takes an addition of 0.0 more, for the signs of zeros."""
    for root in (np.sum((-0.3) * X + 0.3 * Y, axis=0), np.sum(0.3 * X + (-0.3) * Y, axis=0)):
        made = factor_constants(flatten_program([root], [X, Y]))
        assert not any(step.op is CONSTANT and step.constant == 0.0 for step in made.steps)


def test_what_is_needed_twice_keeps_its_factor():
    y = 0.3 * X
    flat = flatten_program([np.sum(y), y], [X])
    assert products(factor_constants(flat)) == [1200]


def test_a_repeated_operand_that_is_needed_twice():
    y = X * ROW[:, None]
    assert products(factor_constants(flatten_program([np.exp(2 * y), y], [X, ROW]))) == [1200, 1200]


def test_infinities_stay():
    value = np.ones((40, 30))
    value[0, 0] = np.inf
    run = compile_arrays([np.sum(-0.5 * X, axis=0)], [X])
    assert run(value)[0][0] == -np.inf
    value[1, 0] = -np.inf
    assert np.isnan(run(value)[0][0])


def test_float32_stays():
    x = fg.var("x", 1000, "float32")
    (total,) = compile_arrays([np.sum(x * 0.5, axis=0)], [x])(np.ones(1000, "float32"))
    assert total.dtype == np.float32
    assert total == 500
