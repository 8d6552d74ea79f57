"""Elementwise operations on repeated values are done before these are repeated, to the bit."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program, interpret
from funcgrad.compiler.numpy.branchless_select import masked
from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays, run_step_passes
from funcgrad.compiler.pass_options import PassOptions
from funcgrad.compiler.passes.broadcast_sinking import sink_broadcasts

V, M = fg.var("v", 3), fg.var("m", (3, 4))
AS_THEY_ARE = PassOptions(frozenset({"broadcast_sinking", "whole_program"}))
SUNK = PassOptions(frozenset({"whole_program"}), verify=True)


def wide(x, shape=(3, 4)):
    return np.broadcast_to(x, shape)


def shapes(root, inputs=(V, M)):
    flat = sink_broadcasts(flatten_program([root], inputs))
    return {step.op.name: step.type.shape for step in flat.steps}


def test_operations_on_repeated_values_are_done_once():
    total, rows = np.sum(V), np.sum(M, axis=1, keepdims=True)
    assert shapes(np.exp(-wide(total)))["exp"] == ()
    assert shapes(np.hypot(wide(total), wide(rows)))["hypot"] == (3, 1)
    assert shapes(np.where(wide(rows) > 0, wide(total), 2.0))["where"] == (3, 1)
    # A row and a column have as many entries together as their matrix.
    assert shapes(np.hypot(wide(rows), wide(np.sum(M, axis=0))))["hypot"] == (3, 4)
    assert shapes(wide(total) * M)["multiply"] == (3, 4)


def test_without_repeated_values_the_program_is_the_same():
    flat = flatten_program([np.exp(V)], [V])
    assert sink_broadcasts(flat) is flat


@pytest.mark.parametrize("size", [60, 4096])
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.std(x, axis=1)),
        lambda x: np.std(x) ** 3,
        lambda x: np.sum(np.max(x, axis=1) ** 2),
        lambda x: np.max(x),
        lambda x: np.sum(np.linalg.norm(x, axis=0)),
        lambda x: np.sum((x / np.linalg.norm(x, axis=1, keepdims=True)) ** 3),
    ],
)
def test_derivatives_keep_every_bit(f, size):
    rng = np.random.default_rng(0)
    value = rng.normal(size=(size // 4, 4))
    value[1] = value[1, 0]  # a deviation of 0, and ties
    value[2] = 0.0
    value[3, 1] = np.inf
    value[4, 2] = np.nan
    for given in (value, value[5:], np.zeros_like(value)):
        y = fg.var("x", given.shape)
        root = fg.grad(f).expr(y)
        got, expected = (compile_arrays([root], [y], how)(given) for how in (SUNK, AS_THEY_ARE))
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(
            np.signbit(got[0]) | np.isnan(got[0]), np.signbit(expected[0]) | np.isnan(got[0])
        )


def test_a_condition_that_is_repeated_masks_exactly():
    x = np.array([[1.0, np.inf, -0.0], [np.nan, -np.inf, 2.0]])
    for condition in (np.array([True]), np.array([[False], [True]]), np.array([True, False, True])):
        expected = np.where(condition, x, 0.0)
        for out in (None, np.empty_like(x)):
            np.testing.assert_array_equal(masked(condition, x, out), expected)
    single = x.astype(np.float32)
    assert masked(np.array([False]), single).dtype == np.float32


def test_machine_code_repeats_values_in_its_loops():
    flat = flatten_program([np.exp(-wide(np.sum(V)))], [V])
    assert run_step_passes(flat, native=True) == flat
    assert run_step_passes(flat) != flat
    x = np.linspace(0, 1, 3)
    np.testing.assert_array_equal(interpret(run_step_passes(flat), [x]), interpret(flat, [x]))


def test_a_deviation_is_asked_once_whether_it_is_zero():
    x = fg.var("x", 4096)
    flat = run_step_passes(flatten_program([fg.grad(np.std).expr(x)], [x]))
    assert {step.type.size for step in flat.steps if step.op.name == "not_equal"} == {1}


def test_an_operation_on_values_repeated_along_different_axes_has_all_entries():
    x = fg.var("x", 2)
    known = np.reshape(np.sum(x), 1)
    twice = np.broadcast_to(np.broadcast_to(-known, 2), (2, 2))
    total = np.broadcast_to(known, (2, 2)) + twice
    root = np.transpose(total) * np.reshape(np.broadcast_to(np.sum(x), 2), (2, 1))
    value = np.array([1.0, 2.5])
    for how in (SUNK, AS_THEY_ARE):
        (found,) = compile_arrays([root, np.sum(total, axis=0)][:1], [x], how)(value)
        np.testing.assert_array_equal(found, np.zeros((2, 2)))


def test_the_jitted_hessian_of_a_root_of_weighted_squares():
    w = np.array([2.0, 3.0])
    f = lambda x: np.cos(np.sqrt(np.sum(w * x**2)))  # noqa: E731
    for x in (np.zeros(2), np.array([0.3, -0.4])):
        np.testing.assert_allclose(fg.jit(fg.hessian(f))(x), fg.hessian(f)(x), rtol=1e-13)
