"""Source of Python functions for loops, branches and calls, and for their bodies.

A loop is a ``for`` over its iterations, or a ``while``, around a call of its body; a branch is an ``if``.
Each function is written once and called by name, so that the source is linear in the size of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from funcgrad.control.closed_program import Body
from funcgrad.control.loop import UNKNOWN_LENGTH
from funcgrad.expr import Expr, subexpressions
from funcgrad.show.functions import Function, Held, held, held_within, is_tuple, named
from funcgrad.show.written import ATOM, Written


class Routines(NamedTuple):
    """The functions that a program needs beside its own: bodies, and what runs loops and branches."""

    items: list[Held]
    functions: Mapping[Body, Function]
    runners: Mapping[tuple[Any, ...], str]

    @property
    def names(self) -> set[str]:
        """All names that are taken, those of parameters included."""
        own = {name for each in self.functions.values() for name in (each.name, *each.inputs)}
        return own | set(self.runners.values())


def routines_of(root: Expr, taken: set[str]) -> Routines:
    """What the loops, branches and calls below a root need, with names that are not taken."""
    items = held_within([root])
    functions = named(items, taken)
    runners: dict[tuple[Any, ...], str] = {}
    for roots in ([root], *[item.body.outputs for item in items]):
        for e in subexpressions(*roots):
            if is_tuple(e) and e.op.name in ("loop", "branch") and _key(e) not in runners:
                count = len(runners) + 1
                name = f"{e.op.name}_{count}"
                while name in taken:
                    name += "_"
                runners[_key(e)] = name
    return Routines(items, functions, runners)


def _key(expr: Expr) -> tuple[Any, ...]:
    # A branch takes its index as it comes: by truth, or by number.
    return expr.op.name, expr.params, expr.args[0].dtype if expr.op.name == "branch" else None


def called(expr: Expr, texts: Sequence[str], routines: Routines) -> str | None:
    """The call that gives a node's tuple; None for what holds no body that NumPy could run."""
    runner = routines.runners.get(_key(expr)) if expr.op.name in ("loop", "branch") else None
    if runner is None and expr.op.name == "call":
        runner = routines.functions[held(expr)[0].body].name
    return None if runner is None else f"{runner}({', '.join(texts)})"


Let = Callable[[Sequence[Expr], Mapping[Any, Written]], tuple[list[tuple[str, str]], list[Written]]]


def definitions(routines: Routines, let: Let) -> list[str]:
    """The lines of all functions; ``let`` writes formulas, given those of their inputs."""
    lines: list[str] = []
    for item in routines.items:
        own, body = routines.functions[item.body], item.body
        given = {
            x.key: Written(name, ATOM) for x, name in zip(body.inputs, own.inputs, strict=True)
        }
        parts, outputs = let(body.outputs, given)
        lines.append(f"def {own.head}:")
        lines.extend([f"    {name} = {text}" for name, text in parts])
        lines.extend([f"    return {_tuple([part.text for part in outputs])}", "", ""])
    for (kind, params, dtype), name in routines.runners.items():
        write = _loop if kind == "loop" else _branch
        lines.extend([*write(name, dict(params), dtype, routines.functions), "", ""])
    return lines


def _tuple(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _loop(
    name: str, params: Mapping[str, Any], _: object, functions: Mapping[Body, Function]
) -> list[str]:
    body, cond, spec = params["body"], params["cond"], params["spec"]
    own = functions[body]
    n, middle = spec.num_carry, spec.num_carry + spec.num_xs
    whole = list(own.inputs)
    items = [f"{x}[k]" if n <= i < middle else x for i, x in enumerate(whole)]
    met = [f"y{i}" for i in range(len(body.outputs) - n)]
    lines = [f"def {name}({', '.join(whole)}):", *[f"    {y} = []" for y in met]]
    if cond is not None:
        lines.append(f"    while {functions[cond].name}({', '.join(whole)})[0]:")
    else:
        count = f"len({whole[n]})" if spec.trip_count == UNKNOWN_LENGTH else str(spec.trip_count)
        turns = f"reversed(range({count}))" if spec.reverse else f"range({count})"
        lines.append(f"    for k in {turns}:")
    new = [f"z{i}" for i in range(len(met))]
    lines.append(f"        {_tuple([*whole[:n], *new])} = {own.name}({', '.join(items)})")
    lines.extend([f"        {y}.append({z})" for y, z in zip(met, new, strict=True)])
    stacked = []
    for y, out in zip(met, body.outputs[n:], strict=True):
        turned = f"{y}[::-1]" if spec.reverse else y
        lengths = ", ".join([f"len({y})", *map(str, out.shape)])
        stacked.append(f'np.array({turned}, "{out.dtype.str}").reshape(({lengths},))')
    return [*lines, f"    return {_tuple([*whole[:n], *stacked])}"]


def _branch(
    name: str, params: Mapping[str, Any], dtype: Any, functions: Mapping[Body, Function]
) -> list[str]:
    branches = params["branches"]
    inputs = ", ".join(functions[branches[0]].inputs)
    calls = [f"{functions[body].name}({inputs})" for body in branches]
    lines = [f"def {name}({', '.join(['i', *functions[branches[0]].inputs])}):"]
    if dtype.kind == "b" and len(calls) == 2:
        return [*lines, "    if i:", f"        return {calls[1]}", f"    return {calls[0]}"]
    for place, call in enumerate(calls[:-1]):
        lines.extend([f"    if i <= {place}:", f"        return {call}"])
    return [*lines, f"    return {calls[-1]}"]
