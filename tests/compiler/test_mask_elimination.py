"""Masks of sums whose terms are masked are left out, to the bit."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays, run_step_passes
from funcgrad.compiler.pass_options import PassOptions
from funcgrad.compiler.passes.mask_elimination import eliminate_masks
from funcgrad.ops.elementwise.selection import mask

X, Y = fg.vars("x y", 4)
P, Q, R = (fg.var(name, 4, bool) for name in "pqr")
INPUTS = [X, Y, P, Q, R]
MASKED = PassOptions(frozenset({"mask_elimination", "whole_program"}))
PLAIN = PassOptions(frozenset({"whole_program"}), verify=True)


@pytest.mark.parametrize(
    "root",
    [
        mask(np.logical_or(P, Q), mask(P, X) + mask(Q, Y)),
        mask(P | Q, mask(Q, X) + mask(P, Y)),
        mask(np.logical_or(P & Q, R), mask(P, mask(Q, X)) + mask(R, Y)),
        mask(np.logical_or(P, R), mask(P, mask(Q, X)) + mask(R, Y)),
    ],
)
def test_a_mask_that_the_terms_have_is_left_out(root):
    flat = flatten_program([root], INPUTS)
    made = eliminate_masks(flat)
    assert made.steps[made.results[0]].op.name == "add"
    assert run_step_passes(flat, native=True) == flat


@pytest.mark.parametrize(
    "root",
    [
        mask(np.logical_or(P, Q), mask(P, X) + Y),
        mask(np.logical_or(P, Q), mask(P, X) + mask(R, Y)),
        mask(np.logical_or(P & Q, R), mask(P, X) + mask(R, Y)),
        mask(np.logical_and(P, Q), mask(P, X) + mask(Q, Y)),
        mask(np.logical_or(P, Q), mask(P, X) * mask(Q, Y)),
        mask(np.logical_or(P, Q), mask(P, X) - mask(Q, Y)),
    ],
)
def test_other_masks_stay(root):
    flat = flatten_program([root], INPUTS)
    assert eliminate_masks(flat) is flat


FUNCTIONS = [
    lambda x: np.sum(np.maximum(x[1:] - x[:-1], 0) ** 2),
    lambda x: np.sum(np.maximum(x[::-1] * x, 0.5) * np.minimum(x, 1.0)),
    lambda x: np.sum(np.clip(x, -1, 1) * np.maximum(x, x[::-1])),
    lambda x: np.std(x) * np.max(x),
    lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0) + np.where(x < 1, np.log(1 - x), 0)),
]


@pytest.mark.parametrize("size", [40, 4096])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives_without_these_masks_keep_every_bit(f, size):
    x = fg.var("x", size)
    root = fg.grad(f).expr(x)
    value = np.random.default_rng(0).normal(size=size)
    special = value.copy()
    special[:8] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5]
    runs = [compile_arrays([root], [x], how) for how in (MASKED, PLAIN)]
    for given in (value, special, np.zeros(size), np.ones(size)):
        expected, got = (run(given)[0] for run in runs)
        np.testing.assert_array_equal(got, expected)
        there = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[there]), np.signbit(expected[there]))


def test_a_sum_of_rectified_differences_has_no_mask_of_a_sum():
    x = fg.var("x", 20)
    flat = run_step_passes(flatten_program([fg.grad(FUNCTIONS[0]).expr(x)], [x]))
    assert flat.steps[flat.results[0]].op.name == "add"
