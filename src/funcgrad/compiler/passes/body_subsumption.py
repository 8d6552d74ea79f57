"""Subsumption of closed subgraphs: of two loops or calls on equal operands, the larger one serves both.

A kind of common-subexpression elimination. The reverse program of a loop needs the loop's states at each
iteration, and so contains the loop with these as additional outputs. Legal if the outputs of one body begin
with those of the other; values are the same to the bit.
Gain (docs/passes.md): without it the LSTM with one example takes 1.28 times as long, with sixteen 1.21.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.compiler.pass_options import PASS_OPTIONS
from funcgrad.expr import Expr, assemble_node, rebuild, subexpressions
from funcgrad.fold import folded_by_key


def subsume_bodies(roots: Sequence[Expr]) -> list[Expr]:
    """The roots, with each node whose body's outputs begin another's computed by that other.

    ``kept`` is not looked at: it says what a derivative does, and derivatives have been taken.
    """
    if not PASS_OPTIONS.runs("body_subsumption"):
        return list(roots)
    longest: dict[Any, Expr] = {}
    for expr in subexpressions(*roots):
        where = _place(expr)
        if where is not None:
            known = longest.get(where)
            if known is None or _begins(known, expr):
                longest[where] = expr
    if not longest:
        return list(roots)

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        where = _place(expr)
        chosen = expr if where is None else longest[where]
        if chosen is expr or not _begins(expr, chosen):
            return rebuild(expr, args)
        return assemble_node(chosen.op, args, chosen.params, chosen.type)

    return folded_by_key(roots, step)


def _place(expr: Expr) -> Any:
    """What two nodes share that differ in their bodies alone; None for what has no body."""
    if expr.type.dtype.kind != "O":
        return None
    params = dict(expr.params)
    body = params.pop("body", None)
    params.pop("kept", None)
    if body is None:
        return None
    return expr.op, tuple([arg.key for arg in expr.args]), tuple(params.items())


def _begins(first: Expr, second: Expr) -> bool:
    """Whether the first node's outputs are the first of the second's."""
    if first is second:
        return True
    ours, theirs = (tuple([x.key for x in dict(e.params)["body"].outputs]) for e in (first, second))
    return theirs[: len(ours)] == ours
