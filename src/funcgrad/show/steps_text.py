"""Backpropagation through a program in words and numbers, one line a step.

The numbers are those of `funcgrad.show.explain`. Each line names the cotangent that an operand receives, and
the rule that computes it; the last lines are the formulas of the gradient, with the laws that apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from funcgrad.autodiff.accumulate import cotangents
from funcgrad.expr import Expr
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.node_names import names_of
from funcgrad.ops.base.op import broadcast_to, differentiable
from funcgrad.ops.elementwise.selection import mask
from funcgrad.ops.shape import reshape_op
from funcgrad.printed_text import PrintedText, one_line
from funcgrad.rewrite.evaluate import variables
from funcgrad.rewrite.matcher import ExplainedRewrite, Laws, explained_rewrite, explained_single_use
from funcgrad.rewrite.monomials import unbroadcast
from funcgrad.rewrite.simplify import Simplifier, simplify_all
from funcgrad.show.explain import (
    Share,
    Step,
    StepNames,
    Visit,
    functions_of,
    in_words,
    nodes_and_values,
    tell,
    value_text,
    visits,
)
from funcgrad.show.gradient_values import gradient_values
from funcgrad.show.naming import name_of
from funcgrad.show.text import shown

MOST_LAWS = 30  # rewrites of one derivative that are listed
WIDEST = 60  # characters of a formula


def steps(f: Callable[..., Any] | Expr, /, *args: object, **named: object) -> PrintedText:
    """The steps of backpropagation through a function or a formula, as text: a
    line a step.

    The forward pass computes each node from its operands. Backprop visits the
    nodes in reverse: each operand gets the visited node's gradient times the
    local derivative, and what arrives on several paths is added up to a total.
    For arrays, g is the gradient of the visited node. At the end stand the
    formulas of the gradient, and the laws that simplified them.

    ``f`` is a function, with its arguments by position or by name, or an
    expression, with the values of its variables by name or in a dict.

    Raises ValueError for more than 200 nodes; TypeError for values that do not
    fit, for a result that is not a real number, and if ``f`` is neither.

    >>> steps(lambda x, y: x * y + y, x=2.0, y=3.0)
    Forward: each node from its operands
      x = 2
      y = 3
      v2 = x*y = 6
      v3 = v2 + y = 9
    Backprop: from the result back, starting with v3 gets 1
      visit v3 = v2 + y: v2 gets 1; y gets 1  (add distributes)
      visit v2 = x*y: x gets 1 · y = 3; y gets 1 · x = 2, total 3  (multiply swaps)
    Gradient, simplified
      df/dx = y = 3
        1*y -> y, since x*1 = x
      df/dy = x + 1 = 3
        1*x -> x, since x*1 = x
        1 + x -> x + 1, since x + y = y + x
    """
    values, nodes, found = nodes_and_values("steps", f, args, named)
    root, names = nodes[-1], _names(nodes)
    functions, defined = functions_of(nodes)
    told = tell(nodes, functions, StepNames(names, ["g"] * len(nodes)))
    with np.errstate(all="ignore"):
        visited, _ = visits(told, values)
        gradient = gradient_values(root, values)
    return PrintedText(
        "\n".join(
            [
                *(["Functions that are run in a step"] if defined else []),
                *[f"  {line}" for line in defined],
                "Forward: each node from its operands",
                *_forward(told, names, found),
                f"Backprop: from the result back, starting with {names[-1]} gets 1",
                *[_visit(visit, told, names) for visit in visited],
                "Gradient, simplified",
                *_gradient(root, gradient),
            ]
        )
    )


def _names(nodes: list[Expr]) -> list[str]:
    """What nodes are called: numbers by themselves."""
    names = names_of(nodes[-1]).values()
    return [
        shown(_number(e)) if _is_number(e) else name for e, name in zip(nodes, names, strict=True)
    ]


def _is_number(expr: Expr) -> bool:
    inner = unbroadcast(expr)
    return inner.op is CONSTANT and not inner.shape and not expr.label and not inner.label


def _number(expr: Expr) -> Any:
    return unbroadcast(expr).value[()]


def _forward(told: list[Step], names: list[str], found: list[Any]) -> Iterator[str]:
    for (e, formula, _), name, value in zip(told, names, found, strict=True):
        if _is_number(e):
            continue
        middle = "" if e.op in (INPUT, CONSTANT) else f" = {formula}"
        yield f"  {name}{middle} = {shown(value)}"


def _visit(visit: Visit, told: list[Step], names: list[str]) -> str:
    e, formula, _ = told[visit.place]
    pullbacks = [share.pullback for share in visit.shares]
    told_g = e.shape or any([_has_g(p.formula) for p in pullbacks if not p.slope])
    given = f", g = {value_text(visit.cotangent, e)}" if told_g else ""
    rule = in_words(e, "  ")
    shares = [_share(share, visit, names, "routes" in rule) for share in visit.shares]
    return f"  visit {names[visit.place]} = {formula}{given}: {'; '.join(shares)}{rule}"


def _share(share: Share, visit: Visit, names: list[str], routed: bool) -> str:
    pullback, value, total = share
    operand = names[pullback.parent]
    more = "" if total is None else f", total {total}"
    if not pullback.slope:
        part = pullback.target.removeprefix("g")  # of a tuple
        return f"{operand}{part} gets {pullback.formula} = {value}{more}"
    if routed or pullback.slope in ("1", "-1") or pullback.slope.startswith("pullback of"):
        return f"{operand} gets {value}{more}"
    slope = f"({pullback.slope})" if _is_sum(pullback.slope) else pullback.slope
    return f"{operand} gets {shown(visit.cotangent)} · {slope} = {value}{more}"


def _has_g(formula: str) -> bool:
    """Whether a formula has the gradient of the visited node, g, in it."""
    return re.search(r"\bg\b", formula) is not None


def _is_sum(formula: str) -> bool:
    """Whether a formula has an operator between spaces, outside of brackets."""
    outside, inner = re.subn(r"[(\[][^()\[\]]*[)\]]", "", formula)
    while inner:
        outside, inner = re.subn(r"[(\[][^()\[\]]*[)\]]", "", outside)
    return " " in outside


# -- what the simplifier did -----------------------------------------------------------------------
class _Recorder(Simplifier):
    """A simplification for display that keeps a record of the laws that it applies."""

    def __init__(self) -> None:
        super().__init__("formula")
        self.record: list[ExplainedRewrite] = []

    def rewrite(self, expr: Expr, laws: Laws) -> Expr | None:
        return self._recorded(explained_rewrite(expr, laws))

    def rewrite_single_use(self, expr: Expr, laws: Laws) -> Expr | None:
        return self._recorded(explained_single_use(expr, laws))

    def _recorded(self, found: ExplainedRewrite | None) -> Expr | None:
        if found is None:
            return None
        self.record.append(found)
        return found.after


def _gradient(root: Expr, gradient: Mapping[Key, Any]) -> Iterator[str]:
    """The laws of the simplified program, and the formula of its gradient in each variable with its laws."""
    names = variables(root)
    if not names:
        yield "  there are no variables"
    recorder = _Recorder()
    (simple,) = simplify_all([root], simplifier=recorder)
    if stable := list(_laws(recorder.record)):
        yield f"  {root.label or 'f'} = {one_line(simple, WIDEST)}"
        yield from stable
    recorder.record.clear()
    targets = [x for x in names.values() if differentiable(x.dtype)]
    for x, raw in zip(targets, cotangents(simple, targets), strict=True):
        (slope,) = simplify_all([raw], simplifier=recorder)
        value = shown(gradient[x.key])
        yield from _slope(
            f"d{root.label or 'f'}/d{name_of(x)}",
            value if slope.op is CONSTANT else repr(slope),
            value,
        )
        yield from _laws(recorder.record)
        recorder.record.clear()


def _slope(derivative: str, formula: str, value: str) -> Iterator[str]:
    if "\n" in formula or len(formula) > WIDEST:
        yield f"  {derivative} = {value}, the value of"
        yield from [f"      {line}" for line in formula.splitlines()]
    else:
        yield f"  {derivative} = {formula}" + (f" = {value}" if value != formula else "")


def _is_bookkeeping(before: Expr, law: str) -> bool:
    """Whether a rewrite is of a guard's condition, a shape or an order, which a person does not write."""
    decided = before.op is mask and unbroadcast(before.args[0]).op is CONSTANT
    left, _, right = law.partition(" = ")
    return (
        before.dtype.kind == "b"
        or decided
        or before.op in (broadcast_to, reshape_op)
        or left == right
    )


def _laws(record: list[ExplainedRewrite]) -> Iterator[str]:
    """The rewrites that a reader can see: those of broadcasts and casts do not change the text."""
    lines = []
    for before, after, law in record:
        if _is_bookkeeping(before, law):
            continue
        left, right = one_line(before, WIDEST), one_line(after, WIDEST)
        if left != right:
            lines.append(f"    {left} -> {right}, since {law}")
    lines = list(dict.fromkeys(lines))
    yield from lines[:MOST_LAWS]
    if len(lines) > MOST_LAWS:
        yield f"    … {len(lines) - MOST_LAWS} more"
