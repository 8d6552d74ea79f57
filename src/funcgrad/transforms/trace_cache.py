"""A one-entry cache of un-jitted derivatives: the program is reused if a trace is equal to the previous one.

A trace is compared with the previous one, object by object from the root down, which takes a quarter of
the time of computing and looking up a `skeleton`. If it differs, or is nested in another trace, its
program is looked up by its skeleton. (The cache of `jit` is `funcgrad.transforms.jit.signature_cache`.)

Numbers are part of a skeleton, since laws ask for them. One that was another number in the previous call,
such as the time in a simulation, becomes an input if the program for an input has the operations of the
program for the number, arithmetic aside: else a law has found a stable form, such as a norm, for which the
number has to be positive. Exponents, and numbers that laws name, such as 0 and 1, are no inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from funcgrad.compiler.program import Program
from funcgrad.expr import Expr, subexpressions
from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.base.op import Op, leaf
from funcgrad.ops.elementwise import arithmetic
from funcgrad.rewrite.matcher import is_named_number
from funcgrad.trace.derive import Transform, derived, flatness, rebuilt, run_trace, tell_raising
from funcgrad.trace.skeleton import Skeleton, skeleton


class LastTraceCache:
    """`derive` for one function, with a cache of the previous trace, by the transform that ``chosen`` gives
    for the types of roots and leaves.
    """

    __slots__ = ("_chosen", "_has_run", "_last", "_promotes_numbers")

    def __init__(self, chosen: Callable[[list[Expr], list[Expr]], Transform]) -> None:
        self._chosen = chosen
        self._last: _Trace | None = None
        self._has_run = False
        """Whether there was a call: a function that is called once needs no record."""
        self._promotes_numbers = True

    def __reduce__(self) -> Any:
        return type(self), (self._chosen,)

    def __call__(
        self, roots: list[Expr], leaves: list[Expr], unreached: Callable[[bool], None]
    ) -> list[Any]:
        last, numbers = self._last, _Numbers()
        inputs = None if last is None else _match(last, roots, leaves, numbers)
        if last is not None and inputs is not None and numbers.are_known(last):
            if last.flat is not None:
                unreached(last.flat)
            try:
                return last.program.run(inputs)
            except Exception as error:
                tell_raising(error, roots)
                raise
        with Paused():
            varying = numbers.ids if inputs is not None and numbers.are_usual else frozenset()
            found, program, varying = self._derived(roots, leaves, varying)
            flat = flatness(found, program)
            if flat is not None:
                unreached(flat)
            # A record for all numbers outlasts a call with one that is not usual.
            is_nested = found.symbolic or found.derivative
            is_kept = is_nested or not (varying or inputs is None or not numbers.inputs)
            if not is_kept and self._has_run:
                made = _record(roots, leaves, found.inputs, varying, flat, program)
                if made and last and inputs is not None and not numbers.others:
                    made = made._replace(patterns=made.patterns | last.patterns)
                self._last = made
        self._has_run = True
        if found.symbolic:
            return rebuilt(program, found.inputs)
        return run_trace(program, found.inputs, roots)

    def _derived(
        self, roots: list[Expr], leaves: list[Expr], varying: frozenset[int]
    ) -> tuple[Skeleton, Program, frozenset[int]]:
        """The skeleton and the program of a trace, and the numbers that are inputs: ``varying``, or none."""
        transform = self._chosen(roots, leaves)
        found = skeleton(roots, leaves)
        program = derived(transform, found.rows, found.roots, len(leaves))
        if not (varying and self._promotes_numbers):
            return found, program, frozenset()
        general = skeleton(roots, leaves, varying=varying)
        for_all = derived(transform, general.rows, general.roots, len(leaves))
        self._promotes_numbers = _operations(program) == _operations(for_all)
        return (
            (general, for_all, varying) if self._promotes_numbers else (found, program, frozenset())
        )


def _operations(program: Program) -> Counter[Any]:
    """How often a program has each operation, but for arithmetic and what moves entries or fits operands."""
    steps = [expr for expr in subexpressions(*program.outputs) if expr.args]
    others = [expr for expr in steps if not (expr.op.hidden or expr.op.moves)]
    return Counter([(e.op, e.params, e.type) for e in others if not _is_arithmetic(e.op)])


def _is_arithmetic(op: Op) -> bool:
    signs = op.infix is not None and op.infix.symbol in ("+", "-", "*", "/")
    return signs or op in (arithmetic.negative, arithmetic.reciprocal, arithmetic.square)


class _Numbers:
    """The numbers of a trace that are inputs of the last program, and those that were other numbers then."""

    __slots__ = ("are_usual", "inputs", "others", "values")

    def __init__(self) -> None:
        self.inputs: list[Expr] = []
        self.others: list[Expr] = []
        self.values: list[float] = []
        """Those that are inputs."""
        self.are_usual = True
        """Whether no law is about one of these numbers."""

    def are_known(self, last: _Trace) -> bool:
        """Whether the last program is the one for these numbers."""
        return self.are_usual and not self.others and _pattern(self.values) in last.patterns

    @property
    def ids(self) -> frozenset[int]:
        return frozenset(map(id, [*self.inputs, *self.others]))


def _is_usual(number: float) -> bool:
    return 1e-100 < abs(number) < 1e100 and not is_named_number(number)


def _pattern(values: Sequence[float]) -> _Pattern:
    """What laws may ask of numbers that they do not name: the signs, and which are equal or opposite."""
    first: dict[float, int] = {}
    return tuple([(v > 0, first.setdefault(abs(v), k)) for k, v in enumerate(values)])


_Pattern: TypeAlias = tuple[tuple[bool, int], ...]


class _Trace(NamedTuple):
    """A trace: its objects by number, leaves first; ``steps`` list users before their operands."""

    types: tuple[ArrayType, ...]
    """The types of the leaves."""
    roots: tuple[int, ...]
    steps: tuple[tuple[int, Any, Any, tuple[int, ...]], ...]
    """``(number, op, params, operands)``; a constant's params are its type, its input or None, its address,
    and whether it may be another number in the next call."""
    patterns: frozenset[_Pattern]
    """The patterns of the numbers that are inputs for which the program was compared."""
    fixed: frozenset[float]
    """The absolute values of the other numbers."""
    size: int
    inputs: int
    flat: bool | None
    """Why no derivative reaches the roots: see `flatness`."""
    program: Program


def _record(
    roots: Sequence[Expr],
    leaves: Sequence[Expr],
    inputs: Sequence[Any],
    varying: frozenset[int],
    flat: bool | None,
    program: Program,
) -> _Trace | None:
    number = {id(item): i for i, item in enumerate(leaves)}
    places = tuple([number.setdefault(id(root), len(number)) for root in roots])
    slots = {id(array): i for i, array in enumerate(inputs)}
    exponents: set[int] = set()
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
        if op is arithmetic.power:
            exponents.add(id(expr.args[1]))
        elif op is CONSTANT:
            constant = params[0][1]
            slot = slots[id(constant.array)] if expr.shape or id(expr) in varying else None
            may_vary = not expr.shape and expr.dtype.kind == "f" and id(expr) not in exponents
            params = expr.type, slot, constant.address, may_vary
            if id(expr) in varying:
                values.append(constant.array.item())
            elif not expr.shape:
                fixed.add(abs(constant.array.item()))
        elif op.hidden and id(expr) in exponents:  # fitted to the base
            exponents.update(map(id, expr.args))
        operands = tuple([number.setdefault(id(arg), len(number)) for arg in expr.args])
        steps.append((me, op, params, operands))
    types = tuple([item.type for item in leaves])
    known = frozenset([_pattern(values)]), frozenset(fixed)
    return _Trace(types, places, tuple(steps), *known, len(number), len(inputs), flat, program)


def _match(
    last: _Trace, roots: Sequence[Expr], leaves: Sequence[Expr], numbers: _Numbers
) -> list[Any] | None:
    """The values of the inputs of a trace that is equal to the last one but for numbers; None if it differs.

    What is told of these joins ``numbers``.
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
            constant, (type, slot, address, may_vary) = expr.params[0][1], params
            if expr.type != type:
                return None
            if slot is None:
                if constant.address != address:
                    if not may_vary:
                        return None
                    numbers.others.append(expr)
                    numbers.are_usual &= _is_usual(constant.array.item())
                continue
            if not type.shape:
                value = constant.array.item()
                numbers.inputs.append(expr)
                numbers.values.append(value)
                numbers.are_usual &= _is_usual(value) and abs(value) not in last.fixed
            if inputs[slot] is None:
                inputs[slot] = constant.array
            elif inputs[slot] is not constant.array:
                return None
    return inputs
