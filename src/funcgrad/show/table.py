"""A program as a table: its nodes in topological order, with values and gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from funcgrad.autodiff.accumulate import backprop
from funcgrad.compiler.program import lower
from funcgrad.expr import Expr, present
from funcgrad.graph import Key
from funcgrad.ops.base.op import differentiable
from funcgrad.printed_text import aligned_columns, highlighted, html_table
from funcgrad.rewrite.evaluate import evaluate_all, inputs_of
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.show.gradient_values import gradient_values
from funcgrad.show.naming import check_values, distinct
from funcgrad.show.program_at import program_at
from funcgrad.show.text import shown


class Row(NamedTuple):
    """One node: its place in the order, its operation, its operands' places, value, gradient and name.

    A variable's operation is its name; another node has a name if `funcgrad.name` gave it one.
    """

    place: int
    op: str
    parents: tuple[int, ...]
    value: Any
    gradient: Any
    label: str | None = None


class Table(tuple[Row, ...]):
    """Rows that print aligned."""

    __slots__ = ()

    def __repr__(self) -> str:
        return aligned_columns([_HEADER, *map(_cells, self)])

    def _repr_html_(self) -> str:
        return html_table(_HEADER, map(_cells, self))

    def __rich__(self) -> Any:
        return highlighted(repr(self))


_HEADER = ("node", "op", "of", "value", "gradient")


def _cells(row: Row) -> tuple[str, ...]:
    op = f"{row.label} = {row.op}" if row.label else row.op
    parents = ", ".join(map(str, row.parents))
    return str(row.place), op, parents, _cell(row.value), _cell(row.gradient)


def table(f: Callable[..., Any] | Expr, /, *args: Any, **named: Any) -> Table:
    """The nodes of a scalar program in topological order, each with its value and
    the gradient there.

    ``f`` is an expression, with the values of its variables by name or in a
    dict, or a function, with its arguments by position or by name. The
    gradient of a node is the derivative of the root in it, and that of a
    variable is what `grad` gives; a dash means zero.

    Raises TypeError if ``f`` is neither, or a variable has no value or one of
    another type.

    >>> import funcgrad as fg
    >>> x, y = fg.var("x"), fg.var("y")
    >>> table(x * y + y, x=2.0, y=3.0)
    node  op        of    value  gradient
    0     x               2      3
    1     y               3      3
    2     multiply  0, 1  6      1
    3     add       2, 1  9      1
    """
    expr, values = program_at("table", f, args, named)
    nodes = {e.key: e for e in distinct(expr, "table")}
    check_values("table", list(nodes.values()), values, {})
    place = {key: i for i, key in enumerate(nodes)}
    known = evaluate_all(expr, values)
    slopes = _slopes(expr, values) if differentiable(expr.dtype) else {}
    return Table(
        Row(
            i,
            e.name,
            tuple(place[parent] for parent in e.parents),
            known[key] if isinstance(known[key], tuple) else present(known[key]),
            slopes.get(key),
            e.label,
        )
        for i, (key, e) in enumerate(nodes.items())
    )


def _slopes(expr: Expr, values: Mapping[Any, Any]) -> dict[Key, Any]:
    """The numbers of the cotangents, their common parts run once; at variables of a scalar, `grad`'s."""
    found = backprop(expr).map
    keys = [key for key, value in found.items() if isinstance(value, Expr)]  # not of a tuple
    variables, arrays = inputs_of(expr, values, {})
    simple = simplify_all([found[key] for key in keys], mode="derivative")
    program = lower(simple, variables)
    slopes = {key: present(v) for key, v in zip(keys, program.run(arrays), strict=True)}
    own = {} if expr.shape else gradient_values(expr, values)
    return slopes | {key: value for key, value in own.items() if key in slopes}


def _cell(value: object) -> str:
    return "-" if value is None else shown(value)
