"""Batching: a program of one example becomes a program of a batch of them.

A fold gives every node that depends on an `example` an axis more, the first: each operation says what it
does with it (`Op.batch`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from funcgrad.expr import Expr, subexpressions
from funcgrad.graph import Key
from funcgrad.ops.base.op import example, on_batch, spread
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.source import fail


@dataclass(frozen=True)
class Batch:
    """The graph transform: roots of one example become roots of ``size`` of them, first axis first.

    The roots whose places are in ``same`` are those of any example, and stay as they are.
    """

    size: int
    same: tuple[int, ...] = ()

    def __call__(self, roots: list[Expr], leaves: list[Expr]) -> list[Expr]:
        found = batched(roots, self.size, {})
        if any([found[i][1] for i in self.same]):
            raise fail(
                ValueError,
                "vmap: expected out_axes None for results that are the same for all examples, but got one "
                "that depends on them; give the axis where they are to stand, such as 0",
            )
        made = [
            expr if own or i in self.same else spread(expr, self.size)
            for i, (expr, own) in enumerate(found)
        ]
        return simplify_all(made)  # as values: no derivative is taken here


def every_example(roots: Sequence[Expr], size: int) -> list[Expr]:
    """The roots with a first axis that counts ``size`` examples."""
    return [expr if own else spread(expr, size) for expr, own in batched(roots, size, {})]


def batched(
    roots: Sequence[Expr], size: int, given: Mapping[Key, tuple[Expr, bool]]
) -> list[tuple[Expr, bool]]:
    """What the roots become on a batch, each with whether it has an axis for it.

    As a fold on such pairs: what is ``given`` is itself; ``example(x) = (x, yes)``; an operation on
    nothing that has the axis is itself; another is what it does on a batch.
    """
    became: dict[Key, tuple[Expr, bool]] = dict(given)
    for expr in subexpressions(*roots):
        if expr.key in became:
            continue
        args = [became[arg.key] for arg in expr.args]
        flags = tuple([own for _, own in args])
        if expr.op is example:
            became[expr.key] = (args[0][0], True)
        elif True in flags:
            operands = [arg for arg, _ in args]
            new = on_batch(expr.op, size, flags, operands, dict(expr.params))
            became[expr.key] = (new, True)
        else:
            became[expr.key] = (expr, False)
    return [became[root.key] for root in roots]
