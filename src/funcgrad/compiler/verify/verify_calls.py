"""Verifies plans of calls: operands come first, and forms, operands and effects on memory fit together."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import numpy as np

from funcgrad.compiler.call_ir import Call, CallForm, Effect, Plan
from funcgrad.compiler.numpy.numpy_codegen import expression
from funcgrad.compiler.verify.failure import must, must_be
from funcgrad.graph import ArrayType

_EFFECTS: Mapping[CallForm, tuple[Effect, ...]] = {
    CallForm.INPUT: ("source",),
    CallForm.CONSTANT: ("source",),
    CallForm.EMPTY: ("in_place_ok",),
    CallForm.ENTRYWISE: ("in_place_ok", "out_no_alias", "new", "may_alias"),
    CallForm.REDUCE: ("new",),
    CallForm.MATMUL: ("out_no_alias", "new"),
    CallForm.RESHAPE: ("view",),
    CallForm.TRANSPOSE: ("view",),
    CallForm.GETITEM: ("may_alias",),
    CallForm.STORE: ("in_place_ok",),
    CallForm.JOIN: ("new",),
    CallForm.ROUTINE: ("out_no_alias", "new", "may_alias"),
    CallForm.KERNEL: ("none",),
}
"""What a call of each form may do to memory."""
_COUNTS = {CallForm.INPUT: 0, CallForm.CONSTANT: 0, CallForm.EMPTY: 0, CallForm.MATMUL: 2}
_COUNTS |= dict.fromkeys(
    (CallForm.REDUCE, CallForm.RESHAPE, CallForm.TRANSPOSE, CallForm.GETITEM), 1
)


def shown_call(i: int, call: Call) -> str:
    """The text of a call in messages."""
    if call.effect == "source":
        return f"call {i} ({call.function.symbol})"
    return f"call {i} ({expression(call, [f't{k}' for k in call.operands])})"


def count_of(call: Call) -> int | None:
    """How many operands a function takes, or None where that is not known."""
    run = call.function.run
    if call.form is CallForm.ENTRYWISE and isinstance(run, np.ufunc):
        return run.nin
    return _COUNTS.get(call.form)


def can_write(call: Call) -> bool:
    """Whether a function takes ``out=``."""
    run = call.function.run
    return isinstance(run, np.ufunc) or (
        call.form is CallForm.ENTRYWISE and "out" in inspect.signature(run).parameters
    )


def check_plan(plan: Plan, stage: str = "plan") -> None:
    """Calls use calls before them; forms, operands and effects fit together; kernels' outputs come empty."""
    count, filled = len(plan.calls), set[int]()
    for i, call in enumerate(plan.calls):
        where = f"call {i} ({call.function.symbol})"
        wanted = count_of(call)
        if wanted is not None:
            must_be(stage, where, "operands, as many as", wanted, len(call.operands))
        where = shown_call(i, call)
        backward = all(0 <= k < i for k in call.operands)
        must(stage, where, backward, f"operands among 0..{i - 1}", call.operands)
        must(stage, where, call.effect in _EFFECTS[call.form], "an effect of its form", call.effect)
        is_ufunc = call.form is CallForm.ENTRYWISE and isinstance(call.function.run, np.ufunc)
        fits = can_write(call) if call.takes_out else not is_ufunc
        must(stage, where, fits, f"a place to write to, {not call.takes_out}", call.takes_out)
        is_input = call.form is CallForm.INPUT and call.function.symbol == f"x{i}"
        must_be(stage, where, "a source in the place of an input,", i < plan.inputs, is_input)
        if call.form is CallForm.CONSTANT:
            held = call.function.run
            found = ArrayType(held.shape, held.dtype)
            must_be(stage, where, "a constant of type", call.type, found)
        for k in call.operands:
            if plan.calls[k].form is CallForm.EMPTY and call.effect == "none":
                filled.add(k)  # or it reads what a group before it has filled
            elif plan.calls[k].form is CallForm.EMPTY:
                must(stage, where, k in filled, f"call {k} filled before", "nothing in it")
            must(stage, where, plan.calls[k].effect != "none", "operands with values", f"call {k}")
    for i in plan.results:
        inside = 0 <= i < count and plan.calls[i].effect != "none"
        must(stage, "results", inside, "calls with values", plan.results)
        empty = plan.calls[i].form is CallForm.EMPTY and i not in filled
        must(stage, "results", not empty, "values", f"call {i}, which nothing fills")
