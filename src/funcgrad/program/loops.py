"""Rolled loops as one generated function: the `for` or `while` stands in it, with its turn written out.

A loop on numbers alone is printed over `math`, its states in locals; a loop in such a loop is a function
beside it. Any other is printed around its body's array program. Where `math` raises, NumPy does that
turn, and more turns each time that it happens, before numbers are tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from funcgrad.graph import CONSTANT, INPUT
from funcgrad.program import arrays, scalar
from funcgrad.program.calls import calls
from funcgrad.program.codegen import Flat, Step, build, flatten
from funcgrad.program.scalar import Statement

OPEN = -1
"""The length of a loop that is known only when it has run: an open one."""


class Shape(Protocol):
    """How a loop's operands are divided, and how it runs."""

    @property
    def states(self) -> int: ...
    @property
    def sequences(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def reverse(self) -> bool: ...


class Closed(Protocol):
    """A closed subgraph: its program has ``inputs`` and ``outputs``."""

    @property
    def program(self) -> Any: ...


Rolled = Callable[[Sequence[Any]], tuple[Sequence[Any], list[Any]]]
"""From a loop's operands to its final states, and what it put out, stacked."""


def compile_loop(body: Closed, cond: Closed | None, shape: Shape) -> Rolled:
    """The loop as a function; its final states may share memory with operands and with each other."""
    return _on_numbers(body, cond, shape) or _on_arrays(_flat(body), cond, shape)


def turns_of(shape: Shape, operands: Sequence[Any]) -> range:
    """The turns of a loop without a condition, in the order in which they run."""
    length = len(operands[shape.states]) if shape.length == OPEN else shape.length
    return range(length)[::-1] if shape.reverse else range(length)


def stacked(values: Sequence[Any], type: Any) -> Any:
    """What the turns put out, along a new first axis."""
    result = np.empty((len(values), *type.shape), type.dtype)
    for t, value in enumerate(values):
        result[t] = value
    return result


def _flat(body: Closed) -> Flat:
    return flatten(body.program.outputs, body.program.inputs)


def _names(flat: Flat, shape: Shape) -> tuple[list[str], list[str]]:
    """The inputs: states, sequences and what every turn sees, as the loop and as a turn names them."""
    middle = shape.states + shape.sequences
    whole = [f"{'q' if shape.states <= i < middle else 'x'}{i}" for i in range(flat.inputs)]
    return whole, [f"{name}[t]" if name[0] == "q" else name for name in whole]


def _unpacked(names: Sequence[str], source: str) -> list[str]:
    return [f"{', '.join(names)}, = {source}"] if names else []


def _tuple(names: Sequence[str]) -> str:
    return f"({''.join([f'{name}, ' for name in names])})"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


# -- numbers -------------------------------------------------------------------------------------
def _on_numbers(body: Closed, cond: Closed | None, shape: Shape) -> Rolled | None:
    flat = _flat(body)
    text = numbers_text(flat, None if cond is None else _flat(cond), shape)
    if text is None:
        return None
    enter: Any = build("loop", text, scalar.BOUND)
    n = shape.states
    types = [flat.steps[i].type for i in flat.results]
    kinds = [_KINDS[step.type.dtype] for step in flat.steps[: flat.inputs]]

    def run(operands: Sequence[Any]) -> tuple[Sequence[Any], list[Any]]:
        given = [
            x.tolist() if isinstance(x, np.ndarray) else kind(x)
            for x, kind in zip(operands, kinds, strict=True)
        ]
        turns = None if cond is not None else turns_of(shape, operands)
        met: list[list[Any]] = [[None] * len(turns or ()) for _ in types[n:]]
        state: Sequence[Any] = given[:n]
        at, patience = 0, 1
        while True:
            at, state = enter(turns, at, state, given[n:], met)
            if at < 0:
                break
            wide = [type.dtype.type(x) for type, x in zip(types, state, strict=False)]
            rest = [*wide, *operands[n:]]
            for _ in range(patience):
                if not by_numpy(rest, turns, at, met):
                    break
                at += 1
            patience *= 2
            state = [kind(x) for kind, x in zip(kinds, rest[:n], strict=False)]
        final = [type.dtype.type(x) for type, x in zip(types, state, strict=False)]
        return final, [
            np.array(found, type.dtype).reshape((len(found), *type.shape))
            for found, type in zip(met, types[n:], strict=True)
        ]

    def by_numpy(operands: list[Any], turns: range | None, at: int, met: list[list[Any]]) -> bool:
        """One turn, if there is one: the states are moved on, and what it puts out is noted."""
        middle = n + shape.sequences
        state, fixed = operands[:n], operands[middle:]
        if turns is None and cond is not None:
            if not cond.program.step([*state, *fixed])[0]:
                return False
            for found in met:
                found.append(None)
        elif at == len(turns or ()):
            return False
        t = at if turns is None else turns[at]
        items = [sequence[t] for sequence in operands[n:middle]]
        values = body.program.step([*state, *items, *fixed])
        operands[:n] = values[:n]
        for found, value in zip(met, values[n:], strict=True):
            found[t] = value
        return True

    return run


_KINDS: dict[Any, Any] = {
    np.dtype("float64"): float,
    np.dtype("int64"): int,
    np.dtype("bool"): bool,
}


def numbers_text(flat: Flat, test: Flat | None, shape: Shape) -> str | None:
    """The text of a loop on numbers alone, or None.

    >>> import funcgrad as fg
    >>> from types import SimpleNamespace
    >>> x, y, a = fg.var("x"), fg.var("y"), fg.var("a")
    >>> shape = SimpleNamespace(states=1, sequences=1, length=3, reverse=False)
    >>> print(numbers_text(flatten([fg.exp(x) * y + a, x], [x, y, a]), None, shape))
    def run(turns, at, state, rest, met):
        x0, = state
        q1, x2, = rest
        y0, = met
        try:
            for t in turns[at:]:
                x1 = q1[t]
                y0[t] = x0
                x0 = ((exp(x0) * x1) + x2)
        except (ArithmeticError, ValueError):
            return turns.index(t), (x0, )
        return -1, (x0, )
    """
    helpers: list[str] = []
    turn = _turn(flat, test, shape, helpers)
    if turn is None:
        return None
    n = shape.states
    whole, _ = _names(flat, shape)
    states = _tuple(whole[:n])
    ys = [f"y{k}" for k in range(len(flat.results) - n)]
    lines = [*_unpacked(whole[:n], "state"), *_unpacked(whole[n:], "rest"), *_unpacked(ys, "met")]
    if test is None:
        head, failed = "for t in turns[at:]:", [f"return turns.index(t), {states}"]
    else:
        lines.append("t = at")
        head, failed = "while True:", ["for y in met: del y[t:]", f"return t, {states}"]
    lines.extend(["try:", *_indented([head, *_indented(turn)])])
    lines.extend(["except (ArithmeticError, ValueError):", *_indented(failed)])
    lines.append(f"return -1, {states}")
    return "\n".join([*helpers, "def run(turns, at, state, rest, met):", *_indented(lines)]) + "\n"


# Statements beyond which a turn is left to the array program, which compiles in less time.
_LONGEST = 20000


def _turn(flat: Flat, test: Flat | None, shape: Shape, helpers: list[str]) -> list[str] | None:
    """The lines of one turn, that of a loop with a condition with its test; inner loops are helpers."""
    n, results = shape.states, flat.results
    if any(flat.steps[i].type.shape for i in [*range(n), *results[:n]]):
        return None
    templates = _templates(flat, helpers)
    if templates is None:
        return None
    statements, texts = scalar._statements(flat, templates)
    if len(statements) > _LONGEST:
        return None
    whole, items = _names(flat, shape)
    before = [f"x{i} = {item}" for i, item in enumerate(items) if whole[i][0] == "q"]
    store = "y{}[t] = {}" if test is None else "y{}.append({})"
    ends = [store.format(k, text) for k, text in enumerate(texts[n:])]
    moved = [(name, text) for name, text in zip(whole, texts[:n], strict=False) if name != text]
    if moved:
        names, values = zip(*moved, strict=True)
        ends.append(f"{', '.join(names)} = {', '.join(values)}")
    lines = scalar._allocated([*statements, *[Statement(-1, end) for end in ends]], {}, {})
    if test is None:
        return [*before, *lines, *([] if before or lines else ["pass"])]
    asked = _templates(test, helpers)
    if asked is None:
        return None
    tests, holds = scalar._statements(test, asked)
    question = scalar._allocated([*tests, Statement(-1, f"if not {holds[0]}: break")], {}, {})
    return [*question, *lines, "t += 1"]


def _templates(flat: Flat, helpers: list[str]) -> list[str] | None:
    """How each step is written; None where one is not on numbers. Vectors pass to inner loops, as lists."""
    templates = []
    for step in flat.steps:
        text = _template(flat, step, helpers)
        if text is None:
            return None
        templates.append(text)
    return templates


def _template(flat: Flat, step: Step, helpers: list[str]) -> str | None:
    types = [flat.steps[i].type for i in step.operands]
    if step.op is INPUT:
        return "" if step.type.dtype in _KINDS else None
    if step.op is CONSTANT:
        return scalar._template(flat, step)
    if step.op.name == "loop":
        return _inner(step, helpers)
    if step.op.name == "pick":
        return f"{{0}}[{step.params[0][1]}]"
    if any(type.shape for type in types):
        return None
    if step.op.name == "broadcast_to" and len(step.type.shape) == 1:
        return f"[{{0}}] * {step.type.shape[0]}" if step.type.dtype in _KINDS else None
    return scalar._template(flat, step)


def _inner(step: Step, helpers: list[str]) -> str | None:
    """A call of an inner loop, whose function is added to the helpers."""
    params = dict(step.params)
    shape, cond = params["shape"], params["cond"]
    flat, test = _flat(params["body"]), None if cond is None else _flat(cond)
    turn = _turn(flat, test, shape, helpers)
    if turn is None:
        return None
    name = f"loop{len(helpers)}"
    whole, _ = _names(flat, shape)
    ys = [f"y{k}" for k in range(len(flat.results) - shape.states)]
    if test is not None:
        lines = ["t = 0", *[f"{y} = []" for y in ys], "while True:"]
    else:
        length = f"len({whole[shape.states]})" if shape.length == OPEN else shape.length
        lines = [f"{y} = [None] * {length}" for y in ys]
        lines.append(f"for t in range({length}){'[::-1]' if shape.reverse else ''}:")
    lines.extend(_indented(turn))
    lines.append(f"return {_tuple([*whole[: shape.states], *ys])}")
    helpers.extend([f"def {name}({', '.join(whole)}):", *_indented(lines)])
    return f"{name}({', '.join([f'{{{k}}}' for k in range(len(whole))])})"


# -- arrays --------------------------------------------------------------------------------------
def _on_arrays(flat: Flat, cond: Closed | None, shape: Shape) -> Rolled:
    plan = calls(flat._replace(results=tuple(_computed(flat))))
    text = f"{arrays.source(plan)}{arrays_text(flat, cond is not None, shape)}"
    bound = {**arrays._BOUND, **plan.bound}
    if cond is not None:
        bound["holds"] = cond.program.compiled
    enter: Any = build("loop", text, bound)
    n = shape.states
    types = [flat.steps[i].type for i in flat.results[n:]]

    def run(operands: Sequence[Any]) -> tuple[Sequence[Any], list[Any]]:
        if cond is not None:
            met: list[Any] = [[] for _ in types]
            state = enter((), operands[:n], operands[n:], met)
            return state, [stacked(found, type) for found, type in zip(met, types, strict=True)]
        turns = turns_of(shape, operands)
        met = [np.empty((len(turns), *type.shape), type.dtype) for type in types]
        return enter(turns, operands[:n], operands[n:], met), met

    return run


def _computed(flat: Flat) -> list[int]:
    """The results that are not inputs, each once."""
    return list(dict.fromkeys([i for i in flat.results if i >= flat.inputs]))


def arrays_text(flat: Flat, tested: bool, shape: Shape) -> str:
    """The text of a loop around ``body``, a function of a turn's inputs; ``holds`` tells whether to go on.

    >>> import funcgrad as fg
    >>> from types import SimpleNamespace
    >>> x, y = fg.var("x", 3), fg.var("y", 3)
    >>> shape = SimpleNamespace(states=1, sequences=1, length=9, reverse=False)
    >>> print(arrays_text(flatten([x * y, x], [x, y]), False, shape))
    def run(turns, state, rest, met):
        x0, = state
        q1, = rest
        y0, = met
        for t in turns:
            r0, = body(x0, q1[t])
            y0[t] = x0
            x0, = r0,
        return (x0, )
    """
    n = shape.states
    whole, items = _names(flat, shape)
    names = dict(enumerate(items))
    names.update({i: f"r{k}" for k, i in enumerate(_computed(flat))})
    ys = [f"y{k}" for k in range(len(flat.results) - n)]
    lines = [*_unpacked(whole[:n], "state"), *_unpacked(whole[n:], "rest"), *_unpacked(ys, "met")]
    given = ", ".join(items)
    lines.append(f"while holds({given})[0]:" if tested else "for t in turns:")
    turn = _unpacked([names[i] for i in _computed(flat)], f"body({given})")
    store = "{}.append({})" if tested else "{}[t] = {}"
    turn.extend([store.format(y, names[i]) for y, i in zip(ys, flat.results[n:], strict=True)])
    if n:
        turn.append(f"{', '.join(whole[:n])}, = {', '.join([names[i] for i in flat.results[:n]])},")
    lines.extend([*_indented(turn), f"return {_tuple(whole[:n])}"])
    return "\n".join(["def run(turns, state, rest, met):", *_indented(lines)]) + "\n"
