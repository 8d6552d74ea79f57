"""The traces of one signature: a decision tree whose inner nodes are Python's questions.

A node computes the answer to one question, or the results. A call follows the answers from the root;
what a node computes and a later one needs is handed on, so that a shared prefix runs once.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compiler.disk_cache.cache import remembered
from funcgrad.compiler.passes.loop_cse import share_bodies
from funcgrad.compiler.program import Program, lower, part
from funcgrad.control.closed_program import Body
from funcgrad.expr import (
    Expr,
    assemble_node,
    by_key,
    is_simple,
    mark_simple,
    rebuild,
    subexpressions,
)
from funcgrad.fold import folded_by_key
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.rewrite.laws import Mode
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.source import caller
from funcgrad.trace.leaves import Scope

Reading = Callable[[Any], Any]


class Question(NamedTuple):
    """Something that Python asked: of what, how it read the value, and what the answer was."""

    asked: Expr
    reading: Reading
    answer: Any
    line: Any = None
    """The position of the user's code that asked."""


class QuestionLog(Scope):
    """The scope of a run that records what Python asked, in order, each question once."""

    __slots__ = ("_derived", "_met")
    records = True
    differentiates = False

    def __init__(self) -> None:
        super().__init__()
        self._met: dict[tuple[int, Reading], Question] = {}
        self._derived: tuple[Any, ...] | None = None

    @property
    def asked(self) -> list[Question]:
        return list(self._met.values())

    def record(self, asked: Expr, reading: Reading, answer: Any) -> None:
        # The expression is held, so that its id is its own.
        if (id(asked), reading) not in self._met:
            self._met[id(asked), reading] = Question(asked, reading, answer, caller())

    def derived(self, program: Program, inputs: Sequence[Any], outputs: Sequence[Expr]) -> None:
        self._derived = program, inputs, outputs

    def whole(self, results: Sequence[Expr], leaves: Sequence[Expr]) -> Whole | None:
        """The program that gives the results, where they are what was derived last, of leaves alone."""
        if self._met or self._derived is None or not results:
            return None
        program, inputs, outputs = self._derived
        places = {id(out): k for k, out in enumerate(outputs)}
        numbers = {id(item): k for k, item in enumerate(leaves)}
        wanted = tuple([places.get(id(result), -1) for result in results])
        takes = tuple([numbers.get(id(value), -1) for value in inputs])
        return None if -1 in wanted or -1 in takes else Whole(part(program, wanted), takes)


def answer_key(answer: object) -> Any:
    """An answer as a key: exact, and equal to itself also where it is not a number."""
    if isinstance(answer, np.ndarray):
        return answer.shape, answer.dtype.str, answer.tobytes()
    if isinstance(answer, float | complex):
        return repr(answer)
    return answer


LEAST, MOST = -(2**63), 2**63 - 1
"""The whole numbers that programs compute with: beyond them Python's go on, and these do not."""


class Whole(NamedTuple):
    """A program that is all that a traced function does."""

    program: Program
    takes: tuple[int, ...]
    """The numbers of the values that are its inputs."""

    def inline(self, inputs: Sequence[Expr]) -> list[Expr]:
        """Its outputs as expressions, given those of the values."""
        return self.program.inline([inputs[k] for k in self.takes])


def first(results: Sequence[Any]) -> Any:
    """What a function returns whose result is one expression."""
    return results[0]


class NodeProgram(NamedTuple):
    """What a node runs: from values (by number) or what was handed on (below 0) to its expressions."""

    program: Program
    takes: tuple[int, ...]
    gives: tuple[int, ...]
    """Where what it hands on, which follows its own expressions, has its place."""
    handed: tuple[Expr, ...] = ()
    """What it hands on."""


class TraceNode:
    """A question with the nodes that its answers lead to, or, without a reading, results."""

    __slots__ = ("_exprs", "children", "reading", "rebuild", "step")

    def __init__(
        self,
        exprs: Sequence[Expr] | Callable[[], Sequence[Expr]],
        reading: Reading | None,
        rebuild: Any = None,
    ) -> None:
        self._exprs = exprs
        self.reading = reading
        self.rebuild = rebuild
        self.children: dict[Any, TraceNode] = {}
        self.step: NodeProgram | None = None

    @property
    def exprs(self) -> tuple[Expr, ...]:
        if not isinstance(self._exprs, tuple):
            self._exprs = tuple(self._exprs() if callable(self._exprs) else self._exprs)
        return self._exprs


class GuardTree:
    """The decision tree of one signature: it grows by paths, and is followed by calls.

    ``inputs`` are the variables of its expressions, in the order of the values that a call gives.
    """

    def __init__(self) -> None:
        self.root: TraceNode | None = None
        self.inputs: list[Expr] = []
        self.leaves = 0
        self._places: dict[Key, int] = {}

    # -- following --------------------------------------------------------------------------------
    def follow(
        self, values: Sequence[Any], arrays: Sequence[Any] = ()
    ) -> tuple[TraceNode | None, Any]:
        """The node that a call ends at, and its results; or None and the question with a new answer.

        ``arrays`` are what programs read beside the values; the list grows with the tree.
        """
        while True:
            found = self._follow([*values, *arrays])
            if found is not None:
                return found

    def _follow(self, values: Sequence[Any]) -> tuple[TraceNode | None, Any] | None:
        node = self.root
        memory: dict[int, Any] = {}
        last: Any = None
        while node is not None:
            program, takes, gives, _ = node.step  # type: ignore[misc]
            try:
                given = [values[i] if i >= 0 else memory[i] for i in takes]
            except (IndexError, KeyError):
                return None  # the tree has grown while this call ran: once more
            found = program.compiled(*given)
            if node.reading is None:
                return node, found
            memory.update(zip(gives, found[1:], strict=True))
            last = node
            node = node.children.get(answer_key(node.reading(found[0])))
        return None, last

    # -- growing ----------------------------------------------------------------------------------
    def grow(
        self,
        asked: Sequence[Question],
        results: Sequence[Expr] | Whole,
        rebuild: Any,
    ) -> TraceNode:
        """Add a path: the answers of one run, and its results. Returns its last node."""
        path: list[TraceNode] = []
        home: dict[Any, TraceNode] | None = None
        key: Any = None
        fresh: tuple[dict[Any, TraceNode] | None, Any, TraceNode] | None = None
        for question in asked:
            node = self.root if home is None else home.get(key)
            if node is None or node.reading is not question.reading or not _same(node, question):
                node = TraceNode([question.asked], question.reading)
                fresh = fresh or (home, key, node)
                if fresh[2] is not node and home is not None:
                    home[key] = node
            path.append(node)
            home, key = node.children, answer_key(question.answer)
        if isinstance(results, Whole):
            last = TraceNode(partial(results.inline, self.inputs), None, rebuild)
            last.step = NodeProgram(results.program, results.takes, ())
        else:
            last = TraceNode(results, None, rebuild)
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

    def _compile(self, path: Sequence[TraceNode]) -> None:
        """Give each node of a path what it runs: what earlier ones compute is taken from them.

        Nodes change when all is made, those that hand something on first: an interrupt on the way leaves a
        tree that runs, in which a node hands on more than is asked for, at most.
        """
        if len(path) == 1:  # nothing is asked, and nothing handed on
            (node,) = path
            node.step = node.step or self._lowered(node, (), (), "value")
            return
        owner: dict[Key, int] = {}
        handed = [list(node.step.handed) if node.step else [] for node in path]
        inherited: list[list[Expr]] = []
        changed: set[int] = set()
        for k, node in enumerate(path):
            inside = _inside([*node.exprs, *handed[k]], owner)
            inherited.append([expr for expr in inside if expr.key in owner])
            for expr in inherited[k]:
                giver = owner[expr.key]
                if all(expr.key != known.key for known in handed[giver]):
                    handed[giver].append(expr)
                    changed.add(giver)
            if node.step is None:
                changed.add(k)
            for expr in inside:
                if expr.op not in (INPUT, CONSTANT):
                    owner.setdefault(expr.key, k)
        steps = {
            k: self._lowered(path[k], handed[k], inherited[k], "part") for k in sorted(changed)
        }
        for k, step in steps.items():
            path[k].step = step

    def _lowered(
        self, node: TraceNode, handed: Sequence[Expr], inherited: Sequence[Expr], mode: Mode
    ) -> NodeProgram:
        names = [
            assemble_node(INPUT, (), (("name", f"handed {~self._place(expr)}"),), expr.type)
            for expr in inherited
        ]
        given = {expr.key: name for expr, name in zip(inherited, names, strict=True)}
        roots = [*node.exprs, *handed]
        if given:
            roots = _stopped(roots, given)
        met = {expr.key for expr in subexpressions(*roots) if expr.op is INPUT}
        numbers = [i for i, x in enumerate(self.inputs) if x.key in met]
        inputs = [*[self.inputs[i] for i in numbers], *names]
        takes = (*numbers, *[self._place(expr) for expr in inherited])
        gives = tuple([self._place(expr) for expr in handed])
        return NodeProgram(_program(Body(inputs, roots), mode), takes, gives, tuple(handed))

    def _place(self, expr: Expr) -> int:
        """Where in a call's memory a value that is handed on is kept: a negative number."""
        return self._places.setdefault(expr.key, ~len(self._places))


def _stopped(roots: Sequence[Expr], given: Mapping[Key, Expr]) -> list[Expr]:
    """The roots with others in the place of some of their parts, what these are made of left out."""

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        new = rebuild(expr, args)
        if is_simple(expr):
            mark_simple(new)
        return new

    return folded_by_key(roots, step, dict(given))


@lru_cache(maxsize=512)
def _program(body: Body, mode: Mode) -> Program:
    """What computes a body, worked out once: a function that is jitted again is not compiled again."""

    def made() -> list[Expr]:
        return share_bodies(simplify_all(body.outputs, mode=mode))

    how = "as it is" if mode == "value" else "a part as it is"
    return lower(remembered(how, [*body.outputs, *body.inputs], made), body.inputs)


def _same(node: TraceNode, question: Question) -> bool:
    return node.exprs[0].key == question.asked.key


def _inside(roots: Sequence[Expr], stop: Container[Key]) -> list[Expr]:
    """The expressions below and at the roots, parents first, not looked into where they are to stop."""
    return list(by_key(*roots, operands=lambda e: () if e.key in stop else e.args).values())
