"""Rolled loops as one generated function: a `for` or `while` with the body of an iteration inline.

A loop on numbers alone is printed over `math`, its states in locals; a loop in such a loop is a function
beside it. Any other is printed around its body's array program. If `math` raises, NumPy runs that iteration,
and more iterations each time that this happens, before numbers are tried again. If llvmlite is
installed, a loop that has run for long becomes machine code, one on numbers even within a run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad.compiler.call_ir import Plan
from funcgrad.compiler.flat_program import Flat, build
from funcgrad.compiler.native.native_loop import NativeLoop
from funcgrad.compiler.numpy import numpy_codegen
from funcgrad.compiler.numpy.buffer_assignment import assign_buffers
from funcgrad.compiler.numpy.instruction_selection import select_instructions
from funcgrad.compiler.pass_options import PASS_OPTIONS
from funcgrad.compiler.passes.store_scheduling import read_before_stores
from funcgrad.compiler.python import scalar_ops
from funcgrad.compiler.python.loop_body_codegen import (
    KINDS,
    flat_of,
    indented,
    local_names,
    numbers_text,
    tuple_text,
    unpacked,
)
from funcgrad.compiler.stack_pool import StackPool
from funcgrad.control.closed_program import Body
from funcgrad.control.loop import LoopSpec, iterations_of, reference_loop, stacked

Rolled = Callable[[Sequence[Any]], tuple[Sequence[Any], list[Any]]]
"""From a loop's operands to its final states and its stacked outputs."""


def compile_loop(body: Body, cond: Body | None, spec: LoopSpec) -> Rolled:
    """The loop as a function; its final states may share memory with operands and with each other."""
    flat = flat_of(body)
    text = numbers_text(flat, None if cond is None else flat_of(cond), spec)
    if text is None:
        return _on_arrays(flat, cond, spec)
    return _OnNumbers(text, flat, body, cond, spec)


def loop_text(body: Body, cond: Body | None, spec: LoopSpec) -> str:
    """The text of that function: of numbers, or with its iteration as an array program.

    >>> import funcgrad as fg
    >>> from types import SimpleNamespace
    >>> from funcgrad.compiler.program import lower
    >>> x, y = fg.var("x", 3), fg.var("y", 3)
    >>> spec = SimpleNamespace(num_carry=1, num_xs=1, trip_count=9, reverse=False)
    >>> print(loop_text(SimpleNamespace(program=lower([x * y], [x, y])), None, spec))
    def body(x0, x1):
        a0 = multiply(x0, x1)
        return (a0,)
    def run(iterations, state, rest, met):
        x0, = state
        q1, = rest
        for t in iterations:
            r0, = body(x0, q1[t])
            x0, = r0,
        return (x0, )
    """
    flat = flat_of(body)
    text = numbers_text(flat, None if cond is None else flat_of(cond), spec)
    return (
        _text_on_arrays(_iteration(flat, spec.num_carry, cond is not None), flat, cond, spec)
        if text is None
        else text
    )


# -- tiers ---------------------------------------------------------------------------------------
class TieredLoop:
    """A loop in tiers: interpreted iteration by iteration at first, compiled after some iterations."""

    __slots__ = ("body", "compiled", "cond", "iterations", "spec")

    def __init__(self, body: Body, cond: Body | None, spec: LoopSpec) -> None:
        self.body = body
        self.cond = cond
        self.spec = spec
        # Remembered for speed.
        self.iterations = 0
        self.compiled: Rolled | None = None

    def __call__(self, operands: Sequence[Any]) -> tuple[Sequence[Any], list[Any]]:
        if self.compiled is None:
            if self.cond is None:
                self.iterations += len(iterations_of(self.spec, operands))
                if self.iterations < _FEW:
                    return reference_loop(operands, self.body, None, self.spec)
            self.compiled = compile_loop(self.body, self.cond, self.spec)
        return self.compiled(operands)


# Compiling takes about as long as so many iterations.
_FEW = 20

run_loop = lru_cache(maxsize=1024)(TieredLoop)
"""The runner of a loop, kept by its params."""


# -- numbers -------------------------------------------------------------------------------------
class _OnNumbers:
    """A loop on numbers: generated Python, NumPy where `math` raises, later machine code."""

    def __init__(
        self, text: str, flat: Flat, body: Body, cond: Body | None, spec: LoopSpec
    ) -> None:
        self.body, self.cond, self.spec = body, cond, spec
        self.n, self.middle = spec.num_carry, spec.num_carry + spec.num_xs
        self.enter: Any = build("loop", text, scalar_ops.BOUND)
        self.inputs = [step.type for step in flat.steps[: flat.inputs]]
        self.kinds = [KINDS[type.dtype] for type in self.inputs]
        self.results = [flat.steps[i].type for i in flat.results]
        test = None if cond is None else flat_of(cond)
        self.native = NativeLoop(flat, test, spec)

    def __call__(self, operands: Sequence[Any]) -> tuple[Sequence[Any], list[Any]]:
        iterations = (
            range(sys.maxsize) if self.cond is not None else iterations_of(self.spec, operands)
        )
        native = self.native.function()
        found = None if native is None else native(operands, self._length(iterations))
        if found is not None:
            return found
        short = any([len(q) < len(iterations) for q in operands[self.n : self.middle]])
        return self._in_python(operands, iterations, native is None and not short)

    def _length(self, iterations: range) -> int:
        return 0 if self.cond is not None else len(iterations)

    def _in_python(
        self, operands: Sequence[Any], iterations: range, may: bool
    ) -> tuple[Sequence[Any], list[Any]]:
        state: Sequence[Any] = [
            kind(x) for kind, x in zip(self.kinds, operands[: self.n], strict=False)
        ]
        rest = [
            x.tolist() if isinstance(x, np.ndarray) else kind(x)
            for x, kind in zip(operands[self.n :], self.kinds[self.n :], strict=True)
        ]
        length = self._length(iterations)
        met: list[list[Any]] = [[None] * length for _ in self.results[self.n :]]
        at, patience = 0, 1
        while True:
            start, stop = at, len(iterations)
            if may:
                stop = min(stop, at + self.native.iterations())
            at, state = self.enter(iterations[:stop], at, state, rest, met)
            ended = at < 0 and (self.cond is not None or stop == len(iterations))
            if at < 0:
                at = stop if self.cond is None else ~at
            self.native.ran(at - start)
            if ended:
                break
            native = self.native.function() if may else None
            if native is not None:
                found = native([*state, *operands[self.n :]], length, at, met)
                if found is not None:
                    return found
                may = False
            if at == stop < len(iterations):
                continue
            start = at
            at, state = self._by_numpy(operands, iterations, at, state, met, patience)
            self.native.ran((max(at, ~at) - start) * _SLOWER)
            if at < 0:
                break
            patience *= 2
        return self._wide(state), [
            np.array(found, type.dtype).reshape((len(found), *type.shape))
            for found, type in zip(met, self.results[self.n :], strict=True)
        ]

    def _wide(self, state: Sequence[Any]) -> list[Any]:
        return [type.dtype.type(x) for type, x in zip(self.results, state, strict=False)]

    def _by_numpy(
        self,
        operands: Sequence[Any],
        iterations: range,
        at: int,
        state: Sequence[Any],
        met: list[list[Any]],
        most: int,
    ) -> tuple[int, Sequence[Any]]:
        """Run iterations: the next index and the states; ``~index`` if the condition ended the loop."""
        state = self._wide(state)
        fixed = operands[self.middle :]
        for _ in range(most):
            if self.cond is not None:
                if not self.cond.program.step([*state, *fixed])[0]:
                    at = ~at
                    break
                for found in met:
                    found.append(None)
            elif at == len(iterations):
                break
            t = iterations[at]
            items = [sequence[t] for sequence in operands[self.n : self.middle]]
            values = self.body.program.step([*state, *items, *fixed])
            state = values[: self.n]
            for found, value in zip(met, values[self.n :], strict=True):
                found[t] = value
            at += 1
        return at, [kind(x) for kind, x in zip(self.kinds, state, strict=False)]


_SLOWER = 32  # how much longer than Python NumPy takes for an operation on numbers


# -- arrays --------------------------------------------------------------------------------------
def _on_arrays(flat: Flat, cond: Body | None, spec: LoopSpec) -> Rolled:
    plan = _iteration(flat, spec.num_carry, cond is not None)
    text = _text_on_arrays(plan, flat, cond, spec)
    bound = numpy_codegen.bindings(plan)
    tested = 0  # how often the condition was asked since the loop last ran

    def holds(*values: object) -> Any:
        nonlocal tested
        tested += 1
        return test(*values)

    if cond is not None:
        test = cond.program.compiled
        bound["holds"] = holds
    enter: Any = build("loop", text, bound)
    n = spec.num_carry
    types = [flat.steps[i].type for i in flat.results[n:]]
    later = NativeLoop(flat, None if cond is None else flat_of(cond), spec)
    pool = StackPool(types)

    def run(operands: Sequence[Any]) -> tuple[Sequence[Any], list[Any]]:
        nonlocal tested
        iterations = range(0) if cond is not None else iterations_of(spec, operands)
        later.ran(len(iterations) if cond is None else tested)
        native = later.function()
        tested = 0
        found = None if native is None else native(operands, len(iterations))
        if found is not None:
            return found
        if cond is not None:
            met: list[Any] = [[] for _ in types]
            state = enter((), operands[:n], operands[n:], met)
            return state, [stacked(found, type) for found, type in zip(met, types, strict=True)]
        met = pool.stacks(len(iterations))
        return enter(iterations, operands[:n], operands[n:], met), met

    return run


def _iteration(flat: Flat, states: int, tested: bool) -> Plan:
    """The plan of one iteration, which may store into states that it does not hand on as they are."""
    iteration = flat._replace(results=tuple(_computed(flat)))
    plan = select_instructions(
        read_before_stores(iteration) if PASS_OPTIONS.runs("store_scheduling") else iteration
    )
    return plan._replace(donated=frozenset(_donated(flat, states, tested)))


def _donated(flat: Flat, states: int, tested: bool) -> list[int]:
    """The states that an iteration may store into: those of a loop whose states are arrays of its own.

    What a loop with a condition puts out is not copied until it ends.
    """
    arrays = [i for i in flat.results[:states] if flat.steps[i].type.shape]
    held = set(arrays) | set(range(flat.inputs))
    put_out = [i for i in flat.results[states:] if flat.steps[i].type.shape and i in held]
    if len(set(arrays)) < len(arrays) or (tested and put_out):
        return []
    own = set(range(states)) - _aliased(flat, states)
    return [i for i in sorted(own) if i not in flat.results and flat.steps[i].type.shape]


def _aliased(flat: Flat, states: int) -> set[int]:
    """The states that may alias a sequence, a loop invariant, a constant or another state.

    A store would change these. A state that is handed on whole is an array of its own.
    """
    aliased = {
        i for i, k in enumerate(flat.results[:states]) if k >= states and flat.steps[k].may_alias
    }
    for _ in range(states):  # states may be handed on from one to the next
        aliased |= {i for i, k in enumerate(flat.results[:states]) if k in aliased}
    return aliased


def _text_on_arrays(plan: Plan, flat: Flat, cond: Body | None, spec: LoopSpec) -> str:
    loop = arrays_text(flat, cond is not None, spec, _copied(plan, flat, spec))
    return f"{numpy_codegen.function_source('body', plan)}{loop}"


def _computed(flat: Flat) -> list[int]:
    """The results that are not inputs, each once."""
    return list(dict.fromkeys([i for i in flat.results if i >= flat.inputs]))


def _copied(plan: Plan, flat: Flat, spec: LoopSpec) -> list[str]:
    """The states that are copied before the loop: all arrays, if an iteration stores into one of them."""
    written = {p.writes for p in assign_buffers(plan).placed if p.how == "in_place"}
    if not written.intersection([f"x{i}" for i in plan.donated]):
        return []
    return [f"x{i}" for i in range(spec.num_carry) if flat.steps[i].type.shape]


def arrays_text(flat: Flat, tested: bool, spec: LoopSpec, copied: Sequence[str] = ()) -> str:
    """The text of a loop around ``body``, a function of an iteration's inputs, with the test ``holds``.

    >>> import funcgrad as fg
    >>> from types import SimpleNamespace
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x, y = fg.var("x", 3), fg.var("y", 3)
    >>> spec = SimpleNamespace(num_carry=1, num_xs=1, trip_count=9, reverse=False)
    >>> print(arrays_text(flatten_program([x * y, x], [x, y]), False, spec))
    def run(iterations, state, rest, met):
        x0, = state
        q1, = rest
        y0, = met
        for t in iterations:
            r0, = body(x0, q1[t])
            y0[t] = x0
            x0, = r0,
        return (x0, )
    """
    n = spec.num_carry
    whole, items = local_names(flat, spec)
    names = dict(enumerate(items))
    names.update({i: f"r{k}" for k, i in enumerate(_computed(flat))})
    ys = [f"y{k}" for k in range(len(flat.results) - n)]
    lines = [*unpacked(whole[:n], "state"), *unpacked(whole[n:], "rest"), *unpacked(ys, "met")]
    lines.extend([f"{name} = {name}.copy()" for name in copied])
    given = ", ".join(items)
    lines.append(f"while holds({given})[0]:" if tested else "for t in iterations:")
    iteration = unpacked([names[i] for i in _computed(flat)], f"body({given})")
    store = "{}.append({})" if tested else "{}[t] = {}"
    iteration.extend([store.format(y, names[i]) for y, i in zip(ys, flat.results[n:], strict=True)])
    if n:
        iteration.append(
            f"{', '.join(whole[:n])}, = {', '.join([names[i] for i in flat.results[:n]])},"
        )
    lines.extend([*indented(iteration), f"return {tuple_text(whole[:n])}"])
    return "\n".join(["def run(iterations, state, rest, met):", *indented(lines)]) + "\n"
