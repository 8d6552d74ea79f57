"""Simplification: a fold whose algebra rebuilds each node with a smart constructor.

A smart constructor tries the laws (`funcgrad.rewrite.laws`) on a node whose operands are simple
already, and simplifies what a law puts there. Laws that lower a measure end by themselves; a budget of
rewrites a node makes sure. The invariant: the result has the same type, and the same value wherever
the original is defined: to the bit, of a value that a user wrote, but for stable forms; of what is derived
from one, where it is finite. What runs keeps the order of its factors, so that no product overflows that
did not before; a formula for a reader does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from operator import is_
from typing import Any

from funcgrad.expr import Expr, is_simple, mark_simple, rebuild, subexpressions
from funcgrad.fold import folded
from funcgrad.gc_pause import Paused
from funcgrad.ops.base.op import fit
from funcgrad.rewrite.laws import Mode
from funcgrad.rewrite.matcher import (
    Applicable,
    Look,
    look,
    look_at_source,
    rewritten,
    rewritten_alone,
)
from funcgrad.source import fail

# Rewrites that one node may go through before it is left as it is.
BUDGET = 40


def simplify(expr: Expr) -> Expr:
    """An expression of the same type and value that is simpler to read, to run and to differentiate.

    It folds constants, drops neutral elements, collects like terms and brings in stable forms
    (``log(1 + exp(x))`` becomes ``softplus(x)``). It does not expand products. Values are taken to be
    finite (``x - x`` becomes 0), and products to be far from overflow (``x/y/y`` becomes ``x/y**2``).

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> simplify(2 * (3 * x) + 0 * x)
    6*x
    """
    if not isinstance(expr, Expr):
        raise fail(
            TypeError,
            f"simplify: expected an expression, but got {type(expr).__name__}; make one of var('x')",
        )
    return simplify_all([expr], mode="formula")[0]


def simplify_all(
    exprs: Sequence[Expr], *, mode: Mode = "value", forms: Forms | None = None
) -> list[Expr]:
    """`simplify` several expressions that may share parts: ``mode`` says by which laws.

    What has been simplified stays as it is, except in formulas: a derivative keeps the bits of the values
    that it is made of. ``forms`` are those of an earlier simplification, of which these expressions have
    parts; they say the mode.
    """
    if forms is None:
        if mode != "formula" and all(map(is_simple, exprs)):
            return list(exprs)
        forms = Forms(mode)
    with Paused():
        if forms.mode == "formula":
            simple = folded(exprs, forms.of)
        else:
            simple = folded(exprs, forms.of_unless_simple, operands=_unless_simple)
        return forms.with_sole_uses(simple) if forms.waiting else simple


def _unless_simple(expr: Expr) -> tuple[Expr, ...]:
    return () if is_simple(expr) else expr.args


class Forms:
    """The normal forms met in one simplification, where equal expressions are one object.

    A node is looked up by its operation and its operands' identities, which say what its key says at a
    tenth of the cost.
    """

    def __init__(self, mode: Mode = "value") -> None:
        self.mode = mode
        self.ones: dict[Any, Expr] = {}
        """The expressions that stand for all that are equal to them: settled."""
        self.kinds: dict[int, Any] = {}
        """What each of them is to a law, by its id."""
        self.known: dict[int, Expr] = {}
        """Their normal forms, where they are others."""
        self.unread: set[int] = set()
        """The ids of those that no law has looked at."""
        self.same: dict[int, Expr] = {}
        """What stands for those that are known to be simple, by their ids."""
        self.looks: dict[Any, Look] = {}
        """What there is to try on which operands: a part of what `look` remembers, found in half the time."""
        self.waiting: dict[int, Applicable] = {}
        """Laws for nodes, by their ids, whose operand must have no other use."""

    def for_derivatives(self) -> Forms:
        """The same forms, in a simplification of what is derived from them."""
        forms = copy(self)
        forms.mode, forms.looks, forms.waiting = "derivative", {}, {}
        return forms

    @property
    def holds_tuples(self) -> bool:
        """Whether any of them is a tuple, as of a closed subgraph's results."""
        return any(kind == "O" for _, kind, _, _ in self.looks)

    def settle(self, expr: Expr, args: tuple[Expr, ...], identity: object) -> tuple[Expr, Look]:
        """The node on ``args``, which stands for all that are equal to it from now on."""
        self.ones[identity] = node = rebuild(expr, args)
        seen = self.look(node)
        self.kinds[id(node)] = seen.kind
        return node, seen

    def look(self, expr: Expr) -> Look:
        """What a look at the operands of a node tells."""
        args, kinds = expr.args, self.kinds
        if len(args) == 2:  # most have: a list would take half as long as the rest
            x, y = args
            operands: tuple[Any, ...] = (kinds[id(x)], kinds[id(y)])
            alike = x is y
        elif args:
            operands = tuple([kinds[id(arg)] for arg in args])
            alike = False
        else:
            return look_at_source(expr)
        key = (expr.op, expr.type.dtype.kind, alike, operands)
        found = self.looks.get(key)
        if found is None:
            found = self.looks[key] = look(self.mode, *key)
        return found

    def kept(self, root: Expr) -> Expr:
        """What stands for an expression that is known to be simple: itself, on operands as they are."""
        return folded([root], self._one_for, self.same)[0]

    def _one_for(self, expr: Expr, args: tuple[Expr, ...]) -> Expr:
        identity = _identity(expr, args)
        node = self.ones.get(identity)
        if node is None:
            node, _ = self.settle(expr, args, identity)
            if not is_simple(expr):
                self.unread.add(id(node))
        elif is_simple(expr):  # as an equal one was found to be in another simplification
            self.unread.discard(id(node))
            self.known.pop(id(node), None)
        return node

    def of_unless_simple(self, expr: Expr, args: tuple[Expr, ...]) -> Expr:
        """The normal form of a node: of one that is known to be simple, itself."""
        if not is_simple(expr):
            return self.of(expr, args)
        return expr if id(expr) in self.kinds else self.kept(expr)

    def of(self, expr: Expr, args: tuple[Expr, ...], budget: int = BUDGET) -> Expr:
        """The normal form of a node on ``args``, which are settled."""
        identity = _identity(expr, args)
        node = self.ones.get(identity)
        if node is None:
            node, seen = self.settle(expr, args, identity)
        elif id(node) in self.unread:
            self.unread.remove(id(node))
            seen = self.look(node)
        else:
            return self.known.get(id(node), node)
        if seen.laws is not None and budget > 0:
            # The node itself may stand in what replaces it, under a mask: there it is simple.
            new = rewritten(node, seen.laws)
            if new is not None:
                me = id(node)
                node = self.known[me] = self._replacement(fit(new, node.type), budget - 1)
            elif seen.laws.sole:
                self.waiting[id(node)] = seen.laws
        if self.mode != "formula":
            mark_simple(node)
        return node

    def with_sole_uses(self, roots: Sequence[Expr]) -> list[Expr]:
        """Simplified expressions by the laws whose operand must have no other use, too."""
        order = subexpressions(*roots)
        uses = Counter([id(arg) for expr in order for arg in expr.args] + [id(e) for e in roots])

        def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
            laws = self.waiting.get(id(expr))
            new = expr if all(map(is_, args, expr.args)) else self.of(expr, args)
            if laws is not None and uses[id(expr.args[0])] == 1:
                made = rewritten_alone(new, laws)
                if made is not None:
                    return self._replacement(fit(made, expr.type), BUDGET)
            return new

        simple = folded(roots, step)
        self.waiting.clear()
        return simple

    def _replacement(self, root: Expr, budget: int) -> Expr:
        """The normal form of what a law has made of settled expressions."""
        if id(root) in self.kinds:
            return root
        became: dict[int, Expr] = {}

        def unsettled(expr: Expr) -> list[Expr]:
            return [arg for arg in expr.args if id(arg) not in self.kinds]

        def step(expr: Expr, _: tuple[Expr, ...]) -> Expr:
            args = tuple([became.get(id(arg), arg) for arg in expr.args])
            return self.of(expr, args, budget if expr is root else budget // 2)

        return folded([root], step, became, unsettled)[0]


def _identity(expr: Expr, args: tuple[Expr, ...]) -> Any:
    if len(args) == 2:
        return expr.op, expr.params, id(args[0]), id(args[1])
    return (expr.op, expr.params, *map(id, args)) if args else expr.key
