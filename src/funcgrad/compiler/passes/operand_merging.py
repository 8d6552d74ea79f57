"""Operand merging: a loop takes equal loop invariants as one operand.

A kind of common-subexpression elimination. Arrays that a function makes of constants while it is traced,
such as ``np.log(a)`` in two places, are captured as two operands. The body of the loop and that of its
reverse loop cannot tell that they are equal, so `residual_selection`, which begins with this pass, does
not recognize values of the forward loop. Legal always: operands of equal keys have the same bits.
Gain (docs/passes.md): without it the gradient of Sinkhorn's iteration takes 1.16 times as long.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad.control.closed_program import Body
from funcgrad.control.loop import is_loop, loop_op
from funcgrad.expr import Expr, rebuild
from funcgrad.fold import folded
from funcgrad.graph import Key
from funcgrad.rewrite.substitute import substitute_all


def merge_operands(roots: Sequence[Expr]) -> list[Expr]:
    """The roots, in which each loop outside of bodies has no two equal invariants."""
    return folded(roots, _merged)


def _merged(expr: Expr, args: tuple[Expr, ...]) -> Expr:
    if not is_loop(expr):
        return rebuild(expr, args)
    params = dict(expr.params)
    spec = params["spec"]
    first: dict[Key, int] = {}
    places = [
        place if place < spec.num_carry + spec.num_xs else first.setdefault(arg.key, place)
        for place, arg in enumerate(args)
    ]
    kept = sorted(set(places))
    if len(kept) == len(args):
        return rebuild(expr, args)
    body, cond = params["body"], params["cond"]
    found: Expr = loop_op(
        *[args[place] for place in kept],
        body=_on_fewer(body, places, kept),
        cond=cond and _on_fewer(cond, places, kept),
        spec=spec,
    )
    return found


def _on_fewer(body: Body, places: Sequence[int], kept: Sequence[int]) -> Body:
    """A body of the inputs that are kept; ``places`` says which of them each input is."""
    given = {
        x.key: body.inputs[place]
        for k, (x, place) in enumerate(zip(body.inputs, places, strict=True))
        if k != place
    }
    inputs = [body.inputs[place] for place in kept]
    return Body(inputs, substitute_all(body.outputs, given, inputs=True))
