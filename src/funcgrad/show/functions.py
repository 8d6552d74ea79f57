"""Bodies of loops, branches and calls as named functions, for displays.

Each body is written once, as ``f(s, t) = …``, so the text is linear in the size of the program. The name of
an input states its role: ``s`` is a loop's state (or an equation's unknown), ``t`` the entry of a sequence at
one iteration, or the variable of an integral, ``p`` a loop-invariant operand or a parameter, and ``u`` an
argument of a branch or a call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, by_key, derived_names, rebuild, subexpressions
from funcgrad.fold import folded, folded_by_key
from funcgrad.graph import INPUT, Key, TupleType
from funcgrad.node_names import labels
from funcgrad.ops.tuples import pick, pick_op, together_op
from funcgrad.source import value_error


class Held(NamedTuple):
    """A body that a node holds, and a letter for what each of its inputs is."""

    body: Body
    roles: tuple[str, ...]


class Function(NamedTuple):
    """A body as it is written: its name and those of its inputs."""

    name: str
    inputs: tuple[str, ...]

    @property
    def head(self) -> str:
        return f"{self.name}({', '.join(self.inputs)})"


def is_tuple(expr: Expr) -> bool:
    """Whether the value of a node is a tuple, as a loop's is."""
    kind: Any = expr.type
    return type(kind) is TupleType


def held(expr: Expr) -> list[Held]:
    """The bodies that a node runs, in the order in which they are written."""
    if not is_tuple(expr):
        return []
    params = dict(expr.params)
    if "spec" in params:
        spec, count = params["spec"], len(params["body"].inputs)
        fixed = count - spec.num_carry - spec.num_xs
        roles = (*"s" * spec.num_carry, *"t" * spec.num_xs, *"p" * fixed)
        return [Held(body, roles) for body in (params["body"], params["cond"]) if body is not None]
    if "problem" in params:
        problem = params["problem"]
        fixed = len(problem.body.inputs) - problem.count
        return [Held(problem.body, (*"s" * problem.count, *"p" * fixed))]
    if "batch_axes" in params:
        body = params["body"]
        return [Held(body, ("t", *"p" * (len(body.inputs) - 1)))]
    # A custom rule is for the derivative: the value does not need it.
    bodies = [] if "wiring" in params else params.get("branches", [params.get("body")])
    return [Held(body, ("u",) * len(body.inputs)) for body in bodies if body is not None]


def operands_written(expr: Expr) -> tuple[Expr, ...]:
    """The operands that are written: of a value with a rule of its own, the value."""
    if is_tuple(expr) and (wiring := dict(expr.params).get("wiring")) is not None:
        return expr.args[: wiring.results]
    return expr.args


def is_plain_pick(expr: Expr) -> bool:
    """Whether a node takes the only part of what a body gave: it is written as the whole."""
    if expr.op is not pick_op:
        return False
    (whole,) = expr.args
    return len(whole.type.parts) == 1 and bool(getattr(whole.op, "joint", None))  # type: ignore[attr-defined]


def way_back(expr: Expr) -> str:
    """In words, how a node that holds bodies pulls a cotangent back."""
    params: dict[str, Any] = dict(expr.params)
    if "spec" in params:
        return f"the loop run {'forwards' if params['spec'].reverse else 'backwards'}"
    if "problem" in params:
        return "the derivative of its equation, solved"
    if "batch_axes" in params:
        return "the integral of its derivative, and the integrand at its limits"
    if "wiring" in params:
        return "the rule that it was given"
    return "the branch taken, run backwards" if "branches" in params else "the call run backwards"


def held_within(roots: Iterable[Expr]) -> list[Held]:
    """All bodies that are run below some nodes, each once, those within others first."""
    items = _inner_first(roots, held)
    return list(items.values())


def stored_bodies(roots: Iterable[Expr]) -> list[Body]:
    """All bodies that stand in params below some nodes, each once, those within others first."""
    return list(_inner_first(roots, _in_params))


def _in_params(expr: Expr) -> list[Held]:
    if not is_tuple(expr):
        return []
    values = [v for _, value in expr.params for v in (value if type(value) is tuple else [value])]
    bodies = [getattr(value, "body", value) for value in values]
    return [Held(body, ()) for body in bodies if isinstance(body, Body)]


def _inner_first(roots: Iterable[Expr], of: Callable[[Expr], list[Held]]) -> Mapping[Body, Held]:
    def below(exprs: Iterable[Expr]) -> list[Held]:
        return [item for expr in subexpressions(*exprs) for item in of(expr)]

    done: dict[Body, Held] = {}
    folded(
        below(roots),
        lambda item, _: item,
        done,
        operands=lambda item: below(item.body.outputs),
        key=lambda item: item.body,
    )
    return done


def named(items: Sequence[Held], taken: set[str]) -> Mapping[Body, Function]:
    """A name for each body and for its inputs, none of those that are taken."""
    letters = numbered("fgh", taken)
    names = [next(letters) for _ in items]
    used = taken | set(names)
    return {
        item.body: Function(name, _inputs(item.roles, used))
        for item, name in zip(items, names, strict=True)
    }


def _inputs(roles: tuple[str, ...], taken: set[str]) -> tuple[str, ...]:
    found: dict[str, Iterator[str]] = {
        role: numbered(role, taken, 0 if roles.count(role) == 1 else 1) for role in set(roles)
    }
    return tuple([next(found[role]) for role in roles])


def numbered(letters: str, taken: set[str], count: int = 0) -> Iterator[str]:
    """f, g, h, f1, g1, h1, …, without those that are taken."""
    while True:
        for letter in letters:
            name = f"{letter}{count}" if count else letter
            if name not in taken:
                yield name
        count += 1


def variable_names(exprs: Iterable[Expr]) -> set[str]:
    """The names of the variables among some nodes."""
    return {str(e.params[0][1]) for e in exprs if e.op is INPUT}


def given_names(roots: Sequence[Expr]) -> set[str]:
    """The names that a user gave, to variables and by `funcgrad.name`, below roots and in their origins."""
    exprs = subexpressions(*roots)
    derived = [name for e in exprs for name in derived_names(e) or ()]
    return variable_names(exprs) | set(labels(*roots).values()) | set(derived)


def part_names(roots: Sequence[Expr]) -> dict[Key, str]:
    """The labels that can stand as names of parts of formulas: identifiers, each of one node."""
    taken = variable_names(subexpressions(*roots))
    nodes = {name: key for key, name in reversed(labels(*roots).items()) if name.isidentifier()}
    return {key: name for name, key in nodes.items() if name not in taken}


def written_out(expr: Expr, most: int, who: str) -> Expr:
    """The expression without calls, branches and rules: bodies on their operands, and `where` between them.

    Raises ValueError for what would have more than ``most`` nodes.
    """
    while True:
        nodes = by_key(expr)
        inside = [item.body for e in nodes.values() if _is_flat(e) for item in held(e)]
        if not any(map(_is_flat, nodes.values())):
            return expr
        if len(nodes) + sum([len(subexpressions(*body.outputs)) for body in inside]) > most:
            raise value_error(
                f"{who}: expected at most {most} nodes where calls and branches are written out, but got "
                "more; use to_latex to see them",
            )
        (expr,) = folded_by_key([expr], _opened)


def _is_flat(expr: Expr) -> bool:
    """Whether a node can be written out without running it."""
    params = dict(expr.params)
    return is_tuple(expr) and bool({"kept", "branches", "wiring"} & params.keys())


def _opened(expr: Expr, args: tuple[Expr, ...]) -> Expr:
    params: dict[str, Any] = dict(expr.params)
    if expr.op is pick_op:
        return pick(args[0], params["index"])
    if not _is_flat(expr):
        return rebuild(expr, args)
    if "wiring" in params:
        return together_op(*args[: params["wiring"].results])  # type: ignore[no-any-return]
    if "kept" in params:
        return together_op(*params["body"].inline(args))  # type: ignore[no-any-return]
    index, *rest = args
    *others, parts = [body.inline(rest) for body in params["branches"]]
    for place in reversed(range(len(others))):
        here = np.logical_not(index) if index.dtype == bool else index <= place
        parts = [np.where(here, a, b) for a, b in zip(others[place], parts, strict=True)]
    return together_op(*parts)  # type: ignore[no-any-return]


class Application(NamedTuple):
    """What a node that holds bodies does, in words near to those of its user: ``loop(f, x, over=xs)``."""

    head: str
    own: bool
    """Whether the head is the name of a body, and not that of an operation."""
    parts: tuple[tuple[str, tuple[str, ...]], ...]
    """Each a label, which may be empty, and what stands there."""

    def __str__(self) -> str:
        shown = [f"{label}={group(of)}" if label else group(of) for label, of in self.parts]
        return f"{self.head}({', '.join(shown)})"


def group(parts: Sequence[str]) -> str:
    """One part as it is, several in parentheses."""
    return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def applied(
    expr: Expr, operands: Sequence[str], names: Mapping[Body, Function]
) -> Application | None:
    """What a node that holds bodies does, given its operands as they are written; else None."""
    if not is_tuple(expr):
        return None
    params: dict[str, Any] = dict(expr.params)
    plain = tuple([("", (text,)) for text in operands])
    if "wiring" in params:
        return Application(expr.op.name, False, plain)
    functions = [names[item.body].name for item in held(expr)]
    if not functions:
        return None
    if "spec" in params:
        return Application("loop", False, tuple(_loop(functions, operands, params)))
    first = tuple([("", (name,)) for name in functions])
    if "problem" in params:
        sizes = tuple([size for size, _ in params["levels"]])
        batch = (("batch", (str(sizes),)),) if sizes else ()
        return Application(params["problem"].function, False, (*first, *plain, *batch))
    if "batch_axes" in params:
        return Application(expr.op.name, False, (*first, *plain))
    if "branches" not in params:
        count = len(params["body"].inputs)
        where = (("where", tuple(operands[count:])),) if operands[count:] else ()
        return Application(functions[0], True, (*plain[:count], *where))
    index, *rest = plain
    if expr.args[0].dtype == bool and len(functions) == 2:
        return Application("cond", False, (index, *reversed(first), *rest))
    chosen = ("", (f"[{', '.join(functions)}]",))
    return Application("switch", False, (index, chosen, *rest))


def _loop(
    functions: Sequence[str], operands: Sequence[str], params: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    spec = params["spec"]
    middle = spec.num_carry + spec.num_xs
    yield "", (functions[0],)
    if spec.num_carry:
        yield "", tuple(operands[: spec.num_carry])
    if spec.num_xs:
        yield "over", tuple(operands[spec.num_carry : middle])
    elif params["cond"] is None:
        yield "times", (str(spec.trip_count),)
    if operands[middle:]:
        yield "given", tuple(operands[middle:])
    for name in functions[1:]:
        yield "while", (name,)
    if spec.reverse:
        yield "reverse", ("True",)
