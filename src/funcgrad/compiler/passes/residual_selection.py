"""Residual selection: a reverse loop reads what its forward loop computed, in place of computing it again.

The opposite of rematerialization. A derived reverse loop recomputes each iteration from the state that the
forward loop kept. A value that costs much more to compute than to keep, such as an entry of a log-sum-exp or
of a product of matrices, becomes one more output of the forward loop and one more sequence of the reverse
loop. So do the states after an iteration, if the reverse loop would compute them in many steps. Legal if the
forward body computes the value from the same operands: then its bits are the same. Values that `checkpoint`
recomputes are in bodies of their own, which this pass does not open.
Gain (docs/passes.md): without it the hidden Markov model takes 1.4 times as long, the LSTM 1.1 to 1.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from funcgrad.compiler.passes.operand_merging import merge_operands
from funcgrad.control.closed_program import Body
from funcgrad.control.loop import UNKNOWN_LENGTH, is_loop, loop_op
from funcgrad.expr import Expr, by_key, rebuild, subexpressions, symbol
from funcgrad.fold import folded_by_key
from funcgrad.graph import CONSTANT, INPUT, Key, dependent
from funcgrad.ops.base.op import flops_of
from funcgrad.ops.tuples import pick, pick_op
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.rewrite.substitute import substitute_all

_MEMORY, _CACHE = 1 << 26, 1 << 20
"""The most bytes of a residual of all iterations, and of one that is computed faster than memory is read."""


class _Worth(NamedTuple):
    """From when on an entry costs more to compute than to keep."""

    flops: int
    entries: int
    """The size of arrays from which an entry of a transcendental function does, too."""
    states: float
    """The flops from which an entry of the states after an iteration does, with what leads to it alone."""


# A call of NumPy's computes an entry in less time than another call takes to keep it; and the states of all
# iterations at once, if what leads to them is moved out of the reverse loop.
_IN_NUMPY, _IN_MACHINE_CODE = _Worth(24, 256, math.inf), _Worth(4, 16, 8)


class _Pair(NamedTuple):
    """A reverse loop, and the forward loop whose outputs it reads."""

    forward: Expr
    image: Mapping[Key, Expr]
    """By inputs of the reverse body: their values in the forward body."""
    history: frozenset[Key]
    """Those of these inputs that the forward loop computes."""


class _Residual(NamedTuple):
    """A value of a reverse body that is kept, and the value of the forward body that it is."""

    recomputed: Expr
    kept: Expr


def select_residuals(roots: Sequence[Expr], *, native: bool = False) -> list[Expr]:
    """The roots, in which reverse loops read expensive values that their forward loops keep.

    ``native`` says that they will be machine code.
    """
    if not any(map(is_loop, subexpressions(*roots))):
        return list(roots)
    roots = merge_operands(roots)
    loops = [expr for expr in subexpressions(*roots) if is_loop(expr)]
    pairs = {loop.key: pair for loop in loops if (pair := _pair_of(loop)) is not None}
    worth = _IN_MACHINE_CODE if native else _IN_NUMPY
    chosen = {
        loop.key: _residuals(loop, pairs[loop.key], worth) for loop in loops if loop.key in pairs
    }
    kept: dict[Key, dict[Key, Expr]] = {}
    for key, residuals in chosen.items():
        kept.setdefault(pairs[key].forward.key, {}).update({r.kept.key: r.kept for r in residuals})
    became: dict[Key, Expr] = {}

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        if expr.op is pick_op and args[0] is not expr.args[0]:
            return pick(args[0], expr.params[0][1])
        if not is_loop(expr):
            return rebuild(expr, args)
        residuals, values = chosen.get(expr.key, []), list[Expr]()
        if residuals:
            forward = pairs[expr.key].forward
            first, places = len(_body(forward).outputs), list(kept[forward.key])
            values = [
                pick(became[forward.key], first + places.index(r.kept.key)) for r in residuals
            ]
        return _with_residuals(again, expr, args, residuals, values, kept.get(expr.key, {}))

    again = partial(select_residuals, native=native)
    return folded_by_key(roots, step, became)


def _body(loop: Expr) -> Body:
    body: Body = dict(loop.params)["body"]
    return body


# -- looking ---------------------------------------------------------------------------------------
def _pair_of(loop: Expr) -> _Pair | None:
    """A loop with the loop whose history it reads; None if it reads none."""
    params = dict(loop.params)
    spec, inputs = params["spec"], params["body"].inputs
    n, middle = spec.num_carry, spec.num_carry + spec.num_xs
    if params["cond"] is not None or spec.trip_count < 2:
        return None
    sources = [x.args[0] for x in loop.args[n:middle] if _is_history(x, spec.trip_count)]
    if not sources:
        return None
    forward = sources[0]
    own, their_spec = _body(forward), dict(forward.params)["spec"]
    first, last = their_spec.num_carry, their_spec.num_carry + their_spec.num_xs
    along, fixed = [
        {x.key: y for x, y in zip(forward.args[part], own.inputs[part], strict=True)}
        for part in (slice(first, last), slice(last, None))
    ]
    history = {
        x.key: own.outputs[operand.params[0][1]]
        for x, operand in zip(inputs[n:middle], loop.args[n:middle], strict=True)
        if _is_history(operand, spec.trip_count) and operand.args[0] is forward
    }
    shared = [
        (x.key, known[operand.key])
        for part, known in ((slice(n, middle), along), (slice(middle, None), fixed))
        for x, operand in zip(inputs[part], loop.args[part], strict=True)
        if operand.key in known
    ]
    return _Pair(forward, dict(shared) | history, frozenset(history))


def _is_history(x: Expr, trip_count: int) -> bool:
    """Whether an expression is an output of a loop of so many iterations, one entry an iteration."""
    if x.op is not pick_op or not is_loop(x.args[0]):
        return False
    params = dict(x.args[0].params)
    counted = params["cond"] is None and params["spec"].trip_count == trip_count
    return counted and x.params[0][1] >= params["spec"].num_carry


def _residuals(loop: Expr, pair: _Pair, worth: _Worth) -> list[_Residual]:
    """The values that a reverse loop is to read."""
    outputs = _body(loop).outputs
    exprs = list(by_key(*outputs).values())
    others = [x.key for x in exprs if x.op is INPUT and x.args == () and x.key not in pair.image]
    changing, late = dependent(exprs, pair.history), dependent(exprs, others)
    length = dict(loop.params)["spec"].trip_count
    recomputed = {x.key: x for x in exprs if x.key in changing and x.key not in late}
    expensive = [x for x in recomputed.values() if _is_expensive(x, length, worth)]
    found = _next_states(loop, pair, recomputed, worth.states)
    images = simplify_all(substitute_all(expensive, dict(pair.image))) if expensive else []
    computed = {x.key for x in subexpressions(*_body(pair.forward).outputs)} if expensive else ()
    for x, image in zip(expensive, images, strict=True):
        if image.key in computed:
            found[x.key] = _Residual(x, image)
    # Only those are kept that are read where no kept value stands between.
    met = by_key(*outputs, operands=lambda x: () if x.key in found else x.args)
    return [residual for key, residual in found.items() if key in met]


def _next_states(
    loop: Expr, pair: _Pair, recomputed: Mapping[Key, Expr], worth: float
) -> dict[Key, _Residual]:
    """The states after an iteration that a reverse loop recomputes, if that costs more than to keep them."""
    body, own = _body(loop), _body(pair.forward)
    params = dict(pair.forward.params)
    given = {pair.image[x.key].key: x for x in body.inputs if x.key in pair.image}
    states = own.outputs[: params["spec"].num_carry]
    found = {}
    for state, x in zip(states, simplify_all(substitute_all(states, given)), strict=True):
        held = recomputed.get(x.key)
        if held is not None and _can_be_kept(held, params["spec"].trip_count):
            found[x.key] = _Residual(held, state)
    if not found:
        return {}
    left = by_key(*body.outputs, operands=lambda x: () if x.key in found else x.args)
    spared = [x for key, x in recomputed.items() if key in found or key not in left]
    flops = sum([flops_of(x) or 0 for x in spared if x.args])
    entries = sum([residual.kept.size for residual in found.values()])
    return found if flops >= worth * entries else {}


def _can_be_kept(x: Expr, length: int) -> bool:
    """Whether the values of so many iterations are an array of numbers, and not too large."""
    if x.op in (INPUT, CONSTANT) or x.type.dtype.kind not in "fc" or not x.size:
        return False
    # (That of a loop inside has another length in each iteration.)
    return UNKNOWN_LENGTH not in x.shape and x.size * x.dtype.itemsize * length <= _MEMORY


def _is_expensive(x: Expr, length: int, worth: _Worth) -> bool:
    if not _can_be_kept(x, length):
        return False
    is_fast = x.size * x.dtype.itemsize * length <= _CACHE
    if x.op.columns.transcendental and x.size >= worth.entries and is_fast:
        return True
    return (flops_of(x) or 0) >= worth.flops * x.size


# -- building --------------------------------------------------------------------------------------
def _with_residuals(
    again: Callable[[Sequence[Expr]], list[Expr]],
    loop: Expr,
    args: Sequence[Expr],
    residuals: Sequence[_Residual],
    sequences: Sequence[Expr],
    kept: Mapping[Key, Expr],
) -> Expr:
    """A loop with more outputs, that reads residuals from sequences; its body goes through the pass again."""
    params = dict(loop.params)
    body, spec = params["body"], params["spec"]
    middle = spec.num_carry + spec.num_xs
    names = [symbol(f"r{k}", r.recomputed.type) for k, r in enumerate(residuals)]
    given = {r.recomputed.key: name for r, name in zip(residuals, names, strict=True)}
    made = substitute_all(body.outputs, given) if given else body.outputs
    inputs = [*body.inputs[:middle], *names, *body.inputs[middle:]]
    new = Body(inputs, again([*made, *kept.values()]))
    operands: Any = (*args[:middle], *sequences, *args[middle:])
    spec = spec._replace(num_xs=spec.num_xs + len(names))
    found: Expr = loop_op(*operands, body=new, cond=params["cond"], spec=spec)
    return found
