"""jit for NumPy: the traces of one signature are a decision tree, whose inner nodes are guards.

A question that Python asks a traced value while f runs (``if x > 0``) becomes a guard: the traces of one
signature form a decision tree (`funcgrad.transforms.jit.guard_tree`), and f runs again only where an answer
is new. The cache around the trees is `funcgrad.transforms.jit.signature_cache`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import source_text
from funcgrad.expr import Expr, mark_simple, subexpressions
from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.source import fail
from funcgrad.trace.derive import concretize
from funcgrad.trace.leaves import run_on_leaves
from funcgrad.trace.pytree import flatten, leaves_of
from funcgrad.trace.skeleton import instantiate, skeleton
from funcgrad.transforms.jit.capture_sources import Snapshot
from funcgrad.transforms.jit.captures import arrays_of
from funcgrad.transforms.jit.guard_tree import (
    LEAST,
    MOST,
    GuardTree,
    Question,
    QuestionLog,
    TraceNode,
    Whole,
)
from funcgrad.transforms.jit.inline_cache import InlineCache
from funcgrad.transforms.jit.signature import (
    NUMBER_TYPES,
    PLAIN,
    WIDE,
    SignatureTraces,
    Static,
    checked_static,
    is_static,
    rebuilder,
    static,
    structure,
)
from funcgrad.transforms.jit.signature_cache import (
    Args,
    Keywords,
    Kinds,
    SignatureCache,
    SignatureKey,
)
from funcgrad.transforms.jit.stage_text import Lowered

MOST_PATHS = 64
"""Paths of one signature beyond which a function is no longer compiled."""


class GuardedTraces(SignatureCache[SignatureTraces]):
    """The cache of a function that runs as programs on NumPy's arrays, with guards."""

    warns_of_numbers = True

    def __init__(self, f: Callable[..., Any], static: Static) -> None:
        self.entry = InlineCache(self, f, getattr(f, "__name__", "f"))
        super().__init__(f, static)

    def function(self) -> Callable[..., Any]:
        """The function for a caller: it runs the newest program, or else calls this cache."""
        return self.entry.function()

    def like(self, f: Callable[..., Any]) -> GuardedTraces:
        """An empty cache for another function."""
        return GuardedTraces(f, Static((), ()))

    def clear(self) -> None:
        """Forget every trace."""
        with self.lock:
            super().clear()
            self.narrow = False
            self.last: TraceNode | None = None

    def forget(self) -> None:
        """Drop the trees."""
        super().forget()
        self.entry.reset()

    def __call__(self, args: Args, kwargs: Keywords) -> Any:
        if self.has_static():
            inner, moving, named = self.specialize(args, kwargs)
            return inner(moving, named)
        simple = not kwargs and PLAIN.issuperset(map(type, args))
        leaves: Sequence[Any] = args if simple else leaves_of((args, kwargs))
        shape = () if simple else structure((args, kwargs))
        kinds: list[Any] = list(map(type, leaves))
        if int in kinds and not all(map(_fits, leaves)):
            return self.f(*args, **kwargs)
        if NUMBER_TYPES.issuperset(kinds) and not self.narrow:
            return self._call(args, kwargs, (tuple(kinds), shape), list(leaves))
        kinds = []
        narrow = False
        for leaf in leaves:
            kind = type(leaf)
            if kind is np.ndarray:
                kinds.append((leaf.shape, leaf.dtype))
                narrow = narrow or leaf.dtype not in WIDE
            elif kind in PLAIN:
                kinds.append(kind)
            elif kind is Expr:
                return self.f(*args, **kwargs)  # inside another trace it is part of it
            elif isinstance(leaf, np.generic):
                kinds.append(("scalar", leaf.dtype))
                narrow = narrow or leaf.dtype not in WIDE
            else:
                kinds.append(checked_static(leaf))
        if narrow or self.narrow:
            # Python's numbers take the precision of what they meet: here they are part of the signature.
            kinds = [
                static(leaf) if isinstance(kind, type) else kind
                for kind, leaf in zip(kinds, leaves, strict=True)
            ]
        values = [leaf for kind, leaf in zip(kinds, leaves, strict=True) if not is_static(kind)]
        return self._call(args, kwargs, (tuple(kinds), shape), values)

    def _call(self, args: Args, kwargs: Keywords, key: SignatureKey, values: list[Any]) -> Any:
        self.drop_if_captures_changed()
        found = self.entries.get(key)
        if found is None:
            return self._traced(key, None, args, kwargs, values)
        if found.plain:
            return self.f(*args, **kwargs)
        node, results = found.tree.follow(values, found.arrays)
        if node is None:
            return self._traced(key, results, args, kwargs, values)
        return node.rebuild(results)

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
            found, value = self._learned(key, last, args, kwargs, values)
        if value is not None:
            return value[0]
        if found is None:
            return self(args, kwargs)
        if found.plain:
            return self.f(*args, **kwargs)
        with Paused():  # it is compiled here
            reached, results = found.tree.follow(values, found.arrays)
        return self.f(*args, **kwargs) if reached is None else reached.rebuild(results)

    def _learned(
        self,
        key: SignatureKey,
        last: TraceNode | None,
        args: Args,
        kwargs: Keywords,
        values: list[Any],
    ) -> tuple[SignatureTraces | None, tuple[Any] | None]:
        """The traces of a signature, with this call's path among them, or this call's result alone.

        Neither where its Python numbers turn out to be part of the signature.
        """
        found = self.entries.get(key)
        if found is None:
            found = SignatureTraces(self.labels(args, kwargs, key[0]))
        elif found.plain:
            return found, None
        else:  # another thread may have been here
            node, results = found.tree.follow(values, found.arrays)
            if node is not None:
                return found, (node.rebuild(results),)
        before = self.captures()
        result, path = self._trace(found, before, key[0], args, kwargs, values)
        if path is None:
            return found, (result,)  # f has taken in values of a trace around it: nothing to keep
        if self._meets_narrow(key[0], path):
            return None, None
        if found.tree.leaves >= MOST_PATHS:
            found.plain = True
            self.misses.given_up(MOST_PATHS, path[0])
            return found, None
        node = found.tree.grow(*path)
        self.misses.traced(self.fixed, key, (args, kwargs), last, path[0])
        root = found.tree.root
        plain = key[1] == () and len(args) == len(key[0])  # numbers and arrays by position
        if self.keep(key, found, before) and plain and root is not None and self.watch is not None:
            self.entry.install(key[0], root, found.arrays, self.watch, before)
        self.last = node
        return found, None

    def _trace(
        self,
        found: SignatureTraces,
        seen: Sequence[Snapshot],
        kinds: Kinds,
        args: Args,
        kwargs: Keywords,
        values: list[Any],
    ) -> tuple[Any, tuple[list[Question], list[Expr] | Whole, Any] | None]:
        """One run of f: the path that it took, as expressions on the tree's inputs.

        Or its result, inside a trace of whose values f has taken some in.
        """
        recorder = QuestionLog()
        output, leaves = run_on_leaves(
            self.on_leaves(args, kwargs, kinds), values, {}, scope=recorder
        )
        origins = {id(_array(c)): a for a, c in recorder.arrays.values()}
        shape = flatten(output)
        roots = [item for item in shape.leaves if isinstance(item, Expr)]
        questions = recorder.asked
        asked = [question.asked for question in questions]
        derived = recorder.whole(roots, leaves)
        program = skeleton([] if derived else [*asked, *roots], leaves, within=True)
        if program.symbolic:
            return concretize(output, leaves), None
        types = [row[2] for row in program.rows if row[0] is INPUT]
        own = found.named(types, program.inputs, arrays_of(seen), origins)
        rebuild = rebuilder(shape)
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

    def _meets_narrow(self, kinds: Sequence[Any], path: Any) -> bool:
        """Whether Python's numbers have met arrays of less precision that f brings in itself."""
        if self.narrow or not any(isinstance(kind, type) for kind in kinds):
            return False
        results = path[1].program.outputs if isinstance(path[1], Whole) else path[1]
        exprs = subexpressions(*[q.asked for q in path[0]], *results)
        narrow = any(e.op in (INPUT, CONSTANT) and e.dtype not in WIDE for e in exprs)
        self.narrow = narrow
        return narrow

    # -- looking ----------------------------------------------------------------------------------
    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The stages of the program for these arguments."""
        if self.has_static():
            inner, moving, named = self.specialize(args, kwargs)
            return inner.lower(*moving, **named)
        from funcgrad.transforms.jit.lowered_stages import stages

        fresh = _Looking(self.f, self.static)
        fresh(args, kwargs)
        if fresh.last is None or fresh.path is None:
            raise fail(
                TypeError,
                "lower: expected arguments of which the result is computed, but got others",
            )
        return stages(*fresh.path)

    def latest_source(self) -> str:
        """The source of the program of the last trace."""
        step = None if self.last is None else self.last.step
        return "" if step is None else source_text(step.program.compiled)


class _Looking(GuardedTraces):
    """One that keeps the path that it has traced."""

    path: tuple[GuardTree, Sequence[Question], bool] | None = None

    def _trace(self, found: SignatureTraces, *rest: Any) -> Any:
        result, path = super()._trace(found, *rest)
        self.path = None if path is None else (found.tree, path[0], isinstance(path[1], Whole))
        return result, path


def _fits(leaf: Any) -> bool:
    return type(leaf) is not int or LEAST <= leaf <= MOST


def _array(constant: Expr) -> Any:
    return constant.params[0][1].array
