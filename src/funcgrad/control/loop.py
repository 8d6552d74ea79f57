"""The loop: a body run again and again, carrying a state, over sequences and while a condition holds.

Operands are the state's initial values, then sequences, then values that every turn sees. The value is
the final state and what each turn put out, stacked. All derivatives are loops again: forward ones carry
tangents along; a reverse one runs over the states that the forward loop met, in the other direction,
carrying cotangents. Since it is a loop like any other, so are its own derivatives, to every order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import expr as expr_room
from funcgrad.control.call_and_branch import owned
from funcgrad.control.closed_program import (
    Body,
    body_of,
    on_examples,
    pulled,
    pushed,
    symbol,
    used,
    zeros_of_type,
)
from funcgrad.expr import Expr
from funcgrad.graph import ArrayType, TupleType
from funcgrad.linear import Joint, Parts
from funcgrad.ops.base.columns import Columns, Repeated
from funcgrad.ops.base.op import Op, differentiable, spread
from funcgrad.ops.shape import moveaxis
from funcgrad.ops.tuples import pick, together_op
from funcgrad.typing import Array

OPEN = -1
"""The length of a loop that is known only when it has run: an open one."""


class Shape(NamedTuple):
    """How a loop's operands are divided, and how it runs: its params beside the bodies."""

    states: int
    sequences: int
    length: int
    reverse: bool = False


# -- running -------------------------------------------------------------------------------------
def _run(*operands: Array, body: Body, cond: Body | None, shape: Shape) -> Any:
    # The compiler stands above this room: the package hands its runner of loops over.
    states, stacks = expr_room.operation_table.functions["run_loop"](body, cond, shape)(operands)
    return (*owned(states, operands), *stacks)


def turns_of(shape: Shape, operands: Sequence[Any]) -> range:
    """The turns of a loop without a condition, in the order in which they run."""
    length = len(operands[shape.states]) if shape.length == OPEN else shape.length
    return range(length)[::-1] if shape.reverse else range(length)


def stacked(values: Sequence[Any], type: ArrayType) -> Any:
    """What the turns put out, along a new first axis."""
    result = np.empty((len(values), *type.shape), type.dtype)
    for t, value in enumerate(values):
        result[t] = value
    return result


def plainly(
    operands: Sequence[Any], body: Body, cond: Body | None, shape: Shape
) -> tuple[Sequence[Any], list[Any]]:
    """The final states and the stacked outputs, iteration by iteration: the oracle of compiled loops."""
    step, count = body.program.step, shape.states
    middle = count + shape.sequences
    state: Sequence[Any] = operands[:count]
    sequences, fixed = operands[count:middle], operands[middle:]
    types = body.types[count:]
    if cond is None:
        turns = turns_of(shape, operands)
        stacks = [np.empty((len(turns), *type.shape), type.dtype) for type in types]
        for t in turns:
            values = step([*state, *[sequence[t] for sequence in sequences], *fixed])
            state = values[:count]
            for whole, value in zip(stacks, values[count:], strict=True):
                whole[t] = value
        return state, stacks
    holds = cond.program.step
    met: list[list[Any]] = [[] for _ in types]
    while holds([*state, *fixed])[0]:
        values = step([*state, *fixed])
        state = values[:count]
        for found, value in zip(met, values[count:], strict=True):
            found.append(value)
    return state, [stacked(found, type) for found, type in zip(met, types, strict=True)]


def _type(*types: ArrayType, body: Body, cond: Body | None, shape: Shape) -> Any:
    found = body.types
    stacked = [ArrayType((shape.length, *t.shape), t.dtype) for t in found[shape.states :]]
    return TupleType((*found[: shape.states], *stacked))


# -- derivatives ---------------------------------------------------------------------------------
def _joint(z: object, *operands: Expr, body: Body, cond: Body | None, shape: Shape) -> Joint:
    def forward(flows: Mapping[int, Any]) -> Parts:
        return _forward(operands, body, cond, shape, flows)

    def backward(g: Parts) -> Mapping[int, Any]:
        return _backward(operands, body, cond, shape, g)

    return Joint(forward, backward)


def _split(places: Iterable[int], shape: Shape) -> tuple[list[int], list[int], list[int]]:
    """Places of operands in order: of the state, of sequences, and of what every turn sees."""
    middle = shape.states + shape.sequences
    ordered = sorted(places)
    return (
        [i for i in ordered if i < shape.states],
        [i for i in ordered if shape.states <= i < middle],
        [i for i in ordered if i >= middle],
    )


def _forward(
    operands: Sequence[Expr], body: Body, cond: Body | None, shape: Shape, flows: Mapping[int, Any]
) -> Parts:
    """A loop that carries the tangents along."""
    n = shape.states
    active = set(flows)
    while True:  # until the tangents that a turn makes are among those that it takes
        order = [i for group in _split(active, shape) for i in group]
        tangents, moved = pushed(body, order)
        new = {i for i in range(n) if moved[i] is not None} - active
        if not new:
            break
        active |= new
    states, sequences, fixed = _split(active, shape)
    named = dict(zip(order, tangents, strict=True))
    own = _split(range(len(operands)), shape)
    ys = [k for k in range(n, len(body.outputs)) if moved[k] is not None]
    outputs = [
        *body.outputs[:n],
        *[zeros_of_type(body.outputs[i].type) if moved[i] is None else moved[i] for i in states],
        *[moved[k] for k in ys],
    ]

    def beside(values: Sequence[Any], extra: Mapping[int, Any]) -> list[Any]:
        """Each group of operands followed by what goes along with some of them."""
        groups = zip(own, (states, sequences, fixed), strict=True)
        return [
            v
            for mine, more in groups
            for v in [*[values[i] for i in mine], *[extra[i] for i in more]]
        ]

    given = {i: flows[i] if i in flows else zeros_of_type(operands[i].type) for i in order}
    inputs = beside(body.inputs, named)
    # The condition reads the same values as before.
    tested = cond and body_of(inputs, cond.on(body.inputs))
    new_shape = shape._replace(states=n + len(states), sequences=shape.sequences + len(sequences))
    new_loop = loop_op(
        *beside(operands, given), body=body_of(inputs, outputs), cond=tested, shape=new_shape
    )
    return Parts(
        {i: pick(new_loop, n + place) for place, i in enumerate(states)}
        | {k: pick(new_loop, n + len(states) + place) for place, k in enumerate(ys)}
    )


def _backward(
    operands: Sequence[Expr], body: Body, cond: Body | None, shape: Shape, g: Parts
) -> Mapping[int, Any]:
    """A loop in the other direction, over the states of this one, that carries cotangents."""
    n = shape.states
    carried = {i for i in g.of if i < n and differentiable(body.inputs[i].dtype)}
    given_ys = sorted(k for k in g.of if k >= n)
    while True:  # until the cotangents that a turn makes are among those that it takes
        seeds, back = pulled(body, [*sorted(carried), *given_ys], range(len(operands)))
        new = {i for i in back if i < n} - carried
        if not new:
            break
        carried |= new
    order = sorted(carried)
    seed_of = dict(zip([*order, *given_ys], seeds, strict=True))
    _, sequences, fixed = _split(back, shape)
    sums = {i: symbol(f"s{i}", body.inputs[i].type) for i in fixed}
    # Under a batch some examples stop before others: what a turn did for them did not happen.
    holds = None if cond is None else symbol("p", ArrayType((), np.dtype(bool)))

    def kept(new: Any, old: Any) -> Any:
        return new if holds is None else np.where(holds, new, old)

    outputs = [
        *[
            kept(back[i] if i in back else zeros_of_type(body.inputs[i].type), seed_of[i])
            for i in order
        ],
        *[kept(sums[i] + back[i], sums[i]) for i in fixed],
        *[kept(back[i], zeros_of_type(body.inputs[i].type)) for i in sequences],
    ]
    states, seen, all_fixed = _split(used(body.inputs, outputs), shape)
    if shape.length == OPEN:  # the sequences say how often it runs
        seen = _split(range(len(operands)), shape)[1]
    met = _met_states(operands, body, cond, shape, [body.inputs[i] for i in states])
    inputs = [
        *[seed_of[i] for i in order],
        *sums.values(),
        *[body.inputs[i] for i in [*seen, *states]],
        *([] if holds is None else [holds]),
        *[seed_of[k] for k in given_ys],
        *[body.inputs[i] for i in all_fixed],
    ]
    start = [
        *[g.of[i] if i in g.of else zeros_of_type(body.inputs[i].type) for i in order],
        *[zeros_of_type(body.inputs[i].type) for i in fixed],
    ]
    along = [*[operands[i] for i in seen], *met, *[g.of[k] for k in given_ys]]
    back_loop = loop_op(
        *start,
        *along,
        *[operands[i] for i in all_fixed],
        body=body_of(inputs, outputs),
        cond=None,
        shape=Shape(len(start), len(along), shape.length, not shape.reverse),
    )
    return {i: pick(back_loop, place) for place, i in enumerate([*order, *fixed, *sequences])}


def _met_states(
    operands: Sequence[Expr], body: Body, cond: Body | None, shape: Shape, states: Sequence[Expr]
) -> list[Expr]:
    """The value at every turn of some states, and of the condition where there is one."""
    extra = [*states, *([] if cond is None else cond.on(body.inputs))]
    if not extra:
        return []
    loop = loop_op(
        *operands,
        body=Body(body.inputs, [*body.outputs, *extra]),
        cond=cond,
        shape=shape,
    )
    first = len(body.outputs)
    return [pick(loop, first + k) for k in range(len(extra))]


# -- batches -------------------------------------------------------------------------------------
def _batch(
    size: int,
    flags: Sequence[bool],
    *operands: Expr,
    body: Body,
    cond: Body | None,
    shape: Shape,
) -> Any:
    n = shape.states
    own = list(flags)
    everyone = False  # whether each example has a condition of its own
    while True:  # until the states that a turn makes a batch of are batches
        inputs, outputs = on_examples(body, size, own)
        tested = None if cond is None else on_examples(cond, size, own)[1][0]
        everyone = tested is not None and tested[1]
        new = [own[i] or everyone or outputs[i][1] for i in range(n)]
        if new == own[:n]:
            break
        own[:n] = new
    # How often an open loop runs is not known outside, so that what it puts out is spread inside.
    spread_inside = [own[k] if k < n else shape.length == OPEN for k in range(len(outputs))]
    results = [
        spread(expr, size) if inside and not flag else expr
        for inside, (expr, flag) in zip(spread_inside, outputs, strict=True)
    ]
    condition = None
    if tested is not None:
        holds: Any = tested[0]
        if everyone:
            results[:n] = [
                _where(holds, new, x) for new, x in zip(results, inputs[:n], strict=False)
            ]
            holds = np.any(holds)
        condition = body_of(inputs, [holds])
    moved = [
        spread(x, size)
        if i < n and own[i] and not flags[i]
        else moveaxis(x, 0, 1)
        if n <= i < n + shape.sequences and flags[i]
        else x
        for i, x in enumerate(operands)
    ]
    loop = loop_op(*moved, body=body_of(inputs, results), cond=condition, shape=shape)
    parts = []
    for k, (inside, (_, flag)) in enumerate(zip(spread_inside, outputs, strict=True)):
        part = pick(loop, k)
        batched = inside or flag
        parts.append((part if k < n else moveaxis(part, 1, 0)) if batched else spread(part, size))
    return together_op(*parts)


def _where(holds: Expr, new: Any, old: Expr) -> Any:
    return np.where(np.reshape(holds, (*holds.shape, *(1,) * (old.ndim - 1))), new, old)


def _bodies(z: Expr) -> list[list[Repeated]]:
    """The body and the condition; a loop whose length is known only when it has run counts one iteration."""
    params = dict(z.params)
    shape, cond = params["shape"], params["cond"]
    if cond is not None:
        return [[Repeated(cond, 1), Repeated(params["body"], 1)]]
    length = shape.length if shape.length >= 0 else z.args[shape.states].shape[0]
    return [[Repeated(params["body"], length if length >= 0 else 1)]]


loop_op: Op = Op(
    name="loop",
    run=_run,
    infer=_type,
    joint=_joint,
    batch=_batch,
    notation=lambda *operands, body, cond, shape: f"loop({', '.join(operands)})",
    columns=Columns(bodies=_bodies),
)
