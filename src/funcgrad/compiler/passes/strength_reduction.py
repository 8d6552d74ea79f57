"""Strength reduction: operations in forms that take fewer or cheaper calls of NumPy.

`related` writes softplus(x) = max(log1p(exp(min(x, m))), x) from ufuncs that NumPy has vector instructions
for, and sigmoid(x) = 1 - exp(-softplus(x)), or exp(x)/(1 + exp(x)), from what the softplus of the same
value has computed already: within 2.1 units in the last place (float32: 2.6, as NumPy's exp), from denormal
numbers to infinity. `unsigned` uses x + (-y)*z = x - y*z and sum(-x) = -sum(x), which change nothing.
Gain (docs/passes.md): without `related` the elementwise chain of 10^5 takes 2.0 times as long, of ten
entries 1.15; without `unsigned` those of one and ten entries take 1.05, the Gaussian mixture 1.03.
"""

from __future__ import annotations

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep
from funcgrad.compiler.ir_rewriter import Rewrite, is_float, uses_of
from funcgrad.graph import unnested
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.contraction import matmul_op
from funcgrad.ops.elementwise import arithmetic, exponential, extrema
from funcgrad.ops.reduction import sum_op

# `numpy.logaddexp` takes 0.25 us and 10 to 17 ns an entry; four ufuncs take 1 us and 1.8 ns, of float32 1.0.
# (The gradient of a chain with both softplus and sigmoid takes 0.47 of the time, 0.88 for ten entries.)
_WIDE = 96
_DTYPES = (np.dtype("float64"), np.dtype("float32"))


# -- softplus and sigmoid ----------------------------------------------------------------------------
def related(flat: Flat) -> Flat:
    """The program with softplus and the sigmoid of the same value in terms of one exponential.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x = fg.var("x", 5)
    >>> flat = flatten_program([fg.softplus(x) * fg.sigmoid(x)], [x])
    >>> [step.op.name for step in related(flat).steps]
    ['input', 'softplus', 'negative', 'expm1', 'negative', 'multiply']
    """
    soft = {
        step.operands[0]
        for step in flat.steps
        if step.op is exponential.softplus and _is_known(step)
    }
    if not soft:
        return flat
    walk = _Related(flat)
    for i, step in enumerate(flat.steps):
        if step.op is exponential.softplus and _is_known(step):
            walk.where[i] = walk.softplus(step)
        elif step.op is exponential.sigmoid and step.operands[0] in soft:
            walk.where[i] = walk.sigmoid(step)
        else:
            walk.where[i] = walk.put(walk.moved(step))
    return walk.result()


def _is_known(step: FlatStep) -> bool:
    return step.type.dtype in _DTYPES


class _Related(Rewrite):
    def exponential(self, step: FlatStep) -> int:
        """exp(x), but finite where x is."""
        dtype = step.type.dtype
        most = self.constant(exponential.largest_exponent(dtype).item(), dtype)
        return self.apply(
            exponential.exp,
            step.type,
            self.apply(extrema.minimum, step.type, self.where[step.operands[0]], most),
        )

    def softplus(self, step: FlatStep) -> int:
        """log1p(exp(x)), or x where exp(x) would overflow: where it does not, that is as exact."""
        x, type = self.where[step.operands[0]], step.type
        if type.size < _WIDE:
            return self.apply(exponential.softplus, type, x)
        return self.apply(
            extrema.maximum, type, self.apply(exponential.log1p, type, self.exponential(step)), x
        )

    def sigmoid(self, step: FlatStep) -> int:
        """exp(x)/(1 + exp(x)), or, in fewer calls, 1 - exp(-softplus(x))."""
        type = step.type
        if type.size < _WIDE:
            less = self.apply(arithmetic.negative, type, self.softplus(step))
            return self.apply(arithmetic.negative, type, self.apply(exponential.expm1, type, less))
        e = self.exponential(step)
        return self.apply(
            arithmetic.divide,
            type,
            e,
            self.apply(arithmetic.add, type, self.constant(1.0, type.dtype), e),
        )


# -- signs -------------------------------------------------------------------------------------------
def unsigned(flat: Flat) -> Flat:
    """The program with x + (-y)*z as x - y*z, likewise for quotients and differences: exactly the same.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x, y = fg.var("x", 5), fg.var("y", 5)
    >>> [step.op.name for step in unsigned(flatten_program([x + y * (-x)], [x, y])).steps]
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
    walk = Rewrite(flat)
    for i, step in enumerate(steps):
        if i in gone:
            walk.where[i] = walk.where[step.operands[0]]
        else:
            walk.where[i] = walk.put(walk.moved(flipped.get(i, step)))
    return walk.result()


def _totals(flat: Flat) -> Flat:
    """The program with sum(-x) as 0 - sum(x), and (-x) @ y as 0 - x @ y, where that leaves less to do.

    A sum that is zero is 0.0 and not -0.0, whichever signs its terms have; so 0 - sum(x) is, too.
    """
    walk, uses = Rewrite(flat), uses_of(flat)
    for i, step in enumerate(flat.steps):
        new = walk.moved(step)
        if step.op in (sum_op, matmul_op) and is_float(step.type):
            for place, k in enumerate(step.operands):
                inner = flat.steps[k]
                if (
                    inner.op is arithmetic.negative
                    and uses[k] == 1
                    and inner.type.size > step.type.size
                ):
                    operands = list(new.operands)
                    operands[place] = walk.where[inner.operands[0]]
                    total = walk.put(new._replace(operands=tuple(operands)))
                    zero = walk.constant(0.0, step.type.dtype)
                    new = FlatStep(arithmetic.subtract, (zero, total), (), step.type)
                    break
        walk.where[i] = walk.put(new)
    return walk.result()


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
