"""From a flat program to Python that calls a library's functions, and the tables that say which.

A closed subgraph becomes a function of its own, printed the same way; the `Library` record has the functions
that run calls, branches, loops and custom derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import Flat, FlatStep, build, flatten_program, source_text
from funcgrad.compiler.libraries.masked_select import guarded
from funcgrad.control.call_and_branch import branch_op, call_op
from funcgrad.control.custom_rule import custom_derivative_op
from funcgrad.control.loop import loop_op
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, ArrayType
from funcgrad.ops.base.columns import in_library
from funcgrad.ops.base.op import Elementwise, Op
from funcgrad.rewrite.decompose import decomposed
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.source import type_error
from funcgrad.typing import Array


def _identity(run: object) -> Any:
    return run


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Library:
    """A library as a backend. ``home`` is the device of a call's arrays, or None."""

    name: str
    module: Any
    """Where entrywise operations are looked up that have no row in the table, by NumPy's name."""
    table: Mapping[str, Callable[..., Any]]
    """What an operation becomes: called as its ``run`` is."""
    home: Callable[[Sequence[Any]], Any]
    array: Callable[[Any, np.dtype[Any], Any], Any]
    """A value as an array of the library, of a dtype, at home."""
    constant: Callable[[np.ndarray[Any, Any], bool], Callable[[Any], Any]]
    """A function from home to a constant there; the flag says that others may change the array in place."""
    own: Callable[[Any], Any]
    """A result that shares memory with nothing."""
    call: Callable[..., Any]
    """``call(run, *operands)``"""
    branch: Callable[..., Any]
    """``branch(runs, index, *operands)``"""
    loop: Callable[..., Any]
    """``loop(run, holds, spec, types, *operands)``"""
    custom_derivative: Callable[..., Any]
    """``custom_derivative(rule, wiring, *operands)``: the results, with the rule as derivative"""
    lengths: bool
    """Whether it has arrays whose lengths are known only when the program runs."""
    transposes: bool
    """Whether it differentiates by transposing linear programs, so that selections need their guards."""
    compile: Callable[[Any], Any]
    compiled: bool
    warn: Callable[[Sequence[ArrayType]], None]
    special: Any = None
    """Where the functions of `scipy.special` are looked up that have no row, by SciPy's name."""
    whole: Callable[[Any], Any] = _identity
    """Wraps a function that traces and runs programs, so that the library's own compiler takes it."""


class Emitted:
    """A program on arrays of a library."""

    __slots__ = ("__weakref__", "_bodies", "_body", "_library", "types")

    def __init__(
        self,
        body: Callable[..., Any],
        bodies: Sequence[Callable[..., Any]],
        library: Library,
        types: Sequence[ArrayType],
    ) -> None:
        self._body = body
        self._bodies = tuple(bodies)
        self._library = library
        self.types = tuple(types)

    @property
    def source(self) -> str:
        """The Python that runs, that of closed subgraphs first."""
        inner = [f"# a closed subgraph\n{source_text(run)}\n" for run in self._bodies]
        return "".join([*inner, source_text(self._body)])

    def __call__(self, *values: Any) -> tuple[Any, ...]:
        library, types = self._library, self.types
        home = library.home(values)
        given = [library.array(v, t.dtype, home) for v, t in zip(values, types, strict=True)]
        results: tuple[Any, ...] = self._body(home, *given)
        return results


def emitted(roots: Sequence[Expr], inputs: Sequence[Expr], library: Library) -> Emitted:
    """The program from inputs to roots, as a function of arrays of the library."""
    flat = flatten_program(_legalized(roots, library), inputs, for_numpy=False)
    bodies: dict[Any, Any] = {}
    body = _built(flat, library, bodies, _shared(flat))
    return Emitted(body, list(bodies.values()), library, [x.type for x in inputs])


def _legalized(roots: Sequence[Expr], library: Library) -> Sequence[Expr]:
    """The roots, with operations decomposed until the library has a function for each."""

    def legal(expr: Expr) -> bool:
        op: Op = expr.op
        rows = op.columns.libraries or {}
        if library.name in rows or "any" in rows or op.name in library.table:
            return True
        if not isinstance(op, Elementwise):
            return op.columns.decompose is None
        return _by_name(op, library) is not None

    known = decomposed(roots, lambda e: not e.args or legal(e))
    return guarded(known) if library.transposes else known


def _by_name(op: Op, library: Library) -> Callable[..., Any] | None:
    """A library's function with an operation's name, which is NumPy's or SciPy's."""
    homes = (library.module, library.special)
    found = [getattr(home, op.name) for home in homes if hasattr(home, op.name)]
    return found[0] if found else None


def _shared(flat: Flat) -> list[bool]:
    """For each result, whether it could share memory with another value."""
    places = flat.results
    return [flat.steps[i].may_alias or i in places[:place] for place, i in enumerate(places)]


def _built(
    flat: Flat, library: Library, bodies: dict[Any, Any], shared: Sequence[bool]
) -> Callable[..., tuple[Any, ...]]:
    bound: dict[str, Any] = {"own": library.own}
    names = [f"v{i}" for i in range(len(flat.steps))]
    lines = [f"def run({', '.join(['home', *names[: flat.inputs]])}):"]
    dead = _dead_after(flat)
    for i, step in enumerate(flat.steps):
        if i >= flat.inputs:
            given = [names[k] for k in step.operands]
            if step.op is CONSTANT:
                bound[f"f{i}"] = library.constant(step.constant, step.params[0][1].captured)
                given = ["home"]
            elif step.op in _CLOSED:
                bound[f"f{i}"] = _CLOSED[step.op](step, library, bodies)
                given = ["home", *given]
            else:
                bound[f"f{i}"] = _function(step, library)
            lines.append(f"    {names[i]} = f{i}({', '.join(given)})")
        if dead[i]:
            lines.append(f"    del {', '.join([names[k] for k in dead[i]])}")
    results = [
        f"own({names[i]})" if own else names[i] for i, own in zip(flat.results, shared, strict=True)
    ]
    lines.append(f"    return ({''.join([f'{text}, ' for text in results])})")
    return build(library.name, "\n".join(lines) + "\n", bound)


def _dead_after(flat: Flat) -> list[list[int]]:
    """For each step, the values that are dead after it."""
    dead: list[list[int]] = [[] for _ in flat.steps]
    seen = set(flat.results)
    for i in reversed(range(len(flat.steps))):
        for k in (*flat.steps[i].operands, i):
            if k not in seen:
                seen.add(k)
                dead[i].append(k)
    return dead


def _function(step: FlatStep, library: Library) -> Callable[..., Any]:
    op: Op = step.op
    rows = op.columns.libraries or {}
    row = rows.get(library.name, None if op.name in library.table else rows.get("any"))
    # The value of some operations is a tuple.
    kind = getattr(step.type, "dtype", _OBJECTS).kind
    function = in_library(row, library.module, kind) or library.table.get(op.name)
    if function is None and isinstance(op, Elementwise):
        function = _by_name(op, library)
    if function is None:
        raise _missing(op.name, library, step)
    return partial(function, **dict(step.params)) if step.params else function


def _missing(name: str, library: Library, step: FlatStep) -> Any:
    if name == "foreign":
        held = dict(step.params).get("function")
        called = getattr(held, "name", "a primitive")
        return type_error(
            f"{library.name}: expected operations that {library.name} has functions for, but got {called}, "
            "a primitive, which runs on NumPy's arrays alone; write it with NumPy's functions",
        )
    near = get_close_matches(name, [*library.table, *[op.name for op in _CLOSED]], 1)
    hint = f" (the nearest by name is {near[0]!r})" if near else ""
    return type_error(
        f"{library.name}: expected operations that {library.name} has functions for, but got {name!r}; "
        f"run this part on NumPy, or write it with others{hint}",
    )


_OBJECTS = np.dtype(object)


# -- closed subgraphs ----------------------------------------------------------------------------
def _body(body: Any, library: Library, bodies: dict[Any, Any]) -> Callable[..., tuple[Any, ...]]:
    if body not in bodies:
        flat = flatten_program(
            _legalized(simplify_all(body.outputs), library), body.inputs, for_numpy=False
        )
        bodies[body] = _built(flat, library, bodies, [False] * len(flat.results))
    found: Callable[..., tuple[Any, ...]] = bodies[body]
    return found


def _call(step: FlatStep, library: Library, bodies: dict[Any, Any]) -> Callable[..., Any]:
    run = _body(dict(step.params)["body"], library, bodies)
    return lambda home, *operands: library.call(partial(run, home), *operands)


def _branch(step: FlatStep, library: Library, bodies: dict[Any, Any]) -> Callable[..., Any]:
    runs = [_body(body, library, bodies) for body in dict(step.params)["branches"]]
    return lambda home, index, *operands: library.branch(
        [partial(run, home) for run in runs], index, *operands
    )


def _loop(step: FlatStep, library: Library, bodies: dict[Any, Any]) -> Callable[..., Any]:
    params = dict(step.params)
    body, cond, spec = params["body"], params["cond"], params["spec"]
    if cond is not None and len(body.outputs) > spec.num_carry and not library.lengths:
        raise type_error(
            f"{library.name}: expected arrays whose lengths are known before the program runs, but got the "
            "derivative of a while_loop in reverse, which keeps every iteration; write the loop as a scan of "
            "the most iterations, or use forward mode",
        )
    run = _body(body, library, bodies)
    holds = None if cond is None else _body(cond, library, bodies)

    def loop(home: object, *operands: Array) -> Any:
        condition = None if holds is None else partial(holds, home)
        types = body.types[spec.num_carry :]
        return library.loop(partial(run, home), condition, spec, types, home, *operands)

    return loop


def _ruled(step: FlatStep, library: Library, bodies: dict[Any, Any]) -> Callable[..., Any]:
    params = dict(step.params)
    rule = _body(params["body"], library, bodies)
    return lambda home, *operands: library.custom_derivative(
        partial(rule, home), params["wiring"], *operands
    )


def results_alone(rule: object, wiring: Any, *operands: Any) -> Any:
    """What a rule of one's own leaves, where nobody differentiates the program, or funcgrad does."""
    return operands[: wiring.results]


_CLOSED: dict[Op, Callable[[FlatStep, Library, dict[Any, Any]], Callable[..., Any]]] = {
    call_op: _call,
    branch_op: _branch,
    loop_op: _loop,
    custom_derivative_op: _ruled,
}
