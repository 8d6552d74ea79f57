"""A one-entry cache of un-jitted derivatives: the program is reused if a trace is equal to the previous one.

A trace is compared with the previous one, object by object from the root down, which takes a quarter of
the time of computing and looking up a `skeleton`. If it differs, or is nested in another trace, its
program is looked up by its skeleton. (The cache of `jit` is `funcgrad.transforms.jit.signature_cache`.)

A number that is an input of the program (`funcgrad.trace.constant_parameterization`) may be another one in
the next call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.compiler.program import Program
from funcgrad.expr import Expr, subexpressions
from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.base.op import leaf
from funcgrad.trace.constant_parameterization import (
    NumberPattern,
    derived_with_parameters,
    is_usual,
    number_pattern,
)
from funcgrad.trace.derive import Transform, derived, flatness, rebuilt, run_trace, tell_raising
from funcgrad.trace.skeleton import SkeletonRow, skeleton


class LastTraceCache:
    """`derive` for one function, with a cache of the previous trace, by the transform that ``chosen`` gives
    for the types of roots and leaves.
    """

    __slots__ = ("_chosen", "_has_run", "_last")

    def __init__(self, chosen: Callable[[list[Expr], list[Expr]], Transform]) -> None:
        self._chosen = chosen
        self._last: _Trace | None = None
        self._has_run = False
        """Whether there was a call: a function that is called once needs no record."""

    def __reduce__(self) -> Any:
        return type(self), (self._chosen,)

    def __call__(
        self, roots: list[Expr], leaves: list[Expr], unreached: Callable[[bool], None]
    ) -> list[Any]:
        last = self._last
        values: list[float] = []
        inputs = None if last is None else _match(last, roots, leaves, values)
        if last is not None and inputs is not None and last.is_for(values):
            if last.flat is not None:
                unreached(last.flat)
            try:
                return last.program.run(inputs)
            except Exception as error:
                tell_raising(error, roots)
                raise
        with Paused():
            transform = self._chosen(roots, leaves)
            program, found, numbers = derived_with_parameters(
                derived, transform, skeleton(roots, leaves), len(leaves)
            )
            flat = flatness(found, program)
            if flat is not None:
                unreached(flat)
            # A record for all numbers outlasts a call with one that is not usual.
            is_kept = inputs is not None and not numbers
            if self._has_run and not (found.symbolic or found.derivative or is_kept):
                made = _record(roots, leaves, found.inputs, numbers, flat, program)
                if made is not None and last is not None and made.program is last.program:
                    made = made._replace(patterns=made.patterns | last.patterns)
                self._last = made
        self._has_run = True
        if found.symbolic:
            return rebuilt(program, found.inputs)
        return run_trace(program, found.inputs, roots)


class _Trace(NamedTuple):
    """A trace: its objects by number, leaves first; ``steps`` list users before their operands."""

    types: tuple[ArrayType, ...]
    """The types of the leaves."""
    roots: tuple[int, ...]
    steps: tuple[tuple[int, Any, Any, tuple[int, ...]], ...]
    """``(number, op, params, operands)``; a constant has its type, its input or None, and its address."""
    patterns: frozenset[NumberPattern]
    """The patterns of the numbers that are inputs for which the program was compared."""
    fixed: frozenset[float]
    """The absolute values of the other numbers."""
    size: int
    inputs: int
    flat: bool | None
    """Why no derivative reaches the roots: see `flatness`."""
    program: Program

    def is_for(self, values: Sequence[float]) -> bool:
        """Whether the program is the one for these values of the numbers that are inputs."""
        if not values:
            return True
        is_compared = number_pattern(values) in self.patterns
        return is_compared and all([is_usual(v) and abs(v) not in self.fixed for v in values])


def _record(
    roots: Sequence[Expr],
    leaves: Sequence[Expr],
    inputs: Sequence[Any],
    numbers: dict[SkeletonRow, int],
    flat: bool | None,
    program: Program,
) -> _Trace | None:
    number = {id(item): i for i, item in enumerate(leaves)}
    places = tuple([number.setdefault(id(root), len(number)) for root in roots])
    slots = {id(array): i for i, array in enumerate(inputs)}
    values: list[float] = []
    fixed: set[float] = set()
    steps: list[tuple[int, Any, Any, tuple[int, ...]]] = []
    for expr in reversed(subexpressions(*roots)):
        me = number.get(id(expr), -1)
        if me < len(leaves):  # a leaf, or an operand of a leaf
            continue
        op = expr.op
        params: Any = expr.params
        if op is INPUT or op is leaf:  # of an enclosing trace
            return None
        if op is CONSTANT:
            constant = params[0][1]
            row = CONSTANT, constant.address, expr.type
            slot = slots[id(constant.array)] if expr.shape else numbers.get(row)
            if slot is None:
                fixed.add(abs(constant.array.item()))
            elif not expr.shape:
                values.append(constant.array.item())
            params = expr.type, slot, constant.address
        operands = tuple([number.setdefault(id(arg), len(number)) for arg in expr.args])
        steps.append((me, op, params, operands))
    types = tuple([item.type for item in leaves])
    known = frozenset([number_pattern(values)]), frozenset(fixed)
    return _Trace(types, places, tuple(steps), *known, len(number), len(inputs), flat, program)


def _match(
    last: _Trace, roots: Sequence[Expr], leaves: Sequence[Expr], numbers: list[float]
) -> list[Any] | None:
    """The values of the inputs of a trace that is equal to the last one but for those; None if it differs.

    Those that are numbers join ``numbers``.
    """
    if len(leaves) != len(last.types) or len(roots) != len(last.roots):
        return None
    inputs: list[Any] = []
    for item, type in zip(leaves, last.types, strict=True):
        value = item.args[0]
        if item.type != type or value.op is not CONSTANT:
            return None
        inputs.append(value.params[0][1].array)
    inputs += [None] * (last.inputs - len(inputs))
    found: list[Any] = [*leaves, *[None] * (last.size - len(leaves))]
    for root, k in zip(roots, last.roots, strict=True):
        if found[k] is None:
            found[k] = root
        elif found[k] is not root:
            return None
    for me, op, params, operands in last.steps:
        expr = found[me]
        if expr.op is not op:
            return None
        args = expr.args
        if args:
            if expr.params != params or len(args) != len(operands):
                return None
            for arg, k in zip(args, operands, strict=True):
                if found[k] is None:
                    found[k] = arg
                elif found[k] is not arg:
                    return None
        else:
            constant, (type, slot, address) = expr.params[0][1], params
            if expr.type != type:
                return None
            if slot is None:
                if constant.address != address:
                    return None
            elif not type.shape:
                numbers.append(constant.array.item())
                if inputs[slot] is None:
                    inputs[slot] = constant.array
                elif inputs[slot].item() != numbers[-1]:
                    return None
            elif inputs[slot] is None:
                inputs[slot] = constant.array
            elif inputs[slot] is not constant.array:
                return None
    return inputs
