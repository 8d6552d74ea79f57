"""Random programs as machine code against NumPy: a few in every run, more with ``-m slow``."""

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.native.native_loop import NativeLoop
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.control.closed_program import body_of, symbol
from funcgrad.control.loop import LoopSpec, reference_loop
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType
from tests.fuzz.programs import Program
from tests.fuzz.slices import CHECKS
from tests.fuzz.strategies import programs
from tests.fuzz.values import generic_arguments, special_arguments

FAMILIES = ("elementwise", "arrays", "dtypes", "rolled", "nested")


def agree(program: Program, seed: int) -> bool:
    """Whether a program has machine code; if it has, its values are NumPy's."""
    args = [np.asarray(x) for x in generic_arguments(program, seed)]
    inputs = [symbol(f"i{k}", ArrayType(x.shape, x.dtype)) for k, x in enumerate(args)]
    try:
        outputs = [x for x in program.traced(*inputs) if isinstance(x, Expr)]
    except (TypeError, IndexError):  # it asks for values
        return False
    if not outputs:
        return False
    body, spec = body_of(inputs, outputs), LoopSpec(0, len(inputs), 1)
    run = NativeLoop(flat_of(body), None, spec, at_once=True).function(1)
    if run is None:
        return False
    steps = flatten_program(body.outputs, body.inputs).steps[len(inputs) :]
    exact = not any([step.operands and inexact(step.op) for step in steps])
    compared(run, body, spec, args, rtol=0.0 if exact else 1e-9)
    if exact:
        special = [np.asarray(x) for x in special_arguments(program, seed)]
        compared(run, body, spec, special, rtol=0.0)
    return True


def inexact(op: Any) -> bool:
    """Whether an operation rounds as libraries please, or holds programs that may."""
    columns = op.columns
    return (
        bool(columns.transcendental or columns.decompose or columns.machine) or op.name == "power"
    )


def compared(run: Any, body: Any, spec: LoopSpec, args: Any, rtol: float) -> None:
    """Compare machine code with NumPy; zeros have one sign where no operation is inexact."""
    operands = [x[None] for x in args]
    with np.errstate(all="ignore"):
        _, want = reference_loop(operands, body, None, spec)
    _, got = run(operands, 1)
    for one, other in zip(got, want, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        scale = np.max(np.abs(other[np.isfinite(other)]), initial=0.0) if other.size else 0.0
        own = rtol if one.dtype != np.float32 else min(rtol * 1e5, 1e-4)
        np.testing.assert_allclose(one, other, rtol=own, atol=own * float(scale))
        if rtol == 0.0 and one.dtype.kind == "f":
            kept = ~np.isnan(other)
            np.testing.assert_array_equal(np.signbit(one[kept]), np.signbit(other[kept]))


def many(family: str, examples: int, **options: Any) -> int:
    """How many of a number of programs have machine code."""
    found = []

    @settings(max_examples=examples, deadline=None, suppress_health_check=CHECKS, **options)
    @given(programs(family), st.integers(0, 99))
    def run(program: Program, seed: int) -> None:
        found.append(agree(program, seed))

    run()
    return sum(found)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fixed_slice(family):
    many(family, 2, derandomize=True, database=None, phases=[Phase.generate])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many(family):
    assert many(family, 150, database=None, print_blob=True) > 30
