"""Source of loops on numbers: a `for` or `while` with the body of an iteration inline, states in locals.

In two dialects: Python over `math`, on lists, and Python for numba, on arrays. A loop in such a loop is a
function of its own. The first leaves an iteration if `math` raises; the second computes infinities and NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep, flatten_program
from funcgrad.compiler.native import numba_jit as native
from funcgrad.compiler.python import scalar_codegen as scalar
from funcgrad.compiler.python.scalar_codegen import Statement
from funcgrad.compiler.python.scalar_ops import template_of
from funcgrad.control.closed_program import Body
from funcgrad.control.loop import UNKNOWN_LENGTH, LoopSpec, loop_op
from funcgrad.graph import CONSTANT, INPUT, ArrayType
from funcgrad.ops.base.op import broadcast_to
from funcgrad.ops.tuples import pick_op

KINDS: dict[Any, Any] = {
    np.dtype("float64"): float,
    np.dtype("int64"): int,
    np.dtype("bool"): bool,
}


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


def tuple_of(names: Sequence[str]) -> str:
    """A tuple's text."""
    return f"({''.join([f'{name}, ' for name in names])})"


def indented(lines: Sequence[str]) -> list[str]:
    """Lines, one level further in."""
    return [f"    {line}" for line in lines]


# -- Python --------------------------------------------------------------------------------------
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
    states = tuple_of(whole[:n])
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


# -- numba ---------------------------------------------------------------------------------------
def native_text(flat: Flat, test: Flat | None, spec: LoopSpec) -> str | None:
    """The text of such a loop for numba, or None: iterations from ``at`` to ``stop``, on arrays.

    The first result says where it is: before ``stop``, if the condition no longer holds.

    >>> import funcgrad as fg
    >>> from types import SimpleNamespace
    >>> x, y, a = fg.var("x"), fg.var("y"), fg.var("a")
    >>> spec = SimpleNamespace(num_carry=1, num_xs=1, trip_count=3, reverse=True)
    >>> print(native_text(flatten_program([fg.exp(x) * y + a, x], [x, y, a]), None, spec))
    def run(length, at, stop, x0, q1, x2, y0):
        for t in range(length - 1 - at, length - 1 - stop, -1):
            x1 = q1[t]
            y0[t] = x0
            x0 = ((exp(x0) * x1) + x2)
        return (stop, x0, )
    """
    writer = Writer(native=True)
    iteration = writer.iteration(flat, test, spec)
    if iteration is None:
        return None
    whole, _ = local_names(flat, spec)
    ys = _stacks(flat, spec)
    lines = ["for t in range(at, stop):", *indented(iteration)]
    if spec.reverse:
        lines[0] = "for t in range(length - 1 - at, length - 1 - stop, -1):"
    end = "stop"
    if test is not None:
        lines = ["t = at", "while t < stop:", *indented([*iteration, "t += 1"])]
        end = "t"
    lines.append(f"return {tuple_of([end, *whole[: spec.num_carry]])}")
    head = f"def run({', '.join(['length', 'at', 'stop', *whole, *ys])}):"
    return "\n".join([*writer.helpers, head, *indented(lines)]) + "\n"


def taken(flat: Flat, spec: LoopSpec) -> native.Signature:
    """What such a function takes: three numbers, the loop's operands, and arrays to be filled."""
    count, middle = spec.num_carry, spec.num_carry + spec.num_xs
    number = ("int64", 0, False)
    given = [
        _row(step.type, count <= i < middle, False)
        for i, step in enumerate(flat.steps[: flat.inputs])
    ]
    filled = [_row(flat.steps[i].type, True, True) for i in flat.results[count:]]
    return (number, number, number, *given, *filled)


def _row(type: ArrayType, stacked: bool, filled: bool) -> tuple[str, int, bool]:
    return type.dtype.name, len(type.shape) + stacked, filled


# -- both ----------------------------------------------------------------------------------------
def operations(flat: Flat, test: Flat | None = None) -> tuple[int, int]:
    """The operations in a loop's text, and those that an iteration executes, inner loops included.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> operations(flatten_program([x * x + 1.0], [x]))
    (2, 2)
    """
    written = iteration = 0
    for step in [*flat.steps, *(() if test is None else test.steps)]:
        if step.op is loop_op:
            params = dict(step.params)
            asked = params["cond"]
            more, each = operations(
                flat_of(params["body"]), None if asked is None else flat_of(asked)
            )
            written += more
            iteration += each * max(params["spec"].trip_count, 1)
        elif step.operands:
            written += 1
            iteration += 1
    return written, iteration


def _stacks(flat: Flat, spec: LoopSpec) -> list[str]:
    return [f"y{k}" for k in range(len(flat.results) - spec.num_carry)]


# Statements beyond which an iteration is left to the array program, which compiles in less time.
_LONGEST = 20000


class Writer:
    """Writes iterations; loops in them become functions, the ``helpers``."""

    def __init__(self, native: bool = False) -> None:
        self.native = native
        self.helpers: list[str] = []

    def iteration(self, flat: Flat, test: Flat | None, spec: LoopSpec) -> list[str] | None:
        """The lines of one iteration, with the test if the loop has a condition."""
        n, results = spec.num_carry, flat.results
        if any(flat.steps[i].type.shape for i in [*range(n), *results[:n]]):
            return None
        templates = self.templates(flat)
        if templates is None:
            return None
        statements, texts = scalar.statements_of(flat, templates)
        if len(statements) > _LONGEST:
            return None
        whole, items = local_names(flat, spec)
        before = [f"x{i} = {item}" for i, item in enumerate(items) if whole[i][0] == "q"]
        store = (
            "y{}[t] = {}"
            if test is None
            else "y{}[t - at] = {}"
            if self.native
            else "y{}.append({})"
        )
        ends = [store.format(k, text) for k, text in enumerate(texts[n:])]
        moved = [(name, text) for name, text in zip(whole, texts[:n], strict=False) if name != text]
        if moved:
            names, values = zip(*moved, strict=True)
            ends.append(f"{', '.join(names)} = {', '.join(values)}")
        lines = self.lines(statements, ends)
        if test is None:
            return [*before, *lines, *([] if before or lines else ["pass"])]
        asked = self.templates(test)
        if asked is None:
            return None
        tests, holds = scalar.statements_of(test, asked)
        return [*self.lines(tests, [f"if not {holds[0]}: break"], "w"), *lines]

    def lines(
        self, statements: Sequence[Statement], ends: Sequence[str], name: str = "v"
    ) -> list[str]:
        """Statements and what follows them. Python's names are reused; numba's are of one type each."""
        if not self.native:
            return scalar.allocated([*statements, *[Statement(-1, end) for end in ends]], {}, {})
        lines = [*[f"v{target} = {text}" for target, text in statements], *ends]
        return lines if name == "v" else [scalar.NAME.sub(rf"{name}\1", line) for line in lines]

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
        if self.native and step.op is not CONSTANT:
            return native.template(flat, step)
        return template_of(flat, step)

    def vector(self, step: FlatStep) -> str | None:
        """A number, so many times."""
        if step.type.dtype not in KINDS:
            return None
        size = step.type.shape[0]
        return f"full({size}, {{0}})" if self.native else f"[{{0}}] * {size}"

    def inner(self, step: FlatStep) -> str | None:
        """A call of an inner loop, whose function is added to the helpers."""
        params = dict(step.params)
        spec, cond = params["spec"], params["cond"]
        if (
            self.native and cond is not None
        ):  # how long it runs is not known, and it cannot be interrupted
            return None
        flat, test = flat_of(params["body"]), None if cond is None else flat_of(cond)
        types = [flat.steps[i].type for i in flat.results[spec.num_carry :]]
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
            room = _room if self.native else "[None] * {0}".format
            lines = [f"{y} = {room(length, type)}" for y, type in zip(ys, types, strict=True)]
            lines.append(f"for t in {_range(length, spec.reverse)}:")
        lines.extend(indented(iteration))
        lines.append(f"return {tuple_of([*whole[: spec.num_carry], *ys])}")
        self.helpers.extend([f"def {name}({', '.join(whole)}):", *indented(lines)])
        return f"{name}({', '.join([f'{{{k}}}' for k in range(len(whole))])})"


def _room(length: object, type: ArrayType) -> str:
    return f"empty({tuple_of([str(length), *map(str, type.shape)])}, {type.dtype.name})"


def _range(length: object, reverse: bool) -> str:
    return f"range({length} - 1, -1, -1)" if reverse else f"range({length})"
