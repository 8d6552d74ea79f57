"""The traces of one signature: a decision tree whose inner nodes are Python's questions.

A node computes the answer to one question, or the results. A call follows the answers from the root;
what a node computes and a later one needs is handed on, so that a shared prefix runs once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from funcgrad.expr import Expr, assemble_node, subexpressions
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.program.lower import Program, lower
from funcgrad.program.share import share_bodies
from funcgrad.program.simplify import simplify_all
from funcgrad.program.store import remembered
from funcgrad.program.substitute import substitute_all
from funcgrad.transforms.control.body import Body

Reading = Callable[[Any], Any]


class Question(NamedTuple):
    """Something that Python asked: of what, how it read the value, and what the answer was."""

    asked: Expr
    reading: Reading
    answer: Any
    line: Any = None
    """The position of the user's code that made what was asked."""


class Questions:
    """A recorder: what was asked while a function ran, in order, each question once."""

    __slots__ = ("_met",)

    def __init__(self) -> None:
        self._met: dict[tuple[int, Reading], Question] = {}

    @property
    def asked(self) -> list[Question]:
        return list(self._met.values())

    def record(self, asked: Expr, reading: Reading, answer: Any) -> None:
        # The expression is held, so that its id is its own.
        self._met.setdefault((id(asked), reading), Question(asked, reading, answer, asked.source))


def answer_key(answer: Any) -> Any:
    """An answer as a key: exact, and equal to itself also where it is not a number."""
    if isinstance(answer, np.ndarray):
        return answer.shape, answer.dtype.str, answer.tobytes()
    if isinstance(answer, float | complex):
        return repr(answer)
    return answer


class Step(NamedTuple):
    """What a node runs: from values (by number) or what was handed on (``~number``) to its expressions."""

    program: Program
    takes: tuple[int, ...]
    gives: tuple[int, ...]
    """Where what it hands on, which follows its own expressions, has its place."""


class Node:
    """A question with the nodes that its answers lead to, or, without a reading, results."""

    __slots__ = ("children", "exprs", "handed", "reading", "rebuild", "step")

    def __init__(self, exprs: Sequence[Expr], reading: Reading | None, rebuild: Any = None) -> None:
        self.exprs = tuple(exprs)
        self.reading = reading
        self.rebuild = rebuild
        self.children: dict[Any, Node] = {}
        self.handed: tuple[Expr, ...] = ()
        self.step: Step | None = None


_MISSING = object()


class Tree:
    """The decision tree of one signature: it grows by paths, and is followed by calls.

    ``inputs`` are the variables of its expressions, in the order of the values that a call gives.
    """

    def __init__(self) -> None:
        self.root: Node | None = None
        self.inputs: list[Expr] = []
        self.leaves = 0
        self._places: dict[Key, int] = {}

    # -- following --------------------------------------------------------------------------------
    def follow(self, values: Sequence[Any]) -> tuple[Node | None, Any]:
        """The node that a call ends at, and its results; or None and the question with a new answer."""
        node, memory = self.root, [_MISSING] * len(self._places)
        last: Any = None
        while node is not None:
            program, takes, gives = node.step  # type: ignore[misc]
            try:
                given = [values[i] if i >= 0 else memory[~i] for i in takes]
            except IndexError:
                given = [_MISSING]
            if any([x is _MISSING for x in given]):
                return self.follow(values)  # the tree has grown while this call ran: once more
            found = program.compiled(*given)
            if node.reading is None:
                return node, found
            for place, value in zip(gives, found[1:], strict=True):
                if place >= len(memory):
                    memory.extend([_MISSING] * (place + 1 - len(memory)))
                memory[place] = value
            last = node
            node = node.children.get(answer_key(node.reading(found[0])))
        return None, last

    # -- growing ----------------------------------------------------------------------------------
    def grow(self, asked: Sequence[Question], results: Sequence[Expr], rebuild: Any) -> Node:
        """Add a path: the answers of one run, and its results. Returns its last node."""
        path: list[Node] = []
        home: dict[Any, Node] | None = None
        key: Any = None
        fresh: tuple[dict[Any, Node] | None, Any, Node] | None = None
        for question in asked:
            node = self.root if home is None else home.get(key)
            if node is None or node.reading is not question.reading or not _same(node, question):
                node = Node([question.asked], question.reading)
                fresh = fresh or (home, key, node)
                if fresh[2] is not node and home is not None:
                    home[key] = node
            path.append(node)
            home, key = node.children, answer_key(question.answer)
        last = Node(results, None, rebuild)
        path.append(last)
        if fresh is None:
            fresh = (home, key, last)
        elif home is not None:
            home[key] = last
        self._compile(path)
        self.leaves += 1
        # Reached by calls only now, when all of it can run.
        where, under, node = fresh
        if where is None:
            self.root = node
        else:
            where[under] = node
        return last

    def _compile(self, path: Sequence[Node]) -> None:
        """Give each node of a path what it runs: what earlier ones compute is taken from them."""
        owner: dict[Key, Node] = {}
        inherited: dict[int, list[Expr]] = {}
        changed: dict[int, Node] = {}
        for node in path:
            taken = inherited[id(node)] = _frontier([*node.exprs, *node.handed], owner)
            for expr in taken:
                giver = owner[expr.key]
                if all(expr.key != known.key for known in giver.handed):
                    giver.handed = (*giver.handed, expr)
                    changed[id(giver)] = giver
            if node.step is None:
                changed[id(node)] = node
            for expr in subexpressions(*node.exprs):
                if expr.op not in (INPUT, CONSTANT):
                    owner.setdefault(expr.key, node)
        for node in path:
            if id(node) in changed:
                node.step = self._lowered(node, inherited[id(node)])

    def _lowered(self, node: Node, inherited: Sequence[Expr]) -> Step:
        names = [
            assemble_node(INPUT, (), (("name", f"handed {self._place(expr)}"),), expr.type)
            for expr in inherited
        ]
        given = {expr.key: name for expr, name in zip(inherited, names, strict=True)}
        roots = substitute_all([*node.exprs, *node.handed], given, simple=True)
        found = {expr.key for expr in subexpressions(*roots)}
        numbers = [i for i, x in enumerate(self.inputs) if x.key in found]
        takes = (*numbers, *[~self._place(expr) for expr in inherited])
        gives = tuple([self._place(expr) for expr in node.handed])
        inputs = [*[self.inputs[i] for i in numbers], *names]
        return Step(_program(Body(inputs, roots)), takes, gives)

    def _place(self, expr: Expr) -> int:
        """Where in a call's memory a value that is handed on is kept."""
        return self._places.setdefault(expr.key, len(self._places))


@lru_cache(maxsize=512)
def _program(body: Body) -> Program:
    """What computes a body, worked out once: a function that is jitted again is not compiled again."""

    def made() -> list[Expr]:
        return share_bodies(simplify_all(body.outputs))

    return lower(remembered("as it is", [*body.outputs, *body.inputs], made), body.inputs)


def _same(node: Node, question: Question) -> bool:
    return node.exprs[0].key == question.asked.key


def _frontier(roots: Sequence[Expr], owner: dict[Key, Node]) -> list[Expr]:
    """The topmost expressions at or below the roots that an earlier node computes."""
    found: dict[Key, Expr] = {}
    seen: set[Key] = set()
    stack = list(roots)
    while stack:
        expr = stack.pop()
        if expr.key in seen:
            continue
        seen.add(expr.key)
        if expr.key in owner:
            found[expr.key] = expr
        else:
            stack.extend(expr.args)
    return list(found.values())
