"""Distinct nodes in canonical order, and names of shared parts: used by all displays of programs.

The invariant: a display is linear in the graph, since a subexpression that is used twice, or that is long,
gets a name and is written once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from funcgrad.expr import Expr, as_expression, assemble_node, by_key, rebuild, subexpressions
from funcgrad.fold import folded, folded_by_key
from funcgrad.graph import INPUT, Key, broadcast_shapes, has_more_nodes, nearest_terms
from funcgrad.ops.base import op as _op
from funcgrad.ops.base.op import Elementwise
from funcgrad.rewrite.evaluate import by_name, fitted, sample_values
from funcgrad.show.written import Written
from funcgrad.source import type_error, value_error


def distinct(expr: Expr, who: str, most: int | None = None, instead: str = "") -> list[Expr]:
    """The nodes of an expression, each once, parents first: `toposort`, as expressions.

    Raises TypeError for what is no expression, and ValueError for more nodes than ``most``.
    """
    expr = as_expression(who, expr)
    found = by_key(expr) | {e.key: e for e in reversed(subexpressions(expr)) if e.label}
    if most is not None and len(found) > most:
        raise value_error(
            f"{who}: expected at most {most} nodes, but got {len(found)}; {instead}".rstrip("; "),
        )
    return list(found.values())


WRITTEN_IN_FULL = 2_000
"""The nodes of a program that is written in full; of a larger one, what stands next to its roots."""
NEXT_TO_ROOTS = 60
BLANK = "…"


def without_depths(roots: Sequence[Expr]) -> tuple[list[Expr], str]:
    """Programs as they are written, and what a blank stands for in them.

    A large program has a blank for what lies far below its roots. No more of it is visited than is written,
    so that a program of a million nodes has a text at once. Of others nothing is left out.
    """
    if not has_more_nodes(roots, WRITTEN_IN_FULL):
        return list(roots), ""
    near = set(map(id, nearest_terms(roots, NEXT_TO_ROOTS)))

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        if id(expr) in near or not expr.args:
            return rebuild(expr, args)
        # (Each blank is another variable, so that different parts are not taken for one that is shared.)
        return assemble_node(INPUT, (), (("name", BLANK), ("of", id(expr))), expr.type)

    def operands(expr: Expr) -> tuple[Expr, ...]:
        return expr.args if id(expr) in near else ()

    return folded(roots, step, operands=operands), f"more than {WRITTEN_IN_FULL} nodes"


def check_values(
    who: str, nodes: list[Expr], values: Mapping[Any, Any] | None, named: Mapping[str, Any]
) -> None:
    """Refuse values that do not fit: by position, or not for every variable."""
    names = [name_of(e) for e in nodes if e.op is INPUT]
    if values is not None and not isinstance(values, Mapping):
        raise type_error(
            f"{who}: expected values by name or in a dict, but got {type(values).__name__}; write "
            f"{who}(e, {sample_values(names) or 'x=2.0'})",
        )
    given = by_name(values or {}, named)
    if any([name not in given for name in names]):
        raise type_error(
            f"{who}: expected values for {', '.join(names)}, but got {', '.join(given) or 'none'}; write "
            f"{who}(e, {sample_values(names)})",
        )
    for expr in nodes:
        if expr.op is INPUT:
            fitted(name_of(expr), given[name_of(expr)], expr.type, who)


def check_path(who: str, path: object, values: Mapping[Any, Any], *endings: str) -> None:
    """Refuse the name of a file of another kind, and one that is given as the value of a variable."""
    for name, value in values.items():
        if isinstance(value, str | PathLike):
            raise type_error(
                f"{who}: expected numbers as values, but got {value!r} for {name}; "
                f"write path={value!r} for a file",
            )
    if isinstance(path, str | PathLike):
        file = Path(path)
        if file.suffix and file.suffix.lower() not in endings:
            raise value_error(
                f"{who}: expected a path that ends in {endings[0]}, but got {file.name!r}; "
                f"write path={file.with_suffix(endings[0]).name!r}",
            )


def places(nodes: list[Expr]) -> dict[Key, int]:
    """Where each node stands."""
    return {e.key: i for i, e in enumerate(nodes)}


def name_of(expr: Expr) -> str:
    """The name of a variable."""
    return str(expr.params[0][1])


def array_of(expr: Expr) -> Any:
    """The array of a constant."""
    return expr.params[0][1].array


def printable(text: str) -> str:
    """A text without control characters and what UTF-8 cannot hold; its lines stay."""
    return "".join(
        [c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text]
    )


def operands(expr: Expr) -> tuple[Expr, ...]:
    """The operands, without the broadcasts that NumPy does by itself."""
    if not isinstance(expr.op, Elementwise):
        return expr.args
    plain = tuple([e.args[0] if e.op is _op.broadcast_to else e for e in expr.args])
    if broadcast_shapes(*[e.shape for e in plain]) == expr.shape:
        return plain
    return expr.args


class Rules(NamedTuple):
    """How the parts of formulas are written, and which of them get names: see `let_all`."""

    write: Callable[[Expr, list[Written]], Written]
    names: Iterator[str]
    parents: Callable[[Expr], tuple[Expr, ...]]
    """The operands as they are written; what none of them leads to is not written."""
    atom: int
    longest: int
    name: Callable[[str], str] = str
    transparent: Callable[[Expr], bool] = lambda e: False
    line: Callable[[Written], str] = attrgetter("text")
    """What stands behind the name of a part."""
    labeled: Mapping[Key, str] = MappingProxyType({})
    """Names of parts that have one of their own."""
    repeated: Callable[[Written], bool] = lambda piece: False
    """Whether a part is so short that it is written at each use."""


def let_all(
    roots: Sequence[Expr], given: Mapping[Key, Written], rules: Rules
) -> tuple[list[tuple[str, str]], list[Written]]:
    """Named parts as pairs (name, text), and what is written of each root; ``given`` is written already."""
    tops = [root.key for root in roots]
    uses = Counter(tops)
    for e in by_key(*roots, operands=rules.parents).values():
        uses.update([arg.key for arg in rules.parents(e)])
    lines: list[tuple[str, str]] = []

    def step(e: Expr, parts: tuple[Written, ...]) -> Written:
        piece = rules.write(e, list(parts))
        shared = uses[e.key] > 1 and piece.binding < rules.atom and not rules.repeated(piece)
        long = len(piece.text) > rules.longest and bool(e.args)
        if (shared or (long and e.key not in tops)) and not rules.transparent(e):
            fresh = rules.labeled.get(e.key) or next(rules.names)
            lines.append((fresh, rules.line(piece)))
            piece = Written(rules.name(fresh), rules.atom)
        return piece

    written = folded_by_key(roots, step, dict(given), rules.parents)
    return lines, written
