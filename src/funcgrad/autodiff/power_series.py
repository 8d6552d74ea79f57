"""Power series of programs: Taylor coefficients, computed from the derivative rule of each operation.

A series is the lazy list of its coefficients, as in McIlroy's *Power Series, Power Serious*. An
operation y = f(u) has y' = L(y, u) u', where L is its edge: an expression, and so a series itself. Then
``k*y[k] = (L u')[k-1]``, which needs lower coefficients only. Expressions have content addresses,
so that the loops close by themselves: the rule of sin leads to cos(u), and the rule of that to sin(u),
which is there already; that of exp leads to y.

Two kinds of operations are read off the same rules: a *linear* one, whose edges do not depend on what
they act upon, acts on each coefficient; a *multilinear* one, whose edges are the operation itself on a
tangent, is a convolution. The quotient alone has a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import product
from operator import add
from typing import Any, Literal, NamedTuple, TypeAlias

from funcgrad.expr import Expr, assemble_node, rebuild, subexpressions, var
from funcgrad.fold import folded, folded_by_key
from funcgrad.graph import CONSTANT, INPUT, ArrayType, Key, Params
from funcgrad.linear import Parts
from funcgrad.ops.base.op import Op, differentiable, fit, infer_type
from funcgrad.ops.base.promotion import same_type
from funcgrad.ops.elementwise.arithmetic import divide
from funcgrad.ops.shape import concatenate_op, zeros_like
from funcgrad.ops.tuples import pick_op
from funcgrad.rewrite.constant_values import value_of
from funcgrad.rewrite.simplify import simplify
from funcgrad.rewrite.substitute import substitute_all


def zeros_of(expr: Expr) -> Expr:
    """Zeros of the shape of an expression, in the dtype of its derivatives."""
    zeros: Expr = zeros_like(expr, expr.dtype if differentiable(expr.dtype) else float)
    return zeros


# -- the action of an operation on series --------------------------------------------------------
Coefficient: TypeAlias = Expr | None
"""An expression; None for a zero that nothing is computed with."""


SeriesKind: TypeAlias = Literal["joint", "linear", "multilinear", "general"]
"""A *joint* operation is linear in all its operands at once, so that it acts on their coefficients.
The rule of concatenate would say so, too, but with as many terms as operands, each as long."""


class SeriesRule(NamedTuple):
    """The differential of an operation, as expressions of placeholders for values and tangents."""

    kind: SeriesKind
    terms: tuple[Expr, ...]
    """For each operand that varies, the tangent that it brings."""
    total: Expr
    value: Expr
    operands: tuple[Expr, ...]
    tangents: tuple[Expr, ...]


@lru_cache(maxsize=4096)
def rule_of(
    op: Op,
    params: Params,
    types: tuple[ArrayType, ...],
    varying: tuple[int, ...],
    numbers: tuple[Any, ...],
) -> SeriesRule:
    """The differential of an operation in the operands that vary.

    ``numbers`` are the operands that are one number, repeated, with its text, which tells -0.0 from
    0.0; None for others.
    """
    operands = tuple(
        [
            var(f"x{i}", type.shape, type.dtype) if number is None else fit(number[0], type)
            for i, (type, number) in enumerate(zip(types, numbers, strict=True))
        ]
    )
    tangents = tuple([var(f"v{i}", types[i].shape, types[i].dtype) for i in varying])
    type = infer_type(op, operands, params)
    value = var("z", type.shape, type.dtype)
    if op is concatenate_op:
        return SeriesRule("joint", (), value, value, operands, tangents)
    terms = []
    for i, v in zip(varying, tangents, strict=True):
        edge: Any = op.edge(i)
        flow = edge(value, *operands, **dict(params)).apply(v)
        terms.append(zeros_like(value) if flow is None else fit(flow, type))
    fixed = {value.key, *[operands[i].key for i in varying]}
    total = reduce(add, terms)
    kind: SeriesKind = "general"
    if not any(part.key in fixed for part in subexpressions(*terms)):
        kind = "linear"
    elif all(
        _is_itself(op, params, type, term, operands, i, v)
        for term, i, v in zip(terms, varying, tangents, strict=True)
    ):
        kind = "multilinear"
    simple = tuple([simplify(term) for term in terms])
    return SeriesRule(kind, simple, simplify(total), value, operands, tangents)


def _is_itself(
    op: Op,
    params: Params,
    type: ArrayType,
    term: Expr,
    operands: tuple[Expr, ...],
    place: int,
    tangent: Expr,
) -> bool:
    """Whether the tangent from an operand is the operation itself on that tangent, in either order."""
    args = (*operands[:place], tangent, *operands[place + 1 :])
    ways = (args, args[::-1]) if len({arg.type for arg in args}) == 1 else (args,)
    return any(term.key == assemble_node(op, way, params, type).key for way in ways)


# The derivative of a series in t: coefficient k is (k + 1) times the next one. It occurs in slopes only,
# never in a coefficient, and so never runs.
rate = Op(name="rate", run=NotImplemented, infer=same_type, edges=(None,))


# -- coefficients on demand ------------------------------------------------------------------------
def coefficients(
    roots: Sequence[Expr], given: Mapping[Key, Sequence[Expr]], order: int
) -> list[list[Coefficient]]:
    """The coefficients of each root up to an order, given the coefficients of some nodes."""
    series = _Series(given)
    for k in range(order + 1):
        for root in roots:
            series.demand(root, k)
    return [[series.done[root.key, k] for k in range(order + 1)] for root in roots]


class _Series:
    """The coefficients computed so far, by node and order: the memo of one expansion."""

    def __init__(self, given: Mapping[Key, Sequence[Expr]]) -> None:
        self.given = given
        self.done: dict[tuple[Key, int], Coefficient] = {}
        self.varies: dict[Key, bool] = dict.fromkeys(given, True)
        self.rules: dict[Key, SeriesRule] = {}
        self.slopes: dict[Key, Expr] = {}
        self.tuples: dict[Key, Parts] = {}

    def demand(self, root: Expr, order: int) -> None:
        """Compute a coefficient after the coefficients that it depends on: a fold over (node, order)."""
        self._mark(root)
        folded(
            [(root, order)],
            lambda item, _: self._coefficient(*item),
            self.done,
            lambda item: list(self._needs(*item)),
            lambda item: (item[0].key, item[1]),
        )

    def _mark(self, root: Expr) -> None:
        """Find the nodes that depend on t: those that a leaf reaches along edges with a rule."""
        folded_by_key([root], lambda expr, _: bool(self._varying(expr)), self.varies)

    def _varying(self, expr: Expr) -> tuple[int, ...]:
        if expr.op in (INPUT, CONSTANT) or not differentiable(expr.dtype):
            return ()
        if expr.op is rate:
            return (0,) if self.varies[expr.args[0].key] else ()
        op: Any = expr.op
        return tuple(
            [
                i
                for i, arg in enumerate(expr.args)
                if self.varies[arg.key] and op.edge(i) is not None
            ]
        )

    def _rule(self, expr: Expr) -> SeriesRule:
        known = self.rules.get(expr.key)
        if known is None:
            varying = self._varying(expr)
            numbers = [
                None if i in varying or value_of(arg) is None else value_of(arg)
                for i, arg in enumerate(expr.args)
            ]
            op: Any = expr.op
            known = self.rules[expr.key] = rule_of(
                op,
                expr.params,
                tuple([arg.type for arg in expr.args]),
                varying,
                tuple([n if n is None else (n, repr(n)) for n in numbers]),
            )
        return known

    def _slope(self, expr: Expr) -> Expr:
        """The derivative in t of a node, as an expression of the node, its operands and their rates."""
        known = self.slopes.get(expr.key)
        if known is None and expr.op is pick_op:
            known = self.slopes[expr.key] = self._slope_of_part(expr)
            self._mark(known)
        if known is None:
            rule = self._rule(expr)
            varying = self._varying(expr)
            put = {rule.value.key: expr}
            put |= {x.key: arg for x, arg in zip(rule.operands, expr.args, strict=True)}
            for v, i in zip(rule.tangents, varying, strict=True):
                arg = expr.args[i]
                put[v.key] = assemble_node(rate, (arg,), (), arg.type)
            (known,) = substitute_all([rule.total], put)
            self.slopes[expr.key] = known
            self._mark(known)
        return known

    def _slope_of_part(self, expr: Expr) -> Expr:
        """The slope of a part of a tuple, such as the eigenvalues: from the tangent of the tuple."""
        (whole,) = expr.args
        if whole.key not in self.tuples:
            self.tuples[whole.key] = self._slope_of_tuple(whole)
        term = self.tuples[whole.key].of.get(dict(expr.params)["index"])
        return zeros_of(expr) if term is None else fit(term, expr.type)

    def _slope_of_tuple(self, whole: Expr) -> Parts:
        """The tangent of a tuple; a node that holds programs has one for all of its operands together."""
        op: Any = whole.op
        args, params = whole.args, dict(whole.params)
        rates = {i: assemble_node(rate, (args[i],), (), args[i].type) for i in self._varying(whole)}
        total: Parts
        if op.joint is not None:
            total = op.joint(whole, *args, **params).forward(rates)
        else:
            total, *others = [op.edge(i)(whole, *args, **params).apply(v) for i, v in rates.items()]
            for other in others:
                total = total + other
        return total

    def _needs(self, expr: Expr, k: int) -> Iterator[tuple[Expr, int]]:
        """The coefficients that one depends on."""
        args = expr.args
        if expr.key in self.given or expr.op in (INPUT, CONSTANT):
            return
        if expr.op is rate:
            yield args[0], k + 1
        elif k == 0:
            yield from [(arg, 0) for arg in args]
        elif expr.op is pick_op and self.varies[expr.key]:
            yield self._slope(expr), k - 1
        elif self.varies[expr.key]:
            kind = self._rule(expr).kind
            varying = self._varying(expr)
            if kind == "general" and expr.op is not divide:
                yield self._slope(expr), k - 1
                return
            if expr.op is divide and kind == "general":
                yield from [(expr, j) for j in range(k)]
            lowest = k if kind in ("joint", "linear") else 0
            for i, arg in enumerate(args):
                yield from [(arg, j) for j in (range(lowest, k + 1) if i in varying else (0,))]

    def _coefficient(self, expr: Expr, k: int) -> Coefficient:
        if expr.key in self.given:
            known = self.given[expr.key]
            return known[k] if k < len(known) else None
        if expr.op is rate:
            next = self.done[expr.args[0].key, k + 1]
            return next if next is None or k == 0 else (k + 1) * next
        if k and not self.varies[expr.key]:
            return None
        if expr.op in (INPUT, CONSTANT):
            return expr
        if not k:
            return self._first(expr)
        if expr.op is pick_op:
            slope = self.done[self._slope(expr).key, k - 1]
            return slope if slope is None or k == 1 else slope / k
        rule = self._rule(expr)
        if rule.kind == "joint":
            return self._joint(expr, k)
        if rule.kind == "linear":
            return self._applied(expr, rule, k)
        if rule.kind == "multilinear":
            return self._convolved(expr, k)
        if expr.op is divide:
            return self._quotient(expr, k)
        slope = self.done[self._slope(expr).key, k - 1]
        return slope if slope is None or k == 1 else slope / k

    def _first(self, expr: Expr) -> Coefficient:
        firsts = [self.done[arg.key, 0] for arg in expr.args]
        plain = expr.op is not pick_op and expr.dtype.kind != "O"
        if (
            None in firsts
            and self.varies[expr.key]
            and plain
            and self._rule(expr).kind == "multilinear"
        ):
            return None
        filled = [zeros_of(a) if c is None else c for c, a in zip(firsts, expr.args, strict=True)]
        return rebuild(expr, tuple(filled))

    def _joint(self, expr: Expr, k: int) -> Coefficient:
        parts = [self.done.get((arg.key, k)) for arg in expr.args]
        if all([part is None for part in parts]):
            return None
        filled = [zeros_of(a) if c is None else c for c, a in zip(parts, expr.args, strict=True)]
        return rebuild(expr, tuple(filled))

    def _applied(self, expr: Expr, rule: SeriesRule, k: int) -> Coefficient:
        put = {
            x.key: first
            for x, arg in zip(rule.operands, expr.args, strict=True)
            if (first := self.done.get((arg.key, 0))) is not None
        }
        total = None
        for i, v, term in zip(self._varying(expr), rule.tangents, rule.terms, strict=True):
            c = self.done[expr.args[i].key, k]
            if c is not None:
                total = _sum(total, substitute_all([term], put | {v.key: c})[0])
        return total

    def _convolved(self, expr: Expr, k: int) -> Coefficient:
        varying = self._varying(expr)
        total = None
        for orders in _compositions(k, len(varying)):
            at = dict(zip(varying, orders, strict=True))
            parts = [self.done[arg.key, at.get(i, 0)] for i, arg in enumerate(expr.args)]
            if None not in parts:
                total = _sum(total, rebuild(expr, tuple(parts)))  # type: ignore[arg-type]
        return total

    def _quotient(self, expr: Expr, k: int) -> Coefficient:
        """The quotient rule as a recurrence from z*y = x: each order of its edge has a new quotient."""
        x, y = expr.args
        rest = self.done.get((x.key, k))
        for j in range(k):
            z_j, y_j = self.done[expr.key, j], self.done[y.key, k - j]
            if z_j is not None and y_j is not None:
                rest = -(z_j * y_j) if rest is None else rest - z_j * y_j
        return None if rest is None else rest / self.done[y.key, 0]


def _sum(total: Coefficient, term: Expr) -> Expr:
    return term if total is None else total + term


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """The ways to write a number as an ordered sum of so many numbers from 0."""
    for head in product(range(total + 1), repeat=parts - 1):
        if sum(head) <= total:
            yield (*head, total - sum(head))
