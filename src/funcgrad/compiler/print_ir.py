"""The printer of flat programs: a line a step, with its type.

Lines are made one by one, when they are asked for, so that the first of a long program cost no more than
those of a short one. Schedules are in `funcgrad.compiler.print_schedule`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compiler.flat_program import Flat
from funcgrad.graph import CONSTANT, INPUT, ArrayType, Params

MOST = 40
"""The lines of a stage that are shown where all are not asked for."""
_WIDEST = 160
NO_BODIES: Mapping[Any, str] = MappingProxyType({})


def bounded(lines: Iterable[str], count: int | None = None, most: int = MOST) -> list[str]:
    """The first lines, none of them very long, and how many more there are, of ``count`` in all.

    >>> bounded(["a", "b", "c"], most=1)
    ['a', '… (2 more lines)']
    """
    rest = iter(lines)
    shown = [cut(line) for line in islice(rest, most)]
    more = sum([1 for _ in rest]) if count is None else count - len(shown)
    return [*shown, f"… ({more:,} more line{'s' if more > 1 else ''})"] if more > 0 else shown


def cut(line: str, widest: int = _WIDEST) -> str:
    """A line, without its end where it is very long."""
    return line if len(line) <= widest else f"{line[: widest - 1]}…"


# -- values ------------------------------------------------------------------------------------------
def number(array: np.ndarray[Any, Any]) -> str:
    """A constant: in all its digits if it is short, else, and where it is empty, its type.

    >>> number(np.array(0.1)), number(np.float32([1, 2])), number(np.ones(9))
    ('0.1', 'float32[1.0, 2.0]', '<float64[9]>')
    """
    if not 0 < array.size <= 4:
        return f"<{ArrayType(array.shape, array.dtype)}>"
    text = repr(array.tolist())
    if array.dtype.char in "dl?D":
        return text
    return f"{array.dtype}{text}" if array.ndim else f"{array.dtype}({text})"


def closed_in(params: Params) -> list[Any]:
    """The closed subgraphs that an operation runs, which its params hold."""
    given = dict(params)
    if "wiring" in given:  # it tells how to differentiate
        return []
    values = [v for value in given.values() for v in (value if type(value) is tuple else (value,))]
    bodies = [getattr(value, "body", value) for value in values]
    return [body for body in bodies if hasattr(body, "program")]


def params_shown(params: Params, bodies: Mapping[Any, str]) -> Iterator[str]:
    """The params of an operation as text, with closed subgraphs by their names."""
    given = dict(params)
    if "wiring" in given:
        return
    for name, value in params:
        if name == "kept" or value is None:  # what a derivative does, and what is not there
            continue
        if hasattr(value, "trip_count"):
            yield f"num_carry={value.num_carry}"
            if value.num_xs:
                yield f"num_xs={value.num_xs}"
            if value.trip_count >= 0:
                yield f"trip_count={value.trip_count}"
            if value.reverse:
                yield "reverse=True"
        else:
            yield f"{name}={_param(value, bodies)}"


def _param(value: object, bodies: Mapping[Any, str]) -> str:
    if type(value) is tuple and any(hasattr(part, "program") for part in value):
        return f"({', '.join([_param(part, bodies) for part in value])})"
    body = getattr(value, "body", value)
    if hasattr(body, "program"):
        return bodies.get(body, "a body")
    return cut(str(value) if isinstance(value, np.dtype) else repr(value), 100)


# -- steps -------------------------------------------------------------------------------------------
class Steps(NamedTuple):
    """A flat program with names for its inputs, for what comes out, and for the closed subgraphs in it.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x = fg.var("x", 3)
    >>> Steps(flatten_program([2.0 * np.sum(x * x, axis=0)], [x]), ("x",))
    %0 = multiply x, x : float64[3]
    %1 = sum %0, axis=(0,) : float64
    %2 = multiply 2.0, %1 : float64
    return %2
    """

    flat: Flat
    names: tuple[str, ...]
    bodies: Mapping[Any, str] = NO_BODIES
    outputs: tuple[str, ...] = ()
    """The names of the last results, which are passed on."""

    def lines(self) -> Iterator[str]:
        """One line a step, and one for the results; constants stand where they are used."""
        texts: list[str] = list(self.names)
        count = 0
        for step in self.flat.steps[self.flat.inputs :]:
            if step.op is CONSTANT:
                texts.append(number(step.constant))
                continue
            texts.append(f"%{count}")
            count += 1
            given = [texts[i] for i in step.operands]
            what = ", ".join([*given, *params_shown(step.params, self.bodies)])
            yield f"{texts[-1]} = {step.op.name} {what} : {step.type}"
        results = [texts[i] for i in self.flat.results]
        first = len(results) - len(self.outputs)
        named = zip(self.outputs, results[first:], strict=True)
        handed = [f"{name} = {text}" for name, text in named]
        yield "; ".join([f"return {', '.join(results[:first])}".rstrip(), *handed])

    def given(self) -> str:
        """The inputs with their types."""
        types = [step.type for step in self.flat.steps[: self.flat.inputs]]
        given = [f"{x}: {type}" for x, type in zip(self.names, types, strict=True)]
        return cut(", ".join(given))

    def __len__(self) -> int:
        """How many lines there are."""
        return 1 + sum([1 for step in self.flat.steps if step.op not in (CONSTANT, INPUT)])

    def __repr__(self) -> str:
        return "\n".join(bounded(self.lines(), len(self)))


class Inner(NamedTuple):
    """A closed subgraph that a program runs: what it is called, and its steps."""

    name: str
    steps: Steps

    def __repr__(self) -> str:
        head = f"{self.name}({self.steps.given()})"
        return "\n".join([head, *[f"  {line}" for line in repr(self.steps).splitlines()]])


def input_names(inputs: Iterable[Any]) -> tuple[str, ...]:
    """The names of variables."""
    return tuple([str(x.params[0][1]) for x in inputs])


def closed_below(*flats: Flat) -> tuple[Inner, ...]:
    """The closed subgraphs that flat programs run, each once, and those within them."""
    from funcgrad.compiler.python.loop_body_codegen import flat_of  # what few need

    bodies: dict[Any, str] = {}
    found: list[tuple[Any, Flat]] = []
    waiting = list(flats)
    while waiting:
        for step in waiting.pop(0).steps:
            if step.type.dtype.kind != "O":
                continue
            for body in closed_in(step.params):
                if body not in bodies:
                    bodies[body] = f"body{len(bodies) + 1}"
                    # A loop runs its iterations as they are; what runs once has its own loops relieved.
                    loop = "spec" in dict(step.params)
                    flat = flat_of(body) if loop else body.program.flat()
                    found.append((body, flat))
                    waiting.append(flat)
    return tuple(
        [
            Inner(bodies[body], Steps(flat, input_names(body.program.inputs), bodies))
            for body, flat in found
        ]
    )
