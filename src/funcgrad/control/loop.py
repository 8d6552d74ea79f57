"""The loop operation: a body run repeatedly with a carried state, over sequences or while a condition holds.

Operands are the initial state, the sequences, and the loop invariants. The value is the final state and
the stacked outputs of all iterations. All derivatives are loops again. The forward derivative carries
tangents beside the state. The reverse derivative runs over the recorded states of the forward loop, in the
opposite direction, and carries cotangents. So derivatives of derivatives are loops, to every order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad import expr as expr_module
from funcgrad.control.call_and_branch import fresh_copies
from funcgrad.control.closed_program import (
    Body,
    body_of,
    for_untaken_paths,
    jvp_of_body,
    may_raise,
    on_examples,
    used,
    vjp_of_body,
    zeros_of_type,
)
from funcgrad.expr import Expr, by_key, rebuild, symbol
from funcgrad.graph import ArrayType, Key, TupleType, dependent
from funcgrad.linear import Joint, Parts
from funcgrad.ops.base.columns import Columns, Repeated
from funcgrad.ops.base.op import Op, differentiable, spread
from funcgrad.ops.elementwise.selection import along_leading_axes, cut_off
from funcgrad.ops.indexing import getitem_op
from funcgrad.ops.shape import moveaxis
from funcgrad.ops.tuples import pick, together_op
from funcgrad.rewrite.store_laws import accumulated
from funcgrad.rewrite.substitute import substitute_all
from funcgrad.typing import Array

UNKNOWN_LENGTH = -1
"""The trip count of a loop that is known only when it runs."""


class LoopSpec(NamedTuple):
    """The number of carried values and of sequences among a loop's operands, and how often it runs.

    Operands are the initial carry, the sequences (``xs``, as in `scan`), then loop invariants.
    """

    num_carry: int
    num_xs: int
    trip_count: int
    """The number of iterations; `UNKNOWN_LENGTH` if the sequences or the condition determine it."""
    reverse: bool = False
    masked_by: int | None = None
    """The sequence of truth values that are false past an example's end, where nothing is to be changed."""


def is_loop(expr: Expr) -> bool:
    """Whether a node is a loop, whose value is the tuple of its states and outputs."""
    return expr.op is loop_op and expr.type.dtype.kind == "O"


# -- running -------------------------------------------------------------------------------------
def _run(*operands: Array, body: Body, cond: Body | None, spec: LoopSpec) -> Any:
    # The compiler is in a higher layer: the package registers its runner of loops.
    states, stacks = expr_module.operation_table.functions["run_loop"](body, cond, spec)(operands)
    return (*fresh_copies(states, operands), *stacks)


def iterations_of(spec: LoopSpec, operands: Sequence[Any]) -> range:
    """The iterations of a loop without a condition, by number, in the order in which they run."""
    length = len(operands[spec.num_carry]) if spec.trip_count == UNKNOWN_LENGTH else spec.trip_count
    return range(length)[::-1] if spec.reverse else range(length)


def stacked(values: Sequence[Any], type: ArrayType) -> Any:
    """The outputs of all iterations, along a new first axis."""
    result = np.empty((len(values), *type.shape), type.dtype)
    for t, value in enumerate(values):
        result[t] = value
    return result


def reference_loop(
    operands: Sequence[Any], body: Body, cond: Body | None, spec: LoopSpec
) -> tuple[Sequence[Any], list[Any]]:
    """The final state and the stacked outputs, iteration by iteration: the reference for compiled loops."""
    step, count = body.program.step, spec.num_carry
    middle = count + spec.num_xs
    state: Sequence[Any] = operands[:count]
    sequences, fixed = operands[count:middle], operands[middle:]
    types = body.types[count:]
    if cond is None:
        iterations = iterations_of(spec, operands)
        stacks = [np.empty((len(iterations), *type.shape), type.dtype) for type in types]
        for t in iterations:
            values = step([*state, *[sequence[t] for sequence in sequences], *fixed])
            state = values[:count]
            for whole, value in zip(stacks, values[count:], strict=True):
                whole[t] = value
        return state, stacks
    holds = cond.program.step
    outputs: list[list[Any]] = [[] for _ in types]
    while holds([*state, *fixed])[0]:
        values = step([*state, *fixed])
        state = values[:count]
        for found, value in zip(outputs, values[count:], strict=True):
            found.append(value)
    return state, [stacked(found, type) for found, type in zip(outputs, types, strict=True)]


def _type(*types: ArrayType, body: Body, cond: Body | None, spec: LoopSpec) -> Any:
    found = body.types
    stacked = [ArrayType((spec.trip_count, *t.shape), t.dtype) for t in found[spec.num_carry :]]
    return TupleType((*found[: spec.num_carry], *stacked))


# -- derivatives ---------------------------------------------------------------------------------
def _joint(z: object, *operands: Expr, body: Body, cond: Body | None, spec: LoopSpec) -> Joint:
    given = operands, body, cond, spec
    return Joint(partial(_forward, *given), partial(_backward, *given))


def _split(places: Iterable[int], spec: LoopSpec) -> tuple[list[int], list[int], list[int]]:
    """Positions of operands in order: of the state, of sequences, and of loop invariants."""
    middle = spec.num_carry + spec.num_xs
    ordered = sorted(places)
    return (
        [i for i in ordered if i < spec.num_carry],
        [i for i in ordered if spec.num_carry <= i < middle],
        [i for i in ordered if i >= middle],
    )


def _forward(
    operands: Sequence[Expr],
    body: Body,
    cond: Body | None,
    spec: LoopSpec,
    flows: Mapping[int, Any],
) -> Parts:
    """A loop that carries tangents beside the state."""
    n = spec.num_carry
    named, moved = _carried_tangents(body, spec, flows)
    order = list(named)
    states, sequences, fixed = _split(order, spec)
    own = _split(range(len(operands)), spec)
    ys = [k for k in range(n, len(body.outputs)) if moved[k] is not None]
    outputs = [
        *body.outputs[:n],
        *[zeros_of_type(body.outputs[i].type) if moved[i] is None else moved[i] for i in states],
        *[moved[k] for k in ys],
    ]

    def beside(values: Sequence[Any], extra: Mapping[int, Any]) -> list[Any]:
        """Each group of operands, followed by the extra values for some of them."""
        groups = zip(own, (states, sequences, fixed), strict=True)
        return [
            v
            for mine, more in groups
            for v in [*[values[i] for i in mine], *[extra[i] for i in more]]
        ]

    given = {i: flows[i] if i in flows else zeros_of_type(operands[i].type) for i in order}
    inputs = beside(body.inputs, named)
    # The condition reads the same values as before.
    tested = cond and body_of(inputs, cond.inline(body.inputs))
    new_spec = spec._replace(num_carry=n + len(states), num_xs=spec.num_xs + len(sequences))
    new_loop = loop_op(
        *beside(operands, given), body=body_of(inputs, outputs), cond=tested, spec=new_spec
    )
    return Parts(
        {i: pick(new_loop, n + place) for place, i in enumerate(states)}
        | {k: pick(new_loop, n + len(states) + place) for place, k in enumerate(ys)}
    )


def _carried_tangents(
    body: Body, spec: LoopSpec, given: Iterable[int]
) -> tuple[dict[int, Expr], list[Any]]:
    """Tangents of the operands that have some, by position, and those of the body's outputs, or None.

    A state has a tangent if an iteration gives it one: the states are a fixed point of one iteration.
    """
    active = set(given)
    while True:
        order = [i for group in _split(active, spec) for i in group]
        tangents, moved = jvp_of_body(body, order)
        new = {i for i in range(spec.num_carry) if moved[i] is not None} - active
        if not new:
            return dict(zip(order, tangents, strict=True)), moved
        active |= new


def _carried_cotangents(
    body: Body, spec: LoopSpec, given: Iterable[int]
) -> tuple[dict[int, Expr], dict[int, Expr]]:
    """Cotangents of the states that have some and of the given outputs, and those of the operands.

    A state has a cotangent if an iteration gives it one: the states are a fixed point of one iteration.
    """
    n = spec.num_carry
    given_ys = sorted([k for k in given if k >= n])
    carried = {i for i in given if i < n and differentiable(body.inputs[i].dtype)}
    while True:
        order = [*sorted(carried), *given_ys]
        seeds, back = vjp_of_body(body, order, range(len(body.inputs)))
        new = {i for i in back if i < n} - carried
        if not new:
            return dict(zip(order, seeds, strict=True)), back
        carried |= new


def _backward(
    operands: Sequence[Expr], body: Body, cond: Body | None, spec: LoopSpec, g: Parts
) -> Mapping[int, Any]:
    """A loop in the opposite direction, over the recorded states of this one, that carries cotangents."""
    n = spec.num_carry
    seed_of, back = _carried_cotangents(body, spec, g.of)
    order, given_ys = [i for i in seed_of if i < n], [k for k in seed_of if k >= n]
    _, sequences, fixed = _split(back, spec)
    sums = {i: symbol(f"s{i}", body.inputs[i].type) for i in fixed}
    # In a batch some examples stop before others: iterations past an example's end are masked.
    holds = None if cond is None else symbol("p", ArrayType((), np.dtype(bool)))

    def masked(new: Any, old: Any) -> Any:
        return new if holds is None else np.where(holds, new, old)

    outputs = [
        *[
            masked(back[i] if i in back else zeros_of_type(body.inputs[i].type), seed_of[i])
            for i in order
        ],
        *[masked(_plus(sums[i], back[i]), sums[i]) for i in fixed],
        *[masked(back[i], zeros_of_type(body.inputs[i].type)) for i in sequences],
    ]
    reads = _reads_of_states(body.inputs[:n], outputs, list(seed_of.values()))
    names = [symbol(f"r{k}", read.type) for k, read in enumerate(reads)]
    outputs = substitute_all(outputs, dict(zip([read.key for read in reads], names, strict=True)))
    still = used(names, outputs)
    states, seen, all_fixed = _split(used(body.inputs, outputs), spec)
    if spec.trip_count == UNKNOWN_LENGTH:  # the sequences say how often it runs
        seen = _split(range(len(operands)), spec)[1]
    elif spec.masked_by is not None:
        seen = sorted({*seen, n + spec.masked_by})
    values = [*[body.inputs[i] for i in states], *[reads[k] for k in still]]
    history = _history(operands, body, cond, spec, values)
    inputs = [
        *[seed_of[i] for i in order],
        *sums.values(),
        *[body.inputs[i] for i in [*seen, *states]],
        *[names[k] for k in still],
        *([] if holds is None else [holds]),
        *[seed_of[k] for k in given_ys],
        *[body.inputs[i] for i in all_fixed],
    ]
    start = [
        *[g.of[i] if i in g.of else zeros_of_type(body.inputs[i].type) for i in order],
        *[zeros_of_type(body.inputs[i].type) for i in fixed],
    ]
    along = [*[operands[i] for i in seen], *history, *[g.of[k] for k in given_ys]]
    masked_by = None
    if holds is not None:
        masked_by = len(seen) + len(history) - 1
    elif spec.masked_by is not None:
        masked_by = seen.index(n + spec.masked_by)
    back_loop = loop_op(
        *start,
        *along,
        *[operands[i] for i in all_fixed],
        body=body_of(inputs, outputs),
        cond=None,
        spec=LoopSpec(len(start), len(along), spec.trip_count, not spec.reverse, masked_by),
    )
    return {i: pick(back_loop, place) for place, i in enumerate([*order, *fixed, *sequences])}


def _plus(total: Expr, term: Expr) -> Any:
    """A sum of cotangents: a few entries are added in place."""
    added = total + term
    found = accumulated(added)
    return added if found is None else found


def _reads_of_states(
    states: Sequence[Expr], outputs: Sequence[Any], seeds: Sequence[Expr]
) -> list[Expr]:
    """The entries of states that are read, if others are not: these are kept, not the states."""
    exprs = list(by_key(*outputs).values())
    on_seeds = dependent(exprs, [seed.key for seed in seeds])
    users_of: dict[Key, list[Expr]] = {state.key: [] for state in states}
    for expr in exprs:
        for key in users_of.keys() & {arg.key for arg in expr.args}:
            users_of[key].append(expr)
    reads: list[Expr] = []
    for state in states:
        users = users_of[state.key]
        read = [e for e in users if e.op is getitem_op and e.args[0].key == state.key]
        whole = (
            any([e.key in on_seeds for e in read])
            or len(read) < len(users)
            or any([e.key == state.key for e in outputs])
        )
        if not whole and sum([e.size for e in read]) < state.size:
            reads.extend(read)
    return reads


def _history(
    operands: Sequence[Expr], body: Body, cond: Body | None, spec: LoopSpec, values: Sequence[Expr]
) -> list[Expr]:
    """Some values at each iteration, and that of the condition if there is one."""
    extra = [*values, *([] if cond is None else cond.inline(body.inputs))]
    if not extra:
        return []
    loop = loop_op(*operands, body=Body(body.inputs, [*body.outputs, *extra]), cond=cond, spec=spec)
    first = len(body.outputs)
    return [pick(loop, first + k) for k in range(len(extra))]


# -- batches -------------------------------------------------------------------------------------
class _Iteration(NamedTuple):
    """One iteration for all examples of a batch: new inputs, and each output with whether it is batched."""

    batched: list[bool]
    """Which inputs are batched."""
    inputs: list[Expr]
    outputs: list[tuple[Expr, bool]]
    condition: tuple[Expr, bool] | None


def _batched_iteration(
    size: int, flags: Sequence[bool], body: Body, cond: Body | None, spec: LoopSpec
) -> _Iteration:
    """One iteration in which a state is batched that an iteration gives an entry an example."""
    n = spec.num_carry
    own = list(flags)
    while True:  # until the batched states are a fixed point of one iteration
        inputs, outputs = on_examples(body, size, own)
        condition = None if cond is None else on_examples(cond, size, own)[1][0]
        each_stops = condition is not None and condition[1]
        new = [own[i] or each_stops or outputs[i][1] for i in range(n)]
        if new == own[:n]:
            return _Iteration(own, inputs, outputs, condition)
        own[:n] = new


def _batch(
    size: int, flags: Sequence[bool], *operands: Expr, body: Body, cond: Body | None, spec: LoopSpec
) -> Any:
    n = spec.num_carry
    own, inputs, outputs, tested = _batched_iteration(size, flags, body, cond, spec)
    batched_predicate = tested is not None and tested[1]  # whether each example has its own
    condition, running = None, None
    given: dict[Key, Expr] = {}
    if tested is not None:
        holds: Any = tested[0]
        running = holds if batched_predicate else None
        goes_on: Any = np.any(holds) if batched_predicate else holds
        condition = body_of(inputs, [goes_on])
    elif spec.masked_by is not None and own[n + spec.masked_by]:
        running = inputs[n + spec.masked_by]
        spec = spec._replace(masked_by=None)
    if running is not None:  # an example that has ended runs on for nothing: it raises no error
        (*_, last), outputs = on_examples(for_untaken_paths(body), size, [*own, True])
        given[last.key] = running
    if batched_predicate:  # and no derivative goes through that
        pairs = zip(inputs, own, strict=True)
        given |= {x.key: cut_off(x, holds) for x, batch in pairs if batch}
    # The trip count of an open loop is not known outside, so its outputs are broadcast inside.
    batched_inside = [
        own[k] if k < n else spec.trip_count == UNKNOWN_LENGTH for k in range(len(outputs))
    ]
    results = substitute_all(
        [
            spread(expr, size) if inside and not flag else expr
            for inside, (expr, flag) in zip(batched_inside, outputs, strict=True)
        ],
        given,
    )
    if batched_predicate:
        kept: list[Any] = [
            np.where(along_leading_axes(holds, x.ndim), new, x)
            for new, x in zip(results, inputs[:n], strict=False)
        ]
        results[:n] = kept
    moved = [
        spread(x, size)
        if i < n and own[i] and not flags[i]
        else moveaxis(x, 0, 1)
        if n <= i < n + spec.num_xs and flags[i]
        else x
        for i, x in enumerate(operands)
    ]
    loop = loop_op(*moved, body=body_of(inputs, results), cond=condition, spec=spec)
    parts = []
    for k, (inside, (_, flag)) in enumerate(zip(batched_inside, outputs, strict=True)):
        part = pick(loop, k)
        batched = inside or flag
        parts.append((part if k < n else moveaxis(part, 1, 0)) if batched else spread(part, size))
    return together_op(*parts)


def _bodies(z: Expr) -> list[list[Repeated]]:
    """The body and the condition; a loop of unknown length counts one iteration."""
    params = dict(z.params)
    spec, cond = params["spec"], params["cond"]
    if cond is not None:
        return [[Repeated(cond, 1), Repeated(params["body"], 1)]]
    length = spec.trip_count if spec.trip_count >= 0 else z.args[spec.num_carry].shape[0]
    return [[Repeated(params["body"], length if length >= 0 else 1)]]


def _untaken(holds: Expr, expr: Expr, args: tuple[Expr, ...]) -> Any:
    params = dict(expr.params)
    body, cond = params["body"], params["cond"]
    if not (may_raise(body) or (cond is not None and may_raise(cond))):
        return rebuild(expr, args)
    tested = None if cond is None else for_untaken_paths(cond)
    return loop_op(*args, holds, body=for_untaken_paths(body), cond=tested, spec=params["spec"])


loop_op: Op = Op(
    name="loop",
    run=_run,
    infer=_type,
    joint=_joint,
    batch=_batch,
    notation=lambda *operands, body, cond, spec: f"loop({', '.join(operands)})",
    columns=Columns(bodies=_bodies, machine="control_forms:loop", untaken=_untaken),
)
