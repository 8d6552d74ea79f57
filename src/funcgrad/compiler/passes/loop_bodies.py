"""Passes over the bodies of loops: the outputs of each are rewritten, those of inner loops first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from funcgrad.control.closed_program import Body
from funcgrad.control.loop import LoopSpec, is_loop
from funcgrad.expr import Expr, assemble_node, rebuild
from funcgrad.fold import folded

Pass: TypeAlias = Callable[[Sequence[Expr], Sequence[Expr], LoopSpec], Sequence[Expr]]
"""From the outputs of a body, its inputs, and what the loop is, to equal outputs."""


def rewrite_bodies(roots: Sequence[Expr], rewrite: Pass) -> list[Expr]:
    """The roots of a program, with the bodies of its loops rewritten."""

    def step(expr: Expr, operands: tuple[Expr, ...]) -> Expr:
        if not is_loop(expr):
            return rebuild(expr, operands)
        params = dict(expr.params)
        body, spec = params["body"], params["spec"]
        outputs = rewrite(rewrite_bodies(body.outputs, rewrite), body.inputs, spec)
        params["body"] = Body(body.inputs, outputs)
        return assemble_node(expr.op, operands, tuple(params.items()), expr.type)

    return folded(roots, step)
