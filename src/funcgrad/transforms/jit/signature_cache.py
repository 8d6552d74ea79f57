"""What a jitted function remembers: the traces of its signatures, and what it captured when they were made.

A call's signature is the structure of its arguments and the types of their leaves. What Python asks of
traced values while f runs (``if x > 0``) becomes a guard: the traces of one signature form a decision
tree (`funcgrad.transforms.jit.guard_tree`), and f runs again only where an answer is new. What f captures is
watched.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad.compiler.flat_program import text_of
from funcgrad.expr import Expr, mark_simple, subexpressions
from funcgrad.gc_pause import Paused
from funcgrad.graph import CONSTANT, INPUT
from funcgrad.source import fail
from funcgrad.trace.derive import concretize
from funcgrad.trace.leaves import run
from funcgrad.trace.pytree import flatten, leaves_of
from funcgrad.trace.skeleton import instantiate, skeleton
from funcgrad.transforms.jit.capture_sources import Seen
from funcgrad.transforms.jit.captures import Watch, arrays_of
from funcgrad.transforms.jit.explain_misses import Misses
from funcgrad.transforms.jit.guard_tree import LEAST, MOST, Node, Question, Questions, Tree, Whole
from funcgrad.transforms.jit.inline_cache import Entry
from funcgrad.transforms.jit.signature import (
    NUMBERS,
    PLAIN,
    WIDE,
    Signature,
    Static,
    checked_static,
    exactly,
    is_static,
    labels,
    rebuilder,
    static,
    structure,
)
from funcgrad.transforms.jit.stage_text import Lowered

MOST_PATHS = 64
"""Paths of one signature beyond which a function is no longer compiled."""

_MOST_SIGNATURES = 128


class Compiled:
    """What a jitted function remembers. Nothing of it shows in results."""

    def __init__(self, f: Callable[..., Any], static: Static) -> None:
        self.f = f
        self.static = static
        self.name = getattr(f, "__name__", "f")
        self.fixed = ""
        self.lock = threading.RLock()
        self.watch = Watch(f)
        self.entry = Entry(self, f, self.name)
        self.clear()

    def clear(self) -> None:
        """Forget every trace."""
        with self.lock:
            self.trees: OrderedDict[Any, Any] = OrderedDict()
            self.entry.reset()
            self.misses = Misses(self.name)
            self.newest: Compiled | None = None
            self.narrow = False
            self.last: Node | None = None
            self.watched: Sequence[Seen] = ()  # nothing depends on it before the first trace

    def explain_misses(self) -> str:
        """Why f was traced, one line for each time."""
        return str(self.misses)

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.static.numbers or self.static.names:
            return self._with_static(args, kwargs)
        simple = not kwargs and PLAIN.issuperset(map(type, args))
        leaves: Sequence[Any] = args if simple else leaves_of((args, kwargs))
        shape = () if simple else structure((args, kwargs))
        kinds: list[Any] = list(map(type, leaves))
        if int in kinds and not all(map(_fits, leaves)):
            return self.f(*args, **kwargs)
        if NUMBERS.issuperset(kinds) and not self.narrow:
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

    def _call(self, args: Any, kwargs: Any, key: tuple[Any, Any], values: list[Any]) -> Any:
        if not self.watch.unchanged(self.watched):
            self._rebound()
        try:
            found = self.trees.get(key)
        except TypeError:
            raise fail(
                TypeError,
                f"jit: expected numbers, arrays, and values that hash beside them, but got "
                f"{[k[1][0].__name__ for k in key[0] if is_static(k)]}",
            ) from None
        if found is None:
            return self._traced(key, None, args, kwargs, values)
        if found.plain:
            return self.f(*args, **kwargs)
        node, results = found.tree.follow(values, found.arrays)
        if node is None:
            return self._traced(key, results, args, kwargs, values)
        return node.rebuild(results)

    def _with_static(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        inner, moving, named = self._specialized(args, kwargs)
        return inner(moving, named)

    def _specialized(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Compiled, tuple[Any, ...], dict[str, Any]]:
        """For arguments that are part of the signature by value a compiled function, and the others."""
        places, names = self.static.of(self.f, len(args), kwargs)
        fixed = {i: args[i] for i in sorted(places)}
        known = {name: kwargs[name] for name in sorted(names)}
        try:
            key = "static", exactly(tuple(fixed.items())), exactly(tuple(known.items())), len(args)
            with self.lock:
                inner = self.trees.get(key)
                if inner is None:
                    inner = self.trees[key] = self._with(fixed, known, len(args))
                self._kept(key)
        except TypeError as error:
            if "unhashable" not in str(error):
                raise
            raise fail(
                TypeError,
                f"jit: expected static arguments that hash, but got {[*fixed.values(), *known.values()]!r}",
            ) from None
        moving = tuple([arg for i, arg in enumerate(args) if i not in places])
        self.newest = inner
        return inner, moving, {n: v for n, v in kwargs.items() if n not in names}

    def _with(self, fixed: dict[int, Any], known: dict[str, Any], count: int) -> Compiled:
        def rest(*others: Any, **named: Any) -> Any:
            left = iter(others)
            whole = [fixed[i] if i in fixed else next(left) for i in range(count)]
            return self.f(*whole, **known, **named)

        inner = Compiled(rest, Static((), ()))
        inner.watch = self.watch
        inner.name, inner.misses = self.name, self.misses
        inner.fixed = ", ".join(
            [*map(repr, fixed.values()), *[f"{n}={v!r}" for n, v in known.items()]]
        )
        return inner

    def _kept(self, key: Any) -> None:
        """The entry was used last; the one that was used first goes, where there are too many."""
        self.trees.move_to_end(key)
        while len(self.trees) > _MOST_SIGNATURES:
            self.trees.popitem(last=False)

    def _rebound(self) -> None:
        with self.lock:
            now = self.watch.values()
            changes = self.watch.changed(self.watched, now)
            if changes:
                self.misses.rebound(changes)
                self.trees = OrderedDict()
                self.entry.reset()
            self.watched = now

    # -- tracing ----------------------------------------------------------------------------------
    def _traced(
        self, key: Any, last: Node | None, args: Any, kwargs: Any, values: list[Any]
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
        self, key: Any, last: Node | None, args: Any, kwargs: Any, values: list[Any]
    ) -> tuple[Signature | None, tuple[Any] | None]:
        """The traces of a signature, with this call's path among them, or this call's result alone.

        Neither where its Python numbers turn out to be part of the signature.
        """
        found = self.trees.get(key)
        if found is None:
            found = Signature(labels(self.f, key[0], args, kwargs))
        elif found.plain:
            return found, None
        else:  # another thread may have been here
            node, results = found.tree.follow(values, found.arrays)
            if node is not None:
                return found, (node.rebuild(results),)
        held = self.watch.values()
        result, path = self._trace(found, held, key[0], args, kwargs, values)
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
        if self.watch.unchanged(held):  # else it may be of two worlds: for this call alone
            self.trees[key] = found
            self._kept(key)
            self.watched = held
            if not key[1] and len(args) == len(key[0]) and found.tree.root is not None:
                self.entry.install(key[0], found.tree.root, found.arrays, self.watch, held)
        else:
            self.trees.pop(key, None)
        self.last = node
        return found, None

    def _trace(
        self, found: Signature, seen: Any, kinds: Any, args: Any, kwargs: Any, values: list[Any]
    ) -> tuple[Any, tuple[list[Question], list[Expr] | Whole, Any] | None]:
        """One run of f: the path that it took, as expressions on the tree's inputs.

        Or its result, inside a trace of whose values f has taken some in.
        """
        recorder = Questions()
        whole = flatten((args, kwargs))

        def on_leaves(*fresh: Any) -> Any:
            rest = iter(fresh)
            filled = [
                leaf if is_static(kind) else next(rest)
                for leaf, kind in zip(whole.leaves, kinds, strict=True)
            ]
            inner, named = whole.rebuild(filled)
            return self.f(*inner, **named)

        output, leaves = run(on_leaves, values, {}, scope=recorder)
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
        if self.static.numbers or self.static.names:
            inner, moving, named = self._specialized(args, kwargs)
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

    def source(self) -> str:
        """The source of the program that was compiled last."""
        if self.newest is not None:
            return self.newest.source()
        step = None if self.last is None else self.last.step
        return "" if step is None else text_of(step.program.compiled)


class _Looking(Compiled):
    """One that keeps the path that it has traced."""

    path: tuple[Tree, Sequence[Question], bool] | None = None

    def _trace(self, found: Signature, *rest: Any) -> Any:
        result, path = super()._trace(found, *rest)
        self.path = None if path is None else (found.tree, path[0], isinstance(path[1], Whole))
        return result, path


def _fits(leaf: Any) -> bool:
    return type(leaf) is not int or LEAST <= leaf <= MOST


def _array(constant: Expr) -> Any:
    return constant.params[0][1].array
