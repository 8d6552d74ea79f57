"""The verifier's checks of each stage, which the pipeline runs with ``FUNCGRAD_VERIFY=1``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from funcgrad.compiler.call_ir import Plan
from funcgrad.compiler.flat_program import Flat
from funcgrad.compiler.numpy.numpy_codegen import bindings
from funcgrad.compiler.verify.failure import must_be
from funcgrad.compiler.verify.verify_calls import check_plan
from funcgrad.compiler.verify.verify_expressions import check_expressions, check_types
from funcgrad.compiler.verify.verify_memory import check_memory
from funcgrad.compiler.verify.verify_names import check_bindings
from funcgrad.compiler.verify.verify_steps import check_flat
from funcgrad.expr import Expr


def verify_rewrite(
    before: Sequence[Expr], after: Sequence[Expr], inputs: Sequence[Expr], stage: str
) -> None:
    """Check a pass from expressions to expressions.

    Raises:
        VerifyError: an expression is malformed, or the pass changed a type or added a variable.
    """
    check_expressions(after, inputs, stage)
    check_types(before, after, stage)


def verify_step_pass(before: Flat, after: Flat, stage: str) -> None:
    """Check a pass from steps to steps, which may leave broadcasts to NumPy.

    Raises:
        VerifyError: a step is malformed, or the pass changed the type of an input or a result.
    """
    check_flat(after, stage, loose=True)
    types = [
        [flat.steps[i].type for i in (*range(flat.inputs), *flat.results)]
        for flat in (before, after)
    ]
    must_be(stage, "inputs and results", "types", *types)


def verify_source(plan: Plan, fused: Plan, text: str, bound: Iterable[str]) -> None:
    """Check a plan before and after fusion, and that the text of the latter computes what the former does.

    Raises:
        VerifyError: a call is malformed, a name is read before it has a value, or a value after its memory is
            another's.
    """
    check_plan(plan, "instruction_selection")
    check_plan(fused, "fusion")
    check_bindings(text, {*bindings(fused), *bound}, "numpy_codegen")
    check_memory(plan, fused, text, "numpy_codegen")
