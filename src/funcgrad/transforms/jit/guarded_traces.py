"""jit for NumPy: the traces of one signature form a decision tree of guards.

If Python asks a traced value a question while f runs (``if x > 0``), the answer becomes a guard of the tree
(`funcgrad.transforms.jit.guard_tree`), and f runs again only for a new answer. The cache around the trees is
`funcgrad.transforms.jit.signature_cache`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from funcgrad.compiler.flat_program import source_text
from funcgrad.expr import Expr, mark_simple, rebuild, subexpressions
from funcgrad.expr.concrete import concrete
from funcgrad.fold import folded
from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.ops.base.op import leaf as leaf_op
from funcgrad.source import tell_line, type_error
from funcgrad.trace.derive import concretize
from funcgrad.trace.known_code import AS_IT_IS, HELD, LEAST_LEVEL, WRITABLE
from funcgrad.trace.leaves import run, run_on_leaves
from funcgrad.trace.pytree import flatten_with_static, leaves_of
from funcgrad.trace.random_draws import generator_states, warn_of_draws
from funcgrad.trace.skeleton import instantiate, skeleton
from funcgrad.transforms.jit.capture_sources import Snapshot
from funcgrad.transforms.jit.captures import arrays_of
from funcgrad.transforms.jit.file_reads import noticed_reads, warn_of_reads
from funcgrad.transforms.jit.guard_tree import (
    INT64_MAX,
    INT64_MIN,
    GuardTree,
    Question,
    QuestionLog,
    SingleProgram,
    TraceNode,
    is_as_traced,
)
from funcgrad.transforms.jit.inline_cache import InlineCache
from funcgrad.transforms.jit.side_effects import warn_of_side_effects
from funcgrad.transforms.jit.signature import (
    DEFAULT_DTYPES,
    FLAG_KINDS,
    PLAIN,
    TRACED_NUMBERS,
    SignatureTraces,
    Static,
    array_kind,
    changeable,
    checked_static,
    is_static,
    rebuilder,
    static_kind,
    structure,
)
from funcgrad.transforms.jit.signature_cache import (
    Args,
    Keywords,
    Kinds,
    SignatureCache,
    SignatureKey,
)

if TYPE_CHECKING:
    from funcgrad.transforms.jit.stage_text import Lowered

_Traced: TypeAlias = tuple[Any, tuple[list[Question], list[Expr] | SingleProgram, Any] | None]
"""A result and None, or None and a path."""
MAX_PATHS = 64
"""The number of paths of one signature at which a function is no longer compiled."""
_MOST_TOLD = 8
"""The number of errors of programs that are told the user's line: code may handle any number of them."""


class GuardedTraces(SignatureCache[SignatureTraces]):
    """The cache of a function that runs as guarded programs on NumPy arrays."""

    warns_of_numbers = True

    def __init__(self, f: Callable[..., Any], static: Static, native: bool = False) -> None:
        self.native = native
        self.entry = InlineCache(self, f, getattr(f, "__name__", "f"))
        super().__init__(f, static)

    def __reduce__(self) -> Any:
        # The programs stay behind: they are found anew in another process.
        return type(self), (self.f, self.static, self.native)

    def function(self) -> Callable[..., Any]:
        """The function for a caller: it runs the newest program, or else calls this cache."""
        return self.entry.function()

    def empty_for(self, f: Callable[..., Any]) -> GuardedTraces:
        """An empty cache for another function."""
        return GuardedTraces(f, Static((), ()), self.native)

    def clear(self) -> None:
        """Forget every trace."""
        with self.lock:
            super().clear()
            self.specializes_numbers = False
            """Whether Python's numbers are part of the signature: they take other operands' precision."""
            self.answers = False
            """Whether floats are read off f's arguments: adopted code was refused one, too."""
            self.level, self.highest_level = AS_IT_IS, HELD
            """The least level of adoption in traces, which rises where indices of other code's arrays vary,
            and the level that it does not exceed, since a trace has failed there."""
            self.told = 0
            """The number of errors of programs for which f has run once more."""
            self.last: TraceNode | None = None

    def forget(self) -> None:
        """Drop the trees."""
        super().forget()
        self.entry.reset()

    def __call__(self, args: Args, kwargs: Keywords) -> Any:
        if self.has_static():
            inner, dynamic, named = self.specialize(args, kwargs)
            return inner(dynamic, named)
        simple = not kwargs and PLAIN.issuperset(map(type, args))
        leaves: Sequence[Any] = args if simple else leaves_of((args, kwargs))
        shape = () if simple else structure((args, kwargs))
        kinds: list[Any] = list(map(type, leaves))
        if int in kinds and not all(map(_fits, leaves)):
            return self.f(*args, **kwargs)
        if TRACED_NUMBERS.issuperset(kinds) and not self.specializes_numbers:
            key = tuple(kinds), shape
            cache: Any = self.holding((), key, args, kwargs) if shape else self
            return cache._call(args, kwargs, key, list(leaves))
        kinds, held = [], []
        specializes = False
        for leaf in leaves:
            kind = type(leaf)
            if kind is np.ndarray:
                in_order = leaf.ndim < 2 or leaf.flags.c_contiguous
                kinds.append((leaf.shape, leaf.dtype) if in_order else array_kind(leaf))
                specializes = specializes or leaf.dtype not in DEFAULT_DTYPES
            elif kind in TRACED_NUMBERS:
                kinds.append(kind)
            elif kind is bool:
                kinds.append(FLAG_KINDS[leaf])
            elif kind is Expr:
                return run(self.f, args, kwargs)  # inside another trace it is part of it
            elif isinstance(leaf, np.generic):
                kinds.append(("scalar", leaf.dtype))
                specializes = specializes or leaf.dtype not in DEFAULT_DTYPES
            else:
                kinds.append(checked_static(leaf))
                held.extend(changeable(leaf))
        if held or shape:
            cache = self.holding(held, (tuple(kinds), shape), args, kwargs)
            if cache is not self:
                return cache(args, kwargs)
        if specializes or self.specializes_numbers:
            # Python's numbers take the precision of the other operands, and are part of the signature here.
            kinds = [
                static_kind(leaf) if isinstance(kind, type) else kind
                for kind, leaf in zip(kinds, leaves, strict=True)
            ]
        values = [leaf for kind, leaf in zip(kinds, leaves, strict=True) if not is_static(kind)]
        return self._call(args, kwargs, (tuple(kinds), shape), values)

    def _call(self, args: Args, kwargs: Keywords, key: SignatureKey, values: list[Any]) -> Any:
        self.drop_if_captures_changed()
        found = self.entries.get(key)
        if found is None:
            return self._traced(key, None, args, kwargs, values)
        if found.uncompiled:
            return self.f(*args, **kwargs)
        node, results = self._follow(found, args, kwargs, values)
        if node is None:
            return self._traced(key, results, args, kwargs, values)
        if node.stored:
            self.refuse_shared_memory(node.stored, found.labels, values)
        return node.rebuild(results)

    def _follow(
        self, found: SignatureTraces, args: Args, kwargs: Keywords, values: list[Any]
    ) -> tuple[TraceNode | None, Any]:
        try:
            return found.tree.follow(values, found.arrays)
        except Exception as error:
            if self.told < _MOST_TOLD and not hasattr(error, "__notes__"):
                self.told += 1
                if not self._tell_line(error, args, kwargs) and self.level > AS_IT_IS:
                    with self.lock:  # f handles the error of an index
                        self.level = self.highest_level = AS_IT_IS
                        self.forget()
                    return None, None
            raise

    def _tell_line(self, error: Exception, args: Args, kwargs: Keywords) -> bool:
        """Add to an error of a program the line that raises it: f runs once more, as it is.

        The result is whether f raises an error, too.
        """
        whole = flatten_with_static((args, kwargs))
        own, named = whole.rebuild(
            [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in whole.leaves]
        )
        return tell_line(error, lambda: self.f(*own, **named))

    # -- tracing ----------------------------------------------------------------------------------
    def _traced(
        self,
        key: SignatureKey,
        last: TraceNode | None,
        args: Args,
        kwargs: Keywords,
        values: list[Any],
    ) -> Any:
        with self.lock, Paused():
            found, value = self._add_path(key, last, args, kwargs, values)
        if value is not None:
            return value[0]
        if found is None:
            return self(args, kwargs)
        if found.uncompiled:
            return self.f(*args, **kwargs)
        with Paused():  # it is compiled here
            reached, results = self._follow(found, args, kwargs, values)
        if reached is None:
            return self.f(*args, **kwargs)
        self.refuse_shared_memory(reached.stored, found.labels, values)
        return reached.rebuild(results)

    def _add_path(
        self,
        key: SignatureKey,
        last: TraceNode | None,
        args: Args,
        kwargs: Keywords,
        values: list[Any],
    ) -> tuple[SignatureTraces | None, tuple[Any] | None]:
        """Add this call's path to the traces of a signature: the traces, and the result if it is known.

        The traces are None if Python's numbers turn out to be part of the signature: the call starts again.
        """
        found = self.entries.get(key)
        if found is None:
            found = SignatureTraces(self.labels(args, kwargs, key[0]), self.native)
        elif found.uncompiled:
            return found, None
        else:  # another thread may have been here
            node, results = found.tree.follow(values, found.arrays)
            if node is not None:
                self.refuse_shared_memory(node.stored, found.labels, values)
                return found, (node.rebuild(results),)
            if results is not None and results.reading is is_as_traced:
                found.tree.keeps_guards = True
            elif results is not None and results.asks_for_index:
                self.level = min(WRITABLE if self.level < WRITABLE else HELD, self.highest_level)
        before = self.captures()
        generators = generator_states([(item.place.name, item.value) for item in before])
        names = frozenset() if self.watch is None else self.watch.names
        with noticed_reads(names) as reads:
            (result, path), stored = self._traced_at_level(
                partial(self._trace, found, before, key[0], args, kwargs, values)
            )
        if path is None:
            self.refuse_shared_memory(stored, found.labels, values)
            return found, (result,)  # f captures values of an enclosing trace: the path is not kept
        warn_of_reads(self.name, reads)
        warn_of_draws("jit", self.name, generators)
        warn_of_side_effects(self.name, before)
        if self._specializes_from_now(key[0], path):
            return None, None
        if found.tree.leaves >= MAX_PATHS:
            found.uncompiled = True
            self.misses.given_up(MAX_PATHS, path[0])
            return found, None
        before = self.after_trace(before, found.read)
        node = found.tree.grow(*path, stored)
        found.stores = found.stores or bool(stored)
        self.misses.traced(self.fixed, key, (args, kwargs), last, path[0])
        root = found.tree.root
        if (
            self.keep(key, found, before)
            and not found.stores
            and root is not None
            and self.watch is not None
        ):
            self.entry.install((args, kwargs), key[0], found.tree, found.arrays, self.watch, before)
        self.last = node
        self.newest = None
        return found, None

    def _traced_at_level(self, run_once: Callable[[set[int]], _Traced]) -> tuple[_Traced, set[int]]:
        """What `_trace` finds, and where f stores, at the level of the traces.

        If that fails, f is traced as it is, and so from then on.
        """
        stored: set[int] = set()
        before = LEAST_LEVEL.set(self.level)
        try:
            return run_once(stored), stored
        except Exception:
            if self.level == AS_IT_IS:
                raise
        finally:
            LEAST_LEVEL.reset(before)
        self.level = self.highest_level = AS_IT_IS
        return self._traced_at_level(run_once)

    def _trace(
        self,
        found: SignatureTraces,
        seen: Sequence[Snapshot],
        kinds: Kinds,
        args: Args,
        kwargs: Keywords,
        values: list[Any],
        stored: set[int],
    ) -> _Traced:
        """Run f once: None and its path, as expressions of the tree's inputs.

        If f captures values of an enclosing trace: its result and None. ``stored`` is given the numbers of
        the values into which f stores.
        """
        recorder = QuestionLog(self.answers, found.tree.keeps_guards)
        f = self.on_leaves(args, kwargs, kinds)
        try:
            output, leaves = run_on_leaves(f, values, {}, scope=recorder)
        except Exception:
            if self.answers or not recorder.refused:
                raise
            self.answers = True
            recorder = QuestionLog(True, found.tree.keeps_guards)
            output, leaves = run_on_leaves(f, values, {}, scope=recorder)
        stored |= recorder.stored
        origins = {id(c.params[0][1].array): a for a, c in recorder.arrays.values()}
        shape = flatten_with_static(output)
        roots = [item for item in shape.leaves if isinstance(item, Expr)]
        questions = recorder.asked
        asked = [question.asked for question in questions]
        derived = recorder.single_program(roots, leaves)
        program = skeleton([] if derived else [*asked, *roots], leaves, within=True)
        if program.symbolic:
            _ask_enclosing_trace(questions, recorder.number)
            return concretize(output, leaves), None
        types = [row[2] for row in program.rows if row[0] is INPUT]
        own = found.named(types, program.inputs, arrays_of(seen), origins)
        rebuild = rebuilder(output, shape, leaves_of((args, kwargs)))
        if derived:
            return None, ([], derived, rebuild)
        exprs = instantiate(program.rows, own)
        for place in program.simple:
            mark_simple(exprs[place])
        made = [exprs[i] for i in program.roots]
        count = len(asked)
        questions = [
            question._replace(asked=expr)
            for question, expr in zip(questions, made[:count], strict=True)
        ]
        return None, (questions, made[count:], rebuild)

    def _specializes_from_now(self, kinds: Sequence[Any], path: Any) -> bool:
        """Whether this trace is the first to combine Python's numbers with arrays of lower precision."""
        if self.specializes_numbers or not any(isinstance(kind, type) for kind in kinds):
            return False
        questions, results, _ = path
        if isinstance(results, SingleProgram):
            dtypes = results.program.source_dtypes
        else:
            exprs = subexpressions(*[question.asked for question in questions], *results)
            dtypes = frozenset([e.dtype for e in exprs if e.op in (INPUT, CONSTANT)])
        specializes = not dtypes <= DEFAULT_DTYPES
        self.specializes_numbers = specializes
        return specializes

    # -- stages -----------------------------------------------------------------------------------
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The stages of the program for these arguments."""
        if self.has_static():
            inner, dynamic, named = self.specialize(args, kwargs)
            return inner.lower(*dynamic, **named)
        from funcgrad.transforms.jit.lowered_stages import program_of, stages

        fresh = _PathRecorder(self.f, self.static, self.native)
        caches: list[Any] = [self, *self.specialized.values()]
        fresh.level = max([cache.level for cache in caches])
        fresh(args, kwargs)
        if fresh.last is None or fresh.path is None:
            raise type_error(
                "lower: expected arguments of which the result is computed, but got others",
            )
        running = [
            program_of(cache.entries[key].tree, fresh.path[1])
            for key in fresh.entries
            for cache in caches
            if key in cache.entries
        ]
        return stages(*fresh.path, *running)

    def latest_source(self) -> str:
        """The source of the program of the last trace."""
        step = None if self.last is None else self.last.step
        return "" if step is None else source_text(step.program.compiled)


def _ask_enclosing_trace(questions: Sequence[Question], number: int) -> None:
    """Ask questions again, with values in the place of the leaves of traces from this number on."""

    def operands(expr: Expr) -> tuple[Expr, ...]:
        return expr.args if expr.birth >= number else ()

    def step(expr: Expr, parts: tuple[Expr, ...]) -> Expr:
        scope = expr.params[0][1] if expr.op is leaf_op else None
        if scope is not None and scope.number >= number:
            return parts[0]
        return rebuild(expr, parts) if parts else expr

    roots = folded([question.asked for question in questions], step, operands=operands)
    for question, root in zip(questions, roots, strict=True):
        concrete(root, "jit", question.reading)


class _PathRecorder(GuardedTraces):
    """A cache that stores the path of its last trace."""

    path: tuple[GuardTree, Sequence[Question], bool] | None = None

    def __init__(self, f: Callable[..., Any], static: Static, native: bool) -> None:
        super().__init__(f, static, native)
        self.is_inner = True  # it is asked for one call

    def _trace(self, found: SignatureTraces, *rest: Any) -> Any:
        result, path = super()._trace(found, *rest)
        self.path = (
            None if path is None else (found.tree, path[0], isinstance(path[1], SingleProgram))
        )
        return result, path


def _fits(leaf: Any) -> bool:
    return type(leaf) is not int or INT64_MIN <= leaf <= INT64_MAX
