"""The traces of one signature: a decision tree whose inner nodes are guards.

An inner node computes the answer to one question of Python, such as ``bool(x > 0)``; a leaf computes the
results. A call follows the answers from the root. Values that a later node reuses are saved, so that no part
of a path is computed twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from funcgrad.compiler.disk_cache.cache import remembered, source_rows
from funcgrad.compiler.passes.body_subsumption import subsume_bodies
from funcgrad.compiler.program import Program, part
from funcgrad.control.closed_program import Body
from funcgrad.expr import Expr, by_key, is_simple, mark_simple, rebuild, subexpressions, symbol
from funcgrad.expr.scope_order import next_in_order
from funcgrad.fold import folded_by_key
from funcgrad.graph import CONSTANT, INPUT, Key
from funcgrad.ops.tuples import pick_op
from funcgrad.rewrite.laws import Mode
from funcgrad.rewrite.simplify import simplify_all
from funcgrad.source import caller
from funcgrad.trace.leaves import Scope

Reading = Callable[[Any], Any]


class Question(NamedTuple):
    """A question of Python: the expression, the function that reads its value, and the answer."""

    asked: Expr
    reading: Reading
    answer: Any
    line: Any = None
    """The position in the user's code."""
    order: int = 0
    """When it was asked first, among the scopes of traces."""


class QuestionLog(Scope):
    """The scope of a run that records Python's questions, in order, each once.

    Without ``answers``, it refuses floats, so that code which asks for them is adopted, and ``refused`` says
    that it has.
    """

    __slots__ = ("_derived", "_recorded", "_refusal", "answers", "keeps_guards", "refused")
    records = True
    differentiates = False

    def __init__(self, answers: bool = True, keeps_guards: bool = False) -> None:
        self.refused = False
        self.answers = answers
        self.keeps_guards = keeps_guards
        """Whether what compositions ask are guards (`funcgrad.scipy.host_call`): kinds of results vary."""
        super().__init__()
        self._recorded: dict[tuple[int, Reading], Question] = {}
        self._derived: tuple[Any, ...] | None = None

    @property
    def refusal(self) -> Exception | None:
        return self._refusal

    @refusal.setter
    def refusal(self, error: Exception | None) -> None:
        self._refusal = error
        self.refused = self.refused or error is not None

    @property
    def asked(self) -> list[Question]:
        return list(self._recorded.values())

    def record(self, asked: Expr, reading: Reading, answer: Any) -> None:
        # The log refers to the expression, so that its id is not reused.
        if (id(asked), reading) not in self._recorded:
            self._recorded[id(asked), reading] = Question(
                asked, reading, answer, caller(), next_in_order()
            )

    def forget_since(self, start: int) -> None:
        for key, question in list(self._recorded.items()):
            if question.order > start:
                del self._recorded[key]

    def derived(self, program: Program, inputs: Sequence[Any], outputs: Sequence[Expr]) -> None:
        self._derived = program, inputs, outputs

    def single_program(
        self, results: Sequence[Expr], leaves: Sequence[Expr]
    ) -> SingleProgram | None:
        """The derived program that computes the results from leaves; None if there is none."""
        if self._recorded or self._derived is None or not results:
            return None
        program, inputs, outputs = self._derived
        places = {id(out): k for k, out in enumerate(outputs)}
        numbers = {id(item): k for k, item in enumerate(leaves)}
        wanted = tuple([places.get(id(result), -1) for result in results])
        takes = tuple([numbers.get(id(value), -1) for value in inputs])
        return None if -1 in wanted or -1 in takes else SingleProgram(part(program, wanted), takes)


def is_as_traced(kept: Any) -> bool:
    """The answer to the question whether results are of the kinds that they had in the trace."""
    return bool(kept)


def answer_key(answer: object) -> Any:
    """An answer as a key: exact, and equal to itself also if it is NaN."""
    if isinstance(answer, np.ndarray):
        return answer.shape, answer.dtype.str, answer.tobytes()
    if isinstance(answer, float | complex):
        return repr(answer)
    return answer


INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
"""The range of integers in programs; Python's integers have none."""


class SingleProgram(NamedTuple):
    """A derived program that is used as it is, for a function that only returns a derivative."""

    program: Program
    inputs: tuple[int, ...]
    """The positions of its inputs among a call's values."""

    def inline(self, values: Sequence[Expr]) -> list[Expr]:
        """Its outputs as expressions of the values."""
        return self.program.inline([values[k] for k in self.inputs])


def first(results: Sequence[Any]) -> Any:
    """The result of a function that returns one expression."""
    return results[0]


class NodeProgram(NamedTuple):
    """The program of a node: its outputs are the node's expressions, then the saved ones."""

    program: Program
    inputs: tuple[int, ...]
    """The positions of its inputs among a call's values, or the slots (below 0) of saved values."""
    saved_slots: tuple[int, ...]
    """The slots of the saved outputs."""
    saved: tuple[Expr, ...] = ()
    """The expressions whose values later nodes of a path use."""


class TraceNode:
    """A guard with a child for each answer; or, if ``reading`` is None, the results of a path."""

    __slots__ = ("_exprs", "children", "reading", "rebuild", "step", "stored")

    def __init__(
        self,
        exprs: Sequence[Expr] | Callable[[], Sequence[Expr]],
        reading: Reading | None,
        rebuild: Any = None,
    ) -> None:
        self._exprs = exprs
        self.reading = reading
        self.rebuild = rebuild
        self.stored: Collection[int] = ()
        """The numbers of the values that are arrays into which f stores on this path."""
        self.children: dict[Any, TraceNode] = {}
        self.step: NodeProgram | None = None

    @property
    def asks_for_index(self) -> bool:
        """Whether integers were asked for, as NumPy's arrays and functions do that take them as indices."""
        name = getattr(self.reading, "__name__", "")
        return name in ("_itself", "_item", "index") and self.exprs[0].dtype.kind in "iu"

    @property
    def exprs(self) -> tuple[Expr, ...]:
        if not isinstance(self._exprs, tuple):
            self._exprs = tuple(self._exprs() if callable(self._exprs) else self._exprs)
        return self._exprs


class GuardTree:
    """The decision tree of one signature: a trace adds a path, and a call follows one.

    ``inputs`` are the variables of its expressions, in the order of a call's values.
    """

    def __init__(self, native: bool = False) -> None:
        self.native = native
        """Whether programs become machine code when they are made."""
        self.keeps_guards = False
        """Whether the kinds of a function's results have changed, so that its guards are kept."""
        self.root: TraceNode | None = None
        self.inputs: list[Expr] = []
        self.leaves = 0
        self._slots: dict[Key, int] = {}

    # -- following --------------------------------------------------------------------------------
    def follow(
        self, values: Sequence[Any], arrays: Sequence[Any] = ()
    ) -> tuple[TraceNode | None, Any]:
        """The last node of a call's path and its results; or None and the guard that has a new answer.

        ``arrays`` are the captured arrays that programs read; the list grows with the tree.
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
            program, inputs, saved_slots, _ = node.step  # type: ignore[misc]
            try:
                given = [values[i] if i >= 0 else memory[i] for i in inputs]
            except (IndexError, KeyError):
                return None  # another thread has changed the tree: follow it once more
            found = program.entry(*given)
            if node.reading is None:
                return node, found
            memory.update(zip(saved_slots, found[1:], strict=True))
            last = node
            node = node.children.get(answer_key(node.reading(found[0])))
        return None, last

    # -- growing ----------------------------------------------------------------------------------
    def grow(
        self,
        asked: Sequence[Question],
        results: Sequence[Expr] | SingleProgram,
        rebuild: Any,
        stored: Collection[int] = (),
    ) -> TraceNode:
        """Add a path: the answers of one run, and its results. Returns its last node."""
        path: list[TraceNode] = []
        siblings: dict[Any, TraceNode] | None = None
        key: Any = None
        fresh: tuple[dict[Any, TraceNode] | None, Any, TraceNode] | None = None
        for question in asked:
            node = self.root if siblings is None else siblings.get(key)
            if node is None or node.reading is not question.reading or not _same(node, question):
                node = TraceNode([question.asked], question.reading)
                fresh = fresh or (siblings, key, node)
                if fresh[2] is not node and siblings is not None:
                    siblings[key] = node
            path.append(node)
            siblings, key = node.children, answer_key(question.answer)
        if isinstance(results, SingleProgram):
            if self.native:
                results.program.compile_natively()
            last = TraceNode(partial(results.inline, self.inputs), None, rebuild)
            last.step = NodeProgram(results.program, results.inputs, ())
        else:
            last = TraceNode(results, None, rebuild)
        last.stored = stored
        path.append(last)
        if fresh is None:
            fresh = (siblings, key, last)
        elif siblings is not None:
            siblings[key] = last
        self._compile(path)
        self.leaves += 1
        # The new nodes are linked last, when all of them can run.
        parent_children, answer, node = fresh
        if parent_children is None:
            self.root = node
        else:
            parent_children[answer] = node
        return last

    def _compile(self, path: Sequence[TraceNode]) -> None:
        """Give each node of a path its program, in which values of earlier nodes are inputs.

        Programs are assigned when all are made, those of earlier nodes first: an interrupt leaves a tree that
        runs, in which a node saves more values than are used, at most.
        """
        if len(path) == 1:  # there are no guards, and no saved values
            (node,) = path
            node.step = node.step or self._lowered(node, (), (), "value")
            return
        owner: dict[Key, int] = {}
        saved = [list(node.step.saved) if node.step else [] for node in path]
        inherited: list[list[Expr]] = []
        changed: set[int] = set()
        for k, node in enumerate(path):
            inside = _reachable_until([*node.exprs, *saved[k]], owner)
            for expr in inside:  # a part of a tuple is saved, the tuple is not
                if expr.op is pick_op and expr.args[0].key in owner:
                    owner.setdefault(expr.key, owner[expr.args[0].key])
            inherited.append([expr for expr in inside if expr.key in owner])
            for expr in inherited[k]:
                producer = owner[expr.key]
                if all(expr.key != known.key for known in saved[producer]):
                    saved[producer].append(expr)
                    changed.add(producer)
            if node.step is None:
                changed.add(k)
            for expr in inside:
                if expr.op not in (INPUT, CONSTANT):
                    owner.setdefault(expr.key, k)
        steps = {k: self._lowered(path[k], saved[k], inherited[k], "part") for k in sorted(changed)}
        for k, step in steps.items():
            path[k].step = step

    def _lowered(
        self, node: TraceNode, saved: Sequence[Expr], inherited: Sequence[Expr], mode: Mode
    ) -> NodeProgram:
        names = [symbol(f"saved {~self._slot(expr)}", expr.type) for expr in inherited]
        given = {expr.key: name for expr, name in zip(inherited, names, strict=True)}
        roots = [*node.exprs, *saved]
        if given:
            roots = _with_inputs_replaced(roots, given)
        used = {expr.key for expr in subexpressions(*roots) if expr.op is INPUT}
        numbers = [i for i, x in enumerate(self.inputs) if x.key in used]
        inputs = [*[self.inputs[i] for i in numbers], *names]
        positions = (*numbers, *[self._slot(expr) for expr in inherited])
        saved_slots = tuple([self._slot(expr) for expr in saved])
        program = _program(Body(inputs, roots), mode)
        if self.native:
            program.compile_natively()
        return NodeProgram(program, positions, saved_slots, tuple(saved))

    def _slot(self, expr: Expr) -> int:
        """The slot of a saved value in a call's memory: a negative number."""
        return self._slots.setdefault(expr.key, ~len(self._slots))


def _with_inputs_replaced(roots: Sequence[Expr], given: Mapping[Key, Expr]) -> list[Expr]:
    """The roots with inputs in the place of the given subexpressions, which are not visited."""

    def step(expr: Expr, args: tuple[Expr, ...]) -> Expr:
        new = rebuild(expr, args)
        if is_simple(expr):
            mark_simple(new)
        return new

    return folded_by_key(roots, step, dict(given))


@lru_cache(maxsize=512)
def _program(body: Body, mode: Mode) -> Program:
    """The compiled program of a body, cached: a function that is jitted again is not compiled again."""

    def made() -> list[Expr]:
        return subsume_bodies(simplify_all(body.outputs, mode=mode))

    how = "as it is" if mode == "value" else "a part as it is"
    return remembered(how, lambda: source_rows(body.outputs, body.inputs), body.inputs, made)


def _same(node: TraceNode, question: Question) -> bool:
    return node.exprs[0].key == question.asked.key


def _reachable_until(roots: Sequence[Expr], stop: Container[Key]) -> list[Expr]:
    """The subexpressions of the roots, operands first, down to those in ``stop`` and their parts."""

    def operands(expr: Expr) -> Sequence[Expr]:
        part = expr.op is pick_op and expr.args[0].key in stop
        return () if part or expr.key in stop else expr.args

    return list(by_key(*roots, operands=operands).values())
