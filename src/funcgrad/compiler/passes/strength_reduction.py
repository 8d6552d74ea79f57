"""Forms that take fewer or cheaper calls of NumPy than the operations that they stand for.

`related` writes softplus from ufuncs that NumPy has vector instructions for, and the sigmoid from what the
softplus of the same value has computed already: within 2.1 units in the last place (float32: 2.6, as NumPy's
exp), from denormal numbers to infinity. `gathered` takes a common factor out of a sum of products, which
rounds differently, but as well. `unsigned` lets a minus vanish in a sum, which changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from funcgrad.compiler.flat_program import Flat, Step
from funcgrad.compiler.ir_rewriter import Rewrite, is_float, uses_of
from funcgrad.graph import CONSTANT
from funcgrad.ops import elementwise as on
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.contraction import matmul_op
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
    >>> from funcgrad.compiler.flat_program import flatten
    >>> x = fg.var("x", 5)
    >>> flat = flatten([fg.softplus(x) * fg.sigmoid(x)], [x])
    >>> [step.op.name for step in related(flat).steps]
    ['input', 'softplus', 'negative', 'expm1', 'negative', 'multiply']
    """
    soft = {step.operands[0] for step in flat.steps if step.op is on.softplus and _is_known(step)}
    if not soft:
        return flat
    walk = _Related(flat)
    for i, step in enumerate(flat.steps):
        if step.op is on.softplus and _is_known(step):
            walk.where[i] = walk.softplus(step)
        elif step.op is on.sigmoid and step.operands[0] in soft:
            walk.where[i] = walk.sigmoid(step)
        else:
            walk.where[i] = walk.put(walk.moved(step))
    return walk.result()


def _is_known(step: Step) -> bool:
    return step.type.dtype in _DTYPES


class _Related(Rewrite):
    def exponential(self, step: Step) -> int:
        """exp(x), but finite where x is."""
        dtype = step.type.dtype
        most = self.constant(on.largest_exponent(dtype).item(), dtype)
        return self.apply(
            on.exp, step.type, self.apply(on.minimum, step.type, self.where[step.operands[0]], most)
        )

    def softplus(self, step: Step) -> int:
        """log1p(exp(x)), or x where exp(x) would overflow: where it does not, that is as exact."""
        x, type = self.where[step.operands[0]], step.type
        if type.size < _WIDE:
            return self.apply(on.softplus, type, x)
        return self.apply(on.maximum, type, self.apply(on.log1p, type, self.exponential(step)), x)

    def sigmoid(self, step: Step) -> int:
        """exp(x)/(1 + exp(x)), or, in fewer calls, 1 - exp(-softplus(x))."""
        type = step.type
        if type.size < _WIDE:
            less = self.apply(on.negative, type, self.softplus(step))
            return self.apply(on.negative, type, self.apply(on.expm1, type, less))
        e = self.exponential(step)
        return self.apply(
            on.divide,
            type,
            e,
            self.apply(on.add, type, self.constant(1.0, type.dtype), e),
        )


# -- common factors ----------------------------------------------------------------------------------
# Operations whose values lie between -1 and 1, and those that keep between them what lies there.
_WITHIN = (on.tanh, on.sin, on.cos, on.sigmoid)
_KEEPING = (on.multiply, on.square, on.negative, on.absolute, broadcast_to)


def gathered(flat: Flat) -> Flat:
    """The program with c*x*y + c*u*v as c*(x*y + u*v): what the derivative of a product is made of.

    That is as exact, and neither overflows nor underflows sooner, where |c| <= 1 and the same is known of all
    other factors but one: only there it is done.

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten
    >>> x, y = fg.var("x", 5), fg.var("y", 5)
    >>> c, t = np.cos(x), np.tanh(x)
    >>> [step.op.name for step in gathered(flatten([c * t * t + c * y * t], [x, y])).steps][-4:]
    ['multiply', 'multiply', 'add', 'multiply']
    """
    steps, uses = flat.steps, uses_of(flat)
    sums = [i for i, step in enumerate(steps) if step.op in (on.add, on.subtract)]
    if not any(steps[k].op is on.multiply for i in sums for k in steps[i].operands):
        return flat
    within = _within(steps)
    walk = Rewrite(flat)
    for i, step in enumerate(steps):
        found = _common(steps, uses, within, step) if step.op in (on.add, on.subtract) else None
        if found is None:
            walk.where[i] = walk.put(walk.moved(step))
            continue
        factor, *products = found
        inner = []
        for product in products:
            # The factor that may be large comes first, so that the others, of 1 at most, underflow no sooner.
            first, *others = sorted(product, key=within.__getitem__)
            made = walk.where[first]
            for k in others:
                made = walk.apply(on.multiply, step.type, made, walk.where[k])
            inner.append(made)
        total = walk.apply(step.op, step.type, *inner)
        walk.where[i] = walk.apply(on.multiply, step.type, total, walk.where[factor])
    return walk.result()


def _within(steps: Sequence[Step]) -> list[bool]:
    """Of which steps it is known that their values lie between -1 and 1."""
    within: list[bool] = []
    for step in steps:
        known = step.op in _WITHIN and is_float(step.type)
        if step.op is CONSTANT:
            known = step.type.size == 1 and bool(np.abs(step.constant).max() <= 1.0)
        elif step.op in _KEEPING:
            known = all(within[k] for k in step.operands)
        elif step.op is on.subtract:  # 1 - x**2
            one, square = step.operands
            known = within[square] and steps[square].op is on.square and _is_one(steps, one)
        within.append(known)
    return within


def _is_one(steps: Sequence[Step], i: int) -> bool:
    while steps[i].op is broadcast_to:
        i = steps[i].operands[0]
    step = steps[i]
    return step.op is CONSTANT and step.type.size == 1 and step.constant.item() == 1.0


def _common(
    steps: Sequence[Step], uses: Sequence[int], within: Sequence[bool], step: Step
) -> tuple[int, list[int], list[int]] | None:
    """A factor that both terms of a sum have and may give, and what is left of them, or None."""
    if not step.type.shape or not is_float(step.type):
        return None
    x, y = [_factors(steps, uses, k) for k in step.operands]
    for factor in x:
        if within[factor] and factor in y and len(x) > 1 and len(y) > 1:
            x.remove(factor)
            y.remove(factor)
            loose = sorted([sum(not within[k] for k in rest) for rest in (x, y)])
            return (factor, x, y) if loose in ([0, 0], [0, 1]) else None
    return None


def _factors(steps: Sequence[Step], uses: Sequence[int], k: int) -> list[int]:
    """The factors of a value, whose products nothing else looks at."""
    found, stack = [], [k]
    while stack:
        i = stack.pop()
        if steps[i].op is on.multiply and uses[i] == 1:
            stack.extend(reversed(steps[i].operands))
        else:
            found.append(i)
    return found


# -- signs -------------------------------------------------------------------------------------------
def unsigned(flat: Flat) -> Flat:
    """The program with x + (-y)*z as x - y*z, likewise for quotients and differences: exactly the same.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten
    >>> x, y = fg.var("x", 5), fg.var("y", 5)
    >>> [step.op.name for step in unsigned(flatten([x + y * (-x)], [x, y])).steps]
    ['input', 'input', 'multiply', 'subtract']
    """
    if not any(step.op is on.negative for step in flat.steps):
        return flat
    flat = _totals(flat)
    steps, uses = flat.steps, uses_of(flat)
    gone: set[int] = set()  # where a minus was
    flipped: dict[int, Step] = {}
    for i, step in enumerate(steps):
        if step.op is not on.add and step.op is not on.subtract:
            continue
        x, y = step.operands
        if (found := _minus(steps, uses, y)) is not None:
            other = on.subtract if step.op is on.add else on.add
            flipped[i] = step._replace(op=other)
        elif step.op is on.add and (found := _minus(steps, uses, x)) is not None:
            flipped[i] = step._replace(op=on.subtract, operands=(y, x))
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
    """The program with sum(-x) as -sum(x), and (-x) @ y as -(x @ y), where that leaves less to do."""
    walk, uses = Rewrite(flat), uses_of(flat)
    for i, step in enumerate(flat.steps):
        new = walk.moved(step)
        if step.op in (sum_op, matmul_op) and is_float(step.type):
            for place, k in enumerate(step.operands):
                inner = flat.steps[k]
                if inner.op is on.negative and uses[k] == 1 and inner.type.size > step.type.size:
                    operands = list(new.operands)
                    operands[place] = walk.where[inner.operands[0]]
                    total = walk.put(new._replace(operands=tuple(operands)))
                    new = Step(on.negative, (total,), (), step.type)
                    break
        walk.where[i] = walk.put(new)
    return walk.result()


def _minus(steps: tuple[Step, ...], uses: list[int], k: int) -> int | None:
    """The minus that a value has as a factor, where nothing else looks at what is in between."""
    stack = [k]
    while stack:
        i = stack.pop()
        step = steps[i]
        if uses[i] != 1 or not is_float(step.type):
            continue
        if step.op is on.negative:
            return i
        if step.op in (on.multiply, on.divide, broadcast_to):
            stack.extend(reversed(step.operands))
    return None
