"""Where the first inf or NaN comes from: the fold whose algebra evaluates, and looks.

Values are those of the program exactly as it is written. The gradient is the one that `grad` gives;
where that is not finite, the cotangents are followed from the root until one is not.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from funcgrad.algebras.arguments_of import Subject, formula, shown_value, subject
from funcgrad.autodiff.accumulate import backprop, gradients, reached_keys
from funcgrad.expr import Expr, by_key, present
from funcgrad.fold import Semiring, fold, sum_product, values_by_key
from funcgrad.graph import CONSTANT, Key
from funcgrad.ops.base.op import differentiable
from funcgrad.rewrite.evaluate import numpy_algebra
from funcgrad.rewrite.simplify import simplify, simplify_all
from funcgrad.source import position


@dataclass(frozen=True, slots=True, repr=False)
class Nonfinite:
    """The first node whose value, or whose derivative, is inf or NaN.

    ``node`` is the operation as an expression, ``value`` what came out (of a gradient: the cotangent
    that it handed to ``operand``), ``operands`` the values that went in, ``stage`` "value" or
    "gradient", ``line`` the user's code; ``reaches`` says whether the result is not finite, too.
    """

    node: Expr
    stage: str
    value: Any
    operands: tuple[tuple[str, Any], ...]
    line: str
    reaches: bool = True
    operand: str | None = None

    @property
    def formula(self) -> str:
        """The node's formula."""
        return formula(self.node)

    def __repr__(self) -> str:
        what = "" if self.stage == "value" else f"derivative in {self.operand} of "
        lines = [f"{what}{self.formula} is {shown_value(self.value)}"]
        lines += [f"  {name} = {shown_value(value)}" for name, value in self.operands]
        lines += [] if self.reaches else ["  (it does not reach the result)"]
        lines += [f"  at {self.line}"] if self.line else []
        return "\n".join(lines)


def find_nonfinite(program: object, /, *args: object, **values: object) -> Nonfinite | None:
    """The first node of a program, or of its gradient, that is inf or NaN; None
    if all are finite.

    ``program`` is a function, with its arguments, or an expression, with the
    values of its variables by name or in a dict. Nodes that make the result
    non-finite come first, then those that make the gradient non-finite, then
    others. The gradient is examined if the result is one real scalar.

    Raises TypeError if ``program`` is neither a function nor expressions, or a
    variable has no value or one of another type.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> find_nonfinite(fg.log(x) + 1, x=0.0)
    log(x) is -inf
      x = 0
      at ...
    >>> find_nonfinite(fg.sqrt(x) * 2, x=0.0)
    derivative in x of sqrt(x) is inf
      x = 0
      at ...
    >>> find_nonfinite(fg.sqrt(x) * 2, x=1.0)
    """
    given = subject("find_nonfinite", program, args, values)
    with np.errstate(all="ignore"):
        found = _first_nonfinite(given)
    if found is None:
        return None
    inner = _differentiated(program, args)
    if inner or not found.line:
        line = _line_of_derived(found.node, inner or given.roots)
        return replace(found, line=line or found.line or _first_line(program))
    return found


def _first_nonfinite(given: Subject) -> Nonfinite | None:
    known = values_by_key(given.roots, numpy_algebra(given.by_name))
    culprit = _origin(given.roots, known)
    if culprit is not None:
        return _of_value(culprit, known, reaches=True)
    blamed = _in_gradient(given, known)
    if blamed is not None:
        return blamed
    bad = [e for e in by_key(*given.roots).values() if not _finite(known[e.key])]
    unused = [e for e in bad if e.op is not CONSTANT]
    return _of_value(unused[0], known, reaches=False) if unused else None


# -- lines of derived nodes ------------------------------------------------------------------------
def _differentiated(program: object, args: Sequence[Any]) -> list[Expr]:
    """The results of the function that a transform was given, where the program is what it returned."""
    function = program
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if function is program:
        return []
    with suppress(Exception):  # a function of other arguments: its lines are not known
        return subject("find_nonfinite", function, args, {}).roots
    return []


def _line_of_derived(node: Expr, roots: Sequence[Expr]) -> str:
    """The line of the node that a derived one belongs to: the node itself, or one of the same operands."""
    # A derivative is one of the simplified program, which keeps the lines of what it keeps.
    nodes = by_key(*roots, *simplify_all(roots)).values()
    among = [e for e in nodes if e.args and position(e.source)]
    distances = sum_product(node, Semiring(min, operator.add, 0), lambda edge: 1)
    below = by_key(node)
    varying = reached_keys(below)
    for expr in sorted(below.values(), key=lambda expr: distances[expr.key]):
        needed = varying & {arg.key for arg in expr.args}
        for other in among:
            if other.key == expr.key or (needed and needed <= {arg.key for arg in other.args}):
                return position(other.source)
    return ""


def _first_line(program: object) -> str:
    """The first line of a function: a transform within it leaves no node of what it derived."""
    code = getattr(program, "__code__", None)
    return position((code, 0)) if code is not None else ""


def _finite(value: Any) -> bool:
    if isinstance(value, tuple):  # a loop's
        return all(map(_finite, value))
    return bool(np.all(np.isfinite(value)))


def _present(value: object) -> Any:
    return tuple(map(_present, value)) if isinstance(value, tuple) else present(value)


def _origin(roots: Sequence[Expr], known: dict[Key, Any]) -> Expr | None:
    """The first node, of those that are not finite, from which only such lead to a root."""
    tainted = {root.key for root in roots if not _finite(known[root.key])}
    order = list(by_key(*roots).values())
    for expr in reversed(order):
        if expr.key in tainted:
            tainted |= {
                arg.key
                for arg in expr.args
                if arg.op is not CONSTANT and not _finite(known[arg.key])
            }
    return next((expr for expr in order if expr.key in tainted), None)


def _of_value(expr: Expr, known: dict[Key, Any], reaches: bool) -> Nonfinite:
    value = _present(known[expr.key])
    return Nonfinite(expr, "value", value, _operands(expr, known), position(expr.source), reaches)


def _operands(expr: Expr, known: dict[Key, Any]) -> tuple[tuple[str, Any], ...]:
    found = {formula(arg): _present(known[arg.key]) for arg in expr.args if arg.op is not CONSTANT}
    return tuple(found.items())


def _in_gradient(given: Subject, known: dict[Key, Any]) -> Nonfinite | None:
    """The edge that the first cotangent that is not finite came along."""
    root = given.roots[0]
    smooth = [x for x in given.inputs if differentiable(x.dtype)]
    if len(given.roots) != 1 or root.shape or root.dtype.kind != "f" or not smooth:
        return None
    slopes = gradients(simplify(root), smooth)
    final = values_by_key(slopes, numpy_algebra(given.by_name))
    if all(_finite(final[slope.key]) for slope in slopes):
        return None
    # The program as it is written has the lines; where its own cotangents are masked, simplified ones do.
    cotangents = backprop(root, wrt=smooth).map
    # A loop's cotangent is a tuple of them; those of what it is made of are looked at.
    keys = [key for key, cotangent in cotangents.items() if isinstance(cotangent, Expr)]
    flat = simplify_all([cotangents[key] for key in keys], mode="derivative")
    simple = dict(zip(keys, flat, strict=True))
    computed = values_by_key(list(simple.values()), numpy_algebra(given.by_name))
    flows = {key: computed[simple[key].key] for key in keys}
    for expr in reversed(by_key(root).values()):
        for arg in expr.args:
            if arg.key in flows and expr.key in flows and not _finite(flows[arg.key]):
                if not _finite(flows[expr.key]):
                    continue
                if _partial_is_finite(expr, arg, simple[expr.key], given):
                    continue
                return _of_edge(expr, arg, flows, known)
    worst = next(x for x, s in zip(smooth, slopes, strict=True) if not _finite(final[s.key]))
    value = _present(final[slopes[smooth.index(worst)].key])
    parts = ((formula(worst), _present(known[worst.key])),)
    return Nonfinite(root, "gradient", value, parts, position(root.source), operand=formula(worst))


def _partial_is_finite(expr: Expr, arg: Expr, cotangent: Expr, given: Subject) -> bool:
    """Whether what flows along one node's edges to an operand is finite."""
    if not expr.op.edges:  # a loop, whose edges come together
        return False
    total = None
    for place, operand in enumerate(expr.args):
        edge = expr.op.edge(place)
        if operand.key == arg.key and edge is not None:
            flow = edge(expr, *expr.args, **dict(expr.params)).transpose(cotangent)
            total = flow if total is None else total + flow
    if total is None:
        return True
    (simple,) = simplify_all([total], mode="derivative")
    return _finite(fold(simple, numpy_algebra(given.by_name)))


def _of_edge(expr: Expr, arg: Expr, flows: dict[Key, Any], known: dict[Key, Any]) -> Nonfinite:
    return Nonfinite(
        expr,
        "gradient",
        _present(flows[arg.key]),
        _operands(expr, known),
        position(expr.source),
        operand=formula(arg),
    )
