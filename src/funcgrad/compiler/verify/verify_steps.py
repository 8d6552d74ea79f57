"""Verifies flat programs: operands come first, types follow from rules, and, where claimed, none is dead."""

from __future__ import annotations

from typing import Any

from funcgrad.compiler.flat_program import Flat
from funcgrad.compiler.verify.failure import must, must_be
from funcgrad.compiler.verify.verify_expressions import check_constant, type_by_rule
from funcgrad.graph import CONSTANT, INPUT


def check_flat(flat: Flat, stage: str = "flat", live: bool = False, loose: bool = False) -> None:
    """Steps use steps before them, are of the types that rules give, and, where claimed, are all needed.

    ``loose``: after passes that leave broadcasting to NumPy.
    """
    count = len(flat.steps)
    for i, step in enumerate(flat.steps):
        where = f"step {i} ({step.op.name})"
        if i < flat.inputs:
            must_be(stage, where, "an input,", INPUT, step.op)
            continue
        must(
            stage, where, step.op is not INPUT, f"inputs among the first {flat.inputs}", "one here"
        )
        backward = all(0 <= k < i for k in step.operands)
        must(stage, where, backward, f"operands among 0..{i - 1}", step.operands)
        if step.op is CONSTANT:
            check_constant(stage, where, step.params[0][1], step.type)
            continue
        types = tuple(flat.steps[k].type for k in step.operands)
        rule = type_by_rule(stage, where, step.op, types, step.params, loose)
        must_be(stage, where, "type", rule, step.type)
    inside = all(0 <= i < count for i in flat.results)
    must(stage, "results", inside, f"steps among 0..{count - 1}", flat.results)
    if live:
        check_live(flat, stage)


def check_live(flat: Flat, stage: str = "flat") -> None:
    """Every step is needed for a result, and no two are the same work."""
    needed = set(flat.results)
    first: dict[Any, int] = {}
    for i in reversed(range(flat.inputs, len(flat.steps))):
        step = flat.steps[i]
        where = f"step {i} ({step.op.name})"
        must(stage, where, i in needed, "a step that something needs", "a dead one")
        needed.update(step.operands)
        same = first.setdefault((step.op, step.operands, step.params, step.type), i)
        must_be(stage, where, "equal work done once, at step", i, same)
