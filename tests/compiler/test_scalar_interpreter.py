"""Interpreted programs on numbers give the bits of the generated code."""

import gc
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings

import funcgrad as fg
from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.program import Program, lower
from funcgrad.compiler.python.scalar_codegen import compile_flat
from funcgrad.compiler.python.scalar_interpreter import interpret_scalars
from funcgrad.gc_pause import Paused
from funcgrad.ops.numpy.dispatch import all_ops
from tests.compiler.test_scalar_codegen import ARITIES, DTYPES, VALUES, expressions, numbers


def bits(values):
    parts = [(v.real, v.imag) for v in values]
    signs = [(math.copysign(1, re), math.copysign(1, im)) for re, im in parts]
    return [(type(v), str(v), sign) for v, sign in zip(values, signs, strict=True)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what infer gives for bools of arithmetic
@pytest.mark.parametrize("name", ARITIES)
def test_every_operation_is_interpreted_as_it_is_compiled(name):
    op = all_ops()[name]
    for kind, dtype in DTYPES.items():
        kinds = {"where": "b" + kind * 2, "mask": "b" + kind}.get(name, kind * ARITIES[name])
        inputs = [fg.var(f"x{i}", (), bool if k == "b" else dtype) for i, k in enumerate(kinds)]
        try:
            output = op(*inputs)
        except TypeError:
            continue
        flat = flatten_program([output], inputs)
        compiled, interpreter = compile_flat(flat), interpret_scalars(flat)
        assert (compiled is None) == (interpreter is None)
        if compiled is None:
            continue
        for values in itertools.product(*[VALUES[k][::3] for k in kinds]):
            assert bits(interpreter.run(values)) == bits(compiled(*values)), values


@settings(max_examples=50, derandomize=True)
@given(expressions(), numbers, numbers)
def test_random_programs_are_interpreted_as_they_are_compiled(outputs, x, y):
    flat = flatten_program(outputs, [fg.var("x"), fg.var("y")])
    compiled = compile_flat(flat)
    if compiled is not None:
        assert bits(interpret_scalars(flat).run([x, y])) == bits(compiled(x, y))


def test_arrays_are_not_interpreted_here():
    v = fg.var("v", 3)
    assert interpret_scalars(flatten_program([v * 2.0], [v])) is None
    assert interpret_scalars(flatten_program([np.sum(v)], [v])) is None


def long_sum(x, y, count=1300):
    total = x
    for k in range(count):
        total = np.sin(total) * y + x / (k + 1.0)
    return total


def test_a_large_jitted_function_is_compiled_after_some_calls(monkeypatch):
    from funcgrad.compiler.program import Program

    met = []
    compiled = Program.compiled.fget
    monkeypatch.setattr(
        Program, "compiled", property(lambda program: met.append(program) or compiled(program))
    )
    f = fg.jit(fg.value_and_grad(lambda x, y: long_sum(x, y, 700), argnums=(0, 1)))
    first = f(0.5, 0.25)
    assert not met
    later = [f(0.5, 0.25) for _ in range(12)]
    assert met
    assert all(value == first for value in later)
    assert type(first[0]) is float


def test_callers_that_hold_the_entry_of_a_large_program_run_its_compiled_function(monkeypatch):
    # The code of a jitted function holds it from the first call on.
    x, y = fg.var("x"), fg.var("y")
    program = lower([long_sum(x, y, 3000)], [x, y])
    entry = program.entry
    expected = entry(0.5, 2.0)
    found = program.compiled(0.5, 2.0)
    monkeypatch.delattr(Program, "run")
    assert entry(0.5, 2.0) == found == expected


def test_a_large_jitted_function_of_arrays_gives_the_same_in_all_tiers():
    x, y = np.linspace(0, 1, 5), np.linspace(1, 2, 5)
    f = fg.jit(lambda x, y: (long_sum(x, y), x))
    first = f(x, y)
    assert first[1] is not x
    for _ in range(8):
        np.testing.assert_array_equal(f(x, y), first)


@pytest.fixture
def frozen_again():
    """The objects of other tests are frozen at the end, since full collections would traverse them."""
    yield
    gc.freeze()


def test_many_new_objects_are_old_after_a_pause(frozen_again):
    gc.unfreeze()  # what another test has frozen
    with Paused():
        kept = [[k] for k in range(60_000)]
    assert gc.get_count()[0] < 60_000
    assert any(item is kept for item in gc.get_objects(generation=2))
    assert gc.get_freeze_count() == 0


def test_a_pause_leaves_what_the_user_has_frozen(frozen_again):
    gc.freeze()
    try:
        count = gc.get_freeze_count()
        with Paused():
            kept = [[k] for k in range(60_000)]
        assert gc.get_freeze_count() >= count - 10
        assert len(kept) == 60_000
    finally:
        gc.unfreeze()
