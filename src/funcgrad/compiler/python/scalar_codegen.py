"""Programs on numbers as generated Python over `math`: ten times faster than NumPy on numbers.

Each operation has a template (`funcgrad.compiler.python.scalar_ops`). A value with one use is written inside
its user's expression, others have names; names are reused, since locals beyond the 255th are slow, and very
long programs are split into several functions. `math` raises where NumPy gives an inf or a nan: then the
program runs once more, by NumPy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from funcgrad.compiler.flat_program import Flat, FlatStep, build, interpret
from funcgrad.compiler.python.scalar_ops import BOUND, TYPES, template_of
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.indexing import getitem_op


# -- from steps to statements ----------------------------------------------------------------------
class Statement(NamedTuple):
    """``v<target> = text``; in the text, ``v<number>`` are steps and ``x<number>`` are inputs."""

    target: int
    text: str


# How deep and how long an expression gets before its parts are named. (Python's parser ends at about a
# hundred nested parentheses.)
_DEEPEST, _LONGEST = 16, 2000
# Programs of more statements are cut into parts of so many, which bounds what one compilation takes. (The
# parts' shared list costs a quarter more time than locals, even those beyond the 255th.)
_WHOLE, _PART = 20000, 5000
NAME = re.compile(r"\bv(\d+)\b")


def compile_flat(flat: Flat) -> Callable[..., tuple[Any, ...]] | None:
    """A function from the inputs' values to the roots' values, or None where not all are plain numbers.

    Every node has to be a 0-d float64, int64 or bool with a template. Results are Python's numbers.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x = fg.var("x")
    >>> compile_flat(flatten_program([fg.simplify(x * x + 1)], [x]))(3.0)
    (10.0,)
    >>> compile_flat(flatten_program([fg.var("a", 3) + x], [fg.var("a", 3), x]))
    """
    text = scalar_source(flat)
    if text is None:
        return None
    return build("scalar", text, {**BOUND, "slow": lambda *values: interpret(flat, values)})


def scalar_source(flat: Flat) -> str | None:
    """The text of the function, or None.

    >>> import funcgrad as fg
    >>> from funcgrad.compiler.flat_program import flatten_program
    >>> x = fg.var("x")
    >>> print(scalar_source(flatten_program([fg.sin(x * x), x * x], [x])))
    def run(x0):
        if type(x0) is not float: x0 = float(x0)
        try:
            a0 = (x0 * x0)
            return (sin(a0), a0,)
        except (ArithmeticError, ValueError):
            return slow(x0,)
    """
    templates = [template_of(flat, step) for step in flat.steps]
    if None in templates:
        return None
    statements, results = statements_of(flat, templates)  # type: ignore[arg-type]
    body = _whole if len(statements) <= _WHOLE else _parts
    return body(flat, statements, results)


def statements_of(flat: Flat, templates: Sequence[str]) -> tuple[list[Statement], list[str]]:
    """The program as assignments, and the texts of the results."""
    steps = flat.steps
    uses = [0] * len(steps)
    counts = {
        text: [text.count(f"{{{k}}}") for k in range(text.count("{"))] for text in set(templates)
    }
    for step, template in zip(steps, templates, strict=True):
        for operand, times in zip(step.operands, counts[template], strict=False):
            uses[operand] += times
    for result in flat.results:
        uses[result] += 1
    texts: list[str] = []
    depths: list[int] = []
    statements: list[Statement] = []
    for i, (step, template) in enumerate(zip(steps, templates, strict=True)):
        text, depth = f"x{i}", 0
        if step.op is CONSTANT:
            text = template
        elif step.op is not INPUT:
            text = template.format(*[texts[k] for k in step.operands])
            depth = 1 + max([depths[k] for k in step.operands])
            if template != "{0}" and (
                uses[i] > 1 or (uses[i] == 1 and (depth > _DEEPEST or len(text) > _LONGEST))
            ):
                statements.append(Statement(i, text))
                text, depth = f"v{i}", 0
        texts.append(text)
        depths.append(depth)
    return statements, [texts[i] for i in flat.results]


# -- from statements to functions ------------------------------------------------------------------
def _whole(flat: Flat, statements: Sequence[Statement], results: Sequence[str]) -> str:
    return _function(flat, _returning(statements, _tuple(results)))


def _returning(statements: Sequence[Statement], result: str) -> list[str]:
    lines = allocated([*statements, Statement(-1, result)], {}, {})
    return [*lines[:-1], f"return {lines[-1]}"]


def in_lines(flat: Flat) -> tuple[list[str], list[str]] | None:
    """The statements, and the texts of the results, from inputs ``x0``, ``x1``, … of the program's types.

    Their names are ``a0``, ``a1``, … and those of `BOUND`; `math`'s errors are the caller's to meet. None
    where the program is not on numbers and entries of arrays alone.
    """
    templates = _with_entries(flat, [template_of(flat, step) for step in flat.steps])
    if None in templates:
        return None
    statements, results = statements_of(flat, templates)  # type: ignore[arg-type]
    lines = allocated([*statements, *[Statement(-1, text) for text in results]], {}, {})
    count = len(lines) - len(results)
    return lines[:count], lines[count:]


def _with_entries(flat: Flat, templates: list[str | None]) -> list[str | None]:
    """Templates, with those of arrays among the inputs of which single entries are read alone."""
    steps, found = flat.steps, list(templates)
    for k, array in enumerate(steps[: flat.inputs]):
        if found[k] is not None or array.type.dtype not in TYPES or k in flat.results:
            continue
        users = [i for i, step in enumerate(steps) if k in step.operands]
        places = [_place(steps[i]) for i in users]
        if None not in places:
            found[k] = ""
            for i, place in zip(users, places, strict=True):
                found[i] = f"{{0}}.item{place}"
    return found


def _place(step: FlatStep) -> tuple[int, ...] | None:
    """The index of a step that reads one entry; None of another step."""
    spec = dict(step.params).get("spec") if step.op is getitem_op else None
    return spec if spec and not step.type.shape and {*map(type, spec)} == {int} else None


def _function(flat: Flat, body: Iterable[str]) -> str:
    names = [f"x{i}" for i in range(flat.inputs)]
    lines = [f"def run({', '.join(names)}):"]
    for name, step in zip(names, flat.steps, strict=False):
        kind = TYPES[step.type.dtype]
        lines.append(f"    if type({name}) is not {kind}: {name} = {kind}({name})")
    lines.append("    try:")
    lines.extend([f"        {line}" for line in body])
    lines.append("    except (ArithmeticError, ValueError):")
    lines.append(f"        return slow{_tuple(names)}")
    return "\n".join(lines) + "\n"


def _tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)},)" if texts else "()"


def _parts(flat: Flat, statements: Sequence[Statement], results: Sequence[str]) -> str:
    """Functions on one list, which holds the inputs and what passes from one part to another."""
    parts = [statements[i : i + _PART] for i in range(0, len(statements), _PART)]
    home = {s.target: k for k, part in enumerate(parts) for s in part}
    shared = {i for text in results for i in _names(text)}
    for k, part in enumerate(parts):
        shared.update([i for s in part for i in _names(s.text) if home[i] != k])
    places = {i: flat.inputs + n for n, i in enumerate(sorted(shared))}
    lines: list[str] = []
    for k, part in enumerate(parts):
        own = {i: place for i, place in places.items() if home[i] == k}
        lines.append(f"def part{k}(m):")
        lines.extend([f"    {line}" for line in allocated(part, places, own)])
    body = [f"m = [{', '.join([f'x{i}' for i in range(flat.inputs)])}] + [None] * {len(places)}"]
    body.extend([f"part{k}(m)" for k in range(len(parts))])
    body.append(f"return {NAME.sub(lambda m: f'm[{places[int(m[1])]}]', _tuple(results))}")
    text = "\n".join(lines) + "\n"
    return re.sub(r"\bx(\d+)\b", r"m[\1]", text) + _function(flat, body)


def _names(text: str) -> list[int]:
    return [int(name) for name in NAME.findall(text)]


def allocated(part: Sequence[Statement], places: dict[int, int], own: dict[int, int]) -> list[str]:
    """The statements with names reused after their last use.

    Steps of other parts are read from their places in ``m``, and those of ``own`` are stored there.
    """
    last: dict[int, int] = {}
    times: dict[int, int] = {}
    for at, statement in enumerate(part):
        for i in _names(statement.text):
            last[i] = at
            times[i] = times.get(i, 0) + 1
    inside = {statement.target for statement in part}
    free: list[str] = []
    named: dict[int, str] = {}
    made = 0
    lines: list[str] = []

    def fresh() -> str:
        nonlocal made
        if free:
            return free.pop()
        made += 1
        return f"a{made - 1}"

    for at, (target, text) in enumerate(part):
        used = dict.fromkeys(_names(text))
        for i in used:
            if i not in inside and i not in named:
                named[i] = f"m[{places[i]}]"
                if times[i] > 1:
                    name = fresh()
                    lines.append(f"{name} = {named[i]}")
                    named[i] = name
        written = NAME.sub(lambda found: named[int(found[1])], text)
        free.extend([named[i] for i in used if last[i] == at and named[i][0] == "a"])
        if target < 0:
            lines.append(written)
            continue
        store = f"m[{own[target]}] = " if target in own else ""
        if target in last:
            named[target] = fresh()
            lines.append(f"{store}{named[target]} = {written}")
        else:
            lines.append(f"{store}{written}")
    return lines
