"""The pipeline of the NumPy backend: from expressions over steps and calls to a compiled function.

`run_step_passes` rewrites the steps, `make_plan` selects instructions and fuses them, and `numpy_codegen`
prints the plan as Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

from funcgrad.compiler.call_ir import Plan
from funcgrad.compiler.flat_program import Flat, build, flatten_program
from funcgrad.compiler.ir_rewriter import eliminate_dead_steps
from funcgrad.compiler.native.native_program import NativeProgram, entry_lines
from funcgrad.compiler.numpy.instruction_selection import select_instructions
from funcgrad.compiler.numpy.numpy_codegen import bindings, numpy_source
from funcgrad.compiler.pass_options import PASS_OPTIONS, PassOptions
from funcgrad.compiler.passes.broadcast_sinking import sink_broadcasts
from funcgrad.compiler.passes.constant_factoring import factor_constants
from funcgrad.compiler.passes.constant_folding import fold_array_constants
from funcgrad.compiler.passes.fusion import fuse
from funcgrad.compiler.passes.layout_assignment import assign_layouts
from funcgrad.compiler.passes.mask_elimination import eliminate_masks
from funcgrad.compiler.passes.softplus_sigmoid import softplus_sigmoid
from funcgrad.compiler.passes.sorted_values import sort_values
from funcgrad.compiler.passes.store_scheduling import read_before_stores
from funcgrad.expr import Expr

Roots: TypeAlias = Callable[[], Sequence[Expr]]
"""Makes the roots that machine code is compiled from, when that pays."""


def compile_arrays(
    roots: Sequence[Expr],
    inputs: Sequence[Expr],
    options: PassOptions = PASS_OPTIONS,
    native: Roots | None = None,
) -> Callable[..., tuple[Any, ...]]:
    """A function from the inputs' values to the roots' values.

    Arrays have the inputs' shapes and dtypes. Results are new arrays; scalars are as `present` gives them.
    ``native`` gives equal roots for machine code, if they are others.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> x = fg.var("x", 3)
    >>> compile_arrays([np.sum(x * x), 2 * x], [x])(np.ones(3))
    (3.0, array([2., 2., 2.]))
    """
    flat = run_step_passes(flatten_program(roots, inputs), options)
    plan = make_plan(flat, options)
    own = None if native is None else partial(_steps_of, native, inputs, options)
    first, bound = entry_lines(flat, own) if options.runs("whole_program") else ([], {})
    text = numpy_source(plan, first)
    if options.verify:
        from funcgrad.compiler.verify.verify_pipeline import verify_source

        verify_source(select_instructions(flat), plan, text, bound)
    return build("array", text, {**bindings(plan), **bound})


def _steps_of(roots: Roots, inputs: Sequence[Expr], options: PassOptions) -> Flat:
    return run_step_passes(flatten_program(roots(), inputs), options, native=True)


def compile_natively(
    roots: Sequence[Expr], inputs: Sequence[Expr]
) -> Callable[..., tuple[Any, ...]]:
    """The same function as machine code, compiled at once.

    Raises:
        TypeError: it cannot be machine code.
    """
    flat = run_step_passes(flatten_program(roots, inputs), native=True)
    program = NativeProgram(flat, at_once=True)
    machine = program.function()
    if machine is None:
        raise TypeError(
            f"jit: expected a program that can be machine code, for native=True; {program.later.reason}"
        )
    given = ", ".join([f"x{i}" for i in range(len(inputs))])
    text = f"# machine code of {program.steps} steps\ndef run({given}): return machine({given})\n"
    return build("machine", text, {"machine": machine})


def run_step_passes(
    flat: Flat, options: PassOptions = PASS_OPTIONS, *, native: bool = False
) -> Flat:
    """The steps after all passes over steps, each followed by dead-code elimination.

    Steps for ``native`` code do not go through the passes that are for NumPy's calls alone.
    """
    for name, run in STEP_PASSES.items():
        if options.runs(name) and not (native and name in _FOR_CALLS):
            before, flat = flat, eliminate_dead_steps(run(flat))
            if options.verify:
                from funcgrad.compiler.verify.verify_pipeline import verify_step_pass

                verify_step_pass(before, flat, name)
    return flat


STEP_PASSES: Mapping[str, Callable[[Flat], Flat]] = MappingProxyType(
    {
        "constant_folding": fold_array_constants,
        "mask_elimination": eliminate_masks,
        "broadcast_sinking": sink_broadcasts,
        "constant_factoring": factor_constants,
        "softplus_sigmoid": softplus_sigmoid,
        "sorted_values": sort_values,
        "layout_assignment": assign_layouts,
        "store_scheduling": read_before_stores,
    }
)
"""The passes from steps to steps, in order."""
_FOR_CALLS = frozenset({"broadcast_sinking", "mask_elimination"})


def make_plan(flat: Flat, options: PassOptions = PASS_OPTIONS) -> Plan:
    """Instruction selection and fusion: the plan for the steps after all passes."""
    plan = select_instructions(flat)
    return fuse(plan) if options.runs("fusion") else plan
