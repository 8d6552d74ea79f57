"""The IR over operations: a program as numbered steps in SSA form, and functions made of generated text.

A `Flat` program is value-numbered (global common-subexpression elimination): equal work stands in it once.
Backends select instructions from it: the NumPy backend makes calls (`call_ir`), the others print it. Names in
generated text are made in the compiler, never taken from a user.
"""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr, assemble_node, present
from funcgrad.fold import folded
from funcgrad.graph import CONSTANT, INPUT, ArrayType, Params, broadcast_shapes, subexpressions
from funcgrad.ops.base.columns import in_library
from funcgrad.ops.base.op import Elementwise, Op, broadcast_to, leaf
from funcgrad.ops.elementwise.selection import stop_gradient_unless
from funcgrad.typing import Array


class FlatStep(NamedTuple):
    """One operation on the values of earlier steps, by their numbers."""

    op: Any
    operands: tuple[int, ...]
    params: Params
    type: ArrayType

    @property
    def constant(self) -> np.ndarray[Any, Any]:
        """The array of a constant."""
        array: np.ndarray[Any, Any] = self.params[0][1].array
        return array

    @property
    def may_alias(self) -> bool:
        """Whether the value may be an input, a constant or an operand, or a view of an operand."""
        return self.op in (INPUT, CONSTANT) or bool(self.op.columns.may_alias)

    def run(self, *operands: Array) -> Any:
        """The value, by NumPy."""
        return (
            self.op.run(*operands, **dict(self.params)) if self.params else self.op.run(*operands)
        )


class Flat(NamedTuple):
    """Steps, operands before their users; the first ``inputs`` of them are the inputs, in order."""

    steps: tuple[FlatStep, ...]
    inputs: int
    results: tuple[int, ...]


class SourceRows(NamedTuple):
    """What a program is derived of: numbered rows, and the numbers of the roots.

    A row is ``(op, numbers of operands, params)``, or ``(INPUT, name, type)``, ``(CONSTANT, content, type)``.
    """

    rows: Sequence[tuple[Any, ...]]
    roots: Sequence[int]


def flatten_program(
    roots: Sequence[Expr],
    inputs: Sequence[Expr],
    for_derivatives: bool = False,
    for_numpy: bool = True,
) -> Flat:
    """The distinct steps between inputs and roots. Traversal stops at inputs.

    Only a program ``for_derivatives`` keeps what is for derivatives alone. What stands for an operation in
    NumPy and machine code is left to the compiler of another library, if the program is not ``for_numpy``.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> [step.op.name for step in flatten_program([x * x + x * x], [x]).steps]
    ['input', 'multiply', 'add']
    """
    number: dict[Any, int] = {}
    where: dict[int, int] = {}
    steps: list[FlatStep] = []
    left_out: list[Expr] = []
    present: set[str] = set()
    lowerings: dict[tuple[Any, str], Callable[[Expr], Expr | None] | None] = {}
    new_step = tuple.__new__
    for expr in inputs:
        number.setdefault(_identity(expr), len(steps))
        where[id(expr)] = len(steps)
        steps.append(FlatStep(INPUT, (), (), expr.type))

    def operands(expr: Expr) -> tuple[Expr, ...]:
        return () if expr.op is leaf and _identity(expr) in number else expr.args

    def inlined(expr: Expr) -> int | None:
        use = expr.op, expr.type.dtype.kind
        if use not in lowerings:
            lowerings[use] = _lowering(*use, for_numpy)
        lower = lowerings[use]
        found = None if lower is None or is_left(expr) else lower(expr)
        if found is None:
            return None
        left_out.append(found)  # (which keeps it alive: steps are found by identity)
        return folded([found], step, where)[0]

    def is_left(expr: Expr) -> bool:
        least = expr.op.columns.left_alone
        if least is None or expr.size < least[1]:
            return False
        if not present:
            present.update([x.op.name for x in subexpressions(*roots)])
        return least[0] not in present

    def step(expr: Expr, parents: tuple[int, ...]) -> int:
        op, params = expr.op, expr.params
        if op is leaf and parents:
            return parents[0]
        if op is stop_gradient_unless and not for_derivatives:
            left_out.append(expr)
            return parents[0]
        # (An operation's type follows from its operands', so that it need not be hashed.)
        row = (op, parents, params) if parents else _identity(expr)
        place = number.get(row)
        if place is None:
            if op is INPUT:
                raise ValueError(
                    f"flatten: expected every variable among the inputs, but got {params[0][1]!r}"
                )
            if parents and not for_derivatives and op.columns.inlined:
                place = inlined(expr)
                if place is not None:
                    number[row] = place
                    return place
            place = number[row] = len(steps)
            # (In half the time of `FlatStep(...)`, which takes its fields by name, too.)
            steps.append(new_step(FlatStep, (op, parents, params, expr.type)))
        return place

    # (A leaf without operands has no others to leave out.)
    places = folded(roots, step, where, operands if any([x.op is leaf for x in inputs]) else None)
    flat = Flat(tuple(steps), len(inputs), tuple(places))
    # (What only their conditions needed goes, too, and operands that no decomposition has.)
    return with_results(flat, range(len(roots))) if left_out else flat


def _lowering(op: Op, kind: str, for_numpy: bool) -> Callable[[Expr], Expr | None] | None:
    """The function of a node that gives what stands for it in a compiled program, or None; None if the nodes
    of an operation, with results of this kind, always stay."""
    inlined, decompose = op.columns.inlined, op.columns.decompose
    if inlined is True and decompose is not None:
        return lambda expr: decompose(*expr.args, **dict(expr.params))
    return in_library(inlined, None, kind) if for_numpy and not isinstance(inlined, bool) else None


def with_results(flat: Flat, places: Sequence[int]) -> Flat:
    """The steps that some of the results depend on, and these results.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> [step.op.name for step in with_results(flatten_program([x * x, -x], [x]), [1]).steps]
    ['input', 'negative']
    """
    steps, results = flat.steps, [flat.results[k] for k in places]
    needed = bytearray([1]) * flat.inputs + bytearray(len(steps) - flat.inputs)
    for i in results:
        needed[i] = 1
    for i in range(len(steps) - 1, flat.inputs - 1, -1):
        if needed[i]:
            for k in steps[i].operands:
                needed[k] = 1
    number = list(itertools.accumulate(needed, initial=0))
    kept = [
        FlatStep(op, tuple([number[k] for k in operands]), params, type)
        for op, operands, params, type in itertools.compress(steps, needed)
    ]
    return Flat(tuple(kept), flat.inputs, tuple([number[i] for i in results]))


def expressions_of(flat: Flat, inputs: Sequence[Expr]) -> tuple[Expr, ...]:
    """The results of steps as expressions of the inputs: `flatten_program` backward."""
    exprs = list(inputs)
    for op, operands, params, type in flat.steps[flat.inputs :]:
        exprs.append(assemble_node(op, tuple([exprs[i] for i in operands]), params, type))
    return tuple([exprs[i] for i in flat.results])


def _identity(expr: Expr) -> Any:
    """What makes two sources of values one: a variable's name, a constant's content, a leaf's scope."""
    if expr.op is INPUT:
        return INPUT, expr.params, expr.type
    if expr.op is CONSTANT:
        return CONSTANT, expr.params[0][1].address, expr.type
    if expr.op is leaf:
        return leaf, expr.params if expr.params[0][1] is not None else id(expr)
    return expr.op, (), expr.params


def interpret(flat: Flat, values: Sequence[Any]) -> tuple[Any, ...]:
    """The results by NumPy, step by step: what every backend must agree with."""
    known: list[Any] = [
        np.asarray(value, step.type.dtype)[()]
        for value, step in zip(values, flat.steps, strict=False)
    ]
    with np.errstate(all="ignore"):
        for step in flat.steps[flat.inputs :]:
            known.append(
                step.constant
                if step.op is CONSTANT
                else step.run(*[known[i] for i in step.operands])
            )
    return tuple([present(known[i]) for i in flat.results])


def elide_broadcasts(flat: Flat, step: FlatStep) -> tuple[int, ...]:
    """The operands without explicit broadcasts, if NumPy's own broadcasting gives the same shape."""
    steps = flat.steps
    wide = [i for i in step.operands if steps[i].op is broadcast_to]
    if not wide or not isinstance(step.op, Elementwise):
        return step.operands
    narrow = [steps[i].operands[0] if steps[i].op is broadcast_to else i for i in step.operands]
    if broadcast_shapes(*[steps[i].type.shape for i in narrow]) == step.type.shape:
        return tuple(narrow)
    for k, i in enumerate(step.operands):
        if steps[i].type.shape == step.type.shape:  # one operand with all entries is enough
            return (*narrow[:k], i, *narrow[k + 1 :])
    return step.operands


_count = itertools.count(1)


def build(kind: str, text: str, bound: Mapping[str, Any]) -> Callable[..., tuple[Any, ...]]:
    """The function ``run`` that a text defines. Tracebacks show its lines, for as long as it lives."""
    name = f"<funcgrad {kind} program {next(_count)}>"
    # No module's name: torch.compile would look for what is bound in the module that has it.
    home: dict[str, Any] = dict(bound)
    exec(compile(text, name, "exec", dont_inherit=True), home)
    run: Callable[..., tuple[Any, ...]] = home["run"]
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    weakref.finalize(run, linecache.cache.pop, name, None).atexit = False
    return run


def source_text(run: Callable[..., Any]) -> str:
    """The source of a generated function."""
    return "".join(linecache.getlines(run.__code__.co_filename))


def repeated_constant(flat: Flat, i: int) -> float | None:
    """The number that a step repeats, if it is a constant."""
    step = flat.steps[i]
    while step.op is broadcast_to:
        step = flat.steps[step.operands[0]]
    return step.constant.item() if step.op is CONSTANT and step.type.size == 1 else None
