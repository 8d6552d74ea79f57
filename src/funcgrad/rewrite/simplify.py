"""Simplification: a fold that rebuilds each node on simplified operands and applies the laws to it.

The laws are those of `funcgrad.rewrite.laws`. The replacement of a node is simplified in turn; each node has
a budget of rewrites, which ends cycles of laws that undo each other. The invariant: the result
has the same type, and the same value wherever the original is defined. The value of a program that a user
wrote keeps every bit, stable forms excepted; the value of a derivative is kept where it is finite. Programs
that run keep the order of their factors, so that no product overflows that did not before; formulas for
display do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from operator import is_
from typing import Any, TypeAlias

from funcgrad.expr import (
    Expr,
    as_derived,
    as_expression,
    is_simple,
    rebuild,
    set_simple,
    subexpressions,
)
from funcgrad.fold import folded
from funcgrad.gc_pause import Paused
from funcgrad.graph import ArrayType
from funcgrad.ops.base.op import fit
from funcgrad.rewrite.laws import Mode
from funcgrad.rewrite.matcher import (
    FOR_READERS,
    Candidates,
    Laws,
    candidates,
    candidates_of_leaf,
    rewrite,
    rewrite_single_use,
)
from funcgrad.rewrite.right_hand_sides import LawResult

# Rewrites that one node may go through before it is left as it is.
BUDGET = 40


def simplify(expr: Expr) -> Expr:
    """An expression of the same type and value that is simpler to read, to run
    and to differentiate.

    It folds constants, drops neutral elements, collects like terms and brings
    in stable forms (``log(1 + exp(x))`` becomes ``softplus(x)``). It does not
    expand products. Values are taken to be finite (``x - x`` becomes 0), and
    products to be far from overflow (``x/y/y`` becomes ``x/y**2``).

    Raises TypeError if ``expr`` is no expression.

    >>> import funcgrad as fg
    >>> x = fg.var("x")
    >>> simplify(2 * (3 * x) + 0 * x)
    6*x
    """
    return simplify_all([as_expression("simplify", expr)], mode="formula")[0]


def simplify_all(
    exprs: Sequence[Expr], *, mode: Mode = "value", simplifier: Simplifier | None = None
) -> list[Expr]:
    """`simplify` several expressions that may share parts: ``mode`` says by which laws.

    An expression that is known to be simple stays as it is, except in formulas: a derivative keeps the bits
    of the values that it is made of. ``simplifier`` is that of an earlier simplification, if these
    expressions contain its results; its mode counts then.
    """
    if simplifier is None:
        if mode not in FOR_READERS and all(map(is_simple, exprs)):
            return list(exprs)
        simplifier = Simplifier(mode)
    simple = simplifier.simplified_all(exprs)
    return list(map(as_derived, simple)) if simplifier.mode == "formula" else simple


def _operands_unless_simple(expr: Expr) -> tuple[Expr, ...]:
    return () if is_simple(expr) else expr.args


_Found: TypeAlias = tuple[Laws | None, int]
"""The laws that may apply to a node, and the place of its kind: a plain tuple, which is read faster."""


class Simplifier:
    """The state of one simplification: a table in which equal expressions are one object.

    A node is looked up by its operation and the identities of its canonical operands, which determine its
    key and take a tenth of the time.
    """

    rewrite = staticmethod(rewrite)
    rewrite_single_use = staticmethod(rewrite_single_use)

    def __init__(self, mode: Mode = "value") -> None:
        self.mode = mode
        self.marks = mode not in FOR_READERS
        """Whether normal forms are marked as simple: no law for programs that run changes them."""
        self.canonical: dict[Any, Expr] = {}
        """The one expression that stands for all equal ones, by operation and operands."""
        self.kinds: dict[int, int] = {}
        """How patterns see each canonical expression as an operand, by its id: a place in `kinds_met`."""
        self.kinds_met: dict[Any, int] = {}
        """The kinds of operands, each with its place: a small number is hashed faster than a tuple."""
        self.normal_forms: dict[int, Expr] = {}
        """The normal form of a canonical expression, by its id, where it is another expression."""
        self.unvisited: set[int] = set()
        """The ids of canonical expressions that no law has been tried on."""
        self.canonical_of_simple: dict[int, Expr] = {}
        """The canonical expressions of expressions known to be simple, by the ids of these."""
        self.simple_roots: list[Expr] = []
        """These expressions, which are kept: the id of one that is gone may be that of another."""
        self.candidates_memo: dict[Any, _Found] = {}
        """A part of the memo of `candidates`, by the places of kinds, which answers in half the time."""
        self.deferred: dict[int, Laws] = {}
        """Laws for a node, by its id, that need an operand without other uses."""

    def for_derivatives(self) -> Simplifier:
        """This table, used to simplify derivatives of its expressions."""
        simplifier = copy(self)
        simplifier.mode, simplifier.candidates_memo, simplifier.deferred = "derivative", {}, {}
        return simplifier

    @property
    def holds_tuples(self) -> bool:
        """Whether an expression in the table has a tuple value, as a loop has."""
        return any(dtype == "O" for _, dtype, *_ in self.candidates_memo)

    def _insert(self, expr: Expr, args: tuple[Expr, ...], identity: object) -> tuple[Expr, _Found]:
        """The node on ``args`` as a new canonical expression, and the laws that may apply to it."""
        self.canonical[identity] = node = rebuild(expr, args)
        kinds = self.kinds
        found = None
        if len(args) == 2:  # most have: `_candidates` without a call
            x, y = args
            found = self.candidates_memo.get(
                (node.op, node.type.dtype.kind, x is y, kinds[id(x)], kinds[id(y)])
            )
        elif len(args) == 1:
            found = self.candidates_memo.get(
                (node.op, node.type.dtype.kind, False, kinds[id(args[0])])
            )
        if found is None:
            found = self._candidates(node)
        kinds[id(node)] = found[1]
        return node, found

    def _candidates(self, expr: Expr) -> _Found:
        """The laws that may apply to a node, judged by its operation and the kinds of its operands."""
        args, kinds = expr.args, self.kinds
        if not args:
            return self._numbered(candidates_of_leaf(self.mode, expr))
        same = len(args) == 2 and args[0] is args[1]
        key: Any = (expr.op, expr.type.dtype.kind, same, *[kinds[id(arg)] for arg in args])
        found = self.candidates_memo.get(key)
        if found is None:
            op, dtype, same, *places = key
            met = list(self.kinds_met)
            operands = tuple([met[place] for place in places])
            found = self._numbered(candidates(self.mode, op, dtype, same, operands))
            self.candidates_memo[key] = found
        return found

    def _numbered(self, found: Candidates) -> _Found:
        """Candidates with the place of the node's kind."""
        return found.laws, self.kinds_met.setdefault(found.kind, len(self.kinds_met))

    def _canonical_form(self, root: Expr) -> Expr:
        """The canonical expression that is equal to one known to be simple: no law is tried."""
        self.simple_roots.append(root)
        return folded([root], self._canonical_node, self.canonical_of_simple)[0]

    def _canonical_node(self, expr: Expr, args: tuple[Expr, ...]) -> Expr:
        identity = _identity(expr, args)
        node = self.canonical.get(identity)
        if node is None:
            node, _ = self._insert(expr, args, identity)
            if not is_simple(expr):
                self.unvisited.add(id(node))
        elif is_simple(expr):  # an earlier simplification found this one to be simple
            self.unvisited.discard(id(node))
            self.normal_forms.pop(id(node), None)
        return node

    def simplified_all(self, roots: Sequence[Expr]) -> list[Expr]:
        """The normal forms of expressions."""
        with Paused():
            if self.marks:
                step, operands = self.normal_form_unless_simple, _operands_unless_simple
                simple = folded(roots, step, operands=operands)
            else:
                simple = folded(roots, self.normal_form)
            return self.apply_single_use_laws(simple)

    def simplified(self, root: Expr) -> Expr:
        """The normal form of an expression on canonical ones."""
        if not self.marks:
            return self._replacement(root, BUDGET)
        return folded([root], self.normal_form_unless_simple, operands=_operands_unless_simple)[0]

    def normal_form_unless_simple(self, expr: Expr, args: tuple[Expr, ...]) -> Expr:
        """The normal form of a node; a node that is known to be simple is its own."""
        if not is_simple(expr):
            return self.normal_form(expr, args)
        return expr if id(expr) in self.kinds else self._canonical_form(expr)

    def normal_form(self, expr: Expr, args: tuple[Expr, ...], budget: int = BUDGET) -> Expr:
        """The normal form of a node on ``args``, which are canonical."""
        identity: Any
        if len(args) == 2:  # (`_identity` without a call)
            identity = expr.op, expr.params, id(args[0]), id(args[1])
        else:
            identity = _identity(expr, args)
        node = self.canonical.get(identity)
        if node is None:
            node, found = self._insert(expr, args, identity)
        elif id(node) in self.unvisited:
            self.unvisited.remove(id(node))
            found = self._candidates(node)
        else:
            return self.normal_forms.get(id(node), node)
        laws = found[0]
        if laws is not None and budget > 0:
            # The node itself may be part of its replacement, under a mask: there it is simple.
            new = self.rewrite(node, laws)
            if new is not None:
                replaced = id(node)
                node = self._result(new, node.type, budget - 1)
                self.normal_forms[replaced] = node
            elif laws.single_use:
                self.deferred[id(node)] = laws
        if self.marks:
            set_simple(node, True)
        return node

    def apply_single_use_laws(self, roots: Sequence[Expr]) -> list[Expr]:
        """Simplified expressions, simplified by the laws that need an operand without other uses."""
        if not self.deferred:
            return list(roots)
        order = subexpressions(*roots)
        uses = Counter([id(arg) for expr in order for arg in expr.args] + [id(e) for e in roots])

        def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
            laws = self.deferred.get(id(expr))
            node = expr if all(map(is_, args, expr.args)) else self.normal_form(expr, args)
            if laws is not None and uses[id(expr.args[0])] == 1:
                new = self.rewrite_single_use(node, laws)
                if new is not None:
                    return self._result(new, expr.type, BUDGET)
            return node

        simple = folded(roots, step)
        self.deferred.clear()
        return simple

    def _result(self, new: Expr | LawResult, wanted: ArrayType, budget: int) -> Expr:
        """The normal form of a law's result for a node of a type."""
        if type(new) is Expr:
            return self._replacement(fit(new, wanted), budget)
        rows, values, result = new
        normal_form, kinds = self.normal_form, self.kinds
        for place, value in enumerate(values):
            if type(value) is Expr and id(value) not in kinds:  # a constant that the law computes
                values[place] = normal_form(value, (), budget // 2)
        for expr, places in rows:
            last = len(values) == result
            args = tuple([values[i] for i in places])
            values.append(normal_form(expr, args, budget if last else budget // 2))
        found: Expr = values[result]
        return found

    def _replacement(self, root: Expr, budget: int) -> Expr:
        """The normal form of an expression on canonical ones."""
        kinds = self.kinds
        if id(root) in kinds:
            return root
        if all([id(arg) in kinds for arg in root.args]):  # most right sides are one operation
            return self.normal_form(root, root.args, budget)
        simplified: dict[int, Expr] = {}

        def new_operands(expr: Expr) -> list[Expr]:
            return [arg for arg in expr.args if id(arg) not in kinds]

        def step(expr: Expr, _: tuple[Expr, ...]) -> Expr:
            args = tuple([simplified.get(id(arg), arg) for arg in expr.args])
            return self.normal_form(expr, args, budget if expr is root else budget // 2)

        return folded([root], step, simplified, new_operands)[0]


def _identity(expr: Expr, args: tuple[Expr, ...]) -> Any:
    if len(args) == 2:
        return expr.op, expr.params, id(args[0]), id(args[1])
    return (expr.op, expr.params, *map(id, args)) if args else expr.key
