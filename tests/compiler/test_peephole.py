"""Shortcuts give, bit by bit, what the steps give that they stand for: at ties, at infinities, at NaN."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.autodiff.accumulate import gradients
from funcgrad.compiler.flat_program import flatten_program, interpret, source_text
from funcgrad.compiler.numpy.numpy_codegen import compile_arrays
from funcgrad.compiler.passes.peephole import shortened
from funcgrad.rewrite.simplify import simplify_all

ODD = np.array([0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan, 1e-310])
SIZE = 3000


def pairs(dtype):
    """Every pair of odd values, and others."""
    x, y = (grid.ravel() for grid in np.meshgrid(ODD, ODD))
    more = np.random.default_rng(0).integers(-2, 3, (2, SIZE - x.size))
    return [np.concatenate([a, b]).astype(dtype) for a, b in zip((x, y), more, strict=True)]


def check(outputs, inputs, values, name):
    flat = flatten_program(outputs, inputs)
    assert name in [step.op.name for step in shortened(flat).steps]
    run = compile_arrays(outputs, inputs)
    assert f"{name}(" in source_text(run)
    for _ in range(2):
        for got, want in zip(run(*values), interpret(flat, values), strict=True):
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def slopes(f, *inputs):
    return simplify_all(gradients(np.sum(f(*inputs) * np.arange(1.0, SIZE + 1)), list(inputs)))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("f", "name"), [(np.maximum, "over"), (np.minimum, "under")])
def test_the_larger_and_the_smaller(f, name, dtype):
    x, y = fg.var("x", SIZE, dtype), fg.var("y", SIZE, dtype)
    check(slopes(f, x, y), [x, y], pairs(dtype), name)
    check(slopes(lambda x: f(x, 0), x), [x], pairs(dtype)[:1], name)
    narrow = fg.var("y", (), dtype)
    for value in (0.0, np.nan, np.inf, 1.0):
        made = slopes(lambda x: f(x, narrow), x)
        check(made, [x, narrow], [pairs(dtype)[0], np.array(value, dtype)], name)


def test_what_goes_back_may_be_infinite_where_nothing_is_chosen():
    x = fg.var("x", SIZE)
    made = simplify_all(gradients(np.sum(np.sqrt(np.maximum(x, 0))), [x]))
    check(made, [x], pairs("float64")[:1], "over")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gaps(dtype):
    x, y = fg.var("x", SIZE, dtype), fg.var("y", SIZE, dtype)
    check(slopes(np.logaddexp, x, y), [x, y], pairs(dtype), "gap")
    finite = [np.nan_to_num(value, posinf=3, neginf=-3) for value in pairs(dtype)]
    check(slopes(np.logaddexp, x, y), [x, y], finite, "gap")


@pytest.mark.parametrize("value", [0.0, np.inf, -np.inf, np.nan])
def test_gaps_to_a_total(value):
    x = fg.var("x", (60, 50))
    z = np.log(np.sum(np.exp(x), axis=1))
    (root,) = simplify_all([np.sum(z * np.arange(60.0))])
    made = simplify_all(gradients(root, [x]))
    given = np.random.default_rng(0).normal(size=(60, 50))
    given[3, 4] = value
    given[7] = value
    check(made, [x], [given], "gap")


def test_sums_of_what_is_masked():
    x = fg.var("x", (60, 50))
    b = fg.var("b", 50)
    made = simplify_all(gradients(np.sum(np.maximum(x + b, 0) ** 2), [b]))
    flat = flatten_program(made, [x, b])
    assert "any" in [step.op.name for step in flat.steps]
    run = compile_arrays(made, [x, b])
    assert "where" not in source_text(run)
    value = np.random.default_rng(0).normal(size=(60, 50))
    value[:, :5] = -1
    zeros = np.zeros(50)
    want = interpret(flat, [value, zeros])[0]
    np.testing.assert_array_equal(run(value, zeros)[0], want)
    assert not np.signbit(want[:5]).any()
