"""The text of a jitted function's programs: the source of the last one, and the stages of its compilation.

The stages are the data that the compiler's passes return; only inputs are renamed, after the arguments
(`lowered_stages`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from funcgrad.compiler.flat_program import flatten_program
from funcgrad.compiler.print_ir import MOST, Inner, Steps, bounded, cut, input_names
from funcgrad.compiler.print_schedule import Calls
from funcgrad.expr import Expr, subexpressions
from funcgrad.graph import INPUT
from funcgrad.ops.tuples import together_op


class Guard(NamedTuple):
    """A question of Python while f was traced, and the program that computes the value in question."""

    asked: Expr
    reading: str
    """The function that read the value: ``bool``, ``float``, ``index``, …"""
    answer: Any
    line: str
    """The line of the user's code; empty if it is not known."""
    steps: Steps
    source: str

    def __repr__(self) -> str:
        what = f"{self.reading}({last_line(self.asked)}) was {last_line(self.answer)}"
        head = f"{what}, at {self.line}" if self.line else what
        return "\n".join([head, *_indented(repr(self.steps).splitlines())])


class Lowered(NamedTuple):
    """The stages of a program, from the trace of f to the source that runs; it prints all of them.

    >>> import funcgrad as fg
    >>> fg.jit(lambda x: x * x * 1.0).lower(2.0)
    as traced
      x*x*1
    simplified
      x**2
    steps on x: float64
      %0 = square x : float64
      return %0
    as it runs
      def run(x0):
          if type(x0) is not float: x0 = float(x0)
          try:
              return ((x0 * x0),)
          except (ArithmeticError, ValueError):
              return slow(x0,)
    """

    traced: Sequence[Expr]
    """The trace of f; of a derivative, unsimplified."""
    simplified: Sequence[Expr]
    """The trace, simplified by the laws."""
    source: str
    """The Python source of the program that computes the results."""
    guards: tuple[Guard, ...] = ()
    """The guards, in order; their programs run first."""
    shared: Sequence[Expr] = ()
    """The program after `body_subsumption`, if that changed it."""
    hoisted: Sequence[Expr] = ()
    """The program after loop-invariant code motion, if that changed it."""
    steps: Steps | None = None
    """The flat, typed program."""
    closed: tuple[Inner, ...] = ()
    """The bodies of loops, branches and calls."""
    prepared: Steps | None = None
    """The steps in NumPy's short forms, of a program on arrays, where they differ."""
    schedule: Calls | str = ""
    """The calls of a program on arrays, with their memory; the first instructions of bytecode, as text."""
    loops: tuple[tuple[str, str], ...] = ()
    """The Python of the loops that the source calls, by the names of their bodies."""
    constant: str = ""
    """The result, of a function that computes nothing."""
    machine_code: str = ""
    """Which parts of the program are machine code or become it, and why the others do not."""
    native: tuple[Steps | Inner, ...] = ()
    """The steps of the whole program's machine code, and the bodies in it, where they differ from NumPy's."""

    def __repr__(self) -> str:
        return "\n".join(
            [line for title, lines in self._stages() for line in (title, *_indented(lines))]
        )

    def _stages(self) -> Iterator[tuple[str, list[str]]]:
        if self.guards:
            yield "guards", _parts(self.guards)
        if not self.traced:
            known = (
                f": the result is {self.constant}, whatever the arguments" if self.constant else ""
            )
            yield "as traced", [f"nothing{known}"]
            return
        yield "as traced", _formulas(self.traced)
        changed = are_different(self.traced, self.simplified)
        yield "simplified", _formulas(self.simplified) if changed else ["the same"]
        if self.shared:
            yield "shared", _formulas(self.shared)
        if self.hoisted:
            yield "hoisted", _formulas(self.hoisted)
        if self.steps is not None:
            parts = [*repr(self.steps).splitlines(), *_parts(self.closed)]
            yield f"steps on {self.steps.given()}", parts
        if self.prepared is not None:
            yield "prepared", repr(self.prepared).splitlines()
        if self.native:
            yield "steps of machine code", bounded(_parts(self.native))
        if self.schedule:
            yield "schedule", bounded(str(self.schedule).splitlines(), most=MOST + 1)
        yield "as it runs", bounded(self.source.splitlines())
        for name, text in self.loops[:_PARTS]:
            yield f"the loop around {name} as it runs", bounded(text.splitlines())


# Guards and closed subgraphs that are shown; expressions of more nodes are shown as steps, in less time.
_PARTS, _READABLE = 20, 1000


def _parts(items: Sequence[Any]) -> list[str]:
    shown = [line for item in items[:_PARTS] for line in repr(item).splitlines()]
    more = len(items) - _PARTS
    return [*shown, f"… ({more:,} more)"] if more > 0 else shown


def _formulas(exprs: Sequence[Expr]) -> list[str]:
    """Some expressions with what they share, or, where they are large, their first nodes as steps."""
    nodes = subexpressions(*exprs)
    if len(nodes) <= _READABLE:
        if len(exprs) <= 1:
            return bounded([line for expr in exprs for line in repr(expr).splitlines()])
        return bounded(f"{repr(together_op(*exprs)).removesuffix(',)')})".splitlines())
    first = nodes[:_READABLE]
    inputs = list({expr.key: expr for expr in first if expr.op is INPUT}.values())
    steps = Steps(flatten_program(first, inputs), input_names(inputs))
    more = sum([1 for expr in nodes if expr.args]) - MOST
    return [*islice(map(cut, steps.lines()), MOST), f"… ({more:,} more lines)"]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" if line else "" for line in lines]


def last_line(value: Any) -> str:
    return cut((repr(value).splitlines() or [""])[-1], 60)


def are_different(some: Sequence[Expr], others: Sequence[Expr]) -> bool:
    """Whether these are other expressions than those."""
    return some is not others and [e.key for e in some] != [e.key for e in others]
