"""Random programs as machine code against NumPy: a few in every run, more with ``-m slow``."""

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.compiler.native.native_loop import NativeLoop
from funcgrad.compiler.python.loop_body_codegen import flat_of
from funcgrad.control.closed_program import body_of
from funcgrad.control.loop import LoopSpec, reference_loop
from funcgrad.expr import Expr, symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import Elementwise, broadcast_to
from tests.compiler.test_native_loop import SIGN_OF_ZERO
from tests.fuzz.programs import Program
from tests.fuzz.slices import CHECKS
from tests.fuzz.strategies import programs
from tests.fuzz.values import generic_arguments, special_arguments

FAMILIES = ("elementwise", "arrays", "dtypes", "rolled", "nested")


def agree(program: Program, seed: int) -> bool:
    """Whether a program has machine code; if it has, its values are NumPy's, step by step and as a whole."""
    args = [np.asarray(x) for x in generic_arguments(program, seed)]
    inputs = [symbol(f"i{k}", ArrayType(x.shape, x.dtype)) for k, x in enumerate(args)]
    try:
        outputs = [x for x in program.traced(*inputs) if isinstance(x, Expr)]
    except (TypeError, IndexError):  # it asks for values
        return False
    if not outputs:
        return False
    body, spec = body_of(inputs, outputs), LoopSpec(0, len(inputs), 1)
    run = NativeLoop(flat_of(body), None, spec, at_once=True).function()
    if run is None:
        return False
    values = stepwise(flat_of(body), args)
    stepwise(flat_of(body), [np.asarray(x) for x in special_arguments(program, seed)], special=True)
    largest = max([np.max(np.abs(x[np.isfinite(x)]), initial=0.0) for x in values])
    with np.errstate(all="ignore"):
        _, want = reference_loop([x[None] for x in args], body, None, spec)
    _, got = run([x[None] for x in args], 1)
    for one, other in zip(got, want, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        own = 1e-9 if one.dtype != np.float32 else WHOLE * len(values) * np.finfo(one.dtype).eps
        np.testing.assert_allclose(one, other, rtol=own, atol=own * float(largest))
    return True


WHOLE = 16
"""How many units in the last place of the largest value a step may be off, in a whole program."""


def stepwise(flat: Flat, args: Any, special: bool = False) -> list[Any]:
    """The values of all steps as machine code, each compared with NumPy's on the operands that it had."""
    types = [step.type for step in flat.steps]  # (A result has a dtype and a known length.)
    made = [i for i in range(flat.inputs, len(types)) if types[i].dtype.kind != "O"]
    kept = [i for i in made if min(types[i].shape, default=0) >= 0]
    spec = LoopSpec(0, flat.inputs, 1)
    run = NativeLoop(flat._replace(results=tuple(kept)), None, spec, at_once=True).function()
    assert run is not None
    found = run([x[None] for x in args], 1)
    if special and found is None:  # A loop does not end: half of infinity is infinite.
        return []
    assert found is not None
    values = dict(enumerate(args)) | {i: x[0] for i, x in zip(kept, found[1], strict=True)}
    for i in kept:
        step = flat.steps[i]
        known = step.operands and all([k in values for k in step.operands])
        if known and (not special or isinstance(step.op, Elementwise)):
            single = isinstance(step.op, Elementwise)
            operands = [as_number(flat, k) if single else k for k in step.operands]
            compared(step, values[i], [values[k] for k in operands])
    return list(values.values())


def as_number(flat: Flat, i: int) -> int:
    """A number where a step repeats one: NumPy's powers by a number differ from those by an array."""
    step = flat.steps[i]
    repeats = step.op is broadcast_to and flat.steps[step.operands[0]].type.shape == ()
    return step.operands[0] if repeats else i


def compared(step: FlatStep, got: Any, operands: list[Any]) -> None:
    """Compare one step with NumPy: the same bits, or a few units in the last place of each term."""
    with np.errstate(all="ignore"):
        want = np.asarray(step.run(*operands))
    if isinstance(step.op, Elementwise):
        want = np.broadcast_to(want, got.shape)
    assert (got.dtype, got.shape) == (want.dtype, want.shape), step
    if want.dtype.kind == "c":
        finite = np.isfinite(want)
        np.testing.assert_array_equal(np.isfinite(got), finite, str(step))
        bound = ULPS * np.spacing(np.abs(want[finite]))
        assert np.all(np.abs(got[finite] - want[finite]) <= bound), (step, got, want)
        return
    if step.type.dtype.kind != "f" or not inexact(step.op):
        np.testing.assert_array_equal(got, want, err_msg=str(step))
        number = ~np.isnan(want) & (step.op.name not in SIGN_OF_ZERO)
        np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]), str(step))
        return
    terms, size = 1, np.abs(want)
    if not isinstance(step.op, Elementwise):
        terms = max([x.size for x in operands])
        with np.errstate(all="ignore"):
            size = np.abs(step.run(*[np.abs(x) for x in operands])) + (step.op.name == "logsumexp")
    finite = np.isfinite(want)
    with np.errstate(all="ignore"):
        bound = ULPS * terms * np.spacing(np.where(finite, size, 1).astype(want.dtype))
        close = np.abs(got - want) <= bound
    same = (got == want) | np.isnan(got) & np.isnan(want)
    assert np.all(np.where(finite, close, same)), (step, got, want)


ULPS = 6
"""How far machine code and NumPy may be apart: 4 of vector functions, 1 to 2 of NumPy's."""


def inexact(op: Any) -> bool:
    """Whether an operation rounds as libraries please."""
    columns = op.columns
    return columns.transcendental or op.name == "power" or columns.machine in SUMS


SUMS = ("total", "product", "logsumexp", "norm", "matmul", "einsum")
"""The forms of operations whose terms are added or multiplied in any order."""


def many(family: str, examples: int, **options: Any) -> int:
    """How many of a number of programs have machine code."""
    found = []

    @settings(max_examples=examples, suppress_health_check=CHECKS, **options)
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
    assert (
        many(family, 150, database=None, print_blob=True) > 10
    )  # (20 to 60 of programs on dtypes)
