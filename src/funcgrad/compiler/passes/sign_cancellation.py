"""Sign cancellation: a negation is absorbed by a sum, a difference or a total, exactly.

Laws: x + (-y)*z = x - y*z, likewise for quotients and differences, sum(-x) = 0 - sum(x) and
(-x) @ y = 0 - x @ y. Legal if the negation has no other use; every bit of the values is the same.
Gain (docs/passes.md): without it elementwise chains of one and ten entries take 1.05 of the time; no other
work differs by more than noise.
"""

from __future__ import annotations

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.compiler.ir_rewriter import Rewrite, is_float, uses_of
from funcgrad.graph import unnested
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.contraction import matmul_op
from funcgrad.ops.elementwise import arithmetic
from funcgrad.ops.reduction import sum_op


def cancel_signs(flat: Flat) -> Flat:
    """The program with x + (-y)*z as x - y*z, likewise for quotients and differences: exactly the same.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x, y = fg.var("x", 5), fg.var("y", 5)
    >>> [step.op.name for step in cancel_signs(flatten_program([x + y * (-x)], [x, y])).steps]
    ['input', 'input', 'multiply', 'subtract']
    """
    if not any(step.op is arithmetic.negative for step in flat.steps):
        return flat
    flat = _totals(flat)
    steps, uses = flat.steps, uses_of(flat)
    gone: set[int] = set()  # where a minus was
    flipped: dict[int, FlatStep] = {}
    for i, step in enumerate(steps):
        if step.op is not arithmetic.add and step.op is not arithmetic.subtract:
            continue
        x, y = step.operands
        if (found := _minus(steps, uses, y)) is not None:
            other = arithmetic.subtract if step.op is arithmetic.add else arithmetic.add
            flipped[i] = step._replace(op=other)
        elif step.op is arithmetic.add and (found := _minus(steps, uses, x)) is not None:
            flipped[i] = step._replace(op=arithmetic.subtract, operands=(y, x))
        else:
            continue
        gone.add(found)
    rewrite = Rewrite(flat)
    for i, step in enumerate(steps):
        if i in gone:
            rewrite.new_index[i] = rewrite.new_index[step.operands[0]]
        else:
            rewrite.new_index[i] = rewrite.emit(rewrite.remapped(flipped.get(i, step)))
    return rewrite.result()


def _totals(flat: Flat) -> Flat:
    """The program with sum(-x) as 0 - sum(x), and (-x) @ y as 0 - x @ y, where that leaves less to do.

    A sum that is zero is 0.0 and not -0.0, whichever signs its terms have; so 0 - sum(x) is, too.
    """
    rewrite, uses = Rewrite(flat), uses_of(flat)
    for i, step in enumerate(flat.steps):
        new = rewrite.remapped(step)
        if step.op in (sum_op, matmul_op) and is_float(step.type):
            for place, k in enumerate(step.operands):
                inner = flat.steps[k]
                if (
                    inner.op is arithmetic.negative
                    and uses[k] == 1
                    and inner.type.size > step.type.size
                ):
                    operands = list(new.operands)
                    operands[place] = rewrite.new_index[inner.operands[0]]
                    total = rewrite.emit(new._replace(operands=tuple(operands)))
                    zero = rewrite.constant(0.0, step.type.dtype)
                    new = FlatStep(arithmetic.subtract, (zero, total), (), step.type)
                    break
        rewrite.new_index[i] = rewrite.emit(new)
    return rewrite.result()


def _minus(steps: tuple[FlatStep, ...], uses: list[int], k: int) -> int | None:
    """The minus that a value has as a factor, where nothing else looks at what is in between."""

    def is_open(i: int) -> bool:
        return uses[i] == 1 and is_float(steps[i].type)

    def operands(i: int) -> tuple[int, ...]:
        through = steps[i].op in (arithmetic.multiply, arithmetic.divide, broadcast_to) and is_open(
            i
        )
        return steps[i].operands if through else ()

    parts = unnested(k, operands)
    return next((i for i in parts if steps[i].op is arithmetic.negative and is_open(i)), None)
