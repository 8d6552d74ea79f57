"""What depends on constants alone is computed when a program is compiled, to the bit."""

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program, interpret
from funcgrad.compiler.ir_rewriter import eliminate_dead_steps
from funcgrad.compiler.numpy.numpy_pipeline import compile_arrays
from funcgrad.compiler.pass_options import PassOptions
from funcgrad.compiler.passes.constant_folding import fold_array_constants
from funcgrad.expr import constant_of
from funcgrad.graph import Constant

X = fg.var("x", 6)
C = fg.const([0.5, -0.0, 2.0, np.inf, np.nan, 3.0])
UNFOLDED = PassOptions(frozenset({"constant_folding", "whole_program"}))
FOLDED = PassOptions(frozenset({"whole_program"}), verify=True)


def operations(flat):
    return {step.op.name for step in flat.steps} - {"input", "constant", "broadcast_to"}


@pytest.mark.parametrize(
    "constant",
    [
        np.cumsum(np.sin(C)),
        np.sort(C)[::-1],
        np.where(C > 1, C, 1 / C),
        C.at[[0, 0, 1]].add(1.0),
        np.convolve(C, C)[:6],
        (np.outer(C, C) @ np.linalg.inv(fg.const(np.diag(np.arange(1.0, 7)))))[2],
        np.sum(np.broadcast_to(np.tanh(C), (4, 6)), axis=0),
    ],
)
def test_operations_on_constants_are_folded_to_the_bit(constant):
    flat = flatten_program([constant * X, constant], [X])
    made = eliminate_dead_steps(fold_array_constants(flat))
    assert operations(made) == {"multiply"}
    x = np.linspace(-1, 1, 6)
    for own, plain in zip(interpret(made, [x]), interpret(flat, [x]), strict=True):
        np.testing.assert_array_equal(own, plain)
        np.testing.assert_array_equal(np.signbit(own), np.signbit(plain))
    run, other = (compile_arrays([constant * X], [X], options) for options in (FOLDED, UNFOLDED))
    np.testing.assert_array_equal(run(x)[0], other(x)[0])


def test_arrays_on_the_way_to_a_folded_one_are_not_kept():
    flat = flatten_program([np.exp(np.cumsum(np.tanh(np.sort(C)))) * X], [X])
    made = fold_array_constants(flat)
    assert [step.op.name for step in made.steps].count("constant") == 2
    assert [step.op.name for step in eliminate_dead_steps(made).steps][1:] == [
        "constant",
        "multiply",
    ]


def test_a_result_that_another_constant_reads_is_folded():
    sums = np.cumsum(np.tanh(C))
    flat = flatten_program([sums, np.sort(sums) * X], [X])
    assert operations(eliminate_dead_steps(fold_array_constants(flat))) == {"multiply"}


def test_a_broadcast_takes_no_memory():
    """One of any size is read by what is folded; one that the program reads stays a broadcast."""
    wide = np.broadcast_to(np.tanh(C), (10_000, 6))
    made = fold_array_constants(flatten_program([np.sum(wide, axis=0) * X, wide * X], [X]))
    made = eliminate_dead_steps(made)
    assert operations(made) == {"multiply"}
    assert max([step.constant.size for step in made.steps if step.op.name == "constant"]) == 6


def test_an_array_captured_by_reference_is_read_at_each_call():
    captured = constant_of(Constant(np.ones(6), captured=True))
    flat = flatten_program([np.cumsum(captured) * X], [X])
    assert fold_array_constants(flat) is flat


def test_a_result_that_is_folded_is_a_new_array_at_each_call():
    run = compile_arrays([np.cumsum(np.tanh(C))], [X], FOLDED)
    (first,) = run(np.ones(6))
    first[:] = 0
    np.testing.assert_array_equal(run(np.ones(6))[0], np.cumsum(np.tanh(C.value)))


def test_programs_without_such_operations_stay():
    flat = flatten_program([np.sin(C * X), np.broadcast_to(fg.const(2.0), 3)], [X])
    assert fold_array_constants(flat) is flat


def test_a_large_array_is_computed_at_each_call():
    large = np.outer(fg.const(np.arange(300.0)), fg.const(np.arange(300.0)))
    flat = flatten_program([np.sum(large) * X, np.sum(np.sin(large)) * X], [X])
    assert operations(fold_array_constants(flat)) == {"multiply", "sin", "sum"}


def test_a_function_of_the_user_runs_with_the_program():
    calls = []

    def twice(x):
        calls.append(1)
        return 2 * x

    f = fg.primitive(twice, [lambda x: 2.0])
    run = compile_arrays([f(C) + X], [X], FOLDED)
    before = len(calls)
    run(np.ones(6)), run(np.ones(6))
    assert len(calls) == before + 2


def test_an_error_is_raised_by_the_call():
    root = np.linalg.inv(fg.const(np.zeros((2, 2)))) @ X[:2]
    run = compile_arrays([root], [X], FOLDED)
    with pytest.raises(np.linalg.LinAlgError):
        run(np.ones(6))


@pytest.mark.parametrize("entries", [7, 100_000])
def test_a_captured_array_that_changes_counts_with_its_new_values(entries):
    weights = np.ones(entries)
    slope = fg.jit(fg.grad(lambda x: np.sum(np.cumsum(np.tanh(weights))[::-1] * x)))
    x = np.ones(entries)
    slope(x)
    weights[:] = np.linspace(0, 1, entries)
    np.testing.assert_allclose(slope(x), np.cumsum(np.tanh(weights))[::-1])
