"""scan, while_loop and fori_loop, with JAX's signatures.

The body is traced once, for any number of iterations. Traced values and arrays that it captures become
operands of the loop. Outside a trace a loop runs at once.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import islice, repeat
from typing import Any

import numpy as np

from funcgrad.arrays.reference import plain_value
from funcgrad.control.call_and_branch import bind
from funcgrad.control.closed_program import Body, body_of
from funcgrad.control.loop import UNKNOWN_LENGTH, LoopSpec, loop_op
from funcgrad.expr import Expr, symbol
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import lift_fully
from funcgrad.source import tell_line, type_error, value_error
from funcgrad.trace.leaves import on_arrays
from funcgrad.trace.outer_arrays import OuterArrays
from funcgrad.trace.pytree import Tree, flatten
from funcgrad.trace.random_draws import outer_generators, warn_of_draws
from funcgrad.trace.trace_body import symbols, trace_body, types_of
from funcgrad.transforms.transform_arguments import refuse_ranges, structure_of


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: object,
    xs: object = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoint: int | str | None = None,
) -> tuple[Any, Any]:
    """A loop that carries a state and returns an output at each iteration, as
    `jax.lax.scan`.

    ``f(carry, x)`` returns ``(carry, y)``; ``xs`` is a tree of arrays whose
    first axis is the iteration, or None with a ``length``. Returns the last
    carry and the tree of stacked y. With ``reverse`` the iterations run from
    the last to the first. The carry keeps its structure, shapes and dtypes.
    ``unroll`` changes nothing: the compiler of the loop's body decides.

    ``checkpoint`` selects the states that reverse mode keeps: all (None),
    every k-th (an int), about the square root of their number ("sqrt"), or
    about eight for each power of eight in their number ("log", about as many
    as binomial schedules keep). The others are recomputed: once for "sqrt",
    once for each power of eight for "log".

    Raises TypeError if f does not return a pair, or changes the structure,
    shape or dtype of the carry; ValueError if the arrays of ``xs`` and
    ``length`` disagree or are missing, or ``checkpoint`` is unknown.

    >>> import numpy as np
    >>> scan(lambda total, x: (total + x, total), 0.0, np.array([1, 2, 3.0]))
    (6.0, array([0., 1., 3.]))
    """
    return scan_named("scan", f, init, xs, length, reverse, checkpoint)


def scan_named(
    who: str,
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: object,
    xs: object,
    length: int | None = None,
    reverse: bool = False,
    checkpoint: int | str | None = None,
) -> tuple[Any, Any]:
    """`scan`, whose errors name the function that called it."""
    check_functions(who, f=f)
    f = on_arrays(f)
    refuse_ranges(who, xs)
    sequences = flatten(xs) if xs is not None else Tree([], lambda _: None, [])
    iterations = _iterations(who, sequences, length)
    chunk = _chunk(checkpoint, iterations)
    items = [ArrayType(np.shape(v)[1:], lift_fully(v).dtype) for v in sequences.leaves]

    def step(carry: object, x: object) -> tuple[Any, Any]:
        made = f(carry, x)
        if not isinstance(made, tuple) or len(made) != 2:
            raise type_error(
                f"{who}: expected f to return a pair (carry, y), but got {type(made).__name__}; "
                "return (carry, ()) for no y",
            )
        return made

    carry, body, captured, output = _fixed_point_carry(who, step, flatten(init), sequences, items)
    if chunk is not None and chunk < iterations:
        inner = "log" if checkpoint == "log" else None
        return _chunked_scan(
            step, carry.rebuild(carry.leaves), xs, iterations, chunk, reverse, inner
        )
    if not iterations:  # what the body computes of captured values alone may have no derivative
        captured = [
            np.zeros(type.shape, type.dtype) for type in [lift_fully(v).type for v in captured]
        ]
    operands = [*carry.leaves, *sequences.leaves, *captured]
    spec = LoopSpec(len(carry.leaves), len(items), iterations, reverse)
    try:
        values = bind(loop_op, operands, len(body.outputs), body=body, cond=None, spec=spec)
    except Exception as error:
        if not hasattr(error, "__notes__"):
            rows = range(iterations)[:: -1 if reverse else 1]
            rest = (sequences.rebuild([value[t] for value in sequences.leaves]) for t in rows)
            tell_line(error, lambda: _one_by_one(step, carry, rest))
        raise
    count = len(carry.leaves)
    return carry.rebuild(values[:count]), flatten(output[1]).rebuild(values[count:])


_MOST_TOLD = 1000
"""The iterations of a loop that raises an error which run once more, to find the line."""


def _one_by_one(
    step: Callable[[Any, Any], tuple[Any, Any]],
    carry: Tree,
    xs: Iterable[Any],
    holds: Callable[[Any], Any] = lambda _: True,
) -> None:
    """Run the function of a loop on numbers, as Python does."""
    state = carry.rebuild([np.copy(value)[()] for value in carry.leaves])
    for x in islice(xs, _MOST_TOLD):
        if not holds(state):
            return
        state, _ = step(state, x)


def check_functions(who: str, **functions: object) -> None:
    """Refuse what is no function, and show a call."""
    for name, f in functions.items():
        if not callable(f):
            raise type_error(
                f"{who}: expected a function as {name}, but got {type(f).__name__}; "
                f"write {_EXAMPLES[who]}",
            )


_EXAMPLES = {
    "scan": "scan(lambda carry, x: (carry + x, carry), 0.0, xs)",
    "while_loop": "while_loop(lambda x: x < 10.0, lambda x: 2 * x, 1.0)",
    "fori_loop": "fori_loop(0, 10, lambda i, x: x + i, 0.0)",
    "reduce": "reduce(lambda y, x: y + x, xs, 0.0)",
    "accumulate": "accumulate(lambda y, x: y + x, xs, 0.0)",
    "iterate": "iterate(lambda x: 2 * x, 1.0, 10)",
    "associative_scan": "associative_scan(lambda a, b: a + b, xs)",
}


def _iterations(who: str, sequences: Tree, length: int | None) -> int:
    if length is not None and (not _is_count(length) or not 0 <= length <= sys.maxsize):
        got = repr(length) if isinstance(length, int | float) else type(length).__name__
        raise value_error(
            f"{who}: expected length to be an int of 0 or more, but got {got}; a number of iterations that "
            "depends on the data is for while_loop or fori_loop",
        )
    shapes = [np.shape(value) for value in sequences.leaves]
    if any(not shape for shape in shapes):
        raise value_error(
            f"{who}: expected xs with a first axis to run over, but got a scalar; a list of numbers is a "
            "tree of scalars: write np.array(xs)",
        )
    lengths = {shape[0] for shape in shapes} | ({length} if length is not None else set())
    if len(lengths) != 1:
        known = ", ".join(str(n) for n in sorted(lengths)) or "none; give xs or length="
        raise value_error(f"{who}: expected one length of all xs, but got {known}")
    return int(lengths.pop())


def _is_count(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _fixed_point_carry(
    who: str, f: Callable[..., Any], init: Tree, sequences: Tree, items: Sequence[ArrayType]
) -> tuple[Tree, Body, list[Any], Any]:
    """The body of a loop, traced until the carry's types are a fixed point.

    A Python number is widened to the type that an iteration gives it; any other carry must keep its type.
    """
    carry = init
    for _ in range(3):
        types = types_of(carry)
        outer = OuterArrays(f)
        generators = outer_generators(outer.reached)
        body, captured, output = trace_body(
            f, [carry, sequences], symbols([carry, sequences], [*types, *items]), numbers=True
        )
        outer.check(who)
        warn_of_draws(who, "the function", generators, _SHARED)
        state = output[0] if isinstance(output, tuple) else output
        made = flatten(state)
        if made.paths != carry.paths:
            raise type_error(
                f"{who}: expected a carry of the structure that it had before, {structure_of(carry)}, but "
                f"got {structure_of(made)}; return the next carry in the structure of the first",
            )
        after = types_of(made)
        if after == types:
            return carry, body, captured, output
        _check_growth(who, carry.paths, types_of(init), types, after)
        widened = [
            _widened(who, value, label, old, new)
            for value, label, old, new in zip(carry.leaves, carry.paths, types, after, strict=True)
        ]
        carry = Tree(widened, carry.rebuild, carry.paths)
    raise type_error(
        f"{who}: expected a carry that keeps its type, but it changes at every iteration"
    )


_SHARED = (
    "all iterations share them; draw an array outside with an entry for each, and read it there"
)
"""Of random numbers: who shares them, and what to write."""


def _check_growth(
    who: str,
    paths: Sequence[str],
    first: Sequence[ArrayType],
    old: Sequence[ArrayType],
    new: Sequence[ArrayType],
) -> None:
    """Raise TypeError if a number became an array, and another one in the next iteration."""
    for label, given, before, after in zip(paths, first, old, new, strict=True):
        if given != before and before.shape != after.shape:
            raise type_error(
                f"{who}: expected a carry that keeps its type, but {label.strip('_') or 'it'} was {given}, "
                f"became {before}, and {after} after that; return a value of the shape that it had before",
            )


def _widened(who: str, value: Any, label: str, old: ArrayType, new: ArrayType) -> Any:
    if old == new:
        return value
    weak = isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic)
    if weak and np.can_cast(old.dtype, new.dtype, "same_kind"):
        if new.shape:
            return np.full(new.shape, value, new.dtype)
        return new.dtype.type(value)
    if np.can_cast(new.dtype, old.dtype, "same_kind") and old.shape == new.shape and weak:
        return value
    kept = f", or return it as {old.dtype}; a counter is int64: write i.astype({str(old.dtype)!r})"
    narrower = old.shape == new.shape and np.can_cast(new.dtype, old.dtype, "same_kind")
    raise type_error(
        f"{who}: expected a carry that keeps its type, but {label.strip('_') or 'it'} was {old} and became "
        f"{new}; start with a value of the new type, as in np.zeros({new.shape}, {str(new.dtype)!r})"
        f"{kept if narrower else ''}",
    )


def _chunk(checkpoint: int | str | None, iterations: int) -> int | None:
    if checkpoint is None:
        return None
    if checkpoint == "sqrt":
        return max(1, math.isqrt(max(iterations - 1, 0)) + 1)
    if checkpoint == "log":
        chunk = 1
        while chunk * _BASE < iterations:
            chunk *= _BASE
        return chunk if chunk > 1 else None
    if isinstance(checkpoint, int) and not isinstance(checkpoint, bool) and checkpoint > 0:
        return checkpoint
    raise value_error(
        "scan: expected checkpoint to be None, 'sqrt', 'log' or a number of iterations, but got "
        f"{checkpoint!r}",
    )


# The number of chunks at each level of "log".
_BASE = 8


def _chunked_scan(
    f: Callable[..., Any],
    init: object,
    xs: object,
    iterations: int,
    chunk: int,
    reverse: bool,
    inner: str | None,
) -> tuple[Any, Any]:
    """A scan over chunks of iterations, each a scan: reverse mode keeps the states between chunks.

    ``inner`` is the checkpoint policy inside a chunk, when it is recomputed.
    """
    whole = iterations // chunk
    sequences = flatten(xs) if xs is not None else Tree([], lambda _: None, [])

    def part(start: int, stop: int) -> Any:
        return sequences.rebuild([v[start:stop] for v in sequences.leaves])

    def chunks(start: int) -> Any:
        shaped = [
            np.reshape(v[start : start + whole * chunk], (whole, chunk, *np.shape(v)[1:]))
            for v in sequences.leaves
        ]
        return sequences.rebuild(shaped)

    def over_chunk(carry: object, x: object) -> tuple[Any, Any]:
        return scan(f, carry, x, chunk, reverse, checkpoint=inner)

    rest = iterations - whole * chunk
    # The iterations beyond the last whole chunk run last.
    start = rest if reverse else 0
    carry, ys = scan(over_chunk, init, chunks(start), whole, reverse)
    stacked = flatten(ys)
    joined = [np.reshape(v, (whole * chunk, *np.shape(v)[2:])) for v in stacked.leaves]
    if rest:
        tail = part(0, rest) if reverse else part(whole * chunk, iterations)
        carry, more = scan(f, carry, tail, rest, reverse, checkpoint=inner)
        pairs = zip(joined, flatten(more).leaves, strict=True)
        joined = [np.concatenate([b, a] if reverse else [a, b]) for a, b in pairs]
    return carry, stacked.rebuild(joined)


def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: object
) -> Any:
    """``body_fun`` applied repeatedly while ``cond_fun`` of the value is true, as
    `jax.lax.while_loop`.

    The number of iterations may depend on the data. Unlike JAX's, the loop is
    differentiable in reverse mode, which keeps the value of every iteration.
    The value keeps its structure, shapes and dtypes.

    Raises TypeError if ``cond_fun`` does not return a scalar bool, or
    ``body_fun`` changes the structure, shape or dtype of the value.

    >>> while_loop(lambda x: x < 100.0, lambda x: x * x, 3.0)
    6561.0
    """
    return _while("while_loop", cond_fun, body_fun, init_val)


def _while(
    who: str, cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: object
) -> Any:
    check_functions(who, cond_fun=cond_fun, body_fun=body_fun)
    cond_fun, body_fun = on_arrays(cond_fun), on_arrays(body_fun)
    init = flatten(init_val)
    empty = Tree([], lambda _: None, [])

    def step(value: Any, _: object) -> tuple[Any, Any]:
        return body_fun(value), ()

    carry, body, captured, _ = _fixed_point_carry(who, step, init, empty, [])
    outer = OuterArrays(cond_fun)
    generators = outer_generators(outer.reached)
    cond, more, output = trace_body(
        cond_fun, [carry], symbols([carry], types_of(carry)), numbers=True
    )
    outer.check(who)
    warn_of_draws(who, "the function", generators, _SHARED)
    if len(cond.outputs) != 1 or cond.types[0] != ArrayType((), np.dtype(bool)):
        got = structure_of(flatten(output))
        raise type_error(
            f"while_loop: expected cond_fun to return one bool, but got {got}; write x > 0 or the like",
        )
    n = len(carry.leaves)
    body, cond = _on_shared_operands(body, cond, len(more), n)
    operands = [*carry.leaves, *captured, *more]
    spec = LoopSpec(n, 0, UNKNOWN_LENGTH)
    try:
        values = bind(loop_op, operands, n, body=body, cond=cond, spec=spec)
    except Exception as error:
        if not hasattr(error, "__notes__"):
            rest = repeat(None)
            tell_line(error, lambda: _one_by_one(step, carry, rest, cond_fun))
        raise
    return carry.rebuild(values)


@lru_cache(maxsize=256)
def _on_shared_operands(first: Body, second: Body, more: int, n: int) -> tuple[Body, Body]:
    """Two bodies on one list of operands: n shared ones, the others of the first, ``more`` of the second."""
    extra = [symbol(f"m{k}", second.inputs[n + k].type) for k in range(more)]
    inputs = [*first.inputs, *extra]
    seen = second.inline([*first.inputs[:n], *extra])
    return body_of(inputs, first.outputs), body_of(inputs, seen)


def fori_loop(
    lower: Any,
    upper: object,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
    checkpoint: int | str | None = None,
) -> Any:
    """``for i in range(lower, upper): value = body_fun(i, value)``, as
    `jax.lax.fori_loop`.

    ``checkpoint`` as in `scan`, for bounds that are known; with a traced bound
    every state is kept.

    Raises TypeError if a bound is not an integer, or ``body_fun`` changes the
    structure, shape or dtype of the value; ValueError for ``checkpoint`` with
    a traced bound.

    >>> fori_loop(1, 6, lambda i, product: product * i, 1)
    120
    """
    check_functions("fori_loop", body_fun=body_fun)
    lower, upper, body_fun = plain_value(lower), plain_value(upper), on_arrays(body_fun)
    for bound in (lower, upper):
        known = lift_fully(bound, (), "fori_loop")
        if known.shape or known.dtype.kind not in "iu":
            raise type_error(
                f"fori_loop: expected integers as bounds, but got {known.type}; write int(n), or "
                "n.astype(int) of a traced value",
            )
    if isinstance(lower, Expr) or isinstance(upper, Expr):
        if checkpoint is not None:
            raise value_error(
                "fori_loop: expected bounds that are known for checkpoint=, but got a traced one; leave "
                "checkpoint out, or write int(n)",
            )
        first = lift_fully(lower)
        first = first if first.dtype == np.dtype(int) else first.astype(int)
        _, value = _while(
            "fori_loop",
            lambda state: state[0] < upper,
            lambda state: (state[0] + 1, body_fun(state[0], state[1])),
            (first, init_val),
        )
        return value
    past: Any = max(lower, upper)
    count = int(past) - int(lower)
    if count > _COUNTED:

        def counted(state: tuple[Any, Any], _: None) -> tuple[Any, Any]:
            return (state[0] + 1, body_fun(*state)), ()

        start = np.arange(lower, past, count)[0], init_val
        return scan_named("fori_loop", counted, start, None, count, checkpoint=checkpoint)[0][1]
    iterations = np.arange(lower, past)

    def step(value: object, i: int) -> tuple[Any, Any]:
        return body_fun(i, value), ()

    return scan_named("fori_loop", step, init_val, iterations, None, checkpoint=checkpoint)[0]


# Iterations beyond which a loop counts them in its state: an array of their numbers, which lets what depends
# on them alone be computed before the loop, would take 32 MB and more.
_COUNTED = 1 << 22
