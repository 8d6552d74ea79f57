"""A one-entry cache of un-jitted derivatives: the program is reused if a trace is equal to the previous one.

A trace is compared with the previous one, object by object from the root down, which takes a quarter of
the time of computing and looking up a `skeleton`. If it differs, or is nested in another trace, its
program is looked up by its skeleton. (The cache of `jit` is `funcgrad.transforms.jit.signature_cache`.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.compiler.program import Program
from funcgrad.expr import Expr, subexpressions
from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.base.op import leaf
from funcgrad.trace.derive import Transform, derived, flatness, rebuilt, run_trace, tell_raising
from funcgrad.trace.skeleton import skeleton


class LastTraceCache:
    """`derive` by one transform for one function, with a cache of the previous trace."""

    __slots__ = ("_last", "_transform")

    def __init__(self, transform: Transform) -> None:
        self._transform = transform
        self._last: _Trace | None = None

    def __reduce__(self) -> Any:
        return type(self), (self._transform,)

    def __call__(
        self, roots: Sequence[Expr], leaves: Sequence[Expr], unreached: Callable[[bool], None]
    ) -> list[Any]:
        last = self._last
        inputs = None if last is None else _match(last, roots, leaves)
        if last is not None and inputs is not None:
            if last.flat is not None:
                unreached(last.flat)
            try:
                return last.program.run(inputs)
            except Exception as error:
                tell_raising(error, roots)
                raise
        with Paused():
            found = skeleton(roots, leaves)
            program = derived(self._transform, found.rows, found.roots, len(leaves))
            flat = flatness(found, program)
            if flat is not None:
                unreached(flat)
            if not found.symbolic:
                self._last = _record(roots, leaves, found.inputs, flat, program)
        if found.symbolic:
            return rebuilt(program, found.inputs)
        return run_trace(program, found.inputs, roots)


class _Trace(NamedTuple):
    """A trace: its objects by number, leaves first; ``steps`` list users before their operands."""

    types: tuple[ArrayType, ...]
    """The types of the leaves."""
    roots: tuple[int, ...]
    steps: tuple[tuple[int, Any, Any, tuple[int, ...]], ...]
    """``(number, op, params, operands)``; a constant's params are its type, and its address or input."""
    size: int
    inputs: int
    flat: bool | None
    """Why no derivative reaches the roots: see `flatness`."""
    program: Program


def _record(
    roots: Sequence[Expr],
    leaves: Sequence[Expr],
    inputs: Sequence[Any],
    flat: bool | None,
    program: Program,
) -> _Trace | None:
    number = {id(item): i for i, item in enumerate(leaves)}
    places = tuple([number.setdefault(id(root), len(number)) for root in roots])
    slots = {id(array): i for i, array in enumerate(inputs)}
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
            params = (expr.type, slots[id(constant.array)] if expr.shape else constant.address)
        operands = tuple([number.setdefault(id(arg), len(number)) for arg in expr.args])
        steps.append((me, op, params, operands))
    types = tuple([item.type for item in leaves])
    return _Trace(types, places, tuple(steps), len(number), len(inputs), flat, program)


def _match(last: _Trace, roots: Sequence[Expr], leaves: Sequence[Expr]) -> list[Any] | None:
    """The values of the inputs of a trace that is equal to the last one; None if it differs."""
    if len(leaves) != len(last.types):
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
            constant, (type, content) = expr.params[0][1], params
            if expr.type != type:
                return None
            if not type.shape:
                if constant.address != content:
                    return None
            elif inputs[content] is None:
                inputs[content] = constant.array
            elif inputs[content] is not constant.array:
                return None
    return inputs
