"""Source of loops on numbers: a `for` or `while` with the body of an iteration inline, states in locals.

It is Python over `math`, on lists, and leaves an iteration if `math` raises. A loop in such a loop is a
function of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep, flatten_program
from funcgrad.compiler.python import scalar_codegen
from funcgrad.compiler.python.scalar_codegen import Statement
from funcgrad.compiler.python.scalar_ops import template_of
from funcgrad.control.closed_program import Body
from funcgrad.control.loop import UNKNOWN_LENGTH, LoopSpec, loop_op
from funcgrad.graph import INPUT
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.tuples import pick_op

KINDS: dict[Any, Any] = {np.dtype(kind): kind for kind in (float, complex, int, bool)}


def flat_of(body: Body) -> Flat:
    """The steps of a body."""
    return flatten_program(body.program.outputs, body.program.inputs)


def local_names(flat: Flat, spec: LoopSpec) -> tuple[list[str], list[str]]:
    """The inputs (states, sequences and loop invariants), by their names in the loop and in an iteration."""
    middle = spec.num_carry + spec.num_xs
    whole = [f"{'q' if spec.num_carry <= i < middle else 'x'}{i}" for i in range(flat.inputs)]
    return whole, [f"{name}[t]" if name[0] == "q" else name for name in whole]


def unpacked(names: Sequence[str], source: str) -> list[str]:
    """The line that takes a tuple apart, if there is anything in it."""
    return [f"{', '.join(names)}, = {source}"] if names else []


def tuple_text(names: Sequence[str]) -> str:
    """A tuple's text."""
    return f"({''.join([f'{name}, ' for name in names])})"


def indented(lines: Sequence[str]) -> list[str]:
    """Lines, one level further in."""
    return [f"    {line}" for line in lines]


def numbers_text(flat: Flat, test: Flat | None, spec: LoopSpec) -> str | None:
    """The text of a loop on numbers alone, or None.

    >>> import funcgrad as fg
    >>> from types import SimpleNamespace
    >>> x, y, a = fg.var("x"), fg.var("y"), fg.var("a")
    >>> spec = SimpleNamespace(num_carry=1, num_xs=1, trip_count=3, reverse=False)
    >>> print(numbers_text(flatten_program([fg.exp(x) * y + a, x], [x, y, a]), None, spec))
    def run(iterations, at, state, rest, met):
        x0, = state
        q1, x2, = rest
        y0, = met
        try:
            for t in iterations[at:]:
                x1 = q1[t]
                y0[t] = x0
                x0 = ((exp(x0) * x1) + x2)
        except (ArithmeticError, ValueError):
            return iterations.index(t), (x0, )
        return -1, (x0, )
    """
    writer = Writer()
    iteration = writer.iteration(flat, test, spec)
    if iteration is None:
        return None
    n = spec.num_carry
    whole, _ = local_names(flat, spec)
    states = tuple_text(whole[:n])
    ys = _stacks(flat, spec)
    lines = [*unpacked(whole[:n], "state"), *unpacked(whole[n:], "rest"), *unpacked(ys, "met")]
    lines.extend(["try:", *indented(["for t in iterations[at:]:", *indented(iteration)])])
    failed = [f"return iterations.index(t), {states}"]
    if test is not None:
        lines.extend(indented(["else:", f"    return len(iterations), {states}"]))
        failed.insert(0, "for y in met: del y[t:]")
    lines.extend(["except (ArithmeticError, ValueError):", *indented(failed)])
    lines.append(f"return {'-1' if test is None else '~t'}, {states}")
    head = "def run(iterations, at, state, rest, met):"
    return "\n".join([*writer.helpers, head, *indented(lines)]) + "\n"


def _stacks(flat: Flat, spec: LoopSpec) -> list[str]:
    return [f"y{k}" for k in range(len(flat.results) - spec.num_carry)]


# Statements beyond which an iteration is left to the array program, which compiles in less time.
_LONGEST = 20000


class Writer:
    """Writes iterations; loops in them become functions, the ``helpers``."""

    def __init__(self) -> None:
        self.helpers: list[str] = []

    def iteration(self, flat: Flat, test: Flat | None, spec: LoopSpec) -> list[str] | None:
        """The lines of one iteration, with the test if the loop has a condition."""
        n, results = spec.num_carry, flat.results
        if any(flat.steps[i].type.shape for i in [*range(n), *results[:n]]):
            return None
        templates = self.templates(flat)
        if templates is None:
            return None
        statements, texts = scalar_codegen.statements_of(flat, templates)
        if len(statements) > _LONGEST:
            return None
        whole, items = local_names(flat, spec)
        before = [f"x{i} = {item}" for i, item in enumerate(items) if whole[i][0] == "q"]
        store = "y{}[t] = {}" if test is None else "y{}.append({})"
        ends = [store.format(k, text) for k, text in enumerate(texts[n:])]
        moved = [(name, text) for name, text in zip(whole, texts[:n], strict=False) if name != text]
        if moved:
            names, values = zip(*moved, strict=True)
            ends.append(f"{', '.join(names)} = {', '.join(values)}")
        lines = _lines(statements, ends)
        if test is None:
            return [*before, *lines, *([] if before or lines else ["pass"])]
        asked = self.templates(test)
        if asked is None:
            return None
        tests, holds = scalar_codegen.statements_of(test, asked)
        return [*_lines(tests, [f"if not {holds[0]}: break"]), *lines]

    def templates(self, flat: Flat) -> list[str] | None:
        """How each step is written; None where one is not on numbers. Vectors pass to inner loops."""
        templates = []
        for step in flat.steps:
            text = self.template(flat, step)
            if text is None:
                return None
            templates.append(text)
        return templates

    def template(self, flat: Flat, step: FlatStep) -> str | None:
        """How one step is written."""
        types = [flat.steps[i].type for i in step.operands]
        if step.op is INPUT:
            return "" if step.type.dtype in KINDS else None
        if step.op is loop_op:
            return self.inner(step)
        if step.op is pick_op:
            return f"{{0}}[{step.params[0][1]}]"
        if any(type.shape for type in types):
            return None
        if step.op is broadcast_to and len(step.type.shape) == 1:
            return self.vector(step)
        return template_of(flat, step)

    def vector(self, step: FlatStep) -> str | None:
        """A number, so many times."""
        if step.type.dtype not in KINDS:
            return None
        return f"[{{0}}] * {step.type.shape[0]}"

    def inner(self, step: FlatStep) -> str | None:
        """A call of an inner loop, whose function is added to the helpers."""
        params = dict(step.params)
        spec, cond = params["spec"], params["cond"]
        flat, test = flat_of(params["body"]), None if cond is None else flat_of(cond)
        iteration = self.iteration(flat, test, spec)
        if iteration is None:
            return None
        name = f"loop{len(self.helpers)}"
        whole, _ = local_names(flat, spec)
        ys = _stacks(flat, spec)
        if test is not None:
            lines = [*[f"{y} = []" for y in ys], "while True:"]
        else:
            length = (
                f"len({whole[spec.num_carry]})"
                if spec.trip_count == UNKNOWN_LENGTH
                else spec.trip_count
            )
            lines = [f"{y} = [None] * {length}" for y in ys]
            lines.append(f"for t in {_range(length, spec.reverse)}:")
        lines.extend(indented(iteration))
        lines.append(f"return {tuple_text([*whole[: spec.num_carry], *ys])}")
        self.helpers.extend([f"def {name}({', '.join(whole)}):", *indented(lines)])
        return f"{name}({', '.join([f'{{{k}}}' for k in range(len(whole))])})"


def _lines(statements: Sequence[Statement], ends: Sequence[str]) -> list[str]:
    """Statements and what follows them; names are reused."""
    return scalar_codegen.allocated([*statements, *[Statement(-1, end) for end in ends]], {}, {})


def _range(length: object, reverse: bool) -> str:
    return f"range({length} - 1, -1, -1)" if reverse else f"range({length})"
