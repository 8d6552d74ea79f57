"""Simplification: a fold whose algebra rebuilds each node with a smart constructor.

A smart constructor tries the laws (`funcgrad.program.laws`) on a node whose operands are simple
already, and simplifies what a law puts there. Laws that lower a measure end by themselves; a budget of
rewrites a node makes sure. The invariant: the result has the same type, and the same value wherever
the original is defined. What is run keeps the order of its factors, so that no product overflows that
did not before; a formula for a reader does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad.expr import Expr, is_simple, mark_simple, rebuild, subexpressions
from funcgrad.ops.op import fit
from funcgrad.program.matching import rewritten
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
    return simplify_all([expr], readable=True)[0]


def simplify_all(exprs: Sequence[Expr], *, readable: bool = False) -> list[Expr]:
    """`simplify` several expressions that may share parts; to be run, unless ``readable``."""
    if not readable and all(map(is_simple, exprs)):
        return list(exprs)
    forms = _Forms(readable)
    order = subexpressions(*exprs)
    became: dict[int, Expr] = {}
    for expr in order:
        if not readable and is_simple(expr):
            became[id(expr)] = forms.kept(expr)
        else:
            args = tuple([became[id(arg)] for arg in expr.args])
            became[id(expr)] = forms.of(expr, args, BUDGET)
    return [became[id(expr)] for expr in exprs]


class _Forms:
    """The normal forms met in one simplification, where equal expressions are one object.

    A node is looked up by its operation and its operands' identities, which say what its key says at a
    tenth of the cost.
    """

    def __init__(self, readable: bool) -> None:
        self.readable = readable
        self.known: dict[Any, Expr] = {}
        self.ones: dict[Any, Expr] = {}
        """The expressions that stand for all that are equal to them."""
        self.settled: set[int] = set()
        """Their ids."""
        self.same: dict[int, Expr] = {}
        """What stands for those that are known to be simple, by their ids."""

    def identity(self, expr: Expr, args: tuple[Expr, ...]) -> Any:
        return (expr.op, expr.params, *map(id, args)) if args else expr.key

    def one(self, expr: Expr, args: tuple[Expr, ...], identity: Any) -> Expr:
        """The node on ``args`` that stands for all that are equal to it."""
        found = self.ones.get(identity)
        if found is None:
            self.ones[identity] = found = rebuild(expr, args)
            self.settled.add(id(found))
        return found

    def kept(self, root: Expr) -> Expr:
        """What stands for an expression that is known to be simple: itself, on operands as they are."""
        stack = [root]
        while stack:
            expr = stack[-1]
            waiting = [arg for arg in expr.args if id(arg) not in self.same]
            if waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            args = tuple([self.same[id(arg)] for arg in expr.args])
            identity = self.identity(expr, args)
            self.same[id(expr)] = node = self.one(expr, args, identity)
            if is_simple(expr):
                self.known[identity] = node
        return self.same[id(root)]

    def of(self, expr: Expr, args: tuple[Expr, ...], budget: int) -> Expr:
        """The normal form of a node on ``args``, which are settled."""
        identity = self.identity(expr, args)
        found = self.known.get(identity)
        if found is not None:
            return found
        # The node itself may stand in what replaces it, under a mask: there it is simple.
        self.known[identity] = node = self.one(expr, args, identity)
        new = _rewrite(node, self.readable) if budget > 0 else None
        if new is not None:
            self.known[identity] = node = self._replacement(new, budget - 1)
        if not self.readable:
            mark_simple(node)
        return node

    def _replacement(self, root: Expr, budget: int) -> Expr:
        """The normal form of what a law has made of settled expressions."""
        became: dict[int, Expr] = {}
        stack = [root]
        while stack:
            expr = stack[-1]
            me = id(expr)
            if me in became or me in self.settled:
                stack.pop()
                continue
            waiting = [a for a in expr.args if id(a) not in became and id(a) not in self.settled]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            args = tuple([became.get(id(arg), arg) for arg in expr.args])
            became[me] = self.of(expr, args, budget if expr is root else budget // 2)
        return became.get(id(root), root)


def _rewrite(expr: Expr, readable: bool) -> Expr | None:
    """What the first law that applies makes of a node; None where none does."""
    new = rewritten(expr, readable) if expr.args else None
    return None if new is None else fit(new, expr.type)
